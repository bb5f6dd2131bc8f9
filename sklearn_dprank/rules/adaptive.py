"""Bradley-Terry in rounds: after the first, voters are asked about pairs that stand close in the order so far."""

from functools import partial
from typing import Any

import numpy as np

from .._utils.checks import Check, check_parameters, check_whole, taken_by
from ..queries import Ask, PairTallies, Tallies
from .base import Consensus, Rule, descending
from .bradley_terry import BradleyTerryRule, bradley_terry_strengths

_MOST_ROUNDS = 1000  # each solves for all strengths anew


class AdaptiveBradleyTerryRule(Rule):
    """Bradley-Terry in rounds: after the first, only pairs close in the current order are asked about.

    Parameters
    ----------
    n_rounds : int, default=4
        Rounds, at most 1,000; each asks its share of the voters about pairs at most max(2, floor(m / 6)) ranks apart.
    ridge : float, default=0.01
        As in `BradleyTerryRule`.

    Examples
    --------
    >>> from sklearn_dprank.rules import AdaptiveBradleyTerryRule
    >>> AdaptiveBradleyTerryRule().asks(10)[0].times
    4
    """

    parameter_checks: dict[str, Check] = {
        "n_rounds": partial(check_whole, most=_MOST_ROUNDS),
        **taken_by(BradleyTerryRule, "ridge"),
    }

    def __init__(self, n_rounds: int = 4, ridge: float = 0.01) -> None:
        self.n_rounds = n_rounds
        self.ridge = ridge

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(PairTallies(), times=int(self.n_rounds))]

    def aggregate(self, session: Any) -> Consensus:
        reach = max(2, session.n_items // 6)
        pairs: tuple[tuple[int, int], ...] | None = None
        heard: tuple[Tallies, ...] = ()
        for number in range(self.n_rounds):
            heard = _added(heard, session.answer(PairTallies(pairs, number)))
            order = descending(bradley_terry_strengths(heard, self.ridge), session)
            pairs = _near(order, reach)
        return Consensus(order)


def _near(order, reach):
    """Return the pairs (i, j), i < j, of items at most `reach` ranks apart."""
    gaps = range(1, min(reach, len(order) - 1) + 1)
    ahead, behind = (np.concatenate(ends) for ends in ([order[:-g] for g in gaps], [order[g:] for g in gaps]))
    return tuple(zip(np.minimum(ahead, behind).tolist(), np.maximum(ahead, behind).tolist(), strict=True))


def _added(heard, more):
    """Add up tallies of equal flip probability."""
    wins: dict[float, np.ndarray] = {}
    for tally in (*heard, *more):
        wins[tally.flip] = wins[tally.flip] + tally.wins if tally.flip in wins else tally.wins
    return tuple(Tallies(flip, total) for flip, total in wins.items())
