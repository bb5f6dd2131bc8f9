"""Thresholded noise as printed: the figures of the literature, exact laws of whole reports, and refusals."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from scipy.stats import norm

from sklearn_dprank.channels import Interactive, Local
from sklearn_dprank.collection import Device, RandomizedResponse
from sklearn_dprank.collection.randomizers import client_randomizer
from sklearn_dprank.queries import Ask, NetWins, PairMargin
from sklearn_dprank.theory import song, yan


def printed_laplace(n_queries=1):
    return yan.PrintedLaplace(n_queries)


def printed_gaussian(n_queries=1):
    return song.PrintedGaussian(1e-4, n_queries)


def flip_of(protocol):
    return Fraction(*protocol["flip"])


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
