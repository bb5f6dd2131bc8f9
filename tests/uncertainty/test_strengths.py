"""Intervals and confidences of strengths: values, coverage, and the geometry of intervals of shares."""

from fractions import Fraction

import numpy as np
import pytest
from interval_tools import ranks, surely_above
from scipy.special import ndtr

from sklearn_dprank.uncertainty import AnswersLaw, LaplaceLaw, NormalLaw, PublishedNoise, ShareNoise, StrengthNoise


def test_intervals_of_shares_have_their_values():
    law = ShareNoise(np.array([40.0, 40.0]), 4.0, 8.0, "l2", np.zeros(2), np.ones(2))
    ends = law.intervals(np.array([30.0, 0.0]), 0.95)
    np.testing.assert_allclose(ends, [[0.40206, 1], [-0.32273, 0.32273]], atol=5e-6)
    assert law.rank_intervals(np.array([30.0, 0.0]), 0.95).tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("of", ["voters", "population"])
def test_intervals_of_shares_at_levels_near_1_are_finite_and_grow(norm, of):
    law = ShareNoise(np.full(2, 4e3), 4.0, 8.0, norm, np.zeros(2), np.ones(2))
    levels = [1 - 1e-12, 1 - 1e-14, 1 - 2**-53]
    ends = np.array([law.intervals(np.array([3e3, 0.0]), level, of) for level in levels])
    assert (np.diff(ends[..., 0], axis=0) < 0).all() and (np.diff(ends[..., 1], axis=0) > 0).all()
    assert np.abs(ends).max() < 1


def test_rank_intervals_of_strengths_at_levels_near_1_are_finite():
    law = StrengthNoise(np.array([0.0, 1.0, 1.0]))
    assert law.rank_intervals(np.array([0.0, 100.0, 200.0]), 1 - 2**-53).tolist() == [[2, 2], [1, 1], [0, 0]]


@pytest.mark.parametrize(
    "make",
    [
        lambda table: PublishedNoise("scores", NormalLaw(1.0), covariance=table),
        lambda table: StrengthNoise(table[0]),
        lambda table: ShareNoise(table[0], 1.0, 1.0, "l2", np.zeros(2), np.ones(2)),
        lambda table: AnswersLaw(0.5, table),
    ],
)
def test_noise_is_equal_if_all_its_numbers_are(make):
    assert make(np.eye(2)) == make(np.eye(2)) and make(np.eye(2)) != make(2 * np.eye(2)) and make(np.eye(2)) != "noise"


def test_unknown_exposures_give_no_information():
    law = ShareNoise(np.array([3.0, -90.0, -90.0]), 4.0, 8.0, "l1", np.zeros(3), np.ones(3))
    assert law.intervals(np.array([2.0, 80.0, -80.0]), 0.9).tolist() == [[-1, 1]] * 3


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_of_shares_hold_jointly_at_their_level(norm, level):
    """Points hold their level exactly; slopes of points hold more, as a slope meets a ball that misses the point."""
    rng = np.random.default_rng(7)
    x, e = np.array([30.0, -20.0, 5.0]), np.array([60.0, 25.0, 100.0])
    draw = rng.normal if norm == "l2" else rng.laplace
    held = []
    for _ in range(2000):
        law = ShareNoise(e + 8 * draw(size=3), 4.0, 8.0, norm, x, x)
        low, high = law.intervals(x + 4 * draw(size=3), level).T
        held.append(((low <= x / e) & (x / e <= high)).all())
    assert np.mean(held) > level - 3 * np.sqrt(level * (1 - level) / 2000)
    assert np.mean(held) < 1


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_intervals_of_shares_are_the_slopes_of_a_ball(norm):
    """Against all points of a sphere of the stated radius, on a fine grid of directions."""
    x, e, s, s_e, level = 18.0, 50.0, 4.0, 8.0, 0.8
    directions = np.linspace(0, 2 * np.pi, 100_001)
    circle = np.array([np.cos(directions), np.sin(directions)])
    if norm == "l1":
        circle /= np.abs(circle).sum(axis=0)
    draws = np.random.default_rng(8).normal(size=(2, 400_000)) if norm == "l2" else None
    if draws is None:
        draws = np.random.default_rng(8).laplace(size=(2, 400_000))
    sizes = np.hypot(*draws) if norm == "l2" else np.abs(draws).sum(axis=0)
    radius = np.quantile(sizes, level)
    slopes = (x + s * radius * circle[0]) / (e + s_e * radius * circle[1])
    law = ShareNoise(np.array([e]), s, s_e, norm, np.zeros(1), np.ones(1))
    np.testing.assert_allclose(law.intervals(np.array([x]), level)[0], [slopes.min(), slopes.max()], atol=0.005)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("noise", [0.3, 10.0])
