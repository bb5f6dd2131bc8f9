"""Every draw of a bit source against its exact law, tails beyond 2^-53, and every way to open one."""

import copy
import math
import os
import pickle
from itertools import permutations

import numpy as np
import pytest
from audit_tools import Dealt
from oracles import seeded
from scipy import stats

from sklearn_dprank.sampling.bit_source import Bits, BitSource, SecureBits, seed_sequence

P_VALUE = 1e-3


def uniform_p(draws, n_cells):
    return stats.chisquare(np.bincount(draws, minlength=n_cells)).pvalue


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 16, 17, 100])
def test_integers_are_uniform(bound):
    draws = seeded(bound).integers(bound, 30_000)
    assert draws.dtype == np.int64
    assert draws.min() >= 0
    assert draws.max() < bound
    assert bound == 1 or uniform_p(draws, bound) > P_VALUE


@pytest.mark.parametrize("bound", [1, 2, 3, 45, 990, 70_000, 2**32 + 1, 2**63])
def test_many_integers_out_of_one_word_are_uniform(bound):
    draws = seeded(bound % 97).many_integers(bound, 30_001)
    assert draws.shape == (30_001,) and draws.dtype == np.min_scalar_type(bound) and draws.max() < bound
    if 1 < bound < 1000:
        assert uniform_p(draws, bound) > P_VALUE
    if bound > 1:
        assert stats.kstest((draws + seeded(1).uniform(30_001)) / bound, "uniform").pvalue > P_VALUE
        assert abs(stats.pearsonr(draws[:-1].astype(float), draws[1:].astype(float))[0]) < 4 / math.sqrt(30_000)


def test_many_integers_below_one_use_no_word():
    bits, other = seeded(4), seeded(4)
    assert bits.many_integers(1, 1000).tolist() == [0] * 1000
    assert bits.integer(2**63) == other.integer(2**63)


def test_many_integers_are_independent_within_a_word():
    """All triples at every place of a word: neighbours in the answer, and numbers from one word."""
    draws = seeded(3).many_integers(3, 41 * 2000).reshape(-1, 2000).astype(int)  # a row is one place in the words
    for a, b, c in [(0, 1, 2), (0, 17, 39), (38, 37, 36)]:
        triples = 9 * draws[a] + 3 * draws[b] + draws[c]
        assert uniform_p(triples, 27) > P_VALUE


@pytest.mark.parametrize("bound", [2, 3, 17])
def test_single_integers_are_uniform(bound):
    bits = seeded(20)
    assert uniform_p([bits.integer(bound) for _ in range(10_000)], bound) > P_VALUE


@pytest.mark.parametrize("bound", [3 * 2**61, 2**62 + 1, 2**63])
def test_large_bounds_are_uniform(bound):
    draws = seeded(21).integers(bound, 5000)
    assert draws.min() >= 0
    assert stats.kstest(draws / bound, "uniform").pvalue > P_VALUE
    bits = seeded(22)
    single = np.array([bits.integer(bound) / bound for _ in range(2000)])
    assert stats.kstest(single, "uniform").pvalue > P_VALUE


def test_each_draw_may_have_its_own_bound():
    bounds = np.tile([1, 2, 7, 30], 8000)
    draws = seeded(23).integers(bounds, len(bounds)).reshape(-1, 4)
    assert all(uniform_p(draws[:, k], bound) > P_VALUE for k, bound in enumerate([1, 2, 7, 30]) if bound > 1)
    assert not draws[:, 0].any()


@pytest.mark.parametrize("bound", [0, -1, 2**63 + 1, [3, 0, 3]])
def test_bounds_out_of_range_are_refused(bound):
    with pytest.raises(ValueError, match="bound must lie"):
        seeded().integers(bound, 3)


@pytest.mark.parametrize("bound", [0, -5, 2**64 + 1])
def test_single_bounds_out_of_range_are_refused(bound):
    with pytest.raises(ValueError, match="bound must lie"):
        seeded().integer(bound)


def test_coins_are_fair_and_independent():
    coins = seeded(24).coins(80_000)
    assert coins.dtype == bool
    octets = coins.reshape(-1, 8) @ (1 << np.arange(8))
    assert uniform_p(octets, 256) > P_VALUE


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000])
def test_sizes(size):
    bits = seeded()
    for draw in (bits.words, bits.coins, bits.uniform, bits.deep_uniform, bits.normal):
        assert draw(size).shape == (size,)
    assert bits.integers(3, size).shape == (size,)


