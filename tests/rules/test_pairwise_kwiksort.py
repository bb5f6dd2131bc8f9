"""`KwikSortRule`: sorted orders, comparison counts, ties, and fallbacks for an exhausted budget."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from audit_tools import ScriptedCoins, outcomes
from oracles import ScriptedAnswers, margins_of_order, naive_kemeny, random_margins
from scipy.stats import chisquare

from sklearn_dprank.orders.permutations import (
    binary_insertion_bound,
    p_sort_max_queries,
    quicksort_comparisons,
    quicksort_query_bound,
)
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import AllMargins, PairMargin
from sklearn_dprank.rules import KemenyRule, KwikSortRule

STRATEGIES = ["quicksort", "binary_insertion"]
CYCLE = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])  # 0 beats 1 beats 2 beats 0


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("m", range(1, 7))
def test_kwiksort_sorts_transitive_majorities(strategy, m):
    rule = KwikSortRule(strategy=strategy)
    for seed, order in enumerate(permutations(range(m))):
        session = ScriptedAnswers(margins_of_order(order), seed=seed)
        assert rule.aggregate(session).order.tolist() == list(order)
        assert len(session.asked) <= (binary_insertion_bound(m) if strategy != "quicksort" else m * (m - 1) // 2)
        assert len(set(session.asked)) == len(session.asked)  # no answer is paid for twice
        assert all(i < j for i, j in session.asked)


@pytest.mark.parametrize("m", [7, 16, 17, 31, 45, 100])
def test_binary_insertion_stays_within_its_bound(m):
    rng, rule = np.random.default_rng(m), KwikSortRule(strategy="binary_insertion")
    for seed in range(10):
        for margins in (margins_of_order(rng.permutation(m)), random_margins(rng, m)):
            session = ScriptedAnswers(margins, seed=seed)
            assert sorted(rule.aggregate(session).order.tolist()) == list(range(m))
            assert len(session.asked) <= binary_insertion_bound(m)


def test_binary_insertion_attains_its_bound():
    worst = [len(_asked(KwikSortRule(strategy="binary_insertion"), order)) for order in permutations(range(5))]
    assert max(worst) == binary_insertion_bound(5) == 8


def _asked(rule, order, seed=0):
    session = ScriptedAnswers(margins_of_order(order), seed=seed)
    rule.aggregate(session)
    return session.asked


def test_number_of_comparisons_has_the_law_of_quicksort():
    draws = [len(_asked(KwikSortRule(), range(5), seed)) for seed in range(3000)]
    law = quicksort_comparisons(5)
    seen = np.bincount(draws, minlength=len(law))
    assert seen[law < 1e-12].sum() == 0
    assert chisquare(seen[law > 1e-12], law[law > 1e-12] * 3000).pvalue > 1e-3


def test_pivots_are_uniform():
    """A cycle gives one rotation for each pivot."""
    seen = {}
    for seed in range(900):
        order = tuple(KwikSortRule().aggregate(ScriptedAnswers(CYCLE, seed=seed)).order.tolist())
        seen[order] = seen.get(order, 0) + 1
    assert set(seen) == {(0, 1, 2), (1, 2, 0), (2, 0, 1)}
    assert chisquare(list(seen.values())).pvalue > 1e-3


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ties_go_by_index_on_exact_answers_and_by_coins_on_private_ones(strategy):
    rule, level = KwikSortRule(strategy=strategy), np.zeros((4, 4), dtype=int)
    for seed in range(20):
        exact = ScriptedAnswers(level, seed=seed, fair_ties=False)
        assert rule.aggregate(exact).order.tolist() == [0, 1, 2, 3]
    orders = [tuple(rule.aggregate(ScriptedAnswers(level[:3, :3], seed=seed)).order) for seed in range(1200)]
    seen = [orders.count(order) for order in permutations(range(3))]
    if strategy == "quicksort":  # binary insertion with coins is not uniform, but fair to labels
        assert chisquare(seen).pvalue > 1e-3
    firsts = np.bincount([order[0] for order in orders], minlength=3)
    assert chisquare(firsts).pvalue > 1e-3


# When answers run out


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("paid", range(7))
def test_coins_answer_when_the_budget_is_used_up(strategy, paid):
    rule = KwikSortRule(max_queries=paid or 1, on_exhausted="coin", strategy=strategy)
    for seed in range(30):
        session = ScriptedAnswers(margins_of_order(range(6)), paid=paid, seed=seed)
        assert sorted(rule.aggregate(session).order.tolist()) == list(range(6))
        assert len(session.asked) <= paid


def law_of_consensus(rule, order, paid):
    """Return {places of the items, best first: probability} over all choices."""
    out = Counter()

    def run(branch):
        session = ScriptedAnswers(margins_of_order(order), paid=paid)
        session.coins = ScriptedCoins(branch)
        return rule.aggregate(session).order.tolist()

    for chance, consensus in outcomes(run):
        out[tuple(consensus.index(item) for item in order)] += Fraction(chance).limit_denominator(10**6)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_order_of_columns_does_not_matter_when_the_budget_is_used_up(strategy):
    rule = KwikSortRule(max_queries=2, on_exhausted="coin", strategy=strategy)
    laws = [law_of_consensus(rule, order, 2) for order in permutations(range(4))]
    assert sum(laws[0].values()) == 1
    assert len(laws[0]) > 12  # coins decide a lot
    assert all(law == laws[0] for law in laws)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_kemeny_answers_when_the_budget_is_used_up(strategy):
    """The fallback is the Kemeny order of all margins."""
    rng = np.random.default_rng(0)
    rule = KwikSortRule(max_queries=3, on_exhausted="kemeny", strategy=strategy)
    for seed in range(40):
        margins = random_margins(rng, 6)
        session = ScriptedAnswers(margins, paid=3, seed=seed)
        found = rule.aggregate(session)
        assert len(session.asked) == 3
        assert tuple(found.order.tolist()) in naive_kemeny(np.maximum(margins, 0))[1]
        assert found.published == {"optimal_gap": 0.0}
        assert found.published == KemenyRule().aggregate(ScriptedAnswers(margins)).published


def test_kemeny_is_not_asked_while_comparisons_are_left():
    class NoKemeny(ScriptedAnswers):
        def answer(self, query):
            assert isinstance(query, PairMargin)
            return super().answer(query)

    rule = KwikSortRule(on_exhausted="kemeny")
    for seed in range(30):
        session = NoKemeny(margins_of_order(range(6)), paid=rule.asks(6)[0].times, seed=seed)
        assert rule.aggregate(session).order.tolist() == list(range(6))


def test_exhaustion_without_a_fallback_raises():
    class PairsOnly(ScriptedAnswers):
        def answer(self, query):
            if query == AllMargins():
                raise BudgetExhausted("it was not planned for")
            return super().answer(query)

    with pytest.raises(BudgetExhausted):
        KwikSortRule().aggregate(PairsOnly(margins_of_order(range(6)), paid=3))


# What it declares


@pytest.mark.parametrize("m", [2, 3, 5, 10, 20, 40])
def test_kwiksort_declares_its_queries(m):
    pairs, insertion = m * (m - 1) // 2, binary_insertion_bound(m)
    for rule, times in [
        (KwikSortRule(), pairs),
        (KwikSortRule(on_exhausted="coin"), p_sort_max_queries(m)),
        (KwikSortRule(on_exhausted="kemeny"), quicksort_query_bound(m)),
        (KwikSortRule(strategy="binary_insertion"), insertion),
        (KwikSortRule(strategy="binary_insertion", on_exhausted="kemeny"), insertion),
        (KwikSortRule(max_queries=10**6), pairs),
        (KwikSortRule(max_queries=1, on_exhausted="coin"), 1),
    ]:
        asks = rule.asks(m)
        assert (asks[0].query, asks[0].times) == (PairMargin(), times)
        assert sum(ask.share for ask in asks) == 1
        reserves = rule.on_exhausted == "kemeny" and times < (insertion if "binary" in rule.strategy else pairs)
        assert len(asks) == 1 + reserves
        if reserves:
            assert asks[1] == (AllMargins(), 1, Fraction(1, 2))


@pytest.mark.parametrize(("strategy", "max_queries", "worst"), [("quicksort", 9, 10), ("binary_insertion", 7, 8)])
def test_max_queries_that_can_run_out_need_a_fallback(strategy, max_queries, worst):
    message = (
        rf"max_queries={max_queries} can run out \(the worst case is {worst}\); set on_exhausted='coin' or 'kemeny'"
    )
    with pytest.raises(ValueError, match=message):
        KwikSortRule(max_queries=max_queries, strategy=strategy).asks(5)
