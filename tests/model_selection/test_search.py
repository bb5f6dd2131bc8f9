"""`GridSearchCV`: what its trials are, what it reports and chooses, what that costs the voters, and what it refuses.

Each test states the property that it protects.
"""

import inspect
import math
import re

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import KFold, ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

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
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import kendall_tau_scorer, pairwise_error_rate
from sklearn_dprank.model_selection import GridSearchCV, PrivateKendallTau, cross_validate, smallest_within, with_seed
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyGuarantee, gaussian_sigma
from sklearn_dprank.privacy.composition import Losses
from sklearn_dprank.queries import histogram
from sklearn_dprank.rules import KemenyRule

X = make_mallows(80, 5, 0.7, random_state=0)
RATINGS = X.astype(float)
EPSILONS = {"epsilon": [0.02, 0.1, 5.0]}
ONE_FIT_OF_EACH = sum(EPSILONS["epsilon"])


def search(estimator=None, grid=None, **settings):
    """Return a search with four trials of each candidate."""
    settings = {"n_trials": 4, "random_state": 0, **settings}
    return GridSearchCV(DPBorda() if estimator is None else estimator, EPSILONS if grid is None else grid, **settings)


def without_times(results):
    return {
        key: [np.asarray(cell).tolist() for cell in value] if isinstance(value, np.ndarray) else value
        for key, value in results.items()
        if "time" not in key
    }


def error_rate(fitted, ballots):
    """Score an aggregator by another metric; of a pipeline, whose transformers may reverse ballots, the order alone."""
    if isinstance(fitted, Pipeline):
        return float(fitted[-1].ranks_[0])
    return -pairwise_error_rate(fitted.ranks_, ballots)


