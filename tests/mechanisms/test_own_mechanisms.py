"""A mechanism of one's own: what the curator asks of it."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from sklearn_dprank import Aggregator
from sklearn_dprank.channels import Central
from sklearn_dprank.mechanisms import Laplace, LaplaceNoise
from sklearn_dprank.mechanisms.base import checked_calibrated


class Own(Laplace):
    def __init__(self, made=None):
        self.made = made

    def calibrated(self, *asked):
        return self.made


@pytest.mark.parametrize(
    ("made", "got"),
    [
        (None, "None, which lacks how, arithmetic, losses, sampler"),
        (Fraction(1, 2), "Fraction(1, 2), which lacks how, arithmetic, losses, sampler"),
        (SimpleNamespace(sampler=1, losses=2), "namespace(sampler=1, losses=2), which lacks how, arithmetic"),
    ],
)
def test_what_cannot_draw_or_promise(made, got):
    with pytest.raises(ValueError) as error:
        Aggregator(Central(epsilon=1.0, noise=Own(made))).fit([[0, 1, 2]] * 9)
    assert str(error.value) == (
        f"Own.calibrated(...) must return a calibrated mechanism, with how, arithmetic, losses and sampler; got {got}."
    )


def test_ours_pass():
    noise = LaplaceNoise(Fraction(1, 2))
    assert checked_calibrated(noise, Laplace()) is noise
