"""`make_plackett_luce`: exact probabilities on four items, default weights and errors."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from sklearn_dprank.datasets import make_plackett_luce


def probability(order, weights):
    """Draw the items of an order one by one in proportion to weight."""
    drawn = [weights[item] for item in order]
    return math.prod(weight / sum(drawn[k:]) for k, weight in enumerate(drawn))


@pytest.mark.slow
@pytest.mark.parametrize("weights", [[1.0, 2.0, 4.0, 0.5], [3, 3, 3, 3], [1e-300, 1e300, 2e300, 3e-300]])
def test_probabilities_at_four_items(weights):
    X = make_plackett_luce(40_000, 4, weights, random_state=0)
    seen = Counter(map(tuple, np.argsort(X, axis=1).tolist()))
    expected = {order: probability(order, weights) * len(X) for order in permutations(range(4))}
    expected = {order: count for order, count in expected.items() if count > 1e-6}
    assert set(seen) <= set(expected)
    observed = [seen[order] for order in expected]
    assert chisquare(observed, np.array(list(expected.values()))).pvalue > 1e-3


def test_shape_type_and_default_weights():
    X = make_plackett_luce(500, 6, random_state=1)
    assert X.shape == (500, 6)
    assert X.dtype == np.int64
    np.testing.assert_array_equal(np.sort(X, axis=1), np.tile(np.arange(6), (500, 1)))
    np.testing.assert_array_equal(X, make_plackett_luce(500, 6, random_state=np.random.default_rng(1)))
    firsts = {int(make_plackett_luce(500, 4, random_state=seed).mean(axis=0).argmin()) for seed in range(30)}
    assert firsts == set(range(4))  # no item is favoured by default


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_voters": "many"}, "n_voters must be a positive integer, got 'many'."),
        ({"n_items": 0}, "n_items must be a positive integer, got 0."),
        ({"weights": [1, 2]}, "weights must be 3 positive finite numbers, one an item, got [1, 2]."),
        ({"weights": [1, 0, 2]}, "weights must be 3 positive finite numbers, one an item, got [1, 0, 2]."),
        ({"weights": [1, "a", 2]}, "could not convert string to float: 'a'"),
        ({"weights": [1, np.inf, 2]}, "weights must be 3 positive finite numbers, one an item, got [1, inf, 2]."),
        (
            {"random_state": 1.5},
            "random_state must be None, an int of at least 0, a numpy Generator or a RandomState, got 1.5.",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError) as error:
        make_plackett_luce(**{"n_voters": 5, "n_items": 3, **arguments})
    assert str(error.value) == message
