"""Kemeny optima with certificates."""

from .kemeny import MinimumOrder, majority_order, minimum_order, warn_of_gap

__all__ = ["MinimumOrder", "majority_order", "minimum_order", "warn_of_gap"]
