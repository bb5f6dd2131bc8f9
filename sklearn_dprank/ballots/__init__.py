"""Ballots: input tables, and profiles with their counts."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .profile import Profile

__all__ = ["Profile"]

# Loaded on first use, because clients import this package and do not need profiles.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, {"Profile": "profile"})
