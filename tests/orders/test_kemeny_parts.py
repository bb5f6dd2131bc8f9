"""Parts of the Kemeny solver: bounds, components, cycles, local and memetic search, linear programs and ties."""

from itertools import permutations

import numpy as np
import oracles
import pytest
from process_tools import python
from scipy.optimize import linprog

from sklearn_dprank.orders import kemeny
from sklearn_dprank.orders.kemeny import (
    Relaxation,
    WarmRelaxation,
    Work,
    alternating_prices,
    descended,
    dual_bound,
    first_optimum,
    insertion_search,
    majority_components,
    memetic_search,
    packed_cycles,
    relaxation,
    total_cost,
    violated_cycles,
)
from sklearn_dprank.orders.subset_dp import best_order

# Majority components


def reachable(beats):
    """Transitive closure by the textbook's three loops."""
    m = len(beats)
    reach = beats | np.eye(m, dtype=bool)
    for k in range(m):
        for i in range(m):
            for j in range(m):
                reach[i, j] |= reach[i, k] and reach[k, j]
    return reach


def random_margins(rng, m, ties):
    margins = np.triu(rng.integers(1, 9, (m, m)) * rng.choice([-1, 1], (m, m)), 1)
    margins[rng.random((m, m)) < ties] = 0
    return margins - margins.T


def components_by_definition(margins):
    """Peel off the component with the smallest item among those that no remaining component beats."""
    reach = reachable(margins > 0)
    left, parts = list(range(len(margins))), []
    while left:
        free = [i for i in left if all(reach[i, j] for j in left if reach[j, i])]
        parts.append([j for j in left if reach[free[0], j] and reach[j, free[0]]])
        left = [i for i in left if i not in parts[-1]]
    return parts


@pytest.mark.parametrize("ties", [0.0, 0.4, 0.8, 0.95])
def test_components_by_definition(ties):
    rng = np.random.default_rng(int(100 * ties) + 2)
    for m in [*range(10), 12, 17, 31]:
        for _ in range(5):
            margins = random_margins(rng, m, ties)
            assert [part.tolist() for part in majority_components(margins)] == components_by_definition(margins)


