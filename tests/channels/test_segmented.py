"""`SegmentedAggregator`: one order for each listed segment, pooled estimates against dense matrices, and accuracy."""

import pickle
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from accuracy_tools import SegmentErrors, mallows_segments
from interval_tools import ranks, surely_above
from scipy import stats
from scipy.linalg import null_space
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_dprank import DPBorda, SegmentedAggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Answers, segmented as pooling
from sklearn_dprank.channels.segmented import SegmentNetWins, SegmentRule, SegmentSizes, pooled
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyBudget, guarantee_of
from sklearn_dprank.privacy.estimator_guarantees import guarantee_before
from sklearn_dprank.sampling.bit_source import SeededBits

REGIONS = ["north", "south", "east"]
ORDERS = {"north": [0, 1, 2, 3], "south": [3, 2, 1, 0], "east": [1, 3, 0, 2], "moon": [2, 0, 3, 1]}


def voters(**sizes):
    """Ballots and labels of segments that agree within themselves."""
    ballots = [np.tile(np.argsort(ORDERS[label]), (size, 1)) for label, size in sizes.items()]
    return np.concatenate(ballots), np.repeat(list(sizes), list(sizes.values()))


X, LABELS = voters(north=3000, south=2000, east=1000, moon=500)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("parameters", [{}, {"pooling": False}, {"pooling": False, "delta": 0.0}], ids=str)
def test_each_segment_gets_its_way(parameters, neighboring):
    fitted = SegmentedAggregator(REGIONS, epsilon=5.0, neighboring=neighboring, **parameters).fit(X, segments=LABELS)
    assert fitted.consensus_.tolist() == [ORDERS[label] for label in REGIONS]
    assert fitted.ranks_.tolist() == [np.argsort(ORDERS[label]).tolist() for label in REGIONS]
    assert fitted.segments_.tolist() == REGIONS
    assert (fitted.privacy_.epsilon, fitted.privacy_.neighboring) == (5.0, neighboring)
    assert fitted.privacy_.delta == parameters.get("delta", 1e-6)
    assert hasattr(fitted, "net_wins_") == hasattr(fitted, "rank_intervals") == (fitted.delta > 0)
    assert hasattr(fitted, "scores_") == hasattr(fitted, "sizes_") == fitted.pooling
    assert guarantee_of(fitted) == fitted.privacy_


def test_published_numbers_are_those_of_the_listed_voters():
    fitted = SegmentedAggregator(REGIONS, epsilon=100.0).fit(X, segments=LABELS)
    exact = [Profile.from_rankings(X[label == LABELS]).net_wins for label in REGIONS]
    np.testing.assert_allclose(fitted.net_wins_, exact, atol=20)
    np.testing.assert_allclose(fitted.sizes_, [3000, 2000, 1000], atol=20)
    np.testing.assert_allclose(fitted.scores_, np.array(exact) / [[3000], [2000], [1000]], atol=0.05)
    assert (fitted.own_weights_ > 0.99).all() and (fitted.score_std_ < 0.1).all()


@pytest.mark.parametrize("unlisted", ["moon", None, np.nan, [1], "North", "north ", 3.5, pd.NA], ids=repr)
def test_other_labels_count_nowhere(unlisted):
    labels = LABELS.astype(object)
    labels[[label == "moon" for label in LABELS]] = None
    labels = [unlisted if label is None else label for label in labels]
    kept = LABELS != "moon"
    some = SegmentedAggregator(REGIONS, random_state=3).fit(X, segments=labels)
    alone = SegmentedAggregator(REGIONS, random_state=3).fit(X[kept], segments=LABELS[kept])
    np.testing.assert_array_equal(some.net_wins_, alone.net_wins_)
    np.testing.assert_array_equal(some.scores_, alone.scores_)
    assert some.score(X, segments=labels) == alone.score(X[kept], segments=LABELS[kept])


