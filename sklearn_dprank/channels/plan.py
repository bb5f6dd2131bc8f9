"""Plans, polls and sessions: the interface between channels and rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_number, check_whole
from ..ballots.profile import Profile
from ..ballots.reading import Positions
from ..ballots.weights import WeightBound
from ..collection import ReportCounts
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import AllMargins, Ask, NetWins, PairTallies, Publication, Query
from ..sampling.bit_source import Bits, BitSource
from ..uncertainty import AnswersLaw, NormalLaw, PublishedNoise

#: Data of a `Profile` that simulated devices need.
POSITIONS = frozenset({"positions"})


class Session:
    """Session of one release: rules send queries and receive answers, never ballots.

    Parameters
    ----------
    n_items : int
        Number of items.
    coins : BitSource
        Random bits for rules: pivots, random choices of a search and, if `fair_ties`, tie-breaking.
    fair_ties : bool, default=True
        Whether coins break ties. False breaks them by item index.
    """

    #: Number of units of an answer per vote: 720720 for weighted ballots, whose counts are integers in these units.
    grid: int = 1

    def __init__(self, n_items: int, coins: BitSource, *, fair_ties: bool = True) -> None:
        self.n_items = n_items
        self.coins = coins
        self._fair_ties = fair_ties
        #: Facts that the channel publishes in addition to the consensus, by name.
        self.published: dict[str, Any] = {}

    def answer(self, query: Query) -> Any:
        """Return the answer to `query`.

        Raises
        ------
        BudgetExhausted
            If the query was not planned, or all planned answers have been given.
        """
        raise NotImplementedError

    def deviation(self, query: Query) -> float | None:
        """Return the standard deviation of the noise in each number of the answer, or None if it is unknown.

        It is public, and 0 for exact answers. It is known if the query `needs_noise_scale`.
        """
        return None

    def close(self) -> None:
        """Raise an error if the messages received cannot give a consensus; called after the rule's last answer."""

    def tie_break(self) -> NDArray[np.intp]:
        """Return distinct priorities, int, shape (n_items,); of tied items, the smaller priority goes first."""
        return self.coins.permutation(self.n_items) if self._fair_ties else np.arange(self.n_items)

    def tied_before(self, i: int, j: int) -> bool:
        """Return whether item i goes before item j when their margin is 0."""
        return bool(self.coins.integer(2)) if self._fair_ties else i < j


class PublishedSession(Session):
    """Session that derives all answers from one publication.

    Parameters
    ----------
    n_items : int
        Number of items.
    coins : BitSource
        Random bits for rules.
    publication : Publication
        Publication from which all answers are derived.
    published : dict
        Other facts that the channel publishes, by name. The session adds the margins if they follow from the
        publication, else the scores (net wins) if these follow.
    law : AnswersLaw, NormalLaw or None, default=None
        Law of the noise in the added margins or scores.
    """

    def __init__(
        self,
        n_items: int,
        coins: BitSource,
        publication: Publication,
        published: dict[str, Any],
        law: AnswersLaw | NormalLaw | None = None,
    ) -> None:
        super().__init__(n_items, coins)
        self._publication = publication
        self.published = dict(published)
        for name, query in (("margins", AllMargins()), ("scores", NetWins())):
            if query.is_derivable_from(publication.query):
                self.published[name] = publication.derive(query)
                if law is not None:
                    self.published["noise"] = PublishedNoise(name, law)
                break

    def answer(self, query: Query) -> Any:
        return self._publication.derive(query)


class Poll(Protocol):
    """Voters of one plan, read once: a profile, or messages from clients.

    Calling a poll with `Bits` opens a session: fresh randomness on the same voters. A fit opens one session, a sweep
    opens many. Polls can be pickled; objects cached for later sessions are not included.
    """

    def __call__(self, bits: Bits) -> Session: ...


