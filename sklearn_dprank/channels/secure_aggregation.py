"""Secure aggregation: servers that do not all collude add up shares, and only noisy sums are known."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from operator import methodcaller
from typing import Any, ClassVar
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import (
    DELTA,
    EPSILON,
    LISTED_OR_NONE,
    VOTERS_OR_NONE,
    Check,
    check_parameters,
    check_whole,
    is_whole,
)
from .._utils.estimators import BaseEstimator, parametrized
from .._utils.types import Amount, ItemNames, RandomState
from ..ballots.profile import Profile
from ..collection.base import make_protocol
from ..collection.protocol import RefusedProtocol, cost_as_text, digest
from ..collection.randomizers import checked
from ..collection.reports import (
    FOLLOW,
    Inbox,
    as_reports,
    columns,
    end_to_end,
    of_protocol,
    reject_unless,
    whole_numbers,
)
from ..collection.shares import (
    MOST_BITS,
    MOST_NUMBERS,
    MOST_SERVERS,
    RATE_GRID,
    SharesRandomizer,
    Sum,
    modulus_bits,
    sum_about,
    summand,
)
from ..mechanisms import NoNoise, SkellamNoise
from ..privacy.errors import BudgetExhausted
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.rounding import exact, rounded_up
from ..privacy.skellam import SkellamRelease, skellam_epsilon, skellam_unit
from ..queries import Ask, NetWins, NumberOfVoters, Query
from ..queries.statistics import statistic
from ..rules import Rule, SortByScore, SwissRule
from ..sampling.poisson import LARGEST_RATE
from ..uncertainty import PublishedNoise
from .base import RankAggregator
from .central import CuratorAnswers, Price, check_release, covering, rescale_shares
from .plan import (
    POSITIONS,
    Answers,
    Plan,
    ballots_of,
    check_asks,
    least_voters,
    listed_text,
    refuse,
    repeated,
    stated,
)

_ASKED = "return a list of the servers' messages, or an empty list if a server released none."


def _sensitivity(n_items, max_listed):
    """Return a function that gives the sensitivity of a query; queries of users may not take `max_listed`."""
    more = {} if max_listed is None else {"max_listed": max_listed}
    return methodcaller("sensitivity", n_items, "replace", **more)


def _opened(prices, release, protocol, published, least, n_voters, max_listed, voters):
    """Return a function of bits that answers: from a Profile (simulated), from servers in rounds, or from one sum."""
    if isinstance(voters, Profile):
        if voters.n_voters < least:
            raise ValueError(f"the plan is for {least} voters or more, got {voters.n_voters}.")
        together = {
            kind: price._replace(mechanism=SkellamNoise(price.mechanism.rate * voters.n_voters))
            for kind, price in prices.items()
            if price.epsilon
        }
        published = {**published, "reports_accepted": voters.n_voters, "reports_refused": {}}
        kind = CuratorAnswers if max_listed is None else partial(_CutAnswers, max_listed)
        moved = _sensitivity(voters.n_items, max_listed)
        return partial(kind, {**prices, **together}, release, moved, "l1", voters, published=published)
    in_rounds = protocol["randomizer"] == "skellam-rounds"
    if callable(voters) and not in_rounds:
        raise ValueError("one sum answers this rule: use fit_sums(sums, items=items).")
    if in_rounds and not callable(voters):
        raise ValueError("this rule asks in rounds: use fit_interactive(ask, items=items, n_voters=n_voters).")
    if in_rounds:
        if n_voters > protocol["max_reports"]:
            raise ValueError(f"n_voters={n_voters} is above max_reports={protocol['max_reports']}; raise max_reports.")
        return partial(_RoundsAnswers, voters, n_voters, prices, protocol, published)
    inbox, n_items, (price,) = Inbox(), len(protocol["items"]), prices.values()
    total, accepted = combined(protocol, sum_about(protocol), as_reports(voters, "sums", ONE_EACH), inbox)
    answer, name = price.query.read(total, n_items), price.query.published_as
    published = {**published, **inbox.published, "reports_accepted": accepted}
    if name is not None:
        law = SkellamNoise(price.mechanism.rate * accepted).law
        n_voters = accepted if type(price.query) is NetWins and max_listed is None else None
        published |= {name: answer, "noise": PublishedNoise(name, law, n_voters=n_voters)}
    return partial(_answers_of_sum, price.query, answer, published, n_items)


class _CutAnswers(CuratorAnswers):
    """Answers about ballots that devices cut to `max_listed` random items, drawn again for each sum."""

    def __init__(self, max_listed, *parts, **published):
        self.max_listed = max_listed
        super().__init__(*parts, **published)

    def _vector(self, query):
        stated = query.summed_as(self.n_items)
        if stated is None:  # the number of voters
            return super()._vector(query)
        what, about = statistic(stated, self.n_items, self.max_listed), query.summed_about(self.n_items)
        ballots, total = ballots_of(self._profile), np.zeros(what.numbers, dtype=np.int64)
        step = max(1, _BLOCK // what.numbers)
        for start in range(0, ballots.table.shape[1], step):
            block = ballots._replace(table=ballots.table[:, start : start + step])
            total += what.counted(block, about, self._completion).sum(axis=0)
        return total


def _answers_of_sum(query, answer, published, n_items, bits):
    """Return answers that follow from one sum."""
    answers = Answers(n_items, bits.coins, published=published)
    answers.publish(query, answer)
    return answers


class _RoundsAnswers(Answers):
    """Answers of remote voters: one sum of every server answers a question.

    A sum over fewer (or more) voters than expected is scaled to `n_voters`, and so is its noise. If too few voters
    answer, no sum is released, and `answer` raises `BudgetExhausted`.
    """

    def __init__(self, messenger, n_voters, prices, protocol, published, bits):
        planned = {kind: price.times for kind, price in prices.items()}
        super().__init__(len(protocol["items"]), bits.coins, planned, published)
        self._messenger, self._n_voters, self._prices, self._protocol = messenger, n_voters, prices, protocol
        self.max_listed = protocol.get("max_listed")
        noisy = {kind: price.times for kind, price in prices.items() if price.epsilon}
        self._last_number = dict(zip(noisy, accumulate(noisy.values()), strict=True))  # of a question of each kind
        self._n_reports: dict[Any, int] = {}  # number of voters in each answer
        self._refused: Counter[str] = Counter()

    def deviation(self, query):
        """Return the standard deviation of the scaled noise; before the answer, that for `n_voters` voters."""
        n_reports = self._n_reports.get(query, self._n_voters)
        each = self._prices[query.kind].mechanism
        if isinstance(each, NoNoise):
            return each.deviation
        return SkellamNoise(each.rate * n_reports).deviation * self._n_voters / n_reports

    def close(self):
        """Raise ValueError if no question was answered."""
        if not self._n_reports:
            reasons = ", ".join(f"{count} {reason!r}" for reason, count in sorted(self._refused.items()))
            raise ValueError(
                f"no question was answered ({f'refused: {reasons}' if reasons else 'the servers sent no message'}). "
                "ask must deliver each question to all devices and servers, which follow estimator.protocol(items). It "
                "must bring the devices' messages to the servers, and return what these release."
            )
        self.published |= {"reports_accepted": min(self._n_reports.values()), "reports_refused": dict(self._refused)}

    def ask(self, query):
        """Send the question to all voters, and return the answer scaled to `n_voters` voters."""
        price = self._prices[query.kind]
        if not price.epsilon:  # the number of voters, which is public
            return query.read(np.array([self._n_voters]), self.n_items)
        if query.summed_as(self.n_items) != price.query.summed_as(self.n_items):
            raise BudgetExhausted(f"{query!r} is not of the form that was declared, and that devices answer.")
        number = self._last_number[query.kind] - self.left[query.kind]  # `charge` has counted this question
        target = sum_about(self._protocol, number)
        question = {"protocol": digest(self._protocol), "question": number}
        if target.summand.asked_about is not None:
            question[target.summand.asked_about] = query.summed_about(self.n_items)
        name, inbox = digest(question), Inbox()
        messages = as_reports(self._messenger(question), "what ask returns", _ASKED)
        try:
            total, n_reports = combined(self._protocol, target, messages, inbox, name)
        except ValueError as error:
            warn(f"question {number} has no answer: {error}", stacklevel=2)
            raise BudgetExhausted(f"the servers released no answer to question {number}.") from error
        finally:
            self._refused += inbox.refused
        self._n_reports[query] = n_reports
        if n_reports != self._n_voters:
            total = total * (self._n_voters / n_reports)
        return query.read(total, self.n_items)


ONE_EACH = "pass a list of them, one of each server: estimator.fit_sums(sums, items=items)."


def combined(protocol, target, messages, inbox, question=None):
    """Return (total of the servers' sums, int64, shape (k,), number of voters in it).

    Raise ValueError if a server is missing or sent two sums, or the sums cover different voters. `inbox` counts refused
    messages. `question` is the digest of the question, if the protocol asks questions.
    """
    received = list(inbox.read(messages, partial(_read, protocol, target, question)))
    inbox.accepted = len(received)
    inbox.require(f"Servers {FOLLOW}.")
    servers, voters, n_reports, sums = zip(*received, strict=True)
    got = sorted(servers)
    if got != list(range(protocol["servers"])):
        raise ValueError(f"sums must hold one of each of the {protocol['servers']} servers, got those of {got}.")
    if len(set(zip(voters, n_reports, strict=True))) > 1:
        raise ValueError("the servers' sums are of different voters, and add up to noise; no result is released.")
    total = sum(sums) % target.modulus
    return np.where(total >= target.modulus // 2, total - target.modulus, total), n_reports[0]


def _read(protocol: Any, target: Sum, question: str | None, message: Any) -> tuple[int, str, int, NDArray[np.int64]]:
    """Return (server, name of the voters, number of voters, sum) of one server's message.

    Raise RefusedReport if it is invalid, or covers too few or too many voters.
    """
    of_protocol({digest(protocol)}, message)
    others = ("protocol",) if question is None else ("protocol", "question")
    fields = columns([message], "server", "voters", "n_reports", "sum", also=others)
    server, voters, n_reports, numbers = (value for (value,) in fields)
    reject_unless(message.get("question") == question, "another question")
    reject_unless(is_whole(server, 0, protocol["servers"] - 1), "server out of range")
    reject_unless(type(voters) is str, "no name of the voters")
    enough = is_whole(n_reports, protocol["min_reports"], protocol["max_reports"])
    reject_unless(enough, "too few or too many voters")
    each = end_to_end([numbers], target.summand.numbers, "not the right numbers")
    return server, voters, n_reports, whole_numbers(each, 0, target.modulus - 1, "not the right numbers")


# Secure aggregation: voters split noisy reports among servers, and only the sums are revealed.

_LARGE = 2**32  # larger rates are whole numbers
_BLOCK = 1 << 20  # numbers of simulated devices at a time
_SPARE = 100  # default of max_reports, as a multiple of min_reports
_unit = lru_cache(maxsize=256)(skellam_unit)  # found by bisection; cached, because repeated fits need the same values


@parametrized
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
    max_listed : int or None, default=None
        Public bound on the number of items that a ballot lists, at least 2. A device cuts a longer ballot to so many
        random items, or to the first ones for positional scores. None is no bound.

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

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    n_servers: int = 2
    min_reports: int | None = None
    max_reports: int | None = None
    release: Query | None = None
    max_listed: int | None = None

    parameter_checks: ClassVar[dict[str, Check]] = {
        **EPSILON,
        **DELTA,
        "n_servers": partial(check_whole, least=2, most=MOST_SERVERS),
        "min_reports": VOTERS_OR_NONE,
        "max_reports": VOTERS_OR_NONE,
        "release": check_release,
        "max_listed": LISTED_OR_NONE,
    }
    collects_sums = True
    asks_questions = True

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None, items: ItemNames | None = None) -> Plan:
        """Return the plan, with the noise that each voter adds. The number of voters is public here.

        Raises
        ------
        ValueError
            If a parameter is invalid, the least number of reports is unknown or above the number of voters, or the
            rule asks for a query that is not a sum over voters.
        """
        check_parameters(self)
        if self.delta == 0:
            raise ValueError("delta must be positive for Skellam noise, got 0; set delta=1e-6, say.")
        max_listed = None if self.max_listed is None or self.max_listed >= n_items else int(self.max_listed)
        least = least_voters(self.min_reports, n_voters, "each voter's noise")
        most = _SPARE * least if self.max_reports is None else int(self.max_reports)
        expected = least if n_voters is None else n_voters
        if self.max_reports is not None and most < expected:
            raise ValueError(
                f"max_reports={self.max_reports} is below the number of voters, {expected}; raise it, or leave it out."
            )
        release = None if self.release is None else covering(self, asks)
        asks = asks if release is None else [Ask(release)]
        for ask in asks:
            ask.query.check(n_items)
            if ask.query.answered_with == "order":
                refuse(self, ask.query, "servers add up numbers, and draw no orders; use another rule.")
        check_asks(self, asks)
        prices = self._prices(asks, n_items, least, max_listed)
        noisy = [price for price in prices.values() if price.epsilon]  # of queries that a ballot can change
        # With the noise of one voter, which has twice the rate as its variance.
        one_voter = [
            SkellamRelease(2 * price.mechanism.rate, price.sensitivity.l1, price.sensitivity.l2_squared, price.times)
            for price in noisy
        ]
        local_epsilon = skellam_epsilon(float(self.delta), one_voter)
        for price in noisy:
            if max_listed is not None and price.query.summed_as(n_items) is None:
                refuse(self, price.query, "devices do not compute it, and cannot cut ballots; leave out max_listed.")
        protocol, unsent = self._protocol(prices, noisy, n_items, least, most, local_epsilon, items, max_listed)
        published = {"local_epsilon": local_epsilon}
        reads = partial(_opened, prices, release, protocol, published, least, n_voters, max_listed)
        answers: Counter[str] = Counter()
        for price in noisy:
            answers[stated(price.query)] += price.times
        on = "; then on ".join(f"{asked}, {repeated(times)}" for asked, times in answers.items())
        how = f"Skellam noise, of which each of {least} voters adds a part, on {on}{listed_text(max_listed)}"
        caveats = ("if all servers collude, ballots are as good as open to them",)
        epsilon, delta, trust = rounded_up(self.epsilon), rounded_up(self.delta), "secure_aggregation"
        whom = (trust, f"one of the {self.n_servers} servers"), (trust, f"{least} of the voters")
        guarantee = PrivacyGuarantee(epsilon, delta, trust, "replace", how, caveats=caveats, whom=whom)
        needs = frozenset(price.query.needs for price in prices.values()) if max_listed is None else POSITIONS
        return Plan(guarantee, reads, protocol, needs=needs, prices=prices, n_items=n_items, unsent=unsent)

    def _prices(self, asks, n_items, least, max_listed):
        """Return {kind: Price}; the noise variance is proportional to times * l2_squared / share."""
        sensitivities = list(map(_sensitivity(n_items, max_listed), (ask.query for ask in asks)))
        asks = rescale_shares(asks, sensitivities)
        releases: dict[Any, SkellamRelease] = {}
        prices: dict[Any, Price] = {}
        for ask, moved in zip(asks, sensitivities, strict=True):
            if any(moved):
                relative = Fraction(ask.times * moved.l2_squared) / Fraction(ask.share)  # variance in `unit`
                releases[ask.query.kind] = SkellamRelease(relative, moved.l1, moved.l2_squared, ask.times)
        unit = Fraction(_unit(float(self.epsilon), float(self.delta), tuple(releases.values()))) if releases else 0
        noise: Any
        for ask, moved in zip(asks, sensitivities, strict=True):
            noise, cost = NoNoise(), Fraction(0)
            if ask.query.kind in releases:
                rate = releases[ask.query.kind].variance * unit / (2 * least)
                grid = RATE_GRID if rate < _LARGE - 1 else 1  # rounded up, it stays below _LARGE
                rate = Fraction(math.ceil(rate * grid), grid)
                if rate * least > LARGEST_RATE:
                    raise ValueError(f"epsilon={float(self.epsilon):g} is too small for {ask.query}; use a larger one.")
                noise, cost = SkellamNoise(rate), Fraction(ask.share) * exact(self.epsilon) / ask.times
            prices[ask.query.kind] = Price(ask.query, moved, noise, ask.times, cost)
        return prices

    def _protocol(self, prices, noisy, n_items, least, most, local_epsilon, items, max_listed):
        """Return (protocol, ""), or (None, reason) if devices cannot send what is asked."""
        rounds = []
        for price in noisy:
            query, rate = price.query, price.mechanism.rate
            stated = query.summed_as(n_items)
            if stated is None:
                return None, f"devices have no form for {query}"
            try:
                what = summand(stated, n_items, max_listed)
            except RefusedProtocol:
                return None, f"{query} has numbers beyond what devices send"
            if what.numbers > MOST_NUMBERS:
                return None, f"{query} has {what.numbers:,} numbers, and devices send {MOST_NUMBERS:,} at most"
            bits, grid = modulus_bits(what, most, float(rate)), RATE_GRID if rate < _LARGE else 1
            if bits > MOST_BITS or rate * grid >= 2**53:
                return None, f"sums of {query} with so much noise leave the range of 53 bits; use a larger epsilon"
            noise = {"modulus_bits": bits, "rate": [int(rate * grid), grid], "times": price.times}
            rounds.append({"statistic": stated, **noise})
        if not rounds:
            return None, "no ballot can change what it asks for"
        if not all(price.epsilon or isinstance(price.query, NumberOfVoters) for price in prices.values()):
            return None, "one of its questions no ballot can change, and it is not the number of voters"
        common = {
            "servers": int(self.n_servers),
            "delta": repr(float(self.delta)),
            "local_epsilon": cost_as_text(Decimal(local_epsilon)),
            "min_reports": least,
            "max_reports": most,
        }
        randomizer, fields = "skellam-rounds", {"rounds": rounds, **common}
        if len(prices) == 1 and rounds[0]["times"] == 1 and what.asked_about is None:
            only = {**rounds[0], **common}
            randomizer, fields = "skellam-shares", {name: only[name] for name in SharesRandomizer.fields}
        if max_listed is not None:
            fields["max_listed"] = max_listed
        try:
            return checked(make_protocol(randomizer, n_items if items is None else items, self.epsilon, fields)), ""
        except RefusedProtocol as error:  # devices price some queries as if they were about all items
            return None, f"{error.args[0].rstrip('.')}, as devices count"


# Estimators for secure aggregation by several servers.


@parametrized
class _Summed(RankAggregator):
    """Base class of estimators that receive only sums over many voters."""

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    n_servers: int = 2
    min_reports: int | None = None
    max_reports: int | None = None
    max_listed: int | None = None
    random_state: RandomState = None

    _rule: ClassVar[type[Rule]]

    def _compose(self):
        limits = self.min_reports, self.max_reports, None, self.max_listed
        return SecureAggregation(self.epsilon, self.delta, self.n_servers, *limits), self._rule()


class SecAggBorda(_Summed):
    """Private Borda ranking by secure aggregation; try it first if at least one of several servers is trusted.

    Voters add noise to their net wins and split the result among servers (new in this package). Each server sees only
    uniform random numbers, and the curator sees only the noisy sum. **A voter who sends invalid numbers can change the
    result by any amount**, because servers cannot check their range. Protocols with range proofs (Prio3) prevent that.
    This protocol does not.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the released sums, in nats.
    delta : float, default=1e-6
        Total delta. Must be positive.
    n_servers : int, default=2
        Number of servers among which each voter splits a report. One honest server is enough.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. With fewer voters, the fit fails and releases no result. None is
        ``len(X)`` in `fit`; protocols for devices need a number.
    max_reports : int or None, default=None
        Public upper limit on the number of voters. None is 100 times `min_reports`.
    max_listed : int or None, default=None
        Public bound k on the number of items that a ballot lists, at least 2. If voters list few of many items, the
        noise is smaller by about (k / m)^1.5. A device cuts a longer ballot to k random items. None is no bound.
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
        Noisy net wins, summed over all voters.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    reports_accepted_ : int
        Number of voters in the sum; with several sums, in the smallest one.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter at `delta`, without trust in the servers.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: one of the servers, and `min_reports` voters who follow the protocol. If all servers
    collude, only ``local_epsilon_`` at `delta` remains, which does not protect the voters. Neighbours differ in one
    replaced ballot; the number of voters is public. Voters who drop out, deviate from the protocol or are fake may add
    no noise, so set `min_reports` to the number of honest voters that you are sure of.

    `fit` simulates the sum. To collect ballots, devices (`client`) send one message to each
    `~sklearn_dprank.collection.AggregationServer`. The servers add up the voters from whom all servers received a
    message, each voter once. `fit_sums` reads the servers' sums.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    ``noise_`` is the noise of all ``reports_accepted_`` voters in the sum, if all of them follow the protocol. If fewer
    do, there is less noise, and the intervals are wider than necessary. The intervals do not hold if a voter sends
    numbers that encode no ballot.

    The noise of all voters together is Skellam noise. It is about 7 to 10 % wider than the Gaussian noise that a
    trusted curator needs for the same guarantee.

    References
    ----------
    Agarwal, Kairouz and Liu (2021) for Skellam noise; Corrigan-Gibbs and Boneh (2017), "Prio", for shares of a sum.

    Examples
    --------
    >>> from sklearn_dprank import SecAggBorda
    >>> SecAggBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    _rule = SortByScore


class SecAggSwissBorda(_Summed):
    """Private Borda ranking by secure aggregation in rounds; use it for many items if devices can answer in rounds.

    Swiss Borda by secure aggregation (new in this package): the rounds of `DPSwissBorda` without a trusted curator. In
    each round, voters add noise to their net wins within groups of neighbouring items, or to their opinions on pairs in
    doubt, and split the result among servers. **A voter who sends invalid numbers can change the result by any
    amount**, as in `SecAggBorda`. `fit` simulates the rounds. To collect ballots, `fit_interactive` asks the questions,
    and devices (`client`) answer them one by one.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss of the released sums, in nats.
    delta : float, default=1e-6
        Total delta. Must be positive.
    n_servers : int, default=2
        Number of servers among which each voter splits a report. One honest server is enough.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. With fewer voters, the fit fails and releases no result. None is
        ``len(X)`` in `fit`; protocols for devices need a number.
    max_reports : int or None, default=None
        Public upper limit on the number of voters. None is 100 times `min_reports`.
    max_listed : int or None, default=None
        Public bound k on the number of items that a ballot lists, at least 2. If voters list few of many items, the
        noise is smaller by about (k / m)^1.5. A device cuts a longer ballot to k random items. None is no bound.
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
    reports_accepted_ : int
        Number of voters in the sum; with several sums, in the smallest one.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter at `delta`, without trust in the servers.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: one of the servers, and `min_reports` voters who follow the protocol. Neighbours differ in
    one replaced ballot; the number of voters is public. Renyi divergences of the rounds add up, even if a question
    depends on earlier answers. The noise of each round corresponds to its share of the sum. The sizes of the groups are
    public, and their members follow from earlier answers. So do the pairs and the kind of the last question. It is
    scaled by a public integer, so that its sensitivity is the same in every case.

    The protocol states all rounds and their joint cost before the first one. A device computes this cost and refuses
    more than its owner allows (`max_epsilon`, for the case that all servers collude). It answers each round once and in
    order. Before the last round, it answers only about groups of the stated sizes.

    At least `min_reports` voters must answer a round, but not the same ones in each round. A round with fewer voters
    releases no sum and is not repeated. A warning reports it, the other rounds decide, and the guarantee still covers
    all rounds. Without the last round, the consensus is the order of the scores. Without the first, the fit fails.
    ``reports_refused_`` counts messages of servers.

    With `max_listed`, a ballot shares its k items among the groups of a round, the largest groups first. Groups of k or
    more items then cost as much as net wins of all items, and only smaller groups need less noise.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Like `DPSwissBorda`, it reduces the error if voters agree on pairs that are far apart in the consensus, here with
    about 20 items or more.

    References
    ----------
    Agarwal, Kairouz and Liu (2021) for Skellam noise; Corrigan-Gibbs and Boneh (2017), "Prio", for shares of a sum.

    Examples
    --------
    >>> from sklearn_dprank import SecAggSwissBorda
    >>> SecAggSwissBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    _rule = SwissRule
