"""Thresholded noise as printed: the figures of the literature, exact laws of whole reports, and refusals."""

import json
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from local_tools import answer_from, report_of, simulated_answer
from oracles import distinct_ballots, naive_counts
from scipy.stats import chisquare, norm

from sklearn_dprank import LDPKwikSort, LDPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Interactive, Local
from sklearn_dprank.collection import Device, RandomizedResponse
from sklearn_dprank.collection.randomizers import client_randomizer
from sklearn_dprank.queries import Ask, NetWins, PairMargin, estimated_margins
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import song, yan


def printed_laplace(n_queries=1):
    return yan.PrintedLaplace(n_queries)


def printed_gaussian(n_queries=1):
    return song.PrintedGaussian(1e-4, n_queries)


EVERY = [RandomizedResponse, printed_laplace, printed_gaussian]


def flip_of(protocol):
    return Fraction(*protocol["flip"])


def law_of_reports(protocol, ballot):
    """{(pairs, answers): probability} by going through all sets of pairs, coins and flips, as Fractions."""
    flip, m, k = flip_of(protocol), len(protocol["items"]), protocol["n_queries"]
    asked = list(combinations(combinations(range(m), 2), k))
    law = {}
    for pairs in asked:
        right = []  # probability of the answer "first"
        for i, j in pairs:
            right.append(1 - flip if ballot[i] < ballot[j] else flip if ballot[i] > ballot[j] else Fraction(1, 2))
        for answers in product((0, 1), repeat=k):
            chance = math.prod(p if a else 1 - p for p, a in zip(right, answers, strict=True))
            law[pairs, answers] = chance / len(asked)
    return law


@pytest.mark.parametrize(
    ("randomizer", "epsilon", "flip", "spent"),
    [
        (printed_gaussian(), 1.0, 0.4542, 0.1838),
        (printed_gaussian(), 0.5, None, 0.0919),
        (printed_gaussian(4), 1.0, None, 0.1837),
        (printed_laplace(), 1.0, math.exp(-0.5) / 2, math.log(2 * math.exp(0.5) - 1)),
        (printed_laplace(), 1.0, None, 0.832),
        (RandomizedResponse(2), 1.0, 1 / (1 + math.exp(0.5)), 1.0),
    ],
)
def test_figures_of_the_literature(randomizer, epsilon, flip, spent):
    protocol = randomizer.protocol(epsilon, 5)
    assert randomizer.spent(epsilon, 5) == pytest.approx(spent, rel=5e-4)
    if flip is not None:
        assert float(flip_of(protocol)) == pytest.approx(flip, rel=1e-3)


def test_printed_noise_has_its_flips():
    """A bit plus noise passes 1/2 with Phi(-1 / (2 sigma)), sigma = 4.3436 K; with e^(-1 / (2 scale)) / 2."""
    for k in (1, 3):
        flip = float(flip_of(printed_gaussian(k).protocol(1.0, 4)))
        assert flip == pytest.approx(norm.sf(0.5 / (k * 4.3436)), rel=1e-5)
    assert float(flip_of(printed_laplace(3).protocol(1.5, 4))) == pytest.approx(math.exp(-0.25) / 2, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 30.0, 1000.0])
def test_printed_flips_are_rounded_up(epsilon):
    """Against 40 digits; at least 2^-52, and at most a half."""
    with localcontext(prec=40):
        exact = (-Decimal(epsilon) / 2).exp() / 2
        flip = yan.PrintedLaplace().flip(str(epsilon), 1)
        assert exact <= Decimal(flip) / 2**52 and 1 <= flip <= 2**51
        assert Decimal(flip - 1) / 2**52 <= exact * (1 + Decimal(2) ** -48)


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize(("m", "k", "epsilon"), [(3, 1, 1.0), (3, 2, 3.0), (3, 3, 0.2), (4, 1, 2.0), (4, 2, 0.5)])
def test_whole_reports_spend_what_is_stated(make, m, k, epsilon):
    randomizer = make(k)
    protocol = randomizer.protocol(epsilon, m)
    laws = [law_of_reports(protocol, ballot) for ballot in distinct_ballots(m)]
    assert all(sum(law.values()) == 1 for law in laws)
    ratio = max(max(law[r] for law in laws) / min(law[r] for law in laws) for r in laws[0])
    spent = randomizer.spent(epsilon, m)
    assert math.log(ratio) == pytest.approx(spent, rel=1e-9)
    assert ratio <= Fraction(math.exp(spent)) * (1 + Fraction(1, 10**14))  # the rounding of this line itself