def test_an_empty_segment_is_published_like_the_others():
    alike = make_mallows(6000, 4, 0.7, center=range(4), random_state=0)
    fitted = SegmentedAggregator([*REGIONS, "sea"], random_state=0).fit(alike, segments=REGIONS * 2000)
    assert fitted.consensus_.shape == (4, 4) and fitted.own_weights_[3] < 0.3
    assert fitted.consensus_[3].tolist() == [0, 1, 2, 3]
    nobody = SegmentedAggregator(REGIONS).fit(X, segments=["moon"] * len(X))
    assert nobody.consensus_.shape == (3, 4) and np.isfinite(nobody.scores_).all()
    with pytest.raises(ValueError, match="segments must hold a label of classes for at least one ballot"):
        nobody.score(X, segments=["moon"] * len(X))


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        ([1, 2], [1, 2] * 50),
        ([1, 2], np.array([1.0, 2.0] * 50)),
        (np.array([1, 2]), pd.Series([1, 2] * 50, dtype="Int64")),
        (("a", "b"), pd.Categorical(["a", "b"] * 50)),
        (pd.Index(["a", "b"]), ("a", "b") * 50),
        ([("a", 1), ("b", 2)], [("a", 1), ("b", 2)] * 50),
        ([True, False], [True, False] * 50),
    ],
)
def test_kinds_of_labels(classes, labels):
    ballots = [[0, 1, 2], [2, 1, 0]] * 50
    fitted = SegmentedAggregator(classes, epsilon=50.0).fit(ballots, segments=labels)
    assert fitted.consensus_.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert fitted.segments_.shape == (2,) and list(fitted.segments_) == list(classes)


def test_score_is_the_mean_over_listed_ballots():
    fitted = SegmentedAggregator(REGIONS, epsilon=0.01, random_state=0).fit(X, segments=LABELS)
    distance = {label: average_kendall_tau(fitted.ranks_[k], X[label == LABELS]) for k, label in enumerate(REGIONS)}
    expected = (3000 * distance["north"] + 2000 * distance["south"] + 1000 * distance["east"]) / 6000
    assert fitted.score(X, segments=LABELS) == pytest.approx(-expected, abs=1e-15)


@pytest.mark.parametrize("classes", [REGIONS[::-1], ["moon", *REGIONS], None], ids=str)
def test_score_reads_the_labels_of_the_fit(classes):
    """Not those of parameters that were changed later."""
    fitted = SegmentedAggregator(REGIONS, epsilon=5.0).fit(X, segments=LABELS)
    assert fitted.set_params(classes=classes).score(X, segments=LABELS) == 0
    borda = SegmentedAggregator(epsilon=5.0).fit(X)
    score = borda.score(X)
    assert borda.set_params(classes=classes).score(X) == score


def test_without_classes_it_is_borda():
    plain, borda = SegmentedAggregator(random_state=5), DPBorda(delta=1e-6, noise="gaussian", random_state=5)
    plain.fit(X), borda.fit(X)
    np.testing.assert_array_equal(plain.scores_, borda.scores_)
    np.testing.assert_array_equal(plain.rank_intervals(0.9), borda.rank_intervals(0.9))
    np.testing.assert_array_equal(plain.pair_confidence(), borda.pair_confidence())
    assert plain.consensus_.tolist() == borda.consensus_.tolist() and not hasattr(plain, "segments_")
    assert plain.privacy_ == borda.privacy_ and plain.score(X) == borda.score(X)
    plain.set_params(classes=REGIONS).fit(X, segments=LABELS).set_params(classes=None).fit(X)
    assert not hasattr(plain, "segments_") and not hasattr(plain, "own_weights_")


@pytest.mark.parametrize("pooling", [True, False])
def test_names_profiles_pickles_and_pipelines(pooling):
    items = ["tea", "milk", "water", "wine"]
    frame, made = pd.DataFrame(X, columns=items), SegmentedAggregator(REGIONS, pooling=pooling, random_state=1)
    named = clone(made).fit(frame, segments=LABELS)
    assert named.feature_names_in_.tolist() == items
    assert named.consensus_.tolist() == [[items[i] for i in ORDERS[label]] for label in REGIONS]
    again = pickle.loads(pickle.dumps(named))
    np.testing.assert_array_equal(again.consensus_, named.consensus_)
    assert again.score(frame, segments=LABELS) == named.score(frame, segments=LABELS)
    profile = clone(made).fit(Profile.from_rankings(frame), segments=LABELS)
    np.testing.assert_array_equal(profile.net_wins_, named.net_wins_)
    pipeline = make_pipeline(RatingsToRankings(), clone(made))
    pipeline.fit(-frame, segmentedaggregator__segments=LABELS)
    np.testing.assert_array_equal(pipeline[-1].net_wins_, named.net_wins_)
    assert guarantee_of(pipeline) == named.privacy_


