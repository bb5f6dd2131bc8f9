"""Fits of two neighbours whose noisy answers are equal are equal: nothing private enters a fit beside the answers."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from every_estimator import N_ITEMS, NAMES, PRIVATE, seeded

import sklearn_dprank
from sklearn_dprank import DPBorda, DPPairwise, DPPositionalRule, SegmentedAggregator
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.channels import interactive, local, secure_aggregation, shuffle
from sklearn_dprank.channels.streaming import CorrelatedNoise
from sklearn_dprank.mechanisms import NoNoise
from sklearn_dprank.mechanisms.additive import ThresholdNoise

N_VOTERS = 60
ORDERS = np.random.default_rng(0).permuted(np.tile(np.arange(N_ITEMS), (N_VOTERS + 1, 1)), axis=1)
X = np.where(np.random.default_rng(1).random(ORDERS.shape) < 0.3, np.nan, ORDERS)
LISTS = [[NAMES[item] for item in np.argsort(row)[: np.count_nonzero(~np.isnan(row))]] for row in X]
WEIGHTS = np.linspace(0.2, 5, len(X))
SEGMENTS = np.tile(["north", "south"], N_VOTERS)


def table(rows, **given):
    return Profile.from_rankings(pd.DataFrame(X[rows], columns=NAMES), **given)


def ratings(rows):
    person, item = np.nonzero(~np.isnan(X[rows]))
    given = {"person": person, "item": np.array(NAMES)[item], "position": X[rows][person, item]}
    return Profile.from_long(**given, items=NAMES, max_listed=3)


def comparisons(rows):
    first, second = np.array(NAMES)[ORDERS[rows, :2].T]
    return Profile.from_comparisons(None, first, second, items=NAMES, person=np.arange(len(rows)) // 2)


def lists(rows):
    return Profile.from_orders([LISTS[row] for row in rows], items=NAMES, max_listed=3)


#: Profiles of the voters in some rows.
PROFILES = {
    "table": table,
    "counts": lambda rows: Profile.from_rankings(
        pd.DataFrame(X, columns=NAMES), counts=np.bincount(rows, minlength=len(X))
    ),
    "persons": lambda rows: table(rows, groups=np.arange(len(rows)) // 2, max_weight=2),
    "weights": lambda rows: table(rows, sample_weight=WEIGHTS[rows]),
    "weights, auto": lambda rows: table(rows, sample_weight=WEIGHTS[rows], max_weight="auto"),
    "lengths": lambda rows: table(rows, max_listed=3),
    "ratings": ratings,
    "comparisons": comparisons,
    "lists": lists,
}
EVERY = [
    *PRIVATE,
    SegmentedAggregator(["north", "south"]),
    SegmentedAggregator(["north", "south"], neighboring="replace"),
    SegmentedAggregator(["north", "south"], delta=0, pooling=False),
    DPBorda(noise="gaussian", delta=1e-6, population=True, neighboring="replace"),
    DPPairwise(neighboring="replace"),
    sklearn_dprank.LDPPairwise(pairs="shown"),
    sklearn_dprank.ShufflePairwise(pairs="shown", min_reports=2),
    sklearn_dprank.SecAggBorda(max_listed=3),
]


#: Models in which devices randomise ballots.
DEVICES = (interactive, local, secure_aggregation, shuffle)


@cache
def noises():
    """The classes of all calibrated mechanisms of a curator or of servers."""
    found = {NoNoise, ThresholdNoise}
    for estimator in EVERY:
        if getattr(estimator, "pairs", "") != "shown":  # it has no noise on sums
            _, plan = estimator.plan_for(Shape(N_ITEMS, N_VOTERS))
            found |= {type(getattr(price, "mechanism", price)) for price in plan.prices.values()}
    return found - {CorrelatedNoise}


class Answered:
    """Exact answers of a first fit, which the same questions of the next fits get."""

    def __init__(self, monkeypatch):
        self.vectors, self.number = [], None
        methods = [*((noise, "sampler", 2) for noise in noises()), (CorrelatedNoise, "added", 1)]
        for owner, name, place in [*methods, *((part, "ballots_of", None) for part in DEVICES)]:
            monkeypatch.setattr(owner, name, self.replaced(getattr(owner, name), place))

    def replaced(self, function, place):
        """Return a function that gets the exact numbers of the first fit in this place, or returns them."""

        def changed(*given):
            if place is None:
                return self.first(function(*given))
            return function(*given[:place], self.first(given[place]), *given[place + 1 :])

        return changed

    def first(self, exact):
        """Return what the first fit had at this step, with a 0 for each name that is new."""
        if self.number is None:
            self.vectors.append(exact)
            return exact
        self.number += 1
        vector = self.vectors[self.number - 1]
        return np.pad(vector, (0, len(exact) - len(vector))) if len(vector) < len(exact) else vector

    def fit(self, estimator, profile, **given):
        """Return the pickle of a fit with its warnings, or the message of a refusal."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                fitted = seeded(estimator).fit(profile, **given)
            except ValueError as refusal:
                return str(refusal)
        self.number = 0
        return pickle.dumps(fitted), [str(each.message) for each in told]


def neighbours(neighboring):
    """Rows of two neighbours."""
    rows = np.arange(N_VOTERS)
    return (rows, np.append(rows[:-1], N_VOTERS)) if neighboring == "replace" else (rows, np.append(rows, N_VOTERS))


def fits(answered, estimator, of, relation):
    """Fits of two neighbours."""
    for rows in neighbours(relation):
        profile = of(rows)
        given = {"segments": SEGMENTS[: profile.n_voters]} if getattr(estimator, "classes", None) else {}
        yield answered.fit(estimator, profile, **given)


def relation_of(estimator):
    """The neighbouring relation of a fit; models without a curator have one only."""
    return getattr(getattr(estimator, "channel", estimator), "neighboring", "replace")


@pytest.mark.parametrize("form", PROFILES)
@pytest.mark.parametrize(
    "estimator",
    [pytest.param(each, marks=pytest.mark.slow if hasattr(each, "classes") else ()) for each in EVERY],
    ids=repr,
)
def test_equal_answers_of_neighbours_give_equal_fits(estimator, form, monkeypatch):
    """Attributes, pickles, warnings and refusals."""
    one, other = fits(Answered(monkeypatch), estimator, PROFILES[form], relation_of(estimator))
    assert one == other


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_private_names_of_one_person_enter_no_fit(neighboring, monkeypatch):
    """The new items have no noise, as if they were below the threshold."""
    estimator = DPPositionalRule(epsilon=3.0, neighboring=neighboring)

    def of(rows):
        return Profile.from_orders(
            [LISTS[row] if row < N_VOTERS else ["~a secret", "~another"] for row in np.repeat(rows, 20)[:-19]],
            items="private",
            max_listed=3,
        )

    (one, _), (other, _) = fits(Answered(monkeypatch), estimator, of, neighboring)
    assert one == other and b"tea" in one


class Counting(DPBorda):
    """An estimator that keeps the number of voters."""

    def read_ballots(self, X, reset=False, least_voters=1):
        profile = super().read_ballots(X, reset, least_voters)
        self.n_seen = profile.n_voters
        return profile


def test_a_number_of_voters_in_a_fit_is_found(monkeypatch):
    one, other = fits(Answered(monkeypatch), Counting(), table, "add_remove")
    assert one != other
