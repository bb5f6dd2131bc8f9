"""Three compositions of a channel and a rule, step by step, give what their estimators give.

A fit is a plan with prices, a session on the ballots, and a rule that reads its answers.
"""

from fractions import Fraction

import pytest
from oracles import spent

from sklearn_dprank import DPBorda, DPKwikSort
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import AllMargins, PairMargin
from sklearn_dprank.rules import KwikSortRule, SortByScore
from sklearn_dprank.sampling.bit_source import Bits

M = 5
X = make_mallows(400, M, 0.5, random_state=0)


def test_central_borda():
    plan = Central(epsilon=0.5).plan(SortByScore().asks(M), M)
    (price,) = plan.prices.values()
    assert (price.times, price.epsilon, price.mechanism.rate) == (1, Fraction(1, 2), Fraction(1, 24))
    session = plan.open(Profile.from_rankings(X))(Bits.from_random_state(0))
    order = SortByScore().aggregate(session).order
    assert spent(session) == Fraction(1, 2)
    fitted = DPBorda(epsilon=0.5, random_state=0).fit(X)
    assert fitted.consensus_.tolist() == order.tolist()
    assert str(fitted.privacy_) == "epsilon = 0.5 (central, add_remove; simulation only: a seed was given)"
    assert fitted.privacy_.how == "discrete Laplace noise on 1 x NetWins"
    assert str(DPBorda(epsilon=0.5).fit(X).privacy_) == "epsilon = 0.5 (central, add_remove)"


def kwiksort_with_kemeny(max_queries):
    """Return the rule and the plan of a KwikSort that estimates all margins if its comparisons run out."""
    rule = KwikSortRule(max_queries, "kemeny")
    return rule, Central(epsilon=1.0).plan(rule.asks(M), M)


def test_kwiksort_reserves_half_of_its_budget_for_all_margins():
    _, plan = kwiksort_with_kemeny(3)
    pair, margins = plan.prices[PairMargin], plan.prices[AllMargins()]
    assert (pair.times, pair.epsilon) == (3, Fraction(1, 6))
    assert (margins.times, margins.epsilon, margins.mechanism.rate) == (1, Fraction(1, 2), Fraction(1, 20))
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1.0, 0.0)
    assert plan.guarantee.how == (
        "discrete Laplace noise on 3 x PairMargin, then discrete Laplace noise on 1 x AllMargins"
    )


def test_kwiksort_that_can_ask_every_pair_keeps_no_reserve():
    _, plan = kwiksort_with_kemeny(10)
    assert list(plan.prices) == [PairMargin]
    assert (plan.prices[PairMargin].times, plan.prices[PairMargin].epsilon) == (10, Fraction(1, 10))
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1.0, 0.0)


@pytest.mark.parametrize(("max_queries", "runs_out"), [(3, True), (10, False)])
def test_kwiksort_spends_its_budget_only_if_it_runs_out(max_queries, runs_out):
    """Five items need more than three comparisons and fewer than ten. The guarantee states the maximum."""
    rule, plan = kwiksort_with_kemeny(max_queries)
    totals = set()
    for seed in range(10):
        session = plan.open(Profile.from_rankings(X))(Bits.from_random_state(seed))
        consensus = rule.aggregate(session)
        assert sorted(consensus.order) == list(range(M))
        assert ("optimal_gap" in consensus.published) == runs_out
        totals.add(spent(session))
        fitted = DPKwikSort(max_queries=max_queries, random_state=seed).fit(X)
        assert fitted.consensus_.tolist() == consensus.order.tolist()
        assert fitted.privacy_.epsilon == 1.0
    if runs_out:
        assert totals == {1}
    else:
        assert min(totals) < 1 and max(totals) <= 1
