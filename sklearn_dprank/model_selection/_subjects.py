"""What a sweep fits and scores: a candidate on one split, where it can with what no seed changes done once."""

from copy import copy
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline

from ..base import RankAggregator
from ..metrics import average_kendall_tau
from ..profile import Profile, as_profile
from ..rankings import check_ballots
from ._accounting import promise_of


class Released(NamedTuple):
    """An aggregator on counted profiles, planned once; a trial is one release."""

    aggregator: Any
    rule: Any
    plan: Any
    train: Profile
    test: Profile

    def fits(self, seeds):
        return _releases(self, seeds)

    def score(self, fitted, scorer):
        if scorer is None:  # an aggregator's own score, without checking once more what was checked before
            return -average_kendall_tau(fitted.ranks_, self.test)
        # A scorer may keep what it is given, and the next trial fits the same object.
        return scorer(copy(fitted), self.test)

    def promise(self, fitted):
        return fitted.privacy_


class Piped(NamedTuple):
    """A pipeline whose transformers, if any, have no random_state: they run once, and a trial is one release."""

    aggregator: Any
    rule: Any
    plan: Any
    train: Profile
    test: Profile
    before: list
    name: str
    ballots: Any

    def fits(self, seeds):
        return _releases(self, seeds)

    def score(self, fitted, scorer):
        if scorer is None:
            return -average_kendall_tau(fitted.ranks_, self.test)
        return scorer(self._whole(copy(fitted)), self.ballots)

    def promise(self, fitted):
        return promise_of(self._whole(fitted)) if self.before else fitted.privacy_

    def _whole(self, fitted):
        return Pipeline([*self.before, (self.name, fitted)])


def _planned(aggregator, train, test) -> tuple[Any, ...]:
    """Return what a release needs; raise whatever is wrong with the parameters, from public inputs only."""
    rule, plan = aggregator.plan_for(train)
    if "positions" in plan.needs and train.positions is None:
        raise ValueError(f"{aggregator} needs the ballots; build the Profile with keep='positions'.")
    if "placements" in plan.needs:
        train.placements  # noqa: B018
    return aggregator, rule, plan, train, test


def _releases(subject, seeds):
    # Threads may work on the same subject: each call has an aggregator of its own, whose parameters nobody changes.
    return copy(subject.aggregator).refits(subject.train, subject.rule, subject.plan, seeds)


class Refitted(NamedTuple):
    """Any other estimator: cloned and fitted from the start for every trial."""

    estimator: Any
    train: Any
    test: Any

    def fits(self, seeds):
        for seed in seeds:
            yield with_seed(clone(self.estimator), seed).fit(self.train)

    def score(self, fitted, scorer):
        return fitted.score(self.test) if scorer is None else scorer(fitted, self.test)

    def promise(self, fitted):
        return promise_of(fitted)


class Splits:
    """The ballots of every split, read and counted once for all candidates.

    Parameters
    ----------
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.
    cv : "all", None, int, splitter or iterable
        As in `cross_validate`.

    Raises
    ------
    ValueError
        If a Profile would have to be split, there is no split, or a voter is in a part twice.
    """

    def __init__(self, X, cv):
        self._parts = _split(X, cv)
        self._read: dict[Any, Any] = {}
        #: Whether voters were divided: not where all are fitted and scored.
        self.split_voters = not _is_all(cv)

    def __len__(self):
        return len(self._parts)

    def subject(self, estimator, split):
        """Return what one candidate fits and scores on one split.

        Raises
        ------
        ValueError
            If its parameters are invalid or do not fit together.
        """
        train, test = self._parts[split]
        if _is_release(estimator):
            return Released(*_planned(estimator, *self._profiles(split, None)[1:]))
        if _ends_in_release(estimator):
            before = clone(estimator[:-1]) if len(estimator) > 1 else None
            steps, *profiles = self._profiles(split, before)
            aggregator, rule, plan, fitted, scored = _planned(estimator[-1], *profiles)
            return Piped(aggregator, rule, plan, fitted, scored, steps, estimator.steps[-1][0], test)
        return Refitted(estimator, train, test)

    def _profiles(self, split, before):
        """Return the fitted transformers of a split, and its two profiles as they reach the aggregator."""
        key = split, None if before is None else _fingerprint(before)
        if key not in self._read:
            train, test = self._parts[split]
            same = train is test
            if before is not None:
                train, test = before.fit_transform(train), None if same else before.transform(test)
            first = counted(train)
            self._read[key] = [] if before is None else before.steps, first, first if same else counted(test)
        return self._read[key]


def _split(X, cv):
    """Return (train, test) for every split; the same object twice where all are fitted and scored."""
    if _is_all(cv):
        return [(X, X)]
    if isinstance(X, Profile):
        raise ValueError(f'a Profile cannot be split by cv={cv!r}; use cv="all", or pass the ballots.')
    if hasattr(X, "iloc"):
        take = X.iloc.__getitem__
    else:
        X = check_ballots(X)
        take = X.__getitem__
    parts = list(check_cv(cv).split(X))
    if not parts:
        raise ValueError("cv gave no split (a generator is used up by one fit); pass a list of splits.")
    _refuse_repeats(parts, len(X))
    return [(take(train), take(test)) for train, test in parts]


def _refuse_repeats(parts, n_voters):
    """Refuse a split with a voter twice in one part: a guarantee is about one ballot, one row."""
    for split, part in enumerate(parts):
        for rows, kind in zip(part, ("training", "test"), strict=True):
            taken = np.arange(n_voters)[rows]  # as X is: masks and negative indices name voters, too
            if np.unique(taken).size < taken.size:
                raise ValueError(
                    f"cv repeats rows in the {kind} part of split {split}: a voter in k rows is owed k times the "
                    "epsilon that is stated; use splits without repetition (not a bootstrap), or resample public "
                    "ballots beforehand."
                )


def _is_all(cv):
    return isinstance(cv, str) and cv == "all"


def _fingerprint(transformers):
    """Return a key that equal transformers share; those that cannot be pickled share nothing."""
    try:
        return joblib.hash(transformers)
    except Exception:  # pickling runs foreign code, which may raise anything
        return object()


def counted(X):
    """Return a profile whose pairs are counted, so that workers share them."""
    profile = as_profile(X)
    profile.pairwise_counts, profile.strict  # noqa: B018
    return profile


def _is_release(estimator):
    """Tell whether this is an aggregator that fits and scores as all of them do."""
    kind = type(estimator)
    if not isinstance(estimator, RankAggregator):
        return False
    return kind.fit is RankAggregator.fit and kind.score is RankAggregator.score


def _ends_in_release(estimator):
    """Tell whether this is a pipeline of transformers without a random_state, and an aggregator."""
    if not isinstance(estimator, Pipeline) or not _is_release(estimator[-1]):
        return False
    return not any(is_seed(name) for _, step in estimator.steps[:-1] for name in _parameters(step))


def _parameters(step):
    return step.get_params() if hasattr(step, "get_params") else ()  # "passthrough" has none


def is_called(name, parameter):
    """Tell whether this is the name of a parameter, of the whole or of a part."""
    return name == parameter or name.endswith(f"__{parameter}")


def is_seed(name):
    """Tell whether a parameter of this name is a seed."""
    return is_called(name, "random_state")


def with_seed(estimator, seed):
    """Set `seed` on every ``random_state`` parameter, nested ones too, and return the estimator."""
    return estimator.set_params(**dict.fromkeys(filter(is_seed, estimator.get_params()), seed))
