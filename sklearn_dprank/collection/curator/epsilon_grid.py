"""What an epsilon buys on the grid of probabilities: the least flip, the furthest levels; and its text."""

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

from ..._utils.checks import check_epsilon, shown
from ...privacy.rounding import rounded_up
from ..client.protocol import FLIP_GRID, flips_cost, log_ratio


def as_text(number):
    """Return an epsilon as the text that protocols state: what `repr` shows of a float.

    Raises
    ------
    ValueError
        If it is not positive and finite.
    """
    check_epsilon(number)
    return repr(float(number))


def both_ways(epsilon):
    """Return an epsilon as a Decimal: no more than its text says, nor than the double that guarantees state."""
    return min(Decimal(epsilon), Decimal(float(epsilon)))


def flip_within(epsilon: str | Decimal, times: int = 1) -> int:
    """Return the smallest flip, over 2^52, with which `times` answers together spend at most `epsilon`.

    Parameters
    ----------
    epsilon : str or Decimal
        As the protocol states it.
    times : int, default=1
        How many answers share it.

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
        # Beyond 36 per answer, one point of the grid is as little as there is.
        flip = max(1, math.ceil(FLIP_GRID / (1 + min(budget / times, Decimal(64)).exp())))
    while flip < FLIP_GRID // 2 and flips_cost(flip, times) > budget:
        flip += 1
    if flip >= FLIP_GRID // 2:
        raise ValueError(
            f"epsilon={float(epsilon)} is too small for {shown(times)} answer(s): each would be a fair coin; it must "
            f"be above {Decimal(times) * Decimal('1e-15'):.6g}."
        )
    return flip


def cost_as_text(spent):
    """Return an epsilon that is spent, a Decimal, rounded up in the twelfth digit, as text."""
    with localcontext(prec=12, rounding=ROUND_CEILING):
        return str(+spent).lower()


def stated_epsilon(protocol, half):
    """Return the epsilon that a protocol states, as a double that is not below what its numbers spend.

    Parameters
    ----------
    protocol : dict
        As published by the curator.
    half : Half
        The voter's half, which knows what the numbers spend.
    """
    stated, spent = float(protocol["epsilon"]), half.spent(protocol)
    return stated if spent <= Decimal(stated) else rounded_up(Fraction(spent))


def levels_within(epsilon):
    """Return [2^52, low]: integer weights whose ratio is the largest that spends at most `epsilon`.

    Parameters
    ----------
    epsilon : str
        As the protocol states it.

    Raises
    ------
    ValueError
        If epsilon is so small that both weights would be equal.
    """
    budget = both_ways(epsilon)
    with localcontext() as context:
        context.prec = 60
        low = max(1, math.ceil(FLIP_GRID / min(budget, Decimal(64)).exp()))
    while low < FLIP_GRID and log_ratio(FLIP_GRID, low) > budget:
        low += 1
    if low >= FLIP_GRID:
        raise ValueError(f"epsilon={epsilon} is too small: reports would say nothing; it must be above 1e-15.")
    return [FLIP_GRID, low]
