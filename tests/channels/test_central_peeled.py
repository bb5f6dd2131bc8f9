"""The peeled prudent order, `DPPrudentOrder` with a delta: parameters, refusals, budgets and accuracy."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from accuracy_tools import mean_excess

from sklearn_dprank import Aggregator, DPBorda, DPPrudentOrder
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee, guarantee_of
from sklearn_dprank.privacy.composition import choice_range
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.rules import ChooseOneByOne, ChooseTop

DELTA = 1e-6


def prices(estimator, n_items):
    channel, rule = estimator._compose()
    return channel.plan(rule.asks(n_items), n_items).prices


@pytest.mark.parametrize(("neighboring", "moves"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("m", [2, 3, 9, pytest.param(45, marks=pytest.mark.slow)])
def test_each_choice_has_the_range_that_all_together_may_have(m, neighboring, moves):
    (price,) = prices(DPPrudentOrder(0.7, DELTA, neighboring=neighboring), m).values()
    assert price.times == m - 1 and price.sensitivity.l1 == 2 * moves
    width = choice_range(0.7, DELTA, m - 1)
    assert 0 < 1 - price.mechanism.rate * 2 * moves / width < 1e-3


def test_rounding_may_widen_the_range_at_both_ends():
    pure, peeled = (Central(1.0, delta, "exponential").plan(ChooseOneByOne().asks(2), 2).prices for delta in (0, DELTA))
    lost = [
        width - 2 * price.mechanism.rate
        for prices, width in ((pure, 1.0), (peeled, choice_range(1.0, DELTA, 1)))
        for price in prices.values()
    ]
    assert 1.9 < lost[1] / lost[0] < 2.1


@pytest.mark.parametrize("m", [2, 17, pytest.param(60, marks=pytest.mark.slow)])
def test_a_fit(m):
    fitted = DPPrudentOrder(50.0, DELTA, random_state=0).fit(np.tile(np.arange(m)[::-1], (400, 1)))
    assert fitted.consensus_.tolist() == list(range(m))[::-1]
    assert (fitted.privacy_.epsilon, fitted.privacy_.delta) == (50.0, DELTA)
    assert fitted.privacy_.how.startswith("exponential mechanism") and f"{m - 1} x" in fitted.privacy_.how
    assert guarantee_of(fitted) == fitted.privacy_


def test_the_peeled_order_equals_its_channel_and_rule():
    X = make_mallows(100, 6, 0.7, random_state=3)
    whole = Aggregator(Central(0.5, 1e-5, "exponential"), ChooseOneByOne(), random_state=4).fit(X)
    named = DPPrudentOrder(0.5, 1e-5, random_state=4).fit(X)
    np.testing.assert_array_equal(whole.ranks_, named.ranks_)
    assert whole.privacy_ == named.privacy_
    names = ["tea", "milk", "water", "wine", "juice", "rum"]
    assert sorted(named.fit(pd.DataFrame(X, columns=names)).consensus_) == sorted(names)


def test_one_choice_more_is_not_answered():
    class OneMore(ChooseOneByOne):
        def asks(self, n_items):
            (ask,) = super().asks(n_items)
            return [ask._replace(times=ask.times - 1)]

    with pytest.raises(BudgetExhausted):
        Aggregator(Central(1.0, DELTA, "exponential"), OneMore(), random_state=0).fit([[0, 1, 2, 3]] * 9)


@pytest.mark.parametrize(
    ("estimator", "n_items", "message"),
    [
        (DPPrudentOrder(delta=DELTA, window=7), 30, "a window needs delta=0, got window=7 and delta=1e-06; set delta"),
        (
            Aggregator(Central(1.0, DELTA, "exponential"), ChooseTop(5)),
            45,
            "with a delta, choices of one kind use the whole budget; use delta=0",
        ),
        (DPPrudentOrder(delta=-1e-6), 5, "delta must be a number in \\[0, 1\\), got"),
        (DPPrudentOrder(delta=1.0), 5, "delta must be a number in \\[0, 1\\), got"),
        (DPPrudentOrder(delta="1e-6"), 5, "delta must be a number"),
        (DPPrudentOrder(), 17, "the prudent order of 17 items needs a window .* one after another, with delta=1e-6"),
    ],
)
def test_refusals(estimator, n_items, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit([range(n_items)] * 3)
    budget = PrivacyBudget(1.0, 1e-5)
    with pytest.raises(ValueError, match=message):
        budget.fit(estimator, [range(n_items)] * 3)
    assert budget.spent_.epsilon == 0


def test_few_voters_are_warned_of_where_their_number_is_public():
    """By the range of one choice, which is far above epsilon over the number of choices."""
    estimator = DPPrudentOrder(1.0, DELTA, neighboring="replace")
    least = 2 * math.log(20) / choice_range(1.0, DELTA, 19)
    with pytest.warns(UserWarning, match="the best 1 of 20 items are little better than chance"):
        estimator.fit([range(20)] * math.floor(least))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit([range(20)] * math.ceil(least))
        DPPrudentOrder(1.0, DELTA).fit([range(20)] * 2)  # no warning, because the number of voters is private


def test_budgets_and_compositions_add_epsilons_and_deltas():
    X = [[0, 1, 2, 3]] * 50
    budget = PrivacyBudget(1.0, 1e-5)
    fits = [budget.fit(DPPrudentOrder(0.5, DELTA), X) for _ in range(2)]
    assert budget.spent_.epsilon == pytest.approx(1.0) and budget.spent_.delta == pytest.approx(2 * DELTA)
    with pytest.raises(BudgetExhausted):
        budget.fit(DPPrudentOrder(0.1, DELTA), X)
    total = PrivacyGuarantee.compose([one.privacy_ for one in fits])
    assert total.epsilon <= 1.0 and total.delta == pytest.approx(2 * DELTA)
    assert fits[0].privacy_.under_replace().epsilon == 1.0 and fits[0].privacy_.under_replace().delta > 2 * DELTA
    once = PrivacyBudget(0.5, DELTA)
    once.fit(DPPrudentOrder(0.5, DELTA), X)


def test_persons_and_weights():
    """A person of up to three votes moves margins by 3 votes, on a grid of 720720 units a vote."""
    X = np.tile(np.arange(20), (900, 1))
    groups, votes = np.repeat(np.arange(300), 3), Profile.from_rankings(X)
    persons = Profile.from_rankings(X, groups=groups, max_weight=3)
    found = DPPrudentOrder(3.0, DELTA, random_state=0).fit(persons)
    assert found.consensus_.tolist() == list(range(20)) and found.privacy_.unit != "ballot"
    rates = [
        next(iter(channel.plan(rule.asks(20), 20, bound=bound).prices.values())).mechanism.rate
        for bound in (None, persons.bound)
        for channel, rule in [DPPrudentOrder(3.0, DELTA)._compose()]
    ]
    assert votes.bound is None and rates[0] / rates[1] == pytest.approx(3 * 720720, rel=1e-9)
    with pytest.raises(ValueError, match="max_weight='auto' needs Gaussian noise"):
        DPPrudentOrder(3.0, DELTA).fit(Profile.from_rankings(X, groups=groups, max_weight="auto"))


# Accuracy


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101, 102, 103])
def test_mallows_45(seed):
    """At epsilon .1, at most .01 points; Gaussian `DPBorda` has about .15."""
    votes = [Profile.from_rankings(make_mallows(5000, 45, 0.75, random_state=seed))]
    assert mean_excess(DPPrudentOrder(0.1, DELTA), votes, repeats=20) <= 0.01
    assert mean_excess(DPBorda(0.1, DELTA, "gaussian"), votes, repeats=5) > 0.1
