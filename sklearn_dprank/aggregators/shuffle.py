"""Aggregators that trust a shuffler."""

from typing import Any, Literal

from numpy.typing import NDArray

from .._utils.checks import (
    CALIBRATION,
    COUNT,
    DELTA,
    EPSILON,
    RANDOM_STATE,
    VOTERS_OR_NONE,
    check_epsilon,
    one_of,
    or_none,
)
from .._utils.types import Amount, Calibration, RandomState, RuleName
from ..channels import Shuffle
from ..collection.curator.resolve import flips_by_name
from ..rules import RULE, BradleyTerryRule, HierarchicalRule, Rule, resolve_rule
from ..uncertainty import PublishedNoise
from .base import RankAggregator

_LOCAL = {"local_epsilon": or_none(check_epsilon), "min_reports": VOTERS_OR_NONE}


class _Shuffled(RankAggregator):
    """Base of those that hear from voters through a shuffler."""

    reports_accepted_: int
    reports_refused_: dict[str, int]
    local_epsilon_: float
    margins_: NDArray[Any]
    noise_: PublishedNoise


class ShufflePairwise(_Shuffled):
    """Hidden-pair shuffle: each voter answers a pair that it draws privately; a shuffler mixes the messages.

    Parameters
    ----------
    epsilon : float, default=1.0
        Central target, in nats; the local epsilon is found from it and the number of reports.
    delta : float, default=1e-6
        Central failure probability.
    n_queries : int, default=1
        K: messages of each voter, one in each of K shuffles, for one epsilon together. Several often err less than
        one: `~sklearn_dprank.model_selection.recommend` finds how many.
    pairs : {"hidden", "assigned"}, default="hidden"
        Whether a voter draws its pairs privately and hides among all voters, or is assigned them and hides
        among those with the same pair.
    rule : None, str or Rule, default=None
        What turns answers into a ranking; None is Bradley-Terry.
    local_epsilon : float or None, default=None
        Given instead of the target: local epsilon of one voter's messages together.
    min_reports : int or None, default=None
        Public: how many voters take part at least; nothing is released below. None is len(X) in `fit`.
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
    local_epsilon_ : float
        Local epsilon of one voter's messages together.
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

    Unit: one ballot. Trust: a shuffler that mixes the messages and drops whose they are; without it the local
    epsilon (``local_epsilon_``) still holds. Neighbours replace a ballot; the number of voters is public and at
    least `min_reports`. The guarantee counts honest messages: voters who drop out or lie do not hide
    anybody, so keep `min_reports` to those you are sure of.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    New here. A pair drawn privately is one more thing the shuffler hides: every voter hides among all n, as in
    binary randomized response of n voters, where an assigned pair leaves n / C(m, 2).

    With hidden pairs `fit` draws what all devices say together, as `LDPPairwise` does: the law is that of the devices,
    exactly, in a fraction of the time.

    References
    ----------
    Balle, Bell, Gascon and Nissim (2019) for the privacy blanket.

    Examples
    --------
    >>> from sklearn_dprank import ShufflePairwise
    >>> ShufflePairwise(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    optimal_gap_: float
    parameter_checks: dict = {
        **EPSILON,
        **DELTA,
        "n_queries": COUNT,
        "pairs": one_of("hidden", "assigned"),
        **RULE,
        **_LOCAL,
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        n_queries: int = 1,
        pairs: Literal["hidden", "assigned"] = "hidden",
        rule: RuleName | Rule | None = None,
        local_epsilon: float | None = None,
        min_reports: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_queries = n_queries
        self.pairs = pairs
        self.rule = rule
        self.local_epsilon = local_epsilon
        self.min_reports = min_reports
        self.random_state = random_state

    def _compose(self):
        channel = Shuffle(self.epsilon, self.delta, self.local_epsilon, self.n_queries, self.pairs, self.min_reports)
        return channel, resolve_rule(self.rule, BradleyTerryRule())


class ShuffleHierarchical(_Shuffled):
    """DDP-Helnaksort: assigned pairs, shuffled pair by pair, and hierarchical aggregation.

    Parameters
    ----------
    epsilon : float, default=1.0
        Central target, in nats; the local epsilon is found from it and the number of reports.
    delta : float, default=1e-6
        Central failure probability.
    n_queries : int, default=1
        K: pairs that each voter is assigned.
    local_epsilon : float or None, default=None
        Given instead of the target: local epsilon of one voter's messages together.
    min_reports : int or None, default=None
        Public: how many voters take part at least; nothing is released below. None is len(X) in `fit`.
    randomizer : {"rr", "gaussian"}, default="rr"
        Randomized response, or the paper's thresholded Gaussian noise: the same, where it is calibrated exactly.
    calibration : {"exact", "published"}, default="exact"
        "published", for "gaussian" only, flips answers as often as the noise does that Algorithm 1 prints for the
        local epsilon and `delta`; ``privacy_`` and ``local_epsilon_`` still state what it really gives.
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
    local_epsilon_ : float
        Local epsilon of one voter's messages together.
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

    Unit: one ballot. Trust: a shuffler that mixes the messages and drops whose they are; without it the local
    epsilon (``local_epsilon_``) still holds. Neighbours replace a ballot; the number of voters is public and at
    least `min_reports`. The guarantee counts honest messages: voters who drop out or lie do not hide
    anybody, so keep `min_reports` to those you are sure of.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    Song et al. claim (epsilon - ln(n / C(m, 2)), delta) after shuffling, from a theorem that goes the other way;
    at n = 100, epsilon 1 it is even negative. Here the local epsilon is found from the blanket bound with the N =
    floor(n K / C(m, 2)) messages that really hide a voter; with fewer than two nothing is amplified. They also
    forget to split delta over K answers, and print the level sum that ranks in reverse.

    Algorithm 1 adds Gaussian noise of standard deviation K sqrt(2 ln(1.25 / delta)) / epsilon to an answer in {0, 1}
    and cuts it at 1/2; its epsilon is the local one. What is left is one bit, flipped as by randomized response of .184
    where the paper spends 1 at delta = 1e-4: ``ShuffleHierarchical(delta=1e-4, local_epsilon=1.0,
    randomizer="gaussian", calibration="published")``. With `epsilon` instead, the noise is that for the local epsilon
    which the true bound allows. To repeat the paper's central epsilon, take the local one from
    `~sklearn_dprank.privacy.shuffle_local_epsilon` with ``method="song2022"``, which warns.

    References
    ----------
    Song, Lan, Li and Li (2022), Algorithms 1 and 2; Balle et al. (2019).

    Examples
    --------
    >>> from sklearn_dprank import ShuffleHierarchical
    >>> ShuffleHierarchical(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {
        **EPSILON,
        **DELTA,
        "n_queries": COUNT,
        **_LOCAL,
        "randomizer": one_of("rr", "gaussian"),
        **CALIBRATION,
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        n_queries: int = 1,
        local_epsilon: float | None = None,
        min_reports: int | None = None,
        randomizer: Literal["rr", "gaussian"] = "rr",
        calibration: Calibration = "exact",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_queries = n_queries
        self.local_epsilon = local_epsilon
        self.min_reports = min_reports
        self.randomizer = randomizer
        self.calibration = calibration
        self.random_state = random_state

    def _compose(self):
        printed_delta = self.delta if self.calibration == "published" else None  # exact flips are pure
        noise = flips_by_name(self.randomizer, 1, self.calibration, printed_delta)
        target = self.epsilon, self.delta, self.local_epsilon
        return Shuffle(*target, self.n_queries, "assigned", self.min_reports, noise), HierarchicalRule()
