"""`QueryCountDisplay`: error against the number of queries per voter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._utils.types import RandomState
from ..ballots.profile import Ballots
from ..model_selection import GridSearchCV
from ..model_selection.functions import EstimatorOrFunction
from ._errors import Band, ErrorDisplay, Floor
from ._style import ink, number_ticks, shortened

_GAP = 0.035  # minimum distance of two labels, as a share of the axis


class QueryCountDisplay(ErrorDisplay):
    """Display of error against K, the number of queries per voter, one line per mechanism; use it to choose K.

    Build it with `from_estimators` or `from_search`. A ring marks the best K of every line.

    Parameters
    ----------
    n_queries : array-like of int, shape (n_counts,), or dict of {str: array-like}
        Queries per voter, for all mechanisms or for each mechanism by name. A single NaN is for a mechanism that does
        not depend on K; its line is level.
    errors : dict of {str: array-like of shape (n_counts, n_trials)}
        Error of every trial, by mechanism. NaN is a trial that did not finish; it is left out.
    floor : float or None, default=None
        Error to compare with. If it is the error of the Kemeny optimum, no ranking has a smaller one. None is not
        drawn.
    ceiling : float or None, default=0.5
        Expected error of a random ranking. None is not drawn.
    measure : str, default="average Kendall tau distance"
        Name of the error measure.
    floor_name : str, default="given floor"
        Name of the floor.

    Attributes
    ----------
    best : dict of {str: int}
        The K with the least mean error by mechanism; the smallest if there are several. Not private.
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
        Its figure.

    Notes
    -----
    .. rubric:: Privacy

    Errors, and so the best K, are exact functions of the ballots and are not private, as the picture states. Choose K
    on public or simulated votes.

    .. rubric:: Remarks

    A voter who answers K queries has epsilon / K for each. A larger K gives more answers, each with more noise.

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
        """Queries per voter: an array, or a dict with one array per mechanism."""
        return self._values

    @property
    def best(self) -> dict[str, int]:
        """The K with the least mean error by mechanism; the smallest if there are several. Not private."""
        return {name: int(counts[_least(errors)]) for name, counts, errors in self._dependent()}

    def _dependent(self):
        """Yield the lines that have points and depend on K."""
        for name, counts, errors in self._lines():
            if len(counts) and not np.isnan(self._own[name]).any():
                yield name, counts, errors

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, EstimatorOrFunction],
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
        estimators : dict of {str: estimator or callable}
            Mechanisms by name: aggregators, other estimators whose `fit` sets ``consensus_`` or ``ranks_``, and
            functions of the ballots that return the items by index, best first. At least one has a parameter named
            ``n_queries``, its own or that of a part. The line of an estimator or function without it is level.
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots.
        n_queries : array-like of int, shape (n_counts,)
            Numbers of queries per voter to try.
        n_trials, random_state, n_jobs
            As in `sklearn_dprank.model_selection.cross_validate`; every point has independent noise.
        floor : "kemeny", float or None, default="kemeny"
            Floor to draw. "kemeny" searches for the Kemeny optimum, for about ten seconds at most, and uses its error.
            A `ConvergenceWarning` is issued if the best order found is not proved optimal. A number is used as it is.
            None draws no floor.

        Returns
        -------
        QueryCountDisplay
            Not drawn yet.

        Raises
        ------
        ValueError
            If `estimators` is not such a dict, none has the parameter, or a value to try is not a positive whole
            number.
        """
        return cls._sweep(estimators, X, n_queries, random_state, floor, n_trials=n_trials, n_jobs=n_jobs)

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
        """Take errors from a fitted search, with one line per combination of the other parameters.

        Parameters
        ----------
        search : fitted `sklearn_dprank.model_selection.GridSearchCV`
            Search with n_queries and any other parameters in its grid. Candidates without n_queries are level lines.
        X : array-like of shape (n_voters, n_items), Profile or None, default=None
            Ballots for floor and ceiling, which are not drawn without them.
        n_queries : str, sequence of str or None, default=None
            Full name of the parameter. None is the one named "n_queries", or whose name ends in "__n_queries".
        metric : str or None, default=None
            Metric to use, if there are several; the error is its negative. None is "score", or the only one.
        floor : "kemeny", float or None, default="kemeny"
            Floor to draw. "kemeny" searches for the Kemeny optimum of X, for about ten seconds at most, and uses its
            error. A `ConvergenceWarning` is issued if the best order found is not proved optimal. A number is used as
            it is. None draws no floor.

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
            Axes to draw on. None makes a figure.
        excess, band
            As in `PrivacyUtilityDisplay.plot`.

        Returns
        -------
        QueryCountDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `excess` is True without a floor, or `band` is not two ascending quantiles.

        Notes
        -----
        The axis of errors is as in `PrivacyUtilityDisplay.plot`. The axis of K is logarithmic if the largest K is at
        least ten times the smallest.
        """
        ax, base = self._draw(ax, excess, band)
        ring = {"marker": "o", "ms": 12, "mfc": "none", "mec": ink(ax), "mew": 1.2, "linestyle": "none"}
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
    """Return the row with the least mean; the first if there are several."""
    return int(np.nanmean(errors, axis=1).argmin())


def _apart(ticks, places):
    """Return the ticks without those that are too close to the previous one."""
    kept = [0]
    for k in range(1, len(ticks)):
        if places[k] - places[kept[-1]] >= _GAP * (places[-1] - places[0]):
            kept.append(k)
    return ticks[kept]
