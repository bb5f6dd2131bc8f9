"""Tight adaptive composition of choices of bounded range, such as those of the exponential mechanism.

A choice has range w if the logs of its probability ratios under two neighbours lie in an interval of length w, for all
outcomes. The exponential mechanism with epsilon w has range w, which is stronger than pure epsilon w.

Let V_k(epsilon) be the largest delta of k adaptive choices at epsilon, with V_0(epsilon) = max(0, 1 - e^epsilon). The
loss of the first choice lies in some interval from t - w to t, with 0 <= t <= w, and V_k-1 is convex as a function of
e^epsilon. The worst choice therefore has the two losses t, with probability q, and t - w. The mean of e^-loss is 1, so
q = (e^w - e^t) / (e^w - 1), and

    V_k(epsilon) = max over t of q V_k-1(epsilon - t) + (1 - q) V_k-1(epsilon - t + w).

References
----------
Durfee and Rogers (2019), "Practical differentially private top-k selection with pay-what-you-get composition", for
bounded range; Dong, Durfee and Rogers (2020), "Optimal differential privacy composition for exponential mechanisms and
the cost of adaptivity", for the worst choice and the recursion.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from .calibration import gaussian_sigma
from .rounding import rounded_down

_STEPS, _FEW_STEPS, _MANY = 16, 8, 256  # grid steps per range, and above this number of choices
_FAR = 16.0  # standard deviations of the total loss; a loss beyond them has a probability below 1e-55
_LARGEST = 50.0  # epsilon per choice from which the sum of epsilons is used
_SLACK = 1e-9  # relative; far above the rounding errors of the sums


def range_deltas(width: float, n_choices: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an upper bound on the total delta of adaptive choices, on a grid of epsilons.

    Parameters
    ----------
    width : float
        Range of each choice; positive.
    n_choices : int
        Number of choices.

    Returns
    -------
    epsilons, deltas : ndarray of float, shape (n_values,)
        Ascending epsilons from 0, and the bound at each. Above the grid, it is at most the last delta.

    Notes
    -----
    Between two grid points, let t = jh + log(1 + (e^h - 1) x), with x from 0 to 1. The perspective of a convex function
    is convex, so e^t V(epsilon - t) lies below its chord in x, and so does e^t V(epsilon - t + w). With these chords
    and the linear q, the maximum over x is that of a quadratic polynomial over a linear one. As a rational Bezier
    curve, it is at most the largest of its three control values: both ends, and `middle`.
    """
    steps = _STEPS if n_choices <= _MANY else _FEW_STEPS
    far = math.ceil(_FAR * math.sqrt(n_choices) / 2 + width * n_choices / 8)
    step, most = width / steps, steps * min(n_choices, far)
    epsilons: NDArray[np.float64] = step * np.arange(most + 1, dtype=np.float64)
    deltas = np.zeros(most + 1)
    t = step * np.arange(steps + 1)
    high = np.exp(t) * np.expm1(step * np.arange(steps, -1, -1)) / math.expm1(width)  # q, for loss t
    low = np.expm1(t) / math.expm1(width)  # 1 - q, for loss t - w
    growth, size = math.exp(step), most + 1
    for _ in range(n_choices):
        below = _mirrored(epsilons[steps:0:-1], deltas[steps:0:-1])
        known = np.concatenate([below, deltas, np.full(steps, deltas[-1])])
        after_high = [known[steps - j : steps - j + size] for j in range(steps + 1)]
        after_low = [known[2 * steps - j : 2 * steps - j + size] for j in range(steps + 1)]
        for j in range(steps + 1):
            np.maximum(deltas, high[j] * after_high[j] + low[j] * after_low[j], out=deltas)
            if j < steps:
                middle = growth * (high[j] * after_high[j + 1] + low[j] * after_low[j + 1])
                middle += high[j + 1] * after_high[j] + low[j + 1] * after_low[j]
                np.maximum(deltas, middle / (1 + growth), out=deltas)
    return epsilons, deltas


def _mirrored(epsilons, deltas):
    """Return the deltas at -epsilons; the two neighbours can be exchanged."""
    return np.exp(-epsilons) * deltas - np.expm1(-epsilons)


def range_delta(epsilon: float, width: float, n_choices: int) -> float:
    """Return an upper bound on the delta of adaptive choices of range `width` at `epsilon`.

    Examples
    --------
    >>> round(range_delta(1.0, 0.1, 44), 9), range_delta(1.0, 0.5, 2)
    (0.000215873, 0.0)
    """
    if epsilon < 0:
        return float(_mirrored(-epsilon, range_delta(-epsilon, width, n_choices)))
    epsilons, deltas = range_deltas(width, n_choices)
    above = int(np.searchsorted(epsilons, epsilon, side="right"))
    if above == len(epsilons):
        return 0.0 if epsilon >= n_choices * width else float(deltas[-1])
    before, after = np.expm1(epsilons[above - 1 : above + 1] - epsilon)
    share = -before / (after - before)  # the chord in e^epsilon lies above the convex curve
    return float((1 - share) * deltas[above - 1] + share * deltas[above])


@lru_cache(maxsize=256)
def choice_range(epsilon: float, delta: float, n_choices: int) -> float:
    """Return about the largest range for which adaptive choices are together (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        Total epsilon; positive.
    delta : float
        Total delta, strictly between 0 and 1.
    n_choices : int
        Number of choices, each of which may depend on the results of earlier ones.

    Returns
    -------
    float
        Rounded down. At least epsilon / n_choices, the range of choices whose epsilons add up. For many choices and
        delta = 1e-6, it is 8 % larger than sqrt(8 rho / n_choices), with the rho of zero-concentrated differential
        privacy that gives (epsilon, delta).

    Examples
    --------
    >>> round(choice_range(1.0, 1e-6, 44), 4), round(1 / 44, 4)
    (0.0712, 0.0227)
    """
    basic = rounded_down(epsilon / n_choices * (1 - 2.0**-50))
    if basic > _LARGEST:
        return basic

    allowed = delta * (1 - _SLACK)

    def excess(log_width):
        return math.log(max(range_delta(epsilon, math.exp(log_width), n_choices), 5e-324)) - math.log(allowed)

    # Many choices lose about as much as one Gaussian release with mu = width sqrt(n_choices) / 2.
    guess = 1.9 / (gaussian_sigma(epsilon, max(delta, 1e-200)) * math.sqrt(n_choices))
    low = math.log(max(basic, min(guess, _LARGEST)))
    if excess(low) > 0:
        low = math.log(basic)
        if excess(low) > 0:  # by rounding: exp(log(basic)) may be above basic, and delta next to nothing
            return basic
    high, ahead = low, 0.1
    while excess(high) <= 0:
        low, high, ahead = high, high + ahead, 2 * ahead
        if high > math.log(2 * _LARGEST):
            return math.exp(low)
    width = math.exp(brentq(excess, low, high, xtol=1e-7))
    while width > basic and range_delta(epsilon, width, n_choices) > allowed:
        width *= 1 - 1e-7
    return max(width, basic)
