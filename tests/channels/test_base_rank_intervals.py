"""Rank intervals and confidences of pairs, as estimators give them."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from interval_tools import ranks
from sklearn.exceptions import NotFittedError

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPositionalRule,
    DPStreamingBorda,
    DPSwissBorda,
    LDPAdaptivePairs,
    LDPBorda,
    LDPPairwise,
    SecAggBorda,
    SecAggSwissBorda,
    ShufflePairwise,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, SecureAggregation
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import AllMargins
from sklearn_dprank.uncertainty import AnswersLaw, LaplaceLaw, NormalLaw, PublishedNoise

BALLOTS = make_mallows(1500, 6, 0.8, random_state=0)
PROFILE = Profile.from_rankings(BALLOTS)
SPEAKING = [
    DPBorda(0.2),
    DPBorda(0.2, 1e-6, "gaussian"),
    DPPairwise(0.5),
    DPPairwise(0.3, 1e-6, "gaussian", rule="borda"),
    LDPPairwise(2.0),
    LDPPairwise(2.0, randomizer="djw"),
    LDPBorda(1.0),
    ShufflePairwise(0.5),
    SecAggBorda(0.2),
    Aggregator(SecureAggregation(0.3, release=AllMargins()), "kemeny"),
]
# All net wins and margins of these voters are 0.
EVEN = Profile.from_rankings(np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]] * 300))
# Many ties and gaps, and items that are really tied.
WEAK = np.random.default_rng(0).integers(0, 3, (800, 6)) + np.arange(6) // 2 * 1.0
WEAK[np.random.default_rng(1).random(WEAK.shape) < 0.3] = np.nan

every = pytest.mark.parametrize("estimator", SPEAKING, ids=repr)


def truth(profile, noise):
    """Which items are really above which, by what is published."""
    wins = profile.net_wins
    return wins[:, None] > wins if noise.on == "scores" else profile.margins > 0


def holds(intervals, above):
    """Whether all intervals hold the numbers of items above and below."""
    above_all, below_all = above.sum(axis=0), above.sum(axis=1)
    return bool((intervals[:, 0] <= above_all).all() and (intervals[:, 1] >= len(above) - 1 - below_all).all())


@every
def test_shapes_and_sense(estimator):
    fitted = estimator.set_params(random_state=0).fit(PROFILE)
    intervals, confidence = fitted.rank_intervals(), fitted.pair_confidence()
    assert intervals.shape == (6, 2) and intervals.dtype.kind == "i"
    assert (intervals[:, 0] <= intervals[:, 1]).all()
    assert intervals.min() >= 0 and intervals.max() <= 5
    np.testing.assert_allclose(confidence + confidence.T, 1)
    np.testing.assert_allclose(np.diag(confidence), 0.5)
    order = fitted.consensus_
    assert confidence[order[0], order[-1]] > 0.75 > 0.25 > confidence[order[-1], order[0]]
    wider, narrower = fitted.rank_intervals(level=0.999), fitted.rank_intervals(level=0.5)
    assert (wider[:, 0] <= intervals[:, 0]).all() and (intervals[:, 1] <= wider[:, 1]).all()
    assert (narrower[:, 0] >= intervals[:, 0]).all() and (intervals[:, 1] >= narrower[:, 1]).all()


@every
def test_intervals_are_those_of_the_voters_unless_asked_otherwise(estimator):
    fitted = estimator.set_params(random_state=0).fit(PROFILE)
    np.testing.assert_array_equal(fitted.rank_intervals(of="voters"), fitted.rank_intervals())
    with pytest.raises(ValueError, match=r"of must be one of \['voters', 'population'\], got 'all'"):
        fitted.rank_intervals(of="all")


# Estimators whose sum of net wins has a public number of voters.
SUMMED = [
    DPBorda(0.2, neighboring="replace"),
    DPBorda(0.2, 1e-6, "gaussian", neighboring="replace"),
    SecAggBorda(0.2),
    DPStreamingBorda(0.2, neighboring="replace"),
]


@pytest.mark.parametrize("estimator", SUMMED, ids=repr)
def test_intervals_of_a_population_follow_from_the_largest_variance_of_ballots(estimator):
    fitted = estimator.set_params(random_state=0).fit(PROFILE)
    assert fitted.noise_.n_voters == 1500
    gaps = fitted.scores_[:, None] - fitted.scores_
    surely = gaps > fitted.noise_.law.sampled_quantile(6, 0.9, 10 * np.sqrt(1500))
    np.testing.assert_array_equal(fitted.rank_intervals(0.9, of="population"), ranks(surely))
    assert 0 < surely.sum() < (gaps > fitted.noise_.law.range_quantile(6, 0.9)).sum()


@pytest.mark.parametrize("estimator", [e for e in SPEAKING if type(e).__name__[:3] in ("LDP", "Shu")], ids=repr)
def test_randomised_reports_have_the_same_intervals_for_voters_and_population(estimator):
    fitted = estimator.set_params(random_state=0).fit(PROFILE)
    np.testing.assert_array_equal(fitted.rank_intervals(of="population"), fitted.rank_intervals())


LISTED = Profile.from_rankings(BALLOTS, max_listed=3)
ONE_EACH = Profile.from_rankings(BALLOTS, groups=np.arange(len(BALLOTS)))


@pytest.mark.parametrize(
    ("estimator", "profile"),
    [
        (DPBorda(), PROFILE),
        (DPStreamingBorda(), PROFILE),
        (DPPairwise(neighboring="replace"), PROFILE),
        (DPPositionalRule(neighboring="replace"), PROFILE),
        (DPBorda(neighboring="replace"), LISTED),
        (DPBorda(neighboring="replace"), ONE_EACH),
        (DPStreamingBorda(neighboring="replace"), LISTED),
        (SecAggBorda(max_listed=3), PROFILE),
    ],
    ids=repr,
)
def test_intervals_of_a_population_need_a_public_number_of_voters_of_weight_one(estimator, profile):
    fitted = estimator.set_params(random_state=0).fit(profile)
    assert fitted.noise_.n_voters is None
    with pytest.raises(ValueError, match=r'of="population" is unknown .* of="voters" only\. .*neighboring="replace"'):
        fitted.rank_intervals(of="population")


def test_a_stream_counts_the_voters_of_all_periods():
    stream = DPStreamingBorda(neighboring="replace", random_state=0)
    for ballots, n_voters in ((BALLOTS[:400], 400), (np.empty((0, 6)), 400), (BALLOTS[400:], 1500)):
        stream = stream.partial_fit(ballots)
        assert stream.noise_.n_voters == n_voters
    empty = DPStreamingBorda(neighboring="replace", random_state=0).partial_fit(np.empty((0, 6)))
    assert (empty.rank_intervals(0.9999, of="population") == [0, 5]).all()


@pytest.mark.parametrize("estimator", [e for e in SPEAKING if "Borda" in type(e).__name__], ids=repr)
def test_the_borda_consensus_is_within_its_intervals(estimator):
    for seed in range(10):
        fitted = estimator.set_params(random_state=seed).fit(PROFILE)
        intervals = fitted.rank_intervals(0.8)
        assert (intervals[:, 0] <= fitted.ranks_).all() and (fitted.ranks_ <= intervals[:, 1]).all()


def test_known_intervals():
    """With noise of standard deviation 10 on three scores, its range exceeds 33 once in twenty releases."""
    noise = PublishedNoise("scores", NormalLaw(10.0, grid=0.0))
    assert noise.rank_intervals(np.array([0.0, 33.0, 70.0]), 0.95).tolist() == [[1, 2], [1, 2], [0, 0]]
    assert noise.rank_intervals(np.array([0.0, 33.4, 70.0]), 0.95).tolist() == [[2, 2], [1, 1], [0, 0]]


def test_known_intervals_of_answers():
    """Of 20 answers about each of three pairs: 18 are not by chance once in 6 times twenty, and 15 are."""
    law = AnswersLaw(1.0, 20)
    margins = np.array([[0.0, 0.8, 0.8], [-0.8, 0.0, 0.5], [-0.8, -0.5, 0.0]])
    assert law.p_values(margins)[0, 1] == pytest.approx(211 / 2**20)
    assert law.p_values(margins)[1, 2] == pytest.approx(21700 / 2**20)
    noise = PublishedNoise("margins", law)
    assert noise.rank_intervals(margins, 0.95).tolist() == [[0, 0], [1, 2], [1, 2]]
    # After two of six statements four are left: 4 x .0207 is below .1.
    assert noise.rank_intervals(margins, 0.9).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_holm_step_by_step():
    """Against the procedure as it is told: the smallest p-value first, while it is below risk over what is left."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        m = int(rng.integers(2, 6))
        p, risk = rng.random((m, m)) ** 4, float(rng.choice([0.05, 0.3, 0.9]))
        left = {(i, j): p[i, j] for i in range(m) for j in range(m) if i != j}
        expected = np.zeros((m, m), dtype=bool)
        while left:
            pair = min(left, key=left.get)
            if left[pair] > risk / len(left):
                break
            expected[pair] = True
            del left[pair]
        noise = PublishedNoise("margins", SimpleNamespace(p_values=lambda margins, p=p: p))
        np.testing.assert_array_equal(noise.rank_intervals(p, 1 - risk), ranks(expected))


