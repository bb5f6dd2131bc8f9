"""Every reader gets what is valid, and that changed by chance: it reads it rightly, or refuses it in a few words."""

import copy
import gzip
import io
import json
import math
import random
import sqlite3

import numpy as np
import pytest
from budget_tools import pure
from fuzzing import VALUES, as_text, changed, heard, mangled

from sklearn_dprank import Borda, LDPPairwise, LDPQuickSort, SecAggBorda, SecAggSwissBorda, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.cli import files, parser, ranking as segments
from sklearn_dprank.collection import AggregationServer, Device, HypercubeSampling, PrivUnitG, RandomizedResponse
from sklearn_dprank.collection.pairs import AssignedPairs
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.reports import Inbox
from sklearn_dprank.datasets import read_preflib
from sklearn_dprank.preprocessing import RatingsToRankings, orders_to_positions, unranked_last
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget

ITEMS = ["tea", "milk", "rye", "fig"]
M = len(ITEMS)
PARSER = parser()


def options(path, *given):
    """Return the options of the command for a file."""
    return PARSER.parse_args(["rank", str(path), *given])


def valid(profile, m=None):
    """Check that a profile holds weak, partial orders, and counts that are theirs."""
    n = profile.n_items
    assert m in (None, n) and n >= 2
    table = profile.positions.table
    assert table.shape == (n, profile.n_voters)
    said = table != profile.positions.sentinel
    each = np.ones(profile.n_voters, dtype=int) if profile.weights is None else profile.weights.each
    wins = [[each[(table[i] < table[j]) & said[i] & said[j]].sum() for j in range(n)] for i in range(n)]
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


class PrefLib:
    """The reader of PrefLib files, plain or gzipped."""

    def content(self, rng):
        kind = rng.choice(["soc", "soi", "toc", "toi"])
        ballots = [rng.sample(range(1, M + 1), M) for _ in range(rng.randint(1, 4))]
        lines = [f"# NUMBER ALTERNATIVES: {M}", f"# DATA TYPE: {kind}"]
        lines += [f"# ALTERNATIVE NAME {item}: {name}" for item, name in enumerate(ITEMS, start=1)]
        lines += [f"{rng.randint(0, 3)}: {','.join(map(str, ballot))}" for ballot in ballots]
        return "\n".join(lines).encode()

    def read(self, content, folder, rng):
        path = folder / "ballots.dat"
        if rng.random() < 0.2:
            content = gzip.compress(content, 1)
            content = mangled(content, rng) if rng.random() < 0.3 else content
        path.write_bytes(content)
        try:
            read = read_preflib(path, unranked=rng.choice(["last", "no_opinion"]))
        except ValueError as error:
            heard(error, b"", path)
            return False
        assert read.counts.sum() == len(read.data) == read.profile.n_voters
        valid(read.profile)
        return True


# --- tables in memory

OBJECTS = [
    *VALUES,
    np.int8(1),
    np.float16(2),
    np.datetime64("2026-01-01"),
    b"1",
    1j,
    object(),
    np.array([1]),
]


class InMemory:
    """What estimators, preprocessing and profiles take for ballots."""

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
                    rows = rng.choice(
                        [
                            rows[:-1],
                            rows + [[0]],
                            [rows],
                            copy.deepcopy(rng.choice(OBJECTS)),
                            np.array(rows, dtype=object),
                        ]
                    )
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
            said = str(error)
            assert 10 < len(said) < 500 and not isinstance(error, UnicodeError)
            assert "99999" not in said and "aaaa" not in said
            return False
        valid(profile)
        return True


# --- the wire

REPORTS = {
    "rr": RandomizedResponse(n_queries=2),
    "rr-assigned": AssignedPairs(RandomizedResponse(n_queries=2), 3, "5eed" * 8),
    "hypercube": HypercubeSampling(),
    "privunit": PrivUnitG(),
}


class Reports:
    """A curator's reader of reports: one that is not as promised is left out, and counted."""

    def __init__(self, kind):
        self.kind = type(REPORTS[kind])
        self.protocol = REPORTS[kind].protocol(2.0, M)

    def content(self, rng):
        voters = [{"voter": v} if "n_voters" in self.protocol else {} for v in range(3)]
        devices = [Device(self.protocol, random_state=rng.randrange(99)) for _ in voters]
        return [made.report(rng.sample(range(M), M), **v) for made, v in zip(devices, voters, strict=True)]

    def mutated(self, reports, rng):
        return [changed(report, rng) if rng.random() < 0.6 else report for report in reports]

    def read(self, reports, folder, rng):
        if rng.random() < 0.6:
            lines = b"\n".join(as_text(report, rng).replace(b"\n", b" ") for report in reports)
            reports, n_reports = io.BytesIO(lines), len(io.BytesIO(lines).readlines())
        else:
            n_reports = len(reports)
        inbox = Inbox()
        name = digest(self.protocol)
        for _, drawn in inbox.read_together(
            reports, {name}, lambda found, name: self.kind.read_all(found, self.protocol)
        ):
            assert np.isfinite(self.kind.counts(drawn, self.protocol)).all()
        assert inbox.accepted + inbox.refused.total() == n_reports
        assert all(len(reason) < 60 for reason in inbox.refused)
        return inbox.accepted > 0


