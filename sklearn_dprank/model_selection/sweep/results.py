"""Results of a search: its trials by metric, and a table of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .search import GridSearchCV

_TRIALS = "trial_test_"


def metric_names(search):
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
    >>> from sklearn_dprank.model_selection import results_frame
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
    metrics = metric_names(search)
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
