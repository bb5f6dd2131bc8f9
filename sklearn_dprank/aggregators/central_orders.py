"""Aggregators for a trusted curator that compare or draw orders."""

from typing import Literal

from .._utils.checks import CALIBRATION, DELTA, EPSILON, NEIGHBORING, RANDOM_STATE, one_of, taken_by
from .._utils.types import Amount, Calibration, LaplaceOrGaussian, Neighboring, OrderSampler, RandomState
from ..channels import Central
from ..mechanisms import Exponential
from ..queries import KemenyUtility
from ..rules import Choose, KwikSortRule
from .base import RankAggregator


class DPKwikSort(RankAggregator):
    """P-SORT (``on_exhausted="coin"``), DPKwikSort (``on_exhausted="kemeny"``): sorting by noisy comparisons.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        Failure probability; positive for ``noise="gaussian"`` and only for it.
    noise : {"laplace", "gaussian"}, default="laplace"
        Noise on each margin. q Gaussian answers need only sqrt(q) times the noise of one.
    max_queries : int or None, default=None
        Comparisons that are paid for. None: Hay et al.'s floor((m - 1) log2 m) for "coin", Alabi et al.'s
        bound that one run in m^4 exceeds for "kemeny", the exact worst case for binary insertion.
    on_exhausted : {"coin", "kemeny"}, default="kemeny"
        What answers when they are used up: fair coins, or the Kemeny order of all margins published
        from the other half of the budget (no half is kept back where the answers cannot run out).
    strategy : {"quicksort", "binary_insertion"}, default="quicksort"
        Which pairs are compared. Binary insertion never runs out of answers.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    calibration : {"exact", "published"}, default="exact"
        "published" takes Lap(1 / epsilon') on a margin under either relation, as Hay et al. print;
        ``privacy_`` still states what it really gives.
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
    optimal_gap_ : float
        Only if the answers ran out: what is certified of the Kemeny order of all noisy margins.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot moves one margin by at most 1 under "add_remove", 2
    under "replace"; adaptive answers compose.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    P-SORT's number of answers is exceeded with probability .11 at m = 10 and .20 at m = 40, so its error
    has a floor that no number of voters removes. Its printed Lap(1 / epsilon') holds under "add_remove" only.
    Alabi et al. clip noisy shares of voters to [0, 1]; only signs are read here, which clipping keeps.

    References
    ----------
    Hay et al. (2017), Section 3.4 (P-SORT); Alabi et al. (2022), Algorithm 1 (DPKwikSort).

    Examples
    --------
    >>> from sklearn_dprank import DPKwikSort
    >>> DPKwikSort(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    optimal_gap_: float

    parameter_checks: dict = {
        **EPSILON,
        **DELTA,
        "noise": one_of("laplace", "gaussian"),
        **taken_by(KwikSortRule, "max_queries"),
        "on_exhausted": one_of("coin", "kemeny"),
        **taken_by(KwikSortRule, "strategy"),
        **NEIGHBORING,
        **CALIBRATION,
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: LaplaceOrGaussian = "laplace",
        max_queries: int | None = None,
        on_exhausted: Literal["coin", "kemeny"] = "kemeny",
        strategy: Literal["quicksort", "binary_insertion"] = "quicksort",
        neighboring: Neighboring = "add_remove",
        calibration: Calibration = "exact",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.max_queries = max_queries
        self.on_exhausted = on_exhausted
        self.strategy = strategy
        self.neighboring = neighboring
        self.calibration = calibration
        self.random_state = random_state

    def _compose(self):
        channel = Central(
            self.epsilon, self.delta, self.noise, neighboring=self.neighboring, calibration=self.calibration
        )
        return channel, KwikSortRule(self.max_queries, self.on_exhausted, self.strategy)


class DPKemenySampler(RankAggregator):
    """P-SAMPLE: draw a ranking, more probably one that contradicts the ballots less; exact, no cut-off.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    sampler : {"auto", "table"}, default="auto"
        How the law is drawn. "auto" is "table": dynamic programming over all 2^m subsets, which takes 43 MB and
        1/4 s at 22 items, 275 MB and 2 s at 25. More items are refused.
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
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. The probability of an order is proportional to exp(-c times its
    disagreements), c = epsilon / C(m, 2) under "add_remove", half of it under "replace". The time of a draw from the
    table does not depend on the ballots. Rejection sampling is not offered: its time depends on the ballots and has no
    bound in public numbers, and a limit on the number of tries would reveal something that epsilon does not cover.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    Hay et al. state one exponent for both relations; it holds under "add_remove" only. They draw by rejection, one
    pair at a time: the expected number of tries is about e^36 at 15 items and e^548 at 45. Arithmetic is double
    precision; the rate is lowered by what rounding can cost for up to 2^31 voters.

    References
    ----------
    Hay et al. (2017), Section 4 (P-SAMPLE); Mansinghka et al. (2009); McSherry and Talwar (2007).

    Examples
    --------
    >>> from sklearn_dprank import DPKemenySampler
    >>> DPKemenySampler(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {
        **EPSILON,
        **NEIGHBORING,
        "sampler": one_of("auto", *KemenyUtility.samplers),
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        neighboring: Neighboring = "add_remove",
        sampler: OrderSampler = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.neighboring = neighboring
        self.sampler = sampler
        self.random_state = random_state

    def _compose(self):
        drawn = Exponential(self.sampler)
        return Central(self.epsilon, noise=drawn, neighboring=self.neighboring), Choose(KemenyUtility())
