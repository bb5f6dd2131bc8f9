"""Swiss rule: net wins of all items, then of ever smaller groups of neighbouring items."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from .._utils.checks import Check, check_number, check_parameters
from ..privacy.ledger import BudgetExhausted
from ..queries import Ask, GroupNetWins, NumberOfVoters
from .base import Consensus, Rule, descending
from .strengths import Round, group_strengths

_COUNTED = Fraction(2, 100)  # share of the budget for the number of voters
_SHARES = [Fraction(share, 100) for share in (30, 20, 25, 25)]  # shares of the rest, one per round
_SIZES = [Fraction(size, 10) for size in (10, 4, 2, 2)]  # group size in each round, as a share of the items
_LEAST, _MOST = 8, Fraction(6, 10)  # smallest group, and share of all items above which there is one group
_EXACT = 0.5  # smallest deviation for weights, because answers are integers
_DIGITS = 9  # significant digits of strengths, so that rounding errors do not order equal items


class SwissRule(Rule):
    """Rule with rounds as in a Swiss tournament: items are compared with their neighbours in the current order.

    The first round asks for the net wins of all items. Each later round sorts the items by their strengths so far, cuts
    the order into groups, and asks for the net wins within groups. Strengths explain all answers best, each weighted by
    its noise. As in the Bradley-Terry model, a share of 1 / (1 + exp(s_j - s_i)) of the voters prefers i to j. The last
    strengths give the consensus.

    Parameters
    ----------
    ridge : float, default=0.15
        Weight of the sum of squared strengths. It is added to half the sum of squared residuals over their variance.

    Notes
    -----
    If margins are far below the number of voters, all group sizes give equally much information for the same budget. If
    most voters agree on items that are far apart, small groups need less noise to distinguish neighbours. For groups of
    h among m items, the factor is about h / m.

    A later round without an answer is left out. This happens if too few voters of secure aggregation took part in it.

    Examples
    --------
    >>> from sklearn_dprank.rules import SwissRule
    >>> [str(ask.query) for ask in SwissRule().asks(40)][:2]
    ['NumberOfVoters', 'GroupNetWins']
    >>> sum(ask.share for ask in SwissRule().asks(40))
    Fraction(1, 1)
    >>> [len(group) for group in SwissRule().asks(40)[-2].query.groups]
    [4, 8, 8, 8, 8, 4]
    """

    parameter_checks: dict[str, Check] = {"ridge": partial(check_number, above=0, most=1e100)}

    def __init__(self, ridge: float = 0.15) -> None:
        self.ridge = ridge

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        rounds = [_round(number, np.arange(n_items)) for number in range(len(_SHARES))]
        shares = [(1 - _COUNTED) * share for share in _SHARES]
        asked = [Ask(query, share=share) for query, share in zip(rounds, shares, strict=True)]
        return [Ask(NumberOfVoters(), share=_COUNTED), *asked]

    def aggregate(self, session: Any) -> Consensus:
        n_voters = max(1.0, float(session.answer(NumberOfVoters())))
        order, strengths = np.arange(session.n_items), None
        rounds: list[Round] = []
        for number in range(len(_SHARES)):
            query = _round(number, order)
            try:
                wins = session.answer(query)
            except BudgetExhausted:  # the other rounds decide
                if not number:
                    raise
                continue
            rounds.append(Round(query.groups, wins, max(session.deviation(query), _EXACT)))
            strengths = group_strengths(rounds, n_voters, float(self.ridge), strengths)
            scores = _rounded(strengths)
            order = descending(scores, session)
        return Consensus(order, {"scores": scores})


def _round(number, order):
    """Return the query of a round for items in this order."""
    m = len(order)
    size = max(_LEAST, int(_SIZES[number] * m))
    if size >= _MOST * m:
        return GroupNetWins(round=number)
    first = size // 2 if number and number % 2 == 0 else size  # every second round shifts the cuts by half a group
    return GroupNetWins(tuple(tuple(group.tolist()) for group in np.split(order, range(first, m, size))), number)


def _rounded(strengths):
    """Return strengths rounded to nine digits of the largest, because all strengths may be tiny."""
    unit = 10.0 ** (np.floor(np.log10(np.abs(strengths).max() or 1.0)) - _DIGITS)
    return np.round(strengths / unit) * unit + 0.0  # no -0.0
