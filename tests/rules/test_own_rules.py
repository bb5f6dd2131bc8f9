"""A rule of one's own: what it may decide, and what is said where it is wrong."""

import numpy as np
import pytest

from sklearn_dprank import Aggregator, DPPairwise, LDPPairwise, ShufflePairwise
from sklearn_dprank.channels import Central, Local
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import AllMargins, Ask, NetWins
from sklearn_dprank.rules import Consensus, Rule
from sklearn_dprank.rules.base import descending

VOTES = [[0, 1, 2, 3]] * 3000
MARGINS = (Ask(AllMargins()),)


class Fixed(Rule):
    """Decides what it is told, of the margins if that is a callable."""

    def __init__(self, decided=None, asked=MARGINS):
        self.decided = decided
        self.asked = asked

    def asks(self, n_items):
        return self.asked

    def aggregate(self, session):
        return self.decided(session) if callable(self.decided) else self.decided


def message(rule, channel=None, error=ValueError):
    fitted = Aggregator(channel, rule, random_state=0)
    with pytest.raises(error) as raised:
        fitted.fit(VOTES)
    assert not hasattr(fitted, "consensus_")
    return str(raised.value)


@pytest.mark.parametrize("channel", [None, Central(epsilon=1.0), Local(epsilon=4.0)], ids=["exact", "central", "local"])
@pytest.mark.parametrize(
    ("order", "what"),
    [
        ([0, 0, 1, 2], "an item stands twice"),
        ([0, 1, 2, 4], "an item is not there"),
        ([0, 1, 2, -1], "an item is not there"),
        (np.arange(4.0), "it has shape (4,) and type float64"),
        (np.arange(4)[None], "it has shape (1, 4) and type int64"),
        (np.ones(4, dtype=bool), "it has shape (4,) and type bool"),
        (np.arange(0), "it has shape (0,) and type int64"),
        (None, "it has shape () and type object"),
    ],
)
def test_what_is_no_order(channel, order, what):
    said = message(Fixed(Consensus(order)), channel)
    assert said == f"the order of a rule's Consensus must hold distinct items, from 0 to 3, best first; {what}."


@pytest.mark.parametrize(("decided", "got"), [(np.arange(4), "ndarray"), (None, "NoneType"), ([0, 1, 2, 3], "list")])
def test_what_is_no_consensus(decided, got):
    said = message(Fixed(decided))
    assert said == f"the rule's aggregate(answers) must return a Consensus, got {got}; return Consensus(order)."


def test_some_of_the_items_and_a_list():
    fitted = Aggregator(Central(epsilon=1.0), Fixed(Consensus([2, 0])), random_state=0).fit(VOTES)
    assert fitted.consensus_.tolist() == [2, 0]
    assert fitted.ranks_.tolist() == [1, 2, 0, 2]


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        (None, "None"),
        (Ask(AllMargins()), "an Ask"),
        ([AllMargins()], "a list with AllMargins()"),
        ([Ask(AllMargins()), "borda"], "a list with 'borda'"),
        (3, "3"),
    ],
)
def test_what_is_no_list_of_asks(asked, got):
    said = message(Fixed(asked=asked), Central())
    assert said == f"Fixed.asks(n_items) must return a list of Ask, [Ask(AllMargins())] say, got {got}."


def test_shares_are_shown_as_numbers():
    asked = [Ask(AllMargins(), share=0.7), Ask(NetWins(), share=0.7)]
    assert "the rule's asks claim 1.4 of it" in message(Fixed(asked=asked), Central())


def test_what_was_not_declared():
    said = message(Fixed(lambda session: session.answer(NetWins())), Central(), BudgetExhausted)
    assert said == "no answer was planned for NetWins(); a rule declares in asks(n_items) what it asks."


@pytest.mark.parametrize(("scores", "shape"), [(None, "()"), (np.zeros(7), "(7,)"), (np.zeros((4, 1)), "(4, 1)")])
def test_scores_that_are_not_one_an_item(scores, shape):
    said = message(Fixed(lambda session: Consensus(descending(scores, session))))
    assert said.startswith(f"scores must hold one number for each of the 4 items, got shape {shape};")


def copeland(session):
    """Those who beat most, and among them those who win more."""
    margins = session.answer(AllMargins())
    keys = session.tie_break(), -margins.sum(axis=1), -np.sign(margins).sum(axis=1)
    return Consensus(np.lexsort(keys))


@pytest.mark.parametrize("aggregator", [DPPairwise, LDPPairwise, ShufflePairwise])
def test_a_named_estimator_with_a_rule_of_one_s_own(aggregator):
    fitted = aggregator(epsilon=3.0, rule=Fixed(copeland), random_state=0).fit(VOTES)
    assert fitted.consensus_.tolist() == [0, 1, 2, 3]
    assert fitted.privacy_.epsilon == 3.0
