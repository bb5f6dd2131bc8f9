"""What every randomizer is to a curator: a protocol, and how to count the reports."""

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from numbers import Integral

from sklearn.base import BaseEstimator

from ..checks import check_epsilon
from ..devices.device import checked, voter_half
from ..devices.protocol import FLIP_GRID, VERSION, are_items, flips_cost, log_ratio
from ..queries import Query


class Randomizer(BaseEstimator):
    """The curator's half: what devices are told, and what their reports say together.

    A subclass says what its reports determine (``releases``, a Query) and what rounding costs
    (``arithmetic``), and defines ``protocol(epsilon, items)``, ``counter(protocol)`` and ``variance(protocol)``. A
    counter has ``add_report(report)``, ``add(drawn)`` for what devices draw together, and ``answer()``. The voter's
    half, which draws, is a module of `sklearn_dprank.devices`.
    """

    releases: Query
    arithmetic = "exact"

    def protocol(self, epsilon, items):
        """Return what a device must know, as JSON-able data."""
        raise NotImplementedError

    def spent(self, epsilon, items):
        """Return the true, pure epsilon of one whole report.

        Parameters
        ----------
        epsilon : float
            What was asked for.
        items : int or list
            Number or names of the items.

        Returns
        -------
        float
            `epsilon`, unless a published calibration spends another.
        """
        return float(self.protocol(epsilon, items)["epsilon"])


def drafted(randomizer, items, epsilon, **fields):
    """Return a protocol that devices follow: its own device's check has passed it.

    Parameters
    ----------
    randomizer : str
        Its name on the wire.
    items : int or list
        Number or names of the items.
    epsilon : str
        What is stated, as text.
    **fields
        What else the voter's half needs.

    Raises
    ------
    ValueError
        If the names of the items cannot be written the same way in every language.
    """
    names = listed(items)
    return checked({"version": VERSION, "randomizer": randomizer, "items": names, "epsilon": epsilon, **fields})


def listed(items):
    """Return names as a list of str and int; 0, 1, ... where only their number is given."""
    if isinstance(items, Integral):
        return list(range(int(items)))
    names = [
        str(item) if isinstance(item, str) else int(item) if isinstance(item, Integral) else item for item in items
    ]
    if not are_items(names):
        raise ValueError(
            "items must be at least two distinct names that every language reads alike: text of at most 1,000 "
            f"characters, or integers below 2^53; got {len(names)} of which some are not."
        )
    return names


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


def flip_within(epsilon, times=1):
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
            f"epsilon={float(epsilon)} is too small for {times} answer(s): each would be a fair coin; it must be above "
            f"{times * 1e-15:g}."
        )
    return flip


def cost_as_text(flip, times):
    """Return what `times` answers with this flip over 2^52 spend, rounded up in the twelfth digit, as text."""
    with localcontext(prec=12, rounding=ROUND_CEILING):
        return str(+flips_cost(flip, times)).lower()


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


def simulated(counter, protocol, ballots, bits):
    """Let a counter count what the devices of these ballots draw, many devices at a time."""
    half = voter_half(protocol)
    step = half.block(protocol)
    for start in range(0, ballots.table.shape[1], step):
        block = ballots._replace(table=ballots.table[:, start : start + step])
        counter.add(half.draw(protocol, block, bits))
