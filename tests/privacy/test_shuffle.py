"""Shuffle amplification against enumeration, and against published and derived figures."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from itertools import combinations, combinations_with_replacement, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sklearn_dprank.privacy.composition import gaussian_delta
from sklearn_dprank.privacy.shuffle import (
    UnsoundAmplificationWarning,
    balanced_group_size,
    blanket_curve,
    clones_curve,
    composed_local_epsilon,
    composed_shuffle_epsilon,
    exact_curve,
    shuffle_amplification,
    shuffle_local_epsilon,
)

NUMERIC = ["exact", "blanket", "clones"]
SOUND = [*NUMERIC, "closed_form"]


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


# Enumeration: the law of the multiset of messages, as {sorted messages: probability}.


def shuffled(laws):
    """The law of the histogram of independent messages, as a vector over all histograms."""
    cells = len(laws[0])
    law = {(0,) * cells: 1.0}
    for message in laws:
        grown = {}
        for histogram, mass in law.items():
            for cell, p in enumerate(message):
                key = (*histogram[:cell], histogram[cell] + 1, *histogram[cell + 1 :])
                grown[key] = grown.get(key, 0.0) + mass * p
        law = grown
    return np.array([law[key] for key in sorted(law)])


def worst_delta(inputs, n, epsilon):
    """The largest hockey stick over all datasets of n inputs and all replacements of one."""
    worst = 0.0
    for others in combinations_with_replacement(inputs, n - 1):
        laws = [shuffled([*others, mine]) for mine in inputs]
        worst = max([worst, *(hockey_stick(p, q, epsilon) for p, q in permutations(laws, 2))])
    return worst


def binary_inputs(local_epsilon):
    f = 1 / (1 + math.exp(local_epsilon))
    return [(1 - f, f), (f, 1 - f)]


def hidden_pair_inputs(local_epsilon, n_items=3):
    """For each ranking, the law of (pair, bit): a uniform pair, its bit by randomized response."""
    f = 1 / (1 + math.exp(local_epsilon))
    pairs = list(combinations(range(n_items), 2))
    rankings = permutations(range(n_items))
    return [
        tuple(
            (1 - f if (ranking[i] < ranking[j]) == bit else f) / len(pairs) for i, j in pairs for bit in (True, False)
        )
        for ranking in rankings
    ]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize(("local_epsilon", "epsilon"), [(0.5, 0.1), (1.0, 0.0), (1.0, 0.4), (2.0, 0.2), (3.0, 2.0)])
def test_exact_curve_is_the_worst_dataset_of_binary_response(n, local_epsilon, epsilon):
    worst = worst_delta(binary_inputs(local_epsilon), n, epsilon)
    assert exact_curve(local_epsilon, n)(epsilon) == pytest.approx(worst, rel=1e-12)
    assert worst <= blanket_curve(local_epsilon, n)(epsilon) * (1 + 1e-12)
    assert worst <= clones_curve(local_epsilon, n)(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize(("n", "epsilon"), [(2, 0.3), (3, 0.3), (4, 0.1), (4, 0.5)])
def test_hidden_pair_is_at_most_as_bad_as_binary_response_of_all_users(n, epsilon):
    worst = worst_delta(hidden_pair_inputs(1.0), n, epsilon)
    assert worst == pytest.approx(exact_curve(1.0, n)(epsilon), rel=1e-9)
    assert worst <= blanket_curve(1.0, n)(epsilon)


@pytest.mark.parametrize("n", [2, 3, 7, 40])
@pytest.mark.parametrize(("local_epsilon", "epsilon"), [(1.0, 0.0), (1.0, 0.3), (2.0, 1.1)])
@pytest.mark.parametrize("name", ["blanket", "clones"])
def test_curves_are_their_defining_mixture(n, local_epsilon, epsilon, name):
    """Sum over the number C of others that answer a coin."""
    f = 1 / (1 + math.exp(local_epsilon))
    clone = 2 * f if name == "blanket" else math.exp(-local_epsilon)
    expected = 0.0
    for c in range(n):
        ones = reduce(np.convolve, [[0.5, 0.5]] * c, np.array([1.0]))
        weight = math.comb(n - 1, c) * clone**c * (1 - clone) ** (n - 1 - c)
        expected += weight * hockey_stick(np.convolve(ones, [f, 1 - f]), np.convolve(ones, [1 - f, f]), epsilon)
    curve = {"blanket": blanket_curve, "clones": clones_curve}[name](local_epsilon, n)
    assert curve(epsilon) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("n", [2, 5, 9])
@pytest.mark.parametrize(("local_epsilon", "epsilon"), [(1.0, 0.2), (2.0, 0.7)])
def test_blanket_is_the_bound_of_balle_et_al(n, local_epsilon, epsilon):
    """delta = E (L_1 + ... + L_M)_+ / (gamma n), M ~ Bin(n, gamma), W a fair coin."""
    gamma = 2 / (1 + math.exp(local_epsilon))
    e = math.exp(epsilon)
    base, total = gamma * (1 - e), 0.0
    for size in range(1, n + 1):
        weight = math.comb(n, size) * gamma**size * (1 - gamma) ** (n - size)
        for ones in range(size + 1):
            loss = size * base + 2 * (1 - gamma) * (ones - e * (size - ones))
            total += weight * math.comb(size, ones) / 2**size * max(loss, 0.0)
    assert blanket_curve(local_epsilon, n)(epsilon) == pytest.approx(total / (gamma * n), rel=1e-11)


# Columns: n, local epsilon, exact, blanket, clones, closed form (None: its condition fails).
TABLE = [
    (100, 0.5, 0.203, 0.214, 0.241, None),
    (100, 2, 1.606, 1.666, 1.999, None),
    (100, 3, 3.000, 3.000, 3.000, None),
    (1000, 1, 0.127, 0.149, 0.182, 0.566),
    (1000, 2, 0.323, 0.397, 0.546, None),
    (10000, 0.5, None, 0.0181, 0.0204, 0.094),
    (10000, 3, None, 0.226, 0.321, 0.824),
]


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"n={row[0]},eps0={row[1]}")
def test_table_at_delta_one_in_a_million(row):
    n, local_epsilon, *figures = row
    for method, figure in zip(SOUND, figures, strict=True):
        if method == "exact" and figure is None:
            continue
        expected = local_epsilon if figure is None else figure
        digits = 6e-5 if expected in (0.0181, 0.0204) else 6e-4
        assert shuffle_amplification(local_epsilon, n, 1e-6, method) == pytest.approx(expected, abs=digits)


# False claims of the literature.


def test_the_converse_of_cheu_et_al_fails():
    local_epsilon = 1 + math.log(100)
    assert exact_curve(local_epsilon, 100)(1.0) == pytest.approx(0.686, abs=5e-4)
    assert shuffle_amplification(local_epsilon, 100, 1e-4, "exact") == pytest.approx(5.605, abs=1e-3)
    with pytest.warns(UnsoundAmplificationWarning, match="false"):
        assert shuffle_amplification(local_epsilon, 100, 1e-4, "song2022") == pytest.approx(1.0)


def test_songs_claim_can_be_negative_and_inverts():
    with pytest.warns(UnsoundAmplificationWarning):
        assert shuffle_amplification(1.0, 100 // 6, 1e-4, "song2022") < 0
    with pytest.warns(UnsoundAmplificationWarning) as warned:
        assert shuffle_local_epsilon(1.0, 100, 1e-4, "song2022") == pytest.approx(1 + math.log(100))
    assert warned[0].filename == __file__  # the caller's line


# Rounding, order and limits.


@pytest.mark.parametrize("method", NUMERIC)
@pytest.mark.parametrize(("n", "delta"), [(2, 0.01), (30, 1e-6), (300, 1e-12), (300, 0.3)])
@pytest.mark.parametrize("local_epsilon", [1e-6, 0.3, 2.0, 8.0])
def test_epsilon_is_rounded_up_and_tight(method, n, delta, local_epsilon):
    curve = {"exact": exact_curve, "blanket": blanket_curve, "clones": clones_curve}[method](local_epsilon, n)
    epsilon = shuffle_amplification(local_epsilon, n, delta, method)
    assert 0 <= epsilon <= local_epsilon
    assert curve(epsilon) <= delta
    if epsilon > 0:
        assert curve(epsilon * (1 - 1e-5)) > delta or epsilon == local_epsilon


@pytest.mark.parametrize("method", SOUND)
@pytest.mark.parametrize(("n", "delta"), [(2, 0.01), (50, 1e-4), (100, 0.05), (9000, 1e-8)])
@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 5.0])
def test_local_epsilon_is_the_inverse_rounded_down(method, n, delta, epsilon):
    n = min(n, 200) if method == "exact" else n
    local_epsilon = shuffle_local_epsilon(epsilon, n, delta, method)
    assert local_epsilon >= epsilon
    assert shuffle_amplification(local_epsilon, n, delta, method) <= epsilon * (1 + 1e-8)
    assert shuffle_amplification(local_epsilon * (1 + 1e-4), n, delta, method) > epsilon


@pytest.mark.slow
@given(st.floats(0.01, 6), st.integers(2, 60), st.floats(1e-9, 0.1))
def test_methods_are_ordered(local_epsilon, n, delta):
    values = [shuffle_amplification(local_epsilon, n, delta, method) for method in SOUND]
    assert all(a <= b * (1 + 1e-6) + 1e-12 for a, b in pairwise(values))


def test_blocks_are_an_upper_bound_and_a_close_one():
    whole, blocks = shuffle_amplification(1.0, 4096, 1e-6), shuffle_amplification(1.0, 4097, 1e-6)
    assert blocks == pytest.approx(whole, rel=1e-3)


@pytest.mark.parametrize("n", [10**6, 10**8])
def test_large_shuffles_approach_the_gaussian_mechanism(n):
    """The count of ones is nearly normal: sensitivity tanh(eps0 / 2), variance n f / 2."""
    local_epsilon, delta = 1.0, 1e-6
    sigma = math.sqrt(n / (1 + math.exp(local_epsilon)) / 2)
    epsilon = shuffle_amplification(local_epsilon, n, delta)
    assert gaussian_delta(epsilon, sigma, math.tanh(local_epsilon / 2)) == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize("method", SOUND)
def test_one_message_is_not_amplified(method):
    assert shuffle_amplification(1.0, 1, 0.01, method) == shuffle_local_epsilon(1.0, 1, 0.01, method) == 1.0


def test_extreme_shuffles():
    assert shuffle_amplification(0.1, 1000, 0.5) == 0.0
    assert shuffle_local_epsilon(500.0, 100, 0.1) == 500.0
    assert shuffle_amplification(1.0, 1e3, 1e-6, "exact") == pytest.approx(0.127, abs=6e-4)  # the most messages
    assert shuffle_local_epsilon(0.2, 1e2, 1e-6, "exact") == shuffle_local_epsilon(0.2, 100, 1e-6, "exact")


def test_composition_splits_delta_and_adds_epsilon():
    total = composed_shuffle_epsilon(1.0, 1000, 1e-6, n_shuffles=4)
    assert total == pytest.approx(4 * shuffle_amplification(1.0, 1000, 2.5e-7))
    for n_shuffles in range(3, 14):  # the product is rounded up
        each = shuffle_amplification(1.0, 1000, 1e-6 / n_shuffles)
        assert Fraction(composed_shuffle_epsilon(1.0, 1000, 1e-6, n_shuffles)) >= n_shuffles * Fraction(each)
        assert n_shuffles * Fraction(composed_local_epsilon(total, 1, 1e-6, n_shuffles)) <= Fraction(total)
    assert composed_local_epsilon(total, 1, 1e-6, n_shuffles=1) == total
    each = composed_local_epsilon(total, 1000, 1e-6, n_shuffles=4)
    assert each == pytest.approx(1.0, rel=1e-6)
    assert composed_shuffle_epsilon(each, 1000, 1e-6, n_shuffles=4) <= total * (1 + 1e-8)
    assert composed_shuffle_epsilon(1.0, 1000, 1e-6, n_shuffles=1) == shuffle_amplification(1.0, 1000, 1e-6)


@pytest.mark.parametrize(("n", "m", "k", "size"), [(1000, 10, 1, 22), (1000, 10, 3, 66), (2, 3, 1, 0), (7, 2, 1, 7)])
def test_balanced_group_size(n, m, k, size):
    assert balanced_group_size(n, m, k) == size


@pytest.mark.parametrize("function", [shuffle_amplification, shuffle_local_epsilon])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 10, 0.1), "epsilon must be a number above 0"),
        ((501, 10, 0.1), "epsilon must be a number above 0 and at most 500"),
        ((math.nan, 10, 0.1), "epsilon must be a number above 0"),
        ((1, 0, 0.1), "n_messages must be a positive integer"),
        ((1, 2.5, 0.1), "n_messages must be a positive integer"),
        ((1, 10, 0), "delta must be a number above 0 and below 1"),
        ((1, 10, 1), "delta must be a number above 0 and below 1"),
        ((1, 10, 0.1, "clone"), "method must be one of"),
        ((1, 1001, 0.1, "exact"), "use method='blanket'"),
    ],
)
def test_parameters_out_of_bounds(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


def test_the_closed_form_is_that_of_the_paper_rounded_up():
    delta = 1e-6
    for n in range(10_000, 10_030):  # Feldman, McMillan and Talwar (2021), Theorem 3.1
        with localcontext(prec=40):
            e = Decimal("0.5").exp()
            inner = 8 * (e / n * (4 / Decimal(delta)).ln()).sqrt() + 8 * e / n
            exact = (1 + (e - 1) / (e + 1) * inner).ln()
            found = Decimal(shuffle_amplification(0.5, n, delta, "closed_form"))
            assert exact <= found <= exact * (1 + Decimal(2) ** -45)
    limit = math.log(10_000 / (16 * math.log(2e6)))  # of its condition
    for local_epsilon, holds in ((limit - 1e-9, True), (limit + 1e-9, False)):
        assert (shuffle_amplification(local_epsilon, 10_000, 1e-6, "closed_form") < local_epsilon) == holds


def test_every_local_epsilon_of_a_grid_is_finite():
    for local_epsilon, n in product((1e-9, 1e-3, 30.0, 500.0), (2, 5000, 10**7)):
        for method in ("blanket", "clones", "closed_form"):
            assert 0 <= shuffle_amplification(local_epsilon, n, 1e-6, method) <= local_epsilon
