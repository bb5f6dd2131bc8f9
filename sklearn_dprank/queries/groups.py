"""Net wins within groups: each item against those that stand near it, as in a round of a Swiss tournament."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_whole, shown
from .._utils.types import Neighboring
from .base import Query, Sensitivity, moves


@dataclass(frozen=True)
class GroupNetWins(Query):
    """For each item, its margins summed over the other items of its group; 0 for an item of no group.

    A group of k items is a set of net wins of its own: one ballot moves it by at most floor(k^2 / 2) in l1 and
    k (k^2 - 1) / 3 in squared l2, and a strict ballot moves all groups that far at once. Only the sizes of the groups
    decide what an answer costs: who is in them may follow from earlier answers. It follows from no other answer:
    rules weigh it by noise of its own.

    Parameters
    ----------
    groups : tuple of tuple of int, or None, default=None
        The items of each group, no item twice; None is one group of all items.
    round : int, default=0
        Tells apart the rounds of a rule that asks again; each is an answer of its own, with its own price.

    Raises
    ------
    ValueError
        If an item is in two groups, or is no item.

    Examples
    --------
    >>> from sklearn_dprank.ballots.profile import Profile
    >>> from sklearn_dprank.queries import GroupNetWins
    >>> profile = Profile.from_rankings([[0, 1, 2, 3]] * 2)
    >>> GroupNetWins().vector(profile, None)
    array([ 6,  2, -2, -6])
    >>> GroupNetWins(((0, 1), (2, 3))).vector(profile, None)
    array([ 2, -2,  2, -2])
    """

    groups: tuple[tuple[int, ...], ...] | None = None
    round: int = 0
    weighed = True

    def __post_init__(self):
        check_whole(self.round, "round", 0)
        try:
            hash(self.groups)  # as a part of a query must be
            items = [item for group in (() if self.groups is None else self.groups) for item in group]
            for item in items:
                check_whole(item, "groups", 0)
        except (TypeError, ValueError):
            items = [0, 0]
        if len(set(items)) < len(items):  # the sensitivity is that of disjoint groups
            raise ValueError(f"groups must hold items, 0 and up, none of them twice; got {shown(self.groups)}.")

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        last = n_items - 1
        return [cls(), cls(((0, last), tuple(range(1, last)))), cls(((last, 0),), 2), cls((tuple(range(1, n_items)),))]

    @property
    def kind(self) -> Any:
        return GroupNetWins, self.round

    def check(self, n_items: int) -> None:
        if self.groups is not None and max((max(group, default=0) for group in self.groups), default=0) >= n_items:
            raise ValueError(f"groups must hold some of the {n_items} items, 0 to {n_items - 1}.")

    def summed_as(self, n_items: int) -> dict[str, Any]:
        return {"name": "group_net_wins", "sizes": list(map(len, self.summed_about(n_items)))}

    def summed_about(self, n_items: int) -> list[list[int]]:
        groups = (range(n_items),) if self.groups is None else self.groups
        alone = sorted(set(range(n_items)).difference(*groups))  # an item of no group is a group of its own
        return [list(map(int, group)) for group in (*groups, *([item] for item in alone)) if group]

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        if self.groups is None:
            return profile.net_wins
        wins = np.zeros(profile.n_items, dtype=np.int64)
        for group in map(list, self.groups):
            wins[group] = profile.margins[np.ix_(group, group)].sum(axis=1)
        return wins

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        change = moves(neighboring)
        sizes = [n_items] if self.groups is None else [len(group) for group in self.groups]
        l2_squared = Fraction(sum(k * (k**2 - 1) for k in sizes), 3)
        return Sensitivity(change * sum(k**2 // 2 for k in sizes), change**2 * l2_squared)
