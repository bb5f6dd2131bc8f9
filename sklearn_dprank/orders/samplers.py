"""Exact samplers of orders, and their tables."""

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from .._utils.checks import check_number, check_positive, check_square, check_whole
from .subset_dp import Sweep, over_subsets, reduced_gain, subsets_of


class OrderSampler:
    """Base class for samplers of orders. The constructor does the work that is the same for every draw.

    Subclasses define ``draw(bits)``, which draws one order: items, best first, int, shape (n_items,).

    Attributes
    ----------
    n_items : int
        Number of items.
    """

    n_items: int
    draw: Callable[[Any], np.ndarray]

    def sample(self, size, bits):
        """Draw independent orders.

        Parameters
        ----------
        size : int
            Number of orders.
        bits : BitSource
            Source of randomness.

        Returns
        -------
        array of int, shape (size, n_items)
            One order per row, best first.
        """
        return np.array([self.draw(bits) for _ in range(size)], dtype=np.int64).reshape(size, self.n_items)


def checked_margins(margins, scale):
    """Return margins as an array, after the validation that samplers of orders share.

    Parameters
    ----------
    margins : array-like of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i.
    scale : float
        At least 0.

    Returns
    -------
    ndarray of shape (n_items, n_items)

    Raises
    ------
    ValueError
        If `margins` is empty, not square or not finite, or `scale` is negative or not finite.
    """
    margins = np.asarray(margins)
    check_square(margins, "margins")
    if len(margins) == 0:
        raise ValueError("margins must be those of at least one item, got none.")
    if not np.all(np.isfinite(margins)):
        raise ValueError("margins must be finite.")
    check_number(scale, "scale", least=0)
    return margins


# Random choice by log weights, accurate for very unlikely options.
#
# Weights are given as their logs. Options are sorted from the least to the most likely, so that sums of small weights
# are not lost beside large ones. The uniform number that selects an option has full relative precision
# (`bits.log_uniform`). An option of probability e^-1000 is therefore drawn with that probability.


class Choice:
    """Random choice among options by log weight.

    Parameters
    ----------
    log_weights : array of float, shape (k,)
        Logs of the weights, up to a constant. At least one is finite; options with -inf are never drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.samplers import Choice
    >>> choice = Choice(np.log([1.0, 3.0]))
    >>> [choice.at(np.log(u)) for u in (0.2, 0.3)]
    [0, 1]
    """

    def __init__(self, log_weights):
        log_weights = np.asarray(log_weights, dtype=float)
        order = np.argsort(log_weights, kind="stable")
        order = order[log_weights[order] > -np.inf]
        mass = np.logaddexp.accumulate(log_weights[order])  # the least likely first
        self._options, self._log_mass = order.tolist(), (mass - mass[-1]).tolist()

    def at(self, log_uniform):
        """Return the index of the option that the log of a number in (0, 1) selects."""
        return self._options[bisect_right(self._log_mass, log_uniform)]

    def draw(self, bits):
        """Draw the index of an option."""
        return self.at(bits.one_log_uniform())


def log_choice_error(options, exponent, choices=1):
    """Return a bound on the relative error of the probability of a sequence of choices.

    Parameters
    ----------
    options : int
        Largest number of options of one choice.
    exponent : float
        Bound on minus the log of the probability of the whole sequence.
    choices : int, default=1
        Number of choices.

    Returns
    -------
    float
        Bound on the error of the log of the probability.

    Notes
    -----
    Let u = 2**-53, and -t the log of an option's probability. Let c be the cumulative probability up to that option. It
    has an error factor of at most 1 + u (2 t + 2) of its own; all earlier errors are shared with the options before it.
    The uniform number that is compared with c has a factor of at most 1 + u (t + 2). Options are sorted, so c is at
    most `options` times its probability. The relative error of that probability is thus at most u options (3 t + 4).
    The sum of t over all choices is at most `exponent`.
    """
    return 2.0**-53 * options * (3 * exponent + 4 * choices)


# Exact samplers of the prudent order: by the largest margin that an order violates, for up to 16 items.
#
# The orders that violate no margin above a threshold are the linear extensions of a relation. `Counts` counts them.

MAX_ITEMS = 16  # 2**16 sets times 121 levels is 63 MB; counts below 16! are exact in a double


def level_log_weights(log_counts, values, scale):
    """Return log weights of levels whose mixture has probabilities proportional to exp(-scale * u).

    Suppose that N_k orders have u <= v_k, v_1 < ... < v_K, v_{K+1} = infinity. Draw k with probability proportional to
    N_k (exp(-scale v_k) - exp(-scale v_{k+1})), and then one of the N_k orders uniformly. Each order then has a
    probability proportional to exp(-scale u). All computations use logarithms, because scale * v may be large.
    """
    drops = np.append(-np.diff(values) * scale, -np.inf)
    with np.errstate(divide="ignore"):
        return log_counts - scale * values + np.log(-np.expm1(drops))


