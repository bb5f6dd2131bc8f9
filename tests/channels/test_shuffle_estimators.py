"""Shuffle estimators from devices to consensus: one law with the simulation, the release rule, figures, accuracy."""

import json

import numpy as np
import pytest
from local_tools import apart
from scipy.stats import norm
from sklearn.base import clone

from sklearn_dprank import ShuffleHierarchical, ShufflePairwise
from sklearn_dprank.channels import balanced_design
from sklearn_dprank.collection import Device
from sklearn_dprank.collection.protocol import FLIP_GRID
from sklearn_dprank.privacy import UnsoundAmplificationWarning, shuffle_amplification, shuffle_local_epsilon
from sklearn_dprank.privacy.shuffle import composed_shuffle_epsilon
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import song

ESTIMATORS = [
    ShufflePairwise(rule="borda"),
    ShufflePairwise(n_queries=2, rule="kwiksort"),
    ShufflePairwise(pairs="assigned", rule="borda"),
    ShuffleHierarchical(n_queries=2),
]
PRINTED = {"randomizer": song.PrintedGaussian(1e-4)}
PUBLISHED = ShuffleHierarchical(delta=0.5, n_queries=2, **PRINTED)
MESSAGE = {"protocol": "", "shuffle": 0, "pair": [0, 1], "answer": 1}


pytestmark = pytest.mark.usefixtures("one_thread")


class Shuffler:
    """Devices, and somebody who mixes their messages."""

    def __init__(self, estimator, items, n_voters):
        self._protocol = json.loads(json.dumps(estimator.protocol(items)))
        self._size = n_voters, len(self._protocol["items"]), self._protocol["n_queries"]

    def __call__(self, ballots, seed):
        rng = np.random.default_rng(seed)
        assigned = self._protocol["pairs"] == "assigned"
        design = balanced_design(*self._size, Bits.from_random_state(seed).assignment).tolist()
        lines = []
        for ballot, asked in zip(ballots, design, strict=True):
            device = Device(self._protocol, random_state=int(rng.integers(2**32)))
            said = device.report(ballot, asked) if assigned else device.report(ballot)
            lines += map(json.dumps, apart(said))
        rng.shuffle(lines)
        return lines


# --- the release rule


@pytest.mark.parametrize("estimator", [*ESTIMATORS, PUBLISHED], ids=str)
def test_a_fit_below_min_reports_releases_no_result(estimator):
    estimator = clone(estimator).set_params(min_reports=12, local_epsilon=1.0, random_state=0)
    with pytest.raises(ValueError, match="min_reports=12 is above the 11 voters; no result is released"):
        estimator.fit([[0, 1, 2]] * 11)
    lines = Shuffler(estimator, 3, 12)([[0, 1, 2]] * 12, 0)
    with pytest.raises(ValueError, match="no result is released") as error:
        estimator.fit_reports(lines[1:], items=3)
    assert "[" not in str(error.value)  # no message is quoted
    with pytest.raises(ValueError, match="no result is released"):
        estimator.fit_reports([*lines[1:], "junk", {**MESSAGE, "pair": [0, 3]}], items=3)
    assert not hasattr(estimator, "consensus_")
    assert sorted(estimator.fit_reports(lines, items=3).consensus_.tolist()) == [0, 1, 2]
    estimator.fit([[0, 1, 2]] * 12)


def test_the_field_needs_min_reports_from_the_start():
    for call in (lambda e: e.client(3), lambda e: e.protocol(3), lambda e: e.fit_reports([MESSAGE], items=3)):
        with pytest.raises(ValueError, match="min_reports must be given"):
            call(ShufflePairwise())


# --- the noise that Song et al. print


def printed(local_epsilon, n_queries=1, delta=1e-4):
    return ShuffleHierarchical(delta=delta, n_queries=n_queries, local_epsilon=local_epsilon, random_state=0, **PRINTED)


