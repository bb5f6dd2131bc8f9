"""Choice of the best candidate: by a metric, by a callable, or by the smallest epsilon near the best score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._utils.checks import check_number, safe_repr
from ..._utils.scikit_learn import BaseEstimator
from ..parameters import is_called


def check_refit(refit, names, several):
    """Raise ValueError, before any fit, unless `refit` is valid for these metrics (`several`: given by name)."""
    if hasattr(refit, "check"):
        refit.check(names)
    if callable(refit) or refit is False or (refit is True and not several):
        return
    if not isinstance(refit, str) or not several or refit not in names:
        raise ValueError(
            f"refit must be False, a callable or the name of a metric ({names}), got {safe_repr(refit)}."
            if several
            else f"refit must be a bool or a callable, got {safe_repr(refit)}."
        )


def deciding(refit, names):
    """Return the name of the metric that decides; None if only a callable knows."""
    if isinstance(refit, str):
        return refit
    own = getattr(refit, "metric", None)
    return own if own is not None else names[0] if len(names) == 1 else None


def best_row(refit, cv_results, names):
    """Return the row of the best candidate, or None if `refit` names no metric; raise ValueError if no row is valid."""
    if callable(refit):
        row = int(refit(cv_results))
        if not 0 <= row < len(cv_results["params"]):
            raise ValueError(f"refit must return a row of cv_results_, got {row}.")
        return row
    name = deciding(refit, names)
    if name is None:
        return None
    if not np.isfinite(cv_results[f"mean_test_{name}"]).any():
        raise ValueError(f"no candidate has a finite mean {name}; the scorer gave NaN or infinity for each.")
    return int(cv_results[f"rank_test_{name}"].argmin())


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

    def __init__(self, tolerance: float, *, parameter: str | None = None, metric: str | None = None) -> None:
        self.tolerance = tolerance
        self.parameter = parameter
        self.metric = metric

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
        epsilon = self._parameter(cv_results["params"])
        best = np.where(near, epsilon, np.inf).min()
        if best == np.inf:
            raise ValueError(
                f"no candidate with the parameter is within tolerance={self.tolerance!r} of the best score, which only "
                "candidates without it reach; give larger values of it, or a larger tolerance."
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

    def _parameter(self, candidates):
        """Return the parameter's value for every candidate; infinity where it is missing or None."""
        values = []
        for candidate in candidates:
            names = [name for name in candidate if self._is_it(name)]
            if len(names) > 1:
                raise ValueError(f"several parameters {names}: say which to keep small, parameter={names[0]!r}.")
            value = candidate[names[0]] if names else None
            values.append(np.inf if value is None else float(value))
        if not np.isfinite(values).any():
            wanted = "epsilon" if self.parameter is None else self.parameter
            raise ValueError(f"param_grid has no parameter {wanted!r}; name one with parameter=.")
        return np.array(values)

    def _is_it(self, name):
        if self.parameter is not None:
            return name == self.parameter
        return is_called(name, "epsilon")