@pytest.mark.parametrize("draw", ["one", "rows"])
def test_permutations_are_uniform(draw):
    bits, rounds = seeded(25), 12_000
    rows = bits.permutations(rounds, 4) if draw == "rows" else [bits.permutation(4) for _ in range(rounds)]
    index = {order: k for k, order in enumerate(permutations(range(4)))}
    assert uniform_p([index[tuple(map(int, row))] for row in rows], math.factorial(4)) > P_VALUE


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_permutations_hold_every_item(n):
    np.testing.assert_array_equal(np.sort(seeded().permutation(n)), np.arange(n))
    np.testing.assert_array_equal(np.sort(seeded().permutations(3, n), axis=1), np.tile(np.arange(n), (3, 1)))


class OneArray(BitSource):
    """Deals one array of words."""

    def __init__(self, *arrays):
        super().__init__()
        self.arrays = list(arrays)

    def words(self, size):
        return self.arrays.pop(0)[:size]


@pytest.mark.parametrize("spread", [2**10, 2**53, 2**64 - 1])
def test_a_long_permutation_is_the_order_of_its_words(spread):
    """Also if all their leading bits are equal, or some of them."""
    rng = np.random.default_rng(0)
    words = rng.permutation(1000).astype(np.uint64) * np.uint64(spread // 1000) + np.uint64(spread % 1000)
    np.testing.assert_array_equal(OneArray(words).permutation(1000), np.argsort(words))
    twice = words.copy()
    twice[17] = twice[900]
    np.testing.assert_array_equal(OneArray(twice, words[::-1]).permutation(1000), np.argsort(words[::-1]))


@pytest.mark.parametrize("size", [1, 5, 38, 39])
def test_few_integers_are_the_first_digits_of_a_word(size):
    [word] = seeded(1).integers(3**39, 1).tolist()
    assert seeded(1).many_integers(3, size).tolist() == [word // 3**k % 3 for k in range(size)]


@pytest.mark.parametrize("n", [5, 21, 23, 40])
def test_rows_of_permutations_are_independent_and_uniform_at_every_place(n):
    """Rows share words, and wide rows take several: where two items stand, in one row and in two."""
    rows = seeded(n).permutations(6001, n).astype(int)
    for a, b in [(0, 1), (n - 2, n - 1), (0, n - 1)]:
        classes = np.bincount(rows[:, a] * 5 // n, minlength=5) / 6001
        expected = np.bincount(np.arange(n) * 5 // n, minlength=5) / n
        assert stats.chisquare(classes * 6001, expected * 6001).pvalue > P_VALUE
        joint = np.histogram2d(rows[:-1, a], rows[1:, b], bins=(5, 5))[0]
        assert stats.chi2_contingency(joint).pvalue > P_VALUE
        assert stats.binomtest(int((rows[:, a] < rows[:, b]).sum()), 6001).pvalue > P_VALUE


@pytest.mark.parametrize("n", [256, 257])
def test_the_last_bound_may_need_a_wider_dtype(n):
    np.testing.assert_array_equal(np.sort(seeded().permutations(2, n), axis=1), np.tile(np.arange(n), (2, 1)))


@pytest.mark.parametrize(("name", "law"), [("uniform", "uniform"), ("normal", "norm")])
def test_real_draws_have_their_law(name, law):
    assert stats.kstest(getattr(seeded(26), name)(20_000), law).pvalue > P_VALUE


class Constant(BitSource):
    """The same word for ever, to see the ends of the range."""

    def __init__(self, word):
        super().__init__()
        self.word = word

    def _read(self, size):
        return np.full(size, self.word, dtype=np.uint64)


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_uniform_never_reaches_its_ends(word):
    bits = Constant(word)
    assert 0 < bits.uniform(1)[0] < 1
    assert np.isfinite(bits.normal(1)).all()


@pytest.mark.parametrize("source", [seeded, SecureBits])
def test_no_word_is_dealt_twice(source):
    bits = source()
    words = np.concatenate([bits.words(size) for size in (1, 3, 64, 500, 2, 60, 65, 4000, 1)])
    assert len(np.unique(words)) == len(words)


def test_single_draws_go_through_the_buffer_word_by_word():
    bits = seeded(2)
    drawn = [bits.integer(2**64) for _ in range(1300)]  # over two refills
    assert drawn == np.random.Philox(np.random.SeedSequence(2)).random_raw(1300).tolist()


@pytest.mark.parametrize("bound", [1, 3, 900, 2**62 + 1, 2**63])
@pytest.mark.parametrize("size", [0, 1, 40, 700])
def test_one_bound_and_equal_bounds_draw_the_same(bound, size):
    expected = seeded(4).integers(np.full(size, bound, dtype=np.uint64), size)
    for one in (bound, np.uint64(bound), np.asarray(bound, dtype=np.uint64)):
        drawn = seeded(4).integers(one, size)
        assert drawn.dtype == np.int64
        np.testing.assert_array_equal(drawn, expected)


def test_streams_are_the_spawned_children():
    children = np.random.SeedSequence(7).spawn(3)
    for stream, child in zip(Bits.from_random_state(7), children, strict=False):
        np.testing.assert_array_equal(stream.words(600), np.random.Philox(child).random_raw(600))


@pytest.mark.parametrize("read", [0, 1, 40])
def test_a_copy_of_a_seeded_stream_goes_on_as_the_stream_does(read):
    bits = seeded(8)
    bits.words(read)
    copies = [copy.deepcopy(bits), pickle.loads(pickle.dumps(bits))]
    expected = np.concatenate([bits.words(30), bits.words(600)])
    for copied in copies:
        np.testing.assert_array_equal(np.concatenate([copied.words(30), copied.words(600)]), expected)


@pytest.mark.parametrize("read", [0, 1, 40])
def test_a_copy_of_the_secure_source_never_repeats_its_words(read):
    bits = SecureBits()
    bits.words(read)
    sources = [bits, copy.copy(bits), copy.deepcopy(bits), pickle.loads(pickle.dumps(bits))]
    words = np.concatenate([source.words(size) for source in sources for size in (30, 600)])
    assert len(np.unique(words)) == len(words)


def test_secure_source_is_uniform_and_fresh():
    assert uniform_p(SecureBits().integers(10, 20_000), 10) > 1e-6
    assert not np.array_equal(SecureBits().words(10), SecureBits().words(10))


def test_none_is_certified_and_different_every_time():
    first, second = Bits.from_random_state(None), Bits.from_random_state(None)
    assert first.certified
    words = [bits.words(8) for opened in (first, second) for bits in (opened.noise, opened.coins, opened.assignment)]
    assert len(np.unique(np.concatenate(words))) == 48


@pytest.mark.parametrize("kind", [int, np.int64, np.random.default_rng, np.random.RandomState])
def test_seeds_reproduce_their_streams_and_streams_differ(kind):
    first, again, other = (Bits.from_random_state(kind(seed)) for seed in (7, 7, 8))
    assert not first.certified
    streams = [first.noise, first.coins, first.assignment, other.noise, other.coins, other.assignment]
    words = np.concatenate([bits.words(100) for bits in streams])
    assert len(np.unique(words)) == 600
    np.testing.assert_array_equal(words[:100], again.noise.words(100))
    np.testing.assert_array_equal(words[200:300], again.assignment.words(100))


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_advanced_once(kind):
    generator = kind(3)
    opened, later = Bits.from_random_state(generator), Bits.from_random_state(generator)
    assert (opened.noise.words(10) != later.noise.words(10)).all()


def test_seed_sequence_of_none_is_fresh():
    assert seed_sequence(None).entropy != seed_sequence(None).entropy


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match=r"must be None, an int of at least 0, .* got -1"):
        Bits.from_random_state(-1)


@pytest.mark.parametrize("random_state", ["7", 1.5, [1, 2]])
def test_other_types_are_refused(random_state):
    with pytest.raises(ValueError, match="random_state must be None"):
        Bits.from_random_state(random_state)


class Zeros(BitSource):
    """So many zero words, then ones."""

    def __init__(self, zeros):
        super().__init__()
        self.zeros = zeros

    def _read(self, size):
        return np.array([2**64 - 1 if k >= self.zeros else 0 for k in range(size)], dtype=np.uint64)


@pytest.mark.parametrize("zeros", [1, 3, 40])
def test_logs_of_uniforms_have_no_least(zeros):
    """63 bits of the first word, 64 of each further one."""
    expected = -(63 + 64 * (zeros - 1)) * np.log(2)
    assert Zeros(zeros).log_uniform(1)[0] == pytest.approx(expected, rel=1e-14)
    assert Zeros(zeros).one_log_uniform() == Zeros(zeros).log_uniform(1)[0]


def test_logs_of_uniforms_are_logs_of_uniforms():
    logs = seeded(30).log_uniform(20_000)
    assert np.all(logs < 0)
    np.testing.assert_allclose(np.exp(logs), seeded(30).deep_uniform(20_000), rtol=1e-12)
    bits = seeded(30)
    np.testing.assert_allclose([bits.one_log_uniform() for _ in range(64)], seeded(30).log_uniform(64), rtol=1e-15)


def test_a_broken_source_ends():
    bits = Constant(0)
    assert -(2.0**21) < bits.one_log_uniform() < -(2.0**19)
    assert bits.deep_uniform(1)[0] == 2.0**-1000


@pytest.mark.parametrize("numerator", [0, 1, 2**44 - 1, 2**44, 5 * 2**44 + 12345, 2**51 + 7, 2**52 - 1, 2**52])
def test_trials_are_exact_to_the_last_bit(numerator):
    """True for just `numerator` of the 2^52 equally likely (byte, 44 further bits)."""
    lead, rest = divmod(numerator, 2**44)
    every = Dealt(*np.arange(256, dtype=np.uint8).view(np.uint64).tolist(), rest, rest, rest)
    certain = every.trials(numerator, 256)
    assert certain[:lead].all() and not certain[lead + 1 :].any()
    if lead < 256:
        for further in {0, rest - 1, rest, 2**44 - 1} - {-1}:
            assert Dealt(lead, further).trials(numerator, 1).tolist() == [further < rest]


@pytest.mark.parametrize("chance", [0.001, 0.05, 0.7])
def test_trials_are_independent(chance):
    size = 80_000
    drawn = seeded(9).trials(round(chance * 2**52), size)
    assert stats.binomtest(int(drawn.sum()), size, chance).pvalue > P_VALUE
    pairs = np.bincount(2 * drawn[:-1:2] + drawn[1::2], minlength=4)
    law = np.outer([1 - chance, chance], [1 - chance, chance]).ravel() * size / 2
    common = law > 5
    assert stats.chisquare(pairs[common], law[common] / law[common].sum() * pairs[common].sum()).pvalue > P_VALUE


# Tails, and words that no forked child deals again


class Words(BitSource):
    """Deals the given words, then ones."""

    def __init__(self, *given):
        super().__init__()
        self.given = list(given)

    def _read(self, size):
        dealt = self.given[:size]
        self.given = self.given[size:]
        return np.array(dealt + [2**64 - 1] * (size - len(dealt)), dtype=np.uint64)


@pytest.mark.parametrize("zeros", [0, 1, 2, 5])
def test_a_small_number_takes_as_many_words_as_it_needs(zeros):
    """The digits of one number: 63 of the first word, then 64 of each further one, until 53 of them count."""
    [drawn] = Words(*[0] * zeros, 3 << 61).deep_uniform(1)
    assert drawn == pytest.approx(0.375 * 2.0 ** -max(64 * zeros - 1, 0), rel=2**-52, abs=0)


def test_small_numbers_among_others_take_a_word_each():
    drawn = Words(2**63, 2**20, 2**10, 3 << 61, 2**60).deep_uniform(3)
    exact = [0.5, 2.0**-44 + 0.375 * 2.0**-63, 2.0**-54 + 2.0**-67]
    np.testing.assert_allclose(drawn, exact, rtol=2**-52)
    assert drawn[1] != 2.0**-44


@pytest.mark.parametrize("zeros", [1, 2, 5])
def test_normal_tails_go_as_far_as_chance_does(zeros):
    """Beyond the 8.3 standard deviations at which a grid of 2^-53 ends."""
    [drawn] = Words(*[0] * zeros, 3 << 61).normal(1)
    assert drawn == pytest.approx(stats.norm.ppf(0.375 * 2.0 ** (-64 * zeros)), rel=1e-12, abs=0)
    assert drawn < -9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_deals_words_of_its_own():
    bits = SecureBits()
    bits.words(1)  # fills the buffer that both would deal from
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, bits.words(16).tobytes())
        os._exit(0)
    os.close(writing)
    theirs = np.frombuffer(os.read(reading, 128), dtype=np.uint64)
    os.waitpid(child, 0)
    os.close(reading)
    assert len(set(theirs.tolist()) | set(bits.words(16).tolist())) == 32
