"""Base class for queries, their sensitivities, and publications of answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

from numpy.typing import NDArray

from .._utils.types import Neighboring, Norm
from ..ballots.weights import WEIGHT_GRID, WeightBound
from .statistics import MOST_PAIRS, Sensitivity, statistic


class Ask(NamedTuple):
    """Declaration of a rule: `times` queries of the kind of `query`, for `share` of the budget.

    Attributes
    ----------
    query : Query
        Declared query. For a kind with parameters, one with the largest sensitivity.
    times : int, default=1
        Maximum number of answers to different queries of this kind. Repeated queries are free.
    share : Fraction or float, default=1
        Part of the budget for all these answers together. The shares of all asks add up to 1 or less.
    """

    query: Query
    times: int = 1
    share: Fraction = Fraction(1)


@dataclass(frozen=True)
class Query:
    """Base class of questions about a profile.

    Attributes
    ----------
    in_words : str
        What is asked, in the plain words of privacy statements. They name a class that does not define it.
    answered_with : {"vector", "order"}
        Whether the answer is computed from numbers, to which noise is added, or is an order drawn at random.
    needs : {"counts", "net_wins", "placements", "positions", "cells", "outcomes", "lists"}
        Data that is read from a profile: pairwise counts, net wins or the number of voters alone, the placements of
        items with ties, every ballot, the net wins and exposures of the items of each person, the counts of the pairs
        that occur, or the items that each ballot lists.
        A query for orders that uses random coins must need "positions": releases on one profile share the tables of
        others.
    decides : bool
        Whether the answer is an order of the items, best first, or of the best few items.
    unseen_last : bool
        Whether items without an opinion count as tied behind all others.
    limits_persons : bool
        Whether it limits what a person contributes by a norm of its own; see `person_sensitivity`.
    needs_noise_scale : bool
        Whether rules weight the answer by its noise. The mechanism must then have a `deviation`.
    takes_weights : bool
        Whether an answer that needs "positions" counts each ballot with its weight.
    published_as : str or None
        Name under which a noisy answer is published in addition to the consensus, if the rule asks no other query. None
        does not publish it.
    published_always : bool
        Whether it is published if the rule asks other queries too.
    steps : int
        Number of units of a published answer per vote.
    kind_by : tuple of str or None
        Parameters that all queries of one `kind` share. None is every parameter.
    derivable_from : tuple of Query
        Queries from which this query follows directly.
    device_statistic : str or None
        Name of the statistic that devices compute for it, if its name is all that a protocol needs; see `summed_as`.
    """

    in_words: ClassVar[str]
    answered_with: ClassVar[Literal["vector", "order"]] = "vector"
    needs: ClassVar[Literal["counts", "net_wins", "placements", "positions", "cells", "outcomes", "lists"]] = "counts"
    decides: ClassVar[bool] = False
    unseen_last: ClassVar[bool] = False
    limits_persons: ClassVar[bool] = False
    needs_noise_scale: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    published_as: ClassVar[str | None] = None
    published_always: ClassVar[bool] = False
    steps: ClassVar[int] = 1
    kind_by: ClassVar[tuple[str, ...] | None] = None
    derivable_from: ClassVar[tuple[Query, ...]] = ()
    device_statistic: ClassVar[str | None] = None

    def check(self, n_items: int) -> None:
        """Refuse a query that cannot be computed, based on public parameters only.

        Raises
        ------
        ValueError
            If there are too many items, or the query's parameters do not fit their number.
        """

    def warn_of_few(self, n_items: int, signal: float) -> None:
        """Warn if too few voters make the answer useless. Called only if the number of voters is public.

        Parameters
        ----------
        n_items : int
            Number of items.
        signal : float
            Number of voters times the epsilon of one answer.
        """

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        """Return the exact integer statistic, int64, shape (k,).

        Parameters
        ----------
        profile : Profile
            The ballots.
        coins : BitSource
            Random bits, for queries that complete ballots.
        """
        raise NotImplementedError

    @property
    def kind(self) -> Any:
        """Kind of query that a rule declares, hashable: the query itself, or its type and the parameters `kind_by`.

        If a rule cannot know in advance which query it will ask, the queries share a kind. Each is answered at the
        price of the declared query, if its sensitivity is not larger.
        """
        if self.kind_by is None:
            return self
        return (type(self), *(getattr(self, name) for name in self.kind_by)) if self.kind_by else type(self)

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        """Convert a vector, with or without noise, into the answer for rules."""
        return vector

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        """Return the largest change of the vector by one ballot: by default, that of the statistic in `summed_as`.

        Parameters
        ----------
        n_items : int
            Number of items.
        neighboring : {"add_remove", "replace"}
            Neighbouring relation.
        max_listed : int or None, default=None
            Public bound on the number of items that a ballot lists. Passed only for profiles that have one.
        """
        stated = self.summed_as(n_items)
        if stated is None:
            raise NotImplementedError
        return statistic(stated, n_items, max_listed).sensitivity(neighboring)

    def person_sensitivity(self, n_items: int, neighboring: Neighboring, bound: Any) -> Sensitivity:
        """Return the largest change by one person, if the query `limits_persons`.

        Parameters
        ----------
        n_items : int
            Number of items.
        neighboring : {"add_remove", "replace"}
            Neighbouring relation.
        bound : WeightBound or None
            Public bound of the profile.
        """
        raise NotImplementedError

    def most_changed(self, n_items: int, max_listed: int | None) -> int | None:
        """Return how many different answers of this kind one ballot changes at most, or None if it may change all."""
        return None

    def derive_from(self, source: Query, answer: Any) -> Any:
        """Return this query's answer, derived from the `answer` to `source`, one of its ``derivable_from``."""
        raise NotImplementedError

    def asked_pairs(self, n_items: int) -> Sequence[tuple[int, int]] | None:
        """Return the pairs (i, j) that clients are asked about; None if clients cannot answer this query.

        Each client is asked about one pair. The answer is derived from the `PairTallies` of their answers.
        """
        return None

    def summed_as(self, n_items: int) -> str | dict[str, Any] | None:
        """Return the statistic that devices compute for this query in secure aggregation.

        Parameters
        ----------
        n_items : int
            Number of items.

        Returns
        -------
        str, dict or None
            A name from `sklearn_dprank.queries.statistics`, or an object with "name" and public numbers. None
            if devices do not compute the statistic.
        """
        return self.device_statistic

    def summed_about(self, n_items: int) -> Any:
        """Return the subject of a question to such devices, as JSON-serialisable data; None if there is none.

        Parameters
        ----------
        n_items : int
            Number of items.
        """
        return None

    def is_derivable_from(self, released: Query) -> bool:
        """Return whether the answer follows from the answer to `released`, based on public parameters only."""
        return self == released or any(source.is_derivable_from(released) for source in self.derivable_from)

    def __str__(self):
        return type(self).__name__


