"""Flip probabilities and levels for a given epsilon, on a grid of 2^-52."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from ..._utils.checks import check_epsilon, safe_repr
from ...privacy.rounding import rounded_up
from ..client.protocol import FLIP_GRID, flips_cost, log_ratio


def as_text(number):
    """Return an epsilon as protocol text, the `repr` of its float; raise ValueError unless positive and finite."""
    check_epsilon(number)
    return repr(float(number))


def both_ways(epsilon):
    """Return an epsilon as a Decimal: the smaller of its exact value and of its float, which guarantees state."""
    return min(Decimal(epsilon), Decimal(float(epsilon)))


@lru_cache(maxsize=256)
def flip_within(epsilon: str | Decimal, times: int = 1) -> int:
    """Return the smallest flip probability, as a numerator over 2^52, with which answers spend at most `epsilon`.

    Parameters
    ----------
    epsilon : str or Decimal
        Epsilon that the protocol states.
    times : int, default=1
        Number of answers that share it.

    Returns
    -------
    int
        Numerator of the flip probability.

    Raises
    ------
    ValueError
        If epsilon is so small that every answer would be a fair coin.

    Examples
    --------
    >>> flip_within("1.0") / 2**52
    0.2689414213699952
    """
    budget = both_ways(epsilon)
    with localcontext() as context:
        context.prec = 60
        # Above about 36 per answer, the result is the smallest numerator, 1.
        flip = max(1, math.ceil(FLIP_GRID / (1 + min(budget / times, Decimal(64)).exp())))
    while flip < FLIP_GRID // 2 and flips_cost(flip, times) > budget:
        flip += 1
    if flip >= FLIP_GRID // 2:
        raise ValueError(
            f"epsilon={float(epsilon)} is too small for {safe_repr(times)} answer(s): each would be a fair coin; it "
            f"must be above {Decimal(times) * Decimal('1e-15'):.6g}."
        )
    return flip


def flip_above(probability):
    """Return the smallest numerator over 2^52, from 1 to 2^51, whose flip probability is at least `probability`.

    The factor covers the rounding errors of a few elementary functions.
    """
    return min(max(math.ceil(probability * (1 + 2.0**-50) * FLIP_GRID), 1), FLIP_GRID // 2)


def cost_as_text(spent):
    """Return a spent epsilon, a Decimal, as text that is rounded up in the twelfth digit."""
    with localcontext(prec=12, rounding=ROUND_CEILING):
        return str(+spent).lower()


def stated_epsilon(protocol, client):
    """Return the epsilon that a protocol states, as a float that is not below what its numbers spend."""
    stated, spent = float(protocol["epsilon"]), client.spent(protocol)
    return stated if spent <= Decimal(stated) else rounded_up(Fraction(spent))


def levels_within(epsilon):
    """Return [2^52, low]: integer weights with the largest ratio that spends at most `epsilon`, given as text.

    ValueError is raised if epsilon is so small that both weights would be equal.
    """
    budget = both_ways(epsilon)
    with localcontext() as context:
        context.prec = 60
        low = max(1, math.ceil(FLIP_GRID / min(budget, Decimal(64)).exp()))
    while low < FLIP_GRID and log_ratio(FLIP_GRID, low) > budget:
        low += 1
    if low >= FLIP_GRID:
        raise ValueError(f"epsilon must be above 1e-15, got {epsilon}; smaller ones leave no information in a report.")
    return [FLIP_GRID, low]
