"""The m-dimensional Gaussian that stands for Gaussian noise on all m! cells."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from audit_tools import sampled_orders
from oracles import all_ballots, derived, rankings, seeded
from scipy import stats

from sklearn_dprank import DPHistogram
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.queries import Histogram, NetWins, PositionalScores, ScoresByHistogram
from sklearn_dprank.rules import SortByScore

NEIGHBORING = ["add_remove", "replace"]
RULES = {
    "net wins": lambda m: NetWins(),
    "borda": lambda m: PositionalScores(tuple(range(m - 1, -1, -1))),
    "plurality": lambda m: PositionalScores(tuple([1.0] + [0.0] * (m - 1))),
    "veto": lambda m: PositionalScores(tuple([1.0] * (m - 1) + [0.0])),
    "squares": lambda m: PositionalScores(tuple(float((m - k) ** 2) for k in range(m))),
    "fractions": lambda m: PositionalScores(tuple(1 / (k + 3) for k in range(m))),
}


def score_of_each_cell(query, m):
    """Shape (m, m!): the score of every item in every ranking, in the units of the answer."""
    unit = np.eye(factorial(m), dtype=np.int64)
    return np.array([derived(query, Histogram(), cell) for cell in unit], dtype=float).T


def spread(query, m):
    """How many times the variance of a cell's noise the shortcut adds, in the units of the answer."""
    by_histogram = ScoresByHistogram(query)
    one = by_histogram.read(np.ones(m, dtype=np.int64), m)[0]
    ratio = by_histogram.sensitivity(m, "replace").l2_squared / Histogram().sensitivity(m, "replace").l2_squared
    return float(ratio) * float(one) ** 2


@pytest.mark.parametrize("m", [3, 4, 5])
@pytest.mark.parametrize("name", RULES)
def test_noise_sorts_like_noise_on_every_cell(name, m):
    """Cell noise of variance 1 gives scores the covariance (alpha - beta) I + beta 11'; sorting sees contrasts only."""
    query = RULES[name](m)
    cells = score_of_each_cell(query, m)
    covariance = cells @ cells.T
    s = cells[0, np.unique(rankings(m)[:, 0], return_index=True)[1]]  # the score of each position
    alpha = factorial(m - 1) * (s**2).sum()
    beta = factorial(m - 2) * (s.sum() ** 2 - (s**2).sum())
    np.testing.assert_allclose(covariance, (alpha - beta) * np.eye(m) + beta, rtol=1e-9, atol=1e-9 * alpha)
    contrasts = np.eye(m) - 1 / m
    independent = spread(query, m) * np.eye(m)
    np.testing.assert_allclose(
        contrasts @ covariance @ contrasts, contrasts @ independent @ contrasts, rtol=1e-9, atol=1e-9 * alpha
    )


@pytest.mark.parametrize("name", RULES)
def test_answer_is_that_of_the_histogram(name):
    """Ties and missing items are completed by the same coins."""
    X = all_ballots(4)
    profile, query = Profile.from_rankings(X), RULES[name](4)
    by_histogram = ScoresByHistogram(query)
    answer = by_histogram.read(by_histogram.vector(profile, seeded(1)), 4)
    source = Histogram(unseen_last=name != "net wins")
    direct = derived(query, source, source.vector(profile, seeded(1)))
    np.testing.assert_allclose(answer, direct, rtol=1e-12, atol=1e-12)
    assert by_histogram.vector(profile, seeded(1)).dtype == np.int64


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("m", [3, 4, 5, 6])
@pytest.mark.parametrize("name", RULES)
def test_stated_sensitivity_covers_the_scores_themselves(name, m, neighboring):
    """So that the noisy scores are private on their own, not only their order."""
    by_histogram = ScoresByHistogram(RULES[name](m))
    alone = np.array([by_histogram.vector(Profile.from_rankings([x]), seeded()) for x in rankings(m)])
    moves = alone if neighboring == "add_remove" else alone - alone[0]
    stated = by_histogram.sensitivity(m, neighboring)
    assert isinstance(stated.l2_squared, Fraction)
    assert (moves**2).sum(axis=1).max() <= stated.l2_squared
    assert np.abs(moves).sum(axis=1).max() <= stated.l1


def test_constant_scores_have_no_noise_and_no_signal():
    query = ScoresByHistogram(PositionalScores((5.0, 5.0, 5.0)))
    assert not query.vector(Profile.from_rankings(all_ballots(3)), seeded()).any()
    assert query.sensitivity(3, "replace").l2_squared == 0
    X = np.tile(np.arange(12), (5, 1))
    rule = SortByScore([1.0] * 12)
    first = [DPHistogram(delta=1e-6, noise="gaussian", rule=rule, random_state=k).fit(X).ranks_[0] for k in range(40)]
    assert len(set(first)) > 6  # coins


@pytest.mark.slow
@pytest.mark.parametrize("rule", [None, SortByScore("plurality")])
def test_orders_have_the_law_of_the_explicit_histogram(rule, monkeypatch):
    """End to end at m = 4, by sending four items through the shortcut."""
    X = [[0, 1, 2, 3]] * 12 + [[1, 0, 3, 2]] * 6 + [[0, 0, 1, np.nan]] * 5 + [[3, np.nan, 0, 0]] * 4
    profile = Profile.from_rankings(X)

    estimator = DPHistogram(epsilon=0.3, delta=1e-3, noise="gaussian", rule=rule)
    explicit = np.bincount(sampled_orders(estimator, profile, 1500, seed=0), minlength=24)
    monkeypatch.setattr(Histogram, "largest", 2)
    shortcut = np.bincount(sampled_orders(estimator, profile, 1500, seed=1), minlength=24)
    seen = (explicit + shortcut) >= 10
    table = np.array([np.append(c[seen], c[~seen].sum()) for c in (explicit, shortcut)])
    table = table[:, table.sum(axis=0) > 0]
    assert table.shape[1] >= 15
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_its_name_in_a_guarantee():
    assert str(ScoresByHistogram(NetWins())) == "NetWins by way of a histogram"