def test_persons_are_clipped_over_all_segments():
    """Two persons with rows in three segments, and one row without a listed segment."""
    rows = np.array([[0, 1, 2]] * 4 + [[2, 1, 0]])
    labels = ["north", "south", "east", "moon", "north"]
    profile = Profile.from_rankings(rows, groups=["a", "a", "a", "a", "b"])
    fitted = SegmentedAggregator(REGIONS, epsilon=1e4, delta=0.5).fit(profile, segments=labels)
    np.testing.assert_allclose(fitted.sizes_, [1.25, 0.25, 0.25], atol=0.2)
    np.testing.assert_allclose(fitted.net_wins_, [[-1.5, 0, 1.5], [0.5, 0, -0.5], [0.5, 0, -0.5]], atol=0.2)
    assert fitted.privacy_.unit == "all ballots of one person"
    assert fitted.noise_.grid == 720720
    weighed = Profile.from_rankings(rows, sample_weight=[3, 1, 1, 1, 1], max_weight=2)
    assert SegmentedAggregator(REGIONS).fit(weighed, segments=labels).privacy_.unit == "one ballot"


# Intervals and confidence


def test_intervals_are_those_of_the_segment_s_own_net_wins():
    fitted = SegmentedAggregator(REGIONS, epsilon=0.05, random_state=0).fit(X, segments=LABELS)
    for simultaneous, level in ((False, 0.9), (True, 1 - 0.1 / 3)):
        found = fitted.rank_intervals(0.9, simultaneous=simultaneous)
        assert found.shape == (3, 4, 2) and found.dtype == np.int64
        for wins, ends in zip(fitted.net_wins_, found, strict=True):
            np.testing.assert_array_equal(ends, ranks(surely_above(fitted.noise_, wins, level)))
    np.testing.assert_array_equal(fitted.rank_intervals(of="voters"), fitted.rank_intervals())
    with pytest.raises(ValueError, match='of="population" is unknown'):
        fitted.rank_intervals(of="population")
    wider = np.ptp(fitted.rank_intervals(0.9, simultaneous=True), axis=2) - np.ptp(fitted.rank_intervals(0.9), axis=2)
    assert wider.min() >= 0


def test_confidence_follows_scores_or_net_wins():
    pooled = SegmentedAggregator(REGIONS, epsilon=0.05, random_state=0).fit(X, segments=LABELS)
    alone = SegmentedAggregator(REGIONS, epsilon=0.05, pooling=False, random_state=0).fit(X, segments=LABELS)
    for fitted in (pooled, alone):
        found = fitted.pair_confidence()
        assert found.shape == (3, 4, 4)
        np.testing.assert_allclose(found + found.transpose(0, 2, 1), 1)
        np.testing.assert_array_equal(np.argsort(-found.sum(axis=2), axis=1), fitted.consensus_)
    assert alone.pair_confidence()[0] == pytest.approx(alone.noise_.chance_before(alone.net_wins_[0]))


# Refusals


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"classes": ["a"]}, "classes must be None or a list of at least two different labels, got a list"),
        ({"classes": ["a", "a"]}, "classes must be None or a list of at least two"),
        ({"classes": "ab"}, "classes must be None or a list of at least two"),
        ({"classes": ["a", None]}, "classes must be None or a list of at least two"),
        ({"classes": ["a", float("nan")]}, "classes must be None or a list of at least two"),
        ({"classes": [["a"], ["b"]]}, "classes must be None or a list of at least two"),
        ({"classes": list(range(1001))}, "classes must list at most 1000 segments, got 1001"),
        ({"pooling": "yes"}, "pooling must be True or False"),
        ({"delta": 0.0}, "pooling must be False for delta=0, got True: K-norm noise publishes no scores to pool"),
        ({"delta": np.array([0, 1])}, "delta must be a number in [0, 1)"),
    ],
)
def test_parameters_are_refused_before_a_charge(parameters, message):
    budget = PrivacyBudget(1.0, 1e-5)
    estimator = SegmentedAggregator(REGIONS).set_params(**parameters)
    with pytest.raises(ValueError, match=re.escape(message)):
        budget.fit(estimator, X, segments=LABELS)
    assert budget.releases_ == ()


