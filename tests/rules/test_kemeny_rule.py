"""`KemenyRule`: optima against brute force, ties, certified gaps and batches; values of `rule`."""

import re
from itertools import permutations

import numpy as np
import pytest
from oracles import ScriptedAnswers, naive_kemeny, random_margins
from sklearn.exceptions import ConvergenceWarning

from sklearn_dprank import Borda, DPBorda, DPPairwise, Kemeny, KwikSort
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.orders.kemeny import WORK_LIMIT
from sklearn_dprank.queries import AllMargins
from sklearn_dprank.rules import (
    BradleyTerryRule,
    HierarchicalRule,
    InstantRunoffRule,
    KemenyRule,
    KwikSortRule,
    MarkovChainRule,
    Rule,
    SortByScore,
    resolve_rule,
)


@pytest.mark.parametrize("m", range(2, 8))
def test_against_brute_force(m):
    rng = np.random.default_rng(m)
    for high in (1, 5):
        for seed in range(15):
            margins = random_margins(rng, m, high)
            _, optima = naive_kemeny(np.maximum(margins, 0))
            for fair_ties in (True, False):
                session = ScriptedAnswers(margins, seed=seed, fair_ties=fair_ties)
                found = KemenyRule().aggregate(session)
                assert tuple(found.order.tolist()) in optima
                assert found.published == {"optimal_gap": 0.0}


def test_noisy_margins_may_be_floats():
    rng = np.random.default_rng(0)
    for _ in range(20):
        upper = np.triu(rng.normal(size=(5, 5)), 1)
        margins = upper - upper.T
        orders = list(permutations(range(5)))
        cost = [sum(max(margins[o[b], o[a]], 0) for a in range(5) for b in range(a + 1, 5)) for o in orders]
        found = tuple(KemenyRule().aggregate(ScriptedAnswers(margins)).order.tolist())
        assert cost[orders.index(found)] == pytest.approx(min(cost))


def test_exact_ties_go_to_small_indices():
    for margins in (np.zeros((5, 5), dtype=int), np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])):
        found = KemenyRule().aggregate(ScriptedAnswers(margins, fair_ties=False))
        assert found.order.tolist() == list(range(len(margins)))


def test_coins_choose_among_optima_on_private_channels():
    """A three-cycle has three optima; every one is found, whatever the labels."""
    cycle = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    orders = [tuple(KemenyRule().aggregate(ScriptedAnswers(cycle, seed=seed)).order.tolist()) for seed in range(300)]
    assert {order: orders.count(order) > 60 for order in set(orders)} == {
        (0, 1, 2): True,
        (1, 2, 0): True,
        (2, 0, 1): True,
    }


def test_a_limit_on_work_leaves_a_certificate():
    """Twenty-four items on a random tournament, cut short: an order, and what is proved of it."""
    margins = random_margins(np.random.default_rng(1), 24, 9)

    def overruled(order):
        return np.triu(np.maximum(-margins[np.ix_(order, order)], 0)).sum()

    best = KemenyRule(work_limit=None).aggregate(ScriptedAnswers(margins))
    assert best.published == {"optimal_gap": 0.0}
    gaps = []
    for work_limit in (0, 1, 4):
        rule = KemenyRule(work_limit=work_limit)
        with pytest.warns(ConvergenceWarning, match="not proved to be optimal"):
            limited = rule.aggregate(ScriptedAnswers(margins))
        gaps.append(limited.published["optimal_gap"])
        assert overruled(best.order) <= overruled(limited.order) <= (1 + gaps[-1]) * overruled(best.order)
        with pytest.warns(ConvergenceWarning):
            again = rule.aggregate(ScriptedAnswers(margins))
        np.testing.assert_array_equal(again.order, limited.order)  # counts of work do not depend on the machine
    assert gaps == sorted(gaps, reverse=True)
    assert np.inf > gaps[0] > gaps[-1] > 0  # without any linear program one cycle is known to cost something


def test_a_gap_that_was_allowed_is_no_warning():
    margins = random_margins(np.random.default_rng(1), 24, 9)
    found = KemenyRule(tolerance=0.5).aggregate(ScriptedAnswers(margins))
    assert 0 < found.published["optimal_gap"] <= 0.5


def test_the_estimator_and_the_rule_have_the_same_limit():
    assert Kemeny().work_limit == KemenyRule().work_limit == WORK_LIMIT
    assert KemenyRule().get_params() == Kemeny().get_params() | {"tolerance": None}


class Noisy(ScriptedAnswers):
    """Margins with noise of a standard deviation that is known, or None."""

    def __init__(self, margins, deviation, **kwargs):
        super().__init__(margins, **kwargs)
        self._deviation = deviation

    def deviation(self, query):
        assert query == AllMargins()
        return self._deviation


def cost_of(margins, order):
    return np.triu(np.maximum(-margins[np.ix_(order, order)], 0)).sum()


