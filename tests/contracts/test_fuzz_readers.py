"""Servers, kept devices and budget files read randomly changed contents rightly, or refuse them."""

import json
import math
import sqlite3

import pytest
from budget_tools import pure
from fuzzing import as_text, changed, fuzz, heard, mangled

from sklearn_dprank import LDPPairwise, LDPQuickSort, SecAggBorda, SecAggSwissBorda, ShufflePairwise
from sklearn_dprank.collection import AggregationServer, Device
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget

ITEMS = ["tea", "milk", "rye", "fig"]
M = len(ITEMS)


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
    "shares": Messages(asks=False),
    "answers": Messages(asks=True),
    "a kept device": KeptDevice(),
    "an account": Account(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(("first", "last"), [(0, 48), (48, 6_000)])
def test_reader_reads_or_refuses_changed_contents(name, first, last, tmp_path):
    """Some changes matter, and some do not."""
    assert 0 < fuzz(READERS[name], name, range(first, last), tmp_path) < 0.95 * (last - first)
