"""Posterior of the unknown spread of true values under noise, on a grid.

The prior of a spread is half-Cauchy, with a quarter of the noise's standard deviation as its scale. A plug-in estimate
of the spread would claim too much at low signal: the estimate is large where the noise is large by chance.
"""

import numpy as np
from numpy.typing import NDArray

_LOG_SPREADS = np.arange(-4.2, 9.2, 0.25)
#: Spreads in units of the noise's standard deviation; nothing is seen of smaller ones, and larger ones shrink nothing.
SPREADS = np.exp(_LOG_SPREADS)
#: Logarithm of the prior density of log t: t / (1/16 + t^2), up to a constant.
LOG_PRIOR = _LOG_SPREADS - np.log(1 / 16 + SPREADS**2)
_NEGLIGIBLE = 1e-3  # of the posterior mass, in total


def likely(log_posterior: NDArray[np.float64]) -> list[tuple[tuple[int, ...], float]]:
    """Return (index, probability) of the grid points that hold all of the posterior but a thousandth.

    Parameters
    ----------
    log_posterior : ndarray
        Unnormalised log density on a grid of any shape.

    Examples
    --------
    >>> likely(np.log([1e-5, 3.0, 1.0]))
    [((1,), 0.75), ((2,), 0.25)]
    """
    mass = np.exp(log_posterior - log_posterior.max()).ravel()
    order = mass.argsort(kind="stable")[::-1]
    below = mass[order].cumsum()
    kept = order[: int(np.searchsorted(below, (1 - _NEGLIGIBLE) * below[-1])) + 1]
    places = np.column_stack(np.unravel_index(kept, log_posterior.shape)).tolist()
    return list(zip(map(tuple, places), (mass[kept] / mass[kept].sum()).tolist(), strict=True))
