"""Instant runoff, from the histogram of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..orders.permutations import first_places, without_item
from ..queries import Ask, Histogram
from .base import Consensus, Rule

_ASKED = Histogram(unseen_last=True)  # an item that a voter has not seen is not the voter's first choice


class InstantRunoffRule(Rule):
    """Rule that eliminates items by instant runoff, from the histogram of rankings, until one item is left.

    Each round eliminates the item that the fewest ballots place before all other remaining items. It ranks behind the
    remaining items. Counts may be negative, because of noise.

    Notes
    -----
    The session breaks ties by one order of all items. Ties are common: if voters agree, most items are never a first
    choice, and noise orders the lower positions. The histogram over the remaining items is summed up from that of the
    previous round. So each round costs a small part of the previous one.

    References
    ----------
    Shang, Wang, Cuff and Kulkarni (2014), Section II-A ("instant run-off").

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.rules import InstantRunoffRule
    >>> ballots = [[0, 1, 2]] * 4 + [[2, 0, 1]] * 2 + [[2, 1, 0]] * 3  # 4, 2 and 3 first places
    >>> Aggregator(rule=InstantRunoffRule()).fit(ballots).consensus_
    array([2, 0, 1])
    """

    def asks(self, n_items: int) -> list[Ask]:
        """Return one ask, for the histogram.

        Parameters
        ----------
        n_items : int
            Number of items.

        Returns
        -------
        list of Ask
            The ask.

        Raises
        ------
        ValueError
            If there are too many items for an explicit histogram.
        """
        if n_items > Histogram.largest:
            raise ValueError(
                f"instant runoff counts all {n_items}! rankings, which is possible up to {Histogram.largest} items; "
                "use rule='plurality' or rule='borda'."
            )
        return [Ask(_ASKED)]

    def aggregate(self, session: Any) -> Consensus:
        n_items = session.n_items
        histogram = session.answer(_ASKED).reshape(range(n_items, 0, -1))
        priority = session.tie_break()
        left, last_first = np.arange(n_items), []
        while len(left) > 1:
            fewest = np.lexsort((-priority[left], first_places(histogram)))[0]
            last_first.append(left[fewest])
            left, histogram = np.delete(left, fewest), without_item(histogram, fewest)
        return Consensus(np.array([*left, *reversed(last_first)]))
