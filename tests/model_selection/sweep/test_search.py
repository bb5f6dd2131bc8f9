"""`GridSearchCV` equals a plain loop of clone and fit, and states the total privacy cost of its trials and scores."""

import inspect
import math
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import KFold, ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    Kemeny,
    LDPBorda,
    LDPPairwise,
    LDPQuickSort,
    PositionalRule,
    SecAggBorda,
    ShufflePairwise,
)
from sklearn_dprank.aggregators.base import RankAggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import kendall_tau_scorer, pairwise_error_rate
from sklearn_dprank.model_selection import (
    GridSearchCV,
    PrivateKendallTau,
    PrivateSelection,
    cross_validate,
    smallest_within,
    with_seed,
)
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyGuarantee, gaussian_sigma
from sklearn_dprank.privacy.composition import Losses
from sklearn_dprank.rules import KemenyRule

X = make_mallows(80, 5, 0.7, random_state=0)
EPSILONS = {"epsilon": [0.02, 0.1, 5.0]}


def search(estimator=None, grid=None, **settings):
    settings = {"n_trials": 4, "random_state": 0, **settings}
    return GridSearchCV(DPBorda() if estimator is None else estimator, EPSILONS if grid is None else grid, **settings)


def without_times(results):
    return {
        key: [np.asarray(cell).tolist() for cell in value] if isinstance(value, np.ndarray) else value
        for key, value in results.items()
        if "time" not in key
    }


def error_rate(fitted, ballots):
    return -pairwise_error_rate((fitted[-1] if isinstance(fitted, Pipeline) else fitted).ranks_, ballots)


def errors_or_rank(fitted, ballots):
    """A metric of the order alone, for pipelines too, whose transformers may turn the ballots round."""
    if isinstance(fitted, Pipeline):
        return float(fitted[-1].ranks_[0])
    return error_rate(fitted, ballots)


def is_mapped(fitted, profile):
    table = profile.positions.table
    while table is not None and not isinstance(table, np.memmap):
        table = table.base
    return float(table is not None)


