"""Shared parts of the displays that draw an error against a parameter."""

import math
from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._utils.checks import safe_repr
from ..ballots.profile import as_profile
from ..metrics import average_kendall_tau, kendall_tau_scorer
from ..model_selection import cross_validate
from ..model_selection.functions import is_function, parameters_of_function
from ..model_selection.parameters import is_aggregator
from ..model_selection.seeds import child_seeds
from ..orders.kemeny import minimum_order, warn_of_gap
from ..orders.permutations import order_to_positions
from ._lines import Drawn, draw_lines, part_markers, quantiles_of, words_of
from ._search import chosen_metric, find_parameter, is_kendall_tau, lines_of
from ._style import LABEL, WIDTH, axes, dress, finished, number_ticks, place_legend, scale_errors, shortened, tone
from ._words import text_of

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
