"""Rows sorted as single numbers, and whole ids looked up in tables, give what sorts and dictionaries give."""

import numpy as np
import pandas as pd
import pytest

from sklearn_dprank.ballots import Profile, rows
from sklearn_dprank.ballots.long import ids, item_codes
from sklearn_dprank.ballots.rows import levels_of, sorted_together


@pytest.mark.parametrize("bounds", [(4, 3, 5), (1, 1, 1), (7, 2**40, 9), (2**30, 2**20, 2**13), (2**30, 2**20, 2**14)])
@pytest.mark.parametrize("n", [0, 1, 500])
def test_sorted_together_is_a_lexsort(bounds, n):
    """Up to 63 bits in one number, beyond them by a lexsort."""
    rng = np.random.default_rng(n)
    columns = [rng.integers(max(0, bound - 4), bound, n) for bound in bounds]
    copies = [column.copy() for column in columns]
    order = np.lexsort(columns[::-1])
    found = sorted_together(*zip(columns, bounds, strict=True))
    for each, column, copy in zip(found, columns, copies, strict=True):
        np.testing.assert_array_equal(each, copy[order])
        np.testing.assert_array_equal(column, copy)


@pytest.mark.parametrize("most", [0, 1 << 12])
def test_levels_are_the_places_of_values(monkeypatch, most):
    monkeypatch.setattr(rows, "_LEVELS", most)
    values = np.random.default_rng(0).normal(size=50).round(1)
    levels, places = levels_of(values)
    np.testing.assert_array_equal(levels[places], values)
    assert (np.diff(levels) > 0).all()


def naive_ballots(persons, items, values):
    """Items of each person by mean value, best first and then by number; persons in the order of their ids."""
    ballots = {}
    for person in sorted(set(persons[~np.isnan(values)].tolist())):
        own = persons == person
        means = {i: np.sort(values[own & (items == i)]) for i in sorted(set(items[own].tolist()))}
        means = {i: mean[~np.isnan(mean)] for i, mean in means.items()}
        means = {i: -mean.sum() / len(mean) for i, mean in means.items() if len(mean)}
        ballots[person] = sorted((place, i) for i, place in means.items())
    return list(ballots.values())


@pytest.mark.parametrize("kind", ["few levels", "many levels", "no repeats", "gaps"])
@pytest.mark.parametrize("wide", [False, True], ids=["one number", "lexsort"])
def test_ratings_become_the_rows_of_their_definition(monkeypatch, kind, wide):
    rng = np.random.default_rng(1)
    persons, items = np.divmod(rng.choice(40 * 30, 700, replace=kind != "no repeats"), 30)
    values = rng.normal(size=700) if kind == "many levels" else rng.integers(-2, 3, 700) / 2
    values[rng.random(700) < (0.3 if kind == "gaps" else 0)] = np.nan
    if wide:
        monkeypatch.setattr(rows, "_LEVELS", 0)
        persons = persons * 10**15 - 2**55
    found = Profile.from_long(None, persons, items, rating=values, items=range(30)).rows
    expected = naive_ballots(persons, items, values)
    ballots = np.repeat(np.arange(len(expected)), list(map(len, expected)))
    np.testing.assert_array_equal(found.ballot, ballots)
    np.testing.assert_array_equal(found.item, [i for ballot in expected for _, i in ballot])
    np.testing.assert_allclose(found.place, [place for ballot in expected for place, _ in ballot], atol=1e-12)


@pytest.mark.parametrize(
    "column",
    [
        np.array([-128, 127, 5, 127], dtype=np.int8),
        np.array([2**64 - 1, 3, 2**63, 3], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1, 0]),
        np.array([2**62, 7, 2**62]),
        np.array([10**12, 10**12 + 3, 10**12]),
        np.array([], dtype=np.int64),
        np.array([4, 2, 4, 9], dtype=np.uint32),
    ],
    ids=repr,
)
def test_whole_ids_are_numbered_in_order(column):
    codes, labels = ids(column, "person")
    found, places = np.unique(column, return_inverse=True)
    assert labels == found.tolist() and {type(label) for label in labels} <= {int}
    np.testing.assert_array_equal(codes, places)
    assert codes.dtype == np.int64


CATALOGUES = [[3, 900, -7, 12], [5, 10**15, 6], [2**63, 5, 6], [0, 1, 2**64 - 1]]


@pytest.mark.parametrize("names", CATALOGUES, ids=repr)
@pytest.mark.parametrize("form", [list, np.array, pd.Series, lambda each: pd.Series(each, dtype="Int64")])
def test_whole_items_have_the_places_of_the_catalogue(names, form):
    held = [k for _ in range(3) for k in range(len(names)) if abs(names[k]) < 2**63]
    column = form([names[k] for k in held])
    np.testing.assert_array_equal(item_codes(column, "item", names), held)


@pytest.mark.parametrize("other", [4, -8, 901, 2**63 - 1, -(2**63)])
def test_whole_items_outside_the_catalogue_are_refused(other):
    for column in (np.array([3, other]), pd.Series([other, 12])):
        with pytest.raises(ValueError, match="a row holds another one") as error:
            item_codes(column, "item", CATALOGUES[0])
        assert str(other) not in str(error.value)


def test_large_unsigned_items_are_no_small_negative_ones():
    with pytest.raises(ValueError, match="a row holds another one"):
        item_codes(np.array([2**64 - 7], dtype=np.uint64), "item", CATALOGUES[0])
