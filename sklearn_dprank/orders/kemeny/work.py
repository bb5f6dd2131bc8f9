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
    >>> from sklearn_dprank.orders.kemeny.work import Work
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

    An iteration takes the longer, the fuller the basis is; and it fills with the iterations since it was empty, each of
    which brings in a column at most. How full it is tells how many iterations there were for each row and column.

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
        After how many iterations for each row and column the basis is half full.

    Examples
    --------
    >>> from sklearn_dprank.orders.kemeny.work import Pace
    >>> pace = Pace(start=100, line=10, iteration=1, filled=8, half=0.5)
    >>> pace.steps(size=20, iterations=10)  # 100 + 20 * (10 + 10 * (1 + 8 / 2))
    1300.0
    >>> pace.iterations(size=20, steps=1300)
    10
    """

    start: float
    line: float
    iteration: float
    filled: float
    half: float

    def steps(self, size, iterations, done=0):
        """Return about how many steps a program of `size` rows and columns takes, `done` iterations from the start."""
        fullness = ((done + iterations) / size) ** 2
        each = self.iteration + self.filled * fullness / (fullness + self.half**2)
        return self.start + size * (self.line + iterations * each)

    def iterations(self, size, steps, done=0):
        """Return how many iterations `steps` pay for."""
        paid, dear = 0, 2 + int(max(0.0, steps - self.start) / (size * self.iteration))
        while dear - paid > 1:
            middle = (paid + dear) // 2
            paid, dear = (middle, dear) if self.steps(size, middle, done) <= steps else (paid, middle)
        return paid


COLD = Pace(start=3_000_000, line=1000, iteration=1, filled=30, half=0.6)  # SciPy, which starts each program anew
WARM = Pace(start=200_000, line=2000, iteration=1, filled=18, half=0.5)  # HiGHS, from the last basis
