"""How much work a search may do: counted, so that what it finds does not depend on the machine."""

import math
import time
from typing import NamedTuple

WORK_LIMIT = 10_000  # units: about ten seconds
_UNIT = 10**6  # steps of about a nanosecond each


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


class Pace(NamedTuple):
    """How long a simplex method takes, in steps.

    Attributes
    ----------
    start : float
        For a program, whatever its size.
    line : float
        For each row and column.
    iteration : float
        For each row and column in an iteration at first.
    filled : float
        More of it once the basis is full.
    half : float
        After how many iterations the basis is half full.
    """

    start: float
    line: float
    iteration: float
    filled: float
    half: float

    def steps(self, size, iterations, done=0):
        """Return about how many steps a program of `size` rows and columns takes, `done` iterations from the start."""
        return self.start + size * (self.line + iterations * self._each(done + iterations))

    def iterations(self, size, steps, done=0):
        """Return how many iterations `steps` pay for at least."""
        rest = max(0.0, (steps - self.start) / size - self.line)
        at_most = rest / self._each(done)
        return int(rest / self._each(done + at_most))

    def _each(self, done):
        return self.iteration + self.filled * done / (done + self.half)


COLD = Pace(start=3_000_000, line=2000, iteration=8, filled=40, half=60_000)  # SciPy, which starts each program anew
WARM = Pace(start=200_000, line=500, iteration=3, filled=20, half=3000)  # HiGHS, from the last basis