@pytest.mark.parametrize(
    ("local_epsilon", "n_queries", "each"),
    [(1.0, 1, 0.1838), (0.5, 1, 0.0919), (1.0, 4, 0.0459)],
)
def test_algorithm_1_spends_what_its_flips_tell(local_epsilon, n_queries, each):
    estimator = printed(local_epsilon, n_queries).fit([[0, 1, 2, 3]] * 600)
    flip = estimator.set_params(min_reports=600).protocol(4)["flip"][0] / FLIP_GRID
    sigma = n_queries * np.sqrt(2 * np.log(1.25 / 1e-4)) / local_epsilon
    assert flip == pytest.approx(norm.cdf(-0.5 / sigma), rel=1e-12)
    assert estimator.local_epsilon_ == pytest.approx(n_queries * np.log((1 - flip) / flip), rel=1e-9)
    assert estimator.local_epsilon_ / n_queries == pytest.approx(each, abs=6e-5)
    crowd = 600 * n_queries // 6
    stated = composed_shuffle_epsilon(estimator.local_epsilon_ / n_queries, crowd, 1e-4, n_queries)
    assert estimator.privacy_.epsilon == pytest.approx(stated, rel=1e-9) and estimator.privacy_.delta == 1e-4
    assert "thresholded Gaussian noise" in estimator.privacy_.how
    assert f"local epsilon = {estimator.local_epsilon_:.6g}" in estimator.privacy_.caveats[0]


@pytest.mark.parametrize(("n", "m", "exact", "stated"), [(795, 4, 0.247, 0.278), (5000, 15, 0.338, 0.362)])
def test_theorem_2_is_false_for_its_own_noise_and_the_guarantee_states_the_true_epsilon(n, m, exact, stated):
    """Epsilon .1 is claimed of the shuffled answers; the exact curve gives more, and the stated bound is above it."""
    crowd = n // (m * (m - 1) // 2)
    with pytest.warns(UnsoundAmplificationWarning, match="false"):
        local = shuffle_local_epsilon(0.1, crowd, 1e-4, method="song2022")
    estimator = printed(local).fit(np.tile(np.arange(m), (n, 1)))
    true = shuffle_amplification(estimator.local_epsilon_, crowd, 1e-4, method="exact")
    assert true == pytest.approx(exact, abs=6e-4) and estimator.privacy_.epsilon == pytest.approx(stated, abs=6e-4)
    assert 0.1 < true <= estimator.privacy_.epsilon


@pytest.mark.parametrize("n_queries", [1, 2])
def test_published_noise_keeps_a_central_target(n_queries):
    """It is the noise printed for the local epsilon that the true bound allows, so less than the target is spent."""
    exact = ShuffleHierarchical(0.5, 1e-4, n_queries, random_state=0).fit([[0, 1, 2]] * 900)
    found = clone(exact).set_params(**PRINTED).fit([[0, 1, 2]] * 900)
    same = printed(exact.local_epsilon_, n_queries).fit([[0, 1, 2]] * 900)
    assert found.privacy_.epsilon < 0.12 and exact.privacy_.epsilon == 0.5
    assert found.local_epsilon_ == pytest.approx(same.local_epsilon_, rel=1e-9)
    assert found.local_epsilon_ < 0.2 * exact.local_epsilon_


def test_published_noise_without_a_crowd_states_what_the_device_spends():
    """One voter a pair: voters do not hide each other, K answers cost K times one, and no delta is spent."""
    found = printed(1.0, 2).set_params(local_epsilon=None, epsilon=1.0).fit(np.tile(np.arange(10), (30, 1)))
    assert found.privacy_.epsilon == pytest.approx(0.1837, abs=6e-5) and found.privacy_.delta == 0.0
    assert found.local_epsilon_ == pytest.approx(found.privacy_.epsilon, rel=1e-12)


# --- what it is worth


def test_few_voters_are_all_asked():
    """One and a half voters a pair: the spare ones are asked too, and where pairs are unasked they are ties."""
    found = ShufflePairwise(pairs="assigned", local_epsilon=40.0, random_state=0)
    order = np.random.default_rng(0).permutation(10)
    many, few = (found.fit(np.tile(order, (n, 1))).ranks_ for n in (67, 30))
    agreed = [np.corrcoef(ranks, order)[0, 1] for ranks in (many, few)]
    assert agreed[0] == pytest.approx(1) and agreed[1] > 0.7
    assert found.privacy_.epsilon == 40.0 and found.privacy_.delta == 0.0
