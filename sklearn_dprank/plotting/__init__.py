"""Displays: computed in ``from_*``, drawn in ``plot``. Needs matplotlib (the extra ``plot``)."""

from ._utility import PrivacyUtilityDisplay

__all__ = ["PrivacyUtilityDisplay"]
