"""Three compositions of a channel and a rule, step by step, give what their estimators give.

A fit is a plan with prices, a session on the ballots, and a rule that reads its answers.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from local_tools import reports_of
from oracles import spent
from scipy import stats

from sklearn_dprank import Borda, DPBorda, DPKwikSort, LDPPairwise
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import AllMargins, PairMargin, PairTallies
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


def test_central_borda_of_many_voters_is_borda():
    """Noise does not depend on the number of voters. With 40,000 of them, it does not change the order."""
    many = np.tile(X, (100, 1))
    assert DPBorda().fit(many).consensus_.tolist() == Borda().fit(many).consensus_.tolist()


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


@pytest.mark.slow
def test_one_pair_of_each_voter():
    """Two rules decode the same reports. The reports have one length, which does not depend on the ballot."""
    ballots = make_mallows(3000, M, 0.4, center=[2, 0, 1, 4, 3], random_state=1)
    names = ["tea", "milk", "water", "wine", "juice"]
    reports = reports_of(LDPPairwise(epsilon=2.0), ballots, 0, names)
    assert len({len(report) for report in reports}) == 1
    for rule in ("borda", "bradley_terry"):
        fitted = LDPPairwise(epsilon=2.0, rule=rule).fit_reports(reports, items=names)
        assert fitted.consensus_.tolist() == ["milk", "water", "tea", "juice", "wine"], rule
        assert fitted.reports_refused_ == {}
        assert (fitted.privacy_.epsilon, fitted.privacy_.trust) == (2.0, "local")
        assert fitted.privacy_.certified
        assert fitted.n_features_in_ == M
        assert fitted.score(pd.DataFrame(ballots, columns=names)) > -0.3


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [1, 2])
def test_fit_simulates_what_clients_send(n_queries):
    """The tallies and the first item have the same distribution in `fit` and in `fit_reports`."""
    ballots = np.array([[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [4, 0, 0, 1, np.nan], [np.nan] * 5, [1, 0, 2, 4, 3]])
    estimator = LDPPairwise(n_queries=n_queries, rule="borda")
    rule, plan = estimator.plan_for(Shape(M))
    profile, size = Profile.from_rankings(ballots), 1200
    wins, firsts = np.zeros((2, M, M)), np.zeros((2, M))
    for seed in range(size):
        bits = Bits.from_random_state(seed)
        simulated = plan.open(profile)(bits)
        received = plan.open(iter(reports_of(estimator, ballots, 10_000 + seed)))(bits)
        for k, session in enumerate((simulated, received)):
            wins[k] += session.answer(PairTallies())[0].wins
            firsts[k, rule.aggregate(session).order[0]] += 1
    wins = wins[:, ~np.eye(M, dtype=bool)]
    assert wins.sum() == 2 * size * len(ballots) * n_queries
    assert stats.chi2_contingency(wins).pvalue > 1e-3
    assert stats.chi2_contingency(firsts).pvalue > 1e-3
