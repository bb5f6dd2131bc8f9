"""Lines and tables from the results of a search; contains `results_frame`."""

from __future__ import annotations

import math
from itertools import zip_longest
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..metrics import kendall_tau_scorer
from ..model_selection import GridSearchCV
from ..model_selection.parameters import configured, is_called
from ..privacy.estimator_guarantees import mixing_step
from ._words import distinct, text_of, texts_of

_TRIALS = "trial_test_"


def metrics_of(search):
    """Return the metrics of a fitted search; raise ValueError if it is not fitted or does not store single trials."""
    results = getattr(search, "cv_results_", None)
    if results is None:
        raise ValueError("search is not fitted; call its fit with the ballots first.")
    names = [key.removeprefix(_TRIALS) for key in results if key.startswith(_TRIALS)]
    if not names:
        raise ValueError("search does not store single trials; use sklearn_dprank.model_selection.GridSearchCV.")
    return names


def trials_of(search, metric):
    """Return one array of shape (n_splits, n_trials) per candidate: its scores, NaN for trials that did not finish."""
    return [np.asarray(scores, dtype=float) for scores in search.cv_results_[_TRIALS + metric]]


def chosen_metric(search, metric):
    """Return `metric`, or "score" or the only one if it is None; raise ValueError if it is missing or ambiguous."""
    names = metrics_of(search)
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
        line = lines.setdefault((*others.items(), name is None), Line(others, _whole(search, params, name), {}))
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


_MISSING = float("nan")


def results_frame(search: GridSearchCV) -> Any:
    """Return every trial of a fitted search as one row of a DataFrame.

    Parameters
    ----------
    search : fitted `sklearn_dprank.model_selection.GridSearchCV`
        Search.

    Returns
    -------
    pandas.DataFrame
        One row per candidate, split and trial. Columns: "candidate", the parameters of the grid by name, "split",
        "trial", "seed", and one per metric ("score", or the names of several; larger is better). A parameter that a
        candidate's grid does not have is NaN, and so is the score of a trial that did not finish. A parameter with the
        same name as another column keeps the prefix ``param_``.

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError
        If the search is not fitted, or is not a GridSearchCV of this package.

    Notes
    -----
    .. rubric:: Privacy

    The table is not private: scores are exact functions of the ballots, and with the seeds the noise can be subtracted.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from sklearn_dprank.plotting import results_frame
    >>> trials = [np.array([[-0.4, -0.3]]), np.array([[-0.1, -0.1]])]
    >>> seeds = [np.array([[5, 6]]), np.array([[7, 8]])]
    >>> grid = [{"epsilon": 0.1}, {"epsilon": 1.0}]
    >>> search = SimpleNamespace(cv_results_={"params": grid, "trial_test_score": trials, "seed": seeds})
    >>> results_frame(search).groupby("epsilon")["score"].mean().tolist()
    [-0.35, -0.1]
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('results_frame needs pandas: install the extra "plot", or pip install pandas') from None
    metrics = metrics_of(search)
    results = search.cv_results_
    seeds = [np.asarray(seed) for seed in results["seed"]]
    sizes = [seed.size for seed in seeds]
    places = [np.indices(seed.shape).reshape(2, -1) for seed in seeds]
    fixed = {"candidate", "split", "trial", "seed", *metrics}
    columns = {"candidate": np.repeat(np.arange(len(seeds)), sizes)}
    for name in dict.fromkeys(name for params in results["params"] for name in params):
        values = [params.get(name, _MISSING) for params in results["params"]]
        columns[f"param_{name}" if name in fixed else name] = _column(pd, values, sizes)
    columns["split"], columns["trial"] = np.concatenate(places, axis=1)
    columns["seed"] = np.concatenate([seed.ravel() for seed in seeds])
    for metric in metrics:
        columns[metric] = np.concatenate([scores.ravel() for scores in trials_of(search, metric)])
    return pd.DataFrame(columns)


def _column(pd, values, sizes):
    """Repeat each candidate's value for its trials; estimators and arrays stay whole objects."""
    whole = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        whole[k] = value
    column = pd.Series(np.repeat(whole, sizes))
    return column if any(value is None for value in values) else column.infer_objects()  # None is a value of its own
