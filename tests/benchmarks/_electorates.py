"""
Simulated electorates
=====================

Votes with a given disagreement, and distances of orders from their Kemeny optimum. The simulation of the curves behind
``recommend`` and the validation of its recommendations share this module.
"""

import math
from functools import partial
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_mallows, make_plackett_luce
from sklearn_dprank.metrics import kemeny_positions

N_VOTERS = 5000
N_OF_EACH = 4  # electorates of each kind

# The disagreement (how often voters contradict the centre of their votes) matters more than any other property. It is
# 34 % of the pairs for SUSHI and about 40 % for JESTER. For Mallows voters with phi = 0.75, it is 40 % of the pairs of
# 4 items and 12 % of the pairs of 45. The electorates therefore have several levels of disagreement, with three kinds
# each: Mallows votes, Plackett-Luce votes, where some items are close, and Mallows votes with a minority around another
# centre.

LEVELS = (0.05, 0.2, 0.35, 0.48)


class Electorate:
    """Counted ballots, their Kemeny optimum, and distances of orders from it; of opinions only if ballots have gaps."""

    def __init__(self, ballots, gaps=False):
        self.profile = ballots if isinstance(ballots, Profile) else Profile.from_rankings(ballots)
        self.best = kemeny_positions(self.profile)
        self.n_voters, self.n_items = self.profile.n_voters, self.profile.n_items
        self._pairs = np.triu_indices(self.n_items, 1)
        counts = self.profile.pairwise_counts
        shares = (counts + counts.T)[self._pairs] / self.n_voters if gaps else np.ones(len(self._pairs[0]))
        self.opinion_share = float(shares.min()), float(shares.max())
        self._weights = self.profile.margins[self._pairs] / (self.n_voters * shares.sum())
        self._least = self._cost(self.best[None])

    def _cost(self, ranks):
        first, second = self._pairs
        return (ranks[:, first] > ranks[:, second]) @ self._weights

    def excess(self, ranks):
        """Return the excess normalised average Kendall tau distance of each row of positions."""
        return self._cost(ranks) - self._least

    def missed(self, ranks, k):
        """Return the share of the best k that each row of positions does not have among its first k."""
        return 1 - (ranks[:, self.best < k] < k).mean(axis=1)


def mean_disagreement(n_items, phi):
    """Return the expected distance of a Mallows ranking from its centre, over C(n_items, 2)."""
    chances = (phi ** np.arange(size) for size in range(2, n_items + 1))
    return sum(np.arange(len(chance)) @ chance / chance.sum() for chance in chances) / math.comb(n_items, 2)


def mallows(n_voters, n_items, disagreement, rng, center=None):
    """Return Mallows votes with this mean disagreement; the centre is random by default."""
    phi = brentq(lambda phi: mean_disagreement(n_items, phi) - disagreement, 1e-9, 1)
    return make_mallows(n_voters, n_items, phi, center=center, random_state=rng)


def plackett_luce(n_voters, n_items, disagreement, rng):
    """Return Plackett-Luce votes with normally distributed logarithms of the weights."""
    strengths = rng.standard_normal(n_items)
    first, second = np.triu_indices(n_items, 1)
    gaps = abs(strengths[first] - strengths[second])
    scale = brentq(lambda scale: expit(-scale * gaps).mean() - disagreement, 0, 1e6)
    weights = np.exp(np.maximum(scale * (strengths - strengths.max()), -600))
    return make_plackett_luce(n_voters, n_items, weights, random_state=rng)


def mixture(n_voters, n_items, disagreement, rng):
    """Return Mallows votes with a minority around another centre, in which about half of the pairs are reversed."""
    n_others = round(0.8 * disagreement * n_voters)
    own = (disagreement - 0.4 * disagreement) / (1 - 0.8 * disagreement)  # d = (1 - w) own + w / 2
    center = other = rng.permutation(n_items)
    while n_items > 2 and abs(_distance(center, other) - 0.5) > 0.17:
        other = rng.permutation(n_items)
    sides = mallows(n_voters - n_others, n_items, own, rng, center), mallows(n_others, n_items, own, rng, other)
    return np.concatenate(sides)


def _distance(order, other):
    first, second = np.triu_indices(len(order), 1)
    places = np.argsort(other)[order]
    return (places[first] > places[second]).mean()


KINDS = (mallows, plackett_luce, mixture)


def camps(n_voters, n_items, disagreement, rng, n_camps=3, equal=True, cyclic=False):
    """Return Mallows votes around several centres, at random or each a rotation of the one before.

    Majorities contradict voters on the given share of the pairs, and if they form a cycle, the consensus on more.
    Fewer items, or more different camps, may have a larger disagreement.
    """
    shares = np.full(n_camps, 1 / n_camps) if equal else rng.dirichlet(np.full(n_camps, 8.0))
    turns = [round(camp * n_items / n_camps) for camp in range(n_camps)]
    first = rng.permutation(n_items)
    centers = [np.roll(first, turn) if cyclic else rng.permutation(n_items) for turn in turns]
    places = np.argsort(centers, axis=1)
    gaps = places[:, None, :] - places[:, :, None]
    distances = np.arange(1, n_items)

    def excess(phi):
        """Return the share of the pairs on which voters contradict the majority, less the one that is wanted."""
        chances = (distances + 1) / (1 - phi ** (distances + 1)) - distances / (1 - phi**distances)
        means = np.sign(gaps) * np.append(0, 2 * chances - 1)[abs(gaps)]
        margins = abs(np.tensordot(shares, means, 1))[np.triu_indices(n_items, 1)]
        return (1 - margins.mean()) / 2 - disagreement

    phi = brentq(excess, 1e-6, 1 - 1e-6) if excess(1e-6) < 0 else 1e-6
    sizes = np.maximum(np.rint(shares * n_voters).astype(int), 1)
    sides = [
        make_mallows(size, n_items, phi, center=c, random_state=rng) for size, c in zip(sizes, centers, strict=True)
    ]
    return np.concatenate(sides)


#: Three to five camps, equal and unequal, around random and rotated centres.
CAMPS = tuple(
    partial(camps, n_camps=n_camps, equal=equal, cyclic=cyclic)
    for n_camps, equal, cyclic in product((3, 4, 5), (True, False), (False, True))
)


def electorates(n_items, disagreement, n_of_each=N_OF_EACH, n_voters=N_VOTERS, seed=0, kinds=KINDS):
    """Return electorates of each kind, each around its own random centre."""
    rng = np.random.default_rng([seed, n_items, round(1000 * disagreement)])
    rngs = rng.spawn(len(kinds) * n_of_each)
    return [
        Electorate(kind(n_voters, n_items, disagreement, each))
        for (kind, _), each in zip(product(kinds, range(n_of_each)), rngs, strict=True)
    ]


def fits(estimator, votes, n_trials, seed):
    """Return the positions of fits with fresh noise, shape (n_trials, n_items)."""
    seeded = (type(estimator)(**{**estimator.get_params(), "random_state": seed + i}) for i in range(n_trials))
    return np.array([each.fit(votes.profile).ranks_ for each in seeded])
