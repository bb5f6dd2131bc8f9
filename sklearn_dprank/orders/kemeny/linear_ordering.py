"""Branch and cut for Kemeny optima, with bounds proved in integers, and the choice among tied optima.

Let x_ij = 1 if i comes before j (i < j; x_ji stands for 1 - x_ij). An order costs a constant plus the sum of w_ij x_ij,
w_ij = cost[i, j] - cost[j, i]. Vectors x in {0, 1} are orders exactly if no three items form a directed cycle:
x_ij + x_jk + x_ki <= 2. There are 2 C(m, 3) such rows A x <= b, and only violated ones enter the linear program.

Bounds do not rely on the solver. For any y >= 0, every x in [low, high] with A x <= b has

    w x >= (w + A'y) x - b'y >= sum of min((w + A'y) low, (w + A'y) high) - b'y.

`dual_bound` evaluates this in 64-bit integers for the solver's y, rounded. The same reduced costs w + A'y fix pairs
whose other order cannot lead to a better total. A node of the search tree is a partial order, which has a linear
extension. No linear program is therefore infeasible, and infeasibility needs no certificate.

`LinearOrdering` is the search. Several orders may have the least cost, and which of them it meets depends on the
solver. The search therefore ends with a deterministic memetic search from the order of net wins, which stops at an
optimum. If it finds none, `first_optimum` returns the first optimum in lexicographic order.

`first_by_programs` serves few items. If the bound of a linear program is the total of an order, complementary slackness
describes all optima: the pairs with a reduced cost have their cheaper order, and the rows with a price hold with
equality. The first of these optima in lexicographic order is found item by item.

References
----------
Grötschel, M., Jünger, M., & Reinelt, G. (1984). A cutting plane algorithm for the linear ordering problem.
Operations Research 32.
Neumaier, A., & Shcherbina, O. (2004). Safe bounds in linear and mixed-integer linear programming. Mathematical
Programming 99.
"""

import heapq
import math
from functools import lru_cache
from itertools import combinations

import numpy as np

from .components import masks_above
from .local_search import insertion_search, memetic_search, total_cost
from .relaxation import Relaxation, alternating_prices, packed_cycles, packing_steps, relaxation, violated_cycles
from .work import Work

_CUTS, _FEW_CUTS = 3000, 800  # rows added per round; if some slack is allowed
_PLACES, _PLACE = 10, 3000  # places tried for each item, in search of the first of tied optima; steps for each
_ROW = 200  # steps per row
_ROUNDS = 3  # linear programs before a table of subsets
_ROOT_PATIENCE, _NODE_PATIENCE = 3, 1  # rounds with too little progress before branching
_PROGRESS = 0.05  # fraction of the gap that a round should close
_LARGE = 100  # from so many items on, linear programs may use all of the work: search for good orders first
_FIRST = 0.5  # largest fraction of the work for that search
_SLACK = 1e-7
_FRACTION_BITS = 20  # fraction bits of the multipliers y, fewer if 64 bits leave less room
_ROOT = 0.75  # fraction of the work for linear programs at the root, before the memetic search
_TRY = 3 * 10**8  # steps for linear programs from 3-cycles of majorities, before alternating directions find the rows
_ALTERNATING = 0.5  # largest fraction of the root's work for alternating directions
_PACKING = 0.25  # largest fraction of the work reserved for a packing, in case the search does not finish


