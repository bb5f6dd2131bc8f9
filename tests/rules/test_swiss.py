"""Swiss rounds: groups, shares, ties and errors; the decoder of strengths and its solver, against general solvers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import least_squares
from threadpoolctl import threadpool_limits

from sklearn_dprank import Aggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Answers, Central, Exact
from sklearn_dprank.datasets import make_mallows, make_plackett_luce
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import GroupNetWins, NumberOfVoters, ScaledMargins
from sklearn_dprank.rules import SwissRule
from sklearn_dprank.rules.swiss import Fit, PairMargins, Round, fitted, model_margins
from sklearn_dprank.sampling.bit_source import SeededBits


class Recording(Answers):
    """Answers from known strengths that record the queries."""

    def __init__(self, s, n=1000, deviation=10.0, n_told=None, seed=0):
        super().__init__(len(s), SeededBits(np.random.SeedSequence(seed)))
        self._margins = n * np.tanh((s[:, None] - s) / 2)
        self._deviation, self._n = deviation, n if n_told is None else n_told
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


# Groups of max(8, .4 m), then of max(8, .2 m) twice, shifted by half in the third round; one group above .6 m. The last
# groups are asked if noise is larger than margins of pairs.
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


def test_last_round_asks_for_close_pairs_once():
    """Ask about all pairs if noise is small, and about close pairs otherwise."""
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


def test_margins_decide_orders_without_strengths():
    """The Condorcet order contradicts the net wins."""
    m, order = 16, np.arange(16)
    far = [np.r_[order[8:9], order[:8], order[9:]]] * 40  # item 8 is first
    X = np.argsort([order] * 60 + far, axis=1)
    profile = Profile.from_rankings(X)
    fitted = Aggregator(Exact(), SwissRule()).fit(profile)
    assert profile.net_wins[8] > profile.net_wins[6]
    assert fitted.consensus_.tolist() == list(range(m))
    assert (fitted.scores_.argsort()[::-1] != fitted.consensus_).any()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_missing_answer_is_left_out(number):
    """Without the last answer, scores give the order."""
    s = np.random.default_rng(3).permutation(np.linspace(2, -2, 20))

    class Missing(Recording):
        def answer(self, query):
            if number == (3 if isinstance(query, ScaledMargins) else getattr(query, "round", 0)):
                raise BudgetExhausted("no answer")
            return super().answer(query)

    found = SwissRule().aggregate(Missing(s))
    assert found.order.tolist() == np.argsort(-found.published["scores"]).tolist() == np.argsort(-s).tolist()


def test_swiss_shares_of_the_budget():
    shares = [ask.share for ask in SwissRule().asks(45)]
    assert shares == [Fraction(2, 100), *(Fraction(98 * share, 10_000) for share in (30, 20, 25, 25))]
    assert all(ask.times == 1 for ask in SwissRule().asks(45))


@pytest.mark.parametrize("n_told", [-500, 0, 1, 10**7])
def test_any_noisy_number_of_voters_gives_an_order(n_told):
    s = np.random.default_rng(2).permutation(np.linspace(2, -2, 24))
    found = SwissRule().aggregate(Recording(s, n_told=n_told))
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


def test_tiny_strengths_are_ordered():
    s = np.random.default_rng(3).permutation(np.linspace(2, -2, 10))
    found = SwissRule().aggregate(Recording(s, n=100, deviation=1e8))
    assert 0 < np.abs(found.published["scores"]).max() < 1e-9
    assert found.order.tolist() == np.argsort(-s).tolist()


def test_exact_swiss_is_as_good_as_borda():
    """Scores of Plackett-Luce ballots are the logarithms of their weights."""
    weights = np.exp(np.linspace(1.5, -1.5, 20))
    X = make_plackett_luce(4000, 20, weights=weights, random_state=0)
    fitted = Aggregator(Exact(), SwissRule()).fit(X)
    assert fitted.score(X) >= Aggregator().fit(X).score(X) - 1e-3
    np.testing.assert_allclose(fitted.scores_, np.log(weights), atol=0.15)  # pairs of Plackett-Luce are Bradley-Terry
    np.testing.assert_array_equal(np.argsort(-fitted.scores_, kind="stable"), fitted.consensus_)
    assert Aggregator(Exact(), SwissRule()).fit([[0, 1, 1, 1]] * 3).consensus_.tolist() == [0, 1, 2, 3]


def test_swiss_with_laplace_noise_finds_the_order():
    X = make_mallows(20_000, 24, 0.7, center=range(24), random_state=0)
    fitted = Aggregator(Central(1.0), SwissRule(), random_state=0).fit(X)
    assert fitted.privacy_.epsilon == 1.0 and fitted.privacy_.delta == 0
    assert np.abs(fitted.ranks_ - np.arange(24)).max() <= 1


def strengths_of(rounds, n, ridge):
    return fitted(rounds, n, ridge).strengths


def predicted(s, n, groups):
    """Return net wins within groups, by definition."""
    out = np.zeros(len(s))
    for group in groups:
        for i in group:
            out[i] = n * sum(math.tanh((s[i] - s[j]) / 2) for j in group)
    return out


def missed(x, rounds, n, ridge, pairs=()):
    """Return residuals in deviations and roots of the priors, by definition."""
    s, u = x[:-1], x[-1]
    parts = [(each.wins - predicted(s, n * math.exp(u), groups_of(each, len(s)))) / each.deviation for each in rounds]
    single = [(o - n * math.exp(u) * math.tanh((s[i] - s[j]) / 2)) / deviation for i, j, o, deviation in pairs]
    return np.concatenate([*parts, single, math.sqrt(2 * ridge) * s, [u / math.sqrt(2)]])


def loss(found, rounds, n, ridge=0.15, pairs=()):
    x = np.append(found.strengths, math.log(found.voters / n))
    return (missed(x, rounds, n, ridge, pairs) ** 2).sum() / 2


def naively_fitted(rounds, n, ridge, start, pairs=()):
    """Return the minimum by a general least-squares solver."""
    x = np.append(start.strengths, min(-1e-9, math.log(start.voters / n)))
    bounds = np.full(len(x), -np.inf), np.append(np.full(len(x) - 1, np.inf), 0.0)
    x = least_squares(missed, x, args=(rounds, n, ridge, pairs), bounds=bounds, xtol=1e-12, ftol=1e-12, gtol=1e-10).x
    return Fit(x[:-1] - x[:-1].mean(), n * math.exp(x[-1]), None, None)


def groups_of(each, m):
    return [range(m)] if each.groups is None else each.groups


def some_rounds(seed, m=9, n=400, deviation=30.0, spread=1.0):
    """Return noisy rounds of all items and of groups of about three."""
    rng = np.random.default_rng(seed)
    s = spread * rng.normal(size=m)
    cuts = [None, ((0, 1, 2), (3, 4, 5), (6, 7, 8)), ((8, 0), (1, 2, 3, 4), (5, 6, 7))]
    rounds = []
    for groups in cuts:
        exact = predicted(s, n, [range(m)] if groups is None else groups)
        rounds.append(Round(groups, np.rint(exact + deviation * rng.normal(size=m)).astype(int), deviation))
    return s - s.mean(), rounds


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "deviation"), [(400, 30.0), (400, 3.0), (400, 900.0), (10_000, 30.0)])
def test_decoded_strengths_minimise_the_loss(seed, n, deviation):
    _, rounds = some_rounds(seed, deviation=deviation)
    found = fitted(rounds, n, 0.15)
    expected = naively_fitted(rounds, n, 0.15, found)
    assert loss(found, rounds, n) <= loss(expected, rounds, n) * (1 + 1e-3)
    margins, wanted = (model_margins(each.strengths, each.voters)[0] for each in (found, expected))
    np.testing.assert_allclose(margins, wanted, atol=0.02 * np.abs(wanted).max())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("deviation", [5.0, 50.0])
def test_margins_of_pairs_enter_the_loss(seed, deviation):
    rng = np.random.default_rng(seed)
    s, rounds = some_rounds(seed)
    pairs = [
        (i, j, 400 * math.tanh((s[i] - s[j]) / 2) + rng.normal(0, 60), deviation)
        for i, j in ((0, 1), (4, 2), (8, 3), (7, 8))
    ]
    margins, weights = np.zeros((2, 9, 9))
    for i, j, observed, _ in pairs:
        margins[i, j], margins[j, i], weights[i, j], weights[j, i] = observed, -observed, *([deviation**-2] * 2)
    found = fitted(rounds, 400, 0.15, PairMargins(margins, weights))
    expected = naively_fitted(rounds, 400, 0.15, found, pairs)
    assert loss(found, rounds, 400, pairs=pairs) <= loss(expected, rounds, 400, pairs=pairs) * (1 + 1e-3)
    assert loss(found, rounds, 400, pairs=pairs) < loss(fitted(rounds, 400, 0.15), rounds, 400, pairs=pairs)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_decoder_estimates_the_share_of_voters_who_follow_the_model(share):
    s, _ = some_rounds(0, spread=2.0)
    cuts = [None, ((0, 1, 2), (3, 4, 5), (6, 7, 8)), ((8, 0, 3), (1, 5, 2), (4, 6, 7))]
    rounds = [Round(g, predicted(s, 10_000 * share, [range(9)] if g is None else g), 0.5) for g in cuts]
    assert fitted(rounds, 10_000, 0.15).voters == pytest.approx(10_000 * share, rel=1e-3)


def test_decoded_number_of_voters_is_limited():
    everybody = Round(None, np.array([300, 100, -100, -300]), 0.5)
    found = [fitted([everybody], n, 0.15).voters for n in (20, 100, 150)]
    assert found == [20, 100, pytest.approx(150, rel=0.5)] and found[2] <= 150
    fewer = Fit(np.array([3.0, 1.0, -1.0, -3.0]), 5.0, None, None)
    assert fitted([everybody], 20, 0.15, start=fewer).voters == 20


@pytest.mark.parametrize("wins", [[0, 0, 0], [10**9, 0, -(10**9)], [2, 2, 2]])
def test_extreme_answers_have_finite_strengths(wins):
    for n in (1.0, 1e3, 1e15):
        assert np.isfinite(strengths_of([Round(None, np.array(wins), 0.5)], n, 0.15)).all()


def test_decoder_does_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    wins = (1000 * rng.normal(size=300)).astype(int)
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            found.append(strengths_of([Round(None, wins, 400.0)], 500, 0.15).tobytes())
    assert len(set(found)) == 1