@pytest.mark.parametrize(
    "estimator",
    [
        Borda(),
        DPBorda(noise="knorm"),
        DPHistogram(),
        DPKemenySampler(),
        DPKwikSort(max_queries=1, on_exhausted="kemeny"),
        LDPAdaptivePairs(),
        Aggregator(Central(noise="knorm")),
    ],
    ids=repr,
)
def test_rank_intervals_are_hidden_without_a_noise_law(estimator):
    fitted = estimator.fit(PROFILE)
    assert not hasattr(fitted, "rank_intervals")
    assert not hasattr(fitted, "pair_confidence")
    with pytest.raises(AttributeError, match="rank_intervals"):
        fitted.rank_intervals()


@pytest.mark.parametrize("estimator", [DPSwissBorda(random_state=0), SecAggSwissBorda(random_state=0)], ids=repr)
def test_strengths_of_rounds_have_no_intervals_and_the_error_says_why(estimator):
    with pytest.raises(AttributeError) as error:
        estimator.fit(PROFILE).rank_intervals(of="population")
    reason = str(error.value.__cause__)
    assert "strengths depend on which groups were asked" in reason and "use DPBorda" in reason


def test_a_later_fit_decides():
    borda = DPBorda(random_state=0).fit(PROFILE)
    assert hasattr(borda, "rank_intervals")
    borda.set_params(noise="knorm").fit(PROFILE)
    assert not {"scores_", "noise_"} & set(vars(borda))
    assert not hasattr(borda, "rank_intervals")


