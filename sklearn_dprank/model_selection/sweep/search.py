"""`GridSearchCV`: several trials of many candidates, and a refit of the best one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Never, Self

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.utils.validation import check_is_fitted

from ..._utils.checks import check_flag, check_jobs, check_whole, refuse_unknown
from ..._utils.fitted import clear_fitted
from ..._utils.scikit_learn import BaseEstimator, MetaEstimatorMixin, available_if
from ..._utils.types import RandomState
from ...ballots.profile import Ballots
from ...privacy import PrivacyGuarantee
from ...privacy.estimator_guarantees import GuaranteedEstimator, guarantee_after, record_pipeline
from ...sampling.streams import seed_sequence
from ..functions import EstimatorOrFunction
from ..parameters import Grid, Metric, Metrics, configured, grid_of
from ..seeds import MOST_TRIALS, child_seeds, is_seed
from .accounting import (
    costs_of,
    declared_public,
    forecast,
    metrics_of,
    refuse_mixed,
    scoring_of,
    warn_reader,
)
from .candidates_on_splits import check_one_estimator, prepare, score_of
from .refit import best_row, check_refit, deciding
from .splits import Splits
from .trials import run


def _refitted(search):
    if search.refit is False:
        raise AttributeError("this search has no best_estimator_ because refit=False.")
    return True


class GridSearchCV(GuaranteedEstimator, MetaEstimatorMixin, BaseEstimator):
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
        or an integer, a Profile with persons is split at random, and all ballots of a person stay together.
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
        "mean_fit_time" and so on are in seconds. If fits are computed together, the first bears the time. With several
        metrics, "score" is replaced by their names.
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

    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, Any]
    best_score_: float
    best_estimator_: Any
    refit_time_: float
    scorer_: dict[str, Metric | None]
    n_splits_: int
    multimetric_: bool
    privacy_: PrivacyGuarantee
    results_cost_: PrivacyGuarantee
    fits_cost_: PrivacyGuarantee

    def __init__(
        self,
        estimator: EstimatorOrFunction,
        param_grid: Grid,
        *,
        n_trials: int = 10,
        cv: Any = "all",
        scoring: Metrics = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[dict[str, Any]], int] = True,
        random_state: RandomState = None,
        public_ballots: bool = False,
        progress: bool = True,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_trials = n_trials
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.random_state = random_state
        self.public_ballots = public_ballots
        self.progress = progress

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
        scoring = scoring_of(metrics, X)
        sequence = seed_sequence(self.random_state)
        splits = Splits(X, self.cv, sequence)
        prepared = prepare(estimators, splits)
        clear_fitted(self)
        self.n_splits_, self.multimetric_, self.scorer_ = len(splits), isinstance(self.scoring, Mapping), metrics
        seeds = child_seeds(sequence, (len(rows), len(splits), self.n_trials))
        results = Results(rows, seeds, list(metrics))
        try:
            for place, row in run(seeds, prepared, metrics, self.n_jobs, self.progress):
                results.add(place, row)
        except BaseException as error:  # an interrupt, or a worker that was killed
            if results.guarantees or isinstance(error, KeyboardInterrupt):
                self._keep(results, scoring, splits)  # finished trials, and their cost
            raise
        self._keep(results, scoring, splits)
        self._choose(list(metrics))
        if self.refit is not False:
            self._fit_best(X, results, scoring, splits)
        return record_pipeline(self)

    @available_if(_refitted)
    def score(self, X: Ballots, y: None = None) -> float:
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
        check_is_fitted(self, "best_estimator_")
        name = deciding(self.refit, list(self.scorer_))
        if name is None:
            raise ValueError(f"several metrics {list(self.scorer_)}, and refit does not say which decides.")
        return score_of(self.best_estimator_, X, self.scorer_[name])

    @property
    def n_features_in_(self) -> int:
        """Number of items."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the items, if the ballots had them."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.feature_names_in_

    def _checked(self):
        """Return the metrics, the rows of the grid and the candidates; raise ValueError if a parameter is invalid."""
        check_whole(self.n_trials, "n_trials", most=MOST_TRIALS)
        check_jobs(self.n_jobs)
        check_flag(self.public_ballots, "public_ballots")
        metrics = metrics_of(self.scoring)
        check_refit(self.refit, list(metrics), several=isinstance(self.scoring, Mapping))
        check_one_estimator(self.estimator)
        rows = grid_of(self.param_grid)
        _refuse_seeds(rows)
        estimators = [configured(self.estimator, row) for row in rows]
        refuse_mixed(metrics, estimators)
        return metrics, rows, estimators

    def _keep(self, results, scoring, splits):
        """Set ``cv_results_`` and the privacy attributes."""
        self.cv_results_ = results.as_dict()
        self._account(results.guarantees, [], scoring, splits)

    def _choose(self, names):
        """Set the best index, parameters and score, as far as `refit` determines them."""
        row, name = best_row(self.refit, self.cv_results_, names), deciding(self.refit, names)
        if row is None:
            return
        self.best_index_ = row
        self.best_params_ = self.cv_results_["params"][row]
        if name is not None:
            self.best_score_ = float(self.cv_results_[f"mean_test_{name}"][row])

    def _fit_best(self, X, results, scoring, splits):
        """Fit the best candidate on all voters, and add its cost."""
        start = time.perf_counter()
        self.best_estimator_ = configured(self.estimator, self.best_params_).fit(X)
        self.refit_time_ = time.perf_counter() - start
        self._account(results.guarantees, [guarantee_after(self.best_estimator_, declared=False)], scoring, splits)
        warn_reader(self.best_estimator_, exact_scores=scoring.guarantees is None)

    def _account(self, scored, unscored, scoring, splits):
        self.fits_cost_, self.results_cost_ = costs_of(scored, unscored, scoring, splits.split_voters)
        self.privacy_ = declared_public() if self.public_ballots else self.results_cost_

    def guarantee_before(self, X: Any, voter_epsilon: Any = None) -> PrivacyGuarantee:
        metrics, _, estimators = self._checked()
        return forecast(self, X, metrics, estimators)

    def guarantee_after(self, declared: bool = True) -> PrivacyGuarantee:
        return self.privacy_ if declared else self.results_cost_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _refuse_seeds(rows):
    """Raise ValueError if the grid ranges over seeds."""
    for name in {name for row in rows for name in row if is_seed(name)}:
        raise ValueError(
            f"param_grid must not range over {name!r}: every trial has a seed of its own; set n_trials, and the "
            "search's random_state."
        )


