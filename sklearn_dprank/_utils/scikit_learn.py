"""What we take of scikit-learn, with types: it states none, so what derives from it would be anything to mypy.

At run time, and for a type checker that brings types of its own for scikit-learn, these are scikit-learn's.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeVar

from numpy.typing import NDArray

#: False, which mypy alone takes for true: not `TYPE_CHECKING`, with which Sphinx runs what it guards.
MYPY: Literal[False] = False

if MYPY:

    class BaseEstimator:
        """Parameters by name."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...

    class MetaEstimatorMixin:
        """A tag."""

    class TransformerMixin:
        """Fit and transform at once."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self: ...

    class OneToOneFeatureMixin:
        """As many columns as before."""

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