@pytest.mark.slow
@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize(("m", "k"), [(3, 1), (3, 2), (4, 2)])
def test_answers_estimate_margins_without_bias(make, m, k):
    randomizer = make(k)
    protocol = randomizer.protocol(1.0, m)
    asked_share = k / math.comb(m, 2)
    unbiased = Fraction(1) / (1 - 2 * flip_of(protocol))
    for ballot in distinct_ballots(m):
        mean, square = np.zeros((m, m)), 0.0
        for (pairs, answers), chance in law_of_reports(protocol, ballot).items():
            report = {"protocol": "0" * 16, "pairs": [list(p) for p in pairs], "answers": list(answers)}
            estimate = estimated_margins(answer_from(randomizer, protocol, [report]))  # of the pairs that were asked
            assert np.abs(estimate[tuple(np.array(pairs).T)]) == pytest.approx(float(unbiased), rel=1e-12)
            mean += float(chance) * estimate / asked_share
            square += float(chance) * np.mean((estimate / asked_share)[np.triu_indices(m, 1)] ** 2)
        truth = naive_counts([ballot]) - naive_counts([ballot]).T
        assert mean == pytest.approx(truth, abs=1e-9)
        assert square == pytest.approx(randomizer.variance(protocol), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("make", [printed_laplace, printed_gaussian])
@pytest.mark.parametrize("ballot", [[0, 1, 2], [1, 0, 1], [np.nan, 1, 0]])
def test_devices_and_simulation_follow_the_law(make, ballot):
    randomizer = make(2)
    protocol = json.loads(json.dumps(randomizer.protocol(1.0, 3)))
    positions = Profile.from_rankings([ballot]).positions
    law, bits, size = law_of_reports(protocol, ballot), Bits.from_random_state(0), 3000
    seen: Counter = Counter()
    for _ in range(size):
        report = report_of(protocol, positions, bits)
        answers = dict(zip(map(tuple, report["pairs"]), report["answers"], strict=True))
        pairs = tuple(sorted(answers))
        seen[pairs, tuple(answers[p] for p in pairs)] += 1
    assert set(seen) <= set(law)
    assert chisquare([seen[r] for r in law], [size * float(p) for p in law.values()]).pvalue > 1e-3
    answer = simulated_answer(randomizer, protocol, Profile.from_rankings([ballot] * 30000).positions, bits)
    ((flip, wins),) = answer
    expected = np.zeros((3, 3))
    for (pairs, answers), chance in law.items():
        for (i, j), first in zip(pairs, answers, strict=True):
            expected[(i, j) if first else (j, i)] += 30000 * float(chance)
    assert flip == float(flip_of(protocol))
    off = ~np.eye(3, dtype=bool)
    assert chisquare(wins[off], expected[off]).pvalue > 1e-3


def test_reports_of_one_noise_are_refused_by_another():
    report = LDPKwikSort(n_queries=1, randomizer=yan.PrintedLaplace()).client(3).report([0, 1, 2])
    assert set(report) == {"protocol", "pairs", "answers"}
    with pytest.raises(ValueError, match="1 'another protocol'"):
        LDPPairwise(randomizer=song.PrintedGaussian()).fit_reports([report], items=3)


@pytest.mark.parametrize(
    ("randomizer", "message"),
    [
        (song.PrintedGaussian(delta=2.0), "delta must"),
        (song.PrintedGaussian(delta=None), "delta must"),
        (yan.PrintedLaplace(n_queries=4), "n_queries must be an integer from 1 to 3"),
    ],
)
def test_parameters_out_of_bounds(randomizer, message):
    with pytest.raises(ValueError, match=message):
        randomizer.protocol(1.0, 3)


@pytest.mark.parametrize("k", range(20))
def test_no_epsilon_is_stated_below_what_is_spent(k):
    """At the first epsilon the text is rounded up in its twelfth digit by less than a double is rounded down."""
    noise, epsilon = yan.PrintedLaplace(), 0.9559071565664788 + k * 1e-3
    plans = [
        Interactive(epsilon, randomizer=noise).plan([Ask(PairMargin())], 2, 10),
        Local(epsilon, noise).plan([Ask(NetWins())], 2, 10),
    ]
    for plan in plans:
        assert Decimal(plan.guarantee.epsilon) >= client_randomizer(plan.protocol).spent(plan.protocol)
        Device(plan.protocol, max_epsilon=plan.guarantee.epsilon)
