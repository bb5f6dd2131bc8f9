"""Theorems of the papers, one module per paper: as printed and, where the printed form fails, corrected.

One module, `peeling`, has bounds for a mechanism of this package instead of a paper.

This package reads no ballots, and no other package imports it. A formula that an estimator uses is defined where it is
used, and the theorems call it there. Functions take public numbers (items, voters, epsilon, ...) and return bounds.
``variant="as_printed"`` is the formula as printed. ``variant="corrected"`` is a formula that holds. The Notes of each
function give the differences and the reasons.
"""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from . import alabi, cheu, hay, peeling, shang, song, yan

__all__ = ["alabi", "cheu", "hay", "peeling", "shang", "song", "yan"]

# Loaded on first use: one paper does not need the others.
if not TYPE_CHECKING:
    __getattr__, __dir__, _ = lazily(__name__, {}, __all__)
