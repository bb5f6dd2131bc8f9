"""Base class of all estimators: fits, intervals, and the collection of reports from voters' devices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from numbers import Integral
from typing import Any, Never, Self, get_args
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from .._utils.checks import (
    Check,
    check_choice,
    check_epsilon,
    check_number,
    check_parameters,
    check_random_state,
    check_whole,
    refuse_unknown,
    safe_repr,
)
from .._utils.estimators import AllowsMissing, _fit_context, available_if, clear_fitted, draft_of, swap_fitted
from .._utils.types import Items, Message, RandomState, RuleName
from ..ballots.profile import Ballots, Profile, Shape, as_profile, check_answerable, check_public_items
from ..ballots.reading import as_named, check_aligned, checked_names, column_names, names_differ, names_of, shape_of
from ..collection import Allowance, Device, ReportCounts
from ..metrics import average_kendall_tau
from ..orders.permutations import check_order, order_to_positions
from ..privacy import PrivacyGuarantee
from ..privacy.estimator_guarantees import GuaranteedEstimator, record_pipeline, warn_in_worker, with_own_methods
from ..rules import Rule, SortByScore, TopListRule, resolve_rule
from ..rules.base import Consensus, asks_of
from ..sampling.bit_source import Bits
from ..uncertainty.laws import Of, PublishedNoise
from .plan import Unanswerable

_ORDERS_ONLY = ("DPPrudentOrder", "DPSwissBorda", "DPTopK", "SecAggSwissBorda")  # or several answers
#: Largest number of items for which the time and memory of every estimator were measured.
MOST_MEASURED = 1000
_ITEMS = ("n_features_in_", "feature_names_in_")
_NOT_REPEATED = ("fit", "score", "read_ballots", "plan_for", "_release")  # a sweep does these steps once, or itself
#: Method to call instead, by the ability of the channel.
_INSTEAD = {
    "collects_reports": "each device reports once: fit_reports(reports, items=...)",
    "asks_questions": "devices are asked in rounds: fit_interactive(ask, items=..., n_voters=...)",
    "collects_sums": "servers add up what devices send: fit_sums(sums, items=...)",
    "has_periods": "ballots come period by period: partial_fit(X)",
}


def channel_can(*abilities):
    """Return a check for `available_if` that the estimator's channel has one of these abilities."""

    def check(estimator):
        try:
            channel, _ = estimator._compose()
        except (TypeError, ValueError):
            return False  # the parameters are invalid, and `fit` reports why
        if any(getattr(channel, ability, False) for ability in abilities):
            return True
        there = [text for ability, text in _INSTEAD.items() if getattr(channel, ability, False)]
        instead = "; ".join(there) or "a curator holds all ballots: fit(X)"
        raise AttributeError(f"with {type(channel).__name__}, {instead}.")

    return check


def publishes_intervals(estimator: Any) -> bool:
    """Return whether a fit of an estimator of `recommend` or of ``dprank rank`` will publish rank intervals."""
    return type(estimator).__name__ not in _ORDERS_ONLY and getattr(estimator, "noise", "") != "knorm"


def noise_is_known(estimator):
    """Return True; raise AttributeError if a fit did not publish scores or margins with a known noise law."""
    if not hasattr(estimator, "ranks_"):
        return True  # the method reports that there is no fit
    noise = getattr(estimator, "noise_", None)
    if noise is None or not noise.orders:
        why = "this fit published only an order, or numbers with an unknown noise distribution"
        if type(estimator).__name__ in ("DPSwissBorda", "SecAggSwissBorda"):
            why = (
                "strengths depend on which groups were asked, which follows from earlier answers. So there are no true "
                "strengths of the voters or of a population that intervals could contain"
            )
        raise AttributeError(
            f"{why}; for rank intervals, use DPBorda with noise='laplace' or 'gaussian', and for those of a population "
            "also neighboring='replace'."
        )
    return True


