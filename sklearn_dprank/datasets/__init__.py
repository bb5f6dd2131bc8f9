"""Data sets of rankings, comparisons and ratings: simulated, bundled, or from PrefLib (files or downloads)."""

from ._generators import make_comparisons, make_mallows, make_plackett_luce, make_ratings, make_uniform_profile
from ._preflib import fetch_preflib, load_hay_figure1, read_preflib

__all__ = [
    "fetch_preflib",
    "load_hay_figure1",
    "make_comparisons",
    "make_mallows",
    "make_plackett_luce",
    "make_ratings",
    "make_uniform_profile",
    "read_preflib",
]
