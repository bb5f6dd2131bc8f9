"""Readers of ballots get valid contents with random changes, and read them correctly or refuse them briefly."""

import copy

import numpy as np
import pytest
from fuzzing import VALUES, fuzz, heard

from sklearn_dprank import Borda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.cli import files, parser, ranking as segments
from sklearn_dprank.preprocessing import RatingsToRankings, orders_to_positions, unranked_last

ITEMS = ["tea", "milk", "rye", "fig"]
M = len(ITEMS)
PARSER = parser()


def options(path, *given):
    """Return the options of the command for a file."""
    return PARSER.parse_args(["rank", str(path), *given])


def valid(profile, m=None):
    """Check that a profile holds weak, partial orders and their counts."""
    n = profile.n_items
    assert m in (None, n) and n >= 2
    table = profile.positions.table
    assert table.shape == (n, profile.n_voters)
    ranked = table != profile.positions.sentinel
    each = np.ones(profile.n_voters, dtype=int) if profile.weights is None else profile.weights.each
    wins = [[each[(table[i] < table[j]) & ranked[i] & ranked[j]].sum() for j in range(n)] for i in range(n)]
    np.testing.assert_array_equal(profile.pairwise_counts, wins)
    assert profile.item_names is None or len(set(profile.item_names.tolist())) == n


# --- tables in files


def cell(rng, layout):
    if rng.random() < 0.1:
        return ""
    return str(rng.randrange(10_000, 99_999) / rng.choice([1, 100])) if layout == "ratings" else str(rng.randrange(M))


class Table:
    """The command's reader of a CSV file of ratings or positions, with columns of persons and of segments."""

    def __init__(self, layout, person, segment=None):
        self.layout, self.person, self.segment = layout, person, segment

    def content(self, rng):
        rows = [[cell(rng, self.layout) for _ in range(M)] for _ in range(rng.randint(1, 4))]
        if self.person:
            rows = [[f"person{rng.randrange(100)}", *row] for row in rows]
        lines = [([self.person] if self.person else []) + ITEMS, *rows]
        if self.segment:
            lines = [[self.segment, *lines[0]], *([f"region{rng.randrange(3)}", *row] for row in rows)]
        return "\n".join(",".join(line) for line in lines).encode()

    def read(self, content, folder, rng):
        path = folder / "votes.csv"
        path.write_bytes(content)
        optional = rng.choice([[], ["--unranked", "last"], ["--unranked", "no_opinion"], ["--no-answer", "2,agree"]])
        optional += ["--unranked", "last"] if self.layout == "positions" and optional[:1] != ["--unranked"] else []
        optional += rng.choice([["--items", "all"], ["--items", "all"], []])
        optional += ["--person", self.person] if self.person else []
        optional += ["--segments", self.segment] if self.segment else []
        try:
            profile, cells = files.read(
                options(path, f"--{self.layout}", *optional, "--unreadable", rng.choice(["error", "error", "empty"]))
            )
        except ValueError as error:
            first, _, ballots = content.partition(b"\n")
            heard(error, b"" if b"\r" in content or b'"' in first else ballots, path, public=first)
            return False
        valid(profile)
        names = ["region0", "region1"]
        assert len(cells) == (profile.n_voters if self.segment else 0)
        assert len(segments.labels(cells, names)) == len(cells)
        return True


class Orders:
    """The command's reader of a CSV file of orders."""

    def content(self, rng):
        return "\n".join(",".join(rng.sample(ITEMS, rng.randint(1, M))) for _ in range(rng.randint(1, 4))).encode()

    def read(self, content, folder, rng):
        path = folder / "orders.csv"
        path.write_bytes(content)
        try:
            profile = files.read(options(path, "--orders", "--items", ",".join(ITEMS)))[0]
        except ValueError as error:
            heard(error, content, path)
            return False
        valid(profile, M)
        return True


# --- tables in memory

OBJECTS = [*VALUES, np.int8(1), np.float16(2), np.datetime64("2026-01-01"), b"1", 1j, object(), np.array([1])]


class InMemory:
    """Tables in memory, for estimators, preprocessing and profiles."""

    def content(self, rng):
        return [rng.sample(range(M), M) for _ in range(rng.randint(1, 4))]

    def mutated(self, rows, rng):
        for _ in range(rng.choice([0, 1, 1, 2])):
            row = rng.randrange(len(rows))
            match rng.randrange(4):
                case 0 | 1 if isinstance(rows[row], list) and rows[row]:
                    rows[row][rng.randrange(len(rows[row]))] = copy.deepcopy(rng.choice(OBJECTS))
                case 2:
                    rows[row] = copy.deepcopy(rng.choice(OBJECTS))
                case _:
                    changes = [rows[:-1], rows + [[0]], [rows], np.array(rows, dtype=object)]
                    rows = rng.choice([*changes, copy.deepcopy(rng.choice(OBJECTS))])
            if not isinstance(rows, list) or not rows:
                break
        return rows

    def read(self, rows, folder, rng):
        read = rng.choice(
            [
                Profile.from_rankings,
                lambda X: Profile.from_chunks([X, X], keep="positions"),
                lambda X: Profile.from_rankings(unranked_last(X)),
                lambda X: Profile.from_rankings(RatingsToRankings().fit_transform(X)),
                lambda X: Profile.from_rankings(unranked_last(orders_to_positions(X, M))),
                lambda X: Profile.from_rankings([[0, 1]] * Borda().fit(X).n_features_in_),
            ]
        )
        try:
            profile = read(rows)
        except (TypeError, ValueError) as error:
            message = str(error)
            assert 10 < len(message) < 500 and not isinstance(error, UnicodeError)
            assert "99999" not in message and "aaaa" not in message
            return False
        valid(profile)
        return True


READERS = {
    "ratings": Table("ratings", None),
    "positions": Table("positions", None),
    "rows of persons": Table("ratings", "whose"),
    "rows of segments": Table("ratings", "whose", "where"),
    "orders": Orders(),
    "tables in memory": InMemory(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(("first", "last"), [(0, 48), (48, 12_000)])
def test_reader_reads_or_refuses_changed_contents(name, first, last, tmp_path):
    """Some changes matter, and some do not."""
    assert 0 < fuzz(READERS[name], name, range(first, last), tmp_path) < 0.95 * (last - first)
