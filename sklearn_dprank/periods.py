"""What every aggregator does with ballots that come period by period, where its channel publishes after each."""

from collections.abc import Callable
from typing import Any, Self
from warnings import warn

from ._scikit_learn import available_if
from ._types import RandomState
from .field import channel_can
from .names import names_of
from .privacy.bits import Bits
from .profile import Ballots, Profile


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
            If the last call was `fit`, which keeps nothing to go on from: a new stream begins.

        Notes
        -----
        A call that raises has published nothing, and its period can be tried again. ``random_state`` is read in the
        first period only.
        """
        before = getattr(self, "stream_", None)
        if before is not None:
            before.check_room()
        elif hasattr(self, "ranks_"):
            warn(
                "fit keeps nothing of its ballots to go on from: this period begins a stream that does not count them; "
                "call partial_fit from the first period on.",
                stacklevel=2,
            )
        profile = self.read_ballots(X, reset=before is None, least_voters=0)
        names = profile.item_names if before is None else names_of(self)
        rule, plan = self.plan_for(profile)
        poll = plan.open(profile)
        stream = poll(Bits.from_random_state(self.random_state)) if before is None else poll.after(before)
        consensus = rule.aggregate(stream)
        stream.close()
        published = dict(vars(self))
        try:
            self._publish(consensus, stream, plan.guarantee.simulated(stream.bits.certified), names)
            self.stream_ = stream
        except BaseException:  # an interrupt half way would leave a part of this period, and no stream to go on from
            self.__dict__ = published
            raise
        return self