def test_intervals_of_a_population_hold_jointly_where_persons_differ_most(norm, noise):
    """Persons count x = e = 2 or x = -e = -2, half of them each, so the sum of x has the variance 2 e."""
    rng = np.random.default_rng(9)
    draw = rng.normal if norm == "l2" else rng.laplace
    held = {"voters": [], "population": []}
    for _ in range(600):
        n_persons = rng.poisson([200, 60, 800])
        x, e = 2.0 * (2 * rng.binomial(n_persons, 0.5) - n_persons), 2.0 * n_persons
        law = ShareNoise(e + 4 * noise * draw(size=3), noise, 4 * noise, norm, x, x, most=2.0)
        published = x + noise * draw(size=3)
        for of, found in held.items():
            low, high = law.intervals(published, 0.9, of).T
            found.append(((low <= 0) & (high >= 0)).all())
    assert np.mean(held["population"]) > 0.9 - 3 * np.sqrt(0.09 / 600)
    assert np.mean(held["population"]) < 1 or norm == "l1"
    assert np.mean(held["voters"]) < 0.9 or noise > 1


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_intervals_of_a_population_are_those_of_voters_if_persons_do_not_differ(norm):
    law = ShareNoise(np.array([60.0, 90.0]), 4.0, 8.0, norm, np.zeros(2), np.ones(2), most=1e-12)
    x, level = np.array([30.0, -9.0]), 0.9
    split = level if norm == "l2" else ((1 + np.sqrt(level)) / 2) ** 2  # half of the risk is for the sample
    np.testing.assert_allclose(law.intervals(x, level, "population"), law.intervals(x, split), rtol=1e-5)


def test_rank_intervals_of_rounds_need_clear_differences():
    """With 2 items, z is the normal quantile at 1 - .05 / 2, times 1.3."""
    law = StrengthNoise(np.array([0.3, 0.4]))
    least = 1.3 * 1.959964 * 0.5
    assert law.rank_intervals(np.array([least + 1e-3, 0]), 0.95).tolist() == [[0, 0], [1, 1]]
    assert law.rank_intervals(np.array([least - 1e-3, 0]), 0.95).tolist() == [[0, 1], [0, 1]]
    np.testing.assert_allclose(law.chance_before(np.array([1.0, 0])), [[0.5, ndtr(1 / 0.75)], [ndtr(-1 / 0.75), 0.5]])


def examples(rng, m):
    """Noise and published numbers of m items: whole and broken, clear and tied, with equal and unequal deviations."""
    scale = 10.0 ** rng.integers(-1, 4)
    numbers = scale * rng.normal(size=m)
    for published in (numbers, np.rint(numbers), np.rint(numbers / scale), np.repeat(scale, m), rng.choice(numbers, m)):
        yield PublishedNoise("scores", LaplaceLaw(Fraction(1, 3))), np.rint(published)
        yield PublishedNoise("net_wins", NormalLaw(scale / 3, 0.0)), published
        deviations = scale * rng.choice([rng.random(m), np.repeat(0.1, m), np.where(rng.random(m) < 0.5, 0.0, 0.2)])
        yield StrengthNoise(deviations), published
        exposures = np.abs(published) + scale * rng.normal(size=m)
        yield ShareNoise(exposures, scale / 5, scale / 3, rng.choice(["l1", "l2"]), numbers, numbers), published


@pytest.mark.parametrize("m", [1, 2, 3, 7, 40, 400])
def test_rank_intervals_equal_those_of_all_pairs(m):
    """Those of strengths may be wider, as if deviations were at most 5 % larger."""
    rng = np.random.default_rng(m)
    for _ in range(20 if m < 100 else 3):
        for noise, published in examples(rng, m):
            for level in (0.01, 0.5, 0.95, 1 - 1e-9):
                found = noise.rank_intervals(published, level)
                exact = ranks(surely_above(noise, published, level))
                if isinstance(noise, StrengthNoise):
                    larger = StrengthNoise(noise.deviations * 1.05 + 1e-3 * noise.deviations.max())
                    wider = ranks(surely_above(larger, published, level))
                    assert ((wider[:, 0] <= found[:, 0]) & (found[:, 0] <= exact[:, 0])).all()
                    assert ((exact[:, 1] <= found[:, 1]) & (found[:, 1] <= wider[:, 1])).all()
                else:
                    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("deviation", [0.0, 0.2])
def test_rank_intervals_of_equally_certain_strengths_equal_those_of_all_pairs(deviation):
    rng = np.random.default_rng(5)
    for m in (2, 9, 200):
        noise, published = StrengthNoise(np.full(m, deviation)), rng.normal(size=m)
        expected = ranks(surely_above(noise, published, 0.9))
        np.testing.assert_array_equal(noise.rank_intervals(published, 0.9), expected)


def test_ends_that_meet_a_number_exactly_are_not_sure():
    """A difference of the quantile itself is not sure, in both directions."""
    noise = PublishedNoise("scores", LaplaceLaw(Fraction(1, 3)))
    least = noise.law.range_quantile(4, 0.9)
    at = np.array([0.0, least, 0.0, 2 * least + 1])
    assert noise.rank_intervals(at, 0.9).tolist() == [[1, 3], [1, 3], [1, 3], [0, 0]]
