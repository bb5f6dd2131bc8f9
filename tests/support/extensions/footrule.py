"""A mechanism in one module and one class: the order nearest to the ballots in the footrule."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import linear_sum_assignment

from sklearn_dprank.queries import Query, Sensitivity


@dataclass(frozen=True)
class Footrule(Query):
    """How many voters put each item at each position, read as the order that moves items least in sum.

    Tied items count at the first of their positions; items without an opinion are tied last. A ballot is one count an
    item: neighbours change one, or two, of each item's counts by one.
    """

    needs = "placements"
    decides = True

    def vector(self, profile, coins):
        counts = np.zeros((profile.n_items, profile.n_items), dtype=np.int64)
        item, first, _, voters = profile.placements.T
        np.add.at(counts, (item, first), voters)
        return counts.ravel()

    def sensitivity(self, n_items, neighboring, max_listed=None):
        changed = n_items if neighboring == "add_remove" else 2 * n_items
        return Sensitivity(changed, Fraction(changed))

    def read(self, vector, n_items):
        places = np.arange(n_items)
        moved = vector.reshape(n_items, n_items) @ np.abs(places[:, None] - places)
        _, place = linear_sum_assignment(moved)
        return np.argsort(place)
