"""The planted faults keep up with the code; `planted.py` plants them."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("planted", Path(__file__).with_name("planted.py"))
planted = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(planted)
FAULTS = planted.faults()
HERE = "PrivacyBudget.charge"


def fault(**changes):
    return planted.Fault("a fault", **{"where": HERE, "old": "self._kept", "new": "", "tests": ["x"]} | changes)


def test_there_are_enough_under_names_of_their_own():
    assert len(FAULTS) >= 50
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_can_still_be_planted(fault):
    """Its old text occurs once, Python remains Python, and the tests that must fail exist."""
    file, text = planted.planted(fault)
    assert text != file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        compile(text, file, "exec")
    assert fault.tests and all(map(planted.node, fault.tests))


@pytest.mark.parametrize("old", ["nowhere to be found", "self"])
def test_a_text_that_is_not_there_once_names_the_function_to_look_at(old):
    at = r"sklearn_dprank\..*\.PrivacyBudget\.charge \(sklearn_dprank/.*\.py:\d+\)"
    with pytest.raises(ValueError, match=rf"^a fault: what it replaces occurs \d+ times, not once\. Look at {at}\.$"):
        planted.planted(fault(old=old))


@pytest.mark.parametrize("where", ["no_such_function", "fit"])
def test_a_name_that_is_not_of_one_function_is_an_error(where):
    with pytest.raises(ValueError, match=rf"^a fault: \d+ functions are called {where}, not one"):
        planted.planted(fault(where=where))


@pytest.mark.parametrize("test", ["test_that_nobody_wrote", "test_scikit_learn_s_own_checks"])
def test_a_test_is_known_by_its_name(test):
    with pytest.raises(ValueError, match=rf"^\d+ test functions are called {test}, not one"):
        planted.node(test)
    assert planted.node("test_planted_faults.py::test_a_test_is_known_by_its_name[x]") == (
        "tests/audit/test_planted_faults.py::test_a_test_is_known_by_its_name[x]"
    )


@pytest.mark.parametrize(
    "source",
    ["f(a, b[0])", "f(\n    a,\n    b[0],\n)", "f(a,  b[\n0])"],
)
def test_how_a_piece_of_source_is_wrapped_does_not_matter(source):
    assert planted.pattern("f(a, b[0])").fullmatch(source)
    assert not planted.pattern("f(a, b[1])").search(source)
    assert not planted.pattern("not a").search("nota")


@pytest.mark.slow
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
    found = planted.verdict(tmp_path, ["test_one.py::test_one"])
    assert found.startswith(expected) and bool(found) == bool(expected)
    assert planted.verdict(tmp_path, ["test_one.py::no_such_test"]).startswith("no test failed")
