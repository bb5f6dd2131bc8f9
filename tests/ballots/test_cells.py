"""Net wins and exposures of persons and items, against sums over every pair of rows."""

import numpy as np
import pytest

from sklearn_dprank.ballots.cells import ComparedCells, RatedCells

ONE = 720720


def tables(cells, *columns):
    """Return columns of cells as tables of persons and items."""
    shape = (cells.persons.max() + 1, cells.items.max() + 1)
    assert (np.diff(cells.persons * shape[1] + cells.items) > 0).all()  # sorted, and no cell twice
    out = []
    for column in columns:
        out.append(np.zeros(shape, dtype=np.int64))
        out[-1][cells.persons, cells.items] = column
    return out


@pytest.mark.parametrize("seed", range(5))
def test_comparisons_are_summed_by_person_and_item(seed):
    rng = np.random.default_rng(seed)
    persons, first = rng.integers(0, 6, 60), rng.integers(0, 5, 60)
    second, outcome = (first + rng.integers(1, 5, 60)) % 5, rng.integers(-1, 2, 60)
    cells = ComparedCells.of(persons, first, second, outcome)
    strengths = rng.normal(size=5)
    wins, exposures, expected = np.zeros((3, 6, 5), dtype=np.int64)
    for person, i, j, won in zip(persons, first, second, outcome, strict=True):
        share = round(ONE * np.tanh((strengths[i] - strengths[j]) / 2))
        for item, sign in ((i, 1), (j, -1)):
            wins[person, item] += sign * won * ONE
            exposures[person, item] += ONE
            expected[person, item] += sign * share
    found = tables(cells, cells.net_wins, cells.exposures, cells.expected(strengths))
    for one, other in zip(found, (wins, exposures, expected), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(5))
def test_ratings_are_mean_margins_within_a_person(seed):
    rng = np.random.default_rng(seed)
    rated = rng.random((8, 6)) < 0.6
    rated[0] = [True, *[False] * 5]  # one rating counts nothing
    rated[1] = True
    persons, items = rng.permutation(np.argwhere(rated)).T
    values = rng.integers(0, 4, len(items)).astype(float)
    cells = RatedCells.of(persons, items, values)
    strengths = np.round(rng.normal(size=6) * ONE) / ONE
    wins, exposures, expected = np.zeros((3, 8, 6), dtype=np.int64)
    for person in range(8):
        own = {item: value for p, item, value in zip(persons, items, values, strict=True) if p == person}
        if len(own) < 2:
            continue
        for item, value in own.items():
            margin = sum(np.sign(value - other) for other in own.values())
            wins[person, item] = int(margin * ONE / (len(own) - 1))
            exposures[person, item] = ONE
            steps = [round(strengths[other] * ONE) for other in own]
            expected[person, item] = (len(own) * round(strengths[item] * ONE) - sum(steps)) // (len(own) - 1)
    found = tables(cells, cells.net_wins, cells.exposures, cells.expected(strengths))
    for one, other in zip(found, (wins, exposures, expected), strict=True):
        np.testing.assert_array_equal(one, other)
    assert 0 not in cells.persons


def test_absolute_net_wins_do_not_exceed_exposures():
    rng = np.random.default_rng(0)
    persons, items = np.divmod(rng.choice(400 * 30, 3000, replace=False), 30)
    cells = RatedCells.of(persons, items, rng.normal(size=3000))
    assert (np.abs(cells.net_wins) <= cells.exposures).all() and (np.abs(cells.net_wins) == ONE).any()


def test_no_rows_have_no_cells():
    none = np.zeros(0, dtype=np.int64)
    for cells in (ComparedCells.of(none, none, none, none), RatedCells.of(none, none, none)):
        assert len(cells.items) == len(cells.expected(np.zeros(3))) == 0
