"""Posteriors of true values under noise, against integrals, large normal vectors and simulated truths."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from sklearn_dprank import DPBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.uncertainty import AnswersLaw, LaplaceLaw, NormalLaw, SkellamLaw
from sklearn_dprank.uncertainty.posterior import SPREADS, _Model, chance_before, given


def integrated(x, y, scale, width):
    """Return P(x's value is above y's) by sums over a fine grid."""
    grid = np.linspace(-12 * width, 12 * width, 6001)
    laws = [norm.pdf(grid, scale=width) * np.exp(-np.abs(seen - grid) / scale) for seen in (x, y)]
    one, other = (law / law.sum() for law in laws)
    return one @ (other.cumsum() - other / 2)


@pytest.mark.parametrize(("scale", "width"), [(1.0, 1.0), (1.0, 0.05), (3.0, 7.0), (0.2, 4.0)])
def test_laplace_posteriors_equal_integrals(scale, width):
    values = np.array([-3.0, -0.5, 0.0, 0.4, 1.0, 6.0]) * max(scale, width) / 2
    found = given(values, scale, width)
    for i, j in combinations(range(len(values)), 2):
        assert found[i, j] == pytest.approx(integrated(values[i], values[j], scale, width), abs=2e-3)
    np.testing.assert_allclose(found + found.T, 1)


@pytest.mark.parametrize("far", [1e3, 1e7, 1e12])
def test_little_laplace_noise_is_not_shrunk(far):
    """The difference of two draws of noise decides."""
    d = np.array([0.0, 0.5, 2.0, 9.0])
    expected = 1 - np.exp(-d) * (1 + d / 2) / 2
    values = np.concatenate([-d, np.arange(1, 60) * far])
    np.testing.assert_allclose(chance_before(values, 1.0)[0, : len(d)], expected, atol=4e-3)


def log_density_of_laplace(values, scale, width):
    """Log density of values, each normal plus Laplace noise, by sums over a fine grid."""
    x = np.linspace(-12 * width, 12 * width, 20001)
    noise = np.exp(-np.abs(values[:, None] - x) / scale) / (2 * scale)
    return np.log((noise * norm.pdf(x, scale=width)).sum(axis=1) * (x[1] - x[0])).sum()


def test_laplace_posteriors_average_over_spreads():
    """Write out the prior, the likelihood and the probability for each spread."""
    values, scale = np.array([21.0, 9.0, -3.0, -27.0]), 10.0
    widths = SPREADS * np.sqrt(2) * scale
    weights = np.array([t / (1 / 16 + t**2) for t in SPREADS])
    weights *= np.exp([log_density_of_laplace(values, scale, width) for width in widths])
    expected = sum(w * given(values, scale, width) for w, width in zip(weights, widths, strict=True)) / weights.sum()
    np.testing.assert_allclose(chance_before(values, scale), expected, atol=2e-3)


def test_normal_scores_are_averaged_over_their_spread():
    scores, std = np.array([9.0, 4.0, 0.0, -13.0]), 2.0
    t = SPREADS * std
    weights = norm.pdf(scores[:, None], scale=np.sqrt(std**2 + t**2)).prod(axis=0) * t / ((std / 4) ** 2 + t**2)
    shrink = t**2 / (t**2 + std**2)
    d = (scores[:, None] - scores)[..., None]
    expected = (norm.cdf(d * np.sqrt(shrink / 2) / std) * weights).sum(axis=-1) / weights.sum()
    np.testing.assert_allclose(NormalLaw(std).chance_before(scores), expected, atol=1e-3)
    np.testing.assert_array_equal(SkellamLaw(Fraction(2)).chance_before(scores), NormalLaw(2.0).chance_before(scores))


def linear(margins, precision):
    """Return the pairs with information, and the design matrix from strengths to their margins."""
    pairs = [pair for pair in combinations(range(len(margins)), 2) if precision[pair] > 0]
    return pairs, np.array([[(k == i) * 1.0 - (k == j) for k in range(len(margins))] for i, j in pairs])


def conditional(margins, precision, of_items, of_pairs):
    """Return P(margin > 0) given the observed margins, from one large covariance matrix."""
    m, (seen, design) = len(margins), linear(margins, precision)
    pairs, every = linear(margins, np.ones((m, m)))
    same = np.array([[float(pair == other) for other in seen] for pair in pairs])
    prior = of_items * every @ design.T + of_pairs * same
    noise = of_items * design @ design.T + np.diag([of_pairs + 1 / precision[pair] for pair in seen])
    gain = prior @ np.linalg.inv(noise)
    mean = gain @ np.array([margins[pair] for pair in seen])
    variance = of_items * (every**2).sum(axis=1) + of_pairs - (gain * prior).sum(axis=1)
    out = np.full((m, m), 0.5)
    for (i, j), chance in zip(pairs, norm.cdf(mean / np.sqrt(variance)), strict=True):
        out[i, j], out[j, i] = chance, 1 - chance
    return out


def antisymmetric(rng, m, draw):
    upper = np.triu(draw((m, m)), 1)
    return upper - upper.T


@pytest.mark.parametrize("m", [3, 4, 6])
@pytest.mark.parametrize(("of_items", "of_pairs"), [(2.0, 0.5), (1.0, 0.0), (0.3, 4.0)])
def test_posteriors_of_margins_equal_a_conditional_normal(m, of_items, of_pairs):
    rng = np.random.default_rng(m)
    margins = antisymmetric(rng, m, lambda size: rng.normal(scale=2, size=size))
    precision = np.triu(rng.integers(0, 4, (m, m)) / 3.0, 1)
    precision = precision + precision.T
    margins[precision == 0] = 0
    found = _Model(margins, precision, of_pairs).chance_above(of_items)
    np.testing.assert_allclose(found, conditional(margins, precision, of_items, of_pairs), atol=1e-9)


@pytest.mark.parametrize("of_pairs", [0.01, 0.7, 30.0])
def test_evidence_equals_the_density_of_the_margins(of_pairs):
    """Compare differences between spreads with one large normal density."""
    rng, m = np.random.default_rng(5), 5
    margins = antisymmetric(rng, m, lambda size: rng.normal(scale=2, size=size))
    precision = np.triu(rng.integers(0, 4, (m, m)) / 3.0, 1)
    precision = precision + precision.T
    pairs, design = linear(margins, precision)

    def density(of_items, of_pairs):
        noise = np.diag([1 / precision[pair] + of_pairs for pair in pairs])
        covariance = of_items * design @ design.T + noise
        return multivariate_normal.logpdf([margins[pair] for pair in pairs], cov=covariance)

    of_items = np.array([0.01, 0.5, 20.0])
    found = _Model(margins, precision, of_pairs).log_evidence(of_items) - _Model(margins, precision, 1.0).log_evidence(
        np.array([1.0])
    )
    expected = [density(variance, of_pairs) - density(1.0, 1.0) for variance in of_items]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_margins_without_answers_have_confidence_one_half():
    assert (AnswersLaw(0.5, np.zeros((4, 4), dtype=int)).chance_above(np.zeros((4, 4))) == 0.5).all()


def noise(law, rng, size):
    """Draw noise of a law."""
    if isinstance(law, LaplaceLaw):
        return rng.laplace(scale=1 / float(law.rate), size=size)
    if isinstance(law, SkellamLaw):
        return (rng.poisson(float(law.rate), size) - rng.poisson(float(law.rate), size)).astype(float)
    return rng.normal(scale=law.std, size=size)


LAWS = [NormalLaw(20.0), SkellamLaw(Fraction(200)), LaplaceLaw(Fraction(1, 14))]


def simulated(law, on, m, rng, spread, remainder):
    """Return the confidence for each pair and whether it is right, for truths of these spreads."""
    if on == "scores":
        true = rng.normal(scale=spread * law.std, size=m)
        difference, found = true[:, None] - true, law.chance_before(true + noise(law, rng, m))
    else:
        strength = rng.normal(scale=spread * law.std / np.sqrt(m), size=m)
        rest = antisymmetric(rng, m, lambda size: rng.normal(scale=remainder * law.std, size=size))
        difference = strength[:, None] - strength + rest
        found = law.chance_above(difference + antisymmetric(rng, m, lambda size: noise(law, rng, size)))
    pairs = np.triu_indices(m, 1)
    claimed, true = found[pairs], np.where(difference == 0, 0.5, difference > 0)[pairs]
    return np.maximum(claimed, 1 - claimed), np.where(claimed > 0.5, true, 1 - true)


def claims(law, on, m, times, spreads, seed=0):
    """Return the confidences of many releases; `spreads` draws (spread, remainder) for each."""
    rng = np.random.default_rng(seed)
    return np.concatenate([simulated(law, on, m, rng, *spreads(rng)) for _ in range(times)], axis=1)


# One of each kind is fast.
LAW_AND_DISPLAY = [
    pytest.param(law, on, marks=() if (law, on) == (LAWS[2], "margins") else pytest.mark.slow)
    for law in LAWS
    for on in ("scores", "margins")
]
STRENGTHS = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0]
MANY = [pytest.param(m, 4000 // m**2 + 20, STRENGTHS, marks=pytest.mark.slow) for m in (5, 12, 30)]


@pytest.mark.parametrize(("law", "on"), LAW_AND_DISPLAY)
@pytest.mark.parametrize(("m", "times", "strengths"), [(5, 150, [0.0, 1.0]), *MANY])
def test_few_pairs_are_falsely_confident_at_any_strength(law, on, m, times, strengths):
    """Confidences above .9 exceed their truth on at most 1 % of the pairs; at low signal, at most 1 % are false."""
    for strength in strengths:
        for remainder in (0.0, 0.5) if on == "margins" else (0.0,):
            claimed, true = claims(law, on, m, times, lambda _: (strength, remainder), seed=m)  # noqa: B023
            large = claimed > 0.9
            assert (claimed - true)[large].sum() <= 0.01 * len(claimed)
            if strength <= 0.5 and remainder == 0:
                assert (1 - true)[large].sum() <= 0.01 * len(claimed)


@pytest.mark.slow
def test_clear_signal_gives_confident_pairs():
    """10 items, phi .95, epsilon .3: three fifths of the pairs are claimed at .9 (two thirds with a known spread)."""
    profile = Profile.from_rankings(make_mallows(1000, 10, 0.95, random_state=0))
    fits = [DPBorda(0.3, random_state=seed).fit(profile).pair_confidence() for seed in range(30)]
    assert np.mean([(np.abs(fit[np.triu_indices(10, 1)] - 0.5) > 0.4).mean() for fit in fits]) > 0.57
