"""Drawing one of several options by its weight, however unlikely it is.

Weights come as their logs. The options are lined up from the least likely to the most, so that sums of small weights
are not lost beside large ones, and the uniform number that picks one has full relative precision
(`bits.log_uniform`): an option of probability e^-1000 has that probability, and comes when it is due.
"""

from bisect import bisect_right

import numpy as np

_DEEP = -600.0  # exp of it, and of what is added up near it, still has all its digits


class Choice:
    """One of several options.

    Parameters
    ----------
    log_weights : array of float, shape (k,)
        Logs of the weights, up to a constant; -inf is never drawn, and one at least is finite.

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
        """Return the index of the option at the log of a number in (0, 1)."""
        return self._options[bisect_right(self._log_mass, log_uniform)]

    def draw(self, bits):
        """Draw the index of an option."""
        return self.at(bits.one_log_uniform())


class CountedChoice:
    """One of several options by how many ways each comes about: exactly, for whole numbers.

    Parameters
    ----------
    counts : array of int, or of float without fractions, shape (k,)
        Their sum is at least 1 and at most 2**53; an option of 0 is never drawn.

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
    """Draw one option a row, as `Choice` does.

    Parameters
    ----------
    log_weights : array of float, shape (n, k)
        Logs of the weights, up to a constant a row.
    bits : BitSource
        Where the randomness comes from.

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
    """Bound the relative error of the probability of what is drawn by one choice after another.

    Parameters
    ----------
    options : int
        Most options of one choice.
    exponent : float
        A bound on minus the log of the probability of all that is drawn.
    choices : int, default=1
        How many choices.

    Returns
    -------
    float
        A bound on the error of its log.

    Notes
    -----
    Let u = 2**-53 and -t the log of an option's probability. A cumulative probability c up to that option is off by a
    factor of at most 1 + u (2 t + 2) of its own (those before it share all earlier errors), and the uniform number it
    is compared with by 1 + u (t + 2). As the option is the largest up to it, c is at most `options` times its
    probability, which is thus right up to u options (3 t + 4); the sum of t over all choices is at most `exponent`.
    """
    return 2.0**-53 * options * (3 * exponent + 4 * choices)