@pytest.mark.parametrize("m", [31, 32, 33, 63, 64, 65, 70])
def test_masks_of_any_width(m):
    # cycles of three in a random order of items, then what is left over, one by one
    items = np.random.default_rng(m).permutation(m)
    place = np.argsort(items)
    margins = np.sign(place[None, :] - place[:, None])
    cycles = np.split(items[: m // 3 * 3], m // 3)
    for first, _, last in cycles:
        margins[first, last], margins[last, first] = -1, 1
    expected = [sorted(cycle.tolist()) for cycle in cycles] + [[i] for i in items[m // 3 * 3 :].tolist()]
    assert [part.tolist() for part in majority_components(margins)] == expected


# Violated directed 3-cycles, and cycle packings as lower bounds


@pytest.mark.parametrize("at_once", [1, 40, 2**14])
def test_violated_cycles_equal_enumeration(at_once, monkeypatch):
    """Whether one item is scanned at a time, a few, or all."""
    monkeypatch.setattr(kemeny, "_AT_ONCE", at_once)
    rng = np.random.default_rng(14)
    for _ in range(20):
        m = int(rng.integers(3, 9))
        before = np.triu(rng.choice([0, 0.25, 0.5, 0.9, 1.0], (m, m)), 1)
        before += np.tril(1 - before.T, -1)
        amount = {
            (i, j, k): before[i, j] + before[j, k] + before[k, i] - 2
            for i in range(m)
            for j in range(i + 1, m)
            for k in range(i + 1, m)
            if j != k
        }
        expected = sorted((value for value in amount.values() if value > 1e-6), reverse=True)
        for limit in (3, 10**6):
            found = [amount[tuple(cycle)] for cycle in violated_cycles(before, limit, Work()).tolist()]
            assert found == pytest.approx(expected[:limit])


@pytest.mark.parametrize("limit", [0, 0.03, np.inf])
@pytest.mark.parametrize("high", [1, 2, 1000])
def test_packed_cycles_cost_every_order(high, limit):
    rng = np.random.default_rng(high)
    some = 0
    for _ in range(60):
        cost = np.maximum(oracles.random_margins(rng, int(rng.integers(0, 11)), high), 0)
        bound, optimum = packed_cycles(cost - cost.T, Work(limit)), best_order(cost)[1]
        assert 0 <= bound <= optimum
        # with no work at all, one cycle is followed, where the largest majorities lead to one
        some += bound > 0 or optimum == 0
    assert some >= (55 if limit == np.inf else 40)


def test_disjoint_cycles_are_all_found():
    """Three cycles of three in a row, of weights 1, 2 and 3: every order overrules 6."""
    cost = np.zeros((9, 9), dtype=int)
    for block, weight in enumerate((1, 2, 3)):
        for item in range(3):
            cost[3 * block + (item + 1) % 3, 3 * block + item] = weight
    assert packed_cycles(cost - cost.T, Work()) == 6 == total_cost(cost, np.arange(9))
    assert packed_cycles(cost - cost.T, Work(0)) == 1


# Lower bounds by alternating directions


def random_excess(m, spread, seed=0):
    upper = np.triu(np.rint(np.random.default_rng(seed).laplace(0, spread, (m, m))).astype(np.int64), 1)
    return upper - upper.T


def proved(excess, cycles, prices):
    """The bound of the prices, on what an order costs beyond the cheaper order of each pair."""
    m = len(excess)
    i, j = np.triu_indices(m, 1)
    pair = np.zeros((m, m), dtype=np.int64)
    pair[i, j] = pair[j, i] = np.arange(len(i))
    program, following = Relaxation(excess[i, j]), np.roll(cycles, -1, axis=1)
    program.add(pair[cycles, following], np.where(cycles < following, 1, -1))
    low = np.zeros(len(i), dtype=np.int64)
    bound, *_, shift = dual_bound(program, prices, low, low + 1)
    return (bound >> shift) - int(np.minimum(excess[i, j], 0).sum())


@pytest.mark.parametrize(
    ("m", "spread"), [(12, 3), *(pytest.param(*case, marks=pytest.mark.slow) for case in [(15, 1e6), (20, 1000)])]
)
def test_within_five_percent_of_the_optimum(m, spread):
    """Where the relaxation has an integral solution, or nearly so: no bound of cycles can be above it."""
    excess = random_excess(m, spread)
    optimum = best_order(np.maximum(excess, 0))[1]
    cycles, prices, least, before = alternating_prices(excess, Work())
    assert 0.95 * optimum < proved(excess, cycles, prices) <= optimum
    assert (prices > 0).all() and least > 0
    assert (cycles[:, 0] < cycles[:, 1:].min(axis=1)).all() and (cycles[:, 1] != cycles[:, 2]).all()
    np.testing.assert_allclose(before + before.T, 1, atol=1e-4)


# Insertion search


def best_insertion(cost, order):
    """The least total after moving one item, by trying all of them."""
    totals = [total_cost(cost, order)]
    for item in order:
        rest = [other for other in order if other != item]
        totals += [total_cost(cost, rest[:gap] + [item] + rest[gap:]) for gap in range(len(order))]
    return min(totals)


def test_insertion_search_stops_at_a_local_optimum():
    rng = np.random.default_rng(0)
    for _ in range(60):
        m = int(rng.integers(0, 9))
        cost, start = rng.integers(0, 20, (m, m)), rng.permutation(m)
        kept = start.copy()
        order = insertion_search(cost, start)
        np.testing.assert_array_equal(start, kept)
        assert sorted(order.tolist()) == list(range(m))
        assert total_cost(cost, order) <= total_cost(cost, start)
        assert best_insertion(cost, order.tolist()) == total_cost(cost, order)


# Memetic search


def test_batch_descents_equal_single_descents():
    rng = np.random.default_rng(0)
    for m in (0, 1, 2, 3, 9, 40):
        cost = rng.integers(0, 20, (m, m))
        starts = np.array([rng.permutation(m) for _ in range(12)])
        kept = starts.copy()
        orders, totals = descended(cost - cost.T, starts, Work())
        np.testing.assert_array_equal(starts, kept)
        alone = [insertion_search(cost, start) for start in starts]
        assert sorted(orders.tolist()) == sorted(order.tolist() for order in alone)
        assert totals.tolist() == [total_cost(cost - cost.T, order) for order in orders]


@pytest.mark.slow
def test_memetic_search_finds_optima_that_descents_miss():
    rng = np.random.default_rng(3)
    found = alone = 0
    for _ in range(8):
        cost, start = rng.integers(0, 1000, (15, 15)), rng.permutation(15)
        optimum = best_order(cost)[1]
        found += total_cost(cost, memetic_search(cost, start)) == optimum
        alone += total_cost(cost, insertion_search(cost, start)) == optimum
    assert found == 8
    assert alone < 6


@pytest.mark.parametrize(("search", "overdrawn"), [(insertion_search, 1e4), (memetic_search, 5e4)])
def test_searches_check_the_work_before_each_item(search, overdrawn):
    """The order is never worse than the start, and the work exceeds the limit by the step of one item at most."""
    rng = np.random.default_rng(5)
    cost, start = rng.integers(0, 1000, (120, 120)), rng.permutation(120)
    totals = []
    for limit in (0, 0.1, 0.5, 2, 10, 50):
        work = Work(limit)
        order = search(cost, start, work=work)
        totals.append(total_cost(cost, order))
        assert sorted(order.tolist()) == list(range(120))
        assert work.left > -overdrawn
    assert totals[0] == total_cost(cost, start)
    assert totals == sorted(totals, reverse=True) and totals[1] > totals[-1]


# Linear programs


def dense(program, low, high):
    """The same program in one call, every row and column written out."""
    rows = np.zeros((len(program.right), len(program.weights)))
    rows[np.arange(len(rows))[:, None], program.columns] = program.signs
    bounds = np.stack([low, high], axis=1)
    return linprog(program.weights, rows, program.right, bounds=bounds), rows


@pytest.mark.slow
def test_rows_and_bounds_come_and_go(solver):
    rng = np.random.default_rng(0)
    for _ in range(5):
        program, zero, one = solver(rng.integers(-50, 51, 15)), np.zeros(15, dtype=int), np.ones(15, dtype=int)
        for change in range(6):
            columns = np.array([rng.choice(15, 3, replace=False) for _ in range(12)])
            program.add(columns, rng.choice([-1, 1], columns.shape))
            low = zero if change < 3 else (rng.random(15) < 0.1).astype(int)
            solved, (expected, rows) = program.solve(low, one, Work()), dense(program, low, one)
            assert expected.status in (0, 2)
            if expected.status == 2:
                assert solved is None
                break
            assert solved.value * program.scale == pytest.approx(expected.fun)
            assert program.weights @ solved.x == pytest.approx(expected.fun)
            assert (rows @ solved.x <= program.right + 1e-6).all()
            # complementary: a price only where the row holds, and together they explain the value
            assert (solved.multipliers >= 0).all() and solved.tight[solved.multipliers > 0].all()
            reduced = program.weights + rows.T @ solved.multipliers
            least = np.minimum(reduced * low, reduced).sum() - program.right @ solved.multipliers
            assert least == pytest.approx(expected.fun)
            program.keep(solved.tight)
            assert program.solve(low, one, Work()).value == pytest.approx(solved.value)


def test_highspy_is_used_where_it_is_and_not_needed(monkeypatch):
    weights = np.array([1, -2, 3])
    monkeypatch.setattr(kemeny, "_highspy", lambda: None)
    assert type(relaxation(weights)) is Relaxation
    monkeypatch.undo()
    pytest.importorskip("highspy", reason="needs the extra solver")
    assert type(relaxation(weights)) is WarmRelaxation


def test_the_solver_does_not_print():
    """In a new process, because the banner is printed once."""
    pytest.importorskip("highspy", reason="needs the extra solver")
    code = (
        "import numpy as np\n"
        "from sklearn_dprank.orders.kemeny import WarmRelaxation\n"
        "from sklearn_dprank.orders.kemeny import Work\n"
        "program = WarmRelaxation(np.array([-5, 4, -3]))\n"
        "program.add(np.array([[0, 2, 1]]), np.array([[1, 1, -1]]))\n"
        "program.solve(np.zeros(3), np.ones(3), Work())"
    )
    assert not python(code)


# The first of all optima


@pytest.mark.parametrize("m", [1, 2, 4, 6])
@pytest.mark.parametrize("helpful", [True, False])
def test_the_first_of_all_optima(m, helpful):
    """`cut` by brute force: either all that the optima have in common, or only what it was given."""
    rng = np.random.default_rng(m)
    orders = [np.array(order) for order in permutations(range(m))]
    places = [np.argsort(order) for order in orders]
    several = 0
    for _ in range(12):
        cost = rng.integers(0, 3, (m, m))
        totals = [total_cost(cost, order) for order in orders]
        optima = [place[:, None] < place for place, total in zip(places, totals, strict=True) if total == min(totals)]
        several += len(optima) > 1

        def cut(before, optima=optima):
            left = [optimum for optimum in optima if not (before & ~optimum).any()]
            if not left:
                return None
            common = np.logical_and.reduce(left)
            return (common, np.mean(left, axis=0)) if helpful else (before, rng.random(before.shape))

        first = orders[int(np.argmin(totals))]
        for optimum in optima:
            np.testing.assert_array_equal(first_optimum(cost, np.argsort(-optimum.sum(axis=1)), cut), first)
    assert several > 5 or m < 4
