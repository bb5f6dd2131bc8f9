"""Tails that do not end at 2^-53, and words that no forked child deals again."""

import os

import numpy as np
import pytest
from scipy import stats

from sklearn_dprank.sampling.bit_source import BitSource, SecureBits, SeededBits


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


def test_deep_uniforms_are_uniform():
    drawn = SeededBits(3).deep_uniform(20_000)
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert drawn.min() > 0 and drawn.max() < 1


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
