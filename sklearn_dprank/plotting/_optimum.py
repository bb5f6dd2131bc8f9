"""The Kemeny optimum of the ballots that a display shows, or what a limited search found of it."""

from typing import NamedTuple

import numpy as np

from ..orders.kemeny.kemeny import minimum_order, warn_of_gap
from ..orders.positions import order_to_positions


class Best(NamedTuple):
    """Positions of the best order found, and what it may be called."""

    positions: np.ndarray
    name: str


def best_known(profile):
    """Return the Kemeny optimum, or the best order that about ten seconds find, with a `ConvergenceWarning`."""
    found = minimum_order(profile.pairwise_counts.T)
    warn_of_gap(found)
    return Best(order_to_positions(found.order), "Kemeny optimum" if found.optimal else "best order found")
