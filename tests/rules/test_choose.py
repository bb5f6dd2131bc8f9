"""Rule of the best k items: batches, shares of the budget and refused answers."""

from fractions import Fraction

import numpy as np
import pytest

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.privacy.rounding import round_down
from sklearn_dprank.queries import MaxViolatedPrefixMargin
from sklearn_dprank.rules import ChooseTop
from sklearn_dprank.sampling.bit_source import Bits


def asked(k, n_items, batch=None):
    return [(ask.query.k, ask.times, ask.share) for ask in ChooseTop(k, batch).asks(n_items)]


def test_top_items_are_chosen_in_even_batches():
    assert asked(1, 45) == [(1, 1, 1)]
    assert asked(3, 45) == [(3, 1, 1)]
    assert asked(5, 45) == [(3, 1, Fraction(3, 5)), (2, 1, Fraction(2, 5))]
    assert asked(10, 45) == [(3, 2, Fraction(3, 5)), (2, 2, Fraction(2, 5))]
    assert asked(10, 45, batch=1) == [(1, 10, 1)]
    assert asked(4, 200) == [(2, 2, 1)]
    assert asked(4, 31) == [(4, 1, 1)]
    assert asked(9, 12) == [(9, 1, 1)]
    assert asked(4, 1001) == [(1, 4, 1)]
    assert asked(6, 45, batch=5) == [(3, 2, 1)]  # 5 at once are too many


@pytest.mark.parametrize("m", [2, 3, 9, 20, 46, 400])
@pytest.mark.parametrize("batch", [None, 1, 2])
def test_every_place_has_the_same_share(m, batch):
    for k in {1, 2, 3, 7, m - 1}:
        if k < m:
            asks = ChooseTop(k, batch).asks(m)
            assert sum(ask.query.k * ask.times for ask in asks) == k
            assert all(ask.share == Fraction(ask.query.k * ask.times, k) for ask in asks)
            assert sum(ask.share for ask in asks) == 1


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_each_batch_has_its_share_of_epsilon(neighboring):
    """A batch of b items has epsilon b / k, as a choice of b items alone."""
    channel = Central(1.0, noise="permute_and_flip", neighboring=neighboring)
    plan = channel.plan(ChooseTop(10).asks(45), 45)
    assert {price.query.k: (price.times, price.epsilon) for price in plan.prices.values()} == {
        3: (2, round_down(1.0) * Fraction(3, 10)),
        2: (2, round_down(1.0) * Fraction(2, 10)),
    }
    for price in plan.prices.values():
        share = price.query.k / 10
        assert price.mechanism.rate == pytest.approx(share / {"add_remove": 2, "replace": 4}[neighboring], rel=1e-3)
        assert price.mechanism.rate < share / {"add_remove": 2, "replace": 4}[neighboring]
    assert plan.guarantee.epsilon == 1.0


def test_batch_beyond_the_plan_raises():
    profile = Profile.from_rankings([np.arange(6)] * 50)
    session = (
        Central(1.0, noise="permute_and_flip").plan(ChooseTop(2, 1).asks(6), 6).open(profile)(Bits.from_random_state(0))
    )
    for placed in (None, (0,)):
        session.answer(MaxViolatedPrefixMargin(1, placed))
    with pytest.raises(BudgetExhausted):
        session.answer(MaxViolatedPrefixMargin(1, (0, 1)))
    with pytest.raises(BudgetExhausted):
        session.answer(MaxViolatedPrefixMargin(2))
