"""The exponential mechanism over orders (McSherry and Talwar 2007), sampled exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import NDArray

from .._utils.types import OrderSampler
from ..orders.samplers.choice import log_choice_error
from ..orders.samplers.partition import log_rounding_error
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
    """

    rate: float
    choice: str = "auto"
    how = "exponential mechanism, exact sampler,"
    arithmetic = "double precision: the rate is lowered to cover rounding for up to 2^31 voters"

    def sampler(self, query: Any, vector: NDArray[Any]) -> Sampler:
        """Return what draws orders; a table, where there is one, is made here, once."""
        return query.sampler(matrix_of(vector), self.rate, self.choice)


class Exponential(Unprinted):
    """The exponential mechanism: orders, the likelier the less they cost.

    Parameters
    ----------
    sampler : str, default="auto"
        How the law is drawn: "auto", or one of the query's samplers. The queries of this package have one, "table",
        whose time does not depend on the ballots. For `KemenyUtility` it is a table of all subsets of up to 25 items.

    Examples
    --------
    >>> from sklearn_dprank.channels import Central
    >>> from sklearn_dprank.mechanisms import Exponential
    >>> from sklearn_dprank.rules import Choose
    >>> channel = Central(epsilon=2.0, noise=Exponential())
    >>> print(channel.plan(Choose().asks(20), n_items=20).guarantee)
    epsilon = 2 (central, add_remove)
    """

    answers_with: Literal["vector", "order"] = "order"
    pure = True
    adds_up = False

    def __init__(self, sampler: OrderSampler = "auto") -> None:
        self.sampler = sampler

    def refusal(self, query: Any, n_items: int) -> str:
        """Refuse a sampler that cannot draw by this query's cost."""
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
        return ExponentialNoise(rate / sensitivity.l1, self.sampler)


def matrix_of(vector: NDArray[Any]) -> NDArray[Any]:
    """Return the margins that a vector lists, shape (n_items, n_items)."""
    n_items = math.isqrt(len(vector))
    return vector.reshape(n_items, n_items)
