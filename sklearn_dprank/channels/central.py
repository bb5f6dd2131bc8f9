"""Central model: a trusted curator adds noise to statistics of the ballots, or samples orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, field, replace
from fractions import Fraction
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import (
    DELTA,
    EPSILON,
    NEIGHBORING,
    Check,
    check_flag,
    check_made,
    check_parameters,
    one_of,
    safe_repr,
)
from .._utils.estimators import BaseEstimator, parametrized
from .._utils.types import Amount, LaplaceOrGaussian, Neighboring, NoiseName, Norm, RandomState, RuleName
from ..ballots.profile import check_answerable
from ..ballots.weights import COMPARISONS, WEIGHT_GRID, WeightBound
from ..mechanisms import (
    MECHANISMS,
    Calibrated,
    Exponential,
    Gaussian,
    GaussianThreshold,
    Laplace,
    Mechanism,
    NoNoise,
)
from ..privacy.composition import Losses, choice_range
from ..privacy.errors import BudgetExhausted
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.rounding import exact, round_down, rounded_up
from ..queries import (
    AllMargins,
    Ask,
    BradleyTerryResiduals,
    GroupNetWins,
    Histogram,
    KemenyUtility,
    MaxViolatedMargin,
    MaxViolatedPrefixMargin,
    NetWins,
    NetWinsAndExposures,
    NumberOfVoters,
    PairMargin,
    PairTallies,
    PersonsByWeight,
    PositionalScores,
    Query,
    ScaledMargins,
    ScoresByHistogram,
    Sensitivity,
    TopListScores,
)
from ..queries.base import weighted_sensitivity
from ..queries.scores import chosen_max_weight
from ..rules import (
    RULE,
    Choose,
    ChooseNearAnchor,
    ChooseOneByOne,
    ChooseTop,
    KemenyRule,
    KwikSortRule,
    NewtonBradleyTerryRule,
    Rule,
    SortByScore,
    SwissRule,
    TopListRule,
    resolve_rule,
)
from ..rules.base import BordaOfSampleRule
from ..uncertainty import PublishedNoise, ShareNoise, StrengthNoise
from .base import RankAggregator
from .plan import Answers, Plan, bound_text, check_asks, refuse, repeated, stated

_CHOICE = Fraction(1, 20)  # share of the budget that chooses max_weight="auto"
#: Queries that depend on net wins alone or on pairs alone. A profile of comparisons limits each by what a person did,
#: but not both together. These classes only: a subclass may compute something else.
_OF_COMPARISONS = (
    *(NetWins, GroupNetWins, ScaledMargins, AllMargins, PairMargin, PairTallies, NumberOfVoters, PersonsByWeight),
    *(KemenyUtility, MaxViolatedMargin, MaxViolatedPrefixMargin),
)

_NO_LIMIT = "it does not limit a person with many rows; use a query of the package, or pass person=None."


class Price(NamedTuple):
    """Calibrated mechanism, number of answers and epsilon per answer of one kind of query."""

    query: Query
    sensitivity: Sensitivity
    mechanism: Calibrated
    times: int
    epsilon: Fraction


def _check_noise(noise, name):
    """Raise ValueError unless `noise` is a mechanism or the name of one."""
    if isinstance(noise, str) and noise in MECHANISMS:
        return
    check_made(noise, name, "mechanism")
    lacks = [part for part in ("answers_with", "pure", "refusal", "calibrated") if not hasattr(noise, part)]
    if lacks:  # what has "calibrated" is meant as a mechanism, so the message states what it lacks
        why = f", which lacks {', '.join(lacks)}" if hasattr(noise, "calibrated") else ""
        raise ValueError(
            f"{name} must be one of {list(MECHANISMS)} or a mechanism object, got {safe_repr(noise)}{why}."
        )


def check_release(release, name):
    """Raise ValueError unless `release` is None or a query."""
    if release is not None and not isinstance(release, Query):
        check_made(release, name, "query")
        raise ValueError(f"{name} must be None or a query object, got {safe_repr(release)}.")


def covering(channel, asks):
    """Return `channel.release` in the form that suits the asks; raise ValueError if it does not determine them."""
    for ask in asks:
        if not ask.query.is_derivable_from(channel.release):
            refuse(channel, ask.query, f"release={channel.release} does not determine it.")
    if isinstance(channel.release, Histogram) and all(ask.query.unseen_last for ask in asks):
        return Histogram(unseen_last=True)
    return channel.release


def rescale_shares(asks, sensitivities):
    """Return the asks; the share of queries with sensitivity 0 is divided among the others, in proportion."""
    noisy = [ask for ask, sensitivity in zip(asks, sensitivities, strict=True) if any(sensitivity)]
    if 0 < len(noisy) < len(asks):
        factor = sum(Fraction(ask.share) for ask in asks) / sum(Fraction(ask.share) for ask in noisy)
        asks = [ask._replace(share=ask.share * factor) if ask in noisy else ask for ask in asks]
    return asks


@parametrized
class Central(BaseEstimator):
    """Central differential privacy: a trusted curator holds the ballots and randomises the answers.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss, in nats.
    delta : float, default=0.0
        Total delta. Must be positive for Gaussian noise, and 0 for other noise. With "exponential", a positive delta
        lowers the cost of many choices that follow each other.
    noise : {"laplace", "gaussian", "knorm", "exponential", "permute_and_flip"} or Mechanism, default="laplace"
        Noise for the answers. "exponential" and "permute_and_flip" draw orders and answer no other query. With any
        other noise, the exponential mechanism draws orders.
    release : Query or None, default=None
        None spends budget on each query of the rule. A query is published once for the whole budget, and the rule's
        queries are derived from it at no cost.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted, "replace" only how.

    Examples
    --------
    >>> from sklearn_dprank.channels import Central
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> print(Central(epsilon=0.5).plan([Ask(NetWins())], n_items=10).guarantee)
    epsilon = 0.5 (central, add_remove)
    """

    epsilon: Amount = 1.0
    delta: Amount = 0.0
    noise: NoiseName | Mechanism = "laplace"
    release: Query | None = None
    neighboring: Neighboring = "add_remove"

    takes_weights = True
    parameter_checks: ClassVar[dict[str, Check]] = {
        **EPSILON,
        **DELTA,
        "noise": _check_noise,
        "release": check_release,
        **NEIGHBORING,
    }

    def plan(
        self, asks: list[Ask], n_items: int, n_voters: int | None = None, bound: WeightBound | None = None
    ) -> Plan:
        """Return the plan for these asks, on ballots with weights if `bound` is given.

        `n_voters` does not affect the plan. Under "replace" it is public, and too small a number causes a warning.

        Raises
        ------
        ValueError
            If a parameter is invalid, noise and delta disagree, or the rule and the channel do not fit.
        """
        check_parameters(self)
        mechanism = MECHANISMS[self.noise] if isinstance(self.noise, str) else self.noise
        if not mechanism.pure and self.delta == 0:
            raise ValueError(
                f"noise={self.noise!r} needs delta > 0, got delta=0; set delta=1e-6, say; where noise can be chosen, "
                "'laplace' needs none."
            )
        if mechanism.pure and self.delta > 0 and not getattr(mechanism, "takes_delta", False):
            raise ValueError(
                f"noise={self.noise!r} is pure and needs delta=0, got delta={self.delta!r}; "
                "set delta=0 or noise='gaussian'."
            )
        n_public: int | None = n_items
        if isinstance(mechanism, GaussianThreshold):
            raise ValueError(
                "noise must not be a GaussianThreshold, which items='private' chooses; use noise='gaussian' with "
                "DPPositionalRule."
            )
        if bound is not None and bound.form == "private":
            if type(mechanism) is not Gaussian or self.release is not None or bound.max_listed is None:
                raise ValueError("items='private' needs noise='gaussian' and release=None; use DPPositionalRule.")
            if [(ask.times, ask.share) for ask in asks] != [(1, 1)]:  # each release has a threshold, which may fail
                raise ValueError("items='private' is for one question and one answer; use DPPositionalRule.")
            mechanism, n_public = GaussianThreshold(bound.max_listed), None
        for ask in asks:
            ask.query.check(n_items)
        declared, release = asks, None
        if self.release is not None:
            release = covering(self, asks)
            if isinstance(release, Histogram) and n_items > Histogram.largest and isinstance(mechanism, Gaussian):
                if len(asks) == 1 and isinstance(scores := asks[0].query, NetWins | PositionalScores):
                    release = ScoresByHistogram(scores)  # has the same law as the histogram, which is too large to list
            release.check(n_items)
            asks = [Ask(release)]  # a published query answers all asks, whatever their shares
        check_asks(self, asks)
        if n_voters is not None and self.neighboring == "replace":
            for ask in declared:
                epsilon_each = float(self.epsilon) * float(ask.share) / ask.times
                if self.delta and mechanism.answers_with == "order":
                    epsilon_each = choice_range(float(self.epsilon), float(self.delta), ask.times)
                ask.query.warn_of_few(n_items, n_voters * epsilon_each)
        for ask in asks:
            if bound is not None and ask.query.needs == "positions" and not ask.query.takes_weights:
                refuse(self, ask.query, "it counts ballots once; use a Profile without persons, weights or max_listed.")
            if bound is not None and type(ask.query) not in (NetWinsAndExposures, BradleyTerryResiduals):
                if bound.unit == COMPARISONS and type(ask.query) not in _OF_COMPARISONS:
                    check_answerable("Central", frozenset({ask.query.needs}), n_items, bound)
                    refuse(self, ask.query, _NO_LIMIT)
                if ask.query.needs in ("cells", "outcomes", "lists") and type(ask.query) is not TopListScores:
                    refuse(self, ask.query, _NO_LIMIT)
        priced = partial(self._priced, mechanism)
        if bound is not None and bound.most is None:
            if type(mechanism) is not Gaussian:
                raise ValueError(
                    f"max_weight='auto' needs Gaussian noise, got noise={safe_repr(self.noise)}; give max_weight a "
                    "number, or, where noise can be chosen, set noise='gaussian' and delta=1e-6, say."
                )
            # Noisy counts of persons cost a share of mu squared. The rest pays the asks at the chosen bound.
            # Sensitivities and standard deviations are proportional to it, so the guarantee does not depend on it.
            choice_prices, counting = priced([Ask(PersonsByWeight())], None, n_items, None, _CHOICE)
            price_rest = partial(priced, asks, release, n_items, share=1 - _CHOICE)
            prices = {"max_weight": choice_prices[PersonsByWeight()], **price_rest(bound=bound.chosen(1))[0]}
            reads: Any = partial(_ChoosesWeight, counting, price_rest)
        else:
            prices, reads = priced(asks, release, n_items, bound)
        guarantee = self._guarantee(prices)
        if bound is not None:
            limit = bound_text(bound)
            if bound.max_listed is not None and any(ask.query.needs == "lists" for ask in asks):
                limit = f", for the first {bound.max_listed} items of each list"
            guarantee = replace(guarantee, unit=bound.unit, how=guarantee.how + limit)
        needs = frozenset(price.query.needs for price in prices.values())
        return Plan(guarantee, reads, needs=needs, prices=prices, n_items=n_public, bound=bound)

    def _priced(self, mechanism, asks, release, n_items, bound, share=1):
        """Return the prices of the asks for a share of the budget, and what reads a profile for them."""
        # Persons with comparisons are bounded in the norm that the noise needs.
        norm: Norm = "l2" if type(mechanism) is Gaussian else "l1"
        sensitivity_of = partial(
            weighted_sensitivity, n_items=n_items, neighboring=self.neighboring, bound=bound, norm=norm
        )
        prices, delta = {}, float(self.delta)
        sensitivities = [sensitivity_of(ask.query) for ask in asks]
        for ask, sensitivity in zip(rescale_shares(asks, sensitivities), sensitivities, strict=True):
            query, noise, own_share = ask.query, mechanism, share * Fraction(ask.share)
            if not any(sensitivity):
                prices[query.kind] = Price(query, sensitivity, NoNoise(), ask.times, Fraction(0))
                continue
            if query.answered_with == "order":
                if delta and mechanism.answers_with != "order":
                    refuse(self, query, "an order is drawn with pure epsilon; use delta=0.")
                if delta and own_share != 1:
                    refuse(self, query, "with a delta, choices of one kind use the whole budget; use delta=0.")
                if mechanism.answers_with != "order":
                    noise = MECHANISMS["exponential"]
            elif mechanism.answers_with == "order":
                name = self.noise if isinstance(self.noise, str) else type(self.noise).__name__
                refuse(self, query, f"noise={name!r} draws orders only; use noise='laplace'.")
            if remedy := noise.refusal(query, n_items):
                refuse(self, query, remedy)
            # `whole` is the `times` of `Mechanism.calibrated`: how many answers would use the whole budget.
            epsilon, whole = round_down(self.epsilon), Fraction(ask.times) / own_share
            paid = whole
            if type(noise) is Laplace and ask.times > 1:
                # The losses of Laplace answers add up in L1, and a ballot changes no more of them, however chosen.
                changed = query.most_changed(n_items, bound and bound.max_listed)
                paid = whole if changed is None else min(ask.times, changed) / own_share
            calibrated = noise.calibrated(query, sensitivity, n_items, epsilon, delta, paid)
            if query.needs_noise_scale and not hasattr(calibrated, "deviation"):
                refuse(self, query, f"{self.noise} does not say how much noise it adds; use noise='gaussian'.")
            each = epsilon / whole  # a part of the budget, also if answers do not add up in epsilon
            if hasattr(calibrated, "spent"):  # a scale as printed in a paper, which need not spend what was asked for
                each = calibrated.spent(sensitivity, ask.times, delta) / ask.times
            prices[query.kind] = Price(query, sensitivity, calibrated, ask.times, each)
        return prices, partial(partial, CuratorAnswers, prices, release, sensitivity_of, norm)

    def _guarantee(self, prices):
        """Return the joint guarantee of all answers."""
        # As a part of the budget; some scales as printed in papers use more than 1.
        used_up = sum(price.epsilon * price.times for price in prices.values()) / round_down(self.epsilon)
        known: list[Any] = [
            price.mechanism.losses(price.sensitivity, price.times) if hasattr(price.mechanism, "losses") else None
            for price in prices.values()
        ]
        losses = None if None in known else Losses.together(known)
        epsilon, delta = rounded_up(exact(self.epsilon) * used_up), rounded_up(self.delta)
        if losses is not None and used_up != 1:  # Gaussian releases do not add up in epsilon
            epsilon = losses.epsilon(delta)
        answers: Counter[tuple[str, str]] = Counter()
        for price in prices.values():
            answers[price.mechanism.how, stated(price.query)] += price.times
        how = "; then ".join(f"{how} on {asked}, {repeated(times)}" for (how, asked), times in answers.items())
        inexact = {price.mechanism.arithmetic for price in prices.values()} - {"exact"}
        arithmetic = "; ".join(sorted(inexact)) or "exact"
        return PrivacyGuarantee(epsilon, delta, "central", self.neighboring, how, arithmetic, losses=losses)


class CuratorAnswers(Answers):
    """Answers of a curator who holds the ballots.

    Parameters
    ----------
    prices : dict of {object: Price}
        Price of each kind of query.
    release : Query or None
        Query that is published at once; all others follow from it.
    sensitivity : callable of (query) -> Sensitivity
        Sensitivity of one answer.
    norm : {"l1", "l2"}
        Norm in which the sums of a person with comparisons are bounded.
    profile : Profile
        The ballots.
    bits : Bits
        Random bits.
    published : dict or None, default=None
        Public facts that are published with the answers.
    """

    def __init__(self, prices, release, sensitivity, norm, profile, bits, published=None):
        planned = {kind: price.times for kind, price in prices.items()}
        super().__init__(profile.n_items, bits.coins, planned, published)
        self.prices, self._sensitivity, self._profile = prices, sensitivity, profile
        # `assignment` completes ballots, so that the rule's coins are the same whether or not ballots have gaps.
        self._noise, self._completion = bits.noise, bits.assignment
        self.bound = profile.bound
        if profile.bound is not None:
            self._profile = profile.clipped(norm)
            self.grid, self.max_listed = WEIGHT_GRID, profile.max_listed
            self.private_items = profile.bound.form == "private"
            self.published["max_weight"] = profile.bound.max_weight
            if profile.max_listed is not None:
                self.published["max_listed"] = profile.max_listed
        if release is not None:
            known = release.scores if isinstance(release, ScoresByHistogram) else release
            self.publish(known, self.answer(release))

    def charge(self, query):
        price = self.prices.get(query.kind)
        # Classes first: a subclass defines which queries are equal to it.
        if price is not None and type(query) is not type(price.query):
            raise BudgetExhausted(f"{query!r} is of another class than {price.query!r}, which was declared and priced.")
        if price is not None and query != price.query and not self._sensitivity(query).within(price.sensitivity):
            raise BudgetExhausted(f"{query!r} is more sensitive than {price.query!r}, which was declared and priced.")
        super().charge(query)

    def ask(self, query):
        mechanism, profile = self.prices[query.kind].mechanism, self._profile
        kept_for, sampler = profile.kept_sampler
        if query.answered_with == "vector" and query.needs != "positions":  # the profile keeps its counts
            sampler = mechanism.sampler(query, self._vector(query))
        elif kept_for != (query, mechanism) or (query.needs == "positions" and not profile.strict):
            # Later releases share the tables of a sampler, unless each completes the ballots by new coins. Only the
            # last one is kept, because a random anchor does not recur. The first release does not read `strict`, so its
            # time does not depend on it.
            sampler = mechanism.sampler(query, self._vector(query))
            profile.kept_sampler = (query, mechanism), sampler
        answer = query.read(sampler(self._noise), self.n_items)
        law, name = getattr(mechanism, "law", None), query.published_as
        if name is not None and law is not None and (query.published_always or len(self.prices) == 1):
            grid = self.grid * query.steps
            votes = np.array(answer) if grid == 1 else answer / grid
            is_public = type(query) is NetWins and not any(self._sensitivity(NumberOfVoters()))
            n_voters = profile.n_voters if is_public and self.max_listed is None and profile.bound is None else None
            self.published |= {name: votes, "noise": PublishedNoise(name, law, grid, n_voters)}
        return answer

    def _vector(self, query):
        """Return the exact statistic."""
        return query.vector(self._profile, self._completion)

    def deviation(self, query):
        price = self.prices.get(query.kind)  # None if the answer is derived from another query
        return None if price is None else getattr(price.mechanism, "deviation", None)


class _ChoosesWeight:
    """Profile with ``max_weight="auto"``: each release chooses a bound, then answers at the prices for it."""

    def __init__(self, counting, price_rest, profile):
        self._counting, self._price_rest, self._profile = counting, price_rest, profile
        self._opened: dict[int, Any] = {}  # by bound; at most 12

    def __call__(self, bits):
        counts = self._counting(self._profile)(bits)
        chosen = chosen_max_weight(counts.answer(PersonsByWeight()), counts.deviation(PersonsByWeight()))
        if chosen not in self._opened:
            bound = self._profile.bound.chosen(chosen)
            _, reads = self._price_rest(bound=bound)
            self._opened[chosen] = reads(self._profile.bounded(bound))
        return self._opened[chosen](bits)

    def __getstate__(self):
        return {**vars(self), "_opened": {}}


# Borda estimators for a trusted curator, in one release or in Swiss rounds.


@parametrized
class DPBorda(RankAggregator):
    """Private Borda ranking for a trusted curator; try this estimator first.

    P-BORDA of Hay et al. (2017): sorts items by noisy net wins (margins summed over all other items).

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. Must be positive for ``noise="gaussian"``, else 0.
    noise : {"laplace", "gaussian", "knorm"} or Mechanism, default="laplace"
        Discrete Laplace, rounded Gaussian, or K-norm noise shaped like the permutohedron. At equal error, K-norm noise
        needs two thirds to four fifths of the epsilon of Laplace noise. `~sklearn_dprank.theory.hay.PrintedLaplace` has
        the scale as Hay et al. print it; ``privacy_`` still states the true epsilon.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted, "replace" only how.
    population : bool, default=False
        Whether a part of the budget pays for the covariance of ballots, for narrower
        ``rank_intervals(of="population")``, also under "add_remove". It needs Gaussian noise, and a table or `Profile`
        of ballots without persons, weights or ``max_listed``.
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
        Noisy net wins: wins minus losses against all other items, summed over all voters. K-norm noise releases the
        order only, so this attribute and ``noise_`` are missing.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator who runs `fit`. Under "add_remove", one ballot changes the net wins by at most
    floor(m^2 / 2) in L1 and sqrt(m (m^2 - 1) / 3) in L2. Under "replace", both limits double.
    In a `Profile` with ``max_listed=k``, k takes the place of m, so that short lists need far less noise. K-norm noise
    gains only the factor (k - 1) / (m - 1), so it is the best choice only if k is at least .76 m.
    With ``population=True``, the sums of products of net wins are released, too, with 15 % of the squared ratio of
    sensitivity to noise. One ballot changes them by at most sqrt(((sum x_i^2)^2 + sum x_i^4) / 2) in L2, where
    x = m - 1, m - 3, ..., 1 - m, or sqrt(2) times that under "replace". A noisy number of voters has 2 %, or is public.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Hay et al. add Lap(m (m - 1) / (2 epsilon)) to uncentred Borda counts. Let r = floor(m^2 / 2) / (m (m - 1)). Net
    wins are centred. Under "add_remove", they need r times the printed noise for the same epsilon, and no voter count.
    Under "replace", the printed scale spends 2 r epsilon, which is more than epsilon.

    With ``population=True``, intervals of a population at level .95 held in 93 to 100 % of 400 samples, in each of 60
    settings: 200 to 5,000 voters, epsilon from .3 to 3, and 8 to 15 items of camps, spatial, Mallows and tied
    populations. From n_voters epsilon = 300 on, they were at most 1.13 times as wide as with the exact covariance.
    With 30 to 100 voters, they held as often, also if majorities form a cycle, and were up to 1.27 times as wide.
    Scores have 10 % more noise. Under "replace", ``population=False`` has wider intervals that do not rely on normal
    approximations.

    References
    ----------
    Hay, Elagina and Miklau (2017), Section 3.2 (P-BORDA); Joseph and Yu (2023) for K-norm sampling; Balle and Wang
    (2018) for the Gaussian scale.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> borda = DPBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 100)
    >>> borda.consensus_
    array([0, 1, 2])
    >>> print(borda.privacy_)
    epsilon = 1 (central, add_remove; simulation only: a seed was given)
    """

    epsilon: Amount = 1.0
    delta: Amount = 0.0
    noise: Literal["laplace", "gaussian", "knorm"] | Mechanism = "laplace"
    neighboring: Neighboring = "add_remove"
    population: bool = False
    random_state: RandomState = None

    parameter_checks = {"population": check_flag}

    def _compose(self):
        rule = BordaOfSampleRule() if self.population else SortByScore()
        if self.population and not (isinstance(self.noise, Gaussian) or self.noise == "gaussian"):
            raise ValueError(
                f"population=True needs Gaussian noise, got noise={safe_repr(self.noise)}. Set noise='gaussian' and "
                "delta=1e-6. Or leave `population` out and set neighboring='replace', which has wider intervals."
            )
        return Central(self.epsilon, self.delta, self.noise, neighboring=self.neighboring), rule


@parametrized
class DPSwissBorda(RankAggregator):
    """Private ranking in Swiss rounds for a trusted curator; use it for 14 or more items, with a positive delta.

    Swiss Borda (new in this package): four rounds with Gaussian noise share one budget. The first round asks for the
    net wins of all items. The next two sort the items by their strengths so far. They ask for net wins within groups of
    neighbouring items, which one ballot changes less. The last round asks for the margins of the pairs in doubt, or for
    net wins within groups if noise would drown margins. Strengths are estimated from all answers together, as in the
    Bradley-Terry model. The number of voters who follow this model is estimated too; all others balance each other.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=1e-6
        The delta of the guarantee. Must be positive, because all noise is Gaussian.
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
    scores_ : ndarray of float, shape (n_items,)
        Strength of each item, larger is better, estimated from the noisy answers only. Of the voters who follow the
        Bradley-Terry model, a share of about 1 / (1 + exp(scores_[j] - scores_[i])) prefers i to j. A small budget
        shrinks strengths towards 0. The consensus may differ from the order of the scores if single margins contradict
        them.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator who runs `fit`. Under "add_remove", one ballot changes the net wins within
    groups of k items by at most sqrt(sum k (k^2 - 1) / 3) in L2. Under "replace", this limit doubles. It depends only
    on the group sizes, which are public. The members of the groups follow from earlier answers. So do the pairs and the
    kind of the last question. It is scaled by a public integer, so that its sensitivity is the same in every case.

    All answers are Gaussian. So the squared ratios of sensitivity to noise add up, even if a question depends on
    earlier answers, and delta is not split. Under "add_remove", 2 % of that sum is spent on a noisy number of voters,
    which is needed to estimate the strengths. Under "replace", that number is public.

    In a `Profile` with ``max_listed=k``, a ballot shares its k items among the groups, the largest groups first. Rounds
    of groups of k or more items then cost as much as net wins of all items. `DPBorda` is better if k is below .4 m.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    It reduces the error if voters agree on pairs that are far apart in the consensus. With 45 items, 5,000 voters and
    Mallows ballots (phi = .75), it needs about half the epsilon of Borda with Gaussian noise. It is not better for up
    to 13 items and small epsilon, where all rounds ask for the net wins of all items. It is also not better if margins
    are small against the number of voters.

    With growing epsilon, the consensus approaches the Kemeny order, also on an electorate with two or three camps. Net
    wins alone approach the Borda order. The last step is a local search, which may end in a slightly worse order.

    It has no ``rank_intervals``. If voters do not follow the Bradley-Terry model, their strengths depend on the groups
    that are asked, and these follow from noisy answers. A small budget also shrinks strengths, by an unknown amount. So
    no bound on noise and sampling variance holds for them. Use `DPBorda` for intervals.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian differential privacy", for the composition; Balle and Wang (2018) for the
    Gaussian scale.

    Examples
    --------
    >>> from sklearn_dprank import DPSwissBorda
    >>> swiss = DPSwissBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 100)
    >>> swiss.consensus_
    array([0, 1, 2])
    >>> print(swiss.privacy_)
    epsilon = 1, delta = 1e-06 (central, add_remove; simulation only: a seed was given)
    """

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    def _compose(self):
        return Central(self.epsilon, self.delta, "gaussian", neighboring=self.neighboring), SwissRule()


# Leaderboards from comparisons and ratings.


@parametrized
class DPBradleyTerry(RankAggregator):
    """Private leaderboard for a trusted curator, from comparisons or ratings of persons who each know few items.

    Noisy quasi-Newton rounds for the Bradley-Terry model (new in this package). The first round asks for net wins and
    exposures, the numbers of comparisons with each item. Each later round asks for the residuals of the model at the
    strengths so far, and moves the strengths by them. So the opponents of an item count, and how often it was compared
    does not.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=1e-6
        The delta of the guarantee. If positive, noise is Gaussian. 0 is for one round with Laplace noise.
    n_rounds : int or None, default=None
        Number of rounds that share the budget. None is 12 with a positive delta, else 1. One round gives the shares of
        net wins among comparisons, with exact intervals, but does not see who the opponents were.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody took part, "replace" only how.
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
    strengths_ : ndarray of float, shape (n_items,)
        Strength of each item, larger is better. A small budget shrinks strengths towards 0. With several rounds, they
        order items as the Bradley-Terry model does, but their scale differs from it by up to about 20 %. With one
        round, they are shares: net wins divided by comparisons.
    exposures_ : ndarray of float, shape (n_items,)
        Noisy number of comparisons with each item, or of its ratings. The comparisons of persons who made many count
        less.
    net_wins_ : ndarray of float, shape (n_items,)
        Noisy net wins, of the same comparisons. Only of one round.
    noise_ : StrengthNoise or ShareNoise
        Distribution of the noise, for `rank_intervals` and `pair_confidence`.
    max_weight_ : float
        Bound on the weight of a person, in comparisons. Only set if X is a `Profile` with persons.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: all comparisons or ratings of one person. If each row of a log was declared to be another person, it is one
    comparison. A row of a table of ballots is the ratings of one person. If a table has persons or weights, each ballot
    is limited as below with c = 1, and then counts with its weight: the squared limits grow by the factor
    `max_weight`^2. Trust: the curator who runs `fit`.

    All that a person contributes to an answer is scaled down by one factor, so that a norm is at most that of
    c = `max_weight` comparisons of different items. Let X and E be the person's net wins and exposures. With one round,
    16 |X|^2 + |E|^2 is at most 34 c, or 4 |X|_1 + |E|_1 at most 10 c for Laplace noise. With several rounds,
    |X|^2 + |E|^2 is at most 4 c in the first one. The residuals of a comparison are y - tanh((s_i - s_j) / 2) for the
    first item, and its opposite for the second. In later rounds, the person's sums R of them have |R|^2 <= 2 c. These
    limits are the squared sensitivities under "add_remove". Under "replace", they grow by the factor 4 for R, 64/17 for
    16 |X|^2 + |E|^2, 2 for |X|^2 + |E|^2, and 2 for the L1 norm itself.

    Sums are exact integers, in units of 1 / 720720. The strengths at which residuals are taken follow from earlier
    answers. All answers are Gaussian, so the squared ratios of sensitivity to noise add up, and delta is not split. The
    first round takes 12 % of that sum, and the others share the rest evenly.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    With Gaussian noise, a person with K comparisons of different items counts as much as sqrt(c K) comparisons. On the
    votes of Chatbot Arena (129 models, 5,000 persons with 20 votes on average), Kendall's tau to the order of all votes
    is .51, .71 and .83 at epsilon = .3, 1 and 3. With pure epsilon, it is .25, .37 and .47, because one round does not
    see opponents, and models mostly met models of similar strength. There, `DPBorda` with Gaussian noise has at most
    .34 at any epsilon.

    For ratings, x_i are net wins among the k items that the person rated, divided by k - 1. Exposures are 1 for each of
    these items. The model is linear: x_i is (s_i - mean of s) k / (k - 1) on average. Only orders within a person
    count, so ratings need no common scale. A person with one rating counts nothing.

    `rank_intervals` and `pair_confidence` cost no privacy. With several rounds, they are approximate, and describe a
    population from which persons were sampled. **They assume that items are compared with others of many strengths, and
    no group of items only within itself.** They claim too much, by any factor, if nearly all opponents are close in
    strength, as in a ladder, or if groups never meet. The release does not show it, because it does not tell who met
    whom: between groups that never meet, it has the same distribution for all differences of strength. In simulations,
    the level held if a fifth of the opponents was chosen regardless of strength.

    With one round, intervals are exact for the shares among these persons, as weighted here, for any choice of
    opponents. With ``of="population"``, they contain the ranks by share in the population from which the persons are a
    random sample. The sum of all persons is then treated as normal, with a public bound on its variance, which holds
    for any opinions. So these intervals remain wide at a large epsilon.

    References
    ----------
    Walker and Ni (2011), "Anderson acceleration for fixed-point iterations"; Dong, Roth and Su (2022), "Gaussian
    differential privacy", for the composition; Balle and Wang (2018) for the Gaussian scale.

    Examples
    --------
    >>> from sklearn_dprank import DPBradleyTerry
    >>> ratings = [[0, 1, None], [None, 0, 1], [0, None, 1]] * 200
    >>> leaderboard = DPBradleyTerry(epsilon=1.0, random_state=0).fit(ratings)
    >>> leaderboard.consensus_
    array([0, 1, 2])
    >>> leaderboard.rank_intervals().tolist()
    [[0, 0], [1, 1], [2, 2]]
    """

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    n_rounds: int | None = None
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    strengths_: NDArray[np.float64] = field(init=False)
    exposures_: NDArray[np.float64] = field(init=False)
    net_wins_: NDArray[np.float64] = field(init=False)
    noise_: StrengthNoise | ShareNoise = field(init=False)  # type: ignore[assignment]

    def _compose(self):
        pure = isinstance(self.delta, Real) and self.delta == 0
        channel = Central(self.epsilon, self.delta, "laplace" if pure else "gaussian", neighboring=self.neighboring)
        return channel, NewtonBradleyTerryRule(self.n_rounds, "l1" if pure else "l2")


# Estimators for a trusted curator that publish noisy statistics.


@parametrized
class _PublishedOnce(RankAggregator):
    """Base class of estimators that publish one noisy statistic and apply any rule to it."""

    epsilon: Amount = 1.0
    delta: Amount = 0.0
    noise: LaplaceOrGaussian | Mechanism = "laplace"
    rule: RuleName | Rule | None = None
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    parameter_checks = {**RULE}


class DPPairwise(_PublishedOnce):
    """Private pairwise margins for a trusted curator; use it to publish margins, or to choose the rule yourself.

    Reduction I of Alabi et al. (2022): publishes all margins with noise, then applies any rule to them.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. Must be positive for ``noise="gaussian"``, else 0.
    noise : {"laplace", "gaussian"} or Mechanism, default="laplace"
        Noise of every margin.
    rule : None, str or Rule, default=None
        Rule that turns margins into a ranking: "borda", "kemeny", "kwiksort", "hierarchical", "markov_chain" or a rule
        object. None is Kemeny.
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
    optimal_gap_ : float
        With the Kemeny rule: certified upper bound on (cost - optimum) / optimum. The cost of an order is the sum of
        the shrunk noisy margins that it overrules. Computed from the release only.
    shrinkage_ : float
        With the Kemeny rule: factor of the part of the margins that no scores explain, see
        `~sklearn_dprank.rules.KemenyRule`.
    margins_ : ndarray, shape (n_items, n_items)
        Noisy margins, not shrunk: number of voters who prefer the row's item to the column's, minus the number who
        prefer the column's. `rank_intervals` and `pair_confidence` use them too.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot changes each of the C(m, 2) margins by at most 1 under
    "add_remove", and by at most 2 under "replace". In a `Profile` with ``max_listed=k``, one ballot changes only
    C(k, 2) margins. The rule is post-processing.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Alabi et al. clip noisy shares of voters to [0, 1] (footnote 2). This class does not clip, because "add_remove"
    keeps the number of voters n private, and no guarantee needs clipping (see `~sklearn_dprank.theory.alabi`). If n is
    public, you can clip ``margins_`` as post-processing. This helps Borda a little if Laplace noise exceeds n, and
    hardly helps Kemeny.

    The Kemeny rule shrinks the part of the margins that is mostly noise (`~sklearn_dprank.rules.KemenyRule`). The order
    may therefore contradict margins of ``margins_``. ``rule=KemenyRule(shrink=False)`` does not shrink.

    By default, the search for a Kemeny order stops once ``optimal_gap_`` is small compared with the noise
    (`~sklearn_dprank.rules.KemenyRule`). An exact search takes longer and has about the same error.

    References
    ----------
    Alabi et al. (2022), Reduction I: Theorem 1, Corollaries 3 and 4.

    Examples
    --------
    >>> from sklearn_dprank import DPPairwise
    >>> DPPairwise(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    def _compose(self):
        channel = Central(self.epsilon, self.delta, self.noise, AllMargins(), self.neighboring)
        return channel, resolve_rule(self.rule, KemenyRule())


class DPHistogram(_PublishedOnce):
    """Private histogram of rankings for a trusted curator; use it for instant runoff, or to reproduce the papers.

    P-BORDA-HIST of Hay et al. (2017), which is also the mechanism of Shang et al. (2014). It adds noise to the count of
    every possible ranking, then applies any rule. For other purposes, prefer `DPBorda`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. Must be positive for ``noise="gaussian"``, else 0.
    noise : {"laplace", "gaussian"} or Mechanism, default="laplace"
        Noise of each of the m! counts. `~sklearn_dprank.theory.shang.PrintedGaussian` and
        `~sklearn_dprank.theory.hay.PrintedLaplace` have the scales of those papers; ``privacy_`` still states the
        true epsilon.
    rule : None, str or Rule, default=None
        Rule that turns the noisy counts into a ranking: "borda", "plurality", "veto", "instant_runoff", "kemeny",
        "kwiksort", "hierarchical", "markov_chain" or a rule object. None is Borda.
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
    optimal_gap_ : float
        With the Kemeny rule: certified upper bound on (cost - optimum) / optimum. The cost of an order is the sum of
        the noisy margins that it overrules. Computed from the release only.
    histogram_ : ndarray of int64, shape (n_items!,)
        Noisy number of voters with each ranking, in the order of ``itertools.permutations(range(n_items))`` read as
        positions. Missing for more than 10 items, where the histogram is not drawn.
    noise_ : PublishedNoise
        Distribution of the noise in ``histogram_`` (public numbers). Missing for more than 10 items.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot changes one count by 1 under "add_remove", and two counts by 1 each
    under "replace". Tied and partial ballots are first completed, each by its own coins, which keeps these
    sensitivities. Every pair without an opinion is then ordered by a fair coin. If the rule asks for positional scores,
    unseen items go last instead.
    The running time may show whether ballots are complete, so keep it secret.
    The bound ``max_listed`` of a `Profile` has no effect, because a ballot is one cell, however short it is.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    All m! counts receive noise, even counts of 0. Up to 10 items, the histogram is explicit. For more items, only
    Gaussian noise with the Borda or a positional rule is possible. It is drawn as the equivalent m-dimensional
    Gaussian. Its variance grows like m!. A warning states that it hides any signal beyond 12 items. Beyond 150 items,
    it exceeds all doubles, and the fit fails.

    Both papers print the sensitivity 1, which is that of "add_remove". The Gaussian of Theorem 1, with sigma =
    sqrt(2 ln(2 / delta)) / epsilon, is larger than necessary there. At epsilon = .1 and delta = 5e-5, it gives epsilon
    = .054 ("replace": .079). The analytic Gaussian, which is the default, has 57 % of that sigma. Our copies of the
    paper lack the constant 2. The other candidate, 4 / 5, gives 4 % less noise.

    References
    ----------
    Shang, Wang, Cuff and Kulkarni (2014), Theorem 1; Hay et al. (2017), Section 6.2; Balle and Wang (2018).

    Examples
    --------
    >>> from sklearn_dprank import DPHistogram
    >>> DPHistogram(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    >>> from sklearn_dprank.theory.shang import PrintedGaussian
    >>> printed = DPHistogram(0.1, 5e-5, PrintedGaussian(), random_state=0)
    >>> print(printed.fit([[0, 1, 2]] * 100).privacy_)
    epsilon = 0.0535176, delta = 5e-05 (central, add_remove; simulation only: a seed was given)
    """

    def _compose(self):
        channel = Central(self.epsilon, self.delta, self.noise, Histogram(), self.neighboring)
        return channel, resolve_rule(self.rule, SortByScore())


# Estimators for a trusted curator that compare items or draw orders.


@parametrized
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
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    optimal_gap_ : float
        Only set if the answers ran out: certified bound, as in `Kemeny`, for the Kemeny order of all noisy margins.
    shrinkage_ : float
        Only set if the answers ran out: factor of the part of the margins that no scores explain, see
        `~sklearn_dprank.rules.KemenyRule`.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot changes one margin by at most 1 under "add_remove", and by at most
    2 under "replace". The losses of the adaptive answers compose. In a `Profile` with ``max_listed=k`` and with Laplace
    noise, one ballot changes at most C(k, 2) answers, whichever pairs are asked, so more answers need no more noise.
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

    epsilon: Amount = 1.0
    delta: Amount = 0.0
    noise: LaplaceOrGaussian | Mechanism = "laplace"
    max_queries: int | None = None
    on_exhausted: Literal["coin", "kemeny"] = "kemeny"
    strategy: Literal["quicksort", "binary_insertion"] = "quicksort"
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    parameter_checks = {"on_exhausted": one_of("coin", "kemeny")}

    def _compose(self):
        channel = Central(self.epsilon, self.delta, self.noise, neighboring=self.neighboring)
        return channel, KwikSortRule(self.max_queries, self.on_exhausted, self.strategy)


@parametrized
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
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. The probability of an order is proportional to exp(-c times its
    disagreements). The rate c is epsilon / C(m, 2) under "add_remove", and half of it under "replace". In a `Profile`
    with ``max_listed=k``, C(k, 2) takes the place of C(m, 2). Orders are drawn from a table of all 2^m subsets, in a
    time that does not depend on the ballots. It takes 43 MB and 1/4 s at 22 items, and 275 MB and 2 s at 25. More items
    are refused. Rejection sampling is not offered. Its time depends on the ballots and has no bound in public numbers.
    A limit on the number of tries would reveal something that epsilon does not cover.
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

    epsilon: Amount = 1.0
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    def _compose(self):
        return Central(self.epsilon, 0, Exponential(), None, self.neighboring), Choose(KemenyUtility())


# Estimators for a trusted curator that draw prudent orders.


@parametrized
class DPPrudentOrder(RankAggregator):
    """Private ranking for a trusted curator that overrules no large majority; use it if you have many voters.

    Minimax-margin mechanism (new in this package): draws a ranking by its largest overruled majority. Up to 16 items,
    use ``delta=0``, which draws a whole order. For more items, set ``delta=1e-6``, say, which chooses the items one
    after another.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. 0 draws a whole order, for up to 16 items or with a window. If it is positive, the
        order is peeled, for any number of items: the best of the remaining items is chosen m - 1 times.
    window : int or None, default=None
        None draws among all orders. An integer from 2 to 12 is the two-stage form, for any number of items and
        ``delta=0``. Half of epsilon finds an anchor order by Borda with K-norm noise. The other half draws among the
        orders that keep all pairs at least `window` apart in the anchor. 7 is a good choice. 9 corrects worse anchors,
        in about eight times the time.
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
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. Let u be the largest margin that an order overrules. One ballot changes every
    margin, and therefore u, by at most 1 under "add_remove", and by at most 2 under "replace". This holds for any
    number of items. Permute-and-flip returns the order with the largest -epsilon u / 2 + Exp(1)
    (-epsilon u / 4 + Exp(1) under "replace"). The two-stage form spends half of epsilon in each stage. Its second stage
    draws with probability proportional to exp(-epsilon u / 4) (exp(-epsilon u / 8) under "replace"). The time depends a
    little on the number of distinct margins.

    With a delta, each place is filled by the exponential mechanism. Let u be the largest margin by which another
    remaining item beats an item. The item is chosen with probability proportional to exp(-w u / 2) (exp(-w u / 4)
    under "replace"). One choice has bounded range w: the logs of its probability ratios lie in an interval of length w.
    The largest w is used for which all m - 1 choices together, each of which depends on the earlier ones, are
    (epsilon, delta)-private. The composition is tight: it uses the worst choices of range w. At delta = 1e-6 and many
    items, w is 8 % larger than by zero-concentrated differential privacy. It is never below epsilon / (m - 1).
    The bound ``max_listed`` of a `Profile` gives no gain: a short ballot changes a margin as much as a long one.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    With a delta and many voters, it usually has the smallest error of all estimators of a trusted curator above 16
    items. If voters agree well, ``window=7`` can be better up to about 30 items. Let voters contradict the consensus on
    22 or 37 % of the pairs of 20 items, 12 % of 45 or 15 % of 100. Its error is then below that of Gaussian `DPBorda`
    from about n epsilon = 120, 350, 150 and 350 on. It is below that of `DPSwissBorda` from about 130, 430, 210 and 850
    on. For 2,341 ratings of 40 jokes (JESTER, 40 %), both are better up to epsilon = .5, and it is better from 1 on.
    Far below these numbers, it is much worse. Up to 16 items, ``delta=0`` needs less epsilon.

    Permute-and-flip has the epsilon of the exponential mechanism and a smaller error. The error is half as large if the
    result is nearly certain. Near an anchor, orders have weights of their own, so the exponential mechanism is used
    there.

    Compared with `DPBorda`, its error is smaller if margins are large against 1 / epsilon. Let voters contradict the
    consensus on 35 % of the pairs. Up to 5 items, its error is then smaller from about n epsilon = 6.5 ln m! on (31 at
    5). For more items, it is smaller from 4.5 ln m! on (68 at 10, 138 at 16). At 15 %, half of that is enough. At 40 %,
    twice as much is necessary. Below n epsilon = ln m!, it fails: it draws almost at random, and `DPBorda` with K-norm
    noise is much better. The two-stage form is worthwhile above 16 items, from about n epsilon = m^2 on. It fails below
    a tenth of that.

    Under "replace", all of these numbers double. The number of voters is public there, and `fit` warns if it is too
    small. Under "add_remove", it is private. The mechanism never reads it and does not warn, so choose by a public
    estimate. On cyclic majorities, the mechanism minimises the worst overruled majority, not the number of
    disagreements. Its error then has a floor that no epsilon removes. Let 5,000 voters form three to five camps of 10
    to 45 items, and contradict the consensus on 30 to 47 % of the pairs. The floor is .20 points on average with
    ``delta=0`` (.17 with a window, .12 with a delta, .37 for `DPBorda`). It is above 1 point in 3 to 6 % of the cases.
    `DPSwissBorda` and `DPPairwise` with the Kemeny rule have no such floor.

    References
    ----------
    Arrow and Raynaud (1986) for prudent orders; McKenna and Sheldon (2020) for permute-and-flip; McSherry and Talwar
    (2007) for the exponential mechanism; Joseph and Yu (2023) for the noise of the anchor; Dong, Durfee and Rogers
    (2020) for the composition of exponential mechanisms.

    Examples
    --------
    >>> from sklearn_dprank import DPPrudentOrder
    >>> DPPrudentOrder(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    delta: Amount = 0.0
    window: int | None = None
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    def _compose(self):
        peeled = isinstance(self.delta, Real) and self.delta > 0
        if self.window is not None and peeled:
            raise ValueError(
                f"a window needs delta=0, got window={safe_repr(self.window)} and delta={safe_repr(self.delta)}; set "
                "delta=0, or window=None, which takes any number of items with a delta."
            )
        noise: NoiseName = "exponential" if peeled else "permute_and_flip"
        rule: Rule = ChooseOneByOne() if peeled else Choose(MaxViolatedMargin())
        if self.window is not None:
            noise, rule = "knorm", ChooseNearAnchor(self.window)
        return Central(self.epsilon, self.delta, noise, neighboring=self.neighboring), rule


@parametrized
class DPTopK(RankAggregator):
    """Private top-k ranking for a trusted curator; use it if you need only the best of at most 5,000 items.

    Prudent top-k (new in this package): draws only the best k items in order, such that they overrule no large
    majority.

    Parameters
    ----------
    k : int, default=1
        Number of items to release; less than the number of items.
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    batch : int or None, default=None
        Maximum number of items that are chosen together. None is the largest possible number: any number of up to 16
        items, 4 of 31, 3 of 100, 2 of 1,000. Batches are chosen one after another among the remaining items, and share
        epsilon by their sizes.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted, "replace" only how.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (k,)
        The best k items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Positions of all items: 0 to k - 1 for the best k. All others are tied at k.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. Items s_1, ..., s_k overrule the margins of all x over s_a that are not among
    the first a. Let u be the largest of these margins. One ballot changes every margin, and therefore u, by at most 1
    under "add_remove", and by at most 2 under "replace". This holds for any k and any number of items. Permute-and-flip
    returns the choice with the largest -epsilon u / 2 + Exp(1) (-epsilon u / 4 + Exp(1) under "replace"). A batch of b
    items spends b / k of epsilon, and the items placed before it are public. The time depends a little on the number of
    distinct margins.
    The bound ``max_listed`` of a `Profile` gives no gain: a short ballot changes a margin as much as a long one.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    For top lists, such as everybody's ten favourites of 100,000 songs, use `~sklearn_dprank.DPPositionalRule`. It
    counts that an item was listed at all, needs no counts of pairs, and works if the catalogue is private. Here, only
    the order within a list counts, so an item that few people list can be among the best.

    It is the analogue for margins of the joint exponential mechanism for counts (Gillenwater et al.). Finding the best
    items needs much less epsilon than ordering all items: between a third and a fortieth at 45 items.

    It is worthwhile from about n epsilon = 1 to 3 ln(m! / (m - k)!) on. If voters agree little, it is worthwhile from 6
    ln(m! / (m - k)!) on. Under "replace", these numbers double. Below them, `DPBorda` with K-norm noise finds more of
    the best k, because scores average over all pairs. Below a quarter of them, this estimator is little better than
    chance. Under "replace", the number of voters is public, and `fit` then warns. The gain is smallest if k is half of
    the number of items, or if the best items are close to each other. For the first five of ten sushis, it needs as
    much epsilon as K-norm noise.

    All other items are tied. In `score` and the metrics, a pair that the consensus ties counts one half for each voter
    who does not tie it. So a smaller k does not improve the score by itself, and k can be chosen by cross-validation.

    References
    ----------
    McKenna and Sheldon (2020) for permute-and-flip; Gillenwater et al. (2022), "A joint exponential mechanism for
    differentially private top-k"; Fagin, Kumar and Sivakumar (2003), "Comparing top k lists", for the score.

    Examples
    --------
    >>> from sklearn_dprank import DPTopK
    >>> top = DPTopK(2, epsilon=1.0, random_state=0).fit([[0, 1, 2, 3]] * 100)
    >>> top.consensus_, top.ranks_
    (array([0, 1]), array([0, 1, 2, 2]))
    """

    k: int = 1
    _: KW_ONLY
    epsilon: Amount = 1.0
    batch: int | None = None
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    def _compose(self):
        return Central(self.epsilon, 0, "permute_and_flip", None, self.neighboring), ChooseTop(self.k, self.batch)


# Top lists, also of items that are private.


@parametrized
class DPPositionalRule(RankAggregator):
    """Private ranking of the items on top lists for a trusted curator; use it for large or private catalogues.

    Positional rule with rounded Gaussian noise: each list gives scores to its items, and items are sorted by their
    noisy totals. If the catalogue is private, only items with a large noisy total are published.

    Parameters
    ----------
    scores : array-like of shape (k,) or None, default=None
        Score of each position that counts: at least 0, not increasing. None is 1 / log2(i + 1) at position i. k is
        ``max_listed`` of the `Profile`, or the number of items without it. The scores of a list are divided by the
        square root of the sum of their squares, so that an item alone on its list gets 1.
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=1e-6
        The delta of the guarantee. Must be positive, because noise is Gaussian.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody took part, "replace" only how.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices. With private items, the published ones, which may
        be none.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best. With private items, of the published ones in the order of ``consensus_``.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    scores_ : ndarray of float, shape (n_items,)
        Noisy total score of each item. A list that names one item gives it 1. With private items, of the published ones
        in the order of ``consensus_``.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). Missing with private items, because the published scores
        are those that exceed the threshold.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Number of items of a list that count. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items. With private items, of the published ones.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings. With private items, the published ones.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one list, or all lists or ratings of one person. Trust: the curator who runs `fit`. Only the first k items of
    a list count. A list of j of them gives the item at position i the score s_i / sqrt(s_1^2 + ... + s_j^2), rounded
    down to an integer number of steps of 2^-16. So one list changes all totals by at most 1 in L2, and by at most
    sqrt(2) under "replace". Tied items share their scores, and several lists of a person count by their mean, which
    lengthens no vector.

    With private items (``items="private"`` of `Profile`), noise is added only to items with a positive total. Those
    above a public threshold T are published, with their scores. Let a be the scores that a list of j items gives. If
    no other person lists these items, one of them passes T with probability 1 - prod Phi((T - a_i) / sigma). T is the
    smallest number for which this is at most 1 - exp(-delta / 2), for each j from 1 to k. Minus the logarithm of the
    product is a symmetric and convex function of a, so tied items, which share their scores, pass no more often. All
    lists of one person become one list, and random bits decide which of the items count that are tied over position k.

    The scale of the noise is that for epsilon and delta / 2. Both parts together satisfy (epsilon, delta), under both
    relations. T is a multiple of the grid to which noise is rounded. So an item whose rounded total exceeds T also
    exceeds it before rounding.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    At delta = 1e-6 and k = 10, private items need a total score of about 72, 24 and 9 at epsilon = .3, 1 and 3. Names
    and scores share one release, so the order of the published items has no further cost. With 100,000 persons and
    a million items, `fit` takes about a second. No table of persons and items is made.

    `~sklearn_dprank.DPTopK` and `~sklearn_dprank.DPBorda` rank an item by those who list it and others. Here, an item
    that a list leaves out gets 0 from it, so popular items win.

    References
    ----------
    Korolova, Kenthapadi, Mishra and Ntoulas (2009), "Releasing search queries and clicks privately"; Desfontaines,
    Voss, Gipson and Mandayam (2022), "Differentially private partition selection", for thresholds; Balle and Wang
    (2018) for the Gaussian scale.

    Examples
    --------
    >>> from sklearn_dprank import DPPositionalRule
    >>> from sklearn_dprank.ballots import Profile
    >>> lists = [["tea", "milk"], ["tea"], ["milk", "tea"]] * 100 + [["a secret"]]
    >>> profile = Profile.from_orders(lists, items="private", max_listed=2)
    >>> drinks = DPPositionalRule(epsilon=1.0, random_state=0).fit(profile)
    >>> drinks.consensus_.tolist()
    ['tea', 'milk']
    >>> print(drinks.privacy_)
    epsilon = 1, delta = 1e-06 (central, add_remove; simulation only: a seed was given)
    """

    scores: Sequence[float] | NDArray[Any] | None = None
    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    takes_private_items = True

    def _compose(self):
        return Central(self.epsilon, self.delta, "gaussian", neighboring=self.neighboring), TopListRule(self.scores)
