"""Parameters by name, of estimators and of their parts: grids of them, and estimators that have them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._utils.checks import shown

#: What a metric makes of a fitted estimator and ballots; larger is better.
Metric: TypeAlias = Callable[..., Any]
Metrics: TypeAlias = Metric | Mapping[str, Metric | None] | None
Grid: TypeAlias = Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Iterable[Any]]]


def is_called(name, parameter):
    """Tell whether this is the name of a parameter, of the whole or of a part."""
    return name == parameter or name.endswith(f"__{parameter}")


def grid_of(param_grid):
    """Return the rows of a grid.

    Raises
    ------
    ValueError
        If there is none.
    """
    grids = param_grid if isinstance(param_grid, (list, tuple)) else [param_grid]
    if not all(isinstance(grid, Mapping) for grid in grids):
        raise ValueError(f"param_grid must be a dict of lists of values, or a list of these, got {shown(param_grid)}.")
    for name, values in (pair for grid in grids for pair in grid.items()):
        if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
            raise TypeError(f"param_grid[{name!r}] must be a list of values, got {shown(values)}.")
    rows = list(ParameterGrid(param_grid))
    if not rows:
        raise ValueError(f"param_grid is empty; give at least one candidate to choose, got {param_grid!r}.")
    return rows


def configured(estimator, row):
    """Return a clone of an estimator, with the parameters of a row of the grid."""
    return clone(estimator).set_params(**clone(row, safe=False))


def parameters_of(part):
    """Return the parameters of anything by name; what is no estimator, a function or "passthrough", has none."""
    return part.get_params() if hasattr(type(part), "get_params") else {}


def is_aggregator(estimator):
    """Tell whether this fits and plans as aggregators do: a pipeline that ends in one does not.

    Asked of the class, because some wrappers pass every attribute of what they wrap for their own.
    """
    return hasattr(type(estimator), "follows_plan")


def in_words(estimator):
    """Return an estimator as one line of text, for a message."""
    return " ".join(repr(estimator).split())
