"""Composition against enumeration, numeric integration and dp-accounting; Gaussian noise; choices of bounded range."""

import math
import tracemalloc
from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st
from scipy.integrate import IntegrationWarning, quad
from scipy.optimize import brentq
from scipy.stats import binom, norm

from sklearn_dprank import DPBorda, DPPairwise
from sklearn_dprank.privacy import PrivacyGuarantee, composition as bounded_range
from sklearn_dprank.privacy.composition import (
    Losses,
    _deltas_of_many,
    choice_range,
    classical_gaussian_sigma,
    coin_losses,
    gaussian_delta,
    gaussian_deltas,
    gaussian_epsilon,
    gaussian_sigma,
    range_delta,
    range_deltas,
)
from sklearn_dprank.sampling.rounded_gaussian import two_sided_tail

BALLOTS = [[0, 1, 2], [1, 0, 2]] * 50


def outcomes(epsilons):
    """Yield the probabilities of each outcome of the coins under two neighbours."""
    for faces in product((1, -1), repeat=len(epsilons)):
        sides = list(zip(epsilons, faces, strict=True))
        yield tuple(math.prod(1 / (1 + math.exp(-sign * face * e)) for e, face in sides) for sign in (1, -1))


def delta_of_coins(epsilons, epsilon):
    """Return the sum of max(0, P(x) - e^epsilon Q(x)) over all outcomes of the coins."""
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in outcomes(epsilons))


def delta_by_integration(mu, epsilons, epsilon):
    """Return delta of the coins and one number N(mu, 1) or N(0, 1), on a fine grid of numbers."""
    x, step = np.linspace(-12, 12 + mu, 200_001, retstep=True)
    odds = math.exp(epsilon)
    gaps = (np.maximum(0.0, p * norm.pdf(x - mu) - odds * q * norm.pdf(x)) for p, q in outcomes(epsilons))
    return step * sum(gap.sum() for gap in gaps)


@pytest.mark.parametrize("epsilons", [(0.5,), (0.1, 0.2), (1.0, 1.0, 1.0), (0.3, 0.3, 0.7, 2.0), (0.1,) * 7])
def test_pure_releases_against_every_outcome(epsilons):
    losses, weights = coin_losses(Counter(epsilons))
    for epsilon in np.linspace(0, sum(epsilons), 9):
        closed = weights @ gaussian_deltas(epsilon - losses, 0.0)
        assert closed == pytest.approx(delta_of_coins(epsilons, epsilon), rel=1e-12, abs=1e-15)
    for delta in (1e-2, 1e-4):
        found = Losses(pure=epsilons).epsilon(delta)
        assert delta_of_coins(epsilons, found) <= delta
        assert (
            found == 0 or delta_of_coins(epsilons, found * (1 - 1e-6)) > delta or found == pytest.approx(sum(epsilons))
        )


@pytest.mark.parametrize(("mu", "epsilons"), [(0.5, (0.3,)), (0.2, (0.1, 0.1)), (1.5, (1.0, 0.25)), (0.8, ())])
def test_mixtures_against_integration(mu, epsilons):
    losses, weights = coin_losses(Counter(epsilons))
    for epsilon in (0.0, 0.4, 1.0, 2.0):
        closed = weights @ gaussian_deltas(epsilon - losses, mu)
        assert closed == pytest.approx(delta_by_integration(mu, epsilons, epsilon), rel=1e-6, abs=1e-12)
    found = Losses(mu**2, epsilons).epsilon(1e-5)
    assert delta_by_integration(mu, epsilons, found) == pytest.approx(1e-5, rel=1e-4)


# (mu^2, epsilons, delta) and epsilon of dp-accounting 0.6.0 with losses rounded up to multiples of 1e-4.
ACCOUNTED = [
    (0.09, (), 1e-6, 1.29170994423),
    (0.0, (0.1,) * 30, 1e-6, 2.34859762686),
    (0.0, (0.5,) * 8, 1e-5, 4.00035617832),
    (0.04, (0.1,) * 10, 1e-6, 1.50491041750),
    (1.0, (0.5, 0.25, 0.3), 1e-5, 5.07536729541),
    (0.01, (0.05,) * 20 + (0.2,) * 3, 1e-8, 1.69839433786),
    (4.0, (1.0,), 1e-3, 8.39261951623),
]


