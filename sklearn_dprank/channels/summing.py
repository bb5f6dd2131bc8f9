"""Validation and addition of the servers' sums in secure aggregation, in one or several rounds."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, NamedTuple
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from ..ballots.profile import Profile
from ..collection.client.protocol import digest, is_whole
from ..collection.client.rounds import sum_about
from ..collection.client.shares import Sum, summed
from ..collection.curator.inbox import (
    FOLLOW,
    Inbox,
    RefusedReport,
    as_reports,
    end_to_end,
    fields,
    protocol_of,
    whole_numbers,
)
from ..mechanisms import SkellamNoise
from ..privacy.ledger import BudgetExhausted, Ledger
from ..queries import Publication
from ..queries.base import weighted_sensitivity
from ..uncertainty import PublishedNoise
from .central import CuratorPoll
from .plan import PublishedSession, Session

_ASKED = "return a list of the servers' messages, or an empty list if a server released none."


class SecureAggregationPoll:
    """Poll of sums with the noise of all voters: from servers, or simulated with one Skellam draw per number."""

    def __init__(self, prices, release, protocol, published, least, n_voters, voters):
        self._prices, self._protocol, self._more = prices, protocol, published
        self._n_voters, self._voters, self._curator = n_voters, voters, None
        if isinstance(voters, Profile):
            if voters.n_voters < least:
                raise ValueError(f"the plan is for {least} voters or more, got {voters.n_voters}.")
            self._voters = None
            self._counted = {"reports_accepted": voters.n_voters, "reports_refused": {}}
            together = {
                kind: price._replace(mechanism=SkellamNoise(price.mechanism.rate * voters.n_voters))
                for kind, price in prices.items()
                if price.epsilon
            }
            sensitivity = partial(weighted_sensitivity, n_items=voters.n_items, neighboring="replace")
            self._curator = CuratorPoll({**prices, **together}, release, sensitivity, voters)
        elif (protocol["randomizer"] == "skellam-rounds") != callable(voters):
            raise ValueError(
                "one sum answers this rule: use fit_sums(sums, items=items)."
                if callable(voters)
                else "this rule asks in rounds: use fit_interactive(ask, items=items, n_voters=n_voters)."
            )
        elif not callable(voters):
            inbox = Inbox()
            self._sum, accepted = combined(protocol, summed(protocol), as_reports(voters, "sums", ONE_EACH), inbox)
            self._counted = {**inbox.published, "reports_accepted": accepted}
        elif n_voters > protocol["max_reports"]:
            raise ValueError(f"n_voters={n_voters} is above max_reports={protocol['max_reports']}; raise max_reports.")

    def __call__(self, bits):
        if self._curator is not None:
            session = self._curator(bits)
            session.published |= {**self._counted, **self._more}
            return session
        if callable(self._voters):
            return _RoundsSession(self._voters, self._n_voters, self._prices, self._protocol, self._more, bits.coins)
        (price,) = self._prices.values()
        n_items, query = len(self._protocol["items"]), price.query
        answer = query.read(self._sum, n_items)
        session = PublishedSession(n_items, bits.coins, Publication(query, answer), {})
        session.published = {**self._counted, **self._more}
        if query.published_as is not None:
            noise = SkellamNoise(price.mechanism.rate * self._counted["reports_accepted"])
            session.published |= {query.published_as: answer, "noise": PublishedNoise(query.published_as, noise.law)}
        return session


class _RoundsSession(Session):
    """Session with remote voters, in which one sum of every server answers a question.

    A sum over fewer (or more) voters than expected is scaled to `n_voters`, and so is its noise. If too few voters
    answer, no sum is released, and `answer` raises `BudgetExhausted`.
    """

    def __init__(self, messenger, n_voters, prices, protocol, published, coins):
        super().__init__(len(protocol["items"]), coins)
        self._messenger, self._n_voters, self._prices, self._protocol = messenger, n_voters, prices, protocol
        self._ledger = Ledger({kind: (price.times, price.epsilon) for kind, price in prices.items()})
        noisy = [kind for kind, price in prices.items() if price.epsilon]
        before = np.cumsum([0, *(prices[kind].times for kind in noisy)]).tolist()
        self._next = dict(zip(noisy, before, strict=False))  # number of the last question of each kind
        self._answers: dict[Any, Any] = {}
        self._n_reports: dict[Any, int] = {}  # number of voters in each answer
        self._refused: Counter[str] = Counter()
        self.published = dict(published)

    def answer(self, query):
        if query not in self._answers:
            self._ledger.charge(query.kind)
            price = self._prices[query.kind]
            if price.epsilon:
                self._answers[query] = self._summed(query, price)
            else:  # the number of voters, which is public
                self._answers[query] = query.read(np.array([self._n_voters]), self.n_items)
        return self._answers[query]

    def deviation(self, query):
        """Return the standard deviation of the scaled noise; before the answer, that for `n_voters` voters."""
        n_reports = self._n_reports.get(query, self._n_voters)
        each = self._prices[query.kind].mechanism
        return SkellamNoise(each.rate * n_reports).deviation * self._n_voters / n_reports

    def close(self):
        """Raise ValueError if no question was answered."""
        if not self._n_reports:
            reasons = ", ".join(f"{count} {reason!r}" for reason, count in sorted(self._refused.items()))
            raise ValueError(
                f"no question was answered ({f'refused: {reasons}' if reasons else 'the servers sent no message'}); "
                "ask must deliver each question to all devices and servers, which follow estimator.protocol(items), "
                "bring the devices' messages to the servers and return what these release."
            )
        self.published["reports_accepted"] = min(self._n_reports.values())
        self.published["reports_refused"] = dict(self._refused)

    def _summed(self, query, price):
        """Send the question to all voters, and return the answer scaled to `n_voters` voters."""
        if query.summed_as(self.n_items) != price.query.summed_as(self.n_items):
            raise BudgetExhausted(f"{query!r} is not of the form that was declared, and that devices answer.")
        self._next[query.kind] += 1
        number = self._next[query.kind]
        of = sum_about(self._protocol, number)
        question = {"protocol": digest(self._protocol), "question": number}
        if of.summand.asked_about is not None:
            question[of.summand.asked_about] = query.summed_about(self.n_items)
        name, inbox = digest(question), Inbox()
        messages = as_reports(self._messenger(question), "what ask returns", _ASKED)
        try:
            total, n_reports = combined(self._protocol, of, messages, inbox, name)
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


def combined(protocol, of, messages, inbox, question=None):
    """Return (total of the servers' sums, int64, shape (k,), number of voters in it).

    Raise ValueError if a server is missing or sent two sums, or the sums cover different voters. `inbox` counts refused
    messages. `question` is the digest of the question, if the protocol asks questions.
    """
    sums = list(inbox.read(messages, partial(_read, protocol, of, question)))
    inbox.require(f"Servers {FOLLOW}.")
    numbers = sorted(one.server for one in sums)
    if numbers != list(range(protocol["servers"])):
        raise ValueError(f"sums must hold one of each of the {protocol['servers']} servers, got those of {numbers}.")
    if len({(one.voters, one.n_reports) for one in sums}) > 1:
        raise ValueError("the servers' sums are of different voters, and add up to noise; no result is released.")
    total = sum(one.numbers for one in sums) % of.modulus
    return np.where(total >= of.modulus // 2, total - of.modulus, total), sums[0].n_reports


class _ServerMessage(NamedTuple):
    """Message of one server: its index, the name and number of its voters, and its sum."""

    server: int
    voters: str
    n_reports: int
    numbers: NDArray[np.int64]


def _read(protocol: Any, of: Sum, question: str | None, message: Any) -> _ServerMessage:
    """Return one server's message; raise RefusedReport if it is invalid or covers too few or too many voters."""
    if protocol_of(message) != digest(protocol):
        raise RefusedReport("another protocol")
    asked = () if question is None else ("question",)
    server, voters, n_reports, numbers, *about = fields(message, "server", "voters", "n_reports", "sum", *asked)
    if about and about != [question]:
        raise RefusedReport("another question")
    if not is_whole(server, 0, protocol["servers"] - 1):
        raise RefusedReport("server out of range")
    if type(voters) is not str:
        raise RefusedReport("no name of the voters")
    if not is_whole(n_reports, protocol["min_reports"], protocol["max_reports"]):
        raise RefusedReport("too few or too many voters")
    each = end_to_end([numbers], of.summand.numbers, "not the right numbers")
    return _ServerMessage(server, voters, n_reports, whole_numbers(each, 0, of.modulus - 1, "not the right numbers"))
