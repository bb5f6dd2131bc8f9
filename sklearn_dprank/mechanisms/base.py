"""What a curator's mechanism is: before it is calibrated, calibrated, and about to draw one answer."""

from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from numpy.typing import NDArray

from .._utils.checks import shown
from .._utils.scikit_learn import BaseEstimator
from ..privacy.composition import Losses
from ..queries import Query, Sensitivity
from ..sampling.bit_source import BitSource
from ..uncertainty import LaplaceLaw, NormalLaw, SkellamLaw

#: How many answers would use up a budget; a fraction where others have a share of it.
Times: TypeAlias = int | Fraction


class Sampler(Protocol):
    """Draws one private answer about one set of ballots, again and again if it is asked to."""

    def draw(self, bits: BitSource) -> NDArray[Any]:
        """Return one answer: of a vector, integers, as many as it has; of a cost of orders, an order."""


class Calibrated(Protocol):
    """A mechanism that keeps a given budget on answers of a given sensitivity.

    Attributes
    ----------
    how : str
        In a few words, for the guarantee.
    arithmetic : str
        "exact", or what rounding may cost, for the guarantee.
    law : LaplaceLaw, NormalLaw, SkellamLaw or None
        Of the independent noise on each number of an answer; None where it is not known, or where the numbers are not
        what is released: nothing but what rules make of them is published then.
    deviation : float
        Standard deviation of the noise on each number; only queries that are `weighed` need it.
    """

    @property
    def how(self) -> str: ...

    @property
    def arithmetic(self) -> str: ...

    @property
    def law(self) -> LaplaceLaw | NormalLaw | SkellamLaw | None: ...

    def sampler(self, query: Query, vector: NDArray[Any]) -> Sampler:
        """Return what draws answers to a query from its exact vector."""

    def losses(self, sensitivity: Sensitivity, times: int) -> Losses | None:
        """Return what so many answers of this sensitivity reveal together; None where only the budget is known."""


def checked_calibrated(calibrated: Any, mechanism: "Mechanism") -> Calibrated:
    """Return a calibrated mechanism, if it can draw, and says what a guarantee must.

    Raises
    ------
    ValueError
        If it lacks what the curator asks it for.
    """
    if missing := [name for name in ("how", "arithmetic", "losses", "sampler") if not hasattr(calibrated, name)]:
        raise ValueError(
            f"{type(mechanism).__name__}.calibrated(...) must return a calibrated mechanism, with how, arithmetic, "
            f"losses and sampler; got {shown(calibrated)}, which lacks {', '.join(missing)}."
        )
    return calibrated


class OfBudget:
    """Base of calibrated mechanisms of which nothing is known but the budget that they keep."""

    law: LaplaceLaw | NormalLaw | SkellamLaw | None = None

    def losses(self, sensitivity: Sensitivity, times: int) -> Losses | None:
        """Return None."""
        return None


class Unprinted(BaseEstimator):
    """Base of mechanisms that answer any query of their kind, and of which no paper prints a scale."""

    def refusal(self, query: Query, n_items: int) -> str:
        """Refuse nothing."""
        return ""

    def published(self, *asked: Any) -> "Published | None":
        """Return None."""
        return None


class Published(NamedTuple):
    """A mechanism with the scale that a paper prints.

    Attributes
    ----------
    mechanism : Calibrated
        With the printed scale, whatever that gives.
    epsilon : Fraction
        What all of its answers together really spend, at the delta that it was given; never rounded down.
    """

    mechanism: Calibrated
    epsilon: Fraction


class Mechanism(Protocol):
    """A way to answer privately, for whatever budget.

    Attributes
    ----------
    answers_with : {"vector", "order"}
        The kind of answer that it gives; see `Query.answered_with`.
    pure : bool
        Whether it keeps delta = 0; the others need a positive delta.
    adds_up : bool
        Whether sums of its independent noise have the same law as such noise.
    """

    answers_with: Literal["vector", "order"]
    pure: bool
    adds_up: bool

    def refusal(self, query: Query, n_items: int) -> str:
        """Return what to use instead where it cannot answer this query, or "" where it can; by public inputs only."""

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times
    ) -> Calibrated:
        """Return the mechanism whose `times` adaptive answers are (epsilon, delta)-differentially private together.

        Other answers may use up the rest of the budget: of one that pays for all, each answer uses a `times`-th part,
        in the unit in which the mechanism's answers add up (epsilon; of Gaussian noise the squared mu).

        Parameters
        ----------
        query : Query
            What is asked.
        sensitivity : Sensitivity
            Of one answer.
        n_items : int
            Number of items.
        epsilon : Fraction
            Budget of all answers together.
        delta : float
            Likewise; 0 for pure mechanisms.
        times : int or Fraction
            How many answers would use up the whole budget; a fraction where others have a share of it.

        Raises
        ------
        ValueError
            If the budget is too small for the arithmetic.
        """

    def published(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times
    ) -> "Published | None":
        """Return the same with the scale that a paper prints, and what that really spends; None where none is printed.

        The parameters are those of `calibrated`; the query knows what is printed for it.
        """