class Shuffled(TransformerMixin, BaseEstimator):
    """Transformer that draws at random: a coin decides whether it reverses the ballots."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.coin_ = int(np.random.default_rng(self.random_state).integers(2))
        return self

    def transform(self, X):
        return -np.asarray(X) if self.coin_ else np.asarray(X)


ROWWISE = make_pipeline(RatingsToRankings(), DPBorda())
ONE_STEP = Pipeline([("aggregator", DPBorda())])
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
    "pipeline": (ROWWISE, {"dpborda__epsilon": [0.1, 1.0]}),
    "transformer": (
        ROWWISE,
        {"ratingstorankings": [RatingsToRankings(), "passthrough"], "dpborda__epsilon": [0.1, 1.0]},
    ),
    "random transformer": (make_pipeline(Shuffled(), DPBorda()), {"dpborda__epsilon": [0.1, 1.0]}),
    "mechanisms": (
        ONE_STEP,
        [
            {"aggregator": [DPBorda(), DPKwikSort(), DPPairwise()], "aggregator__epsilon": [0.1, 1.0]},
            {"aggregator": [Kemeny()]},
        ],
    ),
}
coin_flips = pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")


# --- Trials: each is a plain fit with its own seed, although shared work is done once.


@coin_flips
@pytest.mark.parametrize("cv", ["all", pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_equals_a_plain_loop_of_clone_and_fit(case, cv):
    """Every score is that of ``clone(candidate).fit`` with the recorded seed, of one metric or two."""
    estimator, grid = CASES[case]
    scoring = {"distance": kendall_tau_scorer, "errors": error_rate} if cv == 2 or case == "gaussian" else None
    found = search(estimator, grid, cv=cv, n_trials=12, scoring=scoring, refit=False).fit(RATINGS).cv_results_
    parts = [(slice(None),) * 2] if cv == "all" else list(KFold(2).split(X))
    assert found["params"] == list(ParameterGrid(grid))
    for row, parameters in enumerate(ParameterGrid(grid)):
        for (split, trial), seed in np.ndenumerate(found["seed"][row]):
            train, test = parts[split]
            candidate = clone(estimator).set_params(**clone(parameters, safe=False))
            fitted = with_seed(candidate, int(seed)).fit(RATINGS[train])
            own = found[f"trial_test_{'distance' if scoring else 'score'}"]
            assert own[row][split, trial] == fitted.score(RATINGS[test])
            if scoring:
                assert found["trial_test_errors"][row][split, trial] == error_rate(fitted, RATINGS[test])


@pytest.mark.parametrize(("n_trials", "n_jobs"), [(1, 2), (31, 1), (31, 2), (200, 2)])
def test_every_trial_runs_once(n_trials, n_jobs):
    """No trial is left out or repeated, for any number of trials and workers."""
    seen = []
    with parallel_config(backend="threading"):
        found = search(
            scoring=lambda fitted, _: seen.append(fitted.random_state) or 0.0, n_trials=n_trials, n_jobs=n_jobs
        )
        seeds = found.set_params(refit=False).fit(X).cv_results_["seed"]
    assert sorted(seen) == sorted(np.concatenate(seeds, axis=None).tolist())


@coin_flips
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # by multiprocessing, from Python 3.12 on
@pytest.mark.parametrize("case", ["laplace", "local", "interactive", "shuffle", "mechanisms", "pipeline"])
def test_results_depend_on_neither_workers_nor_backend(case):
    """Schedules hold closures, and a scorer may be a lambda."""
    estimator, grid = CASES[case]
    settings = {"n_trials": 12, "scoring": lambda fitted, ballots: float(fitted.score(ballots))}
    one = without_times(search(estimator, grid, **settings).fit(X).cv_results_)
    for backend in ("loky", "threading", "multiprocessing"):
        with parallel_config(backend=backend):
            assert without_times(search(estimator, grid, n_jobs=2, **settings).fit(X).cv_results_) == one


def test_one_candidate_is_cross_validate():
    """Both draw the same seeds."""
    found = search(grid={"epsilon": [1.0]}).fit(X).cv_results_
    trials = cross_validate(DPBorda(epsilon=1.0), X, n_trials=4, random_state=0)
    assert found["seed"][0].ravel().tolist() == trials["seed"].tolist()
    assert found["trial_test_score"][0].ravel().tolist() == trials["test_score"].tolist()


@pytest.fixture
def counted(monkeypatch):
    """Return a function that wraps an attribute of an object, and returns the list of its calls."""

    def wrap(owner, name):
        calls = []
        function = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **more: calls.append(1) or function(*args, **more))
        return calls

    return wrap


def test_ballots_are_counted_once(counted):
    """All candidates share the pair counts, which suffice: a Profile without ballots gives the same results."""
    calls = counted(inspect.getattr_static(Profile, "pairwise_counts"), "func")
    mechanisms = search(*CASES["mechanisms"], refit=False, n_trials=20)
    from_ballots = without_times(mechanisms.fit(X).cv_results_)
    assert len(calls) == 1
    from_counts = without_times(mechanisms.fit(Profile.from_rankings(X, keep="counts")).cv_results_)
    assert from_counts["mean_test_score"] == from_ballots["mean_test_score"]


def test_histograms_are_read_once(counted):
    """All trials share the histogram of strict ballots. Others are completed by coins, in each trial."""
    calls = counted(histogram, "completed_ballots")
    cross_validate(DPHistogram(), X, n_trials=20, random_state=0)
    assert len(calls) == 1
    cross_validate(DPHistogram(), [*X, [0, 0, 1, 2, 3]], n_trials=20, random_state=0)
    assert len(calls) == 1 + 20


def test_transformers_run_once(counted):
    """Transformers without a seed run once for all trials of a candidate."""
    calls = counted(RatingsToRankings, "transform")
    found = search(*CASES["pipeline"], refit=False, n_trials=20).fit(RATINGS)
    assert len(calls) == len(found.cv_results_["params"])


def test_subclasses_keep_their_own_score():
    class OwnScore(DPBorda):
        def score(self, X, y=None):
            return 42.0

    assert search(OwnScore()).fit(X).best_score_ == 42.0


@pytest.mark.parametrize("columns", [list("abcde"), [10, 20, 30, 40, 50]])
def test_names_are_those_of_fit(columns):
    """Fits have the item names of the frame, and the search has ``feature_names_in_`` if they are strings."""
    frame = pytest.importorskip("pandas").DataFrame(X, columns=columns)
    seen = []
    found = search(scoring=lambda fitted, profile: seen.append(fitted) or fitted.score(profile), n_trials=2).fit(frame)
    for fitted in seen:
        again = clone(fitted).fit(frame)
        assert again.consensus_.tolist() == fitted.consensus_.tolist()
        assert hasattr(again, "feature_names_in_") == hasattr(fitted, "feature_names_in_")
    assert hasattr(found, "feature_names_in_") == (columns[0] == "a")
    in_pipeline = search(*CASES["mechanisms"], n_trials=2).fit(frame)
    assert set(in_pipeline.best_estimator_[-1].consensus_) == set(columns)


def test_scorers_may_keep_what_they_score():
    """Each trial is another object, and a NaN from the scorer is neither averaged away nor chosen."""
    kept = []

    def sometimes(fitted, profile):
        kept.append(fitted)
        return math.nan if fitted.epsilon == 0.1 and len(kept) % 2 else fitted.epsilon

    found = search(scoring=sometimes).fit(X)
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [False, True, False]
    assert found.cv_results_["rank_test_score"].tolist() == [2, 3, 1]
    assert len({id(fitted) for fitted in kept}) == len({fitted.random_state for fitted in kept}) == len(kept) == 12
    with pytest.raises(ValueError, match="no candidate has a finite mean score"):
        search(scoring=lambda fitted, profile: math.nan).fit(X)


def test_scorers_get_noise_of_their_own():
    """The ``random_state`` of a scorer follows from the trial's seed: results repeat, and no two trials share noise."""

    class Seeded(BaseEstimator):
        def __init__(self, random_state=None):
            self.random_state = random_state

        def __call__(self, fitted, X):
            return np.random.default_rng(self.random_state).random()

    one, two = (search(scoring=Seeded()).fit(X).cv_results_ for _ in range(2))
    assert without_times(one)["mean_test_score"] == without_times(two)["mean_test_score"]
    assert len({score for cell in one["trial_test_score"] for score in cell.ravel()}) == 12


