"""Top lists with private items, for tests: profiles of weak lists, and what each list contributes."""

import numpy as np

from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import WEIGHT_GRID
from sklearn_dprank.queries import TopListScores
from sklearn_dprank.sampling.bit_source import SeededBits

STEPS = 2**16


def private_profile(ballots, k):
    """A profile with private items of ballots, rows of places with NaN for unlisted items; items are column numbers."""
    person, item = np.nonzero(~np.isnan(np.asarray(ballots, dtype=float).reshape(len(ballots), -1)))
    place = np.asarray(ballots, dtype=float)[person, item] if len(person) else []
    return Profile.from_long(person=person, item=item, position=place, items="private", max_listed=k)


def totals(profile, m, scores=None, seed=0):
    """The exact scores of items 0 to m - 1 in steps of 2^-16, 0 for an item that nobody lists."""
    found = TopListScores(scores).vector(profile, SeededBits(np.random.SeedSequence(seed)))
    assert not (found % WEIGHT_GRID).any()
    out = np.zeros(m, dtype=np.int64)
    out[profile.item_names.astype(int)] = found // WEIGHT_GRID
    return out
