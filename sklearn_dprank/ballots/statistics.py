"""The counts that sum up a set of ballots, each computed from the ballots when first asked for."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .compact import Positions
from .counting import all_strict, any_preference, count_pairs, count_placements, net_wins

_READ_ONLY = ("pairwise_counts", "margins", "net_wins", "placements", "voter_epsilon")


class Statistics:
    """What ballots say together; base of `Profile`, which adds how ballots are read and put together.

    Attributes
    ----------
    n_items : int
        Number of items.
    positions : Positions or None
        The ballots, from which counts are made; None where the counts were given.
    """

    n_items: int
    positions: Positions | None

    def _give(self, **counts):
        """Take counts that are made already, None for those that are not."""
        for name, count in counts.items():
            if count is not None:
                self.__dict__[name] = read_only(count)  # a cached_property looks there first

    @cached_property
    def pairwise_counts(self) -> NDArray[np.int64]:
        """How many voters strictly prefer item i to item j: int64, shape (n_items, n_items)."""
        return read_only(count_pairs(self.positions, self.__dict__.get("strict", False)))

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        """Pairwise counts minus their transpose; positive where i beats j."""
        return read_only(self.pairwise_counts - self.pairwise_counts.T)

    @cached_property
    def net_wins(self) -> NDArray[np.int64]:
        """Row sums of the margins: int64, shape (n_items,); twice the centred Borda score."""
        wins = None if "pairwise_counts" in self.__dict__ else net_wins(self.positions)
        return read_only(self.margins.sum(axis=1) if wins is None else wins)

    @cached_property
    def placements(self) -> NDArray[np.int64]:
        """Where items stand, exactly: rows (item, first, last, voters), int64.

        Row (i, a, b, c) says that c voters tie item i with b - a others over positions a..b (0 is
        best); items without an opinion are tied last.
        """
        return read_only(count_placements(self.positions))

    @cached_property
    def strict(self) -> bool:
        """Whether every ballot, where kept, is a complete strict ranking; see `all_strict`."""
        return self.positions is not None and all_strict(self.positions.table)

    @cached_property
    def silent(self) -> bool:
        """Whether no ballot prefers any item to another: nothing but ties and missing opinions."""
        if self.positions is None or "pairwise_counts" in self.__dict__:
            return not self.pairwise_counts.any()
        return not any_preference(self.positions)

    @property
    def position_counts(self) -> NDArray[np.float64]:
        """Item-by-position counts: float64, shape (n_items, n_items); a tie is spread evenly."""
        out = np.zeros((self.n_items, self.n_items))
        for item, first, last, voters in self.placements:
            out[item, first : last + 1] += voters / (last - first + 1)
        return out

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in state.keys() & set(_READ_ONLY):  # a copy forgets what may not be written to
            if state[name] is not None:
                read_only(state[name])

    def __sizeof__(self):
        # Arrays included: joblib's dask backend asks, to send what is large to a worker only once.
        held = [*vars(self).values(), *(self.positions or ())]
        return object.__sizeof__(self) + sum(array.nbytes for array in held if isinstance(array, np.ndarray))


def read_only(array):
    """Return the array, which nobody can write to any more."""
    array.flags.writeable = False
    return array
