"""Bradley-Terry strengths against a naive iteration, a general solver and a peer, alone and beside other work."""

from functools import partial
from time import perf_counter, process_time, sleep

import numpy as np
import pytest
from benchmark_tools import compare
from long_tools import compared, make_votes
from scipy.optimize import minimize
from scipy.special import expit

from sklearn_dprank import BradleyTerry
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


def with_evalica(first, second, outcome, m):
    """Strengths by the Rust solver of evalica, from lists of codes."""
    from evalica import Winner, _brzo

    winners = [{1: Winner.X, -1: Winner.Y, 0: Winner.Draw}[each] for each in outcome.tolist()]
    columns = {"xs": first.tolist(), "ys": second.tolist(), "winners": winners, "weights": [1.0] * len(first)}
    options = {"win_weight": 1.0, "tie_weight": 0.5, "tolerance": 1e-6, "limit": 1000}
    return lambda: np.log(_brzo.bradley_terry(**columns, total=m, **options)[0])


def with_numpy(first, second, outcome, m):
    """Strengths by the same iteration, one item at a time."""

    def strengths():
        wins, s, before = np.zeros((m, m)), np.ones(m), np.zeros(m)
        np.add.at(wins, (first, second), (1 + outcome) / 2)
        np.add.at(wins, (second, first), (1 - outcome) / 2)
        while np.linalg.norm(s - before) > 1e-6:
            before = s.copy()
            for i in range(m):
                s[i] = (wins[i] * s / (s[i] + s)).sum() / (wins[:, i] / (s[i] + s)).sum()
            s /= np.exp(np.log(s).mean())
        return np.log(s)

    return strengths


@pytest.mark.parametrize("solver", [with_evalica, with_numpy], ids=["evalica", "numpy"])
def test_against_the_solver_of_evalica(benchmark, solver):
    """From codes, with ties, each row another person; evalica is not required."""
    _, _, first, second, outcome = make_votes(129, 50_000, 20, np.random.default_rng(0), exposure="even")
    profile = compared(np.arange(len(first)), first, second, outcome, 129)
    try:
        twin = solver(first, second, outcome, 129)
    except ImportError:
        pytest.skip("evalica is not installed")
    found = compare(benchmark, lambda: BradleyTerry(1e-6).fit(profile).strengths_, twin, at_least=1)
    np.testing.assert_allclose(found, twin() - twin().mean(), atol=1e-3)