@pytest.mark.parametrize(("mu_squared", "pure", "delta", "theirs"), ACCOUNTED)
def test_against_privacy_loss_distributions(mu_squared, pure, delta, theirs):
    ours = Losses(mu_squared, pure).epsilon(delta)
    assert theirs - 1e-4 * len(pure) - 1e-6 <= ours <= theirs + 1e-9


def test_ten_and_a_hundred_gaussian_releases():
    for size, delta, asked in ((10, 1e-7, 0.298), (100, 1e-8, 0.914)):
        one = DPBorda(0.1, delta, "gaussian").fit(BALLOTS).privacy_
        total = PrivacyGuarantee.compose([one] * size)
        assert total.epsilon == pytest.approx(asked, abs=5e-4)
        assert total.delta == pytest.approx(1e-6)
        assert total.epsilon >= Losses(size / gaussian_sigma(0.1, delta) ** 2).epsilon(1e-6) * (1 - 1e-9)
        assert "tight" in total.how


def test_a_composition_of_compositions_is_one():
    gaussian = DPBorda(0.1, 1e-7, "gaussian").fit(BALLOTS).privacy_
    pure = DPPairwise(0.2).fit(BALLOTS).privacy_
    flat = PrivacyGuarantee.compose([gaussian, pure] * 6)
    inner = [PrivacyGuarantee.compose([gaussian, pure] * k) for k in (1, 2, 3)]
    assert PrivacyGuarantee.compose(inner).epsilon == pytest.approx(flat.epsilon, rel=1e-9)
    assert flat.epsilon < 6 * 0.3


def test_a_delta_that_is_too_small_is_refused():
    gaussian = DPBorda(0.1, 1e-7, "gaussian").fit(BALLOTS).privacy_
    shuffled = PrivacyGuarantee(0.1, 1e-6, "shuffle", "add_remove", "a shuffler")
    assert PrivacyGuarantee.compose([gaussian] * 10, delta=1e-8).epsilon > 0.3  # Gaussian noise has a curve
    with pytest.raises(ValueError, match=r"^delta=1e-08 is too small for what the releases leave outside, 1\.1e-06"):
        PrivacyGuarantee.compose([gaussian, shuffled], delta=1e-8)
    with pytest.raises(ValueError, match=r"^delta must be a number of at least 0 and at most 1, got 2"):
        PrivacyGuarantee.compose([gaussian], delta=2)


def test_replaced_numbers_are_composed():
    gaussian = DPBorda(0.1, 1e-7, "gaussian").fit(BALLOTS).privacy_
    weaker = replace(gaussian, epsilon=5.0)
    assert PrivacyGuarantee.compose([weaker, weaker]).epsilon == 10.0
    assert PrivacyGuarantee.compose([gaussian.simulated(False)] * 10).epsilon == pytest.approx(0.298, abs=5e-4)


def test_under_replace_doubles_mu():
    """Two steps of mu are one of 2 mu: less than 2 epsilon at the delta of group privacy."""
    gaussian = DPBorda(1.0, 1e-6, "gaussian").fit(BALLOTS).privacy_
    twice = gaussian.under_replace()
    assert twice.epsilon < 2.0 and twice.delta == pytest.approx(1e-6 * (1 + math.e))
    assert gaussian_delta(twice.epsilon, gaussian_sigma(1.0, 1e-6) / 2) <= twice.delta * (1 + 1e-9)
    assert PrivacyGuarantee.compose([twice] * 4).epsilon < 2 * twice.epsilon + 0.5
    several = Losses(0.25, (0.5,), ((700.5, 1e-320),))
    assert several.twice() == Losses(1.0, (1.0,), ((1401.0, 1.0),))  # e^700 does not overflow
    with pytest.raises(ValueError, match="losses must hold mu_squared"):
        several._replace(approximate=(1.0,)).check()


