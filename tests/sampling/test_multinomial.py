"""Multinomial counts have their exact law, thrown one by one or by Poisson numbers."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from oracles import seeded
from scipy import stats

from sklearn_dprank.collection import pairs as module
from sklearn_dprank.collection.pairs import multinomial


@pytest.mark.slow
@pytest.mark.parametrize("throws", [0, 10**9], ids=["by Poisson numbers", "one by one"])
@pytest.mark.parametrize(("n", "cells"), [(1, 2), (5, 3), (30, 2), (12, 3)])
def test_the_law_of_all_counts_together(monkeypatch, n, cells, throws):
    monkeypatch.setattr(module, "_THROWS", throws)
    monkeypatch.setattr(module, "isqrt", lambda n: n // 6)  # so that few balls leave room for a Poisson number
    source, size = seeded(n), 3000
    drawn = [tuple(multinomial(n, cells, source).tolist()) for _ in range(size)]
    law = {
        counts: factorial(n) / prod(map(factorial, counts)) / cells**n
        for counts in product(range(n + 1), repeat=cells)
        if sum(counts) == n
    }
    assert set(drawn) <= set(law)
    expected = np.array([chance * size for chance in law.values()])
    found = np.array([drawn.count(counts) for counts in law])
    rare = expected < 8
    expected = [*expected[~rare], *([expected[rare].sum()] if rare.any() else [])]
    found = [*found[~rare], *([found[rare].sum()] if rare.any() else [])]
    assert len(found) == 1 or stats.chisquare(found, expected).pvalue > 1e-3


@pytest.mark.parametrize(
    ("n", "cells"), [(10_000, 3), (40_000, 90), (10**9, 6), pytest.param(10**12, 6, marks=pytest.mark.slow)]
)
def test_many_balls(n, cells):
    assert n >= module._THROWS * cells
    source = seeded(1)
    drawn = np.array([multinomial(n, cells, source) for _ in range(400)])
    assert (drawn.sum(axis=1) == n).all() and drawn.dtype == np.int64
    chance = 1 / cells
    scaled = (drawn - n * chance) / np.sqrt(n * chance * (1 - chance))
    assert stats.kstest(scaled[:, 0], stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest(scaled[:, -1], stats.norm.cdf).pvalue > 1e-3
    # A sum of squares has the chi-square's mean and variance: cells share n balls, they are not independent.
    squares = ((drawn - n * chance) ** 2).sum(axis=1) / (n * chance)
    assert stats.kstest(squares, stats.chi2(cells - 1).cdf).pvalue > 1e-3


def test_zero_trials():
    assert multinomial(0, 4, seeded()).tolist() == [0] * 4
    assert multinomial(7, 1, seeded()).tolist() == [7]
