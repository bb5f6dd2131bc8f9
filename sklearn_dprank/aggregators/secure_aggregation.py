"""Aggregators that trust that not all of several servers collude."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import DELTA, EPSILON, RANDOM_STATE, taken_by
from .._utils.types import Amount, RandomState
from ..channels import SecureAggregation
from ..rules import SortByScore, SwissRule
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class _Summed(RankAggregator):
    """Base of those that hear sums of many voters and nothing of one."""

    reports_accepted_: int
    reports_refused_: dict[str, int]
    local_epsilon_: float
    parameter_checks: dict = {
        **EPSILON,
        **DELTA,
        **taken_by(SecureAggregation, "n_servers", "min_reports", "max_reports"),
        **RANDOM_STATE,
    }

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
    """Borda by secure aggregation: voters add noise to their net wins and split them among servers.

    Nobody sees a ballot: each server sees uniform random numbers, and the curator the noisy sum. **A voter who sends
    nonsense can move the result by any amount**, as nobody sees that its numbers are out of range; protocols with range
    proofs (Prio3) prevent that, this one does not.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the sum, in nats.
    delta : float, default=1e-6
        Total failure probability.
    n_servers : int, default=2
        Among how many servers each voter splits its report; one that is honest is enough.
    min_reports : int or None, default=None
        Public: how many voters take part at least; nothing is released below. None is len(X) in `fit`.
    max_reports : int or None, default=None
        Public: how many take part at most; None is a hundred times `min_reports`.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source; anything else is for simulation only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        The guarantee of this fit, for the ballots that `fit` was given. It does not cover earlier steps of a pipeline
        or a search that chose the parameters: `~sklearn_dprank.privacy.guarantee_of` does.
    scores_ : ndarray, shape (n_items,)
        Each item's margins over all others together, as the release has them: their sum from a curator or from servers,
        their mean over the voters elsewhere. Not there with K-norm noise, which releases the order only.
    noise_ : PublishedNoise
        The law of the noise on what is published: public numbers. `rank_intervals` and `pair_confidence` read it.
    reports_accepted_ : int
        How many reports, or answers, or shuffled messages, were counted.
    reports_refused_ : dict of {str: int}
        How many reports were left out, by reason; empty after `fit`.
    local_epsilon_ : float
        Local epsilon of one voter's messages together.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: one of the servers, and `min_reports` voters who follow the protocol. If all servers
    collude, ``local_epsilon_`` at `delta` is left, which protects nobody. Neighbours replace a ballot; the
    number of voters is public. Voters who drop out, lie or are invented hide nobody, so keep `min_reports` to those you
    are sure of. `fit` simulates the sum; in the field, devices (`client`) send one message to each
    `~sklearn_dprank.collection.AggregationServer`, which adds up the voters whom all servers have heard from, once, and
    `fit_sums` reads the servers' sums.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    ``noise_`` is that of all voters in the sum, ``reports_accepted_`` of them, if all follow the protocol. Where fewer
    do, there is less noise, and the intervals are wider than need be; numbers that are no ballot's are not covered.

    New here. The noise of all voters together is Skellam noise, some 7 to 10 % wider than the Gaussian noise that a
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
    """Swiss Borda by secure aggregation: net wins in rounds, each a noisy sum that voters split among servers.

    The rounds of `DPSwissBorda` without a trusted curator: in each, voters add noise to their net wins within groups of
    neighbours. **A voter who sends nonsense can move the result by any amount**, as in `SecAggBorda`. `fit` simulates
    the rounds; in the field, devices (`client`) answer them one by one, and `fit_interactive` asks.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the sum, in nats.
    delta : float, default=1e-6
        Total failure probability.
    n_servers : int, default=2
        Among how many servers each voter splits its report; one that is honest is enough.
    min_reports : int or None, default=None
        Public: how many voters take part at least; nothing is released below. None is len(X) in `fit`.
    max_reports : int or None, default=None
        Public: how many take part at most; None is a hundred times `min_reports`.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source; anything else is for simulation only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        The guarantee of this fit, for the ballots that `fit` was given. It does not cover earlier steps of a pipeline
        or a search that chose the parameters: `~sklearn_dprank.privacy.guarantee_of` does.
    scores_ : ndarray of float, shape (n_items,)
        The strength of each item, larger is better, decoded from the noisy answers alone: of the voters, a share of
        about 1 / (1 + exp(scores_[j] - scores_[i])) prefers i to j. With little budget strengths are drawn to 0.
    reports_accepted_ : int
        How many reports, or answers, or shuffled messages, were counted.
    reports_refused_ : dict of {str: int}
        How many reports were left out, by reason; empty after `fit`.
    local_epsilon_ : float
        Local epsilon of one voter's messages together.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: one of the servers, and `min_reports` voters who follow the protocol. Neighbours replace a
    ballot; the number of voters is public. Renyi divergences of the rounds add up, also where a question depends on
    earlier answers; each round's noise is its share of them. Who is in a group follows from earlier answers, and how
    large groups are is public. The protocol states all rounds and what they cost together before the first: a device
    computes it, refuses more than its owner allows (`max_epsilon`, where all servers collude), answers each round once
    and in order, and only about groups as large as was stated. `min_reports` voters must answer a round, not the same
    ones in each. Of a round with fewer nothing is released, and it is not repeated: a warning says so, the rounds that
    were answered decide, and the guarantee stays that of all. Without the first there is no consensus.
    ``reports_accepted_`` is the number of voters in the smallest sum, ``reports_refused_`` counts messages of servers.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    New here. It pays where `DPSwissBorda` does: from some 20 items on, where voters agree about items that are far
    apart.

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
