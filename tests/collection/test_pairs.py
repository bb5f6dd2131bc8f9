"""Randomised response on random pairs: its law by enumeration, in exact fractions, over all ballots."""

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from local_tools import answer_from, report_of, simulated_answer
from oracles import all_ballots, distinct_ballots

from sklearn_dprank import LDPGroupKwikSort, LDPPairwise
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.ballots.reading import Positions, compact_positions
from sklearn_dprank.collection import RandomizedResponse
from sklearn_dprank.collection.base import distinct
from sklearn_dprank.collection.pairs import (
    PairsRandomizer,
    best_query_count,
    counted_wins,
    group_load,
    group_overflow_bound,
    optimal_queries,
    truth_gap,
)
from sklearn_dprank.collection.protocol import FLIP_GRID
from sklearn_dprank.orders.permutations import quicksort_query_bound
from sklearn_dprank.queries import n_pairs
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory.yan import expected_errors

CASES = [(m, k, epsilon) for m, k in ((3, 1), (3, 2), (3, 3), (4, 1), (4, 2)) for epsilon in (0.1, 1.0, 5.0)]
CASES += [(4, 3, 1.0), pytest.param(4, 6, 1.0, marks=pytest.mark.slow)]


class Columns:
    """A bit source that hands out prepared columns, call by call."""

    def __init__(self, columns):
        self._columns = iter(columns)

    def integers(self, bound, size):
        column = next(self._columns)
        assert len(column) == size
        assert np.all(column < bound)
        return column

    def trials(self, numerator, size):
        return self.integers(FLIP_GRID, size) < numerator

    def coins(self, size):
        return next(self._columns)


def floyd(k, n):
    """Every sequence of choices that drawing k of n can make; all are equally likely."""
    return np.array(list(product(*[range(top + 1) for top in ([n - 1] if k == 1 else range(n - k, n))])))


def law(m, k, flip, ballot):
    """{(pairs, answers): Fraction} of one ballot's report; given some draws of pairs where there are many."""
    paths = floyd(k, n_pairs(m))
    paths = paths[:: -(-len(paths) // (30 if k < 3 else 6 if k < 6 else 1))]
    bits = np.array(list(product([False, True], repeat=2 * k)))
    rows = np.repeat(np.arange(len(paths)), len(bits))
    chosen, tossed = paths[rows], np.tile(bits, (len(paths), 1))
    coins, flips = tossed[:, :k], tossed[:, k:]
    positions = compact_positions(np.array([ballot]))
    ballots = Positions(np.repeat(positions.table, len(rows), axis=1), positions.unranked)
    scripted = SimpleNamespace(
        assignment=Columns(chosen.T),
        coins=Columns([coins.ravel()]),
        noise=Columns([np.where(flips, flip - 1, flip).ravel()]),
    )
    protocol = {"items": list(range(m)), "n_queries": k, "flip": [flip, FLIP_GRID]}
    first, second, answers = PairsRandomizer().draw(protocol, ballots, scripted)
    out = Counter()
    f = Fraction(flip, FLIP_GRID)
    weight = [f**j * (1 - f) ** (k - j) / 2**k / len(paths) for j in range(k + 1)]
    keys = Counter(
        zip(map(tuple, (first * m + second).tolist()), map(tuple, answers.tolist()), flips.sum(axis=1), strict=True)
    )
    for (pairs, answered, flipped), times in keys.items():
        out[pairs, answered] += times * weight[flipped]
    return out


def flip_of(epsilon, m, k):
    flip, grid = RandomizedResponse(k).protocol(epsilon, m)["flip"]
    assert grid == FLIP_GRID
    return flip


@pytest.mark.parametrize(("m", "k", "epsilon"), CASES)
def test_worst_ratio_is_exactly_the_stated_epsilon(m, k, epsilon):
    """Over all ballots with ties and gaps: no report is more than e^epsilon likelier, and some nearly is."""
    flip = flip_of(epsilon, m, k)
    laws = [law(m, k, flip, ballot) for ballot in distinct_ballots(m)]
    for one in laws:
        assert sum(one.values()) == 1
        assert set(one) == set(laws[0])
    ratio = max(max(one[r] for one in laws) / min(one[r] for one in laws) for r in laws[0])
    with localcontext() as context:
        context.prec = 50
        bound = Decimal(epsilon).exp()
        assert Decimal(ratio.numerator) / Decimal(ratio.denominator) <= bound
        assert Decimal(ratio.numerator) / Decimal(ratio.denominator) > bound * (1 - Decimal("1e-12"))


@pytest.mark.parametrize(("m", "k"), [(3, 1), (3, 2), (3, 3), (4, 1), (4, 2)])
def test_exactly_unbiased(m, k):
    """The expected answers about each pair are K / C(m, 2) times (1 - 2 f) times the margin, for every ballot."""
    flip = flip_of(1.0, m, k)
    gain = 1 - 2 * Fraction(flip, FLIP_GRID)
    for ballot in distinct_ballots(m):
        expected = Counter()
        for (pairs, answers), probability in law(m, k, flip, ballot).items():
            for pair, answer in zip(pairs, answers, strict=True):
                expected[divmod(pair, m)] += probability * (1 if answer else -1)
        for i, j in combinations(range(m), 2):
            opinion = int(ballot[i] < ballot[j]) - int(ballot[j] < ballot[i])
            assert expected[i, j] == Fraction(k, n_pairs(m)) * gain * opinion


# Drawing pairs


@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 6), (2, 3), (3, 3), (2, 6), (3, 6), (4, 6), (6, 6)])
def test_distinct_is_exactly_uniform(k, n):
    """Every subset comes from equally many of the equally likely sequences of choices."""
    choices = floyd(k, n)
    rows = distinct(len(choices), k, n, Columns(choices.T))
    seen = Counter(frozenset(row) for row in rows.tolist())
    assert set(seen) == {frozenset(s) for s in combinations(range(n), k)}
    assert len(set(seen.values())) == 1


