"""Hierarchical, instant-runoff, Kemeny and KwikSort rules against naive orders, with ties, gaps and refusals."""

import re
from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from audit_tools import ScriptedCoins, outcomes
from hypothesis import given, settings, strategies as st
from oracles import ScriptedAnswers, margins_of_order, naive_kemeny, profiles, random_margins
from scipy import stats
from scipy.stats import chisquare

from sklearn_dprank import Aggregator, Borda, DPBorda, DPHistogram, DPPairwise, Kemeny, KwikSort, PositionalRule
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Answers, Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.orders.permutations import (
    binary_insertion_bound,
    p_sort_max_queries,
    quicksort_comparisons,
    quicksort_query_bound,
)
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import AllMargins, Histogram, NetWins, PairMargin, PairTallies
from sklearn_dprank.queries.pairs import Tallies
from sklearn_dprank.rules import (
    HierarchicalRule,
    InstantRunoffRule,
    KemenyRule,
    KwikSortRule,
    SortByScore,
    resolve_rule,
)
from sklearn_dprank.sampling.bit_source import SeededBits


def hierarchical_order(margins, **options):
    return HierarchicalRule().aggregate(ScriptedAnswers(margins, fair_ties=False, **options)).order.tolist()


def naive_hra(margins, items=None):
    """Return the order by Song et al., Algorithm 2, with the sum of line 11 over the other index."""
    items = list(range(len(margins))) if items is None else items
    if len(items) <= 1:
        return items
    preference = {(i, j): (np.sign(margins[i, j]) + 1) / 2 for i in items for j in items if i != j}
    level = {j: sum(preference[j, i] for i in items if i != j) for j in items}
    if len(set(level.values())) == 1:
        best = max(items, key=lambda j: (sum(margins[j, i] for i in items), -j))
        return [best, *naive_hra(margins, [item for item in items if item != best])]
    return [
        item
        for height in sorted(set(level.values()), reverse=True)
        for item in naive_hra(margins, [j for j in items if level[j] == height])
    ]


def test_hierarchical_levels_by_hand():
    """Items 0 to 4 beat 3, 3, 2, 2 and 0 others, so levels are {0, 1}, {2, 3} and {4}. Borda starts with 1."""
    margins = np.zeros((5, 5), dtype=int)
    for winner, loser, margin in [
        (0, 1, 1), (0, 2, 1), (0, 4, 1),
        (1, 2, 5), (1, 3, 5), (1, 4, 5),
        (2, 3, 1), (2, 4, 1),
        (3, 0, 1), (3, 4, 9),
    ]:  # fmt: skip
        margins[winner, loser], margins[loser, winner] = margin, -margin
    assert hierarchical_order(margins) == [0, 1, 2, 3, 4]
    assert np.argsort(-margins.sum(axis=1), kind="stable").tolist() == [1, 3, 0, 2, 4]


def test_level_of_equal_items_starts_with_its_net_winner():
    """In a three-cycle every item beats one."""
    margins = np.array([[0, 1, -3], [-1, 0, 2], [3, -2, 0]])
    assert margins.sum(axis=1).tolist() == [-2, 1, 1]
    assert hierarchical_order(margins) == [1, 2, 0]  # net wins 1 and 1: the smaller index; then 2 beats 0
    assert hierarchical_order(margins + np.array([[0, 0, -2], [0, 0, 0], [2, 0, 0]])) == [2, 0, 1]


@pytest.mark.parametrize("m", [2, 3, 4, 5, 7, 10])
def test_hierarchical_orders_equal_the_published_algorithm(m):
    rng = np.random.default_rng(m)
    for high in (1, 2, 50):
        for _ in range(40):
            margins = random_margins(rng, m, high)
            assert hierarchical_order(margins) == naive_hra(margins)


class Counted(Answers):
    """Answers with given cells."""

    def __init__(self, cells, m, seed=0, fair_ties=False):
        super().__init__(m, SeededBits(np.random.SeedSequence(seed)), fair_ties=fair_ties)
        self.cells = np.asarray(cells)

    def answer(self, query):
        assert query == Histogram(unseen_last=True)
        return self.cells


def runoff_order(cells, m, **options):
    return InstantRunoffRule().aggregate(Counted(cells, m, **options)).order.tolist()


def naive_runoff(cells, m):
    """Remove the last item with the fewest first places until no item is left."""
    left, behind = list(range(m)), []
    while left:
        counts = {i: sum(c for p, c in cells if all(p[i] <= p[j] for j in left)) for i in left}
        behind.insert(0, max(i for i in left if counts[i] == min(counts.values())))
        left.remove(behind[0])
    return behind


