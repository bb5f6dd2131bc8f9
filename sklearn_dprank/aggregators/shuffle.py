"""Estimators for the shuffle model."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import NDArray

from .._utils.types import Amount, RandomState, RuleName
from ..channels import Shuffle
from ..collection.curator import Randomizer
from ..collection.curator.resolve import check_flips, flips_of
from ..rules import RULE, BradleyTerryRule, HierarchicalRule, Rule, resolve_rule
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class _Shuffled(RankAggregator):
    """Base class of estimators that receive voters' messages through a shuffler."""

    reports_accepted_: int
    reports_refused_: dict[str, int]
    local_epsilon_: float
    margins_: NDArray[Any]
    noise_: PublishedNoise


class ShufflePairwise(_Shuffled):
    """Private ranking in the shuffle model; try this estimator first if voters trust a shuffler.

    Hidden-pair shuffle (new in this package): each voter answers about a pair that its device draws privately, and a
    shuffler mixes the messages.

    Parameters
    ----------
    epsilon : float, default=1.0
        Target for the central epsilon, in nats. The local epsilon follows from it and from the minimum number of
        voters.
    delta : float, default=1e-6
        Central delta. Must be positive.
    n_queries : int, default=1
        K, the number of messages per voter, which share epsilon. With hidden pairs, each of them is in a separate
        shuffle. Several messages often give a smaller error than one: `~sklearn_dprank.model_selection.recommend`
        chooses the number.
    pairs : {"hidden", "assigned"}, default="hidden"
        "hidden": each voter draws its pairs privately and hides among all voters. "assigned": voters are assigned
        pairs, and a voter hides only among voters with the same pair.
    rule : None, str or Rule, default=None
        Rule that turns answers into a ranking. None is Bradley-Terry.
    local_epsilon : float or None, default=None
        Joint local epsilon of all messages of one voter, instead of `epsilon`. ``privacy_`` then states the central
        epsilon that results.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. With fewer voters, the fit fails and releases no result. None is
        ``len(X)`` in `fit`; protocols for devices need a number.
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
        Number of voters whose messages were counted, also if each sent several.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter, without trust in the shuffler.
    optimal_gap_ : float
        With the Kemeny rule: certified upper bound on (cost - optimum) / optimum. The cost of an order is the sum of
        the noisy margins that it overrules. Computed from the release only.
    margins_ : ndarray, shape (n_items, n_items)
        Estimated margins: share of voters who prefer the row's item to the column's, minus the opposite share. 0 for a
        pair without answers.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: a shuffler that mixes the messages and removes their origin. Without the shuffler, the
    local epsilon (``local_epsilon_``) still holds. Neighbours differ in one replaced ballot; the number of voters is
    public and at least `min_reports`. The guarantee counts honest messages. Voters who drop out or lie do not hide
    others, so set `min_reports` to the number of voters that you are sure of.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    A privately drawn pair is an additional fact that the shuffler hides. Every voter hides among all n voters, as in
    binary randomised response of n voters. With an assigned pair, a voter hides only among n / C(m, 2) voters.

    With hidden pairs, `fit` draws the messages of all devices together, as `LDPPairwise` does. Their distribution is
    exactly that of devices, and the draw takes a fraction of the time.

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
    parameter_checks: dict = {**RULE}

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
    """Hierarchical ranking in the shuffle model; use it to reproduce Song et al. (2022).

    DDP-Helnaksort: pairs are assigned, messages are shuffled among voters with the same pair, and hierarchical
    aggregation decides.

    Parameters
    ----------
    epsilon : float, default=1.0
        Target for the central epsilon, in nats. The local epsilon follows from it and from the minimum number of
        voters.
    delta : float, default=1e-6
        Central delta. Must be positive.
    n_queries : int, default=1
        K, the number of pairs that each voter is assigned.
    local_epsilon : float or None, default=None
        Joint local epsilon of all messages of one voter, instead of `epsilon`. ``privacy_`` then states the central
        epsilon that results.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. With fewer voters, the fit fails and releases no result. None is
        ``len(X)`` in `fit`; protocols for devices need a number.
    randomizer : {"rr"} or Randomizer, default="rr"
        Randomised response. `~sklearn_dprank.theory.song.PrintedGaussian` has the noise that Algorithm 1 prints for the
        local epsilon; ``privacy_`` and ``local_epsilon_`` still state the true values.
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
        Number of voters whose messages were counted, also if each sent several.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter, without trust in the shuffler.
    margins_ : ndarray, shape (n_items, n_items)
        Estimated margins: share of voters who prefer the row's item to the column's, minus the opposite share. 0 for a
        pair without answers.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: a shuffler that mixes the messages and removes their origin. Without the shuffler, the
    local epsilon (``local_epsilon_``) still holds. Neighbours differ in one replaced ballot; the number of voters is
    public and at least `min_reports`. The guarantee counts honest messages. Voters who drop out or lie do not hide
    others, so set `min_reports` to the number of voters that you are sure of.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Song et al. claim (epsilon - ln(n / C(m, 2)), delta) after shuffling. They apply a theorem in the wrong direction.
    At n = 100 and epsilon = 1, the claim is even negative for up to 9 items. Here, the local epsilon follows from the
    blanket bound with the N = floor(n K / C(m, 2)) messages that really hide a voter. If N is below 2, shuffling does
    not amplify privacy. Song et al. also do not split delta over the K answers, and their printed level sum ranks in
    reverse.

    Algorithm 1 adds Gaussian noise of standard deviation K sqrt(2 ln(1.25 / delta)) / epsilon to an answer in {0, 1},
    and compares the result with 1/2. Its epsilon is the local one. The output is one flipped bit. With epsilon = 1 and
    delta = 1e-4 in the paper, it equals randomised response with epsilon = .184:
    ``ShuffleHierarchical(local_epsilon=1.0, randomizer=PrintedGaussian(delta=1e-4))`` with the noise of
    `~sklearn_dprank.theory.song`. With `epsilon` instead of `local_epsilon`, the noise is that of the local epsilon
    which the true bound allows. To repeat the central epsilon of the paper, compute the local one with
    `~sklearn_dprank.privacy.shuffle_local_epsilon` and ``method="song2022"``, which warns.

    References
    ----------
    Song, Lan, Li and Li (2022), Algorithms 1 and 2; Balle et al. (2019).

    Examples
    --------
    >>> from sklearn_dprank import ShuffleHierarchical
    >>> ShuffleHierarchical(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {"randomizer": check_flips}

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        n_queries: int = 1,
        local_epsilon: float | None = None,
        min_reports: int | None = None,
        randomizer: Literal["rr"] | Randomizer = "rr",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_queries = n_queries
        self.local_epsilon = local_epsilon
        self.min_reports = min_reports
        self.randomizer = randomizer
        self.random_state = random_state

    def _compose(self):
        target = self.epsilon, self.delta, self.local_epsilon
        randomizer = flips_of(self.randomizer, 1)
        return Shuffle(*target, self.n_queries, "assigned", self.min_reports, randomizer), HierarchicalRule()