class Shuffled(TransformerMixin, BaseEstimator):
    """A transformer that draws at random: reverses each ballot by a coin."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.coin_ = int(np.random.default_rng(self.random_state).integers(2))
        return self

    def transform(self, X):
        return -np.asarray(X) if self.coin_ else np.asarray(X)


CASES = {
    "laplace": (DPBorda(), EPSILONS),
    "gaussian": (DPBorda(noise="gaussian", delta=1e-6), EPSILONS),
    "quicksort": (DPKwikSort(), EPSILONS),
    "table": (DPKemenySampler(), {**EPSILONS, "neighboring": ["add_remove", "replace"]}),
    "prudent": (DPPrudentOrder(), [EPSILONS, {"window": [3], **EPSILONS}]),
    "margins": (DPPairwise(rule="borda"), EPSILONS),
    "kemeny": (DPPairwise(), {"epsilon": [0.01, 0.1, 0.5, 2.0, 5.0]}),
    "local kemeny": (LDPPairwise(rule="kemeny"), EPSILONS),
    "local": (LDPPairwise(), {**EPSILONS, "n_queries": [1, 3]}),
    "vectors": (LDPBorda(), EPSILONS),
    "interactive": (LDPQuickSort(), EPSILONS),
    "shuffle": (ShufflePairwise(delta=1e-4), {"epsilon": [0.5, 2.0]}),
    "sums": (SecAggBorda(), EPSILONS),
    "histogram": (DPHistogram(), EPSILONS),
    "nested": (Aggregator(Central(), KemenyRule()), {"channel__epsilon": [0.1, 1.0], "rule__tolerance": [0.0, 0.5]}),
    "classic": (PositionalRule(), {"scores": ["plurality", "veto"]}),
    "pipeline": (make_pipeline(RatingsToRankings(), DPBorda()), {"dpborda__epsilon": [0.1, 1.0]}),
    "transformer": (
        make_pipeline(RatingsToRankings(), DPBorda()),
        {"ratingstorankings": [RatingsToRankings(), "passthrough"], "dpborda__epsilon": [0.1, 1.0]},
    ),
    "random transformer": (make_pipeline(Shuffled(), DPBorda()), {"dpborda__epsilon": [0.1, 1.0]}),
    "mechanisms": (
        Pipeline([("aggregator", DPBorda())]),
        [
            {"aggregator": [DPBorda(), DPKwikSort(), DPPairwise()], "aggregator__epsilon": [0.1, 1.0]},
            {"aggregator": [Kemeny()]},
        ],
    ),
}


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
@pytest.mark.parametrize("cv", ["all", pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_equals_a_plain_loop_of_clone_and_fit(case, cv):
    """What is done once for all trials changes nothing: every fit can be replayed from its seed."""
    estimator, grid = CASES[case]
    ballots = X.astype(float)
    scoring = {"distance": kendall_tau_scorer, "errors": errors_or_rank} if cv == 2 else None
    found = search(estimator, grid, cv=cv, n_trials=12, scoring=scoring, refit=False).fit(ballots).cv_results_
    parts = [(slice(None),) * 2] if cv == "all" else list(KFold(2).split(ballots))
    assert found["params"] == list(ParameterGrid(grid))
    for row, parameters in enumerate(ParameterGrid(grid)):
        for split, (train, test) in enumerate(parts):
            for trial in range(12):
                candidate = clone(estimator).set_params(**clone(parameters, safe=False))
                fitted = with_seed(candidate, int(found["seed"][row][split, trial])).fit(ballots[train])
                name = "score" if scoring is None else "distance"
                assert found[f"trial_test_{name}"][row][split, trial] == fitted.score(ballots[test])
                if scoring:
                    assert found["trial_test_errors"][row][split, trial] == errors_or_rank(fitted, ballots[test])


def test_keys_and_statistics():
    grid = [EPSILONS, {"epsilon": [1.0], "noise": ["knorm"]}]
    found = search(grid=grid, cv=3, n_trials=5).fit(X).cv_results_
    assert set(found) == {
        *("params", "param_epsilon", "param_noise", "seed", "trial_test_score"),
        *("mean_test_score", "std_test_score", "min_test_score", "max_test_score", "rank_test_score"),
        *("split0_test_score", "split1_test_score", "split2_test_score"),
        *("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"),
    }
    for row in range(4):
        trials = found["trial_test_score"][row]
        assert trials.shape == found["seed"][row].shape == (3, 5)
        np.testing.assert_allclose([found[f"split{k}_test_score"][row] for k in range(3)], trials.mean(axis=1))
        for name in ("mean", "std", "min", "max"):
            assert found[f"{name}_test_score"][row] == pytest.approx(getattr(np, name)(trials))
    assert found["param_epsilon"].tolist() == [0.02, 0.1, 5.0, 1.0]
    assert found["param_noise"].tolist() == [None, None, None, "knorm"]
    assert found["param_noise"].mask.tolist() == [True, True, True, False]
    assert found["rank_test_score"].tolist() == [
        1 + int((found["mean_test_score"] > mean).sum()) for mean in found["mean_test_score"]
    ]
    assert (found["mean_fit_time"] > 0).all()


@pytest.mark.slow
def test_seeds_are_distinct_integers():
    seeds = np.concatenate([cell.ravel() for cell in search(n_trials=500).fit(X).cv_results_["seed"]])
    assert seeds.dtype.kind == "i"
    assert len(set(seeds.tolist())) == 3 * 500
    assert seeds.min() >= 0
    assert seeds.max() < 2**32
    other = search(n_trials=500, random_state=1).fit(X).cv_results_["seed"][0]
    assert not np.isin(other, seeds).any()
    fresh = [search(random_state=None).fit(X).cv_results_["seed"][0].tolist() for _ in range(2)]
    assert fresh[0] != fresh[1]


def test_results_make_a_data_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(search().fit(X).cv_results_)
    assert len(frame) == 3
    assert frame["param_epsilon"].tolist() == [0.02, 0.1, 5.0]
    assert frame["seed"][0].shape == (1, 4)


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # by multiprocessing, from Python 3.12 on
@pytest.mark.parametrize("case", ["laplace", "local", "interactive", "shuffle", "mechanisms", "pipeline"])
def test_results_depend_on_neither_workers_nor_backend(case):
    from joblib import parallel_config

    estimator, grid = CASES[case]
    one = without_times(search(estimator, grid, n_trials=12).fit(X).cv_results_)
    for backend in ("loky", "threading", "multiprocessing"):
        with parallel_config(backend=backend):
            assert without_times(search(estimator, grid, n_trials=12, n_jobs=2).fit(X).cv_results_) == one


def test_best_candidate():
    found = search(n_trials=20).fit(X)
    assert found.best_index_ == int(np.argmax(found.cv_results_["mean_test_score"]))
    assert found.best_params_ == {"epsilon": 5.0}  # more epsilon is less noise
    assert found.best_score_ == found.cv_results_["mean_test_score"][2]
    assert found.best_estimator_.epsilon == 5.0
    assert found.score(X) == found.best_estimator_.score(X)
    assert found.n_features_in_ == 5
    assert found.refit_time_ > 0
    assert (found.n_splits_, found.multimetric_) == (1, False)


def test_without_refit():
    found = search(refit=False).fit(X)
    assert found.best_params_ == {"epsilon": 5.0}
    assert not hasattr(found, "best_estimator_")
    assert not hasattr(found, "score")


def test_the_refit_is_a_release():
    """A seed of the search seeds its trials, not what is shipped."""
    assert search().fit(X).best_estimator_.privacy_.certified
    assert search(DPBorda(random_state=3)).fit(X).best_estimator_.random_state == 3


def test_several_metrics():
    scoring = {"distance": kendall_tau_scorer, "errors": error_rate}
    found = search(scoring=scoring, refit="errors", n_trials=6).fit(X)
    assert found.multimetric_
    for row, parameters in enumerate(found.cv_results_["params"]):
        for trial, seed in enumerate(found.cv_results_["seed"][row][0].tolist()):
            fitted = DPBorda(**parameters, random_state=seed).fit(X)
            assert found.cv_results_["trial_test_distance"][row][0, trial] == fitted.score(X)
            assert found.cv_results_["trial_test_errors"][row][0, trial] == error_rate(fitted, X)
    assert found.best_score_ == found.cv_results_["mean_test_errors"].max()
    assert found.score(X) == error_rate(found.best_estimator_, X)
    by_rule = search(scoring=scoring, refit=smallest_within(0.5, metric="distance")).fit(X)
    assert by_rule.best_params_ == {"epsilon": 0.02}
    assert by_rule.best_score_ == by_rule.cv_results_["mean_test_distance"][0]
    assert by_rule.score(X) == by_rule.best_estimator_.score(X)
    any_row = search(scoring=scoring, refit=lambda results: 1).fit(X)
    assert not hasattr(any_row, "best_score_")
    with pytest.raises(ValueError, match="refit does not say which decides"):
        any_row.score(X)
    unranked = search(scoring=scoring, refit=False).fit(X)
    assert not hasattr(unranked, "best_index_")
    with pytest.raises(ValueError, match=r"name of a metric \(\['distance', 'errors'\]\), got True"):
        search(scoring=scoring).fit(X)


def test_comparing_mechanisms_with_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde"))
    estimator, grid = CASES["mechanisms"]
    found = search(estimator, grid).fit(frame)
    assert (
        without_times(found.cv_results_)["mean_test_score"]
        == (without_times(search(estimator, grid).fit(X).cv_results_)["mean_test_score"])
    )
    assert set(found.best_estimator_[-1].consensus_) == set("abcde")
    assert [type(p["aggregator"]).__name__ for p in found.cv_results_["params"][::2]] == (
        ["DPBorda", "DPKwikSort", "DPPairwise", "Kemeny"]
    )


def test_one_candidate_is_cross_validate():
    found = search(grid={"epsilon": [1.0]}).fit(X).cv_results_
    trials = cross_validate(DPBorda(epsilon=1.0), X, n_trials=4, random_state=0)
    assert found["seed"][0].ravel().tolist() == trials["seed"].tolist()
    assert found["trial_test_score"][0].ravel().tolist() == trials["test_score"].tolist()


def test_profiles_and_ballots_counted_once(monkeypatch):
    calls = []
    pairs = inspect.getattr_static(Profile, "pairwise_counts")
    counted = pairs.func
    monkeypatch.setattr(pairs, "func", lambda profile: calls.append(1) or counted(profile))
    from_ballots = search(Pipeline([("aggregator", DPBorda())]), CASES["mechanisms"][1], refit=False, n_trials=20)
    expected = without_times(from_ballots.fit(X).cv_results_)
    assert len(calls) == 1
    profile = Profile.from_rankings(X, keep="counts")
    again = without_times(from_ballots.fit(profile).cv_results_)
    assert again["mean_test_score"] == expected["mean_test_score"]


def test_histograms_are_read_once(monkeypatch):
    """Strict ballots need no coins, so that all trials share their histogram; others are completed in each."""
    from sklearn_dprank.queries import histogram

    calls = []
    completed = histogram.completed_ballots
    monkeypatch.setattr(histogram, "completed_ballots", lambda *args: calls.append(1) or completed(*args))
    cross_validate(DPHistogram(), X, n_trials=20, random_state=0)
    assert len(calls) == 1
    cross_validate(DPHistogram(), [*X, [0, 0, 1, 2, 3]], n_trials=20, random_state=0)
    assert len(calls) == 1 + 20


def test_transformers_run_once(monkeypatch):
    calls = []
    transform = RatingsToRankings.transform
    monkeypatch.setattr(RatingsToRankings, "transform", lambda *args: calls.append(1) or transform(*args))
    search(*CASES["pipeline"], refit=False, n_trials=20).fit(X.astype(float))
    assert len(calls) == 1


# --- what it costs


def test_exact_scores_of_private_ballots_promise_nothing():
    found = search().fit(X)
    assert found.privacy_.epsilon == math.inf
    assert found.privacy_.trust == "none"
    kept = found.best_estimator_.privacy_
    assert kept.epsilon == 5.0
    assert "selected on exact scores" in kept.caveats[0]
    assert "read its caveats" in str(kept)


def test_public_ballots():
    found = search(public_ballots=True).fit(X)
    assert (found.privacy_.epsilon, found.privacy_.delta) == (0.0, 0.0)
    assert "declared public" in found.privacy_.caveats[0]
    assert "read its caveats" in str(found.privacy_)
    assert found.best_estimator_.privacy_.caveats == ()


def test_cost_of_the_fits():
    found = search(refit=False).fit(X)
    assert found.fits_cost_.epsilon == pytest.approx(4 * (0.02 + 0.1 + 5.0))
    assert not found.fits_cost_.certified  # the seeds are recorded
    assert search().fit(X).fits_cost_.epsilon == pytest.approx(4 * (0.02 + 0.1 + 5.0) + 5.0)
    gaussian = search(DPBorda(noise="gaussian", delta=1e-6), refit=False).fit(X)
    assert gaussian.fits_cost_.delta == pytest.approx(4 * 3 * 1e-6)
    assert search(Borda(), {}, refit=False).fit(X).fits_cost_.epsilon == math.inf


def test_cost_where_voters_are_split():
    """One voter more moves others from fold to fold, so that only "replace" has a bound: two steps of add_remove."""
    found = search(DPBorda(noise="gaussian", delta=1e-6), cv=2, scoring=PrivateKendallTau(0.1)).fit(X)
    cost = found.fits_cost_
    epsilons = [0.02, 0.1, 5.0] * 8 + [found.best_params_["epsilon"]]
    assert cost.neighboring == "replace"
    assert cost.delta == pytest.approx(sum(1e-6 * (1 + math.exp(epsilon)) for epsilon in epsilons))
    gaussian = Losses(sum(4 / gaussian_sigma(epsilon, 1e-6) ** 2 for epsilon in epsilons))  # two steps of mu each
    assert cost.epsilon == pytest.approx(gaussian.epsilon(cost.delta))
    assert cost.epsilon < sum(epsilons)
    assert "splits must not depend" in cost.caveats[0]
    with_scores = gaussian._replace(pure=(0.2,) * 24)
    assert found.privacy_.epsilon == pytest.approx(with_scores.epsilon(cost.delta))
    everyone = [(np.arange(80), np.arange(80))]  # a split, for all that is known of it
    assert search(cv=everyone).fit(X).fits_cost_.neighboring == "replace"


def test_cost_of_transformers():
    """A transformer may mix ballots with each other: then the aggregator's guarantee says nothing of the voters'."""
    mixing = Pipeline([("scale", StandardScaler()), ("aggregator", DPBorda())])
    found = search(mixing, {"aggregator__epsilon": [1.0]}).fit(X.astype(float))
    assert found.fits_cost_.epsilon == found.privacy_.epsilon == math.inf
    assert any("may mix ballots" in caveat for caveat in found.best_estimator_[-1].privacy_.caveats)
    rowwise = Pipeline([("ballots", RatingsToRankings()), ("aggregator", DPBorda())])
    found = search(rowwise, {"aggregator__epsilon": [1.0]}, scoring=PrivateKendallTau()).fit(X.astype(float))
    assert found.fits_cost_.epsilon == 4 + 1
    assert found.privacy_.epsilon == 4 + 1 + 4


class Doubled(Pipeline):
    """Gives every ballot twice to its last step."""

    def fit(self, X, y=None):
        return super().fit(np.repeat(X, 2, axis=0))


def test_a_pipeline_of_somebody_else_is_fitted_as_it_is():
    """It may do anything between its steps: nothing is taken from it, and nothing is promised for it."""
    doubled = Doubled([("ballots", RatingsToRankings()), ("aggregator", DPBorda())])
    seen = []
    found = search(doubled, {"aggregator__epsilon": [1.0]}, scoring=lambda fitted, X: seen.append(fitted) or 0.0).fit(X)
    assert {type(fitted) for fitted in seen} == {Doubled}
    assert found.fits_cost_.epsilon == math.inf


def test_caveats_reach_what_is_inside():
    nested = PrivateSelection([DPBorda(epsilon=0.5)], mean_draws=2)
    found = search(nested, {"score_epsilon": [0.5, 1.0]}, n_trials=1).fit(X)
    for inner in (found.best_estimator_, found.best_estimator_.best_estimator_):
        assert any("selected on exact scores" in caveat for caveat in inner.privacy_.caveats)


def test_a_search_inside_binds_nobody_by_what_it_declares():
    grid = {"epsilon": [0.5]}
    inside = GridSearchCV(DPBorda(), grid, n_trials=2, public_ballots=True)
    for estimator in (inside, Pipeline([("ballots", RatingsToRankings()), ("search", inside)])):
        around = search(estimator, {}, n_trials=3).fit(X)
        assert around.fits_cost_.epsilon == around.privacy_.epsilon == math.inf  # exact scores, inside
    inside.set_params(scoring=PrivateKendallTau(0.1))
    around = search(inside, {}, n_trials=3).fit(X)
    assert around.fits_cost_.epsilon == pytest.approx(4 * (2 * (0.5 + 0.1) + 0.5))  # three trials and the refit
    assert around.best_estimator_.privacy_.epsilon == 0  # which says itself that it was declared
    declared = search(inside, {}, n_trials=3, public_ballots=True).fit(X)
    assert declared.privacy_.epsilon == 0
    assert declared.results_cost_.epsilon == math.inf


class Claiming(BaseEstimator):
    """A scorer that says it is private, and is not."""

    guarantee = PrivacyGuarantee(0.1, 0.0, "central", "add_remove", "believe me")

    def __call__(self, fitted, X):
        return fitted.score(X)


class Quiet(PrivateKendallTau):
    """A scorer that has unlearnt its noise, but not what it promises."""

    def __call__(self, estimator, X, y=None):
        return estimator.score(X)


@pytest.mark.parametrize("scorer", [Claiming(), Quiet(0.1)], ids=lambda scorer: type(scorer).__name__)
def test_a_claim_is_no_guarantee(scorer):
    name = type(scorer).__name__
    found = search(scoring=scorer).fit(X)
    assert found.privacy_.epsilon == math.inf
    assert found.privacy_.caveats == (
        f"the scorer 'score' ({name}) claims a guarantee, which nothing checks: it counts as exact",
    )
    assert "selected on exact scores" in found.best_estimator_.privacy_.caveats[0]
    both = search(scoring={"private": PrivateKendallTau(), "claimed": scorer}, refit="private").fit(X)
    assert both.privacy_.epsilon == math.inf
    assert "the scorer 'claimed'" in both.privacy_.caveats[0]
    assert search(scoring=scorer, public_ballots=True).fit(X).privacy_.epsilon == 0


class Owning(BaseEstimator):
    """An estimator of somebody else that says it is private."""

    def fit(self, X, y=None):
        self.privacy_ = "trust me"
        return self

    def score(self, X, y=None):
        return 0.0


def test_estimators_of_others_cost_everything():
    found = search(Owning(), {}).fit(X)
    assert found.fits_cost_.epsilon == math.inf
    assert found.best_estimator_.privacy_ == "trust me"  # left as it is


def test_cost_under_two_neighbouring_relations():
    """Replacing a ballot is removing one and adding another."""
    pipeline = Pipeline([("aggregator", DPBorda())])
    grid = {"aggregator": [DPBorda(), LDPPairwise()], "aggregator__epsilon": [0.5]}
    cost = search(pipeline, grid, refit=False).fit(X).fits_cost_
    assert cost.neighboring == "replace"
    assert cost.epsilon == pytest.approx(4 * (2 * 0.5 + 0.5))
    assert cost.trust == "central"


def test_private_scoring():
    """Fits and scores add up; the seeds are recorded, so that it holds for a simulation only."""
    found = search(scoring=PrivateKendallTau(epsilon=0.1)).fit(X)
    assert found.privacy_.epsilon == pytest.approx(4 * (0.02 + 0.1 + 5.0) + 12 * 0.1 + found.best_params_["epsilon"])
    assert not found.privacy_.certified
    assert "privacy_ is the cost of all" in found.best_estimator_.privacy_.caveats[0]
    seed = int(found.cv_results_["seed"][1][0, 2])
    stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, 0)))
    fitted = DPBorda(epsilon=0.1, random_state=seed).fit(X)
    assert found.cv_results_["trial_test_score"][1][0, 2] == PrivateKendallTau(0.1, random_state=stream)(fitted, X)
    assert "times are outside" in found.privacy_.caveats[0]
    two = search(scoring={"a": PrivateKendallTau(), "b": PrivateKendallTau()}, refit="a").fit(X).cv_results_
    assert two["trial_test_a"][0].tolist() != two["trial_test_b"][0].tolist()  # noise of its own for each
    mixed = search(scoring={"private": PrivateKendallTau(), "exact": kendall_tau_scorer}, refit="private").fit(X)
    assert mixed.privacy_.epsilon == math.inf


@pytest.mark.slow
def test_workers_share_large_ballots():
    """Positions of more than a megabyte reach loky's processes as a memory map, not as copies."""
    ballots = make_mallows(150_000, 8, 0.8, random_state=0)
    found = search(LDPPairwise(), {"epsilon": [1.0]}, n_trials=2, n_jobs=2, scoring=is_mapped, refit=False).fit(ballots)
    assert found.cv_results_["mean_test_score"].tolist() == [1.0]


