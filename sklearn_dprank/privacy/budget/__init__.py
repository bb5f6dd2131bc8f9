"""Budget accounting for several releases."""

from typing import TYPE_CHECKING

from ..._utils.lazy import lazily

if TYPE_CHECKING:
    from .budget import PrivacyBudget

__all__ = ["PrivacyBudget"]

# Loaded on first use: the modules of this package import each other through it.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, {"PrivacyBudget": "budget"})