@settings(max_examples=25)
@given(
    st.floats(0, 2),
    st.lists(st.floats(0.01, 2), max_size=5),
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(1e-9, 1e-3)), max_size=3),
    st.floats(1e-7, 1e-2),
)
def test_never_above_the_sum_nor_below_any_part(mu, pure, approximate, more):
    losses = Losses(mu**2, tuple(pure), tuple(approximate))
    delta = sum(d for _, d in approximate) + more
    found = losses.epsilon(delta)
    alone = Losses(mu**2).epsilon(more)
    rest = sum(pure) + sum(e for e, _ in approximate)
    assert found <= (alone + rest) * (1 + 1e-6) + 1e-12
    assert found >= alone * (1 - 1e-6)


def delta_of_alike(count, epsilon, at):
    """Return delta of `count` coins of one epsilon, from the binomial probabilities."""
    heads = np.arange(count + 1)
    weights = binom.pmf(heads, count, 1 / (1 + math.exp(-epsilon)))
    return weights @ np.maximum(0, -np.expm1(np.minimum(at - epsilon * (2 * heads - count), 0)))


@pytest.mark.parametrize(
    ("count", "epsilon", "delta"),
    [
        *((65_536, 1e-3, 1e-6), (65_537, 1e-3, 1e-6), (20_000, 1e-2, 1e-6), (20_000, 0.1, 1e-6), (20_000, 1.0, 1e-6)),
        *((20_000, 1e-3, 1e-10), (17_000, 5e-4, 1e-30), (20_000, 1e-5, 1e-6)),
    ],
)
def test_very_many_equal_releases_are_bounded_closely(count, epsilon, delta):
    found = Losses(pure=(epsilon,) * count).epsilon(delta)
    assert delta_of_alike(count, epsilon, found) <= delta
    assert delta_of_alike(count, epsilon, found * 0.999) > delta


def test_one_release_more_never_costs_much():
    for pair, counts in (((1e-3,), (16_383, 16_384, 65_536, 65_537)), ((1e-3, 2e-3), (126, 127, 128, 1024, 1025))):
        for count in counts:
            less, more = (Losses(pure=pair * n).epsilon(1e-6) for n in (count, count + 1))
            assert less < more < less * (1 + 2 / count)