@pytest.mark.parametrize(
    ("classes", "segments", "message"),
    [
        (REGIONS, None, "segments must be given with classes, got None"),
        (None, LABELS, "classes must be given with segments, got None"),
        (REGIONS, LABELS[:-1], "segments must hold one label for each ballot, and has another length"),
        (REGIONS, "north", "segments must list one label for each ballot, got a str"),
        (REGIONS, {"north": 1}, "segments must list one label for each ballot, got a dict"),
        (REGIONS, pd.DataFrame({"region": LABELS}), "segments must list one label for each ballot, got a DataFrame"),
        (REGIONS, 7, "segments must list one label for each ballot, got a int"),
        (REGIONS, iter(LABELS), "segments must list one label for each ballot, got a"),
        (REGIONS, LABELS[:, np.newaxis], "segments must have one dimension, got 2; pass one column"),
        (REGIONS, np.array("north"), "segments must have one dimension, got 0; pass one column"),
    ],
)
def test_segments_are_refused_before_a_charge(classes, segments, message):
    budget = PrivacyBudget(1.0, 1e-5)
    with pytest.raises(ValueError, match=message):
        budget.fit(SegmentedAggregator(classes), X, segments=segments)
    with pytest.raises(ValueError, match=message):
        SegmentedAggregator(classes).fit(X, segments=segments)
    assert budget.releases_ == ()


def test_counts_alone_cannot_be_split():
    with pytest.raises(ValueError, match="X must keep its ballots to be split into segments"):
        SegmentedAggregator(REGIONS).fit(Profile.from_rankings(X, keep="counts"), segments=LABELS)


def test_a_budget_charges_all_segments_once():
    budget = PrivacyBudget(1.0, 1e-6)
    fitted = budget.fit(SegmentedAggregator(REGIONS), X, segments=LABELS)
    assert budget.spent_ == fitted.privacy_ and (budget.spent_.epsilon, budget.spent_.delta) == (1.0, 1e-6)
    with pytest.raises(TypeError, match="segments"):
        PrivacyBudget(1.0).fit(DPBorda(), X, segments=LABELS)


@pytest.mark.parametrize("parameters", [{}, {"pooling": False}, {"pooling": False, "delta": 0.0}], ids=str)
def test_the_charge_depends_on_no_ballot_and_no_label(parameters):
    estimator = SegmentedAggregator(REGIONS, **parameters)
    stated = estimator.fit(X, segments=LABELS).privacy_
    for ballots, labels in ((X, LABELS), (X[:1], ["moon"]), (Profile.from_rankings(X), LABELS[::-1])):
        assert guarantee_before(estimator, ballots, segments=labels) == stated


def test_searches_of_scikit_learn_route_segments():
    rows = np.random.default_rng(0).permutation(len(X))[:1200]
    with sklearn.config_context(enable_metadata_routing=True):
        made = SegmentedAggregator(REGIONS, random_state=0).set_fit_request(segments=True)
        search = GridSearchCV(made.set_score_request(segments=True), {"epsilon": [1e-4, 5.0]}, cv=2)
        search.fit(X[rows], segments=LABELS[rows])
    assert search.best_params_ == {"epsilon": 5.0}
    assert search.best_score_ == 0


# Pooled estimates


