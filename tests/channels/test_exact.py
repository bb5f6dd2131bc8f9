"""Non-private estimators and channels: known results, Kemeny against brute force, every kind of ballot, and surveys."""

import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles import naive_counts, naive_disagreements, naive_kemeny, naive_scores, profiles

from sklearn_dprank import Aggregator, Borda, BradleyTerry, HierarchicalAggregation, Kemeny, KwikSort, PositionalRule
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Exact, Local, NonPrivateSurvey
from sklearn_dprank.collection import RandomizedResponse
from sklearn_dprank.datasets import load_hay_figure1, make_mallows, read_preflib
from sklearn_dprank.queries import AllMargins, Ask, NetWins, PairMargin, PairTallies, PositionalScores
from sklearn_dprank.rules import SortByScore
from sklearn_dprank.sampling.bit_source import Bits

# Random ballots may have no opinion.
pytestmark = pytest.mark.filterwarnings("ignore:no ballot of X prefers")

DATA = os.environ.get("SKLEARN_DPRANK_DATA")

needs_data = pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA does not say where the rankings are")
CLASSIC = [
    Borda(),
    PositionalRule(),
    PositionalRule("plurality"),
    KwikSort(random_state=0),
    Kemeny(),
    HierarchicalAggregation(),
    BradleyTerry(),
]


# Known answers


def test_figure_1_of_hay_et_al():
    """Borda E C D A B at .40 (A and B level); every order at the optimum costs .375."""
    ballots = load_hay_figure1()
    borda, kemeny = (estimator.fit(ballots.profile) for estimator in (Borda(), Kemeny()))
    assert "".join(borda.consensus_) == "ECDAB"
    assert borda.score(ballots.profile) == pytest.approx(-0.40)
    assert kemeny.score(ballots.profile) == pytest.approx(-0.375)
    assert kemeny.optimal_gap_ == 0
    fewest, orders = naive_kemeny(naive_counts(ballots.data))
    optima = {"".join(ballots.item_names[item] for item in order) for order in orders}
    assert fewest == 30
    assert "".join(kemeny.consensus_) in optima
    assert {"ECBDA", "ECBAD"} <= optima  # the figure's OPT and QS, printed as .37 and .38


@needs_data
def test_sushi():
    sushi = read_preflib(Path(DATA, "sushi.soc"))
    assert sushi.data.shape == (5000, 10)
    borda, kemeny = (estimator.fit(sushi.data) for estimator in (Borda(), Kemeny()))
    assert (borda.consensus_ + 1).tolist() == [8, 3, 1, 6, 2, 5, 9, 4, 7, 10]
    assert (kemeny.consensus_ + 1).tolist() == [8, 3, 6, 1, 2, 5, 4, 9, 7, 10]
    assert round(-borda.score(sushi.data) * 5000 * 45) == 77_036
    assert round(-kemeny.score(sushi.data) * 5000 * 45) == 76_948
    assert round(-borda.score(sushi.profile), 6) == 0.342382
    assert round(-kemeny.score(sushi.profile), 6) == 0.341991


@needs_data
@pytest.mark.parametrize(
    ("file", "distance"),
    [
        ("00024-00000001.soc", 0.407547),
        ("00024-00000002.soc", 0.375315),
        ("00024-00000003.soc", 0.317708),
        ("00024-00000004.soc", 0.291982),
        ("00025-00000001.soc", 0.389239),
        ("00025-00000002.soc", 0.291195),
        ("00025-00000003.soc", 0.307547),
        ("00025-00000004.soc", 0.360937),
    ],
)
def test_turk_dots_and_turk_puzzle(file, distance):
    ballots = read_preflib(Path(DATA, file))
    _, optima = naive_kemeny(naive_counts(ballots.data))
    assert optima == [(0, 1, 2, 3)]
    for estimator in (Borda(), Kemeny()):
        fitted = estimator.fit(ballots.data)
        assert fitted.consensus_.tolist() == [0, 1, 2, 3]
        assert round(-fitted.score(ballots.data), 6) == distance


