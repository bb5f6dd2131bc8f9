"""Central model: a trusted curator adds noise to statistics of the ballots, or samples orders."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._utils.checks import DELTA, EPSILON, NEIGHBORING, Check, check_made, check_parameters, safe_repr
from .._utils.scikit_learn import BaseEstimator
from .._utils.types import Amount, Neighboring, NoiseName
from ..ballots.weights import WEIGHT_GRID, WeightBound
from ..mechanisms import MECHANISMS, Calibrated, Gaussian, Mechanism, NoNoise
from ..mechanisms.base import checked_calibrated
from ..privacy.bounded_range import choice_range
from ..privacy.composition import Losses
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted, Ledger
from ..privacy.rounding import exact, round_down, rounded_up
from ..queries import (
    Ask,
    Histogram,
    NetWins,
    PersonsByWeight,
    PositionalScores,
    Publication,
    Query,
    ScoresByHistogram,
    Sensitivity,
)
from ..queries.base import weighted_sensitivity
from ..queries.persons import chosen_max_weight
from ..uncertainty import PublishedNoise
from .plan import Plan, Session, check_asks, refuse

_CHOICE = Fraction(1, 20)  # share of the budget that chooses max_weight="auto"


class Price(NamedTuple):
    """Calibrated mechanism, number of answers and epsilon per answer of one kind of query."""

    query: Query
    sensitivity: Sensitivity
    mechanism: Calibrated
    times: int
    epsilon: Fraction


def _check_noise(noise, name):
    """Raise ValueError unless `noise` is a mechanism or the name of one."""
    check_made(noise, name, "mechanism")
    if isinstance(noise, str) and noise in MECHANISMS:
        return
    lacks = [part for part in ("answers_with", "pure", "refusal", "calibrated") if not hasattr(noise, part)]
    if lacks:
        why = f", which lacks {', '.join(lacks)}" if hasattr(noise, "calibrated") else ""
        raise ValueError(
            f"{name} must be one of {list(MECHANISMS)} or a mechanism object, got {safe_repr(noise)}{why}."
        )


def check_release(release, name):
    """Raise ValueError unless `release` is None or a query."""
    check_made(release, name, "query")
    if release is not None and not isinstance(release, Query):
        raise ValueError(f"{name} must be None or a query object, got {safe_repr(release)}.")


def covering(channel, asks):
    """Return `channel.release` in the form that suits the asks; raise ValueError if it does not determine them."""
    for ask in asks:
        if not ask.query.is_derivable_from(channel.release):
            refuse(channel, ask.query, f"release={channel.release} does not determine it.")
    if isinstance(channel.release, Histogram) and all(ask.query.unseen_last for ask in asks):
        return Histogram(unseen_last=True)
    return channel.release


def rescale_shares(asks, sensitivity):
    """Return the asks; the share of queries with sensitivity 0 is divided among the others, in proportion."""
    if len(asks) == 1:
        return asks
    moved = [ask for ask in asks if any(sensitivity(ask.query))]
    if 0 < len(moved) < len(asks):
        whole = sum(Fraction(ask.share) for ask in asks) / sum(Fraction(ask.share) for ask in moved)
        asks = [ask._replace(share=ask.share * whole) if ask in moved else ask for ask in asks]
    return asks


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

    takes_weights = True
    parameter_checks: dict[str, Check] = {
        **EPSILON,
        **DELTA,
        "noise": _check_noise,
        "release": check_release,
        **NEIGHBORING,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: NoiseName | Mechanism = "laplace",
        release: Query | None = None,
        neighboring: Neighboring = "add_remove",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.release = release
        self.neighboring = neighboring

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
        self._check()
        for ask in asks:
            ask.query.check(n_items)
            if n_voters is not None and self.neighboring == "replace":
                ask.query.warn_of_few(n_items, n_voters * self._of_one_answer(ask))
        release = None
        if self.release is not None:
            release = self._released(asks, n_items)
            release.check(n_items)
            asks = [Ask(release)]
        check_asks(self, asks)
        for ask in asks:
            if bound is not None and ask.query.needs == "positions" and not ask.query.takes_weights:
                refuse(self, ask.query, "it does not count the weights of ballots; pass a Profile without them.")
        if bound is not None and bound.most is None:
            return self._choosing(asks, release, n_items, bound)
        prices, opening = self._priced(asks, release, n_items, bound)
        return self._planned(prices, opening, n_items, bound)

    def _of_one_answer(self, ask):
        """Return the epsilon of one answer."""
        if self.delta and self._mechanism().answers_with == "order":
            return choice_range(float(self.epsilon), float(self.delta), ask.times)
        return float(self.epsilon) * float(ask.share) / ask.times

    def _priced(self, asks, release, n_items, bound, share=1):
        """Return the prices of the asks for a share of the budget, and what opens their poll."""
        most = None if bound is None else bound.most
        sensitivity = partial(weighted_sensitivity, n_items=n_items, neighboring=self.neighboring, most=most)
        prices = {
            ask.query.kind: self._price(
                ask._replace(share=share * Fraction(ask.share)), n_items, sensitivity(ask.query)
            )
            for ask in rescale_shares(asks, sensitivity)
        }
        return prices, partial(CuratorPoll, prices, release, sensitivity)

    def _planned(self, prices, opening, n_items, bound):
        """Return the plan for these prices."""
        guarantee = self._guarantee(prices)
        needs = frozenset(price.query.needs for price in prices.values())
        if bound is not None:
            guarantee = replace(guarantee, unit=bound.unit)
        return Plan(guarantee, opening, needs=needs, prices=prices, n_items=n_items, bound=bound)

    def _choosing(self, asks, release, n_items, bound):
        """Return the plan of ballots with ``max_weight="auto"``.

        Noisy counts of persons cost a share of mu squared. The rest pays the asks at the chosen bound. Sensitivities
        and standard deviations are both proportional to the bound, so the guarantee does not depend on the choice.
        """
        if type(self._mechanism()) is not Gaussian:
            raise ValueError(
                f"max_weight='auto' needs Gaussian noise, got noise={safe_repr(self.noise)}; give max_weight a number, "
                "or, where noise can be chosen, set noise='gaussian' and delta=1e-6, say."
            )
        counts, counting = self._priced([Ask(PersonsByWeight())], None, n_items, None, _CHOICE)
        rest = partial(self._priced, asks, release, n_items, share=1 - _CHOICE)
        prices = {"max_weight": counts[PersonsByWeight()], **rest(bound.chosen(1))[0]}
        return self._planned(prices, partial(ChoosingPoll, counting, rest), n_items, bound)

    def _released(self, asks, n_items):
        """Return the query that is published once; scores replace a histogram too large to list, with the same law."""
        release = covering(self, asks)
        too_large = isinstance(release, Histogram) and n_items > Histogram.largest
        if too_large and len(asks) == 1 and isinstance(self._mechanism(), Gaussian):
            if isinstance(scores := asks[0].query, NetWins | PositionalScores):
                return ScoresByHistogram(scores)
        return release

    def _price(self, ask, n_items, sensitivity):
        """Return the `Price` of one kind of query for its share of the budget."""
        query, times, mechanism, epsilon = ask.query, ask.times, self._mechanism(), round_down(self.epsilon)
        if not any(sensitivity):
            return Price(query, sensitivity, NoNoise(), times, Fraction(0))
        if query.answered_with == "order":
            if self.delta and mechanism.answers_with != "order":
                refuse(self, query, "an order is drawn with pure epsilon; use delta=0.")
            if self.delta and ask.share != 1:
                refuse(self, query, "with a delta, choices of one kind use the whole budget; use delta=0.")
            if mechanism.answers_with != "order":
                mechanism = MECHANISMS["exponential"]
        elif mechanism.answers_with == "order":
            name = self.noise if isinstance(self.noise, str) else type(self.noise).__name__
            refuse(self, query, f"noise={name!r} draws orders only; use noise='laplace'.")
        if remedy := mechanism.refusal(query, n_items):
            refuse(self, query, remedy)
        # Number of answers that would use the whole budget, in the unit in which the mechanism composes.
        whole = Fraction(times) / Fraction(ask.share)
        delta = float(self.delta)
        calibrated = checked_calibrated(
            mechanism.calibrated(query, sensitivity, n_items, epsilon, delta, whole), mechanism
        )
        if query.needs_noise_scale and not hasattr(calibrated, "deviation"):
            refuse(self, query, f"{self.noise} does not say how much noise it adds; use noise='gaussian'.")
        each = epsilon / whole
        if hasattr(calibrated, "spent"):  # a scale as printed in a paper, which need not spend what was asked for
            each = calibrated.spent(sensitivity, times, delta) / times
        return Price(query, sensitivity, calibrated, times, each)

    def _guarantee(self, prices):
        """Return the guarantee of answers; they use more than the budget with some printed scales."""
        used_up = sum(price.epsilon * price.times for price in prices.values()) / round_down(self.epsilon)
        used = [price.mechanism for price in prices.values()]
        known = [price.mechanism.losses(price.sensitivity, price.times) for price in prices.values()]
        losses = None if None in known else Losses.together(known)
        epsilon = rounded_up(exact(self.epsilon) * used_up)
        if losses is not None and used_up != 1:  # Gaussian releases do not add up in epsilon
            epsilon = losses.epsilon(rounded_up(self.delta))
        answers: Counter[tuple[str, str]] = Counter()
        for price in prices.values():
            answers[price.mechanism.how, type(price.query).__name__] += price.times
        return PrivacyGuarantee(
            epsilon=epsilon,
            delta=rounded_up(self.delta),
            trust="central",
            neighboring=self.neighboring,
            how=", then ".join(f"{how} on {times} x {name}" for (how, name), times in answers.items()),
            arithmetic="; ".join(sorted({noise.arithmetic for noise in used} - {"exact"})) or "exact",
            losses=losses,
        )

    def _mechanism(self):
        return MECHANISMS[self.noise] if isinstance(self.noise, str) else self.noise

    def _check(self):
        check_parameters(self)
        pure = self._mechanism().pure
        if not pure and self.delta == 0:
            raise ValueError(
                f"noise={self.noise!r} needs delta > 0, got delta=0; set delta=1e-6, say; where noise can be chosen, "
                "'laplace' needs none."
            )
        if pure and self.delta > 0 and not getattr(self._mechanism(), "takes_delta", False):
            raise ValueError(
                f"noise={self.noise!r} is pure and needs delta=0, got delta={self.delta!r}; "
                "set delta=0 or noise='gaussian'."
            )


class CuratorPoll:
    """Poll of a profile that caches the last sampler, which may hold a large table."""

    def __init__(self, prices, release, sensitivity, profile):
        self.prices, self.sensitivity = prices, sensitivity
        self.grid = 1 if profile.bound is None else WEIGHT_GRID
        self.max_weight = None if profile.bound is None else profile.bound.max_weight
        self.n_items = profile.n_items
        self._release, self._profile = release, profile
        self._kept: tuple[Any, Any] = (None, None)

    def __call__(self, bits):
        session = _CentralSession(self, bits)
        if self._release is not None:
            session.publish(self._release)
        if self.max_weight is not None:
            session.published["max_weight"] = self.max_weight
        return session

    def sampler(self, query, mechanism, completion):
        """Return a sampler of answers, shared by sessions unless each session completes ballots by new coins.

        Only the last sampler is kept, because a session's random anchor does not recur. The first session does not read
        `strict`, so the time of a fit does not depend on it.
        """
        if query.answered_with == "vector" and query.needs != "positions":  # its counts are already cached
            return mechanism.sampler(query, query.vector(self._profile, completion))
        asked = query, mechanism
        if self._kept[0] != asked or (query.needs == "positions" and not self._profile.strict):
            self._kept = asked, mechanism.sampler(query, query.vector(self._profile, completion))
        return self._kept[1]

    def __getstate__(self):
        return {**vars(self), "_kept": (None, None)}


class ChoosingPoll:
    """Poll of a profile with ``max_weight="auto"``: each session chooses a bound, then opens the poll for it."""

    def __init__(self, counting, priced, profile):
        self._counts, self._priced, self._profile = counting(profile), priced, profile
        self._polls: dict[int, CuratorPoll] = {}  # by bound; at most 12

    def __call__(self, bits):
        counts = self._counts(bits)
        chosen = chosen_max_weight(counts.answer(PersonsByWeight()), counts.deviation(PersonsByWeight()))
        if chosen not in self._polls:
            bound = self._profile.bound.chosen(chosen)
            self._polls[chosen] = self._priced(bound=bound)[1](self._profile.bounded(bound))
        return self._polls[chosen](bits)

    def __getstate__(self):
        return {**vars(self), "_polls": {}}


class _CentralSession(Session):
    def __init__(self, poll, bits):
        super().__init__(poll.n_items, bits.coins)
        self._poll = poll
        self.grid = poll.grid
        self._noise = bits.noise
        # A separate stream, so that the rule's coins are the same whether or not a session completes ballots.
        self._completion = bits.assignment
        self._ledger = Ledger({kind: (price.times, price.epsilon) for kind, price in poll.prices.items()})
        self._answers: dict[Any, Any] = {}
        self._publication: Publication | None = None

    def publish(self, query):
        """Answer `query` and derive all later answers from it."""
        known = query.scores if isinstance(query, ScoresByHistogram) else query
        self._publication = Publication(known, self.answer(query))

    def answer(self, query):
        if self._publication is not None:
            return self._publication.derive(query)
        answer = self._answers.get(query)
        if answer is None:  # repeated answers are free
            self._check_price(query)
            self._ledger.charge(query.kind)
            mechanism = self._poll.prices[query.kind].mechanism
            released = self._poll.sampler(query, mechanism, self._completion).draw(self._noise)
            answer = self._answers[query] = query.read(released, self.n_items)
            law = getattr(mechanism, "law", None)
            shown = query.published_always or len(self._poll.prices) == 1
            if query.published_as is not None and law is not None and shown:
                name = query.published_as
                votes = np.array(answer) if self.grid == 1 else answer / self.grid
                self.published |= {name: votes, "noise": PublishedNoise(name, law, self.grid)}
        return answer

    def deviation(self, query):
        price = self._poll.prices.get(query.kind)  # None if the answer is derived from another query
        return None if price is None else getattr(price.mechanism, "deviation", None)

    def _check_price(self, query):
        """Raise BudgetExhausted if the query is more sensitive than the priced query of its kind."""
        price = self._poll.prices.get(query.kind)
        if price is None or query == price.query:
            return
        if not self._poll.sensitivity(query).within(price.sensitivity):
            raise BudgetExhausted(f"{query!r} is more sensitive than {price.query!r}, which was declared and priced.")
