"""Bradley-Terry strengths against a naive iteration, a general solver and a peer, alone and beside other work."""

from functools import partial
from time import perf_counter, process_time, sleep

import numpy as np
import pytest
from benchmark_tools import compare
from scipy.optimize import minimize
from scipy.special import expit

from sklearn_dprank.queries import Tallies
from sklearn_dprank.rules.bradley_terry import bradley_terry_strengths

RIDGE = 0.01


def answers(m, n, flip):
    """Wins of n answers about random pairs."""
    rng = np.random.default_rng(m)
    s = rng.normal(size=m)
    i, j = np.triu_indices(m, 1)
    heard = rng.multinomial(n, np.full(len(i), 1 / len(i)))
    wins = np.zeros((m, m), dtype=np.int64)
    wins[i, j] = rng.binomial(heard, flip + (1 - 2 * flip) * expit(s[i] - s[j]))
    wins[j, i] = heard - wins[i, j]
    return wins


def generally(wins, flip):
    """The same maximum by SciPy, which is given the slope."""
    i, j = np.nonzero(wins)
    times = wins[i, j]

    def loss(s):
        chance = expit(s[i] - s[j])
        said = flip + (1 - 2 * flip) * chance
        pull = times * (1 - 2 * flip) * chance * expit(s[j] - s[i]) / said
        slope = RIDGE * s - np.bincount(i, pull, len(s)) + np.bincount(j, pull, len(s))
        return RIDGE / 2 * (s * s).sum() - (times * np.log(said)).sum(), slope

    options = {"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-5}
    return minimize(loss, np.zeros(len(wins)), jac=True, method="L-BFGS-B", options=options).x


@pytest.mark.parametrize(
    ("m", "n", "flip"), [(10, 1000, 0.27), (45, 5000, 0.27), (200, 300, 0.0), (200, 5000, 0.12), (885, 20_000, 0.12)]
)
def test_against_a_general_solver(benchmark, m, n, flip):
    """No thread works beside the caller's; of many items the twin is as fast while both cores are free."""
    wins = answers(m, n, flip)
    ours = partial(bradley_terry_strengths, (Tallies(flip, wins),), RIDGE)
    found = compare(benchmark, ours, partial(generally, wins, flip), at_least=2 if m <= 45 else 0.3, rounds=2)
    np.testing.assert_allclose(found, generally(wins, flip), atol=1e-3)
    sleep(0.5)  # threads of the twin go on spinning for a while
    began, worked = perf_counter(), process_time()
    for _ in range(5):
        ours()
    assert process_time() - worked < 1.2 * (perf_counter() - began)
