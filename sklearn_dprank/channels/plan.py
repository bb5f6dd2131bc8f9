"""Plans and answers: the interface between channels and rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_number, check_whole
from ..ballots.profile import Profile
from ..ballots.rows import Compared
from ..ballots.weights import COMPARISON, COMPARISONS, OUTCOME, OUTCOMES, WeightBound
from ..collection import ReportCounts
from ..privacy.errors import BudgetExhausted
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import AllMargins, Ask, NetWins, PairMargin, PairTallies, Query
from ..sampling.bit_source import Bits, BitSource
from ..uncertainty import AnswersLaw, NormalLaw, PublishedNoise

#: Data of a `Profile` that simulated devices need.
POSITIONS = frozenset({"positions"})


class Answers:
    """Answers of one release: a rule sends queries and receives answers, never ballots.

    A subclass defines `ask`. Each query is charged, then computed and randomised, then remembered: a repeated query
    gets the same answer. After `publish`, all answers follow from the published one, at no cost.

    Parameters
    ----------
    n_items : int
        Number of items.
    coins : BitSource
        Random bits for rules: pivots, random choices of a search and, if `fair_ties`, tie-breaking.
    planned : dict of {object: int} or None, default=None
        Number of planned answers of each kind of query.
    published : dict or None, default=None
        Facts that the channel publishes in any case.
    fair_ties : bool, default=True
        Whether coins break ties. False breaks them by item index.

    Attributes
    ----------
    left : dict of {object: int}
        Number of answers that are left of each kind.
    published : dict
        Facts that the channel publishes in addition to the consensus, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.queries import AllMargins, NetWins
    >>> answers = Answers(2, coins=None)
    >>> answers.publish(AllMargins(), np.array([[0, 3], [-3, 0]]))
    >>> answers.answer(NetWins())
    array([ 3, -3])
    """

    #: Number of units of an answer per vote: 720720 for weighted ballots, whose counts are integers in these units.
    grid: int = 1
    #: Public bound on the number of items that a ballot lists; None without a bound.
    max_listed: int | None = None
    #: Public bound on what a person contributes, a `WeightBound`; None without a bound.
    bound: Any = None
    #: Whether the items are private, so that only some of them may be published.
    private_items: bool = False

    def __init__(
        self, n_items: int, coins: BitSource, planned: Any = None, published: Any = None, *, fair_ties: bool = True
    ) -> None:
        self.n_items = n_items
        self.coins = coins
        self.left: dict[Any, int] = dict(planned or {})
        self.published: dict[str, Any] = dict(published or {})
        self._planned = dict(self.left)
        self._fair_ties = fair_ties
        self._given: dict[Query, Any] = {}
        self._source: Query | None = None

    @property
    def paired(self) -> bool:
        """Whether the voters made comparisons of two items."""
        return self.bound is not None and self.bound.form == "comparisons"

    def answer(self, query: Query) -> Any:
        """Return the answer to `query`.

        Raises
        ------
        BudgetExhausted
            If the query was not planned, or all planned answers have been given.
        ValueError
            If the query does not fit the number of items.
        LookupError
            If an answer was published, and `query` does not follow from it.
        """
        if query in self._given:
            return self._given[query]
        if type(query) is PairMargin and query.i > query.j:  # one answer for both directions of a pair
            return -self.answer(PairMargin(query.j, query.i))
        query.check(self.n_items)  # an error while it is computed could depend on ballots
        if self._source is None:
            self.charge(query)
            self._given[query] = self.ask(query)
        else:
            source = next((each for each in query.derivable_from if each.is_derivable_from(self._source)), None)
            if source is None:
                raise LookupError(f"{query} does not follow from {self._source}.")
            self._given[query] = query.derive_from(source, self.answer(source))
        return self._given[query]

    def charge(self, query: Query) -> None:
        """Charge one answer of the query's kind, before it is computed.

        Raises
        ------
        BudgetExhausted
            If every answer planned for the kind has been given.
        """
        kind = query.kind
        if kind not in self.left:
            raise BudgetExhausted(f"no answer was planned for {kind!r}; a rule declares in asks(n_items) what it asks.")
        if not self.left[kind]:
            raise BudgetExhausted(f"all {self._planned[kind]} answers planned for {kind!r} are given.")
        self.left[kind] -= 1

    def ask(self, query: Query) -> Any:
        """Compute and randomise the answer to a query that is paid for."""
        raise NotImplementedError

    def publish(self, query: Query, answer: Any) -> None:
        """Let all answers follow from this one."""
        self._source, self._given = query, {query: answer}

    def publish_numbers(self, query: Query, answer: Any, law: AnswersLaw | NormalLaw | None = None) -> None:
        """Let all answers follow from this one, and publish the margins if they do, else the scores (net wins)."""
        self.publish(query, answer)
        for name, numbers in (("margins", AllMargins()), ("scores", NetWins())):
            if numbers.is_derivable_from(query):
                self.published[name] = self.answer(numbers)
                if law is not None:
                    self.published["noise"] = PublishedNoise(name, law)
                break

    def deviation(self, query: Query) -> float | None:
        """Return the standard deviation of the noise in each number of the answer, or None if it is unknown.

        It is public, and 0 for exact answers. It is known if the query `needs_noise_scale`. For published margins, it
        is the root of the mean variance.
        """
        noise = self.published.get("noise")
        if query != AllMargins() or noise is None or noise.on != "margins":
            return None
        pairs = np.triu_indices(self.n_items, 1)
        std = np.broadcast_to(noise.law.std, (self.n_items, self.n_items))[pairs]
        return float(np.sqrt(np.mean(np.where(np.isfinite(std), std, 0) ** 2)))  # inf: no answer, the margin is 0

    def close(self) -> None:
        """Raise an error if the messages received cannot give a consensus; called after the rule's last answer."""

    def tie_break(self) -> NDArray[np.intp]:
        """Return distinct priorities, int, shape (n_items,); of tied items, the smaller priority goes first."""
        return self.coins.permutation(self.n_items) if self._fair_ties else np.arange(self.n_items)

    def tied_before(self, i: int, j: int) -> bool:
        """Return whether item i goes before item j when their margin is 0."""
        return bool(self.coins.integer(2)) if self._fair_ties else i < j


