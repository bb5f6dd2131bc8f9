"""Grid search and cross-validation with repeated trials of a random estimator."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, field, replace
from numbers import Integral
from typing import Any, NamedTuple, Never, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.ma import MaskedArray
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._utils.checks import check_flag, check_number, check_whole, refuse_unknown, safe_repr
from .._utils.estimators import (
    AllowsMissing,
    BaseEstimator,
    MetaEstimatorMixin,
    available_if,
    clear_fitted,
    draft_of,
    parametrized,
)
from .._utils.lazy import progress_bar
from .._utils.types import RandomState
from ..ballots.profile import Ballots, Profile, as_profile
from ..ballots.reading import check_ballots
from ..metrics import average_kendall_tau, kendall_tau_scorer
from ..privacy import PrivacyGuarantee
from ..privacy.estimator_guarantees import (
    GuaranteedEstimator,
    fitted_by,
    guarantee_after,
    guarantee_before,
    last_step,
    mixing_step,
    record_pipeline,
    replaced_methods,
    with_caveats,
)
from ..privacy.guarantee import DECLARED_PUBLIC
from ..sampling.bit_source import Bits, seed_sequence
from .parameters import (
    MOST_TRIALS,
    EstimatorOrFunction,
    Grid,
    Metric,
    Metrics,
    as_estimator,
    child_seeds,
    configured,
    find_parameter,
    grid_of,
    is_aggregator,
    is_called,
    is_function,
    parameters_of,
    with_seed,
)
from .private import PrivateKendallTau, refuse_mixing


def split_ballots(X, cv, sequence):
    """Return [(train, test)] of all splits. `cv` is that of `cross_validate`; `sequence` shuffles persons.

    With persons, a fold holds all ballots of a random share of the persons. A splitter by groups would place a person
    by the number of ballots, and so move others if this number changes. Persons are numbered in the order of their
    first ballots, so a person whose first ballot moves renumbers others. So does a voter who moves to another row of
    counts. A uniformly random permutation of the numbers makes the law of the folds independent of the numbering. The
    guarantee of each permutation, with every other person in the same fold, is therefore that of the whole. It is a
    guarantee under "replace": the number of persons, from which the sizes of folds follow, is public.
    """
    if isinstance(cv, str) and cv == "all":
        return [(X, X)]
    if isinstance(cv, Profile):  # scikit-learn would print it
        raise ValueError("cv must be 'all', None, an integer, a splitter or a list of splits, got a Profile.")
    if isinstance(X, Profile):
        if X.weights is None and X.rows is None:
            raise ValueError(f'a Profile cannot be split by cv={safe_repr(cv)}; use cv="all", or pass the ballots.')
        if X.has_persons:
            if not (cv is None or isinstance(cv, Integral)):
                raise ValueError(
                    f"cv must be an integer for a Profile with groups, counts or long data, got {safe_repr(cv)}. It "
                    "splits by person."
                )
            shuffled = np.random.default_rng(sequence.spawn(1)[0]).permutation(X.shape[0])
            folds = check_cv(cv).split(np.zeros((len(shuffled), 1)))
            return [tuple(X[shuffled[part]] for part in parts) for parts in folds]
        take, rows = X.take, np.zeros((X.n_voters, 1))
    else:
        rows = X if hasattr(X, "iloc") else check_ballots(X)
        indexed = X.iloc if hasattr(X, "iloc") else rows
        take = indexed.__getitem__
    try:
        splits = list(check_cv(cv).split(rows))
    except ValueError as error:
        if "'groups'" not in str(error):  # scikit-learn's error of splitters by group
            raise
        raise ValueError(
            f"cv={safe_repr(cv)} needs groups: pass Profile.from_rankings(X, groups=...) and cv=3, say, which protects "
            "persons and splits by person. Or pass cv=list(GroupKFold(3).split(X, groups=groups)), which splits only."
        ) from None
    if not splits:
        raise ValueError("cv gave no split (a generator is used up by one fit); pass a list of splits.")
    for split, parts in enumerate(splits):
        for part, kind in zip(parts, ("training", "test"), strict=True):
            taken = np.arange(len(rows))[part]  # indexed like X, because a part may be a mask or negative indices
            if np.unique(taken).size < taken.size:  # a guarantee covers one row per voter
                raise ValueError(
                    f"cv repeats rows in the {kind} part of split {split}: a voter in k rows loses k times the "
                    "stated epsilon. Use splits without repetition (not a bootstrap), or resample public "
                    "ballots beforehand."
                )
    return [(take(train), take(test)) for train, test in splits]


# Candidates on splits, and their fits with fresh noise.

_SEED = "random_state"


class Candidate(NamedTuple):
    """Estimator, with the ballots to fit and to score.

    If `plan` is not None, the estimator is an aggregator that is planned once, on counted profiles, so that each trial
    is one release. In a Pipeline, `name` is its step, and `before` holds the fitted steps before it. Its own score
    reads `test`, a counted profile, and a scorer gets `ballots`. Other estimators are fitted from the start in each
    trial.
    """

    estimator: Any
    train: Any
    test: Any
    ballots: Any
    rule: Any = None
    plan: Any = None
    before: Any = ()
    name: str | None = None


def prepare(estimators, parts):
    """Return {(candidate, split): `Candidate`}; the ballots of a split are counted once for all candidates."""

    def counted(train, test):
        train_profile = as_profile(train)
        test_profile = train_profile if test is train else as_profile(test)
        for profile in (train_profile, test_profile):  # count here, so that workers share the counts
            (profile.pairwise_counts if profile.has_pair_counts else profile.net_wins), profile.strict  # noqa: B018
        return train_profile, test_profile

    prepared = {}
    for split, (train, test) in enumerate(parts):
        shared = None
        for candidate, estimator in enumerate(estimators):
            *transformers, (name, last) = estimator.steps if type(estimator) is Pipeline else [(None, estimator)]
            # A subclass of Pipeline may behave differently, and transformers with a seed differ between trials.
            seeded = any(is_called(each, _SEED) for _, step in transformers for each in parameters_of(step))
            if seeded or not (is_aggregator(last) and type(last).follows_plan()):
                prepared[candidate, split] = Candidate(estimator, train, test, test)
                continue
            before = []
            if transformers:
                pipeline = clone(Pipeline(transformers))
                changed_train = pipeline.fit_transform(train)
                changed_test = changed_train if test is train else pipeline.transform(test)
                profiles, before = counted(changed_train, changed_test), pipeline.steps
            else:
                profiles = shared = shared or counted(train, test)
            train_profile, test_profile = profiles
            rule, plan = last.plan_for(train_profile)
            plan.check_kept(train_profile, last)
            if "placements" in plan.needs:
                train_profile.placements  # noqa: B018
            ballots = test_profile if name is None else test
            prepared[candidate, split] = Candidate(last, train_profile, test_profile, ballots, rule, plan, before, name)
    return prepared


def refits(aggregator, profile, rule, plan, seeds):
    """Yield a copy of the aggregator, fitted on a profile, for each seed.

    Each fit equals `fit` with the seed as ``random_state``. The ballots are read and the plan is opened once.
    """
    aggregator = draft_of(aggregator)
    aggregator.read_ballots(profile, reset=True)
    release = plan.open(profile)
    for seed in seeds:
        answers = release(Bits.from_random_state(seed))
        consensus = deepcopy(rule).aggregate(answers)  # as in a fit: what it keeps does not reach the next trial
        answers.close()
        fitted = draft_of(aggregator)
        fitted.publish(consensus, answers, plan.guarantee.simulated(seed is None), profile.item_names)
        if hasattr(fitted, _SEED):
            fitted.random_state = seed
        yield fitted


def fits_from_scratch(estimator, ballots, seeds):
    """Yield a clone of the estimator, fitted on the ballots, for each seed."""
    for seed in seeds:
        fitted = with_seed(clone(estimator), seed).fit(ballots)
        last = last_step(fitted)
        missing = [name for name in ("ranks_", "n_features_in_", "privacy_") if not hasattr(last, name)]
        if is_aggregator(last) and missing:
            raise ValueError(
                f"fit of {type(last).__name__} did not set {' and '.join(missing)}; call super().fit(X) in it, "
                "define _compose instead of fit, or derive the class from sklearn.base.BaseEstimator, which needs "
                "only consensus_."
            )
        yield fitted


def score_of(fitted, X, scorer):
    """Return the score of a fit; if `scorer` is None, its own, or that of `kendall_tau_scorer` if it has none."""
    if scorer is None and hasattr(fitted, "score"):
        return fitted.score(X)
    return (scorer or kendall_tau_scorer)(fitted, X)


class Row(NamedTuple):
    """Result of one trial: a score for each metric, times in seconds, and the guarantee of the release."""

    scores: list[float]
    fit_time: float
    score_time: float
    guarantee: PrivacyGuarantee


def rows_of(seeds, metrics, *fields):
    """Yield one Row per seed, of the `Candidate` with these fields."""
    candidate, guarantee = Candidate(*fields), None
    planned = candidate.plan is not None
    if planned:
        fits = refits(candidate.estimator, candidate.train, candidate.rule, candidate.plan, seeds)
    else:
        fits = fits_from_scratch(candidate.estimator, candidate.train, seeds)
    for seed in seeds:
        start = time.perf_counter()
        fitted = whole = next(fits)
        middle = time.perf_counter()
        if candidate.name is not None:
            whole = fitted_by(Pipeline([*candidate.before, (candidate.name, fitted)]))
        scores = []
        for place, scorer in enumerate(metrics.values()):
            if hasattr(type(scorer), "get_params") and _SEED in scorer.get_params():
                # A stream of its own: the fit uses the children 0, 1 and 2.
                stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, place)))
                scorer = clone(scorer).set_params(random_state=stream)
            if planned and scorer is None:  # the aggregator's own score, without checking the ballots again
                scores.append(-average_kendall_tau(np.asarray(fitted.ranks_), candidate.test))
            else:
                scores.append(score_of(whole, candidate.ballots, scorer))
        took = middle - start, time.perf_counter() - middle
        if guarantee is None or not planned:  # all fits of a plan have one guarantee
            guarantee = guarantee_after(whole, declared=False)
        yield Row(scores, *took, guarantee)


_TRIALS_IN_JOB = 30  # at most; enough to share a sampler's table
_JOBS_PER_WORKER = 8  # at least, so that workers finish at about the same time


def run(seeds, prepared, metrics, n_jobs, progress):
    """Fit and score with seeds of shape (n_candidates, n_splits, n_trials).

    Yield ((candidate, split, trial), Row) in the order in which trials finish. `prepared` is the result of `prepare`,
    and `metrics` holds scorers by name; None is the estimator's own score.
    """
    workers = effective_n_jobs(n_jobs)
    n_candidates, n_splits, n_trials = seeds.shape
    size = _TRIALS_IN_JOB if workers == 1 else min(_TRIALS_IN_JOB, math.ceil(seeds.size / (_JOBS_PER_WORKER * workers)))
    # Every candidate's first trials come first. A task holds the fields of a candidate, because a backend sends a large
    # argument once, but no part of one.
    tasks = (
        ((*place, first), seeds[place][first : first + size].tolist(), metrics, *prepared[place])
        for first in range(0, n_trials, size)
        for place in np.ndindex(n_candidates, n_splits)
    )
    if workers == 1:  # rows are yielded as soon as they are made
        finished = ((job, rows_of(*trials)) for job, *trials in tasks)
    else:
        try:
            parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        except ValueError:  # the backend "multiprocessing" has no generators
            parallel = Parallel(n_jobs=workers, return_as="generator_unordered", backend="loky")
        finished = parallel(delayed(_task)(*task) for task in tasks)
    with progress_bar(seeds.size, progress) as advance:
        for (*place, first), rows in finished:
            for trial, row in enumerate(rows, start=first):
                advance(1)
                yield (*place, trial), row


def _task(job, *trials):
    """Return a job and its rows, in a worker."""
    return job, list(rows_of(*trials))


# Privacy cost of the fits and of the scores of a search.

_ON_EXACT_SCORES = "its parameters were selected on exact scores of ballots, which this does not cover"
_ON_PRIVATE_SCORES = "its parameters were selected by a search, whose privacy_ is the cost of all"
_MIXED = "a transformer before it may mix ballots with each other, which this does not cover"
_TIMES = "times are outside the guarantee"
_SPLITS = "splits must not depend on what the ballots say"
_PUBLIC = "the ballots are declared public, so their voters have no guarantee"
_DECLARED = PrivacyGuarantee(0.0, 0.0, "central", "add_remove", _PUBLIC, caveats=(DECLARED_PUBLIC,))


def total_of(guarantees, split_voters):
    """Return the composed guarantee of releases, under "replace" if their neighbouring relations differ.

    If the voters were split, it is also "replace": adding one voter would move others from split to split.
    """
    if not guarantees:
        return PrivacyGuarantee(0.0, 0.0, "central", "add_remove", "no fit finished")
    relations = {g.neighboring for g in guarantees if math.isfinite(g.epsilon)}
    if split_voters or len(relations) > 1:
        guarantees = [g.under_replace() for g in guarantees]
    total = PrivacyGuarantee.compose(guarantees)
    return with_caveats(total, _SPLITS) if split_voters else total


def costs_of(scored, unscored, scoring, split_voters):
    """Return the guarantees of publishing the fits of a search, and of publishing its results.

    `scored` holds the guarantees of the trials, and `unscored` that of the refit. `public_ballots` has no effect here.
    """
    fits = total_of([*scored, *unscored], split_voters)
    if scoring.guarantees is None:
        return fits, with_caveats(PrivacyGuarantee.nothing("a search by exact scores of the ballots"), *scoring.claims)
    results = total_of([*scored, *unscored, *(scoring.guarantees * len(scored))], split_voters)
    # With the recorded seeds, any reader can subtract the noise of fits and scores.
    return fits, with_caveats(results, _TIMES).simulated(certified=False)


class Scoring(NamedTuple):
    """Guarantees of the scores of one fit (None if a score is exact), and caveats about unverified claims."""

    guarantees: list[PrivacyGuarantee] | None
    claims: list[str]


def scoring_of(metrics, X):
    """Return the `Scoring` of X by these metrics; only guarantees of `PrivateKendallTau` itself are trusted."""
    guarantees, claims = [], []
    for name, scorer in metrics.items():
        if type(scorer) is PrivateKendallTau and not replaced_methods(scorer):
            guarantees.append(scorer.guarantee_for(X))
        elif hasattr(scorer, "guarantee"):
            claims.append(
                f"the scorer {name!r} ({type(scorer).__name__}) claims a guarantee, which is not checked: it counts as "
                "exact"
            )
    return Scoring(guarantees if len(guarantees) == len(metrics) else None, claims)


# Results of a search: its trials by metric, and a table of all of them.

_TRIALS = "trial_test_"


def metric_names(search):
    """Return the metrics of a fitted search; raise ValueError if it is not fitted or does not store single trials."""
    results = getattr(search, "cv_results_", None)
    if results is None:
        raise ValueError("search is not fitted; call its fit with the ballots first.")
    names = [key.removeprefix(_TRIALS) for key in results if key.startswith(_TRIALS)]
    if not names:
        raise ValueError("search does not store single trials; use sklearn_dprank.model_selection.GridSearchCV.")
    return names


def results_frame(search: GridSearchCV) -> Any:
    """Return every trial of a fitted search as one row of a DataFrame.

    Parameters
    ----------
    search : fitted `sklearn_dprank.model_selection.GridSearchCV`
        Search.

    Returns
    -------
    pandas.DataFrame
        One row per candidate, split and trial. Columns: "candidate", the parameters of the grid by name, "split",
        "trial", "seed", and one per metric ("score", or the names of several; larger is better). A parameter that a
        candidate's grid does not have is NaN, and so is the score of a trial that did not finish. A parameter with the
        same name as another column keeps the prefix ``param_``.

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError
        If the search is not fitted, or is not a GridSearchCV of this package.

    Notes
    -----
    .. rubric:: Privacy

    The table is not private: scores are exact functions of the ballots, and with the seeds the noise can be subtracted.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from sklearn_dprank.model_selection import results_frame
    >>> trials = [np.array([[-0.4, -0.3]]), np.array([[-0.1, -0.1]])]
    >>> seeds = [np.array([[5, 6]]), np.array([[7, 8]])]
    >>> grid = [{"epsilon": 0.1}, {"epsilon": 1.0}]
    >>> search = SimpleNamespace(cv_results_={"params": grid, "trial_test_score": trials, "seed": seeds})
    >>> results_frame(search).groupby("epsilon")["score"].mean().tolist()
    [-0.35, -0.1]
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('results_frame needs pandas: install the extra "plot", or pip install pandas') from None
    metrics, results, rows = metric_names(search), search.cv_results_, []
    after = ["split", "trial", "seed", *metrics]
    names = dict.fromkeys(name for params in results["params"] for name in params)
    name_of = {name: f"param_{name}" if name in ("candidate", *after) else name for name in names}
    for candidate, (params, seeds) in enumerate(zip(results["params"], results["seed"], strict=True)):
        given = {"candidate": candidate, **{name_of[name]: value for name, value in params.items()}}
        for place, seed in np.ndenumerate(seeds):
            scores = {metric: results[_TRIALS + metric][candidate][place] for metric in metrics}
            rows.append({**given, "split": place[0], "trial": place[1], "seed": seed, **scores})
    frame = pd.DataFrame(rows, columns=["candidate", *name_of.values(), *after], dtype=object)
    # None is a value of its own, which infer_objects would make NaN.
    return frame.apply(lambda column: column if any(each is None for each in column) else column.infer_objects())


