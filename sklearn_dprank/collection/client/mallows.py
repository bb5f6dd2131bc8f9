"""Client implementation of "mallows": a random ranking around the voter's own."""

from functools import lru_cache

import numpy as np

from ...ballots.rankings import completed
from .protocol import FLIP_GRID, is_whole, log_ratio, refuse_unless, total
from .weighted import LEAD, WeightedLaw

FIELDS = ("weights",)
LARGEST = 2000  # items; the insertion distributions hold about LARGEST^2 integers
_BLOCK = 1 << 20  # positions in memory at a time, in simulations


def check(protocol):
    """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
    weights, m = protocol["weights"], len(protocol["items"])
    refuse_unless(m <= LARGEST, "items", f"at most {LARGEST}")
    form = type(weights) is list and len(weights) == m and all(is_whole(w, 1, FLIP_GRID) for w in weights)
    refuse_unless(form, "weights", "an integer from 1 to 2^52 for each item")


def spent(protocol):
    """Return the epsilon of one report, as a Decimal.

    The item at place p overtakes v of its predecessors with probability weights[v] / sum(weights[: p + 1]). So the
    probabilities of a ranking under two ballots differ at most by the product over p of max / min of weights[: p + 1].
    """
    weights = np.array(protocol["weights"], dtype=np.int64)
    high, low = np.maximum.accumulate(weights).tolist(), np.minimum.accumulate(weights).tolist()
    return total(log_ratio(most, least) for most, least in zip(high[1:], low[1:], strict=True))


def block(protocol):
    """Return the number of voters to simulate at a time."""
    return max(1, _BLOCK // len(protocol["items"]))


def draw(protocol, ballots, bits):
    """Draw a ranking around each ballot by repeated insertion; fair coins complete tied and partial ballots.

    The result is int64 of shape (n_voters, n_items): the reported position of each item, 0 is best.
    """
    places = completed(ballots.table, ballots.sentinel, bits.coins).T
    n_voters, m = places.shape
    leads = bits.noise.integers(LEAD, m * n_voters).reshape(m, n_voters)
    at = np.empty((m, n_voters), dtype=np.int64)  # reported position of each place of the ballot
    for place, law in enumerate(_overtaking(tuple(protocol["weights"]))):
        earlier = at[:place]
        at[place] = place - law.pick(leads[place], bits.noise)
        earlier += earlier >= at[place]
    return np.take_along_axis(at.T, places, axis=1)


def message(drawn):
    """Return the first voter's report: the position of each item."""
    return {"positions": drawn[0].tolist()}


@lru_cache(maxsize=16)
def _overtaking(weights):
    """Return, for each place, the distribution of the number of predecessors that its item overtakes."""
    return [WeightedLaw(weights[: place + 1]) for place in range(len(weights))]
