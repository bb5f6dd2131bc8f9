"""Parameter grids, and access to the parameters of estimators and their parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from .._utils.checks import safe_repr
from .functions import as_estimator

#: Score of a fitted estimator on ballots; larger is better.
Metric: TypeAlias = Callable[..., Any]
Metrics: TypeAlias = Metric | Mapping[str, Metric | None] | None
Grid: TypeAlias = Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Iterable[Any]]]


def is_called(name, parameter):
    """Return whether `name` is the given parameter of an estimator or of one of its parts."""
    return name == parameter or name.endswith(f"__{parameter}")


def grid_of(param_grid):
    """Return the rows of `param_grid`; raise ValueError or TypeError if it is not a valid grid or is empty."""
    grids = param_grid if isinstance(param_grid, (list, tuple)) else [param_grid]
    if not all(isinstance(grid, Mapping) for grid in grids):
        raise ValueError(
            f"param_grid must be a dict of lists of values, or a list of these, got {safe_repr(param_grid)}."
        )
    for name, values in (pair for grid in grids for pair in grid.items()):
        if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
            raise TypeError(f"param_grid[{name!r}] must be a list of values, got {safe_repr(values)}.")
    rows = list(ParameterGrid(param_grid))
    if not rows:
        raise ValueError(f"param_grid is empty; give at least one candidate to choose, got {param_grid!r}.")
    return rows


def configured(estimator, row):
    """Return a clone of an estimator or function, as an estimator, with the parameters of one row of the grid."""
    estimator, row = clone(as_estimator(estimator)), clone(row, safe=False)
    if isinstance(estimator, Pipeline) and (last := estimator.steps[-1][0]) in row:
        row[last] = as_estimator(row[last])  # before its parameters are set
    return estimator.set_params(**row)


def parameters_of(part):
    """Return the parameters of a part by name; empty if it is not an estimator (a function or "passthrough")."""
    return part.get_params() if hasattr(type(part), "get_params") else {}


def is_aggregator(estimator):
    """Return whether the class of `estimator` is an aggregator; a pipeline that ends in one is not.

    The class decides, because some wrappers expose every attribute of the wrapped object.
    """
    return hasattr(type(estimator), "follows_plan")


def in_words(estimator):
    """Return the repr of an estimator on one line."""
    return " ".join(repr(estimator).split())
