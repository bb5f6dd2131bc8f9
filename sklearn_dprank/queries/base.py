"""Base class for queries and their sensitivities, and publications of answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, Self

from numpy.typing import NDArray

from .._utils.checks import RELATIONS
from .._utils.types import GaussianConstant, Neighboring


class Sensitivity(NamedTuple):
    """How far one ballot can move a query's vector.

    Attributes
    ----------
    l1 : int
        In the sum of absolute values.
    l2_squared : Fraction
        In the sum of squares.
    gauge : int or None
        In the gauge of the net-win permutohedron, for K-norm noise; None where it does not apply.
    """

    l1: int
    l2_squared: Fraction
    gauge: int | None = None

    def within(self, other: "Sensitivity") -> bool:
        """Tell whether noise for a statistic of sensitivity `other` covers one of this sensitivity.

        Examples
        --------
        >>> Sensitivity(2, Fraction(4)).within(Sensitivity(3, Fraction(5)))
        True
        """
        gauge_fits = other.gauge is None or (self.gauge is not None and self.gauge <= other.gauge)
        return self.l1 <= other.l1 and self.l2_squared <= other.l2_squared and gauge_fits


class Ask(NamedTuple):
    """A rule's declaration: `times` queries of the kind of `query`, for `share` of the budget.

    Attributes
    ----------
    query : Query
        What is asked; of a kind with parameters any one, the most sensitive of them.
    times : int, default=1
        How many such answers there may be at most. The same query again is free.
    share : Fraction or float, default=1
        Which part of the budget pays for all of them together; the shares of all asks add up to 1 or less.
    """

    query: "Query"
    times: int = 1
    share: Fraction = Fraction(1)


@dataclass(frozen=True)
class Query:
    """A question about a profile; subclasses say which.

    Attributes
    ----------
    answered_with : {"vector", "order"}
        Whether the answer comes from numbers, to which noise is added, or is an order that is drawn.
    needs : {"counts", "placements", "positions"}
        What is read of a profile: how many voters prefer what to what, where they tie, or every ballot.
    decides : bool
        Whether the answer is an order of the items, best first, or of the best of them.
    asks_anew : bool
        Whether several asks of this kind are several surveys, each among voters of its own.
    unseen_last : bool
        Whether items without an opinion count as tied behind all others.
    counts_voters : bool
        Whether the answer is the number of voters and nothing of what they say.
    weighed : bool
        Whether rules weigh the answer by its noise; a mechanism that answers must then know its `deviation`.
    published_as : str or None
        The name under which a noisy answer is published besides the consensus; None is for answers that serve only it.
    """

    answered_with: ClassVar[Literal["vector", "order"]] = "vector"
    needs: ClassVar[Literal["counts", "placements", "positions"]] = "counts"
    decides: ClassVar[bool] = False
    asks_anew: ClassVar[bool] = False
    unseen_last: ClassVar[bool] = False
    counts_voters: ClassVar[bool] = False
    weighed: ClassVar[bool] = False
    published_as: ClassVar[str | None] = None

    @property
    def steps(self) -> tuple["Query", ...]:
        """The queries it follows from directly."""
        return ()

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        """Return a few queries of this class that differ in what matters to the sensitivity.

        Every query that states a sensitivity has them: it is proved by brute force on each example, over all weak and
        partial ballots of three and four items.

        Parameters
        ----------
        n_items : int
            Number of items, at least 3.

        Returns
        -------
        list of Query
        """
        raise NotImplementedError(f"{cls.__name__} needs examples for the proof of its sensitivity.")

    def check(self, n_items: int) -> None:
        """Refuse what cannot be computed, by looking at public parameters only.

        Raises
        ------
        ValueError
            If there are too many items.
        """

    def warn_of_few(self, n_items: int, said: float) -> None:
        """Warn where too few voters make the answer useless; for where their number is public.

        Parameters
        ----------
        n_items : int
            Number of items.
        said : float
            Number of voters times the epsilon of one answer.
        """

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        """Return the exact integer statistic, int64, shape (k,).

        Parameters
        ----------
        profile : Profile
            The ballots.
        coins : BitSource
            For queries that complete ballots.
        """
        raise NotImplementedError

    @property
    def kind(self) -> Any:
        """What a rule declares when it asks for this query, hashable: the query itself, or its type.

        It is the type where a rule cannot know beforehand which of them it will ask. A query is then answered at
        the price of the one that was declared, if its own sensitivity is no larger.
        """
        return self

    @property
    def meaning(self) -> "Query":
        """The query that this one answers, where it is another way to the same answer."""
        return self

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        """Shape a (possibly noisy) vector into the answer that rules read."""
        return vector

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        """Return the `Sensitivity` under "add_remove" or "replace"."""
        raise NotImplementedError

    def published_l1(self, n_items: int) -> int | None:
        """Return the l1 sensitivity that the paper prints, or None; for published Laplace noise."""
        return None

    def published_gaussian(self, n_items: int) -> tuple[int, GaussianConstant] | None:
        """Return the squared l2 sensitivity and the constant that the paper prints, or None.

        They are for published Gaussian noise, `sklearn_dprank.privacy.calibration.classical_gaussian_sigma`.
        """
        return None

    def step(self, source: "Query", answer: Any) -> Any:
        """Return this query's answer from the answer to one of its ``steps``."""
        raise NotImplementedError

    def about(self, n_items: int) -> Sequence[tuple[int, int]] | None:
        """Return the pairs (i, j) that voters are asked about who answer for themselves; None where they cannot be.

        Each is asked about one of them. `counted` is the answer to what they say.
        """
        return None

    def counted(self, tallies: Any) -> Any:
        """Return the answer from a tuple of `Tallies` of voters who were asked what this query is `about`."""
        raise NotImplementedError

    def summed_as(self, n_items: int) -> str | dict[str, Any] | None:
        """Return what protocols call it where each voter's device computes its own part of the sum.

        Parameters
        ----------
        n_items : int
            Number of items.

        Returns
        -------
        str, dict or None
            A name, or an object with "name" and public numbers, of `sklearn_dprank.collection.client.summands`; None
            for what devices do not compute.
        """
        return None

    def summed_about(self, n_items: int) -> Any:
        """Return what a question to such devices is about, as JSON-able data; None where there is nothing to say.

        Parameters
        ----------
        n_items : int
            Number of items.
        """
        return None

    def follows_from(self, released: "Query") -> bool:
        """Tell whether the answer follows from the answer to `released` (public; types only)."""
        return self == released or any(step.follows_from(released) for step in self.steps)

    def covering(self, queries: Iterable["Query"]) -> "Query":
        """Return this query as it is best published once for all of `queries`, which follow from it."""
        return self

    def shortcut(self, released: "Query", noise: Any, n_items: int) -> "Query | None":
        """Return what has the same law as this query derived from `released` with such noise, or None.

        Parameters
        ----------
        released : Query
            What would be published.
        noise : Mechanism
            What would be added to it.
        n_items : int
            Number of items.
        """
        return None

    def __str__(self):
        return type(self).__name__


