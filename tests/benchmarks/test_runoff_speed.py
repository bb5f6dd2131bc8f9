"""Instant runoff on a histogram of all orders, against counting the first places again in each round."""

from functools import partial
from itertools import permutations
from math import factorial

import numpy as np
from benchmark_tools import compare

from sklearn_dprank import Aggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.orders.permutations import permutation_index

M = 8


def recounted(cells, orders):
    left, behind = np.ones(M, dtype=bool), []
    while left.any():
        firsts = orders[np.arange(len(orders)), left[orders].argmax(axis=1)]
        counts = np.where(left, np.bincount(firsts, cells, M), np.inf)
        behind.insert(0, int(np.flatnonzero(counts == counts.min())[-1]))
        left[behind[0]] = False
    return behind


def test_runoff_against_a_recount(benchmark):
    rankings = make_mallows(2000, M, 0.95, random_state=0)
    orders = np.array(list(permutations(range(M))))
    cells = np.bincount(permutation_index(np.argsort(rankings).T), minlength=factorial(M))
    fit = partial(Aggregator(rule="instant_runoff").fit, Profile.from_rankings(rankings))
    fitted = compare(benchmark, fit, partial(recounted, cells, orders), at_least=1)
    assert fitted.consensus_.tolist() == recounted(cells, orders)
