"""Poisson numbers have their exact law for every rate, also if a decision is close."""

import math
from fractions import Fraction

import numpy as np
import pytest
from oracles import seeded
from scipy import stats

from sklearn_dprank.sampling import poisson as module
from sklearn_dprank.sampling.bit_source import BitSource
from sklearn_dprank.sampling.poisson import many_poisson, poisson

RATES = [Fraction(1, 50), Fraction(2, 3), Fraction(1), Fraction(29, 10), Fraction(17), Fraction(1000, 7)]
law_of = module._law


@pytest.mark.parametrize("draw", [poisson, many_poisson])
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_law(rate, draw):
    drawn, r = draw(rate, 8000, seeded(3)), float(rate)
    cells = np.arange(stats.poisson.ppf(1e-3, r), stats.poisson.ppf(1 - 1e-3, r) + 1)
    expected = np.diff([0, *stats.poisson.cdf(cells, r), 1]) * 8000
    found = np.diff([0, *(np.count_nonzero(drawn <= k) for k in cells), 8000])
    rare = expected < 10
    expected = [*expected[~rare], expected[rare].sum()] if rare.any() else expected
    found = [*found[~rare], found[rare].sum()] if rare.any() else found
    assert stats.chisquare(found, expected).pvalue > 1e-3


@pytest.mark.parametrize("draw", [poisson, many_poisson])
@pytest.mark.parametrize("rate", [Fraction(10**7, 3), Fraction(10**13)], ids=str)
def test_large_rates_are_normal(rate, draw):
    drawn = (draw(rate, 4000, seeded(5)) - float(rate)) / math.sqrt(rate)
    assert stats.kstest(drawn, stats.norm.cdf).pvalue > 1e-3


@pytest.mark.parametrize("rate", [*RATES, Fraction(10**5 + 1, 3)], ids=str)
def test_every_number_has_its_probability(rate):
    """The proposal, times the exact chance to accept, is proportional to Poisson's law: to ten digits."""
    law = law_of(rate)
    steps = range(-min(law.mode, 60), 60)
    chances = np.array([float(module._chance(law, j, 64)) for j in steps])
    assert chances.max() < 1
    weights = chances * np.exp(-np.abs(np.array(steps)) / law.width)
    likely = stats.poisson.logpmf(law.mode + np.array(steps), float(rate))
    seen = likely > -200
    np.testing.assert_allclose(np.diff(np.log(weights[seen])), np.diff(likely[seen]), atol=1e-7)


@pytest.mark.parametrize("rate", [*RATES, Fraction(10**5 + 1, 3), Fraction(10**7)], ids=str)
def test_doubles_are_as_near_as_they_are_trusted(rate):
    law = law_of(rate)
    for j in range(-min(law.mode, 40), 41, 4):
        near = module._log_ratio(law, j) + abs(j) / law.width - float(law.bound)
        exact = module._chance(law, j, 64)
        assert abs(near - math.log(exact)) < module._TRUST / 100 * (1 + abs(near))
    steps = np.arange(-min(law.mode, 3 * law.width), 6 * law.width)
    one_by_one = [module._log_ratio(law, j) for j in steps.tolist()]
    np.testing.assert_allclose(module._log_ratios(law, steps), one_by_one, rtol=module._TRUST / 100, atol=1e-11)


class OneWord(BitSource):
    def __init__(self, words):
        super().__init__()
        self.left = list(words)

    def integer(self, bound):
        return self.left.pop(0)

    def words(self, size):
        return np.array([self.left.pop(0) for _ in range(size)], dtype=np.uint64)


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("step", [0, 1, 3])
def test_close_decisions_are_exact(rate, step):
    """A uniform number just below the chance is accepted, one just above is not; on the edge more words decide."""
    law = law_of(rate)
    edge = module._chance(law, step, 300)
    lead = math.floor(edge * 2**64)
    second = math.floor((edge * 2**64 - lead) * 2**64)
    for words, accepted in [([lead - 1], 1), ([lead + 1], 0), ([lead, second - 1], 1), ([lead, second + 1], 0)]:
        assert module._accepted(law, step, OneWord(words)) == accepted
        assert module._all_accepted(law, np.array([step]), OneWord(words)).tolist() == [accepted]


def test_bounds():
    for rate in (0, -1, Fraction(2**61)):
        with pytest.raises(ValueError, match="rate must be above 0 and at most"):
            poisson(rate, 1, seeded())
    assert poisson(Fraction(3), 0, seeded()).shape == (0,)
