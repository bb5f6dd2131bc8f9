"""Data sets of rankings: simulated, bundled, read from PrefLib files, or downloaded from PrefLib."""

from ._generators import make_mallows, make_plackett_luce, make_uniform_profile
from ._preflib import fetch_preflib, load_hay_figure1, read_preflib

__all__ = [
    "fetch_preflib",
    "load_hay_figure1",
    "make_mallows",
    "make_plackett_luce",
    "make_uniform_profile",
    "read_preflib",
]
