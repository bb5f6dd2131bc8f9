"""scikit-learn's decorators of methods, with types: it states none, and what they decorate would be Any."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    _Method = TypeVar("_Method", bound=Callable[..., Any])

    def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]: ...

    def available_if(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]: ...

else:
    from sklearn.base import _fit_context
    from sklearn.utils.metaestimators import available_if

__all__ = ["_fit_context", "available_if"]
