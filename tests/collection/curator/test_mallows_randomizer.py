"""The Mallows randomizer: exact laws over all ballots, the unbiased scores, and refusals."""

import json
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from local_tools import answer_from, report_of, simulated_answer
from oracles import distinct_ballots, naive_counts
from scipy.stats import chisquare

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.collection.curator import MallowsRandomizer, RefusedReport
from sklearn_dprank.collection.curator.mallows import _scores
from sklearn_dprank.sampling.streams import Bits


def overtakings(centre, report):
    """For each place of the centre, how many of its predecessors come after it in the report."""
    items = sorted(range(len(centre)), key=centre.__getitem__)
    return [sum(report[earlier] > report[item] for earlier in items[:place]) for place, item in enumerate(items)]


def completions(ballot):
    """{complete ranking: probability}: tied items shuffled, silent ones at either end by coins and shuffled there."""
    m, law = len(ballot), Counter()
    silent = [i for i in range(m) if np.isnan(ballot[i])]
    for ends in product((-1.0, m + 1.0), repeat=len(silent)):
        placed = np.array(ballot)
        placed[silent] = ends
        fitting = [
            r
            for r in permutations(range(m))
            if all(
                (placed[i] <= placed[j]) if r[i] < r[j] else (placed[j] <= placed[i])
                for i, j in combinations(range(m), 2)
            )
        ]
        for ranking in fitting:
            law[ranking] += Fraction(1, 2 ** len(silent) * len(fitting))
    return law


def law_of_rankings(protocol):
    """{(centre, report): probability} of repeated insertion with the protocol's integer weights."""
    w, m = protocol["weights"], len(protocol["items"])
    total = math.prod(sum(w[: place + 1]) for place in range(m))
    rankings = list(permutations(range(m)))
    return {(c, r): Fraction(math.prod(w[v] for v in overtakings(c, r)), total) for c in rankings for r in rankings}


def law_of_reports(laws, ballot):
    out: Counter = Counter()
    for centre, share in completions(ballot).items():
        for report in permutations(range(len(ballot))):
            out[report] += share * laws[centre, report]
    return out


def estimate(protocol, report):
    return answer_from(MallowsRandomizer, protocol, [{"protocol": "0" * 16, "positions": list(report)}])


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 6.0])
def test_exactly_private_and_unbiased_over_all_ballots(m, epsilon):
    protocol = MallowsRandomizer().protocol(epsilon, m)
    laws = law_of_rankings(protocol)
    reports = list(permutations(range(m)))
    estimates = np.array([estimate(protocol, report) for report in reports])
    assert np.mean(estimates**2, axis=1) == pytest.approx(MallowsRandomizer.variance(protocol))
    least, most = dict.fromkeys(reports, Fraction(1)), dict.fromkeys(reports, Fraction(0))
    for ballot in distinct_ballots(m):
        law = law_of_reports(laws, ballot)
        assert sum(law.values()) == 1
        for report, p in law.items():
            least[report], most[report] = min(least[report], p), max(most[report], p)
        mean = np.array([float(law[report]) for report in reports]) @ estimates
        counts = naive_counts([ballot])
        assert mean == pytest.approx((counts - counts.T).sum(axis=1), abs=1e-9)
    ratio = max(most[report] / least[report] for report in reports)
    assert Decimal(ratio.numerator) / Decimal(ratio.denominator) <= Decimal(repr(epsilon)).exp()
    assert math.log(ratio) == pytest.approx(epsilon, rel=1e-9)


def test_the_law_is_mallows_model():
    protocol = MallowsRandomizer().protocol(3.0, 4)
    laws, centre = law_of_rankings(protocol), (2, 0, 3, 1)
    weights = {
        r: math.exp(
            -0.5 * sum((a - b) * (c - d) < 0 for (a, c), (b, d) in combinations(zip(centre, r, strict=True), 2))
        )
        for r in permutations(range(4))
    }
    total = sum(weights.values())
    for r, weight in weights.items():
        assert float(laws[centre, r]) == pytest.approx(weight / total, rel=1e-12)


