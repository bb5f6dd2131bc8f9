"""Base class of all estimators.

Only this module and `_utils.scikit_learn` use private names of scikit-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Never, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from .._utils.checks import Check, check_parameters, check_random_state, refuse_unknown, warn_of_many
from .._utils.fitted import clear_fitted, draft_of, swap_fitted
from .._utils.scikit_learn import BaseEstimator, _fit_context
from .._utils.types import RandomState, RuleName
from ..ballots.names import as_named, names_differ, names_of
from ..ballots.profile import Ballots, Profile, Shape, as_profile
from ..ballots.rankings import check_aligned, shape_of
from ..channels.plan import Unanswerable
from ..metrics import average_kendall_tau
from ..orders.permutations import order_to_positions
from ..privacy import PrivacyGuarantee
from ..privacy.estimator_guarantees import GuaranteedEstimator, record_pipeline, with_own_methods
from ..privacy.workers import warn_in_worker
from ..rules import Rule, SortByScore, resolve_rule
from ..rules.base import Consensus, asks_of, checked_order
from ..sampling.streams import Bits
from .collection import CollectionMixin
from .partial_fit import PartialFitMixin
from .rank_intervals import RankIntervalsMixin

_ITEMS = ("n_features_in_", "feature_names_in_")
_NOT_REPEATED = ("fit", "score", "read_ballots", "plan_for", "_release")  # a sweep does these steps once, or itself


class RankAggregator(CollectionMixin, PartialFitMixin, RankIntervalsMixin, GuaranteedEstimator, BaseEstimator):
    """Base class of all estimators, with `fit`, `score` and the fitted attributes that they share.

    A subclass defines only its parameters and `_compose`, which returns its channel and its rule.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items of the released ranking, best first. They are item names if X had names, and column indices otherwise.
        `~sklearn_dprank.DPTopK` releases the best k items only.
    ranks_ : ndarray of int, shape (n_items,)
        Position of each item in the released ranking, in the order of the columns of X; 0 is best. Items that
        ``consensus_`` does not contain are tied behind the others.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit for each of the ballots that `fit` received. It does not cover earlier steps of a
        pipeline, or a search that chose the parameters: `~sklearn_dprank.privacy.guarantee_of` does. Estimators without
        privacy state "not private".
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings. Otherwise, the attribute does not exist.
    """

    consensus_: NDArray[Any]
    ranks_: NDArray[np.int64]
    privacy_: PrivacyGuarantee
    max_weight_: float  # only of private fits on persons or weights
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    random_state: RandomState  # only of estimators that draw random numbers
    set_fit_request: Callable[..., Self]  # created by scikit-learn

    #: Checks of the parameters that `_compose` resolves. The parts check all others, and this class `random_state`.
    parameter_checks: dict[str, Check] = {}

    def _compose(self) -> tuple[Any, Rule]:
        """Return (channel, rule), made from the constructor's parameters."""
        raise NotImplementedError

    def _validate_params(self) -> None:
        """Raise ValueError if a parameter that this object uses itself is invalid; scikit-learn calls this first."""
        check_random_state(getattr(self, "random_state", None))
        check_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Ballots, y: None = None, *, voter_epsilon: ArrayLike | None = None, **unknown: Never) -> Self:
        """Aggregate the ballots into one consensus ranking.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots, one row per voter. ``X[v, i]`` is the position of item i on the ballot of voter v. Smaller is
            better, equal is tied, NaN (or masked) is a missing opinion.
        y : None
            Ignored.
        voter_epsilon : array-like of shape (n_voters,) or None, default=None
            Each voter's own epsilon, instead of the estimator's. Only for local mechanisms with one report per voter.
            It is public, and has at most 100 distinct values.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        TypeError
            If another parameter is given, such as `groups`: persons and weights belong to a `Profile`.
        ValueError
            If a parameter is invalid, the channel and the rule do not fit together, or X does not contain ballots.

        Warns
        -----
        UserWarning
            If the estimator is not private and no ballot prefers any item to another. For such ballots, a private fit
            gives no warning and returns a random order, under the same guarantee. Also if X has more items than fits
            were measured with. Also if a private fit without a seed runs in a dask worker, because dask may run it
            twice, which is two releases.
        """
        refuse_unknown(self, unknown)
        check_aligned(X, voter_epsilon=voter_epsilon)
        draft = draft_of(self)
        profile = draft.read_ballots(X, reset=True)
        if voter_epsilon is not None:
            profile = profile.with_voter_epsilon(voter_epsilon)
        rule, plan = draft._planned(profile)
        if getattr(self, "random_state", None) is None:
            warn_in_worker(plan.guarantee)
        draft._release(profile, profile.item_names, rule, plan)
        swap_fitted(record_pipeline(self, draft), self)
        return self

    def plan_for(self, profile: Profile | Shape) -> tuple[Rule, Any]:
        """Return the rule and the plan of a fit on a profile of this shape, without reading ballots.

        Parameters
        ----------
        profile : Profile or Shape
            Only the numbers of items and voters, the voters' own epsilons and the bound on weights are read.

        Returns
        -------
        rule : Rule
            Rule that decides the consensus.
        plan : Plan
            Plan of the channel, with the guarantee of one fit.

        Raises
        ------
        ValueError
            If a parameter is invalid, or the channel and the rule do not fit together.
        """
        self._validate_params()
        return self._planned(profile)

    @classmethod
    def follows_plan(cls) -> bool:
        """Return whether the steps of `fit` and `score` are not overridden, so that a sweep can plan once.

        Returns
        -------
        bool
            False for a subclass that overrides `fit`, `score`, or a step that a sweep does not repeat. A sweep then
            calls its `fit` in each trial.
        """
        return all(getattr(cls, name) is getattr(RankAggregator, name) for name in _NOT_REPEATED)

    def _release(self, voters, names, rule, plan):
        """Set the fitted attributes from one session on these voters."""
        random_state = getattr(self, "random_state", None)
        session = plan.open(voters)(Bits.from_random_state(random_state))
        consensus = rule.aggregate(session)
        session.close()
        self.publish(consensus, session, plan.guarantee.simulated(random_state is None), names)
        self.privacy_ = with_own_methods(self, self.privacy_)
        return self

    def publish(self, consensus: Consensus, session: Any, guarantee: PrivacyGuarantee, names: Any) -> Self:
        """Set the fitted attributes of one release: only what may be published.

        Parameters
        ----------
        consensus : Consensus
            Decision of the rule.
        session : Session
            Closed session of the channel.
        guarantee : PrivacyGuarantee
            Guarantee of the release.
        names : sequence or None
            Item names.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If the consensus of a rule is not an order of the items.
        """
        order = self._checked_order(consensus)
        clear_fitted(self, keep=_ITEMS)
        items = np.arange(self.n_features_in_) if names is None else np.asarray(names, dtype=object)
        self.consensus_ = items[order]
        if order.shape[-1] < len(items) and names is not None and not hasattr(self, "feature_names_in_"):
            self._item_names = items  # integer names; a consensus of the best few lacks the others
        self.ranks_ = order_to_positions(order, self.n_features_in_)
        self.privacy_ = guarantee
        for name, value in {**consensus.published, **session.published}.items():
            setattr(self, f"{name}_", value)
        return self

    def _checked_order(self, consensus):
        """Return the order of a rule's consensus; raise ValueError if it is invalid."""
        return checked_order(consensus, self.n_features_in_)

    def score(self, X: Ballots, y: None = None) -> float:
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
            Minus the number of strict disagreements, divided by n_voters C(n_items, 2): 0 is best, -1 is worst. A pair
            that the consensus ties counts one half for each voter who prefers one of its items. The score is computed
            exactly from the ballots, so it is **not** private.
        """
        check_is_fitted(self, "ranks_")
        return -average_kendall_tau(self.ranks_, self.read_ballots(X))

    def _planned(self, shape, items=None):
        """Return (rule, plan) from public inputs only; `items` are the item names in protocols for devices."""
        warn_of_many(shape.n_items)
        channel, rule = self._compose()
        agreed = {} if items is None else {"items": items}
        if shape.voter_epsilon is not None:
            if not getattr(channel, "personal_budgets", False):
                raise ValueError(
                    f"voter_epsilon is for local mechanisms with one report per voter; {type(channel).__name__} uses "
                    "one epsilon for all voters: leave it out."
                )
            agreed["voter_epsilon"] = sorted({float(epsilon) for epsilon in shape.voter_epsilon})
        n_voters = shape.n_voters
        if shape.bound is not None:
            if not getattr(channel, "takes_weights", False):
                raise ValueError(
                    f"groups and sample_weight are for the channels Exact and Central, and {type(channel).__name__} "
                    "counts each row as one voter: pass a Profile without them, with one row of each person."
                )
            agreed["bound"], n_voters = shape.bound, None  # the number of ballots is private
        try:
            return rule, channel.plan(asks_of(rule, shape.n_items), shape.n_items, n_voters, **agreed)
        except Unanswerable as refusal:
            fitting = _rules_that_fit(channel, shape.n_items, n_voters, **agreed) if hasattr(self, "rule") else []
            if not fitting:
                raise
            raise Unanswerable(f"{refusal} Values of `rule` that fit: {', '.join(map(repr, fitting))}.") from None

    def guarantee_before(self, X: Ballots, voter_epsilon: ArrayLike | None = None) -> PrivacyGuarantee:
        if isinstance(X, Profile):
            n_voters, n_items, bound = X.n_voters, X.n_items, X.bound
            voter_epsilon = X.voter_epsilon if voter_epsilon is None else voter_epsilon
        else:
            (n_voters, n_items), bound = shape_of(X), None
        guarantee = self.plan_for(Shape(n_items, n_voters, voter_epsilon, bound))[1].guarantee
        return guarantee.simulated(getattr(self, "random_state", None) is None)

    def read_ballots(self, X: Ballots, reset: bool = False, least_voters: int = 1) -> Profile:
        """Return ballots as a Profile with item names.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots.
        reset : bool, default=False
            Whether this estimator takes over the items of X, as in `fit`. If False, X must have the items of `fit`.
        least_voters : int, default=1
            Minimum number of rows of a table.

        Returns
        -------
        Profile
            Profile of the ballots.

        Raises
        ------
        ValueError
            If X does not contain ballots, or has other items.
        """
        profile = as_profile(X, estimator=self, least_voters=least_voters, least_items=2 if reset else 1)
        if reset:
            self._set_items(profile.item_names, profile.n_items)
        else:
            self._check_items(X, profile)
        return profile

    def _check_items(self, X, profile):
        """Raise ValueError unless the ballots have the items of `fit`."""
        if isinstance(X, Profile):
            if profile.n_items != self.n_features_in_:
                raise ValueError(
                    f"X has {profile.n_items} items, but {type(self).__name__} is expecting {self.n_features_in_} "
                    "items as input."
                )
        elif (
            profile.item_names is not None
            or profile.n_items != self.n_features_in_
            or hasattr(self, "feature_names_in_")
        ) and not np.array_equal(profile.item_names, getattr(self, "feature_names_in_", 0)):  # names in form NFC
            validate_data(self, as_named(X), reset=False, skip_check_array=True)
        if names_differ(names_of(self), profile.item_names):
            raise ValueError("The item names should match those that were passed during fit, in the same order.")

    def _set_items(self, names, n_items):
        self.n_features_in_ = n_items
        if names is not None and isinstance(names[0], str):  # scikit-learn's attribute is for strings only
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _rules_that_fit(channel, n_items, *public, **agreed):
    """Return the names of rules that a channel can plan."""
    fitting = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the numbers of items and voters
        for name in get_args(RuleName):
            with suppress(ValueError):
                channel.plan(asks_of(resolve_rule(name, SortByScore()), n_items), n_items, *public, **agreed)
                fitting.append(name)
    return fitting
