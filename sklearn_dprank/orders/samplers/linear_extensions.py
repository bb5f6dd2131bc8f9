"""Exact samplers of the prudent order: by the largest margin that an order violates, for up to 16 items.

The orders that violate no margin above a threshold are the linear extensions of a relation. `threshold_counts` counts
them.
"""

import numpy as np

from .base import OrderSampler, checked_margins
from .choice import Choice
from .permute_and_flip import Flips
from .threshold_counts import Counts

MAX_ITEMS = 16  # 2**16 sets times 121 levels is 63 MB; counts below 16! are exact in a double


def _check_size(n_items):
    if not 1 <= n_items <= MAX_ITEMS:
        raise ValueError(
            f"linear extensions are counted for 1 to {MAX_ITEMS} items, got {n_items}; "
            "use an order restricted to a window around an anchor instead."
        )


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
    """Sampler of orders with probability proportional to exp(-scale * u), u the largest violated margin.

    u(order) is the maximum of margins[i, j] over the pairs with j before i in the order. It is signed and never clipped
    at 0: if u is negative, the order agrees with every majority, and each majority is at least -u.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i; 1 to 16 items. The diagonal is ignored.
    scale : float
        At least 0. One ballot changes every margin, and so u, by at most 1 if neighbours add or remove a ballot (2 if
        they replace one). The exponential mechanism uses epsilon / 2 (epsilon / 4).

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

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> sampler = MinimaxMarginSampler(margins, scale=0.5)
    >>> sampler.sample(2, SeededBits(np.random.SeedSequence(0))).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """

    def __init__(self, margins, scale):
        margins = checked_margins(margins, scale)
        self.n_items = len(margins)
        values, self._extensions = _levels(margins)
        with np.errstate(divide="ignore"):
            log_counts = np.log(self._extensions.of_all)
        self._log_weights = level_log_weights(log_counts, values.astype(float), scale)
        self._level = Choice(self._log_weights)

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,)."""
        return self._extensions.draw(self._level.draw(bits), bits)


class MinimaxMarginFlips(OrderSampler):
    """Permute-and-flip by the largest violated margin u: draws the order with the largest -scale * u + Exp(1).

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        As for `MinimaxMarginSampler`; integers.
    scale : float
        At least 0; the same as for the exponential mechanism.

    Raises
    ------
    ValueError
        As for `MinimaxMarginSampler`.

    Notes
    -----
    The number of orders with each value of u is a difference of two counts of linear extensions. `Flips` draws u. One
    of its orders is then drawn uniformly, with exact integers. Orders are not listed, and no draw is rejected.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> MinimaxMarginFlips(margins, scale=0.5).sample(2, SeededBits(np.random.SeedSequence(0))).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """

    def __init__(self, margins, scale):
        margins = checked_margins(margins, scale)
        self.n_items = len(margins)
        values, self._extensions = _levels(margins)
        self._level = Flips(values, np.diff(self._extensions.of_all, prepend=0), scale)

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,)."""
        return self._extensions.draw(self._level.draw(bits), bits, first=True)


def _levels(margins):
    """Return the possible values of the largest violated margin, ascending, and the orders up to each, as `Counts`."""
    n_items = len(margins)
    _check_size(n_items)
    distinct = ~np.eye(n_items, dtype=bool)
    values = np.unique(margins[distinct]) if n_items > 1 else np.zeros(1)
    # Every order violates one direction of each pair, so u is at least this floor.
    floor = np.max(np.minimum(margins, margins.T)[distinct], initial=values[0])
    values = values[values >= floor]
    return values, Counts(np.where(distinct, np.searchsorted(values, margins), 0), len(values))
