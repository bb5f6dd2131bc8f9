"""The truthful baseline: randomised response that never flips, and no promise."""

import math
from itertools import combinations

import numpy as np
import pytest
from oracles import naive_counts
from scipy.stats import chisquare

from sklearn_dprank import Aggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Exact, Local, NonPrivateSurvey
from sklearn_dprank.collection import RandomizedResponse
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import AllMargins, Ask, NetWins, PairTallies, PositionalScores
from sklearn_dprank.sampling.bit_source import Bits

M = 5
NAN = np.nan
STRICT = make_mallows(60, M, 0.7, random_state=0)
WEAK = np.array([[0, 0, 1, 1, NAN], [NAN] * M, [1, 0, 2, 4, 3], [2, 1, 0, 0, 0]] * 10)
EVERY_PAIR = math.comb(M, 2)


def session(channel, ballots=STRICT, seed=0):
    plan = channel.plan([Ask(AllMargins())], M, len(ballots))
    return plan.open(Profile.from_rankings(ballots))(Bits.from_random_state(seed))


def wins(channel, ballots=STRICT, seed=0):
    (tally,) = session(channel, ballots, seed).answer(PairTallies())
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


def test_a_few_answers_are_the_voters_own():
    """Every answer is the opinion of a voter, and one voter answers each question."""
    counts = naive_counts(STRICT)
    for seed in range(20):
        heard = wins(NonPrivateSurvey(2), seed=seed)
        assert heard.sum() == 2 * len(STRICT) and (heard <= counts).all()
    order = np.argsort(STRICT[0])
    heard = wins(NonPrivateSurvey(3), STRICT[:1])
    assert heard.sum() == 3 and heard.max() == 1
    assert all(heard[i, j] == 0 for j, i in combinations(order, 2))


def test_every_pair_of_strict_rankings_is_exact():
    np.testing.assert_array_equal(wins(NonPrivateSurvey(EVERY_PAIR)), naive_counts(STRICT))
    exact = session(Exact()).answer(AllMargins())
    asked = session(NonPrivateSurvey(EVERY_PAIR))
    np.testing.assert_allclose(asked.answer(AllMargins()) * len(STRICT), exact, atol=1e-9)
    (tally,) = asked.answer(PairTallies())
    assert tally.flip == 0
    for rule in ("kemeny", "hierarchical"):
        truthful, plain = (
            Aggregator(channel, rule, random_state=0).fit(STRICT) for channel in (NonPrivateSurvey(EVERY_PAIR), Exact())
        )
        assert truthful.score(STRICT) == plain.score(STRICT)


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [1, 4])
def test_pairs_are_distinct_and_uniform(n_queries):
    """Of voters who all agree, each win is one question."""
    upper = np.triu_indices(M, 1)
    one = np.arange(float(M))[None]
    for seed in range(50):
        assert wins(NonPrivateSurvey(n_queries), one, seed).max() == 1
    asked = wins(NonPrivateSurvey(1), np.tile(one, (5000, 1)))
    assert np.tril(asked).sum() == 0 and chisquare(asked[upper]).pvalue > 1e-3
    several = [tuple(np.flatnonzero(wins(NonPrivateSurvey(2), one, seed)[upper])) for seed in range(2000)]
    subsets = list(combinations(range(EVERY_PAIR), 2))
    assert chisquare([several.count(subset) for subset in subsets]).pvalue > 1e-3


def test_no_promise_and_no_devices():
    plan = NonPrivateSurvey(3).plan([Ask(NetWins())], M)
    assert str(plan.guarantee) == "not private" and plan.guarantee.epsilon == math.inf
    assert (plan.guarantee.trust, plan.protocol) == ("none", None)
    assert plan.guarantee.how == "truthful answers about 3 random pair(s) a voter"
    made = Aggregator(NonPrivateSurvey())
    assert not hasattr(made, "client") and not hasattr(made, "fit_reports")
    assert Aggregator(NonPrivateSurvey(), random_state=0).fit(STRICT).privacy_.certified is False


def test_what_pairs_do_not_say_is_refused():
    with pytest.raises(
        ValueError, match=r"^NonPrivateSurvey cannot answer PositionalScores.*; answers about pairs give"
    ):
        NonPrivateSurvey().plan([Ask(PositionalScores((2.0, 1.0, 0.0)))], 3)
    with pytest.raises(ValueError, match="the ballots"):
        NonPrivateSurvey().plan([], M).open(Profile.from_rankings(STRICT, keep="counts"))
