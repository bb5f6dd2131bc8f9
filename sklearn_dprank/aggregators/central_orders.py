"""Estimators for a trusted curator that compare items or draw orders."""

from __future__ import annotations

from typing import Literal

from .._utils.checks import one_of
from .._utils.types import Amount, LaplaceOrGaussian, Neighboring, OrderSampler, RandomState
from ..channels import Central
from ..mechanisms import Exponential, Mechanism
from ..queries import KemenyUtility
from ..rules import Choose, KwikSortRule
from .base import RankAggregator


class DPKwikSort(RankAggregator):
    """Private sorting by noisy comparisons for a trusted curator; use it to reproduce P-SORT or DPKwikSort.

    P-SORT of Hay et al. (2017) has ``on_exhausted="coin"``. DPKwikSort of Alabi et al. (2022) has
    ``on_exhausted="kemeny"``.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. Must be positive for ``noise="gaussian"``, else 0.
    noise : {"laplace", "gaussian"} or Mechanism, default="laplace"
        Noise of each margin. With Gaussian noise, q answers need only sqrt(q) times the noise of one answer.
        `~sklearn_dprank.theory.hay.PrintedLaplace` has the scale as Hay et al. print it; ``privacy_`` still states the
        true epsilon.
    max_queries : int or None, default=None
        Number of comparisons that the budget pays for. None is floor((m - 1) log2 m) of Hay et al. for "coin". For
        "kemeny", it is the bound of Alabi et al. that one run in m^4 exceeds. For binary insertion, it is the exact
        worst case.
    on_exhausted : {"coin", "kemeny"}, default="kemeny"
        Fallback when no answers are left. "coin" decides further comparisons by fair coins. "kemeny" returns the Kemeny
        order of all margins, published with the other half of the budget. No half is reserved if answers cannot run
        out.
    strategy : {"quicksort", "binary_insertion"}, default="quicksort"
        Choice of the pairs that are compared. With the default `max_queries`, binary insertion never runs out of
        answers.
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
    optimal_gap_ : float
        Only set if the answers ran out: certified bound, as in `Kemeny`, for the Kemeny order of all noisy margins.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot changes one margin by at most 1 under "add_remove", and by at most
    2 under "replace". The losses of the adaptive answers compose.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Quicksort needs more answers than P-SORT pays for with probability .11 at m = 10 and .20 at m = 40. So the error of
    P-SORT has a floor that more voters do not remove. Its printed Lap(1 / epsilon') is valid under "add_remove" only.
    Alabi et al. clip noisy shares of voters to [0, 1]. This class reads only signs, which clipping does not change.

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

    parameter_checks: dict = {"on_exhausted": one_of("coin", "kemeny")}

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: LaplaceOrGaussian | Mechanism = "laplace",
        max_queries: int | None = None,
        on_exhausted: Literal["coin", "kemeny"] = "kemeny",
        strategy: Literal["quicksort", "binary_insertion"] = "quicksort",
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.max_queries = max_queries
        self.on_exhausted = on_exhausted
        self.strategy = strategy
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        channel = Central(self.epsilon, self.delta, self.noise, neighboring=self.neighboring)
        return channel, KwikSortRule(self.max_queries, self.on_exhausted, self.strategy)


class DPKemenySampler(RankAggregator):
    """Private random ranking of up to 25 items for a trusted curator; use it to reproduce P-SAMPLE.

    P-SAMPLE of Hay et al. (2017): draws a ranking, with higher probability if it contradicts the ballots less. The
    sampler draws from the distribution of all orders, without a limit on tries.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted, "replace" only how.
    sampler : {"auto", "table"}, default="auto"
        Sampling method. "auto" is "table": dynamic programming over all 2^m subsets. It takes 43 MB and 1/4 s at 22
        items, and 275 MB and 2 s at 25. More items are refused.
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
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. The probability of an order is proportional to exp(-c times its
    disagreements). The rate c is epsilon / C(m, 2) under "add_remove", and half of it under "replace". The time of a
    draw from the table does not depend on the ballots. Rejection sampling is not offered. Its time depends on the
    ballots and has no bound in public numbers. A limit on the number of tries would reveal something that epsilon does
    not cover.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Hay et al. state one exponent for both relations, which is valid under "add_remove" only. They draw by rejection,
    one pair at a time. The expected number of tries is about e^36 at 15 items, and e^548 at 45. Arithmetic is in double
    precision. The rate is lowered to cover the rounding error for up to 2^31 voters.

    References
    ----------
    Hay et al. (2017), Section 4 (P-SAMPLE); Mansinghka et al. (2009); McSherry and Talwar (2007).

    Examples
    --------
    >>> from sklearn_dprank import DPKemenySampler
    >>> DPKemenySampler(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = Exponential.parameter_checks

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
