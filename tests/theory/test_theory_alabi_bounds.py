"""Upper bounds of Alabi et al. (2022) follow the mechanisms' noise, and measured errors stay below them."""

import math

import numpy as np
import pytest
from oracles import ScriptedAnswers, every_total, random_margins

from sklearn_dprank import DPKwikSort, DPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.collection import HypercubeSampling, RandomizedResponse
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, excess_kendall_tau
from sklearn_dprank.queries import AllMargins, PairMargin
from sklearn_dprank.rules import KemenyRule, KwikSortRule, SortByScore
from sklearn_dprank.theory.alabi import (
    GUARANTEES,
    central_budget,
    corollary_bound,
    group_answers,
    hypercube_answer_error,
    local_budget,
    reduction_error,
    stopped_reduction,
)

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


@pytest.mark.parametrize("m", [5, 10, 20, 50, 100])
def test_the_printed_tail_holds_and_is_trivial_at_the_numbers_of_kwiksort(m):
    large = math.ceil(10 * m * math.log(m)) + 1
    exact, printed = (group_answers(10**4, m, 1.0, large, variant=v).overflow for v in ("corrected", "as_printed"))
    assert exact <= printed < 1 / m
    q = central_budget(m, 1.0).n_answers
    assert q < large / 3
    exact, printed = (group_answers(10**4, m, 1.0, q, variant=v).overflow for v in ("corrected", "as_printed"))
    assert 0.035 < exact < 0.185 and 0.25 < printed < 0.825


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


# --- clipping (footnote 2)


def noisy_and_clipped(noise, n=300, m=7, seed=0, **options):
    ballots = make_mallows(n, m, 0.8, random_state=seed)
    profile = Profile.from_rankings(ballots)
    margins = DPPairwise(0.05, noise=noise, random_state=seed, **options).fit(profile).margins_
    return profile, margins, np.clip(margins, -n, n)


@pytest.mark.parametrize(("noise", "options"), [("laplace", {}), ("gaussian", {"delta": 1e-6})])
def test_kwiksort_ranks_clipped_answers_alike(noise, options):
    """It reads signs, which clipping keeps; and a clipped answer is nowhere further from the true one."""
    for seed in range(20):
        profile, margins, clipped = noisy_and_clipped(noise, seed=seed, **options)
        assert (np.abs(margins) > 300).any()
        for strategy in ("quicksort", "binary_insertion"):
            first, second = (
                KwikSortRule(strategy=strategy).aggregate(ScriptedAnswers(answers, seed=seed)).order.tolist()
                for answers in (margins, clipped)
            )
            assert first == second
        assert (np.abs(clipped - profile.margins) <= np.abs(margins - profile.margins)).all()


def test_what_clipping_does_to_kemeny_and_borda():
    """With noise above n: Borda gains a little, Kemeny hardly; means over the same 60 draws."""
    found = {"kemeny": [], "borda": []}
    for seed in range(60):
        profile, *answers = noisy_and_clipped("laplace", seed=seed)
        for name, rule in (("kemeny", KemenyRule()), ("borda", SortByScore())):
            orders = [rule.aggregate(ScriptedAnswers(each, seed=seed)).order for each in answers]
            found[name].append([excess_kendall_tau(np.argsort(order), profile) for order in orders])
    kemeny, borda = (np.array(found[name]) for name in ("kemeny", "borda"))
    gain = borda[:, 0] - borda[:, 1]
    assert 0 < gain.mean() < 0.25 * borda[:, 0].mean()
    assert abs(kemeny[:, 0].mean() - kemeny[:, 1].mean()) < 0.1 * kemeny[:, 0].mean()


# --- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bound("Corollary 5", 100, 5), "source must be one of"),
        (lambda: corollary_bound("Corollary 3", 100, 5, 1.0, 1e-6), "delta must be positive for Corollaries 4 and 7"),
        (lambda: corollary_bound("Corollary 7", 100, 5, 1.0), "delta must be positive for Corollaries 4 and 7"),
        (lambda: bound("Corollary 12", 4, 5), "n_voters"),
        (lambda: group_answers(100, 1, 1.0, 3), "n_items must be an integer of at least 2"),
        (lambda: hypercube_answer_error(100, 5, 0.0), "epsilon must be a finite number above 0"),
        (lambda: stopped_reduction(5, 4, 0.1, 0.1, 2.0), "stops"),
    ],
)
def test_invalid_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
