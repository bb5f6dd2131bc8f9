"""Estimators and protocols ask the numbers of questions and spend the budgets that the theory modules state."""

import pytest

from sklearn_dprank import DPKwikSort
from sklearn_dprank.channels import Groups
from sklearn_dprank.collection import RandomizedResponse
from sklearn_dprank.orders.permutations import quicksort_query_bound
from sklearn_dprank.queries import Ask, PairMargin
from sklearn_dprank.theory import alabi, hay as hay_sort, yan


@pytest.mark.parametrize("m", [2, 3, 7, 12, 30])
def test_p_sort_asks_what_the_theorem_counts(m):
    rule = DPKwikSort(on_exhausted="coin")._compose()[1]
    assert rule.asks(m)[0].times == hay_sort.p_sort_max_queries(m)


@pytest.mark.parametrize("m", [5, 12, 20])
def test_groups_answer_what_the_budget_pays_for(m):
    terms = Groups().voter_load(1.0, [Ask(PairMargin(), quicksort_query_bound(m))], m, 100)
    budget = alabi.local_budget(m, 1.0)
    assert (terms.answers, terms.reserve) == (budget.n_answers, budget.fallback)
    assert (1.0 - terms.reserve) / terms.answers == pytest.approx(budget.per_answer, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.5, 9.0])
@pytest.mark.parametrize(("randomizer", "name"), [(RandomizedResponse, "rr"), (yan.PrintedLaplace, "laplace")])
def test_voters_answer_the_published_number_of_questions(randomizer, name, epsilon):
    protocol = randomizer(n_queries=None).protocol(epsilon, 6)
    assert protocol["n_queries"] == yan.best_query_count(epsilon, 6, randomizer=name, variant="as_printed")
