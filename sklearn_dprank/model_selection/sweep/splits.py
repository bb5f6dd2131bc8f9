"""Ballots of every split, read and counted once for all candidates."""

from numbers import Integral
from typing import Any

import joblib
import numpy as np
from sklearn.model_selection import check_cv

from ...ballots.profile import Profile, as_profile
from ...ballots.rankings import check_ballots


class Splits:
    """Ballots of every split, read and counted once for all candidates.

    `cv` is that of `cross_validate`, and the SeedSequence `sequence` places persons in folds. A `cv` that would split a
    Profile, gives no split, or puts a voter twice into one part raises ValueError.
    """

    def __init__(self, X, cv, sequence):
        #: Whether voters were split; False for cv="all".
        self.split_voters = not (isinstance(cv, str) and cv == "all")
        self._parts = _split(X, cv, sequence) if self.split_voters else [(X, X)]
        self._counted: dict[Any, Any] = {}

    def __len__(self):
        return len(self._parts)

    def __getitem__(self, split):
        """Return the ballots to fit and those to score, as they were passed."""
        return self._parts[split]

    def counted(self, split, before=None):
        """Return (steps, train, test) of a split, with the ballots counted once for all candidates.

        `before` is a Pipeline of unfitted transformers; equal ones run once. `steps` are the same transformers, fitted
        on the training ballots. For cv="all", `train` and `test` are the same Profile.
        """
        key = split, None if before is None else _fingerprint(before)
        if key not in self._counted:
            train, test = self._parts[split]
            same = train is test
            if before is not None:
                train, test = before.fit_transform(train), None if same else before.transform(test)
            first = _counted(train)
            self._counted[key] = [] if before is None else before.steps, first, first if same else _counted(test)
        return self._counted[key]


def _split(X, cv, sequence):
    """Return (train, test) for every split."""
    if isinstance(X, Profile):
        if X.weights is None:
            raise ValueError(f'a Profile cannot be split by cv={cv!r}; use cv="all", or pass the ballots.')
        if X.weights.persons is not None:
            return _split_persons(X, cv, sequence)
        take, n_voters = X.take, X.n_voters
    elif hasattr(X, "iloc"):
        take, n_voters = X.iloc.__getitem__, len(X)
    else:
        X = check_ballots(X)
        take, n_voters = X.__getitem__, len(X)
    parts = list(check_cv(cv).split(np.zeros((n_voters, 1)) if isinstance(X, Profile) else X))
    if not parts:
        raise ValueError("cv gave no split (a generator is used up by one fit); pass a list of splits.")
    _refuse_repeats(parts, n_voters)
    return [(take(train), take(test)) for train, test in parts]


def _split_persons(profile, cv, sequence):
    """Return (train, test) for every split by persons: a fold holds all ballots of a random share of the persons.

    A splitter by groups would place a person by the number of ballots, and so move others if this number changes.
    Persons are numbered in the order of their first ballots, so a person whose first ballot moves renumbers others. A
    uniformly random permutation of the numbers makes the law of the folds independent of the numbering. The guarantee
    of each permutation, with every other person in the same fold, is therefore that of the whole. It is a guarantee
    under "replace": the number of persons, from which the sizes of folds follow, is public.
    """
    if not (cv is None or isinstance(cv, Integral)):
        raise ValueError(f"cv must be an integer for a Profile with groups, got {cv!r}.")
    who, persons = np.unique(profile.weights.persons, return_inverse=True)
    n_persons = len(who)
    place = np.random.default_rng(sequence.spawn(1)[0]).permutation(n_persons)
    folds = [[place[part] for part in parts] for parts in check_cv(cv).split(np.zeros((n_persons, 1)))]
    return [tuple(profile.take(np.isin(persons, part)) for part in parts) for parts in folds]


def _refuse_repeats(parts, n_voters):
    """Raise ValueError if a part holds a voter twice, because a guarantee covers one row per voter."""
    for split, part in enumerate(parts):
        for rows, kind in zip(part, ("training", "test"), strict=True):
            taken = np.arange(n_voters)[rows]  # indexed like X, because rows may be masks or negative indices
            if np.unique(taken).size < taken.size:
                raise ValueError(
                    f"cv repeats rows in the {kind} part of split {split}: a voter in k rows loses k times the "
                    "stated epsilon; use splits without repetition (not a bootstrap), or resample public "
                    "ballots beforehand."
                )


def _fingerprint(transformers):
    """Return a key that equal transformers share; those that cannot be pickled get a unique key."""
    try:
        return joblib.hash(transformers)
    except Exception:  # pickling runs third-party code, which may raise any exception
        return object()


def _counted(X):
    """Return a profile with counted pairs, so that workers share the counts."""
    profile = as_profile(X)
    profile.pairwise_counts, profile.strict  # noqa: B018
    return profile