@dataclass(frozen=True)
class Plan:
    """Priced asks of a rule on one channel, computed from public inputs before any ballot is read.

    Attributes
    ----------
    guarantee : PrivacyGuarantee
        Guarantee that holds for every session.
    poll : callable of (voters) -> Poll
        Reads a Profile, or messages from clients. `open` calls it.
    protocol : dict or None
        Protocol for clients, as JSON-serialisable data. None if clients cannot send what the rule asks for.
    needs : frozenset of {"counts", "placements", "positions"}
        Data of a Profile that sessions need, as in `Query.needs`.
    prices : dict
        Mechanism and cost of each kind of query, for audits. Empty for channels without calibrated noise on sums.
    client : ReportRandomizer or None
        Client implementation that the protocol needs, if the package does not contain it. None otherwise.
    n_items : int or None
        Number of items of the plan. `open` refuses a Profile with another number.
    unsent : str
        Reason why there is no protocol, if clients cannot send what the rule asks for. Empty otherwise.
    bound : WeightBound or None
        Public bound on the weight of a person. `open` refuses a Profile with another bound.
    reader : callable of (reports) -> ReportCounts, or None
        Counts reports of clients that report once. The poll also accepts its result. None for other plans.
    """

    guarantee: PrivacyGuarantee
    poll: Callable[[Any], Poll]
    protocol: dict[str, Any] | None = None
    needs: frozenset[str] = frozenset()
    prices: dict[Any, Any] = field(default_factory=dict)
    client: Any = None
    n_items: int | None = None
    unsent: str = ""
    bound: WeightBound | None = None
    reader: Callable[[Any], ReportCounts] | None = None

    def open(self, voters: Any) -> Poll:
        """Return the poll of a Profile, or of messages from clients.

        Raises
        ------
        ValueError
            If the plan does not fit these voters, or no message was accepted.
        """
        profile = voters if isinstance(voters, Profile) else None
        n_items = getattr(profile, "n_items", self.n_items)
        if self.n_items not in (None, n_items):
            raise ValueError(f"the plan is for {self.n_items} items, got voters with {n_items}.")
        if getattr(profile, "bound", None) != self.bound:
            raise ValueError(f"the plan is for ballots with the bound {self.bound}, got a Profile with another one.")
        return self.poll(voters)


class Channel(Protocol):
    """Trust model that prices a rule's asks from public inputs only."""

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None) -> Plan:
        """Return the plan, or raise a `ValueError` that names the channel and the query that it cannot answer."""


def check_asks(channel: Channel, asks: list[Ask]) -> None:
    """Raise ValueError unless counts are positive integers, positive shares sum to at most 1, and kinds differ."""
    name = type(channel).__name__
    for ask in asks:
        about = f"of {ask.query}"
        check_whole(ask.times, f"times {about}")
        check_number(ask.share, f"share {about}", above=0)
    shares = sum((Fraction(ask.share) for ask in asks), Fraction(0))
    if shares > 1:
        raise ValueError(
            f"{name} has one budget, but the rule's asks claim {float(shares):g} of it; let shares add up to 1."
        )
    kinds = [ask.query.kind for ask in asks]
    for ask, kind in zip(asks, kinds, strict=True):
        if kinds.count(kind) > 1:
            raise ValueError(f"the rule asks for {ask.query} twice; declare it once, for both.")


def least_voters(min_reports: int | None, n_voters: int | None, what: str) -> int:
    """Return `min_reports`, or `n_voters` if it is None; raise ValueError if both are None or voters are too few.

    The number of voters is public here. `what` names the computed quantity in the error message.
    """
    if min_reports is None and n_voters is None:
        raise ValueError(
            f"min_reports must be given, got None: {what} is computed from it before anyone reports. Set it to the "
            "number of honest voters that you are sure of."
        )
    if n_voters == 0:
        raise ValueError("X holds no ballot, and this trust model needs at least one report; add a ballot.")
    if min_reports is not None and n_voters is not None and n_voters < int(min_reports):
        raise ValueError(f"min_reports={min_reports} is above the {n_voters} voters; no result is released.")
    return int(n_voters if min_reports is None else min_reports)  # type: ignore[arg-type]


class Unanswerable(ValueError):
    """Error of a channel that cannot answer a query of the rule."""


def refuse(channel: Channel, query: Query, remedy: str) -> NoReturn:
    """Raise the error for a query that the channel cannot answer, with a remedy."""
    raise Unanswerable(f"{type(channel).__name__} cannot answer {query}, which the rule asks for; {remedy}")


def check_derivable(channel: Channel, asks: list[Ask], released: Query, remedy: str) -> None:
    """Raise ValueError unless all asks follow from `released`, the single report of each voter."""
    for ask in asks:
        if not ask.query.is_derivable_from(released):
            refuse(channel, ask.query, remedy)
        if ask.times > 1 and isinstance(ask.query, PairTallies):
            refuse(channel, ask.query, "each voter reports once; use an Interactive channel with Rounds().")


def ballots_of(profile: Profile) -> Positions:
    """Return the ballots that simulated devices randomise; raise ValueError if the profile keeps counts only."""
    if profile.positions is None:
        raise ValueError("a local mechanism needs the ballots; build the Profile with keep='positions'.")
    return profile.positions
