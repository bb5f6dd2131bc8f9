"""Bradley-Terry strengths: the loss against naive code, converged solutions and agreement of all solvers."""

import re

import numpy as np
import pytest
from oracles import ScriptedSession
from scipy.optimize import brentq, minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from sklearn_dprank.queries import PairTallies, Tallies, estimated_margins
from sklearn_dprank.rules import BradleyTerryRule
from sklearn_dprank.rules import bradley_terry as bradley_terry_loss
from sklearn_dprank.rules.bradley_terry import bradley_terry_strengths, downhill, loss_of

WAYS = {"few items": (1000, 0.0), "most pairs": (2, 0.0), "lists": (2, 2.0)}  # from how many items, and what share
STRENGTHS = np.array([0.3, -0.8, 1.1, 0.0, -0.4])


def expected_tallies(strengths, flips, answers):
    """What infinitely patient counting would find: `answers` a pair and flip probability."""
    chance = expit(strengths[:, None] - strengths[None, :])
    off = 1 - np.eye(len(strengths))
    return tuple(Tallies(flip, answers * (flip + (1 - 2 * flip) * chance) * off) for flip in flips)


def sampled_tallies(rng, strengths, flips, answers):
    out = []
    for tally in expected_tallies(strengths, flips, 1):
        upper = np.triu(rng.binomial(answers, np.clip(tally.wins, 0, 1)), 1)
        out.append(Tallies(tally.flip, upper + np.triu(answers - upper, 1).T))
    return tuple(out)


def go(monkeypatch, way):
    """Have the loss told in one of its ways, whatever it is of."""
    many, full = WAYS[way]
    monkeypatch.setattr(bradley_terry_loss, "_MANY", many)
    monkeypatch.setattr(bradley_terry_loss, "_FULL", full)


def unrounded(tallies, ridge):
    return downhill(loss_of(tallies, ridge), estimated_margins(tallies).mean(axis=1) * 2)


def naive_loss(s, tallies, ridge):
    """Minus the penalised log-likelihood, answer by answer."""
    total = ridge / 2 * sum(x * x for x in s)
    for flip, wins in tallies:
        for i in range(len(s)):
            for j in range(len(s)):
                if i != j:
                    said = flip + (1 - 2 * flip) / (1 + np.exp(s[j] - s[i]))
                    total -= wins[i, j] * np.log(said)
    return total


def session(tallies, seed=0):
    class Answers(ScriptedSession):
        def answer(self, query):
            assert query == PairTallies()
            return tallies

    return Answers(np.zeros_like(tallies[0].wins), seed=seed)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flips", [(0.0,), (0.0, 0.0), (0.2,), (0.05, 0.2, 0.49)])
def test_the_loss_and_its_derivatives(monkeypatch, flips, way):
    """Against the naive loss, and against central differences of it and of the slope."""
    go(monkeypatch, way)
    rng = np.random.default_rng(7)
    for _ in range(5):
        tallies = random_tallies(rng, flips)
        m = len(tallies[0].wins)
        loss, s, eps = loss_of(tallies, 0.3), rng.normal(size=m), 1e-5
        s -= s.mean()
        value, derive = loss(s)
        slope, curvature = derive()
        assert value == pytest.approx(naive_loss(s, tallies, 0.3), rel=1e-12)
        around = [[loss(s + sign * step) for sign in (1, -1)] for step in eps * np.eye(m)]
        scale = 1 + np.abs(slope).max() + sum(tally.wins.sum() for tally in tallies)
        expected = np.array([up[0] - down[0] for up, down in around]) / (2 * eps)
        np.testing.assert_allclose(slope, expected - expected.mean(), atol=1e-6 * scale)
        rows = np.array([up[1]()[0] - down[1]()[0] for up, down in around]) / (2 * eps)
        lift = 2 * scale  # makes any curvature positive
        x = curvature.solved(slope, lift)
        residual = rows @ x + lift * x - slope
        assert np.abs(residual - residual.mean()).max() < 1e-5 * scale
        assert curvature.solved(slope, -100 * scale) is None


