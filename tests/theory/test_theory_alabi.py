"""Alabi et al. (2022): guarantees, budgets, upper and lower bounds, with counterexamples to printed forms."""

import itertools
import math

import numpy as np
import pytest
from oracles import every_total, kendall, random_margins

from sklearn_dprank import DPKwikSort, DPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.collection import HypercubeSampling, RandomizedResponse
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.orders.permutations import quicksort_query_bound
from sklearn_dprank.queries import AllMargins, PairMargin
from sklearn_dprank.theory import alabi
from sklearn_dprank.theory.alabi import (
    GUARANTEES,
    central_budget,
    corollary_bound,
    fingerprint_floor,
    group_answers,
    hypercube_answer_error,
    local_budget,
    marginal_leanings,
    marginal_lower_bound,
    marginal_ranking,
    marginal_signs,
    marginal_upper_bound,
    packing_floor,
    packing_voters,
    reduction_error,
    stopped_reduction,
)


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


# Upper bounds follow the noise of the mechanisms, and measured errors stay below them


DELTA = {"Corollary 4": 1e-6, "Corollary 7": 1e-6}
COROLLARIES = [row.source for row in GUARANTEES if row.source.startswith("Corollary")]
CENTRAL = {
    "Corollary 3": DPPairwise(),
    "Corollary 4": DPPairwise(delta=1e-6, noise="gaussian"),
    "Corollary 6": DPKwikSort(),
    "Corollary 7": DPKwikSort(delta=1e-6, noise="gaussian"),
}


def bound(source, n, m, epsilon=1.0, **options):
    return corollary_bound(source, n, m, epsilon, DELTA.get(source, 0.0), **options)


# --- how they grow, and what they are made of


@pytest.mark.parametrize("source", COROLLARIES)
def test_bounds_grow_as_the_tables_say(source):
    (row,) = (row for row in GUARANTEES if row.source == source)
    shares = [
        bound(source, n, m, epsilon).additive / row.additive(n, m, epsilon, DELTA.get(source, 0.0))
        for m in (50, 100, 200)
        for n in (4000, 64_000)
        for epsilon in (0.02, 0.08)
    ]
    assert max(shares) < 1.5 * min(shares)
    assert row.ratio <= bound(source, 4000, 50).ratio <= row.ratio + 1e-6


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("m", [8, 16])
@pytest.mark.parametrize("source", CENTRAL)
def test_bounds_are_of_the_noise_that_runs(source, m, neighboring):
    channel, rule = CENTRAL[source].set_params(neighboring=neighboring)._compose()
    prices = channel.plan(rule.asks(m), m).prices
    n, error = 500, {}
    for kind, price in prices.items():
        noise = price.mechanism
        margin = math.sqrt(2 / math.pi) * noise.sigma if hasattr(noise, "sigma") else 1 / float(noise.rate)
        error[kind] = margin / (2 * n)
    found = bound(source, n, m, neighboring=neighboring)
    if source in ("Corollary 3", "Corollary 4"):
        (kind,) = prices
        assert found.ratio == 1 and found.additive == pytest.approx(2 * math.comb(m, 2) * error[kind], rel=1e-9)
    else:
        asked, again = error[PairMargin(0, 1).kind], error.get(AllMargins().kind)
        stops = 0 if again is None else m**-4
        assert (again is None) == (m == 8) and found.ratio == 5 + stops
        expected = math.comb(m, 2) * (6 * asked + stops * 2 * (again or 0))
        assert found.additive == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("m", "n"), [(5, 100), (10, 1003)])
