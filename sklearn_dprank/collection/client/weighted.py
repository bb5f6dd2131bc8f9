"""Exact draws from finite distributions with integer weights of any size."""

from bisect import bisect_left, bisect_right
from itertools import accumulate

import numpy as np

#: `WeightedLaw.pick` takes uniform integers below this.
LEAD = 2**63


class WeightedLaw:
    """Distribution of an index k with probability proportional to the positive integer weights[k].

    A draw locates a uniform real number among the cumulative weights. At first, only its leading 63 bits are drawn. If
    they do not determine the index, more bits are drawn. So probabilities are never rounded.

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
        """Return the index for each of `leads`, uniform integers below `LEAD`; `bits` supplies further bits."""
        index = self._leads.searchsorted(leads)
        for row in (index != self._leads.searchsorted(leads, side="right")).nonzero()[0]:
            index[row] = self._settled(int(leads[row]), LEAD, bits)
        return index

    def _settled(self, low, scale, bits):
        """Return the index of a uniform point in total * [low, low + 1) / scale; draw bits until it is determined."""
        while True:
            least = bisect_right(self._steps, low * self._total // scale)
            most = bisect_left(self._steps, -(-(low + 1) * self._total // scale))
            if least == most:
                return least
            low, scale = low << 64 | int(bits.words(1)[0]), scale << 64
