"""Typed stand-ins for the scikit-learn names that the package uses.

scikit-learn has no type annotations, so that mypy would accept any use of its subclasses. At run time, and for type
checkers with their own types for scikit-learn, these names are scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeVar

from numpy.typing import NDArray

#: False, but True for mypy. `TYPE_CHECKING` is not used, because Sphinx executes the code that it guards.
MYPY: Literal[False] = False

if MYPY:

    class BaseEstimator:
        """Stand-in with the methods for parameters."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def _validate_params(self) -> None: ...
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
    from sklearn.base import (
        BaseEstimator,
        MetaEstimatorMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
        _fit_context,
    )
    from sklearn.utils.metaestimators import available_if

__all__ = [
    "MYPY",
    "BaseEstimator",
    "MetaEstimatorMixin",
    "OneToOneFeatureMixin",
    "TransformerMixin",
    "_fit_context",
    "available_if",
]
