"""Lower bounds of Alabi et al. (2022) against enumeration, and measured errors stay above them."""

import itertools
import math

import numpy as np
import pytest
from oracles import kendall
from scipy.integrate import quad
from scipy.special import beta

from sklearn_dprank import DPBorda, DPKemenySampler, DPKwikSort, DPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.theory.alabi import (
    corollary_bound,
    fingerprint_floor,
    marginal_leanings,
    marginal_ranking,
    packing_floor,
    packing_voters,
)

# --- Theorem 13


@pytest.mark.parametrize("m", [2, 3, 5, 6])
@pytest.mark.parametrize("total", [1e-6, 0.5, 2.0, 5.0])
def test_packing_floor_against_all_rankings(m, total):
    distances = [kendall(range(m), other) for other in itertools.permutations(range(m))]
    shares = [np.mean([d <= r for d in distances]) for r in range(math.comb(m, 2))]
    expected = sum((1 - share) / (1 - share + math.exp(total) * share) for share in shares)
    assert packing_floor(4, m, total / 4) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("m", [30, 60])
def test_packing_floor_by_the_law_of_random_rankings(m):
    """The number of inversions is a sum of independent uniform ones; without privacy half of the pairs are wrong."""
    law = np.ones(1)
    for k in range(2, m + 1):
        law = np.convolve(law, np.full(k, 1 / k))
    within = np.cumsum(law)[:-1]
    expected = ((1 - within) / (1 - within + math.exp(0.7 * m) * within)).sum()
    assert packing_floor(m, m, 0.7) == pytest.approx(expected, rel=1e-9)
    assert packing_floor(1, m, 1e-12) == pytest.approx(math.comb(m, 2) / 2, rel=1e-9)
    assert packing_floor(2 * math.ceil(math.lgamma(m + 1)), m, 0.7) < 1e-6


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("total", [0.1, 1.0, 3.0])
def test_each_term_of_the_packing_floor_is_attained(m, total):
    """One voter; an output e^t likelier within r inversions is as private as can be, and attains the r-th term."""
    orders = list(itertools.permutations(range(m)))
    distances = np.array([kendall(orders[0], other) for other in orders])
    terms, errors = [], []
    for radius in range(math.comb(m, 2)):
        law = np.where(distances <= radius, math.exp(total), 1.0)
        law /= law.sum()
        terms.append(law[distances > radius].sum())
        errors.append(law @ distances)
    assert packing_floor(1, m, total) == pytest.approx(sum(terms), rel=1e-9)
    assert 0.6 * min(errors) < packing_floor(1, m, total) <= min(errors)


@pytest.mark.parametrize(
    "estimator",
    [DPPairwise(), DPKwikSort(), DPBorda(noise="knorm"), DPKemenySampler()],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("n", [2, 8, 20])
def test_no_pure_mechanism_is_below_the_packing_floor(estimator, n):
    m, epsilon, runs = 6, 0.2, 150
    order = np.random.default_rng(0).permutation(m)
    profile = Profile.from_rankings(np.tile(order, (n, 1)))
    estimator.set_params(epsilon=epsilon, neighboring="replace")
    errors = [
        15 * average_kendall_tau(estimator.set_params(random_state=k).fit(profile).ranks_, profile) for k in range(runs)
    ]
    floor = packing_floor(n, m, epsilon)
    assert np.mean(errors) + 4 * np.std(errors) / math.sqrt(runs) > floor
    assert floor > (0.5 if n < 20 else 0.1)


@pytest.mark.slow
def test_voters_grow_like_items_over_epsilon():
    for m in (5, 20, 50):
        n = packing_voters(m, 0.1)
        assert packing_floor(n, m, 0.1) <= 0.01 * m**2 < packing_floor(n - 1, m, 0.1)
        assert packing_voters(m, 0.01) == pytest.approx(10 * n, abs=10)
    per_item = [packing_voters(m, 0.1) / m for m in (25, 50, 100, 200)]
    assert max(per_item) < 1.5 * min(per_item) and np.diff(np.diff(per_item)).max() < 0  # levels off
    assert packing_voters(10, 1.0, additive=45) == 1


@pytest.mark.parametrize("m", [10, 50, 100])
def test_lower_bounds_are_below_upper_bounds(m):
    """Corollary 6 needs more voters for .01 m^2 than Theorem 13 demands, by a factor of about log m."""
    enough = corollary_bound("Corollary 6", 1, m, 1.0).additive / (0.01 * m**2)
    assert packing_voters(m, 1.0) < enough
    for n in (1, 10, 100):
        assert packing_floor(n, m, 1.0) <= corollary_bound("Corollary 3", n, m, 1.0).additive
        limit = corollary_bound("Corollary 4", n, m, 0.1, 1e-6)
        assert fingerprint_floor(n, m, 0.1, 1e-6) <= limit.additive


# --- Theorem 14


@pytest.mark.parametrize(("d", "t"), [(1, 1), (1, 3), (2, 1), pytest.param(2, 3, marks=pytest.mark.slow)])
def test_leanings_say_what_middle_pairs_cost(d, t):
    """Over all rankings and signs: Observation 15 with twice the factor, met by every pi^y but for outer pairs."""
    m = 2 * d + t
    signs = np.array(list(itertools.product([-1, 1], repeat=d)))
    ballots = [marginal_ranking(x, t) for x in signs]
    outer = [i for i in range(m) if not d <= i < d + t]
    for sigma in itertools.permutations(range(m)):
        y = marginal_leanings(sigma, d)
        assert (np.abs(y) <= 1).all()
        for x, ballot in zip(signs, ballots, strict=True):
            least = t * (d - y @ x)
            outside = sum((sigma[i] < sigma[j]) != (ballot[i] < ballot[j]) for i, j in itertools.combinations(outer, 2))
            assert kendall(sigma, ballot) >= least + outside - 1e-9
    for y in signs:
        np.testing.assert_array_equal(marginal_leanings(marginal_ranking(y, t), d), y)
        for x, ballot in zip(signs, ballots, strict=True):
            wrong = np.count_nonzero(x != y)
            cost = kendall(marginal_ranking(y, t), ballot)
            assert 2 * t * wrong <= cost <= wrong * (2 * t + 4 * d - 3)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [1, 4])
