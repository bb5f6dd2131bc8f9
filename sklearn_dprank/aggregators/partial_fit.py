"""What every aggregator does with ballots that come period by period, where its channel publishes after each."""

from collections.abc import Callable
from typing import Any, Self
from warnings import warn

from .._utils.fitted import draft_of, publish
from .._utils.scikit_learn import available_if
from .._utils.types import RandomState
from ..ballots.names import names_of
from ..ballots.profile import Ballots, Profile
from ..privacy.workers import warn_in_worker
from ..sampling.streams import Bits
from .collection import channel_can


class Periods:
    """The part of an aggregator that goes on where the last period ended."""

    random_state: RandomState
    read_ballots: Callable[..., Profile]
    plan_for: Callable[..., tuple[Any, Any]]
    _publish: Callable[..., Any]

    @available_if(channel_can("has_periods"))
    def partial_fit(self, X: Ballots, y: None = None) -> Self:
        """Add the ballots of one more period, and aggregate all so far.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            This period's ballots, as in `fit`; over the same items in every period. A period in which nobody voted is a
            period: X of shape (0, n_items).
        y : None
            Ignored.

        Returns
        -------
        self : object
            With the consensus of all ballots so far. ``stream_`` holds what the next period needs, which is a
            **secret**: publish the other attributes, and never this object or a pickle of it.

        Raises
        ------
        BudgetExhausted
            If all periods are published.
        ValueError
            If a parameter is invalid or has changed since the first period, or X is no set of ballots or has other
            items.

        Warns
        -----
        UserWarning
            If the last call was `fit`, which keeps nothing to go on from: a new stream begins. If a private period is
            added inside a worker of dask, which may run it twice: that is two releases.

        Notes
        -----
        A call that raises has published nothing, and its period can be tried again. ``random_state`` is read in the
        first period only. Several threads can call it on one object: each call adds one period, after the periods of
        the calls that finished before it.
        """
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
            # Where another thread has published a period meanwhile, this one comes after it: with fresh noise.
            if publish(draft, self, stream_=before):
                return self

    def _add_period(self, profile, before):
        """Decide and keep the period that comes after the stream `before`."""
        names = profile.item_names if before is None else names_of(self)
        rule, plan = self.plan_for(profile)
        if self.random_state is None:
            warn_in_worker(plan.guarantee)
        poll = plan.open(profile)
        stream = poll(Bits.from_random_state(self.random_state)) if before is None else poll.after(before)
        consensus = rule.aggregate(stream)
        stream.close()
        self._publish(consensus, stream, plan.guarantee.simulated(stream.bits.certified), names)
        self.stream_ = stream
