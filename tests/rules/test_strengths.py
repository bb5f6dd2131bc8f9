"""The decoder of net wins within groups: against a general solver, against strengths that are known, and its limits."""

import math

import numpy as np
import pytest
from scipy.optimize import least_squares
from threadpoolctl import threadpool_limits

from sklearn_dprank.rules import swiss as strengths
from sklearn_dprank.rules.swiss import Fit, PairMargins, Round, fitted


def strengths_of(rounds, n, ridge, start=None):
    """The strengths of a fit, which starts from others if given."""
    start = None if start is None else Fit(start, n, None, None)
    return fitted(rounds, n, ridge, start=start).strengths


def predicted(s, n, groups):
    """Net wins within groups, by definition."""
    out = np.zeros(len(s))
    for group in groups:
        for i in group:
            out[i] = n * sum(math.tanh((s[i] - s[j]) / 2) for j in group)
    return out


def missed(x, rounds, n, ridge, pairs=()):
    """What the fit should make small in squares: residuals in deviations and roots of the priors, by definition."""
    s, u = x[:-1], x[-1]
    parts = [(each.wins - predicted(s, n * math.exp(u), groups_of(each, len(s)))) / each.deviation for each in rounds]
    single = [(o - n * math.exp(u) * math.tanh((s[i] - s[j]) / 2)) / deviation for i, j, o, deviation in pairs]
    return np.concatenate([*parts, single, math.sqrt(2 * ridge) * s, [u / math.sqrt(2)]])


def loss(found, rounds, n, ridge=0.15, pairs=()):
    x = np.append(found.strengths, math.log(found.voters / n))
    return (missed(x, rounds, n, ridge, pairs) ** 2).sum() / 2


def naively_fitted(rounds, n, ridge, start, pairs=()):
    """The same minimum by a general least-squares solver."""
    x = np.append(start.strengths, min(-1e-9, math.log(start.voters / n)))
    bounds = np.full(len(x), -np.inf), np.append(np.full(len(x) - 1, np.inf), 0.0)
    x = least_squares(missed, x, args=(rounds, n, ridge, pairs), bounds=bounds, xtol=1e-12, ftol=1e-12, gtol=1e-10).x
    return Fit(x[:-1] - x[:-1].mean(), n * math.exp(x[-1]), None, None)


def groups_of(each, m):
    return [range(m)] if each.groups is None else each.groups


def some_rounds(seed, m=9, n=400, deviation=30.0, spread=1.0):
    """Noisy rounds as the rule makes them: all items, and groups of three, differently cut."""
    rng = np.random.default_rng(seed)
    s = spread * rng.normal(size=m)
    cuts = [None, ((0, 1, 2), (3, 4, 5), (6, 7, 8)), ((8, 0), (1, 2, 3, 4), (5, 6, 7))]
    rounds = []
    for groups in cuts:
        exact = predicted(s, n, [range(m)] if groups is None else groups)
        rounds.append(Round(groups, np.rint(exact + deviation * rng.normal(size=m)).astype(int), deviation))
    return s - s.mean(), rounds


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "deviation"), [(400, 30.0), (400, 3.0), (400, 900.0), (10_000, 30.0)])
def test_the_minimum_is_that_of_a_general_solver(seed, n, deviation):
    """Also where the number of voters is far too large."""
    _, rounds = some_rounds(seed, deviation=deviation)
    found = fitted(rounds, n, 0.15)
    expected = naively_fitted(rounds, n, 0.15, found)
    assert loss(found, rounds, n) <= loss(expected, rounds, n) * (1 + 1e-3)
    margins, wanted = (each.model()[0] for each in (found, expected))
    np.testing.assert_allclose(margins, wanted, atol=0.02 * np.abs(wanted).max())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("deviation", [5.0, 50.0])
def test_margins_of_pairs_are_fitted_too(seed, deviation):
    rng = np.random.default_rng(seed)
    s, rounds = some_rounds(seed)
    pairs = [
        (i, j, 400 * math.tanh((s[i] - s[j]) / 2) + rng.normal(0, 60), deviation)
        for i, j in ((0, 1), (4, 2), (8, 3), (7, 8))
    ]
    margins, weights = np.zeros((2, 9, 9))
    for i, j, observed, _ in pairs:
        margins[i, j], margins[j, i], weights[i, j], weights[j, i] = observed, -observed, *([deviation**-2] * 2)
    found = fitted(rounds, 400, 0.15, PairMargins(margins, weights))
    expected = naively_fitted(rounds, 400, 0.15, found, pairs)
    assert loss(found, rounds, 400, pairs=pairs) <= loss(expected, rounds, 400, pairs=pairs) * (1 + 1e-3)
    assert loss(found, rounds, 400, pairs=pairs) < loss(fitted(rounds, 400, 0.15), rounds, 400, pairs=pairs)


