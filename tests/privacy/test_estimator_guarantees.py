"""Guarantees of fitted aggregators, pipelines, searches and other estimators."""

import copy
import math
import pickle
import sys
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_dprank import DPBorda, DPStreamingBorda, LDPPairwise
from sklearn_dprank._utils.estimators import swap_fitted
from sklearn_dprank.channels import base
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import kendall_tau_scorer
from sklearn_dprank.model_selection import GridSearchCV, PrivateKendallTau, PrivateSelection
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyGuarantee, guarantee_of
from sklearn_dprank.privacy.estimator_guarantees import (
    guarantee_before,
    last_step,
    last_step_params,
    warn_in_worker,
)

X = make_mallows(60, 4, 0.7, random_state=0).astype(float)
RATINGS = np.array([[4.0, 3.0, 2.0, np.nan]] * 666 + [[4.0, 3.0, 2.0, 1.0]] * 333)


def test_only_a_private_fit_in_a_worker_of_dask_warns(monkeypatch, recwarn):
    private = PrivacyGuarantee(1.0, 0.0, "central", "add_remove", "noise")
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(get_worker=lambda: None))
    for harmless in (private.simulated(False), PrivacyGuarantee.nothing()):
        warn_in_worker(harmless)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="inside a worker of dask"):
        warn_in_worker(private)


def test_the_last_step_gets_the_parameters_with_its_name():
    nested = make_pipeline(RatingsToRankings(), make_pipeline(LDPPairwise()))
    given = {"pipeline__ldppairwise__voter_epsilon": 2.0, "pipeline__verbose": True, "ldppairwise__x": 1}
    assert last_step_params(nested, given) == {"voter_epsilon": 2.0}
    assert last_step_params(LDPPairwise(), given) == given


def test_ratings_to_rankings_keeps_the_guarantee_and_an_imputer_voids_it():
    pipeline = make_pipeline(RatingsToRankings(), DPBorda(epsilon=0.1)).fit(RATINGS)
    assert guarantee_of(pipeline) == pipeline[-1].privacy_ == DPBorda(epsilon=0.1).fit(RATINGS).privacy_
    mixed = guarantee_of(make_pipeline(SimpleImputer(), RatingsToRankings(), DPBorda(epsilon=0.1)).fit(RATINGS))
    assert (str(mixed), mixed.epsilon, len(mixed.caveats)) == ("not private", math.inf, 1)
    assert mixed.caveats[0].startswith("the step 'simpleimputer' (SimpleImputer) may mix ballots with each other")


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
def test_a_step_that_mixes_ballots_is_named(pipeline, named):
    found = guarantee_of(pipeline.fit(X))
    assert found.epsilon == math.inf
    assert named in found.caveats[0]


@pytest.mark.parametrize("name", ["fit_transform", "fit", "transform"])
def test_a_step_whose_method_was_replaced_may_mix_ballots(name):
    step, centred = RatingsToRankings(), RATINGS - np.nanmean(RATINGS, axis=0)
    pipeline = Pipeline([("in", step), ("out", DPBorda(epsilon=0.5))])
    assert guarantee_of(pipeline.fit(RATINGS)).epsilon == 0.5
    setattr(step, name, lambda X, y=None, **params: step if name == "fit" else centred)
    for found in (guarantee_of(pipeline), guarantee_before(pipeline, RATINGS)):
        assert found.epsilon == math.inf
        assert found.caveats[0].startswith("the step 'in' (RatingsToRankings) may mix ballots")


def test_a_fit_of_another_thread_does_not_get_the_record(monkeypatch):
    """Another thread fits the last step by itself, as soon as the fit of the pipeline is published."""
    pipeline = make_pipeline(RatingsToRankings(), DPBorda(epsilon=0.5))

    def publish_then_fit(draft, estimator):
        monkeypatch.setattr(base, "swap_fitted", swap_fitted)
        done = swap_fitted(draft, estimator)
        other = Thread(target=estimator.fit, args=(X,))
        other.start()
        other.join()
        return done

    monkeypatch.setattr(base, "swap_fitted", publish_then_fit)
    assert guarantee_of(pipeline.fit(X)).how.startswith("unknown")
    assert guarantee_of(pipeline.fit(X)).epsilon == 0.5


