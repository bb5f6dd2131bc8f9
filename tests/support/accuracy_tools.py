"""The mean error of an estimator on simulated or real ballots, for tests that compare it with another error."""

import numpy as np
from sklearn.base import clone

from sklearn_dprank import SegmentedAggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import excess_kendall_tau, kemeny_positions


def mallows_profiles(n_profiles, n_voters, n_items):
    """Profiles around random centres with dispersion .75. A fixed centre would flatter ties broken by index."""
    seeds = range(n_profiles)
    return [Profile.from_rankings(make_mallows(n_voters, n_items, 0.75, random_state=seed)) for seed in seeds]


def mean_excess(estimator, profiles, repeats=1, targets=None):
    """Mean excess Kendall tau error over profiles, in percent of the item pairs. Each fit has a seed of its own.

    The error is that to the same profiles, or to `targets`.
    """
    targets = profiles if targets is None else targets
    solved = [(profile, target, kemeny_positions(target)) for profile, target in zip(profiles, targets, strict=True)]
    errors = []
    for seed, (profile, target, optimum) in enumerate(solved * repeats):
        fitted = clone(estimator).set_params(random_state=seed).fit(profile)
        errors.append(excess_kendall_tau(fitted.ranks_, target, optimum=optimum))
    return 100 * sum(errors) / len(errors)


def mallows_segments(sizes, n_items, phi, between, seed):
    """Mallows rankings of segments, and their labels 0, 1, ...

    Centres of the segments are Mallows rankings of dispersion `between` around a random centre. With 0, all are equal.
    """
    centres = make_mallows(len(sizes), n_items, between, random_state=seed)
    tables = [
        make_mallows(size, n_items, phi, center=centre, random_state=1000 * seed + number)
        for number, (size, centre) in enumerate(zip(sizes, centres, strict=True))
    ]
    return np.concatenate(tables), np.repeat(np.arange(len(sizes)), sizes)


class SegmentErrors:
    """Errors of estimators on ballots in segments 0, 1, ..., in percent of the item pairs.

    The error of a fit is the mean over segments of the excess Kendall tau error in each segment, against the Kemeny
    optimum of that segment.
    """

    def __init__(self, X, labels):
        self.profile, self.labels = Profile.from_rankings(X), np.asarray(labels)
        self.classes = sorted(set(self.labels.tolist()))
        self._parts = [self.profile.take(np.flatnonzero(self.labels == label)).counted() for label in self.classes]
        self._optima = [kemeny_positions(part) for part in self._parts]

    def fitted(self, seed, **parameters):
        """Return a fit of a `SegmentedAggregator`."""
        estimator = SegmentedAggregator(self.classes, random_state=seed, **parameters)
        return estimator.fit(self.profile, segments=self.labels)

    def of(self, ranks):
        """Return the error of one ranking per segment."""
        parts = zip(ranks, self._parts, self._optima, strict=True)
        return 100 * np.mean([excess_kendall_tau(row, part, optimum=best) for row, part, best in parts])

    def mean(self, seeds, **parameters):
        """Return the mean error over fits with these seeds."""
        return np.mean([self.of(self.fitted(seed, **parameters).ranks_) for seed in seeds])


def mallows_people(n_persons, most, seed):
    """Ballots of persons, and the number of the person who cast each: (X, persons).

    Two thirds of the persons cast one ballot, few cast up to `most`, and these often have another opinion. Every person
    has an order near one of two centres, and ballots near that order.
    """
    rng = np.random.default_rng(seed)
    several, n_items = np.arange(2, most + 1), 10
    shares = several**-2.0 / (several**-2.0).sum()
    n_ballots = rng.choice(np.arange(1, most + 1), n_persons, p=[2 / 3, *shares / 3])
    others = rng.random(n_persons) < np.minimum(n_ballots / 10, 0.9)
    own = np.empty((n_persons, n_items), dtype=int)
    for these in (others, ~others):
        own[these] = make_mallows(these.sum(), n_items, 0.85, random_state=rng)
    persons = np.repeat(np.arange(n_persons), n_ballots)
    near = make_mallows(len(persons), n_items, 0.6, center=range(n_items), random_state=rng)
    return np.take_along_axis(near, own[persons], axis=1), persons