class MinimaxMarginSampler(OrderSampler):
    """Sampler of orders by the largest violated margin u: with probability proportional to exp(-scale * u).

    With `flip`, it is permute-and-flip: it draws the order with the largest -scale * u + Exp(1).

    u(order) is the maximum of margins[i, j] over the pairs with j before i in the order. It is signed and never clipped
    at 0: if u is negative, the order agrees with every majority, and each majority is at least -u.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i; 1 to 16 items. The diagonal is ignored.
    scale : float
        At least 0. One ballot changes every margin, and so u, by at most 1 if neighbours add or remove a ballot (2 if
        they replace one). Both mechanisms use epsilon / 2 (epsilon / 4).
    flip : bool, default=False
        Whether to draw by permute-and-flip, for integer margins.

    Raises
    ------
    ValueError
        If `margins` is empty, not square, not finite or has more than 16 items; if `scale` is negative or not finite.

    Notes
    -----
    The orders with u <= v are the linear extensions of {W > v}. One sweep over subsets counts them for all thresholds,
    in exact integers. The draw of an extension is also exact. Only the choice of a threshold is in double precision,
    with relative precision for very unlikely ones. No term is pruned. The work is the same for all margins with the
    same number of distinct thresholds. The table takes 8 * K * 2**m bytes for K thresholds, K <= m (m - 1) / 2 + 1.

    For permute-and-flip, the number of orders with each value of u is a difference of two counts of linear extensions.
    `Flips` draws u. One of its orders is then drawn uniformly, with exact integers. Orders are not listed, and no draw
    is rejected.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> sampler = MinimaxMarginSampler(margins, scale=0.5)
    >>> sampler.sample(2, SeededBits(np.random.SeedSequence(0))).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """

    def __init__(self, margins, scale, flip=False):
        margins = checked_margins(margins, scale)
        self.n_items, self._flip = len(margins), flip
        if self.n_items > MAX_ITEMS:
            raise ValueError(
                f"linear extensions are counted for 1 to {MAX_ITEMS} items, got {self.n_items}; "
                "use an order restricted to a window around an anchor instead."
            )
        values, level = _levels(margins, ~np.eye(self.n_items, dtype=bool))
        self._extensions = Counts(level, len(values))
        self._level: Choice | Flips
        if flip:
            self._level = Flips(values, np.diff(self._extensions.of_all, prepend=0), scale)
        else:
            with np.errstate(divide="ignore"):
                log_counts = np.log(self._extensions.of_all)
            self._log_weights = level_log_weights(log_counts, values.astype(float), scale)
            self._level = Choice(self._log_weights)

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,)."""
        return self._extensions.draw(self._level.draw(bits), bits, first=self._flip)


def _levels(margins, free, floor=None):
    """Return `floor` and the larger margins of `free` pairs, ascending, and the index of each margin (0 if not free).

    Every order violates at least the smaller of the two margins of each free pair. By default, `floor` is the largest
    of these.
    """
    if floor is None:
        floor = np.minimum(margins, margins.T)[free].max() if free.any() else 0
    values = np.append(floor, np.unique(margins[free & (margins > floor)]))
    return values, np.where(free, np.searchsorted(values, margins), 0)  # 0 also for margins below the floor


# Exact sampling of orders by their total cost, from the total weight of every subset of the items.


class PartitionTable(OrderSampler):
    """Sampler of orders with probability proportional to exp(-scale * total cost), and its partition function.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        ``cost[i, j]`` is the cost of placing i before j; the diagonal is ignored. Integers are summed exactly and
        scaled once, as `log_rounding_error` assumes.
    scale : float
        At least 0. In the exponential mechanism, epsilon over the sensitivity (or over twice the sensitivity).

    Attributes
    ----------
    log_partition : float
        Log of the sum of exp(-scale * total cost) over all m! orders.

    Raises
    ------
    ValueError
        If `cost` is not a square matrix of integers or finite floats, could overflow, or has more than 30 rows; if
        `scale` is negative or not finite.

    Notes
    -----
    Orders are drawn item by item from the table of all subsets (forward filtering, backward sampling). No draw is
    rejected, and the running time does not depend on the values of `cost`. The table takes 8 * 2**m bytes: 8 MB at
    m = 20, 270 MB at m = 25.

    The distribution is exact up to double precision. The probability of each order, however small, is within a factor
    exp(2 * log_rounding_error(...) + log_choice_error(...)).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.samplers import PartitionTable
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> table = PartitionTable(np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0]]), scale=np.log(2))
    >>> round(float(np.exp(table.log_partition)), 4)  # 1 + 1/2 + 1/2 + 1/8 + 1/8 + 1/16
    2.3125
    >>> table.sample(2, SeededBits(np.random.SeedSequence(0))).shape
    (2, 3)
    """

    def __init__(self, cost, scale):
        check_number(scale, "scale", least=0)
        gain, constant = reduced_gain(cost)
        self._scale = float(scale)
        self._sweep = Sweep(gain.astype(np.float64))  # integers below 2**53 stay exact

        def logsumexp(values):  # over axis 1; it overwrites `values`
            top = values.max(axis=1)
            values -= top[:, None]
            np.maximum(values, -700.0, out=values)  # smaller ones do not change a sum, but are slow: exp underflows
            np.exp(values, out=values)
            return np.log(values.sum(axis=1)) + top

        self._table = self._sweep.run(logsumexp, self._scale)
        self.log_partition = self._table[-1, -1].item() - self._scale * constant
        self.n_items = len(gain)
        self._choices: dict = {}  # by set of remaining items: them, and the choice of the first

    def draw(self, bits):
        """Draw one order, best first, int, shape (m,); choices are cached for each set of remaining items."""
        mask, order = 2**self.n_items - 1, []
        while mask:
            if mask not in self._choices:
                left = np.flatnonzero(mask >> np.arange(self.n_items) & 1)
                self._choices[mask] = left.tolist(), Choice(self._sweep.peel(self._table, mask, left, self._scale))
            left, choice = self._choices[mask]
            order.append(left[choice.draw(bits)])
            mask ^= 1 << order[-1]
        return np.array(order)


def log_rounding_error(n_items, exponent):
    """Return a bound on the rounding error of any entry of the log table behind `PartitionTable`.

    Parameters
    ----------
    n_items : int
        Number m of items.
    exponent : float
        Bound on scale times the sum over pairs of ``abs(cost[i, j] - cost[j, i])``. In the exponential mechanism for
        Kemeny with n voters, scale = epsilon / C(m, 2) gives epsilon * n.

    Returns
    -------
    float
        Bound on the absolute error of the log weight of any subset of items, above the constant. Costs must be integers
        that sum to less than 2**53.

    Notes
    -----
    A relative error eta of every probability adds 2 eta to the epsilon of a mechanism. eta is at most twice this bound:
    an order's probability is a product of exp(F(S - x) - c) / exp(F(S)). The errors of F cancel, except those of the
    whole set and the local ones made at each S.

    Let u = 2**-53, F(S) the exact log weight of a k-subset and M a bound on all abs(F). One step takes
    t_x = F(S - x) - c_x, where c_x is one product. Its errors are u c_x and u abs(t_x), with c_x <= M + abs(t_x) and
    abs(t_x) <= M + (F(S) - t_x). They count in proportion to p_x = exp(t_x - F(S)). The sum of p_x (F(S) - t_x) is an
    entropy, at most log k. Together this gives u (3 M + 2 log k).

    The other operations add: subtracting the largest value u log k, the exponential 4 u, k - 1 additions (k - 1) u, the
    logarithm 4 u log k, and adding the largest value back u M. The sum over k <= m is below u m (4 M + (m + 7) / 2 + 7
    log m). The constants below are rounded up for second-order terms. M is the larger of two limits on abs(F(S)). F(S)
    is at most log k!, and at least minus the smaller cost of any order and its reverse. That cost is at most half of
    `exponent`.

    Examples
    --------
    >>> from sklearn_dprank.orders.samplers import log_rounding_error
    >>> log_rounding_error(20, exponent=5000.0) < 1e-10
    True
    """
    magnitude = max(exponent / 2, math.lgamma(n_items + 1))
    log_m = math.log(max(n_items, 1))
    return 2.0**-53 * n_items * (4 * magnitude + n_items / 2 + 8 * log_m + 5)


# Permute-and-flip over many options with few distinct costs, from the number of options of each cost.
#
# Permute-and-flip (McKenna and Sheldon 2020) visits the options in random order and takes each with probability
# exp(-rate (cost - least cost)), until one is taken. Its distribution is that of the option with the largest
# -rate cost + Exp(1), with independent standard exponential variables (Ding et al. 2021). Among n options of the same
# cost, only the largest variable matters. Its distribution function is (1 - e^-x)^n, so one draw replaces n.

_SMALL = -40.0  # log of z below which 1 - e^-z is z in double precision


class Flips:
    """Permute-and-flip draw of a cost.

    Parameters
    ----------
    costs : array of int, shape (k,)
        Distinct costs.
    counts : array of int, or of float without fractions, shape (k,)
        Number of options of each cost. At least one is positive; costs with count 0 are never drawn.
    rate : float
        At least 0. If one ballot changes every cost by at most d, the privacy loss is 2 rate d.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.samplers import Flips
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> flips = Flips(np.array([-90, 40]), np.array([1.0, 23.0]), rate=0.1)
    >>> flips.draw(SeededBits(0))
    0
    """

    def __init__(self, costs, counts, rate):
        self._taken = np.flatnonzero(counts)
        costs = np.asarray(costs)[self._taken]
        self._penalty = rate * (costs - costs.min()).astype(float)
        self._log_counts = np.log(np.asarray(counts, dtype=float)[self._taken])

    def draw(self, bits):
        """Draw the index of a cost."""
        noise = largest_exponentials(self._log_counts, bits)
        return int(self._taken[np.argmax(noise - self._penalty)])


def largest_exponentials(log_counts, bits):
    """Draw the largest of n independent standard exponential variables, for several n.

    Parameters
    ----------
    log_counts : array of float, shape (k,)
        Logs of n.
    bits : BitSource
        Source of randomness.

    Returns
    -------
    array of float, shape (k,)
        -ln(1 - U^(1 / n)) for uniform U, with relative precision in both tails. Values have no upper limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.samplers import largest_exponentials
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> drawn = largest_exponentials(np.log(np.full(1000, 1e6)), SeededBits(0))
    >>> bool(abs(drawn.mean() - (np.log(1e6) + 0.5772)) < 0.2)  # the mean is the harmonic number
    True
    """
    # Logs of y = -ln U: a coin decides whether y is below its median log 2, and V selects it within its half.
    size = len(log_counts)
    log_v = bits.log_uniform(size)
    small = np.where(log_v < _SMALL, log_v - np.log(2), np.log(-np.log1p(-np.exp(np.maximum(log_v, _SMALL)) / 2)))
    log_exponentials = np.where(bits.coins(size), small, np.log(np.log(2) - log_v))
    log_w = log_exponentials - log_counts  # w = -ln U / n; the result is -ln(1 - e^-w)
    w = np.exp(np.maximum(log_w, _SMALL))
    with np.errstate(divide="ignore"):
        out = np.where(w < np.log(2), -np.log(-np.expm1(-w)), -np.log1p(-np.exp(-w)))
    return np.where(log_w < _SMALL, -log_w, out)


def log_flip_error(exponent, log_options):
    """Return a bound on the relative error of the probability of any option that `Flips` draws.

    Parameters
    ----------
    exponent : float
        Bound on rate times the difference of two costs, which are integers below 2**52.
    log_options : float
        Log of the number of options, or an upper bound on it.

    Returns
    -------
    float
        Bound on the error of the log of the probability.

    Notes
    -----
    Let u = 2**-53, N the number of options and n the number of one cost. Let r >= 0 be the penalty of that cost, and E
    the largest variable of its n options. With y standard exponential, E = -ln(1 - e^-z), z = y / n.

    The uniform number behind y has an error of at most 2 u. The errors are then at most u (1.5 abs(ln y) + 8) for ln y,
    and u (2 abs(ln z) + 3 ln n + 8) for ln z. abs(dE / d ln z) = z / (e^z - 1) is at most 1, and abs(ln z) <= E where
    z < 1. The error is therefore at most u (4 E + 4 ln N + 16) for E, and u (5 E + 4 ln N + 2 r + 16) for E - r.

    An option's own variable must exceed a threshold T <= M + r, where M is the largest variable of all the others. The
    hazard of the largest of n exponentials is at most 1. Moving T and the variable together by d thus changes the log
    of the probability by at most d. Here d is u (10 M + 7 r + 2 r' + 8 ln N + 32), with r' the penalty of the option
    that sets the threshold. The probability falls with M, and its relative error grows with M. On average, the error is
    therefore at most that at the mean of M, which is at most ln N + 1. The constants are rounded up.

    Examples
    --------
    >>> from sklearn_dprank.orders.samplers import log_flip_error
    >>> log_flip_error(5000.0, 30.0) < 1e-11
    True
    """
    return 2.0**-53 * (10 * exponent + 20 * log_options + 50)


# Counts and uniform samples of orders that violate no margin above a threshold, for up to 16 items.
#
# A linear extension of a relation `before` is an order of the items that puts i before j whenever before[i, j]. The
# orders that violate no margin above a threshold are the linear extensions of a relation. The prefixes of a linear
# extension are down-sets: sets that contain every item that must come before one of their items. With f(empty) = 1,
#
#     f(S) = [S is a down-set] * sum over x in S of f(S - x)
#
# counts the extensions of the relation restricted to S. One sweep covers all thresholds of a weighted relation W: S is
# a down-set of {W > v} exactly when v >= max of W[outside, inside].


@lru_cache(maxsize=4)
def _links(n_items):
    """Return, for p = 0, 1, ..., the 0/1 matrix from the sets S of p + 1 items (rows) to the sets S - x (columns)."""
    from scipy.sparse import csr_array  # here and below, so that devices load no SciPy

    subsets, links = subsets_of(n_items), []
    for p in range(n_items):
        _, items, rest = subsets.layer(p + 1)
        columns = rest - subsets.starts[p]  # `rest` numbers the sets S - x among the sets of all sizes
        row_ends = np.arange(len(items) + 1) * (p + 1)
        shape = (len(items), comb(n_items, p))
        links.append(csr_array((np.ones(columns.size), columns.ravel(), row_ends), shape=shape))
    return links


class Counts:
    """Numbers of linear extensions of the relations level > 0, 1, ..., n_levels - 1, and uniform draws of extensions.

    Parameters
    ----------
    level : array of int, shape (n_items, n_items)
        Zero diagonal, at most 16 items. Not checked.
    n_levels : int
        Number of relations.
    k : int or None, default=None
        Number of items to order, ahead of all others; None means all items.

    Attributes
    ----------
    of_all : array of float, shape (n_levels,)
        Exact number of extensions of each relation.
    """

    def __init__(self, level, n_levels, k=None):
        self._n_items = len(level)
        self._k = self._n_items if k is None else k
        self._subsets = subsets_of(self._n_items)
        # For each mask S the largest level[i, j] with i outside and j inside S (0 if none): from this level on, S is a
        # down-set.
        worst = over_subsets(level, np.maximum)  # over the members of S, for each i
        for item, row in enumerate(worst):
            row.reshape(-1, 2, 1 << item)[:, 1] = 0  # in the masks with this bit, i is inside
        opening = worst.max(axis=0)[self._subsets.masks]
        levels = np.arange(n_levels)
        self._table = [np.ones((1, n_levels))]  # f by number of items: one row per set, one column per relation
        for start, link in zip(self._subsets.starts[1:], _links(self._n_items)[: self._k], strict=False):
            counts = link @ self._table[-1]
            counts[levels < opening[start : start + len(counts), None]] = 0
            self._table.append(counts)
        self.of_all = self._table[-1].sum(axis=0)
        self._choices: dict = {}

    def draw(self, column, bits, first=False):
        """Draw an extension of the relation of one column, uniformly and with exact integers; return it first to last.

        With `first`, only orders that are not extensions of an earlier relation are drawn. Earlier relations contain
        the later ones. The number of such orders is therefore f - g, where g is the f of the previous column. Items are
        drawn from last to first. While g of the remaining set is above 0, the rest of the order must still violate the
        earlier relation. Once g is 0, the order violates it, and all extensions count.
        """
        order, starts, rank = [], self._subsets.starts, self._subsets.rank
        must_violate = first and column > 0  # the relation of the column before
        mask, size = 2**self._n_items - 1, self._n_items
        while size:  # above k items, one step draws the set of the first k; then each step draws the last item
            rest = min(size - 1, self._k)
            if size <= self._k:
                must_violate = must_violate and self._table[size][rank[mask] - starts[size], column - 1] > 0
            state = column, must_violate, mask
            if state not in self._choices:
                smaller = self._subsets.masks[starts[rest] : starts[rest + 1]]
                if size <= self._k:
                    smaller = mask ^ (1 << np.flatnonzero(mask >> np.arange(self._n_items) & 1))
                counts = self._table[rest][rank[smaller] - starts[rest]]
                ways = counts[:, column] - counts[:, column - 1] if must_violate else counts[:, column]
                self._choices[state] = smaller.tolist(), [int(count) for count in ways.cumsum()]
            smaller, cumulative = self._choices[state]
            chosen = smaller[bisect_right(cumulative, bits.integer(cumulative[-1]))]
            if size <= self._k:
                order.append((mask ^ chosen).bit_length() - 1)
            mask, size = chosen, rest
        return np.array(order)[::-1]


# Samplers for the top k items, weighted by the largest margin that they violate.
#
# Putting items s_1, ..., s_k first, in this order, violates the margins W[x, s_a] of every x that is not among the
# first a. Their maximum is the largest margin by which an unplaced item beats the winner of a place. The first places
# can be filled in m! / (m - k)! ways, which are listed while m^k is at most a million. For at most 16 items and k > 2,
# they are counted instead, in any number. A way violates no margin above v exactly if each set of its first items is a
# down-set of {W > v}, like a prefix of a linear extension (`Counts`). One place is filled directly, in
# O(m^2).

MOST_WAYS = 10**6  # 0.1 s and 60 MB


def largest_batch(n_items):
    """Return the largest number of first places that can be filled at once, at least 1 and at most ``n_items - 1``.

    Examples
    --------
    >>> [largest_batch(m) for m in (2, 16, 31, 100, 1000, 1001)]
    [1, 15, 4, 3, 2, 1]
    """
    if n_items <= MAX_ITEMS:
        return n_items - 1
    return max(k for k in range(1, 20) if k == 1 or n_items**k <= MOST_WAYS)


def costs_of_ways(margins, k):
    """Return the largest margin that each way to fill the first k places violates.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i; the diagonal is ignored.
    k : int
        From 1 to n_items - 1.

    Returns
    -------
    costs : array, shape (n_items**k,)
        max of W[x, s_a] over places a and items x that are not among the first a, for s_1, ..., s_k the digits of the
        index in base n_items. It is signed and never clipped at 0. Ways that contain an item twice have the value
        `never`.
    never : int or float
        Larger than any margin.

    Examples
    --------
    >>> import numpy as np
    >>> costs, never = costs_of_ways(np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]]), 2)
    >>> costs.reshape(3, 3).tolist(), int(never)
    ([[91, -70, 70], [90, 91, 90], [80, 90, 91]], 91)
    """
    n_items = len(margins)
    never = margins.max() + 1
    rivals = margins.copy()
    np.fill_diagonal(rivals, rivals.min() - 1)  # an item is not its own rival
    order = np.argsort(-rivals, axis=0, kind="stable")[:k]  # each column lists the strongest rivals of an item
    strength = np.take_along_axis(rivals, order, axis=0)
    costs = np.full(1, rivals.min())  # one row per way so far
    placed = np.zeros((1, n_items), dtype=bool)  # whether each way has placed each item
    for place in range(k):
        if place:
            placed = (placed[:, None] | np.eye(n_items, dtype=bool)).reshape(-1, n_items)
        # The strongest rival that is not placed; it is among the place + 1 strongest. Stronger ones overwrite weaker.
        worst = np.broadcast_to(strength[place], placed.shape)
        for rival, margin in zip(order[:place][::-1], strength[:place][::-1], strict=True):
            worst = np.where(placed[:, rival], worst, margin)
        costs = np.maximum(costs[:, None], worst)
        costs[placed] = never
        costs = costs.ravel()
    return costs, never


class Listed:
    """List of all ways to fill the first k places, grouped by the largest margin that they violate.

    Attributes
    ----------
    values : array, shape (n_values,)
        Largest violated margins, ascending.
    counts : array of int, or of float without fractions, shape (n_values,)
        Number of ways with each value.
    """

    def __init__(self, margins, k):
        self._shape = (len(margins),) * k
        self._costs, never = costs_of_ways(margins, k)
        values, counts = np.unique(self._costs, return_counts=True)
        self.values, self.counts = values[values < never], counts[values < never]

    def draw(self, number, bits):
        """Draw one of the ways with the value at index `number`, uniformly."""
        same = np.flatnonzero(self._costs == self.values[number])
        return np.array(np.unravel_index(same[bits.integer(len(same))], self._shape))


class Counted:
    """Counts of the ways of `Listed` for at most 16 items, without a list; some values may have no ways."""

    def __init__(self, margins, k):
        distinct = ~np.eye(len(margins), dtype=bool)
        # The winner of the first place violates at least this margin in every way.
        floor = np.where(distinct, margins, margins.min()).max(axis=0).min()
        self.values, level = _levels(margins, distinct, floor)
        self._ways = Counts(level, len(self.values), k)
        self.counts = np.diff(self._ways.of_all, prepend=0)

    def draw(self, number, bits):
        """Draw one of the ways with the value at index `number`, uniformly and with exact integers."""
        return self._ways.draw(number, bits, first=True)


class TopSampler(OrderSampler):
    """Sampler of the top k items in order, with probability proportional to exp(-scale u).

    u is the largest margin that the items violate. With `flip`, it is permute-and-flip: it draws the items with the
    largest -scale u + Exp(1).

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        Margins of all items.
    k : int
        Number of items to draw.
    scale : float
        At least 0. One ballot changes u by at most 1 if neighbours add or remove a ballot (2 if they replace one).
    placed : sequence of int, default=()
        Items that are already placed. They are left out.
    flip : bool, default=False
        Whether to draw by permute-and-flip.

    Raises
    ------
    ValueError
        If `margins` is not square and finite, or `scale` is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> TopSampler(margins, 1, 0.5).draw(SeededBits(0)), TopSampler(margins, 1, 0.5, placed=[0]).draw(SeededBits(0))
    (array([0]), array([1]))
    """

    def __init__(self, margins, k, scale, placed=(), flip=False):
        margins = checked_margins(margins, scale)
        left = np.delete(np.arange(len(margins)), list(placed))
        self.n_items = k
        self._left = left
        self._ways = (Counted if k > 2 and len(left) <= MAX_ITEMS else Listed)(margins[np.ix_(left, left)], k)
        values, counts = self._ways.values, self._ways.counts
        with np.errstate(divide="ignore"):
            log_weights = np.log(counts) - scale * (values - values[0])
        self._level = Flips(values, counts, scale) if flip else Choice(log_weights)

    def draw(self, bits):
        """Draw the best k items in order, int, shape (k,)."""
        return self._left[self._ways.draw(self._level.draw(bits), bits)]


class NextSampler(OrderSampler):
    """Sampler of the next item alone, with the distribution of `TopSampler` for k = 1.

    The time does not depend on the margins.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> NextSampler(margins, 0.5, placed=[0]).draw(SeededBits(0))
    array([1])
    """

    n_items = 1

    def __init__(self, margins, scale, placed=()):
        margins = checked_margins(margins, scale)
        self._left = np.delete(np.arange(len(margins)), list(placed))
        rivals = margins[np.ix_(self._left, self._left)]
        np.fill_diagonal(rivals, rivals.min() - 1)  # an item is not its own rival
        violated = rivals.max(axis=0)
        self._item = Choice(-scale * (violated - violated.min()))

    def draw(self, bits):
        """Draw the next item, int, shape (1,)."""
        return self._left[[self._item.draw(bits)]]


# Exact sampling of orders within a window around an anchor, for the prudent order of many items.
#
# Only orders that keep the anchor's order of each pair at least `window` places apart in the anchor are considered.
# Name items by their place in the anchor. A prefix of such an order is then {0, ..., a - 1} and some of a + 1, ..., a +
# window - 1. It is represented by the first unplaced item a and a mask of window - 1 bits, where bit b stands for item
# a + 1 + b. One sweep covers all thresholds of the margins.

MAX_WINDOW = 12  # 2**11 masks


@lru_cache(maxsize=8)
def _steps(window):
    """Return the weights of adding one item to a prefix, at any place: new masks (rows) from old masks (columns).

    An entry is exp(-inversions added), the number of unplaced items that the anchor has before the new one.
    """
    from scipy.sparse import csr_array

    steps = []  # of (new mask, old mask, inversions)
    for mask in range(2 ** (window - 1)):
        run = (~mask & (mask + 1)).bit_length() - 1  # placed items right after a: a + 1 + run becomes a
        steps.append((mask >> (run + 1), mask, 0))
        for offset in range(1, window):
            if not mask >> (offset - 1) & 1:
                inversions = offset - (mask & (2 ** (offset - 1) - 1)).bit_count()
                steps.append((mask | 1 << (offset - 1), mask, inversions))
    new, old, inversions = np.array(steps).T
    return csr_array((np.exp(-inversions.astype(float)), (new, old)), shape=(2 ** (window - 1),) * 2)


def _opening_level_in_window(level, window, never):
    """Return, for each first unplaced item a and mask, the lowest level that allows the prefix.

    It is the largest level[y, x] with y outside and x inside the prefix. The items before a are merged (node 0, always
    inside). Node 1 + b is the item of bit b. Item a and the items past the window are also merged (last node, always
    outside). `never` marks masks past the end.
    """
    n_items = len(level)
    masks = np.arange(2 ** (window - 1))
    inside = np.ones((len(masks), window + 1), dtype=bool)
    inside[:, 1:window] = masks[:, None] >> np.arange(window - 1) & 1
    inside[:, window] = False
    split = ~inside[:, :, None] & inside[:, None, :]
    opening = np.empty((n_items + 1, len(masks)), dtype=np.int64)
    for a in range(n_items + 1):
        end = min(a + window, n_items)
        near, n_near = slice(a + 1, end), max(end - a - 1, 0)  # the items of the bits
        against_placed = level[:, :a].max(axis=1, initial=0)
        far = np.r_[a : min(a + 1, n_items), end:n_items]
        merged = np.zeros((window + 1, window + 1), dtype=np.int64)
        merged[1 : n_near + 1, 0] = against_placed[near]
        merged[1 : n_near + 1, 1 : n_near + 1] = level[near, near]
        merged[window, 0] = against_placed[far].max(initial=0)
        merged[window, 1 : n_near + 1] = level[far, near].max(axis=0, initial=0)
        merged[window, n_near + 1 : window] = never
        opening[a] = np.where(split, merged, 0).max(axis=(1, 2))
    return opening


class WindowedSampler(OrderSampler):
    """Sampler of orders near an anchor, with probability proportional to exp(-inversions - scale * u).

    An order keeps the anchor's order of each pair at least `window` places apart in the anchor. `inversions` is the
    number of pairs that the order and the anchor order differently. Consider the pairs less than `window` apart in the
    anchor with j before i in the order. u is the maximum of their margins[i, j]. It is signed and never clipped at 0.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i. The diagonal is ignored.
    anchor : array of int, shape (n_items,)
        Items in the anchor's order, best first.
    scale : float
        At least 0. One ballot changes u by at most 1 if neighbours add or remove a ballot (2 if they replace one).
    window : int, default=7
        Pairs at least this far apart in the anchor are fixed; from 1 (the anchor itself) to 12.

    Raises
    ------
    ValueError
        If `margins` is not square and finite, `anchor` is not a permutation, or `scale` or `window` is out of range.

    Notes
    -----
    .. rubric:: Privacy

    Fixed pairs do not count in u. Their largest margin would be a lower limit on u for every order, and would hide what
    the window can improve. With or without them, u is a maximum of margins over pairs that only the order and the
    public anchor determine. Its sensitivity is therefore 1 (2 for replaced ballots). The orders considered and their
    inversions depend only on the anchor and are a public base measure. The exponential mechanism thus has its usual
    epsilon of 2 * scale * sensitivity. For a draw at epsilon, set scale to epsilon / 2 (epsilon / 4 for replaced
    ballots).

    .. rubric:: Precision

    The distribution is exact up to double precision if no weight underflows; n_items * (window - 1) <= 700 is enough.
    Otherwise, orders of relative weight exp(-700) at the same threshold may be lost.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> margins = 40 * np.subtract.outer(np.arange(30), np.arange(30)).T  # item 0 is the best
    >>> anchor = np.array([1, 0, 4, 3, 2] + list(range(5, 30)))
    >>> sampler = WindowedSampler(margins, anchor, scale=0.5)
    >>> bool(np.all(sampler.draw(SeededBits(np.random.SeedSequence(0))) == np.arange(30)))
    True
    """

    def __init__(self, margins, anchor, scale, window=7):
        margins = checked_margins(margins, scale)
        self.n_items = n_items = len(margins)
        self._anchor = np.asarray(anchor)
        if self._anchor.shape != (n_items,) or not np.array_equal(np.sort(self._anchor), np.arange(n_items)):
            raise ValueError(f"anchor must be a permutation of the {n_items} items.")
        check_whole(window, "window", 1, MAX_WINDOW)
        self._window = window = min(window, n_items)

        margins = margins[np.ix_(self._anchor, self._anchor)]
        gap = np.subtract.outer(np.arange(n_items), np.arange(n_items))
        loose = (abs(gap) < window) & (gap != 0)
        values, level = _levels(margins, loose)
        self._sweep(_opening_level_in_window(level, window, never=len(values)), len(values))
        self._log_weights = level_log_weights(self._log_masses, values.astype(float), scale)
        self._level = Choice(self._log_weights)

    def _sweep(self, opening, n_levels):
        """Fill the masses of prefixes, one table (masks, levels) per length; the largest of each column is 1."""
        n_items = len(opening) - 1
        steps = _steps(self._window)
        masks = np.arange(steps.shape[0])
        self._sizes = np.array([mask.bit_count() for mask in masks.tolist()])
        levels = np.arange(n_levels)
        mass = np.zeros((len(masks), n_levels))
        mass[0] = 1
        self._masses, self._log_masses = [mass], np.zeros(n_levels)
        for length in range(1, n_items + 1):
            unplaced = length - self._sizes  # item a of each mask
            mass = steps @ mass
            mass[(unplaced[:, None] < 0) | (levels < opening[unplaced, masks][:, None])] = 0
            top = mass.max(axis=0)
            mass /= np.where(top > 0, top, 1)
            with np.errstate(divide="ignore"):
                self._log_masses += np.log(top)
            self._masses.append(mass)

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,); places in the anchor are drawn from last to first."""
        level = self._level.draw(bits)
        steps = _steps(self._window)
        order = np.empty(len(self._anchor), dtype=np.int64)
        mask = 0
        for length in range(len(order), 0, -1):
            row = slice(steps.indptr[mask], steps.indptr[mask + 1])
            before = steps.indices[row]
            with np.errstate(divide="ignore"):
                choice = Choice(np.log(steps.data[row] * self._masses[length - 1][before, level]))
            smaller = int(before[choice.draw(bits)])
            # Either one bit was set, or the first unplaced item a was placed and the mask shifted down. The item is
            # a + offset, and the smaller prefix has a = length - 1 - its size.
            offset = (mask ^ smaller).bit_length() if mask > smaller else 0  # a mask shifted down is never larger
            order[length - 1] = length - 1 - self._sizes[smaller] + offset
            mask = smaller
        return self._anchor[order]