def weighted_sensitivity(
    query: Query,
    n_items: int,
    neighboring: Neighboring,
    bound: WeightBound | None = None,
    norm: Norm = "l1",
) -> Sensitivity:
    """Return the sensitivity of a query to one person, whose ballots and weights have a public bound.

    A person's weighted counts lie in `bound.most` times the convex hull of what single ballots count, and 0. Norms are
    convex, so a person who is added, removed or replaced changes them by at most `bound.most` times the larger
    sensitivity of both relations. The number of voters is public under "replace", but their total weight is not.

    Parameters
    ----------
    query : Query
        The query.
    n_items : int
        Number of items.
    neighboring : {"add_remove", "replace"}
        Neighbouring relation.
    bound : WeightBound or None, default=None
        Public bound of the profile. None if ballots have no weights, and any length.
    norm : {"l1", "l2"}, default="l1"
        Norm in which the sums of a person with comparisons are bounded, and which the noise needs.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.queries import NumberOfVoters
    >>> persons = Profile.from_rankings([[0, 1, 2]] * 2, groups=["ann", "ann"])
    >>> weighted_sensitivity(NumberOfVoters(), 3, "replace", persons.bound).l1
    720720
    """
    if query.limits_persons:
        return query.person_sensitivity(n_items, neighboring, bound)
    if bound is None:
        return query.sensitivity(n_items, neighboring)
    # Queries of users may have no such parameter.
    more = {} if bound.max_listed is None else {"max_listed": bound.max_listed}
    most: Any = bound.most
    moved, added = (query.sensitivity(n_items, relation, **more) for relation in (neighboring, "add_remove"))
    l1, l2_squared = max(moved.l1, added.l1), max(moved.l2_squared, added.l2_squared)
    if norm == "l2" and bound.form == "comparisons":
        # A person's own sums are bounded in squared L2, by most / 720720 times what one comparison changes. That holds
        # for net wins, alone or within groups, and for counts and margins of pairs, which are bounded together.
        l2_squared *= most * WEIGHT_GRID
        numbers = max(n_items**2, MOST_PAIRS)  # by Cauchy and Schwarz
        return Sensitivity(math.isqrt(int(l2_squared) * numbers) + 1, l2_squared)
    gauge = None if moved.gauge is None or added.gauge is None else most * max(moved.gauge, added.gauge)
    return Sensitivity(most * l1, most**2 * l2_squared, gauge)


def n_pairs(n_items: int) -> int:
    """Return C(n_items, 2)."""
    return n_items * (n_items - 1) // 2