def test_scorers_get_noise_of_their_own():
    class Seeded(BaseEstimator):
        def __init__(self, random_state=None):
            self.random_state = random_state

        def __call__(self, fitted, X):
            return np.random.default_rng(self.random_state).random()

    one, two = (search(scoring=Seeded()).fit(X).cv_results_ for _ in range(2))
    assert without_times(one)["mean_test_score"] == without_times(two)["mean_test_score"]
    assert len({score for cell in one["trial_test_score"] for score in cell.ravel()}) == 12


# --- what is refused, before any fit


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_trials": 0}, "n_trials must be an integer from 1 to 1000000, got 0."),
        ({"n_trials": True}, "n_trials must be an integer from 1 to 1000000, got True."),
        ({"grid": []}, "param_grid is empty; give at least one candidate to choose, got []"),
        ({"estimator": [DPBorda()]}, "estimator must be one estimator, got list; to compare several"),
        (
            {"estimator": make_pipeline(StandardScaler(), DPBorda()), "grid": {}, "scoring": PrivateKendallTau()},
            "PrivateKendallTau has no noise for the step 'standardscaler' (StandardScaler)",
        ),
        ({"grid": {"epsilon": [1.0, -1.0]}}, "epsilon must be a positive, finite number"),
        ({"grid": {"noise": ["laplace", "gaussian"]}}, "noise='gaussian' needs delta > 0"),
        ({"grid": {"sigma": [1.0]}}, "Invalid parameter 'sigma'"),
        ({"scoring": "accuracy"}, "scoring must be None, a callable(estimator, X) or a dict of them by name"),
        ({"scoring": {}}, "scoring must be None, a callable"),
        ({"grid": {"random_state": [0, 1]}}, "param_grid must not range over 'random_state'"),
        ({"cv": []}, "cv gave no split"),
        ({"cv": iter([])}, "cv gave no split"),
        ({"refit": smallest_within(-1.0)}, "tolerance must be a number of at least 0"),
        ({"refit": smallest_within(0.1, metric="x")}, "metric must be one of ['score']"),
        ({"scoring": PrivateKendallTau(epsilon=-1.0)}, "epsilon must be"),
        ({"refit": "distance"}, "refit must be a bool or a callable, got 'distance'"),
        ({"estimator": DPPairwise(rule="histogram")}, "rule must be"),
    ],
)
def test_refusals(settings, message, monkeypatch):
    monkeypatch.setattr(RankAggregator, "publish", lambda *args: pytest.fail("something was released"))
    with pytest.raises(ValueError, match=re.escape(message)):
        search(**settings).fit(X)


