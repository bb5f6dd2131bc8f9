"""`PrivacyUtilityDisplay`: error against epsilon."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from .._utils.scikit_learn import BaseEstimator
from .._utils.types import RandomState
from ..ballots.profile import Ballots
from ..model_selection import GridSearchCV
from ._errors import Band, ErrorDisplay, Floor
from ._search import may_mix


class PrivacyUtilityDisplay(ErrorDisplay):
    """Error against epsilon, one line a mechanism.

    Build it with `from_estimators` or `from_search`.

    Parameters
    ----------
    epsilons : array-like of shape (n_epsilons,), or dict of {str: array-like}
        Privacy losses in nats: those of all mechanisms, or each mechanism's own. NaN alone is a mechanism that does
        not depend on epsilon; its line is level.
    errors : dict of {str: array-like of shape (n_epsilons, n_trials)}
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
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.

    Notes
    -----
    .. rubric:: Privacy

    Errors, floor and band are exact functions of the ballots, and the picture says so. It is for choosing a mechanism
    on public or simulated votes.

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
        """Privacy losses: an array, or one for each mechanism."""
        return self._values

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, BaseEstimator],
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
        estimators : dict of {str: aggregator}
            Mechanisms by name; each has one parameter called ``epsilon``, its own or that of a part.
        X : array-like of shape (n_voters, n_items) or Profile
            The ballots.
        epsilons : array-like of shape (n_epsilons,)
            Privacy losses to try.
        n_trials, random_state, n_jobs
            As in `sklearn_dprank.model_selection.cross_validate`; every point has noise of its own.
        floor : "kemeny", float or None, default="kemeny"
            Error of the Kemeny optimum: sought for about ten seconds at most, with a `ConvergenceWarning` where the
            best order found is not proved to be one; a number, where it is known; or none is drawn.

        Returns
        -------
        PrivacyUtilityDisplay
            Not drawn yet.

        Raises
        ------
        ValueError
            If `estimators` is no dict of aggregators with the parameter, or a value to try is no positive number.
        """
        settings = {"n_trials": n_trials, "random_state": random_state, "n_jobs": n_jobs}
        return cls._sweep(estimators, X, epsilons, floor=floor, **settings)

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
        """Take errors from a fitted search: one line for each combination of the other parameters.

        Parameters
        ----------
        search : fitted `sklearn_dprank.model_selection.GridSearchCV`
            Its grid ranges over epsilon, and over anything else. It may be a list of grids with different estimators;
            candidates whose grid has no epsilon, such as non-private ones, are level lines.
        X : array-like of shape (n_voters, n_items), Profile or None, default=None
            The ballots, for floor and ceiling; they are not drawn without. With a `cv` that splits, errors are those
            on the test voters, and floor and ceiling those on X.
        epsilon : str, sequence of str or None, default=None
            Full name of the parameter. None is the one called "epsilon", or whose name ends in "__epsilon"; grids of
            a list may have different ones.
        metric : str or None, default=None
            Which of several metrics; the error is its negative. None is "score", or the only one.
        floor : "kemeny", float or None, default="kemeny"
            Error of the Kemeny optimum of X: sought for about ten seconds at most, with a `ConvergenceWarning` where
            the best order found is not proved to be one; a number, where it is known; or none is drawn.

        Returns
        -------
        PrivacyUtilityDisplay
            Not drawn yet. Trials are those of all splits; trials that an interrupted search did not finish are left
            out.

        Raises
        ------
        ValueError
            If the search is not fitted, no candidate has an epsilon or one has several, there is no such metric, or X
            is given and the metric is not the average Kendall tau distance.
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
            Where to draw; None makes a figure.
        excess : bool or None, default=None
            Whether to draw by how much errors exceed the floor, on a logarithmic axis, where the best estimators stay
            apart. False draws the errors themselves, with floor and ceiling. None is the excess where there is a
            floor and no error is below it.
        band : (float, float), "auto" or None, default="auto"
            Quantiles of the trials between which each line has a band: ``(0, 1)`` goes from the best trial to the
            worst. "auto" is ``(0.1, 0.9)`` for up to five lines and None, no bands, from six on: they would hide
            other lines.

        Returns
        -------
        PrivacyUtilityDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `excess` is asked for and there is no floor, or `band` is not two ascending quantiles.

        Notes
        -----
        Both axes are logarithmic.

        Lines are means, which may leave a band of quantiles where a few fits are far off. Where an axis of errors
        must reach 0 it is linear near it, in the part that is shaded. Markers that would hide one another stand side by
        side.
        """
        self._draw(ax, excess, band)
        return self
