"""MC4: orders against a naive walk, exact stationary probabilities, the Condorcet property and private channels."""

import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles import ScriptedAnswers, margins_of_order, random_margins
from scipy import stats

from sklearn_dprank import Aggregator, Borda, DPPairwise
from sklearn_dprank.channels import Central, Local
from sklearn_dprank.datasets import make_mallows, read_preflib
from sklearn_dprank.queries import AllMargins
from sklearn_dprank.rules import MarkovChainRule
from sklearn_dprank.rules.bradley_terry import log_stationary

DATA = os.environ.get("SKLEARN_DPRANK_DATA")


def order_of(margins, **options):
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
    assert order_of(margins) == [1, 2, 0, 3]
    chances = np.exp(log_stationary(margins.T > 0))
    assert chances / chances.sum() == pytest.approx([0.2, 0.4, 0.3, 0.1], rel=1e-14)
    assert margins.sum(axis=1).tolist() == [-1, 1, 1, -1]


def test_several_absorbing_sets_have_known_orders():
    """0 is level with the circle of 2, 3 and 4; of these, 0, 2 and 3 beat 1.

    From 1 the walk goes to each of the three alike: it ends at 0 with chance 1/5 + 1/15, in the circle with 3/5 + 2/15.
    """
    margins = beaten(5, [(0, 1), (2, 1), (3, 1), (2, 3), (3, 4), (4, 2)])
    assert order_of(margins) == [2, 3, 4, 0, 1]
    # Without the circle there are four ends: 0, 2 and 3 have 1/5 + 1/15 each, and 4 has 1/5.
    assert order_of(beaten(5, [(0, 1), (2, 1), (3, 1)])) == [0, 2, 3, 4, 1]
    assert order_of(beaten(5, [(4, 1), (3, 1)])) == [3, 4, 0, 2, 1]


@pytest.mark.slow
@given(margin_matrices())
def test_orders_equal_a_naive_walk(margins):
    assert order_of(margins) == naive_mc4(margins)


def exactly(moves):
    """Return the stationary distribution in fractions, by Cramer's rule."""
    k = len(moves)
    generator = [[Fraction(int(x)) for x in row] for row in moves]
    for i in range(k):
        generator[i][i] = -sum(generator[i][j] for j in range(k) if j != i)

    def determinant(rows):
        rows, out = [row[:] for row in rows], Fraction(1)
        for c in range(len(rows)):
            pivot = next((r for r in range(c, len(rows)) if rows[r][c]), None)
            if pivot is None:
                return Fraction(0)
            if pivot != c:
                rows[c], rows[pivot], out = rows[pivot], rows[c], -out
            out *= rows[c][c]
            for r in range(c + 1, len(rows)):
                factor = rows[r][c] / rows[c][c]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[c], strict=True)]
        return out

    return [abs(determinant([row[:s] + row[s + 1 :] for t, row in enumerate(generator) if t != s])) for s in range(k)]


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_stationary_chances_equal_fractions(k):
    rng = np.random.default_rng(k)
    for _ in range(20):
        moves = rng.integers(0, 3, (k, k)) * (rng.random((k, k)) < 0.6)
        moves[np.arange(k), (np.arange(k) + 1) % k] += 1  # irreducible
        np.fill_diagonal(moves, rng.integers(0, 3, k))  # without effect
        true = exactly(moves)
        expected = [float(chance / true[0]) for chance in true]
        assert np.exp(log_stationary(moves)) == pytest.approx(expected, rel=1e-13)


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
    assert (np.diff(chances[order_of(upsets)]) < 0).all()


def test_coins_break_ties_of_markov_chains():
    level = np.zeros((3, 3), dtype=int)
    seen = [tuple(order_of(level, seed=seed, fair_ties=True)) for seed in range(600)]
    counts = [seen.count(order) for order in sorted(set(seen))]
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-3
    circle = beaten(5, [(0, 1), (1, 2), (2, 0)])  # beside two items that tie with all
    seen = {tuple(order_of(circle, seed=seed, fair_ties=True)) for seed in range(200)}
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


@pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")
@pytest.mark.parametrize(
    ("file", "optimum"),
    [("sushi.soc", 0.341991), ("00024-00000001.soc", 0.407547), ("00025-00000001.soc", 0.389239)],
)
def test_real_votes_have_the_known_error(file, optimum):
    """Majorities are transitive, so MC4 gives the Kemeny order."""
    X = read_preflib(Path(DATA, file)).data
    assert -Aggregator(rule="markov_chain").fit(X).score(X) == pytest.approx(optimum, abs=1e-6)
    assert Borda().fit(X).score(X) <= -optimum + 1e-6
