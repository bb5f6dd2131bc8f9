"""Aggregators for the local model with one report per voter."""

from typing import Any, Literal

from numpy.typing import NDArray

from .._utils.checks import CALIBRATION, COUNT_OR_NONE, EPSILON, RANDOM_STATE, check_delta, one_of, or_none
from .._utils.types import Amount, Calibration, RandomState, RuleName
from ..channels import Local
from ..collection.curator import HypercubeSampling, PrivUnitG
from ..collection.curator.resolve import flips_by_name
from ..rules import RULE, BradleyTerryRule, KwikSortRule, Rule, SortByScore, resolve_rule
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class LDPPairwise(RankAggregator):
    """Each voter answers a few random pairs (Yan et al.), or sends all its comparisons blurred (Alabi et al.).

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of all that one voter's device says, in nats.
    n_queries : int or None, default=1
        Pairs that each voter answers, at epsilon / n_queries an answer; None is `LDPKwikSort`'s choice. Not
        read by randomizer="djw".
    randomizer : {"rr", "laplace", "gaussian", "djw"}, default="rr"
        Randomized response; thresholded Laplace or Gaussian noise; or Duchi, Jordan and Wainwright's
        hypercube sampling on the vector of all comparisons (Alabi et al., Theorem 8).
    rule : None, str or Rule, default=None
        What turns answers into a ranking; None is Bradley-Terry, or Borda where there are no answer counts.
    calibration : {"exact", "published"}, default="exact"
        "published" takes the noise scale that Yan et al. (Laplace) or Song et al. (Gaussian) print;
        ``privacy_`` still states what it really gives.
    delta : float or None, default=None
        Only read by the published Gaussian calibration, where it sets the noise; the thresholded
        answers are pure whatever it is.
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
    optimal_gap_ : float
        With the Kemeny rule: certified bound on how much better another order could fit the noisy
        margins, relative to the overruled ones; computed from the release alone.
    margins_ : ndarray, shape (n_items, n_items)
        How many more voters prefer the row's item to the column's than the other way round, as the release has it:
        a noisy number of voters from a curator or from servers, an estimated share of those asked elsewhere.
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

    A thresholded noisy bit is a flipped bit: exactly calibrated, "laplace" and "gaussian" are randomized response.
    Yan et al. print its flip the wrong way round; Song et al. forget to split delta over the answers.

    With one pair a voter `fit` draws what all devices say together, without a draw for each: with probability
    1 - 2 f, f being the flip, a device tells the truth about its pair, else it says anything with one probability. The
    law is that of the devices to the last of f's 52 bits; what a seed gives is not what the same seed gives devices.

    References
    ----------
    Yan, Li and Liu (2020); Song et al. (2022); Alabi et al. (2022), Theorem 8; Bradley-Terry decoding of the same
    reports is new here.

    Examples
    --------
    >>> from sklearn_dprank import LDPPairwise
    >>> LDPPairwise(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    optimal_gap_: float
    reports_accepted_: int
    reports_refused_: dict[str, int]
    margins_: NDArray[Any]
    noise_: PublishedNoise

    parameter_checks: dict = {
        **EPSILON,
        "n_queries": COUNT_OR_NONE,
        "randomizer": one_of("rr", "laplace", "gaussian", "djw"),
        **RULE,
        **CALIBRATION,
        "delta": or_none(check_delta),
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        n_queries: int | None = 1,
        randomizer: Literal["rr", "laplace", "gaussian", "djw"] = "rr",
        rule: RuleName | Rule | None = None,
        calibration: Calibration = "exact",
        delta: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.n_queries = n_queries
        self.randomizer = randomizer
        self.rule = rule
        self.calibration = calibration
        self.delta = delta
        self.random_state = random_state

    def _compose(self):
        if self.randomizer == "djw":
            return Local(self.epsilon, HypercubeSampling()), resolve_rule(self.rule, SortByScore())
        randomizer = flips_by_name(self.randomizer, self.n_queries, self.calibration, self.delta)
        return Local(self.epsilon, randomizer), resolve_rule(self.rule, BradleyTerryRule())


class LDPKwikSort(RankAggregator):
    """LDP-KwikSort:RR, LDP-KwikSort:Lap: each voter answers K random pairs; KwikSort on the estimates.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of all that one voter's device says, in nats.
    n_queries : int or None, default=None
        Pairs that each voter answers. None is the integer beside epsilon / 2 with the least published error.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomized response, or thresholded Laplace noise.
    calibration : {"exact", "published"}, default="exact"
        "published" takes Yan et al.'s Laplace scale; ``privacy_`` still states what it really gives.
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
    margins_ : ndarray, shape (n_items, n_items)
        How many more voters prefer the row's item to the column's than the other way round, as the release has it:
        a noisy number of voters from a curator or from servers, an estimated share of those asked elsewhere.
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

    The papers' preset. `LDPPairwise` decodes the same reports by Bradley-Terry, at equal error with about
    2.3 times less epsilon.

    References
    ----------
    Yan, Li and Liu (2020), Algorithms 1-4.

    Examples
    --------
    >>> from sklearn_dprank import LDPKwikSort
    >>> LDPKwikSort(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    reports_accepted_: int
    reports_refused_: dict[str, int]
    margins_: NDArray[Any]
    noise_: PublishedNoise

    parameter_checks: dict = {
        **EPSILON,
        "n_queries": COUNT_OR_NONE,
        "randomizer": one_of("rr", "laplace"),
        **CALIBRATION,
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        n_queries: int | None = None,
        randomizer: Literal["rr", "laplace"] = "rr",
        calibration: Calibration = "exact",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.n_queries = n_queries
        self.randomizer = randomizer
        self.calibration = calibration
        self.random_state = random_state

    def _compose(self):
        randomizer = flips_by_name(self.randomizer, self.n_queries, self.calibration)
        return Local(self.epsilon, randomizer), KwikSortRule()


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
