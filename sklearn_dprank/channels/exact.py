"""No privacy: every question gets its exact answer."""

from sklearn.base import BaseEstimator

from ..privacy.guarantee import PrivacyGuarantee
from .plan import Plan, Session


class Exact(BaseEstimator):
    """The channel of the classic aggregators: exact answers, ties by item index, no promise.

    Examples
    --------
    >>> from sklearn_dprank.channels import Exact
    >>> print(Exact().plan([], n_items=3).guarantee)
    not private
    """

    def plan(self, asks, n_items, n_voters=None):
        """Return a plan that answers anything."""
        return Plan(PrivacyGuarantee.nothing(), _ExactSession)


class _ExactSession(Session):
    def __init__(self, profile, bits):
        super().__init__(profile.n_items, bits.coins, fair_ties=False)
        self._profile = profile

    def answer(self, query):
        return query.read(query.vector(self._profile), self.n_items)
