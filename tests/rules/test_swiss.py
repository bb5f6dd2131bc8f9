"""Swiss rounds: what is asked, of whom, for what share; ties, labels, and what is said of the strengths."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sklearn_dprank import Aggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Answers, Central, Exact
from sklearn_dprank.datasets import make_mallows, make_plackett_luce
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import GroupNetWins, NumberOfVoters, ScaledMargins
from sklearn_dprank.rules import SwissRule
from sklearn_dprank.sampling.bit_source import SeededBits


class Recording(Answers):
    """Answers by known strengths; remembers the questions."""

    def __init__(self, s, n=1000, deviation=10.0, n_said=None, seed=0):
        super().__init__(len(s), SeededBits(np.random.SeedSequence(seed)))
        self._margins = n * np.tanh((s[:, None] - s) / 2)
        self._deviation, self._n = deviation, n if n_said is None else n_said
        self.asked = []

    def deviation(self, query):
        moved, whole = (q.sensitivity(self.n_items, "replace").l2_squared for q in (query, GroupNetWins()))
        return self._deviation * np.sqrt(float(moved) / max(float(whole), 1.0))

    def answer(self, query):
        self.asked.append(query)
        if query == NumberOfVoters():
            return np.int64(self._n)
        if isinstance(query, ScaledMargins) and query.pairs is not None:
            first, second = np.transpose(query.pairs)
            return np.rint(query.scale(self.n_items) * self._margins[first, second])
        groups = [range(self.n_items)] if query.groups is None else query.groups
        wins = np.zeros(self.n_items)
        for group in map(list, groups):
            wins[group] = self._margins[np.ix_(group, group)].sum(axis=1)
        scale = query.scale(self.n_items) if isinstance(query, ScaledMargins) else 1
        return np.rint(scale * wins).astype(np.int64)


def sizes(query):
    return None if query.groups is None else [len(group) for group in query.groups]


# Groups of max(8, .4 m), max(8, .2 m) and max(8, .2 m), the third round's shifted by half; one above .6 m. The last are
# asked about if margins of pairs would drown.
EXPECTED = {
    1: [None] * 4,
    2: [None] * 4,
    13: [None] * 4,
    14: [None, [8, 6], [4, 8, 2], [8, 6]],
    20: [None, [8, 8, 4], [4, 8, 8], [8, 8, 4]],
    45: [None, [18, 18, 9], [4, 9, 9, 9, 9, 5], [9] * 5],
    100: [None, [40, 40, 20], [10, 20, 20, 20, 20, 10], [20] * 5],
}


@pytest.mark.parametrize("m", EXPECTED)
def test_groups_of_each_round(m):
    s = np.random.default_rng(m).permutation(np.linspace(2, -2, m))
    session = Recording(s, deviation=120 * m)  # 120 / sqrt(6) on a margin, times sqrt(2 m): above a tenth of 1,000
    found = SwissRule().aggregate(session)
    assert found.order.tolist() == np.argsort(-s).tolist()
    assert session.asked[0] == NumberOfVoters()
    rounds = session.asked[1:]
    assert [query.round for query in rounds[:3]] == [0, 1, 2]
    assert [sizes(query) for query in rounds] == EXPECTED[m]
    places = np.argsort(np.argsort(-s))
    for query in rounds:  # after the first round the order is known, but for the ends of groups: neighbours meet
        if query.groups is not None:
            asked = np.concatenate(query.groups)
            assert np.abs(places[asked] - np.arange(m)).max() <= 1
    declared = [ask.query for ask in SwissRule().asks(m)]
    assert [(q.kind, q.sensitivity(m, "replace")) for q in declared] == [
        (q.kind, q.sensitivity(m, "replace")) for q in session.asked
    ]


def test_margins_of_the_pairs_in_doubt_are_asked_last():
    """Every pair if noise is small, else most of those that are close to each other; never the same pair twice."""
    m, n = 20, 1000
    s = np.random.default_rng(0).permutation(np.linspace(3, -3, m))
    places = np.argsort(np.argsort(-s))
    apart = []
    for deviation in (1.0, 300.0, 700.0):  # on net wins of all items: 51 times that of a margin
        session = Recording(s, n=n, deviation=deviation)
        assert SwissRule().aggregate(session).order.tolist() == np.argsort(-s).tolist()
        pairs = np.array(session.asked[-1].pairs)
        assert len({frozenset(pair) for pair in pairs.tolist()}) == len(pairs) >= 2 * m
        apart.append(np.abs(places[pairs[:, 0]] - places[pairs[:, 1]]))
    assert len(apart[0]) == m * (m - 1) // 2 > len(apart[1]) >= len(apart[2])
    assert apart[1].mean() < apart[0].mean() / 2


def test_margins_decide_where_no_strengths_explain_them():
    """A Condorcet order that net wins contradict: one camp puts an item far up, and most a little down."""
    m, order = 16, np.arange(16)
    far = [np.r_[order[8:9], order[:8], order[9:]]] * 40  # item 8 is first
    X = np.argsort([order] * 60 + far, axis=1)
    profile = Profile.from_rankings(X)
    fitted = Aggregator(Exact(), SwissRule()).fit(profile)
    assert profile.net_wins[8] > profile.net_wins[6]
    assert fitted.consensus_.tolist() == list(range(m))
    assert (fitted.scores_.argsort()[::-1] != fitted.consensus_).any()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_answer_that_is_missing_is_left_out(number):
    """If the last is missing, the order is that of the scores."""
    s = np.random.default_rng(3).permutation(np.linspace(2, -2, 20))

    class Missing(Recording):
        def answer(self, query):
            if number == (3 if isinstance(query, ScaledMargins) else getattr(query, "round", 0)):
                raise BudgetExhausted("no answer")
            return super().answer(query)

    found = SwissRule().aggregate(Missing(s))
    assert found.order.tolist() == np.argsort(-found.published["scores"]).tolist() == np.argsort(-s).tolist()


def test_shares_of_the_budget():
    shares = [ask.share for ask in SwissRule().asks(45)]
    assert shares == [Fraction(2, 100), *(Fraction(98 * share, 10_000) for share in (30, 20, 25, 25))]
    assert all(ask.times == 1 for ask in SwissRule().asks(45))


def test_strengths_are_published():
    s = np.random.default_rng(1).normal(size=30)
    found = SwissRule().aggregate(Recording(s, n=10**6, deviation=1.0))
    assert found.published.keys() == {"scores"}
    np.testing.assert_allclose(found.published["scores"], s - s.mean(), atol=1e-3)


@pytest.mark.parametrize("n_said", [-500, 0, 1, 10**7])
def test_a_noisy_number_of_voters_may_be_anything(n_said):
    """Far too few or too many leave an order that the net wins still decide, if less well."""
    s = np.random.default_rng(2).permutation(np.linspace(2, -2, 24))
    found = SwissRule().aggregate(Recording(s, n_said=n_said))
    assert np.isfinite(found.published["scores"]).all()
    assert stats.kendalltau(found.published["scores"], s).statistic > 0.8


@pytest.mark.slow
def test_equal_items_are_ordered_by_coins():
    s = np.repeat([1.0, -1.0], [2, 3])
    firsts, lasts = np.zeros(2, dtype=int), np.zeros(3, dtype=int)
    for seed in range(300):
        found = SwissRule().aggregate(Recording(s, seed=seed))
        assert len(set(found.published["scores"].tolist())) == 2
        firsts[found.order[0]] += 1
        lasts[found.order[4] - 2] += 1
    assert stats.chisquare(firsts).pvalue > 1e-3 and stats.chisquare(lasts).pvalue > 1e-3


def test_tiny_strengths_are_told_apart():
    s = np.random.default_rng(3).permutation(np.linspace(2, -2, 10))
    found = SwissRule().aggregate(Recording(s, n=100, deviation=1e8))
    assert 0 < np.abs(found.published["scores"]).max() < 1e-9
    assert found.order.tolist() == np.argsort(-s).tolist()


def test_exact_answers():
    """Without noise it is no worse than Borda, and explains Plackett-Luce ballots by their weights."""
    weights = np.exp(np.linspace(1.5, -1.5, 20))
    X = make_plackett_luce(4000, 20, weights=weights, random_state=0)
    fitted = Aggregator(Exact(), SwissRule()).fit(X)
    assert fitted.score(X) >= Aggregator().fit(X).score(X) - 1e-3
    np.testing.assert_allclose(fitted.scores_, np.log(weights), atol=0.15)  # pairs of Plackett-Luce are Bradley-Terry
    np.testing.assert_array_equal(np.argsort(-fitted.scores_, kind="stable"), fitted.consensus_)
    assert Aggregator(Exact(), SwissRule()).fit([[0, 1, 1, 1]] * 3).consensus_.tolist() == [0, 1, 2, 3]


def test_laplace_noise_serves_too():
    X = make_mallows(20_000, 24, 0.7, center=range(24), random_state=0)
    fitted = Aggregator(Central(1.0), SwissRule(), random_state=0).fit(X)
    assert fitted.privacy_.epsilon == 1.0 and fitted.privacy_.delta == 0
    assert np.abs(fitted.ranks_ - np.arange(24)).max() <= 1


def test_relabelling_columns_relabels_the_answer():
    """On the same noise for each item the strengths follow the items, wherever their columns are."""
    s = np.random.default_rng(4).normal(size=26)
    labels = np.random.default_rng(5).permutation(26)
    plain = SwissRule().aggregate(Recording(s)).published["scores"]
    moved = SwissRule().aggregate(Recording(s[labels])).published["scores"]
    np.testing.assert_allclose(moved, plain[labels], atol=1e-6)


def test_ridge_is_checked():
    with pytest.raises(ValueError, match="ridge"):
        SwissRule(ridge=0).asks(3)
