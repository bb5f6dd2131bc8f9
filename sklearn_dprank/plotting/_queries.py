"""`QueryCountDisplay`: error against the number of queries a voter."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._utils.scikit_learn import BaseEstimator
from .._utils.types import RandomState
from ..ballots.profile import Ballots
from ..model_selection import GridSearchCV
from ._errors import Band, ErrorDisplay, Floor
from ._style import number_ticks, shortened

_GAP = 0.035  # least distance of two labels, as a share of the axis


class QueryCountDisplay(ErrorDisplay):
    """Error against K, the number of queries that each voter answers; one line a mechanism.

    Build it with `from_estimators` or `from_search`. A ring marks the best K of every line.

    Parameters
    ----------
    n_queries : array-like of int, shape (n_counts,), or dict of {str: array-like}
        Queries a voter: those of all mechanisms, or each mechanism's own. NaN alone is a mechanism that does not
        depend on K; its line is level.
    errors : dict of {str: array-like of shape (n_counts, n_trials)}
        Error of every trial, by mechanism. NaN is a trial that did not finish; it is left out.
    floor : float or None, default=None
        Error that rankings are compared with: where it is that of the Kemeny optimum, no ranking does better. None is
        not drawn.
    ceiling : float or None, default=0.5
        Expected error of a random ranking. None is not drawn.
    measure : str, default="average Kendall tau distance"
        What the errors are.
    floor_name : str, default="given floor"
        What the floor is, for the picture.

    Attributes
    ----------
    best : dict of {str: int}
        The K with the least mean error by mechanism, the smallest of several. Not private.
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.

    Notes
    -----
    .. rubric:: Privacy

    Errors, and so the best K, are exact functions of the ballots, and the picture says so. Choose K on public or
    simulated votes.

    .. rubric:: Remarks

    A voter who answers K queries has epsilon / K for each: more answers, each with more noise.

    Examples
    --------
    >>> from sklearn_dprank import LDPKwikSort
    >>> from sklearn_dprank.plotting import QueryCountDisplay
    >>> display = QueryCountDisplay.from_estimators(
    ...     {"LDP-KwikSort": LDPKwikSort(epsilon=2.0)}, [[0, 1, 2]] * 50, n_queries=[1, 2], n_trials=3, random_state=0
    ... )
    >>> display.errors["LDP-KwikSort"].shape
    (2, 3)
    """

    _parameter, _argument, _whole = "n_queries", "n_queries", True
    _xlabel = "K, queries a voter"

    def __init__(
        self,
        n_queries: Any,
        errors: Mapping[str, ArrayLike],
        floor: float | None = None,
        ceiling: float | None = 0.5,
        measure: str = "average Kendall tau distance",
        *,
        floor_name: str = "given floor",
    ) -> None:
        super().__init__(n_queries, errors, floor, ceiling, measure, floor_name=floor_name)

    @property
    def n_queries(self) -> Any:
        """Queries a voter: an array, or one for each mechanism."""
        return self._values

    @property
    def best(self) -> dict[str, int]:
        """The K with the least mean error by mechanism, the smallest of several. Not private."""
        return {name: int(counts[_least(errors)]) for name, counts, errors in self._dependent()}

    def _dependent(self):
        """Yield the lines that have points and depend on K."""
        for name, counts, errors in self._lines():
            if len(counts) and not np.isnan(self._own(name)).any():
                yield name, counts, errors

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, BaseEstimator],
        X: Ballots,
        *,
        n_queries: ArrayLike,
        n_trials: int = 10,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        floor: Floor = "kemeny",
    ) -> Self:
        """Fit every estimator at every number of queries, `n_trials` times.

        Parameters
        ----------
        estimators : dict of {str: aggregator}
            Local mechanisms by name; each has one parameter called ``n_queries``, its own or that of a part.
        X : array-like of shape (n_voters, n_items) or Profile
            The ballots.
        n_queries : array-like of int, shape (n_counts,)
            Queries a voter to try.
        n_trials, random_state, n_jobs
            As in `sklearn_dprank.model_selection.cross_validate`; every point has noise of its own.
        floor : "kemeny", float or None, default="kemeny"
            Error of the Kemeny optimum: sought for about ten seconds at most, with a `ConvergenceWarning` where the
            best order found is not proved to be one; a number, where it is known; or none is drawn.

        Returns
        -------
        QueryCountDisplay
            Not drawn yet.

        Raises
        ------
        ValueError
            If `estimators` is no dict of aggregators with the parameter, or a value to try is no positive number.
        """
        settings = {"n_trials": n_trials, "random_state": random_state, "n_jobs": n_jobs}
        return cls._sweep(estimators, X, n_queries, floor=floor, **settings)

    @classmethod
    def from_search(
        cls,
        search: GridSearchCV,
        X: Ballots | None = None,
        *,
        n_queries: str | Sequence[str] | None = None,
        metric: str | None = None,
        floor: Floor = "kemeny",
    ) -> Self:
        """Take errors from a fitted search: one line for each combination of the other parameters.

        Parameters
        ----------
        search : fitted `sklearn_dprank.model_selection.GridSearchCV`
            Its grid ranges over n_queries, and over anything else. Candidates without are level lines.
        X : array-like of shape (n_voters, n_items), Profile or None, default=None
            The ballots, for floor and ceiling; they are not drawn without.
        n_queries : str, sequence of str or None, default=None
            Full name of the parameter. None is the one called "n_queries", or whose name ends in "__n_queries".
        metric : str or None, default=None
            Which of several metrics; the error is its negative. None is "score", or the only one.
        floor : "kemeny", float or None, default="kemeny"
            Error of the Kemeny optimum of X: sought for about ten seconds at most, with a `ConvergenceWarning` where
            the best order found is not proved to be one; a number, where it is known; or none is drawn.

        Returns
        -------
        QueryCountDisplay
            Not drawn yet.

        Raises
        ------
        ValueError
            As `PrivacyUtilityDisplay.from_search`; also if a candidate has ``n_queries=None``.
        """
        return cls._searched(search, X, n_queries, metric, floor)

    def plot(self, ax: Any = None, *, excess: bool | None = None, band: Band = "auto") -> Self:
        """Draw the mean errors, with bands and a ring at the best K of each line.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        excess, band
            As in `PrivacyUtilityDisplay.plot`: the excess over the floor is drawn where there is one, and bands are of
            quantiles of the trials.

        Returns
        -------
        QueryCountDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `excess` is asked for and there is no floor, or `band` is not two ascending quantiles.

        Notes
        -----
        The axis of errors is logarithmic as there, and that of K where the largest is ten times the smallest or more.
        """
        ax, base = self._draw(ax, excess, band)
        ring = {"marker": "o", "ms": 12, "mfc": "none", "mec": "black", "mew": 1.2, "linestyle": "none"}
        for _, counts, errors in self._dependent():
            best = _least(errors)
            ax.plot(counts[best], np.nanmean(errors[best] - base), label="_ring", **ring)
        return self

    def _labels(self):
        best = self.best
        return {
            name: f"{shortened(name, 50)} (best K = {best[name]})" if name in best else name for name in self.errors
        }

    def _scale_x(self, ax, values):
        from matplotlib.ticker import FixedLocator

        counts = np.unique(values)
        wide = counts[-1] >= 10 * counts[0]
        if wide:
            ax.set_xscale("log")
        number_ticks(ax.xaxis, counts[0], counts[-1])
        ax.xaxis.set_major_locator(FixedLocator(_apart(counts, np.log(counts) if wide else counts).tolist()))
        ax.xaxis.set_minor_locator(FixedLocator(counts.tolist()))


def _least(errors):
    """Return the row with the least mean, the first of several."""
    return int(np.nanmean(errors, axis=1).argmin())


def _apart(ticks, places):
    """Leave out ticks that stand too near to the one before."""
    kept = [0]
    for k in range(1, len(ticks)):
        if places[k] - places[kept[-1]] >= _GAP * (places[-1] - places[0]):
            kept.append(k)
    return ticks[kept]
