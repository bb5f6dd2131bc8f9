"""Nobody is trusted, and the curator may ask again: each voter answers a few questions, randomised."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..privacy.bits import Bits
from ..privacy.checks import check_epsilon
from ..privacy.flips import flip_probability
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted
from ..profile import Profile
from ..queries import AllMargins, PairMargin, PairTallies, Tallies, estimated_margins
from ..randomizers.answers import FLIP_GRID, counted_wins, flipped_answers, is_answer, is_pair, parsed
from ..randomizers.base import RefusedReport
from .devices import device_ballot, simulated_ballots
from .plan import Plan, Session, refuse
from .schedules import Slots, Terms


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

    def plan(self, asks, n_items, n_voters=None):
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
        prices = {"each": _flip(terms.epsilon), "last": _flip(terms.reserve) if terms.reserve else None}
        protocol = {
            "version": 1,
            "randomizer": "rr-interactive",
            "n_items": int(n_items),
            "epsilon": float(self.epsilon),
            "answers": int(terms.answers),
            "flips": prices,
            "flip_grid": FLIP_GRID,
        }
        guarantee = PrivacyGuarantee(float(self.epsilon), 0.0, "local", "replace", terms.how)
        return Plan(
            guarantee, _Opener(terms, protocol, n_voters), protocol, client=_ClientMaker(protocol), reads_ballots=True
        )


def _flip(epsilon):
    return int(flip_probability(epsilon) * FLIP_GRID)


class InteractiveClient:
    """One voter's device: answers the questions that the protocol allows, and no more.

    Parameters
    ----------
    protocol : dict
        As published by the curator.
    random_state : None, int, Generator or RandomState
        None is the operating system's secure source; anything else is for simulation.
    """

    def __init__(self, protocol, random_state=None):
        self.protocol = protocol
        self._bits = Bits.from_random_state(random_state)
        self._ballot = None
        self._given: dict[int, dict] = {}
        self._left = {"each": protocol["answers"], "last": int(protocol["flips"]["last"] is not None)}

    def answer(self, question, ballot):
        """Answer one question about this voter's ballot.

        Parameters
        ----------
        question : dict
            As the curator asked it: "version", "question" (its number), "kind" and "pairs".
        ballot : array-like of shape (n_items,)
            Where this voter puts each item; the same for every question.

        Returns
        -------
        dict
            JSON-able. The same question again gets the same answer.

        Raises
        ------
        BudgetExhausted
            If this voter has answered as often as was agreed, or reports another ballot.
        ValueError
            If the question does not follow the protocol.
        """
        number, kind, pairs = _asked(question, self.protocol)
        positions, key = device_ballot(ballot, self.protocol["n_items"])
        if self._ballot not in (None, key):
            raise BudgetExhausted("this client has answered for another ballot.")
        self._ballot = key
        if number not in self._given:
            if self._left[kind] == 0:
                raise BudgetExhausted("this client has given every answer that its budget pays for.")
            self._left[kind] -= 1
            first, second = _drawn(pairs, 1, self._bits)
            said = flipped_answers(first, second, self.protocol["flips"][kind], positions, self._bits)
            self._given[number] = {
                "version": self.protocol["version"],
                "question": number,
                "pair": [int(first[0, 0]), int(second[0, 0])],
                "answer": int(said[0, 0]),
            }
        return json.loads(json.dumps(self._given[number]))


@dataclass(frozen=True)
class _ClientMaker:
    protocol: dict

    def __call__(self, random_state=None):
        return InteractiveClient(self.protocol, random_state)


@dataclass(frozen=True)
class _Opener:
    terms: Terms
    protocol: dict
    n_voters: int | None

    def __call__(self, voters, bits):
        if isinstance(voters, Profile):
            ballots = simulated_ballots(voters)
            return _InteractiveSession(_Simulated(ballots, bits), voters.n_voters, self.terms, self.protocol, bits)
        return _InteractiveSession(_Field(voters), self.n_voters, self.terms, self.protocol, bits)


class _InteractiveSession(Session):
    def __init__(self, crowd, n_voters, terms, protocol, bits):
        super().__init__(protocol["n_items"], bits.coins)
        self._crowd, self._n_voters, self._protocol = crowd, n_voters, protocol
        self._following = terms.start(n_voters, bits.assignment)
        self._answers: dict[Any, Any] = {}
        self._asked = 0
        self.facts = {"reports_refused": crowd.refused}

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

    def _tallies(self, kind, voters, pairs):
        if pairs is None:
            pairs = list(zip(*np.triu_indices(self.n_items, 1), strict=True))
        flip = self._protocol["flips"][kind] / FLIP_GRID
        return (Tallies(flip, self._ask(kind, voters, pairs)),)

    def _ask(self, kind, voters, pairs):
        """Ask each of `voters` about one of `pairs`; return the answers as (n_items, n_items) wins."""
        self._asked += 1
        pairs = [[int(i), int(j)] for i, j in pairs]
        question = {"version": self._protocol["version"], "question": self._asked, "kind": kind, "pairs": pairs}
        wins = np.zeros((self.n_items, self.n_items), dtype=np.int64)
        self._crowd.ask(question, voters, self._protocol["flips"][kind], wins)
        return wins


class _Simulated:
    """Voters whose devices run here, vectorised."""

    def __init__(self, positions, bits):
        self._positions, self._bits = positions, bits
        self.refused: dict[str, int] = {}

    def ask(self, question, voters, flip, wins):
        ballots = self._positions._replace(table=self._positions.table[:, voters])
        first, second = _drawn(question["pairs"], len(voters), self._bits)
        wins += counted_wins(first, second, flipped_answers(first, second, flip, ballots, self._bits), len(wins))


class _Field:
    """Voters elsewhere: `ask` delivers a question and returns an iterable of reports."""

    def __init__(self, ask: Callable):
        self._ask = ask
        self.refused: dict[str, int] = {}

    def ask(self, question, voters, flip, wins):
        allowed = {tuple(pair) for pair in question["pairs"]}
        heard = 0
        for report in self._ask({**question, "voters": voters.tolist()}):
            try:
                (i, j), said = _checked(parsed(report), question, allowed, len(wins))
                if heard == len(voters):
                    raise RefusedReport("more reports than voters asked")
            except RefusedReport as error:
                self.refused[error.reason] = self.refused.get(error.reason, 0) + 1
                continue
            wins[(i, j) if said else (j, i)] += 1
            heard += 1


def _asked(question, protocol):
    """Return (number, kind, pairs) of a question that follows the protocol; the curator is not trusted either."""
    if isinstance(question, dict) and question.get("version") == protocol["version"]:
        number, kind, pairs = question.get("question"), question.get("kind"), question.get("pairs")
        known = type(number) is int and kind in ("each", "last")
        if known and isinstance(pairs, list) and pairs and all(is_pair(pair, protocol["n_items"]) for pair in pairs):
            return number, kind, pairs
    raise ValueError("question does not follow the protocol.")


def _checked(report, question, allowed, n_items):
    """Return (pair, answer) of a report that follows the protocol."""
    if not isinstance(report, dict):
        raise RefusedReport("not a JSON object")
    if report.get("version") != question["version"]:
        raise RefusedReport("wrong version")
    if set(report) != {"version", "question", "pair", "answer"} or report["question"] != question["question"]:
        raise RefusedReport("wrong keys or question")
    pair, said = report["pair"], report["answer"]
    if not (is_pair(pair, n_items) and tuple(pair) in allowed):
        raise RefusedReport("pair out of range")
    if not is_answer(said):
        raise RefusedReport("answer out of range")
    return tuple(pair), said


def _drawn(pairs, n_voters, bits):
    """Return (first, second), each (n_voters, 1): one of the pairs for each voter, drawn uniformly."""
    pick = np.array(pairs)[bits.assignment.integers(len(pairs), n_voters)]
    return pick[:, :1], pick[:, 1:]