def test_the_identity_behind_fingerprints(gamma, n):
    """E y sum(x - p) = 2 gamma E y p for any y of the votes, p by the density (1 - p^2)^(gamma - 1)."""
    rng = np.random.default_rng(0)
    told = meant = 0.0
    for x in itertools.product([-1, 1], repeat=n):
        y, ones = rng.uniform(-1, 1), x.count(1)  # p = 2 b - 1 with b of the Beta law
        likely = beta(gamma + ones, gamma + n - ones) / beta(gamma, gamma)
        p = 2 * beta(gamma + ones + 1, gamma + n - ones) / beta(gamma, gamma) - likely  # times the likelihood
        told += y * (sum(x) * likely - n * p)
        meant += y * p
    assert told == pytest.approx(2 * gamma * meant, rel=1e-9)
    half = {"a": 0, "b": 1, "weight": "alg", "wvar": (0, gamma - 1)}
    whole, size, spread = (
        quad(lambda p, f=f: f(p) * (1 + p) ** (gamma - 1), **half)[0] for f in (lambda p: 1, abs, lambda p: 1 - p**2)
    )
    h = math.exp(math.lgamma(gamma + 0.5) - math.lgamma(gamma + 1)) / math.sqrt(math.pi)
    assert (size / whole, spread / whole) == pytest.approx((h, 2 * gamma / (2 * gamma + 1)), rel=1e-9)


@pytest.mark.parametrize("ratio", [1.0, 5.0, 20.0])
def test_fingerprint_floor_grows_as_in_the_theorem(ratio):
    """A constant share of m^2 at n = k sqrt(m)/epsilon, the same for all m; none for many voters or much delta."""
    k = {1.0: 0.1, 5.0: 0.02, 20.0: 0.005}[ratio]
    shares = [
        fingerprint_floor(round(k * math.sqrt(m) / epsilon), m, epsilon, 1e-12, ratio) / m**2
        for m, epsilon in ((400, 0.002), (1600, 0.002), (1600, 0.0005))
    ]
    assert min(shares) > 0.02 and max(shares) < 1.05 * min(shares)
    assert fingerprint_floor(10**5, 400, 0.002, 1e-12, ratio) == 0.0
    assert fingerprint_floor(100, 400, 0.002, 0.1, ratio) == 0.0
    assert fingerprint_floor(100, 400, 0.002, 1e-5, ratio) > 0
    assert fingerprint_floor(100, 2, 0.002, 1e-5, ratio) == 0.0


def test_no_mechanism_is_below_the_fingerprint_floor_and_the_truth_is():
    """Votes with marginals drawn at random, as in the proof: excess over the cost of the signs of p, ratio 1."""
    m, d, n, epsilon, delta = 40, 8, 4, 0.05, 1e-6
    t, rng, excesses, without = m - 2 * d, np.random.default_rng(0), [], []
    floor = fingerprint_floor(n, m, epsilon, delta)
    estimator = DPPairwise(epsilon, delta, "gaussian", "borda", "replace")
    for k in range(60):
        p = rng.uniform(-1, 1, d)
        signs = np.where(rng.random((n, d)) < (1 + p) / 2, 1, -1)
        profile = Profile.from_rankings(np.array([marginal_ranking(x, t) for x in signs]))
        best = average_kendall_tau(marginal_ranking(np.sign(signs.sum(axis=0) + 0.5).astype(int), t), profile)
        found = average_kendall_tau(estimator.set_params(random_state=k).fit(profile).ranks_, profile)
        excesses.append(780 * (found - best))
        without.append(780 * (average_kendall_tau(marginal_ranking(np.sign(p), t), profile) - best))
    assert 20 < floor <= np.mean(excesses)
    assert np.mean(without) < floor + 60


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: packing_floor(0, 5, 1.0), "n_voters"),
        (lambda: packing_floor(5, 401, 1.0), "n_items"),
        (lambda: packing_voters(5, 1.0, additive=-1.0), "additive"),
        (lambda: packing_voters(5, 0.0), "epsilon must be a finite number above 0"),
        (lambda: fingerprint_floor(5, 1, 1.0, 0.1), "n_items must be an integer of at least 2"),
        (lambda: fingerprint_floor(5, 5, 1.0, 1.0), "delta"),
        (lambda: fingerprint_floor(5, 5, 1.0, 0.1, 0.5), "ratio"),
    ],
)
def test_errors_name_the_gaussian_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()