@settings(max_examples=80)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([1, 4, 1000]))
def test_runoffs_of_cells_equal_naive_counts(m, seed, high):
    """Cells include negative counts and ties."""
    cells = np.random.default_rng(seed).integers(-high, high + 1, factorial(m))
    assert runoff_order(cells, m) == naive_runoff(list(zip(permutations(range(m)), cells, strict=True)), m)


@settings(max_examples=60)
@given(profiles(strict=True))
def test_runoffs_of_ballots_equal_naive_counts(X):
    found = Aggregator(rule="instant_runoff").fit(X).consensus_
    assert found.tolist() == naive_runoff([(ballot, 1) for ballot in X.tolist()], X.shape[1])


def test_runoffs_by_hand():
    """First places are 4, 3, 2: item 2 goes and its ballots count for item 1, which passes item 0."""
    X = [[0, 1, 2]] * 4 + [[2, 0, 1]] * 3 + [[2, 1, 0]] * 2
    assert Aggregator(rule="instant_runoff").fit(X).consensus_.tolist() == [1, 0, 2]
    assert PositionalRule("plurality").fit(X).consensus_.tolist() == [0, 1, 2]
    # An item without first places goes first.
    X = [[0, 1, 2]] * 2 + [[2, 1, 0]]
    assert Aggregator(rule="instant_runoff").fit(X).consensus_.tolist() == [0, 2, 1]
    assert PositionalRule("borda").fit(X).consensus_.tolist() == [0, 1, 2]


@pytest.mark.slow
def test_runoff_ties_go_by_index_on_exact_counts_and_by_coins_on_private_ones():
    assert runoff_order(np.ones(24, dtype=int), 4) == [0, 1, 2, 3]
    found = [tuple(runoff_order(np.zeros(6, dtype=int), 3, seed=k, fair_ties=True)) for k in range(1200)]
    counts = [found.count(order) for order in permutations(range(3))]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_item_without_votes_is_never_first():
    """If a coin placed it, it would be first on half of the ballots."""
    X = np.array([[0, 1, np.nan]] * 300 + [[1, 0, np.nan]] * 200)
    for estimator in (Aggregator(rule="instant_runoff"), DPHistogram(20.0, rule="instant_runoff")):
        for seed in range(5):
            assert estimator.set_params(random_state=seed).fit(X).consensus_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
@pytest.mark.parametrize("release", [None, Histogram(), Histogram(unseen_last=True)], ids=str)
def test_private_runoff_of_a_large_budget_is_exact(noise, delta, release):
    X = make_mallows(501, 5, 0.9, random_state=0)
    exact = Aggregator(rule="instant_runoff").fit(X).consensus_
    channel = Central(1e4, delta, noise, release)
    np.testing.assert_array_equal(Aggregator(channel, "instant_runoff", random_state=0).fit(X).consensus_, exact)
    histogram = DPHistogram(1e4, delta, noise, rule="instant_runoff", random_state=0).fit(X)
    np.testing.assert_array_equal(histogram.consensus_, exact)
    assert naive_runoff(list(zip(permutations(range(5)), histogram.histogram_, strict=True)), 5) == exact.tolist()


@pytest.mark.parametrize("channel", [None, Central(), Central(release=Histogram())], ids=str)
def test_runoff_of_eleven_items_is_refused_with_a_remedy(channel):
    with pytest.raises(ValueError, match=r"all 11! rankings.* up to 10 items; use rule='plurality' or rule='borda'"):
        Aggregator(channel, "instant_runoff").fit([range(11)] * 3)


@pytest.mark.parametrize("m", range(2, 8))
def test_kemeny_orders_are_optimal(m):
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


def test_exact_ties_go_by_index():
    for margins in (np.zeros((5, 5), dtype=int), np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])):
        found = KemenyRule().aggregate(ScriptedAnswers(margins, fair_ties=False))
        assert found.order.tolist() == list(range(len(margins)))


def test_coins_choose_among_optima():
    """A three-cycle has three optima, and each is drawn."""
    cycle = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    orders = [tuple(KemenyRule().aggregate(ScriptedAnswers(cycle, seed=seed)).order.tolist()) for seed in range(300)]
    assert {order: orders.count(order) > 60 for order in set(orders)} == {
        (0, 1, 2): True,
        (1, 2, 0): True,
        (2, 0, 1): True,
    }


class Noisy(ScriptedAnswers):
    """Margins with noise of a known standard deviation, or None."""

    def __init__(self, margins, deviation, **kwargs):
        super().__init__(margins, **kwargs)
        self.deviation = lambda query: deviation


def cost_of(margins, order):
    return np.triu(np.maximum(-margins[np.ix_(order, order)], 0)).sum()


