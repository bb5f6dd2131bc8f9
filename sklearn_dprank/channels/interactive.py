"""Interactive local model: each voter's device randomises the answers to a few adaptive questions."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from .._utils.checks import EPSILON, Check, check_made, check_parameters, safe_repr
from .._utils.scikit_learn import BaseEstimator
from .._utils.types import Amount, ItemNames
from ..ballots.profile import Profile
from ..collection.client.interactive import InteractiveRandomizer, flips_spent
from ..collection.client.protocol import FLIP_GRID
from ..collection.curator.base import make_protocol
from ..collection.curator.epsilon_grid import as_text, both_ways, stated_epsilon
from ..collection.curator.resolve import check_randomizer, resolve_flips
from ..collection.curator.response import PairFlips, counted_wins
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted
from ..queries import Ask, PairMargin, Tallies
from .clients import RemoteClients, SimulatedClients
from .plan import POSITIONS, Plan, Session, ballots_of, refuse
from .schedules import Groups, Rounds, Slots


def _check_schedule(schedule, name):
    """Raise ValueError unless `schedule` is None or a schedule object."""
    check_made(schedule, name, "schedule")
    if schedule is not None and not hasattr(schedule, "voter_load"):
        raise ValueError(f"{name} must be None, Slots(), Groups() or Rounds(), got {safe_repr(schedule)}.")


class Interactive(BaseEstimator):
    """Local differential privacy with adaptive questions to voters who still have budget.

    Parameters
    ----------
    epsilon : float, default=1.0
        Joint privacy loss of all answers of one voter, in nats.
    schedule : Slots, Groups, Rounds or None, default=None
        Schedule that selects the voters for each question. None is `Slots()`.
    randomizer : PairFlips or None, default=None
        Randomizer of each answer. None is `RandomizedResponse()`. A randomizer of `theory` uses the scale as printed
        for the answer's share of epsilon. The guarantee states the epsilon that it really spends.

    Examples
    --------
    >>> from sklearn_dprank.channels import Interactive
    >>> from sklearn_dprank.rules import KwikSortRule
    >>> asks = KwikSortRule(on_exhausted="coin").asks(10)
    >>> print(Interactive(epsilon=2.0).plan(asks, n_items=10, n_voters=100).guarantee)
    epsilon = 2 (local, replace)
    """

    parameter_checks: dict[str, Check] = {
        **EPSILON,
        "schedule": _check_schedule,
        "randomizer": check_randomizer,
    }
    asks_questions = True

    def __init__(
        self,
        epsilon: Amount = 1.0,
        schedule: Slots | Groups | Rounds | None = None,
        randomizer: PairFlips | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.schedule = schedule
        self.randomizer = randomizer

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None, items: ItemNames | None = None) -> Plan:
        """Return the plan, with the number of answers per voter. The number of voters is public here.

        Raises
        ------
        ValueError
            If epsilon is invalid, or the schedule or the randomizer does not fit the rule's asks.
        """
        check_parameters(self)
        schedule = Slots() if self.schedule is None else self.schedule
        randomizer = resolve_flips(self, "its schedule (Slots(n_queries=...))")
        load = self._load(schedule, asks, n_items, 1 if n_voters is None else n_voters)
        if n_voters is not None and hasattr(schedule, "warn_of_few"):
            schedule.warn_of_few(float(self.epsilon), asks, n_voters)
        flips = _flips(randomizer, as_text(self.epsilon), load)
        stated = randomizer.stated(self.epsilon, flips_spent(flips, load.answers))
        fields = {"answers": int(load.answers), "flips": flips, "flip_grid": FLIP_GRID}
        protocol = make_protocol("rr-interactive", n_items if items is None else items, stated, fields)
        how = load.how.format(randomizer.how)
        guarantee = PrivacyGuarantee(stated_epsilon(protocol, InteractiveRandomizer()), 0.0, "local", "replace", how)
        kinds = {schedule.question: "each", **({schedule.last_resort: "last"} if load.reserve else {})}
        opening = partial(_InteractivePoll, load, kinds, protocol, n_voters)
        return Plan(guarantee, opening, protocol, needs=POSITIONS, n_items=n_items)

    def _load(self, schedule, asks, n_items, n_voters):
        """Return the schedule's `VoterLoad`; raise ValueError if the schedule does not fit the asks."""
        name, (first, *rest) = type(schedule).__name__, asks
        if first.query.kind != schedule.question:
            refuse(self, first.query, f"{name} is for {schedule.question.__name__}.")
        load = schedule.voter_load(float(self.epsilon), asks, n_items, n_voters)
        if rest and not (load.reserve and [ask.query.kind for ask in rest] == [schedule.last_resort]):
            refuse(self, rest[0].query, f"{name} keeps no budget back for it.")
        return load


