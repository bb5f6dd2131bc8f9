"""Measured accuracy of `SegmentedAggregator`: errors with and without pooling, intervals, and confidences of pairs."""

import numpy as np
import pytest
from accuracy_tools import SegmentErrors, mallows_segments
from scipy import stats

from sklearn_dprank import SegmentedAggregator
from sklearn_dprank.ballots.profile import Profile

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


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("between", [0.0, 0.5, 0.9])
def test_pooled_confidences_are_about_right(between, epsilon):
    """Pairs with a confidence above .9 are in the true order about as often as stated: within 3 points."""
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
