"""A private fit publishes noisy margins, net wins or counts in addition to the consensus."""

from itertools import permutations

import numpy as np
import pytest

from sklearn_dprank import (
    Aggregator,
    DPBorda,
    DPHistogram,
    DPKwikSort,
    DPPairwise,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy import gaussian_sigma

BALLOTS = make_mallows(2000, 4, 0.7, random_state=0)
PROFILE = Profile.from_rankings(BALLOTS)


def test_the_consensus_follows_from_the_margins():
    for seed in range(20):
        fitted = DPPairwise(0.02, rule="borda", random_state=seed).fit(PROFILE)
        np.testing.assert_array_equal(fitted.margins_, -fitted.margins_.T)
        wins = fitted.margins_.sum(axis=1)
        assert (np.diff(wins[fitted.consensus_]) <= 0).all()


@pytest.mark.parametrize("release", [False, True])
def test_a_rule_that_asks_for_margins_publishes_them_either_way(release):
    channel = Central(8.0, release=DPPairwise()._compose()[0].release if release else None)
    fitted = Aggregator(channel, "kemeny", random_state=0).fit(PROFILE)
    np.testing.assert_array_equal(fitted.margins_, DPPairwise(8.0, random_state=0).fit(PROFILE).margins_)


@pytest.mark.parametrize("noise", [{}, {"noise": "gaussian", "delta": 1e-6}], ids=["laplace", "gaussian"])
def test_scores_of_a_curator_are_net_wins_with_noise_and_sort_to_the_consensus(noise):
    fits = [DPBorda(0.5, **noise, random_state=seed).fit(PROFILE) for seed in range(200)]
    for fitted in fits[:20]:
        assert (np.diff(fitted.scores_[fitted.consensus_]) <= 0).all()
    drawn = np.array([fitted.scores_ - PROFILE.net_wins for fitted in fits])
    assert fits[0].scores_.dtype == np.int64
    # eight in l1, sqrt(20) in l2, for epsilon = .5
    std = 8 * np.sqrt(2) / 0.5 if not noise else gaussian_sigma(0.5, 1e-6, 20**0.5)
    assert drawn.std() == pytest.approx(std, rel=0.1)
    assert abs(drawn.mean()) < 5 * std / np.sqrt(drawn.size)


def test_the_histogram_is_in_the_order_of_itertools():
    fitted = DPHistogram(50.0, random_state=0).fit(PROFILE)
    counts = [int((ballot == BALLOTS).all(axis=1).sum()) for ballot in permutations(range(4))]
    assert fitted.histogram_.tolist() == counts


def test_the_consensus_follows_from_the_histogram():
    for seed in range(20):
        fitted = DPHistogram(0.02, random_state=seed).fit(PROFILE)
        scores = np.array(list(permutations(range(4)))).T @ fitted.histogram_
        assert (np.diff(scores[fitted.consensus_]) >= 0).all()


@pytest.mark.filterwarnings("ignore:.*drowns")
def test_a_histogram_that_is_not_drawn_is_not_there():
    ballots = make_mallows(50, 11, 0.5, random_state=0)
    assert not hasattr(DPHistogram(delta=1e-6, noise="gaussian", random_state=0).fit(ballots), "histogram_")


@pytest.mark.parametrize(
    "estimator",
    [DPBorda(noise="knorm"), DPKwikSort(max_queries=1, on_exhausted="kemeny")],
    ids=lambda estimator: type(estimator).__name__,
)
def test_others_publish_the_consensus_only(estimator):
    fitted = estimator.fit(PROFILE)
    assert not {"margins_", "histogram_", "scores_", "noise_"} & set(vars(fitted))
