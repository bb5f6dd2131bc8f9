"""A trusted curator: noise is added to what the ballots say together."""

from collections import Counter
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._utils.checks import CALIBRATION, DELTA, EPSILON, NEIGHBORING, Check, check_made, check_parameters, shown
from .._utils.scikit_learn import BaseEstimator
from .._utils.types import Amount, Calibration, Neighboring, NoiseName
from ..mechanisms import MECHANISMS, Calibrated, Mechanism, NoNoise
from ..mechanisms.base import checked_calibrated
from ..privacy.composition import Losses
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted, Ledger
from ..privacy.rounding import exact, round_down, rounded_up
from ..queries import Ask, Publication, Query, Sensitivity
from ..uncertainty import PublishedNoise
from .plan import Plan, Session, check_asks, refuse


class Price(NamedTuple):
    """What one kind of query gets: a mechanism calibrated to its sensitivity, how often, and one answer's cost."""

    query: Query
    sensitivity: Sensitivity
    mechanism: Calibrated
    times: int
    epsilon: Fraction


def _check_noise(noise, name):
    """Raise unless `noise` is a mechanism, or the name of one."""
    check_made(noise, name, "mechanism")
    if noise not in MECHANISMS if isinstance(noise, str) else not hasattr(noise, "calibrated"):
        raise ValueError(f"{name} must be one of {list(MECHANISMS)} or a mechanism object, got {shown(noise)}.")


def check_release(release, name):
    """Raise unless `release` is None or a query."""
    check_made(release, name, "query")
    if release is not None and not isinstance(release, Query):
        raise ValueError(f"{name} must be None or a query object, got {shown(release)}.")


def covering(channel, asks):
    """Return what a channel publishes once, its `release`, as it is best published for the asks.

    Raises
    ------
    ValueError
        If it does not determine all that they ask for.
    """
    for ask in asks:
        if not ask.query.follows_from(channel.release):
            refuse(channel, ask.query, f"release={channel.release} does not determine it.")
    return channel.release.covering([ask.query for ask in asks])


def paid(asks, n_items, neighboring):
    """Return the asks; what no ballot moves costs nothing, and the others have its share as they have theirs."""
    moved = [ask for ask in asks if any(ask.query.sensitivity(n_items, neighboring))]
    if 0 < len(moved) < len(asks):
        whole = sum(Fraction(ask.share) for ask in asks) / sum(Fraction(ask.share) for ask in moved)
        asks = [ask._replace(share=ask.share * whole) if ask in moved else ask for ask in asks]
    return asks


class Central(BaseEstimator):
    """Central differential privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss, in nats.
    delta : float, default=0.0
        Total failure probability; needed by Gaussian noise and only by it.
    noise : {"laplace", "gaussian", "knorm", "exponential", "permute_and_flip"} or Mechanism, default="laplace"
        What is added to the answers. "exponential" and "permute_and_flip" draw orders and answer nothing else; where
        this is another, orders are drawn by the exponential mechanism.
    release : Query or None, default=None
        None pays for each question as the rule asks it. A query is published once for the whole
        budget, and the rule's questions are derived from it, which costs nothing.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    calibration : {"exact", "published"}, default="exact"
        "published" takes the noise scale that the paper prints; the guarantee stays the true one.

    Examples
    --------
    >>> from sklearn_dprank.channels import Central
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> print(Central(epsilon=0.5).plan([Ask(NetWins())], n_items=10).guarantee)
    epsilon = 0.5 (central, add_remove)
    """

    parameter_checks: dict[str, Check] = {
        **EPSILON,
        **DELTA,
        "noise": _check_noise,
        "release": check_release,
        **NEIGHBORING,
        **CALIBRATION,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: NoiseName | Mechanism = "laplace",
        release: Query | None = None,
        neighboring: Neighboring = "add_remove",
        calibration: Calibration = "exact",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.release = release
        self.neighboring = neighboring
        self.calibration = calibration

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None) -> Plan:
        """Price the asks; the number of voters is not read, but where it is public ("replace") it may be warned of.

        Raises
        ------
        ValueError
            If a parameter is invalid, noise and delta disagree, or the rule and the channel do not fit.
        """
        self._check()
        for ask in asks:
            ask.query.check(n_items)
            if n_voters is not None and self.neighboring == "replace":
                ask.query.warn_of_few(n_items, n_voters * float(self.epsilon) * float(ask.share) / ask.times)
        release = None
        if self.release is not None:
            asks, release = self._released(asks, n_items)
        check_asks(self, asks)
        epsilon = round_down(self.epsilon)
        prices = {ask.query.kind: self._price(ask, epsilon, n_items) for ask in paid(asks, n_items, self.neighboring)}
        guarantee = self._guarantee(sum(p.epsilon * p.times for p in prices.values()) / epsilon, prices)
        needs = frozenset(price.query.needs for price in prices.values())
        opening = partial(CuratorPoll, prices, release, self.neighboring)
        return Plan(guarantee, opening, needs=needs, prices=prices, n_items=n_items)

    def _released(self, asks, n_items):
        """Return what is published once, as the only ask and as a query."""
        release = covering(self, asks)
        if len(asks) == 1:
            release = asks[0].query.shortcut(release, self._mechanism(), n_items) or release
        release.check(n_items)
        return [Ask(release)], release

    def _price(self, ask, epsilon, n_items):
        """Return what one kind of query gets for its share of the budget."""
        query, times = ask.query, ask.times
        sensitivity, mechanism = query.sensitivity(n_items, self.neighboring), self._mechanism()
        if not any(sensitivity):
            return Price(query, sensitivity, NoNoise(), times, Fraction(0))
        if query.answered_with == "order":
            if self.calibration == "published" or self.delta:
                refuse(self, query, "an order is drawn with pure epsilon; use delta=0 and calibration='exact'.")
            if mechanism.answers_with != "order":
                mechanism = MECHANISMS["exponential"]
        elif mechanism.answers_with == "order":
            name = self.noise if isinstance(self.noise, str) else type(self.noise).__name__
            refuse(self, query, f"noise={name!r} draws orders only; use noise='laplace'.")
        if remedy := mechanism.refusal(query, n_items):
            refuse(self, query, remedy)
        # So many of them would use up all of the budget, in whatever unit the mechanism composes.
        whole = Fraction(times) / Fraction(ask.share)
        asked = query, sensitivity, n_items, epsilon, float(self.delta), whole
        if self.calibration == "exact":
            calibrated = checked_calibrated(mechanism.calibrated(*asked), mechanism)
            if query.weighed and not hasattr(calibrated, "deviation"):
                refuse(self, query, f"{self.noise} does not say how much noise it adds; use noise='gaussian'.")
            return Price(query, sensitivity, calibrated, times, epsilon / whole)
        if (printed := mechanism.published(*asked)) is None:
            refuse(self, query, "calibration='published' has no printed scale for it; use calibration='exact'.")
        return Price(query, sensitivity, printed.mechanism, times, printed.epsilon / whole)

    def _guarantee(self, used_up, prices):
        """Return what answers promise that use up this much of the budget; more, or less, where noise is published."""
        used = [price.mechanism for price in prices.values()]
        known = [price.mechanism.losses(price.sensitivity, price.times) for price in prices.values()]
        losses = None if None in known else Losses.together(known)
        epsilon = rounded_up(exact(self.epsilon) * used_up)
        if losses is not None and used_up != 1:  # epsilon is not the unit in which they add up
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
        if pure and self.delta > 0:
            raise ValueError(
                f"noise={self.noise!r} is pure and needs delta=0, got delta={self.delta!r}; "
                "set delta=0 or noise='gaussian'."
            )


