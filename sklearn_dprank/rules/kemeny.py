"""The Kemeny rule: the order with the fewest disagreements, of exact or of noisy margins."""

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from .._utils.checks import Check, check_number, check_parameters, check_whole
from ..orders.few_items import FEW, best_of_few_many
from ..orders.kemeny import majority_order, minimum_order, warn_of_gap
from ..orders.kemeny.work import WORK_LIMIT
from ..queries import AllMargins, Ask
from .base import Consensus, Rule

_SIDE_BY_SIDE = 30  # sessions


class KemenyRule(Rule):
    """The Kemeny order of the margins, exact or with a certificate.

    Parameters
    ----------
    tolerance : float, default=0.0
        Stop at an order certified to cost at most (1 + tolerance) times the optimum; 0 is exact.
    work_limit : int or None, default=10000
        Most work, in units of about a millisecond: about ten seconds at any number of items. Work is counted and not
        timed, so that results do not depend on the machine; much is needed only where majorities form cycles of
        more than 18 items. At the limit the best order found is returned with a `ConvergenceWarning`, and
        `optimal_gap`, which is published, says what is certified of it. None is no limit.
    time_limit : float or None, default=None
        Most seconds; opt-in, because results then depend on the machine.

    Notes
    -----
    Costs are overruled margins: the Kemeny score minus a constant that no order avoids. A bound relative
    to them holds for the score too. It is finite: each cycle that is met costs every order something.

    References
    ----------
    Kemeny (1959); for (1 + tolerance) in place of a PTAS: Kenyon-Mathieu and Schudy (2007).

    Examples
    --------
    >>> from sklearn_dprank.rules import KemenyRule
    >>> KemenyRule().asks(3)[0].query
    AllMargins()
    """

    parameter_checks: dict[str, Check] = {
        "tolerance": partial(check_number, least=0),
        "work_limit": partial(check_whole, least=0, optional=True),
        "time_limit": partial(check_number, above=0, optional=True),
    }

    def __init__(
        self, tolerance: float = 0.0, work_limit: int | None = WORK_LIMIT, time_limit: float | None = None
    ) -> None:
        self.tolerance = tolerance
        self.work_limit = work_limit
        self.time_limit = time_limit

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(AllMargins())]

    def aggregate(self, session: Any) -> Consensus:
        margins = session.answer(AllMargins())
        order = majority_order(margins)
        return self._searched(session, margins) if order is None else Consensus(order, {"optimal_gap": 0.0})

    def aggregate_each(self, sessions: Iterable[Any]) -> Iterator[Consensus]:
        """Yield the consensus of each session, the same as one by one; a few items are solved side by side."""
        waiting = iter(sessions)
        while block := list(islice(waiting, _SIDE_BY_SIDE)):
            yield from self._decided(block)

    def _decided(self, sessions):
        found: list[Any] = []
        few = []
        for session in sessions:
            margins = session.answer(AllMargins())
            order = majority_order(margins)
            if order is not None:
                found.append(Consensus(order, {"optimal_gap": 0.0}))
            elif len(margins) > FEW or _has_ties(margins):
                found.append(self._searched(session, margins))
            else:  # without ties the components stand in one order, and so does the first optimum of all items
                labels = np.argsort(session.tie_break())
                few.append((len(found), labels, -np.maximum(margins[labels[:, None], labels].T, 0)))
                found.append(None)
        if few:
            orders = best_of_few_many(np.array([gain for _, _, gain in few]))
            for (place, labels, _), order in zip(few, orders, strict=True):
                found[place] = Consensus(labels[order], {"optimal_gap": 0.0})
        return found

    def _searched(self, session, margins):
        # Among equal optima the solver prefers small indices: shuffled labels make that a coin.
        labels = np.argsort(session.tie_break())
        found = minimum_order(
            np.maximum(margins[labels[:, None], labels].T, 0),
            tolerance=self.tolerance,
            work_limit=math.inf if self.work_limit is None else self.work_limit,
            time_limit=self.time_limit,
        )
        warn_of_gap(found, self.tolerance)
        gap = 0.0 if found.optimal else found.gap / found.bound
        return Consensus(labels[found.order], {"optimal_gap": float(gap)})


def _has_ties(margins):
    """Tell whether a pair ties, or may: margins that are no integers are rounded before they are compared."""
    return margins.dtype.kind != "i" or np.count_nonzero(margins) < len(margins) * (len(margins) - 1)
