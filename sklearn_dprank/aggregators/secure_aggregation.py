"""Estimators for secure aggregation by several servers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.types import Amount, RandomState
from ..channels import SecureAggregation
from ..rules import SortByScore, SwissRule
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class _Summed(RankAggregator):
    """Base class of estimators that receive only sums over many voters."""

    reports_accepted_: int
    reports_refused_: dict[str, int]
    local_epsilon_: float

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        n_servers: int = 2,
        min_reports: int | None = None,
        max_reports: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_servers = n_servers
        self.min_reports = min_reports
        self.max_reports = max_reports
        self.random_state = random_state


class SecAggBorda(_Summed):
    """Private Borda ranking by secure aggregation; try it first if at least one of several servers is trusted.

    Voters add noise to their net wins and split the result among servers (new in this package). Each server sees only
    uniform random numbers, and the curator sees only the noisy sum. **A voter who sends invalid numbers can change the
    result by any amount**, because servers cannot check their range. Protocols with range proofs (Prio3) prevent that.
    This protocol does not.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the released sums, in nats.
    delta : float, default=1e-6
        Total delta. Must be positive.
    n_servers : int, default=2
        Number of servers among which each voter splits a report. One honest server is enough.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. With fewer voters, the fit fails and releases no result. None is
        ``len(X)`` in `fit`; protocols for devices need a number.
    max_reports : int or None, default=None
        Public upper limit on the number of voters. None is 100 times `min_reports`.
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
    scores_ : ndarray, shape (n_items,)
        Noisy net wins, summed over all voters.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    reports_accepted_ : int
        Number of voters in the sum; with several sums, in the smallest one.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter at `delta`, without trust in the servers.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: one of the servers, and `min_reports` voters who follow the protocol. If all servers
    collude, only ``local_epsilon_`` at `delta` remains, which does not protect the voters. Neighbours differ in one
    replaced ballot; the number of voters is public. Voters who drop out, deviate from the protocol or are fake may add
    no noise, so set `min_reports` to the number of honest voters that you are sure of.

    `fit` simulates the sum. To collect ballots, devices (`client`) send one message to each
    `~sklearn_dprank.collection.AggregationServer`. The servers add up the voters from whom all servers received a
    message, each voter once. `fit_sums` reads the servers' sums.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    ``noise_`` is the noise of all ``reports_accepted_`` voters in the sum, if all of them follow the protocol. If fewer
    do, there is less noise, and the intervals are wider than necessary. The intervals do not hold if a voter sends
    numbers that encode no ballot.

    The noise of all voters together is Skellam noise. It is about 7 to 10 % wider than the Gaussian noise that a
    trusted curator needs for the same guarantee.

    References
    ----------
    Agarwal, Kairouz and Liu (2021) for Skellam noise; Corrigan-Gibbs and Boneh (2017), "Prio", for shares of a sum.

    Examples
    --------
    >>> from sklearn_dprank import SecAggBorda
    >>> SecAggBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    scores_: NDArray[Any]
    noise_: PublishedNoise

    def _compose(self):
        channel = SecureAggregation(self.epsilon, self.delta, self.n_servers, self.min_reports, self.max_reports)
        return channel, SortByScore()


class SecAggSwissBorda(_Summed):
    """Private Borda ranking by secure aggregation in rounds; use it for many items if devices can answer in rounds.

    Swiss Borda by secure aggregation (new in this package): the rounds of `DPSwissBorda` without a trusted curator. In
    each round, voters add noise to their net wins within groups of neighbouring items, or to their opinions on pairs in
    doubt, and split the result among servers. **A voter who sends invalid numbers can change the result by any
    amount**, as in `SecAggBorda`. `fit` simulates the rounds. To collect ballots, `fit_interactive` asks the questions,
    and devices (`client`) answer them one by one.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the released sums, in nats.
    delta : float, default=1e-6
        Total delta. Must be positive.
    n_servers : int, default=2
        Number of servers among which each voter splits a report. One honest server is enough.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. With fewer voters, the fit fails and releases no result. None is
        ``len(X)`` in `fit`; protocols for devices need a number.
    max_reports : int or None, default=None
        Public upper limit on the number of voters. None is 100 times `min_reports`.
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
    scores_ : ndarray of float, shape (n_items,)
        Strength of each item, larger is better, estimated from the noisy answers only. Of the voters who follow the
        Bradley-Terry model, a share of about 1 / (1 + exp(scores_[j] - scores_[i])) prefers i to j. A small budget
        shrinks strengths towards 0. The consensus may differ from the order of the scores if single margins contradict
        them.
    reports_accepted_ : int
        Number of voters in the sum; with several sums, in the smallest one.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter at `delta`, without trust in the servers.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: one of the servers, and `min_reports` voters who follow the protocol. Neighbours differ in
    one replaced ballot; the number of voters is public. Renyi divergences of the rounds add up, even if a question
    depends on earlier answers. The noise of each round corresponds to its share of the sum. The sizes of the groups are
    public, and their members follow from earlier answers. So do the pairs and the kind of the last question. It is
    scaled by a public integer, so that its sensitivity is the same in every case.

    The protocol states all rounds and their joint cost before the first one. A device computes this cost and refuses
    more than its owner allows (`max_epsilon`, for the case that all servers collude). It answers each round once and in
    order. Before the last round, it answers only about groups of the stated sizes.

    At least `min_reports` voters must answer a round, but not the same ones in each round. A round with fewer voters
    releases no sum and is not repeated. A warning reports it, the other rounds decide, and the guarantee still covers
    all rounds. Without the last round, the consensus is the order of the scores. Without the first, the fit fails.
    ``reports_refused_`` counts messages of servers.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Like `DPSwissBorda`, it reduces the error if voters agree on pairs that are far apart in the consensus, here with
    about 20 items or more.

    References
    ----------
    Agarwal, Kairouz and Liu (2021) for Skellam noise; Corrigan-Gibbs and Boneh (2017), "Prio", for shares of a sum.

    Examples
    --------
    >>> from sklearn_dprank import SecAggSwissBorda
    >>> SecAggSwissBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    scores_: NDArray[np.float64]

    def _compose(self):
        channel = SecureAggregation(self.epsilon, self.delta, self.n_servers, self.min_reports, self.max_reports)
        return channel, SwissRule()
