"""The classic aggregators: exact answers, no privacy."""

from .._utils.checks import RANDOM_STATE
from .._utils.types import RandomState, Scores
from ..channels import Exact
from ..orders.kemeny.work import WORK_LIMIT
from ..rules import BradleyTerryRule, HierarchicalRule, KemenyRule, KwikSortRule, SortByScore
from ..rules.sort import check_scores
from .base import RankAggregator


class Borda(RankAggregator):
    """Borda: sort the items by their average position.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    Items are sorted by net wins (margins summed over opponents): for complete rankings the Borda order,
    for ties the mean of the tied positions, and no opinion counts neither for nor against. Equal
    scores are ordered by column.

    Examples
    --------
    >>> from sklearn_dprank import Borda
    >>> Borda().fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {}

    def _compose(self):
        return Exact(), SortByScore()


class PositionalRule(RankAggregator):
    """Positional rule: sort the items by the scores of their positions (Borda, plurality, veto, your own).

    Parameters
    ----------
    scores : {"borda", "plurality", "veto"} or array-like of shape (n_items,), default="borda"
        The score of each position, best position first; larger is better.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    Tied items share the mean score of their positions; items without an opinion are tied last. Scores
    that are not integers are rounded to a 720,720th of the largest. Equal totals are ordered by column.

    Examples
    --------
    >>> from sklearn_dprank import PositionalRule
    >>> PositionalRule(scores="plurality").fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {"scores": check_scores}

    def __init__(self, scores: Scores = "borda") -> None:
        self.scores = scores

    def _compose(self):
        return Exact(), SortByScore(self.scores)


class KwikSort(RankAggregator):
    """QuickSort / KwikSort: quicksort on majority preferences with random pivots.

    Parameters
    ----------
    random_state : None, int, Generator or RandomState, default=None
        Picks the pivots.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    References
    ----------
    Ailon, Charikar and Newman (2008). Alone a 2-approximation of the Kemeny distance in expectation; the
    better of it and a random ballot has 11/7.

    Examples
    --------
    >>> from sklearn_dprank import KwikSort
    >>> KwikSort(random_state=0).fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {**RANDOM_STATE}

    def __init__(self, random_state: RandomState = None) -> None:
        self.random_state = random_state

    def _compose(self):
        return Exact(), KwikSortRule()


class Kemeny(RankAggregator):
    """Optimal: the order with the fewest pairwise disagreements with the ballots (Kemeny).

    Parameters
    ----------
    tolerance : float, default=0.0
        Stop at an order certified to have at most (1 + tolerance) times the fewest disagreements; 0 is
        exact.
    work_limit : int or None, default=10000
        Most work, in units of about a millisecond: about ten seconds at any number of items. Work is counted and not
        timed, so that results do not depend on the machine; much is needed only where majorities form cycles of
        more than 18 items. At the limit the best order found is returned with a `ConvergenceWarning`, and
        ``optimal_gap_`` says what is certified of it. None is no limit.
    time_limit : float or None, default=None
        Most seconds; opt-in, because results then depend on the machine.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    optimal_gap_ : float
        Certified bound on the disagreements that could be saved, relative to the optimum's overruled
        margins; 0.0 is proved optimal. Always finite.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    Hay et al. name two exact ways: an A* search that fills the places from the top, and a linear program. Here items
    fall into majority components first; where A*'s bound (each pair left costs the smaller of its two counts) is
    exact, nothing is left to search. Components of up to 18 items take dynamic programming over subsets, in a time
    that no ballots raise. Larger ones take the linear program: with the constraints that are violated only, bounds
    proved in integers, and branching where its solution is no order.

    References
    ----------
    Hay et al. (2017), Definition 1 and Section 4.1.

    Examples
    --------
    >>> from sklearn_dprank import Kemeny
    >>> Kemeny().fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    optimal_gap_: float

    parameter_checks: dict = {**KemenyRule.parameter_checks}

    def __init__(
        self, tolerance: float = 0.0, work_limit: int | None = WORK_LIMIT, time_limit: float | None = None
    ) -> None:
        self.tolerance = tolerance
        self.work_limit = work_limit
        self.time_limit = time_limit

    def _compose(self):
        return Exact(), KemenyRule(self.tolerance, self.work_limit, self.time_limit)


class HierarchicalAggregation(RankAggregator):
    """HRA: split items into levels by how many opponents they beat, and each level again by itself.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    References
    ----------
    Ding, Han, Dezert and Yang (2018); Song et al. (2022), Section 2.1.

    Examples
    --------
    >>> from sklearn_dprank import HierarchicalAggregation
    >>> HierarchicalAggregation().fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {}

    def _compose(self):
        return Exact(), HierarchicalRule()


class BradleyTerry(RankAggregator):
    """Bradley-Terry: sort the items by the strengths that explain the pairwise counts best.

    Parameters
    ----------
    ridge : float, default=0.01
        Half of it times the sum of squared strengths is subtracted from the log-likelihood.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        Not private.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    References
    ----------
    Bradley and Terry (1952).

    Examples
    --------
    >>> from sklearn_dprank import BradleyTerry
    >>> BradleyTerry().fit([[0, 1, 2], [0, 2, 1], [2, 0, 1]]).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {**BradleyTerryRule.parameter_checks}

    def __init__(self, ridge: float = 0.01) -> None:
        self.ridge = ridge

    def _compose(self):
        return Exact(), BradleyTerryRule(self.ridge)
