"""Exact audits of the mechanisms that draw an order, and of the histogram: every output, every neighbour."""

from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations, permutations, product

import numpy as np
import pytest
from audit_tools import (
    ScriptedCoins,
    empty_profile,
    flipped_cells,
    knorm_cells,
    law,
    log_flipped_law,
    neighbours,
    noise_pmf,
    order_cells,
    outcomes,
    profile_of,
    reach,
    sampled_orders,
    worst_loss,
)
from oracles import cost_of, distinct_ballots, naive_counts
from scipy import stats

from sklearn_dprank import DPHistogram, DPKemenySampler, DPPrudentOrder
from sklearn_dprank.mechanisms import Exponential, ExponentialNoise, LaplaceNoise, PermuteAndFlip, PermuteAndFlipNoise
from sklearn_dprank.orders.samplers import MinimaxMarginFlips, MinimaxMarginSampler, PartitionTable, WindowedSampler
from sklearn_dprank.privacy.rounding import round_down
from sklearn_dprank.queries import Histogram, KemenyUtility, MaxViolatedMargin
from sklearn_dprank.sampling.bit_source import SeededBits

NEIGHBORING = ["add_remove", "replace"]
MECHANISMS = [DPKemenySampler, DPPrudentOrder]
ROUNDING = 1 + 1e-9
NAN = np.nan


def bases(m):
    """Ballots of the other voters: none, one, one and its reverse, a cycle, ties and gaps."""
    ranking = list(range(m))
    return {
        "nobody": [],
        "one mind": [ranking] * 40,
        "one mind, one enemy": [ranking] * 40 + [ranking[::-1]],
        "cycle": [np.roll(ranking, k) for k in range(m)] * 3,
        "ties and gaps": [[0] * m, [0, 0, *range(1, m - 1)], [NAN, *range(m - 1)]] * 2,
    }


def planned(estimator, m):
    """The mechanisms of an estimator's plan, by query."""
    channel, rule = estimator._compose()
    prices = channel.plan(rule.asks(m), m).prices
    return {type(price.query).__name__: price for price in prices.values()}


# P-SAMPLE and the minimax-margin mechanism: laws by the definition of the cost, at the planned rate


@lru_cache
def overruled(m):
    """Index arrays (winner, loser), shape (m!, pairs): the margins that each order overrules."""
    orders = np.array(list(permutations(range(m))))
    first, second = np.array(list(combinations(range(m), 2))).T
    return orders[:, second], orders[:, first]


def log_law(estimator, rate, counts):
    """Log probability of every order, in lexicographic order."""
    margins = (counts - counts.T)[overruled(len(counts))]
    if isinstance(estimator, DPPrudentOrder):
        return log_flipped_law(rate * margins.max(axis=1))
    costs = np.maximum(margins, 0).sum(axis=1)
    return -rate * costs - np.logaddexp.reduce(-rate * costs)


@lru_cache
def votes(m):
    return [naive_counts([ballot]) for ballot in distinct_ballots(m)]


def spread(logs, neighboring):
    """The largest log ratio: of the last row and each other row, or of any two of the others."""
    *others, alone = logs
    if neighboring == "add_remove":
        return np.abs(others - alone).max()
    return np.ptp(others, axis=0).max()


