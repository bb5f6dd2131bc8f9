"""No privacy: every question gets its exact answer."""

from warnings import warn

from .._utils.scikit_learn import BaseEstimator
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import Ask
from .plan import Plan, Session, refuse


class Exact(BaseEstimator):
    """The channel of the classic aggregators: exact answers, ties by item index, no promise.

    It alone warns where ballots say nothing: what a private channel accepts, refuses or warns of never depends on
    what ballots say.

    Examples
    --------
    >>> from sklearn_dprank.channels import Exact
    >>> print(Exact().plan([], n_items=3).guarantee)
    not private
    """

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None) -> Plan:
        """Return a plan that answers everything but a draw of an order.

        Raises
        ------
        ValueError
            If the rule asks the channel to choose an order at random, or what cannot be computed.
        """
        for ask in asks:
            if ask.query.answered_with == "order":
                refuse(self, ask.query, "it draws nothing at random; use a Central channel, or the rule 'kemeny'.")
            ask.query.check(n_items)
        needs = frozenset(ask.query.needs for ask in asks)
        return Plan(PrivacyGuarantee.nothing(), _ExactPoll, needs=needs, n_items=n_items)


class _ExactPoll:
    def __init__(self, profile):
        if profile.silent:
            warn(
                "no ballot of X prefers any item to another: all is tied or without an opinion, and tied items are in "
                "the order of the columns; check how X was read.",
                stacklevel=7,  # where `fit` was called
            )
        self._profile = profile

    def __call__(self, bits):
        return _ExactSession(self._profile, bits)


class _ExactSession(Session):
    def __init__(self, profile, bits):
        super().__init__(profile.n_items, bits.coins, fair_ties=False)
        self._profile = profile

    def deviation(self, query):
        return 0.0

    def answer(self, query):
        return query.read(query.vector(self._profile, self.coins), self.n_items)
