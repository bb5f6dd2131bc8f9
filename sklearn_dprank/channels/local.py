"""Nobody is trusted: each voter's device randomises the ballot, once."""

import json
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from ..privacy.bits import Bits
from ..privacy.checks import check_epsilon
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted
from ..profile import Profile
from ..queries import PairTallies
from ..randomizers import RandomizedResponse, RefusedReport
from ..randomizers.answers import parsed
from .devices import device_ballot, simulated_ballots
from .plan import Plan, Publication, PublishedSession, refuse_underived

_LARGEST_GRID = 100  # epsilons: each has its own counts


class Local(BaseEstimator):
    """Local differential privacy: one randomised report a voter, everything else derived from the reports.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one report, in nats.
    randomizer : randomizer or None, default=None
        What the voter's device does; None is `RandomizedResponse()` on one random pair.

    Examples
    --------
    >>> from sklearn_dprank.channels import Local
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> print(Local(epsilon=2.0).plan([Ask(NetWins())], n_items=10).guarantee)
    epsilon = 2 (local, replace)
    """

    collects_reports = True
    personal_budgets = True

    def __init__(self, epsilon=1.0, randomizer=None):
        self.epsilon = epsilon
        self.randomizer = randomizer

    def plan(self, asks, n_items, n_voters=None, voter_epsilon=None):
        """Check that the reports determine all the asks.

        Parameters
        ----------
        asks : list of Ask
            What the rule asks.
        n_items : int
            Number of items.
        n_voters : int or None, default=None
            Public here, and not needed.
        voter_epsilon : sequence of float or None, default=None
            The public grid of epsilons that voters chose from; None is `epsilon` for all.

        Raises
        ------
        ValueError
            If an epsilon is invalid, or the reports do not determine what the rule asks for.
        """
        check_epsilon(self.epsilon)
        personal = voter_epsilon is not None
        grid = [float(e) for e in voter_epsilon] if personal else [float(self.epsilon)]
        for value in grid:
            check_epsilon(value, "voter_epsilon")
        if not 1 <= len(grid) <= _LARGEST_GRID:
            raise ValueError(
                f"voter_epsilon must hold 1 to {_LARGEST_GRID} distinct values, got {len(grid)}; round them."
            )
        randomizer = RandomizedResponse() if self.randomizer is None else self.randomizer
        refuse_underived(
            self, asks, randomizer.releases, f"reports by {type(randomizer).__name__} give {randomizer.releases}."
        )
        protocols = {value: randomizer.protocol(value, n_items) for value in grid}
        guarantee = PrivacyGuarantee(
            max(randomizer.spent(value, n_items) for value in grid),
            0.0,
            "local",
            "replace",
            type(randomizer).__name__,
            randomizer.arithmetic,
            caveats=("each voter has its own epsilon, which is public; the largest is stated",) if personal else (),
        )
        opener = _Opener(randomizer, protocols, personal)
        own = min(grid)
        client = _ClientMaker(randomizer, protocols[own], own if personal else None)
        return Plan(guarantee, opener, protocols[own], client=client, reads_ballots=True)


class Client:
    """One voter's device: reads the public protocol, holds one report.

    Parameters
    ----------
    protocol : dict
        As published by the curator.
    randomizer : randomizer
        What the protocol names.
    random_state : None, int, Generator or RandomState, default=None
        None is the operating system's secure source; anything else is for simulation.
    epsilon : float or None, default=None
        This voter's own epsilon, which its report then states; None where all have the same.
    """

    def __init__(self, protocol, randomizer, random_state=None, epsilon=None):
        self.protocol = protocol
        self._own = {} if epsilon is None else {"epsilon": epsilon}
        self._randomizer = randomizer
        self._random_state = random_state
        self._ballot = None
        self._report = None

    def report(self, ballot):
        """Randomise the ballot, once.

        Parameters
        ----------
        ballot : array-like of shape (n_items,)
            Where this voter puts each item; smaller is better, equal is tied, NaN is no opinion.

        Returns
        -------
        dict
            JSON-able. Called again with the same ballot, the same report: send it again, never draw again.

        Raises
        ------
        BudgetExhausted
            If another ballot was reported before.
        ValueError
            If the ballot does not have one number an item.
        """
        positions, key = device_ballot(ballot, self.protocol["n_items"])
        if self._report is None:
            self._ballot = key
            bits = Bits.from_random_state(self._random_state)
            self._report = {**self._randomizer.report(self.protocol, positions, bits), **self._own}
        elif key != self._ballot:
            raise BudgetExhausted("this client has reported another ballot; one voter's budget pays for one report.")
        return json.loads(json.dumps(self._report))


@dataclass(frozen=True)
class _ClientMaker:
    randomizer: Any
    protocol: dict
    epsilon: float | None

    def __call__(self, random_state=None):
        return Client(self.protocol, self.randomizer, random_state, self.epsilon)


@dataclass(frozen=True)
class _Opener:
    """Collects one report a voter, and opens a session on what they say together."""

    randomizer: Any
    protocols: dict[float, dict]
    personal: bool

    def __call__(self, voters, bits):
        counters = {epsilon: self.randomizer.counter(protocol) for epsilon, protocol in self.protocols.items()}
        heard = dict.fromkeys(counters, 0)
        refused: dict[str, int] = {}
        if isinstance(voters, Profile):
            for epsilon, ballots in self._groups(voters):
                counters[epsilon].add_ballots(ballots, bits)
                heard[epsilon] += ballots.table.shape[1]
        else:
            for report in voters:
                try:
                    epsilon, report = self._opened(parsed(report))
                    counters[epsilon].add_report(report)
                except RefusedReport as error:
                    refused[error.reason] = refused.get(error.reason, 0) + 1
                else:
                    heard[epsilon] += 1
        n_items = next(iter(self.protocols.values()))["n_items"]
        answer = self._combined({epsilon: counter.answer() for epsilon, counter in counters.items()}, heard)
        published = Publication(self.randomizer.releases, answer)
        return PublishedSession(n_items, bits.coins, published, {"reports_refused": refused})

    def _groups(self, profile):
        """Yield (epsilon, ballots) of the voters with each epsilon."""
        ballots = simulated_ballots(profile)
        for epsilon in self.protocols:
            if self.personal:
                yield epsilon, ballots._replace(table=ballots.table[:, profile.voter_epsilon == epsilon])
            else:
                yield epsilon, ballots

    def _opened(self, report):
        """Return (epsilon, report) of a report that states its epsilon, where voters have their own."""
        if not self.personal:
            return next(iter(self.protocols)), report
        if not isinstance(report, dict):
            raise RefusedReport("not a JSON object")
        rest = dict(report)
        epsilon = rest.pop("epsilon", None)
        if type(epsilon) not in (int, float) or epsilon not in self.protocols:
            raise RefusedReport("epsilon not on the grid")
        return float(epsilon), rest

    def _combined(self, answers, heard):
        """Return one answer: tallies side by side, estimates by the inverse of their variance."""
        if isinstance(self.randomizer.releases, PairTallies):
            return tuple(tally for answer in answers.values() for tally in answer)
        weight = {e: heard[e] / self.randomizer.variance(self.protocols[e]) for e in answers}
        total = sum(weight.values()) or 1.0
        return sum(weight[e] / total * answers[e] for e in answers)
