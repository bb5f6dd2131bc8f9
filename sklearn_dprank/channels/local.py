"""Local model: each voter's device randomises its ballot once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._utils.checks import EPSILON, Check, check_epsilon, check_parameters
from .._utils.scikit_learn import BaseEstimator
from .._utils.types import Amount, ItemNames
from ..ballots.profile import Profile
from ..collection.client.randomizers import CLIENT_RANDOMIZERS, checked
from ..collection.curator import Randomizer
from ..collection.curator.base import ReceivedReports
from ..collection.curator.epsilon_grid import stated_epsilon
from ..collection.curator.inbox import ANSWERED_BEFORE, FOLLOW, Inbox, new_voters
from ..collection.curator.report_counts import ReportReader, Tally
from ..collection.curator.resolve import check_randomizer, resolve_randomizer
from ..collection.curator.response import numbered_wins
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import Ask, Publication
from .plan import POSITIONS, Plan, PublishedSession, ballots_of, check_derivable

_LARGEST_GRID = 100  # epsilons; each needs separate counts


class Local(BaseEstimator):
    """Local differential privacy: each voter sends one randomised report, and all answers are derived from the reports.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one report, in nats.
    randomizer : Randomizer or None, default=None
        Randomizer of the voter's device. None is `RandomizedResponse()` on one random pair.

    Examples
    --------
    >>> from sklearn_dprank.channels import Local
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> print(Local(epsilon=2.0).plan([Ask(NetWins())], n_items=10).guarantee)
    epsilon = 2 (local, replace)
    """

    parameter_checks: dict[str, Check] = {**EPSILON, "randomizer": check_randomizer}
    collects_reports = True
    personal_budgets = True

    def __init__(self, epsilon: Amount = 1.0, randomizer: Randomizer | None = None) -> None:
        self.epsilon = epsilon
        self.randomizer = randomizer

    def plan(
        self,
        asks: list[Ask],
        n_items: int,
        n_voters: int | None = None,
        voter_epsilon: Any = None,
        items: ItemNames | None = None,
    ) -> Plan:
        """Return the plan, if the reports determine all asks.

        Parameters
        ----------
        asks : list of Ask
            Asks of the rule.
        n_items : int
            Number of items.
        n_voters : int or None, default=None
            Number of ballots of a simulation, which is public. None for remote devices.
        voter_epsilon : sequence of float or None, default=None
            Public grid of epsilons that voters chose from. None is `epsilon` for all voters.
        items : list or None, default=None
            Item names in the protocol, for remote devices. None is the item indices.

        Raises
        ------
        ValueError
            If an epsilon is invalid, or the reports do not determine the rule's asks.
        """
        check_parameters(self)
        personal = voter_epsilon is not None
        grid = [float(self.epsilon)] if voter_epsilon is None else [float(e) for e in voter_epsilon]
        for value in grid:
            check_epsilon(value, "voter_epsilon")
        if not 1 <= len(grid) <= _LARGEST_GRID:
            raise ValueError(
                f"voter_epsilon must hold 1 to {_LARGEST_GRID} distinct values, got {len(grid)}; round them."
            )
        randomizer = resolve_randomizer(self.randomizer)
        name = type(randomizer).__name__
        how = getattr(randomizer, "how", name)
        if n_voters is not None:
            randomizer = randomizer.simulating(n_voters)
        check_derivable(self, asks, randomizer.releases, f"reports by {name} give {randomizer.releases}.")
        client, named = randomizer.client, n_items if items is None else items
        protocols = {value: checked(randomizer.protocol(value, named), client) for value in grid}
        guarantee = PrivacyGuarantee(
            max(stated_epsilon(protocol, client) for protocol in protocols.values()),
            0.0,
            "local",
            "replace",
            f"reports by {how}",
            randomizer.arithmetic,
            caveats=("each voter has its own epsilon, which is public; the largest is stated",) if personal else (),
        )
        reader = _LocalReader(randomizer, protocols.values())
        opened = partial(_LocalPoll, randomizer, protocols, personal, reader)
        own = None if randomizer.name in CLIENT_RANDOMIZERS else client
        protocol = protocols[min(grid)]
        return Plan(guarantee, opened, protocol, needs=POSITIONS, client=own, n_items=n_items, reader=reader)


class _LocalReader(ReportReader):
    """Reader of the reports of one randomizer.

    If reports name their voters, each voter counts once, with the first report under any of the protocols. The code of
    an answer is then (p m + i) m + j if it puts item i before item j in a report of protocol p.
    """

    second, number = ANSWERED_BEFORE, "voter"

    def __init__(self, randomizer, protocols):
        super().__init__(protocols)
        self._randomizer = randomizer

    def read(self, submissions, reports, name):
        drawn = self._randomizer.read_all(reports, self.protocols[name])
        if not self._randomizer.names_voters:
            return drawn
        voters = [report["voter"] for report in reports]
        new_voters(voters, submissions.keys())
        m, place = len(self.protocols[name]["items"]), list(self.protocols).index(name)
        first, second, answers = drawn
        codes = place * m**2 + numbered_wins(first, second, answers, m)
        submissions.update(zip(voters, map(bytes, codes), strict=True))
        return tuple(part[:0] for part in drawn)

    def received(self, counts):
        """Return the `ReceivedReports` of each protocol that has reports."""
        m = len(next(iter(self.protocols.values()))["items"])
        place, wins = np.divmod(counts.submitted(), m**2)
        own = np.array([np.frombuffer(codes, np.int64, 1)[0] // m**2 for codes in counts.submissions.values()])
        received = []
        for p, (name, tally) in enumerate(counts.tallies.items()):
            named = Tally(np.bincount(wins[place == p], minlength=m**2).reshape(m, m), int((own == p).sum()))
            counted, n_reports = tally.plus(named)
            if n_reports:
                received.append(ReceivedReports(self.protocols[name], counted, n_reports))
        return received

    def counts(self, drawn, protocol):
        return self._randomizer.counts(drawn, protocol)

    def are_counts(self, counts, n_reports, protocol):
        if self._randomizer.names_voters:  # each voter counts once, and a sum does not tell who is in it
            return False
        return self._randomizer.are_counts(counts, n_reports, protocol)


class _LocalPoll:
    """Poll with one report per voter: received reports, read once, or new simulated reports for each session."""

    def __init__(self, randomizer, protocols, personal, reader, voters):
        self._randomizer, self._protocols, self._personal = randomizer, protocols, personal
        self._n_items = len(next(iter(protocols.values()))["items"])
        self._inbox = Inbox()
        self._groups: Any = None
        if isinstance(voters, Profile):
            if voters.n_voters == 0:  # their number is public here
                raise ValueError("X holds no ballot, and the local model needs at least one report; add a ballot.")
            own = voters.voter_epsilon
            if personal != (own is not None) or (own is not None and not set(own.tolist()) <= set(protocols)):
                raise ValueError("the plan is for voters with other epsilons of their own; make it for this profile.")
            self._groups = list(self._grouped(voters))
            self._inbox.accepted = voters.n_voters
        else:
            counts = reader(voters)
            own = "" if personal else " If voters have their own epsilon, give epsilons=."
            self._inbox = counts.inbox(f"Devices {FOLLOW}.{own}")
            self._received = reader.received(counts)

    def __call__(self, bits):
        received = self._received if self._groups is None else self._simulated(bits)
        publication = Publication(self._randomizer.releases, self._randomizer.combined(received))
        # With several epsilons, the reports are weighted by epsilon, and no law of the noise is stated.
        law = self._randomizer.law(received[0]) if len(received) == 1 else None
        return PublishedSession(self._n_items, bits.coins, publication, self._inbox.published, law)

    def _simulated(self, bits):
        """Return the `ReceivedReports` of simulated reports for each epsilon."""
        received = []
        for epsilon, ballots in self._groups:
            protocol = self._protocols[epsilon]
            counts = self._randomizer.simulated(protocol, ballots, bits)
            received.append(ReceivedReports(protocol, counts, ballots.table.shape[1]))
        return received

    def _grouped(self, profile):
        """Yield (epsilon, ballots) for each epsilon of the plan."""
        ballots = ballots_of(profile)
        for epsilon in self._protocols:
            if self._personal:
                yield epsilon, ballots._replace(table=ballots.table[:, profile.voter_epsilon == epsilon])
            else:
                yield epsilon, ballots
