"""Secure aggregation, exactly: the law of what is released on all neighbouring profiles of three items."""

import json
import math
from collections import Counter
from functools import lru_cache
from itertools import combinations, product

import numpy as np
import pytest
from audited import SUMS
from oracles import distinct_ballots, naive_counts
from scipy import stats

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import compact_positions
from sklearn_dprank.collection import shares
from sklearn_dprank.collection.shares import SharesRandomizer
from sklearn_dprank.queries import AllMargins, GroupNetWins, NetWins, PairMargin, ScaledMargins

BALLOTS = distinct_ballots(3)
GRID = 1e-3  # of losses that are convolved


def added_noise(rate, n_voters):
    """The law of the noise of so many voters: Poisson laws, convolved one after another; and its half width."""
    far = math.ceil(12 * math.sqrt(rate)) + 25
    poisson = stats.poisson.pmf(np.arange(max(0, math.floor(rate) - far), math.ceil(rate) + far + 1), rate)
    one = np.convolve(poisson, poisson[::-1])
    law = np.ones(1)
    for _ in range(n_voters):
        law = np.convolve(law, one)
        law = law[np.flatnonzero(law > 1e-18)[0] : np.flatnonzero(law > 1e-18)[-1] + 1]
    assert law.sum() == pytest.approx(1, abs=1e-9)
    return law


def naive_vector(query, ballot):
    """Return what one ballot adds to a sum, from its margins; groups have all three items."""
    counts = naive_counts([ballot])
    margins = counts - counts.T
    if isinstance(query, (NetWins, GroupNetWins)):
        return margins.sum(axis=1)
    if isinstance(query, ScaledMargins):
        pairs = [margins[pair] for pair in query.pairs or ()]
        return query.scale(3) * np.array(pairs or margins.sum(axis=1))
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


def delta_of(losses, epsilon):
    """The delta of independent losses together, each (law on the grid, what is infinite)."""
    total, beyond, low = np.ones(1), 0.0, 0
    for found, lost in losses:
        beyond += lost
        spread = np.zeros(max(found) - min(found) + 1)
        spread[np.array(list(found)) - min(found)] = list(found.values())
        total, low = np.convolve(total, spread), low + min(found)
    return (total * np.maximum(-np.expm1(epsilon - GRID * (low + np.arange(len(total)))), 0)).sum() + beyond


def loss_law(law, shift, grid):
    """The law of ln P(x - shift) / P(x), on a grid, under the shifted law; what only one of them gives is infinite."""
    first, second = moved_law(law, shift)
    both = (first > 0) & (second > 0)
    losses = np.rint(np.log(first[both] / second[both]) / grid).astype(int)
    return dict(zip(*_summed(losses, first[both]), strict=True)), first[~both].sum()


def _summed(keys, weights):
    names, where = np.unique(keys, return_inverse=True)
    return names.tolist(), np.bincount(where, weights)


def questions_of(price):
    """All that may be asked at this price, up to the names of the items."""
    if not isinstance(price.query, ScaledMargins):
        return [price.query]
    every = list(combinations(range(3), 2))
    return [price.query, *(ScaledMargins(pairs) for size in (1, 2, 3) for pairs in combinations(every, size))]


