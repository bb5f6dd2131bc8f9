"""`PrivacyUtilityDisplay`: error against epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from .._utils.types import RandomState
from ..ballots.profile import Ballots
from ..model_selection import GridSearchCV
from ..model_selection.functions import EstimatorOrFunction
from ._errors import Band, ErrorDisplay, Floor
from ._search import may_mix


class PrivacyUtilityDisplay(ErrorDisplay):
    """Display of error against epsilon, one line per mechanism; use it to choose a mechanism or an epsilon.

    Build it with `from_estimators` or `from_search`.

    Parameters
    ----------
    epsilons : array-like of shape (n_epsilons,), or dict of {str: array-like}
        Privacy losses in nats, for all mechanisms or for each mechanism by name. A single NaN is for a mechanism that
        does not depend on epsilon; its line is level.
    errors : dict of {str: array-like of shape (n_epsilons, n_trials)}
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
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
        Its figure.

    Notes
    -----
    .. rubric:: Privacy

    Errors, floor and bands are exact functions of the ballots and are not private, as the picture states. Choose a
    mechanism on public or simulated votes.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.plotting import PrivacyUtilityDisplay
    >>> display = PrivacyUtilityDisplay.from_estimators(
    ...     {"P-BORDA": DPBorda()}, [[0, 1, 2]] * 50, epsilons=[0.1, 1.0], n_trials=2, random_state=0
    ... )
    >>> display.errors["P-BORDA"].shape
    (2, 2)
    """

    _parameter, _argument = "epsilon", "epsilons"
    _xlabel = "epsilon of one release"

    def __init__(
        self,
        epsilons: Any,
        errors: Mapping[str, ArrayLike],
        floor: float | None = None,
        ceiling: float | None = 0.5,
        measure: str = "average Kendall tau distance",
        *,
        floor_name: str = "given floor",
    ) -> None:
        super().__init__(epsilons, errors, floor, ceiling, measure, floor_name=floor_name)

    @property
    def epsilons(self) -> Any:
        """Privacy losses: an array, or a dict with one array per mechanism."""
        return self._values

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, EstimatorOrFunction],
        X: Ballots,
        *,
        epsilons: ArrayLike,
        n_trials: int = 10,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        floor: Floor = "kemeny",
    ) -> Self:
        """Fit every estimator at every epsilon, `n_trials` times.

        Parameters
        ----------
        estimators : dict of {str: estimator or callable}
            Mechanisms by name: aggregators, other estimators whose `fit` sets ``consensus_`` or ``ranks_``, and
            functions of the ballots that return the items by index, best first. At least one has a parameter named
            ``epsilon``, its own or that of a part. The line of an estimator or function without it is level.
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots.
        epsilons : array-like of shape (n_epsilons,)
            Privacy losses to try.
        n_trials, random_state, n_jobs
            As in `sklearn_dprank.model_selection.cross_validate`; every point has independent noise.
        floor : "kemeny", float or None, default="kemeny"
            Floor to draw. "kemeny" searches for the Kemeny optimum, for about ten seconds at most, and uses its error.
            A `ConvergenceWarning` is issued if the best order found is not proved optimal. A number is used as it is.
            None draws no floor.

        Returns
        -------
        PrivacyUtilityDisplay
            Not drawn yet.

        Raises
        ------
        ValueError
            If `estimators` is not such a dict, none has the parameter, or a value to try is not a positive number.
        """
        return cls._sweep(estimators, X, epsilons, random_state, floor, n_trials=n_trials, n_jobs=n_jobs)

    @classmethod
    def from_search(
        cls,
        search: GridSearchCV,
        X: Ballots | None = None,
        *,
        epsilon: str | Sequence[str] | None = None,
        metric: str | None = None,
        floor: Floor = "kemeny",
    ) -> Self:
        """Take errors from a fitted search, with one line per combination of the other parameters.

        Parameters
        ----------
        search : fitted `sklearn_dprank.model_selection.GridSearchCV`
            Search with epsilon and any other parameters in its grid. It may have a list of grids with different
            estimators. Candidates without epsilon, such as non-private ones, are level lines.
        X : array-like of shape (n_voters, n_items), Profile or None, default=None
            Ballots for floor and ceiling, which are not drawn without them. If `cv` splits, errors refer to the test
            voters, and floor and ceiling to X.
        epsilon : str, sequence of str or None, default=None
            Full name of the parameter. None is the one named "epsilon", or whose name ends in "__epsilon". Grids of a
            list may have different names.
        metric : str or None, default=None
            Metric to use, if there are several; the error is its negative. None is "score", or the only one.
        floor : "kemeny", float or None, default="kemeny"
            Floor to draw. "kemeny" searches for the Kemeny optimum of X, for about ten seconds at most, and uses its
            error. A `ConvergenceWarning` is issued if the best order found is not proved optimal. A number is used as
            it is. None draws no floor.

        Returns
        -------
        PrivacyUtilityDisplay
            Not drawn yet. It contains the trials of all splits. Trials that an interrupted search did not finish are
            left out.

        Raises
        ------
        ValueError
            If the search is not fitted, no candidate has an epsilon or one has several, or there is no such metric.
            Also if X is given and the metric is not the average Kendall tau distance.
        """
        display = cls._searched(search, X, epsilon, metric, floor)
        if may_mix(search):
            display._xlabel = "epsilon of the last step (a transformer before it may mix ballots: not private)"
        return display

    def plot(self, ax: Any = None, *, excess: bool | None = None, band: Band = "auto") -> Self:
        """Draw mean errors, with bands of quantiles.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None makes a figure.
        excess : bool or None, default=None
            Whether to draw the excess of errors over the floor, on a logarithmic axis that separates the best
            estimators. False draws the errors themselves, with floor and ceiling. None draws the excess if there is a
            floor and no error is below it.
        band : (float, float), "auto" or None, default="auto"
            Quantiles of the trials at the edges of each line's band: ``(0, 1)`` is from the best trial to the worst.
            "auto" is ``(0.1, 0.9)`` for up to three lines. For four or more, it draws no bands, because they would hide
            other lines. None draws no bands.

        Returns
        -------
        PrivacyUtilityDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `excess` is True without a floor, or `band` is not two ascending quantiles.

        Notes
        -----
        Both axes are logarithmic. If the axis of errors must reach 0, it is linear near 0, in the shaded part.

        Lines are means. A mean may be outside its band if a few fits have very large errors. Markers that would hide
        one another are drawn side by side.
        """
        self._draw(ax, excess, band)
        return self