@pytest.mark.parametrize("size", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_many_different_epsilons_are_bounded_from_above(size):
    """Compare with exact enumerations of fewer smaller and larger epsilons."""
    epsilons = np.linspace(0.01, 0.03, size)
    found = Losses(pure=tuple(epsilons)).epsilon(1e-6)
    below = Losses(pure=tuple(np.floor(epsilons * 1000) / 1000)).epsilon(1e-6)
    above = Losses(pure=tuple(np.ceil(epsilons * 1000) / 1000)).epsilon(1e-6)
    assert below * (1 - 1e-4) <= found <= above * (1 + 1e-3)


@pytest.mark.parametrize(("mu_squared", "pairs"), [(0.25, [(0.01, 200), (0.02, 200)]), (0.0, [(0.3, 130), (0.1, 130)])])
def test_the_integral_is_the_sum_over_all_outcomes(mu_squared, pairs):
    """The integral adds a small Gaussian release, and is never below the sum."""
    losses, weights = coin_losses(dict(pairs))
    found = _deltas_of_many(Counter(dict(pairs)), mu_squared, 1e-6)
    largest = Losses(mu_squared, tuple(e for e, n in pairs for _ in range(n))).epsilon(1e-6)
    for epsilon in np.linspace(0.8, 1.3, 5) * largest:
        exact = weights @ gaussian_deltas(epsilon - losses, math.sqrt(mu_squared))
        assert exact * (1 - 1e-9) <= found(epsilon) <= exact * 1.02


@pytest.mark.parametrize(
    ("mu_squared", "epsilon", "count", "delta"), [(25.0, 1e-6, 20_000, 1e-8), (0.0, 3.5e-6, 39_130, 1e-36)]
)
def test_many_tiny_releases_never_hide_larger_losses(mu_squared, epsilon, count, delta):
    """Rounding errors of the integral must not make it accept epsilon = 0."""
    for part in (Losses(mu_squared), Losses(pure=(epsilon,) * 10_000)):
        assert Losses(mu_squared, (epsilon,) * count).epsilon(delta) >= part.epsilon(delta)


def test_thousands_of_different_epsilons_are_rounded_up_by_half_a_percent():
    epsilons = np.random.default_rng(0).uniform(0.01, 0.05, 20_000)
    found = Losses(pure=tuple(epsilons)).epsilon(1e-6)
    many, alike = Losses(pure=tuple(epsilons[:400].repeat(50))), Losses(pure=(epsilons.max(),) * 20_000)
    assert many.epsilon(1e-6) * 0.9 < found < alike.epsilon(1e-6)


def test_a_few_large_releases_beside_many_small_ones():
    assert Losses(pure=(10.0,) + (1e-6,) * 20_000).epsilon(1e-6) <= 10.02 * (1 + 1e-12)
    found = Losses(pure=(3.0,) * 3 + (0.01,) * 20_000).epsilon(1e-6)
    assert 9 < found < 17


def test_losses_are_rounded_up():
    """Thirty doubles .1 add up to a little more than 3."""
    total = Losses(pure=(0.1,) * 30).epsilon(1e-30)
    assert Fraction(total) >= 30 * Fraction(0.1) > 3
    for count in range(1, 60):
        losses, _ = coin_losses({0.1: count})
        exact = sorted(Fraction(0.1) * k for k in range(-count, count + 1, 2))
        assert all(map(Fraction.__ge__, map(Fraction, losses), exact))


@pytest.mark.parametrize("losses", [Losses(1.0), Losses(1.0, (1e-3,) * 20_000), Losses(0.0, (1e-3,) * 20_000)])
def test_a_delta_below_the_range_of_exact_tails_counts_as_0(losses):
    assert losses.epsilon(5e-324) == (math.inf if losses.mu_squared else pytest.approx(20.0))
    assert Losses(math.inf).epsilon(1e-6) == math.inf


@pytest.mark.parametrize("delta", [0.5, 0.9999, 1 - 1e-9, 1.0])
def test_a_delta_near_one_takes_little_memory_and_is_not_exceeded(delta):
    n = 20_000
    tracemalloc.start()
    try:
        found = Losses(pure=(1.0,) * n).epsilon(delta)
        assert tracemalloc.get_traced_memory()[1] < 1e8
    finally:
        tracemalloc.stop()
    losses, weights = 2 * np.arange(n + 1) - n, binom.pmf(np.arange(n + 1), n, 1 / (1 + math.exp(-1)))
    assert weights @ np.exp(np.minimum(found - losses, 0)) >= (1 - delta) * (1 - 1e-9)  # 1 - the true delta


# Gaussian noise against integration and the figures of the literature


def integrated_delta(epsilon, sigma, sensitivity=1.0):
    """The hockey-stick divergence by quadrature, over the region where the loss exceeds epsilon."""
    start = sigma**2 * epsilon / sensitivity + sensitivity / 2

    def excess(x):
        loss = (x * sensitivity - sensitivity**2 / 2) / sigma**2
        return math.exp(-(((x - sensitivity) / sigma) ** 2) / 2) * -math.expm1(epsilon - loss)

    knots = sorted({start} | {max(start, sensitivity) + k * sigma for k in (0, 1, 2, 4, 8, 20, 50)})
    total = sum(quad(excess, a, b, epsabs=0, epsrel=1e-12, limit=200)[0] for a, b in pairwise(knots))
    return total / (sigma * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("epsilon", [0, 1e-8, 1e-3, 0.1, 1, 5, 50, 1000])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.01, 0.5])
