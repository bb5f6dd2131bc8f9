"""Alabi et al. (2022), lower bounds with their constants: the error that no curator can avoid (Theorems 13 and 14).

The theorems say how many voters it takes, up to constants that they do not give. Both floors here are additive errors:
for every private algorithm there are votes with E K(sigma, votes) >= ratio OPT + floor. They hold for local algorithms
all the more.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit, gammaln

from .._utils.checks import at_least_two, check_number, check_whole, positive

_LARGEST = 400  # items: beyond, the integers of `_nearby` take more than a few seconds


@lru_cache(maxsize=32)
def _nearby(n_items):
    """Return the logarithms of the shares of all rankings within 0, 1, ..., C(m, 2) inversions of one.

    By integers: they stay exact where shares would underflow. The k-th item passes 0 to k - 1 others.
    """
    counts = np.ones(1, dtype=object)
    for k in range(2, n_items + 1):
        summed = np.cumsum(np.append(counts, [0] * (k - 1)))
        counts = summed - np.append([0] * k, summed)[: len(summed)]
    everything = math.log(math.factorial(n_items))
    return np.array([math.log(within) - everything for within in np.cumsum(counts)])


def packing_floor(n_voters: int, n_items: int, epsilon: float) -> float:
    """Return the additive error that no epsilon-private algorithm avoids, whatever its approximation ratio.

    Parameters
    ----------
    n_voters, n_items : int
        Numbers n and m; m at most 400.
    epsilon : float
        Privacy parameter, of one ballot replaced; twice that of one added or removed.

    Returns
    -------
    float
        Sum over r = 0, 1, ..., C(m, 2) - 1 of (1 - V) / (1 - V + e^(epsilon n) V), V being the share of all rankings
        within r inversions of one: half of all pairs where nothing is told, next to nothing from epsilon n = ln m! on.

    Notes
    -----
    Let all n voters hold one ranking pi, so that OPT = 0. Exchanging them all changes no probability by more than a
    factor e^(epsilon n). Of what is output, a share V of all pi is within r inversions; if these make it e^(epsilon n)
    times likelier than the others do, it is right within r with probability e^(epsilon n) V/(1 - V + e^(epsilon n) V),
    averaged over pi, and nothing does better. The sum over r of what is left is a mean distance.

    The paper packs codewords pi^x into the space of rankings, which shows the same growth; here all rankings are the
    packing, and every term is as large as it can be.

    References
    ----------
    Alabi et al. (2022), Theorem 13; Hardt and Talwar (2010).

    Examples
    --------
    >>> packing_floor(10, 20, 1e-9)  # of 190 pairs
    94.99...
    >>> round(packing_floor(10, 20, 1.0), 2), packing_floor(50, 20, 1.0) < 1e-3
    (38.58, True)
    """
    check_whole(n_voters, "n_voters")
    check_whole(n_items, "n_items", 2, _LARGEST)
    positive(epsilon=epsilon)
    near = _nearby(n_items)[:-1]
    far = near[::-1]  # reversed, a ranking of more than r inversions has less than C(m, 2) - r
    return float(expit(far - near - epsilon * n_voters).sum())


def packing_voters(n_items: int, epsilon: float, additive: float | None = None) -> int:
    """Return how many voters an additive error takes at least, at any approximation ratio (Theorem 13).

    Parameters
    ----------
    n_items : int
        Number m of items, at most 400.
    epsilon : float
        Privacy parameter.
    additive : float or None, default=None
        The error, in pairs a voter; None is the paper's .01 m^2.

    Returns
    -------
    int
        The least n with `packing_floor` at most `additive`: the paper's Omega(m/epsilon), by its constant.

    References
    ----------
    Alabi et al. (2022), Theorem 13.

    Examples
    --------
    >>> [packing_voters(m, epsilon=0.1) for m in (10, 20, 40, 80)]
    [142, 343, 801, 1789]
    """
    check_whole(n_items, "n_items", 2, _LARGEST)
    positive(epsilon=epsilon)
    error = 0.01 * n_items**2 if additive is None else additive
    positive(additive=error)
    # there even the largest term, 1/V = m! at r = 0, is small enough
    enough = math.ceil(max(math.lgamma(n_items + 1) + math.log(math.comb(n_items, 2) / error), 0) / epsilon) + 1
    low, high = 0, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if packing_floor(middle, n_items, epsilon) <= error else (middle, high)
    return high


_SHAPES = np.geomspace(0.01, 30, 80)[:, None]  # gamma; every value gives a true bound


def fingerprint_floor(n_voters: int, n_items: int, epsilon: float, delta: float, ratio: float = 1.0) -> float:
    """Return an additive error that no (epsilon, delta)-private algorithm of this ratio avoids (Theorem 14).

    Parameters
    ----------
    n_voters, n_items : int
        Numbers n and m.
    epsilon, delta : float
        Privacy parameters, of one ballot replaced.
    ratio : float, default=1.0
        The approximation ratio alpha.

    Returns
    -------
    float
        The largest, over d, t = m - 2 d and gamma > 0, of

            t d (1 - alpha (1 - h) (1 + (2 d - 3/2)/t) - (n + 2 gamma)/(2 gamma) D), not below 0,

        h = Gamma(gamma + 1/2) / (sqrt(pi) Gamma(gamma + 1)), v = 2 gamma/(2 gamma + 1) and
        D = sinh(epsilon) sqrt(v/d) + (1 + e^-epsilon) delta v. It is a constant share of m^2 as long as n is below a
        constant times sqrt(m)/epsilon and delta below one over n.

    Notes
    -----
    The theorem is printed for (1, o(1/n))-privacy and n = o(sqrt(m)/epsilon); epsilon is meant in both places.

    The constants are derived here. Draw p_j in [-1, 1] with density in proportion to (1 - p^2)^(gamma - 1), votes pi^x
    with E x_j = p_j, and let y be `marginal_leanings` of the output. By parts, the sum over voters of E <y, x - p>
    is 2 gamma E <y, p>, and E <y, mean x> exceeds E <y, p> by a share 1/n of that sum. Privacy holds each voter's term
    to d D: with a fresh vote in its place it would have mean 0, and at most sqrt(d v) on average. And
    t (d - E <y, mean x>) <= E K <= alpha OPT + beta with OPT <= d (1 - h) (t + 2 d - 3/2), the cost of the signs of p,
    where a wrong sign crosses every middle item twice and others of the 2 d at most 4 d - 3 times.

    References
    ----------
    Alabi et al. (2022), Theorem 14; Dwork, Smith, Steinke, Ullman and Vadhan (2015), Steinke and Ullman (2017).

    Examples
    --------
    >>> round(fingerprint_floor(5, 400, 0.1, 1e-9))
    14484
    >>> fingerprint_floor(1000, 400, 0.1, 1e-9)
    0.0
    """
    check_whole(n_voters, "n_voters")
    at_least_two(n_items=n_items)
    positive(epsilon=epsilon)
    check_number(delta, "delta", least=0, below=1)
    check_number(ratio, "ratio", least=1)
    d = np.arange(1, (n_items - 1) // 2 + 1)
    if d.size == 0:
        return 0.0
    t = n_items - 2 * d
    h = np.exp(gammaln(_SHAPES + 0.5) - gammaln(_SHAPES + 1)) / math.sqrt(math.pi)
    v = 2 * _SHAPES / (2 * _SHAPES + 1)
    told = math.sinh(epsilon) * np.sqrt(v / d) + (1 + math.exp(-epsilon)) * delta * v
    agreed = 1 - ratio * (1 - h) * (1 + (2 * d - 1.5) / t)
    floors = t * d * (agreed - (n_voters / (2 * _SHAPES) + 1) * told)
    return max(0.0, float(floors.max()))