EVERYONE = np.arange(80)
REPEATS = {
    "one voter": [(np.zeros(80, int), EVERYONE)],
    "bootstrap": [(np.random.default_rng(0).integers(80, size=80), EVERYONE)],
    "from both ends": [([0, 1, 79, -1], EVERYONE)],
    "in the second split": [(EVERYONE, EVERYONE), ([0, 0], EVERYONE)],
    "scored twice": [(EVERYONE, np.append(EVERYONE, 7))],
}


class Resampling:
    """A splitter that draws with replacement."""

    def get_n_splits(self, X=None, y=None, groups=None):
        return 1

    def split(self, X, y=None, groups=None):
        yield np.random.default_rng(0).integers(len(X), size=len(X)), np.arange(len(X))


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("cv", [*REPEATS.values(), Resampling()], ids=[*REPEATS, "splitter"])
def test_a_voter_counts_once_in_a_part(cv, frame, monkeypatch):
    """A guarantee is about one ballot, one row: repeated rows are refused before any fit."""
    monkeypatch.setattr(RankAggregator, "publish", lambda *args: pytest.fail("something was released"))
    ballots = pytest.importorskip("pandas").DataFrame(X) if frame else X
    with pytest.raises(ValueError, match=r"cv repeats rows in the (training|test) part of split \d: a voter in k rows"):
        search(cv=cv, scoring=PrivateKendallTau()).fit(ballots)
    with pytest.raises(ValueError, match="cv repeats rows"):
        cross_validate(make_pipeline(RatingsToRankings(), DPBorda()), ballots, cv=cv)