@pytest.mark.parametrize("deviation", [0.0, 100.0, 1e9])
def test_known_noise_ends_the_search_early(deviation):
    """The gap is at most the noise in the margins that the order of net wins overrules."""
    margins = random_margins(np.random.default_rng(2), 20, 500)
    exact = KemenyRule(tolerance=0.0, shrink=False).aggregate(Noisy(margins, deviation))
    assert exact.published == {"optimal_gap": 0.0}
    found = KemenyRule(shrink=False).aggregate(Noisy(margins, deviation))
    net_wins = np.argsort(-margins.sum(axis=1), kind="stable")
    overruled = (np.triu(margins[np.ix_(net_wins, net_wins)]) < 0).sum()
    gap = found.published["optimal_gap"]
    least, most = cost_of(margins, exact.order), cost_of(margins, found.order)
    assert least <= most <= (1 + gap) * least + 1e-9
    assert most - most / (1 + gap) <= deviation * np.sqrt(overruled) + 1e-9
    assert (gap > 0) == (deviation > 0)
    if not deviation:
        assert found.order.tolist() == exact.order.tolist()


@pytest.mark.parametrize("deviation", [0.0, 1.0, 30.0, 60.0, 1e9])
def test_the_part_that_no_scores_explain_shrinks_by_its_noise(deviation):
    """The space of this part has 10 dimensions with 6 items, and a projection gives it."""
    margins = random_margins(np.random.default_rng(4), 6, 100)
    pairs = np.triu_indices(6, 1)
    differences = np.eye(6)[pairs[0]] - np.eye(6)[pairs[1]]
    rest = margins[pairs] - differences @ np.linalg.lstsq(differences, margins[pairs], rcond=None)[0]
    rho = max(0.0, 1 - 10 * deviation**2 / (rest**2).sum())
    found = KemenyRule(tolerance=0.0).aggregate(Noisy(margins, deviation))
    assert found.published.get("shrinkage", 1.0) == pytest.approx(rho)
    shrunk = np.zeros((6, 6))
    shrunk[pairs] = margins[pairs] - (1 - rho) * rest
    costs = [cost_of(shrunk - shrunk.T, list(order)) for order in permutations(range(6))]
    assert cost_of(shrunk - shrunk.T, found.order) == pytest.approx(min(costs))
    if deviation == 1e9:
        assert found.order.tolist() == np.argsort(-margins.sum(axis=1), kind="stable").tolist()


def test_margins_of_scores_alone_and_two_items_shrink_without_an_error():
    scores = np.array([4, 0, -1, -3])
    found = KemenyRule().aggregate(Noisy(scores[:, None] - scores, 2.0))
    assert found.order.tolist() == [0, 1, 2, 3]
    assert KemenyRule().aggregate(Noisy(np.array([[0, -3], [3, 0]]), 5.0)).order.tolist() == [1, 0]


def test_randomised_answers_have_the_mean_variance_of_their_margins():
    wins = np.array([[0, 6, 0], [2, 0, 9], [0, 7, 0]])  # 8 answers, none, and 16
    answers = Answers(3, coins=None)
    answers.publish_numbers(PairTallies(), (Tallies(0.25, wins),), Tallies(0.25, wins).law)
    assert answers.deviation(AllMargins()) == pytest.approx(np.sqrt((1 / (0.5**2 * 8) + 1 / (0.5**2 * 16)) / 3))
    assert answers.deviation(NetWins()) is None


def test_unknown_noise_leaves_the_search_exact():
    margins = random_margins(np.random.default_rng(2), 20, 500)
    for session in (ScriptedAnswers(margins), Noisy(margins, None)):
        assert KemenyRule().aggregate(session).published == {"optimal_gap": 0.0}


def test_private_margins_have_a_gap_and_exact_ones_have_none():
    profile = Profile.from_rankings(make_mallows(50, 20, 1.0, random_state=0))
    found = DPPairwise(epsilon=100.0, random_state=0).fit(profile)
    assert found.optimal_gap_ > 0
    assert DPPairwise(epsilon=100.0, rule=KemenyRule(tolerance=0.0), random_state=0).fit(profile).optimal_gap_ == 0
    assert Kemeny().fit(profile).optimal_gap_ == 0


# The `rule` parameter


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Kemeny(), 'rule must be a rule, got the estimator Kemeny; use rule="kemeny".'),
        (Borda(), 'rule must be a rule, got the estimator Borda; use rule="borda".'),
        (KwikSort, 'rule must be a rule, got the estimator KwikSort; use rule="kwiksort".'),
        (DPBorda(), "rule must be a rule, got the estimator DPBorda; use rule=one of ['borda', 'bradley_terry'"),
        ("Kemeny", "rule must be None, one of ['borda', 'bradley_terry', 'hierarchical', 'instant_runoff', 'kemeny'"),
        (3, "or a Rule object, got 3"),
        (KemenyRule, "got the class KemenyRule; use rule=KemenyRule()"),
    ],
)
def test_estimators_and_classes_in_place_of_rules_are_refused(rule, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        resolve_rule(rule, SortByScore())


# KwikSort


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