def test_before_a_fit_it_is_not_fitted():
    for method in ("rank_intervals", "pair_confidence"):
        with pytest.raises(NotFittedError):
            getattr(DPBorda(), method)()


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, "high", None, True])
def test_invalid_levels_are_refused(level):
    with pytest.raises(ValueError, match="level must be a number above 0 and below 1"):
        DPBorda(random_state=0).fit(PROFILE).rank_intervals(level)


# How often it is right


def coverage(estimator, profile, times, level=0.95):
    right = 0
    for seed in range(times):
        fitted = estimator.set_params(random_state=seed).fit(profile)
        right += holds(fitted.rank_intervals(level), truth(profile, fitted.noise_))
    return right / times


@pytest.mark.slow
@pytest.mark.parametrize("law", [LaplaceLaw, NormalLaw])
def test_even_voters_are_the_worst_case_of_scores(law):
    """Where all net wins are 0, any claim is wrong: at level .8 one release in five makes one, no more and no fewer."""
    estimator = DPBorda(0.5) if law is LaplaceLaw else DPBorda(0.5, 1e-6, "gaussian")
    assert 0.77 < coverage(estimator, EVEN, 1000, level=0.8) < 0.83


@pytest.mark.slow
@every
@pytest.mark.parametrize("votes", ["mallows", "even", "weak", "near"])
def test_coverage(estimator, votes):
    """At least nominal, in a thousand releases: .95 less three standard errors."""
    near = np.repeat([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]], [301, 300], axis=0)
    ballots = {"mallows": PROFILE, "even": EVEN, "weak": WEAK, "near": near}[votes]
    profile = ballots if isinstance(ballots, Profile) else Profile.from_rankings(ballots)
    assert coverage(estimator, profile, 1000) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 1000)


