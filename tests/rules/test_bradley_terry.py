"""Bradley-Terry rules: loss, maximum, ties and adaptive rounds; MC4 against a naive walk and exact chances."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles import ScriptedAnswers, derived, margins_of_order, random_margins
from scipy import stats
from scipy.optimize import brentq, minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from sklearn_dprank import Aggregator, DPPairwise, LDPAdaptivePairs, LDPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Answers, Central, Local
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.queries import AllMargins, Ask, PairTallies, Tallies, estimated_margins
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, BradleyTerryRule, MarkovChainRule, bradley_terry
from sklearn_dprank.rules.bradley_terry import PairLoss, bradley_terry_strengths, log_stationary, newton
from sklearn_dprank.sampling.bit_source import SeededBits

pytestmark = [pytest.mark.usefixtures("one_thread")]

STRENGTHS = np.array([0.3, -0.8, 1.1, 0.0, -0.4])
SOLVERS = {"Cholesky": 1000, "conjugate gradients": 2}  # number of items from which a sparse matrix is used


@pytest.fixture(params=SOLVERS)
def solver(request, monkeypatch):
    """Run a test with each solver, for any number of items."""
    monkeypatch.setattr(bradley_terry, "_MANY", SOLVERS[request.param])


def report_probabilities(s, flip):
    """Return the probability, for each two items, that a device reports the first one as better."""
    return flip + (1 - 2 * flip) * expit(s[:, None] - s)


def naive_loss(s, tallies, ridge):
    """Return minus the penalised log-likelihood by its definition."""
    return ridge / 2 * s @ s - sum((wins * np.log(report_probabilities(s, flip))).sum() for flip, wins in tallies)


def simulated(rng, strengths, flips, answers):
    """Return tallies of `answers` reports for each pair i < j (one number or a matrix) and each flip probability."""
    tallies = []
    for flip in flips:
        asked = np.triu(np.broadcast_to(answers, 2 * strengths.shape), 1)
        upper = rng.binomial(asked, report_probabilities(strengths, flip))
        tallies.append(Tallies(flip, upper + (asked - upper).T))
    return tuple(tallies)


def random_tallies(rng, flips):
    """Return few or many answers about few or all pairs, from voters who agree little or much."""
    m = int(rng.integers(2, 14))
    strengths = rng.normal(size=m) * rng.choice([0, 0.5, 2, 6])
    answers = rng.binomial(int(rng.choice([1, 3, 30, 1000])), rng.choice([0.05, 0.3, 1]), (m, m))
    return simulated(rng, strengths, flips, answers)


def many_items(m, n_answers, flip, near):
    """Return answers about random pairs of items that are at most `near` places apart."""
    rng, gaps = np.random.default_rng(m), np.arange(m) - np.arange(m)[:, None]
    asked = ((gaps > 0) & (gaps <= near)).astype(int)
    asked[asked > 0] = rng.multinomial(n_answers, np.full(asked.sum(), 1 / asked.sum()))
    return simulated(rng, np.linspace(3, -3, m), (flip,), asked)


def unrounded(tallies, ridge=0.01):
    return newton(PairLoss.of(tallies, ridge), estimated_margins(tallies).mean(axis=1) * 2)


def gradient(s, tallies, ridge=0.01):
    return PairLoss.of(tallies, ridge)(s)[1]


def order_of(wins, seed=0):
    class Answers(ScriptedAnswers):
        def answer(self, query):
            assert query == PairTallies()
            return (Tallies(0.1, wins),)

    return BradleyTerryRule().aggregate(Answers(np.zeros_like(wins), seed=seed)).order.tolist()


@pytest.mark.parametrize("flips", [(0.0,), (0.0, 0.0), (0.2,), (0.05, 0.2, 0.49)])
def test_loss_and_derivatives_are_those_of_the_definition(solver, flips):
    """Compare with the naive loss and its central differences; noisy counts may be negative."""
    rng = np.random.default_rng(7)
    for _ in range(5):
        tallies = tuple(Tallies(f, wins - (wins > 0) * rng.integers(3)) for f, wins in random_tallies(rng, flips))
        m, eps = len(tallies[0].wins), 1e-5
        s, loss = rng.normal(size=m), PairLoss.of(tallies, 0.3)
        s -= s.mean()
        value, slope, bend = loss(s)
        bend = bend if isinstance(bend, np.ndarray) else bend.toarray()
        assert value == pytest.approx(naive_loss(s, tallies, 0.3), rel=1e-12)
        scale = 1 + np.abs(slope).max() + sum(np.abs(wins).sum() for _, wins in tallies)
        values, slopes = (
            np.array([(f(s + step, tallies, 0.3) - f(s - step, tallies, 0.3)) / (2 * eps) for step in eps * np.eye(m)])
            for f in (naive_loss, gradient)
        )
        np.testing.assert_allclose(slope, values - values.mean(), atol=1e-6 * scale)
        second = np.diag(bend.sum(axis=1) + 0.3) - bend
        np.testing.assert_allclose(slopes, second - second.mean(axis=0), atol=1e-5 * scale)


def test_far_strengths_do_not_overflow(solver):
    """Between strengths 810 and 0, the exponential is above all doubles."""
    s, tallies = np.array([0.0, 810.0, 800.0]), (Tallies(0.0, np.array([[0, 0, 0], [6, 0, 5], [7, 2, 0]])),)
    value, slope, bend = PairLoss.of(tallies, 0.01)(s)
    assert value == pytest.approx(0.005 * (s @ s) + 5 * np.log1p(np.exp(-10)) + 2 * np.log1p(np.exp(10)), rel=1e-14)
    won = 5 - 7 * expit(10)
    np.testing.assert_allclose(slope, 0.01 * (s - s.mean()) - [0, won, -won], atol=1e-12)
    assert np.isfinite(bend.sum())


@pytest.mark.parametrize("ridge", [1e-9, 1e-6, 0.01])
@pytest.mark.parametrize("answers", [1, 3, 1000])
def test_strengths_of_two_items_have_nine_digits(solver, ridge, answers):
    """If all answers agree, the strengths are the root of one equation."""
    found = bradley_terry_strengths((Tallies(0.0, np.array([[0, answers], [0, 0]])),), ridge)
    exact = brentq(lambda s: ridge * s - answers * expit(-2 * s), 0, 30, xtol=1e-14, rtol=1e-14)
    np.testing.assert_allclose(found, [exact, -exact], rtol=0, atol=6e-10)
    assert (found == found.round(9)).all()


@pytest.mark.parametrize("flips", [(0.0,), (0.27,), (0.1, 0.45)])
@pytest.mark.parametrize("ridge", [0.01, 5.0])
@pytest.mark.parametrize("answers", [3, 200])
def test_strengths_are_those_of_a_general_solver(flips, ridge, answers):
    tallies = simulated(np.random.default_rng(0), STRENGTHS, flips, answers)
    found = bradley_terry_strengths(tallies, ridge)
    twin = minimize(naive_loss, np.zeros(5), args=(tallies, ridge), method="BFGS", options={"gtol": 1e-4})
    assert naive_loss(found, tallies, ridge) <= twin.fun + 1e-4
    np.testing.assert_allclose(found, twin.x, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("flips", [(0.0,), (0.2,), (0.27, 0.4), (0.05, 0.2, 0.49)])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_any_tallies_end_in_a_minimum(solver, flips, ridge):
    """Sparse answers with flips have losses that are flat or not convex."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        tallies = random_tallies(rng, flips)
        found, answers = unrounded(tallies, ridge), sum(wins.sum() for _, wins in tallies)
        assert np.abs(gradient(found, tallies, ridge)).max() <= 1e-10 * (100 + answers)
        for _ in range(3):
            aside = found + 1e-3 * rng.normal(size=len(found))
            assert naive_loss(aside, tallies, ridge) >= naive_loss(found, tallies, ridge) - 1e-12 * answers


