"""A mechanism of one's own: what the curator asks of it."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from sklearn_dprank import Aggregator, DPBorda
from sklearn_dprank.channels import Central
from sklearn_dprank.mechanisms import Laplace, LaplaceNoise
from sklearn_dprank.mechanisms.additive import checked_calibrated


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


@pytest.mark.parametrize(
    ("noise", "got"),
    [
        (
            SimpleNamespace(calibrated=print),
            "namespace(calibrated=<built-in function print>), which lacks answers_with, pure, refusal",
        ),
        (SimpleNamespace(answers_with="vector", pure=True), "namespace(answers_with='vector', pure=True)."),
        ("staircase", "'staircase'."),
        (1.0, "1.0."),
    ],
)
def test_noise_that_is_not_a_mechanism(noise, got):
    with pytest.raises(ValueError, match=r"noise must be one of .* or a mechanism object, got ") as error:
        DPBorda(noise=noise).fit([[0, 1, 2]] * 9)
    assert f"got {got}" in str(error.value)


def test_rank_intervals_of_an_unknown_distribution_name_a_remedy():
    class Unknown(LaplaceNoise):
        law = None

    fitted = DPBorda(noise=Own(Unknown(Fraction(1, 2)))).fit([[0, 1, 2]] * 9)
    with pytest.raises(AttributeError) as error:
        fitted.rank_intervals()
    assert "use DPBorda with noise='laplace' or 'gaussian'" in str(error.value.__cause__)
