"""Kemeny rule: the order with the fewest disagreements, for exact or noisy margins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from .._utils.checks import Check, check_number, check_parameters, check_whole
from ..orders.kemeny import majority_order, minimum_order, warn_of_gap
from ..orders.kemeny.work import WORK_LIMIT
from ..orders.subset_dp import FEW, best_of_few_many
from ..queries import AllMargins, Ask
from .base import Consensus, Rule

_NOISY = WORK_LIMIT // 6  # for margins with noise: in 12 paired fits, a tenth of it had the same error
_SIDE_BY_SIDE = 30  # sessions that are decided together


class KemenyRule(Rule):
    """Rule that returns the Kemeny order of the margins, exact or with a certified gap.

    Parameters
    ----------
    tolerance : float or None, default=None
        Relative tolerance. The search stops at an order that is certified to cost at most (1 + tolerance) times the
        optimum. 0 is exact. None is exact too, unless the margins have noise of a known standard deviation. The search
        then stops once the certified gap is at most the noise in the overruled margins; see the notes.
    work_limit : int or None, default=6000
        Limit on the work of the search, in units of about a millisecond. The default is about ten seconds for any
        number of items. It is one second if the margins have noise of a known standard deviation and `tolerance` is
        None, because more work does not make the consensus more accurate. Work is counted, so results do not depend on
        the machine. Only majority cycles of more than 20 items need much work. At the limit, the best order found is
        returned with a `ConvergenceWarning`, and `optimal_gap`, which is published, bounds its excess. None means
        unlimited.
    time_limit : float or None, default=None
        Limit on the time of the search, in seconds. Results then depend on the machine. None means unlimited.

    Notes
    -----
    The cost of an order is the sum of the margins that it overrules. It is the Kemeny score minus a constant that is
    part of the score of every order. So a bound relative to the cost holds for the score too. The bound is finite,
    because every order overrules a margin of each cycle that the search meets.

    Let s be the standard deviation of the noise in each margin, and let k margins be overruled by the order of net
    wins. The noise in the sum of k margins has the standard deviation s * sqrt(k). If `tolerance` is None, the search
    stops once the certified gap is at most that. Below it, a smaller cost of the noisy margins is hardly a smaller
    error. In 24 paired fits of five sets of simulated and of real votes with 30 to 45 items, at three epsilons each, no
    mean error was more than 1.1 standard errors above that of a search that stops at half of that gap.

    References
    ----------
    Kemeny (1959); Kenyon-Mathieu and Schudy (2007) for a PTAS; this rule has `tolerance` instead.

    Examples
    --------
    >>> from sklearn_dprank.rules import KemenyRule
    >>> KemenyRule().asks(3)[0].query
    AllMargins()
    """

    parameter_checks: dict[str, Check] = {
        "tolerance": partial(check_number, least=0, optional=True),
        "work_limit": partial(check_whole, least=0, optional=True),
        "time_limit": partial(check_number, above=0, optional=True),
    }

    def __init__(
        self, tolerance: float | None = None, work_limit: int | None = WORK_LIMIT, time_limit: float | None = None
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
        """Yield the consensus of each session, as `aggregate` returns it; problems with few items are solved together.

        Parameters
        ----------
        sessions : iterable of Session
            Sessions. A block of them is open at once.

        Yields
        ------
        Consensus
            Result for each session, in order.
        """
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
            else:  # without ties, components have one order, so the first optimum over all items is that of `_searched`
                labels = np.argsort(session.tie_break())
                few.append((len(found), labels, -np.maximum(margins[labels[:, None], labels].T, 0)))
                found.append(None)
        if few:
            orders = best_of_few_many(np.array([gain for _, _, gain in few]))
            for (place, labels, _), order in zip(few, orders, strict=True):
                found[place] = Consensus(labels[order], {"optimal_gap": 0.0})
        return found

    def _searched(self, session, margins):
        # Among equal optima, the solver prefers small indices, so the labels follow the session's order for ties.
        labels = np.argsort(session.tie_break())
        tolerance = self.tolerance or 0.0
        slack = self._slack(session, margins) if self.tolerance is None else 0.0
        limit = math.inf if self.work_limit is None else self.work_limit
        found = minimum_order(
            np.maximum(margins[labels[:, None], labels].T, 0),
            tolerance=tolerance,
            slack=slack,
            work_limit=min(_NOISY, limit) if slack else limit,
            time_limit=self.time_limit,
        )
        warn_of_gap(found, tolerance, slack)
        gap = 0.0 if found.optimal else found.gap / found.bound
        return Consensus(labels[found.order], {"optimal_gap": float(gap)})

    def _slack(self, session, margins):
        """Return the standard deviation of the noise in the overruled margins; 0 if the noise is 0 or unknown."""
        order = np.argsort(-margins.sum(axis=1), kind="stable")
        overruled = np.count_nonzero(np.triu(margins[order[:, None], order] < 0))
        return (session.deviation(AllMargins()) or 0.0) * math.sqrt(overruled)


def _has_ties(margins):
    """Return whether pairs are or may be tied; margins that are not integers are rounded before they are compared."""
    return margins.dtype.kind != "i" or np.count_nonzero(margins) < len(margins) * (len(margins) - 1)