@pytest.mark.parametrize("near", [885, 2])
@pytest.mark.parametrize("flip", [0.0, 0.27])
@pytest.mark.parametrize(("m", "n_answers"), [(80, 9000), (200, 300), (200, 5000), (885, 1000), (885, 20_000)])
def test_many_items_converge_without_a_dense_solve(monkeypatch, m, n_answers, flip, near):
    """Answers are about most pairs, about few of them, or about neighbours only."""

    def dense(*_):
        raise AssertionError("a dense solve of many items")

    monkeypatch.setattr(bradley_terry, "dposv", dense)
    tallies = many_items(m, n_answers, flip, near)
    found = unrounded(tallies)
    assert np.abs(gradient(found, tallies)).max() <= 1e-10 * (100 + n_answers)
    assert abs(found.sum()) < 1e-6
    for size in (1e-3, 0.1):
        aside = found + size * np.random.default_rng(5).normal(size=m)
        assert naive_loss(aside, tallies, 0.01) > naive_loss(found, tallies, 0.01)


def test_strengths_do_not_depend_on_the_number_of_threads():
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(unrounded(many_items(300, 400_000, 0.0, near=300)).tobytes())
    assert found[0] == found[1]


def test_coins_order_items_with_equal_answers():
    """Without rounding, the last digit of the strengths of items 1 and 2 would decide."""
    wins = np.array([[0, 7, 7, 3], [2, 0, 5, 9], [2, 5, 0, 9], [8, 1, 1, 0]])
    orders = [order_of(wins, seed) for seed in range(20)]
    assert {order.index(1) < order.index(2) for order in orders} == {True, False}