# --- Results and choice: those of scikit-learn, with all trials.


def test_keys_and_statistics():
    """``cv_results_`` has the documented keys, each statistic is that of the trials, and a DataFrame can hold it."""
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
    means = found["mean_test_score"]
    assert found["rank_test_score"].tolist() == [1 + int((means > mean).sum()) for mean in means]
    assert (found["mean_fit_time"] > 0).all()
    frame = pytest.importorskip("pandas").DataFrame(found)
    assert frame["param_epsilon"].tolist() == [0.02, 0.1, 5.0, 1.0]
    assert frame["seed"][0].shape == (3, 5)


def test_best_candidate():
    """The best mean wins, is fitted once more on all voters, and answers for the search."""
    found = search(n_trials=20).fit(X)
    assert found.best_index_ == int(np.argmax(found.cv_results_["mean_test_score"])) == 2
    assert found.best_params_ == {"epsilon": 5.0}  # more epsilon is less noise
    assert found.best_score_ == found.cv_results_["mean_test_score"][2]
    assert found.best_estimator_.epsilon == 5.0
    assert found.score(X) == found.best_estimator_.score(X)
    assert found.n_features_in_ == 5
    assert found.refit_time_ > 0
    assert (found.n_splits_, found.multimetric_) == (1, False)


def test_without_refit():
    """The best parameters are known without a refitted estimator."""
    found = search(refit=False).fit(X)
    assert found.best_params_ == {"epsilon": 5.0}
    assert not hasattr(found, "best_estimator_")
    assert not hasattr(found, "score")


def test_the_refit_is_a_release():
    """The seed of a search is for its trials; the refit has that of the estimator."""
    assert search().fit(X).best_estimator_.privacy_.certified
    assert search(DPBorda(random_state=3)).fit(X).best_estimator_.random_state == 3


METRICS = {"distance": kendall_tau_scorer, "errors": error_rate}


def test_several_metrics():
    """The named one decides."""
    found = search(scoring=METRICS, refit="errors", n_trials=6).fit(X)
    assert found.multimetric_
    assert found.best_score_ == found.cv_results_["mean_test_errors"].max()
    assert found.score(X) == error_rate(found.best_estimator_, X)


def test_callables_decide_among_several_metrics():
    """The best score is that of the metric the callable names; without one, the search has neither score."""
    by_rule = search(scoring=METRICS, refit=smallest_within(0.5, metric="distance")).fit(X)
    assert by_rule.best_params_ == {"epsilon": 0.02}
    assert by_rule.best_score_ == by_rule.cv_results_["mean_test_distance"][0]
    assert by_rule.score(X) == by_rule.best_estimator_.score(X)
    any_row = search(scoring=METRICS, refit=lambda results: 1).fit(X)
    assert not hasattr(any_row, "best_score_")
    with pytest.raises(ValueError, match="refit does not say which decides"):
        any_row.score(X)
    assert not hasattr(search(scoring=METRICS, refit=False).fit(X), "best_index_")
    with pytest.raises(ValueError, match="refit must return a row of cv_results_, got 7"):
        search(refit=lambda results: 7).fit(X)


# --- Cost: exact scores have no guarantee, and everything else adds up.


def caveat_of(estimator):
    return estimator.privacy_.caveats[0]


def test_cost_where_voters_are_split():
    """A new voter moves others between folds, so only "replace" has a bound: two steps of add_remove."""
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
    everyone = [(np.arange(80), np.arange(80))]  # a split like any other
    assert search(cv=everyone).fit(X).fits_cost_.neighboring == "replace"


