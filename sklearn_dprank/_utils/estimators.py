"""What estimators share: typed stand-ins for scikit-learn's names, and the state of a fit.

scikit-learn has no type annotations, so that mypy would accept any use of its subclasses. At run time, and for type
checkers with their own types for scikit-learn, these names are scikit-learn's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from inspect import signature
from typing import Any, Literal, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

#: False, but True for mypy. `TYPE_CHECKING` is not used, because Sphinx executes the code that it guards.
MYPY: Literal[False] = False

if MYPY:
    from dataclasses import dataclass as parametrized

    class BaseEstimator:
        """Stand-in with the methods for parameters."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...

    class MetaEstimatorMixin:
        """Stand-in without methods."""

    class TransformerMixin:
        """Stand-in with the methods of transformers."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self: ...

    class OneToOneFeatureMixin:
        """Stand-in for transformers that keep the columns."""

        def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[Any]: ...

    _Method = TypeVar("_Method", bound=Callable[..., Any])

    def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]: ...

    def available_if(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]: ...

else:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, OneToOneFeatureMixin, TransformerMixin, _fit_context
    from sklearn.utils.metaestimators import available_if

    _Class = TypeVar("_Class", bound=type)

    @dataclass_transform(eq_default=False, field_specifiers=(field,))
    def parametrized(cls: _Class) -> _Class:
        """Write the constructor of a class, whose annotated attributes are the parameters and their defaults.

        The class is not a dataclass afterwards: dask and pandas take dataclasses apart by their fields, and would lose
        or confuse what was fitted. It has no attributes with the defaults either, which a subclass that forgets a
        parameter would use.

        Examples
        --------
        >>> @parametrized
        ... class Scaled(BaseEstimator):
        ...     factor: float = 2.0
        >>> Scaled(3.0), Scaled().factor, hasattr(Scaled, "factor")
        (Scaled(factor=3.0), 2.0, False)
        """
        made = dataclass(eq=False, repr=False)(cls)
        for parameter in fields(made):
            if parameter.name in vars(made):
                delattr(made, parameter.name)
        del made.__dataclass_fields__, made.__dataclass_params__, made.__match_args__
        return made


__all__ = [
    "MYPY",
    "AllowsMissing",
    "BaseEstimator",
    "MetaEstimatorMixin",
    "OneToOneFeatureMixin",
    "TransformerMixin",
    "_fit_context",
    "available_if",
    "parametrized",
]


class AllowsMissing(BaseEstimator):
    """Base class of estimators whose ``X`` may have NaN: a missing opinion or rating."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


# Fitted attributes: a fit sets them on a draft, which then replaces the results of an earlier fit in one step.

_signature = lru_cache(signature)  # of classes
_replacing = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child process must not inherit a lock held by another thread
    os.register_at_fork(
        before=_replacing.acquire, after_in_parent=_replacing.release, after_in_child=_replacing.release
    )


def clear_fitted(estimator, keep=()):
    """Delete the fitted attributes of an estimator, except for the names in `keep`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> estimator = SimpleNamespace(epsilon=1.0, consensus_=[1, 0])
    >>> clear_fitted(estimator)
    >>> estimator
    namespace(epsilon=1.0)
    """
    fitted = {name for name in vars(estimator) if name.endswith("_") and not name.endswith("__")}
    for name in fitted.difference(keep):
        delattr(estimator, name)


def draft_of(estimator):
    """Return a shallow copy of the estimator, which a fit can change before the result is visible to others."""
    draft = object.__new__(type(estimator))
    vars(draft).update(vars(estimator))
    return draft


def own_copy(part):
    """Return a copy of an estimator and of all parts that have parameters, which no other thread can change.

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.channels import Central
    >>> shared = Aggregator(Central(epsilon=0.5))
    >>> own = own_copy(shared)
    >>> shared.set_params(channel__epsilon=8.0).channel is own.channel, own.channel.epsilon
    (False, 0.5)
    >>> grid = {"epsilon": [0.5]}
    >>> own_copy(grid) is grid, own_copy(grid)["epsilon"] is grid["epsilon"]
    (False, False)
    """
    if type(part) in (list, tuple):
        return type(part)(map(own_copy, part))
    if type(part) is dict:
        return {key: own_copy(value) for key, value in part.items()}
    if type(part) is np.ndarray:
        return part.copy()
    if isinstance(part, type) or not hasattr(part, "get_params"):
        return part
    own = draft_of(part)
    vars(own).update({name: own_copy(value) for name, value in part.get_params(deep=False).items()})
    return own


def hand_over(own, estimator):
    """Give an estimator, and the steps of a pipeline, the fitted attributes of its `own_copy`."""
    for (_, own_step), (_, step) in zip(getattr(own, "steps", ()), getattr(estimator, "steps", ()), strict=False):
        if hasattr(step, "get_params") and type(step) is type(own_step):
            hand_over(own_step, step)
    swap_fitted(own, estimator)


def swap_fitted(draft, estimator, **expected):
    """Replace the estimator's attributes by those of a draft, except for its parameters; return whether it was done.

    This is a compare-and-swap. The estimator changes only if its attributes named in `expected` are these objects (None
    also stands for a missing attribute). Other threads, copies, pickles and forks see the old attributes or the new
    ones, never a mixture.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> estimator = DPBorda()
    >>> draft = draft_of(estimator)
    >>> draft.ranks_ = [0, 1]
    >>> swap_fitted(draft, estimator, ranks_=[0, 1])
    False
    >>> swap_fitted(draft, estimator, ranks_=None), estimator.ranks_
    (True, [0, 1])
    """
    parameters = _signature(type(estimator)).parameters
    before = after = None
    try:
        with _replacing:
            before = vars(estimator)
            if any(before.get(name) is not value for name, value in expected.items()):
                return False
            after = {**vars(draft), **{name: value for name, value in before.items() if name in parameters}}
            estimator.__dict__ = after
    except BaseException:  # an interrupt: the caller assumes that the estimator is unchanged, so restore it
        with _replacing:
            if vars(estimator) is after:
                estimator.__dict__ = before
        raise
    return True