def test_masks_and_slices_are_splits():
    half = np.arange(80) < 40
    rows = [(half, ~half), (slice(0, 40), slice(40, 80)), (np.arange(40), np.arange(-40, 0))]
    scores = cross_validate(Borda(), X, cv=rows, n_trials=1)["test_score"]
    assert scores.tolist() == [Borda().fit(X[:40]).score(X[40:])] * 3


def test_a_profile_cannot_be_split():
    with pytest.raises(ValueError, match="a Profile cannot be split by cv=3"):
        search(cv=3).fit(Profile.from_rankings(X))


@pytest.mark.parametrize("estimator", [LDPPairwise(), LDPQuickSort(), ShufflePairwise(delta=1e-4), DPHistogram()])
def test_counts_alone_are_refused_before_any_fit(estimator, monkeypatch):
    monkeypatch.setattr(RankAggregator, "publish", lambda *args: pytest.fail("something was released"))
    grid = {"aggregator": [DPBorda(), estimator]}
    with pytest.raises(ValueError, match="needs the ballots; build the Profile with keep='positions'"):
        search(Pipeline([("aggregator", DPBorda())]), grid).fit(Profile.from_rankings(X, keep="counts"))


def test_scores_that_are_no_numbers():
    """They are not averaged away, nor chosen."""
    calls = []

    def sometimes(fitted, profile):
        calls.append(fitted)
        return math.nan if fitted.epsilon == 0.1 and len(calls) % 2 else fitted.epsilon

    found = search(scoring=sometimes).fit(X)
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [False, True, False]
    assert found.cv_results_["rank_test_score"].tolist() == [2, 3, 1]
    assert len({id(fitted) for fitted in calls}) == len(calls) == 12  # a scorer may keep what it scores
    assert len({fitted.random_state for fitted in calls}) == 12
    with pytest.raises(ValueError, match="no candidate has a finite mean score"):
        search(scoring=lambda fitted, profile: math.nan).fit(X)


