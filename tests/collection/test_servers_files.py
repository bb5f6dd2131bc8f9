"""The file of a server never leads to a wrong or second sum: it is read exactly, or refused.

A second sum over other voters would give a voter away. The tests damage files, fill disks, fork, interrupt and send
messages that are too long.
"""

import json
import os
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing, suppress

import numpy as np
import pytest
from process_tools import in_child
from share_tools import message_to
from state_tools import at_once

from sklearn_dprank import SecAggBorda, SecAggSwissBorda
from sklearn_dprank.collection import (
    AggregationServer,
    Device,
    ServerFileError,
    reports as lines_module,
    servers as aggregation,
)
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.privacy.errors import BudgetExhausted

CURATOR = SecAggBorda(epsilon=1.0, min_reports=20, max_reports=400)
PROTOCOL = CURATOR.protocol(12)
MODULUS = 2 ** PROTOCOL["modulus_bits"]
N = 120


def made(voter):
    """The message of a voter to the first server."""
    shares = [[(7919 * (voter + 1) * (item + 3)) % MODULUS for item in range(12)], [5] * 12]
    return message_to(0, PROTOCOL, shares, voter)


MESSAGES = [made(voter) for voter in range(N)]
NAMES = sorted(message["report"] for message in MESSAGES)
EXACT = (np.sum([message["share"] for message in MESSAGES], axis=0) % MODULUS).tolist()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{whether the sum was released: path}"""
    folder, paths = tmp_path_factory.mktemp("servers"), {}
    for released in (False, True):
        paths[released] = folder / f"{released}.db"
        server = AggregationServer(PROTOCOL, 0, paths[released])
        assert server.receive(MESSAGES) == N
        if released:
            server.release(NAMES)
        server.close()
    return paths


# --- damage


def damaged(path, rng):
    """Damage a file as a disk or a program may: in bytes, a bit, a block, pages or the end."""
    data = bytearray(path.read_bytes())
    size, page = len(data), 4096
    if size < page:  # cut before
        return
    what = rng.choice(["bytes", "bit", "page of zeros", "page of noise", "a page twice", "two pages", "end", "block"])
    if what == "bytes":
        for _ in range(rng.choice([1, 4, 40])):
            data[rng.randrange(size)] = rng.randrange(256)
    elif what == "bit":
        data[rng.randrange(size)] ^= 1 << rng.randrange(8)
    elif what == "end":
        del data[rng.choice([0, 1, 100, rng.randrange(size), size - 1, size - page]) :]
    elif what == "block":
        start = rng.randrange(size)
        data[start : start + 512] = bytes(512)[: size - start]
    else:
        first, second = (page * rng.randrange(size // page) for _ in range(2))
        kept = bytes(data[first : first + page])
        if what == "two pages":
            data[first : first + page] = data[second : second + page]
        data[second : second + page] = {"page of zeros": bytes(page), "page of noise": rng.randbytes(page)}.get(
            what, kept
        )
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "least_exact", "least_refused"), [(range(60), 1, 31), (range(1000, 2500), 51, 701)], ids=["60", "1500"]
)
def test_damaged_file_gives_the_exact_sum_or_an_error(seeds, least_exact, least_refused, files, tmp_path):
    """Damage outside the data is harmless. Both outcomes must occur."""
    found = Counter()
    for seed in seeds:
        rng, path, server = random.Random(seed), tmp_path / f"{seed}.db", None
        shutil.copy(files[rng.random() < 0.4], path)
        for _ in range(rng.choice([1, 1, 3])):
            damaged(path, rng)
        try:
            server = AggregationServer(PROTOCOL, 0, path)
            released = server.release(NAMES)
        except ServerFileError as error:
            assert str(path) in str(error)
            found["refused"] += 1
        else:
            assert (released["sum"], released["n_reports"]) == (EXACT, N), f"seed {seed}"
            with pytest.raises(BudgetExhausted):
                server.release(NAMES[:-1])
            found["exact"] += 1
        finally:
            if server is not None:
                server.close()
            path.unlink()
    assert found["exact"] >= least_exact and found["refused"] >= least_refused


SILENT = {
    "a share is changed": "UPDATE rows SET value = zeroblob(96) WHERE key = (SELECT min(key) FROM rows)",
    "two shares are exchanged": (
        "UPDATE rows SET value = (SELECT value FROM rows WHERE key = (SELECT max(key) FROM rows))"
        " WHERE key = (SELECT min(key) FROM rows)"
    ),
    "two rows are exchanged": (
        "CREATE TEMP TABLE two AS SELECT * FROM rows"
        " WHERE key = (SELECT min(key) FROM rows) OR key = (SELECT max(key) FROM rows);"
        "UPDATE rows SET (value, checksum) = (SELECT value, checksum FROM two WHERE two.key != rows.key)"
        " WHERE key IN (SELECT key FROM two)"
    ),
    "a byte moves from a share to its name": (
        "UPDATE rows SET key = CAST(key || substr(value, 1, 1) AS BLOB), value = substr(value, 2)"
        " WHERE key = (SELECT min(key) FROM rows)"
    ),
    "a row is lost": "DELETE FROM rows WHERE key = (SELECT max(key) FROM rows)",
    "a row comes back": (
        "INSERT INTO rows SELECT zeroblob(32), value, checksum FROM rows WHERE key = (SELECT min(key) FROM rows)"
    ),
    "a share is text": "UPDATE rows SET value = 'text' WHERE key = (SELECT min(key) FROM rows)",
    "a share is missing": "UPDATE rows SET value = NULL WHERE key = (SELECT min(key) FROM rows)",
    "all rows are lost": "DELETE FROM rows",
    "the state is lost": "DELETE FROM server",
    "the state is there twice": "INSERT INTO server SELECT * FROM server",
    "the state is changed": "UPDATE server SET body = replace(CAST(body AS TEXT), 'null', '1234')",
    "the sum is forgotten": "UPDATE server SET checksum = zeroblob(16)",
    "a table is lost": "DROP TABLE rows",
}


@pytest.mark.parametrize("command", SILENT.values(), ids=SILENT)
@pytest.mark.parametrize("opened", ["before", "after"])
def test_damage_that_sqlite_does_not_notice(command, opened, files, tmp_path):
    path = tmp_path / "server.db"
    shutil.copy(files[False], path)
    server = AggregationServer(PROTOCOL, 0, path) if opened == "before" else None
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(command)
    with pytest.raises(ServerFileError, match=r"is damaged|has a damaged row|has lost rows|has (no|a damaged) state"):
        server = server or AggregationServer(PROTOCOL, 0, path)
        server.release(NAMES)
    if server is not None:
        with pytest.raises(ServerFileError):
            server.reports()
        server.close()


def test_a_row_of_an_earlier_question_is_noticed(tmp_path):
    protocol = SecAggSwissBorda(epsilon=1.0, min_reports=3).protocol(3)
    asked = [{"protocol": digest(protocol), "question": k, "groups": [[0, 1, 2]]} for k in (1, 2)]
    server = AggregationServer(protocol, 0, tmp_path / "server.db")
    server.ask(asked[0])
    server.receive(message_to(0, protocol, [[1, 2, 3]] * 2, voter, asked[0]) for voter in range(4))
    with closing(sqlite3.connect(tmp_path / "server.db")) as connection:
        (row,) = connection.execute("SELECT * FROM rows LIMIT 1").fetchall()
    server.ask(asked[1])
    server.receive(message_to(0, protocol, [[4, 5, 6]] * 2, voter, asked[1]) for voter in range(4))
    with closing(sqlite3.connect(tmp_path / "server.db")) as connection, connection:
        connection.execute("DELETE FROM rows WHERE key = (SELECT max(key) FROM rows)")
        connection.execute("INSERT INTO rows VALUES (?, ?, ?)", row)
    with pytest.raises(ServerFileError, match="has lost rows"):
        server.reports()
    server.close()


def test_an_empty_file_is_damaged(files, tmp_path):
    """An empty file is damaged, not new: it may have released its sum."""
    path = tmp_path / "server.db"
    path.touch()
    with pytest.raises(ServerFileError, match=r"is empty. It releases nothing. If a sum or a batch was released"):
        AggregationServer(PROTOCOL, 0, path)
    assert path.read_bytes() == b""


def test_no_error_prints_a_share(files, tmp_path):
    path = tmp_path / "server.db"
    shutil.copy(files[False], path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE rows SET value = 'secret share' || char(0xD800)")
    with pytest.raises(ServerFileError) as caught:
        AggregationServer(PROTOCOL, 0, path)
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None


# --- disks, locks, processes


def test_full_disk_leaves_the_state_unchanged(tmp_path):
    server = AggregationServer(PROTOCOL, 0, tmp_path / "server.db")
    pages = server._file._connection.execute("PRAGMA page_count").fetchone()[0]
    server._file._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(
        ServerFileError, match=r"server.db'\)? is on a full disk; this step changed nothing. Free space"
    ):
        server.receive(MESSAGES)
    assert server.reports() == [] and server.refused == {}
    server._file._connection.execute("PRAGMA max_page_count = 10000")
    assert server.receive(MESSAGES) == N and server.release(NAMES)["sum"] == EXACT
    server.close()


def test_a_closed_server_is_an_error(tmp_path):
    server = AggregationServer(PROTOCOL, 0, tmp_path / "server.db")
    server.close()
    for run in (lambda: server.receive(MESSAGES), server.reports, lambda: server.release(NAMES)):
        with pytest.raises(ServerFileError, match="is closed, or misused"):
            run()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # other threads live: those of BLAS
@pytest.mark.parametrize("path", [":memory:", "server.db"])
def test_forked_server_raises(path, monkeypatch, tmp_path):
    """Its connection is the parent's; in memory, two processes would release two sums."""
    monkeypatch.chdir(tmp_path)
    server = AggregationServer(PROTOCOL, 0, path)
    server.receive(MESSAGES)

    def refused():
        for run in (lambda: server.release(NAMES[:30]), server.reports, lambda: server.receive(MESSAGES)):
            with pytest.raises(ServerFileError, match="was opened by another process, and this one is a fork"):
                run()
        server.close()  # leaves the connection of the parent alone
        return True

    assert in_child(refused)
    assert server.release(NAMES)["sum"] == EXACT
    server.close()