def test_unanimous_and_missing_answers_have_finite_strengths():
    always = np.array([[0, 9, 9], [0, 0, 9], [0, 0, 0]])
    found = bradley_terry_strengths((Tallies(0.0, always),), 0.01)
    assert np.isfinite(found).all() and found.sum() == pytest.approx(0)
    assert order_of(always) == [0, 1, 2]
    assert bradley_terry_strengths((Tallies(0.2, 0 * always),), 0.01).tolist() == [0, 0, 0]


class Recording(Answers):
    """Answers from a known order that record the queries."""

    def __init__(self, order, flip=0.2, size=40):
        super().__init__(len(order), SeededBits(np.random.SeedSequence(0)))
        position = np.argsort(order)
        self._ahead = (position[:, None] < position[None, :]).astype(np.int64)
        self._flip, self._size, self.asked = flip, size, []

    def answer(self, query):
        self.asked.append(query)
        wins = self._size * (self._ahead * (1 - self._flip) + self._ahead.T * self._flip)
        full = (Tallies(self._flip, np.rint(wins).astype(np.int64)),)
        return derived(PairTallies(query.pairs), PairTallies(), full)


def test_adaptive_rule_asks_one_answer_a_round():
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


def test_one_adaptive_round_gives_the_bradley_terry_order():
    order = np.array([3, 0, 2, 4, 1])
    one = AdaptiveBradleyTerryRule(1).aggregate(Recording(order)).order
    assert np.array_equal(one, BradleyTerryRule().aggregate(Recording(order)).order)


@pytest.mark.slow
def test_adaptive_rounds_have_less_error_than_one_round():
    """Questions about close pairs beat questions about all pairs at equal epsilon."""
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


# MC4


def markov_order(margins, **options):
    return MarkovChainRule().aggregate(ScriptedAnswers(margins, **{"fair_ties": False, **options})).order.tolist()


def beaten(m, edges):
    """Return margins of 1 for (winner, loser)."""
    margins = np.zeros((m, m), dtype=int)
    for winner, loser in edges:
        margins[winner, loser], margins[loser, winner] = 1, -1
    return margins


def naive_mc4(margins):
    """Walk among the items left. Items where the walk ends come first, by clusters; ties go by index."""
    left, order = list(range(len(margins))), []
    while left:
        walk = (margins[np.ix_(left, left)].T > 0) / len(left)
        walk += np.diag(1 - walk.sum(axis=1))
        for _ in range(60):  # 2^60 steps
            walk = walk @ walk
            walk /= walk.sum(axis=1, keepdims=True)
        chances = walk.mean(axis=0)
        ends = {tuple(np.flatnonzero(walk[k] > 1e-9)) for k in np.flatnonzero(chances > 1e-9)}
        for end in sorted(ends, key=lambda end: (-chances[list(end)].sum().round(9), end[0])):
            order += [left[k] for k in sorted(end, key=lambda k: (-chances[k].round(9), k))]
        left = [item for item in left if item not in order]
    return order


@st.composite
def margin_matrices(draw, max_items=7):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_margins(rng, draw(st.integers(2, max_items)), draw(st.sampled_from([1, 2, 100])))