def test_a_failing_scorer_leaves_nothing():
    def fails(fitted, profile):
        raise RuntimeError("no score")

    found = search(scoring=fails)
    with pytest.raises(RuntimeError, match="no score"):
        found.fit(X)
    assert not hasattr(found, "cv_results_")


def test_transformers_that_cannot_be_pickled():
    turned = Pipeline([("turn", FunctionTransformer(lambda X: -X)), ("aggregator", Borda())])
    assert cross_validate(turned, -X, n_trials=2)["test_score"].tolist() == [Borda().fit(X).score(X)] * 2


def test_estimators_with_a_score_of_their_own():
    class Own(DPBorda):
        def score(self, X, y=None):
            return 42.0

    assert search(Own()).fit(X).best_score_ == 42.0


def test_estimators_with_a_fit_of_their_own():
    class Own(DPBorda):
        def fit(self, X, y=None):
            super().fit(X)
            self.marked_ = 42.0
            return self

    assert search(Own(), scoring=lambda fitted, X: fitted.marked_).fit(X).best_score_ == 42.0
    in_pipeline = make_pipeline(RatingsToRankings(), Own())
    grid = {"own__epsilon": [1.0]}
    assert search(in_pipeline, grid, scoring=lambda fitted, X: fitted[-1].marked_).fit(X).best_score_ == 42.0


