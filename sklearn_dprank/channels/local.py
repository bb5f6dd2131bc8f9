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
from ..randomizers import RandomizedResponse, RefusedReport
from .plan import Plan, Session, refuse


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

    def __init__(self, epsilon=1.0, randomizer=None):
        self.epsilon = epsilon
        self.randomizer = randomizer

    def plan(self, asks, n_items, n_voters=None):
        """Check that the reports determine all the asks.

        Raises
        ------
        ValueError
            If epsilon is invalid, or the reports do not determine what the rule asks for.
        """
        check_epsilon(self.epsilon)
        randomizer = RandomizedResponse() if self.randomizer is None else self.randomizer
        for ask in asks:
            if not ask.query.follows_from(randomizer.releases):
                refuse(self, ask.query, f"reports by {type(randomizer).__name__} give {randomizer.releases}.")
        protocol = randomizer.protocol(self.epsilon, n_items)
        guarantee = PrivacyGuarantee(
            float(self.epsilon), 0.0, "local", "replace", type(randomizer).__name__, randomizer.arithmetic
        )
        return Plan(guarantee, _Opener(randomizer, protocol), protocol, client=_ClientMaker(randomizer, protocol))


class Client:
    """One voter's device: reads the public protocol, holds one report.

    Parameters
    ----------
    protocol : dict
        As published by the curator.
    randomizer : randomizer
        What the protocol names.
    random_state : None, int, Generator or RandomState
        None is the operating system's secure source; anything else is for simulation.
    """

    def __init__(self, protocol, randomizer, random_state=None):
        self.protocol = protocol
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
        positions = Profile.from_rankings([ballot]).positions
        if len(positions.table) != self.protocol["n_items"]:
            raise ValueError(f"ballot must have one position for each of the {self.protocol['n_items']} items.")
        ballot = positions.table.tobytes()
        if self._report is None:
            self._ballot = ballot
            self._report = self._randomizer.report(self.protocol, positions, Bits.from_random_state(self._random_state))
        elif ballot != self._ballot:
            raise BudgetExhausted("this client has reported another ballot; one voter's budget pays for one report.")
        return json.loads(json.dumps(self._report))


@dataclass(frozen=True)
class _ClientMaker:
    randomizer: Any
    protocol: dict

    def __call__(self, random_state=None):
        return Client(self.protocol, self.randomizer, random_state)


@dataclass(frozen=True)
class _Opener:
    """Collects one report a voter, and opens a session on what they say together."""

    randomizer: Any
    protocol: dict

    def __call__(self, voters, bits):
        counter = self.randomizer.counter(self.protocol)
        refused: dict[str, int] = {}
        if isinstance(voters, Profile):
            if voters.positions is None:
                raise ValueError("a local mechanism needs the ballots; build the Profile with keep='positions'.")
            counter.add_ballots(voters.positions, bits)
        else:
            for report in voters:
                try:
                    counter.add_report(_parsed(report))
                except RefusedReport as error:
                    refused[error.reason] = refused.get(error.reason, 0) + 1
        return _LocalSession(self.protocol["n_items"], bits.coins, self.randomizer.releases, counter.answer(), refused)


def _parsed(report):
    if not isinstance(report, (str, bytes)):
        return report
    try:
        return json.loads(report)
    except (ValueError, RecursionError):
        raise RefusedReport("not JSON") from None


class _LocalSession(Session):
    def __init__(self, n_items, coins, released, answer, refused):
        super().__init__(n_items, coins)
        self._released = released
        self._answer = answer
        self.facts = {"reports_refused": refused}

    def answer(self, query):
        return query.derive(self._released, self._answer)
