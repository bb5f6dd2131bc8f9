"""The noisy numbers that DPBorda and DPHistogram publish, audited by their exact law."""

import math
from itertools import product

import numpy as np
import pytest
from audit_tools import noise_pmf, reach
from oracles import distinct_ballots

from sklearn_dprank import DPBorda, DPHistogram
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.theory import hay, shang

SCORES = {
    "laplace": DPBorda(epsilon=5.0),
    "laplace, published": DPBorda(epsilon=3.0, noise=hay.PrintedLaplace()),
    "gaussian": DPBorda(3.0, 1e-2, "gaussian"),
}
HISTOGRAMS = {
    "laplace": DPHistogram(epsilon=0.8),
    "laplace, published": DPHistogram(epsilon=0.8, noise=hay.PrintedLaplace()),
    "gaussian": DPHistogram(0.5, 1e-3, "gaussian"),
    "gaussian, published": DPHistogram(0.5, 1e-3, shang.PrintedGaussian()),
    "gaussian, published, less noise": DPHistogram(1.5, 1e-2, shang.PrintedGaussian()),
}
both_relations = pytest.mark.parametrize("neighboring", ["add_remove", "replace"])


def released(estimator, neighboring):
    """Return the law of the noise on each number, and what is stated."""
    channel, rule = estimator.set_params(neighboring=neighboring)._compose()
    plan = channel.plan(rule.asks(3), 3)
    [price] = plan.prices.values()
    far = reach(price.mechanism) + 1
    return noise_pmf(price.mechanism, np.arange(-far, far + 1)), plan.guarantee


def moves(neighboring):
    """Every way in which one weak or partial ballot of three items moves net wins, up to order and sign."""
    wins = [Profile.from_rankings(np.array([ballot], dtype=float)).net_wins for ballot in distinct_ballots(3)]
    pairs = product(wins, wins) if neighboring == "replace" else ((one, np.zeros(3, dtype=int)) for one in wins)
    return {tuple(sorted(np.abs(one - other).tolist())) for one, other in pairs}


def delta_of(pmf, move, epsilon):
    """The exact delta of numbers with independent noise of this law, moved so: noise is symmetric."""
    law = np.pad(pmf, max(move))
    here, there = np.ones(1), np.ones(1)
    for step in move:
        here, there = np.outer(here, law).ravel(), np.outer(there, np.roll(law, step)).ravel()
    return np.maximum(here - math.exp(epsilon) * there, 0).sum()


@pytest.mark.slow
@both_relations
@pytest.mark.parametrize("estimator", SCORES.values(), ids=SCORES)
def test_released_scores_keep_what_is_stated(estimator, neighboring):
    pmf, guarantee = released(estimator, neighboring)
    found = {move: delta_of(pmf, move, guarantee.epsilon) for move in moves(neighboring)}
    assert max(found.values()) <= guarantee.delta + 1e-9
    worst = max(found, key=lambda move: delta_of(pmf, move, 0.9 * guarantee.epsilon))
    assert sum(worst) == (4 if neighboring == "add_remove" else 8)  # a strict ballot, or two opposite ones
    assert delta_of(pmf, worst, 0.9 * guarantee.epsilon) > guarantee.delta + 1e-4


@both_relations
@pytest.mark.parametrize("estimator", HISTOGRAMS.values(), ids=HISTOGRAMS)
def test_released_counts_keep_what_is_stated(estimator, neighboring):
    """One voter's cell is one higher, and another one is lower if the voter is replaced.

    All other cells have the same law, and a ballot that coins complete mixes these: no neighbour tells more.
    """
    pmf, guarantee = released(estimator, neighboring)
    move = (1,) if neighboring == "add_remove" else (1, -1)
    assert delta_of(pmf, move, guarantee.epsilon) <= guarantee.delta + 1e-12
    # They keep little more: rounding to integers hides a bit.
    assert delta_of(pmf, move, 0.9 * guarantee.epsilon) > guarantee.delta + 1e-4