@pytest.mark.parametrize("flips", [(0.0,), (0.27,), (0.1, 0.3, 0.45)])
def test_exact_tallies_give_the_strengths_back(flips):
    found = bradley_terry_strengths(expected_tallies(STRENGTHS, flips, 1e6), 1e-6)
    np.testing.assert_allclose(found, STRENGTHS - STRENGTHS.mean(), atol=1e-3)


@pytest.mark.parametrize("flips", [(0.0,), (0.27,), (0.1, 0.45)])
@pytest.mark.parametrize("ridge", [0.01, 5.0])
def test_against_naive_twin(flips, ridge):
    rng = np.random.default_rng(0)
    for answers in (3, 200):
        tallies = sampled_tallies(rng, STRENGTHS, flips, answers)
        found = bradley_terry_strengths(tallies, ridge)
        plain = minimize(naive_loss, np.zeros(5), args=(tallies, ridge), method="BFGS", options={"gtol": 1e-4})
        assert naive_loss(found, tallies, ridge) <= plain.fun + 1e-4
        np.testing.assert_allclose(found, plain.x, atol=0.02)


def test_the_solution_is_stationary():
    """Central differences of the naive loss vanish at the strengths."""
    tallies = sampled_tallies(np.random.default_rng(1), STRENGTHS, (0.2,), 100)
    found = bradley_terry_strengths(tallies, 0.01)
    for step in 1e-4 * np.eye(5):
        slope = (naive_loss(found + step, tallies, 0.01) - naive_loss(found - step, tallies, 0.01)) / 2e-4
        assert abs(slope) < 0.01  # of some 1,000 answers


def random_tallies(rng, flips):
    """Answers of few or many voters to few or all pairs, who agree little or much."""
    m = int(rng.integers(2, 14))
    strengths = rng.normal(size=m) * rng.choice([0, 0.5, 2, 6])
    out = []
    for flip in flips:
        answers = np.triu(rng.binomial(int(rng.choice([1, 3, 30, 1000])), rng.choice([0.05, 0.3, 1]), (m, m)), 1)
        said = flip + (1 - 2 * flip) * expit(strengths[:, None] - strengths[None, :])
        upper = rng.binomial(answers, said)
        out.append(Tallies(flip, upper + (answers - upper).T))
    return tuple(out)


def loss_and_slope(s, tallies, ridge):
    """`naive_loss`, all pairs at once, and its gradient."""
    chance = expit(s[:, None] - s[None, :])
    value, slope = ridge / 2 * s @ s, ridge * s
    for flip, wins in tallies:
        said = flip + (1 - 2 * flip) * chance
        value -= (wins * np.log(said)).sum()
        pull = wins * (1 - 2 * flip) * chance * chance.T / said
        slope = slope - pull.sum(axis=1) + pull.sum(axis=0)
    return value, slope


@pytest.mark.slow
@pytest.mark.parametrize("flips", [(0.0,), (0.2,), (0.27, 0.4), (0.05, 0.2, 0.49)])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
@pytest.mark.parametrize("way", WAYS)
def test_random_tallies_are_solved_to_the_last_digits(monkeypatch, flips, ridge, way):
    """Sparse ones too, where the likelihood is flat and bends both ways: the slope vanishes, and it is a minimum."""
    go(monkeypatch, way)
    rng = np.random.default_rng(0)
    for _ in range(100):
        tallies = random_tallies(rng, flips)
        found = unrounded(tallies, ridge)
        value, slope = loss_and_slope(found, tallies, ridge)
        answers = sum(wins.sum() for _, wins in tallies)
        assert np.abs(slope).max() <= 1e-10 * (100 + answers)
        for _ in range(3):
            aside = found + 1e-3 * rng.normal(size=len(found))
            assert loss_and_slope(aside, tallies, ridge)[0] >= value - 1e-12 * answers


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_random_tallies_are_ordered_as_by_a_tight_solve(ridge):
    """Without flips there is one optimum: every pair that it tells apart comes in its order."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        tallies = random_tallies(rng, (0.0,))
        start, options = np.zeros(len(tallies[0].wins)), {"gtol": 1e-8, "maxiter": 10_000}
        tight = minimize(loss_and_slope, start, args=(tallies, ridge), jac=True, method="BFGS", options=options).x
        ordered = tight[BradleyTerryRule().set_params(ridge=ridge).aggregate(session(tallies)).order]
        assert (np.diff(ordered) < 1e-5).all()


@pytest.mark.slow
@pytest.mark.parametrize("flips", [(0.0,), (0.3,), (0.05, 0.2, 0.49)])
def test_all_solvers_take_the_same_way(monkeypatch, flips):
    """Where flips leave several optima too, strengths do not depend on how the steps are solved."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        tallies, found = random_tallies(rng, flips), []
        for way in WAYS:
            go(monkeypatch, way)
            found.append(unrounded(tallies, 0.01))
        np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=0, atol=1e-10)


