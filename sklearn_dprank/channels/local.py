"""Nobody is trusted: each voter's device randomises the ballot, once."""

from functools import partial
from typing import Any

from sklearn.base import BaseEstimator

from ..checks import check_epsilon
from ..devices.protocol import digest
from ..privacy.guarantee import PrivacyGuarantee
from ..profile import Profile
from ..queries import PairTallies, Publication
from ..randomizers import RandomizedResponse, RefusedReport
from ..randomizers.base import simulated
from ..randomizers.reports import Inbox, as_reports, protocol_of
from .plan import POSITIONS, Plan, PublishedSession, ballots_of, refuse_underived

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

    def plan(self, asks, n_items, n_voters=None, voter_epsilon=None, items=None):
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
        items : list or None, default=None
            Names of the items, where devices elsewhere must agree on them.

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
        if isinstance(randomizer, type):
            name = randomizer.__name__
            raise ValueError(f"randomizer must be a randomizer object, got the class {name}; use randomizer={name}().")
        refuse_underived(
            self, asks, randomizer.releases, f"reports by {type(randomizer).__name__} give {randomizer.releases}."
        )
        protocols = {value: randomizer.protocol(value, n_items if items is None else items) for value in grid}
        guarantee = PrivacyGuarantee(
            max(float(protocol["epsilon"]) for protocol in protocols.values()),
            0.0,
            "local",
            "replace",
            type(randomizer).__name__,
            randomizer.arithmetic,
            caveats=("each voter has its own epsilon, which is public; the largest is stated",) if personal else (),
        )
        return Plan(
            guarantee, partial(_LocalPoll, randomizer, protocols, personal), protocols[min(grid)], needs=POSITIONS
        )


class _LocalPoll:
    """One report a voter: those of the field, read once, or those that devices draw here for each session."""

    def __init__(self, randomizer, protocols, personal, voters):
        self._randomizer, self._protocols, self._personal = randomizer, protocols, personal
        self._inbox = Inbox()
        if isinstance(voters, Profile):
            self._groups: Any = list(self._grouped(voters))
            self._inbox.accepted = voters.n_voters
            return
        self._groups = None
        counters, heard = self._empty()
        self._inbox.read(as_reports(voters), self._taker(counters, heard))
        self._inbox.require(
            "devices must follow the protocol of this estimator, estimator.protocol(items), with the same items in "
            "the same order" + ("." if personal else "; where voters have their own epsilon, give epsilons=.")
        )
        self._answer = self._combined({epsilon: counter.answer() for epsilon, counter in counters.items()}, heard)

    def __call__(self, bits):
        n_items = len(next(iter(self._protocols.values()))["items"])
        answer = self._answer if self._groups is None else self._simulated(bits)
        publication = Publication(self._randomizer.releases, answer)
        return PublishedSession(n_items, bits.coins, publication, self._inbox.published)

    def _empty(self):
        """Return counters by epsilon, and of how many voters each counts."""
        counters = {epsilon: self._randomizer.counter(protocol) for epsilon, protocol in self._protocols.items()}
        return counters, dict.fromkeys(counters, 0)

    def _simulated(self, bits):
        counters, heard = self._empty()
        for epsilon, ballots in self._groups:
            simulated(counters[epsilon], self._protocols[epsilon], ballots, bits)
            heard[epsilon] += ballots.table.shape[1]
        return self._combined({epsilon: counter.answer() for epsilon, counter in counters.items()}, heard)

    def _grouped(self, profile):
        """Yield (epsilon, ballots) of the voters with each epsilon."""
        ballots = ballots_of(profile)
        for epsilon in self._protocols:
            if self._personal:
                yield epsilon, ballots._replace(table=ballots.table[:, profile.voter_epsilon == epsilon])
            else:
                yield epsilon, ballots

    def _taker(self, counters, heard):
        """Return what counts one report, with those of its protocol."""
        epsilons = {digest(protocol): epsilon for epsilon, protocol in self._protocols.items()}

        def take(report):
            epsilon = epsilons.get(protocol_of(report))
            if epsilon is None:
                raise RefusedReport("another protocol")
            counters[epsilon].add_report(report)
            heard[epsilon] += 1

        return take

    def _combined(self, answers, heard):
        """Return one answer: tallies side by side, estimates by the inverse of their variance."""
        if isinstance(self._randomizer.releases, PairTallies):
            return tuple(tally for answer in answers.values() for tally in answer)
        weight = {e: heard[e] / self._randomizer.variance(self._protocols[e]) for e in answers}
        total = sum(weight.values()) or 1.0
        return sum(weight[e] / total * answers[e] for e in answers)