# Clients and simulation


@pytest.mark.parametrize(("m", "k"), [(3, 1), (4, 2), (4, 6)])
def test_a_simulated_voter_is_a_client(m, k):
    """With the same bits, the curator's simulation counts what the device would have sent."""
    protocol = RandomizedResponse(k).protocol(1.0, m)
    for seed, ballot in enumerate(all_ballots(m)):
        positions = compact_positions(np.array([ballot]))
        report = report_of(protocol, positions, Bits.from_random_state(seed))
        (simulated,) = simulated_answer(RandomizedResponse, protocol, positions, Bits.from_random_state(seed))
        (received,) = answer_from(RandomizedResponse, protocol, [report])
        np.testing.assert_array_equal(simulated.wins, received.wins)
        assert received.wins.sum() == k


@pytest.mark.parametrize(
    "estimator",
    [
        LDPPairwise(n_queries=3),
        pytest.param(LDPPairwise(randomizer="djw"), marks=pytest.mark.slow),
        pytest.param(LDPGroupKwikSort(), marks=pytest.mark.slow),
    ],
)
def test_devices_spend_no_more_than_the_double_that_is_stated(estimator):
    """0.3 as text is more than 0.3 as a double, which is what the guarantee holds."""
    for k in range(1, 400):
        epsilon = k / 100
        device = estimator.set_params(epsilon=epsilon).client(12)
        assert Decimal(device.epsilon) <= Decimal(epsilon)
        protocol = estimator.plan_for(Shape(12, 100))[1]
        assert protocol.guarantee.epsilon == epsilon


@pytest.mark.parametrize("n_queries", [0, -1, 4, 1.5, "two"])
def test_bad_number_of_queries(n_queries):
    with pytest.raises(ValueError) as error:
        RandomizedResponse(n_queries).protocol(1.0, 3)
    wanted = "an integer from 1 to 3" if n_queries == 4 else "None or a positive integer"  # whatever the items are
    assert str(error.value) == f"n_queries must be {wanted}, got {n_queries!r}."