@pytest.mark.slow
def test_handles_that_make_one_file_at_once_share_it(tmp_path):
    for trial in range(5):
        path = tmp_path / f"{trial}.db"
        servers = at_once(lambda k, path=path: AggregationServer(PROTOCOL, 0, path), 6)
        for k, server in enumerate(servers):
            assert server.receive(MESSAGES[20 * k : 20 * k + 20]) == 20
        assert {tuple(server.reports()) for server in servers} == {tuple(NAMES)}
        for server in servers:
            server.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{trial}.db" for trial in range(5)]


def test_threads_do_not_lose_or_repeat_messages(tmp_path):
    server = AggregationServer(PROTOCOL, 0, tmp_path / "server.db")
    spoiled = [{**message, "salt": "f" * 32} for message in MESSAGES]
    new = at_once(lambda k: server.receive([*MESSAGES[10 * k : 10 * k + 50], *spoiled[:30]]), 8)
    assert sum(new) == N and server.refused == {"share of another report": 240}
    said = at_once(lambda k: server.release(NAMES), 4)
    assert [one["sum"] for one in said] == [EXACT] * 4
    server.close()


# --- length


@pytest.mark.parametrize(
    "estimator", [CURATOR, SecAggSwissBorda(epsilon=1.0, min_reports=20), SecAggBorda(n_servers=20, min_reports=20)]
)
@pytest.mark.parametrize("n_items", [2, 60])
def test_every_message_of_a_device_is_short_enough(estimator, n_items):
    protocol = estimator.protocol(n_items)
    limit = AggregationServer(protocol, 0)._longest
    for _ in range(3):
        device = Device(protocol)
        if protocol["randomizer"] == "skellam-shares":
            said = device.report([0] * n_items)
        else:
            assert protocol["rounds"][3]["statistic"] == "scaled_margins"  # the most numbers
            question = {"protocol": digest(protocol), "question": 4, "margins": {"groups": [[*range(n_items)]]}}
            said = device.answer(question, [0] * n_items)
        longest = max(len(json.dumps(message)) for message in said)
        assert longest < limit - 300  # room for white space
        assert limit < 1.3 * longest + 1024


