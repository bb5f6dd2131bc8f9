"""Secure aggregation, exactly: the law of what is released on all neighbouring profiles of three items."""

import math
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from audited import SUMS
from oracles import distinct_ballots, naive_counts
from scipy import stats

from sklearn_dprank.devices import shares
from sklearn_dprank.profile import Profile
from sklearn_dprank.queries import AllMargins, GroupNetWins, NetWins, PairMargin
from sklearn_dprank.rankings import compact_positions

BALLOTS = distinct_ballots(3)


def added_noise(rate, n_voters):
    """The law of the noise of so many voters: Poisson laws, convolved one after another; and its half width."""
    far = math.ceil(rate + 12 * math.sqrt(rate)) + 25
    poisson = stats.poisson.pmf(np.arange(far + 1), rate)
    one = np.convolve(poisson, poisson[::-1])
    law = np.ones(1)
    for _ in range(n_voters):
        law = np.convolve(law, one)
        law = law[np.flatnonzero(law > 1e-18)[0] : np.flatnonzero(law > 1e-18)[-1] + 1]
    assert law.sum() == pytest.approx(1, abs=1e-12)
    return law


def naive_vector(query, ballot):
    """What one ballot adds to the sum, the obvious way; groups are of all three items."""
    counts = naive_counts([ballot])
    margins = counts - counts.T
    if isinstance(query, (NetWins, GroupNetWins)):
        return margins.sum(axis=1)
    return np.array([margins[i, j] for i, j in combinations(range(3), 2)])[: 1 if isinstance(query, PairMargin) else 3]


def shifts(query):
    """How far two ballots lie apart, up to order and sign: the noise is symmetric and independent."""
    vectors = [naive_vector(query, ballot) for ballot in BALLOTS]
    return {tuple(sorted(np.abs(first - second).tolist())) for first, second in combinations(vectors, 2)}


def priced(estimator):
    """(price, least voters) of everything that is summed."""
    channel, rule = estimator._compose()
    plan = channel.plan(rule.asks(3), 3)
    return [price for price in plan.prices.values() if price.epsilon], channel.min_reports


def moved_law(law, shift):
    """The law with and without a shift, on the same points."""
    return np.concatenate([np.zeros(shift), law]), np.concatenate([law, np.zeros(shift)])


@pytest.mark.parametrize("name", ["Borda", "Borda, three servers", "margins"])
def test_one_sum_keeps_epsilon_and_delta(name):
    """The joint law of three numbers, on every point that matters, for all pairs of ballots."""
    (price,), least = priced(SUMS[name])
    law = added_noise(float(price.mechanism.rate), least)
    middle = slice(*(np.flatnonzero(law > 1e-9)[[0, -1]]))
    law = law[middle] if len(law) > 220 else law
    promise, worst = SUMS[name].fit([[0, 1, 2]] * 9).privacy_, 0.0
    for shift in shifts(price.query):
        pairs = [moved_law(law, by) for by in shift]
        first, second = (np.einsum("i,j,k->ijk", *[pair[k] for pair in pairs]) for k in (0, 1))
        worst = max(worst, np.maximum(first - math.exp(promise.epsilon) * second, 0).sum())
    assert 0.005 * promise.delta < worst <= promise.delta


def loss_law(law, shift, grid):
    """The law of ln P(x - shift) / P(x), on a grid, under the shifted law; what only one of them gives is infinite."""
    first, second = moved_law(law, shift)
    both = (first > 0) & (second > 0)
    losses = np.rint(np.log(first[both] / second[both]) / grid).astype(int)
    return dict(zip(*_summed(losses, first[both]), strict=True)), first[~both].sum()


def _summed(keys, weights):
    names, where = np.unique(keys, return_inverse=True)
    return names.tolist(), np.bincount(where, weights)


@pytest.mark.parametrize("name", ["Borda", "Swiss", "question by question"])
def test_all_answers_together_keep_epsilon_and_delta(name):
    """Losses of independent noise add up, whatever is asked next: convolved over all answers, for the worst ballots."""
    grid = 1e-3
    prices, least = priced(SUMS[name])
    promise, worst = SUMS[name].fit([[0, 1, 2]] * 9).privacy_, 0.0
    for ballots in {tuple(sorted(shift)) for shift in shifts(prices[0].query)}:
        total, beyond = np.ones(1), 0.0
        low = 0
        for price, by in product(prices, ballots):
            for _ in range(price.times if by else 0):
                found, lost = loss_law(added_noise(float(price.mechanism.rate), least), by, grid)
                beyond += lost
                spread = np.zeros(max(found) - min(found) + 1)
                spread[np.array(list(found)) - min(found)] = list(found.values())
                total, low = np.convolve(total, spread), low + min(found)
        losses = grid * (low + np.arange(len(total)))
        delta = (total * np.maximum(-np.expm1(promise.epsilon - losses), 0)).sum() + beyond
        worst = max(worst, delta)
    assert 0.001 * promise.delta < worst <= promise.delta


def test_fewer_voters_would_not_do():
    """The audit can fail: with the noise of two voters of five, delta is broken."""
    (price,), least = priced(SUMS["Borda"])
    law, worst = added_noise(float(price.mechanism.rate), least - 3), 0.0
    for shift in shifts(price.query):
        pairs = [moved_law(law, by) for by in shift]
        first, second = (np.einsum("i,j,k->ijk", *[pair[k] for pair in pairs]) for k in (0, 1))
        worst = max(worst, np.maximum(first - math.exp(2.0) * second, 0).sum())
    assert worst > 1e-2


class Dealt:
    """Shares from a list, and no noise: to go through all of them."""

    def __init__(self, shares):
        self.left = list(shares)

    def integers(self, bound, size):
        return np.array([self.left.pop(0) for _ in range(size)])

    def words(self, size):
        return np.zeros(size, dtype=np.uint64)


@pytest.mark.parametrize("n_servers", [2, 3])
def test_all_servers_but_one_see_the_same_whatever_the_ballot(n_servers, monkeypatch):
    """Every choice of random numbers once, modulo 8: for each missing server the others' shares have one law."""
    monkeypatch.setattr(shares, "skellam_noise", lambda rate, size, bits: np.arange(1, size + 1))
    protocol = {"statistic": "margins", "items": [0, 1], "servers": n_servers, "modulus_bits": 3, "rate": [1, 1]}
    seen = []
    for ballot in ([0, 1], [1, 0], [0, 0]):
        table = Counter()
        for dealt in product(range(8), repeat=n_servers - 1):
            bits = type("Bits", (), {"noise": Dealt(dealt), "assignment": Dealt([])})
            _, drawn = shares.draw(protocol, compact_positions(np.array([ballot], dtype=float)), bits)
            said = drawn[0, :, 0]
            exact = AllMargins().vector(Profile.from_rankings([ballot]), None)[0]
            assert (said.sum() - exact - 1) % 8 == 0
            for missing in range(n_servers):
                table[missing, tuple(np.delete(said, missing).tolist())] += 1
        seen.append(table)
    assert seen[0] == seen[1] == seen[2]
    assert set(seen[0].values()) == {1} and len(seen[0]) == n_servers * 8 ** (n_servers - 1)
