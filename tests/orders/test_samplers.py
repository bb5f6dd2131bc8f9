"""Laws of choices, of orders by cost, of K-norm noise and of permute-and-flip, with their rounding bounds."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from audit_tools import log_flipped_law
from oracles import every_total, fit_of, permutohedron_gauge, random_counts, seeded
from scipy import stats
from scipy.stats import chi2

from sklearn_dprank.orders.samplers import (
    Choice,
    Flips,
    PartitionTable,
    knorm_noise,
    largest_exponentials,
    log_choice_error,
    log_flip_error,
    log_rounding_error,
    sample_ball,
)
from sklearn_dprank.orders.subset_dp import best_order
from sklearn_dprank.sampling.bit_source import BitSource, SeededBits

# One of several options, from the likeliest to what comes once in e^100000 draws


WEIGHTS = {
    "even": np.zeros(7),
    "two": np.array([0.0, -40.0]),
    "falling": -30.25 * np.arange(8),
    "equal and rare": np.array([-500.0, 0.0, -500.0, -500.0, -3.0, -500.0]),
    "beyond doubles": np.array([-1e5, 2.0, -2000.0, -np.inf, -1e5 + 1, 1.0]),
}


class At(BitSource):
    """Stands for the uniform number."""

    def __init__(self, log_uniform):
        super().__init__()
        self.where = log_uniform

    def log_uniform(self, size):
        return np.full(size, self.where)


def reached(log_weights):
    """Options in the order of the uniform number, and the log of the number from which each comes, by bisection."""
    choice, low, found = Choice(log_weights), -1e7, []
    while True:
        option, ends, starts = choice.at(low), 0.0, low
        found.append((option, low))
        if choice.at(-1e-300) == option:
            return found
        ends = -1e-300
        for _ in range(200):
            middle = (starts + ends) / 2
            starts, ends = (middle, ends) if choice.at(middle) == option else (starts, middle)
        low = ends


@pytest.mark.parametrize("log_weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_every_option_has_its_probability(log_weights):
    """Each is reached on an interval of the uniform number that is as long as its probability, in high precision."""
    found = reached(log_weights)
    assert sorted(option for option, _ in found) == np.flatnonzero(log_weights > -np.inf).tolist()
    with localcontext() as context:
        context.prec = 60
        weights = {k: Decimal(float(w)).exp() for k, w in enumerate(log_weights) if w > -np.inf}
        ends = [Decimal(start).exp() for _, start in found[1:]] + [Decimal(1)]
        starts = [Decimal(0), *ends[:-1]]
        for (option, _), start, end in zip(found, starts, ends, strict=True):
            chance = weights[option] / sum(weights.values())
            allowed = log_choice_error(len(weights), -float(chance.ln()))
            assert abs(float(((end - start) / chance).ln())) <= allowed


def test_error_grows_with_what_is_drawn():
    assert log_choice_error(10, 0.0) == pytest.approx(40 * 2.0**-53)
    assert log_choice_error(10, 100.0, 5) == pytest.approx(3200 * 2.0**-53)
    assert log_choice_error(10, math.inf) == math.inf


# `PartitionTable`


def test_mallows_partition_function():
    # for cost = inversions, Z = prod (1 + q + ... + q^(i-1)), for any number of items
    for m in (1, 2, 5, 10, 13):
        cost = np.tril(np.ones((m, m), dtype=int), -1)
        q = np.exp(-0.4)
        expected = np.log(np.cumsum(q ** np.arange(m))).sum()
        assert PartitionTable(cost, 0.4).log_partition == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("scale", [0.0, 0.05, 0.7, 30.0])
def test_log_partition_against_brute_force(scale):
    rng = np.random.default_rng(2)
    for _ in range(40):
        cost = random_counts(rng, int(rng.integers(1, 7)), 9).T
        _, totals = every_total(cost)
        totals = -scale * np.array(totals)
        expected = totals.max() + np.log(np.exp(totals - totals.max()).sum())
        assert PartitionTable(cost, scale).log_partition == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_rounding_error_is_below_its_bound():
    # scale = log 2 on integer costs: every mass is a rational number, but log 2 is rounded itself, by 2^-54 relative
    rng = np.random.default_rng(3)
    for spread in (3, 30):
        for _ in range(20):
            m = int(rng.integers(2, 7))
            cost = rng.integers(0, spread, (m, m))
            _, totals = every_total(cost)
            mass = sum(Fraction(1, 2 ** int(total)) for total in totals)
            shift = int(min(totals))
            exact = float(np.log(np.longdouble(float(mass * 2**shift))) - shift * np.log(np.longdouble(2)))
            exponent = np.log(2) * np.abs(np.triu(cost - cost.T)).sum()
            constant = np.log(2) * np.triu(np.minimum(cost, cost.T), 1).sum()
            room = log_rounding_error(m, exponent) + 2.0**-52 * (exponent + 4 * constant + 1)
            assert abs(PartitionTable(cost, np.log(2)).log_partition - exact) <= room


def test_rounding_bound_known_values():
    assert log_rounding_error(1, 0.0) == pytest.approx(5.5 * 2.0**-53)
    # m (4 M + m / 2 + 8 log m + 5) u with M = 100 / 2
    assert log_rounding_error(10, 100.0) == pytest.approx(10 * (200 + 10 + 8 * np.log(10)) * 2.0**-53)


@pytest.mark.parametrize(("m", "scale"), [(3, 0.2), (4, 0.1), (5, 0.05), (5, 0.0)])
def test_samples_follow_the_law(m, scale):
    rng = np.random.default_rng(m)
    cost = random_counts(rng, m, 20).T
    orders, totals = every_total(cost)
    law = np.exp(-scale * np.array(totals, dtype=float))
    law /= law.sum()
    drawn = PartitionTable(cost, scale).sample(40_000, SeededBits(np.random.SeedSequence(m)))
    assert fit_of(drawn, orders, law) > 1e-3


def test_samples_across_both_halves():
    # 12 items: the marginal law of the first item, from the partition functions without it
    rng = np.random.default_rng(5)
    cost, scale = random_counts(rng, 12, 30).T, 0.05
    table = PartitionTable(cost, scale)
    first = table.sample(20_000, SeededBits(np.random.SeedSequence(1)))[:, 0]
    law = []
    for item in range(12):
        rest = np.delete(np.arange(12), item)
        without = PartitionTable(cost[np.ix_(rest, rest)], scale).log_partition
        law.append(np.exp(without - scale * cost[item, rest].sum() - table.log_partition))
    assert sum(law) == pytest.approx(1, abs=1e-12)
    expected = np.array(law) * 20_000
    statistic = ((np.bincount(first, minlength=12) - expected) ** 2 / expected).sum()
    assert chi2.sf(statistic, 11) > 1e-3


def test_a_sample_is_a_set_of_orders_and_a_steep_law_gives_the_optimum():
    rng = np.random.default_rng(6)
    cost = rng.random((13, 13)) * 100
    drawn = PartitionTable(cost, 1e4).sample(50, SeededBits(np.random.SeedSequence(2)))
    assert (drawn == best_order(cost)[0]).all()
    flat = PartitionTable(cost, 0.0).sample(5000, SeededBits(np.random.SeedSequence(3)))
    assert (np.sort(flat, axis=1) == np.arange(13)).all()
    assert PartitionTable(cost, 0.0).sample(0, SeededBits(np.random.SeedSequence(4))).shape == (0, 13)


def test_earlier_draws_do_not_change_a_draw():
    """Choices are kept for each set of remaining items."""
    cost = random_counts(np.random.default_rng(5), 6, 9).T
    used = PartitionTable(cost, 0.3)
    for seed in range(50):
        expected = PartitionTable(cost, 0.3).draw(SeededBits(seed))
        np.testing.assert_array_equal(used.draw(SeededBits(seed)), expected)


@pytest.mark.parametrize("scale", [-1.0, np.inf, np.nan])
def test_bad_scale(scale):
    with pytest.raises(ValueError, match="scale"):
        PartitionTable(np.zeros((2, 2)), scale)


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3, 1e6])
def test_no_exponential_underflows(scale):
    """An underflow takes so long that the time of a table would tell steep margins from flat ones."""
    steep = np.maximum(-np.subtract.outer(np.arange(12), np.arange(12)), 0)
    with np.errstate(under="raise"):
        table = PartitionTable(steep, scale)
    # 12! orders without margins; with steep ones all of the mass is on the best order, or nearly.
    expected = {0.0: math.lgamma(13), 1.0: 11 * math.log(1 + math.exp(-1))}.get(scale, 0.0)
    assert table.log_partition == pytest.approx(expected, abs=1.0)


# K-norm noise: uniform points of the permutohedron


def gauge(scores):
    """Norm of centred scores, half the net wins, for each row."""
    return np.apply_along_axis(permutohedron_gauge, -1, 2 * np.asarray(scores))


def balls(n_items, bits, size):
    return np.array([sample_ball(n_items, bits) for _ in range(size)])


@pytest.mark.parametrize("n_items", [*range(3, 13), 45])
def test_gauge_power_is_uniform(n_items):
    values = gauge(balls(n_items, seeded(n_items), 1500))
    assert values.max() <= 1 + 1e-12
    assert stats.kstest(values ** (n_items - 1), "uniform").pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [3, 4])
def test_moments_match_rejection_sampling(n_items):
    rng = np.random.default_rng(n_items)
    radius = np.sqrt(n_items * (n_items**2 - 1) / 12)
    basis = np.linalg.svd(np.ones((1, n_items)))[2][1:]
    box = rng.uniform(-radius, radius, size=(200_000, n_items - 1)) @ basis
    expected = box[gauge(box) <= 1][:20_000]
    points = balls(n_items, seeded(1), 20_000)
    for power in (2, 4):
        spread = expected[:, 0] ** power
        error = np.sqrt(spread.var() * 2 / 20_000)
        assert np.all(abs((points**power).mean(axis=0) - spread.mean()) < 4.5 * error)
    assert stats.ks_2samp(points[:, 0] * points[:, 1], expected[:, 0] * expected[:, 1]).pvalue > 1e-3


def test_knorm_radius_and_small_sizes():
    bits = seeded(4)
    noise = np.array([knorm_noise(4, 2.0, bits) for _ in range(3000)])
    assert stats.kstest(gauge(noise) / 2, stats.gamma(3).cdf).pvalue > 1e-3  # Gamma(m) times U ** (1 / (m - 1))
    assert knorm_noise(1, 1.0, bits).tolist() == [0]


def test_wrong_sizes_and_scales_are_refused():
    with pytest.raises(ValueError, match="n_items must be a positive integer"):
        sample_ball(0, seeded(0))
    with pytest.raises(ValueError, match="scale must be a finite number above 0"):
        knorm_noise(3, 0.0, seeded(0))


# Permute-and-flip by cost


class AtHalf(BitSource):
    """Stands for the uniform number in one half of (0, 1), and for the coin that chooses the half."""

    def __init__(self, log_v, lower):
        super().__init__()
        self.log_v, self.lower = log_v, lower

    def log_uniform(self, size):
        return np.full(size, self.log_v)

    def coins(self, size):
        return np.full(size, self.lower)


@pytest.mark.parametrize("n", [1, 2, 1000, math.factorial(16)])
@pytest.mark.parametrize("log_v", [-1e-15, -0.5, -3.0, -39.9, -40.1, -700.0, -1e5])
@pytest.mark.parametrize("lower", [True, False])
def test_inversion_of_the_distribution_function(n, log_v, lower):
    """-ln U is standard exponential; the value x has ln((1 - e^-x)^n) = ln U."""
    drawn = largest_exponentials(np.log([float(n)]), AtHalf(log_v, lower))[0]
    assert drawn >= 0
    if lower:  # -ln U is small: about v / 2, v = e^log_v
        log_y = log_v - math.log(2) if log_v < -30 else math.log(-math.log1p(-math.exp(log_v) / 2))
    else:
        log_y = math.log(math.log(2) - log_v)
    log_z = log_y - math.log(n)
    tail = log_z if log_z < -30 else math.log(-math.expm1(-math.exp(min(log_z, 6.0))))  # ln P(Exp(1) > x) = -x
    assert drawn == pytest.approx(-tail, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("n", [1, 5, 10**6])
def test_law_of_the_largest(n):
    drawn = largest_exponentials(np.full(5000, math.log(n)), SeededBits(n))
    assert stats.kstest(drawn, lambda x: (1 - np.exp(-x)) ** n).pvalue > 1e-3


CASES = {
    "one": ([3], [1]),
    "two": ([0, 5], [1, 1]),
    "many at the top": ([-4, 0, 2, 9], [1, 3, 0, 40]),
    "many at the bottom": ([-4, 1], [40, 2]),
    "empty bottom": ([-9, -4, 1, 2], [0, 2, 0, 3]),
}


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(("costs", "counts"), CASES.values(), ids=CASES)
def test_costs_come_as_often_as_by_the_formula(costs, counts, rate):
    each = np.repeat(costs, counts)
    law = np.array([np.exp(log_flipped_law(rate * each))[each == cost].sum() for cost in costs])
    assert law.sum() == pytest.approx(1)
    flips, bits = Flips(np.array(costs), np.array(counts), rate), SeededBits(0)
    seen = np.bincount([flips.draw(bits) for _ in range(4000)], minlength=len(costs))
    assert not seen[law == 0].any()
    if (law > 0).sum() > 1:
        assert stats.chisquare(seen[law > 0], law[law > 0] * 4000).pvalue > 1e-3


def test_error_grows_with_the_exponent_and_the_options():
    assert log_flip_error(0.0, 0.0) == 50 * 2.0**-53
    assert log_flip_error(1e6, 0.0) > 1e7 * 2.0**-53
    assert log_flip_error(0.0, 1e6) > 2e7 * 2.0**-53


def test_rare_costs_have_their_probability():
    """Between neighbours of the uniform number, by the one that decides: P(cost 1) = e^-rate / 2 for two options."""
    flips = Flips(np.array([0, 1]), np.array([1, 1]), 800.0)

    class Two(BitSource):
        """Numbers for the two noises: the first as likely as not, the second as rare as e^log_v."""

        def __init__(self, log_v):
            super().__init__()
            self.log_v = log_v

        def log_uniform(self, size):
            return np.array([math.log(0.5), self.log_v])

        def coins(self, size):
            return np.array([False, True])

    # The first is -ln(1 - 1/4), so that the second must exceed 800 more: e^-x = (3 / 4) e^-800 = v / 2.
    border = math.log(1.5) - 800
    assert flips.draw(Two(border + 1e-9)) == 0 and flips.draw(Two(border - 1e-9)) == 1
