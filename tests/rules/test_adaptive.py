"""Adaptive rounds: what is asked after what, that answers add up, and what it saves."""

import numpy as np
import pytest
from oracles import derived

from sklearn_dprank import LDPAdaptivePairs, LDPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Answers
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.queries import Ask, PairTallies, Tallies
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, BradleyTerryRule
from sklearn_dprank.rules.bradley_terry import _added
from sklearn_dprank.sampling.bit_source import SeededBits

pytestmark = pytest.mark.usefixtures("one_thread")


class Recording(Answers):
    """Answers by a known order, as often as each pair may be asked; remembers the questions."""

    def __init__(self, order, flip=0.2, size=40):
        super().__init__(len(order), SeededBits(np.random.SeedSequence(0)))
        position = np.argsort(order)
        self._ahead = (position[:, None] < position[None, :]).astype(np.int64)
        self._flip, self._size, self.asked = flip, size, []

    def answer(self, query):
        self.asked.append(query)
        said = self._size * (self._ahead * (1 - self._flip) + self._ahead.T * self._flip)
        full = (Tallies(self._flip, np.rint(said).astype(np.int64)),)
        return derived(PairTallies(query.pairs), PairTallies(), full)


def test_asks_its_rounds():
    assert AdaptiveBradleyTerryRule(3).asks(8) == [Ask(PairTallies(), times=3)]


@pytest.mark.parametrize("m", [2, 3, 7, 12, 19, 24])
def test_later_rounds_ask_about_neighbours_in_the_current_order(m):
    order = np.random.default_rng(m).permutation(m)
    session = Recording(order)
    found = AdaptiveBradleyTerryRule(3).aggregate(session).order
    assert found.tolist() == order.tolist()
    assert [query.round for query in session.asked] == [0, 1, 2]
    assert session.asked[0].pairs is None
    reach = max(2, m // 6)
    place = np.argsort(order)
    near = {(i, j) for i in range(m) for j in range(i + 1, m) if abs(place[i] - place[j]) <= reach}
    for query in session.asked[1:]:
        assert set(query.pairs) == near and len(query.pairs) == len(near)


def test_one_round_is_bradley_terry():
    order = np.array([3, 0, 2, 4, 1])
    one = AdaptiveBradleyTerryRule(1).aggregate(Recording(order)).order
    assert np.array_equal(one, BradleyTerryRule().aggregate(Recording(order)).order)


def test_answers_of_equal_flips_add_up():
    wins = [np.full((2, 2), k) for k in (1, 10, 100)]
    total = _added((Tallies(0.1, wins[0]), Tallies(0.2, wins[1])), (Tallies(0.1, wins[2]),))
    assert [(t.flip, t.wins[0, 1]) for t in total] == [(0.1, 101), (0.2, 10)]
    assert wins[0][0, 1] == 1  # nothing is added in place


@pytest.mark.parametrize("n_rounds", [0, -1, 1.5, None])
def test_rounds_must_be_a_positive_integer(n_rounds):
    with pytest.raises(ValueError, match="n_rounds must be an integer from 1"):
        AdaptiveBradleyTerryRule(n_rounds).asks(5)


@pytest.mark.parametrize("ridge", [0, -1.0])
def test_ridge_must_be_positive(ridge):
    with pytest.raises(ValueError, match="ridge must be a number above 0 and at most"):
        AdaptiveBradleyTerryRule(ridge=ridge).asks(5)


@pytest.mark.slow
def test_later_rounds_save_answers():
    """Where many pairs are far apart, asking about close ones beats asking about all, at equal epsilon."""
    rng = np.random.default_rng(0)
    profile = Profile.from_rankings(make_mallows(4000, 24, 0.75, center=rng.permutation(24), random_state=1))
    best = average_kendall_tau(np.argsort(np.argsort(-profile.net_wins)), profile)
    excess = [
        np.mean(
            [average_kendall_tau(estimator.set_params(random_state=k).fit(profile).ranks_, profile) for k in range(20)]
        )
        - best
        for estimator in (LDPAdaptivePairs(1.0), LDPPairwise(1.0))
    ]
    assert excess[0] < 0.8 * excess[1]
