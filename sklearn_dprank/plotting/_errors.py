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
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from .._utils.checks import check_number, safe_repr
from .._utils.types import RandomState
from ..ballots.profile import Ballots, as_profile
from ..metrics import average_kendall_tau, kendall_tau_scorer
from ..model_selection import GridSearchCV, cross_validate
from ..model_selection.parameters import (
    EstimatorOrFunction,
    child_seeds,
    configured,
    is_aggregator,
    is_called,
    is_function,
    parameters_of_function,
)
from ..model_selection.search import metric_names, trials_of
from ..orders.kemeny import minimum_order, warn_of_gap
from ..orders.permutations import order_to_positions
from ..privacy.estimator_guarantees import mixing_step
from ._style import (
    LABEL,
    WIDTH,
    axes,
    draw_legend,
    dress,
    finished,
    ink,
    look,
    number_ticks,
    scale_errors,
    shortened,
    tone,
)


def distinct(groups, wholes):
    """Return distinct labels: for each group of parameters its differences from the others, or its text in `wholes`."""
    names = list(dict.fromkeys(name for group in groups for name in group))
    same = {name for name in names if all(group.get(name) == groups[0].get(name) for group in groups)}
    last = [name.rpartition("__")[2] for name in names]
    short = {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}
    told = [{name: text for name, text in group.items() if name not in same} for group in groups]
    # An estimator, rule, channel or function needs no parameter name.
    parts = [[text if isinstance(text, _Object) else f"{short[name]}={text}" for name, text in g.items()] for g in told]
    labels = [", ".join(part) for part in parts]
    full = [", ".join(f"{name}={text}" for name, text in group.items()) for group in told]
    labels = full if len(set(full)) > len(set(labels)) else labels
    labels = [label or whole for label, whole in zip(labels, wholes, strict=True)]
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
        told = {name: inner for name, inner in value.get_params(deep=False).items() if name not in without}
        told.pop("random_state", None)
        texts = {name: text_of(inner, _inside(name, without)) for name, inner in told.items()}
        changed = [f"{name}={text}" for name, text in texts.items() if text != text_of(constructor[name].default)]
        return _Object(type(value).__name__ + (f"({', '.join(changed)})" if changed else ""))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, type):
        return value.__name__
    return " ".join((value if isinstance(value, str) else repr(value)).split())


def _inside(name, paths):
    """Return the paths that begin with a parameter, without that beginning."""
    return {path.removeprefix(f"{name}__") for path in paths if path.startswith(f"{name}__")}


_FEW = 3  # largest number of lines with bands
_QUANTILES = (0.1, 0.9)


def quantiles_of(band, n_lines):
    """Return the quantiles of the bands, or None for no bands; raise ValueError if `band` is invalid."""
    if isinstance(band, str) and band == "auto":
        return _QUANTILES if n_lines <= _FEW else None
    if band is None:
        return None
    try:
        low, high = band
        check_number(low, "band[0]", least=0, most=1)
        check_number(high, "band[1]", least=0, most=1)
    except (TypeError, ValueError):
        low, high = 1, 0
    if low >= high:
        raise ValueError(f"band must be two quantiles, such as (0.1, 0.9), 'auto' or None, got {band!r}.")
    return float(low), float(high)


_DISTANCE = "average Kendall tau distance"
_GIVEN = "given floor"
_ROUNDING = 1e-12  # rounding error of a difference of two errors

#: Floor below all errors: computed, given, or not drawn.
Floor: TypeAlias = Literal["kemeny"] | float | None
#: Quantiles at the edges of bands.
Band: TypeAlias = Literal["auto"] | tuple[float, float] | None


