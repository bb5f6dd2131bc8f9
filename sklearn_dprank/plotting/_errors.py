"""Displays of error: against epsilon, and against the number of questions per voter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import isfunction, signature
from itertools import zip_longest
from numbers import Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from .._utils.checks import as_double, safe_repr
from .._utils.types import RandomState
from ..ballots.profile import Ballots, as_profile
from ..metrics import average_kendall_tau, kendall_tau_scorer
from ..model_selection import GridSearchCV, cross_validate
from ..model_selection.parameters import (
    EstimatorOrFunction,
    child_seeds,
    configured,
    find_parameter,
    is_aggregator,
    is_function,
    parameters_of,
)
from ..model_selection.search import metric_names
from ..orders.kemeny import minimum_order, warn_of_gap
from ..orders.permutations import order_to_positions
from ..privacy.estimator_guarantees import mixing_step
from ._style import WIDTH, Display, axes, look, shortened, tone


def distinct(groups, wholes):
    """Return a distinct label for each group {parameter: text}: its differences from the others, or else its whole."""
    names = list(dict.fromkeys(name for group in groups for name in group))
    shared = {name for name in names if all(group.get(name) == groups[0].get(name) for group in groups)}
    last = [name.rpartition("__")[2] for name in names]
    short = {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}
    differences = [{name: text for name, text in group.items() if name not in shared} for group in groups]
    # An estimator, rule, channel or function needs no parameter name.
    parts = [
        [text if isinstance(text, _Object) else f"{short[name]}={text}" for name, text in group.items()]
        for group in differences
    ]
    labels = [", ".join(part) or whole for part, whole in zip(parts, wholes, strict=True)]
    return [f"{label} ({k})" if label in labels[:k] else label for k, label in enumerate(labels)]


class _Object(str):
    """Text of an estimator, rule, channel or function."""


def text_of(value, without=()):
    """Return a short text of a parameter's value; values with equal texts count as equal.

    An estimator, rule or channel is shown as its class with the changed parameters, without its seed and the parameters
    in `without` (nested ones as in ``set_params``).

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> text_of(DPBorda()), text_of(DPBorda(noise="knorm")), text_of(0.5), text_of("kemeny")
    ('DPBorda', 'DPBorda(noise=knorm)', '0.5', 'kemeny')
    """
    if isinstance(value, Pipeline):
        return _Object(" | ".join(text_of(step, _inside(name, without)) for name, step in value.steps))
    if isinstance(value, BaseEstimator):
        constructor = signature(type(value)).parameters
        told = value.get_params(deep=False).items()
        texts = {name: text_of(inner, _inside(name, without)) for name, inner in told if name not in without}
        texts.pop("random_state", None)
        changed = [f"{name}={text}" for name, text in texts.items() if text != text_of(constructor[name].default)]
        return _Object(type(value).__name__ + (f"({', '.join(changed)})" if changed else ""))
    if isfunction(value):
        return _Object(value.__name__)
    if isinstance(value, float):
        return f"{value:.12g}"
    return " ".join((value.__name__ if isinstance(value, type) else str(value)).split())


def _inside(name, paths):
    """Return the paths that begin with a parameter, without that beginning."""
    return {path.removeprefix(f"{name}__") for path in paths if path.startswith(f"{name}__")}


_DISTANCE = "average Kendall tau distance"
_GIVEN = "given floor"
_ROUNDING = 1e-12  # rounding error of a difference of two errors
_LEVEL = [math.nan]  # values of a mechanism that does not depend on the parameter

#: Floor below all errors: computed, given, or not drawn.
Floor: TypeAlias = Literal["kemeny"] | float | None
#: Quantiles at the edges of bands.
Band: TypeAlias = Literal["auto"] | tuple[float, float] | None


class ErrorDisplay(Display):
    """Base class for displays of error against a parameter; a subclass defines the parameter and its axis."""

    _parameter = ""
    _argument = ""  # name of the attribute, and of the argument of `from_estimators`, with its values
    _whole = False  # whether the values are whole numbers
    _xlabel = ""

    def __init__(self, values, errors, floor=None, ceiling=0.5, measure=_DISTANCE, *, floor_name=_GIVEN):
        if not errors:
            raise ValueError("errors is empty; give at least one mechanism.")
        own = values if isinstance(values, dict) else dict.fromkeys(errors, values)
        if set(own) != set(errors):
            raise ValueError(f"{self._parameter}: {sorted(own)} and errors: {sorted(errors)} must have the same names.")
        self._own = {name: np.atleast_1d(np.asarray(own[name], dtype=float)) for name in errors}  # values of each
        as_given = self._own if isinstance(values, dict) else next(iter(self._own.values()))
        setattr(self, self._argument, as_given)
        self.errors = {name: np.asarray(trials, dtype=float) for name, trials in errors.items()}
        for name, points in self._own.items():
            is_level = points.size == 1 and np.isnan(points).all()
            if points.ndim != 1 or not (is_level or (np.isfinite(points) & (points > 0)).all()):
                raise ValueError(f"{self._parameter} must be a list of positive numbers, got {points.tolist()}.")
            if self.errors[name].ndim != 2 or len(self.errors[name]) != len(points):
                raise ValueError(
                    f"errors[{name!r}] must have shape ({len(points)}, n_trials), one row a value of "
                    f"{self._parameter}, got {self.errors[name].shape}."
                )
        if np.isnan(np.concatenate(list(self._own.values()))).all():
            raise ValueError(f"no mechanism depends on {self._parameter}, so there is no line to draw.")
        if not any(np.isfinite(trials).any() for trials in self.errors.values()):
            raise ValueError("errors has no finished trial to draw.")
        self.floor, self.floor_name, self.ceiling, self.measure = floor, floor_name, ceiling, measure

    @classmethod
    def _sweep(cls, estimators, X, values, random_state, floor, **settings):
        """Measure every estimator at every value of the parameter, each with independent noise.

        Estimators and functions without the parameter are measured once, for a level line.
        """
        if not isinstance(estimators, Mapping) or not estimators:
            raise ValueError(
                "estimators must be a dict of aggregators by name, such as {'DPBorda': DPBorda()}, got "
                f"{safe_repr(estimators)}."
            )
        values = [values] if isinstance(values, Real) else list(values)
        for value in values or [None]:
            number = as_double(value)
            if not 0 < number < math.inf or (cls._whole and number % 1):
                raise ValueError(
                    f"{cls._argument} must be a list of positive {'whole ' * cls._whole}numbers, each a place on the "
                    f"axis, got {safe_repr(value)}."
                )
        values = [int(value) for value in values] if cls._whole else values
        candidates, own = {}, {}
        for name, estimator in estimators.items():
            function = is_function(estimator)
            if not function and (isinstance(estimator, (Pipeline, type)) or not hasattr(estimator, "set_params")):
                raise ValueError(
                    f"estimators[{name!r}] must be an aggregator, another estimator that sets consensus_, or a "
                    f"function of the ballots that returns an order, got {type(estimator).__name__}. For a pipeline, "
                    "use GridSearchCV and from_search."
                )
            path = find_parameter(parameters_of(estimator), cls._parameter, None, f"{cls._parameter}= of from_search")
            own[name] = _LEVEL if path is None else values
            rows = [{}] if path is None else [{path: value} for value in values]
            candidates[name] = [partial(estimator, **row) if function else configured(estimator, row) for row in rows]
        if values not in own.values():
            raise ValueError(f"no mechanism depends on {cls._parameter}, so there is no line to draw.")
        profile = as_profile(X)
        floor, floor_name, ceiling = bounds(profile, floor)
        seeds = child_seeds(random_state, (len(estimators), len(values))).tolist()
        errors: dict = {name: [] for name in estimators}
        for (name, several), row in zip(candidates.items(), seeds, strict=True):
            for candidate, seed in zip(several, row, strict=False):
                # An estimator of another package gets the ballots as they were passed.
                ballots = profile if is_aggregator(candidate) or is_function(candidate) else X
                scoring = None if is_aggregator(candidate) else kendall_tau_scorer
                trials = cross_validate(candidate, ballots, scoring=scoring, random_state=seed, **settings)
                errors[name].append(-trials["test_score"])
        return cls(own if _LEVEL in own.values() else values, errors, floor, ceiling, floor_name=floor_name)

    @classmethod
    def _searched(cls, search, X, chosen, metric, floor):
        """Make the display from a fitted search, with a line for each combination of the other parameters."""
        names = metric_names(search)
        if metric is None:
            metric = "score" if "score" in names else names[0] if len(names) == 1 else None
        if metric not in names:
            raise ValueError(f"metric must be one of {names}, got {metric!r}.")
        scorer = search.scorer_[metric]
        known = scorer is None or scorer is kendall_tau_scorer  # None is an aggregator's own score
        if X is not None and not known:
            raise ValueError(
                f"X gives the floor and the ceiling of the {_DISTANCE}, but the metric {metric!r} is not known to be "
                "that (scoring=None or kendall_tau_scorer); leave X out."
            )
        parameter, candidates = cls._parameter, search.cv_results_["params"]
        found = [find_parameter(params, parameter, chosen, f"{parameter}=") for params in candidates]
        if not any(found):
            wanted = f"{parameter!r} or a name that ends in '__{parameter}'" if chosen is None else repr(chosen)
            raise ValueError(f"no candidate of the search has a parameter {wanted}: put it into the grid.")
        lines: dict = {}
        for params, name, scores in zip(candidates, found, search.cv_results_[f"trial_test_{metric}"], strict=True):
            value = params.get(name, math.nan)
            if name is not None and not 0 < as_double(value) < math.inf:
                raise ValueError(
                    f"{name} must be a positive number to be drawn, got {value!r}, which has no place on the axis; "
                    "leave it out of the grid."
                )
            # A value that a nested parameter overrides is left out of the text of the whole.
            others = {key: text_of(other, _inside(key, params)) for key, other in sorted(params.items()) if key != name}
            whole = "search"
            if isinstance(search.estimator, BaseEstimator):
                whole = text_of(configured(search.estimator, params), {name} - {None})
            functions = tuple(id(value) for value in params.values() if isfunction(value))  # several may have one name
            # Candidates that differ only in the parameter are one line; its points hold the trials at each value.
            key = (*others.items(), functions, name is None)
            _, _, points = lines.setdefault(key, (others, whole, {}))
            finished_trials = -scores[np.isfinite(scores)]
            if finished_trials.size:
                points.setdefault(float(value), []).append(finished_trials)
        texts, wholes, points = zip(*lines.values(), strict=True)
        values, errors = {}, {}
        for label, trials_at in zip(distinct(texts, wholes), points, strict=True):
            if trials_at:
                values[label] = sorted(trials_at)
                trials = [np.concatenate(trials_at[value]) for value in values[label]]
                errors[label] = np.array(list(zip_longest(*trials, fillvalue=np.nan))).T
        if not values:
            raise ValueError("search has no finished trial to draw.")
        floor, floor_name, ceiling = bounds(None if X is None else as_profile(X), floor)
        return cls(values, errors, floor, ceiling, _DISTANCE if known else f"minus {metric}", floor_name=floor_name)

    def _lines(self):
        """Yield (name, values, errors) of every line, by ascending value, without points that have no finished trial.

        A mechanism without the parameter has the same errors at both ends.
        """
        known = np.concatenate(list(self._own.values()))
        for name, errors in self.errors.items():
            values = self._own[name]
            if np.isnan(values).any():
                values, errors = np.array([np.nanmin(known), np.nanmax(known)]), np.repeat(errors, 2, axis=0)
            order = np.argsort(values, kind="stable")
            order = order[np.isfinite(errors[order]).any(axis=1)]
            yield name, values[order], errors[order]

    def plot(self, ax: Any = None, *, excess: bool | None = None, band: Band = "auto") -> Self:
        """Draw mean errors, with bands of quantiles, and a ring at the best number of queries of each line.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None makes a figure.
        excess : bool or None, default=None
            Whether to draw the excess of errors over the floor, which separates the best estimators. False draws the
            errors themselves, with floor and ceiling. None draws the excess if there is a floor and no error is below
            it.
        band : (float, float), "auto" or None, default="auto"
            Quantiles of the trials at the edges of each line's band: ``(0, 1)`` is from the best trial to the worst.
            "auto" is ``(0.1, 0.9)`` for up to three lines. For four or more, it draws no bands, because they would hide
            other lines. None draws no bands.

        Returns
        -------
        display
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `excess` is True without a floor, or `band` is not two ascending quantiles.

        Notes
        -----
        An axis is logarithmic if its largest value is at least ten times its smallest. If the axis of errors must reach
        0, it is linear near 0.

        Lines are means. A mean may be outside its band if a few fits have very large errors. Later lines are thinner
        and have smaller markers, so that lines at the same place can all be seen.
        """
        if excess is None:
            known = np.concatenate([errors[np.isfinite(errors)] for errors in self.errors.values()])
            excess = self.floor is not None and bool(known.min() >= self.floor - _ROUNDING)
        elif excess and self.floor is None:
            raise ValueError("excess=True needs the floor; give the ballots as X where the display is made.")
        lines, best = list(self._lines()), getattr(self, "best", {})
        quantiles: Any = band
        if isinstance(band, str) and band == "auto":
            quantiles = (0.1, 0.9) if len(lines) <= 3 else None
        if quantiles is not None:
            low, high = map(as_double, quantiles) if np.shape(quantiles) == (2,) else (math.nan, math.nan)
            if not 0 <= low < high <= 1:
                raise ValueError(f"band must be two quantiles, such as (0.1, 0.9), 'auto' or None, got {band!r}.")
        base = self.floor if excess else 0.0
        percent = excess and self.measure == _DISTANCE
        own_figure, ax = ax is None, axes(ax, (WIDTH, 4.2))
        ax.grid(color=tone(ax, 0.08))
        handles: list[Any] = []
        all_shown: Any = []
        rings = []
        for k, (name, values, errors) in enumerate(lines):
            shown_errors = errors - base
            shown_errors[np.abs(shown_errors) < _ROUNDING] = 0.0
            means = np.nanmean(shown_errors, axis=1)
            all_shown.append(means)
            label = shortened(name, 60)
            if name in best:
                label = f"{shortened(name, 50)} (best K = {best[name]})"
                rings.append((best[name], means.min()))
            # Earlier lines are wider and have larger markers, so that they show around later ones.
            size = {"lw": max(2.3 - 0.15 * k, 1.4), "ms": max(8 - 0.9 * k, 3.5)}
            handles += ax.plot(values, means, label=label, **size, **look(k))
            if quantiles is not None:
                edges = np.nanquantile(shown_errors, quantiles, axis=1)
                all_shown.extend(edges)
                ax.fill_between(values, *edges, color=handles[-1].get_color(), alpha=0.2)
        all_shown = np.concatenate(all_shown)
        if self.floor is not None and not (excess and all_shown.min() > 0):  # a logarithmic axis has no place for 0
            label = f"{self.floor_name} (not private)"
            handles.append(ax.axhline(self.floor - base, color=tone(ax, 0.8), lw=1, zorder=1.5, label=label))
        if self.ceiling is not None:
            style = {"color": tone(ax, 0.6), "lw": 1, "ls": ":", "zorder": 1.5}
            handles.append(ax.axhline(self.ceiling - base, label="random ranking", **style))
        if rings:
            ax.plot(*zip(*rings, strict=True), "o", ms=12, mfc="none", mec=tone(ax, 1), label="_ring")

        scale(ax, "x", np.concatenate([values for _, values, _ in lines]))
        if self._whole and ax.get_xscale() == "linear":
            ax.xaxis.get_major_locator().set_params(integer=True)
        scale(ax, "y", np.append(all_shown, [line.get_ydata()[0] for line in handles[len(lines) :]]), percent)
        ax.set_xlabel(self._xlabel)
        what = f"excess over the {self.floor_name}" if excess else self.measure
        ax.set_ylabel(f"{what}\n({'% of pairs, ' * percent}not private)", parse_math=False)
        notes = "lines: means of the fits"
        if quantiles is not None:
            ends = f"{100 * low:g} % to {100 * high:g} % of the fits"
            notes = f"lines: means; bands: {'from the best fit to the worst' if (low, high) == (0, 1) else ends}"
        ncols = 2 if own_figure and max(len(handle.get_label()) for handle in handles) <= 40 else 1
        if own_figure:
            ax.figure.set_size_inches(WIDTH, 4.2 + 0.18 * math.ceil(len(handles) / ncols))
        return self._finish(ax, handles, notes, ncols=ncols)


def scale(ax, which, shown, percent=False):
    """Make axis "x" or "y" logarithmic if `shown` spans a decade, and linear near 0 if some values are 0 or less."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis, set_scale = getattr(ax, f"{which}axis"), getattr(ax, f"set_{which}scale")
    low, high = shown.min(), shown.max()
    if low <= 0 < high:
        least = max(shown[shown > 0].min(), high / 1000)  # at most three decades are logarithmic
        threshold = 10 ** math.floor(math.log10(least))
        set_scale("symlog", linthresh=threshold)
        if low == 0:
            ax.set_ylim(-threshold / 3, max(1.3 * high, 2 * threshold))
    elif high >= 10 * low > 0:
        set_scale("log")
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    else:
        set_scale("linear")
    if percent or axis.get_scale() != "linear":
        axis.set_major_formatter(lambda value, _: f"{100 * value:g} %" if percent else f"{value:g}")
        axis.set_minor_formatter(NullFormatter())


