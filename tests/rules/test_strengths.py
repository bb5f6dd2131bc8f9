"""The decoder of net wins within groups: against a general solver, against strengths that are known, and its limits."""

import math

import numpy as np
import pytest
from scipy.optimize import least_squares
from threadpoolctl import threadpool_limits

from sklearn_dprank.rules import strengths
from sklearn_dprank.rules.strengths import Round, group_strengths


def predicted(s, n, groups):
    """Net wins within groups, by definition."""
    out = np.zeros(len(s))
    for group in groups:
        for i in group:
            out[i] = n * sum(math.tanh((s[i] - s[j]) / 2) for j in group)
    return out


def naive_strengths(rounds, n, ridge, start):
    """The same minimum by a general least-squares solver."""

    def missed(s):
        parts = [(each.wins - predicted(s, n, groups_of(each, len(s)))) / each.deviation for each in rounds]
        return np.concatenate([*parts, math.sqrt(2 * ridge) * s])

    return least_squares(missed, start, xtol=1e-12, ftol=1e-12, gtol=1e-10).x


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
    found = group_strengths(rounds, n, 0.15)
    expected = naive_strengths(rounds, n, 0.15, found)
    assert loss(found, rounds, n) <= loss(expected, rounds, n) * (1 + 1e-5)
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(4))
def test_far_too_few_voters_cannot_explain_the_answers(seed):
    """The loss is nearly flat where all seem to agree: the decoder comes close to its floor."""
    _, rounds = some_rounds(seed)
    found = group_strengths(rounds, 20, 0.15)
    expected = naive_strengths(rounds, 20, 0.15, found)
    assert loss(found, rounds, 20) <= loss(expected, rounds, 20) * (1 + 1e-3)


def loss(s, rounds, n):
    missed = [(each.wins - predicted(s, n, groups_of(each, len(s)))) / each.deviation for each in rounds]
    return sum((part**2).sum() for part in missed) / 2 + 0.15 * s @ s


def test_it_starts_from_anywhere():
    _, rounds = some_rounds(0)
    expected = group_strengths(rounds, 400, 0.15)
    for start in (np.zeros(9), 3.0 * np.arange(9) - 12, np.random.default_rng(1).normal(size=9)):
        np.testing.assert_allclose(group_strengths(rounds, 400, 0.15, start), expected, atol=2e-3)


def test_answers_without_noise_give_the_strengths():
    s, _ = some_rounds(0)
    groups = [None, ((0, 1, 2), (3, 4, 5), (6, 7, 8))]
    rounds = [Round(g, predicted(s, 10**6, [range(9)] if g is None else g), 0.5) for g in groups]
    np.testing.assert_allclose(group_strengths(rounds, 10**6, 0.15), s, atol=1e-4)


def test_each_round_weighs_as_its_noise():
    """Two contradicting rounds: the one with less noise decides, whichever comes first."""
    wins = np.array([40, 0, -40])
    one, other = Round(None, wins, 5.0), Round(None, -wins, 50.0)
    assert group_strengths([one, other], 100, 0.15)[0] > 0.2
    np.testing.assert_allclose(
        group_strengths([other, one], 100, 0.15), group_strengths([one, other], 100, 0.15), atol=1e-4
    )
    even = group_strengths([one, other._replace(deviation=5.0)], 100, 0.15)
    np.testing.assert_allclose(even, 0, atol=1e-6)


def test_little_said_is_drawn_to_zero():
    sizes = [np.abs(group_strengths(some_rounds(0)[1], 400, ridge)).max() for ridge in (0.1, 10.0, 1e3, 1e5)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < 0.1 * sizes[0]
    far = Round(None, np.array([10, 0, -10]), 1e12)
    assert 0 < np.abs(group_strengths([far], 1.0, 0.15)).max() < 1e-12


@pytest.mark.parametrize("wins", [[0, 0, 0], [10**9, 0, -(10**9)], [2, 2, 2]])
def test_odd_answers_end_in_numbers(wins):
    for n in (1.0, 1e3, 1e15):
        assert np.isfinite(group_strengths([Round(None, np.array(wins), 0.5)], n, 0.15)).all()


def test_work_is_limited(monkeypatch):
    """No more than 30 steps of 50, whatever the answers: each evaluates the loss once."""
    evaluated, solved = [], []
    real_loss, real_step = strengths._explained, strengths._step

    def counted(*args):
        evaluated.append(1)
        return real_loss(*args)

    monkeypatch.setattr(strengths, "_explained", counted)
    monkeypatch.setattr(strengths, "_step", lambda *args: solved.append(1) or real_step(*args) * 1e6)  # never settles
    group_strengths(some_rounds(0)[1], 400, 0.15)
    assert (len(evaluated), len(solved)) == (31, 30)


def test_threads_do_not_matter():
    rng = np.random.default_rng(0)
    wins = (1000 * rng.normal(size=300)).astype(int)
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            found.append(group_strengths([Round(None, wins, 400.0)], 500, 0.15).tobytes())
    assert len(set(found)) == 1
