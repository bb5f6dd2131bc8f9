"""Fits on persons and weights: the guarantee names its unit, the release is in votes, and other channels refuse."""

import re
from collections import Counter
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from every_estimator import CLASSES
from sklearn.model_selection import GroupKFold, KFold

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPHistogram,
    DPKwikSort,
    DPPairwise,
    DPSwissBorda,
    Kemeny,
    PositionalRule,
)
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.ballots.weights import BALLOT, PERSON, WEIGHT_GRID
from sklearn_dprank.channels import Central, NonPrivateSurvey
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.model_selection.search import split_ballots
from sklearn_dprank.privacy import PrivacyBudget, guarantee_of
from sklearn_dprank.queries import Ask, Histogram
from sklearn_dprank.rules import KemenyRule

X = make_mallows(400, 5, 0.7, center=range(5), random_state=0)
WHO = np.random.default_rng(1).integers(0, 150, len(X))
W = np.random.default_rng(2).gamma(2, 1, len(X))
PERSONS = Profile.from_rankings(X, groups=WHO, sample_weight=W, max_weight=2)
WEIGHED = Profile.from_rankings(X, sample_weight=W, max_weight=2)
REFUSED = r"^groups(,| and) sample_weight.* (are for the channels Exact and Central|do not work with a stream)"


