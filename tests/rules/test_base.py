"""Rules of users and their errors, sorting by scores, and the answers that rules declare."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import ScriptedAnswers, profiles

from sklearn_dprank import Aggregator, DPPairwise, LDPPairwise, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Exact
from sklearn_dprank.queries import AllMargins, Ask, NetWins, PairTallies, PositionalScores
from sklearn_dprank.rules import (
    BradleyTerryRule,
    Consensus,
    HierarchicalRule,
    KemenyRule,
    MarkovChainRule,
    Rule,
    SortByScore,
)
from sklearn_dprank.rules.base import descending, score_vector
from sklearn_dprank.sampling.bit_source import Bits

VOTES = [[0, 1, 2, 3]] * 3000
MARGINS = (Ask(AllMargins()),)


class Fixed(Rule):
    """Return a fixed consensus, or call a function of the answers."""

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


@pytest.mark.parametrize("channel", [None, Central(epsilon=1.0)], ids=["exact", "central"])
@pytest.mark.parametrize(
    ("order", "what"),
    [
        ([0, 0, 1, 2], "an item stands twice"),
        ([0, 1, 2, 4], "an item is not there"),
        (np.arange(4.0), "it has shape (4,) and type float64"),
        (None, "it has shape () and type object"),
    ],
)
def test_order_of_a_rule_must_hold_distinct_items(channel, order, what):
    text = message(Fixed(Consensus(order)), channel)
    assert text == f"the order of a rule's Consensus must hold distinct items, from 0 to 3, best first; {what}."


@pytest.mark.parametrize(("decided", "got"), [(np.arange(4), "ndarray"), (None, "NoneType"), ([0, 1, 2, 3], "list")])
def test_aggregate_must_return_a_consensus(decided, got):
    text = message(Fixed(decided))
    assert text == f"the rule's aggregate(answers) must return a Consensus, got {got}; return Consensus(order)."


def test_rule_may_order_some_of_the_items():
    fitted = Aggregator(Central(epsilon=1.0), Fixed(Consensus([2, 0])), random_state=0).fit(VOTES)
    assert fitted.consensus_.tolist() == [2, 0]
    assert fitted.ranks_.tolist() == [1, 2, 0, 2]


@pytest.mark.parametrize(
    ("asked", "got"), [(None, "None"), (Ask(AllMargins()), "an Ask"), ([AllMargins()], "a list with AllMargins()")]
)
def test_asks_must_return_a_list_of_ask(asked, got):
    text = message(Fixed(asked=asked), Central())
    assert text == f"Fixed.asks(n_items) must return a list of Ask, [Ask(AllMargins())] say, got {got}."


@pytest.mark.parametrize(("scores", "shape"), [(None, "()"), (np.zeros(7), "(7,)"), (np.zeros((4, 1)), "(4, 1)")])
def test_scores_of_a_rule_need_one_number_an_item(scores, shape):
    text = message(Fixed(lambda session: Consensus(descending(scores, session))))
    assert text.startswith(f"scores must hold one number for each of the 4 items, got shape {shape};")


def copeland(session):
    """Order items by the number of majorities, then by net wins."""
    margins = session.answer(AllMargins())
    keys = session.tie_break(), -margins.sum(axis=1), -np.sign(margins).sum(axis=1)
    return Consensus(np.lexsort(keys))


@pytest.mark.parametrize("aggregator", [DPPairwise, LDPPairwise, ShufflePairwise])
def test_named_estimators_accept_rules_of_users(aggregator):
    fitted = aggregator(epsilon=3.0, rule=Fixed(copeland), random_state=0).fit(VOTES)
    assert fitted.consensus_.tolist() == [0, 1, 2, 3]
    assert fitted.privacy_.epsilon == 3.0


def exact_session(X):
    profile = Profile.from_rankings(X)
    return Exact().plan([], profile.n_items).open(profile)(Bits.from_random_state(0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no ballot of X prefers")
@settings(max_examples=60)
@given(profiles())
def test_exact_order_is_by_net_wins_then_index(X):
    wins = Profile.from_rankings(X).net_wins.tolist()
    order = SortByScore().aggregate(exact_session(X)).order
    assert order.tolist() == sorted(range(X.shape[1]), key=lambda i: (-wins[i], i))


def test_coins_break_ties_of_scores():
    """Items 1 and 2 tie, and each is first about half of the time."""
    margins = np.array([[0, -2, -2], [2, 0, 0], [2, 0, 0]])
    firsts = 0
    for seed in range(400):
        order = SortByScore().aggregate(ScriptedAnswers(margins, seed=seed)).order.tolist()
        assert order in ([1, 2, 0], [2, 1, 0])
        firsts += order[0] == 1
    assert 160 < firsts < 240
    exact = ScriptedAnswers(margins, fair_ties=False)
    assert SortByScore().aggregate(exact).order.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("scores", "vector"),
    [
        ("borda", [3, 2, 1, 0]),
        ("plurality", [1, 0, 0, 0]),
        ("veto", [1, 1, 1, 0]),
        ([5, 2.5, 1, -1], [5, 2.5, 1, -1]),
        (np.arange(4), [0, 1, 2, 3]),
    ],
)
def test_score_vectors(scores, vector):
    assert score_vector(scores, 4) == vector


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("antiplurality", "scores must be one of ['borda', 'plurality', 'veto'] or a vector, got 'antiplurality'"),
        ([1, 2, 3], "scores must hold one number for each of the 4 items, got shape (3,)"),
        (np.eye(4), "scores must hold one number for each of the 4 items, got shape (4, 4)"),
        ([1, 2, 3, np.nan], "scores must be finite"),
        ([1, 2, 3, np.inf], "scores must be finite"),
    ],
)
def test_invalid_scores_are_refused(scores, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SortByScore(scores).asks(4)


@pytest.mark.parametrize(
    ("rule", "query"),
    [
        (SortByScore(), NetWins()),
        (SortByScore("borda"), PositionalScores((3.0, 2.0, 1.0, 0.0))),
        (KemenyRule(work_limit=None, tolerance=0.1), AllMargins()),
        (HierarchicalRule(), AllMargins()),
        (MarkovChainRule(), AllMargins()),
        (BradleyTerryRule(), PairTallies()),
    ],
    ids=str,
)
def test_rules_declare_one_answer_for_the_whole_budget(rule, query):
    assert rule.asks(4) == [Ask(query, 1, 1)]
