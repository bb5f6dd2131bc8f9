"""Scaled margins: against the obvious, the same sensitivity whatever is asked, and what is refused."""

from fractions import Fraction
from itertools import combinations
from math import isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import all_ballots, naive_counts, profiles

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import Ask, GroupNetWins, ScaledMargins
from sklearn_dprank.queries.base import weighted_sensitivity
from sklearn_dprank.queries.statistics import MOST_PAIRS
from sklearn_dprank.sampling.bit_source import Bits


@pytest.mark.slow
@given(profiles(), st.data())
def test_pairs_against_the_obvious(X, data):
    counts = naive_counts(X)
    every = [(i, j) for i in range(len(counts)) for j in range(len(counts)) if i != j]
    pairs = tuple(data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=len(every) // 2)))
    query, profile = ScaledMargins(pairs), Profile.from_rankings(X)
    found = query.vector(profile, None)
    assert found.dtype == np.int64
    scale = isqrt(4096 * len(counts) * (len(counts) ** 2 - 1) // 3 // len(pairs))
    assert query.scale(profile.n_items) == scale
    assert found.tolist() == [scale * (counts[i, j] - counts[j, i]) for i, j in pairs]
    assert query.read(np.append(found, [7, 7]), profile.n_items).tolist() == found.tolist()


def partitions(items):
    """Every partition of a list of items."""
    if not items:
        yield ()
        return
    first, *rest = items
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            for more in partitions([item for item in rest if item not in others]):
                yield ((first, *others), *more)


def every_question(m):
    pairs = list(combinations(range(m), 2))
    yield from (ScaledMargins(some) for size in range(1, len(pairs) + 1) for some in combinations(pairs, size))
    yield from (ScaledMargins(groups=groups) for groups in partitions(list(range(m))))


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("m", [3, 4])
def test_no_ballot_moves_any_question_further(m, neighboring):
    """All partitions and all sets of pairs, all weak and partial ballots; the price is used up but for rounding."""
    alone = [Profile.from_rankings([ballot]) for ballot in all_ballots(m)]
    for query in every_question(m):
        said = np.unique([query.vector(profile, None) for profile in alone], axis=0)
        moved = said if neighboring == "add_remove" else (said[:, None] - said).reshape(-1, said.shape[1])
        stated = query.sensitivity(m, neighboring)
        assert stated == ScaledMargins().sensitivity(m, neighboring)
        assert np.abs(moved).sum(axis=1).max() <= stated.l1
        worst = (moved**2).sum(axis=1).max()
        assert worst <= stated.l2_squared
        if moved.any():  # groups of one item have no margins
            assert worst > stated.l2_squared * (1 - 1 / 32)


@pytest.mark.parametrize("m", [2, 3, 9, 45, 200, 885])
def test_scales_lose_little(m):
    whole = GroupNetWins().sensitivity(m, "add_remove").l2_squared
    assert ScaledMargins().scale(m) == 64
    assert ScaledMargins().sensitivity(m, "add_remove").l2_squared == 4096 * whole
    for size in (1, m, MOST_PAIRS):
        if size <= m * (m - 1) // 2:
            pairs = tuple(zip(*(index[:size].tolist() for index in np.triu_indices(m, 1)), strict=True))
            query = ScaledMargins(pairs)
            query.check(m)
            used = Fraction(query.scale(m) ** 2 * size, 4096 * whole)
            assert (1 - Fraction(1, 32)) < used <= 1


@pytest.mark.parametrize(("m", "size"), [(3, 4), (3, 10**5), (200, MOST_PAIRS + 1)])
def test_a_ledger_refuses_more_pairs_than_were_priced(m, size):
    """A session does not call `check`, so the sensitivity must tell; pairs may be repeated."""
    query = ScaledMargins(((0, 1),) * size)
    moved = query.vector(Profile.from_rankings([np.arange(m)]), None)
    stated = query.sensitivity(m, "add_remove")
    assert moved.sum() <= stated.l1 and (moved**2).sum() <= stated.l2_squared
    assert not stated.within(ScaledMargins().sensitivity(m, "add_remove"))
    session = Central(1.0, 1e-6, "gaussian").plan([Ask(ScaledMargins())], m).open(Profile.from_rankings([np.arange(m)]))
    with pytest.raises(BudgetExhausted, match="more sensitive than"):
        session(Bits.from_random_state(0)).answer(query)


def test_one_person_of_much_weight():
    stated = weighted_sensitivity(ScaledMargins(((0, 1),)), 5, "replace", 3 * 720720)
    plain = ScaledMargins().sensitivity(5, "replace")
    assert (stated.l1, stated.l2_squared) == (3 * 720720 * plain.l1, (3 * 720720) ** 2 * plain.l2_squared)


def test_large_weights_do_not_overflow():
    class Heavy:
        n_items = 200
        margins = np.full((200, 200), 2**55)

    query = ScaledMargins(((0, 1),))
    (found,) = query.vector(Heavy(), None)
    assert found == query.scale(200) * 2**55 > 2**63


@pytest.mark.parametrize("pairs", [(), ((0, 0),), ((-1, 0),), ((0, 1, 2),), ((0, 1.0),), [(0, 1)], "01"])
def test_what_are_no_pairs(pairs):
    with pytest.raises(ValueError, match="pairs must be None or one or more pairs of different items"):
        ScaledMargins(pairs)


def test_what_is_refused():
    with pytest.raises(ValueError, match="without groups"):
        ScaledMargins(((0, 1),), ((0, 1),))
    with pytest.raises(ValueError, match="none of them twice"):
        ScaledMargins(groups=((0, 1), (1, 2)))
    with pytest.raises(ValueError, match="some of the 5 items, 0 to 4"):
        ScaledMargins(((0, 5),)).check(5)
    with pytest.raises(ValueError, match="some of the 5 items, 0 to 4"):
        ScaledMargins(groups=((0, 5),)).check(5)
    with pytest.raises(ValueError, match="at most 10 pairs, got 11"):
        ScaledMargins(((0, 1),) * 11).check(5)
    ScaledMargins(((0, 1),) * 10).check(5)