@dataclass(frozen=True)
class Plan:
    """Priced asks of a rule on one channel, computed from public inputs before any ballot is read.

    Attributes
    ----------
    guarantee : PrivacyGuarantee
        Guarantee that holds for every release.
    reads : callable of (voters) -> callable
        Reads a Profile, or messages from clients, once. `open` calls it.
    protocol : dict or None
        Protocol for clients, as JSON-serialisable data. None if clients cannot send what the rule asks for.
    needs : frozenset of {"counts", "net_wins", "placements", "positions", "cells", "outcomes", "lists"}
        Data of a Profile that answers need, as in `Query.needs`.
    prices : dict
        Mechanism and cost of each kind of query, for audits. Empty for channels without calibrated noise on sums.
    client : ReportRandomizer or None
        Client implementation that the protocol needs, if the package does not contain it. None otherwise.
    n_items : int or None
        Number of items of the plan. `open` refuses a Profile with another number. None if it is private.
    unsent : str
        Reason why there is no protocol, if clients cannot send what the rule asks for. Empty otherwise.
    bound : WeightBound or None
        Public bound on the weight of a person. `open` refuses a Profile with another bound.
    reader : callable of (reports) -> ReportCounts, or None
        Counts reports of clients that report once. `open` also accepts its result. None for other plans.
    """

    guarantee: PrivacyGuarantee
    reads: Callable[[Any], Callable[[Bits], Answers]]
    protocol: dict[str, Any] | None = None
    needs: frozenset[str] = frozenset()
    prices: dict[Any, Any] = field(default_factory=dict)
    client: Any = None
    n_items: int | None = None
    unsent: str = ""
    bound: WeightBound | None = None
    reader: Callable[[Any], ReportCounts] | None = None

    def open(self, voters: Any) -> Callable[[Bits], Answers]:
        """Return a function of `Bits` that answers with fresh randomness about these voters.

        A fit calls it once, a sweep many times. It can be pickled.

        Parameters
        ----------
        voters : Profile, or messages from clients
            The voters.

        Raises
        ------
        ValueError
            If the plan does not fit these voters, or no message was accepted.
        """
        n_items, bound = (voters.n_items, voters.bound) if isinstance(voters, Profile) else (self.n_items, self.bound)
        if bound != self.bound:  # first, because the number of items may be private
            raise ValueError(f"the plan is for ballots with the bound {self.bound}, got a Profile with another one.")
        if self.n_items not in (None, n_items):
            raise ValueError(f"the plan is for {self.n_items} items, got voters with {n_items}.")
        return self.reads(voters)

    def check_kept(self, profile: Profile, asker: Any) -> None:
        """Raise ValueError if answers need ballots, and the profile keeps only counts; for use before a charge."""
        if "positions" in self.needs and profile.positions is None:
            raise ValueError(f"{asker} needs the ballots; build the Profile with keep='positions'.")


