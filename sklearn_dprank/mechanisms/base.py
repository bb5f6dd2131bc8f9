"""Interfaces of curator mechanisms, before and after calibration, and of samplers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias

from numpy.typing import NDArray

from .._utils.checks import safe_repr
from .._utils.scikit_learn import BaseEstimator
from ..privacy.composition import Losses
from ..queries import Query, Sensitivity
from ..sampling.bit_source import BitSource
from ..uncertainty import LaplaceLaw, NormalLaw, SkellamLaw

#: Number of answers that would use up a budget. A fraction if other answers have a share of it.
Times: TypeAlias = int | Fraction


class Sampler(Protocol):
    """Sampler of private answers about one set of ballots; each call draws one answer."""

    def draw(self, bits: BitSource) -> NDArray[Any]:
        """Return one answer: an integer vector of the same length for "vector" mechanisms, or an order."""


class Calibrated(Protocol):
    """Mechanism calibrated to a budget and a sensitivity.

    Attributes
    ----------
    how : str
        Short description for the guarantee.
    arithmetic : str
        "exact", or a description of the rounding loss, for the guarantee.
    law : LaplaceLaw, NormalLaw, SkellamLaw or None
        Distribution of the independent noise on each number of an answer. None if it is unknown, or if the numbers are
        not released. Then only the results of rules are published.
    deviation : float
        Standard deviation of the noise on each number. Only queries with `needs_noise_scale` need it.
    spent : callable of (sensitivity, times, delta) -> Fraction
        True epsilon of `times` answers, never rounded down. Only noise with a scale as printed in a paper has it,
        because that scale need not spend the epsilon that was asked for.
    """

    @property
    def how(self) -> str: ...

    @property
    def arithmetic(self) -> str: ...

    @property
    def law(self) -> LaplaceLaw | NormalLaw | SkellamLaw | None: ...

    def sampler(self, query: Query, vector: NDArray[Any]) -> Sampler:
        """Return a sampler of answers to a query, given its exact vector."""

    def losses(self, sensitivity: Sensitivity, times: int) -> Losses | None:
        """Return the privacy losses of `times` answers of this sensitivity; None if only the budget is known."""


def checked_calibrated(calibrated: Any, mechanism: Mechanism) -> Calibrated:
    """Return `calibrated`; raise ValueError unless it can draw and has the fields of a guarantee."""
    if missing := [name for name in ("how", "arithmetic", "losses", "sampler") if not hasattr(calibrated, name)]:
        raise ValueError(
            f"{type(mechanism).__name__}.calibrated(...) must return a calibrated mechanism, with how, arithmetic, "
            f"losses and sampler; got {safe_repr(calibrated)}, which lacks {', '.join(missing)}."
        )
    return calibrated


class OfBudget:
    """Base class for calibrated mechanisms whose privacy losses are known only through their budget."""

    law: LaplaceLaw | NormalLaw | SkellamLaw | None = None

    def losses(self, sensitivity: Sensitivity, times: int) -> Losses | None:
        """Return None."""
        return None


class AnyQuery(BaseEstimator):
    """Base class for mechanisms that accept all queries of their kind; by default, pure noise on numbers."""

    answers_with: Literal["vector", "order"] = "vector"
    pure = True
    takes_delta = False

    def refusal(self, query: Query, n_items: int) -> str:
        """Return "": accept every query."""
        return ""


class Mechanism(Protocol):
    """Mechanism that answers queries privately, before calibration to a budget.

    Attributes
    ----------
    answers_with : {"vector", "order"}
        Kind of answer; see `Query.answered_with`.
    pure : bool
        Whether it satisfies delta = 0. Other mechanisms need a positive delta.
    takes_delta : bool
        Whether a pure mechanism also accepts a positive delta, for a tighter composition of its answers. Optional;
        False if it is missing.
    """

    answers_with: Literal["vector", "order"]
    pure: bool

    def refusal(self, query: Query, n_items: int) -> str:
        """Return the remedy if it cannot answer this query, or "" if it can; uses public inputs only."""

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times
    ) -> Calibrated:
        """Return the mechanism whose `times` adaptive answers are together (epsilon, delta)-differentially private.

        Other answers may use the rest of the budget. Each answer uses one part in `times`, in the unit in which the
        answers of the mechanism add up. This unit is epsilon, or the squared mu for Gaussian noise.

        Parameters
        ----------
        query : Query
            Query to answer.
        sensitivity : Sensitivity
            Sensitivity of one answer.
        n_items : int
            Number of items.
        epsilon : Fraction
            Total epsilon of all answers.
        delta : float
            Total delta of all answers; 0 for pure mechanisms that do not take a delta.
        times : int or Fraction
            Number of answers that would use up the whole budget; a fraction if others have a share of it.

        Raises
        ------
        ValueError
            If the budget is too small for the arithmetic.
        """
