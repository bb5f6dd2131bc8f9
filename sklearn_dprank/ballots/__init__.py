"""Ballots: tables as they are passed, and profiles with their counts."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .profile import Profile

__all__ = ["Profile"]

# Loaded when first used: a client imports through this package and needs no profile.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, {"Profile": "profile"})
