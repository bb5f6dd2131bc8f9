"""Random tables: read like a naive twin reads them, or refused by column without showing a cell."""

import io
import math
import random
import sys

import numpy as np
import pandas as pd
import pytest
from oracles import objects

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import check_ballots, missing

SECRET = "271828"
NUMBERS = [0, 1, 2, -3, 0.5, 2**40, np.int8(4), np.float32(1.5), True]
GAPS = [None, np.nan, pd.NA, np.float64("nan")]
TEXTS = ["n/a", f"{SECRET} votes", "first", b"tea"]
OBJECTS = [{SECRET: 1}, [SECRET, 1], (int(SECRET),)]


def cells_of(rng, shape):
    """Draw rows of cells: some tables are numbers only, some have gaps, some have other objects."""
    kinds = [NUMBERS, NUMBERS, *rng.choice([[], [GAPS], [GAPS, GAPS]])]
    rows = [[rng.choice(rng.choice(kinds)) for _ in range(shape[1])] for _ in range(shape[0])]
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 2)):
            rows[rng.randrange(shape[0])][rng.randrange(shape[1])] = rng.choice(TEXTS + OBJECTS)
    return rows


def naive(cell):
    """Return the number in a cell, NaN for a gap, None for other objects."""
    if cell is None or cell is pd.NA:
        return math.nan
    return float(cell) if isinstance(cell, (int, float, np.number)) else None


def check_table(seed):
    rng = random.Random(seed)
    shape = rng.randint(1, 4), rng.randint(2, 4)
    rows = cells_of(rng, shape)
    expected = [[naive(cell) for cell in row] for row in rows]
    bad = sorted({k for row in expected for k, number in enumerate(row) if number is None})
    names = rng.choice([["tea", "milk", "wine", "beer"], [30, 10, 40, 20]])[: shape[1]]
    frame = rng.random() < 0.6
    X = pd.DataFrame(objects(rows), columns=names) if frame else objects(rows)
    if frame and rng.random() < 0.5:
        X = X.infer_objects()
    if not bad:
        np.testing.assert_array_equal(check_ballots(X), expected)
        profile = Profile.from_rankings(X)
        assert (profile.item_names is None) == (not frame)
        assert not frame or profile.item_names.tolist() == names
        return True
    with pytest.raises((ValueError, TypeError)) as caught:
        check_ballots(X)
    text = str(caught.value)
    assert f" column {(names[bad[0]] if frame else bad[0])!r}" in text
    assert SECRET not in text
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    return False


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(1000), range(1000, 21_000)], ids=len)
def test_random_tables_are_read_or_refused(seeds):
    assert 0.4 < np.mean([check_table(seed) for seed in seeds]) < 0.9


def test_missing_values_without_pandas(monkeypatch):
    cells = np.array([None, np.nan, np.float64("nan"), "nan", 0, "", 1.5], dtype=object)
    expected = [True, True, True, False, False, False, False]
    assert missing(cells).tolist() == expected
    monkeypatch.delitem(sys.modules, "pandas")
    assert missing(cells).tolist() == expected


def test_the_error_for_a_shifted_table_names_the_remedy():
    """The first ballot has one cell too many, and pandas takes the first cells of all rows for their names."""
    shifted = pd.read_csv(io.StringIO("tea,milk,wine,comment\n1,2,3,hello, world\n4,5,6,ok\n"))
    with pytest.raises(ValueError, match=r"got text in column 'wine'.*read_csv\(path, index_col=False\)"):
        Profile.from_rankings(shifted)