@pytest.mark.parametrize("way", WAYS)
def test_strengths_whose_exponentials_no_double_holds(monkeypatch, way):
    """An item that is beaten by far, as it must be."""
    go(monkeypatch, way)
    s, wins = np.array([810.0, 800.0, 0.0]), np.array([[0, 5, 6], [2, 0, 7], [0, 0, 0]])
    value, derive = loss_of((Tallies(0.0, wins),), 0.01)(s)
    assert value == pytest.approx(0.005 * (s @ s) + 5 * np.log1p(np.exp(-10)) + 2 * np.log1p(np.exp(10)), rel=1e-14)
    slope, curvature = derive()
    won = 5 - 7 * expit(10)
    np.testing.assert_allclose(slope, 0.01 * (s - s.mean()) - [won, -won, 0], atol=1e-12)
    assert np.isfinite(curvature.solved(np.array([1.0, -1.0, 0.0]), 1.0)).all()


@pytest.mark.parametrize("scale", [1.0, 30.0, 250.0])
def test_exponentials_of_items_and_of_pairs_say_the_same(monkeypatch, scale):
    rng, found = np.random.default_rng(8), []
    s, wins = rng.uniform(-scale, scale, 9), rng.integers(0, 9, (9, 9)) * (1 - np.eye(9, dtype=np.int64))
    for largest in (300.0, 0.0):
        monkeypatch.setattr(bradley_terry_loss, "_LARGEST", largest)
        value, derive = loss_of((Tallies(0.0, wins),), 0.01)(s)
        slope, curvature = derive()
        found.append([value, *slope, curvature.steepest])
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("ridge", [1e-9, 1e-6, 0.01])
@pytest.mark.parametrize("answers", [1, 3, 1000])
def test_a_small_ridge_leaves_all_nine_digits(ridge, answers):
    """All say the same of two items: a root tells their strengths."""
    found = bradley_terry_strengths((Tallies(0.0, np.array([[0, answers], [0, 0]])),), ridge)
    exact = brentq(lambda s: ridge * s - answers * expit(-2 * s), 0, 30, xtol=1e-14, rtol=1e-14)
    np.testing.assert_allclose(found, [exact, -exact], rtol=0, atol=6e-10)


def test_the_number_of_threads_changes_no_digit():
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(unrounded(sparse_tallies(300, 400_000, 0.0), 0.01).tobytes())
    assert found[0] == found[1]


def sparse_tallies(m, answers, flip, near=None):
    """Answers to pairs drawn at random, of items at most `near` places apart."""
    rng = np.random.default_rng(m)
    i, j = np.triu_indices(m, 1)
    if near is not None:
        i, j = i[j - i <= near], j[j - i <= near]
    strengths = np.linspace(3, -3, m)
    heard = rng.multinomial(answers, np.full(len(i), 1 / len(i)))
    wins = np.zeros((m, m), dtype=np.int64)
    wins[i, j] = rng.binomial(heard, flip + (1 - 2 * flip) * expit(strengths[i] - strengths[j]))
    wins[j, i] = heard - wins[i, j]
    return (Tallies(flip, wins),)


