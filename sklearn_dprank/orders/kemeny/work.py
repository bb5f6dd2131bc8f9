"""Work limits for searches, counted in steps so that results do not depend on the machine."""

import math
import time
from typing import NamedTuple

WORK_LIMIT = 6_000  # units: 6 to 14 seconds
_UNIT = 10**6  # steps, about a nanosecond each


class Work:
    """Remaining work of a search.

    A step takes about a nanosecond. Every loop reports its steps, computed from the sizes of its data and the solver's
    iterations, never from a clock.

    Parameters
    ----------
    limit : float, default=inf
        Units of a million steps, about a millisecond each.
    seconds : float or None, default=None
        Limit on wall-clock time, in addition to `limit`.

    Attributes
    ----------
    left : float
        Remaining steps; negative if the last loop exceeded the limit.

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
        """Whether the steps or the time are used up."""
        return self.left <= 0 or self.seconds <= 0

    @property
    def seconds(self):
        """Remaining seconds of wall-clock time; infinite without a limit."""
        return math.inf if self._deadline == math.inf else self._deadline - time.monotonic()

    def spend(self, steps):
        """Subtract steps, here and from the work that this is a part of."""
        self.left -= steps
        if self._whole is not None:
            self._whole.spend(steps)

    def share(self, steps):
        """Return the fraction of the remaining work that these steps take; infinite if none is left."""
        left = min(self.left, self.seconds * 1000 * _UNIT)
        return steps / left if left > 0 else math.inf

    def part(self, share):
        """Return a fraction, in [0, 1], of the remaining steps and seconds. Its steps are also subtracted here."""
        part = Work.__new__(Work)
        part.left = max(self.left, 0) * share
        part._deadline = self._deadline
        if self._deadline < math.inf:
            part._deadline -= (1 - share) * max(self.seconds, 0)
        part._whole = self
        return part


class Pace(NamedTuple):
    """Cost model of a simplex method, in steps.

    An iteration takes longer, the more columns the basis holds. The fullness of a basis is their number, or an estimate
    of it, divided by the number of columns.

    Attributes
    ----------
    start : float
        Steps of a program of any size.
    line : float
        Steps for each row and column.
    iteration : float
        Steps of an iteration for each row and column while the basis is empty.
    filled : float
        Additional steps of an iteration for each row and column once the basis is full.
    half : float
        Fullness at which half of the additional steps are taken.

    Examples
    --------
    >>> from sklearn_dprank.orders.kemeny.work import Pace
    >>> pace = Pace(start=100, line=10, iteration=1, filled=8, half=0.5)
    >>> pace.steps(size=20, iterations=10, fullness=0.5)  # 100 + 20 * (10 + 10 * (1 + 8 / 2))
    1300.0
    >>> pace.iterations(size=20, columns=20, steps=1300)
    10
    """

    start: float
    line: float
    iteration: float
    filled: float
    half: float

    def steps(self, size, iterations, fullness):
        """Return the approximate steps of a program with `size` rows and columns together."""
        each = self.iteration + self.filled * fullness**3 / (fullness**3 + self.half**3)
        return self.start + size * (self.line + iterations * each)

    def iterations(self, size, columns, steps, fullness=0.0):
        """Return the number of iterations that `steps` allow if each adds a column to a basis of some fullness."""
        paid, dear = 0, 2 + int(max(0.0, steps - self.start) / (size * self.iteration))
        while dear - paid > 1:
            middle = (paid + dear) // 2
            allowed = self.steps(size, middle, fullness + middle / columns) <= steps
            paid, dear = (middle, dear) if allowed else (paid, middle)
        return paid


COLD = Pace(start=1_500_000, line=200, iteration=5, filled=25, half=1.6)  # SciPy; fullness by iterations
WARM = Pace(start=200_000, line=900, iteration=0.65, filled=31, half=0.4)  # highspy; fullness by the last basis