class CuratorPoll:
    """A profile, and what no noise changes of it: the last sampler, which may hold a large table."""

    def __init__(self, prices, release, neighboring, profile):
        self.prices, self.neighboring = prices, neighboring
        self.n_items = profile.n_items
        self._release, self._profile = release, profile
        self._kept: tuple[Any, Any] = (None, None)

    def __call__(self, bits):
        session = _CentralSession(self, bits)
        if self._release is not None:
            session.publish(self._release)
        return session

    def sampler(self, query, mechanism, completion):
        """Return what draws answers to a query; one for all sessions, unless coins complete ballots for each anew.

        A session's random anchor never comes back: no more than the last sampler is kept. Whether ballots are strict is
        looked at from the second session on, so that the time of a fit, which has one, does not depend on it.
        """
        if query.answered_with == "vector" and query.needs != "positions":  # its counts are at hand
            return mechanism.sampler(query, query.vector(self._profile, completion))
        asked = query, mechanism
        if self._kept[0] != asked or (query.needs == "positions" and not self._profile.strict):
            self._kept = asked, mechanism.sampler(query, query.vector(self._profile, completion))
        return self._kept[1]

    def __getstate__(self):
        return {**vars(self), "_kept": (None, None)}


class _CentralSession(Session):
    def __init__(self, poll, bits):
        super().__init__(poll.n_items, bits.coins)
        self._poll = poll
        self._noise = bits.noise
        # A stream of its own: where ballots are completed once for many sessions, the rule's coins stay the same.
        self._completion = bits.assignment
        self._ledger = Ledger({kind: (price.times, price.epsilon) for kind, price in poll.prices.items()})
        self._answers: dict[Any, Any] = {}
        self._publication: Publication | None = None

    def publish(self, query):
        """Answer `query` now; from here on everything is derived from it."""
        self._publication = Publication(query.meaning, self.answer(query))

    def answer(self, query):
        if self._publication is not None:
            return self._publication.derive(query)
        answer = self._answers.get(query)
        if answer is None:  # an answer given again is free
            self._check_price(query)
            self._ledger.charge(query.kind)
            mechanism = self._poll.prices[query.kind].mechanism
            released = self._poll.sampler(query, mechanism, self._completion).draw(self._noise)
            answer = self._answers[query] = query.read(released, self.n_items)
            law = getattr(mechanism, "law", None)
            if query.published_as is not None and law is not None and len(self._poll.prices) == 1:
                name = query.published_as
                self.published |= {name: np.array(answer), "noise": PublishedNoise(name, law)}
        return answer

    def deviation(self, query):
        return self._poll.prices[query.kind].mechanism.deviation

    def _check_price(self, query):
        """Raise unless the query is no more sensitive than the one of its kind that was priced, if there is one."""
        price = self._poll.prices.get(query.kind)
        if price is None or query == price.query:
            return
        if not query.sensitivity(self.n_items, self._poll.neighboring).within(price.sensitivity):
            raise BudgetExhausted(f"{query!r} is more sensitive than {price.query!r}, which was declared and priced.")
