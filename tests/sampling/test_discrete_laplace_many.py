"""Laplace noise by a table: every step to its last bit, every word that a step falls on, and the law."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from audit_tools import Biased, Dealt
from oracles import seeded
from scipy import stats

from sklearn_dprank.sampling import discrete_laplace as module
from sklearn_dprank.sampling.discrete_laplace import LEAST_RATE, many_laplace

RATES = [Fraction(50), Fraction(5), Fraction(1), Fraction(355, 113), Fraction(1, 7), LEAST_RATE]
each_rate = pytest.mark.parametrize("rate", RATES, ids=str)


def at_least(rate, k, digits=200):
    """P(x >= k) for k > 0, to many digits, each by itself."""
    with localcontext(prec=digits):
        r = Decimal(rate.numerator) / rate.denominator
        return (-r * k).exp() / (1 + (-r).exp())


@each_rate
def test_every_step_is_the_integer_part(rate):
    steps, _ = module._table(rate)
    half = len(steps) // 2
    for k in {*range(1, min(half, 60) + 1), half - 1, half, *range(1, half, 1 + half // 40)}:
        with localcontext(prec=200):
            assert int(steps[half - k]) == int(2**64 * at_least(rate, k))
            assert int(steps[half + k - 1]) == int(2**64 * (1 - at_least(rate, k)))
    assert steps[0] == 0 and steps[1] > 0 and (steps[1:] >= steps[:-1]).all()


@each_rate
def test_the_table_agrees_with_the_steps(rate):
    steps, table = module._table(rate)
    for code in [*range(40), *range(40, 2**16, 997), *range(2**16 - 40, 2**16)]:
        first = np.array([code << 48, (code << 48) + 2**48 - 1], dtype=np.uint64)
        low, high = len(steps) // 2 - steps.searchsorted(first, side="right")
        touched = ((steps >= first[0]) & (steps <= first[1])).any()
        assert table[code] == (module._UNDECIDED if touched else low) and (touched or low == high)


def reference(rate, words):
    """What a u with these words amounts to, by its definition and 300 digits: the largest k with P(x >= k) > u."""
    u = sum(Decimal(word) / 2 ** (64 * (k + 1)) for k, word in enumerate(words))
    with localcontext(prec=300):
        mirrored = u >= Decimal(1) / 2
        v = 1 - u if mirrored else u
        r = Decimal(rate.numerator) / rate.denominator
        y = -(v * (1 + (-r).exp())).ln() / r
        return -int(y) if mirrored else int(y)


@each_rate
@pytest.mark.parametrize("further", [0, 1, 2**63, 2**64 - 1, 0x123456789ABCDEF])
def test_words_that_begin_like_a_step_are_settled(rate, further):
    steps, _ = module._table(rate)
    half = len(steps) // 2
    for step in {0, 1, half // 2, half - 1, half, half + 1, 2 * half - 2, 2 * half - 1} & set(range(2 * half)):
        word, mirrored = int(steps[step]), int(steps[step]) >= 2**63
        tail = [further, 0x2545F4914F6CDD1D]
        drawn = many_laplace(rate, 1, Dealt(word >> 48, (word << 16) % 2**64, *tail))
        # Beyond the first word, a mirrored u is drawn as 1 - u.
        digits = [2**64 - 1 - digit for digit in tail] if mirrored else tail
        with localcontext(prec=300):
            assert drawn.tolist() == [reference(rate, [word, *digits])]


@each_rate
def test_the_law(rate):
    size = 40_000
    drawn = many_laplace(rate, size, seeded(3))
    r = float(rate)
    reach = np.arange(-60, 61) if r > 0.1 else np.arange(-6000, 6001, 250)
    chance = np.exp(-r * np.where(reach > 0, reach, 1 - reach)) / (1 + np.exp(-r))
    behind = np.where(reach > 0, chance, 1 - chance)  # P(x >= k)
    expected = -np.diff([1, *behind, 0]) * size
    found = -np.diff([size, *(np.count_nonzero(drawn >= k) for k in reach), 0])
    common = expected > 8
    if common.sum() > 1:
        rest = [expected[~common].sum(), found[~common].sum()]
        expected, found = [*expected[common], rest[0] + 1e-9], [*found[common], rest[1] + 1e-9]
        assert stats.chisquare(found, np.array(expected) / sum(expected) * sum(found)).pvalue > 1e-3
    else:
        assert (drawn == 0).all()


@pytest.mark.slow
def test_rare_words_end():
    drawn = many_laplace(Fraction(1, 30), 20_000, Biased(0))
    assert np.abs(drawn).max() > 64 * 30 * np.log(2)  # what begins with 64 zeros


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5])
def test_few(size):
    drawn = many_laplace(Fraction(1), size, seeded())
    assert drawn.shape == (size,) and drawn.dtype == np.int64


def test_a_huge_rate_gives_zeros():
    assert not many_laplace(Fraction(2**31), 1000, seeded()).any()


def test_a_small_rate_is_refused():
    with pytest.raises(ValueError, match=r"rate must be at least 1/1000, got 0\.0005"):
        many_laplace(Fraction(1, 2000), 10, seeded())


def test_steps_too_near_to_tell_are_worked_out_further(monkeypatch):
    """The first few digits do not decide, so they are doubled until they do."""
    expected = module._table.__wrapped__(Fraction(1, 7))[0].tolist()
    monkeypatch.setattr(module, "_DIGITS", 24)
    assert module._table.__wrapped__(Fraction(1, 7))[0].tolist() == expected
