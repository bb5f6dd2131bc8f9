"""The planted faults fit the package; `planted.py` plants them."""

import planted
import pytest
from faults import FAULTS


def test_faults_have_different_names():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 140


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_has_a_place_and_tests(fault):
    planted.owner_of(fault.where)
    assert fault.tests and all(map(planted.node, fault.tests))
