"""Servers that do not all collude: voters split noisy ballots among them, and nobody sees more than sums."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial

from .._utils.checks import DELTA, EPSILON, VOTERS_OR_NONE, Check, check_parameters, check_whole
from .._utils.scikit_learn import BaseEstimator
from .._utils.types import Amount, ItemNames
from ..collection.client import shares
from ..collection.client.protocol import RefusedProtocol
from ..collection.client.shares import MOST_BITS, MOST_NUMBERS, MOST_SERVERS, RATE_GRID, modulus_bits
from ..collection.client.summands import summand
from ..collection.curator.base import drafted
from ..collection.curator.epsilon_grid import cost_as_text
from ..mechanisms import NoNoise, SkellamNoise
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.rounding import exact, rounded_up
from ..privacy.skellam import SkellamRelease, skellam_epsilon, skellam_unit
from ..queries import Ask, Query
from ..sampling.poisson import LARGEST_RATE
from .central import Price, check_release, covering, paid
from .plan import Plan, check_asks, least_voters, refuse
from .summing import SecureAggregationPoll

_LARGE = 2**32  # rates beyond it are whole numbers
_SPARE = 100  # times min_reports: so many may take part where nothing else is said
_unit = lru_cache(maxsize=256)(skellam_unit)  # found by bisection; repeated fits ask for the same few


def _check_servers(value, name):
    """Raise unless there are at least two servers, and no more than a device splits its ballot among."""
    check_whole(value, name, 2, MOST_SERVERS)


class SecureAggregation(BaseEstimator):
    """Secure aggregation: voters add noise and split the result among servers; only sums are seen.

    Not robust against a voter who sends nonsense: one report can move the sum by any amount, as nobody sees that it is
    out of range. Protocols with range proofs (Prio3) prevent that; this one does not.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of what is released, in nats.
    delta : float, default=1e-6
        Total failure probability.
    n_servers : int, default=2
        Among how many servers each voter splits its report; one that is honest is enough.
    min_reports : int or None, default=None
        Public: how many voters take part at least and follow the protocol; their noise together hides each of them, and
        nothing is released below. None is the number of voters in `fit`; in the field it must be given.
    max_reports : int or None, default=None
        Public: how many may take part at most; the modulus of the shares is chosen for so many. None is a hundred times
        `min_reports`.
    release : Query or None, default=None
        None answers each question as the rule asks it, by a sum of its own. A query is summed once for the whole
        budget, and the rule's questions are derived from it, which costs nothing.

    References
    ----------
    Agarwal, Kairouz and Liu (2021) for Skellam noise; Corrigan-Gibbs and Boneh (2017), "Prio", for shares of a sum.

    Notes
    -----
    Each of n voters adds a Skellam number to each of its numbers, modulo a power of two; the noise of all together is
    Skellam noise again. More voters than `min_reports` only add noise. The modulus is so large that the sum of
    `max_reports` honest voters leaves its range with a chance of less than 1e-12; privacy does not depend on it.

    In the field, voters' devices report once where one sum is all that the rule needs (`fit_sums`), and answer a
    question a sum otherwise (`fit_interactive`); what all of them cost together is stated before the first. They count
    what the queries of this package count; devices cannot send histograms of more than eight items, nor what a query of
    your own counts. Each sum needs `min_reports` voters, not always the same ones.

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
        "n_servers": _check_servers,
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
        """Find how much noise each voter adds; the number of voters is public here.

        Raises
        ------
        ValueError
            If a parameter is invalid, the least number of reports is unknown or above the number of voters, or the
            rule asks for what is no sum over voters.
        """
        least, most = self._crowd(n_voters)
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

    def _crowd(self, n_voters):
        """Return how many voters take part, at least and at most."""
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
        """Raise where a sum of noisy numbers does not answer."""
        for ask in asks:
            ask.query.check(n_items)
            if ask.query.answered_with == "order":
                refuse(self, ask.query, "servers add up numbers, and draw no orders; use another rule.")
        check_asks(self, asks)

    def _prices(self, asks, n_items, least):
        """Return the noise of each voter on each kind of query: squared movements over shares, in one unit."""
        asks = paid(asks, n_items, "replace")
        releases = {}
        for ask in asks:
            moved = ask.query.sensitivity(n_items, "replace")
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
        """Return what devices follow, or raise where they cannot send what is asked."""
        rounds = [self._sum(price, n_items, most) for price in _noisy(prices)]
        if not rounds:
            raise _Unsent("no ballot can change what it asks for")
        if len(_noisy(prices)) + sum(price.query.counts_voters for price in prices.values()) < len(prices):
            raise _Unsent("one of its questions no ballot can change, and it is not the number of voters")
        crowd = {
            "servers": int(self.n_servers),
            "delta": repr(float(self.delta)),
            "local_epsilon": cost_as_text(Decimal(alone)),
            "min_reports": least,
            "max_reports": most,
        }
        name, fields = "skellam-rounds", {"rounds": rounds, **crowd}
        if len(prices) == 1 and _reported_once(rounds, n_items):
            fields = {**rounds[0], **crowd}
            name, fields = "skellam-shares", {name: fields[name] for name in shares.FIELDS}
        try:
            return drafted(name, n_items if items is None else items, self.epsilon, fields)
        except RefusedProtocol as error:  # some kinds of questions devices price as if they were about all items
            raise _Unsent(f"{error.args[0].rstrip('.')}, as devices count") from None

    def _sum(self, price, n_items, most):
        """Return what devices must know of one kind of sums, or raise where they cannot send it."""
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
    """Why devices cannot send what a rule asks for."""


def _on_grid(rate):
    """Return a rate rounded up: to a multiple of 2^-20, or to a whole number where it is large."""
    grid = RATE_GRID if rate < _LARGE - 1 else 1
    return Fraction(math.ceil(rate * grid), grid)


def _reported_once(rounds, n_items):
    """Tell whether all that is asked is one sum that needs no question."""
    (first, *others) = rounds
    return not others and first["times"] == 1 and summand(first["statistic"], n_items).asked_about is None


def _noisy(prices):
    """Return the prices of what a ballot moves."""
    return [price for price in prices.values() if price.epsilon]


def _epsilon(prices, delta, n_voters):
    """Return what sums with the noise of so many voters reveal."""
    releases = [
        SkellamRelease(
            2 * price.mechanism.rate * n_voters, price.sensitivity.l1, price.sensitivity.l2_squared, price.times
        )
        for price in _noisy(prices)
    ]
    return skellam_epsilon(float(delta), releases)
