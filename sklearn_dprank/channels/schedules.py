"""Schedules of interactive protocols, which select the voters for each question."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import COUNT, Check, check_parameters, safe_repr
from .._utils.scikit_learn import BaseEstimator
from ..collection.curator.query_count import group_load
from ..orders.quicksort import quicksort_query_bound
from ..queries import AllMargins, Ask, PairMargin, PairTallies


class VoterLoad(NamedTuple):
    """Number of answers that a schedule asks of each voter, from public inputs only.

    Attributes
    ----------
    answers : int
        Maximum number of answers per voter, without the last report. They share the epsilon outside the reserve.
    reserve : float
        Epsilon reserved for a last report of every voter, used when questions run out. 0 means no last report.
    how : str
        Short description for the guarantee, with {} in place of the randomizer.
    start : callable of (n_voters, bits) -> iterator of ndarray or None
        Yields the voters of each question. None refuses a question, and the end refuses all further questions.
    """

    answers: int
    reserve: float
    how: str
    start: Callable[..., Iterator[NDArray[np.int64] | None]]


class Slots(BaseEstimator):
    """Schedule that gives every voter `n_queries` slots and divides all slots equally among the questions.

    Parameters
    ----------
    n_queries : int, default=1
        K, the number of answers per voter. Each answer costs epsilon / K.

    References
    ----------
    Song et al. (2022), Section 4.1 (the baseline LDP-Quicksort). The paper does not state who answers. Here, each of q
    questions (a public number) takes floor(n K / q) slots of distinct voters, at most n. The slots come from K random
    orders of all voters.

    Examples
    --------
    >>> from sklearn_dprank.channels import Slots
    >>> from sklearn_dprank.queries import Ask, PairMargin
    >>> Slots(n_queries=2).voter_load(1.0, [Ask(PairMargin(), times=29)], n_items=10, n_voters=100).answers
    2
    """

    parameter_checks: dict[str, Check] = {"n_queries": COUNT}
    question = PairMargin().kind
    last_resort = None

    def __init__(self, n_queries: int = 1) -> None:
        self.n_queries = n_queries

    def warn_of_few(self, epsilon: float, asks: list[Ask], n_voters: int) -> None:
        """Warn if too few voters answer each question. The number of voters is public here.

        A question has s = n K / q answers with epsilon / K each. Suppose that all voters agree. The majority of the
        answers is wrong with a probability of about Phi(-sqrt(s) sinh(epsilon / (2 K))), which is 1/4 if s sinh^2 is
        about 1/2. Quicksort then misorders three pairs in ten, for 5 to 40 items and every epsilon and K.
        """
        slots, questions = int(self.n_queries), asks[0].times
        answers = float(min(Fraction(n_voters * slots, questions), Fraction(n_voters)))
        share = float(Fraction(epsilon) / slots)
        if answers < 1 or answers * math.sinh(min(share / 2, 1.0)) ** 2 < 0.5:
            warnings.warn(
                f"{n_voters} voters with n_queries={safe_repr(self.n_queries)} give {answers:.3g} answers to "
                f"each of {questions} comparisons, at an epsilon of {share:.3g} each: the order is little "
                "better than coin flips even if all voters agree. Use a larger epsilon, more voters, or LDPPairwise.",
                UserWarning,
                stacklevel=2,
            )

    def voter_load(self, epsilon: float, asks: list[Ask], n_items: int, n_voters: int) -> VoterLoad:
        """Return the `VoterLoad`.

        Raises
        ------
        ValueError
            If `n_queries` is not a positive integer.
        """
        check_parameters(self)
        slots, questions = int(self.n_queries), asks[0].times
        size = min(n_voters, n_voters * slots // questions)
        return VoterLoad(slots, 0.0, f"{slots} answers a voter by {{}}", partial(_deals, slots, size))


def _deals(slots, size, n_voters, bits):
    """Yield `size` voters at a time from `slots` random orders of all voters."""
    waiting = np.empty(0, dtype=np.int64)
    for _ in range(slots if size else 0):
        # A new order of all voters. Those still waiting go last, so that no question has one voter twice.
        deal = bits.permutation(n_voters)
        again = np.isin(deal, waiting)
        waiting = np.concatenate([waiting, deal[~again], deal[again]])
        while len(waiting) >= size:
            yield waiting[:size]
            waiting = waiting[size:]


class Groups(BaseEstimator):
    """Schedule that divides voters into m groups and sends each question to a random group.

    A group receives at most tau questions, and all groups together q. Beyond these limits, the reserved half of epsilon
    pays for one non-interactive report of every voter.

    References
    ----------
    Alabi et al. (2022), Algorithms 2 and 3.

    Notes
    -----
    As printed, the counter increases once for every user who answers. Algorithm 3 does not state the epsilon of an
    answer. Here, the counter increases once per question, before any answer. An answer costs epsilon / (2 tau), or
    epsilon / q if tau >= q and no fallback is needed. Responses are in {-1, 1}. With the printed {0, 1}, they would
    spend only part of the budget.

    Examples
    --------
    >>> from sklearn_dprank.channels import Groups
    >>> from sklearn_dprank.queries import Ask, PairMargin
    >>> Groups().voter_load(1.0, [Ask(PairMargin(), times=45)], n_items=10, n_voters=100).answers
    15
    """

    question = PairMargin().kind
    last_resort = AllMargins().kind

    def voter_load(self, epsilon: float, asks: list[Ask], n_items: int, n_voters: int) -> VoterLoad:
        """Return the `VoterLoad`."""
        questions = asks[0].times
        load = min(group_load(quicksort_query_bound(n_items), n_items), questions)
        reserve = epsilon / 2 if load < questions or len(asks) > 1 else 0.0
        start = partial(_turns, n_items, load, questions)
        return VoterLoad(load, reserve, f"at most {load} answers a voter by {{}}", start)


def _turns(n_groups, load, questions, n_voters, bits):
    """Yield the voters of a random group, or None if it was asked `load` times or all groups `questions` times."""
    group = bits.permutation(n_voters) % n_groups
    asked = np.zeros(n_groups, dtype=np.int64)
    while True:
        chosen = bits.integer(n_groups)
        asked[chosen] += 1
        exhausted = asked[chosen] > load or asked.sum() > questions
        yield None if exhausted else np.flatnonzero(group == chosen)


class Rounds(BaseEstimator):
    """Schedule that asks each voter once: each question goes to an equal share of all voters, at the whole epsilon.

    Examples
    --------
    >>> from sklearn_dprank.channels import Rounds
    >>> from sklearn_dprank.queries import Ask, PairTallies
    >>> Rounds().voter_load(1.0, [Ask(PairTallies(), times=4)], n_items=10, n_voters=100).answers
    1
    """

    question = PairTallies().kind
    last_resort = None

    def voter_load(self, epsilon: float, asks: list[Ask], n_items: int, n_voters: int) -> VoterLoad:
        """Return the `VoterLoad`."""
        rounds = asks[0].times
        return VoterLoad(1, 0.0, f"one answer a voter by {{}}, in {rounds} rounds", partial(_shares, rounds))


def _shares(rounds, n_voters, bits):
    """Return an iterator of equal shares of all voters, in random order."""
    return iter(np.array_split(bits.permutation(n_voters), rounds))
