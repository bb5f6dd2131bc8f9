"""Secure aggregation: voters split noisy reports among servers, and only the sums are revealed."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial

from .._utils.checks import DELTA, EPSILON, VOTERS_OR_NONE, Check, check_parameters, check_whole
from .._utils.scikit_learn import BaseEstimator
from .._utils.types import Amount, ItemNames
from ..collection.client.protocol import RefusedProtocol
from ..collection.client.shares import MOST_BITS, MOST_NUMBERS, MOST_SERVERS, RATE_GRID, SharesRandomizer, modulus_bits
from ..collection.client.summands import summand
from ..collection.curator.base import make_protocol
from ..collection.curator.epsilon_grid import cost_as_text
from ..mechanisms import NoNoise, SkellamNoise
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.rounding import exact, rounded_up
from ..privacy.skellam import SkellamRelease, skellam_epsilon, skellam_unit
from ..queries import Ask, NumberOfVoters, Query
from ..queries.base import weighted_sensitivity
from ..sampling.poisson import LARGEST_RATE
from .central import Price, check_release, covering, rescale_shares
from .plan import Plan, check_asks, least_voters, refuse
from .summing import SecureAggregationPoll

_LARGE = 2**32  # larger rates are whole numbers
_SPARE = 100  # default of max_reports, as a multiple of min_reports
_unit = lru_cache(maxsize=256)(skellam_unit)  # found by bisection; cached, because repeated fits need the same values


class SecureAggregation(BaseEstimator):
    """Secure aggregation: voters add noise and split their reports among servers, and only sums are revealed.

    One malformed report can change the sum by any amount, because no party can check the range of a report. Protocols
    with range proofs (Prio3) prevent this. This protocol does not.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the release, in nats.
    delta : float, default=1e-6
        Total delta. Must be positive.
    n_servers : int, default=2
        Number of servers among which each voter splits its report. One honest server is enough.
    min_reports : int or None, default=None
        Public lower limit on the number of voters who take part and follow the protocol. Their joint noise hides each
        of them. Below the limit, no sum is released. None is the number of voters in `fit`. It must be given when
        remote devices report.
    max_reports : int or None, default=None
        Public upper limit on the number of voters. It determines the modulus of the shares. None is a hundred times
        `min_reports`.
    release : Query or None, default=None
        None answers each query of the rule by a separate sum. A query is summed once for the whole budget, and the
        rule's queries are derived from it at no cost.

    References
    ----------
    Agarwal, Kairouz and Liu (2021) for Skellam noise; Corrigan-Gibbs and Boneh (2017), "Prio", for shares of a sum.

    Notes
    -----
    Each voter adds Skellam noise to each number of its report, modulo a power of two. The sum of all noise is again
    Skellam noise. Voters beyond `min_reports` only add noise. The sum over `max_reports` honest voters exceeds the
    range of the modulus with probability below 1e-12. Privacy does not depend on the modulus.

    Remote devices report once if the rule needs a single sum (`fit_sums`). Otherwise they answer one question per sum
    (`fit_interactive`), and the joint cost of all sums is stated before the first. Devices compute the statistics of
    this package's queries. They cannot send histograms of more than eight items, nor the statistics of custom queries.
    Each sum needs `min_reports` voters, not always the same ones.

    Examples
    --------
    >>> from sklearn_dprank.channels import SecureAggregation
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> plan = SecureAggregation(epsilon=0.5).plan([Ask(NetWins())], n_items=10, n_voters=5000)
    >>> plan.guarantee.parties
    ('one of the 2 servers', '5000 of the voters')
    """

    parameter_checks: dict[str, Check] = {
        **EPSILON,
        **DELTA,
        "n_servers": partial(check_whole, least=2, most=MOST_SERVERS),
        "min_reports": VOTERS_OR_NONE,
        "max_reports": VOTERS_OR_NONE,
        "release": check_release,
    }
    collects_sums = True
    asks_questions = True

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        n_servers: int = 2,
        min_reports: int | None = None,
        max_reports: int | None = None,
        release: Query | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_servers = n_servers
        self.min_reports = min_reports
        self.max_reports = max_reports
        self.release = release

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None, items: ItemNames | None = None) -> Plan:
        """Return the plan, with the noise that each voter adds. The number of voters is public here.

        Raises
        ------
        ValueError
            If a parameter is invalid, the least number of reports is unknown or above the number of voters, or the
            rule asks for a query that is not a sum over voters.
        """
        least, most = self._limits(n_voters)
        release = None if self.release is None else covering(self, asks)
        asks = asks if release is None else [Ask(release)]
        self._refuse(asks, n_items)
        prices = self._prices(asks, n_items, least)
        alone = _epsilon(prices, self.delta, 1)
        try:
            protocol, unsent = self._protocol(prices, n_items, least, most, alone, items), ""
        except _Unsent as error:
            protocol, unsent = None, str(error)
        opening = partial(SecureAggregationPoll, prices, release, protocol, {"local_epsilon": alone}, least, n_voters)
        needs = frozenset(price.query.needs for price in prices.values())
        guarantee = self._guarantee(prices, least)
        return Plan(guarantee, opening, protocol, needs=needs, prices=prices, n_items=n_items, unsent=unsent)

    def _limits(self, n_voters):
        """Return the lower and the upper limit on the number of voters."""
        check_parameters(self)
        if self.delta == 0:
            raise ValueError("delta must be positive for Skellam noise, got 0; set delta=1e-6, say.")
        least = least_voters(self.min_reports, n_voters, "each voter's noise")
        there = least if n_voters is None else n_voters
        if self.max_reports is None:
            return least, _SPARE * least
        if self.max_reports < there:
            raise ValueError(
                f"max_reports={self.max_reports} is below the number of voters, {there}; raise it, or leave it out."
            )
        return least, int(self.max_reports)

    def _refuse(self, asks, n_items):
        """Raise ValueError if sums of noisy numbers cannot answer the asks."""
        for ask in asks:
            ask.query.check(n_items)
            if ask.query.answered_with == "order":
                refuse(self, ask.query, "servers add up numbers, and draw no orders; use another rule.")
        check_asks(self, asks)

    def _prices(self, asks, n_items, least):
        """Return {kind: Price}; the noise variance is proportional to times * l2_squared / share."""
        sensitivity = partial(weighted_sensitivity, n_items=n_items, neighboring="replace")
        asks = rescale_shares(asks, sensitivity)
        releases = {}
        for ask in asks:
            moved = sensitivity(ask.query)
            if any(moved):
                variance = Fraction(ask.times * moved.l2_squared) / Fraction(ask.share)
                releases[ask.query.kind] = SkellamRelease(variance, moved.l1, moved.l2_squared, ask.times)
        unit = Fraction(_unit(float(self.epsilon), float(self.delta), tuple(releases.values()))) if releases else 0
        prices = {}
        for ask in asks:
            moved, kind = ask.query.sensitivity(n_items, "replace"), ask.query.kind
            if kind not in releases:
                prices[kind] = Price(ask.query, moved, NoNoise(), ask.times, Fraction(0))
                continue
            rate = _on_grid(releases[kind].variance * unit / (2 * least))
            if rate * least > LARGEST_RATE:
                raise ValueError(f"epsilon={float(self.epsilon):g} is too small for {ask.query}; use a larger one.")
            cost = Fraction(ask.share) * exact(self.epsilon) / ask.times
            prices[kind] = Price(ask.query, moved, SkellamNoise(rate), ask.times, cost)
        return prices

    def _protocol(self, prices, n_items, least, most, alone, items):
        """Return the protocol; raise `_Unsent` if devices cannot send what is asked."""
        rounds = [self._sum(price, n_items, most) for price in _noisy(prices)]
        if not rounds:
            raise _Unsent("no ballot can change what it asks for")
        if not all(price.epsilon or isinstance(price.query, NumberOfVoters) for price in prices.values()):
            raise _Unsent("one of its questions no ballot can change, and it is not the number of voters")
        common = {
            "servers": int(self.n_servers),
            "delta": repr(float(self.delta)),
            "local_epsilon": cost_as_text(Decimal(alone)),
            "min_reports": least,
            "max_reports": most,
        }
        name, fields = "skellam-rounds", {"rounds": rounds, **common}
        reported_once = rounds[0]["times"] == 1 and summand(rounds[0]["statistic"], n_items).asked_about is None
        if len(prices) == 1 and reported_once:
            fields = {**rounds[0], **common}
            name, fields = "skellam-shares", {name: fields[name] for name in SharesRandomizer.fields}
        try:
            return make_protocol(name, n_items if items is None else items, self.epsilon, fields)
        except RefusedProtocol as error:  # devices price some queries as if they were about all items
            raise _Unsent(f"{error.args[0].rstrip('.')}, as devices count") from None

    def _sum(self, price, n_items, most):
        """Return the protocol entry for one kind of sum; raise `_Unsent` if devices cannot send it."""
        query, rate = price.query, price.mechanism.rate
        statistic = query.summed_as(n_items)
        if statistic is None:
            raise _Unsent(f"devices have no form for {query}")
        try:
            what = summand(statistic, n_items)
        except RefusedProtocol:
            raise _Unsent(f"{query} has numbers beyond what devices send") from None
        if what.numbers > MOST_NUMBERS:
            raise _Unsent(f"{query} has {what.numbers:,} numbers, and devices send {MOST_NUMBERS:,} at most")
        bits, grid = modulus_bits(what, most, float(rate)), RATE_GRID if rate < _LARGE else 1
        if bits > MOST_BITS or rate * grid >= 2**53:
            raise _Unsent(f"sums of {query} with so much noise leave the range of 53 bits; use a larger epsilon")
        return {"statistic": statistic, "modulus_bits": bits, "rate": [int(rate * grid), grid], "times": price.times}

    def _guarantee(self, prices, least):
        answers: Counter[str] = Counter()
        for price in _noisy(prices):
            answers[type(price.query).__name__] += price.times
        on = ", then ".join(f"{times} x {name}" for name, times in answers.items())
        parties = f"one of the {self.n_servers} servers", f"{least} of the voters"
        return PrivacyGuarantee(
            rounded_up(self.epsilon),
            rounded_up(self.delta),
            "secure_aggregation",
            "replace",
            f"Skellam noise on {on}, of which each of {least} voters adds a part",
            caveats=("if all servers collude, ballots are as good as open to them",),
            whom=tuple(("secure_aggregation", party) for party in parties),
        )


class _Unsent(ValueError):
    """Reason why devices cannot send what a rule asks for."""


def _on_grid(rate):
    """Return a rate rounded up to a multiple of 2^-20, or to a whole number if it is large."""
    grid = RATE_GRID if rate < _LARGE - 1 else 1
    return Fraction(math.ceil(rate * grid), grid)


def _noisy(prices):
    """Return the prices of queries that a ballot can change."""
    return [price for price in prices.values() if price.epsilon]


def _epsilon(prices, delta, n_voters):
    """Return the epsilon at `delta` of all sums together, with the noise of `n_voters` voters."""
    releases = [
        SkellamRelease(
            2 * price.mechanism.rate * n_voters, price.sensitivity.l1, price.sensitivity.l2_squared, price.times
        )
        for price in _noisy(prices)
    ]
    return skellam_epsilon(float(delta), releases)
