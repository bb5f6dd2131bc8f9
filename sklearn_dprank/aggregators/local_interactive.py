"""Estimators for the local model with adaptive questions."""

from __future__ import annotations

from .._utils.types import Amount, RandomState
from ..channels import Groups, Interactive, Rounds, Slots
from ..rules import AdaptiveBradleyTerryRule, KwikSortRule
from .base import RankAggregator


class LDPQuickSort(RankAggregator):
    """Quicksort in the local model; use it to reproduce the baseline of Song et al. (2022).

    LDP-Quicksort: asks voters about each pair that quicksort compares.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
    n_queries : int, default=1
        K, the number of answers that each voter may give, at epsilon / K each. Each comparison asks floor(s) distinct
        voters, where s = min(n, n K / q) and q = floor((m - 1) log2 m). After q comparisons, fair coins decide. A
        `UserWarning` is issued if s is below 1 or below 1 / (2 sinh(epsilon / (2 K))^2). About three pairs in ten are
        then misordered, even if all voters agree.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    reports_accepted_ : int
        Number of reports or answers that were counted.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect answers, run
    ``client(items)`` on each device and ``fit_interactive`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    References
    ----------
    Song et al. (2022), Section 4.1: the baseline of the paper, which does not specify it further.

    Examples
    --------
    >>> from sklearn_dprank import LDPQuickSort
    >>> LDPQuickSort(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    reports_accepted_: int
    reports_refused_: dict[str, int]

    def __init__(self, epsilon: Amount = 1.0, n_queries: int = 1, random_state: RandomState = None) -> None:
        self.epsilon = epsilon
        self.n_queries = n_queries
        self.random_state = random_state

    def _compose(self):
        return Interactive(self.epsilon, Slots(self.n_queries)), KwikSortRule(on_exhausted="coin")


class LDPGroupKwikSort(RankAggregator):
    """KwikSort over groups of voters in the local model; use it to reproduce Alabi et al. (2022).

    LDPKwikSort of Alabi et al., Algorithms 2 and 3: each comparison asks one of m groups of voters.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    reports_accepted_ : int
        Number of reports or answers that were counted.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    optimal_gap_ : float
        Certified bound, as in `Kemeny`, for the order computed from the last reports. Set only if the questions ran
        out.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect answers, run
    ``client(items)`` on each device and ``fit_interactive`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Whether questions ran out depends only on the answers and on public coins, so it may be published. For every
    practical number of items, one random pair per voter (`LDPPairwise`) has several times less noise.

    References
    ----------
    Alabi et al. (2022), Algorithms 2 and 3, Corollary 12; `sklearn_dprank.channels.Groups` states the corrections.

    Examples
    --------
    >>> from sklearn_dprank import LDPGroupKwikSort
    >>> LDPGroupKwikSort(epsilon=8.0, random_state=0).fit([[0, 1, 2]] * 600).consensus_
    array([0, 1, 2])
    """

    reports_accepted_: int
    reports_refused_: dict[str, int]
    optimal_gap_: float

    def __init__(self, epsilon: Amount = 1.0, random_state: RandomState = None) -> None:
        self.epsilon = epsilon
        self.random_state = random_state

    def _compose(self):
        return Interactive(self.epsilon, Groups()), KwikSortRule(on_exhausted="kemeny")


class LDPAdaptivePairs(RankAggregator):
    """Private ranking in the local model in rounds; use it if you can query voters in rounds.

    Adaptive randomised response (new in this package): later voters are asked about pairs that are still close.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
    n_rounds : int, default=4
        Number of rounds, at most 1,000. Each round asks an equal share of the voters, and each voter is asked once.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    reports_accepted_ : int
        Number of reports or answers that were counted.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect answers, run
    ``client(items)`` on each device and ``fit_interactive`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    At equal error, the best local mechanism in the literature needs about 1.8 times the epsilon.

    Examples
    --------
    >>> from sklearn_dprank import LDPAdaptivePairs
    >>> LDPAdaptivePairs(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    reports_accepted_: int
    reports_refused_: dict[str, int]

    def __init__(self, epsilon: Amount = 1.0, n_rounds: int = 4, random_state: RandomState = None) -> None:
        self.epsilon = epsilon
        self.n_rounds = n_rounds
        self.random_state = random_state

    def _compose(self):
        return Interactive(self.epsilon, Rounds()), AdaptiveBradleyTerryRule(self.n_rounds)
