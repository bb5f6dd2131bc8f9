"""RankAggregator: the one `fit`, `score`, `client` and `fit_reports` of every estimator.

The only module that uses scikit-learn's private validation helpers.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .metrics import average_kendall_tau
from .orders.positions import order_to_positions
from .privacy.bits import Bits
from .profile import Profile
from .rankings import BALLOT_CHECKS, as_array, ballots_unquoted

#: Parameter constraints that aggregators share.
EPSILON = {"epsilon": [Interval(Real, 0, None, closed="neither")]}
DELTA = {"delta": [Interval(Real, 0, 1, closed="left")]}
NEIGHBORING = {"neighboring": [StrOptions({"add_remove", "replace"})]}
CALIBRATION = {"calibration": [StrOptions({"exact", "published"})]}
RULE = {"rule": [None, str, HasMethods(["asks", "aggregate"]), HasMethods(["fit"]), type]}
RANDOM_STATE = {
    "random_state": [None, Interval(Integral, 0, None, closed="left"), np.random.RandomState, np.random.Generator]
}
COUNT = [Interval(Integral, 1, None, closed="left")]
__all__ = [
    "CALIBRATION",
    "COUNT",
    "DELTA",
    "EPSILON",
    "NEIGHBORING",
    "RANDOM_STATE",
    "RULE",
    "HasMethods",
    "Interval",
    "RankAggregator",
    "StrOptions",
]


def _collects_reports(estimator):
    """Tell whether the estimator's channel has a client half."""
    try:
        channel, _ = estimator._compose()
    except (TypeError, ValueError):
        return False
    return getattr(channel, "collects_reports", False)


class RankAggregator(BaseEstimator):
    """Base of all aggregators: a subclass says what its channel and rule are, nothing else."""

    _parameter_constraints: dict = {}

    def _compose(self):
        """Return (channel, rule), made from the constructor's parameters."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Aggregate the ballots into one consensus ranking.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            ``X[v, i]`` is where voter v puts item i; smaller is better, equal is tied, NaN is no
            opinion. One row is one voter.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted aggregator.

        Raises
        ------
        ValueError
            If a parameter is invalid, the parts do not fit together, or X is no set of ballots.
        """
        profile = self._read_ballots(X, reset=True)
        return self._release(profile, profile.n_items, profile.n_voters)

    def _release(self, voters, n_items, n_voters=None):
        """Plan from public inputs, open a session on the voters, and keep only what may be published."""
        channel, rule = self._compose()
        plan = channel.plan(rule.asks(n_items), n_items, n_voters)
        bits = Bits.from_random_state(getattr(self, "random_state", None))
        session = plan.open(voters, bits)
        order, facts = rule.aggregate(session)
        names = getattr(self, "feature_names_in_", np.arange(n_items))
        self.consensus_ = names[order]
        self.ranks_ = order_to_positions(order)
        self.privacy_ = plan.guarantee.simulated(bits.certified)
        for name, value in {**facts, **session.facts}.items():
            setattr(self, f"{name}_", value)
        return self

    def score(self, X, y=None):
        """Return minus the average Kendall tau distance from the consensus to the ballots.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots over the items of `fit`.
        y : None
            Ignored.

        Returns
        -------
        float
            Minus the strict disagreements over n_voters C(n_items, 2): 0 is best, -1 is worst. It is
            computed from the ballots exactly, so it is **not** private.
        """
        check_is_fitted(self, "ranks_")
        return -average_kendall_tau(self.ranks_, self._read_ballots(X, reset=False))

    @available_if(_collects_reports)
    def client(self, items, random_state=None):
        """Return one voter's device; it reads the public protocol only.

        Parameters
        ----------
        items : sequence of str, or int
            Names of the items in the order of a ballot's columns, or how many there are.
        random_state : None, int, Generator or RandomState, default=None
            The voter's own randomness; anything but None is for simulation only.

        Returns
        -------
        Client
            Holds one report: ``client.report(ballot)``.
        """
        return self._plan(items).client(random_state)

    @available_if(_collects_reports)
    def protocol(self, items):
        """Return what clients must know, as JSON-able data.

        Parameters
        ----------
        items : sequence of str, or int
            Names of the items, or how many there are.
        """
        return self._plan(items).protocol

    @available_if(_collects_reports)
    @_fit_context(prefer_skip_nested_validation=True)
    def fit_reports(self, reports, *, items):
        """Aggregate reports from the field.

        Parameters
        ----------
        reports : iterable of dict, str or bytes
            One report a voter: a JSON object, parsed or not. Read once, as a stream. Those that do
            not follow the protocol are left out and counted in ``reports_refused_``.
        items : sequence of str, or int
            Names of the items in the order that clients used, or how many there are.

        Returns
        -------
        self : object
            The fitted aggregator.
        """
        names, n_items = _named(items)
        self._set_items(names, n_items)
        return self._release(iter(reports), n_items)

    def _plan(self, items):
        self._validate_params()
        _, n_items = _named(items)
        channel, rule = self._compose()
        return channel.plan(rule.asks(n_items), n_items, None)

    def _read_ballots(self, X, reset):
        if not isinstance(X, Profile):
            # One item only is an error of `fit`; later the number of items decides.
            checks = BALLOT_CHECKS if reset else {**BALLOT_CHECKS, "ensure_min_features": 1}
            with ballots_unquoted():
                return Profile._from_valid(validate_data(self, as_array(X), reset=reset, **checks))
        if reset:
            self._set_items(X.item_names, X.n_items)
        elif X.n_items != self.n_features_in_:
            raise ValueError(
                f"X has {X.n_items} items, but {type(self).__name__} is expecting {self.n_features_in_} items as input."
            )
        elif X.item_names is not None and hasattr(self, "feature_names_in_"):
            if not np.array_equal(X.item_names, self.feature_names_in_):
                raise ValueError("The item names should match those that were passed during fit, in the same order.")
        return X

    def _set_items(self, names, n_items):
        self.n_features_in_ = n_items
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _named(items):
    """Return (names or None, number of items)."""
    names = None if isinstance(items, Integral) else list(items)
    n_items = int(items) if names is None else len(names)
    if n_items < 2:
        raise ValueError(f"items must name at least two items, got {n_items}.")
    if names is not None and len(set(names)) < n_items:
        raise ValueError("items must be distinct names.")
    return names, n_items
