"""Leave the choice to the mechanism."""

from fractions import Fraction
from typing import Any

from ..queries import Ask, KemenyUtility, MaxViolatedMargin, NetWins, Query
from .base import Consensus, Rule, descending


class Choose(Rule):
    """The consensus is the order that answers a query: one that the mechanism draws, or that is read off its answer.

    Parameters
    ----------
    query : Query or None, default=None
        One that decides (see `Query`), such as the cost of an order, `KemenyUtility` or `MaxViolatedMargin`; None is
        `KemenyUtility()`. A window needs a public anchor; for a private one, see `ChooseNearAnchor`.

    Examples
    --------
    >>> from sklearn_dprank.rules import Choose
    >>> str(Choose().asks(3)[0].query)
    'KemenyUtility'
    """

    def __init__(self, query: Query | None = None) -> None:
        self.query = query

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(self._query())]

    def aggregate(self, session: Any) -> Consensus:
        return Consensus(session.answer(self._query()))

    def _query(self):
        query = KemenyUtility() if self.query is None else self.query
        if not getattr(query, "decides", False):
            raise ValueError(
                f"query must be one that decides, as KemenyUtility or MaxViolatedMargin do, got {query!r}."
            )
        if isinstance(query, MaxViolatedMargin) and query.window is not None and query.anchor is None:
            raise ValueError("a window needs an anchor; set anchor, or use ChooseNearAnchor.")
        return query


class ChooseNearAnchor(Rule):
    """Half of the budget finds an anchor by net wins, the other half draws a prudent order near it.

    Parameters
    ----------
    window : int, default=7
        Pairs at least so far apart in the anchor stay as they are; 2 to 12.

    Examples
    --------
    >>> from sklearn_dprank.rules import ChooseNearAnchor
    >>> [(str(ask.query), str(ask.share)) for ask in ChooseNearAnchor().asks(20)]
    [('NetWins', '1/2'), ('MaxViolatedMargin within 7', '1/2')]
    """

    def __init__(self, window: int = 7) -> None:
        self.window = window

    def asks(self, n_items: int) -> list[Ask]:
        half = Fraction(1, 2)
        return [Ask(NetWins(), share=half), Ask(MaxViolatedMargin(window=self.window), share=half)]

    def aggregate(self, session: Any) -> Consensus:
        anchor = tuple(int(item) for item in descending(session.answer(NetWins()), session))
        return Consensus(session.answer(MaxViolatedMargin(anchor, self.window)))
