"""Nobody is trusted, and the curator may ask again: each voter answers a few questions, randomised."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..checks import check_epsilon
from ..devices import interactive as voters_half
from ..devices.protocol import FLIP_GRID, digest
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted
from ..profile import Profile
from ..queries import AllMargins, PairMargin, PairTallies, Tallies, estimated_margins
from ..randomizers.base import as_text, both_ways, drafted, flip_within
from ..randomizers.reports import Inbox, RefusedReport, as_reports, fields, protocol_of, require_answer, require_pair
from ..randomizers.response import counted_wins
from .plan import POSITIONS, Plan, Session, ballots_of, refuse
from .schedules import Slots


class Interactive(BaseEstimator):
    """Local differential privacy with adaptive questions to voters who still have budget.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of all answers of one voter together, in nats.
    schedule : Slots, Groups, Rounds or None, default=None
        Who is asked next; None is `Slots()`.

    Examples
    --------
    >>> from sklearn_dprank.channels import Interactive
    >>> from sklearn_dprank.rules import KwikSortRule
    >>> asks = KwikSortRule(on_exhausted="coin").asks(10)
    >>> print(Interactive(epsilon=2.0).plan(asks, n_items=10, n_voters=100).guarantee)
    epsilon = 2 (local, replace)
    """

    asks_questions = True

    def __init__(self, epsilon=1.0, schedule=None):
        self.epsilon = epsilon
        self.schedule = schedule

    def plan(self, asks, n_items, n_voters=None, items=None):
        """Agree on who answers how often; the number of voters is public here.

        Raises
        ------
        ValueError
            If epsilon is invalid, or the schedule does not fit what the rule asks.
        """
        check_epsilon(self.epsilon)
        schedule = Slots() if self.schedule is None else self.schedule
        first, rest = asks[0], asks[1:]
        if not isinstance(first.query, schedule.question):
            refuse(self, first.query, f"{type(schedule).__name__} is for {schedule.question.__name__}.")
        terms = schedule.terms(float(self.epsilon), asks, n_items, 1 if n_voters is None else n_voters)
        if rest and not (terms.reserve and isinstance(rest[0].query, AllMargins) and len(rest) == 1):
            refuse(self, rest[0].query, f"{type(schedule).__name__} keeps no budget back for it.")
        protocol = drafted(
            "rr-interactive",
            n_items if items is None else items,
            as_text(self.epsilon),
            answers=int(terms.answers),
            flips=_flips(as_text(self.epsilon), terms),
            flip_grid=FLIP_GRID,
        )
        guarantee = PrivacyGuarantee(float(self.epsilon), 0.0, "local", "replace", terms.how)
        return Plan(guarantee, partial(_InteractivePoll, terms, protocol, n_voters), protocol, needs=POSITIONS)


def _flips(epsilon, terms):
    """Return the flips over 2^52 of all answers together, and of the last report, where a reserve is kept back."""
    reserve = Decimal(terms.reserve)
    with localcontext(prec=800):  # every digit of a double: the shares add up to no more than the whole
        share = both_ways(epsilon) - reserve
    each = flip_within(share, terms.answers)
    return {"each": each, "last": flip_within(reserve) if reserve else None}


class _InteractivePoll:
    """Voters who can be asked, here or in the field."""

    def __init__(self, terms, protocol, n_voters, voters):
        self._terms, self._protocol = terms, protocol
        self._ballots = ballots_of(voters) if isinstance(voters, Profile) else None
        self._voters: Any = voters
        self._n_voters = voters.n_voters if isinstance(voters, Profile) else n_voters

    def __call__(self, bits):
        if self._ballots is None:
            crowd: Any = _Field(self._voters, self._protocol)
        else:
            crowd = _Simulated(self._ballots, bits, self._protocol)
        return _InteractiveSession(crowd, self._n_voters, self._terms, self._protocol, bits)


class _InteractiveSession(Session):
    def __init__(self, crowd, n_voters, terms, protocol, bits):
        super().__init__(len(protocol["items"]), bits.coins)
        self._crowd, self._n_voters, self._protocol = crowd, n_voters, protocol
        self._following = terms.start(n_voters, bits.assignment)
        self._answers: dict[Any, Any] = {}
        self._asked = 0
        self._inbox = crowd.inbox

    def answer(self, query):
        if query not in self._answers:
            if isinstance(query, PairMargin):
                wins = self._ask("each", self._following(), [(query.i, query.j)])
                self._answers[query] = int(wins[query.i, query.j] - wins[query.j, query.i])
            elif isinstance(query, PairTallies):
                self._answers[query] = self._tallies("each", self._following(), query.pairs)
            elif isinstance(query, AllMargins) and self._protocol["flips"]["last"] is not None:
                everyone = np.arange(self._n_voters)
                self._answers[query] = estimated_margins(self._tallies("last", everyone, None))
            else:
                raise BudgetExhausted(f"no answer was planned for {query}.")
        return self._answers[query]

    def close(self):
        self._crowd.close()
        self.published = self._inbox.published

    def _tallies(self, kind, voters, pairs):
        if pairs is None:
            pairs = list(zip(*np.triu_indices(self.n_items, 1), strict=True))
        flip = self._protocol["flips"][kind] / FLIP_GRID
        return (Tallies(flip, self._ask(kind, voters, pairs)),)

    def _ask(self, kind, voters, pairs):
        """Ask each of `voters` about one of `pairs`; return the answers as (n_items, n_items) wins."""
        self._asked += 1
        pairs = [[int(i), int(j)] for i, j in pairs]
        return self._crowd.ask(kind, self._asked, pairs, voters)


class _Simulated:
    """Voters whose devices run here, side by side."""

    def __init__(self, positions, bits, protocol):
        self._positions, self._bits, self._protocol = positions, bits, protocol
        self.inbox = Inbox()

    def ask(self, kind, number, pairs, voters):
        ballots = self._positions._replace(table=self._positions.table[:, voters])
        self.inbox.accepted += len(voters)
        first, second, answers = voters_half.draw(self._protocol, ballots, self._bits, kind, pairs)
        return counted_wins(first, second, answers, len(self._protocol["items"]))

    def close(self):
        """Find nothing wrong: with few voters it may be that nobody was asked."""


class _Field:
    """Voters elsewhere: `ask` delivers a question and returns an iterable of reports."""

    def __init__(self, ask: Callable, protocol):
        self._ask, self._protocol = ask, protocol
        self._name = digest(protocol)
        self.inbox = Inbox()

    def ask(self, kind, number, pairs, voters):
        m = len(self._protocol["items"])
        wins = np.zeros((m, m), dtype=np.int64)
        allowed, most = {tuple(pair) for pair in pairs}, self.inbox.accepted + len(voters)

        def take(report):
            (i, j), said = self._read(report, number, allowed)
            if self.inbox.accepted == most:
                raise RefusedReport("more reports than voters asked")
            wins[(i, j) if said else (j, i)] += 1

        question = {"protocol": self._name, "question": number, "kind": kind, "pairs": pairs}
        said = self._ask({**question, "voters": voters.tolist()})
        self.inbox.read(as_reports(said, "what ask returns", "return a list of the devices' answers."), take)
        return wins

    def close(self):
        """Raise unless an answer was accepted."""
        self.inbox.require(
            "ask must deliver each question to the devices in question['voters'] and return their answers, devices "
            "must follow estimator.protocol(items) with the same items in the same order, and n_voters must not be so "
            "small that nobody is asked."
        )

    def _read(self, report, number, allowed):
        """Return (pair, answer) of a report that follows the protocol."""
        if protocol_of(report) != self._name:
            raise RefusedReport("another protocol")
        asked, pair, said = fields(report, "question", "pair", "answer")
        if type(asked) is not int or asked != number:
            raise RefusedReport("another question")
        require_pair(pair, len(self._protocol["items"]))
        if tuple(pair) not in allowed:
            raise RefusedReport("pair out of range")
        require_answer(said)
        return tuple(pair), said
