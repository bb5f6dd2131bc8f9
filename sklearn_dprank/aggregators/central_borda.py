"""Borda aggregators for a trusted curator, in one release or in Swiss rounds."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import CALIBRATION, DELTA, EPSILON, NEIGHBORING, RANDOM_STATE, one_of
from .._utils.types import Amount, Calibration, Neighboring, RandomState
from ..channels import Central
from ..rules import SortByScore, SwissRule
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class DPBorda(RankAggregator):
    """P-BORDA: Borda on net wins with noise.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        Failure probability; positive for ``noise="gaussian"`` and only for it.
    noise : {"laplace", "gaussian", "knorm"}, default="laplace"
        Discrete Laplace; rounded Gaussian; or K-norm noise shaped like the permutohedron, which needs
        two thirds to four fifths of Laplace's epsilon at equal error (two fifths of the published calibration's).
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    calibration : {"exact", "published"}, default="exact"
        "published" takes Hay et al.'s Laplace scale; ``privacy_`` still states what it really gives.
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
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator who runs `fit`. One ballot moves the net wins by at most
    floor(m^2 / 2) in l1 and sqrt(m (m^2 - 1) / 3) in l2 under "add_remove", twice that under "replace".
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    Hay et al. add Lap(m (m - 1) / (2 epsilon)) to uncentred Borda counts. Net wins need no count of
    voters and floor(m^2 / 2) / (m (m - 1)) of that noise under "add_remove"; under "replace" the
    printed scale gives 2 floor(m^2 / 2) / (m (m - 1)) times epsilon, which is more than epsilon.

    References
    ----------
    Hay, Elagina and Miklau (2017), Section 3.2 (P-BORDA); Joseph and Yu (2023) for K-norm sampling;
    Balle and Wang (2018) for the Gaussian's scale.

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

    parameter_checks: dict = {
        **EPSILON,
        **DELTA,
        "noise": one_of("laplace", "gaussian", "knorm"),
        **NEIGHBORING,
        **CALIBRATION,
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: Literal["laplace", "gaussian", "knorm"] = "laplace",
        neighboring: Neighboring = "add_remove",
        calibration: Calibration = "exact",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.neighboring = neighboring
        self.calibration = calibration
        self.random_state = random_state

    def _compose(self):
        channel = Central(
            self.epsilon, self.delta, self.noise, neighboring=self.neighboring, calibration=self.calibration
        )
        return channel, SortByScore()


class DPSwissBorda(RankAggregator):
    """Swiss Borda: net wins in rounds, each item against those near it, with Gaussian noise.

    Four rounds share one budget. The first asks for the net wins of all items; each later one sorts the items by what
    is known so far and asks for net wins within groups of neighbours, where one ballot moves less. All answers together
    are decoded into strengths, as in the Bradley-Terry model.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=1e-6
        Failure probability; positive.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
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
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator who runs `fit`. One ballot moves the net wins within groups of k items by
    sqrt(sum k (k^2 - 1) / 3) in l2 under "add_remove", twice that under "replace", whoever is in the groups: their
    sizes are public, and who is in them follows from earlier answers. The answers are Gaussian, so that the squares of
    their sensitivities over their noise add up, also where a question depends on earlier answers, and delta is not
    split. Under "add_remove" 2 % of that sum buys a noisy number of voters, which the decoder needs; under "replace"
    that number is public.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    It pays where voters agree about items that are far apart. With 45 items, 5,000 voters and Mallows ballots
    (phi = .75) it needs about half the epsilon of Borda with Gaussian noise. Up to 13 items all rounds are net wins of
    all items, and it is no better; where margins are small against the number of voters, neither.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian differential privacy", for the composition; Balle and Wang (2018) for the
    Gaussian's scale.

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
    parameter_checks: dict = {**EPSILON, **DELTA, **NEIGHBORING, **RANDOM_STATE}

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
