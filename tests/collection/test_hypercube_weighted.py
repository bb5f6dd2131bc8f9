"""Exact draws: against fractions, at the very boundaries of the law."""

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chisquare

from sklearn_dprank.collection.hypercube import LEAD, WeightedLaw
from sklearn_dprank.sampling.bit_source import SeededBits


class Script:
    """Words written beforehand, then zeros."""

    def __init__(self, words):
        self._words = list(words)

    def words(self, size):
        return np.array([self._words.pop(0) if self._words else 0 for _ in range(size)], dtype=np.uint64)


def naive_index(weights, point):
    """How many cumulative weights are at most `point` times the total."""
    steps = list(accumulate(weights))
    return sum(step <= point * steps[-1] for step in steps[:-1])


WEIGHTS = st.lists(st.integers(1, 5) | st.integers(1, 10**60), min_size=1, max_size=6)
WORDS = st.sampled_from([0, 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)


@given(weights=WEIGHTS, step=st.integers(0, 5), off=st.integers(-1, 1), words=st.lists(WORDS, min_size=3, max_size=3))
def test_boundaries_are_settled_by_more_bits(weights, step, off, words):
    steps = list(accumulate(weights))
    lead = min(max(steps[step % len(steps)] * LEAD // steps[-1] + off, 0), LEAD - 1)
    point = Fraction(lead, LEAD) + sum(Fraction(w, LEAD * 2 ** (64 * (k + 1))) for k, w in enumerate(words))
    index = WeightedLaw(weights).pick(np.array([lead]), Script(words))
    assert index.tolist() == [naive_index(weights, point)]


@pytest.mark.parametrize("weights", [[1, 2, 3], [5, 1, 1, 4], [10**40, 3 * 10**40, 1], [7]])
def test_frequencies(weights):
    size = 30000
    bits = SeededBits(np.random.SeedSequence(1))
    seen = np.bincount(WeightedLaw(weights).pick(bits.integers(LEAD, size), bits), minlength=len(weights))
    chance = np.array(weights, dtype=float) / float(sum(weights))
    likely = chance * size > 5
    assert seen[~likely].sum() == 0
    if likely.sum() > 1:
        assert chisquare(seen[likely], chance[likely] / chance[likely].sum() * size).pvalue > 1e-3
