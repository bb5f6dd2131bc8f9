"""The planted faults fit the package; `planted.py` plants them."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("planted", Path(__file__).with_name("planted.py"))
planted = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(planted)
FAULTS = planted.load("faults").FAULTS


def test_faults_have_different_names():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 140


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_has_a_place_and_tests(fault):
    if "/" in fault.where:
        assert (planted.ROOT / fault.where).exists()
    else:
        planted.owner_of(fault.where)
    assert fault.tests and all(map(planted.node, fault.tests))


@pytest.mark.parametrize("test", ["test_that_nobody_wrote", "test_checks_of_scikit_learn"])
def test_name_of_no_test_or_of_several_is_an_error(test):
    with pytest.raises(ValueError, match=rf"^\d+ test functions are called {test}, not one"):
        planted.node(test)


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (0, "", "no test failed"),
        (1, "assert 1 == 2", "caught by test_one: assert 1 == 2"),
        (1, "NameError: name", "the fault is broken: NameError: name"),
        (4, "", "no test failed, but pytest ended with 4"),
    ],
)
def test_only_a_failed_test_catches_a_fault(code, message, expected, tmp_path):
    report = tmp_path / "report.xml"
    if code == 1:
        report.write_text(f'<testsuite><testcase name="test_one"><failure message="{message}"/></testcase></testsuite>')
    assert planted.verdict(code, report) == expected