BOUGHT = DPBorda(1.0, 1e-6, "gaussian", population=True)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_the_covariance_of_ballots_is_estimated(neighboring):
    """With almost no noise, it is n times that of the sample, and that of 8 random rankings: 8 m (m + 1) / 3."""
    fitted = DPBorda(1e4, 1e-6, "gaussian", neighboring, population=True, random_state=0).fit(WEAK)
    assert fitted.noise_.describes == ("voters", "population") and fitted.noise_.n_voters is None
    alone = np.array([Profile.from_rankings([ballot]).net_wins for ballot in WEAK])
    expected = np.cov(alone.T, bias=True) * len(WEAK) + 8 * 14 * np.eye(6)
    np.testing.assert_allclose(fitted.noise_.covariance, expected, atol=20)
    np.testing.assert_allclose(fitted.scores_, alone.sum(axis=0), atol=3)


def test_intervals_by_the_covariance_are_between_those_of_the_voters_and_of_the_largest_variance():
    ballots = make_mallows(1500, 6, 0.9, random_state=0)
    bought = BOUGHT.set_params(random_state=0).fit(ballots)
    free = DPBorda(1.0, 1e-6, "gaussian", "replace", random_state=0).fit(ballots)
    intervals = [bought.rank_intervals(), *(fitted.rank_intervals(of="population") for fitted in (bought, free))]
    voters, by_covariance, largest = (np.ptp(each, axis=1).sum() for each in intervals)
    assert voters < by_covariance < largest


def test_a_covariance_needs_gaussian_noise_and_ballots_of_weight_one():
    with pytest.raises(ValueError, match=r"population=True needs Gaussian noise, got noise='laplace'\. Set noise="):
        DPBorda(population=True).fit(PROFILE)
    for profile in (ONE_EACH, LISTED):
        with pytest.raises(ValueError, match="it counts ballots once; use a Profile without persons"):
            BOUGHT.fit(profile)
    with pytest.raises(ValueError, match="keep='positions'"):
        BOUGHT.fit(Profile.from_rankings(BALLOTS, keep="counts"))


def populations(name):
    """Return the ballots of a population by its name, at most 30,000."""
    rng, camps = np.random.default_rng(0), np.arange(9)
    if name == "rotations":  # all items are tied, and majorities cycle
        return np.array([np.roll(np.arange(4), k) for k in range(4)])
    if name == "cycling camps":
        parts = [make_mallows(10_000, 9, 0.6, center=np.roll(camps, 3 * k), random_state=k) for k in range(3)]
        return np.vstack(parts)
    if name == "opposite camps":
        centers = (camps, 11_000), (camps[::-1], 9_000)
        return np.vstack([make_mallows(size, 9, 0.7, center=center, random_state=0) for center, size in centers])
    if name == "spatial":
        voters, items = rng.normal(size=(30_000, 1, 2)), rng.normal(size=(12, 2))
        return ((voters - items) ** 2).sum(axis=2).argsort().argsort()
    if name == "mallows":
        return make_mallows(30_000, 15, 0.97, random_state=0)
    tied = rng.permuted(np.tile(np.arange(8), (15_000, 1)), axis=1)
    return np.vstack([tied, 7 - tied])


