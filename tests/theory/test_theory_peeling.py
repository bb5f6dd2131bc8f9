"""Bounds of the peeled prudent order: by simulation, by enumeration, and against entropies of all orders."""

import math
from itertools import permutations

import numpy as np
import pytest
from oracles import kendall
from scipy.optimize import brentq

from sklearn_dprank import DPPrudentOrder
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.privacy.composition import choice_range
from sklearn_dprank.theory.peeling import agreeing_voters, peeled_margin, peeled_voters


def overruled(margins, ranks):
    """The largest margin that an order overrules."""
    return max(margins[i, j] for i in range(len(ranks)) for j in range(len(ranks)) if ranks[j] < ranks[i])


def cyclic(n_items, n_voters, seed):
    """Impartial votes: small margins with cycles."""
    return np.random.default_rng(seed).permuted(np.tile(np.arange(n_items), (n_voters, 1)), axis=1)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("votes", [make_mallows(120, 5, 0.9, random_state=1), cyclic(5, 120, 2)], ids=["near", "far"])
def test_the_margin_holds_as_often_as_stated(votes, neighboring):
    """The excess over the smallest possible margin is larger at most as often as stated."""
    profile = Profile.from_rankings(votes)
    least = min(overruled(profile.margins, order) for order in permutations(range(5)))
    epsilon, failure, moves = 2.0, 0.3, {"add_remove": 1, "replace": 2}[neighboring]
    bound = peeled_margin(5, epsilon, 1e-3, failure, neighboring=neighboring)
    assert bound == pytest.approx(2 * moves / choice_range(epsilon, 1e-3, 4) * math.log(10 / failure))
    estimator = DPPrudentOrder(epsilon, 1e-3, neighboring=neighboring, random_state=0)
    rule, plan = estimator.plan_for(profile)
    fits = [fitted.ranks_ for fitted in refits(estimator, profile, rule, plan, list(range(200)))]
    exceeded = np.array([overruled(profile.margins, ranks) - least for ranks in fits])
    assert np.mean(exceeded > bound) <= failure
    assert np.mean(exceeded > bound / 8) > 0.02  # so the simulation sees the noise


def chance_of_any_error(n_items, n_voters, epsilon):
    """Exact, for voters of one mind: each place is right with odds 1 to (k - 1) e^(-w n)."""
    k = np.arange(2, n_items + 1)
    odds = (k - 1) * math.exp(-choice_range(epsilon, 1e-6, n_items - 1) * n_voters)
    return 1 - np.prod(1 / (1 + odds))


@pytest.mark.parametrize("m", [2, 5, 20])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-6])
def test_enough_voters_are_enough_and_few_too_many(m, failure):
    """For voters of one mind the number is nearly exact: ln(C(m, 2) / failure) / w."""
    voters = peeled_voters(m, 0.5, 1e-6, 1.0, failure)
    assert chance_of_any_error(m, voters, 0.5) <= failure
    assert chance_of_any_error(m, 0.75 * voters, 0.5) > failure or (m, failure) == (2, 0.5)


def test_voters_of_a_smaller_margin():
    assert peeled_voters(9, 0.5, 1e-6, 0.1, 0.01) == pytest.approx(10 * peeled_voters(9, 0.5, 1e-6, 1.0, 0.01))
    assert peeled_voters(9, 0.5, 1e-6, 1.0, 0.01, neighboring="replace") == pytest.approx(
        2 * peeled_voters(9, 0.5, 1e-6, 1.0, 0.01)
    )
    for margin in (0.0, 1.5, -0.2):
        with pytest.raises(ValueError, match="margin must lie in"):
            peeled_voters(9, 0.5, 1e-6, margin, 0.01)


@pytest.mark.parametrize("m", [3, 4, 5])
@pytest.mark.parametrize("error", [0.01, 0.1, 0.3])
def test_the_largest_entropy_is_that_of_a_mallows_law(m, error):
    """Over all orders one by one: the law of this mean with the largest entropy."""
    inversions = np.array([kendall(order, tuple(range(m))) for order in permutations(range(m))])

    def law(log_phi):
        weights = np.exp(log_phi * inversions)
        return weights / weights.sum()

    log_phi = brentq(lambda x: law(x) @ inversions - error * math.comb(m, 2), -30, 0)
    chances = law(log_phi)
    bits = math.lgamma(m + 1) + chances @ np.log(chances)
    assert agreeing_voters(m, 0.25, error) == pytest.approx(math.sqrt(bits / 0.25), rel=1e-5)
    assert agreeing_voters(m, 0.25, error, neighboring="replace") == pytest.approx(2 * math.sqrt(bits / 0.25), rel=1e-5)


def test_half_of_the_pairs_are_free():
    assert agreeing_voters(10, 0.1, 0.5) == 0
    assert agreeing_voters(10, 0.1, 0.499) < 1 < agreeing_voters(10, 0.1, 0.3)