class Messages:
    """A server's reader of shares, of questions and of voters' numbers."""

    def __init__(self, asks):
        self.asks = asks
        curator = (SecAggSwissBorda if asks else SecAggBorda)(epsilon=2.0, min_reports=20)
        self.protocol = curator.protocol(M)

    def content(self, rng):
        question = {"protocol": digest(self.protocol), "question": 1}
        if self.asks:
            question["groups"] = [[*range(M)]]
        device = Device(self.protocol, random_state=rng.randrange(99))
        ballot = rng.sample(range(M), M)
        said = device.answer(question, ballot) if self.asks else device.report(ballot)
        return [question, said[0], [said[0]["report"]]]

    def mutated(self, content, rng):
        which = rng.randrange(3)
        return [changed(each, rng) if place == which else each for place, each in enumerate(content)]

    def read(self, content, folder, rng):
        question, message, voters = content
        server = AggregationServer(self.protocol, 0)
        try:
            if self.asks:
                server.ask(question)
            new = server.receive([message if rng.random() < 0.5 else as_text(message, rng)])
            assert new + sum(server.refused.values()) == 1
            server.release(voters)
        except (ValueError, BudgetExhausted) as error:
            heard(error, json.dumps([question, message, voters]).encode())
        finally:
            server.close()
        return not server.refused


class KeptDevice:
    """What a device kept, opened again."""

    def __init__(self):
        self.protocols = [LDPPairwise(epsilon=2.0).protocol(M), LDPQuickSort(epsilon=2.0).protocol(M)]
        self.protocols += [ShufflePairwise(local_epsilon=1.0, min_reports=1000).protocol(M)]

    def content(self, rng):
        device = Device(rng.choice(self.protocols), random_state=1)
        if device.protocol["randomizer"] != "rr-interactive" and rng.random() < 0.7:
            device.report(rng.sample(range(M), M))
        return device.to_json().encode()

    def mutated(self, text, rng):
        return mangled(text, rng) if rng.random() < 0.5 else as_text(changed(json.loads(text), rng), rng)

    def read(self, text, folder, rng):
        try:
            device = Device.from_json(text)
            again = Device.from_json(device.to_json())
        except ValueError as error:
            heard(error, text)
            return False
        assert again.to_json() == device.to_json() and again.epsilon == device.epsilon > 0
        return True


# --- accounts


class Account:
    """A budget in a file, with changed bytes."""

    def content(self, rng):
        return None

    def mutated(self, content, rng):
        return rng

    def made(self, path):
        if not hasattr(self, "whole"):
            budget = PrivacyBudget.open(path, 2.0, 1e-6)
            budget.charge(pure(0.5), "first")
            budget.charge(pure(0.25), "second")
            self.whole = path.read_bytes()
        path.write_bytes(self.whole)

    def edit(self, path, rng):
        if rng.random() < 0.5:
            path.write_bytes(mangled(path.read_bytes(), rng))
            return
        connection = sqlite3.connect(path, isolation_level=None)
        table, column = rng.choice(
            [
                *(("terms", name) for name in ("epsilon", "delta", "neighboring", "basic_delta", "simulation")),
                *(("releases", name) for name in ("charged", "what", "guarantee", "guarantee", "guarantee")),
            ]
        )
        ((old,),) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchall()
        new = rng.choice(
            ["", "nan", "inf", "-0x1p+0", "0x1p+9999", "0001-01-01", "9999-12-31T23:59:59-12:00", "[" * 9999]
        )
        if column == "guarantee" and rng.random() < 0.8:
            new = as_text(changed(json.loads(old), rng), rng).decode("utf-8", "replace")
        elif rng.random() < 0.3:
            new = rng.choice([7, 0.5, b"\xff\x00", -1])
        try:
            connection.execute(f"UPDATE {table} SET {column} = ?", (new,))
        finally:
            connection.close()

    def read(self, content, folder, rng):
        path = folder / "account.budget"
        self.made(path)
        if content is not None:
            self.edit(path, rng)
        try:
            budget = PrivacyBudget.open(path)
            spent, left = budget.spent_.epsilon, budget.remaining.epsilon
            str(budget.spent_), budget.spent_.statement(), repr(budget), [str(each) for each in budget.releases_]
        except (ValueError, OSError) as error:
            assert len(str(error)) < 900 and not isinstance(error, UnicodeError)
            return False
        assert spent >= 0 and left >= 0 and not math.isnan(spent + left)
        return True


READERS = {
    "ratings": Table("ratings", None),
    "positions": Table("positions", None),
    "rows of persons": Table("ratings", "whose"),
    "rows of segments": Table("ratings", "whose", "where"),
    "orders": Orders(),
    "PrefLib": PrefLib(),
    "tables in memory": InMemory(),
    **{f"reports, {kind}": Reports(kind) for kind in REPORTS},
    "shares": Messages(asks=False),
    "answers": Messages(asks=True),
    "a kept device": KeptDevice(),
    "an account": Account(),
}


def fuzz(name, seeds, folder):
    reader, accepted = READERS[name], 0
    for seed in seeds:
        rng = random.Random(f"{name} {seed}")
        content = reader.content(rng)
        if seed % 8:
            change = getattr(reader, "mutated", mangled)
            accepted += reader.read(change(content, rng), folder, rng)
        else:
            reader.read(content, folder, rng)
    return accepted


#: How many contents each reader gets where there is time; those that draw reports or write to a disk take longer.
CASES = {
    name: 3_000 if isinstance(reader, (Reports, Messages, Account)) else 12_000 for name, reader in READERS.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_reader_reads_or_refuses(name, tmp_path):
    accepted = fuzz(name, range(48), tmp_path)
    assert 0 < accepted < 42  # some changes matter, and some do not


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_hundred_thousand_contents_together(name, tmp_path):
    assert sum(CASES.values()) > 100_000
    assert 0.05 < fuzz(name, range(48, CASES[name]), tmp_path) / CASES[name] < 0.95
