"""Who is asked next, and at what price: the schedules of an interactive protocol."""

import math
from fractions import Fraction
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..orders.quicksort import quicksort_query_bound
from ..privacy.ledger import BudgetExhausted
from ..privacy.questions import group_load
from ..queries import PairMargin, PairTallies


class Terms(NamedTuple):
    """What a schedule agrees to, from public inputs only.

    Attributes
    ----------
    epsilon : float
        Of one answer.
    answers : int
        Most answers of one voter, the last resort not counted.
    reserve : float
        Epsilon of every voter's last report, kept back for when questions run out; 0 for none.
    how : str
        In a few words, for the guarantee.
    start : callable of (n_voters, bits) -> callable of () -> ndarray
        Starts a run; each call then gives the voters of the next question, or raises `BudgetExhausted`.
    """

    epsilon: float
    answers: int
    reserve: float
    how: str
    start: Any


class Slots(BaseEstimator):
    """Every voter has `n_queries` slots; a question takes as many slots of distinct voters as all can spare.

    Parameters
    ----------
    n_queries : int, default=1
        K: each answer costs epsilon / K.

    References
    ----------
    Song et al. (2022), Section 4.1, the baseline LDP-Quicksort: they do not say who answers; here a
    question takes floor(n K / q) slots, q the public number of questions, from K deals of all voters in random order.

    Examples
    --------
    >>> from sklearn_dprank.channels import Slots
    >>> from sklearn_dprank.queries import Ask, PairMargin
    >>> Slots(n_queries=2).terms(1.0, [Ask(PairMargin(), times=29)], n_items=10, n_voters=100).epsilon
    0.5
    """

    question = PairMargin

    def __init__(self, n_queries=1):
        self.n_queries = n_queries

    def terms(self, epsilon, asks, n_items, n_voters):
        """Return the `Terms`.

        Raises
        ------
        ValueError
            If n_queries is no positive integer.
        """
        if not isinstance(self.n_queries, Integral) or int(self.n_queries) < 1:
            raise ValueError(f"n_queries must be a positive integer, got {self.n_queries!r}.")
        slots, questions = int(self.n_queries), asks[0].times
        size = min(n_voters, n_voters * slots // questions)

        def start(n_voters, bits):
            waiting = np.empty(0, dtype=np.int64)
            deals = 0

            def following():
                nonlocal waiting, deals
                if size == 0 or (len(waiting) < size and deals == slots):
                    raise BudgetExhausted("no voter has a slot left.")
                if len(waiting) < size:
                    # Everybody once more; last those who still wait, so that nobody is asked one thing twice.
                    deal = bits.permutation(n_voters)
                    again = np.isin(deal, waiting)
                    waiting = np.concatenate([waiting, deal[~again], deal[again]])
                    deals += 1
                chosen, waiting = waiting[:size], waiting[size:]
                return chosen

            return following

        return Terms(epsilon / slots, slots, 0.0, f"{slots} answers a voter by randomized response", start)


class Groups(BaseEstimator):
    """Voters are dealt into m groups; each question goes to a random group, at most tau questions a group.

    Beyond tau, or q questions, the reserved half pays for one non-interactive report of every voter.

    References
    ----------
    Alabi et al. (2022), Algorithms 2 and 3.

    Notes
    -----
    As printed, the counter rises once for every user who answers, and Algorithm 3 leaves the epsilon of an
    answer open. Here the counter rises once a question, before anyone answers, and an answer costs
    epsilon / (2 tau), or epsilon / q where tau >= q and no fallback is needed. The responses are in {-1, 1}: with the
    printed {0, 1} they would spend only part of the budget.

    Examples
    --------
    >>> from sklearn_dprank.channels import Groups
    >>> from sklearn_dprank.queries import Ask, PairMargin
    >>> Groups().terms(1.0, [Ask(PairMargin(), times=45)], n_items=10, n_voters=100).answers
    15
    """

    question = PairMargin

    def terms(self, epsilon, asks, n_items, n_voters):
        """Return the `Terms`."""
        questions = asks[0].times
        load = min(group_load(quicksort_query_bound(n_items), n_items), questions)
        overflows = load < questions or len(asks) > 1
        each = float(Fraction(epsilon) / ((2 if overflows else 1) * load))

        def start(n_voters, bits):
            group = bits.permutation(n_voters) % n_items
            asked = np.zeros(n_items, dtype=np.int64)

            def following():
                chosen = bits.integer(n_items)
                asked[chosen] += 1
                if asked[chosen] > load or asked.sum() > questions:
                    raise BudgetExhausted("a group has been asked as often as was planned.")
                return np.flatnonzero(group == chosen)

            return following

        each = math.nextafter(each, 0)
        reserve = epsilon / 2 if overflows else 0.0
        return Terms(each, load, reserve, f"at most {load} answers a voter by randomized response", start)


class Rounds(BaseEstimator):
    """Each question goes to voters who were not asked before: an equal share of them, at the whole epsilon.

    Examples
    --------
    >>> from sklearn_dprank.channels import Rounds
    >>> from sklearn_dprank.queries import Ask, PairTallies
    >>> Rounds().terms(1.0, [Ask(PairTallies(), times=4)], n_items=10, n_voters=100).epsilon
    1.0
    """

    question = PairTallies

    def terms(self, epsilon, asks, n_items, n_voters):
        """Return the `Terms`."""
        rounds = asks[0].times

        def start(n_voters, bits):
            shares = iter(np.array_split(bits.permutation(n_voters), rounds))

            def following():
                share = next(shares, None)
                if share is None:
                    raise BudgetExhausted("every voter has been asked.")
                return share

            return following

        return Terms(epsilon, 1, 0.0, f"one answer a voter by randomized response, in {rounds} rounds", start)
