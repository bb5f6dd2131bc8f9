"""Exact audit of published names: the law of the release on neighbouring lists of private items.

An item is published with a number above the threshold, or not at all. Items are independent. An item that one profile
lacks is never published there. The numbers of other items are put into cells, which can only hide a little of the loss.
"""

from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest
from audited import LISTS
from list_tools import STEPS, private_profile, totals
from oracles import distinct_ballots
from scipy.special import ndtr
from sklearn.base import clone

from sklearn_dprank.ballots.weights import WEIGHT_GRID
from sklearn_dprank.mechanisms import ThresholdNoise

UNIT = WEIGHT_GRID * STEPS
EVERY = [ballot for ballot in distinct_ballots(4) if not np.isnan(ballot).all()]
RELATIONS = ["add_remove", "replace"]
both = pytest.mark.parametrize("neighboring", RELATIONS)


def noise_of(estimator, k):
    """The calibrated noise of a plan for lists of k private items, and the guarantee."""
    plan = estimator.plan_for(private_profile(EVERY[:1], k))[1]
    (price,) = plan.prices.values()
    assert isinstance(price.mechanism, ThresholdNoise)
    return price.mechanism, plan.guarantee


def failure(part, noise):
    """The probability that an item of a contribution, in steps of 2^-16, is published if nobody else lists any."""
    kept, grid = 1.0, 2.0 ** max(0, int(np.frexp(noise.sigma)[1]) - 30)
    for steps in part[part > 0].tolist():
        kept *= NormalDist(steps * WEIGHT_GRID, noise.sigma).cdf(noise.threshold + grid / 2)
    return 1 - kept


@both
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("scores", [None, "equal"])
def test_items_of_one_person_alone_are_published_at_most_with_half_of_delta(k, scores, neighboring):
    """Over all weak and partial ballots on four items; the limit is reached."""
    scores = None if scores is None else (1.0,) * k
    noise, guarantee = noise_of(clone(LISTS["lists"]).set_params(scores=scores, neighboring=neighboring), k)
    limit = -np.expm1(-guarantee.delta / 2)
    worst = max(failure(totals(private_profile([ballot], k), 4, scores), noise) for ballot in EVERY)
    assert 0.999 * limit < worst <= limit


def published(mean, noise):
    """The probabilities that an item is not published, and that its number is in each cell above the threshold."""
    if mean == 0:
        return np.array([1.0, *np.zeros(150)])
    edges = np.append(np.linspace(noise.threshold, noise.threshold + 7 * noise.sigma, 150), np.inf)
    return np.diff(ndtr((edges - mean) / noise.sigma), prepend=0)


def delta_between(one, other, noise, epsilon):
    """The smallest delta for which the release on totals `one` is (epsilon, delta)-close to that on `other`."""
    p = q = np.ones(1)
    for mean, moved in zip(one * WEIGHT_GRID, other * WEIGHT_GRID, strict=True):
        if mean != moved:
            cells = published(mean, noise), published(moved, noise)
            if not (mean and moved):  # all that only one of the profiles can publish is alike
                cells = tuple(np.array([law[0], law[1:].sum()]) for law in cells)
            p, q = (np.outer(law, cell).ravel() for law, cell in zip((p, q), cells, strict=True))
    return np.maximum(p - np.exp(epsilon) * q, 0).sum()


def worst_delta(neighboring, k, n_others, ballots):
    """The largest delta of a profile in which others list items 0 and 1, with each of the ballots."""
    noise, guarantee = noise_of(clone(LISTS["lists"]).set_params(neighboring=neighboring), k)
    others = n_others * totals(private_profile([[0, np.nan, np.nan, np.nan], [0, 0, np.nan, np.nan]], k), 4)
    with_one = [others + totals(private_profile([ballot], k), 4) for ballot in ballots]
    pairs = combinations(with_one, 2) if neighboring == "replace" else [(others, one) for one in with_one]
    worst = 0.0
    for one, other in pairs:
        worst = max(worst, *(delta_between(*two, noise, guarantee.epsilon) for two in ((one, other), (other, one))))
    return worst, guarantee.delta


@both
@pytest.mark.parametrize("n_others", [0, 1, 3])
def test_the_release_keeps_epsilon_and_delta(n_others, neighboring):
    ballots = EVERY[:: 3 if neighboring == "add_remove" else 11]
    worst, delta = worst_delta(neighboring, 2, n_others, ballots)
    assert 0.2 * delta < worst <= delta