def _flips(randomizer, epsilon, load):
    """Return the flip probability, in units of 2^-52, of each answer and of the last report (None without reserve)."""
    reserve = Decimal(load.reserve)
    with localcontext(prec=800):  # all digits of a double, so that the shares do not exceed the whole
        share = both_ways(epsilon) - reserve
    each = randomizer.flip(share, load.answers)
    return {"each": each, "last": randomizer.flip(reserve, 1) if reserve else None}


class _InteractivePoll:
    """Poll of simulated or remote clients that answer questions."""

    def __init__(self, load, kinds, protocol, n_voters, voters):
        self._load, self._kinds, self._protocol = load, kinds, protocol
        self._n_voters, self._messenger, self._ballots = n_voters, voters, None
        if isinstance(voters, Profile):
            self._n_voters, self._messenger, self._ballots = voters.n_voters, None, ballots_of(voters)

    def __call__(self, bits):
        if self._ballots is None:
            clients: Any = RemoteClients(self._messenger, self._protocol)
        else:
            clients = SimulatedClients(self._ballots, self._protocol, bits)
        following = self._load.start(self._n_voters, bits.assignment)
        return _InteractiveSession(clients, self._n_voters, following, self._kinds, self._protocol, bits.coins)


class _InteractiveSession(Session):
    """Session that asks clients each query once and refuses kinds that were not planned."""

    def __init__(self, clients, n_voters, following, kinds, protocol, coins):
        super().__init__(len(protocol["items"]), coins)
        self._clients, self._n_voters, self._following = clients, n_voters, following
        self._kinds, self._flips = kinds, protocol["flips"]
        self._answers: dict[Any, Any] = {}
        self._asked = 0
        self._shared = np.zeros((self.n_items,) * 2, dtype=np.int64)

    def answer(self, query):
        if query not in self._answers:
            kind = self._kinds.get(query.kind)
            if kind is None:
                raise BudgetExhausted(f"no answer was planned for {query}.")
            voters = next(self._following, None) if kind == "each" else np.arange(self._n_voters)
            if voters is None:
                raise BudgetExhausted(f"no answer is left for {query}.")
            tallies = self._tallies(kind, query.asked_pairs(self.n_items), voters, isinstance(query, PairMargin))
            self._answers[query] = query.counted(tallies)
        return self._answers[query]

    def close(self):
        self._clients.close()
        self.published = self._clients.inbox.published

    def _tallies(self, kind, pairs, voters, is_margin):
        """Ask each of `voters` about one of `pairs`, and return the tallies of the answers.

        A margin needs the tallies of one pair, and only until it is computed. So all margins share a matrix, because a
        new one for each of thousands of questions would take longer than the answers.
        """
        self._asked += 1
        pairs = np.fromiter(chain.from_iterable(pairs), dtype=np.int64).reshape(-1, 2)
        first, second, answers = self._clients.ask(self._asked, kind, pairs, voters)
        if is_margin:
            ((i, j),), yes = pairs, np.count_nonzero(answers)
            wins = self._shared
            wins[i, j], wins[j, i] = yes, np.size(answers) - yes
        else:
            wins = counted_wins(first, second, answers, self.n_items)
        return (Tallies(self._flips[kind] / FLIP_GRID, wins),)
