"""The net agreement of one order with the ballots: what a private score adds noise to."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...queries.base import Query, Sensitivity, moves, n_pairs


@dataclass(frozen=True)
class NetAgreement(Query):
    """Over all pairs, the voters who prefer the upper item of an order to the lower one minus those who do not.

    A ballot adds to each of the C(m, 2) pairs +1, -1 or, where it ties the items or has no opinion, 0: from -C(m, 2)
    (the reversed order) to C(m, 2) (the order itself) together.

    Parameters
    ----------
    ranks : tuple of int
        Where the order puts each item; smaller is better. A pair that it ties counts for nothing.
    """

    ranks: tuple[int, ...]

    @classmethod
    def examples(cls, n_items):
        order = tuple(range(n_items))
        return [cls(order), cls((order[-1], *order[:-1])), cls((0, *[1] * (n_items - 1)))]

    def vector(self, profile, coins):
        ranks = np.array(self.ranks)
        return profile.margins[ranks[:, None] < ranks].sum(keepdims=True)

    def sensitivity(self, n_items, neighboring):
        most = moves(neighboring) * n_pairs(n_items)
        return Sensitivity(most, Fraction(most**2))

    def read(self, vector, n_items):
        return int(vector[0])
