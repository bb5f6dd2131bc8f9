"""RankAggregator: the one `fit` and `score` of every estimator, and what a sweep asks of it.

It and `_scikit_learn` are the only modules that use private names of scikit-learn.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import tee
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from .._utils.checks import Check, check_parameters, warn_of_many
from .._utils.fitted import clear_fitted, draft_of, publish
from .._utils.scikit_learn import BaseEstimator, _fit_context
from .._utils.types import RandomState
from ..ballots.names import as_named, names_differ, names_of
from ..ballots.profile import Ballots, Profile, Shape, as_profile
from ..ballots.rankings import shape_of
from ..metrics import average_kendall_tau
from ..orders.permutations import order_to_positions
from ..privacy import PrivacyGuarantee
from ..privacy.estimator_guarantees import record_pipeline
from ..privacy.workers import warn_in_worker
from ..rules import Rule
from ..rules.base import asks_of, checked_order
from ..sampling.streams import Bits
from .collection import Field
from .partial_fit import Periods
from .rank_intervals import Certain

_ITEMS = ("n_features_in_", "feature_names_in_")


class RankAggregator(Field, Periods, Certain, BaseEstimator):
    """Base of all aggregators: a subclass says what its channel and rule are, nothing else."""

    consensus_: NDArray[Any]
    ranks_: NDArray[np.int64]
    privacy_: PrivacyGuarantee
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    random_state: RandomState  # of those that draw
    set_fit_request: Callable[..., Self]  # scikit-learn makes it

    #: What each of the constructor's parameters must be; see `sklearn_dprank._utils.checks`.
    parameter_checks: dict[str, Check] = {}

    def _compose(self) -> tuple[Any, Rule]:
        """Return (channel, rule), made from the constructor's parameters."""
        raise NotImplementedError

    def _validate_params(self) -> None:
        """Raise where a parameter will not do; scikit-learn calls this before every fit."""
        check_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Ballots, y: None = None, *, voter_epsilon: ArrayLike | None = None) -> Self:
        """Aggregate the ballots into one consensus ranking.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            ``X[v, i]`` is where voter v puts item i; smaller is better, equal is tied, NaN (or masked) is
            no opinion. One row is one voter.
        y : None
            Ignored.
        voter_epsilon : array-like of shape (n_voters,) or None, default=None
            Each voter's own epsilon instead of the estimator's, for local mechanisms with one report a
            voter. It is public, and has at most 100 distinct values.

        Returns
        -------
        self : object
            The fitted aggregator.

        Raises
        ------
        ValueError
            If a parameter is invalid, the parts do not fit together, or X is no set of ballots.

        Warns
        -----
        UserWarning
            If no ballot prefers any item to another, where nothing is private. A private fit neither refuses nor
            warns by what ballots say: it returns an order drawn by noise and coins, under the same guarantee.
            If a private fit runs inside a worker of dask, which may run it twice: that is two releases.
        """
        draft = draft_of(self)
        profile = draft.read_ballots(X, reset=True)
        if voter_epsilon is not None:
            profile = profile.with_voter_epsilon(voter_epsilon)
        rule, plan = draft._planned(profile)
        if getattr(self, "random_state", None) is None:
            warn_in_worker(plan.guarantee)
        released = draft._release(profile, profile.item_names, rule, plan)
        publish(record_pipeline(self, released), self)
        return self

    def plan_for(self, profile: Profile | Shape) -> tuple[Rule, Any]:
        """Return what this aggregator would do with a profile of this shape; ballots are not read.

        Parameters
        ----------
        profile : Profile or Shape
            Its numbers of items and voters, and the voters' own epsilons, are read.

        Returns
        -------
        rule : Rule
            What decides.
        plan : Plan
            What answers it, with the guarantee of one fit.

        Raises
        ------
        ValueError
            If a parameter is invalid, or the parts do not fit together.
        """
        self._validate_params()
        return self._planned(profile)

    @classmethod
    def follows_plan(cls) -> bool:
        """Tell whether `fit` and `score` are those of all aggregators, so that `plan_for` and `refits` replace them.

        Returns
        -------
        bool
            False for a subclass that has one of its own.
        """
        return cls.fit is RankAggregator.fit and cls.score is RankAggregator.score

    def refits(self, profile: Profile, rule: Rule, plan: Any, seeds: Sequence[int]) -> Iterator[Self]:
        """Yield this aggregator, fitted on the same voters with one seed after another.

        Each fit is that of `fit` with the seed as ``random_state``; what no seed changes is done once.

        Parameters
        ----------
        profile : Profile
            The ballots.
        rule, plan : Rule, Plan
            What `plan_for` gave for this profile.
        seeds : list of int
            One for each fit.

        Yields
        ------
        self : object
            The same object again and again: copy what is to be kept.
        """
        self.read_ballots(profile, reset=True)
        for seed, fitted in zip(seeds, self._fits(profile, profile.item_names, rule, plan, seeds), strict=True):
            if hasattr(self, "random_state"):
                self.random_state = seed
            yield fitted

    def _release(self, voters, names, rule, plan):
        """Return this aggregator, fitted once, with its own ``random_state``."""
        return next(self._fits(voters, names, rule, plan, [getattr(self, "random_state", None)]))

    def _fits(self, voters, names, rule, plan, random_states):
        """Open one poll and a session on it for each random state; keep only what may be published."""
        poll, systems = plan.open(voters), {state is None for state in random_states}
        promised = {system: plan.guarantee.simulated(system) for system in systems}
        sessions, asked = tee(poll(Bits.from_random_state(state)) for state in random_states)
        # Sessions that hold as much as the ballots are decided one by one: a rule may have many open at once.
        decided = map(rule.aggregate, asked) if "positions" in plan.needs else rule.aggregate_each(asked)
        for state, session, consensus in zip(random_states, sessions, decided, strict=True):
            session.close()
            yield self._publish(consensus, session, promised[state is None], names)

    def _publish(self, consensus, session, guarantee, names):
        order = checked_order(consensus, self.n_features_in_)
        clear_fitted(self, keep=_ITEMS)
        items = np.arange(self.n_features_in_) if names is None else np.asarray(names, dtype=object)
        self.consensus_ = items[order]
        if len(self.consensus_) < len(items) and names is not None and not hasattr(self, "feature_names_in_"):
            self._item_names = items  # whole numbers, which live in the consensus; one of the best few lacks the others
        self.ranks_ = order_to_positions(order, self.n_features_in_)
        self.privacy_ = guarantee
        for name, value in {**consensus.published, **session.published}.items():
            setattr(self, f"{name}_", value)
        return self

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
            Minus the strict disagreements over n_voters C(n_items, 2): 0 is best, -1 is worst. A pair that the
            consensus ties counts one half for each voter who does not. It is computed from the ballots exactly, so it
            is **not** private.
        """
        check_is_fitted(self, "ranks_")
        return -average_kendall_tau(self.ranks_, self.read_ballots(X))

    def _planned(self, shape, items=None):
        """Return (rule, plan), from public inputs only; `items` where devices and curator must agree on them."""
        warn_of_many(shape.n_items)
        channel, rule = self._compose()
        check_parameters(rule)
        agreed = {} if items is None else {"items": items}
        if shape.voter_epsilon is not None:
            if not getattr(channel, "personal_budgets", False):
                raise ValueError(
                    f"voter_epsilon is for local mechanisms with one report a voter; {type(channel).__name__} has one "
                    "epsilon for all: leave it out."
                )
            agreed["voter_epsilon"] = sorted({float(epsilon) for epsilon in shape.voter_epsilon})
        return rule, channel.plan(asks_of(rule, shape.n_items), shape.n_items, shape.n_voters, **agreed)

    def _will_owe(self, X, voter_epsilon):
        """Return what `fit` on X will promise, for `privacy.PrivacyBudget`; of X only what is public is read."""
        if isinstance(X, Profile):
            n_voters, n_items = X.n_voters, X.n_items
            voter_epsilon = X.voter_epsilon if voter_epsilon is None else voter_epsilon
        else:
            n_voters, n_items = shape_of(X)
        guarantee = self.plan_for(Shape(n_items, n_voters, voter_epsilon))[1].guarantee
        return guarantee.simulated(getattr(self, "random_state", None) is None)

    def _owed(self, declared):
        """Return what this fit promises, for `privacy.guarantee_of`."""
        return self.privacy_

    def read_ballots(self, X: Ballots, reset: bool = False, least_voters: int = 1) -> Profile:
        """Return ballots as a profile that knows the names of its items.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots.
        reset : bool, default=False
            Whether their items become those of this estimator, as in `fit`; otherwise they must be the same.
        least_voters : int, default=1
            How many rows a table must have.

        Returns
        -------
        Profile

        Raises
        ------
        ValueError
            If X is no set of ballots, or has other items.
        """
        profile = as_profile(X, estimator=self, least_voters=least_voters, least_items=2 if reset else 1)
        if reset:
            self._set_items(profile.item_names, profile.n_items)
        else:
            self._check_items(X, profile)
        return profile

    def _check_items(self, X, profile):
        """Raise ValueError unless ballots are over the items of `fit`."""
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
        ):
            validate_data(self, as_named(X), reset=False, skip_check_array=True)
        if names_differ(names_of(self), profile.item_names):
            raise ValueError("The item names should match those that were passed during fit, in the same order.")

    def _set_items(self, names, n_items):
        self.n_features_in_ = n_items
        if names is not None and isinstance(names[0], str):  # scikit-learn's attribute has strings only
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
