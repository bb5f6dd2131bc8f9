"""Hierarchical rank aggregation (HRA): split items into levels by opponents beaten, and each level again."""

from typing import Any

import numpy as np

from ..queries import AllMargins, Ask
from .base import Consensus, Rule


class HierarchicalRule(Rule):
    """Split items into levels by how many opponents they beat; split each level again by itself.

    A level that does not split yields its net winner (Song et al.'s equation 1, which is the Borda
    count within the level), and the rest goes on.

    References
    ----------
    Ding, Han, Dezert and Yang (2018); Song, Lan, Li and Li (2022), Algorithm 2.

    Notes
    -----
    Song et al. print L(j) += PPR(i, j), which ranks in reverse; the sum here is PPR(j, i). Their
    PCM is 0/0 for a pair nobody was asked about: such a pair is a tie here. Equation 1 is printed as
    a sum over the index it defines; it runs over the opponents in the level.

    Examples
    --------
    >>> from sklearn_dprank.rules import HierarchicalRule
    >>> HierarchicalRule().asks(3)[0].query
    AllMargins()
    """

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(AllMargins())]

    def aggregate(self, session: Any) -> Consensus:
        priority = session.tie_break()
        return Consensus(np.array(_levels(np.arange(session.n_items), session.answer(AllMargins()), priority)))


def _levels(items, margins, priority):
    """Return the items best first."""
    out: list[int] = []
    parts = [items]
    while parts:
        part = parts.pop()
        if len(part) <= 1:
            out += list(part)
            continue
        inside = margins[np.ix_(part, part)]
        level = np.sign(inside).sum(axis=1)  # 2 L - (len - 1): the same levels
        if np.all(level == level[0]):
            winner = np.lexsort((priority[part], -inside.sum(axis=1)))[0]
            parts += [np.delete(part, winner), part[[winner]]]
        else:
            parts += [part[level == height] for height in np.unique(level)]
    return out