class ErrorDisplay:
    """Base class for displays of error against a parameter; a subclass defines the parameter and its axis."""

    _parameter = ""
    _argument = ""  # name of the argument of `from_estimators` with its values
    _whole = False  # whether the values are whole numbers
    _xlabel = ""

    def __init__(self, values, errors, floor=None, ceiling=0.5, measure=_DISTANCE, *, floor_name=_GIVEN):
        self._values, self._own, self.errors = _checked(values, errors, self._parameter)
        self.floor = floor
        self.floor_name = floor_name
        self.ceiling = ceiling
        self.measure = measure

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
        wrong = [value for value in values if not _has_a_place(value, cls._whole)]
        if not values or wrong:
            kind = "whole numbers" if cls._whole else "numbers"
            got = f"{safe_repr(wrong[0])} among them" if wrong else "none"
            raise ValueError(f"{cls._argument} must be a list of positive {kind}, each a place on the axis, got {got}.")
        values = [int(value) for value in values] if cls._whole else values
        profile = as_profile(X)
        _check_floor(floor)
        candidates = {name: _candidates(name, each, cls._parameter, values) for name, each in estimators.items()}
        own = {name: values if depends else [math.nan] for name, (depends, _) in candidates.items()}
        if values not in own.values():
            raise ValueError(f"no mechanism depends on {cls._parameter}, so there is no line to draw.")
        seeds = child_seeds(random_state, (len(estimators), len(values)))
        errors = {}
        for (name, (_, several)), seeds_of_line in zip(candidates.items(), seeds.tolist(), strict=True):
            errors[name] = np.array(
                [
                    -_trials(candidate, X, profile, random_state=seed, **settings)["test_score"]
                    for candidate, seed in zip(several, seeds_of_line, strict=False)
                ]
            )
        floor, name = _floor(profile, floor)
        level = [math.nan] in own.values()
        return cls(own if level else values, errors, floor, _ceiling(profile), floor_name=name)

    @classmethod
    def _searched(cls, search, X, chosen, metric, floor):
        """Make the display from a fitted search."""
        _check_floor(floor)
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
        values, errors = lines_of(search, cls._parameter, chosen, metric)
        profile = None if X is None else as_profile(X)
        floor, name = _floor(profile, floor)
        measure = _DISTANCE if known else f"minus {metric}"
        return cls(values, errors, floor, None if profile is None else _ceiling(profile), measure, floor_name=name)

    def _lines(self):
        """Yield (name, values, errors) of every line, by ascending value, without points that have no finished trial.

        A mechanism without the parameter has the same errors at both ends.
        """
        known = np.concatenate([self._own[name] for name in self.errors])
        ends = np.array([np.nanmin(known), np.nanmax(known)])
        for name, errors in self.errors.items():
            values = self._own[name]
            if np.isnan(values).any():
                values, errors = ends, np.repeat(errors, 2, axis=0)
            order = np.argsort(values, kind="stable")
            order = order[np.isfinite(errors[order]).any(axis=1)]
            yield name, values[order], errors[order]

    def _labels(self):
        """Return the legend text of every line, by name."""
        return {name: shortened(name, 60) for name in self.errors}

    def _draw(self, ax, excess, band):
        """Draw lines, bands, floor and ceiling; return the axes and the number subtracted from the errors."""
        excess = self._is_excess(excess)
        base = self.floor if excess else 0.0
        percent = excess and self.measure == _DISTANCE
        found = list(self._lines())
        quantiles = quantiles_of(band, len(found))
        own, ax = ax is None, axes(ax, (WIDTH, 4.2))
        from matplotlib.colors import to_rgba  # after `axes`, which has the remedy if matplotlib is missing

        dress(ax)
        labels, drawn, bounds, edges = self._labels(), [], [], []
        for k, (name, values, errors) in enumerate(found):
            above = errors - base
            above[np.abs(above) < _ROUNDING] = 0.0
            means = np.nanmean(above, axis=1)
            edges.append(means)
            style = look(k, ax)
            if quantiles is not None:
                low, high = np.nanquantile(above, quantiles, axis=1)
                edges += [low, high]
                edge = {"edgecolor": to_rgba(style["color"], 0.75), "lw": 0.7, "linestyle": style["linestyle"]}
                ax.fill_between(values, low, high, facecolor=to_rgba(style["color"], 0.14), **edge)
            # Earlier lines are wider and have larger markers, so that they show around later ones.
            size = {"lw": max(2.3 - 0.15 * k, 1.4), "ms": max(8 - 0.9 * k, 3.5), "mew": 1.2}
            drawn += ax.plot(values, means, label=labels[name], **size, **style)
        shown = np.concatenate(edges)
        if self.floor is not None and not (excess and shown.min() > 0):  # a logarithmic axis has no place for 0
            name = f"{self.floor_name} (not private)"
            bounds.append(ax.axhline(self.floor - base, color=tone(ax, 0.8), lw=1, zorder=1.5, label=name))
        if self.ceiling is not None:
            dots = {"color": tone(ax, 0.6), "lw": 1, "ls": (0, (1, 2))}
            bounds.append(ax.axhline(self.ceiling - base, zorder=1.5, label="random ranking", **dots))
        self._scale_x(ax, np.concatenate([values for _, values, _ in found]))
        shown = np.append(shown, [bound.get_ydata()[0] for bound in bounds])
        linear = scale_errors(ax, shown, excess, percent)

        gap = " " if own else "\n"  # axes of the caller may be small
        what = f"excess over the{gap}{self.floor_name}" if excess else self.measure
        what += "\n(% of pairs, not private)" if percent else f"{gap}(not private)"
        ax.set_ylabel(what, fontsize=LABEL, parse_math=False)
        ax.set_xlabel(self._xlabel, fontsize=LABEL)
        notes = "lines: means of the fits"
        if quantiles is not None:
            low, high = (f"{100 * quantile:g} %" for quantile in quantiles)
            ends = "from the best fit to the worst" if quantiles == (0, 1) else f"{low} to {high} of the fits"
            notes = f"lines: means; bands: {ends}"
        named = [bound for bound in bounds if not excess or bound.get_ydata()[0]]  # the axis names it
        handles = [*drawn, *named, *([linear] if linear else [])]
        ncols = 2 if own and max(len(handle.get_label()) for handle in handles) <= 40 else 1
        draw_legend(ax, handles, notes, ncols=ncols)
        if own:
            ax.figure.set_size_inches(WIDTH, 4.2 + 0.18 * math.ceil(len(handles) / ncols))
        self.ax_, self.figure_ = finished(ax)
        return ax, base

    def _is_excess(self, excess):
        """Return whether the excess is drawn; by default if there is a floor and no error is below it."""
        if excess is None:
            known = [errors[np.isfinite(errors)] for errors in self.errors.values()]
            return self.floor is not None and all((errors >= self.floor - _ROUNDING).all() for errors in known)
        if excess and self.floor is None:
            raise ValueError("excess=True needs the floor; give the ballots as X where the display is made.")
        return bool(excess)

    def _scale_x(self, ax, values):
        ax.set_xscale("log")
        number_ticks(ax.xaxis, values.min(), values.max())


