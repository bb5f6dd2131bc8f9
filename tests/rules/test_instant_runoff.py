"""`InstantRunoffRule` against a naive count, from exact and noisy histograms, with refused channels and sizes."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import profiles
from scipy import stats

from sklearn_dprank import Aggregator, DPHistogram, DPPairwise, LDPPairwise, PositionalRule
from sklearn_dprank.channels import Answers, Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.orders.permutations import permutation_index
from sklearn_dprank.queries import Histogram
from sklearn_dprank.rules import InstantRunoffRule, SortByScore, resolve_rule
from sklearn_dprank.sampling.bit_source import SeededBits


class Counted(Answers):
    """Answers with given cells."""

    def __init__(self, cells, m, seed=0, fair_ties=False):
        super().__init__(m, SeededBits(np.random.SeedSequence(seed)), fair_ties=fair_ties)
        self.cells = np.asarray(cells)

    def answer(self, query):
        assert query == Histogram(unseen_last=True)
        return self.cells


def order_of(cells, m, **options):
    return InstantRunoffRule().aggregate(Counted(cells, m, **options)).order.tolist()


def naive_runoff(cells, m):
    """Count the first places among those that are left; the last of those with the fewest goes."""
    left, behind = list(range(m)), []
    while left:
        counts = {i: sum(c for p, c in cells if all(p[i] <= p[j] for j in left)) for i in left}
        behind.insert(0, max(i for i in left if counts[i] == min(counts.values())))
        left.remove(behind[0])
    return behind


@settings(max_examples=80)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([1, 4, 1000]))
def test_against_naive_twin(m, seed, high):
    """Negative cells and ties included."""
    cells = np.random.default_rng(seed).integers(-high, high + 1, factorial(m))
    assert order_of(cells, m) == naive_runoff(list(zip(permutations(range(m)), cells, strict=True)), m)


@settings(max_examples=60)
@given(profiles(strict=True))
def test_ballots_against_naive_twin(X):
    found = Aggregator(rule="instant_runoff").fit(X).consensus_
    assert found.tolist() == naive_runoff([(ballot, 1) for ballot in X.tolist()], X.shape[1])


def test_by_hand():
    """First places 4, 3, 2: item 2 goes, and its ballots to item 1, which passes item 0. Plurality and Borda differ."""
    X = [[0, 1, 2]] * 4 + [[2, 0, 1]] * 3 + [[2, 1, 0]] * 2
    assert Aggregator(rule="instant_runoff").fit(X).consensus_.tolist() == [1, 0, 2]
    assert PositionalRule("plurality").fit(X).consensus_.tolist() == [0, 1, 2]
    # The favourite of nobody, second for all, goes first.
    X = [[0, 1, 2]] * 2 + [[2, 1, 0]]
    assert Aggregator(rule="instant_runoff").fit(X).consensus_.tolist() == [0, 2, 1]
    assert PositionalRule("borda").fit(X).consensus_.tolist() == [0, 1, 2]


@pytest.mark.slow
def test_ties_are_broken_by_index_where_nothing_is_private_and_by_coins_elsewhere():
    assert order_of(np.ones(24, dtype=int), 4) == [0, 1, 2, 3]
    found = [tuple(order_of(np.zeros(6, dtype=int), 3, seed=k, fair_ties=True)) for k in range(1200)]
    counts = [found.count(order) for order in permutations(range(3))]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_an_item_that_nobody_has_seen_is_nobody_s_first_choice():
    """Half of the ballots would put it first if its place were a coin's."""
    X = np.array([[0, 1, np.nan]] * 300 + [[1, 0, np.nan]] * 200)
    for estimator in (Aggregator(rule="instant_runoff"), DPHistogram(20.0, rule="instant_runoff")):
        for seed in range(5):
            assert estimator.set_params(random_state=seed).fit(X).consensus_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
@pytest.mark.parametrize("release", [None, Histogram(), Histogram(unseen_last=True)], ids=str)
def test_much_budget_finds_what_exact_counts_find(noise, delta, release):
    X = make_mallows(501, 5, 0.9, random_state=0)
    exact = Aggregator(rule="instant_runoff").fit(X).consensus_
    channel = Central(1e4, delta, noise, release)
    np.testing.assert_array_equal(Aggregator(channel, "instant_runoff", random_state=0).fit(X).consensus_, exact)
    histogram = DPHistogram(1e4, delta, noise, rule="instant_runoff", random_state=0).fit(X)
    np.testing.assert_array_equal(histogram.consensus_, exact)
    assert naive_runoff(list(zip(permutations(range(5)), histogram.histogram_, strict=True)), 5) == exact.tolist()


@pytest.mark.slow
def test_ten_items_against_naive_twin():
    rng = np.random.default_rng(0)
    ballots = rng.permuted(np.tile(np.arange(10), (400, 1)), axis=1)
    cells = np.bincount(permutation_index(ballots.T), minlength=factorial(10))
    assert order_of(cells, 10) == naive_runoff([(ballot, 1) for ballot in ballots.tolist()], 10)


@pytest.mark.parametrize("channel", [None, Central(), Central(release=Histogram())], ids=str)
def test_eleven_items_are_refused_with_the_remedy(channel):
    with pytest.raises(ValueError, match=r"all 11! rankings.* up to 10 items; use rule='plurality' or rule='borda'"):
        Aggregator(channel, "instant_runoff").fit([range(11)] * 3)


@pytest.mark.parametrize("rule", ["instant_runoff", "plurality", "veto"])
@pytest.mark.parametrize(
    ("make", "channel"), [(DPPairwise, "Central"), (LDPPairwise, "Local")], ids=["DPPairwise", "LDPPairwise"]
)
def test_pairs_do_not_say_who_is_first(make, channel, rule):
    asked = r"Histogram\(unseen_last=True\)" if rule == "instant_runoff" else "PositionalScores of length 3"
    with pytest.raises(ValueError, match=rf"^{channel} cannot answer {asked}, which the rule asks for; "):
        make(rule=rule).fit([[0, 1, 2]] * 3)


@pytest.mark.parametrize("name", ["plurality", "veto"])
def test_positional_rules_by_name(name):
    assert resolve_rule(name, SortByScore()).get_params() == {"scores": name}
    X = make_mallows(301, 4, 0.9, random_state=1)
    named = DPHistogram(0.5, rule=name, random_state=3).fit(X)
    np.testing.assert_array_equal(named.ranks_, DPHistogram(0.5, rule=SortByScore(name), random_state=3).fit(X).ranks_)
    np.testing.assert_array_equal(Aggregator(rule=name).fit(X).ranks_, PositionalRule(name).fit(X).ranks_)
