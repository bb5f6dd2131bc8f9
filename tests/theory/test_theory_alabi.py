"""Alabi et al. (2022): guarantees, budgets and marginal bounds, with counterexamples to printed forms."""

import itertools
import math

import numpy as np
import pytest
from oracles import kendall

from sklearn_dprank.orders.permutations import quicksort_query_bound
from sklearn_dprank.theory import alabi
from sklearn_dprank.theory.alabi import marginal_lower_bound, marginal_ranking, marginal_signs, marginal_upper_bound


def test_guarantees_are_the_tables():
    rows = {g.source: g for g in alabi.GUARANTEES}
    assert {s for s, g in rows.items() if g.trust == "local"} == {"Corollary 9", "Corollary 12"}
    assert {s for s, g in rows.items() if not g.pure} == {"Corollary 4", "Corollary 7"}
    assert {s for s, g in rows.items() if g.ratio == 5} == {"Corollary 6", "Corollary 7", "Corollary 12"}
    assert [s for s, g in rows.items() if not g.efficient] == ["Hay et al. (2017)"]
    n, m, eps, delta = 10_000, 50, 0.5, 1e-6
    beta = {s: g.additive(n, m, eps, delta) for s, g in rows.items()}
    assert beta["Corollary 3"] == pytest.approx(50**4 / 5000)
    assert beta["Corollary 9"] == pytest.approx(50**3 / 50)
    # the second reduction gains a factor of m or sqrt(m), up to logarithms
    assert beta["Corollary 3"] / beta["Corollary 6"] == pytest.approx(m / math.log(m))
    assert beta["Corollary 4"] / beta["Corollary 7"] == pytest.approx(math.sqrt(m / math.log(m)))
    assert beta["Corollary 9"] / beta["Corollary 12"] == pytest.approx(math.sqrt(m) / math.log(m))
    for g in rows.values():
        growth = 4 if g.trust == "central" else 2
        assert g.additive(n, m, eps, delta) == pytest.approx(growth * g.additive(4 * n, m, eps, delta))
        assert g.additive(n, m, eps, delta) == pytest.approx(2 * g.additive(n, m, 2 * eps, delta))


@pytest.mark.parametrize("seed", range(20))
def test_reduction_error_over_unordered_pairs(seed):
    rng = np.random.default_rng(seed)
    m = 4
    pairs = list(itertools.combinations(range(m), 2))
    w, noise = rng.random(len(pairs)), rng.laplace(scale=0.2, size=len(pairs))

    def cost(order, weights):
        return sum(1 - x if order.index(i) < order.index(j) else x for (i, j), x in zip(pairs, weights, strict=True))

    orders = list(itertools.permutations(range(m)))
    true, seen = (np.array([cost(o, v) for o in orders]) for v in (w, w + noise))
    assert np.abs(true - seen).max() <= np.abs(noise).sum() + 1e-12
    found = true[np.argmin(seen)]
    assert found <= true.min() + alabi.reduction_error(1, m, np.abs(noise).mean()) + 1e-12


def test_reduction_error_variants():
    assert alabi.reduction_error(5, 10, 0.1) == pytest.approx(27)
    assert alabi.reduction_error(5, 10, 0.1, variant="as_printed") == pytest.approx(60)


@pytest.mark.parametrize("m", [2, 3, 4, 5, 10, 12, 20, 50, 200])
@pytest.mark.parametrize("split", [alabi.central_budget, alabi.local_budget])
def test_budgets_spend_epsilon_exactly(split, m):
    budget = split(m, 0.7)
    assert budget.total == pytest.approx(0.7, rel=1e-12)
    assert budget.fallback in (0.0, 0.35)


def test_central_budget_has_no_fallback_when_every_pair_is_paid():
    for m in range(2, 40):
        budget = alabi.central_budget(m, 1.0)
        assert (budget.fallback == 0) == (budget.n_answers == math.comb(m, 2))
    assert alabi.central_budget(10, 1.0).per_answer == pytest.approx(1 / 45)
    assert alabi.central_budget(20, 1.0).per_answer == pytest.approx(1 / 300)


