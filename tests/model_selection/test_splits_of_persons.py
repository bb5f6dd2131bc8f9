"""Profiles of long data are split by person."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from long_tools import of_catalogue
from sklearn.base import clone
from sklearn.model_selection import KFold, train_test_split

from sklearn_dprank import DPBorda, DPBradleyTerry
from sklearn_dprank.ballots import Profile
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection, cross_validate
from sklearn_dprank.model_selection.search import split_ballots
from sklearn_dprank.sampling.bit_source import seed_sequence


def rows(n_rows=400, n_persons=30, n_items=5):
    """Persons, first and second item of random comparisons; smaller numbers mostly win."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, n_items, n_rows)
    second = (first + rng.integers(1, n_items, n_rows)) % n_items
    second, first = np.where(rng.random(n_rows) < 0.8, [first, second], [second, first])
    return rng.integers(0, n_persons, n_rows), np.minimum(first, second), np.maximum(first, second)


PERSON, FIRST, SECOND = rows()
PROFILES = {
    "comparisons": Profile.from_comparisons(None, FIRST, SECOND, person=PERSON, items=range(5)),
    "ratings": Profile.from_long(person=PERSON, item=FIRST, position=SECOND, items=range(5), max_listed=3),
    "lists": Profile.from_orders(np.column_stack([FIRST, SECOND]), items=range(5), person=PERSON),
}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_folds_share_no_person(profile):
    folds = split_ballots(profile, 3, seed_sequence(0))
    assert [test.shape[0] for _, test in folds] == [10, 10, 10]
    for train, test in folds:
        assert (train.pairwise_counts + test.pairwise_counts == profile.pairwise_counts).all()
    assert (sum(test.net_wins for _, test in folds) == profile.net_wins).all()


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_train_test_split_takes_persons_whole(profile):
    train, test = train_test_split(profile, test_size=0.2, random_state=0)
    assert (train.shape, test.shape) == ((24, 5), (6, 5)) and train.bound == profile.bound
    assert (train.net_wins + test.net_wins == profile.net_wins).all()


@pytest.mark.parametrize("noise", [{}, {"noise": "gaussian", "delta": 1e-6}], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_searches_fit_profiles_of_long_data(profile, noise):
    trials = cross_validate(DPBorda(epsilon=50.0, **noise), profile, cv=3, n_trials=2, random_state=0)
    assert len(trials["test_score"]) == 6
    search = GridSearchCV(DPBorda(**noise), {"epsilon": [0.001, 50.0]}, n_trials=2, random_state=0, public_ballots=True)
    assert search.fit(profile).best_estimator_.privacy_.unit == profile.bound.unit
    fitted = DPBorda(epsilon=50.0, random_state=int(trials["seed"][0]), **noise)
    train, test = split_ballots(profile, 3, seed_sequence(0))[0]
    assert fitted.fit(train).score(test) == trials["test_score"][0]


@pytest.mark.filterwarnings("ignore:.*more than the 1,000")
@pytest.mark.parametrize("estimator", [DPBorda(), DPBradleyTerry(delta=0.0)])
def test_searches_count_no_pairs_of_a_large_catalogue(estimator):
    profile = of_catalogue("comparisons", 5001)
    trials = cross_validate(estimator, profile, cv=2, n_trials=1, random_state=0)
    fitted = clone(estimator).set_params(random_state=int(trials["seed"][0]))
    train, test = split_ballots(profile, 2, seed_sequence(0))[0]
    assert fitted.fit(train).score(test) == trials["test_score"][0] < 0
    search = GridSearchCV(estimator, {"epsilon": [1.0, 2.0]}, n_trials=1, random_state=0, public_ballots=True)
    assert len(search.fit(profile).best_estimator_.consensus_) == 5001
    picks = PrivateSelection(estimator, {"epsilon": [1.0, 2.0]}, score_epsilon=1.0, mean_draws=1, random_state=0)
    assert len(picks.fit(profile).consensus_) == 5001


TEXT, WHOLE = ["d", "b", "d", "a", "c"], [9, 7, 9, 6, 8]
ORDERED = {
    "text": (TEXT, [0, 1, 2]),
    "text in NumPy": (np.array(TEXT), [0, 1, 2]),
    "text in pandas": (pd.Series(TEXT), [0, 1, 2]),
    "whole": (WHOLE, [1, 3]),
    "whole in NumPy": (np.array(WHOLE), [1, 3]),
    "whole in pandas": (pd.Series(WHOLE), [1, 3]),
    "whole with gaps in pandas": (pd.Series(WHOLE, dtype="Int64"), [1, 3]),
    "whole in Polars": (pl.Series(WHOLE), [1, 3]),
}


@pytest.mark.parametrize("form", ["comparisons", "lists"])
@pytest.mark.parametrize(("persons", "rows"), ORDERED.values(), ids=ORDERED)
def test_unshuffled_splits_take_persons_by_their_first_rows_or_whole_ids(persons, rows, form):
    """In row k, item k wins, so the winners are the rows of the first half of the persons."""
    pairs = np.column_stack([range(5), [5] * 5])
    if form == "comparisons":
        profile = Profile.from_comparisons(None, *pairs.T, person=persons, items=range(6))
    else:
        profile = Profile.from_orders(pairs.tolist(), person=persons, items=range(6))
    train, test = train_test_split(profile, test_size=0.5, shuffle=False)
    assert np.flatnonzero(train.net_wins > 0).tolist() == rows
    assert np.flatnonzero(test.net_wins > 0).tolist() == sorted({*range(5)} - {*rows})


COUNTED = {
    "weights": {"sample_weight": [1.0, 0.5, 1.0]},
    "lengths": {"max_listed": 2},
}


@pytest.mark.parametrize("others", COUNTED.values(), ids=COUNTED)
def test_voters_of_one_row_are_split_at_random(others):
    """In the order of rows, a voter of another row would move voters of all rows between over the ends of folds."""
    profile = Profile.from_rankings([[0, 1, 2], [1, 2, 0], [2, 0, 1]], counts=[60, 60, 60], **others)
    none = Profile.from_rankings(
        np.zeros((0, 3)), **{name: each if name == "max_listed" else [] for name, each in others.items()}
    )
    for whole in (profile, profile[10:170], pickle.loads(pickle.dumps(profile)), none + profile):
        for _, test in split_ballots(whole, 3, seed_sequence(0)):
            first = np.bincount(test.positions.table[0], minlength=3)
            assert abs(first - whole.n_voters / 9).max() < 12
        with pytest.raises(ValueError, match="cv must be an integer for a Profile with groups, counts or long data"):
            split_ballots(whole, KFold(3), seed_sequence(0))