def _candidates(name, estimator, parameter, values):
    """Return whether an estimator or function has the parameter, and one copy for each value, or else itself only."""
    if is_function(estimator):
        depends = parameter in parameters_of_function(estimator)
        return depends, [partial(estimator, **{parameter: value}) for value in values] if depends else [estimator]
    if isinstance(estimator, Pipeline) or not hasattr(estimator, "set_params") or isinstance(estimator, type):
        raise ValueError(
            f"estimators[{name!r}] must be an aggregator, another estimator that sets consensus_, or a function of the "
            f"ballots that returns an order, got {type(estimator).__name__}; for a pipeline, use GridSearchCV and "
            "from_search."
        )
    full = find_parameter(estimator.get_params(), parameter)
    if full is None:
        return False, [estimator]
    return True, [clone(estimator).set_params(**{full: value}) for value in values]


def _trials(candidate, X, profile, **settings):
    """Fit a candidate repeatedly; an estimator of another package gets the ballots as they were passed."""
    if is_aggregator(candidate):
        return cross_validate(candidate, profile, **settings)
    ballots = profile if is_function(candidate) else X
    return cross_validate(candidate, ballots, scoring=kendall_tau_scorer, **settings)


def _has_a_place(value, whole):
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and 0 < float(value) < math.inf and not (whole and value != int(value))


