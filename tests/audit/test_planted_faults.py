"""The planted faults keep up with the code; `planted.py` plants them."""

import importlib.util
from pathlib import Path

import pytest
from planted_faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]


def planting():
    spec = importlib.util.spec_from_file_location("planted", Path(__file__).with_name("planted.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_enough_under_names_of_their_own():
    assert len(FAULTS) >= 50
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_can_still_be_planted(fault, tmp_path):
    """Its old text occurs once, Python remains Python, and the tests that must fail exist."""
    copy = tmp_path / fault.file
    copy.parent.mkdir(parents=True)
    copy.write_text((ROOT / fault.file).read_text(encoding="utf-8"), encoding="utf-8")
    planting().plant(fault, tmp_path)
    if copy.suffix == ".py":
        compile(copy.read_text(encoding="utf-8"), fault.file, "exec")
    assert fault.tests
    for test in fault.tests:
        file, _, name = test.partition("::")
        assert f"def {name.rpartition('::')[2].split('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), test


@pytest.mark.parametrize("old", ["nowhere to be found", "def "])
def test_a_text_that_is_not_there_once_is_an_error(old, tmp_path):
    (tmp_path / "module.py").write_text("def one(): ...\ndef two(): ...\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"gone: the old text occurs [02] times in module\.py"):
        planting().plant(Fault("gone", "module.py", old, "", ("tests",)), tmp_path)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("assert True", ""),
        ("assert 1 + 1 == 3", "caught by test_one: "),
        ("undefined_name", "broken, not wrong: NameError"),
        ("import no_such_module", "broken, not wrong: ModuleNotFoundError"),
    ],
)
def test_only_a_test_that_fails_catches(body, expected, tmp_path):
    (tmp_path / "test_one.py").write_text(f"def test_one():\n    {body}\n", encoding="utf-8")
    found = planting().verdict(tmp_path, ["test_one.py::test_one"])
    assert found.startswith(expected) and bool(found) == bool(expected)
    assert planting().verdict(tmp_path, ["test_one.py::no_such_test"]).startswith("no test failed")
