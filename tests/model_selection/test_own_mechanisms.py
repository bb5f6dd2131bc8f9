"""Sweeps of functions, of estimators of other packages, and of subclasses that override a step of `fit`."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_dprank import Borda, DPBorda, Kemeny
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kendall_tau_scorer
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection, cross_validate
from sklearn_dprank.preprocessing import RatingsToRankings

X = make_mallows(60, 5, 0.8, random_state=0)
NAMES = ["e", "d", "c", "b", "a"]
BEST = Borda().fit(X).score(X)
WORST = -1 - BEST


class MeanOrder(BaseEstimator):
    """Estimator of a user: by mean position, without privacy and without `score`."""

    def __init__(self, reverse=False):
        self.reverse = reverse

    def fit(self, X, y=None):
        means = np.mean(X, axis=0)
        self.ranks_ = np.argsort(np.argsort(-means if self.reverse else means))
        return self


class Named(MeanOrder):
    """The same with ``consensus_`` only, by name if the ballots have names."""

    def fit(self, X, y=None):
        order = np.argsort(np.mean(np.asarray(X), axis=0))
        self.consensus_ = np.asarray(X.columns)[order] if hasattr(X, "columns") else order
        return self


def by_mean(ballots):
    """Return the Borda order of complete ballots."""
    return np.argsort(ballots.mean(axis=0))


def by_worst(ballots):
    return by_mean(-ballots)


def test_an_estimator_of_one_s_own_needs_only_ranks():
    """On complete ballots, mean positions give the Borda order; no guarantee is known for this estimator."""
    for scoring in (None, kendall_tau_scorer):
        trials = cross_validate(MeanOrder(), X, n_trials=2, scoring=scoring, random_state=0)
        assert trials["test_score"].tolist() == [BEST, BEST]
    search = GridSearchCV(MeanOrder(), {"reverse": [True, False]}, n_trials=2, random_state=0).fit(X)
    assert search.cv_results_["mean_test_score"].tolist() == pytest.approx([WORST, BEST])
    assert search.best_params_ == {"reverse": False} and search.fits_cost_.epsilon == np.inf
    assert search.score(X) == BEST
    with pytest.raises(ValueError, match=r"^MeanOrder has none of ranks_, consensus_ and score\. Let fit set"):
        kendall_tau_scorer(MeanOrder(), X)


@pytest.mark.parametrize("ballots", [X, pd.DataFrame(X, columns=NAMES), pd.DataFrame(X, columns=range(1, 6))])
def test_an_estimator_of_one_s_own_needs_only_a_consensus(ballots):
    assert cross_validate(Named(), ballots, n_trials=1)["test_score"].tolist() == [BEST]
    ratings = -ballots
    pipeline = Pipeline([("read", make_pipeline(RatingsToRankings())), ("own", make_pipeline(Named()))])
    assert cross_validate(pipeline, ratings, n_trials=1)["test_score"].tolist() == [BEST]


@pytest.mark.parametrize(
    "ballots",
    [X, X.tolist(), pd.DataFrame(X, columns=NAMES), Profile.from_rankings(X), pd.DataFrame(X)[[0, 1, 2, 3, 4]]],
)
def test_a_function_is_compared(ballots):
    assert cross_validate(by_mean, ballots, n_trials=2)["test_score"].tolist() == [BEST, BEST]
    search = GridSearchCV(by_worst, {}, n_trials=2).fit(ballots)
    assert search.best_score_ == search.score(ballots) == pytest.approx(WORST)
    assert search.best_estimator_.n_features_in_ == 5 and search.fits_cost_.epsilon == np.inf


def test_a_function_is_a_value_of_a_grid():
    grid = [{"aggregator": [Kemeny(), by_worst, by_mean]}, {"aggregator": [DPBorda()], "aggregator__epsilon": [50.0]}]
    for first in (DPBorda(), by_mean):
        search = GridSearchCV(Pipeline([("aggregator", first)]), grid, n_trials=2, random_state=0).fit(X)
        scores = search.cv_results_["mean_test_score"]
        assert scores[1:] == pytest.approx([WORST, BEST, BEST])
        assert search.cv_results_["params"][1] == {"aggregator": by_worst}
    named = GridSearchCV(Pipeline([("aggregator", by_mean)]), {}, n_trials=1).fit(pd.DataFrame(X, columns=NAMES))
    assert named.best_estimator_[-1].consensus_.tolist() == [NAMES[item] for item in by_mean(X)]


def test_a_function_has_no_parameters_in_a_grid():
    grids = {"aggregator": [DPBorda(), by_mean], "aggregator__epsilon": [1.0]}
    for estimator, grid in ((Pipeline([("aggregator", DPBorda())]), grids), (by_mean, {"epsilon": [1.0]})):
        with pytest.raises(ValueError, match=r"the function by_mean has no parameter 'epsilon' in a grid\. List it"):
            GridSearchCV(estimator, grid, n_trials=1).fit(X)


def test_a_function_gets_positions():
    """Floats, NaN for a missing opinion, from ballots of any integers; item numbers are not names."""
    seen = []
    ballots = np.array([[2.0, np.nan, 1.0], [np.nan, 5.0, 5.0]])
    cross_validate(lambda table: seen.append(table) or [1, 0], ballots, n_trials=1)
    (table,) = seen
    assert table.dtype == float and table.shape == (2, 3)
    assert np.isnan(table).tolist() == np.isnan(ballots).tolist()
    assert table[0, 2] < table[0, 0] and table[1, 1] == table[1, 2]
    numbered = pd.DataFrame([[0, 1, 2]] * 9, columns=[2, 1, 0])
    assert cross_validate(lambda table: [0, 1, 2], numbered, n_trials=1)["test_score"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda ballots: ballots, r"<lambda> returns must hold distinct items, from 0 to 4, best first; it has shape"),
        (lambda ballots: [0, 0, 1], "an item stands twice"),
        (lambda ballots: [5], "an item is not there"),
    ],
)
def test_what_a_function_must_return(function, message):
    with pytest.raises(ValueError, match=message):
        cross_validate(function, X, n_trials=1)


def test_a_function_needs_the_ballots():
    with pytest.raises(ValueError, match="a function needs the ballots; build the Profile with keep='positions'"):
        cross_validate(by_mean, Profile.from_rankings(X, keep="counts"), n_trials=1)
    weighted = Profile.from_rankings(X, sample_weight=np.full(60, 0.5), max_weight=1.0)
    with pytest.raises(ValueError, match="a function gets ballots without persons, weights and max_listed"):
        cross_validate(by_mean, weighted, n_trials=1)
    with pytest.raises(ValueError, match="estimator must be an aggregator"):
        PrivateSelection(by_mean).fit(X)


def reversing(step):
    """Return a subclass of `DPBorda` whose override of one step of `fit` turns the order of the items around."""

    def fit(self, X, y=None):
        super(kind, self).fit(X)
        self.ranks_ = self.ranks_.max() - self.ranks_
        return self

    def read_ballots(self, X, reset=False, least_voters=1):
        X = -np.asarray(X) if reset else X
        return super(kind, self).read_ballots(X, reset, least_voters)

    def _release(self, *args):
        super(kind, self)._release(*args)
        self.ranks_ = self.ranks_.max() - self.ranks_
        return self

    methods = {"fit": fit, "read_ballots": read_ballots, "_release": _release}
    kind = type("Reversed", (DPBorda,), {step: methods[step]})
    return kind


@pytest.mark.parametrize("step", ["fit", "read_ballots", "_release"])
def test_a_sweep_runs_overridden_steps(step):
    """Each trial is a fit of the subclass, with its guarantee."""
    own = reversing(step)(epsilon=50.0)
    for estimator in (own, make_pipeline(own)):
        assert cross_validate(estimator, X, n_trials=2)["test_score"].tolist() == pytest.approx([WORST, WORST])
    search = GridSearchCV(own, {"epsilon": [40.0, 50.0]}, n_trials=2, refit=False).fit(X)
    assert search.fits_cost_.epsilon == pytest.approx(2 * 40 + 2 * 50)


def test_a_fit_that_sets_too_little_is_refused():
    class Own(RankAggregator):
        def fit(self, X, y=None):
            self.ranks_ = np.arange(5)
            return self

    with pytest.raises(ValueError, match=r"fit of Own did not set n_features_in_ and privacy_; call super\(\).fit"):
        cross_validate(Own(), X, n_trials=1)
    Own._compose = lambda self: (None, None)
    with pytest.raises(ValueError, match=r"or derive the class from sklearn\.base.BaseEstimator, which needs only"):
        GridSearchCV(Own(), {}, n_trials=1).fit(X)
    assert average_kendall_tau(Own().fit(X).ranks_, X) > 0
