"""Plain functions in place of estimators."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from inspect import signature
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from .._utils.scikit_learn import BaseEstimator
from ..ballots.profile import as_profile
from ..orders.permutations import check_order, order_to_positions

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
        returned = self.function(_ballots_of(profile))
        order = check_order(returned, profile.n_items, f"the order that {self._name()} returns")
        names = profile.item_names
        self.consensus_ = order if names is None else np.asarray(names, dtype=object)[order]
        self.ranks_ = order_to_positions(order, profile.n_items)
        return self

    def set_params(self, **params):
        """Set ``function``; raise ValueError for any other parameter, which a function does not have."""
        if wrong := sorted(params.keys() - {"function"}):
            raise ValueError(
                f"the function {self._name()} has no parameter {wrong[0]!r} in a grid; list it in a dict without this "
                "parameter (functools.partial sets a value), or write an estimator that has it."
            )
        return super().set_params(**params)

    def _name(self):
        function = getattr(self.function, "func", self.function)  # a partial's own
        return getattr(function, "__name__", type(function).__name__)


def _ballots_of(profile):
    """Return the ballots of a profile as floats, shape (n_voters, n_items), with NaN for missing opinions."""
    if profile.positions is None:
        raise ValueError("a function needs the ballots; build the Profile with keep='positions'.")
    if profile.bound is not None:
        raise ValueError("a function gets ballots without persons and weights; pass a Profile without them.")
    table = profile.positions.table.T.astype(float)
    table[table == profile.positions.sentinel] = np.nan
    return table


def is_function(estimator):
    """Return whether this is a plain function or another callable object, but neither an estimator nor a class."""
    return callable(estimator) and not isinstance(estimator, type) and not hasattr(estimator, "fit")


def parameters_of_function(function):
    """Return the names of a function's parameters; empty if they are not known."""
    try:
        return list(signature(function).parameters)
    except (TypeError, ValueError):
        return []


def as_estimator(estimator):
    """Return an estimator for a function, also if it is the last step of a Pipeline; return others unchanged."""
    if is_function(estimator):
        return FunctionEstimator(estimator)
    if isinstance(estimator, Pipeline) and is_function(estimator.steps[-1][1]):
        estimator = copy(estimator)
        name, function = estimator.steps[-1]
        estimator.steps = [*estimator.steps[:-1], (name, FunctionEstimator(function))]
    return estimator
