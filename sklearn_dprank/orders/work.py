"""How much work a search may do: counted, so that what it finds does not depend on the machine."""

import math
import time

WORK_LIMIT = 10_000  # units: about ten seconds
_UNIT = 10**6  # steps of about a nanosecond each
_PROGRAM, _LINE, _ITERATION, _FILL = 3_000_000, 2000, 8, 1800  # see `program_steps`


class Work:
    """What is left to spend.

    A step is what takes about a nanosecond. Every loop says how many it takes, from the sizes that it works on and
    the solver's iterations, never from a clock.

    Parameters
    ----------
    limit : float, default=inf
        Units of a million steps, about a millisecond each.
    seconds : float or None, default=None
        Wall clock that ends the work too, whatever is left.

    Attributes
    ----------
    left : float
        Steps that are left; below 0 once the last step took more.

    Examples
    --------
    >>> from sklearn_dprank.orders.work import Work
    >>> work = Work(limit=1)
    >>> work.spend(999_999)
    >>> work.over
    False
    >>> work.spend(1)
    >>> work.over
    True
    """

    def __init__(self, limit=math.inf, seconds=None):
        self.left = limit * _UNIT
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds
        self._whole = None

    @property
    def over(self):
        """Whether nothing is left, or the time is up."""
        return self.left <= 0 or self.seconds <= 0

    @property
    def seconds(self):
        """Seconds of wall clock that are left; infinite without a limit."""
        return math.inf if self._deadline == math.inf else self._deadline - time.monotonic()

    def spend(self, steps):
        """Count steps, here and in what this is a part of."""
        self.left -= steps
        if self._whole is not None:
            self._whole.spend(steps)

    def share(self, steps):
        """Return the share of what is left that so many steps take; infinite where nothing is left."""
        left = min(self.left, self.seconds * 1000 * _UNIT)
        return steps / left if left > 0 else math.inf

    def part(self, share):
        """Return a part of the steps and the seconds that are left, in [0, 1]; what it spends is spent here."""
        part = Work.__new__(Work)
        part.left = max(self.left, 0) * share
        seconds = self.seconds
        part._deadline = self._deadline - (1 - share) * max(seconds, 0) if seconds < math.inf else math.inf
        part._whole = self
        return part


def program_steps(size, iterations):
    """Return about how many steps a linear program takes.

    Parameters
    ----------
    size : int
        Rows and columns together.
    iterations : int
        Of the simplex method; the later ones take longer, as the basis fills.

    Returns
    -------
    float
    """
    return _PROGRAM + size * (_LINE + _ITERATION * iterations + iterations**2 / _FILL)


def most_iterations(size, steps):
    """Return how many iterations `steps` pay for: the inverse of `program_steps`."""
    rest = (steps - _PROGRAM) / size - _LINE
    half = _ITERATION * _FILL / 2
    return int(math.sqrt(half**2 + rest * _FILL) - half) if rest > 0 else 0