@pytest.mark.parametrize(("n_items", "n_answers"), [(3, 40), (30, 5), (30, 14), (30, 200)])
def test_wins_are_counted_one_by_one(n_items, n_answers):
    """A few answers about many pairs are counted in another way than many answers."""
    rng = np.random.default_rng(n_answers)
    first = rng.integers(n_items - 1, size=(n_answers, 1))
    second, answers = first + 1, rng.integers(2, size=(n_answers, 1))
    expected = np.zeros((n_items, n_items), dtype=np.int64)
    for i, j, answer in zip(first[:, 0], second[:, 0], answers[:, 0], strict=True):
        expected[(i, j) if answer else (j, i)] += 1
    found = counted_wins(first, second, answers, n_items)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)


# --- numbers of questions and group loads against published values and grid searches


RANDOMIZERS = ["rr", "laplace"]


@pytest.mark.parametrize("budget", [0.1, 1.0, 5.0])
def test_truth_gap_from_the_randomizers(budget):
    keep = math.exp(budget) / (1 + math.exp(budget))
    assert truth_gap(3 * budget, 3) == pytest.approx(2 * keep - 1)
    assert truth_gap(3 * budget, 3, variant="as_printed") < truth_gap(3 * budget, 3)
    noisy = 1 + np.random.default_rng(0).laplace(scale=1 / budget, size=200_000)
    simulated = np.mean(np.where(noisy >= 0.5, 1, -1))
    assert truth_gap(3 * budget, 3, randomizer="laplace") == pytest.approx(simulated, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("randomizer", "known"), [("rr", 2.177), ("laplace", 2.513)])
def test_optimal_queries_known_answers(randomizer, known):
    assert 10 / optimal_queries(10, randomizer=randomizer) == pytest.approx(known, abs=6e-4)
    assert optimal_queries(10, randomizer=randomizer, variant="as_printed") == 5
    grid = np.linspace(1, 10, 90_001)
    signal = [k * truth_gap(10, k, randomizer=randomizer) ** 2 for k in grid]
    assert grid[np.argmax(signal)] == pytest.approx(optimal_queries(10, randomizer=randomizer), abs=1e-3)
    if randomizer == "rr":
        printed = [k * truth_gap(10, k, variant="as_printed") ** 2 for k in grid]
        assert grid[np.argmax(printed)] == pytest.approx(5, abs=1e-3)


@pytest.mark.parametrize("variant", ["corrected", "as_printed"])
@pytest.mark.parametrize("randomizer", RANDOMIZERS)
@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 3, 3.3, 4, 5.5, 7, 10, 16, 40])
def test_best_query_count(epsilon, randomizer, variant):
    def signal(k):
        return k * truth_gap(epsilon, k, randomizer=randomizer, variant=variant) ** 2

    best = best_query_count(epsilon, 5, randomizer=randomizer, variant=variant)
    if variant == "corrected" or randomizer == "rr":
        assert best == max(range(1, 11), key=signal)
    else:  # the paper's epsilon/2 is not the Laplace optimum: only the better neighbour of it
        assert best in {min(max(k, 1), 10) for k in (math.floor(epsilon / 2), math.floor(epsilon / 2) + 1)}
    mus = {
        k: expected_errors(100, 5, epsilon, 0.5, n_queries=k, randomizer=randomizer, variant="as_printed")
        for k in (1, best)
    }
    assert variant == "corrected" or mus[best] <= mus[1]


@pytest.mark.parametrize(("m", "tau"), [(5, 7), (10, 15), (15, 20), (20, 24), (30, 29), (50, 35)])
def test_group_load_known_answers(m, tau):
    q = quicksort_query_bound(m)
    assert group_load(q, m) == tau
    assert group_overflow_bound(q, m, tau) <= m**-4 < group_overflow_bound(q, m, tau - 1)
