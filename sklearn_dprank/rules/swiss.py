"""Swiss rule: net wins of all items, then of ever smaller groups of neighbouring items, then margins of pairs."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from .._utils.checks import Check, check_number, check_parameters
from ..orders.kemeny.local_search import insertion_search, total_cost
from ..orders.kemeny.work import Work
from ..privacy.ledger import BudgetExhausted
from ..queries import Ask, GroupNetWins, NumberOfVoters, ScaledMargins
from ..queries.scaled import MOST_PAIRS
from .base import Consensus, Rule, descending
from .strengths import PairMargins, Round, fitted

_COUNTED = Fraction(2, 100)  # share of the budget for the number of voters
_SHARES = [Fraction(share, 100) for share in (30, 20, 25)]  # shares of the rest, one per round of groups
_LAST = Fraction(25, 100)  # share of the rest for the last question
_SIZES = [Fraction(size, 10) for size in (10, 4, 2)]  # group size in each round, as a share of the items
_LEAST, _MOST = 8, Fraction(6, 10)  # smallest group, and share of all items above which there is one group
_EXACT = 0.5  # smallest deviation for weights, because answers are integers
_DIGITS = 9  # significant digits of strengths, so that rounding errors do not order equal items
_CLEAR, _DROWNED = 0.1, 0.3  # noise on a margin, as a share of the voters: pairs are asked below, and never above
_NEGLIGIBLE = 0.005  # noise on a margin, as a share of the voters, below which more pairs are asked instead
_TRIED = 6  # numbers of pairs among which the best is chosen
_KICKS = 16  # work of restarts of the search for an order of the margins, in units of `Work`
_TINY = 1e-100  # least variance of a margin, where all seem to agree
_FINE = 2**38  # steps of the largest margin in that search, whose sums are exact


class SwissRule(Rule):
    """Rule with rounds as in a Swiss tournament: items are compared with their neighbours in the current order.

    The first round asks for the net wins of all items. Two more rounds sort the items by their strengths so far, cut
    the order into groups, and ask for the net wins within groups. The last question asks for the margins of the pairs
    whose order is in doubt. If noise would drown these margins, it asks for net wins within groups again.

    Strengths explain all answers best, each weighted by its noise. As in the Bradley-Terry model, the margin of i over
    j is nu tanh((s_i - s_j) / 2). The number nu of voters who follow the model is fitted too, and all others balance
    each other. If the margins of pairs deviate from the model by more than their noise, a local search improves the
    order. It uses the margins of the model, and mixes them with the noisy margins where these are known.

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
    >>> [str(ask.query) for ask in SwissRule().asks(40)]
    ['NumberOfVoters', 'GroupNetWins', 'GroupNetWins', 'GroupNetWins', 'ScaledMargins']
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
        shares = [_COUNTED, *((1 - _COUNTED) * share for share in (*_SHARES, _LAST))]
        rounds = [_round(number, n_items, partial(np.arange, n_items)) for number in range(len(_SHARES))]
        asked = [NumberOfVoters(), *rounds, ScaledMargins()]
        return [Ask(query, share=share) for query, share in zip(asked, shares, strict=True)]

    def aggregate(self, session: Any) -> Consensus:
        n_voters = max(1.0, float(session.answer(NumberOfVoters())))
        rounds: list[Round] = []
        fit: Any = None

        def fit_all(pairs=None):
            nonlocal fit
            fit = fitted(rounds, n_voters, float(self.ridge), pairs, fit)
            return fit

        def order():  # a round of all items has the same order with and without a fit
            return descending(_rounded(fit_all().strengths) if rounds[1:] else rounds[0].wins, session)

        for number in range(len(_SHARES)):
            query = _round(number, session.n_items, order)
            try:
                wins = session.answer(query)
            except BudgetExhausted:  # the other rounds decide
                if not number:
                    raise
                continue
            rounds.append(Round(query.groups, wins, max(session.deviation(query), _EXACT)))
        query, pairs = _last_question(rounds, fit_all, order, n_voters, session), None
        try:
            scale = query.scale(session.n_items)
            answer = np.asarray(session.answer(query), dtype=float) / scale
            deviation = max(session.deviation(query) / scale, _EXACT)
            if query.pairs is None:
                rounds.append(Round(query.groups, answer, deviation))
            else:
                pairs = _matrices(query.pairs, answer, deviation, session.n_items)
        except BudgetExhausted:  # the rounds decide
            pass
        scores = _rounded(fit_all(pairs).strengths)
        found = descending(scores, session)
        return Consensus(found if pairs is None else _searched(found, fit, pairs, session.coins), {"scores": scores})


def _round(number, n_items, order):
    """Return the query of a round; every second round shifts the cuts by half a group."""
    return GroupNetWins(_cut(n_items, _SIZES[number], number and number % 2 == 0, order), number)


