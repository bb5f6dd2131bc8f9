"""Candidates prepared on splits, so that work that does not depend on the seed is done once.

There are three cases. An aggregator is planned once, on counted ballots (`Counted`). Transformers without a seed before
an aggregator run once, too (`AfterPipeline`). Any other estimator is fitted from the start in each trial
(`FromScratch`).
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import tee
from typing import Any, Protocol

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...ballots.profile import Profile
from ...metrics import average_kendall_tau
from ...privacy.estimator_guarantees import fitted_by, guarantee_after
from ...privacy.guarantee import PrivacyGuarantee
from ...sampling.streams import Bits
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


class Prepared(Protocol):
    """Interface of a candidate on one split."""

    def refits(self, seeds) -> Iterator[Any]:
        """Yield the candidate fitted with each seed; it may be the same object every time."""

    def score(self, fitted, scorer) -> float:
        """Return the score of a fit on the test ballots; if `scorer` is None, the candidate's own score."""

    def guarantee(self, fitted) -> PrivacyGuarantee:
        """Return the guarantee of publishing the fit."""


@dataclass(frozen=True)
class Counted:
    """Aggregator that is planned once on counted profiles; each trial is one release."""

    aggregator: Any
    rule: Any
    plan: Any
    train: Profile
    test: Profile

    def refits(self, seeds):
        # Threads may work on the same candidate, so each refits its own copy. Parameters do not change.
        return refits(copy(self.aggregator), self.train, self.rule, self.plan, seeds)

    def score(self, fitted, scorer):
        if scorer is None:  # the aggregator's own score, without checking the ballots again
            return -average_kendall_tau(fitted.ranks_, self.test)
        # A scorer may keep a reference, and the next trial fits the same object again.
        return self.scored(copy(fitted), scorer)

    def scored(self, fitted, scorer):
        """Return the score that a scorer gives to a fit."""
        return scorer(fitted, self.test)

    def guarantee(self, fitted):
        return fitted.privacy_


@dataclass(frozen=True)
class AfterPipeline(Counted):
    """Last step of a pipeline whose transformers, if any, have no random_state and ran once."""

    before: list
    name: str
    ballots: Any

    def scored(self, fitted, scorer):
        return scorer(self._whole(fitted), self.ballots)

    def guarantee(self, fitted):
        return guarantee_after(self._whole(fitted), declared=False) if self.before else fitted.privacy_

    def _whole(self, fitted):
        return fitted_by(Pipeline([*self.before, (self.name, fitted)]))


@dataclass(frozen=True)
class FromScratch:
    """Any other estimator, cloned and fitted from the start in every trial."""

    estimator: Any
    train: Any
    test: Any

    def refits(self, seeds):
        for seed in seeds:
            yield with_seed(clone(self.estimator), seed).fit(self.train)

    def score(self, fitted, scorer):
        return fitted.score(self.test) if scorer is None else scorer(fitted, self.test)

    def guarantee(self, fitted):
        return guarantee_after(fitted, declared=False)


def check_one_estimator(estimator):
    """Raise ValueError if `estimator` is not an estimator, for example a list of estimators."""
    if not hasattr(estimator, "set_params"):
        raise ValueError(
            f"estimator must be one estimator, got {type(estimator).__name__}; to compare several, let a grid range "
            'over the steps of a Pipeline: GridSearchCV(Pipeline([("aggregator", DPBorda())]), {"aggregator": [...]}).'
        )


class CandidatesOnSplits:
    """Candidates on splits, prepared when first needed; on the first split immediately, to raise errors early."""

    def __init__(self, estimators, splits):
        self._estimators = estimators
        self._splits = splits
        self._prepared: dict[tuple[int, int], Prepared] = {}
        for candidate in range(len(estimators)):
            self.prepared(candidate, 0)

    def prepared(self, candidate, split) -> Prepared:
        """Return one candidate on one split."""
        key = candidate, split
        if key not in self._prepared:
            self._prepared[key] = _prepared(self._estimators[candidate], self._splits, split)
        return self._prepared[key]


def _prepared(estimator, splits, split):
    """Return a candidate on a split, in the case that shares the most work between trials."""
    train, test = splits[split]
    if _follows_its_plan(estimator):
        return _counted(estimator, *splits.counted(split)[1:])
    if _ends_in_a_plan(estimator):
        before = clone(estimator[:-1]) if len(estimator) > 1 else None
        steps, *profiles = splits.counted(split, before)
        counted = _counted(estimator[-1], *profiles)
        return AfterPipeline(**vars(counted), before=steps, name=estimator.steps[-1][0], ballots=test)
    return FromScratch(estimator, train, test)


def _counted(aggregator, train, test):
    """Return an aggregator planned from public inputs; raise the errors of its parameters."""
    rule, plan = aggregator.plan_for(train)
    if "positions" in plan.needs and train.positions is None:
        raise ValueError(f"{aggregator} needs the ballots; build the Profile with keep='positions'.")
    if "placements" in plan.needs:
        train.placements  # noqa: B018
    return Counted(aggregator, rule, plan, train, test)


def _follows_its_plan(estimator):
    """Return whether `estimator` is an aggregator that fits and scores in the standard way."""
    return is_aggregator(estimator) and type(estimator).follows_plan()


def _ends_in_a_plan(estimator):
    """Return whether this is a Pipeline of transformers without random_state that ends in a standard aggregator."""
    if type(estimator) is not Pipeline:  # a subclass may behave differently
        return False
    return _follows_its_plan(estimator[-1]) and not any(has_seed(step) for _, step in estimator.steps[:-1])
