"""Exact answers without privacy, and the classic estimators; also surveys without privacy, to compare with."""

from __future__ import annotations

from dataclasses import field
from functools import partial, reduce
from typing import ClassVar
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import COUNT, Check, check_parameters, check_whole
from .._utils.estimators import BaseEstimator, parametrized
from .._utils.types import RandomState, Scores
from ..ballots.weights import WeightBound
from ..collection.base import simulated
from ..collection.pairs import PairFlips, PairsRandomizer
from ..collection.protocol import FLIP_GRID
from ..orders.kemeny import WORK_LIMIT
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import Ask, PairTallies, Tallies, n_pairs
from ..rules import HierarchicalRule, KemenyRule, KwikSortRule, SortByScore
from ..rules.bradley_terry import OutcomesRule
from .base import RankAggregator
from .plan import POSITIONS, Answers, Plan, ballots_of, check_derivable, refuse


class Exact(BaseEstimator):
    """Exact answers to all queries, for ballots that are not private.

    The classic aggregators use it. Ties are broken by item index. It warns if no ballot prefers any item to another.
    Private channels never accept, refuse or warn depending on the content of ballots.

    Examples
    --------
    >>> from sklearn_dprank.channels import Exact
    >>> print(Exact().plan([], n_items=3).guarantee)
    not private
    """

    takes_weights = True

    def plan(
        self, asks: list[Ask], n_items: int, n_voters: int | None = None, bound: WeightBound | None = None
    ) -> Plan:
        """Return a plan that answers all queries except random orders, on ballots with weights if `bound` is given.

        Raises
        ------
        ValueError
            If the rule asks for a random order, or for a query that cannot be computed. Also if ``max_weight="auto"``.
        """
        if bound is not None and bound.most is None:
            raise ValueError(
                "max_weight='auto' is for private estimators with Gaussian noise, which choose it; give a number."
            )
        for ask in asks:
            if ask.query.answered_with == "order":
                refuse(self, ask.query, "it draws nothing at random; use a Central channel, or the rule 'kemeny'.")
            ask.query.check(n_items)
        needs = frozenset(ask.query.needs for ask in asks)
        return Plan(PrivacyGuarantee.nothing(), _read_exactly, needs=needs, n_items=n_items, bound=bound)


def _read_exactly(profile):
    profile = profile.clipped("l2")
    if profile.without_opinions:
        warn(
            "no ballot of X prefers any item to another: all is tied or without an opinion. Tied items are in the "
            "order of the columns. Check how X was read.",
            stacklevel=6,  # the caller of `fit`
        )
    return partial(_ExactAnswers, profile)


class _ExactAnswers(Answers):
    def __init__(self, profile, bits):
        super().__init__(profile.n_items, bits.coins, fair_ties=False)
        self._profile, self.max_listed = profile, profile.max_listed
        self.bound = profile.bound

    def deviation(self, query):
        return 0.0

    def answer(self, query):
        query.check(self.n_items)
        return query.read(query.vector(self._profile, self.coins), self.n_items)


# Estimators with exact answers, without privacy.


class Borda(RankAggregator):
    """Borda ranking without privacy; use it for public ballots, or as the baseline of `DPBorda`.

    Borda's rule: sorts the items by their mean position.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    Items are sorted by net wins (margins summed over all other items). For complete rankings, this is the Borda order.
    Tied items have the mean of their positions. A missing opinion counts neither for nor against an item. Items with
    equal scores are ordered by column.

    Examples
    --------
    >>> from sklearn_dprank import Borda
    >>> Borda().fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    def _compose(self):
        return Exact(), SortByScore()


@parametrized
class PositionalRule(RankAggregator):
    """Ranking by position scores without privacy; use it for plurality, veto, or scores of your own.

    Positional rule: each ballot gives an item the score of its position, and items are sorted by total score.

    Parameters
    ----------
    scores : {"borda", "plurality", "veto"} or array-like of shape (n_items,), default="borda"
        Score of each position, best position first; larger is better.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    Tied items share the mean score of their positions. Items without an opinion are tied last. Scores are rounded to
    multiples of 1 / 720,720 of the largest absolute score. Integers below 2^20 are not rounded. Items with equal totals
    are ordered by column.

    Examples
    --------
    >>> from sklearn_dprank import PositionalRule
    >>> PositionalRule(scores="plurality").fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    scores: Scores = "borda"

    def _compose(self):
        return Exact(), SortByScore(self.scores)


