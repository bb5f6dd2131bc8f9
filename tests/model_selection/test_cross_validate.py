"""`cross_validate`: seeds reproduce every fit, results do not depend on workers, and ballots are counted once."""

import re

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from sklearn_dprank import Aggregator, Borda, DPBorda, Kemeny, LDPQuickSort
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.model_selection import PrivateSelection, cross_validate, with_seed
from sklearn_dprank.preprocessing import RatingsToRankings

X = make_mallows(60, 5, 0.8, random_state=0)
NOISY = DPBorda(epsilon=0.5)
TIMES = ("fit_time", "score_time")


def without_times(trials):
    return {key: value.tolist() for key, value in trials.items() if key not in TIMES}


def test_shape_of_the_result():
    trials = cross_validate(NOISY, X, n_trials=3, cv=2, random_state=0)
    assert set(trials) == {"test_score", "split", "trial", "seed", *TIMES}
    assert trials["split"].tolist() == [0, 0, 0, 1, 1, 1]
    assert trials["trial"].tolist() == [0, 1, 2, 0, 1, 2]
    assert len(set(trials["seed"].tolist())) == 6
    for key in TIMES:
        assert (trials[key] >= 0).all()
    assert (trials["test_score"] <= 0).all()


def test_random_state():
    first, again, other = (cross_validate(NOISY, X, n_trials=8, random_state=seed) for seed in (0, 0, 1))
    assert without_times(first) == without_times(again)
    assert first["seed"].tolist() != other["seed"].tolist()
    assert len(set(first["test_score"].tolist())) > 1  # fresh noise every time
    fresh = cross_validate(NOISY, X, n_trials=2)
    assert fresh["seed"].tolist() != cross_validate(NOISY, X, n_trials=2)["seed"].tolist()
    generators = [
        cross_validate(NOISY, X, n_trials=2, random_state=np.random.default_rng(3))["seed"].tolist() for _ in range(2)
    ]
    assert generators[0] == generators[1]


@pytest.mark.parametrize("cv", [3, KFold(3), list(KFold(3).split(X))], ids=["int", "splitter", "pairs"])
def test_splits(cv):
    trials = cross_validate(Kemeny(), X, n_trials=2, cv=cv, random_state=0)
    expected = [-average_kendall_tau(Kemeny().fit(X[train]).ranks_, X[test]) for train, test in KFold(3).split(X)]
    np.testing.assert_array_equal(trials["test_score"], np.repeat(expected, 2))


def test_cv_none_is_five_folds():
    assert cross_validate(Borda(), X, n_trials=1, cv=None)["split"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("keep", ["positions", "counts"])
def test_profiles(keep):
    profile = Profile.from_rankings(X, keep=keep)
    expected = cross_validate(NOISY, X, n_trials=3, random_state=0)
    assert without_times(cross_validate(NOISY, profile, n_trials=3, random_state=0)) == without_times(expected)
    with pytest.raises(ValueError, match=re.escape('a Profile cannot be split by cv=5; use cv="all", or pass the')):
        cross_validate(NOISY, profile, cv=5)


def test_dataframes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde"))
    for cv in ("all", 3):
        named = cross_validate(NOISY, frame, n_trials=2, cv=cv, random_state=0)
        assert without_times(named) == without_times(cross_validate(NOISY, X, n_trials=2, cv=cv, random_state=0))


def test_seeds_reach_nested_parameters():
    assert with_seed(make_pipeline(RatingsToRankings(), DPBorda()), 5)[-1].random_state == 5
    assert with_seed(Aggregator(Central()), 5).random_state == 5
    assert with_seed(Borda(), 5).get_params() == {}  # it has no seed
    assert with_seed(Ridge(), 5).random_state == 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # by multiprocessing, from Python 3.12 on
@pytest.mark.parametrize(
    "estimator",
    [LDPQuickSort(), make_pipeline(RatingsToRankings(), DPBorda()), PrivateSelection(NOISY)],
    ids=["interactive", "pipeline", "refitted"],
)
def test_multiprocessing_sends_what_cannot_be_pickled(estimator):
    """Schedules hold closures, and a scorer may be a lambda."""
    settings = {"n_trials": 5, "random_state": 0, "scoring": lambda fitted, ballots: float(fitted.score(ballots))}
    one = cross_validate(estimator, X, **settings)
    with parallel_config(backend="multiprocessing"):
        assert cross_validate(estimator, X, n_jobs=2, **settings)["test_score"].tolist() == one["test_score"].tolist()


def test_bad_ballots_and_parameters():
    with pytest.raises(ValueError, match="estimator must be one estimator, got list; to compare several, let a grid"):
        cross_validate([DPBorda()], X)
    with pytest.raises(ValueError, match="X must hold numbers"):
        cross_validate(NOISY, [["a", "b"], ["b", "a"]])
    with pytest.raises(ValueError, match="epsilon must be a positive, finite number"):
        cross_validate(DPBorda(epsilon=-1.0), X)
    with pytest.raises(ValueError, match=r"Expected .?cv.? as an integer"):
        cross_validate(NOISY, X, cv="some")