class Channel(Protocol):
    """Trust model that prices a rule's asks from public inputs only."""

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None) -> Plan:
        """Return the plan, or raise a `ValueError` that names the channel and the query that it cannot answer."""


def check_asks(channel: Channel, asks: list[Ask]) -> None:
    """Raise ValueError unless counts are positive integers, positive shares sum to at most 1, and kinds differ."""
    kinds = set()
    for ask in asks:
        about, kind = type(ask.query).__name__, ask.query.kind
        check_whole(ask.times, f"times of {about}")
        check_number(ask.share, f"share of {about}", above=0)
        # Prices and answers are found by equality, which must therefore compare all parameters. So the class that
        # defines the constructor must define the comparison too, as dataclasses do.
        made = next(vars(base) for base in type(ask.query).__mro__ if {"__init__", "__eq__"} & vars(base).keys())
        if "__eq__" not in made or not all(each.compare for each in fields(ask.query)):
            raise ValueError(
                f"{about} must be a frozen dataclass that compares all its fields: equal ones cost the same."
            )
        if kind in kinds:
            raise ValueError(f"the rule asks for {about} twice; declare it once, for both.")
        kinds.add(kind)
    shares = sum(Fraction(ask.share) for ask in asks)
    if shares > 1:
        raise ValueError(
            f"{type(channel).__name__} has one budget, but the rule's asks claim {float(shares):g} of it; let shares "
            "add up to 1."
        )


def listed_text(max_listed: int | None) -> str:
    """Return the part of a guarantee's text about the bound on the length of a ballot."""
    return (
        "" if max_listed is None else f", calibrated to ballots of at most {max_listed} items (longer ones count less)"
    )


def bound_text(bound: WeightBound | None) -> str:
    """Return the part of a guarantee's text about the public bound of a profile, besides the unit."""
    if bound is not None and bound.unit == COMPARISONS:
        some = "one comparison" if bound.max_weight == 1 else f"{bound.max_weight:g} comparisons"
        return f", where a person counts at most as much as {some}"
    return "" if bound is None or bound.form == "comparisons" else listed_text(bound.max_listed)


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


def stated(query: Query) -> str:
    """Return what a query asks, in plain words; a subclass without its own words is named, as it may ask otherwise."""
    return query.in_words if "in_words" in vars(type(query)) else type(query).__name__


def repeated(times: int) -> str:
    """Return "once", "twice", "3 times" and so on."""
    return {1: "once", 2: "twice"}.get(times, f"{times} times")


def check_derivable(channel: Channel, asks: list[Ask], n_items: int, released: Query, reports: str) -> None:
    """Raise ValueError unless all asks follow from `released`, which the single `reports` of voters give."""
    for ask in asks:
        ask.query.check(n_items)
        if not ask.query.is_derivable_from(released):
            refuse(channel, ask.query, f"{reports} give {released}.")
        if ask.times > 1 and isinstance(ask.query, PairTallies):
            refuse(channel, ask.query, "each voter reports once; use an Interactive channel with Rounds().")


def outcomes_of(guarantee: PrivacyGuarantee, bound: WeightBound | None) -> PrivacyGuarantee:
    """Return the guarantee for the outcomes of comparisons whose pairs are public; devices have no bound."""
    unit = OUTCOME if bound is not None and bound.unit == COMPARISON else OUTCOMES
    public = "it is public who compared which items, so these must not depend on the person's own outcomes"
    return replace(guarantee, unit=unit, caveats=(public, *guarantee.caveats))


def ballots_of(profile: Profile) -> Any:
    """Return the ballots or comparisons that simulated devices randomise; raise ValueError if there are counts only."""
    if isinstance(profile.rows, Compared):
        return profile.rows
    if profile.positions is None:
        raise ValueError("a local mechanism needs the ballots; build the Profile with keep='positions'.")
    return profile.positions