# K-norm noise for Borda scores: uniform points of the permutohedron, and its norm.
#
# The permutohedron of m items is the convex hull of all centred complete rankings: the permutations of (0, ..., m - 1)
# minus (m - 1) / 2. Tied and partial ballots, centred in the same way, lie inside.


@lru_cache(maxsize=32)
def _pairs(n_items):
    """Return the pairs (first < second), with the pair (i, j) at index j (j - 1) / 2 + i."""
    second, first = np.tril_indices(n_items, -1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


def sample_ball(n_items, bits):
    """Draw a uniform point of the centred permutohedron (the whole body, not its surface).

    Parameters
    ----------
    n_items : int
        Number m of items, at least 1. The body has dimension m - 1.
    bits : BitSource
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_items,)
        Vector with sum zero and norm at most 1, in units of positions. The permutohedron is the unit ball of the norm.

    Notes
    -----
    The permutohedron is the sum of the segments [-1/2, 1/2] (e_i - e_j). Heights in general position on the pairs cut
    this zonotope into one parallelepiped per spanning tree of the complete graph. Segments of the tree stay whole.
    Every other pair contributes the end given by the sign of y_i - y_j - height_ij. The graphic matroid is unimodular,
    so all tiles have the same volume. A uniform tree with uniform coordinates is therefore a uniform point, for any
    heights.

    The distribution of independent heights that are symmetric about 0 does not change if items are relabelled. Labels
    may thus be shuffled at the end. The tree then follows Aldous's rule: vertex j is attached to min(U_j, j - 1). The
    cost is O(m**2).

    References
    ----------
    .. [1] G. M. Ziegler, "Lectures on Polytopes", Springer, 1995, Section 7.5 and Example 9.8.
    .. [2] D. J. Aldous, "The random walk construction of uniform spanning trees and uniform labelled trees",
       SIAM J. Discrete Math. 3 (1990), Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> point = sample_ball(5, SeededBits(np.random.SeedSequence(0)))
    >>> bool(abs(point.sum()) < 1e-12), bool(point.max() <= 2)  # the largest coordinate is at most (m - 1) / 2
    (True, True)
    """
    check_whole(n_items, "n_items")
    if n_items == 1:
        return np.zeros(1)
    first, second = _pairs(n_items)
    height = bits.uniform(len(first)) - 0.5  # symmetric, so that exchanging two labels changes nothing
    children = np.arange(1, n_items)
    parent = np.minimum(bits.integers(n_items, n_items - 1), children - 1)  # uniform once the labels are shuffled
    edges = children * (children - 1) // 2 + parent  # the pairs (parent, child), as `_pairs` numbers them

    # The potential y solves y_i - y_j = height_ij on the edges of the tree; parents come before their children.
    potential = [0.0]
    for above, drop in zip(parent.tolist(), height[edges].tolist(), strict=True):
        potential.append(potential[above] - drop)
    y = np.array(potential)

    weight = np.where(y[first] - y[second] > height, 0.5, -0.5)
    weight[edges] = bits.uniform(n_items - 1) - 0.5
    point = np.bincount(first, weight, n_items) - np.bincount(second, weight, n_items)
    return point[np.argsort(bits.words(n_items))]  # two of m words are equal with probability below m**2 / 2**65


def knorm_noise(n_items, scale, bits):
    """Draw noise z on centred Borda scores with density proportional to exp(-norm(z) / scale).

    The unit ball of the norm is the centred permutohedron.

    Parameters
    ----------
    n_items : int
        Number m of items.
    scale : float
        1 / epsilon if neighbours add or remove a ballot, 2 / epsilon if they replace one.
    bits : BitSource
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_items,)
        Noise with sum zero, in units of positions. Net wins are minus twice the centred scores: multiply by 2.

    Notes
    -----
    .. rubric:: Privacy

    The noise is in double precision. Publish the order of the noisy scores, never the scores.

    .. rubric:: Remarks

    The radius has a Gamma distribution of shape m, one more than the dimension, because the direction is uniform in the
    ball and not on its surface.

    References
    ----------
    .. [1] M. Hardt and K. Talwar, "On the Geometry of Differential Privacy", STOC 2010.
    .. [2] M. Joseph and A. Yu, "Some Constructions of Private, Efficient, and Optimal K-Norm and Elliptic Gaussian
       Noise", COLT 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> noise = knorm_noise(4, 1.0, SeededBits(np.random.SeedSequence(0)))
    >>> noise.shape, bool(abs(noise.sum()) < 1e-12)
    ((4,), True)
    """
    check_positive(scale=scale)
    radius = -scale * np.log(bits.deep_uniform(n_items)).sum()  # the sum of m exponential variables
    return radius * sample_ball(n_items, bits)