def _checked(values, errors, parameter):
    """Return the values as arrays, those of each line (a single NaN if it is level) and its errors.

    Raise ValueError if their shapes do not match.
    """
    own = isinstance(values, dict)
    if own and set(values) != set(errors):
        raise ValueError(f"{parameter}: {sorted(values)} and errors: {sorted(errors)} must have the same names.")
    if not errors:
        raise ValueError("errors is empty; give at least one mechanism.")
    read = {name: _positive(each, parameter) for name, each in values.items()} if own else _positive(values, parameter)
    lines = read if own else dict.fromkeys(errors, read)
    errors = {name: np.asarray(trials, dtype=float) for name, trials in errors.items()}
    for name, trials in errors.items():
        expected = len(lines[name])
        if trials.ndim != 2 or len(trials) != expected:
            raise ValueError(
                f"errors[{name!r}] must have shape ({expected}, n_trials), one row a value of {parameter}, "
                f"got {trials.shape}."
            )
    if not np.isfinite(np.concatenate(list(lines.values()))).any():
        raise ValueError(f"no mechanism depends on {parameter}, so there is no line to draw.")
    if not any(np.isfinite(trials).any() for trials in errors.values()):
        raise ValueError("errors has no finished trial to draw.")
    return read, lines, errors


def _positive(values, parameter):
    values = np.atleast_1d(np.asarray(values, dtype=float))
    level = values.size == 1 and np.isnan(values).all()
    if values.ndim != 1 or not (level or (np.isfinite(values) & (values > 0)).all()):
        raise ValueError(f"{parameter} must be a list of positive numbers, got {values.tolist()}.")
    return values


def _check_floor(floor):
    known = floor == "kemeny" if isinstance(floor, str) else floor is None or isinstance(floor, Real)
    if not known or (isinstance(floor, Real) and not math.isfinite(floor)):
        raise ValueError(f"floor must be 'kemeny', a number or None, got {safe_repr(floor)}.")


def _floor(profile, floor):
    """Return the floor and its name: a given error, or that of the best known order of the ballots."""
    if floor != "kemeny" or profile is None:
        return None if floor == "kemeny" else floor, _GIVEN
    positions, name = best_known(profile)
    return average_kendall_tau(positions, profile), name


def _ceiling(profile):
    """Return the expected distance of a random order, which violates half of all opinions."""
    pairs = profile.pairwise_counts.sum() / 2
    return float(pairs / (profile.total_weight * profile.n_items * (profile.n_items - 1) / 2))


def best_known(profile):
    """Return the positions and the name of the Kemeny optimum, or else of the best order found in about ten seconds.

    The latter comes with a `ConvergenceWarning`.
    """
    found = minimum_order(profile.pairwise_counts.T)
    warn_of_gap(found)
    return order_to_positions(found.order), "Kemeny optimum" if found.optimal else "best order found"


# `QueryCountDisplay`: error against the number of queries per voter.

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
        places, named = np.log(counts) if wide else counts, [0]
        for k in range(1, len(counts)):
            if places[k] - places[named[-1]] >= _GAP * (places[-1] - places[0]):
                named.append(k)
        ax.xaxis.set_major_locator(FixedLocator(counts[named].tolist()))
        ax.xaxis.set_minor_locator(FixedLocator(counts.tolist()))