@pytest.mark.parametrize("columns", [list("abcde"), [10, 20, 30, 40, 50]])
def test_names_are_those_of_fit(columns):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=columns)
    seen = []
    found = search(scoring=lambda fitted, profile: seen.append(fitted) or fitted.score(profile), n_trials=2).fit(frame)
    for fitted in seen:
        again = clone(fitted).fit(frame)
        assert again.consensus_.tolist() == fitted.consensus_.tolist()
        assert hasattr(again, "feature_names_in_") == hasattr(fitted, "feature_names_in_")
    assert hasattr(found, "feature_names_in_") == (columns[0] == "a")


def test_a_callable_refit_must_name_a_row():
    with pytest.raises(ValueError, match="refit must return a row of cv_results_, got 7"):
        search(refit=lambda results: 7).fit(X)


def test_parameters_and_clone():
    found = search(refit=smallest_within(0.1))
    again = clone(found)
    assert again.get_params()["refit"].tolerance == 0.1
    assert again.set_params(estimator__noise="knorm").estimator.noise == "knorm"
    assert found.estimator.get_params()["noise"] == "laplace"
    found.fit(X)
    assert not hasattr(found.estimator, "ranks_")
    assert found.fit(X[:, :4]).n_features_in_ == 4  # a second search forgets the first


@pytest.mark.parametrize("said", ["no", 0, None])
def test_only_a_flag_declares_the_ballots_public(said):
    with pytest.raises(ValueError, match="public_ballots must be"):
        GridSearchCV(DPBorda(), {"epsilon": [1.0]}, public_ballots=said).fit([[0, 1, 2]] * 4)
