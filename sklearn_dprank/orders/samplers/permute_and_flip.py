"""Permute-and-flip among options of few different costs, without listing them: only how many there are of each cost.

Permute-and-flip (McKenna and Sheldon 2020) goes through the options in random order and takes each with probability
exp(-rate (cost - least cost)), the first that it takes. That is the same law as the option with the largest -rate cost
+ Exp(1), with independent standard exponential variables (Ding et al. 2021). Of n options of one cost only the largest
variable matters; its distribution function is (1 - e^-x)^n, so that one draw does for all of them.
"""

import numpy as np

_SMALL = -40.0  # log of z; below, 1 - e^-z is z


class Flips:
    """The cost of the option that permute-and-flip takes.

    Parameters
    ----------
    costs : array of int, shape (k,)
        The different costs.
    counts : array of int, or of float without fractions, shape (k,)
        How many options have each; 0 is never taken, and one at least is positive.
    rate : float
        At least 0. If one ballot moves every cost by at most d, this loses 2 rate d.

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
        The logs of n.
    bits : BitSource
        Where the randomness comes from.

    Returns
    -------
    array of float, shape (k,)
        -ln(1 - U^(1 / n)) for uniform U, with relative precision at both ends: there is no largest value.

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
    """Return logs of standard exponential variables, by inversion from either tail: one half lies below log 2."""
    log_v = bits.log_uniform(size)
    small = np.where(log_v < _SMALL, log_v - np.log(2), np.log(-np.log1p(-np.exp(np.maximum(log_v, _SMALL)) / 2)))
    return np.where(bits.coins(size), small, np.log(np.log(2) - log_v))


def log_flip_error(exponent, log_options):
    """Bound the relative error of the probability of any option that is drawn with `Flips`.

    Parameters
    ----------
    exponent : float
        A bound on rate times the difference of two costs, which are integers below 2**52.
    log_options : float
        The log of the number of options, or more.

    Returns
    -------
    float
        A bound on the error of its log.

    Notes
    -----
    Let u = 2**-53, N the number of options, n those of one cost, r >= 0 its penalty and X the largest variable E of
    these n. With y standard exponential, E = -ln(1 - e^-z), z = y / n. The uniform number behind y is right up to
    2 u, ln y up to u (1.5 abs(ln y) + 8), ln z up to u (2 abs(ln z) + 3 ln n + 8). As abs(dE / d ln z) = z / (e^z - 1)
    is at most 1 and abs(ln z) <= E where z < 1, E is right up to u (4 E + 4 ln N + 16), and E - r up to
    u (5 E + 4 ln N + 2 r + 16). An option's own variable must exceed a threshold T <= M + r, M the largest variable of
    all the others; the hazard of the largest of n exponentials is at most 1, so that moving T and the variable together
    by d changes the log of the chance by at most d, here u (10 M + 7 r + 2 r' + 8 ln N + 32), r' the penalty of the
    option that sets the threshold. The chance falls with M and its relative error grows with M, so that on average the
    error is at most that at the mean of M, which is at most ln N + 1. The constants are rounded up.

    Examples
    --------
    >>> from sklearn_dprank.orders.samplers.permute_and_flip import log_flip_error
    >>> log_flip_error(5000.0, 30.0) < 1e-11
    True
    """
    return 2.0**-53 * (10 * exponent + 20 * log_options + 50)
