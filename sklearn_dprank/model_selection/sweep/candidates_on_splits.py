"""Candidates prepared on splits, so that work that does not depend on the seed is done once.

An aggregator is planned once, on counted ballots (`Counted`). Transformers without a seed before it run once, too. Any
other estimator is fitted from the start in each trial (`FromScratch`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import tee
from typing import Any, ClassVar

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...ballots.profile import Profile
from ...metrics import average_kendall_tau, kendall_tau_scorer
from ...privacy.estimator_guarantees import fitted_by, guarantee_after, last_step
from ...sampling.streams import Bits
from ..functions import is_function
from ..parameters import is_aggregator
from ..seeds import has_seed, with_seed


def refits(aggregator, profile, rule, plan, seeds):
    """Yield the aggregator fitted on a profile with one seed after another; it is the same object every time.

    Each fit equals `fit` with the seed as ``random_state``. The ballots are read and the poll is opened once.
    """
    aggregator.read_ballots(profile, reset=True)
    poll = plan.open(profile)
    guarantees = {certified: plan.guarantee.simulated(certified) for certified in {seed is None for seed in seeds}}
    sessions, asked = tee(poll(Bits.from_random_state(seed)) for seed in seeds)
    # `aggregate_each` may hold many sessions at once, so sessions as large as the ballots are decided one by one.
    decided = map(rule.aggregate, asked) if "positions" in plan.needs else rule.aggregate_each(asked)
    for seed, session, consensus in zip(seeds, sessions, decided, strict=True):
        session.close()
        aggregator.publish(consensus, session, guarantees[seed is None], profile.item_names)
        if hasattr(aggregator, "random_state"):
            aggregator.random_state = seed
        yield aggregator


@dataclass(frozen=True)
class FromScratch:
    """Candidate on one split, cloned and fitted from the start in every trial."""

    is_planned: ClassVar[bool] = False  # whether all fits have one guarantee

    estimator: Any
    train: Any
    test: Any

    def refits(self, seeds):
        """Yield the candidate fitted with each seed; it may be the same object every time."""
        for seed in seeds:
            fitted = with_seed(clone(self.estimator), seed).fit(self.train)
            _check_own_fit(last_step(fitted))
            yield fitted

    def score(self, fitted, scorer):
        """Return the score of a fit on the test ballots; if `scorer` is None, the candidate's own score."""
        return score_of(fitted, self.test, scorer)

    def guarantee(self, fitted):
        """Return the guarantee of publishing the fit."""
        return guarantee_after(fitted, declared=False)


@dataclass(frozen=True)
class Counted:
    """The same of an aggregator that is planned once on counted profiles, so that each trial is one release.

    If it is the last step of a Pipeline, `name` is its name, and `before` holds the fitted steps before it. A scorer
    gets `ballots`.
    """

    is_planned: ClassVar[bool] = True

    aggregator: Any
    rule: Any
    plan: Any
    train: Profile
    test: Profile
    ballots: Any
    before: list
    name: str | None

    def refits(self, seeds):
        # Threads may work on the same candidate, so each refits its own copy. Parameters do not change.
        return refits(copy(self.aggregator), self.train, self.rule, self.plan, seeds)

    def score(self, fitted, scorer):
        if scorer is None:  # the aggregator's own score, without checking the ballots again
            return -average_kendall_tau(fitted.ranks_, self.test)
        return scorer(self._whole(fitted), self.ballots)

    def guarantee(self, fitted):
        return guarantee_after(self._whole(fitted), declared=False) if self.before else fitted.privacy_

    def _whole(self, fitted):
        """Return a copy, as a scorer may keep it and the next trial fits the same object, in its Pipeline if any."""
        fitted = copy(fitted)
        return fitted if self.name is None else fitted_by(Pipeline([*self.before, (self.name, fitted)]))


def score_of(fitted, X, scorer):
    """Return the score of a fit; if `scorer` is None, its own, or that of `kendall_tau_scorer` if it has none."""
    if scorer is None and hasattr(fitted, "score"):
        return fitted.score(X)
    return (scorer or kendall_tau_scorer)(fitted, X)


def _check_own_fit(fitted):
    """Raise ValueError if the `fit` of an aggregator's subclass did not set what a sweep reads."""
    missing = [name for name in ("ranks_", "n_features_in_", "privacy_") if not hasattr(fitted, name)]
    if is_aggregator(fitted) and missing:
        raise ValueError(
            f"fit of {type(fitted).__name__} did not set {' and '.join(missing)}; call super().fit(X) in it, define "
            "_compose instead of fit, or derive the class from sklearn.base.BaseEstimator, which needs only consensus_."
        )


def check_one_estimator(estimator):
    """Raise ValueError if `estimator` is neither an estimator nor a function, for example a list of estimators."""
    if not hasattr(estimator, "set_params") and not is_function(estimator):
        raise ValueError(
            f"estimator must be one estimator, got {type(estimator).__name__}; to compare several, let a grid range "
            'over the steps of a Pipeline: GridSearchCV(Pipeline([("aggregator", DPBorda())]), {"aggregator": [...]}).'
        )


def prepare(estimators, splits):
    """Return a function of (candidate, split) that prepares an estimator on a split, once.

    On the first split, all are prepared immediately, to raise errors early.
    """

    @cache
    def prepared(candidate, split):
        return _prepared(estimators[candidate], splits, split)

    for candidate in range(len(estimators)):
        prepared(candidate, 0)
    return prepared


def _prepared(estimator, splits, split):
    """Return a candidate on a split, planned from public inputs if possible; raise the errors of its parameters."""
    ballots, name, before = splits[split][1], None, None
    if _ends_in_a_plan(estimator):
        before = clone(estimator[:-1]) if len(estimator) > 1 else None
        name, estimator = estimator.steps[-1]
    elif not _follows_its_plan(estimator):
        return FromScratch(estimator, *splits[split])
    steps, train, test = splits.counted(split, before)
    rule, plan = estimator.plan_for(train)
    if "positions" in plan.needs and train.positions is None:
        raise ValueError(f"{estimator} needs the ballots; build the Profile with keep='positions'.")
    if "placements" in plan.needs:
        train.placements  # noqa: B018
    return Counted(estimator, rule, plan, train, test, test if name is None else ballots, steps, name)


def _follows_its_plan(estimator):
    """Return whether `estimator` is an aggregator that fits and scores in the standard way."""
    return is_aggregator(estimator) and type(estimator).follows_plan()


def _ends_in_a_plan(estimator):
    """Return whether this is a Pipeline of transformers without random_state that ends in a standard aggregator."""
    if type(estimator) is not Pipeline:  # a subclass may behave differently
        return False
    return _follows_its_plan(estimator[-1]) and not any(has_seed(step) for _, step in estimator.steps[:-1])
