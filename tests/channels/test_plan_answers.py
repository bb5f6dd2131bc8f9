"""Answers are never more than were planned, and what a curator has spent adds up exactly."""

from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st
from oracles import spent

from sklearn_dprank.channels import Answers
from sklearn_dprank.privacy import BudgetExhausted

prices = st.fractions(min_value=0, max_value=3, max_denominator=10**6)
plans = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 5), prices), min_size=1)


def query(kind):
    return SimpleNamespace(kind=kind)


def planned(plan):
    """Answers of a curator with these numbers and prices of planned answers."""
    answers = Answers(3, None, {kind: times for kind, (times, _) in plan.items()})
    answers.prices = {kind: SimpleNamespace(times=times, epsilon=price) for kind, (times, price) in plan.items()}
    return answers


@pytest.mark.slow
@given(plans, st.lists(st.sampled_from("abcdz"), max_size=40))
def test_against_naive_counts(plan, charges):
    answers, given_so_far = planned(plan), Counter()
    for kind in charges:
        if given_so_far[kind] < plan.get(kind, (0, 0))[0]:
            answers.charge(query(kind))
            given_so_far[kind] += 1
        else:
            with pytest.raises(BudgetExhausted):
                answers.charge(query(kind))
        assert spent(answers) == sum((plan[k][1] * times for k, times in given_so_far.items() if times), Fraction(0))
        assert spent(answers) <= sum(times * price for times, price in plan.values())


def test_messages_name_the_kind_and_the_plan():
    answers = planned({"pair": (1, Fraction(1))})
    answers.charge(query("pair"))
    with pytest.raises(BudgetExhausted) as error:
        answers.charge(query("pair"))
    assert str(error.value) == "all 1 answers planned for 'pair' are given."
    with pytest.raises(BudgetExhausted) as error:
        answers.charge(query("score"))
    assert str(error.value) == "no answer was planned for 'score'; a rule declares in asks(n_items) what it asks."
    assert spent(answers) == 1  # a refused answer is free


def test_a_plan_that_changes_later_changes_no_answers():
    plan = {"pair": 1}
    answers = Answers(3, None, plan)
    plan["pair"] = 100
    answers.charge(query("pair"))
    with pytest.raises(BudgetExhausted):
        answers.charge(query("pair"))