def checked_of(noise: Any, of: Any) -> dict[str, Any]:
    """Return the argument `of` of a law if it is not the default; raise ValueError if its intervals are of others."""
    if of is None or of == noise.describes[0]:
        return {}
    check_choice(of, "of", get_args(Of))
    if of not in noise.describes:
        remedy = {
            "voters": "Use DPBradleyTerry(n_rounds=1), which has both.",
            "population": 'Use DPBorda(neighboring="replace"), or DPBorda(population=True) with Gaussian noise, on one '
            "ballot a person without weights or max_listed.",
        }
        raise ValueError(
            f'of="{of}" is unknown for this release, which has intervals of="{noise.describes[0]}" only. {remedy[of]}'
        )
    return {"of": of}


class RankAggregator(GuaranteedEstimator, AllowsMissing):
    """Base class of all estimators, with `fit`, `score` and the fitted attributes that they share.

    A subclass defines only its parameters and `_compose`, which returns its channel and its rule.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items of the released ranking, best first. They are item names if X had names, and column indices otherwise.
        `~sklearn_dprank.DPTopK` releases the best k items only.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item in the released ranking, in the order of the columns of X; 0 is best. Items that
        ``consensus_`` does not contain are tied behind the others. If the columns of a pandas DataFrame named the
        items, also those of a `Profile`, it is a Series with these names; otherwise an array.
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
    ranks_: Any  # an array, or a Series of pandas
    privacy_: PrivacyGuarantee
    max_weight_: float  # only of private fits on profiles with bounds
    max_listed_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    random_state: RandomState  # only of estimators that draw random numbers
    # Of some channels and rules only:
    scores_: NDArray[Any]
    margins_: NDArray[Any]
    histogram_: NDArray[np.int64]
    periods_: int
    noise_: PublishedNoise
    optimal_gap_: float
    shrinkage_: float
    reports_accepted_: int
    reports_refused_: dict[str, int]
    local_epsilon_: float
    stream_: Any
    set_fit_request: Callable[..., Self]  # created by scikit-learn

    #: Checks of the parameters that `_compose` resolves. The parts check all others, and this class `random_state`.
    parameter_checks: dict[str, Check] = {}
    #: Whether it ranks a `Profile` whose items are private.
    takes_private_items: bool = False

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
        if unknown:
            refuse_unknown(self, unknown)
        draft = draft_of(self)
        profile = draft.read_ballots(X, reset=True)
        if voter_epsilon is not None:
            check_aligned(X, voter_epsilon=voter_epsilon)
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
        """Set the fitted attributes from one release on these voters."""
        random_state = getattr(self, "random_state", None)
        answers = plan.open(voters)(Bits.from_random_state(random_state))
        consensus = rule.aggregate(answers)
        answers.close()
        self.publish(consensus, answers, plan.guarantee.simulated(certified=random_state is None), names)
        self.privacy_ = with_own_methods(self, self.privacy_)
        return self

    def publish(self, consensus: Consensus, answers: Any, guarantee: PrivacyGuarantee, names: Any) -> Self:
        """Set the fitted attributes of one release: only what may be published.

        Parameters
        ----------
        consensus : Consensus
            Decision of the rule.
        answers : Answers
            Answers of the channel, closed.
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
        if answers.private_items:  # what is published has no other items
            names = np.asarray(names, dtype=object)[consensus.order]
            self._set_items(names, len(names))
            consensus = consensus._replace(order=np.arange(len(names)))
        order = self._checked_order(consensus)
        clear_fitted(self, keep=_ITEMS)
        items = np.arange(self.n_features_in_) if names is None else np.array(names, dtype=object)
        self.consensus_ = items[order]
        if order.shape[-1] < len(items) and names is not None and not hasattr(self, "feature_names_in_"):
            self._item_names = items  # integer names; a consensus of the best few lacks the others
        self.ranks_ = order_to_positions(order, self.n_features_in_)
        if hasattr(type(names), "get_indexer"):  # an Index of pandas
            import pandas as pd

            is_one = order.ndim == 1
            self.ranks_ = pd.Series(self.ranks_, index=names) if is_one else pd.DataFrame(self.ranks_, columns=names)
        self.privacy_ = guarantee
        for name, value in {**consensus.published, **answers.published}.items():
            setattr(self, f"{name}_", value)
        return self

    def _checked_order(self, consensus):
        """Return the order of a rule's consensus; raise ValueError if it does not contain distinct items."""
        if not isinstance(consensus, Consensus):
            got = type(consensus).__name__
            raise ValueError(
                f"the rule's aggregate(answers) must return a Consensus, got {got}; return Consensus(order)."
            )
        if not self.n_features_in_:  # of private items, none was published
            return consensus.order
        return check_order(consensus.order, self.n_features_in_, "the order of a rule's Consensus")

    def score(self, X: Ballots, y: None = None, **unknown: Never) -> float:
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
        if unknown:
            refuse_unknown(self, unknown, "score")
        check_is_fitted(self, "ranks_")
        return -average_kendall_tau(np.asarray(self.ranks_), self.read_ballots(X))

    def _planned(self, shape, items=None, for_devices=False):
        """Return (rule, plan) from public inputs only; `items` are the item names in protocols for devices."""
        if not self.takes_private_items:
            check_public_items(shape.bound)
            if shape.n_items > MOST_MEASURED:
                warn(
                    f"{shape.n_items:,} items are more than the {MOST_MEASURED:,} up to which fits were measured: time "
                    "can grow with the cube of their number, and memory with its square. The page Measurements of the "
                    "user guide says which estimators stay fast.",
                    stacklevel=4,  # the caller of `fit`
                )
        channel, rule = self._compose()
        public = {} if items is None else {"items": items}
        if shape.voter_epsilon is not None:
            if not getattr(channel, "personal_budgets", False):
                raise ValueError(
                    f"voter_epsilon is for local mechanisms with one report per voter; {type(channel).__name__} uses "
                    "one epsilon for all voters: leave it out."
                )
            public["voter_epsilon"] = sorted({float(epsilon) for epsilon in shape.voter_epsilon})
        n_voters, form = shape.n_voters, "ballots" if shape.bound is None else shape.bound.form
        if getattr(channel, "takes_comparisons", False):
            if form != "comparisons" and not for_devices:
                raise ValueError(
                    "pairs='shown' is for comparisons of two items, one a row: read them by Profile.from_comparisons. "
                    "For ballots, use pairs='hidden'."
                )
            public["bound"] = shape.bound
        elif shape.bound is not None:
            if shape.bound.form == "private" and type(rule) is not TopListRule:
                raise ValueError(
                    f"items='private' is for the rule of DPPositionalRule, got {type(rule).__name__}, which might "
                    "publish items below the threshold; leave it out."
                )
            if not getattr(channel, "takes_weights", False):
                if form != "ballots":
                    can_be_shown = form == "comparisons" and hasattr(self, "pairs")
                    shown = " If it is public who compared which items, set pairs='shown'." if can_be_shown else ""
                    raise ValueError(
                        f"long data is for a trusted curator, and {type(channel).__name__} counts one ballot of each "
                        f"voter. Use DPBorda or DPPairwise, or read a table with one ballot of each person.{shown}"
                    )
                raise ValueError(
                    "groups, sample_weight and max_listed are for the channels Exact and Central. "
                    f"{type(channel).__name__} counts each row as one voter: pass a Profile without them, with one row "
                    "of each person. LDPBorda, SecAggBorda and SecAggSwissBorda have a parameter max_listed."
                )
            public["bound"], n_voters = shape.bound, None  # the number of ballots is private
        try:
            plan = channel.plan(asks_of(rule, shape.n_items), shape.n_items, n_voters, **public)
            if form != "ballots":
                check_answerable(type(self).__name__, plan.needs, shape.n_items, shape.bound)
        except Unanswerable as refusal:
            fitting = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the numbers of items and voters
                for name in get_args(RuleName) if hasattr(self, "rule") else ():
                    with suppress(ValueError):
                        asks = asks_of(resolve_rule(name, SortByScore()), shape.n_items)
                        channel.plan(asks, shape.n_items, n_voters, **public)
                        fitting.append(name)
            if not fitting:
                raise
            raise Unanswerable(f"{refusal} Values of `rule` that fit: {', '.join(map(repr, fitting))}.") from None
        try:
            return deepcopy(rule), plan  # a copy, so that the estimator keeps nothing that a rule stores about ballots
        except TypeError as error:
            raise TypeError(
                f"{type(rule).__name__} cannot be copied ({error}), and each fit uses a copy of its rule; keep "
                "locks, files and generators outside of it."
            ) from error

    def guarantee_before(self, X: Ballots, voter_epsilon: ArrayLike | None = None) -> PrivacyGuarantee:
        names: Any
        if isinstance(X, Profile):
            n_voters, n_items, bound, names = X.n_voters, X.n_items, X.bound, X.item_names
            voter_epsilon = X.voter_epsilon if voter_epsilon is None else voter_epsilon
        else:
            (n_voters, n_items), bound, names = shape_of(X), None, column_names(X)
        draft = draft_of(self)
        draft._set_items(names, n_items)  # `_compose` may depend on what a fit knows when it plans
        plan = draft.plan_for(Shape(n_items, n_voters, voter_epsilon, bound))[1]
        if isinstance(X, Profile):
            plan.check_kept(X, self)
        return plan.guarantee.simulated(certified=getattr(self, "random_state", None) is None)

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
        private_items = reset and self.takes_private_items
        least_items = 2 if reset else 1
        profile = as_profile(X, least_voters=least_voters, least_items=least_items, private_items=private_items)
        if reset:
            self._set_items(profile.item_names, profile.n_items)
            return profile
        names: Any = profile.item_names
        known: Any = getattr(self, "feature_names_in_", None)
        if isinstance(X, Profile):
            if profile.n_items != self.n_features_in_:
                raise ValueError(
                    f"X has {profile.n_items} items, but {type(self).__name__} is expecting {self.n_features_in_} "
                    "items as input."
                )
        elif profile.n_items != self.n_features_in_ or not np.array_equal(names, known):
            # Only if they differ in form NFC, because scikit-learn compares names as they are written.
            validate_data(self, as_named(X), reset=False, skip_check_array=True)
        if names_differ(names_of(self), names):
            raise ValueError("The item names should match those that were passed during fit, in the same order.")
        return profile

    def _set_items(self, names, n_items):
        self.n_features_in_ = n_items
        # scikit-learn's attribute is for strings only.
        if names is not None and len(names) and isinstance(names[0], str):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

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
        if unknown:
            refuse_unknown(self, unknown, "partial_fit")
        while True:
            draft = draft_of(self)
            before = getattr(draft, "stream_", None)
            if before is not None:
                before.check_room()
            elif hasattr(draft, "ranks_"):
                warn(
                    "fit stores no ballots: this period begins a stream without those of the fit. Call partial_fit "
                    "from the first period on.",
                    stacklevel=2,
                )
            # `X` too, so that a further attempt does not read the table again.
            X = profile = draft.read_ballots(X, reset=before is None, least_voters=0)
            names = profile.item_names if before is None else names_of(draft)
            rule, plan = draft.plan_for(profile)
            if draft.random_state is None:
                warn_in_worker(plan.guarantee)
            # The seed begins a stream, and each later period without a seed has a new source.
            stream = plan.open(profile)(Bits.from_random_state(draft.random_state if before is None else None), before)
            consensus = rule.aggregate(stream)
            stream.close()
            draft.publish(consensus, stream, plan.guarantee.simulated(certified=stream.bits.certified), names)
            draft.privacy_ = with_own_methods(draft, draft.privacy_)
            draft.stream_ = stream
            # If another thread has published a period meanwhile, add this one after it, with fresh noise.
            if swap_fitted(draft, self, stream_=before):
                return self

    @available_if(noise_is_known)
    def rank_intervals(self, level: float = 0.95, *, of: Of | None = None) -> NDArray[np.int64]:
        """Return simultaneous confidence intervals for the true ranks.

        After a fit, the method exists only if ``scores_`` or ``margins_`` and the noise distribution ``noise_`` exist.

        Parameters
        ----------
        level : float, default=0.95
            Simultaneous coverage probability, between 0 and 1.
        of : {"voters", "population"} or None, default=None
            Whose true ranks they contain: those of the voters given, or of the population from which these voters are
            a random sample. None is "voters" if the release has intervals of these, else "population".

        Returns
        -------
        ndarray of int, shape (n_items, 2)
            The best and the worst rank of each item, 0 is best, in the order of the columns.

        Raises
        ------
        ValueError
            If `level` is not between 0 and 1, or the release has no intervals of this kind.

        Notes
        -----
        The rank of an item is the number of items above it. With ``scores_``, these are the items with more net wins
        (Borda's order). With ``margins_``, they are the items that more voters prefer to it than the other way round,
        for any rule. If two items are truly tied, their intervals allow both orders. If an interval covers nearly all
        ranks, the release says little about its item. More voters or a larger epsilon would narrow it. Intervals are
        computed from the release and from public numbers, so they cost no privacy.

        Intervals of "voters" refer to those whose ballots were counted, and account for the noise. Intervals of a
        "population" also account for the random choice of the voters. The population may have any opinions.

        - If a curator or servers add up net wins (`~sklearn_dprank.DPBorda`, `~sklearn_dprank.DPStreamingBorda`,
          `~sklearn_dprank.SecAggBorda`), they use the number of voters, and the largest variance that ballots can have.
          So they need ``neighboring="replace"``, which makes that number public (the only relation of
          `~sklearn_dprank.SecAggBorda`), and one ballot per person, without weights or ``max_listed``.
        - ``DPBorda(population=True)`` releases the covariance of ballots, too. Its intervals are narrower, hold
          approximately, and do not need a public number of voters.
        - If voters randomise their ballots (`~sklearn_dprank.LDPPairwise`, `~sklearn_dprank.ShufflePairwise`,
          `~sklearn_dprank.LDPBorda`), both kinds are the same, because the noise depends on who was asked what.
        - `~sklearn_dprank.DPBradleyTerry` has both kinds with one round, and only these with several rounds. They hold
          approximately.

        The level holds for each release separately, and for each period of a stream. With `~sklearn_dprank.LDPBorda`,
        the noise is the sum of many reports, and is treated as normal.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> ballots = [[0, 1, 2, 3]] * 60 + [[1, 0, 3, 2]] * 50
        >>> DPBorda(epsilon=1.0, random_state=0).fit(ballots).rank_intervals()
        array([[0, 1],
               [0, 1],
               [2, 3],
               [2, 3]])
        """
        check_is_fitted(self, "ranks_")
        check_number(level, "level", above=0, below=1)
        published, other = getattr(self, f"{self.noise_.on}_"), checked_of(self.noise_, of)
        return self.noise_.rank_intervals(published, float(level), **other)

    @available_if(noise_is_known)
    def pair_confidence(self) -> NDArray[np.float64]:
        """Return the posterior probability that each item is above each other.

        After a fit, the method exists only if ``scores_`` or ``margins_`` and the noise distribution ``noise_`` exist.

        Returns
        -------
        ndarray of float, shape (n_items, n_items)
            ``[i, j]`` is the probability that item i is above item j, averaged over the unknown spread of the true
            values. The diagonal is 0.5; ``[i, j]`` and ``[j, i]`` add up to 1.

        Notes
        -----
        "Above" refers to those whose ranks `rank_intervals` contains by default: these voters, or a population for
        `~sklearn_dprank.DPBradleyTerry` with several rounds. It costs no privacy.

        True scores are modelled as independent normal numbers. True margins are modelled as differences of normal
        strengths of the items, plus a normal residual of each pair. The spreads of all of these are unknown, and the
        probability is averaged over them. Their prior is half-Cauchy, with a quarter of the noise's standard deviation
        as its scale.

        The probabilities are calibrated on average over signal-to-noise ratios, not at each one. If the ratio is low,
        probabilities above .9 are too high, but at most 1 % of the pairs have them. Skellam noise is treated as normal.
        Margins with Laplace noise are treated as normal, with the likelihood of the spreads raised to the power .5.

        References
        ----------
        Gelman (2006), "Prior distributions for variance parameters in hierarchical models".

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> ballots = [[0, 1, 2, 3]] * 60 + [[1, 0, 3, 2]] * 50
        >>> DPBorda(epsilon=1.0, random_state=0).fit(ballots).pair_confidence().round(2)[0]
        array([0.5 , 0.92, 1.  , 1.  ])
        """
        check_is_fitted(self, "ranks_")
        return self.noise_.chance_before(getattr(self, f"{self.noise_.on}_"))

    def to_frame(self, level: float = 0.95, *, of: Of | None = None) -> Any:
        """Return the published numbers of each item as a DataFrame, best item first; needs pandas.

        Parameters
        ----------
        level : float, default=0.95
            Simultaneous coverage probability of the rank intervals, as in `rank_intervals`. Not used if the release has
            no intervals.
        of : {"voters", "population"} or None, default=None
            Whose ranks the intervals contain, as in `rank_intervals`.

        Returns
        -------
        pandas.DataFrame
            Indexed by item, or by segment and item. It has a column ``rank`` (1 is best), and of what the release has:
            ``best`` and ``worst`` (rank interval), ``score``, ``strength`` and ``exposure``. It contains published
            numbers only. ``attrs["intervals"]`` says what the intervals contain, and what they assume.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        ValueError
            If `rank_intervals` refuses `level` or `of`.
        AttributeError
            If `of` is given, and the release has no intervals.
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> borda = DPBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2, 3]] * 60 + [[1, 0, 3, 2]] * 50)
        >>> borda.to_frame()[["rank", "best", "worst"]].to_dict("list")
        {'rank': [1, 2, 3, 4], 'best': [1, 1, 3, 3], 'worst': [2, 2, 4, 4]}
        >>> borda.to_frame().attrs["intervals"]
        'of these voters, not of a population, level 0.95'
        """
        check_is_fitted(self, "ranks_")
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('to_frame needs pandas: install the extra "plot", or pip install pandas') from None
        ranks, names, segments = np.atleast_2d(self.ranks_), names_of(self), getattr(self, "segments_", None)
        items = pd.Index(range(ranks.shape[1]) if names is None else names, name="item")
        rows = items if segments is None else pd.MultiIndex.from_product([segments, items], names=["segment", "item"])
        columns, whose = {"rank": 1 + ranks.ravel()}, None
        if of is not None or hasattr(self, "rank_intervals"):
            columns["best"], columns["worst"] = 1 + self.rank_intervals(level, of=of).reshape(-1, 2).T
            whose = f"{self.noise_.whose(of)}, level {level}" + ("" if segments is None else " in each segment")
            whose += f", if {self.noise_.assumes}" if self.noise_.assumes else ""
        for name in ("scores_", "strengths_", "exposures_"):
            if hasattr(self, name):
                columns[name[:-2]] = np.ravel(getattr(self, name))
        order = np.argsort(ranks, axis=1, kind="stable") + ranks.shape[1] * np.arange(len(ranks))[:, np.newaxis]
        table = pd.DataFrame(columns, index=rows).iloc[order.ravel()]
        if whose is not None:
            table.attrs["intervals"] = whose
        return table

    @available_if(channel_can("collects_reports", "asks_questions", "collects_sums"))
    def client(
        self,
        items: Items,
        random_state: RandomState = None,
        *,
        epsilon: float | None = None,
        max_epsilon: float | None = None,
        max_delta: float = 1e-6,
        allowance: Allowance | None = None,
    ) -> Device:
        """Return the device of one voter, which reads only the public protocol.

        Parameters
        ----------
        items : sequence of str or of int, or int
            Item names in the order of a ballot's columns, or the number of items.
        random_state : None, int, Generator or RandomState, default=None
            Source of the voter's randomness. None uses the operating system's secure source. Any other value is for
            simulations only.
        epsilon : float or None, default=None
            This voter's own epsilon, one of those that the curator passes to `fit_reports`. None is the estimator's
            epsilon.
        max_epsilon : float or None, default=None
            Limit on the local epsilon that the voter accepts; see `~sklearn_dprank.collection.Device`.
        max_delta : float, default=1e-6
            Limit on the delta that the voter accepts.
        allowance : Allowance or None, default=None
            The voter's budget over all protocols, to which the device is charged.

        Returns
        -------
        Device
            Client of the voter. ``device.report(ballot)`` returns its only report. If the curator asks questions,
            ``device.answer(question, ballot)`` returns an answer. On other computers, use ``Device(protocol)``.

        Raises
        ------
        ValueError
            If a parameter is invalid, or devices cannot send what the rule asks for.
        RefusedProtocol
            If the protocol exceeds `max_epsilon` or `max_delta`.
        BudgetExhausted
            If the allowance does not cover the protocol.
        """
        plan = self._planned_for_devices(items, epsilon=epsilon)[-1]
        return Device(
            plan.protocol,
            max_epsilon=max_epsilon,
            max_delta=max_delta,
            allowance=allowance,
            random_state=random_state,
            randomizer=plan.client,
        )

    @available_if(channel_can("collects_reports", "asks_questions", "collects_sums"))
    def protocol(self, items: Items, *, epsilon: float | None = None) -> dict[str, Any]:
        """Return the public protocol that devices follow, as JSON-serialisable data.

        Parameters
        ----------
        items : sequence of str or of int, or int
            Item names, or the number of items.
        epsilon : float or None, default=None
            Epsilon of the voters who follow this protocol, if voters have their own. None is the estimator's epsilon.

        Returns
        -------
        dict
            Protocol with the item names in order, and the local epsilon of everything that one device sends.

        Raises
        ------
        ValueError
            If a parameter is invalid, or devices cannot send what the rule asks for.
        """
        return self._planned_for_devices(items, epsilon=epsilon)[-1].protocol

    def _planned_for_devices(self, items, n_voters=None, epsilon=None, epsilons=None):
        """Return (names or None, number of items, rule, plan); raise ValueError if devices cannot send what is asked.

        Voters use the estimator's epsilon, or `epsilon`, or one of `epsilons`.
        """
        self._validate_params()
        if epsilon is not None:
            check_epsilon(epsilon)
            epsilons = [epsilon]
        elif epsilons is not None:
            grid = list(epsilons) if isinstance(epsilons, Iterable) and not isinstance(epsilons, str) else []
            if not grid:
                raise ValueError(
                    f"epsilons must list at least one epsilon, such as epsilons=[1.0, 2.0], got {safe_repr(epsilons)}."
                )
            for each in grid:
                check_epsilon(each, "epsilons")
            epsilons = grid
        names = None if isinstance(items, Integral) else checked_names(items, "items")
        n_items = int(items) if names is None else len(names)
        if n_items < 2:
            raise ValueError(f"items must name at least two items, got {n_items}.")
        rule, plan = self._planned(Shape(n_items, n_voters, epsilons), names, for_devices=True)
        if plan.protocol is None:
            raise ValueError(
                f"voters' devices cannot send what this rule asks for: {plan.unsent}. Only fit can simulate it."
            )
        return names, n_items, rule, plan

    @available_if(channel_can("collects_reports"))
    def fit_reports(
        self,
        reports: Iterable[Message] | ReportCounts,
        *,
        items: Items,
        epsilons: Sequence[float] | None = None,
    ) -> Self:
        """Aggregate reports from voters' devices.

        Parameters
        ----------
        reports : iterable of dict, str or bytes, ReportCounts, or dask collection
            Reports as JSON objects, parsed or not. An open file has one report per line. Reports are read once, as a
            stream. Reports that do not follow this estimator's protocol for these items are left out and counted in
            ``reports_refused_``.

            Or the counts of all reports, which `count_reports` returns. Or a dask collection: a bag of reports, or a
            list of ``dask.delayed`` parts. Each part is an iterable of reports or a `ReportCounts`. Dask's active
            scheduler counts each part in a worker, and only counts leave it. The fit is the same, to the last bit, as
            on all reports in order.

            In the local model, pass one report per voter. The collector of the reports must drop further reports of a
            voter.

            In the shuffle model, pass the messages of one or more batches that a `~sklearn_dprank.collection.Shuffler`
            released. Messages contain neither a voter nor a number, so a message that is passed twice counts twice. A
            voter's whole submission, as the device wrote it, must go to the shuffler only. If one party is both
            shuffler and curator, it may pass submissions here, and each counts once. Voters then have only the local
            epsilon against this party.
        items : sequence of str or of int, or int
            Item names in the order that devices used, or the number of items.
        epsilons : sequence of float or None, default=None
            Public grid of epsilons, if voters have their own. None is the estimator's epsilon for all voters.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is invalid, no report is accepted, or too few are accepted to hide each voter. Also if counts
            belong to another protocol.
        """
        return self._fitted_on(reports, *self._planned_for_devices(items, epsilons=epsilons))

    @available_if(channel_can("collects_reports"))
    def count_reports(
        self,
        reports: Iterable[Message] | ReportCounts,
        *,
        items: Items,
        epsilons: Sequence[float] | None = None,
    ) -> ReportCounts:
        """Count some of the reports, for `fit_reports` on the sum of all counts.

        Parameters
        ----------
        reports : iterable of dict, str or bytes, ReportCounts, or dask collection
            Reports, as for `fit_reports`. None of them has to be valid.
        items : sequence of str or of int, or int
            As for `fit_reports`.
        epsilons : sequence of float or None, default=None
            As for `fit_reports`.

        Returns
        -------
        ReportCounts
            Counts, which add up with ``+``. They are not a release: `fit_reports` checks ``min_reports`` on the sum.

        Raises
        ------
        ValueError
            If a parameter is invalid, or counts belong to another protocol.
        """
        plan = self._planned_for_devices(items, epsilons=epsilons)[-1]
        if plan.reader is None:
            raise ValueError(f"{type(self).__name__} cannot count reports in parts; call fit_reports on all of them.")
        return plan.reader(reports)

    @available_if(channel_can("collects_sums"))
    def fit_sums(self, sums: Iterable[Message], *, items: Items) -> Self:
        """Aggregate the sums of servers that added up the shares of voters' devices.

        Parameters
        ----------
        sums : iterable of dict, str or bytes
            One message per server (`~sklearn_dprank.collection.AggregationServer.release`), as JSON objects, parsed or
            not. Messages that do not follow this estimator's protocol for these items are left out and counted in
            ``reports_refused_``. ``reports_accepted_`` is the number of voters in the sum.
        items : sequence of str or of int, or int
            Item names in the order that devices used, or the number of items.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is invalid, the sum of a server is missing, or the sums cover different voters or fewer than
            `min_reports`.
        """
        return self._fitted_on(sums, *self._planned_for_devices(items))

    @available_if(channel_can("asks_questions"))
    def fit_interactive(
        self,
        ask: Callable[[dict[str, Any]], Iterable[Message | tuple[int, Message]]],
        *,
        items: Items,
        n_voters: int,
    ) -> Self:
        """Aggregate answers from voters' devices to questions that may depend on earlier answers.

        Parameters
        ----------
        ask : callable
            ``ask(question)`` delivers a JSON-serialisable question to the voters in ``question["voters"]`` (0 to
            n_voters - 1). It returns an iterable of their reports, in any order. At most as many reports as voters were
            asked are accepted. Each report contains a random identifier, so a repeated report counts once. To
            limit each voter to one report, even if a voter writes several, return pairs (voter, report).

            In secure aggregation, the question is for all voters and for the servers. Return one message per server, or
            an empty list if the servers released none.
        items : sequence of str or of int, or int
            Item names in the order that devices use, or the number of items.
        n_voters : int
            Number of voters, which is public.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is invalid, n_voters is not a positive integer, or no answer is accepted.
        BudgetExhausted
            If the servers released no sum for a question that the rule cannot do without.

        Warns
        -----
        UserWarning
            If the servers released no sum for a question. The rule continues without it if it can.
        """
        check_whole(n_voters, "n_voters")
        if not callable(ask):
            raise ValueError(f"ask must be callable, ask(question), got {type(ask).__name__}.")
        return self._fitted_on(ask, *self._planned_for_devices(items, int(n_voters)))

    def _fitted_on(self, voters, names, n_items, rule, plan):
        """Return this estimator, fitted on messages from voters' devices."""
        draft = draft_of(self)
        draft._set_items(names, n_items)
        swap_fitted(draft._release(voters, names, rule, plan), self)
        return self
