"""The hypercube randomizer: exact laws over all ballots, the printed mechanism's fault, the published figures."""

import json
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, chain, combinations, product, repeat

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from local_tools import answer_from, report_of, simulated_answer
from oracles import distinct_ballots, naive_counts
from scipy.stats import chisquare
from wire_vectors import DealtBits

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.collection import HypercubeSampling
from sklearn_dprank.collection.hypercube import LEAD, WeightedLaw
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.sampling.bit_source import Bits, SeededBits

VARIANTS = ["best_cap", "half_tie"]


def own_corners(ballot):
    """The corners that a voter's coins may complete the ballot to, equally likely."""
    options = [(1,) if a < b else (0,) if a > b else (0, 1) for a, b in combinations(ballot, 2)]
    return list(product(*options))


def law_of_corners(protocol, ballot):
    """{corner: probability} from the definition, as Fractions."""
    high, low = protocol["levels"]
    d = math.comb(len(protocol["items"]), 2)
    if protocol["variant"] == "best_cap":
        level = [2 * (high if k <= protocol["cap"] else low) for k in range(d + 1)]
    else:
        level = [2 * high if 2 * k < d else 2 * low if 2 * k > d else high + low for k in range(d + 1)]
    own = own_corners(ballot)
    total = len(own) * sum(math.comb(d, k) * level[k] for k in range(d + 1))
    return {
        z: Fraction(sum(level[sum(a != b for a, b in zip(v, z, strict=True))] for v in own), total)
        for z in product((0, 1), repeat=d)
    }


def report_on(corner, protocol):
    signs = np.packbits(np.array(corner, dtype=bool)).tobytes().hex()
    return {"protocol": digest(protocol), "signs": signs}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_exactly_private_and_unbiased_over_all_ballots(variant, m, epsilon):
    randomizer = HypercubeSampling(variant)
    protocol = randomizer.protocol(epsilon, m)
    corners = list(product((0, 1), repeat=math.comb(m, 2)))
    estimates = [answer_from(randomizer, protocol, [report_on(corner, protocol)]) for corner in corners]
    off = np.triu_indices(m, 1)
    assert np.abs([e[off] for e in estimates]) == pytest.approx(randomizer.variance(protocol) ** 0.5)
    least, most = dict.fromkeys(corners, Fraction(1)), dict.fromkeys(corners, Fraction(0))
    for ballot in distinct_ballots(m):
        law = law_of_corners(protocol, ballot)
        assert sum(law.values()) == 1
        for z, p in law.items():
            least[z], most[z] = min(least[z], p), max(most[z], p)
        mean = np.tensordot([float(law[z]) for z in corners], np.array(estimates), axes=1)
        counts = naive_counts([ballot])
        assert mean == pytest.approx(counts - counts.T, abs=1e-9)
    ratio = max(most[z] / least[z] for z in corners)
    assert Decimal(ratio.numerator) / Decimal(ratio.denominator) <= Decimal(repr(epsilon)).exp()
    assert math.log(ratio) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(
    ("variant", "factors"), [("half_tie", [34.1, 18.1, 11.0, 8.7]), ("best_cap", [33.6, 16.9, 8.6, 4.4])]
)
def test_published_noise_of_a_margin(variant, factors):
    randomizer = HypercubeSampling(variant)
    for epsilon, factor in zip([0.5, 1, 2, 4], factors, strict=True):
        assert randomizer.variance(randomizer.protocol(epsilon, 10)) ** 0.5 == pytest.approx(factor, abs=0.06)


@settings(max_examples=60)
@given(m=st.integers(2, 9), epsilon=st.floats(0.01, 20))
def test_the_scale_is_the_formula_and_the_cap_the_best(m, epsilon):
    d, e = math.comb(m, 2), math.exp(epsilon)

    def scale(k):
        inside = sum(math.comb(d, j) for j in range(k + 1))
        return (e * inside + 2**d - inside) / ((e - 1) * math.comb(d - 1, k))

    protocol = HypercubeSampling().protocol(epsilon, m)
    best = min(map(scale, range(d)))
    assert scale(protocol["cap"]) == pytest.approx(best, rel=1e-12)
    assert HypercubeSampling.variance(protocol) ** 0.5 == pytest.approx(best, rel=1e-6)
    half_tie = HypercubeSampling.variance(HypercubeSampling("half_tie").protocol(epsilon, m)) ** 0.5
    assert half_tie == pytest.approx((e + 1) / (e - 1) * 2 ** (d - 1) / math.comb(d - 1, d // 2), rel=1e-6)
    assert best <= half_tie * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("ballot", "epsilon"), [([0, 1, 2], 1.0), ([1, 0, 1], 3.0), ([np.nan, 0, 1], 0.5)])
def test_devices_and_simulation_follow_the_law(variant, ballot, epsilon):
    protocol = json.loads(json.dumps(HypercubeSampling(variant).protocol(epsilon, 3)))
    law, bits, size = law_of_corners(protocol, ballot), Bits.from_random_state(3), 4000
    name = {report_on(z, protocol)["signs"]: z for z in law}
    positions = Profile.from_rankings([ballot]).positions
    reports = [report_of(protocol, positions, bits) for _ in range(size)]
    seen = Counter(name[report["signs"]] for report in reports)
    assert chisquare([seen[z] for z in law], [size * float(p) for p in law.values()]).pvalue > 1e-3


def test_margins_of_four_items_from_mixed_ballots():
    X = distinct_ballots(4)
    X = X[np.random.default_rng(0).integers(len(X), size=60000)]
    protocol = HypercubeSampling().protocol(4.0, 4)
    answer = simulated_answer(
        HypercubeSampling, protocol, Profile.from_rankings(X).positions, Bits.from_random_state(1)
    )
    counts = naive_counts(X)
    error = answer - (counts - counts.T) / len(X)
    assert np.abs(error).max() < 4 * np.sqrt(HypercubeSampling.variance(protocol) / len(X))
    assert np.array_equal(answer, -answer.T)


def test_a_wrong_variant():
    with pytest.raises(ValueError, match="variant must be one of"):
        HypercubeSampling("cap").protocol(1.0, 3)


# --- exact draws by weight: against fractions, at the boundaries of the law


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
    index = WeightedLaw(weights).pick(np.array([lead]), DealtBits(chain(words, repeat(0))))
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