def test_cost_under_two_neighbouring_relations():
    """Both are stated under "replace": replacing a ballot is removing one and adding another."""
    grid = {"aggregator": [DPBorda(), LDPPairwise()], "aggregator__epsilon": [0.5]}
    cost = search(ONE_STEP, grid, refit=False).fit(X).fits_cost_
    assert cost.neighboring == "replace"
    assert cost.epsilon == pytest.approx(4 * (2 * 0.5 + 0.5))
    assert cost.trust == "central"


def test_cost_of_transformers():
    """One that may mix ballots voids the guarantee of the aggregator after it. One that reads rows does not."""
    mixing = make_pipeline(StandardScaler(), DPBorda())
    found = search(mixing, {"dpborda__epsilon": [1.0]}).fit(RATINGS)
    assert found.fits_cost_.epsilon == found.privacy_.epsilon == math.inf
    assert any("may mix ballots" in caveat for caveat in found.best_estimator_[-1].privacy_.caveats)
    found = search(ROWWISE, {"dpborda__epsilon": [1.0]}, scoring=PrivateKendallTau()).fit(RATINGS)
    assert found.fits_cost_.epsilon == 4 + 1
    assert found.privacy_.epsilon == 4 + 1 + 4


def test_private_scoring():
    """Fits and scores add up. A score is that of the scorer alone, and two scorers have independent noise."""
    found = search(scoring=PrivateKendallTau(epsilon=0.1)).fit(X)
    assert found.privacy_.epsilon == pytest.approx(4 * ONE_FIT_OF_EACH + 12 * 0.1 + found.best_params_["epsilon"])
    assert not found.privacy_.certified
    assert "times are outside" in caveat_of(found)
    assert "privacy_ is the cost of all" in caveat_of(found.best_estimator_)
    seed = int(found.cv_results_["seed"][1][0, 2])
    stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, 0)))
    fitted = DPBorda(epsilon=0.1, random_state=seed).fit(X)
    assert found.cv_results_["trial_test_score"][1][0, 2] == PrivateKendallTau(0.1, random_state=stream)(fitted, X)
    two = search(scoring={"a": PrivateKendallTau(), "b": PrivateKendallTau()}, refit="a").fit(X).cv_results_
    assert two["trial_test_a"][0].tolist() != two["trial_test_b"][0].tolist()
    mixed = search(scoring={"private": PrivateKendallTau(), "exact": kendall_tau_scorer}, refit="private").fit(X)
    assert mixed.privacy_.epsilon == math.inf


def test_an_inner_declaration_does_not_bind_the_outer_search():
    """``public_ballots`` of an inner search has no effect on the cost of the outer one."""
    inside = GridSearchCV(DPBorda(), {"epsilon": [0.5]}, n_trials=2, public_ballots=True)
    for estimator in (inside, make_pipeline(RatingsToRankings(), inside)):
        around = search(estimator, {}, n_trials=3).fit(X)
        assert around.fits_cost_.epsilon == around.privacy_.epsilon == math.inf  # exact scores, inside
    inside.set_params(scoring=PrivateKendallTau(0.1))
    around = search(inside, {}, n_trials=3).fit(X)
    assert around.fits_cost_.epsilon == pytest.approx(4 * (2 * (0.5 + 0.1) + 0.5))  # three trials and the refit
    assert around.best_estimator_.privacy_.epsilon == 0  # it states that this was declared
    declared = search(inside, {}, n_trials=3, public_ballots=True).fit(X)
    assert declared.privacy_.epsilon == 0
    assert declared.results_cost_.epsilon == math.inf


class Claiming(BaseEstimator):
    """Scorer that claims to be private, and is not."""

    guarantee = PrivacyGuarantee(0.1, 0.0, "central", "add_remove", "believe me")

    def __call__(self, fitted, X):
        return fitted.score(X)


class Quiet(PrivateKendallTau):
    """Subclass without the noise, but with the guarantee of its parent."""

    def __call__(self, estimator, X, y=None):
        return estimator.score(X)


def understating():
    """Scorer with noise for epsilon = 5 that states epsilon = 0.1, by a replaced method."""
    scorer = PrivateKendallTau(5.0)
    scorer.guarantee_for = lambda X: PrivateKendallTau(0.1).guarantee
    return scorer