@pytest.mark.parametrize("near", [None, 2])
@pytest.mark.parametrize("flip", [0.0, 0.27])
@pytest.mark.parametrize(("m", "answers"), [(80, 9000), (200, 300), (200, 5000), (885, 1000), (885, 20_000)])
def test_tallies_of_many_items_converge(monkeypatch, m, answers, flip, near):
    """A few answers an item, some of none, or of most pairs; in chains too. No solve by the threads of BLAS."""

    def threads(*_):
        raise AssertionError("a dense solve of many items")

    monkeypatch.setattr(bradley_terry_loss, "dposv", threads)
    tallies = sparse_tallies(m, answers, flip, near)
    found = unrounded(tallies, 0.01)
    value, slope = loss_and_slope(found, tallies, 0.01)
    assert np.abs(slope - slope.mean()).max() <= 1e-10 * (100 + answers)
    assert abs(found.sum()) < 1e-6
    rng = np.random.default_rng(5)
    for size in (1e-3, 0.1):
        assert loss_and_slope(found + size * rng.normal(size=m), tallies, 0.01)[0] > value


def test_large_counts_end():
    """Rounding keeps the last step above any fixed length: the search ends where steps no longer shrink."""
    rng = np.random.default_rng(2)
    strengths = rng.normal(size=12) + np.repeat([0, 60], 6)
    tallies = sampled_tallies(rng, strengths, (0.27,), 10**9)
    found = unrounded(tallies, 0.01)
    assert np.abs(loss_and_slope(found, tallies, 0.01)[1]).max() < 1e-4
    assert np.argsort(found).tolist() == np.argsort(strengths).tolist()


def test_equal_answers_are_a_tie_whatever_rounding_says():
    """Items 1 and 2 have the same answers: the session's coins, not the last digit, decide."""
    wins = np.array([[0, 7, 7, 3], [2, 0, 5, 9], [2, 5, 0, 9], [8, 1, 1, 0]])
    tallies = (Tallies(0.1, wins),)
    firsts = set()
    for seed in range(20):
        order = BradleyTerryRule().aggregate(session(tallies, seed)).order.tolist()
        firsts.add(order.index(1) < order.index(2))
    assert firsts == {True, False}


def test_nine_digits_are_told():
    tallies = random_tallies(np.random.default_rng(6), (0.2,))
    found, exact = bradley_terry_strengths(tallies, 0.01), unrounded(tallies, 0.01)
    assert (found == exact.round(9)).all() and (found != exact).any()


@pytest.mark.parametrize("flip", [0.0, 0.27, 0.4])
def test_recovers_the_order_of_a_population(flip):
    """Voters who choose by Bradley-Terry strengths, through randomised response."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        strengths = rng.permutation(np.linspace(-1.5, 1.5, 8))
        tallies = sampled_tallies(rng, strengths, (flip,), 20_000)
        order = BradleyTerryRule().aggregate(session(tallies)).order
        assert order.tolist() == np.argsort(-strengths).tolist()


def test_items_that_never_win_or_lose_stay_finite():
    wins = np.array([[0, 9, 9], [0, 0, 9], [0, 0, 0]])
    strengths = bradley_terry_strengths((Tallies(0.0, wins),), 0.01)
    assert np.isfinite(strengths).all()
    assert strengths.sum() == pytest.approx(0)
    assert BradleyTerryRule().aggregate(session((Tallies(0.0, wins),))).order.tolist() == [0, 1, 2]


def test_no_answers_is_a_tie():
    tallies = (Tallies(0.2, np.zeros((3, 3), dtype=np.int64)),)
    np.testing.assert_allclose(bradley_terry_strengths(tallies, 0.01), 0)


def test_relabelling_items_relabels_strengths():
    rng = np.random.default_rng(3)
    tallies = sampled_tallies(rng, STRENGTHS, (0.1, 0.3), 50)
    labels = rng.permutation(5)
    moved = tuple(Tallies(flip, wins[np.ix_(labels, labels)]) for flip, wins in tallies)
    np.testing.assert_allclose(
        bradley_terry_strengths(moved, 0.01), bradley_terry_strengths(tallies, 0.01)[labels], atol=1e-4
    )


@pytest.mark.parametrize("ridge", [0, -1.0, np.nan])
def test_ridge_must_be_positive(ridge):
    with pytest.raises(
        ValueError, match=re.escape(f"ridge must be a number above 0 and at most 1e+100, got {ridge!r}")
    ):
        BradleyTerryRule(ridge).asks(3)


def test_asks_for_tallies():
    (ask,) = BradleyTerryRule().asks(3)
    assert (ask.query, ask.times, ask.share) == (PairTallies(), 1, 1)
