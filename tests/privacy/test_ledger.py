"""A ledger never pays for more than was planned, and adds up exactly."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_dprank.privacy import BudgetExhausted, Ledger

prices = st.fractions(min_value=0, max_value=3, max_denominator=10**6)
allowances = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 5), prices), min_size=1)


@pytest.mark.slow
@given(allowances, st.lists(st.sampled_from("abcdz"), max_size=40))
def test_against_a_naive_ledger(allowance, charges):
    ledger, given_so_far = Ledger(allowance), []
    for kind in charges:
        if given_so_far.count(kind) < allowance.get(kind, (0, 0))[0]:
            ledger.charge(kind)
            given_so_far.append(kind)
        else:
            with pytest.raises(BudgetExhausted):
                ledger.charge(kind)
        assert ledger.spent == sum((allowance[k][1] for k in given_so_far), Fraction(0))
        assert ledger.spent <= sum(times * price for times, price in allowance.values())
    assert isinstance(ledger.spent, Fraction)


def test_thirds_add_up():
    ledger = Ledger({"pair": (30, Fraction(1, 30))})
    for _ in range(30):
        ledger.charge("pair")
    assert ledger.spent == 1


def test_messages_name_the_kind_and_the_plan():
    ledger = Ledger({"pair": (1, Fraction(1))})
    ledger.charge("pair")
    with pytest.raises(BudgetExhausted) as error:
        ledger.charge("pair")
    assert str(error.value) == "all 1 answers planned for 'pair' are given."
    with pytest.raises(BudgetExhausted) as error:
        ledger.charge("score")
    assert str(error.value) == "no answer was planned for 'score'; a rule declares in asks(n_items) what it asks."
    assert ledger.spent == 1  # a refused answer costs nothing


def test_the_allowance_is_the_ledger_s_own():
    allowance = {"pair": (1, Fraction(1))}
    ledger = Ledger(allowance)
    allowance["pair"] = (100, Fraction(0))
    ledger.charge("pair")
    with pytest.raises(BudgetExhausted):
        ledger.charge("pair")
