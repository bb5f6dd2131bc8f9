"""Any channel with any rule, and what is neither."""

import pytest

from sklearn_dprank import Aggregator
from sklearn_dprank.channels import Central, Exact, Local
from sklearn_dprank.rules import KemenyRule

BALLOTS = [[0, 1, 2]] * 5


@pytest.mark.parametrize("channel", [Central, Exact, Local])
def test_a_class_in_place_of_a_channel(channel):
    with pytest.raises(ValueError) as error:
        Aggregator(channel).fit(BALLOTS)
    name = channel.__name__
    assert str(error.value) == f"channel must be a channel object, got the class {name}; use channel={name}()."


def test_a_class_in_place_of_a_rule():
    with pytest.raises(ValueError, match=r"got the class KemenyRule; use rule=KemenyRule\(\)\.$"):
        Aggregator(rule=KemenyRule).fit(BALLOTS)


def test_what_is_no_channel():
    with pytest.raises(ValueError, match="The 'channel' parameter of Aggregator must be"):
        Aggregator("central").fit(BALLOTS)