def test_local_budget_keeps_a_fallback_though_every_pair_is_paid():
    # m = 5: q = C(5, 2) = 10, but tau = 7 answers a group can be exceeded
    assert quicksort_query_bound(5) == 10
    assert alabi.local_budget(5, 1.0) == (7, 1 / 14, 0.5)
    assert alabi.group_overflow_bound(10, 5, 7) == pytest.approx(3.9e-4, abs=1e-5)
    assert alabi.local_budget(3, 1.0) == (3, 1 / 3, 0.0)


@pytest.mark.parametrize("m", [5, 10, 20, 50])
def test_printed_local_budget_overspends(m):
    q = quicksort_query_bound(m)
    budget = alabi.local_budget(m, 1.0, variant="as_printed")
    assert budget.per_answer == pytest.approx(m / (2 * q))
    assert 1.45 < budget.total <= 1.5 + 1e-12  # 2 q/m answers, rounded down


@pytest.mark.parametrize("nominal", [0.1, 1.0, 3.0])
def test_printed_response_wastes_budget(nominal):
    d = (math.exp(nominal) + 1) / (math.exp(nominal) - 1)
    answer = {w: np.array([(1 + w / d) / 2, (1 - w / d) / 2]) for w in (-1, 0, 1)}
    printed = np.abs(np.log(answer[1] / answer[0])).max()
    assert alabi.printed_response_epsilon(nominal) == pytest.approx(printed)
    assert np.abs(np.log(answer[1] / answer[-1])).max() == pytest.approx(nominal)


def all_signs(d):
    return np.array(list(itertools.product([-1, 1], repeat=d)))


@pytest.mark.parametrize(("d", "t"), [(1, 1), (1, 3), (2, 0), (2, 1), (2, 2)])
def test_observation_15_over_all_rankings(d, t):
    rng = np.random.default_rng(d + t)
    for n in (1, 1, 2, 3):
        signs = rng.choice([-1, 1], size=(n, d))
        ballots = [marginal_ranking(x, t) for x in signs]
        for sigma in itertools.permutations(range(2 * d + t)):
            distance = np.mean([kendall(sigma, b) for b in ballots])
            assert distance >= marginal_lower_bound(np.array(sigma), signs, t) - 1e-12


@pytest.mark.parametrize(("d", "t"), [(1, 1), (2, 3), (3, 10)])
def test_observation_15_fails_with_the_printed_sign(d, t):
    for x in all_signs(d):
        ranking = marginal_ranking(x, t)
        np.testing.assert_array_equal(marginal_signs(ranking, d), x)
        np.testing.assert_array_equal(marginal_signs(ranking, d, variant="as_printed"), -x)
        # a ranking at distance 0 from the only ballot, printed bound t d
        assert marginal_lower_bound(ranking, [x], t, variant="as_printed") == t * d > kendall(ranking, ranking)


@pytest.mark.parametrize(("d", "t"), [(1, 0), (1, 5), (2, 1), (2, 10), (3, 4)])
def test_observation_16_over_all_guesses(d, t):
    rng = np.random.default_rng(d + t)
    for signs in [*all_signs(d)[:, None], rng.choice([-1, 1], size=(4, d))]:
        ballots = [marginal_ranking(x, t) for x in signs]
        for guess in all_signs(d):
            distance = np.mean([kendall(marginal_ranking(guess, t), b) for b in ballots])
            assert distance <= marginal_upper_bound(guess, signs, t) + 1e-12


def test_observation_16_fails_as_printed():
    distance = kendall(marginal_ranking([1, 1], 10), marginal_ranking([-1, -1], 10))
    assert distance - marginal_upper_bound([1, 1], [[-1, -1]], 10, variant="as_printed") == 16


@pytest.mark.parametrize("t", [0, 4])
def test_marginal_ranking_is_a_ranking(t):
    for x in all_signs(3):
        positions = marginal_ranking(x, t)
        assert sorted(positions) == list(range(6 + t))
        np.testing.assert_array_equal(positions[3 : 3 + t], np.arange(3, 3 + t))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alabi.central_budget(1, 1.0), "n_items must be an integer of at least 2"),
        (lambda: alabi.local_budget(5, -1.0), "epsilon must be a finite number above 0"),
        (lambda: alabi.reduction_error(1, 5, 0.1, variant="exact"), "variant must be"),
    ],
)
def test_errors_name_the_gaussian_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()