@pytest.mark.parametrize("m", [2, 5, 7, 12, 30])
@pytest.mark.parametrize("theta", [1e-3, 0.05, 0.7, 2.0])
def test_scores_undo_the_law_of_one_place(m, theta):
    # The law of where the item at each true place is reported, by following it through the insertions.
    phi = np.exp(-theta)
    at = np.zeros((m, m))
    for place in range(m):
        law = phi ** np.arange(place, -1, -1.0)  # of the position of the item inserted last
        law /= law.sum()
        moved = at[:place, :place] * np.cumsum(law)[:place]  # it lands at or before an earlier item
        at[:place, :place] -= moved
        at[:place, 1 : place + 1] += moved
        at[place, : place + 1] = law
    assert at.sum(axis=0) == pytest.approx(np.ones(m))
    scores = _scores({"items": list(range(m)), "epsilon": repr(theta * math.comb(m, 2))})
    assert at @ scores == pytest.approx(m - 1 - 2.0 * np.arange(m), abs=1e-9 * np.abs(scores).max())
    assert scores.sum() == pytest.approx(0, abs=1e-9 * np.abs(scores).max())


def test_published_noise_of_a_borda_score():
    for epsilon, std in [(0.5, 141), (1, 71), (2, 35), (4, 18)]:
        variance = MallowsRandomizer.variance(MallowsRandomizer().protocol(epsilon, 10)) - (10**2 - 1) / 3
        assert variance**0.5 / 2 == pytest.approx(std, rel=0.02)


@pytest.mark.parametrize(("m", "epsilon"), [(3, 200.0), (40, 1e-3), (2, 1.0), (100, 1000.0)])
def test_the_worst_ratio_of_the_integer_weights_is_within_epsilon(m, epsilon):
    weights = MallowsRandomizer().protocol(epsilon, m)["weights"]
    assert min(weights) >= 1 and max(weights) == weights[0] == 2**52 and sorted(weights, reverse=True) == weights
    spent = math.fsum(math.log(weights[0] / w) for w in weights)
    assert spent <= epsilon
    if min(weights) > 2**40:
        assert spent == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("ballot", "epsilon"), [([0, 2, 1], 2.0), ([1, 0, 1], 4.0), ([np.nan, 0, 1], 4.0)])
def test_devices_and_simulation_follow_the_law(ballot, epsilon):
    protocol = json.loads(json.dumps(MallowsRandomizer().protocol(epsilon, 3)))
    law = law_of_reports(law_of_rankings(protocol), ballot)
    positions, bits, size = Profile.from_rankings([ballot]).positions, Bits.from_random_state(5), 5000
    seen = Counter(tuple(report_of(protocol, positions, bits)["positions"]) for _ in range(size))
    assert chisquare([seen[r] for r in law], [size * float(p) for p in law.values()]).pvalue > 1e-3

    answer = simulated_answer(MallowsRandomizer, protocol, Profile.from_rankings([ballot] * 40000).positions, bits)
    counts = naive_counts([ballot])
    error = answer - (counts - counts.T).sum(axis=1)
    assert np.abs(error).max() < 4.5 * np.sqrt(1.5 * MallowsRandomizer.variance(protocol) / 40000)


def test_net_wins_of_mixed_ballots():
    X = distinct_ballots(4)
    X = X[np.random.default_rng(0).integers(len(X), size=60000)]
    protocol = MallowsRandomizer().protocol(6.0, 4)
    answer = simulated_answer(
        MallowsRandomizer, protocol, Profile.from_rankings(X).positions, Bits.from_random_state(2)
    )
    counts = naive_counts(X)
    error = answer - (counts - counts.T).sum(axis=1) / len(X)
    assert np.abs(error).max() < 4 * np.sqrt(MallowsRandomizer.variance(protocol) / len(X))


GOOD = {"protocol": "0" * 16, "positions": [2, 0, 1]}


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ({**GOOD, "extra": 0}, "wrong keys"),
        ({**GOOD, "positions": [0, 1]}, "not one position for each item"),
        ({**GOOD, "positions": "012"}, "not one position for each item"),
        ({**GOOD, "positions": [0, 1, 1]}, "not a ranking"),
        ({**GOOD, "positions": [1, 2, 3]}, "not a ranking"),
        ({**GOOD, "positions": [0, 1, 2.0]}, "not a ranking"),
        ({**GOOD, "positions": [0, 1, None]}, "not a ranking"),
        ({**GOOD, "positions": [False, True, 2]}, "not a ranking"),
    ],
)
def test_refusals(report, reason):
    protocol = MallowsRandomizer().protocol(1.0, 3)
    MallowsRandomizer.read(GOOD, protocol)
    with pytest.raises(RefusedReport) as refused:
        MallowsRandomizer.read(report, protocol)
    assert refused.value.reason == reason