def test_sigma_spends_delta_and_never_more(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta)
    assert gaussian_delta(epsilon, sigma) <= delta
    assert integrated_delta(epsilon, sigma) == pytest.approx(delta, rel=1e-8)
    assert gaussian_epsilon(delta, sigma) == pytest.approx(epsilon, rel=1e-8, abs=1e-9 * delta)


@given(st.floats(0, 20), st.floats(0.05, 100), st.floats(0.1, 10))
def test_delta_is_the_hockey_stick(epsilon, sigma, sensitivity):
    try:
        expected = integrated_delta(epsilon, sigma, sensitivity)
    except IntegrationWarning:  # the integral of far tails is inaccurate
        reject()
    assert gaussian_delta(epsilon, sigma, sensitivity) == pytest.approx(expected, rel=1e-8, abs=1e-250)


@pytest.mark.slow
@given(st.floats(1e-3, 100), st.floats(1e-12, 0.9), st.floats(1e-3, 1e6))
def test_sigma_scales_with_sensitivity_and_stays_safe(epsilon, delta, sensitivity):
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    assert sigma == pytest.approx(sensitivity * gaussian_sigma(epsilon, delta), rel=1e-14)
    assert gaussian_delta(epsilon, sigma, sensitivity) <= delta
    assert gaussian_epsilon(delta, sigma, sensitivity) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"), [(1, 1e-4, 3.1857), (0.1, 5e-5, 26.5), (1, 1e-6, 28.3 / math.sqrt(45))]
)
def test_known_analytic_sigmas(epsilon, delta, sigma):
    assert gaussian_sigma(epsilon, delta) == pytest.approx(sigma, rel=2e-3)