def n_pairs(n_items: int) -> int:
    """Return C(n_items, 2)."""
    return n_items * (n_items - 1) // 2


def moves(neighboring):
    """How many of one voter's contributions a neighbour can change, where any opposite pair is allowed."""
    return RELATIONS[neighboring]


class Publication:
    """One published answer, and what follows from it: free, and derived once.

    Parameters
    ----------
    query : Query
        What was answered.
    answer : object
        Its answer.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.queries import AllMargins, NetWins, Publication
    >>> Publication(AllMargins(), np.array([[0, 3], [-3, 0]])).derive(NetWins())
    array([ 3, -3])
    """

    def __init__(self, query: Query, answer: Any) -> None:
        self._query = query
        self._answers = {query: answer}

    def derive(self, query: Query) -> Any:
        """Return the answer to `query`.

        Raises
        ------
        LookupError
            If it does not follow from the publication.
        """
        if query not in self._answers:
            step = next((step for step in query.steps if step.follows_from(self._query)), None)
            if step is None:
                raise LookupError(f"{query} does not follow from {self._query}.")
            self._answers[query] = query.step(step, self.derive(step))
        return self._answers[query]

    def named(self, queries: Iterable[Query]) -> dict[str, Any]:
        """Return the answers to those of some queries that follow, by the name under which they are published."""
        return {str(q.published_as): self.derive(q) for q in queries if q.published_as and q.follows_from(self._query)}