def test_cycle_of_four_has_known_chances():
    """A cycle of four: chances 1/5, 2/5, 3/10, 1/10.

    0 beats 1; 1 beats 2 and 3; 2 beats 0 and 3; 3 beats 0. Net wins have 1 and 2 level, and 0 and 3.
    Into 1 from 2 and 3, out to 0: .3 + .1 = .4; into 2 from 0 and 3, out to 1: .2 + .1 = .3; and so on.
    """
    margins = beaten(4, [(0, 1), (1, 2), (1, 3), (2, 0), (2, 3), (3, 0)])
    assert markov_order(margins) == [1, 2, 0, 3]
    chances = np.exp(log_stationary(margins.T > 0))
    assert chances / chances.sum() == pytest.approx([0.2, 0.4, 0.3, 0.1], rel=1e-14)
    assert margins.sum(axis=1).tolist() == [-1, 1, 1, -1]


def test_several_absorbing_sets_have_known_orders():
    """0 is level with the circle of 2, 3 and 4; of these, 0, 2 and 3 beat 1.

    From 1 the walk goes to each of the three alike: it ends at 0 with chance 1/5 + 1/15, in the circle with 3/5 + 2/15.
    """
    margins = beaten(5, [(0, 1), (2, 1), (3, 1), (2, 3), (3, 4), (4, 2)])
    assert markov_order(margins) == [2, 3, 4, 0, 1]
    # Without the circle there are four ends: 0, 2 and 3 have 1/5 + 1/15 each, and 4 has 1/5.
    assert markov_order(beaten(5, [(0, 1), (2, 1), (3, 1)])) == [0, 2, 3, 4, 1]
    assert markov_order(beaten(5, [(4, 1), (3, 1)])) == [3, 4, 0, 2, 1]


@pytest.mark.slow
@given(margin_matrices())
def test_orders_equal_a_naive_walk(margins):
    assert markov_order(margins) == naive_mc4(margins)


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_stationary_chances_are_balanced(k):
    rng = np.random.default_rng(k)
    for _ in range(20):
        moves = rng.integers(0, 3, (k, k)) * (rng.random((k, k)) < 0.6)
        moves[np.arange(k), (np.arange(k) + 1) % k] += 1  # irreducible
        np.fill_diagonal(moves, rng.integers(0, 3, k))  # without effect
        chances = np.exp(log_stationary(moves))
        np.testing.assert_allclose(chances @ moves, chances * moves.sum(axis=1), rtol=1e-13)


def test_stationary_chances_below_doubles_are_balanced():
    """Each item beats all but its predecessor, so chances are factorials."""
    m = 400
    upsets = margins_of_order(range(m))
    for k in range(m - 1):
        upsets[k, k + 1], upsets[k + 1, k] = -1, 1
    chances = log_stationary(upsets.T > 0)
    assert chances.min() < -700 and np.isfinite(chances).all()
    moves = upsets.T > 0
    for state in range(m):
        into = np.logaddexp.reduce(chances[moves[:, state]])
        assert into == pytest.approx(chances[state] + math.log(moves[state].sum()), abs=1e-9)
    assert (np.diff(chances[markov_order(upsets)]) < 0).all()


def test_coins_break_ties_of_markov_chains():
    level = np.zeros((3, 3), dtype=int)
    seen = [tuple(markov_order(level, seed=seed, fair_ties=True)) for seed in range(600)]
    counts = [seen.count(order) for order in sorted(set(seen))]
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-3
    circle = beaten(5, [(0, 1), (1, 2), (2, 0)])  # beside two items that tie with all
    seen = {tuple(markov_order(circle, seed=seed, fair_ties=True)) for seed in range(200)}
    assert len(seen) == 12 and all(set(order[:3]) == {0, 1, 2} for order in seen)  # three of five random items


def test_every_channel_gives_the_exact_order_for_little_noise():
    X = make_mallows(2001, 6, 0.4, center=[3, 1, 5, 0, 2, 4], random_state=0)
    exact = Aggregator(rule="markov_chain").fit(X)
    assert exact.consensus_.tolist() == [3, 1, 4, 0, 5, 2] and str(exact.privacy_) == "not private"
    for channel in (Central(epsilon=5.0), Central(epsilon=5.0, release=AllMargins()), Local(epsilon=8.0)):
        private = Aggregator(channel, "markov_chain", random_state=0).fit(X)
        assert private.consensus_.tolist() == exact.consensus_.tolist()
        assert private.privacy_.epsilon == channel.epsilon
    same = DPPairwise(5.0, rule=MarkovChainRule(), random_state=0).fit(X)
    assert same.consensus_.tolist() == exact.consensus_.tolist()