def bounds(profile, floor):
    """Return the floor, its name, and the ceiling, which is the expected distance of a random order.

    It violates half of all opinions, as a ranking in which all items are tied does. Without ballots (None), neither is
    computed.
    """
    is_kemeny = isinstance(floor, str) and floor == "kemeny"
    if not is_kemeny and floor is not None and not math.isfinite(as_double(floor)):
        raise ValueError(f"floor must be 'kemeny', a number or None, got {safe_repr(floor)}.")
    if profile is None:
        return None if is_kemeny else floor, _GIVEN, None
    name = _GIVEN
    if is_kemeny:
        positions, name = best_known(profile)
        floor = average_kendall_tau(positions, profile)
    return floor, name, average_kendall_tau(np.zeros(profile.n_items), profile)


def best_known(profile):
    """Return the positions and the name of the Kemeny optimum, or else of the best order found in about ten seconds.

    The latter comes with a `ConvergenceWarning`.
    """
    found = minimum_order(profile.pairwise_counts.T)
    warn_of_gap(found)
    return order_to_positions(found.order), "Kemeny optimum" if found.optimal else "best order found"


# `QueryCountDisplay`: error against the number of queries per voter.


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

    n_queries: Any
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
        self.best = {
            name: int(values[np.nanmean(errors, axis=1).argmin()])
            for name, values, errors in self._lines()
            if len(values) and not np.isnan(self._own[name]).any()
        }

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


# `PrivacyUtilityDisplay`: error against epsilon.


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

    epsilons: Any
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
        if isinstance(search.estimator, BaseEstimator) and any(
            mixing_step(configured(search.estimator, params)) is not None for params in search.cv_results_["params"]
        ):
            display._xlabel = "epsilon of the last step (a transformer before it may mix ballots: not private)"
        return display
