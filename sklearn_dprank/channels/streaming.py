"""Continual release: a trusted curator publishes after every period, under one guarantee for the stream."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np

from .._utils.checks import DELTA, EPSILON, NEIGHBORING, Check, check_parameters, check_whole
from .._utils.scikit_learn import BaseEstimator
from .._utils.types import Amount, Neighboring
from ..mechanisms.correlated import CorrelatedNoise
from ..privacy.composition import Losses
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted
from ..privacy.rounding import round_down, rounded_up
from ..queries import Ask, Query
from ..sampling.streams import Bits
from ..uncertainty import PublishedNoise
from .plan import Plan, Session, check_asks, refuse

_MOST = 100_000  # periods; the stored sums grow with their number
_WHOLE = 2.0**62  # smaller totals are stored as 64-bit integers


class Streaming(BaseEstimator):
    """Continual release: after each of up to `horizon` periods, publish the consensus of all ballots so far.

    Releases of different periods share noise, so that one guarantee covers all of them. After T periods, the noise is
    about 1 + ln(T) / pi times that of a single release. T separate releases with the same total budget would need
    sqrt(T) times as much.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the stream, in nats.
    delta : float, default=1e-6
        Total delta. Must be positive, because the noise is Gaussian.
    horizon : int, default=365
        T, the public maximum number of periods, at most 100,000. It is part of the guarantee and cannot change once a
        stream has begun.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation: one ballot of one period is added or removed, or replaced in its period. Under
        "add_remove", the number of voters of each period is private.

    References
    ----------
    Fichtenberger, Henzinger and Upadhyay (2023); see `sklearn_dprank.DPStreamingBorda`.

    Examples
    --------
    >>> from sklearn_dprank.channels import Streaming
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> plan = Streaming(epsilon=0.5, horizon=30).plan([Ask(NetWins())], n_items=10)
    >>> print(plan.guarantee)
    epsilon = 0.5, delta = 1e-06 (central, add_remove)
    """

    parameter_checks: dict[str, Check] = {
        **EPSILON,
        **DELTA,
        "horizon": partial(check_whole, least=1, most=_MOST),
        **NEIGHBORING,
    }
    has_periods = True

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        horizon: int = 365,
        neighboring: Neighboring = "add_remove",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.horizon = horizon
        self.neighboring = neighboring

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None) -> Plan:
        """Return the plan for these asks. `n_voters` is not used.

        Raises
        ------
        ValueError
            If a parameter is invalid, or the rule asks for a query without a running total.
        """
        check_parameters(self)
        if self.delta == 0:
            raise ValueError("delta must be positive for a stream, got 0; set delta=1e-6, say.")
        for ask in asks:
            ask.query.check(n_items)
            self._check(ask)
        check_asks(self, asks)
        prices = {ask.query: self._price(ask, n_items) for ask in asks}
        needs = frozenset(query.needs for query in prices)
        guarantee = self._guarantee(prices, sum(Fraction(ask.share) for ask in asks))
        return Plan(guarantee, partial(_Poll, prices), needs=needs, prices=prices, n_items=n_items)

    def _check(self, ask):
        """Raise ValueError unless the answer adds up over periods and is asked exactly once per period."""
        query = ask.query
        if query.answered_with == "order":
            refuse(self, query, "an order has no running total; use a rule that needs scores or margins.")
        if ask.times > 1 or query.kind != query:
            refuse(self, query, "a stream answers once a period; use a rule that asks everything at once.")
        if query.needs == "positions":
            refuse(self, query, "a stream keeps scores and margins only; use a rule that needs no others.")

    def _price(self, ask, n_items):
        query, whole = ask.query, 1 / Fraction(ask.share)
        sensitivity = query.sensitivity(n_items, self.neighboring)
        budget = round_down(self.epsilon), float(self.delta), int(self.horizon)
        return CorrelatedNoise.calibrated(query, sensitivity, n_items, *budget, whole)

    def _guarantee(self, prices, used_up):
        losses = Losses.together(price.losses() for price in prices.values())
        return PrivacyGuarantee(
            epsilon=rounded_up(self.epsilon) if used_up == 1 else losses.epsilon(rounded_up(self.delta)),
            delta=rounded_up(self.delta),
            trust="central",
            neighboring=self.neighboring,
            how=", then ".join(f"{price.how} on {query}" for query, price in prices.items()),
            losses=losses,
        )


class _Poll:
    """Poll of the voters of one period."""

    def __init__(self, prices, profile):
        self.prices, self.profile = prices, profile

    def __call__(self, bits):
        """Return a new stream that begins with this period."""
        return Stream(self, bits)

    def after(self, stream):
        """Return the stream after this period; `stream` itself does not change.

        Raise BudgetExhausted if all periods are published, and ValueError if parameters have changed.
        """
        stream.check_room()
        if self.prices != stream.prices:
            raise ValueError(
                "the parameters are not those that this stream began with, and its guarantee was fixed then; set them "
                "back, or begin another stream with sklearn.base.clone()."
            )
        # Without a seed, open a new source, so that two copies of a stream never read the same random words.
        # With a seed, copy the bits, so that a repeated period draws the same noise again.
        bits = Bits.from_random_state(None) if stream.bits.certified else deepcopy(stream.bits)
        return Stream(self, bits, stream)


class Stream(Session):
    """Stream after its latest period: the published facts and the state for the next period. It is a **secret**.

    Attributes
    ----------
    period : int
        Number of periods so far.
    prices : dict of {Query: CorrelatedNoise}
        Queries that are added up, and their noise. Fixed when the stream begins.
    bits : Bits
        Random bits of the latest period. With a seed, also those of the next periods.

    Notes
    -----
    It stores the exact sums of every period, but no ballots. These sums and the published answers reveal the noise so
    far. Without a seed, they do not reveal future noise.
    """

    def __init__(self, poll: Any, bits: Bits, before: Self | None = None) -> None:
        super().__init__(poll.profile.n_items, bits.coins)
        self.bits = bits
        self.period: int = 1 if before is None else before.period + 1
        self.prices = poll.prices
        self._kept: dict[Query, Any] = {}
        for query, price in poll.prices.items():
            vector = query.vector(poll.profile, bits.assignment)
            sums, found = (vector[:0], np.empty((0, len(vector)))) if before is None else before._kept[query]
            sums = np.vstack([sums.reshape(-1, len(vector)), vector])
            self._kept[query] = sums, np.vstack([found, price.added(sums, found, bits.noise)])
            if len(poll.prices) == 1 and query.published_as is not None:
                self.published[query.published_as] = self.answer(query)
                self.published["noise"] = PublishedNoise(query.published_as, price.law(self.period))
        self.published["periods"] = self.period

    def answer(self, query: Query) -> Any:
        """Return the noisy total of all periods, rounded; repeated calls return the same answer.

        Raises
        ------
        BudgetExhausted
            If the query was not planned.
        """
        if query not in self._kept:
            raise BudgetExhausted(f"{query!r} was not declared, and a stream answers declared queries only.")
        total = np.rint(self._kept[query][1].sum(axis=0))
        return query.read(total.astype(np.int64) if np.abs(total).max() < _WHOLE else total, self.n_items)

    def check_room(self) -> None:
        """Raise `BudgetExhausted` if all periods are published."""
        horizon = min((price.horizon for price in self.prices.values()), default=self.period)
        if self.period >= horizon:
            raise BudgetExhausted(
                f"all {horizon} periods of this stream are published, and its guarantee covers no more; "
                "sklearn.base.clone() begins another, of other ballots, with a guarantee of its own."
            )

    def __repr__(self):
        return f"Stream(period={self.period})"
