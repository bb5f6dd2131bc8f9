"""The exponential mechanism over orders (McSherry and Talwar 2007), sampled exactly."""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..orders.block_insertion import BlockInsertionSampler
from ..orders.choice import log_choice_error
from ..orders.insertion import InsertionSampler
from ..orders.linear_extensions import MinimaxMarginSampler
from ..orders.pair_by_pair import PairByPairSampler
from ..orders.partition import PartitionTable, log_rounding_error
from ..orders.windowed import WindowedSampler
from ..queries import MaxViolatedMargin

_MOST_VOTERS = 2**31  # for whom rounding is bounded


@dataclass(frozen=True)
class ExponentialMechanism:
    """Draws an order with probability proportional to exp(-rate cost).

    Parameters
    ----------
    rate : float
        Already lowered by what rounding may cost.
    """

    rate: float
    how = "exponential mechanism, exact sampler,"
    arithmetic = "double precision: the rate is lowered to cover rounding for up to 2^31 voters"

    def release(self, query, vector, bits):
        """Return one order, best first, int, shape (n_items,)."""
        return self.sampler(query, vector)(bits)

    def sampler(self, query, vector):
        """Return a callable of (bits) that draws one order; a table, where there is one, is made here, once."""
        n_items = math.isqrt(len(vector))
        margins = vector.reshape(n_items, n_items)
        if isinstance(query, MaxViolatedMargin):
            if query.window is None:
                return MinimaxMarginSampler(margins, self.rate).draw
            return WindowedSampler(margins, np.array(query.anchor), self.rate, query.window).draw
        return self._kemeny(query, margins)

    def _kemeny(self, query, margins):
        if query.sampler in ("auto", "table"):
            return PartitionTable(np.maximum(margins.T, 0), self.rate).draw
        if query.sampler == "pair_by_pair":
            return PairByPairSampler(margins, self.rate).draw
        sampler = (InsertionSampler if query.sampler == "insertion" else BlockInsertionSampler)(margins, self.rate)
        return (lambda bits: sampler.draw(bits, on_try=_clock())) if query.verbose else sampler.draw


def exponential_mechanism(sensitivity, epsilon, n_items, times=1, options=None):
    """Return the mechanism that makes `times` draws epsilon-differentially private together.

    Parameters
    ----------
    sensitivity : Sensitivity
        Of the cost of an order: its loss per unit of rate, as `l1`.
    epsilon : Fraction
        Budget of all draws together.
    n_items : int
        Number of items.
    times : int, default=1
        How many draws.
    options : int or None, default=None
        Among how many options one choice of the sampler is, at most; None is `n_items`.

    Returns
    -------
    ExponentialMechanism
        With rate (epsilon / times - 2 eta) / l1, where every probability is right up to a factor e^eta.

    Raises
    ------
    ValueError
        If epsilon is so small that rounding would eat it.
    """
    budget = Fraction(epsilon) / times
    # rate times the cost of any order is at most budget * n: what is added up never has a larger exponent.
    exponent = float(budget) * _MOST_VOTERS
    eta = 2 * log_rounding_error(n_items, exponent)
    eta += log_choice_error(options or n_items, exponent + math.lgamma(n_items + 1), n_items)
    rate = float(budget) * (1 - 2**-50) - 2 * eta
    if rate <= 0:
        raise ValueError(f"epsilon={float(epsilon)!r} is too small for double precision; use at least 1e-9.")
    return ExponentialMechanism(rate / sensitivity.l1)


def _clock():
    """Return what prints the time a draw has taken, once a second: not a line a batch, which would count tries."""
    shown = 0

    def show(seconds):
        nonlocal shown
        if int(seconds) > shown:
            shown = int(seconds)
            sys.stderr.write(f"\rdrawing an order: {shown} s")

    return show
