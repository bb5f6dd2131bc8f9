"""scikit-learn's own model selection on the estimators."""

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_dprank import Borda, DPBorda, DPKwikSort, Kemeny, LDPPairwise, ShufflePairwise
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kendall_tau_scorer
from sklearn_dprank.model_selection import GridSearchCV
from sklearn_dprank.preprocessing import RatingsToRankings

X = make_mallows(300, 5, 0.7, random_state=0)
GRID = {"epsilon": [0.001, 1.0, 50.0]}
ESTIMATORS = [DPBorda(), DPKwikSort(), LDPPairwise(), ShufflePairwise(delta=1e-4, min_reports=150)]


def seeded(estimator):
    return clone(estimator).set_params(random_state=0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("scoring", [None, kendall_tau_scorer])
def test_grid_search(estimator, scoring):
    grid = {"epsilon": [0.01, 0.5, 3.0]}
    search = model_selection.GridSearchCV(seeded(estimator), grid, cv=2, scoring=scoring).fit(X)
    assert search.best_params_["epsilon"] > 0.01
    train, test = next(iter(model_selection.KFold(2).split(X)))
    for epsilon, score in zip(grid["epsilon"], search.cv_results_["split0_test_score"], strict=True):
        assert score == seeded(estimator).set_params(epsilon=epsilon).fit(X[train]).score(X[test])
    assert search.score(X) == search.best_estimator_.score(X)


def test_grid_search_over_all_voters_is_ours():
    """The papers' protocol in scikit-learn's words: one split, everybody on both sides."""
    everyone = [(np.arange(300), np.arange(300))]
    theirs = model_selection.GridSearchCV(seeded(DPBorda()), GRID, cv=everyone).fit(X).cv_results_
    ours = GridSearchCV(DPBorda(), GRID, n_trials=1, random_state=3).fit(X).cv_results_
    for row, params in enumerate(ours["params"]):
        assert theirs["mean_test_score"][row] == DPBorda(**params, random_state=0).fit(X).score(X)
        assert ours["mean_test_score"][row] == DPBorda(**params, random_state=int(ours["seed"][row][0, 0])).fit(
            X
        ).score(X)
    missing = set(theirs) - set(ours)
    assert not missing  # code that reads scikit-learn's results reads ours


@pytest.mark.parametrize("estimator", [*ESTIMATORS, Borda(), Kemeny()], ids=repr)
def test_cross_val_score(estimator):
    estimator = seeded(estimator) if "random_state" in estimator.get_params() else estimator
    scores = model_selection.cross_val_score(estimator, X, cv=3)
    for (train, test), score in zip(model_selection.KFold(3).split(X), scores, strict=True):
        assert score == -average_kendall_tau(clone(estimator).fit(X[train]).ranks_, X[test])


@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=repr)
def test_halving_grid_search(estimator):
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401

    grid = {"epsilon": [0.001, 0.01, 1.0, 50.0]}
    search = model_selection.HalvingGridSearchCV(seeded(estimator), grid, cv=2, random_state=0, min_resources=40).fit(X)
    assert search.best_params_["epsilon"] >= 1.0
    assert search.cv_results_["n_resources"].max() > 40  # voters


def test_pipelines_over_mechanisms():
    pipeline = Pipeline([("ballots", RatingsToRankings()), ("aggregator", seeded(DPBorda()))])
    grid = {"aggregator": [seeded(DPBorda()), seeded(DPKwikSort())], "aggregator__epsilon": [0.001, 50.0]}
    search = model_selection.GridSearchCV(pipeline, grid, cv=2).fit(-X.astype(float))
    assert search.best_params_["aggregator__epsilon"] == 50.0
    assert search.best_estimator_[-1].consensus_.tolist() == Borda().fit(X).consensus_.tolist()
    scores = model_selection.cross_val_score(make_pipeline(RatingsToRankings(), Borda()), -X.astype(float), cv=2)
    assert scores.tolist() == model_selection.cross_val_score(Borda(), X, cv=2).tolist()
