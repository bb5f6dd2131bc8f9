"""Mixin that adds `partial_fit` to estimators with a streaming channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never, Self
from warnings import warn

from .._utils.checks import refuse_unknown
from .._utils.fitted import draft_of, swap_fitted
from .._utils.scikit_learn import available_if
from .._utils.types import RandomState
from ..ballots.names import names_of
from ..ballots.profile import Ballots, Profile
from ..privacy.workers import warn_in_worker
from ..sampling.streams import Bits
from .collection import channel_can


class PartialFitMixin:
    """Mixin with `partial_fit`, which continues a stream after its last period."""

    random_state: RandomState
    read_ballots: Callable[..., Profile]
    plan_for: Callable[..., tuple[Any, Any]]
    publish: Callable[..., Any]

    @available_if(channel_can("has_periods"))
    def partial_fit(self, X: Ballots, y: None = None, **unknown: Never) -> Self:
        """Add the ballots of one more period, and aggregate all ballots so far.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots of this period, as in `fit`. Every period has the same items. A period without voters counts as a
            period: pass X of shape (0, n_items).
        y : None
            Ignored.

        Returns
        -------
        self : object
            Estimator with the consensus of all ballots so far. ``stream_`` is the state for the next period. It is a
            **secret**: publish the other attributes, but never this object or a pickle of it.

        Raises
        ------
        BudgetExhausted
            If all periods are published.
        ValueError
            If a parameter is invalid or has changed since the first period, X does not contain ballots, or X has other
            items.

        Warns
        -----
        UserWarning
            If the last call was `fit`, which stores no state to continue from. A new stream then begins. Also if a
            private period without a seed is added in a worker of dask, because dask may run it twice (two releases).

        Notes
        -----
        A call that raises an error has not published its period, so you can try the period again. Only the first period
        reads ``random_state``. Several threads can call this method on one object. Each call adds one period, after the
        periods of all calls that finished before it.
        """
        refuse_unknown(self, unknown, "partial_fit")
        while True:
            draft = draft_of(self)
            before = getattr(draft, "stream_", None)
            if before is not None:
                before.check_room()
            elif hasattr(draft, "ranks_"):
                warn(
                    "fit keeps nothing of its ballots to go on from: this period begins a stream that does not count "
                    "them; call partial_fit from the first period on.",
                    stacklevel=2,
                )
            X = draft.read_ballots(X, reset=before is None, least_voters=0)
            draft._add_period(X, before)
            # If another thread has published a period meanwhile, add this one after it, with fresh noise.
            if swap_fitted(draft, self, stream_=before):
                return self

    def _add_period(self, profile, before):
        """Aggregate the period after the stream `before`, and store the new stream."""
        names = profile.item_names if before is None else names_of(self)
        rule, plan = self.plan_for(profile)
        if self.random_state is None:
            warn_in_worker(plan.guarantee)
        poll = plan.open(profile)
        stream = poll(Bits.from_random_state(self.random_state)) if before is None else poll.after(before)
        consensus = rule.aggregate(stream)
        stream.close()
        self.publish(consensus, stream, plan.guarantee.simulated(stream.bits.certified), names)
        self.stream_ = stream
