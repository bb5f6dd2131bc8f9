"""Displays of error: against epsilon, and against the number of questions per voter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import isfunction, signature
from itertools import zip_longest
from numbers import Real
from typing import Any, Literal, NamedTuple, Self, TypeAlias

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
    dress,
    finished,
    ink,
    look,
    looks,
    number_ticks,
    place_legend,
    scale_errors,
    shortened,
    tone,
)


def texts_of(params, name=None):
    """Return the parameters of a candidate as texts, sorted, without the parameter `name`."""
    # A value that a nested parameter overrides is left out of the text of the whole.
    return {key: _text(params[key], _inside(key, params)) for key in sorted(params) if key != name}


def _text(value, without):
    """Return the text of a parameter of the grid; a function is shown by its name."""
    return _Object(value.__name__) if isfunction(value) else text_of(value, without)


def distinct(groups, wholes):
    """Return distinct labels: for each group of parameters its differences from the others, or its text in `wholes`."""
    names = list(dict.fromkeys(name for group in groups for name in group))
    same = {name for name in names if all(group.get(name) == groups[0].get(name) for group in groups)}
    last = [name.rpartition("__")[2] for name in names]
    short = {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}
    told = [{name: text for name, text in group.items() if name not in same} for group in groups]
    labels = [", ".join(_part(short[name], text) for name, text in group.items()) for group in told]
    full = [", ".join(f"{name}={text}" for name, text in group.items()) for group in told]
    labels = full if len(set(full)) > len(set(labels)) else labels
    labels = [label or whole for label, whole in zip(labels, wholes, strict=True)]
    return [f"{label} ({k})" if label in labels[:k] else label for k, label in enumerate(labels)]


def _part(name, text):
    """Return one part of a label; an estimator, rule, channel or function needs no parameter name."""
    return text if isinstance(text, _Object) else f"{name}={text}"


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


# One line per mechanism, with bands of quantiles; markers at the same point are drawn side by side.

_FEW = 3  # largest number of lines with bands
_QUANTILES = (0.1, 0.9)
_SAME = 1.5  # markers up to this distance, in points, look like one
_STEP = 5.5  # points between markers side by side
_ROOM = 36  # largest width of a group of markers, in points


class Drawn(NamedTuple):
    """A line and the edges of its band."""

    values: np.ndarray
    means: np.ndarray
    low: np.ndarray
    high: np.ndarray


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


def words_of(quantiles):
    """Return the legend text about lines and bands."""
    if quantiles is None:
        return "lines: means of the fits"
    low, high = (f"{100 * quantile:g} %" for quantile in quantiles)
    ends = "from the best fit to the worst" if quantiles == (0, 1) else f"{low} to {high} of the fits"
    return f"lines: means; bands: {ends}"


def draw_lines(ax, lines, labels, shaded, texts=()):
    """Draw lines and, if `shaded`, bands whose edges have the dashes of their line; return the lines.

    `texts` are the texts of the estimators, by name of the line.
    """
    from matplotlib.colors import to_rgba

    drawn, found = [], looks(lines, texts)
    for k, (name, line) in enumerate(lines.items()):
        style = look(found[name], ax)
        colour = style["color"]
        if shaded:
            edge = {"edgecolor": to_rgba(colour, 0.75), "lw": 0.7, "linestyle": style["linestyle"]}
            inside = to_rgba(colour, 0.07 if colour == ink(ax) else 0.14)
            ax.fill_between(line.values, line.low, line.high, facecolor=inside, **edge)
        width = max(2.3 - 0.15 * k, 1.4)  # earlier lines are wider, and show on both sides of later ones
        drawn += ax.plot(line.values, line.means, label=labels[name], ms=5.5, mew=1.3, lw=width, **style)
    return drawn


def part_markers(ax, drawn):
    """Draw overlapping markers side by side, in the order of the lines; return whether there are any.

    Only markers move, by points; lines and their data do not change.
    """
    from matplotlib.transforms import ScaledTranslation

    moves = _moves(ax, drawn)
    for line, offsets in zip(drawn, moves, strict=True):
        line.set_markevery((offsets == 0).tolist())
        for offset in np.unique(offsets[offsets != 0]):
            there = offsets == offset
            (beside,) = ax.plot(line.get_xdata()[there], line.get_ydata()[there])
            beside.update_from(line)
            beside.set(linestyle="none", label="_beside", markevery=None, clip_on=False)
            beside.set_transform(ax.transData + ScaledTranslation(offset / 72, 0, ax.figure.dpi_scale_trans))
    return any(offsets.any() for offsets in moves)


def _moves(ax, drawn):
    """Return the horizontal offset of each marker of each line, in points."""
    columns: dict = {}
    for rank, line in enumerate(drawn):
        for k, (x, y) in enumerate(72 / ax.figure.dpi * ax.transData.transform(line.get_xydata())):
            columns.setdefault(round(x), []).append((y, rank, k))
    room = min([_ROOM, *np.diff(sorted(columns))])
    moves = [np.zeros(len(line.get_xdata())) for line in drawn]
    for column in columns.values():
        for group in _groups(column):
            step = min(_STEP, room / len(group))
            for place, (rank, k) in enumerate(group):
                moves[rank][k] = (place - (len(group) - 1) / 2) * step
    return moves


def _groups(column):
    """Yield the points (rank of the line, index) of one abscissa that look like one, by rank."""
    column = sorted(column)
    gaps = np.diff([height for height, *_ in column])
    for group in np.split(np.arange(len(column)), 1 + np.flatnonzero(gaps > _SAME)):
        if len(group) > 1:
            yield sorted(column[place][1:] for place in group)


# Shared parts of the displays that draw an error against a parameter.

_DISTANCE = "average Kendall tau distance"
_GIVEN = "given floor"
_ROUNDING = 1e-12  # rounding error of a difference of two errors
_BESIDE = "markers side by side: almost the same point"


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
        self._texts = {}  # of the estimators, by name, for their colours

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
        values = _swept(values, cls._argument, cls._whole)
        profile = as_profile(X)
        _check_floor(floor)
        candidates = {name: _candidates(name, each, cls._parameter, values) for name, each in estimators.items()}
        own = {name: values if depends else [math.nan] for name, (depends, _) in candidates.items()}
        if values not in own.values():
            raise ValueError(f"no mechanism depends on {cls._parameter}, so there is no line to draw.")
        seeds = child_seeds(random_state, (len(estimators), len(values)))
        errors = {}
        for (name, (_, several)), seeds_of_line in zip(candidates.items(), seeds.tolist(), strict=True):
            trials = [
                _trials(candidate, X, profile, random_state=seed, **settings)
                for candidate, seed in zip(several, seeds_of_line, strict=False)
            ]
            errors[name] = np.array([-trial["test_score"] for trial in trials])
        floor, name = _floor(profile, floor)
        level = [math.nan] in own.values()
        display = cls(own if level else values, errors, floor, _ceiling(profile), floor_name=name)
        display._texts = {name: text_of(estimator) for name, estimator in estimators.items()}
        return display

    @classmethod
    def _searched(cls, search, X, chosen, metric, floor):
        """Make the display from a fitted search."""
        _check_floor(floor)
        metric = chosen_metric(search, metric)
        known = is_kendall_tau(search, metric)
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
        found = list(self._lines())
        quantiles = quantiles_of(band, len(found))
        own, ax = ax is None, axes(ax, (WIDTH, 4.2))
        dress(ax)
        lines = {name: _drawn(values, _above(errors, base), quantiles) for name, values, errors in found}
        drawn = draw_lines(ax, lines, self._labels(), quantiles is not None, self._texts)
        edges = np.concatenate([np.ravel((line.means, line.low, line.high)) for line in lines.values()])
        bounds = self._draw_bounds(ax, base, excess and edges.min() > 0)
        self._scale_x(ax, np.concatenate([line.values for line in lines.values()]))
        shown = np.append(edges, [bound.get_ydata()[0] for bound in bounds])
        linear = scale_errors(ax, shown, excess, excess and self.measure == _DISTANCE)
        self._name_axes(ax, excess, own)
        notes = [words_of(quantiles), *([_BESIDE] if part_markers(ax, drawn) else [])]
        named = [bound for bound in bounds if not excess or bound.get_ydata()[0]]  # the axis names it
        _explain(ax, [*drawn, *named, *([linear] if linear else [])], notes, own)
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

    def _draw_bounds(self, ax, base, unreached):
        """Draw ceiling and floor, if they are known and 0 has a place on the axis; return their lines."""
        bounds = []
        if self.floor is not None and not unreached:
            name = f"{self.floor_name} (not private)"
            bounds.append(ax.axhline(self.floor - base, color=tone(ax, 0.8), lw=1, zorder=1.5, label=name))
        if self.ceiling is not None:
            look = {"color": tone(ax, 0.6), "lw": 1, "ls": (0, (1, 2))}
            bounds.append(ax.axhline(self.ceiling - base, zorder=1.5, label="random ranking", **look))
        return bounds

    def _name_axes(self, ax, excess, own):
        """Label the axes, and state that errors are not private."""
        percent = excess and self.measure == _DISTANCE
        gap = " " if own else "\n"  # axes of the caller may be small
        what = f"excess over the{gap}{self.floor_name}" if excess else self.measure
        what += "\n(% of pairs, not private)" if percent else f"{gap}(not private)"
        ax.set_ylabel(what, fontsize=LABEL, parse_math=False)
        ax.set_xlabel(self._xlabel, fontsize=LABEL)

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


def _explain(ax, handles, notes, own):
    """Place the legend; if the figure is our `own` and the legend goes below the axes, make the figure higher."""
    longest = max(len(handle.get_label()) for handle in handles)
    ncols = 2 if own and longest <= 40 else 1
    if not place_legend(ax, handles, "\n".join(notes), ncols=ncols) and own:
        rows = math.ceil(len(handles) / ncols) + len(notes)
        ax.figure.set_size_inches(WIDTH, 4.0 + 0.18 * rows)


def _swept(values, argument, whole):
    """Return the values to sweep; raise ValueError, before any fit, if one has no place on the axis."""
    values = [values] if isinstance(values, Real) else list(values)
    wrong = [value for value in values if not _has_a_place(value, whole)]
    if not values or wrong:
        kind = "whole numbers" if whole else "numbers"
        got = f"{safe_repr(wrong[0])} among them" if wrong else "none"
        raise ValueError(f"{argument} must be a list of positive {kind}, each a place on the axis, got {got}.")
    return [int(value) for value in values] if whole else values


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
    best = best_known(profile)
    return average_kendall_tau(best.positions, profile), best.name


def _ceiling(profile):
    """Return the expected distance of a random order, which violates half of all opinions."""
    pairs = profile.pairwise_counts.sum() / 2
    return float(pairs / (profile.total_weight * profile.n_items * (profile.n_items - 1) / 2))


def _above(errors, base):
    """Return errors minus the base; differences within rounding error are 0."""
    above = errors - base
    return np.where(np.abs(above) < _ROUNDING, 0.0, above)


def _drawn(values, errors, quantiles):
    """Return a line and its band, without NaN (trials that did not finish)."""
    means = np.nanmean(errors, axis=1)
    low, high = (means, means) if quantiles is None else np.nanquantile(errors, quantiles, axis=1)
    return Drawn(values, means, low, high)


class Best(NamedTuple):
    """Positions of the best order found, and its name."""

    positions: np.ndarray
    name: str


def best_known(profile):
    """Return the Kemeny optimum, or else the best order found in about ten seconds, with a `ConvergenceWarning`."""
    found = minimum_order(profile.pairwise_counts.T)
    warn_of_gap(found)
    return Best(order_to_positions(found.order), "Kemeny optimum" if found.optimal else "best order found")


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


# Lines of error against a parameter, from the results of a search.


def chosen_metric(search, metric):
    """Return `metric`, or "score" or the only one if it is None; raise ValueError if it is missing or ambiguous."""
    names = metric_names(search)
    if metric is None:
        metric = "score" if "score" in names else names[0] if len(names) == 1 else None
    if metric not in names:
        raise ValueError(f"metric must be one of {names}, got {metric!r}.")
    return metric


def is_kendall_tau(search, metric):
    """Return whether a metric is known to be minus the average Kendall tau distance, an aggregator's own score."""
    scorer = search.scorer_[metric]
    return scorer is None or scorer is kendall_tau_scorer


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
        others = texts_of(params, name)
        functions = tuple(id(value) for value in params.values() if isfunction(value))  # several may have one name
        line = lines.setdefault(
            (*others.items(), functions, name is None), Line(others, _whole(search, params, name), {})
        )
        finished = -scores[np.isfinite(scores)]
        if finished.size:
            line.points.setdefault(math.nan if name is None else float(value), []).append(finished)
    labels = distinct([line.others for line in lines.values()], [line.whole for line in lines.values()])
    named = zip(labels, lines.values(), strict=True)
    drawn = {label: sorted(line.points.items()) for label, line in named if line.points}
    if not drawn:
        raise ValueError("search has no finished trial to draw.")
    values = {label: np.array([value for value, _ in points]) for label, points in drawn.items()}
    return values, {label: _stacked([trials for _, trials in points]) for label, points in drawn.items()}


def may_mix(search):
    """Return whether a candidate has a transformer that may combine ballots, so that its epsilon may not hold."""
    if not isinstance(search.estimator, BaseEstimator):
        return False
    candidates = (configured(search.estimator, params) for params in search.cv_results_["params"])
    return any(mixing_step(candidate) is not None for candidate in candidates)


class Line(NamedTuple):
    """Candidates that differ in one parameter only."""

    others: dict[str, str]
    whole: str
    points: dict[float, list]


def _whole(search, params, name):
    """Return the text of a candidate without the parameter `name`, if any."""
    if not isinstance(search.estimator, BaseEstimator):
        return "search"
    return text_of(configured(search.estimator, params), {name} - {None})


def _stacked(rows):
    """Return trials of shape (n_values, n_fits), with shorter rows filled with NaN."""
    return np.array(list(zip_longest(*map(np.concatenate, rows), fillvalue=np.nan))).T
