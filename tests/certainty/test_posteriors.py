"""What is likely beneath the noise, against integrals and the law of large normal vectors."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from sklearn_dprank.certainty import AnswersLaw, LaplaceLaw, NormalLaw
from sklearn_dprank.certainty.laplace_posterior import chance_before
from sklearn_dprank.certainty.margin_posterior import chance_above, given, variances


def integrated(x, y, scale, width):
    """P(the number seen as x is above the one seen as y), by sums over a fine grid."""
    grid = np.linspace(-12 * width, 12 * width, 6001)
    laws = [norm.pdf(grid, scale=width) * np.exp(-np.abs(seen - grid) / scale) for seen in (x, y)]
    one, other = (law / law.sum() for law in laws)
    return one @ (other.cumsum() - other / 2)


@pytest.mark.parametrize(("scale", "width"), [(1.0, 1.0), (1.0, 0.05), (3.0, 7.0), (0.2, 4.0)])
def test_laplace_noise_on_normal_numbers(scale, width):
    values = np.array([-3.0, -0.5, 0.0, 0.4, 1.0, 6.0]) * max(scale, width) / 2
    found = chance_before(values, scale, width)
    for i, j in combinations(range(len(values)), 2):
        assert found[i, j] == pytest.approx(integrated(values[i], values[j], scale, width), abs=2e-3)
    np.testing.assert_allclose(found + found.T, 1)


@pytest.mark.parametrize("width", [1e3, 1e7, 1e12])
def test_laplace_noise_that_is_little(width):
    """Then nothing is shrunken: the difference of two draws of noise decides."""
    d = np.array([0.0, 0.5, 2.0, 9.0])
    expected = 1 - np.exp(-d) * (1 + d / 2) / 2
    np.testing.assert_allclose(chance_before(-d, 1.0, width)[0], expected, atol=4e-3)


def test_laplace_noise_that_is_all_there_is():
    assert (chance_before(np.array([5.0, 0.0, -5.0]), 1.0, 0.0) == 0.5).all()
    assert np.abs(chance_before(np.array([5.0, 0.0, -5.0]), 1.0, 1e-4) - 0.5).max() < 1e-3
    far = chance_before(np.array([1e5, -1e5]), 1.0, 1e5)
    assert far[0, 1] == pytest.approx(1) and np.isfinite(far).all()


def test_normal_noise_on_scores():
    scores, law = np.array([9.0, 4.0, 0.0, -13.0]), NormalLaw(2.0)
    spread = np.mean(scores**2) - 4
    shrink = spread / (spread + 4)
    assert law.spread(scores) == pytest.approx(spread)
    expected = norm.cdf((scores[:, None] - scores) * np.sqrt(shrink) / (2 * np.sqrt(2)))
    np.testing.assert_allclose(law.chance_before(scores), expected)


@pytest.mark.parametrize("law", [LaplaceLaw(Fraction(1, 10)), NormalLaw(14.0)])
def test_nothing_is_claimed_of_noise_alone(law):
    rng = np.random.default_rng(0)
    draw = (
        (lambda m: rng.laplace(scale=10, size=m))
        if isinstance(law, LaplaceLaw)
        else (lambda m: rng.normal(scale=14, size=m))
    )
    claims = [np.abs(law.chance_before(draw(30)) - 0.5).mean() for _ in range(300)]
    assert np.mean(claims) < 0.04
    assert law.chance_before(10 * draw(30)).max() > 0.9


def conditional(margins, precision, of_items, of_pairs):
    """P(margin > 0) by the law of all margins together, given those that were seen: one large covariance matrix."""
    m = len(margins)
    pairs = list(combinations(range(m), 2))
    design = np.zeros((len(pairs), m))
    for row, (i, j) in enumerate(pairs):
        design[row, i], design[row, j] = 1, -1
    prior = of_items * design @ design.T + of_pairs * np.eye(len(pairs))
    seen = [k for k, pair in enumerate(pairs) if precision[pair] > 0]
    noise = np.diag([1 / precision[pairs[k]] for k in seen])
    gain = prior[:, seen] @ np.linalg.inv(prior[np.ix_(seen, seen)] + noise)
    mean = gain @ np.array([margins[pairs[k]] for k in seen])
    covariance = prior - gain @ prior[seen]
    out = np.full((m, m), 0.5)
    for k, (i, j) in enumerate(pairs):
        out[i, j] = norm.cdf(mean[k] / np.sqrt(covariance[k, k]))
        out[j, i] = 1 - out[i, j]
    return out


def antisymmetric(rng, m, draw):
    upper = np.triu(draw((m, m)), 1)
    return upper - upper.T


@pytest.mark.parametrize("m", [3, 4, 6])
@pytest.mark.parametrize(("of_items", "of_pairs"), [(2.0, 0.5), (1.0, 0.0), (0.3, 4.0)])
def test_margins_are_a_linear_model(m, of_items, of_pairs):
    rng = np.random.default_rng(m)
    margins = antisymmetric(rng, m, lambda size: rng.normal(scale=2, size=size))
    precision = np.triu(rng.integers(0, 4, (m, m)) / 3.0, 1)
    precision = precision + precision.T
    margins[precision == 0] = 0
    found = given(margins, precision, of_items, of_pairs)
    np.testing.assert_allclose(found, conditional(margins, precision, of_items, of_pairs), atol=1e-9)


def test_only_remainders():
    margins = np.array([[0.0, 2.0], [-2.0, 0.0]])
    found = given(margins, np.full((2, 2), 1.0) - np.eye(2), 0.0, 3.0)
    assert found[0, 1] == pytest.approx(norm.cdf(2 * np.sqrt(3 / 4)))
    assert (given(margins, np.ones((2, 2)) - np.eye(2), 0.0, 0.0) == 0.5).all()


@pytest.mark.parametrize(("of_items", "of_pairs"), [(4.0, 3.0), (9.0, 1.0)])
def test_variances_are_found_without_bias(of_items, of_pairs):
    rng, m, found = np.random.default_rng(0), 12, []
    weight = np.triu(rng.integers(1, 4, (m, m)), 1)
    precision = (weight + weight.T) / 2.0
    for _ in range(1500):
        strength = rng.normal(scale=np.sqrt(of_items), size=m)
        rest = antisymmetric(rng, m, lambda size: rng.normal(scale=np.sqrt(of_pairs), size=size))
        noise = antisymmetric(rng, m, lambda size: rng.normal(size=size)) / np.sqrt(precision + np.eye(m))
        found.append(variances(strength[:, None] - strength + rest + noise, precision, 0.0))
    np.testing.assert_allclose(np.mean(found, axis=0), [of_items, of_pairs], rtol=0.1)


def test_variances_of_answers_allow_for_what_a_margin_takes_away():
    """Few answers of voters who all but agree: their variance is far below one over the number of answers."""
    rng, m, gain, found = np.random.default_rng(1), 9, 0.8, []
    truth = antisymmetric(rng, m, lambda size: rng.choice([-0.9, 0.9], size=size))
    asked = np.where(np.eye(m, dtype=bool), 0, 12)
    law = AnswersLaw(gain, asked)
    for _ in range(1500):
        plus = np.triu(rng.binomial(12, (1 + gain * truth) / 2), 1)
        margins = np.triu((2 * plus - 12) / 12 / gain, 1)
        margins -= margins.T
        items, pairs = variances(margins, gain**2 * asked, gain**2)
        found.append(2 * items + pairs)
    assert np.mean(found) == pytest.approx(0.81, rel=0.05)
    assert law.chance_above(margins).shape == (m, m)


def test_margins_of_noise_alone_claim_nothing():
    rng = np.random.default_rng(0)
    claims = []
    for _ in range(400):
        noise = antisymmetric(rng, 12, lambda size: rng.laplace(size=size))
        claims.append(np.abs(chance_above(noise, np.full((12, 12), 0.5), 0.0) - 0.5).mean())
    assert np.mean(claims) < 0.05
