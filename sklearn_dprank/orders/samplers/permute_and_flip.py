"""Permute-and-flip over many options with few distinct costs, from the number of options of each cost.

Permute-and-flip (McKenna and Sheldon 2020) visits the options in random order and takes each with probability
exp(-rate (cost - least cost)), until one is taken. Its distribution is that of the option with the largest
-rate cost + Exp(1), with independent standard exponential variables (Ding et al. 2021). Among n options of the same
cost, only the largest variable matters. Its distribution function is (1 - e^-x)^n, so one draw replaces n.
"""

import numpy as np

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
    >>> from sklearn_dprank.orders.samplers.permute_and_flip import Flips
    >>> from sklearn_dprank.sampling.streams import SeededBits
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
    >>> from sklearn_dprank.orders.samplers.permute_and_flip import largest_exponentials
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> drawn = largest_exponentials(np.log(np.full(1000, 1e6)), SeededBits(0))
    >>> bool(abs(drawn.mean() - (np.log(1e6) + 0.5772)) < 0.2)  # the mean is the harmonic number
    True
    """
    log_w = _log_exponentials(len(log_counts), bits) - log_counts  # -ln U / n
    w = np.exp(np.maximum(log_w, _SMALL))
    with np.errstate(divide="ignore"):
        out = np.where(w < np.log(2), -np.log(-np.expm1(-w)), -np.log1p(-np.exp(-w)))
    return np.where(log_w < _SMALL, -log_w, out)


def _log_exponentials(size, bits):
    """Return logs of standard exponential variables, by inversion from either tail, separated at the median log 2."""
    log_v = bits.log_uniform(size)
    small = np.where(log_v < _SMALL, log_v - np.log(2), np.log(-np.log1p(-np.exp(np.maximum(log_v, _SMALL)) / 2)))
    return np.where(bits.coins(size), small, np.log(np.log(2) - log_v))


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
    >>> from sklearn_dprank.orders.samplers.permute_and_flip import log_flip_error
    >>> log_flip_error(5000.0, 30.0) < 1e-11
    True
    """
    return 2.0**-53 * (10 * exponent + 20 * log_options + 50)
