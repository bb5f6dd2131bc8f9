"""The aggregator for a trusted curator whose ballots come period by period."""

from typing import Any

from numpy.typing import NDArray

from .._utils.checks import RANDOM_STATE, taken_by
from .._utils.types import Amount, Neighboring, RandomState
from ..channels import Streaming
from ..channels.streaming import Stream
from ..rules import SortByScore
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class DPStreamingBorda(RankAggregator):
    """Borda that is published after every period, under one guarantee for the whole stream.

    `partial_fit` adds the ballots of one period, and ``consensus_`` is then the order of all ballots so far.
    ``privacy_`` is fixed when the stream begins, and holds for all that is published in up to `horizon` periods.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the whole stream, in nats.
    delta : float, default=1e-6
        Failure probability of the whole stream; positive.
    horizon : int, default=365
        How many periods the stream can have, at most 100,000; public. One more is refused.
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
    scores_ : ndarray, shape (n_items,)
        Each item's margins over all others together, as the release has them: their sum from a curator or from servers,
        their mean over the voters elsewhere. Not there with K-norm noise, which releases the order only.
    noise_ : PublishedNoise
        The law of the noise on what is published: public numbers. `rank_intervals` and `pair_confidence` read it.
    periods_ : int
        How many periods have been published.
    stream_ : Stream
        What `partial_fit` goes on from: every period's exact sums, and no ballot. It is a **secret**, to be kept as the
        ballots are. `fit` leaves none.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot, cast once, in one period; a voter who casts one in each of k periods has k ballots. Trust: the
    curator who runs `partial_fit`. With c_0 = 1, c_k = c_{k-1} (2k - 1) / (2k) and x_s the net wins of period s, period
    t draws once: sum over s <= t of c_{t-s} x_s, with fresh noise N(0, sigma^2) on each item. One ballot moves all
    draws together by at most sqrt(m (m^2 - 1) / 3 (c_0^2 + ... + c_{T-1}^2)) in l2 under "add_remove", twice that
    under "replace", and sigma is analytic for that. Totals are computed from the draws. It holds for ballots that
    are cast in view of what was published before. Under "replace" the number of voters in each period is public, under
    "add_remove" it is not: a period in which nobody voted is published like any other.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: A stream outlives its process

    A stream can be pickled after any period and goes on where it was. The pickle is a **secret**: it holds the exact
    sums of every period, and with them, since totals are public, the noise so far. Noise to come is not in it, nor
    any seed that would give it: every period draws afresh from the secure source. So a stolen pickle takes nothing
    from the promise to ballots that are cast later, and two copies of one stream (two resumed pickles, a deepcopy, a
    forked process) never repeat each other's noise, which would cancel in the difference of their totals and leave
    it exact. Each copy keeps ``privacy_`` for whoever sees that copy alone. Whoever sees k continuations of one
    stream learns no more than ``PrivacyGuarantee.compose([privacy_] * k)`` says about a ballot that is in several of
    them, and no more than ``privacy_`` about one that was cast later and is in one only. A period that is published
    again after a crash is such a copy: save first, then publish. With a seed copies repeat each other, and nothing is
    promised.

    `sklearn.base.clone` keeps nothing of a stream and begins another. `fit` is a stream that ends after its first
    period: it keeps nothing secret, and after it `partial_fit` begins a stream that does not count its ballots, and
    warns.

    .. rubric:: Remarks

    After T periods the noise is c_0^2 + ... + c_{T-1}^2, about 1 + ln(T) / pi, times that of a single release: 2.9
    times at T = 365, where 365 releases that share the budget have 19.1 times as much. Weights are multiples of
    2^-16 and mixtures are rounded to a public grid: no arithmetic before the noise is inexact.

    References
    ----------
    Fichtenberger, Henzinger and Upadhyay (2023), "Constant matters: fine-grained error bound on differentially private
    continual observation", for the weights; Denisov, McMahan, Rush, Smith and Thakurta (2022), "Improved differential
    privacy for SGD via optimal private linear operators on adaptive streams", for ballots that depend on what was
    published; Balle and Wang (2018) for the scale.

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

    parameter_checks: dict = {
        **taken_by(Streaming, "epsilon", "delta", "horizon", "neighboring"),
        **RANDOM_STATE,
    }

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
