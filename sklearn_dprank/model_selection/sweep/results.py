"""``cv_results_``: what a search found, one row a candidate."""

import warnings

import numpy as np
from numpy.ma import MaskedArray
from scipy.stats import rankdata


class Results:
    """Collects rows as trials finish, in any order; unfinished trials are NaN and left out of means.

    Parameters
    ----------
    candidates : list of dict
        Parameters of each candidate.
    seeds : ndarray of int, shape (n_candidates, n_splits, n_trials)
        The seed of each fit.
    names : list of str
        The metrics.
    """

    def __init__(self, candidates, seeds, names):
        self._candidates = candidates
        self._seeds = seeds
        self._names = names
        self._trials = []
        self._rows = []

    def add(self, trial, row):
        """Record one fit."""
        self._trials.append(trial)
        self._rows.append(row)

    @property
    def guarantees(self):
        """What each finished fit promises."""
        return [row.guarantee for row in self._rows]

    def as_dict(self):
        """Return ``cv_results_``."""
        scores = np.full((len(self._names), *self._seeds.shape), np.nan)
        every_time = np.full((2, *self._seeds.shape), np.nan)
        finished = np.zeros(self._seeds.shape, dtype=bool)
        if self._rows:
            where = tuple(np.array(self._trials).T)
            finished[where] = True
            for place, values in enumerate(zip(*(row.scores for row in self._rows), strict=True)):
                scores[(place, *where)] = values
            every_time[(0, *where)] = [row.fit_time for row in self._rows]
            every_time[(1, *where)] = [row.score_time for row in self._rows]
        found = {"params": self._candidates, **_parameter_columns(self._candidates), "seed": _cells(self._seeds)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a candidate without a finished trial has mean NaN
            for name, times in zip(("fit_time", "score_time"), every_time, strict=True):
                found[f"mean_{name}"] = np.nanmean(times, axis=(1, 2))
                found[f"std_{name}"] = np.nanstd(times, axis=(1, 2))
            for name, own in zip(self._names, scores, strict=True):
                found.update(_score_columns(name, own, finished))
        return found


def _score_columns(name, scores, finished):
    """Return the columns of one metric, from scores of shape (n_candidates, n_splits, n_trials)."""
    mean = np.nanmean(scores, axis=(1, 2))
    mean[(finished & np.isnan(scores)).any(axis=(1, 2))] = np.nan  # a scorer that fails is not passed over
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
    """Return one object a candidate: its array of shape (n_splits, n_trials). Columns stay one-dimensional."""
    cells = np.empty(len(array), dtype=object)
    cells[:] = list(array)
    return cells
