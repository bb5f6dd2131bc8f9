"""Repeated randomised trials over shared profiles."""

import time
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ..base import RankAggregator
from ..privacy.bits import seed_sequence
from ..profile import Profile
from ..rankings import check_ballots

_SEEDS = np.uint32  # what every scikit-learn `random_state` accepts


def cross_validate(estimator, X, *, n_trials=10, cv="all", scoring=None, random_state=None, n_jobs=None):
    """Fit an estimator again and again with fresh noise, and score every fit.

    Parameters
    ----------
    estimator : estimator
        An aggregator, or a Pipeline that ends in one; it is cloned, never fitted.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots. For an aggregator they are counted once for all trials.
    n_trials : int, default=10
        Fits with fresh noise on every split.
    cv : "all", None, int, splitter or iterable, default="all"
        "all" is the papers' protocol: fit on all voters, score against all voters (holding voters out
        would change their number, and so how much the noise matters). Anything else means what it
        means in scikit-learn.
    scoring : callable or None, default=None
        ``scoring(estimator, X)``; None is the estimator's own score.
    random_state : None, int, Generator or RandomState, default=None
        Seed of all trials: each has its own child seed.
    n_jobs : int or None, default=None
        Joblib workers. Results do not depend on it.

    Returns
    -------
    dict of {str: ndarray}
        One entry a fit: "test_score", "fit_time" and "score_time" in seconds, "split", "trial", and "seed", the
        ``random_state`` with which the fit can be replayed.

    Raises
    ------
    ValueError
        If `n_trials` is no positive integer, or a Profile meets a `cv` that would have to split it.

    Notes
    -----
    Scores are exact functions of the ballots and are not private; seeds are for simulation only. A
    release is one fit with ``random_state=None``.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.model_selection import cross_validate
    >>> trials = cross_validate(DPBorda(epsilon=5.0), [[0, 1, 2]] * 100, n_trials=3, random_state=0)
    >>> trials["test_score"].round(2) + 0.0
    array([0., 0., 0.])
    """
    if not isinstance(n_trials, Integral) or n_trials < 1:
        raise ValueError(f"n_trials must be a positive integer, got {n_trials!r}.")
    splits = _splits(estimator, X, cv)
    children = seed_sequence(random_state).spawn(len(splits))
    jobs = [
        (split, trial, int(seed))
        for split, child in enumerate(children)
        for trial, seed in enumerate(child.generate_state(n_trials, _SEEDS))
    ]
    rows = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_score)(estimator, *splits[split], seed, scoring) for split, _, seed in jobs
    )
    split, trial, seed = map(np.array, zip(*jobs, strict=True))
    score, fit_time, score_time = map(np.array, zip(*rows, strict=True))
    return {
        "test_score": score,
        "fit_time": fit_time,
        "score_time": score_time,
        "split": split,
        "trial": trial,
        "seed": seed,
    }


def _splits(estimator, X, cv):
    """Return (train, test) for every split; for aggregators as profiles whose pairs are counted."""
    read = _counted if isinstance(estimator, RankAggregator) else (lambda ballots: ballots)
    if isinstance(cv, str) and cv == "all":
        everyone = read(X)
        return [(everyone, everyone)]
    if isinstance(X, Profile):
        raise ValueError(f'a Profile cannot be split by cv={cv!r}; use cv="all", or pass the ballots.')
    if hasattr(X, "iloc"):
        take = X.iloc.__getitem__
    else:
        X = check_ballots(X)
        take = X.__getitem__
    return [(read(take(train)), read(take(test))) for train, test in check_cv(cv).split(X)]


def _counted(X):
    """Return a profile that workers share without counting again."""
    profile = X if isinstance(X, Profile) else Profile.from_rankings(X)
    profile.pairwise_counts  # noqa: B018
    return profile


def _fit_and_score(estimator, train, test, seed, scoring):
    estimator = with_seed(clone(estimator), seed)
    start = time.perf_counter()
    estimator.fit(train)
    fitted = time.perf_counter()
    score = estimator.score(test) if scoring is None else scoring(estimator, test)
    return score, fitted - start, time.perf_counter() - fitted


def with_seed(estimator, seed):
    """Set `seed` on every ``random_state`` parameter, nested ones too, and return the estimator."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    return estimator.set_params(**dict.fromkeys(names, seed))
