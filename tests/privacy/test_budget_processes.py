"""Processes share the file of a budget: they charge one after the other, and a killed process leaves its charges."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from datetime import UTC, datetime

import pytest
from budget_tools import pure
from process_tools import ROOT

from sklearn_dprank import DPBorda
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, budget as budget_file

X = [[0, 1, 2]] * 100
needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
START = """
import os, signal, sqlite3, sys
from functools import partial
from pathlib import Path

from sklearn_dprank import DPBorda
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee

path, after = Path(sys.argv[1]), sys.argv[2]
part = PrivacyGuarantee(1 / 32, 0.0, "central", "add_remove", "noise")


class Killing(sqlite3.Connection):
    def execute(self, command, *args):
        done = super().execute(command, *args)
        if command.startswith(after):
            os.kill(os.getpid(), signal.SIGKILL)
        return done
"""


def process(path, code, after=""):
    """Start another process that runs code with the budget's path, as `path`."""
    return subprocess.Popen(
        [sys.executable, "-c", START + textwrap.dedent(code), str(path), after],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        text=True,
    )


def is_killed(started):
    """Wait for a process, and return whether it was killed."""
    started.communicate(timeout=600)
    return started.returncode == -signal.SIGKILL


# --- concurrent charges


@pytest.mark.slow
def test_two_processes_cannot_spend_the_same_budget(path):
    PrivacyBudget.open(path, 0.75)
    spend = """
        budget = PrivacyBudget.open(path, 0.75)
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(24):
            try:
                budget.charge(part, str(os.getpid()))
            except BudgetExhausted:
                print("no")
            else:
                print("yes")
    """
    both = [process(path, spend), process(path, spend)]
    assert [started.stdout.readline() for started in both] == ["ready\n"] * 2
    for started in both:
        started.stdin.write("go\n")
        started.stdin.flush()
    answers = [started.communicate(timeout=600)[0].split() for started in both]
    assert [started.returncode for started in both] == [0, 0]
    assert [len(lines) for lines in answers] == [24, 24] and sum(lines.count("yes") for lines in answers) == 24
    budget = PrivacyBudget.open(path)
    assert (budget.spent_.epsilon, len(budget.releases_)) == (0.75, 24)


def test_a_locked_file_refuses_a_charge(path, monkeypatch):
    budget = PrivacyBudget.open(path, 1.0)
    monkeypatch.setattr(budget_file, "_WAIT", 0.01)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(TimeoutError, match="nothing was charged"):
        budget.charge(pure(0.5), "x")
    other.execute("COMMIT")
    other.close()
    budget.charge(pure(0.5), "x")
    assert len(budget.releases_) == 1


# --- killed processes


@pytest.mark.slow
@needs_kill
@pytest.mark.parametrize("after", ["BEGIN", "CREATE TABLE releases", "INSERT", "COMMIT"])
def test_a_process_killed_while_it_makes_a_file_leaves_none(path, after):
    code = """
        sqlite3.connect = partial(sqlite3.connect, factory=Killing)
        PrivacyBudget.open(path, 1.0)
    """
    assert is_killed(process(path, code, after))
    assert not path.exists()
    assert PrivacyBudget.open(path, 1.0).remaining.epsilon == 1.0


@pytest.mark.slow
@needs_kill
@pytest.mark.parametrize("after", ["INSERT", "SELECT number"])
def test_a_process_killed_while_it_charges_leaves_the_account_whole(path, after):
    PrivacyBudget.open(path, 1.0).charge(pure(0.25), "before")
    code = """
        budget = PrivacyBudget.open(path)
        sqlite3.connect = partial(sqlite3.connect, factory=Killing)
        budget.charge(part, "killed")
    """
    assert is_killed(process(path, code, after))
    budget = PrivacyBudget.open(path)
    assert [release.what for release in budget.releases_] == ["before"]
    budget.charge(pure(0.75), "after")


@pytest.mark.slow
@needs_kill
def test_a_process_killed_while_it_reads_ballots_has_paid(path):
    code = """
        RankAggregator.read_ballots = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
        PrivacyBudget.open(path, 1.0).fit(DPBorda(epsilon=0.75), [[0, 1, 2]] * 9)
    """
    assert is_killed(process(path, code))
    budget = PrivacyBudget.open(path)
    assert [(release.what, release.guarantee.epsilon) for release in budget.releases_] == [("DPBorda", 0.75)]
    assert (datetime.now(UTC) - budget.releases_[0].when).total_seconds() < 100
    with pytest.raises(BudgetExhausted):
        budget.fit(DPBorda(epsilon=0.75), X)