class Results:
    """Collector of finished trials, in any order; unfinished trials are NaN and are left out of means.

    `candidates` are dicts of parameters, and `seeds` has shape (n_candidates, n_splits, n_trials). `guarantees` holds
    that of each finished fit.
    """

    def __init__(self, candidates, seeds, names):
        self._candidates, self._seeds, self._names = candidates, seeds, names
        self._scores = np.full((len(names), *seeds.shape), np.nan)
        self._times = np.full((2, *seeds.shape), np.nan)
        self.guarantees: list[PrivacyGuarantee] = []

    def add(self, place, row):
        """Record the fit at (candidate, split, trial)."""
        self._scores[:, *place] = row.scores
        self._times[:, *place] = row.fit_time, row.score_time
        self.guarantees.append(row.guarantee)

    def as_dict(self):
        """Return ``cv_results_``."""
        finished = np.isfinite(self._times[0])
        found = {"params": self._candidates, **_parameter_columns(self._candidates), "seed": _cells(self._seeds)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a candidate without a finished trial has mean NaN
            for name, times in zip(("fit_time", "score_time"), self._times, strict=True):
                found[f"mean_{name}"] = np.nanmean(times, axis=(1, 2))
                found[f"std_{name}"] = np.nanstd(times, axis=(1, 2))
            for name, own in zip(self._names, self._scores, strict=True):
                found.update(_score_columns(name, own, finished))
        return found


def _score_columns(name, scores, finished):
    """Return the columns of one metric, from scores of shape (n_candidates, n_splits, n_trials)."""
    mean = np.nanmean(scores, axis=(1, 2))
    mean[(finished & np.isnan(scores)).any(axis=(1, 2))] = np.nan  # a NaN from the scorer is not skipped
    worst_last = np.where(np.isnan(mean), np.inf, -mean)
    return {
        **{f"split{k}_test_{name}": np.nanmean(scores[:, k], axis=1) for k in range(scores.shape[1])},
        f"mean_test_{name}": mean,
        f"std_test_{name}": np.nanstd(scores, axis=(1, 2)),
        f"min_test_{name}": np.nanmin(scores, axis=(1, 2)),
        f"max_test_{name}": np.nanmax(scores, axis=(1, 2)),
        f"rank_test_{name}": rankdata(worst_last, method="min").astype(np.int32),
        f"trial_test_{name}": _cells(scores),
    }


def _parameter_columns(candidates):
    """Return a masked column for each parameter that some candidate sets, as scikit-learn does."""
    columns = {}
    for name in sorted({name for candidate in candidates for name in candidate}):
        column: MaskedArray = MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for row, candidate in enumerate(candidates):
            if name in candidate:
                column[row] = candidate[name]
        columns[f"param_{name}"] = column
    return columns


def _cells(array):
    """Return a one-dimensional object array with one array of shape (n_splits, n_trials) per candidate."""
    cells = np.empty(len(array), dtype=object)
    cells[:] = list(array)
    return cells
