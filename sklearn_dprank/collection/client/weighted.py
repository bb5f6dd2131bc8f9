"""Exact draws from finite laws whose weights are integers of any size."""

from bisect import bisect_left, bisect_right
from itertools import accumulate

import numpy as np

#: What `WeightedLaw.pick` takes: uniform integers below this.
LEAD = 2**63


class WeightedLaw:
    """The law of an index k with probability proportional to the integer weights[k].

    A uniform real number, of which only the leading 63 bits are drawn, is placed among the cumulative
    weights. Where those bits do not settle the place, more are drawn: no probability is ever rounded.

    Parameters
    ----------
    weights : iterable of int
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> law = WeightedLaw([1, 10**400, 1])
    >>> law.sample(3, SeededBits(np.random.SeedSequence(0))).tolist()
    [1, 1, 1]
    """

    def __init__(self, weights):
        *self._steps, self._total = accumulate(weights)
        self._leads = np.array([step * LEAD // self._total for step in self._steps], dtype=np.int64)

    def sample(self, size, bits):
        """Draw `size` independent indices."""
        return self.pick(bits.integers(LEAD, size), bits)

    def pick(self, leads, bits):
        """Return the index that each leading part stands for.

        Parameters
        ----------
        leads : ndarray of int64, shape (size,)
            Uniform below `LEAD`.
        bits : BitSource
            Where further bits come from.

        Returns
        -------
        ndarray of int64, shape (size,)
            Independent draws.
        """
        index = self._leads.searchsorted(leads)
        for row in (index != self._leads.searchsorted(leads, side="right")).nonzero()[0]:
            index[row] = self._settled(int(leads[row]), LEAD, bits)
        return index

    def _settled(self, low, scale, bits):
        """Return how many steps lie at or below a uniform point of total * [low, low + 1) / scale."""
        while True:
            least = bisect_right(self._steps, low * self._total // scale)
            most = bisect_left(self._steps, -(-(low + 1) * self._total // scale))
            if least == most:
                return least
            low, scale = low << 64 | int(bits.words(1)[0]), scale << 64
