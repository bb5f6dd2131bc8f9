"""The exponential mechanism over orders (McSherry and Talwar 2007), sampled exactly."""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import NDArray

from .._types import OrderSampler
from ..checks import check_flag
from ..orders.choice import log_choice_error
from ..orders.partition import log_rounding_error
from ..queries import Sensitivity
from .base import OfBudget, Sampler, Times, Unprinted

MOST_VOTERS = 2**31  # for whom rounding is bounded


@dataclass(frozen=True)
class ExponentialNoise(OfBudget):
    """Draws an order with probability proportional to exp(-rate cost).

    Parameters
    ----------
    rate : float
        Already lowered by what rounding may cost.
    choice : str
        Which of the query's samplers.
    verbose : bool
        Whether a sampler that tries again and again shows the time elapsed.
    """

    rate: float
    choice: str = "auto"
    verbose: bool = False
    how = "exponential mechanism, exact sampler,"
    arithmetic = "double precision: the rate is lowered to cover rounding for up to 2^31 voters"

    def sampler(self, query: Any, vector: NDArray[Any]) -> Sampler:
        """Return what draws orders; a table, where there is one, is made here, once."""
        return query.sampler(matrix_of(vector), self.rate, self.choice, _clock if self.verbose else None)


class Exponential(Unprinted):
    """The exponential mechanism: orders, the likelier the less they cost.

    Parameters
    ----------
    sampler : str, default="auto"
        How the same law is drawn: one of the query's samplers. For `KemenyUtility` a table of all subsets up to 25
        items ("auto", "table"), or by rejection, which may not end, where it is named.
    verbose : bool, default=False
        Whether rejection shows the time elapsed on standard error.

    Examples
    --------
    >>> from sklearn_dprank.channels import Central
    >>> from sklearn_dprank.mechanisms import Exponential
    >>> from sklearn_dprank.rules import Choose
    >>> channel = Central(epsilon=2.0, noise=Exponential(sampler="insertion"))
    >>> print(channel.plan(Choose().asks(30), n_items=30).guarantee)
    epsilon = 2 (central, add_remove)
    """

    answers_with: Literal["vector", "order"] = "order"
    pure = True
    adds_up = False

    def __init__(self, sampler: OrderSampler = "auto", verbose: bool = False) -> None:
        self.sampler = sampler
        self.verbose = verbose

    def refusal(self, query: Any, n_items: int) -> str:
        """Refuse a sampler that cannot draw by this query's cost."""
        check_flag(self.verbose, "verbose")
        return query.sampler_refusal(self.sampler, n_items)

    def calibrated(
        self, query: Any, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> ExponentialNoise:
        """Return the mechanism with rate (epsilon / times - 2 eta) / l1, every probability right up to e^eta.

        Raises
        ------
        ValueError
            If epsilon is so small that rounding would eat it.
        """
        budget = Fraction(epsilon) / times
        # rate times the cost of any order is at most budget * n: what is added up never has a larger exponent.
        exponent = float(budget) * MOST_VOTERS
        eta = 2 * log_rounding_error(n_items, exponent)
        eta += log_choice_error(query.options(n_items), exponent + math.lgamma(n_items + 1), n_items)
        rate = float(budget) * (1 - 2**-50) - 2 * eta
        if rate <= 0:
            raise ValueError(f"epsilon={float(epsilon)!r} is too small for double precision; use at least 1e-9.")
        return ExponentialNoise(rate / sensitivity.l1, self.sampler, self.verbose)


def matrix_of(vector: NDArray[Any]) -> NDArray[Any]:
    """Return the margins that a vector lists, shape (n_items, n_items)."""
    n_items = math.isqrt(len(vector))
    return vector.reshape(n_items, n_items)


def _clock():
    """Return what prints the time a draw has taken, once a second: not a line a batch, which would count tries."""
    shown = 0

    def show(seconds):
        nonlocal shown
        if int(seconds) > shown:
            shown = int(seconds)
            sys.stderr.write(f"\rdrawing an order: {shown} s")

    return show