@parametrized
class KwikSort(RankAggregator):
    """Quicksort by majority preferences without privacy; use it as a fast approximation of `Kemeny`.

    QuickSort, or KwikSort of Ailon, Charikar and Newman (2008): the majority decides each comparison, and pivots are
    random.

    Parameters
    ----------
    random_state : None, int, Generator or RandomState, default=None
        Seed or generator of the random pivots.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    References
    ----------
    Ailon, Charikar and Newman (2008). KwikSort alone is a 2-approximation of the Kemeny distance in expectation. The
    better of KwikSort and a random ballot is an 11/7-approximation.

    Examples
    --------
    >>> from sklearn_dprank import KwikSort
    >>> KwikSort(random_state=0).fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    random_state: RandomState = None

    def _compose(self):
        return Exact(), KwikSortRule()


@parametrized
class Kemeny(RankAggregator):
    """Optimal ranking without privacy; use it as the reference for all other estimators.

    Kemeny's rule, "optimal" in Hay et al. (2017): the order with the fewest pairwise disagreements with the ballots.

    Parameters
    ----------
    tolerance : float, default=0.0
        Relative tolerance. The search stops at an order that is certified to have at most (1 + tolerance) times the
        fewest disagreements. 0 is exact.
    work_limit : int or None, default=6000
        Limit on the work of the search, in units of about a millisecond. The default is about ten seconds for any
        number of items. Work is counted, not timed, so results do not depend on the machine. Only majority cycles of
        more than 20 items need much work. At the limit, the best order found is returned with a `ConvergenceWarning`,
        and ``optimal_gap_`` bounds its excess. None means unlimited.
    time_limit : float or None, default=None
        Limit on the time of the search, in seconds. Results then depend on the machine. None means unlimited.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    optimal_gap_ : float
        Certified upper bound on (cost - optimum) / optimum. The cost of an order is the sum of the margins that it
        overrules. 0.0 means that the order is proved optimal. Always finite.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    Hay et al. name two exact methods: an A* search that fills the positions from the top, and a linear program. Here,
    items are first split into majority components. The lower bound of A* adds up the smaller of the two counts of each
    remaining pair. Where it is exact, no search remains. Other components of more than 12 items use the linear program.
    It contains only constraints that were violated, and its bounds are proved in integers. If its solution is not an
    order, components of up to 20 items use dynamic programming over subsets, in a time that the ballots cannot
    increase. Larger components use branch and cut.

    References
    ----------
    Hay et al. (2017), Definition 1 and Section 4.1.

    Examples
    --------
    >>> from sklearn_dprank import Kemeny
    >>> Kemeny().fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    tolerance: float = 0.0
    work_limit: int | None = WORK_LIMIT
    time_limit: float | None = None

    def _compose(self):
        return Exact(), KemenyRule(self.tolerance, self.work_limit, self.time_limit)