def coverage_by_the_covariance(ballots, n_voters, epsilon, neighboring="add_remove", times=400):
    """Return the coverage of the intervals, and their mean width relative to that with the exact covariance."""
    wins = len(ballots[0]) - 1 - 2 * ballots
    above = wins.sum(axis=0)[:, None] > wins.sum(axis=0)
    exact = PublishedNoise("scores", NormalLaw(1.0), covariance=n_voters * np.cov(wins.T, bias=True))
    rng, right, widths = np.random.default_rng(0), 0, np.zeros(2)
    for seed in range(times):
        sample = ballots[rng.integers(len(ballots), size=n_voters)]
        fitted = DPBorda(epsilon, 1e-6, "gaussian", neighboring, population=True, random_state=seed).fit(sample)
        intervals = fitted.rank_intervals(of="population")
        known = replace(exact, law=fitted.noise_.law).rank_intervals(fitted.scores_, 0.95, "population")
        right += holds(intervals, above)
        widths += np.ptp(intervals, axis=1).sum(), np.ptp(known, axis=1).sum()
    return right / times, widths[0] / widths[1]


SETTINGS = list(
    product(["cycling camps", "opposite camps", "spatial", "mallows", "tied"], [200, 500, 1000, 5000], [0.3, 1.0, 3.0])
)


@pytest.mark.slow
@pytest.mark.parametrize(("population", "n_voters", "epsilon"), SETTINGS[2::5])
def test_intervals_by_the_covariance_hold_and_are_hardly_wider_than_by_the_exact_one(population, n_voters, epsilon):
    """At least .93 of the samples, less two standard errors; at most 1.15 times as wide from n epsilon = 300 on."""
    found, width = coverage_by_the_covariance(populations(population), n_voters, epsilon)
    assert found > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 400)
    assert width < 1.15 or n_voters * epsilon < 300


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 10.0])
@pytest.mark.parametrize(("population", "n_voters"), [("rotations", 30), ("rotations", 60), ("tied", 100)])
def test_coverage_by_the_covariance_of_few_voters_where_any_claim_is_wrong(neighboring, epsilon, population, n_voters):
    """At least .93 of 400 samples, less two standard errors; .90 without the random voters that are added."""
    found, _ = coverage_by_the_covariance(populations(population), n_voters, epsilon, neighboring)
    assert found > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 400)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [*SUMMED, LDPPairwise(2.0), LDPBorda(1.0), ShufflePairwise(0.5)], ids=repr)
@pytest.mark.parametrize("n_voters", [20, 500])
@pytest.mark.parametrize("population", ["camps", "tied", "skewed"])
def test_coverage_of_a_population(estimator, n_voters, population):
    """At least nominal, in 300 samples: opposite camps, cycles, or an item that few voters like much."""
    up = np.arange(6)
    ballots = {
        "camps": [up, up[::-1]],
        "tied": [np.roll(up, k) for k in range(6)],
        "skewed": [up, *[np.roll(up, -1)] * 5],
    }[population]
    everybody, rng, right = Profile.from_rankings(np.array(ballots)), np.random.default_rng(0), 0
    for seed in range(300):
        sample = np.array(ballots)[rng.integers(len(ballots), size=n_voters)]
        fitted = estimator.set_params(random_state=seed).fit(sample)
        right += holds(fitted.rank_intervals(of="population"), truth(everybody, fitted.noise_))
    assert right / 300 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)


@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize(
    "estimator",
    [
        DPBorda(1e9),
        DPBorda(1e-5),
        DPBorda(1e4, 1e-6, "gaussian"),
        DPBorda(1e-5, 1e-9, "gaussian"),
        DPPairwise(1e9),
        DPPairwise(1e-5),
        LDPPairwise(30.0),
        LDPPairwise(1e-6),
        LDPBorda(15.0),
        LDPBorda(1e-3),
    ],
    ids=repr,
)
def test_no_budget_is_too_large_or_too_small(estimator, m):
    ballots = np.tile(np.arange(m), (400, 1))
    fitted = estimator.set_params(random_state=0).fit(ballots)
    intervals, confidence = fitted.rank_intervals(), fitted.pair_confidence()
    assert np.isfinite(confidence).all() and (intervals[:, 0] <= intervals[:, 1]).all()
    if estimator.epsilon > 1:
        np.testing.assert_array_equal(intervals, np.repeat(np.arange(m), 2).reshape(m, 2))
        assert m == 2 or (confidence[np.triu_indices(m, 1)] > 0.95).all()
    else:
        assert (intervals == [0, m - 1]).all()