@pytest.mark.parametrize("deviation", [0.0, 100.0, 1e9])
def test_noise_ends_the_search_early(deviation):
    """The gap is at most the noise in the margins that the order of net wins overrules."""
    margins = random_margins(np.random.default_rng(2), 20, 500)
    exact = KemenyRule(tolerance=0.0).aggregate(Noisy(margins, deviation))
    assert exact.published == {"optimal_gap": 0.0}
    found = KemenyRule().aggregate(Noisy(margins, deviation))
    net_wins = np.argsort(-margins.sum(axis=1), kind="stable")
    overruled = (np.triu(margins[np.ix_(net_wins, net_wins)]) < 0).sum()
    gap = found.published["optimal_gap"]
    least, most = cost_of(margins, exact.order), cost_of(margins, found.order)
    assert least <= most <= (1 + gap) * least + 1e-9
    assert most - most / (1 + gap) <= deviation * np.sqrt(overruled) + 1e-9
    assert (gap > 0) == (deviation > 0)
    if not deviation:
        assert found.order.tolist() == exact.order.tolist()


def test_noise_that_is_not_known_changes_nothing():
    margins = random_margins(np.random.default_rng(2), 20, 500)
    for session in (ScriptedAnswers(margins), Noisy(margins, None)):
        assert KemenyRule().aggregate(session).published == {"optimal_gap": 0.0}


def test_private_margins_state_their_noise():
    profile = Profile.from_rankings(make_mallows(50, 20, 1.0, random_state=0))
    found = DPPairwise(epsilon=1.0, random_state=0).fit(profile)
    assert found.optimal_gap_ > 0
    assert DPPairwise(epsilon=1.0, rule=KemenyRule(tolerance=0.0), random_state=0).fit(profile).optimal_gap_ == 0
    assert Kemeny().fit(profile).optimal_gap_ == 0


def test_the_gap_is_finite_whatever_the_work():
    """Ties leave circles of four and more, without any of three, that no order satisfies."""
    m = 21
    margins = np.zeros((m, m), dtype=int)
    for item in range(m):
        margins[item, (item + 1) % m], margins[(item + 1) % m, item] = 3 + item, -3 - item
    with pytest.warns(ConvergenceWarning):
        found = KemenyRule(work_limit=0).aggregate(ScriptedAnswers(margins))
    assert 0 < found.published["optimal_gap"] < np.inf


def test_asks_for_all_margins_once():
    (ask,) = KemenyRule().asks(7)
    assert (ask.query, ask.times, ask.share) == (AllMargins(), 1, 1)
    assert KemenyRule(work_limit=None, tolerance=0.1).asks(7) == [ask]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tolerance": -0.1}, "tolerance must be None or a finite number of at least 0, got -0.1"),
        ({"tolerance": np.inf}, "tolerance must be None or a finite number of at least 0, got inf"),
        ({"tolerance": np.nan}, "tolerance must be None or a finite number of at least 0, got nan"),
        ({"tolerance": "0"}, "tolerance must be None or a finite number of at least 0, got '0'"),
        ({"work_limit": -1}, "work_limit must be None or an integer of at least 0, got -1"),
        ({"work_limit": 1.5}, "work_limit must be None or an integer of at least 0, got 1.5"),
    ],
)
def test_errors(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        KemenyRule(**parameters).asks(5)


# The `rule` parameter


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("borda", SortByScore),
        ("plurality", SortByScore),
        ("veto", SortByScore),
        ("instant_runoff", InstantRunoffRule),
        ("kemeny", KemenyRule),
        ("kwiksort", KwikSortRule),
        ("hierarchical", HierarchicalRule),
        ("bradley_terry", BradleyTerryRule),
        ("markov_chain", MarkovChainRule),
    ],
)
def test_rules_by_name(name, kind):
    default = SortByScore("veto")
    assert type(resolve_rule(name, default)) is kind
    assert resolve_rule(None, default) is default
    rule = kind()
    assert resolve_rule(rule, default) is rule


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Kemeny(), 'rule must be a rule, got the estimator Kemeny; use rule="kemeny".'),
        (Borda(), 'rule must be a rule, got the estimator Borda; use rule="borda".'),
        (KwikSort, 'rule must be a rule, got the estimator KwikSort; use rule="kwiksort".'),
        (DPBorda(), "rule must be a rule, got the estimator DPBorda; use rule=one of ['borda', 'bradley_terry'"),
        ("Kemeny", "rule must be None, one of ['borda', 'bradley_terry', 'hierarchical', 'instant_runoff', 'kemeny'"),
        (3, "or a Rule object, got 3"),
    ],
)
def test_what_is_no_rule(rule, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        resolve_rule(rule, SortByScore())


def test_a_rule_class_is_told_to_be_called():
    with pytest.raises(ValueError, match=re.escape("got the class KemenyRule; use rule=KemenyRule()")):
        resolve_rule(KemenyRule, SortByScore())


def test_a_rule_of_your_own():
    class Reverse(Rule):
        def asks(self, n_items):
            return []

    rule = Reverse()
    assert resolve_rule(rule, SortByScore()) is rule
