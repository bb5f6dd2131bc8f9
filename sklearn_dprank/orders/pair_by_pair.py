"""Exact sampling of orders one pair at a time, as Hay et al. (2017) do it: for comparison, and for few items."""

import numpy as np
from scipy.special import log_expit

from .sampler import OrderSampler, checked_margins


class PairByPairSampler(OrderSampler):
    """The law of orders with probability proportional to exp(-scale * Kendall cost), with Hay et al.'s own variables.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W = C - C.T, where C[i, j] voters prefer i to j.
    scale : float
        At least 0; see `insertion.InsertionSampler`.

    Raises
    ------
    ValueError
        If margins are not square, finite and antisymmetric, or scale is negative or not finite.

    Notes
    -----
    Item j is compared with items 0, ..., j - 1 in turn. A comparison that earlier ones decide has one value left, of
    weight exp(-X), and is accepted with probability weight / (weight of both values); a free one is always accepted.
    The paper adapts its proposals after rejections, which changes the time and not the law; here every try starts anew.
    Either way the bound is the product over all pairs of 1 + exp(-scale * abs(W)): for Mallows ballots its log exceeds
    that of the total weight by 36 at 15 items and by 548 at 45, so that the draw never ends, where insertion of whole
    items in Borda order loses 5 to 7.

    References
    ----------
    .. [1] M. Hay, L. Elagina and G. Miklau, "Differentially Private Rank Aggregation", SDM 2017, Section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.privacy.bits import SeededBits
    >>> sampler = PairByPairSampler(np.array([[0, -60], [60, 0]]), scale=1.0)
    >>> sampler.draw(SeededBits(np.random.SeedSequence(0))).tolist()
    [1, 0]
    """

    def __init__(self, margins, scale):
        margins = checked_margins(margins, scale, antisymmetric=True)
        self.n_items, self._wins = len(margins), margins > 0
        # log chance of each pair against its majority, if it is free
        self._against = log_expit(-scale * np.abs(margins))

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,), however long it takes."""
        while (order := self._try(bits)) is None:
            pass
        return np.array(order)

    def _try(self, bits):
        """Return an order, or None where the proposals contradict each other."""
        order = [0]
        for item in range(1, self.n_items):
            turned = bits.log_uniform(item) < self._against[item, :item]
            low, high = 0, item  # the gap is one of low, ..., high
            for other in range(item):
                place = order.index(other)
                forward = self._wins[other, item] != turned[other]  # other before item
                if low <= place < high:
                    low, high = (place + 1, high) if forward else (low, place)
                elif forward != (place < low):  # both values proposed, only one consistent
                    return None
            order.insert(low, item)
        return order