def moves(queries):
    """How far two ballots lie apart in each answer, up to order and sign."""
    vectors = [[naive_vector(query, ballot) for query in queries] for ballot in BALLOTS]
    return {
        tuple(tuple(sorted(np.abs(a - b).tolist())) for a, b in zip(first, second, strict=True))
        for first, second in combinations(vectors, 2)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Borda", "Swiss", "question by question"])
def test_all_answers_together_keep_epsilon_and_delta(name):
    """Losses of independent noise add up for any later questions: convolved over all answers, for the worst ballots."""
    prices, least = priced(SUMS[name])
    promise, worst = SUMS[name].fit([[0, 1, 2]] * 9).privacy_, 0.0
    laws = [added_noise(float(price.mechanism.rate), least) for price in prices]
    once = lru_cache(maxsize=None)(lambda number, by: loss_law(laws[number], by, GRID))
    for moved in {moved for queries in product(*map(questions_of, prices)) for moved in moves(queries)}:
        losses = [
            once(number, by)
            for number, (price, shift) in enumerate(zip(prices, moved, strict=True))
            for by in shift
            if by
            for _ in range(price.times)
        ]
        worst = max(worst, delta_of(losses, promise.epsilon))
    assert 0.001 * promise.delta < worst <= promise.delta


# --- in the field, where the curator may ask what it likes


class Dealt:
    """Shares and salts from lists, and no noise: to go through all of them."""

    def __init__(self, shares, salts=()):
        self.left, self.salts = list(shares), list(salts)

    def integers(self, bound, size):
        return np.array([self.left.pop(0) for _ in range(size)])

    def words(self, size):
        """Two words for each salt; one of them is drawn."""
        words = np.zeros(size, dtype=np.uint64)
        for place in range(0, size, 2):
            words[place] = self.salts.pop(0) if self.salts else 0
        return words


@pytest.mark.parametrize("n_servers", [2, 3])
def test_all_servers_but_one_see_the_same_for_any_ballot(n_servers, monkeypatch):
    """Every choice of random numbers once, modulo 8: for each missing server the others' shares have one law."""
    monkeypatch.setattr(shares, "skellam_noise", lambda rate, size, bits: np.arange(1, size + 1))
    protocol = {"statistic": "margins", "items": [0, 1], "servers": n_servers, "modulus_bits": 3, "rate": [1, 1]}
    seen = []
    for ballot in ([0, 1], [1, 0], [0, 0]):
        table = Counter()
        for dealt in product(range(8), repeat=n_servers - 1):
            bits = type("Bits", (), {"noise": Dealt(dealt), "assignment": Dealt([]), "coins": None})
            _, drawn = SharesRandomizer().draw(protocol, compact_positions(np.array([ballot], dtype=float)), bits)
            said = drawn[0, :, 0]
            exact = AllMargins().vector(Profile.from_rankings([ballot]), None)[0]
            assert (said.sum() - exact - 1) % 8 == 0
            for missing in range(n_servers):
                table[missing, tuple(np.delete(said, missing).tolist())] += 1
        seen.append(table)
    assert seen[0] == seen[1] == seen[2]
    assert set(seen[0].values()) == {1} and len(seen[0]) == n_servers * 8 ** (n_servers - 1)


@pytest.mark.parametrize("n_servers", [2, 3])
def test_messages_to_all_servers_but_one_have_one_law_for_any_ballot(n_servers, monkeypatch):
    """Every choice of shares and salts once, modulo 4: without one message, the others do not depend on the ballot.

    In place of SHA-256 stands a commitment that hides perfectly, if its salt is uniform and not known: share plus salt.
    """
    monkeypatch.setattr(shares, "skellam_noise", lambda rate, size, bits: np.arange(1, size + 1))
    monkeypatch.setattr(shares, "commitment", lambda said: (said["share"][0] + int(said["salt"][:16], 16)) % 4)
    monkeypatch.setattr(shares, "report_number", lambda commitments: "".join(map(str, commitments)))
    protocol = {"statistic": "margins", "items": [0, 1], "servers": n_servers, "modulus_bits": 2, "rate": [1, 1]}
    tables = []
    for ballot in ([0, 1], [1, 0], [0, 0]):
        table = Counter()
        positions = compact_positions(np.array([ballot], dtype=float))
        for dealt in product(range(4), repeat=2 * n_servers - 1):
            noise = Dealt(dealt[: n_servers - 1], dealt[n_servers - 1 :])
            bits = type("Bits", (), {"noise": noise, "assignment": None, "coins": None})
            messages = shares.messages(protocol, SharesRandomizer().draw(protocol, positions, bits))
            for missing in range(n_servers):
                table[missing, json.dumps([said for said in messages if said["server"] != missing])] += 1
        tables.append(table)
    assert tables[0] == tables[1] == tables[2]
    assert sum(tables[0].values()) == n_servers * 4 ** (2 * n_servers - 1)
