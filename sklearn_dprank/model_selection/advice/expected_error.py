"""The error to expect on the reference electorate, read off the simulated table."""

import math

import numpy as np

from .table import ERRORS, GRIDS, REFERENCE, UNIT

#: Errors are not told apart below this; what is simulated as less is given as this.
RESOLUTION = 1e-4
#: Excess error of an order drawn at random, on any electorate like the reference: nothing is worse on average.
RANDOM_ORDER = round(0.5 - REFERENCE, 6)


def expected_error(family, n_items, x):
    """Return the excess error of a family of mechanisms, as simulated or between what was.

    Parameters
    ----------
    family : {"knorm", "gaussian", "prudent", "two_stage"}
        Which curves: `DPBorda` with K-norm noise, Borda with normal noise, `DPPrudentOrder`, its two-stage form.
    n_items : int
        Number of items m.
    x : float
        Signal n epsilon over m, ln m! or m^2 (n epsilon halved under "replace"); for "gaussian" the standard
        deviation of the noise on an item's mean rank, over m.

    Returns
    -------
    float
        Between `RESOLUTION` and `RANDOM_ORDER`, monotone in x.

    Notes
    -----
    Between simulated points the logarithm of the error is linear in ln x and in ln m; on few items that is some
    percent too low. Curves of the smallest and largest simulated m stand in for those beyond: in these units the Borda
    curves of 45 and 100 items differ by some 5 %. Where there is more noise than was simulated the error is that
    of a random order, which is a bound; where there is less, it is the last one simulated, which is a bound too.
    """
    curves = ERRORS[family]
    sizes = sorted(curves)
    size = min(max(n_items, sizes[0]), sizes[-1])
    low, high = max(each for each in sizes if each <= size), min(each for each in sizes if each >= size)
    share = 0.0 if low == high else math.log(size / low) / math.log(high / low)
    below, above = (_log_error(GRIDS[family], curves[each], x) for each in (low, high))
    return round(math.exp((1 - share) * below + share * above), 6)


def _log_error(grid, errors, x):
    """Return the logarithm of the error at x on one curve; `grid` runs from much noise to little."""
    less_noise = -1 if grid[0] > grid[-1] else 1  # the sign with which ln x grows as noise falls
    place, places = less_noise * math.log(max(x, 1e-300)), less_noise * np.log(grid)
    logs = np.log(np.maximum(np.multiply(errors, UNIT), RESOLUTION))
    return float(np.interp(place, places, logs, left=math.log(RANDOM_ORDER)))