# `cross_validate`: repeated fits of one estimator.

_MOST_JOBS = 10_000  # or -10,000: as in joblib, negative numbers count from the number of cores


def metrics_of(estimator, n_trials, scoring, n_jobs):
    """Return scorers by name, where None is the estimator's own score; raise ValueError if a parameter is invalid."""
    check_whole(n_trials, "n_trials", most=MOST_TRIALS)
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0 and abs(int(n_jobs)) <= _MOST_JOBS):
        raise ValueError(f"n_jobs must be None or an integer but 0, up to {_MOST_JOBS}, got {safe_repr(n_jobs)}.")
    if not hasattr(estimator, "set_params") and not is_function(estimator):
        raise ValueError(
            f"estimator must be one estimator, got {type(estimator).__name__}; to compare several, let a grid range "
            'over the steps of a Pipeline: GridSearchCV(Pipeline([("aggregator", DPBorda())]), {"aggregator": [...]}).'
        )
    if scoring is None or callable(scoring):
        return {"score": scoring}
    if isinstance(scoring, Mapping) and scoring and all(callable(scorer) for scorer in scoring.values()):
        return dict(scoring)
    raise ValueError(
        f"scoring must be None, a callable(estimator, X) or a dict of them by name, got {safe_repr(scoring)}; "
        "sklearn_dprank.metrics.kendall_tau_scorer is one."
    )


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
    **unknown: Never,
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
        part may hold a row twice. With None or an integer, a Profile with persons or counts is split at random, and all
        ballots of a person stay together.
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
        seconds, "split", "trial" and "seed". With "seed" as its ``random_state``, a fit can be repeated.

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
    refuse_unknown(None, unknown, "cross_validate")
    metrics = metrics_of(estimator, n_trials, scoring, n_jobs)
    sequence = seed_sequence(random_state)
    parts = split_ballots(X, cv, sequence)
    seeds = child_seeds(sequence, (1, len(parts), n_trials))
    rows = dict(run(seeds, prepare([as_estimator(estimator)], parts), metrics, n_jobs, progress))
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