def audit(estimator, m):
    """The largest log ratio over bases, all weak and partial ballots, and outputs."""
    [price] = planned(estimator, m).values()
    worst = 0.0
    for base in bases(m).values():
        counts = naive_counts(base) if base else np.zeros((m, m), dtype=int)
        logs = [log_law(estimator, price.mechanism.rate, counts + vote) for vote in [*votes(m), 0]]
        worst = max(worst, spread(logs, estimator.neighboring))
    return worst


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_neighbour_and_every_order(mechanism, m, epsilon, neighboring):
    worst = audit(mechanism(epsilon=epsilon, neighboring=neighboring), m)
    assert worst <= epsilon * ROUNDING
    assert worst >= {0.1: 0.3, 1.0: 0.97, 4.0: 0.97}[epsilon] * epsilon


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_five_items(mechanism, neighboring):
    assert len(votes(5)) > 1000
    worst = audit(mechanism(epsilon=2.0, neighboring=neighboring), 5)
    assert 0.97 * 2.0 <= worst <= 2.0 * ROUNDING


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_audited_law_is_that_of_the_package(mechanism, m):
    """Through plan, session and rule, and from the profile of the ballots themselves."""
    estimator = mechanism(epsilon=1.0, neighboring="replace")
    [price] = planned(estimator, m).values()
    for base in bases(m).values():
        counts = naive_counts(base) if base else np.zeros((m, m), dtype=int)
        expected = np.exp(log_law(estimator, price.mechanism.rate, counts))
        np.testing.assert_allclose(law(estimator, profile_of(base, m)), expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("m", [3, 4, 6])
def test_p_sample_is_tight_on_one_mind(m, neighboring):
    """One enemy more: the reverse ranking gains all that epsilon allows, so no rate could be larger."""
    epsilon, ranking = 1.0, list(range(m))
    crowd = [ranking] * 400
    if neighboring == "add_remove":
        pair = [profile_of(crowd, m), profile_of([*crowd, ranking[::-1]], m)]
    else:
        pair = [profile_of([*crowd, ballot], m) for ballot in (ranking, ranking[::-1])]
    laws = [law(DPKemenySampler(epsilon=epsilon, neighboring=neighboring), profile) for profile in pair]
    assert 0.99 * epsilon <= worst_loss(laws, [(0, 1)]) <= epsilon * ROUNDING


query_cost = partial(cost_of, MaxViolatedMargin())


def test_prudent_orders_of_the_exponential_mechanism_hold_their_law():
    """Named by hand; `DPPrudentOrder` draws by permute-and-flip."""
    profile = profile_of(bases(4)["cycle"] + bases(4)["ties and gaps"], 4)
    margins, orders = profile.margins, list(permutations(range(4)))
    sampler = MinimaxMarginSampler(margins, 0.5)
    values = np.unique(margins[~np.eye(4, dtype=bool)])[-len(sampler._log_weights) :]
    share = np.exp(sampler._log_weights - np.logaddexp.reduce(sampler._log_weights))
    worst = np.array([query_cost(margins, order) for order in orders])
    counts = [(worst <= value).sum() for value in values]
    held = [sum(s / n for s, n, v in zip(share, counts, values, strict=True) if w <= v) for w in worst]
    expected, _ = order_cells(ExponentialNoise(0.5), MaxViolatedMargin(), margins.ravel())
    np.testing.assert_allclose(held, expected, rtol=1e-9)
    assert abs(expected - flipped_cells(PermuteAndFlipNoise(0.5), MaxViolatedMargin(), margins.ravel())[0]).max() > 0.01


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_audited_law_is_what_the_samplers_hold(mechanism, m):
    """The audit computes laws from the definition of the cost: here from the tables that draws are made of."""
    profile = profile_of(bases(m)["cycle"] + bases(m)["ties and gaps"], m)
    estimator = mechanism(epsilon=1.0)
    audited = law(estimator, profile)
    [price] = planned(estimator, m).values()
    rate, orders = price.mechanism.rate, list(permutations(range(m)))
    margins = profile.margins
    if mechanism is DPKemenySampler:
        cost = np.maximum(margins.T, 0)
        table = PartitionTable(cost, rate)
        held = [-rate * sum(cost[a, b] for k, b in enumerate(o) for a in o[:k]) - table.log_partition for o in orders]
    else:
        flips = MinimaxMarginFlips(margins, rate)._level
        values = np.unique([query_cost(margins, order) for order in orders])
        counts = np.exp(flips._log_counts).round().astype(int)
        laws = log_flipped_law(np.repeat(flips._penalty, counts))
        of_level = dict(zip(values.tolist(), laws[np.cumsum(counts) - 1], strict=True))
        held = [of_level[query_cost(margins, order)] for order in orders]
    np.testing.assert_allclose(np.exp(held), audited, rtol=1e-9)


@pytest.mark.slow
def test_sampled_orders_follow_the_audited_law():
    profile = profile_of(bases(3)["ties and gaps"] + [[0, 1, 2]] * 3, 3)
    for estimator in (DPKemenySampler(epsilon=2.0), DPPrudentOrder(epsilon=1.0), DPPrudentOrder(epsilon=1.0, window=2)):
        seen = np.bincount(sampled_orders(estimator, profile, 2000, seed=0), minlength=6)
        assert stats.chisquare(seen, law(estimator, profile) * 2000).pvalue > 1e-3


# The two-stage form


@pytest.mark.slow
@pytest.mark.parametrize(("window", "neighboring"), [(2, "add_remove"), (2, "replace"), (3, "add_remove")])
def test_two_stages_at_three_items(window, neighboring):
    """The whole: the anchor's law is exact too, by integration of the K-norm density over the cones of orders."""
    estimator = DPPrudentOrder(epsilon=2.0, window=window, neighboring=neighboring)
    worst = 0.0
    for base in ([], [[0, 1, 2]] * 12 + [[2, 1, 0]], [[0, 1, 2], [1, 2, 0], [2, 0, 1]]):
        profiles, pairs = neighbours(base, distinct_ballots(3), neighboring, 3)
        worst = max(worst, worst_loss([law(estimator, profile) for profile in profiles], pairs))
    assert worst <= 2.0 * (1 + 1e-6)
    assert worst >= 1.0  # more than one stage alone may spend


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_each_stage_keeps_to_its_half(epsilon, neighboring):
    """Given any anchor the second stage loses epsilon / 2; so does the anchor; basic composition does the rest."""
    for m in (3, 4):
        prices = planned(DPPrudentOrder(epsilon=epsilon, window=3, neighboring=neighboring), m)
        assert sorted(prices) == ["MaxViolatedMargin", "NetWins"]
        assert all(price.epsilon == round_down(epsilon) / 2 and price.times == 1 for price in prices.values())
        near_orders, anchors = prices["MaxViolatedMargin"].mechanism, prices["NetWins"].mechanism
        ballots = distinct_ballots(m)[:: 1 if m == 3 else 6]
        for base in (bases(m)["one mind, one enemy"], bases(m)["ties and gaps"]):
            profiles, pairs = neighbours(base, [*ballots, list(range(m))[::-1]], neighboring, m)
            for anchor in [tuple(range(m)), tuple(range(m))[::-1], (1, 2, 0, 3)[:m]]:
                query = MaxViolatedMargin(anchor, 3)
                laws = [order_cells(near_orders, query, profile.margins.ravel())[0] for profile in profiles]
                assert worst_loss([each[each > 0] for each in laws], pairs) <= epsilon / 2 * ROUNDING
            if m == 3:
                laws = [knorm_cells(anchors, profile.net_wins)[0] for profile in profiles]
                assert worst_loss(laws, pairs) <= epsilon / 2 * (1 + 1e-6)


@pytest.mark.slow
def test_windowed_law_is_what_the_sampler_holds():
    """By its masses: prefix by prefix, all thresholds."""
    m, anchor, rate = 4, np.array([2, 0, 3, 1]), 0.4
    profile = profile_of(bases(m)["cycle"] + bases(m)["ties and gaps"], m)
    weights, orders = order_cells(
        ExponentialNoise(rate), MaxViolatedMargin(tuple(anchor.tolist()), 3), profile.margins.ravel()
    )
    draws = WindowedSampler(profile.margins, anchor, rate, 3).sample(4000, SeededBits(np.random.SeedSequence(1)))
    number = {tuple(order): k for k, order in enumerate(np.array(orders).tolist())}
    seen = np.bincount([number[tuple(draw)] for draw in draws.tolist()], minlength=len(orders))
    assert not seen[weights == 0].any()
    assert stats.chisquare(seen[weights > 0], weights[weights > 0] * 4000).pvalue > 1e-3


# Planted mistakes


def test_doubled_rate_is_caught(monkeypatch):
    for mechanism in (Exponential, PermuteAndFlip):

        def doubled(*args, honest=mechanism.calibrated):
            calibrated = honest(*args)
            return replace(calibrated, rate=2 * calibrated.rate)

        monkeypatch.setattr(mechanism, "calibrated", doubled)
    for estimator in (DPKemenySampler(epsilon=1.0), DPPrudentOrder(epsilon=1.0)):
        assert audit(estimator, 3) > 1.9


def test_the_printed_exponent_is_caught_under_replacement(monkeypatch):
    """Hay et al. have epsilon / C(m, 2) for both relations: twice epsilon where a ballot is replaced."""
    right = KemenyUtility.sensitivity
    monkeypatch.setattr(KemenyUtility, "sensitivity", lambda self, m, neighboring: right(self, m, "add_remove"))
    worst = audit(DPKemenySampler(epsilon=1.0, neighboring="replace"), 3)
    assert 1.9 < worst <= 2.0


def test_forgotten_factor_two_is_caught(monkeypatch):
    """The largest overruled margin may rise for one order and fall for another."""
    right = MaxViolatedMargin.sensitivity
    monkeypatch.setattr(
        MaxViolatedMargin, "sensitivity", lambda self, m, n: right(self, m, n)._replace(l1=right(self, m, n).l1 // 2)
    )
    assert audit(DPPrudentOrder(epsilon=1.0), 3) > 1.9


# The histogram of three items


def order_law(histogram, mechanism):
    """The law of the Borda order from noisy counts of the six rankings; ties by coins.

    A ranking and its reverse count against each other, so that three differences (a, b, c) of two counts each are all
    there is. Half of the net wins of item 0 over item 1 is a + 2b - c, of 1 over 2 it is a - b + 2c. Given (a, b), each
    weak order is an interval of c.
    """
    noise = noise_pmf(mechanism, np.arange(-reach(mechanism), reach(mechanism) + 1))
    difference = np.convolve(noise, noise)  # from -2 reach to 2 reach
    far = len(difference) // 2
    below = np.concatenate([[0], np.cumsum(difference)])  # of c, less than each integer
    shift = histogram[:3] - histogram[:2:-1]
    a, b = (shift[k] + np.arange(-far, far + 1).reshape([(-1, 1), (1, -1)][k]) for k in range(2))
    # Half of the net wins of 0 over 1, 1 over 2 and 0 over 2 are these plus -c, 2c and c.
    forms = [(a + 2 * b, -1), (a - b, 2), (2 * a + b, 1)]
    out = np.zeros(6)
    for signs in product([-1, 0, 1], repeat=3):
        fits = np.array([agrees(signs, order) for order in permutations(range(3))])
        if fits.any():
            low, high = -(10**9), 10**9
            for sign, (constant, slope) in zip(signs, forms, strict=True):
                # sign (constant + slope c) >= 1, or constant + slope c = 0, as bounds of slope c
                least = 1 - constant if sign > 0 else -constant if sign == 0 else -(10**9)
                most = -1 - constant if sign < 0 else -constant if sign == 0 else 10**9
                if slope < 0:
                    least, most = -most, -least
                low, high = np.maximum(low, -(-least // abs(slope))), np.minimum(high, most // abs(slope))
            first, last = (np.clip(end - shift[2] + far, 0, len(difference)) for end in (low, high + 1))
            chance = np.where(first < last, below[last] - below[np.minimum(first, last)], 0)
            out += difference @ chance @ difference * fits / fits.sum()
    return out


def agrees(signs, order):
    """Tell whether the order contradicts no strict sign of (0 over 1, 1 over 2, 0 over 2), and signs add up."""
    x, y, both = signs
    if both != np.sign(x + y) and x + y != 0:
        return False
    if both and x == y == 0:
        return False
    place = np.argsort(order)
    gaps = place[1] - place[0], place[2] - place[1], place[2] - place[0]
    return all(sign * gap >= 0 for sign, gap in zip(signs, gaps, strict=True))


@lru_cache
def completions(ballot):
    """(shares, histograms) of one ballot over the coins that complete it."""
    profile = profile_of([ballot], 3)
    every = outcomes(lambda branch: tuple(Histogram().vector(profile, ScriptedCoins(branch)).tolist()))
    shares: dict = {}
    for share, histogram in every:
        shares[histogram] = shares.get(histogram, 0.0) + share
    return shares


def laws_with_every_ballot(base, mechanism):
    """The laws of the base with each extra ballot, then without: mixtures over its completions."""
    base = np.array(base)
    cell = [order_law(base + unit, mechanism) for unit in np.eye(6, dtype=int)]
    laws = []
    for ballot in distinct_ballots(3):
        shares = completions(tuple(ballot.tolist()))
        laws.append(sum(share * cell[histogram.index(1)] for histogram, share in shares.items()))
    return [*laws, order_law(base, mechanism)]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_histogram_with_discrete_laplace_noise(epsilon):
    """Ties and gaps of the extra ballot are completed by coins, which only mixes the laws of strict ones."""
    for neighboring in NEIGHBORING:
        [price] = planned(DPHistogram(epsilon=epsilon, neighboring=neighboring), 3).values()
        assert price.mechanism == LaplaceNoise(round_down(epsilon) / {"add_remove": 1, "replace": 2}[neighboring])
        crowd = round(8 / epsilon)  # larger ones leave orders to what the cut of the noise leaves out
        worst = 0.0
        for base in (
            [0] * 6,
            [crowd, 0, 0, 0, 0, 0],
            [0, 5, 0, 5, 0, 5],
            [crowd, 0, 0, 0, 0, 1],
            [0, 0, 1, crowd, 2, 0],
        ):
            laws = laws_with_every_ballot(base, price.mechanism)
            np.testing.assert_allclose([each.sum() for each in laws], 1, atol=1e-12)
            worst = max(worst, spread(np.log(laws), neighboring))
        assert worst <= epsilon * (1 + 1e-8)
        assert worst >= 0.6 * epsilon


@pytest.mark.slow
def test_histogram_law_is_that_of_the_package():
    """Through plan, answers, derivation and rule, with ties and a gap among the ballots, and without ballots."""
    estimator = DPHistogram(epsilon=4.0)
    mechanism = planned(estimator, 3)["Histogram"].mechanism
    np.testing.assert_allclose(law(estimator, empty_profile(3)), np.full(6, 1 / 6), atol=1e-12)
    ballots = [[0, 1, 2], [0, 0, 1], [NAN, 1, 0]]
    expected = np.zeros(6)
    for first, p in completions((0.0, 0.0, 1.0)).items():
        for second, q in completions((NAN, 1.0, 0.0)).items():
            expected += p * q * order_law(np.array(first) + second + np.eye(6, dtype=int)[0], mechanism)
    np.testing.assert_allclose(law(estimator, profile_of(ballots, 3)), expected, atol=1e-12)


def test_histogram_scale_printed_for_one_relation_is_caught_under_the_other():
    """Lap(1 / epsilon) is right where a ballot is added; where one is replaced it spends more than epsilon."""
    mechanism = planned(DPHistogram(epsilon=1.0), 3)["Histogram"].mechanism
    assert 1.2 < spread(np.log(laws_with_every_ballot([8, 0, 0, 0, 0, 1], mechanism)), "replace") <= 2.0


def test_ballots_without_opinions():
    """Ties or gaps alone: the cost of an order does not see them."""
    crowd = [[0, 1, 2]] * 3
    for estimator in (DPKemenySampler(), DPPrudentOrder()):
        alone = law(estimator, profile_of(crowd, 3))
        for ballot in ([0, 0, 0], [NAN, NAN, NAN], [NAN, NAN, 0]):
            np.testing.assert_array_equal(law(estimator, profile_of([*crowd, ballot], 3)), alone)