def test_local_bounds_are_of_the_budgets_that_run(m, n):
    assert bound("Corollary 9", n, m).additive == reduction_error(1, m, hypercube_answer_error(n, m, 1.0))
    budget = local_budget(m, 1.0)
    d = 1 / math.tanh(budget.per_answer / 2)
    asked, again = d / 2 / math.sqrt(n // m), hypercube_answer_error(n, m, 0.5)
    assert bound("Corollary 12", n, m) == pytest.approx(stopped_reduction(5, m, asked, again, 2 / m**4))
    one_pair = math.sqrt(RandomizedResponse().variance(RandomizedResponse().protocol(0.5, m)) / n) / 2
    assert one_pair == pytest.approx(0.8 * again, rel=0.03)


def test_where_sorting_has_the_smaller_bound():
    """As in the docstring: in Corollary 6 from 192 items on."""
    assert bound("Corollary 6", 10**6, 192).additive < bound("Corollary 3", 10**6, 192).additive
    assert bound("Corollary 6", 10**6, 191).additive > bound("Corollary 3", 10**6, 191).additive
    for m in (20, 100, 250):
        assert bound("Corollary 7", 10**6, m).additive > bound("Corollary 4", 10**6, m).additive
        assert bound("Corollary 12", 10**6, m).additive > bound("Corollary 9", 10**6, m).additive


# --- that they hold


def two_camps(n, m, gap, seed=0):
    """A profile whose voters hold one order or its reverse, and the order of the larger camp."""
    order = np.random.default_rng(seed).permutation(m)
    larger = round(n * (1 + gap) / 2)
    return Profile.from_rankings(
        np.vstack([np.tile(order, (larger, 1)), np.tile(m - 1 - order, (n - larger, 1))])
    ), order


@pytest.mark.parametrize("source", CENTRAL)
def test_no_mechanism_is_above_its_bound(source):
    """On votes that are as hard as can be: a gap near the noise. Ratio 1 is enough."""
    n, m, estimator = 2000, 8, CENTRAL[source].set_params(neighboring="replace")
    worst = 0.0
    for gap in (0.005, 0.01, 0.02, 0.05):
        profile, order = two_camps(n, m, gap)
        optimum = 28 * average_kendall_tau(order, profile)
        found = [
            28 * average_kendall_tau(estimator.set_params(random_state=k).fit(profile).ranks_, profile)
            for k in range(12)
        ]
        limit = bound(source, n, m)
        assert np.mean(found) <= limit.ratio * optimum + limit.additive
        worst = max(worst, np.mean(found) - optimum)
    assert 0.03 * bound(source, n, m).additive < worst <= bound(source, n, m).additive  # even at ratio 1


@pytest.mark.parametrize("m", [3, 4, 5, 8, 10])
def test_error_of_a_corner_is_within_its_bound(m):
    for epsilon in (0.5, 2.0):
        tie, cap = (
            HypercubeSampling(v).variance(HypercubeSampling(v).protocol(epsilon, m)) for v in ("half_tie", "best_cap")
        )
        limit = hypercube_answer_error(400, m, epsilon)
        assert limit == pytest.approx(math.sqrt(tie / 400) / 2, rel=1e-9)
        assert math.sqrt(cap / 400) / 2 <= limit * (1 + 1e-9)
    assert HypercubeSampling().variance(
        HypercubeSampling().protocol(4.0, 10)
    ) ** 0.5 / 40 < 0.52 * hypercube_answer_error(400, 10, 4.0)


@pytest.mark.parametrize("variant", ["corrected", "as_printed"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_lemma_10_by_simulation(variant, share):
    """New groups in each trial, answers d or -d: the mean is as near to the share as the bound, and not nearer."""
    n, m, q, epsilon, runs = 60, 5, 20, 2.0, 4000
    rng = np.random.default_rng(0)
    votes = np.arange(n) < share * n
    d = 1 / math.tanh(0.5 * epsilon * m / q / 2)
    value = votes if variant == "as_printed" else 2.0 * votes - 1
    group = rng.permuted(np.tile(value, (runs, 1)), axis=1)[:, : n // m]
    answers = np.where(rng.random(group.shape) < (1 + group / d) / 2, d, -d).mean(axis=1)
    estimate = answers if variant == "as_printed" else (1 + answers) / 2
    assert estimate.mean() == pytest.approx(share, abs=4 * estimate.std() / math.sqrt(runs))
    found, limit = np.abs(estimate - share).mean(), group_answers(n, m, epsilon, q, variant=variant).query_error
    assert 0.7 * limit < found <= limit
    asked = rng.multinomial(q, [1 / m] * m, size=runs).max(axis=1)
    overflow, bounded = np.mean(asked > 2 * q / m), group_answers(n, m, epsilon, q, variant=variant).overflow
    if variant == "corrected":
        assert overflow == pytest.approx(bounded, abs=4 * math.sqrt(bounded / runs))  # a union of rare events
    else:
        assert overflow < bounded == math.exp(-0.4)


def test_theorem_5_for_an_algorithm_that_stops_now_and_then():
    """Exact Kemeny on noisy shares, on fresher and noisier ones in a third of the runs: within the additive error."""
    rng = np.random.default_rng(1)
    shares = 0.5 + np.sign(random_margins(rng, 4)) * 0.05
    costs = every_total(shares.T)[1]
    costs = np.array(costs)
    noise, runs, excesses = {False: 0.1, True: 0.3}, 600, []
    for _ in range(runs):
        z = np.triu(rng.laplace(scale=noise[rng.random() < 1 / 3], size=(4, 4)), 1)
        _, seen = every_total((shares + z - z.T).T)
        excesses.append(costs[np.argmin(seen)] - costs.min())
    limit = stopped_reduction(1, 4, 0.1, 0.3, 1 / 3)
    assert 0.02 * limit.additive < np.mean(excesses) <= limit.additive
    assert limit == pytest.approx((4 / 3, 2 * 6 * 0.1 + 2 * 6 * 0.3 / 3))
    printed = stopped_reduction(1, 4, 0.1, 0.3, 1 / 3, variant="as_printed")
    assert printed == pytest.approx((5 / 3, 2 * 16 * 0.1 + 3 * 16 * 0.3 / 3))


# Lower bounds against enumeration, and measured errors stay above them: Theorem 13


@pytest.mark.parametrize("m", [2, 3, 5, 6])
@pytest.mark.parametrize("total", [1e-6, 0.5, 2.0, 5.0])
def test_packing_floor_against_all_rankings(m, total):
    distances = [kendall(range(m), other) for other in itertools.permutations(range(m))]
    shares = [np.mean([d <= r for d in distances]) for r in range(math.comb(m, 2))]
    expected = sum((1 - share) / (1 - share + math.exp(total) * share) for share in shares)
    assert packing_floor(4, m, total / 4) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("m", [30, 60])
def test_packing_floor_by_the_law_of_random_rankings(m):
    """The number of inversions is a sum of independent uniform ones; without privacy half of the pairs are wrong."""
    law = np.ones(1)
    for k in range(2, m + 1):
        law = np.convolve(law, np.full(k, 1 / k))
    within = np.cumsum(law)[:-1]
    expected = ((1 - within) / (1 - within + math.exp(0.7 * m) * within)).sum()
    assert packing_floor(m, m, 0.7) == pytest.approx(expected, rel=1e-9)
    assert packing_floor(1, m, 1e-12) == pytest.approx(math.comb(m, 2) / 2, rel=1e-9)
    assert packing_floor(2 * math.ceil(math.lgamma(m + 1)), m, 0.7) < 1e-6


@pytest.mark.slow
def test_voters_grow_like_items_over_epsilon():
    for m in (5, 20, 50):
        n = packing_voters(m, 0.1)
        assert packing_floor(n, m, 0.1) <= 0.01 * m**2 < packing_floor(n - 1, m, 0.1)
        assert packing_voters(m, 0.01) == pytest.approx(10 * n, abs=10)
    per_item = [packing_voters(m, 0.1) / m for m in (25, 50, 100, 200)]
    assert max(per_item) < 1.5 * min(per_item) and np.diff(np.diff(per_item)).max() < 0  # levels off
    assert packing_voters(10, 1.0, additive=45) == 1


@pytest.mark.parametrize("m", [10, 50, 100])
def test_lower_bounds_are_below_upper_bounds(m):
    """Corollary 6 needs more voters for .01 m^2 than Theorem 13 demands, by a factor of about log m."""
    enough = corollary_bound("Corollary 6", 1, m, 1.0).additive / (0.01 * m**2)
    assert packing_voters(m, 1.0) < enough
    for n in (1, 10, 100):
        assert packing_floor(n, m, 1.0) <= corollary_bound("Corollary 3", n, m, 1.0).additive
        limit = corollary_bound("Corollary 4", n, m, 0.1, 1e-6)
        assert fingerprint_floor(n, m, 0.1, 1e-6) <= limit.additive


# --- Theorem 14


@pytest.mark.parametrize(("d", "t"), [(1, 1), (1, 3), (2, 1), pytest.param(2, 3, marks=pytest.mark.slow)])
def test_leanings_say_what_middle_pairs_cost(d, t):
    """Over all rankings and signs: Observation 15 with twice the factor, met by every pi^y but for outer pairs."""
    m = 2 * d + t
    signs = np.array(list(itertools.product([-1, 1], repeat=d)))
    ballots = [marginal_ranking(x, t) for x in signs]
    outer = [i for i in range(m) if not d <= i < d + t]
    for sigma in itertools.permutations(range(m)):
        y = marginal_leanings(sigma, d)
        assert (np.abs(y) <= 1).all()
        for x, ballot in zip(signs, ballots, strict=True):
            least = t * (d - y @ x)
            outside = sum((sigma[i] < sigma[j]) != (ballot[i] < ballot[j]) for i, j in itertools.combinations(outer, 2))
            assert kendall(sigma, ballot) >= least + outside - 1e-9
    for y in signs:
        np.testing.assert_array_equal(marginal_leanings(marginal_ranking(y, t), d), y)
        for x, ballot in zip(signs, ballots, strict=True):
            wrong = np.count_nonzero(x != y)
            cost = kendall(marginal_ranking(y, t), ballot)
            assert 2 * t * wrong <= cost <= wrong * (2 * t + 4 * d - 3)


@pytest.mark.parametrize("ratio", [1.0, 5.0, 20.0])
def test_fingerprint_floor_grows_as_in_the_theorem(ratio):
    """A constant share of m^2 at n = k sqrt(m)/epsilon, the same for all m; none for many voters or much delta."""
    k = {1.0: 0.1, 5.0: 0.02, 20.0: 0.005}[ratio]
    shares = [
        fingerprint_floor(round(k * math.sqrt(m) / epsilon), m, epsilon, 1e-12, ratio) / m**2
        for m, epsilon in ((400, 0.002), (1600, 0.002), (1600, 0.0005))
    ]
    assert min(shares) > 0.02 and max(shares) < 1.05 * min(shares)
    assert fingerprint_floor(10**5, 400, 0.002, 1e-12, ratio) == 0.0
    assert fingerprint_floor(100, 400, 0.002, 0.1, ratio) == 0.0
    assert fingerprint_floor(100, 400, 0.002, 1e-5, ratio) > 0
    assert fingerprint_floor(100, 2, 0.002, 1e-5, ratio) == 0.0


def test_no_mechanism_is_below_the_fingerprint_floor_and_the_truth_is():
    """Votes with marginals drawn at random, as in the proof: excess over the cost of the signs of p, ratio 1."""
    m, d, n, epsilon, delta = 40, 8, 4, 0.05, 1e-6
    t, rng, excesses, without = m - 2 * d, np.random.default_rng(0), [], []
    floor = fingerprint_floor(n, m, epsilon, delta)
    estimator = DPPairwise(epsilon, delta, "gaussian", "borda", "replace")
    for k in range(60):
        p = rng.uniform(-1, 1, d)
        signs = np.where(rng.random((n, d)) < (1 + p) / 2, 1, -1)
        profile = Profile.from_rankings(np.array([marginal_ranking(x, t) for x in signs]))
        best = average_kendall_tau(marginal_ranking(np.sign(signs.sum(axis=0) + 0.5).astype(int), t), profile)
        found = average_kendall_tau(estimator.set_params(random_state=k).fit(profile).ranks_, profile)
        excesses.append(780 * (found - best))
        without.append(780 * (average_kendall_tau(marginal_ranking(np.sign(p), t), profile) - best))
    assert 20 < floor <= np.mean(excesses)
    assert np.mean(without) < floor + 60


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: central_budget(1, 1.0), "n_items must be an integer of at least 2"),
        (lambda: local_budget(5, -1.0), "epsilon must be a finite number above 0"),
        (lambda: reduction_error(1, 5, 0.1, variant="exact"), "variant must be"),
        (lambda: bound("Corollary 5", 100, 5), "source must be one of"),
        (lambda: corollary_bound("Corollary 3", 100, 5, 1.0, 1e-6), "delta must be positive for Corollaries 4 and 7"),
        (lambda: corollary_bound("Corollary 7", 100, 5, 1.0), "delta must be positive for Corollaries 4 and 7"),
        (lambda: bound("Corollary 12", 4, 5), "n_voters"),
        (lambda: stopped_reduction(5, 4, 0.1, 0.1, 2.0), "stops"),
        (lambda: packing_floor(5, 401, 1.0), "n_items"),
        (lambda: packing_voters(5, 1.0, additive=-1.0), "additive"),
        (lambda: fingerprint_floor(5, 5, 1.0, 1.0), "delta"),
        (lambda: fingerprint_floor(5, 5, 1.0, 0.1, 0.5), "ratio"),
    ],
)
def test_invalid_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
