"""Adaptive choices of bounded range against a direct recursion, enumeration and other compositions."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

from sklearn_dprank.privacy import composition as bounded_range
from sklearn_dprank.privacy.composition import choice_range, gaussian_epsilon, range_delta, range_deltas


def worst_choices(epsilon, width, n_choices, n_values=41):
    """V_k by its definition, without a grid of epsilons; t takes a few values only, so this is a lower bound."""
    if n_choices == 0:
        return -np.expm1(np.minimum(epsilon, 0.0))
    t = np.linspace(0, width, n_values)
    high = (math.exp(width) - np.exp(t)) / math.expm1(width)
    epsilon = np.asarray(epsilon)[..., None]
    after = [worst_choices(epsilon - loss, width, n_choices - 1, n_values) for loss in (t, t - width)]
    return (high * after[0] + (1 - high) * after[1]).max(axis=-1)


@pytest.mark.parametrize("width", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("n_choices", [1, 2, 3])
def test_deltas_are_close_to_the_recursion(width, n_choices):
    """Never below, and little above."""
    for share in (-0.5, 0.0, 0.2, 0.5, 0.9):
        epsilon = share * width * n_choices
        least, found = float(worst_choices(epsilon, width, n_choices)), range_delta(epsilon, width, n_choices)
        assert least * (1 - 1e-9) <= found <= least * 1.03 + 2e-3 * width


@pytest.mark.parametrize("seed", range(6))
def test_deltas_of_mechanisms_are_below_the_bound(seed):
    """Three adaptive choices among three options, each with random laws of range w after every path."""
    rng, width = np.random.default_rng(seed), 0.8
    laws: list[dict] = [{}, {}]

    def law_after(path):
        if path not in laws[0]:
            first = rng.dirichlet(np.ones(3))
            second = first * np.exp(width * rng.choice([0.0, 1.0, rng.random()], 3))
            laws[0][path], laws[1][path] = first, second / second.sum()
        return laws[0][path], laws[1][path]

    chances = np.ones((2, 27))
    for number, outcome in enumerate(product(range(3), repeat=3)):
        for place in range(3):
            first, second = law_after(outcome[:place])
            chances[:, number] *= first[outcome[place]], second[outcome[place]]
    for epsilon in (0.0, 0.3, 0.8, 1.5):
        for one, other in (chances, chances[::-1]):
            delta = np.maximum(one - math.exp(epsilon) * other, 0).sum()
            assert delta <= range_delta(epsilon, width, 3) * (1 + 1e-12) + 1e-15


def test_the_bound_decreases_to_0():
    """It falls, and is 0 from the sum of the ranges on."""
    epsilons, deltas = range_deltas(0.2, 30)
    assert epsilons[0] == 0 and epsilons[-1] == pytest.approx(6.0)
    assert np.all(np.diff(deltas) <= 1e-15) and deltas.max() <= 1
    assert range_delta(-100.0, 0.2, 30) == 1.0 and range_delta(0.3, 0.3, 1) == 0  # a choice of range w is pure
    assert range_delta(0.0, 0.2, 30) == deltas[0] > deltas[1] > 0
    assert range_delta(6.0 + 1e-9, 0.2, 30) == 0.0
    assert range_delta(float(epsilons[70]), 0.2, 30) == pytest.approx(deltas[70], rel=1e-9)
    between = range_delta(float(epsilons[250] + epsilons[251]) / 2, 0.2, 30)
    assert deltas[251] < between < deltas[250]


MANY = [(0.1, 44), (1.0, 44), (8.0, 44), (0.3, 99)]


def tight_rho(epsilon, delta):
    """The largest rho of zero-concentrated privacy that gives (epsilon, delta): Canonne, Kamath and Steinke (2020)."""
    order = 1 + np.geomspace(1e-3, 1e6, 20_000)

    def log_delta(rho):
        return np.min((order - 1) * (order * rho - epsilon + np.log1p(-1 / order)) - np.log(order - 1))

    return brentq(lambda rho: log_delta(rho) - math.log(delta), 1e-12, 100.0, xtol=1e-15, rtol=1e-10)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize(
    ("epsilon", "n_choices"), [(0.1, 2), (1.0, 9), *(pytest.param(e, k, marks=pytest.mark.slow) for e, k in MANY)]
)
def test_no_other_composition_allows_more(epsilon, delta, n_choices):
    width = choice_range(epsilon, delta, n_choices)
    concentrated = math.sqrt(8 * tight_rho(epsilon, delta) / n_choices)
    assert width >= epsilon / n_choices * (1 - 1e-15)
    assert width > concentrated * 1.03
    assert n_choices < 44 or width < concentrated * {1e-9: 1.07, 1e-6: 1.09, 1e-3: 1.18}[delta]
    assert range_delta(epsilon, width, n_choices) <= delta
    assert range_delta(epsilon, width * (1 + 1e-4), n_choices) > delta


@pytest.mark.slow
@pytest.mark.parametrize(("n_choices", "rel"), [(200, 0.012), (999, 0.03)])
def test_many_choices_lose_about_as_much_as_one_gaussian_release(n_choices, rel):
    """The loss of one choice has at most the variance w^2 / 4, so the limit is mu = w sqrt(k) / 2."""
    width = choice_range(0.5, 1e-6, n_choices)
    assert gaussian_epsilon(1e-6, 2 / (width * math.sqrt(n_choices))) == pytest.approx(0.5, rel=rel)


@pytest.mark.parametrize(
    ("epsilon", "delta", "n_choices"),
    [
        *((1e-9, 1e-6, 9), (1e-9, 1e-300, 9), (1e-9, 1e-100, 1), (500.0, 1e-6, 2)),
        *((0.1, 1e-100, 12), (5.0, 0.9, 2), (1.0, 1e-290, 1)),
    ],
)
def test_extreme_budgets(epsilon, delta, n_choices):
    width = choice_range(epsilon, delta, n_choices)
    assert epsilon / n_choices * (1 - 1e-12) <= width < math.inf
    assert width * n_choices <= epsilon or range_delta(epsilon, width, n_choices) <= delta


def test_a_delta_close_to_one_takes_few_steps(monkeypatch):
    """The slack below such a delta is as large as 1 - delta, so a search by small steps would take millions of them."""
    steps = []

    def counted(*given):
        steps.append(given)
        assert len(steps) < 100
        return range_delta(*given)

    monkeypatch.setattr(bounded_range, "range_delta", counted)
    for delta in (1 - 1e-7, 1 - 1e-10):
        steps.clear()
        width = choice_range.__wrapped__(1.0, delta, 3)
        assert range_delta(1.0, width, 3) < delta < range_delta(1.0, width * 1.5, 3)


def test_many_wide_choices_have_a_small_delta_far_from_the_mean_loss():
    """The mean loss of 400 choices of range 4 is at most 800, and its standard deviation at most 40."""
    assert range_delta(900.0, 4.0, 400) < 1e-8
