"""The reproduction of Hay et al. (2017): small settings, known answers, pictures."""

from itertools import permutations

import numpy as np
import pytest
from oracles import seeded
from scipy.stats import chisquare

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


def test_figure_1(example):
    hay = example("plot_hay_2017")
    assert hay.figure_1() == pytest.approx({"OPT": 0.375, "Borda": 0.4, "Quick sort": 0.375})


def test_p_sample_by_rejection_has_the_law_of_the_mechanism(example):
    margins = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])
    orders = list(permutations(range(4)))
    costs = [sum(max(0, margins[i, j]) for k, i in enumerate(order) for j in order[:k]) for order in orders]
    sampler, bits = example("plot_hay_2017").InsertionSampler(margins, 0.1), seeded(0)
    draws = [tuple(sampler.draw(bits).tolist()) for _ in range(2000)]
    expected = np.exp(-0.1 * np.array(costs))
    seen = [draws.count(order) for order in orders]
    assert chisquare(seen, 2000 * expected / expected.sum()).pvalue > 1e-3
