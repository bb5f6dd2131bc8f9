"""The channel of the classic aggregators: exact answers, index ties, no promise."""

import math

import numpy as np
import pytest

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Exact
from sklearn_dprank.queries import (
    AllMargins,
    Ask,
    KemenyUtility,
    MaxViolatedMargin,
    NetWins,
    PairMargin,
    PairTallies,
    PositionalScores,
)
from sklearn_dprank.sampling.bit_source import Bits

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


def test_a_statement_without_privacy():
    plan = Exact().plan([Ask(NetWins())], 3, 10)
    assert str(plan.guarantee) == "not private"
    assert plan.guarantee.epsilon == math.inf
    assert plan.protocol is None


@pytest.mark.parametrize("query", [KemenyUtility(), MaxViolatedMargin()], ids=str)
def test_draws_of_orders_are_refused(query):
    with pytest.raises(ValueError, match=f"^Exact cannot answer {query}, which the rule asks for; "):
        Exact().plan([Ask(query)], 3)
