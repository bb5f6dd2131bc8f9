"""What fitted things promise together: nothing is printed that a step, a search or a claim takes back."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_dprank import Aggregator, Borda, DPBorda, LDPPairwise
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import kendall_tau_scorer
from sklearn_dprank.model_selection import GridSearchCV, PrivateKendallTau, PrivateSelection
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyGuarantee, guarantee_of

X = make_mallows(60, 4, 0.7, random_state=0).astype(float)
#: 999 voters who rate four items alike; most have not rated the worst one.
RATINGS = np.array([[4.0, 3.0, 2.0, np.nan]] * 666 + [[4.0, 3.0, 2.0, 1.0]] * 333)
ONE_MORE = np.vstack([RATINGS, [0.0, 0.0, 0.0, 1e9]])


def releases(*steps):
    """Orders of five fits without and with the one ballot."""
    pipelines = [make_pipeline(*steps, DPBorda(epsilon=0.1, random_state=seed)) for seed in range(5)]
    return [
        [pipeline.fit(ballots)[-1].consensus_.tolist() for pipeline in pipelines] for ballots in (RATINGS, ONE_MORE)
    ]


def test_a_step_that_learns_from_all_ballots_lets_one_voter_change_all():
    without, with_it = releases(SimpleImputer(), RatingsToRankings())
    assert without == [[0, 1, 2, 3]] * 5
    assert with_it == [[0, 3, 1, 2]] * 5  # at an epsilon of .1: nothing protects the one voter
    promise = guarantee_of(make_pipeline(SimpleImputer(), RatingsToRankings(), DPBorda(epsilon=0.1)).fit(RATINGS))
    assert str(promise) == "not private"
    assert promise.epsilon == math.inf
    (caveat,) = promise.caveats
    assert caveat.startswith("the step 'simpleimputer' (SimpleImputer) may mix ballots with each other")


def test_ratings_to_rankings_reads_each_ballot_by_itself():
    """The one ballot weighs as one; what is missing is no opinion, which Borda counts as neither win nor loss."""
    without, with_it = releases(RatingsToRankings())
    assert without == with_it == [[0, 1, 3, 2]] * 5
    pipeline = make_pipeline(RatingsToRankings(), DPBorda(epsilon=0.1)).fit(RATINGS)
    assert guarantee_of(pipeline) == pipeline[-1].privacy_ == DPBorda(epsilon=0.1).fit(RATINGS).privacy_


class Resampled(Pipeline):
    pass


class RatingsOfAll(RatingsToRankings):
    def transform(self, X):
        return super().transform(X - X.mean(axis=0))


@pytest.mark.parametrize(
    ("pipeline", "named"),
    [
        (make_pipeline(StandardScaler(), DPBorda()), "'standardscaler' (StandardScaler)"),
        (make_pipeline(RatingsToRankings(), FunctionTransformer(), DPBorda()), "'functiontransformer' (Function"),
        (make_pipeline(RatingsOfAll(), DPBorda()), "'ratingsofall' (RatingsOfAll)"),
        (make_pipeline(make_pipeline(RatingsToRankings()), DPBorda()), "'pipeline' (Pipeline)"),
        (
            Pipeline([("in", RatingsToRankings()), ("out", make_pipeline(SimpleImputer(), DPBorda()))]),
            "'simpleimputer'",
        ),
        (Resampled([("aggregator", DPBorda())]), "'pipeline' (Resampled)"),
        (Pipeline([("in", RatingsToRankings()), ("out", Resampled([("last", DPBorda())]))]), "'out' (Resampled)"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_the_step_that_voids_is_named(pipeline, named):
    promise = guarantee_of(pipeline.fit(X))
    assert promise.epsilon == math.inf
    assert named in promise.caveats[0]


@pytest.mark.parametrize("nothing", [None, "passthrough"])
def test_pipelines_that_keep_the_guarantee(nothing):
    inner = Pipeline([("no", nothing), ("ratings", RatingsToRankings()), ("last", LDPPairwise(epsilon=2.0))])
    pipeline = Pipeline([("no", nothing), ("inner", inner)]).fit(X)
    assert str(guarantee_of(pipeline)) == "epsilon = 2 (local, replace)"


def test_aggregators():
    assert guarantee_of(Borda().fit(X)) == PrivacyGuarantee.nothing()
    fitted = Aggregator(random_state=0).fit(X)
    assert guarantee_of(fitted) is fitted.privacy_

    class Derived(DPBorda):
        pass

    assert guarantee_of(Derived(epsilon=0.25).fit(X)).epsilon == 0.25


def test_searches():
    exact = GridSearchCV(DPBorda(), {"epsilon": [0.5]}, n_trials=2).fit(X)
    assert guarantee_of(exact) == exact.privacy_ == PrivacyGuarantee.nothing("a search by exact scores of the ballots")
    private = GridSearchCV(DPBorda(), {"epsilon": [0.5]}, n_trials=2, scoring=PrivateKendallTau(0.25)).fit(X)
    assert guarantee_of(private).epsilon == 2 * (0.5 + 0.25) + 0.5
    selection = PrivateSelection([DPBorda(epsilon=0.5)], mean_draws=2).fit(X)
    assert guarantee_of(selection) == selection.privacy_
    assert guarantee_of(make_pipeline(RatingsToRankings(), selection).fit(X)).epsilon == 4.5
    assert guarantee_of(make_pipeline(StandardScaler(), selection).fit(X)).epsilon == math.inf


def test_what_is_declared_is_believed_where_it_is_said():
    public = GridSearchCV(DPBorda(), {"epsilon": [0.5]}, n_trials=2, public_ballots=True).fit(X)
    assert guarantee_of(public).epsilon == 0
    assert "declared public" in guarantee_of(public).caveats[0]
    assert guarantee_of(public, declared=False).epsilon == math.inf
    scored = public.set_params(scoring=PrivateKendallTau(0.25)).fit(X)
    assert guarantee_of(scored).epsilon == 0
    assert guarantee_of(scored, declared=False).epsilon == scored.results_cost_.epsilon == 2 * (0.5 + 0.25) + 0.5
    assert guarantee_of(make_pipeline(RatingsToRankings(), public).fit(X), declared=False).epsilon == 2.0


@pytest.mark.parametrize("scoring", [None, kendall_tau_scorer, PrivateKendallTau()])
def test_searches_of_scikit_learn_count_nothing(scoring):
    grid = {"epsilon": [0.5]}
    for search in (
        model_selection.GridSearchCV(DPBorda(), grid, cv=2, scoring=scoring),
        model_selection.RandomizedSearchCV(DPBorda(), grid, n_iter=1, cv=2, scoring=scoring),
    ):
        promise = guarantee_of(search.fit(X))
        assert (promise.epsilon, promise.how) == (math.inf, "a search by exact scores of the ballots")


class Mine(BaseEstimator):
    """A class of somebody else."""

    def fit(self, X, y=None):
        self.ranks_ = np.arange(X.shape[1])
        return self


class Claiming(Mine):
    def fit(self, X, y=None):
        self.privacy_ = PrivacyGuarantee(0.1, 0.0, "central", "add_remove", "believe me")
        return super().fit(X)


class Plain:
    fit = Mine.fit


class Passing(BaseEstimator):
    """Hands out every attribute of what it wraps."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y=None):
        self.first_, self.second_ = self.estimator.fit(X).ranks_, self.estimator.fit(X).ranks_
        return self

    def __getattr__(self, name):
        if name.startswith("__") or name == "estimator":
            raise AttributeError(name)
        return getattr(self.estimator, name)


def test_classes_of_others_promise_nothing():
    for estimator in (Mine(), Plain()):
        assert guarantee_of(estimator.fit(X)) == PrivacyGuarantee.nothing("an estimator that states no guarantee")
    for claim in (Claiming().fit(X), Passing(DPBorda()).fit(X), make_pipeline(RatingsToRankings(), Claiming()).fit(X)):
        promise = guarantee_of(claim)
        assert promise.epsilon == math.inf
        assert promise.caveats[0].endswith("states a guarantee of its own, which nothing checks: it is not counted")


@pytest.mark.parametrize(
    "estimator",
    [
        DPBorda(),
        Mine(),
        GridSearchCV(DPBorda(), {}),
        PrivateSelection(DPBorda()),
        make_pipeline(RatingsToRankings(), DPBorda()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_unfitted(estimator):
    with pytest.raises(NotFittedError):
        guarantee_of(estimator)


@pytest.mark.parametrize("thing", [5, DPBorda, [DPBorda()], SimpleNamespace(privacy_="mine")])
def test_no_estimator(thing):
    with pytest.raises(TypeError, match="estimator must be a fitted estimator, pipeline or search, got"):
        guarantee_of(thing)
