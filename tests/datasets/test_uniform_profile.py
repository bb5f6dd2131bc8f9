"""`make_uniform_profile` draws every histogram of rankings with equal probability, with voters in random order."""

from collections import Counter
from itertools import product
from math import comb, factorial

import numpy as np
import pytest
from scipy.stats import chisquare

from sklearn_dprank.datasets import make_uniform_profile


def histograms(n_voters, n_items, size):
    rng = np.random.default_rng(0)
    drawn = (make_uniform_profile(n_voters, n_items, random_state=rng) for _ in range(size))
    return Counter(tuple(sorted(map(tuple, X.tolist()))) for X in drawn)


@pytest.mark.slow
@pytest.mark.parametrize(("n_voters", "n_items"), [(1, 3), (4, 2), (2, 3), (3, 3)])
def test_every_histogram_is_equally_likely(n_voters, n_items):
    """C(n + m! - 1, n) of them, at most 56 here."""
    seen = histograms(n_voters, n_items, 8000)
    assert len(seen) == comb(n_voters + factorial(n_items) - 1, n_voters)
    assert chisquare(list(seen.values())).pvalue > 1e-3


@pytest.mark.slow
def test_voters_are_in_random_order():
    """Every way to line up the voters of a histogram is equally likely too."""
    rng = np.random.default_rng(1)
    firsts = [tuple(make_uniform_profile(4, 2, random_state=rng)[:, 0].tolist()) for _ in range(8000)]
    chances = {line: 1 / 5 / comb(4, sum(line)) for line in product((0, 1), repeat=4)}
    assert sum(chances.values()) == pytest.approx(1)
    observed = [firsts.count(line) for line in chances]
    assert chisquare(observed, np.array(list(chances.values())) * 8000).pvalue > 1e-3


@pytest.mark.parametrize("n_items", [1, 2, 9, 25, 180])
def test_any_number_of_items(n_items):
    X = make_uniform_profile(200, n_items, random_state=3)
    assert X.shape == (200, n_items) and X.dtype == np.int64
    np.testing.assert_array_equal(np.sort(X, axis=1), np.tile(np.arange(n_items), (200, 1)))
    np.testing.assert_array_equal(X, make_uniform_profile(200, n_items, random_state=np.random.default_rng(3)))
    if n_items >= 25:  # 25! rankings: no two voters share one
        assert len(np.unique(X, axis=0)) == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_voters": 0}, "n_voters must be a positive integer, got 0."),
        ({"n_items": 2.5}, "n_items must be a positive integer, got 2.5."),
        ({"random_state": -1}, "random_state must be None, an int of at least 0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError) as error:
        make_uniform_profile(**{"n_voters": 5, "n_items": 3, **arguments})
    assert str(error.value).startswith(message)
