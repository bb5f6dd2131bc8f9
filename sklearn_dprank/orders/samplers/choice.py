"""Random choice by log weights, accurate for very unlikely options.

Weights are given as their logs. Options are sorted from the least to the most likely, so that sums of small weights are
not lost beside large ones. The uniform number that selects an option has full relative precision (`bits.log_uniform`).
An option of probability e^-1000 is therefore drawn with that probability.
"""

from bisect import bisect_right

import numpy as np

_DEEP = -600.0  # exp of it, and sums of such values, still have full precision


class Choice:
    """Random choice among options by log weight.

    Parameters
    ----------
    log_weights : array of float, shape (k,)
        Logs of the weights, up to a constant. At least one is finite; options with -inf are never drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.samplers.choice import Choice
    >>> choice = Choice(np.log([1.0, 3.0]))
    >>> [choice.at(np.log(u)) for u in (0.2, 0.3)]
    [0, 1]
    """

    def __init__(self, log_weights):
        self._options, mass = _lined_up(log_weights)
        self._log_mass = mass.tolist()

    def at(self, log_uniform):
        """Return the index of the option that the log of a number in (0, 1) selects."""
        return self._options[bisect_right(self._log_mass, log_uniform)]

    def draw(self, bits):
        """Draw the index of an option."""
        return self.at(bits.one_log_uniform())


class CountedChoice:
    """Exact random choice among options in proportion to integer counts.

    Parameters
    ----------
    counts : array of int, or of float without fractions, shape (k,)
        The sum is at least 1 and at most 2**53; options with count 0 are never drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.samplers.choice import CountedChoice
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> CountedChoice(np.array([0.0, 3.0, 0.0])).draw(SeededBits(0))
    1
    """

    def __init__(self, counts):
        self._cumulative = [int(count) for count in counts.cumsum()]

    def draw(self, bits):
        """Draw the index of an option."""
        return bisect_right(self._cumulative, bits.integer(self._cumulative[-1]))


def _lined_up(log_weights):
    """Return (options, logs of cumulative probabilities), the least likely first."""
    order = np.argsort(log_weights, kind="stable")
    order = order[np.asarray(log_weights)[order] > -np.inf]
    mass = np.logaddexp.accumulate(np.asarray(log_weights, dtype=float)[order])
    mass -= mass[-1]
    return order.tolist(), mass


def draw_each(log_weights, bits):
    """Draw one option per row, as `Choice` does.

    Parameters
    ----------
    log_weights : array of float, shape (n, k)
        Logs of the weights, up to a constant per row.
    bits : BitSource
        Source of randomness.

    Returns
    -------
    ndarray of int, shape (n,)
        Indices of options.
    """
    log_weights = np.asarray(log_weights, dtype=float)
    order = np.argsort(log_weights, axis=1)
    ascending = np.take_along_axis(log_weights, order, axis=1)
    mass = np.exp(ascending - ascending[:, -1:]).cumsum(axis=1)
    where = bits.log_uniform(len(log_weights))
    target = np.exp(where) * mass[:, -1]
    place = np.minimum((mass <= target[:, None]).sum(axis=1), log_weights.shape[1] - 1)
    out = np.take_along_axis(order, place[:, None], axis=1)[:, 0]
    for row in np.flatnonzero(where < _DEEP):
        out[row] = Choice(log_weights[row]).at(where[row])
    return out


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
