"""Exact answers, without privacy."""

from __future__ import annotations

from warnings import warn

from .._utils.scikit_learn import BaseEstimator
from ..ballots.weights import WeightBound
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import Ask
from .plan import Plan, Session, refuse


class Exact(BaseEstimator):
    """Exact answers to all queries, for ballots that are not private.

    The classic aggregators use it. Ties are broken by item index. It warns if no ballot prefers any item to another.
    Private channels never accept, refuse or warn depending on the content of ballots.

    Examples
    --------
    >>> from sklearn_dprank.channels import Exact
    >>> print(Exact().plan([], n_items=3).guarantee)
    not private
    """

    takes_weights = True

    def plan(
        self, asks: list[Ask], n_items: int, n_voters: int | None = None, bound: WeightBound | None = None
    ) -> Plan:
        """Return a plan that answers all queries except random orders, on ballots with weights if `bound` is given.

        Raises
        ------
        ValueError
            If the rule asks for a random order, or for a query that cannot be computed. Also if ``max_weight="auto"``.
        """
        if bound is not None and bound.most is None:
            raise ValueError(
                "max_weight='auto' is for private estimators with Gaussian noise, which choose it; give a number."
            )
        for ask in asks:
            if ask.query.answered_with == "order":
                refuse(self, ask.query, "it draws nothing at random; use a Central channel, or the rule 'kemeny'.")
            ask.query.check(n_items)
        needs = frozenset(ask.query.needs for ask in asks)
        return Plan(PrivacyGuarantee.nothing(), _ExactPoll, needs=needs, n_items=n_items, bound=bound)


class _ExactPoll:
    def __init__(self, profile):
        if profile.without_opinions:
            warn(
                "no ballot of X prefers any item to another: all is tied or without an opinion, and tied items are in "
                "the order of the columns; check how X was read.",
                stacklevel=6,  # the caller of `fit`
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
