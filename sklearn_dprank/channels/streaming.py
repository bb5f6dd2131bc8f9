"""Streams: one consensus after each period, from running totals with correlated Gaussian noise.

The totals of all periods are M x: x holds the contributions of the periods, and M has ones on and below the diagonal.
Its square root R, with R R = M, is lower triangular too, and constant on each diagonal: R[t, s] = c_{t-s} with c_0 = 1
and c_k = c_{k-1} (2k - 1) / (2k). Period t draws one vector, the *mixture*: row t of R x plus fresh noise z_t. The
contributions y that are published solve R y = mixtures. Their totals are M y = M x + R z, whose noise is correlated
over the periods.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import DELTA, EPSILON, NEIGHBORING, Check, check_parameters, check_whole
from .._utils.estimators import BaseEstimator, parametrized
from .._utils.types import Amount, Neighboring, RandomState
from ..ballots.profile import Profile
from ..ballots.weights import BALLOT, WEIGHT_GRID, WeightBound
from ..mechanisms.additive import Gaussian, GaussianNoise
from ..privacy.composition import Losses
from ..privacy.errors import BudgetExhausted
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.rounding import round_down, rounded_up
from ..queries import Ask, NetWins, Query, Sensitivity
from ..queries.base import weighted_sensitivity
from ..rules import SortByScore
from ..sampling.bit_source import Bits, BitSource
from ..uncertainty import NormalLaw, PublishedNoise
from .base import RankAggregator
from .plan import Answers, Plan, check_asks, listed_text, refuse, stated

_WHOLE = 2.0**62  # smaller totals are computed in 64-bit integers
_UNIT = 2**16  # weights are multiples of 1 / _UNIT, so that mixtures are integers and their noise is exact


@lru_cache(maxsize=16)
def root_weights(horizon: int) -> NDArray[np.int64]:
    """Return the first `horizon` diagonals of the square root of the prefix sums, as multiples of 2**-16.

    Rounding costs no privacy, because the noise is calibrated to the rounded weights. It costs no accuracy, because
    totals are solved with the rounded weights.

    Examples
    --------
    >>> root_weights(4) / 2**16
    array([1.    , 0.5   , 0.375 , 0.3125])
    """
    k = np.arange(1, horizon)
    weights = np.rint(_UNIT * np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))).astype(np.int64)
    weights.setflags(write=False)
    return weights


@dataclass(frozen=True)
class CorrelatedNoise:
    """Noise for the running totals of an integer vector over `horizon` periods.

    `noise` is the noise of each mixture, and `sensitivity` that of all mixtures of a stream together.

    References
    ----------
    Fichtenberger, Henzinger and Upadhyay (2023), "Constant matters: fine-grained error bound on differentially private
    continual observation", for the weights; Denisov, McMahan, Rush, Smith and Thakurta (2022), "Improved differential
    privacy for SGD via optimal private linear operators on adaptive streams", for ballots that depend on earlier
    releases.
    """

    noise: GaussianNoise
    sensitivity: Sensitivity
    horizon: int
    arithmetic = "exact"

    @classmethod
    def calibrated(cls, query, sensitivity, n_items, epsilon, delta, horizon, times):
        """Return the noise that makes all periods together (epsilon, delta)-differentially private.

        `sensitivity` is that of one period's vector, where each ballot is in one period. `epsilon` and `delta` are the
        budget of the stream, and `times` is the number of such streams that would use up the budget.
        """
        # A ballot of the first period is in all mixtures, a later ballot in fewer.
        weights = root_weights(horizon).tolist()
        squares = sum(weight**2 for weight in weights)
        all_mixtures = Sensitivity(sensitivity.l1 * sum(weights), sensitivity.l2_squared * squares)
        return cls(Gaussian().calibrated(query, all_mixtures, n_items, epsilon, delta, times), all_mixtures, horizon)

    def law(self, period: int) -> NormalLaw:
        """Return the distribution of the noise on the rounded total after `period` periods.

        Its weights are again those of the square root of the prefix sums, up to rounding.
        """
        weights = root_weights(self.horizon)[:period] / _UNIT
        return NormalLaw(self.noise.sigma / _UNIT * float(np.sqrt(np.square(weights).sum())))

    def added(self, sums: NDArray[Any], published: NDArray[Any], bits: BitSource) -> NDArray[np.float64]:
        """Return the noisy contribution of the last period, shape (k,): the change of the published total.

        Parameters
        ----------
        sums : ndarray of int, shape (n_periods, k)
            Exact vectors of all periods so far.
        published : ndarray of float, shape (n_periods - 1, k)
            Results of this method for the earlier periods.
        bits : BitSource
            Source of fresh noise.

        Notes
        -----
        Only the mixture is drawn. Solving for the last period, in doubles, is post-processing.
        """
        weights = root_weights(self.horizon)[: len(sums)][::-1]
        # Mixtures are exact, in 64-bit integers if these are large enough.
        exact = np.int64 if _UNIT * np.abs(sums.astype(float)).sum(axis=0).max() < _WHOLE else object
        mixture = self.noise.added(weights.astype(exact) @ sums.astype(exact), bits)
        return (mixture.astype(float) - weights[:-1] @ published) / _UNIT


# Continual release: a trusted curator publishes after every period, under one guarantee for the stream.

_MOST = 100_000  # periods; the stored sums grow with their number


@parametrized
class Streaming(BaseEstimator):
    """Continual release: after each of up to `horizon` periods, publish the consensus of all ballots so far.

    Releases of different periods share noise, so that one guarantee covers all of them. After T periods, the noise is
    about 1 + ln(T) / pi times that of a single release. T separate releases with the same total budget would need
    sqrt(T) times as much.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the stream, in nats.
    delta : float, default=1e-6
        Total delta. Must be positive, because the noise is Gaussian.
    horizon : int, default=365
        T, the public maximum number of periods, at most 100,000. It is part of the guarantee and cannot change once a
        stream has begun.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation: one ballot of one period is added or removed, or replaced in its period. Under
        "add_remove", the number of voters of each period is private.

    References
    ----------
    Fichtenberger, Henzinger and Upadhyay (2023); see `sklearn_dprank.DPStreamingBorda`.

    Examples
    --------
    >>> from sklearn_dprank.channels import Streaming
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> plan = Streaming(epsilon=0.5, horizon=30).plan([Ask(NetWins())], n_items=10)
    >>> print(plan.guarantee)
    epsilon = 0.5, delta = 1e-06 (central, add_remove)
    """

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    horizon: int = 365
    neighboring: Neighboring = "add_remove"

    parameter_checks: ClassVar[dict[str, Check]] = {
        **EPSILON,
        **DELTA,
        "horizon": partial(check_whole, least=1, most=_MOST),
        **NEIGHBORING,
    }
    has_periods = True
    takes_weights = True

    def plan(
        self, asks: list[Ask], n_items: int, n_voters: int | None = None, bound: WeightBound | None = None
    ) -> Plan:
        """Return the plan for these asks, on ballots of bounded length if `bound` is given. `n_voters` is not used.

        Raises
        ------
        ValueError
            If a parameter is invalid, or the rule asks for a query without a running total. Also if `bound` is about
            persons or weights.
        """
        check_parameters(self)
        if bound is not None:
            forms: tuple[Any, ...] = ("lists",) if bound.max_listed is None else ("lists", "ballots")
            if bound not in [WeightBound(BALLOT, WEIGHT_GRID, bound.max_listed, form) for form in forms]:
                raise ValueError(
                    "groups, sample_weight, ratings and comparisons do not work with a stream, because a person may "
                    "vote in several periods. Pass a table or lists (Profile.from_orders) with one row of each "
                    "person, or publish once by DPBorda."
                )
        if self.delta == 0:
            raise ValueError("delta must be positive for a stream, got 0; set delta=1e-6, say.")
        for ask in asks:  # answers must add up over periods
            ask.query.check(n_items)
            if ask.query.answered_with == "order":
                refuse(self, ask.query, "an order has no running total; use a rule that needs scores or margins.")
            if ask.times > 1 or ask.query.kind != ask.query:  # several answers, or a query that earlier ones decide
                refuse(self, ask.query, "a stream answers once a period; use a rule that asks everything at once.")
            if ask.query.needs in ("positions", "cells"):
                refuse(self, ask.query, "a stream keeps scores and margins only; use a rule that needs no others.")
        check_asks(self, asks)
        budget = round_down(self.epsilon), float(self.delta), int(self.horizon)
        prices = {}
        for ask in asks:
            query, sensitivity = ask.query, weighted_sensitivity(ask.query, n_items, self.neighboring, bound)
            prices[query] = CorrelatedNoise.calibrated(query, sensitivity, n_items, *budget, 1 / Fraction(ask.share))
        losses = Losses.together(price.noise.losses(price.sensitivity, 1) for price in prices.values())
        epsilon, delta = rounded_up(self.epsilon), rounded_up(self.delta)
        if sum(Fraction(ask.share) for ask in asks) != 1:  # less than the budget is spent
            epsilon = losses.epsilon(delta)
        periods = f"correlated over {int(self.horizon)} periods,"
        how = "; then ".join(f"{price.noise.how}, {periods} on {stated(query)}" for query, price in prices.items())
        how += "" if bound is None else listed_text(bound.max_listed)
        guarantee = PrivacyGuarantee(epsilon, delta, "central", self.neighboring, how, losses=losses)
        needs = frozenset(query.needs for query in prices)
        reads: Any = partial(partial, Stream, prices, self.neighboring == "replace")
        return Plan(guarantee, reads, needs=needs, prices=prices, n_items=n_items, bound=bound)


class Stream(Answers):
    """Stream after its latest period: the published facts and the state for the next period. It is a **secret**.

    Attributes
    ----------
    period : int
        Number of periods so far.
    n_voters : int
        Number of ballots so far.
    prices : dict of {Query: CorrelatedNoise}
        Queries that are added up, and their noise. Fixed when the stream begins.
    bits : Bits
        Random bits of the latest period. With a seed, also those of the next periods.

    Notes
    -----
    It stores the exact sums of every period, but no ballots. These sums and the published answers reveal the noise so
    far. Without a seed, they do not reveal future noise.
    """

    def __init__(
        self,
        prices: dict[Query, CorrelatedNoise],
        number_is_public: bool,
        profile: Profile,
        bits: Bits,
        before: Any = None,
    ) -> None:
        if before is not None and prices != before.prices:
            raise ValueError(
                "the parameters are not those that this stream began with, and its guarantee was fixed then; set them "
                "back, or begin another stream with sklearn.base.clone()."
            )
        # Without a seed, every period has a new source, so that two copies of a stream never read the same random
        # words. With a seed, copy the bits, so that a repeated period draws the same noise again.
        self.bits = bits if before is None or before.bits.certified else deepcopy(before.bits)
        super().__init__(profile.n_items, self.bits.coins)
        self.period: int = 1 if before is None else before.period + 1
        self.n_voters: int = profile.n_voters + (0 if before is None else before.n_voters)
        self.prices = prices
        if profile.bound is not None:
            self.grid, self.max_listed = WEIGHT_GRID, profile.max_listed
        if profile.max_listed is not None:
            self.published["max_listed"] = profile.max_listed
        self._kept: dict[Query, Any] = {}
        for query, price in prices.items():
            vector = query.vector(profile, self.bits.assignment)
            none = np.empty((0, len(vector)), dtype=vector.dtype)
            sums, found = (none, none.astype(float)) if before is None else before._kept[query]
            sums = np.vstack([sums, vector])
            self._kept[query] = sums, np.vstack([found, price.added(sums, found, self.bits.noise)])
            if len(prices) == 1 and query.published_as is not None:
                answer = self.answer(query)
                self.published[query.published_as] = answer if self.grid == 1 else answer / self.grid
                is_known = number_is_public and type(query) is NetWins and profile.bound is None
                law, n_voters = price.law(self.period), self.n_voters if is_known else None
                self.published["noise"] = PublishedNoise(query.published_as, law, self.grid, n_voters)
        self.published["periods"] = self.period

    def answer(self, query: Query) -> Any:
        """Return the noisy total of all periods, rounded; repeated calls return the same answer.

        Raises
        ------
        BudgetExhausted
            If the query was not planned.
        """
        if query not in self._kept:
            raise BudgetExhausted(f"{query!r} was not declared, and a stream answers declared queries only.")
        total = np.rint(self._kept[query][1].sum(axis=0))
        return query.read(total.astype(np.int64) if np.abs(total).max() < _WHOLE else total, self.n_items)

    def check_room(self) -> None:
        """Raise `BudgetExhausted` if all periods are published."""
        horizon = min((price.horizon for price in self.prices.values()), default=self.period)
        if self.period >= horizon:
            raise BudgetExhausted(
                f"all {horizon} periods of this stream are published, and its guarantee covers no more; "
                "sklearn.base.clone() begins another, of other ballots, with a guarantee of its own."
            )

    def __repr__(self):
        return f"Stream(period={self.period})"


# Estimator for a trusted curator who receives ballots over time.


@parametrized
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
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    scores_ : ndarray, shape (n_items,)
        Noisy net wins of all ballots so far.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    periods_ : int
        Number of published periods.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
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

    In a `Profile` with ``max_listed=k``, k takes the place of m. All periods of a stream have the same bound. Lists of
    `Profile.from_orders` without persons are accepted. Data of persons is not, because a person may vote in several
    periods.

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

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    horizon: int = 365
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    def _compose(self):
        return Streaming(self.epsilon, self.delta, self.horizon, self.neighboring), SortByScore()
