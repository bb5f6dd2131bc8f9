"""The aggregator that trusts nobody and hears noisy net wins."""

from typing import Any

from numpy.typing import NDArray

from .._utils.constraints import EPSILON, RANDOM_STATE
from .._utils.types import Amount, RandomState
from ..channels import Local
from ..collection.curator import PrivUnitG
from ..rules import SortByScore
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class LDPBorda(RankAggregator):
    """PrivUnit Borda: each voter sends its centred Borda vector, randomised on the sphere; sort the sums.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of all that one voter's device says, in nats.
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
    reports_accepted_ : int
        How many reports, or answers, or shuffled messages, were counted.
    reports_refused_ : dict of {str: int}
        How many reports were left out, by reason; empty after `fit`.
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

    Unit: one ballot. Trust: nobody but the voter's own device. Neighbours replace a ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has; in the field,
    ``client(items)`` runs on the device and ``fit_reports`` at the curator.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    New here, and the best mechanism of one report a voter from about epsilon = 1.25 on; below, `LDPPairwise`. Where
    voters can be asked in rounds, `LDPAdaptivePairs` needs less on few items. Tied and partial ballots have shorter
    vectors; the device sends plus or minus the direction, with probabilities that keep the sum unbiased, so every
    report is of a unit vector.

    References
    ----------
    Asi, Feldman and Talwar (2022) for PrivUnitG.

    Examples
    --------
    >>> from sklearn_dprank import LDPBorda
    >>> LDPBorda(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    reports_accepted_: int
    reports_refused_: dict[str, int]
    scores_: NDArray[Any]
    noise_: PublishedNoise

    parameter_checks: dict = {**EPSILON, **RANDOM_STATE}

    def __init__(self, epsilon: Amount = 1.0, random_state: RandomState = None) -> None:
        self.epsilon = epsilon
        self.random_state = random_state

    def _compose(self):
        return Local(self.epsilon, PrivUnitG()), SortByScore()
