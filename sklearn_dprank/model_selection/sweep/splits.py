"""The ballots of every split, read and counted once for all candidates."""

from typing import Any

import joblib
import numpy as np
from sklearn.model_selection import check_cv

from ...ballots.profile import Profile, as_profile
from ...ballots.rankings import check_ballots


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
        self._counted: dict[Any, Any] = {}
        #: Whether voters were divided: not where all are fitted and scored.
        self.split_voters = not _is_all(cv)

    def __len__(self):
        return len(self._parts)

    def __getitem__(self, split):
        """Return the ballots to fit and those to score, as they were passed."""
        return self._parts[split]

    def counted(self, split, before=None):
        """Return a split as an aggregator meets it: counted, once for all candidates.

        Parameters
        ----------
        split : int
            Which.
        before : Pipeline or None, default=None
            Unfitted transformers before the aggregator; equal ones run once.

        Returns
        -------
        steps : list of (str, transformer)
            The transformers, fitted on the ballots to fit.
        train, test : Profile
            The same object twice where all are fitted and scored.
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


def _counted(X):
    """Return a profile whose pairs are counted, so that workers share them."""
    profile = as_profile(X)
    profile.pairwise_counts, profile.strict  # noqa: B018
    return profile
