"""Ballots: input tables, and profiles with their counts."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .profile import Profile as Profile

# Loaded on first use, because clients import this package and do not need profiles.
if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazily(__name__, {"profile": "Profile"})
