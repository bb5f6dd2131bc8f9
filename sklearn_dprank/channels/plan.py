"""What every channel hands out: a plan from public inputs, a poll of the voters, and a session of answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_number, check_whole
from ..ballots.compact import Positions
from ..ballots.profile import Profile
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import AllMargins, Ask, NetWins, Publication, Query
from ..sampling.bit_source import BitSource
from ..sampling.streams import Bits
from ..uncertainty import AnswersLaw, NormalLaw, PublishedNoise

#: What devices that run here need of a Profile.
POSITIONS = frozenset({"positions"})


class Session:
    """One release: rules ask it and see answers, never ballots.

    Parameters
    ----------
    n_items : int
        Number of items.
    coins : BitSource
        Randomness that rules may use: pivots, draws of a search and, where `fair_ties`, ties.
    fair_ties : bool, default=True
        Whether ties are broken by coins; by item index otherwise.
    """

    def __init__(self, n_items: int, coins: BitSource, *, fair_ties: bool = True) -> None:
        self.n_items = n_items
        self.coins = coins
        self._fair_ties = fair_ties
        #: What the channel publishes besides the consensus, by name.
        self.published: dict[str, Any] = {}

    def answer(self, query: Query) -> Any:
        """Return the answer to `query`.

        Raises
        ------
        BudgetExhausted
            If it was not planned for, or all planned answers are given.
        """
        raise NotImplementedError

    def deviation(self, query: Query) -> float:
        """Return the standard deviation of the noise on each number of the answer to a query that is `weighed`.

        It is as public as the plan, and 0 where the answer is exact.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Raise where what was heard carries no consensus; called when the rule has all its answers."""

    def tie_break(self) -> NDArray[np.intp]:
        """Return distinct priorities of the items, int, shape (n_items,); of tied items the smaller goes first."""
        return self.coins.permutation(self.n_items) if self._fair_ties else np.arange(self.n_items)

    def tied_before(self, i: int, j: int) -> bool:
        """Tell whether i goes before j when their margin is 0."""
        return bool(self.coins.integer(2)) if self._fair_ties else i < j


class PublishedSession(Session):
    """A session whose every answer follows from one publication.

    Parameters
    ----------
    n_items : int
        Number of items.
    coins : BitSource
        Randomness that rules may use.
    publication : Publication
        What everything is derived from.
    published : dict
        What the channel publishes besides; the margins are added where they follow, else the scores where these do.
    law : AnswersLaw, NormalLaw or None, default=None
        Of the noise on what is added.
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
        added = publication.named([AllMargins()]) or publication.named([NetWins()])
        self.published = published | added
        if law is not None and added:
            self.published["noise"] = PublishedNoise(min(added), law)

    def answer(self, query: Query) -> Any:
        return self._publication.derive(query)


class Poll(Protocol):
    """The voters of one plan, read once: ballots, or the reports of the field.

    Called with `Bits`, it opens a session: fresh randomness on the same voters. A fit is one session of a poll, a sweep
    is many. Polls can be pickled; what they keep for the next session, they forget then.
    """

    def __call__(self, bits: Bits) -> Session: ...


@dataclass(frozen=True)
class Plan:
    """A priced agreement between a rule's asks and a channel; made before any ballot is touched.

    Attributes
    ----------
    guarantee : PrivacyGuarantee
        The ceiling that every session keeps.
    poll : callable of (voters) -> Poll
        Reads a Profile, or voters in the field; called by `open`.
    protocol : dict or None
        What devices must know, as JSON-able data; None where voters hand over their ballots.
    needs : frozenset of {"counts", "placements", "positions"}
        What sessions need of a Profile, as queries say it.
    prices : dict
        What a trusted curator's answers get of the budget, by the kind of query; for audits.
    half : object or None
        The voter's half that devices of the protocol need besides it, where the package has none.
    n_items : int or None
        Number of items that it was made for; a Profile of another number is refused.
    unsent : str
        Why there is no protocol, where voters' devices cannot send what is asked.
    """

    guarantee: PrivacyGuarantee
    poll: Callable[[Any], Poll]
    protocol: dict[str, Any] | None = None
    needs: frozenset[str] = frozenset()
    prices: dict[Any, Any] = field(default_factory=dict)
    half: Any = None
    n_items: int | None = None
    unsent: str = ""

    def open(self, voters: Any) -> Poll:
        """Open the poll of a Profile, or of voters in the field.

        Raises
        ------
        ValueError
            If the plan is not for these voters, or nothing of the field can be used.
        """
        n_items = getattr(voters, "n_items", self.n_items)
        if self.n_items not in (None, n_items):
            raise ValueError(f"the plan is for {self.n_items} items, got voters with {n_items}.")
        return self.poll(voters)


class Channel(Protocol):
    """A trust model: it prices what a rule asks, from public inputs only."""

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None) -> Plan:
        """Return the plan, or raise a `ValueError` that names both sides where rule and channel do not fit."""


def check_asks(channel: Channel, asks: list[Ask]) -> None:
    """Raise unless asks have whole numbers of answers and positive shares of at most the budget, one ask a kind.

    Raises
    ------
    ValueError
        If they do not.
    """
    name = type(channel).__name__
    for ask in asks:
        check_whole(ask.times, f"times of {ask.query}")
        check_number(ask.share, f"share of {ask.query}", above=0)
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
    """Return the least number of voters: `min_reports`, or all of them.

    Raises
    ------
    ValueError
        If neither is known, so that `what` cannot be computed, or there are too few voters. Their number is public.
    """
    if min_reports is None and n_voters is None:
        raise ValueError(
            f"min_reports must be given, got None: {what} is computed from it before anyone reports. Set it to the "
            "number of honest voters that you are sure of."
        )
    if n_voters == 0:
        raise ValueError("X holds no ballot, and this trust model needs at least one report; add a ballot.")
    if min_reports is not None and n_voters is not None and n_voters < int(min_reports):
        raise ValueError(f"min_reports={min_reports} is above the {n_voters} voters; nothing is released.")
    return int(n_voters if min_reports is None else min_reports)  # type: ignore[arg-type]


def refuse(channel: Channel, query: Query, remedy: str) -> NoReturn:
    """Raise the one error of a rule and a channel that do not fit, naming both sides."""
    raise ValueError(f"{type(channel).__name__} cannot answer {query}, which the rule asks for; {remedy}")


def refuse_underived(channel: Channel, asks: list[Ask], released: Query, remedy: str) -> None:
    """Raise unless everything asked follows from the one report of each voter."""
    for ask in asks:
        if not ask.query.follows_from(released):
            refuse(channel, ask.query, remedy)
        if ask.times > 1 and ask.query.asks_anew:
            refuse(channel, ask.query, "each voter reports once; use an Interactive channel with Rounds().")


def ballots_of(profile: Profile) -> Positions:
    """Return the ballots that simulated devices randomise.

    Raises
    ------
    ValueError
        If the profile keeps counts only.
    """
    if profile.positions is None:
        raise ValueError("a local mechanism needs the ballots; build the Profile with keep='positions'.")
    return profile.positions