@pytest.mark.parametrize("scorer", [Claiming(), Quiet(0.1), understating()], ids=lambda scorer: type(scorer).__name__)
def test_a_claim_is_not_a_guarantee(scorer):
    """Only `PrivateKendallTau` itself counts as private; a claim of another scorer becomes a caveat."""
    found = search(scoring=scorer).fit(X)
    assert found.privacy_.epsilon == math.inf
    assert found.privacy_.caveats == (
        f"the scorer 'score' ({type(scorer).__name__}) claims a guarantee, which is not checked: it counts as exact",
    )
    assert "selected on exact scores" in caveat_of(found.best_estimator_)
    both = search(scoring={"private": PrivateKendallTau(), "claimed": scorer}, refit="private").fit(X)
    assert both.privacy_.epsilon == math.inf
    assert "the scorer 'claimed'" in caveat_of(both)
    assert search(scoring=scorer, public_ballots=True).fit(X).privacy_.epsilon == 0


# --- Refusals: before any fit, with the value and the remedy.


@pytest.fixture
def no_release(monkeypatch):
    """Fail the test if an aggregator publishes."""
    monkeypatch.setattr(RankAggregator, "publish", lambda *args: pytest.fail("something was released"))


@pytest.mark.usefixtures("no_release")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_trials": 0}, "n_trials must be an integer from 1 to 1000000, got 0."),
        ({"grid": []}, "param_grid is empty; give at least one candidate to choose, got []"),
        ({"estimator": [DPBorda()]}, "estimator must be one estimator, got list; to compare several"),
        (
            {"estimator": make_pipeline(StandardScaler(), DPBorda()), "grid": {}, "scoring": PrivateKendallTau()},
            "PrivateKendallTau has no noise for the step 'standardscaler' (StandardScaler)",
        ),
        ({"grid": {"epsilon": [1.0, -1.0]}}, "epsilon must be a positive, finite number"),
        ({"grid": {"noise": ["laplace", "gaussian"]}}, "noise='gaussian' needs delta > 0"),
        ({"scoring": "accuracy"}, "scoring must be None, a callable(estimator, X) or a dict of them by name"),
        ({"grid": {"random_state": [0, 1]}}, "param_grid must not range over 'random_state'"),
        ({"cv": []}, "cv gave no split"),
        ({"refit": smallest_within(-1.0)}, "tolerance must be a number of at least 0"),
        ({"refit": smallest_within(0.1, metric="x")}, "metric must be one of ['score']"),
        ({"scoring": PrivateKendallTau(epsilon=-1.0)}, "epsilon must be"),
        ({"refit": "distance"}, "refit must be a bool or a callable, got 'distance'"),
        ({"scoring": METRICS}, "refit must be False, a callable or the name of a metric (['distance', 'errors']), got"),
        ({"estimator": DPPairwise(rule="histogram")}, "rule must be"),
        ({"public_ballots": "no"}, "public_ballots must be"),
    ],
)
def test_refusals(settings, message):
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


@pytest.mark.usefixtures("no_release")
@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("cv", REPEATS.values(), ids=REPEATS)
def test_a_voter_counts_once_in_a_part(cv, frame):
    """A guarantee covers one row per voter, so repeated rows are refused."""
    ballots = pytest.importorskip("pandas").DataFrame(X) if frame else X
    with pytest.raises(ValueError, match=r"cv repeats rows in the (training|test) part of split \d: a voter in k rows"):
        search(cv=cv, scoring=PrivateKendallTau()).fit(ballots)
    with pytest.raises(ValueError, match="cv repeats rows"):
        cross_validate(ROWWISE, ballots, cv=cv)


def test_masks_and_slices_are_splits():
    """Rows may be given as masks, slices or negative indices."""
    half = np.arange(80) < 40
    rows = [(half, ~half), (slice(0, 40), slice(40, 80)), (np.arange(40), np.arange(-40, 0))]
    scores = cross_validate(Borda(), X, cv=rows, n_trials=1)["test_score"]
    assert scores.tolist() == [Borda().fit(X[:40]).score(X[40:])] * 3


@pytest.mark.usefixtures("no_release")
@pytest.mark.parametrize("estimator", [LDPPairwise(), LDPQuickSort(), ShufflePairwise(delta=1e-4), DPHistogram()])
def test_counts_alone_are_refused_before_any_fit(estimator):
    """A Profile without ballots is refused if any candidate needs them."""
    with pytest.raises(ValueError, match="needs the ballots; build the Profile with keep='positions'"):
        search(ONE_STEP, {"aggregator": [DPBorda(), estimator]}).fit(Profile.from_rankings(X, keep="counts"))


@pytest.mark.parametrize("values", [1.0, "ab", None])
def test_values_of_a_grid_must_be_a_list(values):
    with pytest.raises(TypeError, match=r"param_grid\['epsilon'\] must be a list of values"):
        GridSearchCV(DPBorda(), {"epsilon": values}).fit(X)