class HierarchicalAggregation(RankAggregator):
    """Hierarchical ranking without privacy; use it as the baseline of `ShuffleHierarchical`.

    HRA of Ding et al. (2018): splits items into levels by the number of opponents that they beat, and splits each level
    again.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    References
    ----------
    Ding, Han, Dezert and Yang (2018); Song et al. (2022), Section 2.1.

    Examples
    --------
    >>> from sklearn_dprank import HierarchicalAggregation
    >>> HierarchicalAggregation().fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    def _compose(self):
        return Exact(), HierarchicalRule()


@parametrized
class BradleyTerry(RankAggregator):
    """Leaderboard by Bradley-Terry strengths without privacy; use it if each ballot compares few of the items.

    Model of Bradley and Terry (1952): sorts items by the strengths that maximise the penalised likelihood of the
    pairwise counts. In a profile of comparisons, a tie counts as half a win of each item.

    Parameters
    ----------
    ridge : float, default=0.01
        Weight of the penalty: ridge / 2 times the sum of squared strengths is subtracted from the log-likelihood.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    strengths_ : ndarray of float, shape (n_items,)
        Strength s of each item, with mean 0. Item i beats j with probability 1 / (1 + exp(s_j - s_i)).
    strength_std_ : ndarray of float, shape (n_items,)
        Standard error of each strength. Only of comparisons of at most 2,000 items; see the notes.
    max_weight_ : float
        Bound on the weight of a person. Only set if X is a `Profile` with persons.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Warns
    -----
    UserWarning
        If some items are not connected by comparisons, directly or through others. The order between such groups of
        items is arbitrary. Private estimators never warn of this.

    Notes
    -----
    Let n_ij be the number of comparisons of i and j, and p_ij the probability above. The observed Fisher information H
    has the entries -n_ij p_ij (1 - p_ij) beside the diagonal, and its rows sum to ``ridge``. ``strength_std_`` is the
    square root of the diagonal of (P H P)^+, where P subtracts the mean and ^+ is the pseudo-inverse. So it is the
    error of a strength relative to the mean of all items. It assumes independent comparisons. Ties vary less than the
    model says, so with them it is too large.

    A person counts at most as much as ``max_weight`` allows in `~sklearn_dprank.ballots.Profile.from_comparisons`, and
    numbers of comparisons are sums of these weights. If weights are below 1, standard errors are too large. With
    ``max_weight=1e6``, each comparison counts once.

    Memory grows with the number of pairs that occur. An item that won or lost all comparisons has a strength that
    depends on ``ridge``, and a large standard error.

    References
    ----------
    Bradley and Terry (1952).

    Examples
    --------
    >>> from sklearn_dprank import BradleyTerry
    >>> from sklearn_dprank.ballots import Profile
    >>> BradleyTerry().fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    >>> votes = {"a": ["x", "y", "x", "y"], "b": ["y", "z", "z", "x"], "winner": ["a", "tie", "b", "a"]}
    >>> profile = Profile.from_comparisons(votes, "a", "b", outcome="winner", person=None, items=["x", "y", "z"])
    >>> leaderboard = BradleyTerry().fit(profile)
    >>> leaderboard.consensus_.tolist(), leaderboard.strengths_.round(2), leaderboard.strength_std_.round(2)
    (['z', 'y', 'x'], array([-0.57, -0.15,  0.73]), array([0.87, 0.83, 1.08]))
    """

    ridge: float = 0.01

    strengths_: NDArray[np.float64] = field(init=False)
    strength_std_: NDArray[np.float64] = field(init=False)

    def _compose(self):
        return Exact(), OutcomesRule(self.ridge)


# Non-private survey: each voter answers a few random questions without randomisation.


@parametrized
class NonPrivateSurvey(BaseEstimator):
    """Non-private baseline for `Local`: voters answer a few random questions without randomisation.

    Each voter reports which item goes first in each of `n_queries` distinct random pairs. This is randomised response
    with flip probability 0. Compare it with `Local` for the cost of privacy, and with `Exact` for the cost of asking
    few questions.

    Parameters
    ----------
    n_queries : int, default=1
        Number of pairs that each voter answers; at most C(n_items, 2).

    Notes
    -----
    As in all channels with client reports, a voter without an opinion on a pair answers a fair coin. Coins also break
    ties. If voters with strict rankings answer all pairs, the estimated margins are those of `Exact`, divided by the
    number of voters.

    References
    ----------
    Yan, Li and Liu (2020), Sections 6.1.1 and 6.4: their non-private KwikSort receives K answers from each voter.

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.channels import NonPrivateSurvey
    >>> fitted = Aggregator(NonPrivateSurvey(n_queries=2), "kwiksort", random_state=0).fit([[0, 1, 2]] * 100)
    >>> print(fitted.consensus_, fitted.privacy_)
    [0 1 2] not private
    """

    n_queries: int = 1

    parameter_checks: ClassVar[dict[str, Check]] = {"n_queries": COUNT}

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None) -> Plan:
        """Return the plan, if answers about pairs determine all asks.

        Raises
        ------
        ValueError
            If `n_queries` is not from 1 to C(n_items, 2), or the answers do not determine the rule's asks.
        """
        check_parameters(self)
        check_whole(self.n_queries, "n_queries", 1, n_pairs(n_items))
        check_derivable(self, asks, n_items, PairTallies(), "answers about pairs")
        terms = {"items": list(range(n_items)), "n_queries": int(self.n_queries), "flip": [0, FLIP_GRID]}
        guarantee = PrivacyGuarantee.nothing(f"truthful answers about {self.n_queries} random pair(s) a voter")
        return Plan(guarantee, partial(partial, _surveyed, terms), needs=POSITIONS, n_items=n_items)


def _surveyed(terms, profile, bits):
    """Return the answers of simulated voters about new random pairs."""
    answers = Answers(len(terms["items"]), bits.coins)
    blocks = simulated(PairsRandomizer(), terms, ballots_of(profile), bits)
    wins = reduce(np.add, (PairFlips.counts(drawn, terms) for drawn, _ in blocks))
    answers.publish_numbers(PairTallies(), (Tallies(0.0, wins),))
    return answers