def _least(errors):
    """Return the row with the least mean; the first if there are several."""
    return int(np.nanmean(errors, axis=1).argmin())


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
        if isinstance(search.estimator, BaseEstimator) and any(
            mixing_step(configured(search.estimator, params)) is not None for params in search.cv_results_["params"]
        ):
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

        Lines are means. A mean may be outside its band if a few fits have very large errors. Later lines are thinner
        and have smaller markers, so that lines at the same place can all be seen.
        """
        self._draw(ax, excess, band)
        return self


# Lines of error against a parameter, from the results of a search.


def find_parameter(names, parameter, chosen=None):
    """Return the name that equals `parameter` or ends in ``__`` followed by it; None if no name does.

    If `chosen` is given (one name or several), return the name that it contains. More than one match raises ValueError.
    """
    if chosen is None:
        found = [name for name in names if is_called(name, parameter)]
    else:
        found = [name for name in names if name in ([chosen] if isinstance(chosen, str) else chosen)]
    if len(found) > 1:
        raise ValueError(f"{found} could all be the {parameter} to draw; from_search takes the name as {parameter}=.")
    return found[0] if found else None


def lines_of(search, parameter, chosen, metric):
    """Return the errors of a search along one parameter.

    Parameters
    ----------
    search : fitted GridSearchCV
        Search.
    parameter : str
        Parameter on the horizontal axis, such as "epsilon".
    chosen : str, sequence of str or None
        Its full name, or names, if `parameter` is ambiguous.
    metric : str
        Metric; its negative is the error.

    Returns
    -------
    values : dict of {str: ndarray of shape (n_values,)}
        Ascending values of the parameter, one entry per combination of the other parameters; a single NaN for
        candidates without the parameter.
    errors : dict of {str: ndarray of shape (n_values, n_fits)}
        Errors of all splits and trials; NaN where a value has fewer. Points without a finished trial are left out.

    Raises
    ------
    ValueError
        If no candidate has the parameter, a value is not a positive number, or no trial finished.
    """
    candidates = search.cv_results_["params"]
    names = [find_parameter(params, parameter, chosen) for params in candidates]
    if not any(names):
        wanted = f"{parameter!r} or a name that ends in '__{parameter}'" if chosen is None else repr(chosen)
        raise ValueError(f"no candidate of the search has a parameter {wanted}: put it into the grid.")
    lines: dict = {}
    for params, name, scores in zip(candidates, names, trials_of(search, metric), strict=True):
        value = params.get(name, math.nan)
        if name is not None and not (isinstance(value, Real) and 0 < float(value) < math.inf):
            raise ValueError(
                f"{name} must be a positive number to be drawn, got {value!r}, which has no place on the axis; leave "
                "it out of the grid."
            )
        others = {  # a value that a nested parameter overrides is left out of the text of the whole
            key: _Object(other.__name__) if isfunction(other) else text_of(other, _inside(key, params))
            for key, other in sorted(params.items())
            if key != name
        }
        whole = "search"
        if isinstance(search.estimator, BaseEstimator):
            whole = text_of(configured(search.estimator, params), {name} - {None})
        functions = tuple(id(value) for value in params.values() if isfunction(value))  # several may have one name
        *_, points = lines.setdefault((*others.items(), functions, name is None), (others, whole, {}))
        finished = -scores[np.isfinite(scores)]
        if finished.size:
            points.setdefault(math.nan if name is None else float(value), []).append(finished)
    texts, wholes, points = zip(*lines.values(), strict=True)
    named = zip(distinct(texts, wholes), points, strict=True)
    drawn = {label: sorted(each.items()) for label, each in named if each}
    if not drawn:
        raise ValueError("search has no finished trial to draw.")
    values = {label: np.array([value for value, _ in points]) for label, points in drawn.items()}
    errors = {
        label: np.array(list(zip_longest(*(np.concatenate(trials) for _, trials in points), fillvalue=np.nan))).T
        for label, points in drawn.items()
    }
    return values, errors
