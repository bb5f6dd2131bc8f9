"""One of several options: its law, from the likeliest to what comes once in e^100000 draws."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import stats

from sklearn_dprank.orders.samplers import Choice, log_choice_error
from sklearn_dprank.sampling.bit_source import BitSource, SeededBits

WEIGHTS = {
    "even": np.zeros(7),
    "two": np.array([0.0, -40.0]),
    "falling": -30.25 * np.arange(8),
    "equal and rare": np.array([-500.0, 0.0, -500.0, -500.0, -3.0, -500.0]),
    "beyond doubles": np.array([-1e5, 2.0, -2000.0, -np.inf, -1e5 + 1, 1.0]),
}


class At(BitSource):
    """Stands for the uniform number."""

    def __init__(self, log_uniform):
        super().__init__()
        self.where = log_uniform

    def log_uniform(self, size):
        return np.full(size, self.where)


def reached(log_weights):
    """Options in the order of the uniform number, and the log of the number from which each comes, by bisection."""
    choice, low, found = Choice(log_weights), -1e7, []
    while True:
        option, ends, starts = choice.at(low), 0.0, low
        found.append((option, low))
        if choice.at(-1e-300) == option:
            return found
        ends = -1e-300
        for _ in range(200):
            middle = (starts + ends) / 2
            starts, ends = (middle, ends) if choice.at(middle) == option else (starts, middle)
        low = ends


@pytest.mark.parametrize("log_weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_every_option_has_its_probability(log_weights):
    """Each is reached on an interval of the uniform number that is as long as its probability, in high precision."""
    found = reached(log_weights)
    assert sorted(option for option, _ in found) == np.flatnonzero(log_weights > -np.inf).tolist()
    with localcontext() as context:
        context.prec = 60
        weights = {k: Decimal(float(w)).exp() for k, w in enumerate(log_weights) if w > -np.inf}
        ends = [Decimal(start).exp() for _, start in found[1:]] + [Decimal(1)]
        starts = [Decimal(0), *ends[:-1]]
        for (option, _), start, end in zip(found, starts, ends, strict=True):
            chance = weights[option] / sum(weights.values())
            allowed = log_choice_error(len(weights), -float(chance.ln()))
            assert abs(float(((end - start) / chance).ln())) <= allowed


def test_draws_follow_the_law():
    log_weights = np.log([0.5, 0.2, 0.25, 0.05])
    bits, choice = SeededBits(1), Choice(log_weights)
    draws = [choice.draw(bits) for _ in range(20_000)]
    assert stats.chisquare(np.bincount(draws), np.exp(log_weights) * 20_000).pvalue > 1e-3


def test_error_grows_with_what_is_drawn():
    assert log_choice_error(10, 0.0) == pytest.approx(40 * 2.0**-53)
    assert log_choice_error(10, 100.0, 5) == pytest.approx(3200 * 2.0**-53)
    assert log_choice_error(10, math.inf) == math.inf