@pytest.mark.parametrize(
    "estimator",
    [
        DPBorda(),
        DPBorda(noise="gaussian", delta=1e-6),
        DPHistogram(),
        DPPairwise(),
        DPKwikSort(),
        DPSwissBorda(),
        Aggregator(Central(), "plurality"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_unit_is_part_of_the_guarantee(estimator):
    plain = estimator.fit(X).privacy_
    for profile, unit in ((PERSONS, PERSON), (WEIGHED, BALLOT)):
        fitted = estimator.fit(profile)
        assert fitted.privacy_.unit == unit and fitted.privacy_.epsilon == plain.epsilon
        assert guarantee_of(fitted) == fitted.privacy_ == estimator.guarantee_before(profile)


@pytest.mark.parametrize(
    ("estimator", "name", "exact"),
    [(DPBorda(epsilon=200.0), "scores", PERSONS.net_wins), (DPPairwise(epsilon=200.0), "margins", PERSONS.margins)],
    ids=["scores", "margins"],
)
def test_what_is_published_counts_votes(estimator, name, exact):
    fitted = estimator.fit(PERSONS)
    np.testing.assert_allclose(getattr(fitted, f"{name}_"), exact / WEIGHT_GRID, atol=5)
    assert fitted.noise_.grid == WEIGHT_GRID
    on_grid = getattr(fitted, f"{name}_") * WEIGHT_GRID
    np.testing.assert_allclose(on_grid, np.rint(on_grid), atol=1e-5)


def test_intervals_and_confidence_are_those_of_the_same_release_in_units():
    fitted = DPBorda(epsilon=0.5, noise="gaussian", delta=1e-6, random_state=0).fit(PERSONS)
    in_units = fitted.noise_.__class__("scores", fitted.noise_.law)
    units = np.rint(fitted.scores_ * WEIGHT_GRID)
    np.testing.assert_array_equal(fitted.rank_intervals(0.9), in_units.rank_intervals(units, 0.9))
    np.testing.assert_array_equal(fitted.pair_confidence(), in_units.chance_before(units))


def test_classic_rules_weigh_without_a_price():
    repeated = np.repeat(X[:3], [1, 4, 2], axis=0)
    weighed = Profile.from_rankings(X[:3], sample_weight=[1, 4, 2], max_weight=4)
    for rule in (Borda(), Kemeny(), PositionalRule(scores=[5, 2, 1, 0, 0])):
        assert rule.fit(weighed).consensus_.tolist() == rule.fit(repeated).consensus_.tolist()
        assert rule.score(weighed) == pytest.approx(rule.score(repeated), abs=1e-15)
    assert average_kendall_tau(range(5), weighed) == pytest.approx(average_kendall_tau(range(5), repeated), abs=1e-15)


@pytest.mark.parametrize(
    "estimator",
    [cls() for cls in CLASSES if cls.__name__.startswith(("LDP", "Shuffle", "SecAgg", "DPStreaming"))]
    + [Aggregator(NonPrivateSurvey(), KemenyRule())],
    ids=lambda one: type(one).__name__,
)
def test_channels_of_one_report_refuse_before_a_charge(estimator):
    for profile in (PERSONS, WEIGHED.counted()):
        with pytest.raises(ValueError, match=REFUSED):
            estimator.fit(profile)
        with pytest.raises(ValueError, match=REFUSED):
            estimator.guarantee_before(profile)
    if hasattr(estimator, "partial_fit"):
        with pytest.raises(ValueError, match=REFUSED):
            estimator.partial_fit(PERSONS)


def test_a_plan_is_for_one_bound_only():
    estimator = DPBorda()
    plan = estimator.plan_for(Shape(5))[1]
    with pytest.raises(ValueError, match="the plan is for ballots with the bound None"):
        plan.open(PERSONS)
    weighed = estimator.plan_for(PERSONS)[1]
    for other in (Profile.from_rankings(X), WEIGHED, Profile.from_rankings(X, groups=WHO)):
        with pytest.raises(ValueError, match="got a Profile with another one"):
            weighed.open(other)


def test_the_number_of_ballots_is_not_read_under_replace():
    """Few ballots of several persons: the number that a warning needs is private here."""
    few = Profile.from_rankings(X[:3], groups=[1, 1, 2])
    assert DPPairwise(neighboring="replace", rule="kemeny").fit(few).privacy_.unit == PERSON


def test_a_budget_keeps_to_its_unit():
    budget = PrivacyBudget(epsilon=2.0)
    budget.fit(DPBorda(epsilon=0.5), PERSONS)
    assert budget.spent_.epsilon == 0.5 and budget.spent_.unit == PERSON
    with pytest.raises(ValueError, match=re.escape("protects 'one ballot', the releases before it")):
        budget.fit(DPBorda(epsilon=0.5), X)
    assert budget.spent_.epsilon == 0.5


# Searches


def test_splits_through_a_person_are_refused():
    for cv in (KFold(3), GroupKFold(3)):
        with pytest.raises(ValueError, match="cv must be an integer for a Profile with groups"):
            cross_validate(DPBorda(), PERSONS, cv=cv, n_trials=1, random_state=0, progress=False)
    one_each = cross_validate(DPBorda(), WEIGHED, cv=KFold(3), n_trials=1, random_state=0, progress=False)
    assert len(one_each["test_score"]) == 3
    with pytest.raises(ValueError, match="a Profile cannot be split"):
        cross_validate(DPBorda(), PERSONS.counted(), cv=3, n_trials=1, random_state=0, progress=False)


def folds_of_all_shuffles(profile, cv, monkeypatch):
    """How often each tuple of (margins of training, margins of test) of all folds comes, over all shuffles."""
    laws = Counter()
    for shuffle in permutations(range(len(np.unique(profile.weights.persons)))):
        rng = SimpleNamespace(permutation=lambda n, shuffle=shuffle: np.array(shuffle))
        with monkeypatch.context() as patched:
            patched.setattr(np.random, "default_rng", lambda seed, rng=rng: rng)
            splits = split_ballots(profile, cv, np.random.SeedSequence(0))
        laws[tuple(part.margins.tobytes() for split in range(len(splits)) for part in splits[split])] += 1
    return laws


@pytest.mark.parametrize("cv", [2, 3])
def test_a_person_whose_first_ballot_moves_moves_no_other_to_another_fold(cv, monkeypatch):
    """Ann has no opinions here, so she shows in no count: the law of the others' folds must not depend on her rows."""
    own = {"ann": [0, 0, 0], "bob": [0, 1, 2], "cem": [2, 0, 1], "dan": [1, 2, 0]}
    laws = []
    for rows in (
        ["ann", "bob", "cem", "dan"],
        ["bob", "cem", "bob", "dan", "ann"],
        ["bob", "ann", "cem", "ann", "dan"],
    ):
        profile = Profile.from_rankings([own[who] for who in rows], groups=rows)
        laws.append(folds_of_all_shuffles(profile.take(np.arange(len(rows))), cv, monkeypatch))
    assert laws[0] == laws[1] == laws[2]
    assert len(laws[0]) > 1


def test_folds_of_persons_follow_the_seed():
    def folds(seed):
        splits = split_ballots(PERSONS, 3, np.random.SeedSequence(seed))
        return [part.net_wins.tolist() for split in range(3) for part in splits[split]]

    assert folds(1) == folds(1) != folds(2)
    sizes = [len(np.unique(test.weights.persons)) for _, test in split_ballots(PERSONS, 3, np.random.SeedSequence(0))]
    assert max(sizes) - min(sizes) <= 1 and sum(sizes) == len(np.unique(WHO))
    for train, test in split_ballots(PERSONS, 3, np.random.SeedSequence(0)):
        assert not set(train.weights.persons) & set(test.weights.persons)
        np.testing.assert_array_equal(train.margins + test.margins, PERSONS.margins)
    seeded = [
        cross_validate(DPBorda(), PERSONS, cv=3, n_trials=2, random_state=seed, progress=False)["test_score"].tolist()
        for seed in (5, 5, np.random.default_rng(5), np.random.default_rng(5))
    ]
    assert seeded[0] == seeded[1] and seeded[2] == seeded[3]


def test_a_query_that_counts_no_weights_is_refused():
    class Rows(Histogram):
        takes_weights = False

    with pytest.raises(ValueError, match="it counts ballots once"):
        Central(release=Rows()).plan([Ask(Rows())], 3, bound=PERSONS.bound)
