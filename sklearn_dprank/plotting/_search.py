"""Lines of error against a parameter, from the results of a search."""

from __future__ import annotations

import math
from inspect import isfunction
from itertools import zip_longest
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..metrics import kendall_tau_scorer
from ..model_selection.parameters import configured, is_called
from ..model_selection.sweep.results import metric_names, trials_of
from ..privacy.estimator_guarantees import mixing_step
from ._words import distinct, text_of, texts_of


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
