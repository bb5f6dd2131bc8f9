"""Servers that do not all collude: voters split noisy ballots among them, and nobody sees more than sums."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial

from .._scikit_learn import BaseEstimator
from .._types import Amount
from ..checks import Check, check_parameters, check_whole
from ..constraints import COUNT_OR_NONE, DELTA, EPSILON
from ..devices.shares import MOST_BITS, MOST_SERVERS, RATE_GRID, modulus_bits
from ..mechanisms import NoNoise, SkellamNoise
from ..names import ItemNames
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.poisson import LARGEST_RATE
from ..privacy.rounding import exact, rounded_up
from ..privacy.skellam import SkellamRelease, skellam_epsilon, skellam_unit
from ..profile import Profile
from ..queries import Ask, Publication, Query
from ..randomizers.base import drafted
from ..randomizers.budgets import as_text, cost_as_text
from ..randomizers.inbox import Inbox, as_reports
from .central import CuratorPoll, Price, check_release, covering, paid
from .plan import Plan, PublishedSession, check_asks, refuse
from .sums import ONE_EACH, combined

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
        budget, and the rule's questions are derived from it, which costs nothing. Voters' devices know `NetWins`
        and `AllMargins`.

    References
    ----------
    Agarwal, Kairouz and Liu (2021) for Skellam noise; Corrigan-Gibbs and Boneh (2017), "Prio", for shares of a sum.

    Notes
    -----
    Each of n voters adds a Skellam number to each of its numbers, modulo a power of two; the noise of all together is
    Skellam noise again. More voters than `min_reports` only add noise. The modulus is so large that the sum of
    `max_reports` honest voters leaves its range with a chance of less than 1e-12; privacy does not depend on it.

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
        "min_reports": COUNT_OR_NONE,
        "max_reports": COUNT_OR_NONE,
        "release": check_release,
    }
    collects_sums = True

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
        named = n_items if items is None else items
        protocol = self._protocol(asks[0], prices, named, least, most, alone) if len(asks) == 1 else None
        opening = partial(_SecureAggregationPoll, prices, release, protocol, {"local_epsilon": alone}, least)
        needs = frozenset(price.query.needs for price in prices.values())
        return Plan(self._guarantee(prices, least), opening, protocol, needs=needs, prices=prices, n_items=n_items)

    def _crowd(self, n_voters):
        """Return how many voters take part, at least and at most."""
        check_parameters(self)
        if self.delta == 0:
            raise ValueError("delta must be positive for Skellam noise, got 0; set delta=1e-6, say.")
        if self.min_reports is None and n_voters is None:
            raise ValueError("min_reports must be given: each voter's noise is found from it before anyone reports.")
        least = int(n_voters if self.min_reports is None else self.min_reports)
        if n_voters is not None and n_voters < least:
            raise ValueError(f"min_reports={least} is above the {n_voters} voters; nothing is released.")
        there = least if n_voters is None else n_voters
        most = max(_SPARE * least, there) if self.max_reports is None else int(self.max_reports)
        if most < there:
            raise ValueError(f"max_reports={most} is below the number of voters, {there}; raise it, or leave it out.")
        return least, most

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
            rate = Fraction(math.ceil(releases[kind].variance * unit / (2 * least) * RATE_GRID), RATE_GRID)
            if rate * least > LARGEST_RATE:
                raise ValueError(f"epsilon={float(self.epsilon):g} is too small for {ask.query}; use a larger one.")
            cost = Fraction(ask.share) * exact(self.epsilon) / ask.times
            prices[kind] = Price(ask.query, moved, SkellamNoise(rate), ask.times, cost)
        return prices

    def _protocol(self, ask, prices, items, least, most, alone):
        """Return what devices follow; None where they do not know what is asked, or the numbers are too large."""
        statistic = ask.query.summed_as
        if statistic is None or ask.times > 1:
            return None
        rate = prices[ask.query.kind].mechanism.rate
        bits = modulus_bits(statistic, items if isinstance(items, int) else len(items), most, float(rate))
        if bits > MOST_BITS or rate * RATE_GRID >= 2**53:
            return None
        fields = {
            "statistic": statistic,
            "servers": int(self.n_servers),
            "modulus_bits": bits,
            "rate": [rate.numerator * (RATE_GRID // rate.denominator), RATE_GRID],
            "delta": as_text(self.delta),
            "local_epsilon": cost_as_text(Decimal(alone)),
            "min_reports": least,
            "max_reports": most,
        }
        return drafted("skellam-shares", items, self.epsilon, fields)

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


class _SecureAggregationPoll:
    """Sums with the noise of all voters: those of the servers, or drawn here, one Skellam number for each number."""

    def __init__(self, prices, release, protocol, published, least, voters):
        self._inbox, self._more = Inbox(), published
        self._protocol, self._curator = protocol, None
        if isinstance(voters, Profile):
            if voters.n_voters < least:
                raise ValueError(f"the plan is for {least} voters or more, got {voters.n_voters}.")
            self._inbox.accepted = voters.n_voters
            together = {
                price.query.kind: price._replace(mechanism=SkellamNoise(price.mechanism.rate * voters.n_voters))
                for price in _noisy(prices)
            }
            self._curator = CuratorPoll({**prices, **together}, release, "replace", voters)
        else:
            (price,) = prices.values()
            self._query = price.query
            self._sum = combined(protocol, self._inbox, as_reports(voters, "sums", ONE_EACH))

    def __call__(self, bits):
        published = {**self._inbox.published, **self._more}
        if self._curator is not None:
            session = self._curator(bits)
            session.published.update(published)
            return session
        n_items = len(self._protocol["items"])
        publication = Publication(self._query.meaning, self._query.read(self._sum, n_items))
        return PublishedSession(n_items, bits.coins, publication, published)
