"""Hierarchical rank aggregation (HRA)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..queries import AllMargins, Ask
from .base import Consensus, Rule


class HierarchicalRule(Rule):
    """Rule that splits items into levels by the number of opponents that they beat, and splits each level again.

    If a level does not split, its net winner goes first (equation 1 of Song et al., which is the Borda count within the
    level). The rest of the level is split again.

    Notes
    -----
    Song et al. print L(j) += PPR(i, j), which ranks in reverse. This rule sums PPR(j, i). Their PCM is 0/0 for a pair
    without answers, which is a tie here. Equation 1 is printed as a sum over the index that it defines. Here, the sum
    is over the opponents in the level.

    References
    ----------
    Ding, Han, Dezert and Yang (2018); Song, Lan, Li and Li (2022), Algorithm 2.

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
    """Return the items, best first."""
    out: list[int] = []
    parts = [items]
    while parts:
        part = parts.pop()
        if len(part) <= 1:
            out += list(part)
            continue
        inside = margins[np.ix_(part, part)]
        level = np.sign(inside).sum(axis=1)  # 2 L - (len - 1), which gives the same levels as L
        if np.all(level == level[0]):
            winner = np.lexsort((priority[part], -inside.sum(axis=1)))[0]
            parts += [np.delete(part, winner), part[[winner]]]
        else:
            parts += [part[level == height] for height in np.unique(level)]
    return out
