"""`PartitionTable`: partition functions within their rounding bound, and samples against enumeration."""

import math
from fractions import Fraction

import numpy as np
import pytest
from oracles import every_total, fit_of, random_counts
from scipy.stats import chi2

from sklearn_dprank.orders.samplers import PartitionTable, log_rounding_error
from sklearn_dprank.orders.subset_dp import best_order
from sklearn_dprank.sampling.bit_source import SeededBits


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