@pytest.mark.parametrize(
    ("arguments", "sigma"),
    [
        ((0.1, 5e-5, 1.0, "dwork_roth"), 45.0),
        ((0.1, 5e-5, 1.0, "dwork_2006"), 44.0),
        ((0.1, 5e-5, 1.0, "two"), 46.0),
        ((1, 1e-4), 4.3436),
        ((1, 1e-4, 4), 4 * 4.3436),
    ],
)
def test_published_sigmas(arguments, sigma):
    assert classical_gaussian_sigma(*arguments) == pytest.approx(sigma, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("constant", ["dwork_roth", "dwork_2006", "two"])
@given(epsilon=st.floats(1e-3, 1), delta=st.floats(1e-12, 0.1))
def test_published_sigmas_hold_up_to_epsilon_one(constant, epsilon, delta):
    sigma = classical_gaussian_sigma(epsilon, delta, constant=constant)
    assert gaussian_delta(epsilon, sigma) <= delta
    assert sigma >= gaussian_sigma(epsilon, delta) * (1 - 1e-9)


def test_epsilon_is_zero_when_delta_covers_all():
    assert gaussian_epsilon(0.5, 10.0) == 0


@pytest.mark.parametrize("epsilon", [0, 1e-9, 1e-3, 0.1, 1, 50, 500])
@pytest.mark.parametrize("delta", [1e-290, 1e-200, 1e-100, 1e-30, 1e-12])
def test_tiny_deltas_are_accurate(epsilon, delta):
    """Compare with the formula in two thousand bits."""
    sigma = gaussian_sigma(epsilon, delta)

    def upper(x):
        tail = two_sided_tail(abs(x), 2400) / 2
        return tail if x >= 0 else 1 - tail

    r = 1 / Fraction(sigma)
    x = Fraction(epsilon) / r
    with localcontext() as context:
        context.prec = 800
        spent = upper(x - r / 2) - Fraction(Decimal(epsilon).exp()) * upper(x + r / 2)
    assert 1 - Fraction(1, 10**8) < spent / Fraction(delta) <= 1


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (gaussian_sigma, (-1, 0.1), "epsilon must be a finite number of at least 0, got -1"),
        (gaussian_sigma, (1, 0.1, 0), "sensitivity must be a finite number above 0"),
        (gaussian_delta, (1, 0), "sigma must be a finite number above 0"),
        (gaussian_epsilon, (1.5, 1), "delta must be a number of at least 1e-290 and below 1"),
        (classical_gaussian_sigma, (0, 0.1), "epsilon must be a finite number above 0"),
        (classical_gaussian_sigma, (1, 0.9, 1, "dwork_2006"), "at least 1e-290 and below 0.8"),
        (classical_gaussian_sigma, (1, 0.1, 1, "three"), "constant must be one of"),
    ],
)
def test_errors_name_the_gaussian_parameter(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


# Adaptive choices of bounded range


def worst_choices(epsilon, width, n_choices, n_values=41):
    """V_k by its definition, without a grid of epsilons; t takes a few values only, so this is a lower bound."""
    if n_choices == 0:
        return -np.expm1(np.minimum(epsilon, 0.0))
    t = np.linspace(0, width, n_values)
    high = (math.exp(width) - np.exp(t)) / math.expm1(width)
    epsilon = np.asarray(epsilon)[..., None]
    after = [worst_choices(epsilon - loss, width, n_choices - 1, n_values) for loss in (t, t - width)]
    return (high * after[0] + (1 - high) * after[1]).max(axis=-1)


@pytest.mark.parametrize("width", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("n_choices", [1, 2, 3])
def test_deltas_are_close_to_the_recursion(width, n_choices):
    """Never below, and little above."""
    for share in (-0.5, 0.0, 0.2, 0.5, 0.9, 15 / 16):
        epsilon = share * width * n_choices
        least, found = float(worst_choices(epsilon, width, n_choices)), range_delta(epsilon, width, n_choices)
        assert least * (1 - 1e-9) <= found <= least * 1.03 + 2.5e-3 * width


@pytest.mark.parametrize("seed", range(6))
def test_deltas_of_mechanisms_are_below_the_bound(seed):
    """Three adaptive choices among three options, each with random laws of range w after every path."""
    rng, width = np.random.default_rng(seed), 0.8
    laws: list[dict] = [{}, {}]

    def law_after(path):
        if path not in laws[0]:
            first = rng.dirichlet(np.ones(3))
            second = first * np.exp(width * rng.choice([0.0, 1.0, rng.random()], 3))
            laws[0][path], laws[1][path] = first, second / second.sum()
        return laws[0][path], laws[1][path]

    chances = np.ones((2, 27))
    for number, outcome in enumerate(product(range(3), repeat=3)):
        for place in range(3):
            first, second = law_after(outcome[:place])
            chances[:, number] *= first[outcome[place]], second[outcome[place]]
    for epsilon in (0.0, 0.3, 0.8, 1.5):
        for one, other in (chances, chances[::-1]):
            delta = np.maximum(one - math.exp(epsilon) * other, 0).sum()
            assert delta <= range_delta(epsilon, width, 3) * (1 + 1e-12) + 1e-15


def test_the_bound_decreases_to_0():
    """It falls, and is 0 from the sum of the ranges on."""
    epsilons, deltas = range_deltas(0.2, 30)
    assert epsilons[0] == 0 and epsilons[-1] == pytest.approx(6.0)
    assert np.all(np.diff(deltas) <= 1e-15) and deltas.max() <= 1
    assert range_delta(-100.0, 0.2, 30) == 1.0 and range_delta(0.3, 0.3, 1) == 0  # a choice of range w is pure
    assert range_delta(0.0, 0.2, 30) == deltas[0] > deltas[1] > 0
    assert range_delta(6.0 + 1e-9, 0.2, 30) == 0.0
    assert range_delta(float(epsilons[70]), 0.2, 30) == pytest.approx(deltas[70], rel=1e-9)
    between = range_delta(float(epsilons[250] + epsilons[251]) / 2, 0.2, 30)
    assert deltas[251] < between < deltas[250]


MANY = [(0.1, 44), (1.0, 44), (8.0, 44), (0.3, 99)]


def tight_rho(epsilon, delta):
    """The largest rho of zero-concentrated privacy that gives (epsilon, delta): Canonne, Kamath and Steinke (2020)."""
    order = 1 + np.geomspace(1e-3, 1e6, 20_000)

    def log_delta(rho):
        return np.min((order - 1) * (order * rho - epsilon + np.log1p(-1 / order)) - np.log(order - 1))

    return brentq(lambda rho: log_delta(rho) - math.log(delta), 1e-12, 100.0, xtol=1e-15, rtol=1e-10)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize(
    ("epsilon", "n_choices"), [(0.1, 2), (1.0, 9), *(pytest.param(e, k, marks=pytest.mark.slow) for e, k in MANY)]
)
def test_no_other_composition_allows_more(epsilon, delta, n_choices):
    width = choice_range(epsilon, delta, n_choices)
    concentrated = math.sqrt(8 * tight_rho(epsilon, delta) / n_choices)
    assert width >= epsilon / n_choices * (1 - 1e-15)
    assert width > concentrated * 1.03
    assert n_choices < 44 or width < concentrated * {1e-9: 1.07, 1e-6: 1.09, 1e-3: 1.18}[delta]
    assert range_delta(epsilon, width, n_choices) <= delta
    assert range_delta(epsilon, width * (1 + 1e-4), n_choices) > delta


@pytest.mark.slow
@pytest.mark.parametrize(("n_choices", "rel"), [(200, 0.012), (999, 0.03)])
def test_many_choices_lose_about_as_much_as_one_gaussian_release(n_choices, rel):
    """The loss of one choice has at most the variance w^2 / 4, so the limit is mu = w sqrt(k) / 2."""
    width = choice_range(0.5, 1e-6, n_choices)
    assert gaussian_epsilon(1e-6, 2 / (width * math.sqrt(n_choices))) == pytest.approx(0.5, rel=rel)


@pytest.mark.parametrize(
    ("epsilon", "delta", "n_choices"),
    [
        *((1e-9, 1e-6, 9), (1e-9, 1e-300, 9), (1e-9, 1e-100, 1), (500.0, 1e-6, 2)),
        *((0.1, 1e-100, 12), (5.0, 0.9, 2), (1.0, 1e-290, 1)),
    ],
)
def test_extreme_budgets(epsilon, delta, n_choices):
    width = choice_range(epsilon, delta, n_choices)
    assert epsilon / n_choices * (1 - 1e-12) <= width < math.inf
    assert width * n_choices <= epsilon or range_delta(epsilon, width, n_choices) <= delta


@pytest.mark.parametrize("n_choices", range(1, 12))
def test_wide_choices_never_spend_more_than_epsilon(n_choices):
    for epsilon in np.random.default_rng(n_choices).uniform(1e5, 1e6, size=20):
        assert n_choices * Fraction(choice_range(epsilon, 1e-6, n_choices)) <= Fraction(epsilon)


def test_a_delta_close_to_one_takes_few_steps(monkeypatch):
    """The slack below such a delta is as large as 1 - delta, so a search by small steps would take millions of them."""
    steps = []

    def counted(*given):
        steps.append(given)
        assert len(steps) < 100
        return range_delta(*given)

    monkeypatch.setattr(bounded_range, "range_delta", counted)
    for delta in (1 - 1e-7, 1 - 1e-10):
        steps.clear()
        width = choice_range.__wrapped__(1.0, delta, 3)
        assert range_delta(1.0, width, 3) < delta < range_delta(1.0, width * 1.5, 3)


def test_many_wide_choices_have_a_small_delta_far_from_the_mean_loss():
    """The mean loss of 400 choices of range 4 is at most 800, and its standard deviation at most 40."""
    assert range_delta(900.0, 4.0, 400) < 1e-8 and 0 < range_delta(1500.0, 4.0, 400) < 1e-50
    assert 0 < range_deltas(0.1, 400)[1][-1] < 1e-50  # the grid ends where almost nothing is left