def dual_bound(program, multipliers, low, high):
    """Return a lower bound on w x over low <= x <= high, A x <= b, that does not rely on a solver.

    Parameters
    ----------
    program : Relaxation
        Contains w, whose absolute values sum to less than 2**60; A (three entries of 1 or -1 per row); and b (0, 1
        or 2).
    multipliers : array of float, shape (q,)
        Any y >= 0. Better dual prices give a better bound.
    low, high : array of int64, shape (p,)
        0 or 1.

    Returns
    -------
    bound : int
        In units of 2**-shift.
    reduced : array of int64, shape (p,)
        w + A'y in the same units.
    prices : array of int64, shape (q,)
        y in the same units.
    shift : int
    """
    # the total bounds every partial sum below, and must stay under 2**62 after scaling
    total = float(np.abs(program.weights).sum()) + 3 * float(multipliers.sum())
    shift = min(_FRACTION_BITS, 61 - math.frexp(total)[1])
    if shift < 0:
        multipliers, shift = np.zeros_like(multipliers), 0
    y = np.rint(multipliers * 2.0**shift).astype(np.int64)
    reduced = program.weights * (1 << shift)
    np.add.at(reduced, program.columns, program.signs * y[:, None])
    return int(np.minimum(reduced * low, reduced * high).sum()) - int(program.right @ y), reduced, y, shift


class _Cutting:
    """Linear program of one Kemeny problem, to which directed 3-cycles are added, and the best order found."""

    def __init__(self, cost, cuts=_CUTS):
        self._cost, self._cuts = cost, cuts
        self._i, self._j, self._pair = _pairs(len(cost))
        self._w = (cost - cost.T)[self._i, self._j]
        self._program = relaxation(self._w)
        self.order, self._best = np.arange(len(cost)), int(self._w.sum())

    def _value(self, order):
        """Return the total of an order (without the constant)."""
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        return int(self._w[places[self._i] < places[self._j]].sum())

    def _offer(self, order):
        value = self._value(order)
        if value < self._best:
            self.order, self._best = order, value

    def _cut_majorities(self, work):
        """Add the directed 3-cycles of majorities."""
        majority = self._matrix(np.where(self._w < 0, 1.0, np.where(self._w > 0, 0.0, 0.5)))
        self._add(self._heaviest(violated_cycles(majority, 10 * self._cuts, work)))

    def _first_optimum(self, reduced, prices, room, work):
        """Return the first order in lexicographic order that costs no more than the best one, or None at a limit.

        An order exceeds the proved bound by the reduced costs of the pairs that it places the expensive way, and by the
        prices of the directed 3-cycles that it does not follow: i, j, k; j, k, i; or k, i, j. Each is at most `room`.
        """
        must = np.zeros(self._pair.shape, dtype=bool)
        must[self._i, self._j], must[self._j, self._i] = reduced < -room, reduced > room
        dear = prices > room
        columns, forward = self._program.columns[dear], self._program.signs[dear] > 0
        cycles = np.where(forward, self._i[columns], self._j[columns])
        for order in _orders_within(must, cycles.tolist(), work):
            if self._value(np.array(order)) <= self._best:
                return np.array(order)
        return None

    def _fix(self, order, reduced, room, work):
        """Add to the partial order the pairs whose other order costs more than `room` above the bound."""
        free = ~(order | order.T)[self._i, self._j]
        later, sooner = free & (reduced > room), free & (-reduced > room)
        if not (later | sooner).any():
            return order
        order = order.copy()
        order[self._j[later], self._i[later]] = True
        order[self._i[sooner], self._j[sooner]] = True
        return _closure(order, work)

    def _limits(self, order):
        """Return the bounds on x that a partial order implies."""
        return order[self._i, self._j].astype(np.int64), 1 - order[self._j, self._i].astype(np.int64)

    def _matrix(self, x):
        before = np.zeros(self._pair.shape)
        before[self._i, self._j], before[self._j, self._i] = x, 1 - x
        return before

    def _heaviest(self, cycles):
        """Return up to `_cuts` directed 3-cycles, those that cost most to break."""
        size = np.abs(self._w)[self._pair[cycles, np.roll(cycles, -1, axis=1)]]
        return cycles[np.argsort(-size.min(axis=1), kind="stable")[: self._cuts]]

    def _add(self, cycles):
        self._program.add(*self._rows(cycles))

    def _rows(self, cycles):
        """Return the pairs of each directed 3-cycle, and their signs: 1, or -1 for a reversed pair."""
        following = np.roll(cycles, -1, axis=1)
        return self._pair[cycles, following], np.where(cycles < following, 1, -1)


