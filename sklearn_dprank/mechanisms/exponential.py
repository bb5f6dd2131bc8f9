"""Exponential mechanism (McSherry and Talwar 2007) and permute-and-flip over orders, sampled exactly.

`Sensitivity.l1` of a query for orders is the privacy loss per unit of rate (see `OrderUtility`). So a rate of epsilon /
l1 is epsilon-differentially private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import NDArray

from ..orders.samplers import log_choice_error, log_flip_error, log_rounding_error
from ..privacy.composition import choice_range
from ..queries import Sensitivity
from .additive import AnyQuery, Sampler, Times

MOST_VOTERS = 2**31  # largest number of voters for which rounding is bounded


@dataclass(frozen=True)
class ExponentialNoise:
    """Random order with probability proportional to exp(-rate cost).

    Parameters
    ----------
    rate : float
        Rate, already reduced to cover rounding.
    """

    rate: float
    how = "exponential mechanism, exact sampler,"
    arithmetic = "double precision: the rate is lowered to cover rounding for up to 2^31 voters"

    def sampler(self, query: Any, vector: NDArray[Any]) -> Sampler:
        """Return a sampler of orders. A table, if the sampler uses one, is computed here once."""
        return query.sampler(vector.reshape(math.isqrt(len(vector)), -1), self.rate).draw


class Exponential(AnyQuery):
    """Exponential mechanism over orders: orders of lower cost are more likely.

    It accepts a positive delta. Its answers then compose as choices of bounded range, and together need less noise.

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
    takes_delta = True

    def calibrated(
        self, query: Any, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> ExponentialNoise:
        """Return the mechanism with rate (epsilon / times - 2 eta) / l1.

        Every probability is correct up to a factor of e^eta. With a delta, the rate is (w - 4 eta) / l1, where w is the
        range for which `times` answers are (epsilon, delta)-private. Rounding may add 2 eta at either end of the range.

        Raises
        ------
        ValueError
            If epsilon is not larger than the rounding loss.
        """
        budget = Fraction(epsilon) / times
        if delta:
            budget = Fraction(choice_range(float(epsilon), delta, math.ceil(times)))
        # The cost of an order is at most l1 for each ballot. So rate times cost is at most budget * n, and no sum has a
        # larger exponent.
        exponent = float(budget) * MOST_VOTERS
        eta = 2 * log_rounding_error(n_items, exponent)
        eta += log_choice_error(query.options(n_items), exponent + math.lgamma(n_items + 1), n_items)
        return ExponentialNoise(_rate(epsilon, budget, (4 if delta else 2) * eta, sensitivity))


@dataclass(frozen=True)
class PermuteAndFlipNoise(ExponentialNoise):
    """Random order that maximises -rate cost + Exp(1)."""

    how = "permute-and-flip, exact sampler,"

    def sampler(self, query: Any, vector: NDArray[Any]) -> Sampler:
        """Return a sampler of orders. Tables that all draws share are computed here once."""
        return query.flips(vector.reshape(math.isqrt(len(vector)), -1), self.rate).draw


class PermuteAndFlip(AnyQuery):
    """Permute-and-flip over orders, for queries that count the orders of each cost.

    It visits the orders in random sequence, and accepts each with probability exp(-rate (cost - least cost)). It has
    the rate of the exponential mechanism, so the same pure epsilon. Its expected cost is never larger.

    Notes
    -----
    The exponential mechanism composes better: it is eps^2 / 8-zCDP, and permute-and-flip is eps^2 / 2-zCDP. If many
    releases share a budget, ``noise="exponential"`` may be better.

    References
    ----------
    McKenna and Sheldon (2020), "Permute-and-Flip", Theorems 1 and 2; Ding et al. (2021), "The permute-and-flip
    mechanism is identical to report-noisy-max with exponential noise".

    Examples
    --------
    >>> from sklearn_dprank.channels import Central
    >>> from sklearn_dprank.mechanisms import PermuteAndFlip
    >>> from sklearn_dprank.queries import MaxViolatedMargin
    >>> from sklearn_dprank.rules import Choose
    >>> channel = Central(epsilon=2.0, noise=PermuteAndFlip())
    >>> print(channel.plan(Choose(MaxViolatedMargin()).asks(10), n_items=10).guarantee)
    epsilon = 2 (central, add_remove)
    """

    answers_with: Literal["vector", "order"] = "order"

    def refusal(self, query: Any, n_items: int) -> str:
        """Return the remedy if the orders of each cost of this query are not counted, else ""."""
        remedy = "permute-and-flip needs the number of orders of each cost; use noise='exponential'."
        return "" if query.counted_by_cost else remedy

    def calibrated(
        self, query: Any, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> PermuteAndFlipNoise:
        """Return the mechanism with rate (epsilon / times - 2 eta) / l1.

        Every probability is correct up to a factor of e^eta.

        Raises
        ------
        ValueError
            If epsilon is not larger than the rounding loss.
        """
        budget = Fraction(epsilon) / times
        # Costs of queries with `counted_by_cost` change by at most l1 / 2 with one ballot. So rate times a difference
        # of costs is at most budget * n.
        eta = log_flip_error(float(budget) * MOST_VOTERS, math.lgamma(n_items + 1))
        return PermuteAndFlipNoise(_rate(epsilon, budget, 2 * eta, sensitivity))


def _rate(epsilon, budget, rounding_loss, sensitivity):
    """Return (budget - rounding_loss) / l1, rounded down; raise ValueError if nothing is left of the budget."""
    left = float(budget) * (1 - 2**-50) - rounding_loss
    if left <= 0:
        raise ValueError(f"epsilon={float(epsilon)!r} is too small for double precision; use at least 1e-9.")
    return left / sensitivity.l1
