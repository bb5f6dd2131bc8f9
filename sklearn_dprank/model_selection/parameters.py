"""Parameters of estimators, seeds of trials, and plain functions in place of estimators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from inspect import signature
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from .._utils.checks import safe_repr
from .._utils.estimators import BaseEstimator
from ..ballots.profile import as_profile
from ..orders.permutations import check_order, order_to_positions
from ..sampling.bit_source import seed_sequence

#: An estimator, or a function of the ballots that returns the items by index, best first.
EstimatorOrFunction: TypeAlias = BaseEstimator | Callable[..., ArrayLike]


class FunctionEstimator(BaseEstimator):
    """Estimator that calls ``function(ballots)``, which returns the items by index, best first.

    The function gets the positions as float, shape (n_voters, n_items); NaN is a missing opinion.
    """

    def __init__(self, function):
        self.function = function

    def fit(self, X, y=None):
        """Set ``consensus_`` and ``ranks_`` from the order that the function returns."""
        profile = as_profile(X)
        self.n_features_in_ = profile.n_items
        if profile.bound is not None:
            raise ValueError(
                "a function gets ballots without persons, weights and max_listed; pass a Profile without them."
            )
        if profile.positions is None:
            raise ValueError("a function needs the ballots; build the Profile with keep='positions'.")
        table = profile.positions.table.T.astype(float)
        table[table == profile.positions.sentinel] = np.nan
        returned = self.function(table)
        order = check_order(returned, profile.n_items, f"the order that {self._name()} returns")
        names = profile.item_names
        self.consensus_ = order if names is None else np.asarray(names, dtype=object)[order]
        self.ranks_ = order_to_positions(order, profile.n_items)
        return self

    def set_params(self, **params):
        """Set ``function``; raise ValueError for any other parameter, which a function does not have."""
        if wrong := sorted(params.keys() - {"function"}):
            raise ValueError(
                f"the function {self._name()} has no parameter {wrong[0]!r} in a grid. List it in a dict without this "
                "parameter (functools.partial sets a value), or write an estimator that has it."
            )
        return super().set_params(**params)

    def _name(self):
        function = getattr(self.function, "func", self.function)  # a partial's own
        return getattr(function, "__name__", type(function).__name__)


def is_function(estimator):
    """Return whether this is a plain function or another callable object, but neither an estimator nor a class."""
    return callable(estimator) and not isinstance(estimator, type) and not hasattr(estimator, "fit")


def as_estimator(estimator):
    """Return an estimator for a function, also if it is the last step of a Pipeline; return others unchanged."""
    if is_function(estimator):
        return FunctionEstimator(estimator)
    if isinstance(estimator, Pipeline) and is_function(estimator.steps[-1][1]):
        *before, (name, function) = estimator.steps
        return copy(estimator).set_params(steps=[*before, (name, FunctionEstimator(function))])
    return estimator


# Seeds: a different one for every fit, set on every part of an estimator.

#: Largest number of fits of one candidate, because each has its own 32-bit seed.
MOST_TRIALS = 1_000_000
_Estimator = TypeVar("_Estimator", bound=BaseEstimator)


def child_seeds(random_state, shape):
    """Return an int64 array of distinct seeds below 2**32, which every scikit-learn ``random_state`` accepts.

    `random_state` may also be a SeedSequence.
    """
    given, size = isinstance(random_state, np.random.SeedSequence), math.prod(shape)
    sequence = random_state if given else seed_sequence(random_state)
    words = sequence.generate_state(2 * size, np.uint32).astype(np.int64)  # of twice as many, enough are distinct
    _, first = np.unique(words, return_index=True)
    return words[np.sort(first)[:size]].reshape(shape)


def with_seed(estimator: _Estimator, seed: int | None) -> _Estimator:
    """Set `seed` on every ``random_state`` parameter, including nested ones, and return the estimator.

    Parameters
    ----------
    estimator : estimator
        Estimator to change in place.
    seed : int or None
        New value of every ``random_state``.

    Returns
    -------
    estimator : estimator
        The same object.
    """
    return estimator.set_params(**{name: seed for name in estimator.get_params() if is_called(name, "random_state")})


# Parameter grids, and access to the parameters of estimators and their parts.

#: Score of a fitted estimator on ballots; larger is better.
Metric: TypeAlias = Callable[..., Any]
Metrics: TypeAlias = Metric | Mapping[str, Metric | None] | None
Grid: TypeAlias = Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Iterable[Any]]]


def is_called(name, parameter):
    """Return whether `name` is the given parameter of an estimator or of one of its parts."""
    return name == parameter or name.endswith(f"__{parameter}")


def find_parameter(names, parameter, chosen, argument):
    """Return the name that equals `parameter` or ends in ``__`` followed by it; None if no name does.

    If `chosen` is given (one name or several), return the name that it contains. If several match, raise ValueError;
    `argument` is how a caller chooses one.
    """
    if chosen is None:
        found = [name for name in names if is_called(name, parameter)]
    else:
        found = [name for name in names if name in ([chosen] if isinstance(chosen, str) else chosen)]
    if len(found) > 1:
        raise ValueError(f"several parameters {found} could be {parameter!r}; choose one by {argument}.")
    return found[0] if found else None


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
    """Return the names of the parameters of an estimator or a function; empty if they are not known."""
    if hasattr(type(part), "get_params"):
        return list(part.get_params())
    try:
        return list(signature(part).parameters)
    except (TypeError, ValueError):
        return []


def is_aggregator(estimator):
    """Return whether the class of `estimator` is an aggregator; a pipeline that ends in one is not.

    The class decides, because some wrappers expose every attribute of the wrapped object.
    """
    return hasattr(type(estimator), "follows_plan")


def in_words(estimator):
    """Return the repr of an estimator on one line."""
    return " ".join(repr(estimator).split())
