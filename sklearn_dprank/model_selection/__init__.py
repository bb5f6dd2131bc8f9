"""Repeated randomised trials over shared profiles."""

from ._validation import cross_validate, with_seed

__all__ = ["cross_validate", "with_seed"]
