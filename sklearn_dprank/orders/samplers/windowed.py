"""Exact sampling of orders within a window around an anchor, for the prudent order of many items.

Only orders that keep the anchor's order of each pair at least `window` places apart in the anchor are considered. Name
items by their place in the anchor. A prefix of such an order is then {0, ..., a - 1} and some of
a + 1, ..., a + window - 1. It is represented by the first unplaced item a and a mask of window - 1 bits. One sweep
covers all thresholds of the margins.
"""

from functools import lru_cache

import numpy as np

from ..._utils.checks import check_whole
from .base import OrderSampler, checked_margins
from .choice import Choice
from .linear_extensions import level_log_weights

MAX_WINDOW = 12  # 2**11 masks


@lru_cache(maxsize=8)
def _steps(window):
    """Return the weights of adding one item to a prefix, at any place: new masks (rows) from old masks (columns).

    An entry is exp(-inversions added), the number of unplaced items that the anchor has before the new one.
    """
    from scipy.sparse import csr_array

    rows, columns, inversions = [], [], []
    for mask in range(2 ** (window - 1)):
        run = (~mask & (mask + 1)).bit_length() - 1  # number of placed items right after a
        rows.append(mask >> (run + 1))
        columns.append(mask)
        inversions.append(0)
        for offset in range(1, window):
            if not mask >> (offset - 1) & 1:
                rows.append(mask | 1 << (offset - 1))
                columns.append(mask)
                inversions.append(offset - (mask & (2 ** (offset - 1) - 1)).bit_count())
    return csr_array((np.exp(-np.array(inversions, dtype=float)), (rows, columns)), shape=(2 ** (window - 1),) * 2)


def _opening_level(level, window, never):
    """Return, for each first unplaced item a and mask, the lowest level that allows the prefix.

    It is the largest level[y, x] with y outside and x inside the prefix. The items before a are merged (node 0, always
    inside). Item a and the items past the window are also merged (last node, always outside). `never` marks masks past
    the end.
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
        near, before = slice(a + 1, end), level[:, :a].max(axis=1, initial=0)
        count = max(end - a - 1, 0)
        far = np.r_[a : min(a + 1, n_items), end:n_items]
        merged = np.zeros((window + 1, window + 1), dtype=np.int64)
        merged[1 : count + 1, 0] = before[near]
        merged[1 : count + 1, 1 : count + 1] = level[near, near]
        merged[window, 0] = before[far].max(initial=0)
        merged[window, 1 : count + 1] = level[far, near].max(axis=0, initial=0)
        merged[window, count + 1 : window] = never
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
    >>> from sklearn_dprank.sampling.streams import SeededBits
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
        values, level = _thresholds(margins, window)
        self._sweep(_opening_level(level, window, never=len(values)), len(values))
        self._log_weights = level_log_weights(self._log_masses, values, scale)
        self._level = Choice(self._log_weights)

    def _sweep(self, opening, n_levels):
        """Fill the masses of prefixes, one table (masks, levels) per length; each column has its own scale."""
        n_items = len(opening) - 1
        steps = _steps(self._window)
        masks = np.arange(steps.shape[0])
        self._sizes = np.array([mask.bit_count() for mask in masks.tolist()])
        every = np.arange(n_levels)
        mass = np.zeros((len(masks), n_levels))
        mass[0] = 1
        self._masses, self._log_masses = [mass], np.zeros(n_levels)
        for length in range(1, n_items + 1):
            first = length - self._sizes
            mass = steps @ mass
            mass[(first[:, None] < 0) | (every < opening[first, masks][:, None])] = 0
            top = mass.max(axis=0)
            mass /= np.where(top > 0, top, 1)
            with np.errstate(divide="ignore"):
                self._log_masses += np.log(top)
            self._masses.append(mass)

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,)."""
        return self._anchor[self._backward(self._level.draw(bits), bits)]

    def _backward(self, level, bits):
        """Draw an order of places in the anchor, from last to first."""
        steps = _steps(self._window)
        order = np.empty(len(self._anchor), dtype=np.int64)
        mask = 0
        for length in range(len(order), 0, -1):
            row = slice(steps.indptr[mask], steps.indptr[mask + 1])
            before = steps.indices[row]
            with np.errstate(divide="ignore"):
                choice = Choice(np.log(steps.data[row] * self._masses[length - 1][before, level]))
            smaller = int(before[choice.draw(bits)])
            # Either one bit was set, or the first unplaced item was placed and the mask shifted down.
            offset = (mask ^ smaller).bit_length() if mask > smaller else 0
            order[length - 1] = length - 1 - self._sizes[smaller] + offset
            mask = smaller
        return order


def _thresholds(margins, window):
    """Return the distinct values of u, ascending, and the index of each margin in them (0 below the first)."""
    n_items = len(margins)
    gap = np.subtract.outer(np.arange(n_items), np.arange(n_items))
    loose = (abs(gap) < window) & (gap != 0)
    # Every order violates one direction of each pair.
    floor = np.minimum(margins, margins.T)[loose].max() if loose.any() else 0
    values = np.append(floor, np.unique(margins[loose & (margins > floor)])).astype(float)
    return values, np.where(loose, np.searchsorted(values, margins), 0)
