"""Estimator for a trusted curator who receives ballots over time."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .._utils.types import Amount, Neighboring, RandomState
from ..channels import Streaming
from ..channels.streaming import Stream
from ..rules import SortByScore
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class DPStreamingBorda(RankAggregator):
    """Private Borda ranking of ballots that arrive over time; use it to publish after every period.

    `partial_fit` adds the ballots of one period. ``consensus_`` is then the order of all ballots so far. One guarantee
    covers the whole stream: ``privacy_`` is fixed when the stream begins, and covers all publications of up to
    `horizon` periods.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the whole stream, in nats.
    delta : float, default=1e-6
        Delta of the whole stream. Must be positive.
    horizon : int, default=365
        Public limit on the number of periods, at most 100,000. Further periods are refused.
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
        Noisy net wins of all ballots so far.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    periods_ : int
        Number of published periods.
    stream_ : Stream
        State for the next `partial_fit`: the exact sums of every period, but no ballots. It is a **secret**: protect it
        like the ballots. `fit` does not set it.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot, cast once, in one period. A voter who casts one in each of k periods has k ballots. Trust: the
    curator who runs `partial_fit`.

    Let c_0 = 1, c_k = c_{k-1} (2k - 1) / (2k), let x_s be the net wins of period s, and let T be the horizon. Period t
    draws once: the sum of c_{t-s} x_s over s <= t, with fresh noise N(0, sigma^2) on each item. Totals are computed
    from the draws. Under "add_remove", one ballot changes all draws together by at most sqrt(m (m^2 - 1) / 3 (c_0^2 +
    ... + c_{T-1}^2)) in L2. Under "replace", this limit doubles. sigma is the analytic one for it.

    The guarantee also holds for ballots that are cast in view of earlier publications. Under "replace", the number of
    voters in each period is public. Under "add_remove", it is private, and a period without voters is published like
    any other.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: A stream outlives its process

    A stream can be pickled after any period and continued later. The pickle is a **secret**. It contains the exact sums
    of every period. Because totals are public, it also reveals the noise so far. Without a seed, it does not contain
    future noise, because every period draws from the secure source again. So a stolen pickle does not weaken the
    guarantee for ballots that are cast later.

    Two copies of one stream (two resumed pickles, a deepcopy, a forked process) never repeat each other's noise.
    Repeated noise would cancel in the difference of their totals and leave it exact. Each copy keeps ``privacy_``
    against an observer of this copy only. Consider an observer of k continuations of one stream. About a ballot that is
    in several of them, the observer learns at most what ``PrivacyGuarantee.compose([privacy_] * k)`` states. About a
    ballot that was cast later and is in only one, ``privacy_`` still holds. A period that is published again after a
    crash is such a copy, so save first, then publish. With a seed, copies repeat each other's noise, and no guarantee
    holds.

    `sklearn.base.clone` does not copy the stream, and its result begins another one. `fit` is a stream that ends after
    its first period and stores no secret. A later `partial_fit` warns, and begins a stream that does not count the
    ballots of `fit`.

    .. rubric:: Remarks

    After T periods, the noise is c_0^2 + ... + c_{T-1}^2, about 1 + ln(T) / pi, times that of a single release. At T =
    365, this factor is 2.9. With 365 separate releases that share the budget, it would be 19.1. Weights are multiples
    of 2^-16, and mixtures are rounded to a public grid, so all arithmetic before the noise is exact.

    References
    ----------
    Fichtenberger, Henzinger and Upadhyay (2023), "Constant matters: fine-grained error bound on differentially private
    continual observation", for the weights; Denisov, McMahan, Rush, Smith and Thakurta (2022), "Improved differential
    privacy for SGD via optimal private linear operators on adaptive streams", for ballots that depend on earlier
    publications; Balle and Wang (2018) for the scale.

    Examples
    --------
    >>> from sklearn_dprank import DPStreamingBorda
    >>> borda = DPStreamingBorda(epsilon=1.0, horizon=30, random_state=0)
    >>> borda.partial_fit([[0, 1, 2]] * 200).consensus_
    array([0, 1, 2])
    >>> borda.partial_fit([[1, 0, 2]] * 900).consensus_
    array([1, 0, 2])
    >>> print(borda.periods_, borda.privacy_)
    2 epsilon = 1, delta = 1e-06 (central, add_remove; simulation only: a seed was given)
    """

    scores_: NDArray[Any]
    noise_: PublishedNoise
    periods_: int
    stream_: Stream

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        horizon: int = 365,
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.horizon = horizon
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        return Streaming(self.epsilon, self.delta, self.horizon, self.neighboring), SortByScore()
