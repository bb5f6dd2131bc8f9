"""The reproduction of Shang et al. (2014): known answers, small settings, pictures."""

import math

import numpy as np
import pytest

from sklearn_dprank.theory.shang import printed_sigma, simple_bound

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")

# n = 2000, delta = 5e-5, m = 3: epsilon, error rate of 100,000 profiles, Theorem 2, Lemma 3, the bound of Borda
KNOWN = [
    (0.05, 0.2356, 1.408, 0.389, 0.265),
    (0.10, 0.1249, 0.925, 0.1948, 0.1325),
    (0.24, 0.0551, 0.473, 0.0812, 0.0552),
]


@pytest.fixture(scope="module")
def shang(example):
    return example("plot_shang_2014")


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "rate", "theorem", "lemma", "own"), KNOWN)
def test_error_rates_and_bounds_are_those_known(shang, epsilon, rate, theorem, lemma, own):
    assert list(shang.bounds(2000, epsilon).values()) == pytest.approx([theorem, lemma, own], abs=6e-4)
    rates = shang.measured([(2000, epsilon)], 400)
    error = shang.standard_error(rates.T)[0]
    assert error < 0.02
    assert rates.mean() == pytest.approx(rate, abs=4 * error)
    assert shang.within(rates, np.array([own])).all()


def test_what_theorem_1_gives(shang):
    known = {"add_remove": [0.0535176, 0.702627, 25.6281], "replace": [0.0792275, 1.0346815]}
    for relation, given in known.items():
        asked = (0.1, 1.0, 20.0)[: len(given)]
        assert shang.really_given(asked, 5e-5, relation) == pytest.approx(given, rel=1e-5)


@pytest.mark.parametrize(("n_items", "counts"), [(3, 6), (5, 120)])
def test_voters_needed(shang, n_items, counts):
    n = shang.voters_needed(n_items)
    bounds = [simple_bound(k, n_items, printed_sigma(0.1, 0.1 / k)) for k in (n - 1, n)]
    assert bounds[1] <= 0.1 < bounds[0]
    sigma = printed_sigma(0.1, 0.1 / n)  # C(m, 2) (m! - 1) sigma / (n sqrt(pi)) of the formula itself
    assert math.comb(n_items, 2) * (counts - 1) * sigma / math.sqrt(math.pi) / 0.1 == pytest.approx(n, rel=1e-3)
