"""Which candidate a search takes."""

import numpy as np
from sklearn.base import BaseEstimator

from ._subjects import is_called


class smallest_within(BaseEstimator):
    """Take the smallest epsilon whose score is within a tolerance of the best: ``refit=smallest_within(0.01)``.

    More epsilon is less noise, so the best score belongs to the largest epsilon of a grid, up to chance; what a
    search can tell is how little is enough.

    Parameters
    ----------
    tolerance : float
        In units of the score: 0.01 is a hundredth of all pairs for the average Kendall tau distance.
    parameter : str or None, default=None
        The parameter to keep small; None is the one called "epsilon", or whose name ends in "__epsilon".
    metric : str or None, default=None
        Which of several metrics decides; None is the only one.

    Notes
    -----
    Candidates without the parameter, or whose value is None or infinite (a non-private aggregator, say), count for the
    best score and are never taken. Of several with the smallest epsilon, the best is taken.

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

    def __init__(self, tolerance, *, parameter=None, metric=None):
        self.tolerance = tolerance
        self.parameter = parameter
        self.metric = metric

    def __call__(self, cv_results):
        """Return the index of the candidate.

        Parameters
        ----------
        cv_results : dict
            ``cv_results_`` of a search.

        Returns
        -------
        int
            Its row.

        Raises
        ------
        ValueError
            If the tolerance is negative, no candidate was scored, no candidate with the parameter is within the
            tolerance, or the parameter or metric is not there or not unique.
        """
        names = [key.removeprefix("mean_test_") for key in cv_results if key.startswith("mean_test_")]
        self.check(names)
        score = cv_results[f"mean_test_{names[0] if self.metric is None else self.metric}"]
        if np.isnan(score).all():
            raise ValueError("no candidate was scored; nothing can be chosen.")
        near = score >= np.nanmax(score) - self.tolerance
        epsilon = self._parameter(cv_results["params"])
        best = np.where(near, epsilon, np.inf).min()
        if best == np.inf:
            raise ValueError(
                f"no candidate with the parameter is within tolerance={self.tolerance!r} of the best score, which only "
                "candidates without it reach; give larger values of it, or a larger tolerance."
            )
        return int(np.nanargmax(np.where(near & (epsilon == best), score, -np.inf)))

    def check(self, names):
        """Refuse, before any fit, a tolerance or a metric that cannot decide.

        Parameters
        ----------
        names : list of str
            The metrics of the search.

        Raises
        ------
        ValueError
            If the tolerance is negative, or the metric is not there or not unique.
        """
        if not self.tolerance >= 0:
            raise ValueError(f"tolerance must be at least 0, got {self.tolerance!r}.")
        if self.metric is None and len(names) > 1:
            raise ValueError(f"several metrics {names}: say which decides, smallest_within(..., metric={names[0]!r}).")
        if self.metric is not None and self.metric not in names:
            raise ValueError(f"metric must be one of {names}, got {self.metric!r}.")

    def _parameter(self, candidates):
        """Return every candidate's value of the parameter; infinity where it has none."""
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
