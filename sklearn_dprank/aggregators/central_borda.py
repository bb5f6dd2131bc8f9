"""Borda estimators for a trusted curator, in one release or in Swiss rounds."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._utils.types import Amount, Neighboring, RandomState
from ..channels import Central
from ..mechanisms import Mechanism
from ..rules import SortByScore, SwissRule
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class DPBorda(RankAggregator):
    """Private Borda ranking for a trusted curator; try this estimator first.

    P-BORDA of Hay et al. (2017): sorts items by noisy net wins (margins summed over all other items).

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. Must be positive for ``noise="gaussian"``, else 0.
    noise : {"laplace", "gaussian", "knorm"} or Mechanism, default="laplace"
        Discrete Laplace, rounded Gaussian, or K-norm noise shaped like the permutohedron. At equal error, K-norm noise
        needs two thirds to four fifths of the epsilon of Laplace noise. `~sklearn_dprank.theory.hay.PrintedLaplace` has
        the scale as Hay et al. print it; ``privacy_`` still states the true epsilon.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted, "replace" only how.
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
        Noisy net wins: wins minus losses against all other items, summed over all voters. K-norm noise releases the
        order only, so this attribute and ``noise_`` are missing.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator who runs `fit`. Under "add_remove", one ballot changes the net wins by at most
    floor(m^2 / 2) in L1 and sqrt(m (m^2 - 1) / 3) in L2. Under "replace", both limits double.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Hay et al. add Lap(m (m - 1) / (2 epsilon)) to uncentred Borda counts. Let r = floor(m^2 / 2) / (m (m - 1)). Net
    wins are centred. Under "add_remove", they need r times the printed noise for the same epsilon, and no voter count.
    Under "replace", the printed scale spends 2 r epsilon, which is more than epsilon.

    References
    ----------
    Hay, Elagina and Miklau (2017), Section 3.2 (P-BORDA); Joseph and Yu (2023) for K-norm sampling; Balle and Wang
    (2018) for the Gaussian scale.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> borda = DPBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 100)
    >>> borda.consensus_
    array([0, 1, 2])
    >>> print(borda.privacy_)
    epsilon = 1 (central, add_remove; simulation only: a seed was given)
    """

    scores_: NDArray[Any]
    noise_: PublishedNoise

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: Literal["laplace", "gaussian", "knorm"] | Mechanism = "laplace",
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        return Central(self.epsilon, self.delta, self.noise, neighboring=self.neighboring), SortByScore()


class DPSwissBorda(RankAggregator):
    """Private ranking in Swiss rounds for a trusted curator; use it for 14 or more items, with a positive delta.

    Swiss Borda (new in this package): four rounds with Gaussian noise share one budget. The first round asks for the
    net wins of all items. The next two sort the items by their strengths so far. They ask for net wins within groups of
    neighbouring items, which one ballot changes less. The last round asks for the margins of the pairs in doubt, or for
    net wins within groups if noise would drown margins. Strengths are estimated from all answers together, as in the
    Bradley-Terry model. The number of voters who follow this model is estimated too; all others balance each other.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=1e-6
        The delta of the guarantee. Must be positive, because all noise is Gaussian.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted, "replace" only how.
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
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator who runs `fit`. Under "add_remove", one ballot changes the net wins within
    groups of k items by at most sqrt(sum k (k^2 - 1) / 3) in L2. Under "replace", this limit doubles. It depends only
    on the group sizes, which are public. The members of the groups follow from earlier answers. So do the pairs and the
    kind of the last question. It is scaled by a public integer, so that its sensitivity is the same in every case.

    All answers are Gaussian. So the squared ratios of sensitivity to noise add up, even if a question depends on
    earlier answers, and delta is not split. Under "add_remove", 2 % of that sum is spent on a noisy number of voters,
    which is needed to estimate the strengths. Under "replace", that number is public.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    It reduces the error if voters agree on pairs that are far apart in the consensus. With 45 items, 5,000 voters and
    Mallows ballots (phi = .75), it needs about half the epsilon of Borda with Gaussian noise. It is not better for up
    to 13 items and small epsilon, where all rounds ask for the net wins of all items. It is also not better if margins
    are small against the number of voters.

    With growing epsilon, the consensus approaches the Kemeny order, also on an electorate with two or three camps. Net
    wins alone approach the Borda order. The last step is a local search, which may end in a slightly worse order.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian differential privacy", for the composition; Balle and Wang (2018) for the
    Gaussian scale.

    Examples
    --------
    >>> from sklearn_dprank import DPSwissBorda
    >>> swiss = DPSwissBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 100)
    >>> swiss.consensus_
    array([0, 1, 2])
    >>> print(swiss.privacy_)
    epsilon = 1, delta = 1e-06 (central, add_remove; simulation only: a seed was given)
    """

    scores_: NDArray[np.float64]

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        return Central(self.epsilon, self.delta, "gaussian", neighboring=self.neighboring), SwissRule()