@pytest.mark.parametrize("seed", range(4))
def test_far_too_few_voters_cannot_explain_the_answers(seed):
    """The loss is nearly flat where all seem to agree: the decoder comes close to its floor."""
    _, rounds = some_rounds(seed)
    found = fitted(rounds, 20, 0.15)
    assert found.voters <= 20
    assert loss(found, rounds, 20) <= loss(naively_fitted(rounds, 20, 0.15, found), rounds, 20) * (1 + 1e-3)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_number_of_voters_who_follow_the_model(share):
    s, _ = some_rounds(0, spread=2.0)
    cuts = [None, ((0, 1, 2), (3, 4, 5), (6, 7, 8)), ((8, 0, 3), (1, 5, 2), (4, 6, 7))]
    rounds = [Round(g, predicted(s, 10_000 * share, [range(9)] if g is None else g), 0.5) for g in cuts]
    assert fitted(rounds, 10_000, 0.15).voters == pytest.approx(10_000 * share, rel=1e-3)


def test_no_more_voters_follow_the_model_than_there_are():
    everybody = Round(None, np.array([300, 100, -100, -300]), 0.5)
    found = [fitted([everybody], n, 0.15).voters for n in (20, 100, 150)]
    assert found == [20, 100, pytest.approx(150, rel=0.5)] and found[2] <= 150
    fewer = Fit(np.array([3.0, 1.0, -1.0, -3.0]), 5.0, None, None)
    assert fitted([everybody], 20, 0.15, start=fewer).voters == 20


def test_curvature_is_that_of_the_residuals():
    _, rounds = some_rounds(0)
    found, step = fitted(rounds, 400, 0.15), 1e-4
    x = np.append(found.strengths, math.log(found.voters / 400))
    for item in range(9):
        ahead, back = (missed(x + sign * step * np.eye(10)[item], rounds, 400, 0.15) for sign in (1, -1))
        assert found.curvature[item] == pytest.approx((((ahead - back) / (2 * step)) ** 2).sum(), rel=1e-3)
    assert (found.residuals**2).sum() / 2 < loss(found, rounds, 400)


def test_it_starts_from_anywhere():
    _, rounds = some_rounds(0)
    expected = strengths_of(rounds, 400, 0.15)
    for start in (np.zeros(9), 3.0 * np.arange(9) - 12, np.random.default_rng(1).normal(size=9)):
        np.testing.assert_allclose(strengths_of(rounds, 400, 0.15, start), expected, atol=2e-3)


def test_answers_without_noise_give_the_strengths():
    s, _ = some_rounds(0)
    groups = [None, ((0, 1, 2), (3, 4, 5), (6, 7, 8))]
    rounds = [Round(g, predicted(s, 10**6, [range(9)] if g is None else g), 0.5) for g in groups]
    np.testing.assert_allclose(strengths_of(rounds, 10**6, 0.15), s, atol=1e-4)


def test_each_round_weighs_as_its_noise():
    """Two contradicting rounds: the one with less noise decides, whichever comes first."""
    wins = np.array([40, 0, -40])
    one, other = Round(None, wins, 5.0), Round(None, -wins, 50.0)
    assert strengths_of([one, other], 100, 0.15)[0] > 0.2
    np.testing.assert_allclose(strengths_of([other, one], 100, 0.15), strengths_of([one, other], 100, 0.15), atol=1e-4)
    even = strengths_of([one, other._replace(deviation=5.0)], 100, 0.15)
    np.testing.assert_allclose(even, 0, atol=1e-6)


def test_little_said_is_drawn_to_zero():
    sizes = [np.abs(strengths_of(some_rounds(0)[1], 400, ridge)).max() for ridge in (0.1, 10.0, 1e3, 1e5)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < 0.1 * sizes[0]
    far = Round(None, np.array([10, 0, -10]), 1e12)
    assert 0 < np.abs(strengths_of([far], 1.0, 0.15)).max() < 1e-12


@pytest.mark.parametrize("wins", [[0, 0, 0], [10**9, 0, -(10**9)], [2, 2, 2]])
def test_odd_answers_end_in_numbers(wins):
    for n in (1.0, 1e3, 1e15):
        assert np.isfinite(strengths_of([Round(None, np.array(wins), 0.5)], n, 0.15)).all()


def test_work_is_limited(monkeypatch):
    """No more than 30 steps, whatever the answers: each evaluates the loss once."""
    evaluated, solved = [], []
    real_point, solve = strengths._point, strengths.conjugate_gradients
    monkeypatch.setattr(strengths, "_point", lambda *args, **known: evaluated.append(1) or real_point(*args, **known))
    monkeypatch.setattr(strengths, "conjugate_gradients", lambda *args: solved.append(1) or solve(*args) * 1e6)
    fitted(some_rounds(0)[1], 400, 0.15)  # never settles
    assert (len(evaluated), len(solved)) == (31, 30)


def test_threads_do_not_matter():
    rng = np.random.default_rng(0)
    wins = (1000 * rng.normal(size=300)).astype(int)
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            found.append(strengths_of([Round(None, wins, 400.0)], 500, 0.15).tobytes())
    assert len(set(found)) == 1
