"""What a rule is: it declares what it asks, and decides the consensus from the answers."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._utils.checks import Check, shown
from .._utils.scikit_learn import BaseEstimator
from ..queries import Ask


class Consensus(NamedTuple):
    """What a rule decides.

    Attributes
    ----------
    order : ndarray of int, shape (n_items,)
        Item indices, best first; fewer where all others are tied behind them.
    published : dict
        What else may be published, by name; ``fit`` stores each under the name and an underscore.
    """

    order: np.ndarray
    published: dict[str, Any] = {}


class Rule(BaseEstimator):
    """Turns answers into a consensus; sees a session, never ballots."""

    #: What each of the constructor's parameters must be; see `sklearn_dprank._utils.checks`.
    parameter_checks: dict[str, Check] = {}

    def asks(self, n_items: int) -> list[Ask]:
        """Return what this rule will ask, how often and for what share of the budget: a list of `Ask`."""
        raise NotImplementedError

    def aggregate(self, session: Any) -> Consensus:
        """Return the `Consensus` that follows from the session's answers."""
        raise NotImplementedError

    def aggregate_each(self, sessions: Iterable[Any]) -> Iterator[Consensus]:
        """Yield the `Consensus` of one session after another; for rules that can decide several at once to share work.

        Parameters
        ----------
        sessions : iterable of Session
            Each is opened when it is reached.
        """
        return map(self.aggregate, sessions)


def asks_of(rule: Rule, n_items: int) -> list[Ask]:
    """Return what a rule will ask.

    Raises
    ------
    ValueError
        If it is no list of `Ask`.
    """
    asks = rule.asks(n_items)
    several = isinstance(asks, Iterable) and not isinstance(asks, Ask)
    wrong = [asks] if not several else [ask for ask in asks if not isinstance(ask, Ask)]
    if wrong:
        raise ValueError(
            f"{type(rule).__name__}.asks(n_items) must return a list of Ask, [Ask(AllMargins())] say, "
            f"got {'' if not several else 'a list with '}{shown(wrong[0])}."
        )
    return list(asks)


def checked_order(consensus: Any, n_items: int) -> np.ndarray:
    """Return the order of a rule's `Consensus`.

    Raises
    ------
    ValueError
        If a rule decided on something else: an item twice, an item that is not there, or no order at all.

    Examples
    --------
    >>> checked_order(Consensus([2, 0, 1]), 3)
    array([2, 0, 1])
    >>> checked_order(Consensus([2, 2, 1]), 3)
    Traceback (most recent call last):
    ...
    ValueError: the order of a rule's Consensus must hold distinct items, from 0 to 2, best first; an item stands twice.
    """
    if not isinstance(consensus, Consensus):
        got = type(consensus).__name__
        raise ValueError(f"the rule's aggregate(session) must return a Consensus, got {got}; return Consensus(order).")
    order = np.asarray(consensus.order)
    if order.ndim != 1 or not order.size or order.dtype.kind not in "iu":
        got = f"it has shape {order.shape} and type {order.dtype}"
    elif len(items := set(order.tolist())) < len(order):
        got = "an item stands twice"
    elif min(items) < 0 or max(items) >= n_items:
        got = "an item is not there"
    else:
        return order
    raise ValueError(
        f"the order of a rule's Consensus must hold distinct items, from 0 to {n_items - 1}, best first; {got}."
    )


def descending(scores: Any, session: Any) -> Any:
    """Return the items by falling score; the session breaks ties, if there are any."""
    scores = np.asarray(scores)
    if scores.shape != (session.n_items,):
        raise ValueError(
            f"scores must hold one number for each of the {session.n_items} items, got shape {scores.shape}; what a "
            "query reads, or a randomizer estimates, has one for each."
        )
    falling = -scores
    order = falling.argsort(kind="stable")
    ordered = falling[order]
    if (ordered[1:] > ordered[:-1]).all():
        return order
    return np.lexsort((session.tie_break(), falling))