# Kemeny against brute force


@pytest.mark.slow
@settings(max_examples=300)
@given(profiles())
def test_kemeny_is_optimal(X):
    fewest, orders = naive_kemeny(naive_counts(X))
    kemeny = Kemeny().fit(X)
    assert naive_disagreements(kemeny.ranks_, X) == fewest
    assert tuple(kemeny.consensus_.tolist()) in orders
    assert kemeny.optimal_gap_ == 0


# Every kind of ballot


def test_large_scores_of_many_voters():
    """Totals beyond 64 bits: 3 x 2^25 voters, two thirds for item 2, with scores of a million."""
    profile = Profile.from_rankings([[2, 1, 0], [1, 2, 0], [0, 1, 2]], keep="counts")
    for _ in range(25):
        profile = profile + profile
    rule = PositionalRule([1_000_000, 1, -999_999])
    assert rule.fit(profile).consensus_.tolist() == [2, 0, 1]
    query = rule._compose()[1].asks(3)[0].query
    vector = query.vector(profile, None)
    assert [int(total) // 720720 for total in vector] == [-(2**25), -(2**25) * 10**6, 2**25 * 999_998]
    for noise, delta in [("laplace", 0.0), ("gaussian", 1e-6)]:
        private = Aggregator(Central(1000.0, delta, noise), SortByScore(rule.scores), random_state=0)
        assert private.fit(profile).consensus_.tolist() == [2, 0, 1]


# Positional rules


@pytest.mark.slow
@settings(max_examples=100)
@given(
    profiles(), st.sampled_from(["borda", "plurality", "veto"]) | st.lists(st.integers(-9, 9), min_size=6, max_size=6)
)
def test_positional_rules_against_fractions(X, scores):
    m = X.shape[1]
    named = {"borda": range(m - 1, -1, -1), "plurality": [1] + [0] * (m - 1), "veto": [1] * (m - 1) + [0]}
    scores = scores if isinstance(scores, str) else scores[:m]
    totals = naive_scores(X, named[scores] if isinstance(scores, str) else scores)
    fitted = PositionalRule(scores).fit(X)
    assert fitted.consensus_.tolist() == sorted(range(m), key=lambda item: (-totals[item], item))


def test_positional_rules_by_hand():
    """Two voters tie 0 and 1 at the top: half a point each under plurality."""
    X = [[0, 0, 1], [0, 0, 1], [1, 2, 0]]
    assert naive_scores(X, [1, 0, 0]) == [1, 1, 1]
    assert PositionalRule("plurality").fit(X).consensus_.tolist() == [0, 1, 2]
    assert naive_scores(X, [1, 1, 0]) == [3, 2, 1]
    assert PositionalRule("veto").fit(X).consensus_.tolist() == [0, 1, 2]
    assert naive_scores([*X, [2, 1, 0]], [2, 1, 0]) == [Fraction(4), Fraction(4), Fraction(4)]
    assert PositionalRule([0, 0, 1]).fit(X).consensus_.tolist() == [2, 1, 0]


# No column is special


@pytest.mark.parametrize("estimator", CLASSIC, ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_relabelling_columns_relabels_the_consensus(estimator, seed):
    """An odd number of clear voters: majorities are strict and without cycles."""
    rng = np.random.default_rng(seed)
    X = make_mallows(401, 6, 0.6, random_state=rng)
    labels = rng.permutation(6)
    expected = estimator.fit(X).ranks_[labels]
    np.testing.assert_array_equal(estimator.fit(X[:, labels]).ranks_, expected)


# The channel of exact answers


PROFILE = Profile.from_rankings([[0, 1, 2], [0, 2, 1], [1, np.nan, 1]])


@pytest.fixture
def session():
    return Exact().plan([], 3).open(PROFILE)(Bits.from_random_state(0))


def test_answers_are_exact_and_unlimited(session):
    for _ in range(3):
        np.testing.assert_array_equal(session.answer(NetWins()), PROFILE.net_wins)
        np.testing.assert_array_equal(session.answer(AllMargins()), PROFILE.margins)
        assert [session.answer(PairMargin(i, j)) for i, j in ((0, 1), (0, 2), (1, 2))] == [2, 2, 0]
        (tallies,) = session.answer(PairTallies())
        assert tallies.flip == 0
        np.testing.assert_array_equal(tallies.wins, PROFILE.pairwise_counts)
        scores = session.answer(PositionalScores((2.0, 1.0, 0.0)))
        np.testing.assert_allclose(scores - scores[1], [4.5, 0, 1.5])


def test_ties_go_by_index(session):
    for _ in range(5):
        assert session.tie_break().tolist() == [0, 1, 2]
        assert session.tied_before(0, 2)
        assert not session.tied_before(2, 0)


# The survey without privacy: randomised response that never flips


M = 5
NAN = np.nan
STRICT = make_mallows(60, M, 0.7, random_state=0)
WEAK = np.array([[0, 0, 1, 1, NAN], [NAN] * M, [1, 0, 2, 4, 3], [2, 1, 0, 0, 0]] * 10)
EVERY_PAIR = math.comb(M, 2)


def opened_survey(channel, ballots=STRICT, seed=0):
    plan = channel.plan([Ask(AllMargins())], M, len(ballots))
    return plan.open(Profile.from_rankings(ballots))(Bits.from_random_state(seed))


def wins(channel, ballots=STRICT, seed=0):
    (tally,) = opened_survey(channel, ballots, seed).answer(PairTallies())
    return tally.wins


@pytest.mark.parametrize("n_queries", [2, 3, EVERY_PAIR])
@pytest.mark.parametrize("ballots", [STRICT, WEAK], ids=["strict", "weak"])
def test_it_is_randomized_response_that_never_flips(n_queries, ballots):
    """Bit for bit: at 36 nats an answer a flip has probability 2^-51, and no draw of these seeds is one.

    One answer a voter is drawn for all at once, by the same law from other words.
    """
    local = Local(36.0 * n_queries, RandomizedResponse(n_queries))
    assert local.plan([], M).protocol["flip"][0] <= 2
    for seed in range(10):
        np.testing.assert_array_equal(wins(NonPrivateSurvey(n_queries), ballots, seed), wins(local, ballots, seed))
        truthful, never_flipped = (
            Aggregator(channel, "kwiksort", random_state=seed).fit(ballots)
            for channel in (NonPrivateSurvey(n_queries), local)
        )
        assert truthful.ranks_.tolist() == never_flipped.ranks_.tolist()  # by the signs of margins, and by coins


def test_every_pair_of_strict_rankings_is_exact():
    np.testing.assert_array_equal(wins(NonPrivateSurvey(EVERY_PAIR)), naive_counts(STRICT))
    exact = opened_survey(Exact()).answer(AllMargins())
    asked = opened_survey(NonPrivateSurvey(EVERY_PAIR))
    np.testing.assert_allclose(asked.answer(AllMargins()) * len(STRICT), exact, atol=1e-9)
    (tally,) = asked.answer(PairTallies())
    assert tally.flip == 0
    for rule in ("kemeny", "hierarchical"):
        truthful, plain = (
            Aggregator(channel, rule, random_state=0).fit(STRICT) for channel in (NonPrivateSurvey(EVERY_PAIR), Exact())
        )
        assert truthful.score(STRICT) == plain.score(STRICT)


def test_no_promise_and_no_devices():
    plan = NonPrivateSurvey(3).plan([Ask(NetWins())], M)
    assert str(plan.guarantee) == "not private" and plan.guarantee.epsilon == math.inf
    assert (plan.guarantee.trust, plan.protocol) == ("none", None)
    assert plan.guarantee.how == "truthful answers about 3 random pair(s) a voter"
    made = Aggregator(NonPrivateSurvey())
    assert not hasattr(made, "client") and not hasattr(made, "fit_reports")
    assert Aggregator(NonPrivateSurvey(), random_state=0).fit(STRICT).privacy_.certified is False
