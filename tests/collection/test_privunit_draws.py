"""Draws of PrivUnit: unbounded tails and the exact ratio of the levels on both sides of gamma."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from wire_vectors import DealtBits, chance

from sklearn_dprank.ballots.reading import compact_positions
from sklearn_dprank.collection import PrivUnitG
from sklearn_dprank.collection.privunit import PER_UNIT, PrivUnitRandomizer, _leans
from sklearn_dprank.sampling.bit_source import Bits


def protocol(epsilon, m, norm=1000):
    """Return a protocol with a norm that no vector reaches, so that tails are visible."""
    return {**PrivUnitG().protocol(epsilon, m), "norm": norm}


def vector(given, ballot, noise, seed=0):
    """What a device draws from these words of noise, in units; a message has points."""
    streams = (DealtBits(words) for words in (noise, chance(seed, "coins"), chance(seed, "assignment")))
    drawn = PrivUnitRandomizer().draw(
        given, compact_positions(np.array([ballot], dtype=float)), Bits(*streams, certified=False)
    )
    return drawn[0] / PER_UNIT


# --- no grid: what is rare is drawn as rarely as it should be


@pytest.mark.parametrize("epsilon", [1.0, 30.0, 36.0])
def test_the_side_is_drawn_to_the_last_word(epsilon):
    """P(below) by scripted words: those a thousandth below the threshold lead below gamma, those above it do not.

    At gamma -8 and epsilon 30 the chance is below 1e-28, which no grid of 2^-52 draws.
    """
    for gamma in (protocol(epsilon, 2)["gamma"], -8 * PER_UNIT):
        given = {**protocol(epsilon, 2), "gamma": gamma}
        high, low = given["levels"]
        above, below = (Fraction(stats.norm.cdf(x)) for x in (-gamma / PER_UNIT, gamma / PER_UNIT))
        chance_below = low * below / (high * above + low * below)
        for scale, side in ((Fraction(999, 1000), True), (Fraction(1001, 1000), False)):
            words = words_of(chance_below * scale)
            lean = _leans(given, 1, DealtBits([*words, *spare()]))[0]
            assert (lean < gamma / PER_UNIT) == side


def spare():
    """Words that are neither small nor large, enough for one lean."""
    return (word for number in range(200) for word in [2**62 + 2**58 * (number % 30)])


def words_of(chance_below):
    """The words that `deep_uniform` reads as this number: 63 bits, then 64 more each while it is small."""
    bits = [63]
    number = int(chance_below * 2**63)
    while number < 2**53:
        bits.append(64)
        number = int(chance_below * 2 ** sum(bits))
    words, left = [], sum(bits)
    for length in bits:
        left -= length
        words.append(number >> left & (2**length - 1))
    return [words[0] << 1, *words[1:]]


OTHERS = [2**62 + k for k in range(9)]  # a quarter each
ABOVE = 2**63  # a half: the side that is likelier


def ten(first):
    """Return the words of ten deep uniform numbers that begin with `first`."""
    words = words_of(first)
    return [words[0], *OTHERS, *words[1:]]


@pytest.mark.parametrize("coordinate", [0, 1, 2, 3])
def test_every_coordinate_beyond_every_grid_is_reachable(coordinate):
    """The noise beside the lean, too: each two normal numbers have a length without an end."""
    tiny = words_of(Fraction(1, 2**900))
    lengths = [2**62, 2**62]
    lengths[coordinate % 2] = tiny[0]
    turn = 2**58 if coordinate < 2 else 2**62  # mostly the cosine, or the sine
    lean = [ABOVE, *ten(Fraction(1, 4)), *ten(Fraction(1, 4))]
    said = vector(protocol(1.0, 4), [0, 1, 2, 3], [*lean, *lengths, *tiny[1:], turn, turn])
    assert np.abs(said).max() > 8.3
    assert abs(said[coordinate]) > 8.3