def random_answers(seed, n_segments, n_items, spread=3.0, deviation=80.0, total_deviation=200.0):
    """Return noisy answers of segments that differ by `spread` per voter, as the first arguments of `pooled`."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(5, 400, n_segments)
    wins = sizes[:, None] * (rng.normal(0, 2, n_items) + rng.normal(0, spread, (n_segments, n_items)))
    total = wins.sum(axis=0) + rng.normal(0, total_deviation, n_items)
    return wins + rng.normal(0, deviation, wins.shape), total, sizes, deviation, total_deviation


SIGNALS, BETWEEN = np.array(list(product(0.25 ** np.arange(8), [0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 1]))).T


def dense(wins, total, sizes, deviation, total_deviation):
    """Return means, own weights, variances and evidence for known sizes, from covariance matrices of all net wins.

    Variances are those of one direction of the items. The evidence is the logarithm of the likelihood.
    """
    n_segments, n_items = wins.shape
    basis, largest = null_space(np.ones((1, n_items))), (n_items**2 - 1) / 3
    observed, design = np.vstack([wins, total]) @ basis, np.vstack([np.diag(sizes), sizes])
    complete = np.repeat([1, 1 / 16, 1 / 256, 1 / 4096], len(SIGNALS))
    signals, parts = np.tile([SIGNALS, BETWEEN], 4)
    spread = largest * (signals * parts)[:, None] + largest * ((1 - signals) * complete)[:, None] / sizes
    truth = spread[:, :, None] * np.eye(n_segments) + (largest * signals * (1 - parts))[:, None, None]
    noise = np.append(np.full(n_segments, deviation**2), total_deviation**2)
    inverse = np.linalg.inv(design @ truth @ design.T + np.diag(noise))
    weights = truth @ design.T @ inverse  # of the observations in the posterior means
    means = weights @ observed
    variances = np.diagonal(truth - weights @ design @ truth, axis1=1, axis2=2)
    logs = (n_items - 1) * np.linalg.slogdet(inverse)[1] - np.einsum("si,kst,ti->k", observed, inverse, observed)
    logs = (logs + np.log(complete)) / 2
    chances = softmax(logs)
    mean = np.einsum("k,ksi->si", chances, means)
    apart = ((means - mean) ** 2).mean(axis=2)
    own_weights = chances @ (sizes**2 * spread / (sizes**2 * spread + deviation**2))
    return mean @ basis.T, own_weights, chances @ (variances + apart), logsumexp(logs)


@pytest.mark.parametrize(("deviation", "total_deviation"), [(80.0, 200.0), (400.0, 30.0), (5.0, 1e4)])
@pytest.mark.parametrize(("n_segments", "n_items", "spread"), [(2, 2, 0.0), (3, 4, 0.3), (5, 3, 2.0), (2, 6, 5.0)])
def test_pooled_estimates_equal_dense_matrices(n_segments, n_items, spread, deviation, total_deviation):
    """Sizes are known. The variance of a score is that of its part in all directions but one."""
    answers = random_answers(n_segments, n_segments, n_items, spread, deviation, total_deviation)
    found, (means, own_weights, variances, _) = pooled(*answers, size_deviation=1e-9), dense(*answers)
    np.testing.assert_allclose(found.means, means, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.own_weights, own_weights, rtol=1e-6)
    np.testing.assert_allclose(found.std, np.sqrt(variances * (n_items - 1) / n_items), rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("noisy_sizes", [(300.0, 100.0), (250.0, -60.0)])
def test_pooled_estimates_are_averages_over_the_sizes(noisy_sizes, monkeypatch):
    """The average over a grid of two sizes and their median, by the stated prior and the likelihood of all answers."""
    monkeypatch.setattr(pooling, "_DRAWS", 16000)
    wins, total, _, *deviations = random_answers(8, 2, 4, 0.5)
    found = pooled(wins, total, np.array(noisy_sizes), *deviations, 60.0)
    sizes, medians = np.geomspace(1, 800, 60), np.geomspace(5, 800, 80)
    of_median = np.exp(-((np.log(sizes / medians[:, None]) / 0.8) ** 2) / 2)
    one, other = (of_median * np.exp(-((sizes - noisy) ** 2) / (2 * 60.0**2)) for noisy in noisy_sizes)
    mass = (one.T @ other) / (one.T @ other).sum()
    pairs = np.argwhere(mass > 1e-7)
    each = [dense(wins, total, sizes[pair], *deviations) for pair in pairs]
    means, own_weights, variances, evidence = map(np.array, zip(*each, strict=True))
    chances = softmax(evidence + np.log(mass[tuple(pairs.T)]))
    mean, squares = np.tensordot(chances, means, 1), chances @ (3 * variances + (means**2).sum(axis=2))
    np.testing.assert_allclose(found.means, mean, rtol=0.05, atol=0.05)
    np.testing.assert_allclose(found.own_weights, chances @ own_weights, rtol=0.05)
    np.testing.assert_allclose(found.std, np.sqrt((squares - (mean**2).sum(axis=1)) / 4), rtol=0.05)


@pytest.mark.parametrize("n_items", [1, 2])
def test_pooled_estimates_of_few_items_are_finite(n_items):
    found = pooled(np.arange(2.0 * n_items).reshape(2, -1), np.ones(n_items), np.array([5.0, 9.0]), 3.0, 4.0, 2.0)
    assert all(np.isfinite(part).all() for part in found)
    assert found.means.shape == (2, n_items)


class ScriptedAnswers(Answers):
    """Scripted noisy answers, in units of one vote over `grid`."""

    def __init__(self, wins, total, sizes, deviations, grid=1):
        super().__init__(len(total), SeededBits(np.random.SeedSequence(0)))
        self.grid = grid
        parts = (SegmentNetWins(len(wins)), SegmentNetWins(len(wins), together=True), SegmentSizes(len(wins)))
        self._answers = dict(zip(parts, (wins, total, sizes), strict=True))
        self._deviations = dict(zip(parts, deviations, strict=True))

    def answer(self, query):
        return np.rint(np.asarray(self._answers[query]) * self.grid).astype(np.int64)

    def deviation(self, query):
        return self._deviations[query] * self.grid


def released(*answers, grid=1):
    return SegmentRule(len(answers[0]), pooling=True).aggregate(ScriptedAnswers(*answers, grid=grid))


def test_pooled_estimates_do_not_depend_on_the_weight_grid():
    wins, total, sizes, *deviations = random_answers(3, 4, 6)
    answers = np.rint(wins), np.rint(total), np.rint(sizes), (*deviations, 15.0)
    votes, units = released(*answers), released(*answers, grid=720720)
    np.testing.assert_array_equal(votes.order, units.order)
    for name, value in votes.published.items():
        np.testing.assert_allclose(value, units.published[name], rtol=1e-9, err_msg=name)


def test_rule_pools_the_noisy_sizes():
    """Negative sizes are published as they are."""
    wins, total, sizes, *deviations = random_answers(4, 4, 6)
    sizes[:2] = [-37, 0]
    found = released(wins, total, sizes, (*deviations, 15.0))
    np.testing.assert_array_equal(found.published["sizes"], np.rint(sizes))
    expected = pooled(np.rint(wins), np.rint(total), np.rint(sizes), *deviations, 15.0)
    np.testing.assert_allclose(found.published["scores"], expected.means)
    np.testing.assert_allclose(found.published["score_std"], expected.std)
    np.testing.assert_allclose(found.published["own_weights"], expected.own_weights)
    assert found.published["own_weights"][:2].max() < found.published["own_weights"][2:].max()
    np.testing.assert_array_equal(found.order, (-expected.means).argsort(axis=1))


# Accuracy


SEEDS = range(500, 520)  # the fits; pooling was chosen on other seeds
SIZES = 71  # seed of the Mallows segments


@pytest.mark.slow
@pytest.mark.parametrize(
    ("between", "epsilon", "least", "most"),
    [
        (0.3, 0.1, 0.1, 0.3),  # alike: 1.1 points, and 5.7 without pooling
        (0.3, 1.0, 0.4, 0.9),  # .31 and .51
        (0.7, 0.1, 0.6, 0.95),  # half alike: 4.2 and 5.4
        (0.9, 0.1, 0.8, 1.3),  # unlike: 5.7 and 5.5
        (0.9, 1.0, 0.8, 1.4),  # .62 and .52
    ],
)
def test_pooling_of_mallows_segments(between, epsilon, least, most):
    """12 segments of 50 to 1,500 voters; centres of dispersion `between`. The ratio of the errors is limited."""
    sizes = np.geomspace(50, 1500, 12).astype(int)
    errors = SegmentErrors(*mallows_segments(sizes, 10, 0.8, between, SIZES))
    ratio = errors.mean(SEEDS, epsilon=epsilon) / errors.mean(SEEDS, epsilon=epsilon, pooling=False)
    assert least <= ratio <= most


def test_pooling_helps_small_segments_that_are_alike():
    """8 segments of 100 voters, 5 items, epsilon .2, three fits: 1 point, and 9 without pooling."""
    errors = SegmentErrors(*mallows_segments([100] * 8, 5, 0.65, 0.0, SIZES))
    seeds = SEEDS[:3]
    assert errors.mean(seeds, epsilon=0.2) < 0.4 * errors.mean(seeds, epsilon=0.2, pooling=False)


RISK = 1e-6  # of a test of coverage that fails by chance


def true_ranks(X, labels, n_segments):
    """Lowest and highest rank of each item; they differ if items tie."""
    wins = np.array([Profile.from_rankings(X[labels == segment]).net_wins for segment in range(n_segments)])
    above = (wins[:, :, None] > wins[:, None, :]).sum(axis=1)
    below = (wins[:, :, None] < wins[:, None, :]).sum(axis=1)
    return np.stack([above, X.shape[1] - 1 - below], axis=-1)


def covered(X, labels, n_runs, level, simultaneous, **parameters):
    """Whether intervals contain all true ranks: of each segment of each run, or of all segments of each run."""
    classes, profile = list(range(labels.max() + 1)), Profile.from_rankings(X)
    truth = true_ranks(X, labels, len(classes))
    fits = (SegmentedAggregator(classes, random_state=seed, **parameters) for seed in range(n_runs))
    intervals = np.array([fit.fit(profile, segments=labels).rank_intervals(level, simultaneous) for fit in fits])
    held = ((intervals[..., 0] <= truth[..., 0]) & (intervals[..., 1] >= truth[..., 1])).all(axis=2)
    return held.all(axis=1) if simultaneous else held.ravel()


@pytest.mark.slow
@pytest.mark.parametrize("pooling", [False, True])
@pytest.mark.parametrize(("simultaneous", "expected"), [(False, 0.9), (True, 0.98**5)])  # .98 = 1 - (1 - .9) / 5 each
def test_coverage_is_exact_if_all_items_tie(simultaneous, expected, pooling):
    """The hardest case: both orders of every two items are wrong. 300 runs of five segments, nominal .9."""
    X, labels = np.array([[0, 1, 2, 3], [3, 2, 1, 0]] * 50), np.arange(100) // 2 % 5
    held = covered(X, labels, 300, 0.9, simultaneous, epsilon=0.5, pooling=pooling)
    assert stats.binomtest(int(held.sum()), held.size, expected).pvalue > RISK


class Calibration:
    """Confidences and scores of segments whose sizes differ by a factor of 16, or follow the prior without `n_voters`.

    True means follow the stated prior: each run takes the next point of its grid. `claimed` is the confidence in the
    order of each pair, `right` whether this order is true, and `z` the error of each score in standard deviations.
    """

    def __init__(self, n_segments, n_items, n_voters, epsilon, runs):
        rng, sizes = np.random.default_rng(0), np.geomspace(16, 1, n_segments)
        sizes *= (n_voters or 1) / sizes.sum()
        complete = 1.0
        fitted = SegmentedAggregator(range(n_segments), epsilon=epsilon, random_state=0)
        fitted.fit([range(n_items)] * 2, segments=[0, 1])
        largest, deviation = (n_items**2 - 1) / 3, fitted.noise_.law.std  # 80 % of the budget; 15 % and 5 % for others
        of_total, of_sizes = deviation * np.sqrt(0.8 / 0.15), deviation * np.sqrt(0.8 / 0.05 / (n_items * largest))
        claimed, right, z = [], [], []
        for run in range(runs):
            signal, between = (axis[run % len(axis)] for axis in (SIGNALS, BETWEEN))
            if n_voters is None:
                complete = rng.choice(16.0 ** -np.arange(4), p=0.25 ** np.arange(4) * 64 / 85)
                sizes = np.exp(rng.uniform(np.log(5), np.log(8 * of_sizes)) + rng.normal(0, 0.8, n_segments))
            spread = largest * (signal * between + complete * (1 - signal) / sizes)
            truth = rng.normal(0, np.sqrt(largest * signal * (1 - between)), n_items)
            truth = truth + rng.normal(size=(n_segments, n_items)) * np.sqrt(spread)[:, None]
            truth -= truth.mean(axis=1, keepdims=True)
            wins = sizes[:, None] * truth
            total = wins.sum(axis=0) + rng.normal(0, of_total, n_items)
            wins = wins + rng.normal(0, deviation, wins.shape)
            noisy_sizes = sizes + rng.normal(0, of_sizes, n_segments)
            fitted.scores_, _, fitted.score_std_ = pooled(wins, total, noisy_sizes, deviation, of_total, of_sizes)
            confidence = fitted.pair_confidence()
            claimed.append(confidence[confidence > 0.5])
            right.append((truth[:, :, None] > truth[:, None, :])[confidence > 0.5])
            z.append((fitted.scores_ - truth) / fitted.score_std_[:, None])
        self.claimed, self.right, self.z = np.concatenate(claimed), np.concatenate(right), np.array(z)

    def excess(self, low, high):
        """Return claimed minus true for confidences between both limits, or 0 if fewer than 5 % of pairs have one."""
        between = (self.claimed >= low) & (self.claimed < high)
        return (self.claimed[between] - self.right[between]).mean() if between.mean() >= 0.05 else 0.0


ABOUT = [(0.75, 0.85), (0.85, 0.93), (0.93, 0.97)]  # confidences of about .8, .9 and .95


@pytest.mark.slow
@pytest.mark.parametrize(("n_voters", "epsilon", "least"), [(1000, 0.1, 0.02), (10000, 0.1, 0.3)])
def test_pooled_estimates_claim_something(n_voters, epsilon, least):
    """Eight segments and six items, one run at each point of the prior."""
    assert (Calibration(8, 6, n_voters, epsilon, len(SIGNALS)).claimed > 0.9).mean() > least


@pytest.mark.slow
@pytest.mark.parametrize(("n_segments", "n_items", "epsilon"), [(2, 4, 0.1), (8, 6, 0.01)])
def test_errors_are_those_stated_on_average_over_the_prior(n_segments, n_items, epsilon):
    found = Calibration(n_segments, n_items, None, epsilon, 8 * len(SIGNALS))
    assert max(found.excess(*limits) for limits in ABOUT) < 0.03
    assert 0.9 < np.sqrt((found.z**2).mean()) < 1.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_voters", "epsilon"), [(1000, 0.001), (1000, 0.01), (1000, 0.1), (10000, 0.1), (10000, 1.0)]
)
@pytest.mark.parametrize(("n_segments", "n_items"), [(2, 4), (3, 10), (8, 6), (20, 5)])
def test_pooled_confidences_hold_for_all_numbers_of_segments(n_segments, n_items, n_voters, epsilon):
    """At an n epsilon of 10 or less, few confidences are above .75.

    From 1,000 on, errors are about those stated. Below, sizes are hardly known, and errors depend on the true ones.
    """
    found = Calibration(n_segments, n_items, n_voters, epsilon, max(4, 16 // n_segments) * len(SIGNALS))
    assert max(found.excess(*limits) for limits in ABOUT) < 0.03
    assert (found.claimed > 0.75).mean() < (0.03 if n_voters * epsilon < 11 else 1)
    least, most = (0.9, 1.15) if n_voters * epsilon > 999 else (0.75, 1.3)
    assert least < np.sqrt((found.z**2).mean()) < most


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("between", [0.0, 0.5, 0.9])
def test_pooled_confidences_are_about_right(between, epsilon):
    """Pairs with a confidence above .9 are in the true order about as often as stated, within 3 points, or more."""
    X, labels = mallows_segments(np.geomspace(50, 1500, 12).astype(int), 10, 0.8, between, SIZES)
    classes = list(range(12))
    parts = [Profile.from_rankings(X[labels == segment]) for segment in classes]
    above = np.array([part.net_wins[:, None] > part.net_wins for part in parts])
    profile, claimed, right, pairs = Profile.from_rankings(X), 0.0, 0, 0
    for seed in SEEDS:
        fitted = SegmentedAggregator(classes, epsilon=epsilon, random_state=seed).fit(profile, segments=labels)
        confidence = fitted.pair_confidence()
        sure = confidence > 0.9
        claimed, right, pairs = claimed + confidence[sure].sum(), right + above[sure].sum(), pairs + sure.sum()
    assert pairs > 0.1 * len(SEEDS) * 12 * 45
    assert right / pairs >= claimed / pairs - 0.03