def _cut(n_items, share, shifted, order):
    """Return groups of neighbours in `order()`, about this share of the items each, or None for one group of all."""
    size = max(_LEAST, int(share * n_items))
    if size >= _MOST * n_items:
        return None
    first = size // 2 if shifted else size
    return tuple(tuple(group.tolist()) for group in np.split(order(), range(first, n_items, size)))


def _last_question(rounds, fit_all, order, n_voters, session):
    """Return the query for the margins of pairs in doubt, or for net wins within groups.

    Pairs are sorted by how many deviations their margins are from 0. Their number has the largest `_gain`, because more
    pairs have more noise each.
    """
    m, one = session.n_items, ScaledMargins(((0, 1),))
    noise = session.deviation(one) / one.scale(m)  # on a single margin
    drowned = m < 2 or noise * np.sqrt(2 * m) > _DROWNED * n_voters
    fit: Any = None if drowned else fit_all()
    misfit = 0.0 if drowned else _misfit(rounds, fit)
    if drowned or noise * np.sqrt(2 * m) > max(_CLEAR * n_voters, 2 * np.sqrt(misfit)):
        return ScaledMargins(groups=_cut(m, _SIZES[-1], False, order))
    first, second = np.triu_indices(m, 1)
    margins, slopes = (each[first, second] for each in fit.model())
    variance = slopes**2 * (1 / fit.curvature[first] + 1 / fit.curvature[second]) + misfit + _TINY
    doubt = np.argsort(np.abs(margins) / np.sqrt(variance), kind="stable")[:MOST_PAIRS]
    margins, variance = margins[doubt], variance[doubt]
    least = (_NEGLIGIBLE * n_voters) ** 2 / noise**2 if noise else np.inf
    sizes = np.rint(np.geomspace(min(len(doubt), max(2 * m, least)), len(doubt), _TRIED)).astype(int)
    best = max(sorted(set(sizes.tolist())), key=lambda size: _gain(margins[:size], variance[:size], size * noise**2))
    chosen = doubt[:best]
    return ScaledMargins(tuple(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True)))


def _misfit(rounds, fit):
    """Return the variance of margins around the model, beyond what noise explains at two deviations."""
    surplus = fit.residuals.size - len(fit.strengths)
    opponents = sum(
        sum(len(group) * (len(group) - 1) for group in each.groups or [each.wins]) / each.deviation**2
        for each in rounds
    )
    excess = (fit.residuals**2).sum() - surplus - 2 * np.sqrt(2 * surplus)
    return max(0.0, excess / opponents) if opponents else 0.0


def _gain(margins, variance, noise):
    """Return by how much noisy answers would lower the expected loss, for pairs with these margins and variances."""
    deviation = variance / np.sqrt(variance + noise)
    x = np.abs(margins) / deviation
    return (deviation * (np.exp(-x * x / 2) / np.sqrt(2 * np.pi) - x * ndtr(-x))).sum()


def _matrices(pairs, answer, deviation, n_items):
    """Return the answer about pairs as `PairMargins`."""
    first, second = np.array(pairs, dtype=np.intp).T
    margins, weights = np.zeros((2, n_items, n_items))
    margins[first, second], margins[second, first] = answer, -answer
    weights[first, second] = weights[second, first] = 1 / deviation**2
    return PairMargins(margins, weights)


def _searched(order, fit, pairs, coins):
    """Return the order that a local search finds on margins of model and answers; `order` if the model explains all."""
    margins, _ = fit.model()
    asked = pairs.weights > 0
    apart, noise = pairs.margins[asked] - margins[asked], 1 / pairs.weights.max()
    misfit = (apart**2).mean() - noise * (1 + 2 / np.sqrt(len(apart)))  # the matrix has each pair twice
    if misfit <= 0:
        return order
    margins[asked] += apart * (misfit / (misfit + noise))
    cost = np.rint(-margins * (_FINE / (np.abs(margins).max() or 1.0))).astype(np.int64)
    found, work = insertion_search(cost, order), Work(_KICKS)
    while not work.over and (np.triu(cost[np.ix_(found, found)]) > 0).any():  # some pair is in the wrong order
        kicked = insertion_search(cost, _kicked(found, coins), work)
        if total_cost(cost, kicked) < total_cost(cost, found):
            found = kicked
    return found


def _kicked(order, coins):
    """Return an order in which a few random items are moved to random places."""
    order = order.tolist()
    for _ in range(3):
        item = order.pop(coins.integer(len(order)))
        order.insert(coins.integer(len(order) + 1), item)
    return order


def _rounded(values):
    """Return numbers rounded to nine digits of the largest, because all strengths may be tiny."""
    unit = 10.0 ** (np.floor(np.log10(np.abs(values).max(initial=0) or 1.0)) - _DIGITS)
    return np.round(values / unit) * unit + 0.0  # no -0.0
