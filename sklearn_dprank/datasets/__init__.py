"""Rankings to try things on: simulated, bundled, read from PrefLib files, or fetched from PrefLib."""

from ._bundled import load_hay_figure1
from ._fetch import fetch_preflib
from ._mallows import make_mallows
from ._plackett_luce import make_plackett_luce
from ._preflib import read_preflib
from ._uniform_profile import make_uniform_profile

__all__ = [
    "fetch_preflib",
    "load_hay_figure1",
    "make_mallows",
    "make_plackett_luce",
    "make_uniform_profile",
    "read_preflib",
]
