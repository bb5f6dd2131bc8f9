"""Picks of `recommend` against all that was considered, on votes that its curves were not made from."""

import os

import numpy as np
import pytest

from sklearn_dprank import (
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    LDPKwikSort,
    LDPPairwise,
    ShuffleHierarchical,
    ShufflePairwise,
)
from sklearn_dprank.datasets import make_mallows, make_plackett_luce

DATA = os.environ.get("SKLEARN_DPRANK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")


@pytest.fixture(scope="module")
def script(example):
    return example("judge_recommendations")


def ladder(n_voters, n_items, rng):
    """Plackett-Luce votes whose weights fall by the same factor from item to item."""
    return make_plackett_luce(n_voters, n_items, 0.75 ** rng.permutation(n_items), random_state=rng)


def leagues(n_voters, n_items, rng):
    """Plackett-Luce votes in which half of the items are nearly as good, and all better than the other half."""
    weights = np.where(np.arange(n_items) < n_items // 2, 6.0, 1.0) * rng.uniform(1, 1.6, n_items)
    return make_plackett_luce(n_voters, n_items, weights, random_state=rng)


def parties(n_voters, n_items, rng):
    """Mallows votes around three centres; the largest has 60 of 100 voters."""
    shares = [0.6, 0.25, 0.15]
    return np.concatenate([make_mallows(round(share * n_voters), n_items, 0.7, random_state=rng) for share in shares])


def tied(n_voters, n_items, rng):
    """Mallows votes that tie all but the best few items."""
    return np.minimum(make_mallows(n_voters, n_items, 0.7, random_state=rng), n_items // 2)


PUBLIC = [
    (0.03, 0.0, "central", None),
    (0.03, 1e-6, "central", None),
    (0.03, 0.0, "central", 2),
    (1.0, 0.0, "local", None),
    (0.3, 1e-6, "shuffle", None),
    (0.1, 1e-6, "secure_aggregation", None),
]


@pytest.mark.parametrize("public", PUBLIC)
@pytest.mark.parametrize("kind", [ladder, leagues, parties, tied])
@pytest.mark.parametrize("n_items", [5, pytest.param(9, marks=pytest.mark.slow)])
def test_pick_is_right_on_other_votes(script, kind, n_items, public):
    """Close to the best candidate, and the error is in the stated range."""
    votes = script.Electorate(kind(2000, n_items, np.random.default_rng(n_items)))
    epsilon, delta, trust, k = public
    known = {}
    for guess in (None, script.guess_of(votes)):
        verdict = script.judged(votes, epsilon, delta, trust, 25, k=k, guess=guess, known=known)
        assert verdict.right(script.TOLERANCE if k is None else script.TOLERANCE_OF_BEST), verdict
        assert verdict.in_range(), verdict


def not_considered(votes, epsilon, delta, trust):
    """Return mechanisms that `recommend` does not look at, as far as they take milliseconds."""
    m, n = votes.n_items, votes.n_voters
    if trust == "local":
        found = [LDPKwikSort(epsilon), LDPPairwise(epsilon, rule="borda"), LDPPairwise(epsilon, n_queries=2)]
        return found + [LDPPairwise(epsilon, randomizer="djw")] * (m <= 45)
    if trust == "shuffle":
        common = {"epsilon": epsilon, "delta": delta, "min_reports": n}
        return [ShufflePairwise(pairs="assigned", **common), ShuffleHierarchical(**common)]
    found = [DPPairwise(epsilon, rule="borda"), DPBorda(epsilon)]
    found += [DPKwikSort(epsilon, strategy="binary_insertion")] if m <= 45 else []
    found += [DPKemenySampler(epsilon), DPPairwise(epsilon)] if m <= 10 else []
    found += [DPHistogram(epsilon)] if m <= 5 else []
    return found + ([DPPrudentOrder(epsilon, window=7)] if m >= 8 else [])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:prudent orders fail")
@pytest.mark.parametrize(
    "public", [(0.01, 0.0, "central"), (0.05, 0.0, "central"), (1.0, 0.0, "local"), (0.3, 1e-6, "shuffle")]
)
@pytest.mark.parametrize(
    "name", ["ladder", "parties", *(pytest.param(n, marks=needs_data) for n in ("dots 1", "SUSHI", "JESTER 25"))]
)
def test_no_mechanism_outside_the_candidates_is_better(script, monkeypatch, name, public):
    if name in ("ladder", "parties"):
        votes = script.Electorate({"ladder": ladder, "parties": parties}[name](3000, 8, np.random.default_rng(3)))
    else:
        monkeypatch.setenv("SKLEARN_DPRANK_DATA", str(DATA))
        votes = script.electorate(name)
    verdict = script.judged(votes, *public, 40, others=not_considered(votes, *public))
    assert verdict.right(), verdict


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    "name",
    ["dots 1", "dots 4", "puzzles 2", "Vermont", "Dublin", "Dublin with gaps", "SUSHI", "JESTER 15", "JESTER 40"],
)
def test_picks_on_real_votes(script, monkeypatch, name):
    """Right, with errors in the stated range, without an estimate and with one: of 31 or 34 picks, all but one."""
    monkeypatch.setenv("SKLEARN_DPRANK_DATA", str(DATA))
    found = script.judge((name,), n_trials=15)
    assert len(found) >= 31
    for place in (0, 1):
        verdicts = [
            (both[place], script.TOLERANCE if k is None else script.TOLERANCE_OF_BEST)
            for (*_, k), both in found.items()
        ]
        assert sum(not each.right(tolerance) for each, tolerance in verdicts) <= 1
        assert sum(not each.in_range() for each, _ in verdicts) <= 1


@pytest.mark.parametrize(("n_items", "k"), [(5, 1), (8, 3)])
def test_near_ties_at_the_last_place_are_in_the_range(script, n_items, k):
    """The items at places k and k + 1 are as good: one of them is missed half of the time, at any usual epsilon."""
    votes = make_mallows(2000, n_items, 0.4, center=np.arange(n_items), random_state=0)
    swapped = np.arange(n_items)
    swapped[[k - 1, k]] = k, k - 1
    votes = script.Electorate(np.concatenate([votes, votes[:-2, swapped]]))
    verdict = script.judged(votes, 0.05, k=k, n_trials=100)
    assert verdict.estimator.startswith("DPTopK") and verdict.error < 0.01
    assert verdict.found == pytest.approx(0.5 / k, abs=0.2 / k) and verdict.in_range()