@lru_cache(maxsize=8)
def _pairs(m):
    """Return the items i < j of each pair, and the index of the pair of each two items, shape (m, m)."""
    i, j = np.triu_indices(m, 1)
    pair = np.zeros((m, m), dtype=np.int64)
    pair[i, j] = pair[j, i] = np.arange(len(i))
    for array in (i, j, pair):
        array.setflags(write=False)  # shared by all searches
    return i, j, pair


def first_by_programs(cost, work):
    """Return the first optimum in lexicographic order, or None if a few linear programs do not prove it.

    Parameters
    ----------
    cost : array of int64, shape (m, m)
        Cost of placing i before j.
    work : Work
        Limit on the work.

    Returns
    -------
    array of int, shape (m,), or None
        Items, best first. None if a table of subsets is faster than a linear program, if its solution is not an order,
        or at a limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.linear_ordering import first_by_programs
    >>> from sklearn_dprank.orders.kemeny.work import Work
    >>> cost = np.triu(np.ones((20, 20), dtype=int))  # each item is better than all before it ...
    >>> cost[0, 19], cost[19, 0] = 0, 30  # ... except for 0 and 19
    >>> first_by_programs(cost, Work())  # 20 orders cost 18
    array([ 0, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10,  9,  8,  7,  6,  5,  4,
            3,  2,  1])
    """
    search = _Cutting(cost)
    if len(cost) <= search._program.table:
        return None
    low, high = np.zeros_like(search._w), np.ones_like(search._w)
    x = np.where(search._w < 0, 1.0, np.where(search._w > 0, 0.0, 0.5))  # the majorities
    for _ in range(_ROUNDS):
        columns, signs = _violated(x, _threes(len(cost)))
        work.spend(_ROW * len(columns))
        if not len(columns):
            return None
        search._program.add(columns, signs)
        solved = search._program.solve(low, high, work)
        if solved is None:
            return None
        proved, reduced, prices, shift = dual_bound(search._program, solved.multipliers, low, high)
        x = solved.x
        search._offer(np.argsort(-search._matrix(x).sum(axis=1), kind="stable"))
        room = (search._best << shift) - proved
        if room < 1 << shift:  # totals are integers, so the best order is an optimum
            return search._first_optimum(reduced, prices, room, work)
    return None


@lru_cache(maxsize=32)
def _threes(m):
    """Return the pairs ij, jk and ik of all i < j < k, shape (count, 3)."""
    i, j, k = np.array(list(combinations(range(m), 3))).T
    pair = _pairs(m)[2]
    threes = np.stack([pair[i, j], pair[j, k], pair[i, k]], axis=1)
    threes.setflags(write=False)  # shared by all searches
    return threes


def _violated(x, threes):
    """Return the pairs and signs of all rows that x violates: x_ij + x_jk - x_ik must be between 0 and 1."""
    turns = x[threes[:, 0]] + x[threes[:, 1]] - x[threes[:, 2]]
    above, below = np.flatnonzero(turns > 1 + _SLACK), np.flatnonzero(turns < -_SLACK)
    signs = np.repeat([[1, 1, -1], [1, -1, -1]], [len(above), len(below)], axis=0)
    return np.concatenate([threes[above], threes[below, ::-1]]), signs


