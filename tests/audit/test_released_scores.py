"""The noisy net wins that DPBorda publishes, audited by their exact law."""

import math
from itertools import product

import numpy as np
import pytest
from audit_tools import noise_pmf, reach
from oracles import distinct_ballots

from sklearn_dprank import DPBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.theory import hay

RELEASES = {
    "laplace": DPBorda(epsilon=5.0),
    "laplace, published": DPBorda(epsilon=3.0, noise=hay.PrintedLaplace()),
    "gaussian": DPBorda(3.0, 1e-2, "gaussian"),
}


def moves(neighboring):
    """Every way in which one weak or partial ballot of three items moves net wins, up to order and sign."""
    wins = [Profile.from_rankings(np.array([ballot], dtype=float)).net_wins for ballot in distinct_ballots(3)]
    pairs = product(wins, wins) if neighboring == "replace" else ((one, np.zeros(3, dtype=int)) for one in wins)
    return {tuple(sorted(np.abs(one - other).tolist())) for one, other in pairs}


def delta_of(pmf, move, epsilon):
    """The exact delta of three numbers with independent noise of this law, moved so: noise is symmetric."""
    far = max(move)
    law = np.pad(pmf, far)
    here, there = np.ones(1), np.ones(1)
    for step in move:
        here, there = np.outer(here, law).ravel(), np.outer(there, np.roll(law, step)).ravel()
    return np.maximum(here - math.exp(epsilon) * there, 0).sum()


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("estimator", RELEASES.values(), ids=RELEASES)
def test_released_scores_keep_what_is_stated(estimator, neighboring):
    channel, rule = estimator.set_params(neighboring=neighboring)._compose()
    plan = channel.plan(rule.asks(3), 3)
    [price] = plan.prices.values()
    far = reach(price.mechanism) + 1
    pmf = noise_pmf(price.mechanism, np.arange(-far, far + 1))
    epsilon, delta = plan.guarantee.epsilon, plan.guarantee.delta
    found = {move: delta_of(pmf, move, epsilon) for move in moves(neighboring)}
    assert max(found.values()) <= delta + 1e-9
    worst = max(found, key=lambda move: delta_of(pmf, move, 0.9 * epsilon))
    assert sum(worst) == (4 if neighboring == "add_remove" else 8)  # a strict ballot, or two opposite ones
    assert delta_of(pmf, worst, 0.9 * epsilon) > delta + 1e-4
