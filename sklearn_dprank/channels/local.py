"""Local model: each voter's device randomises its ballot once."""

from __future__ import annotations

from functools import partial
from typing import Any

from .._utils.checks import EPSILON, Check, check_epsilon, check_parameters
from .._utils.scikit_learn import BaseEstimator
from .._utils.types import Amount, ItemNames
from ..ballots.profile import Profile
from ..collection.client.protocol import digest
from ..collection.client.randomizers import CLIENT_RANDOMIZERS, checked
from ..collection.curator import Randomizer
from ..collection.curator.base import ReceivedReports
from ..collection.curator.epsilon_grid import stated_epsilon
from ..collection.curator.inbox import FOLLOW, Inbox, as_reports, gathered, new_voters
from ..collection.curator.resolve import check_randomizer, resolve_randomizer
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
        opened = partial(_LocalPoll, randomizer, protocols, personal)
        own = None if randomizer.name in CLIENT_RANDOMIZERS else client
        return Plan(guarantee, opened, protocols[min(grid)], needs=POSITIONS, client=own, n_items=n_items)


class _LocalPoll:
    """Poll with one report per voter: received reports, read once, or new simulated reports for each session."""

    def __init__(self, randomizer, protocols, personal, voters):
        self._randomizer, self._protocols, self._personal = randomizer, protocols, personal
        self._n_items = len(next(iter(protocols.values()))["items"])
        self._inbox = Inbox()
        self._voters: set[int] = set()  # registered voters of accepted reports, if reports name them
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
            self._epsilons = {digest(protocol): epsilon for epsilon, protocol in protocols.items()}
            self._received = self._counted(self._collected(as_reports(voters)))

    def __call__(self, bits):
        received = self._received if self._groups is None else self._counted(self._simulated(bits))
        publication = Publication(self._randomizer.releases, self._randomizer.combined(received))
        # With several epsilons, the reports are weighted by epsilon, and no law of the noise is stated.
        law = self._randomizer.law(received[0]) if len(received) == 1 else None
        return PublishedSession(self._n_items, bits.coins, publication, self._inbox.published, law)

    def _counted(self, blocks):
        """Return a `ReceivedReports` for each epsilon: the sum of its `blocks` (epsilon, counts, n_voters)."""
        sums: dict[float, ReceivedReports] = {}
        for epsilon, counts, n_voters in blocks:
            protocol = self._protocols[epsilon]
            received = ReceivedReports(protocol, counts, n_voters)
            if before := sums.get(epsilon):
                received = ReceivedReports(protocol, before.counts + received.counts, before.n_reports + n_voters)
            sums[epsilon] = received
        return [sums[epsilon] for epsilon in self._protocols if epsilon in sums]

    def _simulated(self, bits):
        """Yield (epsilon, counts, n_voters) of simulated reports."""
        for epsilon, ballots in self._groups:
            counts = self._randomizer.simulated(self._protocols[epsilon], ballots, bits)
            yield epsilon, counts, ballots.table.shape[1]

    def _grouped(self, profile):
        """Yield (epsilon, ballots) for each epsilon of the plan."""
        ballots = ballots_of(profile)
        for epsilon in self._protocols:
            if self._personal:
                yield epsilon, ballots._replace(table=ballots.table[:, profile.voter_epsilon == epsilon])
            else:
                yield epsilon, ballots

    def _collected(self, reports):
        """Yield (epsilon, counts, n_reports) of received reports; raise ValueError if none was accepted."""
        accepted = self._inbox.read_together(reports, self._epsilons, self._read)
        for name, drawn, n_reports in gathered(accepted, self._n_items):
            epsilon = self._epsilons[name]
            yield epsilon, self._randomizer.counts(drawn, self._protocols[epsilon]), n_reports
        own = "" if self._personal else "; where voters have their own epsilon, give epsilons="
        self._inbox.require(f"devices {FOLLOW}{own}.")

    def _read(self, reports, name):
        """Return the contents of reports of the protocol with digest `name`."""
        drawn = self._randomizer.read_all(reports, self._protocols[self._epsilons[name]])
        if self._randomizer.names_voters:
            self._voters |= new_voters([report["voter"] for report in reports], self._voters)
        return drawn
