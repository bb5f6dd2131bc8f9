"""`SortByScore` orders items by score, breaks ties fairly on private channels and asks one query once."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import ScriptedAnswers, margins_of_order, profiles, random_margins

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Exact
from sklearn_dprank.queries import NetWins, PositionalScores
from sklearn_dprank.rules import SortByScore
from sklearn_dprank.rules.base import score_vector
from sklearn_dprank.sampling.bit_source import Bits


def session(X):
    profile = Profile.from_rankings(X)
    return Exact().plan([], profile.n_items).open(profile)(Bits.from_random_state(0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no ballot of X prefers")
@settings(max_examples=60)
@given(profiles())
def test_net_wins_by_falling_score_then_index(X):
    wins = Profile.from_rankings(X).net_wins.tolist()
    order = SortByScore().aggregate(session(X)).order
    assert order.tolist() == sorted(range(X.shape[1]), key=lambda i: (-wins[i], i))


def test_follows_the_answers():
    for order in ([2, 0, 1], [0, 1, 2, 3, 4], [4, 2, 0, 1, 3]):
        assert SortByScore().aggregate(ScriptedAnswers(margins_of_order(order))).order.tolist() == order


def test_coins_break_ties_on_private_channels():
    """Items 1 and 2 tie: each goes first about half of the time, and item 0 stays behind."""
    margins = np.array([[0, -2, -2], [2, 0, 0], [2, 0, 0]])
    firsts = 0
    for seed in range(400):
        order = SortByScore().aggregate(ScriptedAnswers(margins, seed=seed)).order.tolist()
        assert order in ([1, 2, 0], [2, 1, 0])
        firsts += order[0] == 1
    assert 160 < firsts < 240
    exact = ScriptedAnswers(margins, fair_ties=False)
    assert SortByScore().aggregate(exact).order.tolist() == [1, 2, 0]


def test_asks_once_for_the_whole_budget():
    (ask,) = SortByScore().asks(4)
    assert (ask.query, ask.times, ask.share) == (NetWins(), 1, 1)
    (ask,) = SortByScore("borda").asks(4)
    assert ask.query == PositionalScores((3.0, 2.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("scores", "vector"),
    [
        ("borda", [3, 2, 1, 0]),
        ("plurality", [1, 0, 0, 0]),
        ("veto", [1, 1, 1, 0]),
        ([5, 2.5, 1, -1], [5, 2.5, 1, -1]),
        (np.arange(4), [0, 1, 2, 3]),
    ],
)
def test_score_vectors(scores, vector):
    assert score_vector(scores, 4) == vector


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("antiplurality", "scores must be one of ['borda', 'plurality', 'veto'] or a vector, got 'antiplurality'"),
        ([1, 2, 3], "scores must hold one number for each of the 4 items, got shape (3,)"),
        (np.eye(4), "scores must hold one number for each of the 4 items, got shape (4, 4)"),
        ([1, 2, 3, np.nan], "scores must be finite"),
        ([1, 2, 3, np.inf], "scores must be finite"),
    ],
)
def test_bad_scores_are_refused_when_asking(scores, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SortByScore(scores).asks(4)


def test_answers_are_read_once():
    """Sorting noisy margins must not draw them again for each comparison."""
    rng = np.random.default_rng(0)

    class Once(ScriptedAnswers):
        def answer(self, query):
            self.asked.append(query)
            return super().answer(query)

    counting = Once(random_margins(rng, 6))
    SortByScore().aggregate(counting)
    assert counting.asked == [NetWins()]
