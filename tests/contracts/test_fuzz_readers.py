"""Readers of messages, kept devices and budget files read randomly changed contents rightly, or refuse them."""

import io
import json
import math
import sqlite3

import numpy as np
import pytest
from budget_tools import pure
from fuzzing import VALUES, as_text, changed, fuzz, heard, mangled

from sklearn_dprank import LDPPairwise, LDPQuickSort, SecAggBorda, SecAggSwissBorda, ShufflePairwise
from sklearn_dprank.collection import AggregationServer, Device, HypercubeSampling, PrivUnitG, RandomizedResponse
from sklearn_dprank.collection.pairs import AssignedPairs
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.reports import Inbox
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget

ITEMS = ["tea", "milk", "rye", "fig"]
M = len(ITEMS)


# --- tables in files


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
    **{f"reports, {kind}": Reports(kind) for kind in REPORTS},
    "shares": Messages(asks=False),
    "answers": Messages(asks=True),
    "a kept device": KeptDevice(),
    "an account": Account(),
}


#: How many contents each reader gets where there is time; those that draw reports or write to a disk take longer.
CASES = {
    name: 3_000 if isinstance(reader, (Reports, Messages, Account)) else 12_000 for name, reader in READERS.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_reader_reads_or_refuses_changed_contents(name, tmp_path):
    accepted = fuzz(READERS[name], name, range(48), tmp_path)
    assert 0 < accepted < 42  # some changes matter, and some do not


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_changed_contents_are_read_or_refused(name, tmp_path):
    assert sum(CASES.values()) > 30_000
    assert 0.05 < fuzz(READERS[name], name, range(48, CASES[name]), tmp_path) / CASES[name] < 0.95
