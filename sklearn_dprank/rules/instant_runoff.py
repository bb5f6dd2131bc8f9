"""Instant runoff: the item that is first on the fewest ballots goes last, and its ballots to their next choice."""

from typing import Any

import numpy as np

from ..orders.permutations import first_places, without_item
from ..queries import Ask, Histogram
from .base import Consensus, Rule

_ASKED = Histogram(unseen_last=True)  # an item that nobody has seen is nobody's first choice


class InstantRunoffRule(Rule):
    """Instant runoff of the histogram of rankings, all the way down to one item.

    Round by round, the item that the fewest ballots put before all others that are left is eliminated; it stands
    behind them. Counts may be negative, as noise leaves them.

    Notes
    -----
    The session breaks ties for the fewest, by one order of all items. They are common: where voters agree, most items
    are nobody's first choice, and noise orders the lower places. The histogram of the rankings of those that are left
    is summed up from the last one, so that a round costs a small part of the one before it.

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

        Raises
        ------
        ValueError
            If the histogram would be too long to be listed.
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