def _orders_within(must, cycles, work):
    """Yield the orders, in lexicographic order, that agree with a relation and follow directed 3-cycles.

    An order follows i, j, k if it has the three items in this order, or as j, k, i, or as k, i, j: if the first of them
    is placed, the other two come in their cyclic order. The generator ends early after many places.
    """
    then: list[list[tuple[int, int]]] = [[] for _ in must]
    for i, j, k in cycles:
        then[i].append((j, k))
        then[j].append((k, i))
        then[k].append((i, j))
    order: list[int] = []
    tries = _PLACES * len(must)
    waiting = [(0, 2 ** len(must) - 1, masks_above(must))]  # (next item to try, items left, the items above each)
    while waiting and tries:
        item, left, above = waiting.pop()
        del order[len(waiting) :]
        while item < len(must) and (above[item] & left or not left >> item & 1):
            item += 1
        if item == len(must):
            continue
        tries -= 1
        work.spend(_PLACE)
        order.append(item)
        waiting.append((item + 1, left, above))
        left ^= 1 << item
        if not left:
            yield order
            continue
        above = above.copy()
        for sooner, later in then[item]:
            if left >> later & left >> sooner & 1:
                above[later] |= 1 << sooner
        waiting.append((0, left, above))


class LinearOrdering(_Cutting):
    """Branch and cut search for one Kemeny problem; the constructor runs it.

    Parameters
    ----------
    cost : array of int64, shape (m, m)
        Cost of placing i before j; absolute values sum to less than 2**60.
    tolerance : float
        Stop once `value` + `elsewhere` is proved to be at most 1 + tolerance times the optimum of that sum.
    elsewhere : int
        Cost outside this problem that counts when the tolerance is applied.
    work : Work or None, default=None
        Limit on the work, checked inside every loop and by the solver; None means no limit.
    slack : int, default=0
        Stop also once `value` is proved to be at most `slack` above the optimum.

    Attributes
    ----------
    order : array of int, shape (m,)
        Best order found.
    value, bound : int
        Its total cost, and a proved lower bound on the cost of every order.
    """

    def __init__(self, cost, tolerance=0.0, elsewhere=0, work=None, slack=0):
        m, work = len(cost), work or Work()
        self._work = work.part(1 - min(work.share(packing_steps(m)), _PACKING))
        super().__init__(cost, _FEW_CUTS if slack else _CUTS)
        self._constant = int(np.tril(cost, -1).sum())
        self._grid = int(np.gcd.reduce(self._w)) or 1  # all totals differ by multiples of it
        self._tolerance, self._elsewhere, self._slack = float(tolerance).as_integer_ratio(), elsewhere, slack
        self._failed = False
        self._offer(insertion_search(cost, _net_wins(cost), self._work))
        self._settled, first = False, self.order
        if m >= _LARGE:
            self._offer(memetic_search(cost, first, self._work.part(_FIRST)))
        bound = self._search()
        if bound >= self._best:
            self._settle(first)
        pairs = int(np.minimum(self._w, 0).sum())
        if bound < self._best and (self._stopped or bound <= pairs):  # some slack can end the search at once
            bound = max(bound, self._round_up(pairs + packed_cycles(cost - cost.T, work)))
        self.value = self._constant + self._best
        self.bound = self._constant + min(bound, self._best)

    @property
    def _goal(self):
        """Largest total worth finding (without the constant): larger ones are within the tolerance."""
        if self._settled:
            return self._best  # equally good orders count too
        above, one = self._tolerance
        relative = max(0, self._best + self._constant + self._elsewhere) * above // (above + one)
        return self._best - max(self._grid, relative + 1, self._slack + 1)

    def _round_up(self, bound, shift=0):
        """Return the least possible total that is at least bound / 2**shift."""
        return -(-bound // (self._grid << shift)) * self._grid

    @property
    def _stopped(self):
        return self._failed or self._work.over

    def _search(self):
        """Branch on the node of lowest bound first; return the proved bound (without the constant)."""
        root_bound = self._round_up(int(np.minimum(self._w, 0).sum()))
        root = self._root(root_bound)
        heap, count = [], 0
        if root is not None:
            root_bound = root[0]
            self._offer(memetic_search(self._cost, self.order, self._work, root_bound + self._constant))
            heap = [(root[0], 0, root[1], root[2])]
        while heap and not self._stopped:
            bound, _, order, x = heapq.heappop(heap)
            free = ~(order | order.T)[self._i, self._j]
            if bound > self._goal:
                continue
            if not free.any():
                self._offer(np.argsort(-order.sum(axis=1), kind="stable"))  # the only order left
                continue
            pick = int(np.argmax(np.where(free, np.minimum(x, 1 - x) * np.abs(self._w) + _SLACK, 0)))
            for first, then in [(self._i[pick], self._j[pick]), (self._j[pick], self._i[pick])]:
                child = order.copy()
                child[first, then] = True
                node = self._solve(bound, _closure(child, self._work), _NODE_PATIENCE, self._work)
                if node is not None:
                    count += 1
                    heapq.heappush(heap, (node[0], count, node[1], node[2]))
        # every order outside the open nodes was offered, or costs more than the goal
        return max(root_bound, min([self._round_up(self._goal + 1)] + [node[0] for node in heap]))

    def _root(self, bound):
        """Cut before any branching. If that takes long, let alternating directions choose the rows."""
        work, order = self._work.part(_ROOT), np.zeros(self._pair.shape, dtype=bool)
        self._cut_majorities(work)
        few = work.part(min(1, _TRY / work.left) if work.left > 0 else 0)
        root = self._solve(bound, order, math.inf, few, root=True)
        if root is None or not (self._failed or few.over) or work.over:
            return root
        self._failed = False
        if len(self._cost) < _LARGE:
            self._offer(memetic_search(self._cost, self.order, work))
        bound, order = self._approach(root[0], root[1], work)
        return self._solve(bound, order, _ROOT_PATIENCE, work, root=True)

    def _approach(self, bound, order, work):
        """Start from the directed 3-cycles that alternating directions find; return (bound, partial order)."""
        cycles, prices, least, before = alternating_prices(self._cost - self._cost.T, work.part(_ALTERNATING))
        self._offer(insertion_search(self._cost, np.argsort(-before.sum(axis=1), kind="stable"), work))
        priced = Relaxation(self._w)
        priced.add(*self._rows(cycles))
        low, high = self._limits(order)
        proved, reduced, _, shift = dual_bound(priced, prices, low, high)
        self._program.keep(np.zeros(len(self._program.right), dtype=bool))
        self._add(cycles[prices > least])
        order = self._fix(order, reduced, (self._goal << shift) - proved, work)
        return max(bound, self._round_up(proved, shift)), order

    def _settle(self, order):
        """Choose among tied optima, independently of the solver: the one that local search finds, else the first."""
        met = memetic_search(self._cost, order, self._work, self._best + self._constant)
        if total_cost(self._cost, met) - self._constant == self._best:
            self.order = met
            return
        self._settled = True

        def cut(before):
            before = _closure(before, self._work)
            cyclic = (before & before.T).any()
            node = None if cyclic else self._solve(-math.inf, before, _ROOT_PATIENCE, self._work)
            return None if node is None or self._stopped else (node[1], self._matrix(node[2]))

        self.order = first_optimum(self._cost, self.order, cut)

    def _solve(self, bound, order, patience, work, root=False):
        """Cut at one node; return (bound, partial order, x), or None if no better order lies below."""
        if bound > self._goal:
            return None
        x, objective = np.full(len(self._w), 0.5), -math.inf
        while patience and not (self._failed or work.over):
            low, high = self._limits(order)
            solved = self._program.solve(low, high, work)
            if solved is None:
                self._failed = True
                break
            x = solved.x
            proved, reduced, _, shift = dual_bound(self._program, solved.multipliers, low, high)
            patience -= (proved >> shift) - bound < _PROGRESS * (self._goal - bound)
            bound = max(bound, self._round_up(proved, shift))
            before = self._matrix(x)
            if not self._settled:
                self._offer(insertion_search(self._cost, np.argsort(-before.sum(axis=1), kind="stable"), work))
            if bound > self._goal:
                return None
            order = self._fix(order, reduced, (self._goal << shift) - proved, work)
            if (order & order.T).any():  # a better total would imply a cycle, so there is none
                return None
            if root and solved.value > objective + 1e-9:  # dropping rows without progress may repeat forever
                self._program.keep(solved.tight)
                objective = solved.value
            cycles = violated_cycles(before, self._cuts, work)
            if not len(cycles):
                break
            self._add(cycles)
        return bound, order, x


def _net_wins(cost):
    """Return the items in the order of their net wins."""
    return np.argsort((cost - cost.T).sum(axis=1), kind="stable")


def _closure(order, work):
    """Return the transitive closure of a relation."""
    order, m = order.copy(), len(order)
    between = np.flatnonzero(order.any(axis=0) & order.any(axis=1))
    work.spend(len(between) * (4000 + m**2 // 16))
    for item in between:  # on busy cores, a BLAS product of matrices takes hundreds of times as long
        order[order[:, item]] |= order[item]
    return order


def first_optimum(cost, order, cut):
    """Return the first optimum in lexicographic order.

    Parameters
    ----------
    cost : array of int, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        An optimum, best first.
    cut : callable
        ``cut(before)`` takes a relation of items, bool of shape (m, m). It returns None if no optimum agrees with the
        relation. Otherwise, it returns two matrices: a partial order that contains the relation and agrees with the
        same optima, and a guess, in [0, 1], of whether i comes before j. No order agrees with a relation that has a
        cycle.

    Returns
    -------
    array of int, shape (m,)
        An optimum. If `cut` also returns None at a limit, it may not be the first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.linear_ordering import first_optimum
    >>> cost = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])  # 1 comes before or after both
    >>> def cut(before):
    ...     return None if (before & before.T).any() else (before, before + 0.0)
    >>> first_optimum(np.triu(np.ones((3, 3), dtype=int)).T, np.array([0, 1, 2]), cut)
    array([0, 1, 2])
    """
    least = total_cost(cost, order)
    node = cut(np.zeros(cost.shape, dtype=bool))
    if node is None:
        return order
    before = node[0]
    for place in range(len(order)):
        rest = order[place:]
        for item in np.sort(rest[rest < order[place]]):
            if before[rest, item].any():
                continue
            found = _optimum_within(cost, least, _moved(order, item, place), _first(before, item, rest), cut)
            if found is not None:
                order = found
                break
        before = _first(before, order[place], order[place:])
    return order


def _optimum_within(cost, least, order, before, cut):
    """Return an order of the least total that agrees with a relation, or None; `order` agrees and is tried first."""
    if total_cost(cost, order) == least:
        return order
    waiting = [before]
    while waiting:
        node = cut(waiting.pop())
        if node is None:
            continue
        before = node[0]
        guess = np.where(before, 1, np.where(before.T, 0, node[1]))
        order = np.argsort(-guess.sum(axis=1), kind="stable")
        if _agree(order, before) and total_cost(cost, order) == least:
            return order
        unsettled = ~(before | before.T)
        np.fill_diagonal(unsettled, False)
        if unsettled.any():
            i, j = np.unravel_index(np.argmin(np.where(unsettled, np.abs(guess - 0.5), 1)), guess.shape)
            for pair in ([j], [i]), ([i], [j]):
                child = before.copy()
                child[pair] = True
                waiting.append(child)
    return None


def _agree(order, before):
    return not np.tril(before[np.ix_(order, order)]).any()


def _first(before, item, rest):
    """Return the relation, extended by `item` before the rest."""
    wider = before.copy()
    wider[item, rest] = True
    wider[item, item] = False
    return wider


def _moved(order, item, place):
    """Return the order with `item` moved ahead to `place`."""
    others = order[order != item]
    return np.concatenate([others[:place], [item], others[place:]])
