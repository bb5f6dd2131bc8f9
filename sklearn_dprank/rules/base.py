"""What a rule is: it declares what it asks, and decides the consensus from the answers."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._scikit_learn import BaseEstimator
from ..checks import Check
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

    #: What each of the constructor's parameters must be; see `sklearn_dprank.constraints`.
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


def descending(scores: Any, session: Any) -> Any:
    """Return the items by falling score; the session breaks ties, if there are any."""
    falling = -np.asarray(scores)
    order = falling.argsort(kind="stable")
    ordered = falling[order]
    if (ordered[1:] > ordered[:-1]).all():
        return order
    return np.lexsort((session.tie_break(), falling))
