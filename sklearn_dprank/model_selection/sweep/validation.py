"""`cross_validate`: repeated fits of one estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._utils.checks import check_jobs, check_whole
from ..._utils.types import RandomState
from ...ballots.profile import Ballots
from ...sampling.streams import seed_sequence
from ..functions import EstimatorOrFunction, as_estimator
from ..parameters import Metrics
from ..seeds import MOST_TRIALS, child_seeds
from .accounting import metrics_of
from .candidates_on_splits import check_one_estimator, prepare
from .splits import Splits
from .trials import run


def cross_validate(
    estimator: EstimatorOrFunction,
    X: Ballots,
    *,
    n_trials: int = 10,
    cv: Any = "all",
    scoring: Metrics = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> dict[str, NDArray[Any]]:
    """Fit an estimator repeatedly with fresh noise, and score every fit.

    Parameters
    ----------
    estimator : estimator or callable
        An aggregator, or a Pipeline that ends in one. It is cloned and not changed. An estimator of your own works too,
        if its `fit` sets ``consensus_`` (items by index or name, best first) or ``ranks_`` (positions, 0 is best), or
        if it has a `score`. So does a function of the ballots that returns the items by index, best first. It gets an
        array of floats of shape (n_voters, n_items), where NaN is a missing opinion.
    X : array-like of shape (n_voters, n_items) or Profile
        Ballots. For an aggregator, they are counted once for all trials.
    n_trials : int, default=10
        Fits with fresh noise on every split.
    cv : "all", None, int, splitter or iterable, default="all"
        "all" is the protocol of the papers: fit on all voters and score against all voters. Holding voters out would
        change their number, and so the effect of the noise. Other values have the same meaning as in scikit-learn. No
        part may hold a row twice. With None or an integer, a Profile with persons is split at random, and all ballots
        of a person stay together.
    scoring : None, callable or dict of {str: callable}, default=None
        ``scoring(estimator, X)``; a dict holds several by name. None is the estimator's own score. For an aggregator, X
        is the `~sklearn_dprank.ballots.Profile` of the voters, already counted, which every metric accepts. For a
        pipeline, X is the ballots as they were passed.
    random_state : None, int, Generator or RandomState, default=None
        Seed of all trials, and of the folds of persons. Each trial has its own child seed.
    n_jobs : int or None, default=None
        Number of joblib workers. Results do not depend on it.
    progress : bool, default=True
        Whether to show a progress bar after two seconds. It needs tqdm (the extra ``progress``).

    Returns
    -------
    dict of {str: ndarray}
        One entry per fit: "test_score" (or "test_<name>" for each of several metrics), "fit_time" and "score_time" in
        seconds, "split", "trial" and "seed". If fits are computed together, the first bears the time. With "seed" as
        its ``random_state``, a fit can be repeated.

    Raises
    ------
    ValueError
        If `n_trials` is not a positive integer, `scoring` is not a metric, or a function does not return an order. Also
        if `cv` puts a voter twice into one part, or would split a Profile.

    Notes
    -----
    Scores are exact functions of the ballots and are not private. Seeds are for simulation only. A release is one fit
    with ``random_state=None``.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.model_selection import cross_validate
    >>> trials = cross_validate(DPBorda(epsilon=5.0), [[0, 1, 2]] * 100, n_trials=3, random_state=0)
    >>> trials["test_score"].round(2) + 0.0
    array([0., 0., 0.])
    """
    check_whole(n_trials, "n_trials", most=MOST_TRIALS)
    check_jobs(n_jobs)
    check_one_estimator(estimator)
    metrics = metrics_of(scoring)
    sequence = seed_sequence(random_state)
    splits = Splits(X, cv, sequence)
    seeds = child_seeds(sequence, (1, len(splits), n_trials))
    prepared = prepare([as_estimator(estimator)], splits)
    rows = dict(run(seeds, prepared, metrics, n_jobs, progress))
    ordered = [rows[place] for place in np.ndindex(seeds.shape)]
    scores = np.array([row.scores for row in ordered])
    _, split, trial = np.indices(seeds.shape)
    return {
        **{f"test_{name}": scores[:, k] for k, name in enumerate(metrics)},
        "fit_time": np.array([row.fit_time for row in ordered]),
        "score_time": np.array([row.score_time for row in ordered]),
        "split": split.ravel(),
        "trial": trial.ravel(),
        "seed": seeds.ravel(),
    }