# Choice of the best candidate: by a metric, by a callable, or by the smallest epsilon near the best score.


def deciding(refit, names):
    """Return the name of the metric that decides; None if only a callable knows."""
    if isinstance(refit, str):
        return refit
    named = getattr(refit, "metric", None)  # of `smallest_within`
    return named or (names[0] if len(names) == 1 else None)


@parametrized
class smallest_within(BaseEstimator):
    """Choose the smallest epsilon whose score is within a tolerance of the best: ``refit=smallest_within(0.01)``.

    More epsilon means less noise, so the largest epsilon of a grid has the best score, up to chance. A search is useful
    to find the smallest epsilon that is sufficient.

    Parameters
    ----------
    tolerance : float
        Largest distance from the best score, in units of the score. For the average Kendall tau distance, 0.01 is one
        hundredth of all pairs.
    parameter : str or None, default=None
        Parameter to minimise. None is the one named "epsilon", or whose name ends in "__epsilon".
    metric : str or None, default=None
        Metric that decides, if there are several. None is the only one.

    Notes
    -----
    Candidates whose parameter is missing, None or infinite (such as non-private aggregators) count for the best score,
    but are never chosen. If several candidates have the smallest epsilon, the one with the best score is chosen.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.model_selection import GridSearchCV, smallest_within
    >>> search = GridSearchCV(
    ...     DPBorda(), {"epsilon": [0.001, 1.0, 10.0]}, refit=smallest_within(0.01), random_state=0
    ... )
    >>> search.fit([[0, 1, 2]] * 100).best_params_
    {'epsilon': 1.0}
    """

    tolerance: float
    _: KW_ONLY
    parameter: str | None = None
    metric: str | None = None

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the row of the chosen candidate.

        Parameters
        ----------
        cv_results : dict
            ``cv_results_`` of a search.

        Returns
        -------
        int
            Row of the candidate.

        Raises
        ------
        ValueError
            If the tolerance is negative, no candidate was scored, or no candidate with the parameter is within the
            tolerance. Also if the parameter or the metric is missing or ambiguous.
        """
        names = [key.removeprefix("mean_test_") for key in cv_results if key.startswith("mean_test_")]
        self.check(names)
        score = cv_results[f"mean_test_{names[0] if self.metric is None else self.metric}"]
        if np.isnan(score).all():
            raise ValueError("no candidate was scored, so none can be chosen.")
        near = score >= np.nanmax(score) - self.tolerance
        rows = cv_results["params"]
        values = [row.get(find_parameter(row, "epsilon", self.parameter, "parameter=")) for row in rows]
        epsilon = np.array([np.inf if value is None else float(value) for value in values])
        if not np.isfinite(epsilon).any():
            wanted = "epsilon" if self.parameter is None else self.parameter
            raise ValueError(f"param_grid has no parameter {wanted!r}; name one with parameter=.")
        best = np.where(near, epsilon, np.inf).min()
        if best == np.inf:
            raise ValueError(
                f"no candidate with the parameter is within tolerance={self.tolerance!r} of the best score, which is "
                "of one without it. Give larger values of the parameter, or a larger tolerance."
            )
        return int(np.nanargmax(np.where(near & (epsilon == best), score, -np.inf)))

    def check(self, names: Sequence[str]) -> None:
        """Check the tolerance and the metric before any fit.

        Parameters
        ----------
        names : list of str
            Metrics of the search.

        Raises
        ------
        ValueError
            If the tolerance is negative, or the metric is missing or ambiguous.
        """
        check_number(self.tolerance, "tolerance", least=0, most=np.inf)
        if self.metric is None and len(names) > 1:
            raise ValueError(f"several metrics {names}: say which decides, smallest_within(..., metric={names[0]!r}).")
        if self.metric is not None and self.metric not in names:
            raise ValueError(f"metric must be one of {names}, got {self.metric!r}.")


# `GridSearchCV`: several trials of many candidates, and a refit of the best one.


def add_caveats(estimator, caveats):
    """Add caveats to the guarantee of an estimator, and to those of a search or selection and its best estimator."""
    while estimator is not None:
        estimator = last_step(estimator)
        if isinstance(getattr(estimator, "privacy_", None), PrivacyGuarantee):
            estimator.privacy_ = with_caveats(estimator.privacy_, *caveats)
        estimator = getattr(estimator, "best_estimator_", None)


def _refitted(search):
    """Return True; raise AttributeError if the search has no refitted estimator."""
    if search.refit is False:
        raise AttributeError("this search has no best_estimator_ because refit=False.")
    return True


@parametrized
class GridSearchCV(GuaranteedEstimator, MetaEstimatorMixin, AllowsMissing):
    """Compare parameters and mechanisms by repeated fits with fresh noise, on public or simulated ballots.

    It works like scikit-learn's class of the same name, with `n_trials` fits of each candidate on each split. Ballots
    are counted once for all fits.

    Parameters
    ----------
    estimator : estimator or callable
        An aggregator, or a Pipeline that ends in one. An estimator of your own works too, if its `fit` sets
        ``consensus_`` (items by index or name, best first) or ``ranks_`` (positions, 0 is best), or if it has a
        `score`. So does a function of the ballots that returns the items by index, best first. It gets an array of
        floats of shape (n_voters, n_items), where NaN is a missing opinion.
    param_grid : dict or list of dict
        Values to try for each parameter. Values may be estimators, to compare mechanisms in one search: with
        ``Pipeline([("aggregator", DPBorda())])``,
        ``{"aggregator": [DPBorda(), DPKwikSort()], "aggregator__epsilon": [0.1, 1.0]}``. Functions are values, too:
        ``{"aggregator": [my_function]}`` in a list of dicts.
    n_trials : int, default=10
        Fits with fresh noise for each candidate on each split.
    cv : "all", None, int, splitter or iterable, default="all"
        "all" is the protocol of the papers: fit on all voters and score against all voters. Holding voters out would
        change their number, and so the effect of the noise. Other values have the same meaning as in scikit-learn. If a
        splitter needs groups, pass ``list(splitter.split(X, groups=groups))``. No part may hold a row twice. With None
        or an integer, a Profile with persons or counts is split at random, and all ballots of a person stay together.
    scoring : None, callable or dict of {str: callable}, default=None
        ``scoring(estimator, X)``, larger is better; a dict holds several by name. None is the estimator's own score,
        minus the average Kendall tau distance. For an aggregator, X is the `~sklearn_dprank.ballots.Profile` of the
        voters, already counted, which every metric accepts. For a pipeline, X is the ballots as they were passed.
    n_jobs : int or None, default=None
        Number of joblib workers. Results depend neither on it nor on the backend.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate once more on all voters. With several metrics, pass the name of the one that
        decides. A callable takes ``cv_results_`` and returns the row: see `smallest_within`.
    random_state : None, int, Generator or RandomState, default=None
        Seed of all trials, and of the folds of persons. Each trial has its own child seed, in ``cv_results_["seed"]``.
        The refit keeps the estimator's own ``random_state``: with None, it is a release and not a simulation.
    public_ballots : bool, default=False
        Declares the ballots public (simulated, or published before), so that their scores reveal no private data.
    progress : bool, default=True
        Whether to show a progress bar after two seconds. It needs tqdm (the extra ``progress``).

    Attributes
    ----------
    cv_results_ : dict of {str: array}
        One row per candidate. "params" and "param_<name>" are its parameters. "mean_test_score", "std_test_score",
        "min_test_score" and "max_test_score" summarise all trials; there are also "rank_test_score" and
        "split<k>_test_score". The entries of "trial_test_score" and "seed" are arrays of shape (n_splits, n_trials).
        "mean_fit_time" and so on are in seconds. With several metrics, "score" is replaced by their names.
    best_index_ : int
        Row of the best candidate.
    best_params_ : dict
        Parameters of the best candidate.
    best_score_ : float
        Mean score of the best candidate, by the metric that decides. If several metrics are used and `refit` names
        none, it is missing. Without `refit`, `best_index_` and `best_params_` are then missing, too.
    best_estimator_ : estimator
        The best candidate, fitted on all voters; with `refit` only.
    refit_time_ : float
        Time of the refit, in seconds.
    n_splits_, multimetric_ : int, bool
        Number of splits, and whether `scoring` is a dict.
    scorer_ : dict of {str: callable or None}
        Scorers by name; None is the estimator's own score.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Those of the best estimator.
    privacy_ : PrivacyGuarantee
        Guarantee for the voters if the results of the search are published. Its epsilon is infinite, unless the scoring
        is private or the ballots are declared public.
    results_cost_ : PrivacyGuarantee
        The same guarantee, even if the ballots were declared public. An outer search counts this one, because
        ``public_ballots`` affects only the search that sets it.
    fits_cost_ : PrivacyGuarantee
        Guarantee if every fit of the search is published, without scores (basic composition). Fits under different
        neighbouring relations are composed under "replace". So are fits of a `cv` that splits the voters, because
        adding one voter moves others from split to split.

    Raises
    ------
    ValueError
        If a parameter is invalid; every candidate is checked before the first fit.

    See Also
    --------
    PrivateSelection : Selection on private ballots at a stated total cost.
    cross_validate : Repeated fits of one candidate.

    Notes
    -----
    .. rubric:: Privacy

    ``cv_results_``, ``best_index_``, ``best_params_`` and ``best_score_`` are exact functions of the ballots. If the
    ballots are private, none of them may be published, as ``privacy_`` states. ``best_estimator_`` keeps the guarantee
    of its one fit, with the caveat that its parameters were selected on exact scores. The same holds for scikit-learn's
    own ``GridSearchCV``, which does not warn about it. To tune at no privacy cost, search on public or simulated votes
    (`~sklearn_dprank.datasets.make_mallows`). To tune on private ballots, use `PrivateSelection`.

    Scores of `PrivateKendallTau` are private. If another scorer states a ``guarantee``, the claim is listed in the
    caveats and the score counts as exact. `public_ballots` of a nested search, and guarantees of estimators from other
    packages, are not trusted either.

    .. rubric:: Remarks

    The largest epsilon of a grid is the best one, up to chance. ``refit=smallest_within(0.01)`` chooses the smallest
    that is good enough.

    An interrupt (Ctrl-C) keeps ``cv_results_`` of the finished trials, with NaN for the others, and is raised again.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.datasets import make_mallows
    >>> from sklearn_dprank.model_selection import GridSearchCV
    >>> votes = make_mallows(500, 6, 0.7, random_state=0)
    >>> grid = {"epsilon": [0.01, 1.0], "noise": ["laplace", "knorm"]}
    >>> search = GridSearchCV(DPBorda(), grid, n_trials=20, random_state=0, public_ballots=True).fit(votes)
    >>> search.best_params_["epsilon"], len(search.cv_results_["params"])
    (1.0, 4)
    >>> GridSearchCV(DPBorda(), grid, random_state=0).fit(votes).privacy_.epsilon
    inf
    """

    estimator: EstimatorOrFunction
    param_grid: Grid
    _: KW_ONLY
    n_trials: int = 10
    cv: Any = "all"
    scoring: Metrics = None
    n_jobs: int | None = None
    refit: bool | str | Callable[[dict[str, Any]], int] = True
    random_state: RandomState = None
    public_ballots: bool = False
    progress: bool = True

    cv_results_: dict[str, Any] = field(init=False)
    best_index_: int = field(init=False)
    best_params_: dict[str, Any] = field(init=False)
    best_score_: float = field(init=False)
    best_estimator_: Any = field(init=False)
    refit_time_: float = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: NDArray[Any] = field(init=False)
    scorer_: dict[str, Metric | None] = field(init=False)
    n_splits_: int = field(init=False)
    multimetric_: bool = field(init=False)
    results_cost_: PrivacyGuarantee = field(init=False)
    fits_cost_: PrivacyGuarantee = field(init=False)

    def fit(self, X: Ballots, y: None = None, **unknown: Never) -> Self:
        """Run all trials of all candidates, and fit the best one.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The search.
        """
        refuse_unknown(self, unknown)
        metrics, rows, estimators = self._checked()
        names, scoring, sequence = list(metrics), scoring_of(metrics, X), seed_sequence(self.random_state)
        parts = split_ballots(X, self.cv, sequence)
        split_voters = not (isinstance(self.cv, str) and self.cv == "all")
        prepared = prepare(estimators, parts)
        clear_fitted(self)
        seeds = child_seeds(sequence, (len(rows), len(parts), self.n_trials))
        trials: dict[Any, Row] = {}
        try:
            trials.update(run(seeds, prepared, metrics, self.n_jobs, self.progress))  # one by one
        finally:  # after an interrupt or if a worker was killed, too: finished trials, and their cost
            scored = [row.guarantee for row in trials.values()]
            if scored or isinstance(sys.exception(), KeyboardInterrupt):
                self.n_splits_, self.multimetric_, self.scorer_ = len(parts), isinstance(self.scoring, Mapping), metrics
                self.cv_results_ = results_of(rows, seeds, names, trials)
                self._account(scored, [], scoring, split_voters)
        metric = deciding(self.refit, names)
        if callable(self.refit):
            best = int(self.refit(self.cv_results_))
            if not 0 <= best < len(rows):
                raise ValueError(f"refit must return a row of cv_results_, got {best}.")
        elif metric is None:  # several metrics, and no refit
            return record_pipeline(self)
        else:
            if not np.isfinite(self.cv_results_[f"mean_test_{metric}"]).any():
                raise ValueError(f"no candidate has a finite mean {metric}; the scorer gave NaN or infinity for each.")
            best = int(self.cv_results_[f"rank_test_{metric}"].argmin())
        self.best_index_, self.best_params_ = best, rows[best]
        if metric is not None:
            self.best_score_ = float(self.cv_results_[f"mean_test_{metric}"][best])
        if self.refit is not False:
            start = time.perf_counter()
            self.best_estimator_ = configured(self.estimator, self.best_params_).fit(X)
            self.refit_time_ = time.perf_counter() - start
            for attribute in ("n_features_in_", "feature_names_in_"):
                if hasattr(self.best_estimator_, attribute):
                    setattr(self, attribute, getattr(self.best_estimator_, attribute))
            self._account(scored, [guarantee_after(self.best_estimator_, declared=False)], scoring, split_voters)
            caveats = [_ON_EXACT_SCORES if scoring.guarantees is None else _ON_PRIVATE_SCORES]
            caveats += [] if mixing_step(self.best_estimator_) is None else [_MIXED]
            add_caveats(self.best_estimator_, caveats)
        return record_pipeline(self)

    @available_if(_refitted)
    def score(self, X: Ballots, y: None = None, **unknown: Never) -> float:
        """Score the best estimator by the metric that decides; not private.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots.
        y : None
            Ignored.

        Returns
        -------
        float
            Score; larger is better.
        """
        refuse_unknown(self, unknown, "score")
        check_is_fitted(self, "best_estimator_")
        metric = deciding(self.refit, list(self.scorer_))
        if metric is None:
            raise ValueError(f"several metrics {list(self.scorer_)}, and refit does not say which decides.")
        return score_of(self.best_estimator_, X, self.scorer_[metric])

    def _checked(self):
        """Return the metrics, the rows of the grid and the candidates; raise ValueError if a parameter is invalid."""
        metrics = metrics_of(self.estimator, self.n_trials, self.scoring, self.n_jobs)
        check_flag(self.public_ballots, "public_ballots")
        several, names = isinstance(self.scoring, Mapping), list(metrics)
        if isinstance(self.refit, smallest_within):
            self.refit.check(names)
        if not (callable(self.refit) or self.refit is False or self.refit in (names if several else [True])):
            valid = f"False, a callable or the name of a metric ({names})" if several else "a bool or a callable"
            raise ValueError(f"refit must be {valid}, got {safe_repr(self.refit)}.")
        rows = grid_of(self.param_grid)
        if seeds := [name for row in rows for name in row if is_called(name, _SEED)]:
            raise ValueError(
                f"param_grid must not range over {seeds[0]!r}: every trial has a seed of its own; set n_trials, and "
                "the search's random_state."
            )
        estimators = [configured(self.estimator, row) for row in rows]
        if any(isinstance(scorer, PrivateKendallTau) for scorer in metrics.values()):
            for estimator in estimators:
                refuse_mixing(estimator)
        return metrics, rows, estimators

    def _account(self, scored, unscored, scoring, split_voters):
        """Set the privacy attributes."""
        self.fits_cost_, self.results_cost_ = costs_of(scored, unscored, scoring, split_voters)
        self.privacy_ = _DECLARED if self.public_ballots else self.results_cost_

    def guarantee_before(self, X: Any, voter_epsilon: Any = None) -> PrivacyGuarantee:
        metrics, _, estimators = self._checked()
        scoring = scoring_of(metrics, X)
        if self.public_ballots:
            return _DECLARED
        if scoring.guarantees is None:
            return costs_of([], [], scoring, split_voters=False)[1]
        if not (isinstance(self.cv, str) and self.cv == "all"):
            raise ValueError(
                f'the privacy cost of a search with cv={safe_repr(self.cv)} depends on the splits; use cv="all".'
            )
        fits = [guarantee_before(estimator, X) for estimator in estimators]
        refit = []
        if self.refit is not False:  # of one of the candidates, not known which: take the largest epsilon and delta
            total = total_of(fits, split_voters=False)
            comparable = [g.under_replace() if total.neighboring == "replace" else g for g in fits]
            epsilon, delta = max(g.epsilon for g in comparable), max(g.delta for g in comparable)
            worst = replace(total, epsilon=epsilon, delta=delta, losses=None)
            refit = [worst if len(set(fits)) > 1 else fits[0]]
        return costs_of(fits * self.n_trials, refit, scoring, split_voters=False)[1]

    def guarantee_after(self, declared: bool = True) -> PrivacyGuarantee:
        return self.privacy_ if declared else self.results_cost_


def results_of(candidates, seeds, names, trials):
    """Return ``cv_results_``; unfinished trials are NaN and are left out of means.

    `candidates` are dicts of parameters, `seeds` has shape (n_candidates, n_splits, n_trials), and `trials` holds the
    Row of each finished (candidate, split, trial).
    """
    values = np.full((2 + len(names), *seeds.shape), np.nan)
    for place, row in trials.items():
        values[:, *place] = row.fit_time, row.score_time, *row.scores
    times, all_scores = values[:2], values[2:]
    found: dict[str, Any] = {"params": candidates}
    for name in sorted({name for candidate in candidates for name in candidate}):
        # Masked where a candidate does not set the parameter, as in scikit-learn.
        column: MaskedArray = MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for row, candidate in enumerate(candidates):
            if name in candidate:
                column[row] = candidate[name]
        found[f"param_{name}"] = column
    found["seed"] = np.fromiter(seeds, dtype=object)  # one array of shape (n_splits, n_trials) per candidate
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a candidate without a finished trial has mean NaN
        for name, each in zip(["fit_time", "score_time"], times, strict=True):
            found[f"mean_{name}"], found[f"std_{name}"] = np.nanmean(each, (1, 2)), np.nanstd(each, (1, 2))
        for name, scores in zip(names, all_scores, strict=True):
            mean = np.nanmean(scores, axis=(1, 2))
            mean[(np.isfinite(times[0]) & np.isnan(scores)).any(axis=(1, 2))] = np.nan  # a NaN from the scorer counts
            for k in range(scores.shape[1]):
                found[f"split{k}_test_{name}"] = np.nanmean(scores[:, k], axis=1)
            found[f"mean_test_{name}"] = mean
            for statistic in ("std", "min", "max"):
                found[f"{statistic}_test_{name}"] = getattr(np, f"nan{statistic}")(scores, axis=(1, 2))
            worst_last = np.where(np.isnan(mean), np.inf, -mean)
            found[f"rank_test_{name}"] = rankdata(worst_last, method="min").astype(np.int32)
            found[f"trial_test_{name}"] = np.fromiter(scores, dtype=object)
    return found