def test_long_messages_are_not_parsed(monkeypatch):
    server = AggregationServer(PROTOCOL, 0)
    limit = server._longest
    text = json.dumps(MESSAGES[0])
    assert server.receive([text.ljust(limit)]) == 1
    monkeypatch.setattr(lines_module, "_JSON", None)
    assert server.receive([text.ljust(limit + 1), b"[" * 10**7, "9" * (limit + 1)]) == 0
    assert server.refused == {"too long": 3}


def test_messages_that_were_read_before_the_next_question_are_not_added(monkeypatch):
    """Another thread turns to the next question between reading and writing: what was read is read again."""
    protocol = SecAggSwissBorda(epsilon=1.0, min_reports=3).protocol(3)
    asked = [{"protocol": digest(protocol), "question": k, "groups": [[0, 1, 2]]} for k in (1, 2)]
    server, read = AggregationServer(protocol, 0), aggregation.read
    server.ask(asked[0])

    def turning(*given):
        with suppress(BudgetExhausted):
            server.ask(asked[1])
        return read(*given)

    monkeypatch.setattr(aggregation, "read", turning)
    assert server.receive(message_to(0, protocol, [[1, 2, 3]] * 2, voter, asked[0]) for voter in range(4)) == 0
    assert server.refused == {"another question": 4} and server.reports() == []


def test_messages_that_were_read_before_the_sum_are_not_added(monkeypatch):
    server, read = AggregationServer(PROTOCOL, 0), aggregation.read
    server.receive(MESSAGES[:100])

    def releasing(*given):
        server.release(server.reports() or sorted(message["report"] for message in MESSAGES[:100]))
        return read(*given)

    monkeypatch.setattr(aggregation, "read", releasing)
    with pytest.raises(BudgetExhausted, match="accepts no more reports"):
        server.receive(MESSAGES[100:])
    assert server.reports() == []