@pytest.mark.parametrize("skipped", [None, "passthrough"])
def test_pipelines_that_keep_the_guarantee(skipped):
    inner = Pipeline([("skipped", skipped), ("ratings", RatingsToRankings()), ("last", LDPPairwise(epsilon=2.0))])
    pipeline = Pipeline([("skipped", skipped), ("inner", inner)]).fit(X)
    assert str(guarantee_of(pipeline)) == "epsilon = 2 (local, replace)"


CHANGES = {
    "set_params": lambda pipeline: pipeline.set_params(mean="passthrough"),
    "pop": lambda pipeline: pipeline.steps.pop(0),
    "row-wise instead": lambda pipeline: pipeline.set_params(mean=RatingsToRankings()),
    "slice": lambda pipeline: pipeline[1:],
    "rebuilt": lambda pipeline: Pipeline([("ratings", RatingsToRankings()), pipeline.steps[-1]]),
    "nested": lambda pipeline: make_pipeline(RatingsToRankings(), pipeline[1:]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(
    "last", [DPBorda(epsilon=0.1), PrivateSelection([DPBorda(epsilon=0.1)])], ids=["fit", "search"]
)
@pytest.mark.parametrize("copied", [lambda fitted: fitted, copy.deepcopy], ids=["same", "copy"])
def test_a_pipeline_that_was_changed_after_its_fit_is_unknown(change, last, copied):
    pipeline = Pipeline([("mean", SimpleImputer()), ("ratings", RatingsToRankings()), ("last", clone(last))])
    fitted = copied(pipeline.fit(RATINGS))
    assert "'mean' (SimpleImputer)" in guarantee_of(fitted).caveats[0]
    changed = change(fitted)
    changed = changed if isinstance(changed, Pipeline) else fitted
    found = guarantee_of(changed)
    assert (found.epsilon, found.trust) == (math.inf, "none")
    assert found.how.startswith("unknown: the steps of the pipeline are not those of its last fit")
    assert found.caveats == (
        "the pipeline was changed after it was fitted, or was never fitted as a whole: fit it again",
    )
    assert guarantee_of(changed.fit(RATINGS[:50])).epsilon < math.inf


def test_a_step_put_in_after_the_fit():
    pipeline = Pipeline([("last", DPBorda(epsilon=0.5))]).fit(X)
    assert guarantee_of(pipeline).epsilon == 0.5
    pipeline.steps.insert(0, ("ratings", RatingsToRankings()))
    assert guarantee_of(pipeline).how.startswith("unknown")
    pipeline.steps.append(("nothing", "passthrough"))
    assert guarantee_of(pipeline).epsilon == math.inf
    other = DPBorda(epsilon=0.25).fit(X)
    assert guarantee_of(make_pipeline(other)).how.startswith("unknown")  # another fit than the pipeline's
    assert guarantee_of(other).epsilon == 0.25


def test_the_last_step_fitted_by_itself_forgets_its_pipeline():
    pipeline = make_pipeline(RatingsToRankings(), DPStreamingBorda(epsilon=0.5, horizon=3)).fit(X)
    assert guarantee_of(pipeline).epsilon == 0.5
    pipeline[-1].fit(X)
    assert guarantee_of(pipeline).how.startswith("unknown")
    pipeline.fit(X)
    with pytest.warns(UserWarning, match="begins a stream"):
        pipeline[-1].partial_fit(X)
    assert guarantee_of(pipeline).how.startswith("unknown")


@pytest.mark.filterwarnings("ignore:Persisting input arguments")  # joblib measures the disk
def test_a_pipeline_that_was_fitted_and_kept(tmp_path):
    """Copies, pickles, caches, nested pipelines and other parameters keep what was recorded."""
    inner = make_pipeline(RatingsToRankings(), DPBorda(epsilon=0.5))
    for pipeline in (inner, make_pipeline("passthrough", clone(inner)), clone(inner).set_params(memory=str(tmp_path))):
        fitted = pipeline.fit(X)
        for kept in (fitted, copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
            assert guarantee_of(kept).epsilon == 0.5
            assert vars(last_step(kept)).keys() - vars(DPBorda().fit(X)).keys() == {"_fitted_in_"}
            with pytest.raises(NotFittedError):
                guarantee_of(clone(kept))
        fitted.set_params(**{name: 9.0 for name in fitted.get_params() if name.endswith("dpborda__epsilon")})
        assert guarantee_of(fitted).epsilon == 0.5
    assert not hasattr(DPBorda().fit(X), "_fitted_in_")


def test_a_fit_inside_a_step_has_its_own_pipeline():
    search = PrivateSelection([make_pipeline(RatingsToRankings(), DPBorda(epsilon=0.5))], mean_draws=2)
    outer = make_pipeline(RatingsToRankings(), search).fit(X)
    assert guarantee_of(outer).epsilon == 4.5
    assert guarantee_of(outer[-1].best_estimator_).epsilon == 4.5

    class FitsAnother(FunctionTransformer):
        def fit(self, X, y=None):
            self.other_ = DPBorda(epsilon=0.25).fit(X)
            return super().fit(X)

    step = make_pipeline(FitsAnother(), DPBorda()).fit(X)[0]
    assert guarantee_of(step.other_).epsilon == 0.25
    assert not hasattr(step.other_, "_fitted_in_")
    assert guarantee_of(make_pipeline(step.other_)).how.startswith("unknown")


def test_a_declaration_of_public_ballots_is_accepted_by_default():
    public = GridSearchCV(DPBorda(), {"epsilon": [0.5]}, n_trials=2, public_ballots=True).fit(X)
    assert guarantee_of(public).epsilon == 0
    assert "declared public" in guarantee_of(public).caveats[0]
    assert guarantee_of(public, declared=False).epsilon == math.inf
    scored = public.set_params(scoring=PrivateKendallTau(0.25)).fit(X)
    assert guarantee_of(scored).epsilon == 0
    assert guarantee_of(scored, declared=False).epsilon == scored.results_cost_.epsilon == 2 * (0.5 + 0.25) + 0.5
    assert guarantee_of(make_pipeline(RatingsToRankings(), public).fit(X), declared=False).epsilon == 2.0


@pytest.mark.parametrize("scoring", [None, kendall_tau_scorer, PrivateKendallTau()])
def test_searches_of_scikit_learn_have_no_guarantee(scoring):
    grid = {"epsilon": [0.5]}
    for search in (
        model_selection.GridSearchCV(DPBorda(), grid, cv=2, scoring=scoring),
        model_selection.RandomizedSearchCV(DPBorda(), grid, n_iter=1, cv=2, scoring=scoring),
    ):
        found = guarantee_of(search.fit(X))
        assert (found.epsilon, found.how) == (math.inf, "a search by exact scores of the ballots")


class Mine(BaseEstimator):
    """Estimator of another package."""

    def fit(self, X, y=None):
        self.ranks_ = np.arange(X.shape[1])
        return self


class Claiming(Mine):
    def fit(self, X, y=None):
        self.privacy_ = PrivacyGuarantee(0.1, 0.0, "central", "add_remove", "not verified")
        return super().fit(X)


class Plain:
    fit = Mine.fit


class Passing(BaseEstimator):
    """Wrapper that forwards all attributes."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y=None):
        self.first_, self.second_ = self.estimator.fit(X).ranks_, self.estimator.fit(X).ranks_
        return self

    def __getattr__(self, name):
        if name.startswith("__") or name == "estimator":
            raise AttributeError(name)
        return getattr(self.estimator, name)


def test_other_classes_have_no_guarantee():
    for estimator in (Mine(), Plain()):
        assert guarantee_of(estimator.fit(X)) == PrivacyGuarantee.nothing("an estimator that states no guarantee")
    for claim in (Claiming().fit(X), Passing(DPBorda()).fit(X), make_pipeline(RatingsToRankings(), Claiming()).fit(X)):
        found = guarantee_of(claim)
        assert found.epsilon == math.inf
        assert found.caveats[0].endswith("states a guarantee of its own, which nothing checks: it is not counted")


@pytest.mark.parametrize(
    "estimator",
    [DPBorda(), Mine(), GridSearchCV(DPBorda(), {}), make_pipeline(RatingsToRankings(), DPBorda())],
    ids=lambda estimator: type(estimator).__name__,
)
def test_unfitted_estimators_are_refused(estimator):
    with pytest.raises(NotFittedError):
        guarantee_of(estimator)


@pytest.mark.parametrize("thing", [5, DPBorda, [DPBorda()], SimpleNamespace(privacy_="mine")])
def test_other_objects_are_refused(thing):
    with pytest.raises(TypeError, match="estimator must be a fitted estimator, pipeline or search, got"):
        guarantee_of(thing)


class ReadsTwice(DPBorda):
    """Aggregator with an own `fit`."""

    def fit(self, X, y=None):
        return super().fit(X)


CAVEAT = "ReadsTwice has a fit of its own: nothing checks that its guarantee covers it"


def test_an_own_fit_is_a_caveat():
    fitted = ReadsTwice(epsilon=0.1).fit(X)
    assert guarantee_of(fitted).caveats == (CAVEAT,)
    assert guarantee_of(make_pipeline(RatingsToRankings(), clone(fitted)).fit(X)).caveats == (CAVEAT,)
    replaced = DPBorda(epsilon=0.1).fit(X)
    replaced.fit = fitted.fit
    assert guarantee_of(replaced).caveats == (CAVEAT.replace("ReadsTwice", "DPBorda"),)
    derived = type("Derived", (DPBorda,), {})(epsilon=0.25).fit(X)
    assert (guarantee_of(derived).epsilon, guarantee_of(derived).caveats) == (0.25, ())


@pytest.mark.parametrize("kind", [ReadsTwice, DPBorda])
def test_a_search_with_private_scores_names_fits_of_their_own(kind):
    grid, scorer = {"epsilon": [0.1, 0.2]}, PrivateKendallTau(epsilon=0.1)
    for estimator, prefix in ((kind(), ""), (Pipeline([("aggregator", kind())]), "aggregator__")):
        named = {prefix + name: values for name, values in grid.items()}
        search = GridSearchCV(estimator, named, n_trials=2, scoring=scorer).fit(X)
        for stated in (search.privacy_, search.fits_cost_, search.results_cost_):
            assert (CAVEAT in stated.caveats) == (kind is ReadsTwice)


# Caveats


@pytest.mark.parametrize("name", ["publish", "read_ballots", "_checked_order", "_set_items"])
def test_an_own_method_is_a_caveat_of_the_fit(name):
    inherited = getattr(DPBorda, name)
    own = type("Own", (DPBorda,), {name: lambda self, *args, **more: inherited(self, *args, **more)})
    fitted = own(epsilon=0.5).fit([[0, 1, 2]] * 9)
    assert fitted.privacy_.caveats == (f"Own has a {name} of its own: nothing checks that its guarantee covers it",)
    assert "read its caveats" in str(fitted.privacy_)
    assert guarantee_of(fitted) == fitted.privacy_
    assert DPBorda(epsilon=0.5).fit([[0, 1, 2]] * 9).privacy_.caveats == ()


@pytest.mark.parametrize("name", ["publish", "read_ballots", "_checked_order", "_set_items", "partial_fit"])
def test_an_own_method_is_a_caveat_of_each_period(name):
    inherited = getattr(base.RankAggregator, name)
    own = type("Own", (DPStreamingBorda,), {name: lambda self, *args, **more: inherited(self, *args, **more)})
    caveats = (f"Own has a {name} of its own: nothing checks that its guarantee covers it",)
    stream = own(horizon=2)
    for _ in range(2):
        stream.partial_fit([[0, 1, 2]] * 9)
        assert stream.privacy_.caveats == caveats and guarantee_of(stream) == stream.privacy_
    assert DPStreamingBorda(horizon=2).partial_fit([[0, 1, 2]] * 9).privacy_.caveats == ()


def test_a_cache_on_a_disk_is_a_caveat(tmp_path):
    steps = [("ratings", RatingsToRankings()), ("borda", DPBorda(epsilon=0.5))]
    ratings = [[2.0, 1.0, 0.0]] * 9
    assert guarantee_of(Pipeline(steps).fit(ratings)).caveats == ()
    cached = guarantee_of(Pipeline(steps, memory=str(tmp_path)).fit(ratings))
    assert (cached.epsilon, cached.caveats) == (0.5, (cached.caveats[0],))
    assert "writes the ballots to a disk" in cached.caveats[0]
