"""Processes that share the file of a budget never decide at once, and one that is killed leaves what it charged.

A failure: two processes spend the same budget, or a release is published whose charge was lost.
"""

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
KILLED = -signal.SIGKILL if hasattr(signal, "SIGKILL") else None
needs_kill = pytest.mark.skipif(KILLED is None, reason="no SIGKILL here")


def process(path, code):
    """Start another process that runs code with the budget's path, as `path`."""
    start = "import os, signal, sqlite3, sys; from pathlib import Path; path = Path(sys.argv[1])\n"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", start + textwrap.dedent(code), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )


def finished(started):
    """Return what a process printed, line by line, and how it ended."""
    return started.communicate(timeout=600)[0].split(), started.returncode


def killed_after(path, after, code):
    """Return how a process finished that kills itself after an SQL command, on a connection of `killing`."""
    start = """
        from functools import partial
        class Killing(sqlite3.Connection):
            def execute(self, command, *args):
                done = super().execute(command, *args)
                if command.startswith(after):
                    os.kill(os.getpid(), signal.SIGKILL)
                return done
        killing = partial(sqlite3.connect, factory=Killing)
    """
    return finished(process(path, f"after = {after!r}\n" + textwrap.dedent(start) + textwrap.dedent(code)))


def both_at_once(path, code):
    """Return how two processes finished that ran the same code from the moment when both were ready."""
    both = [process(path, code), process(path, code)]
    assert [started.stdout.readline() for started in both] == ["ready\n"] * 2
    for started in both:
        started.stdin.write("go\n")
        started.stdin.flush()
    return [finished(started) for started in both]


# --- one decides at a time


@pytest.mark.slow
def test_two_processes_cannot_spend_the_same_budget(path):
    PrivacyBudget.open(path, 0.75)
    spend = """
        from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee
        budget = PrivacyBudget.open(path, 0.75)
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(24):
            try:
                budget.charge(PrivacyGuarantee(1 / 32, 0.0, "central", "add_remove", "noise"), str(os.getpid()))
            except BudgetExhausted:
                print("no")
            else:
                print("yes")
    """
    said = both_at_once(path, spend)
    assert [code for _, code in said] == [0, 0]
    answers = [lines for lines, _ in said]
    assert [len(lines) for lines in answers] == [24, 24]
    assert answers[0].count("yes") + answers[1].count("yes") == 24
    budget = PrivacyBudget.open(path)
    assert budget.spent_.epsilon == 0.75
    assert len(budget.releases_) == 24


@pytest.mark.slow
def test_a_repeated_task_is_neither_charged_nor_published(path):
    PrivacyBudget.open(path, 1.0)
    task = """
        from sklearn_dprank import DPBorda
        from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget
        budget = PrivacyBudget.open(path)
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            budget.fit(DPBorda(epsilon=0.125), [[0, 1, 2]] * 9, release_id="results of May")
        except BudgetExhausted:
            print("no")
        else:
            print("yes")
    """
    assert sorted(both_at_once(path, task)) == [(["no"], 0), (["yes"], 0)]
    budget = PrivacyBudget.open(path)
    assert [(release.release_id, release.guarantee.epsilon) for release in budget.releases_] == [
        ("results of May", 0.125)
    ]
    with pytest.raises(BudgetExhausted, match=r"'results of May' was charged at 20.* for DPBorda"):
        budget.fit(DPBorda(epsilon=0.125), X, release_id="results of May")
    budget.fit(DPBorda(epsilon=0.125), X, release_id="results of June")
    assert PrivacyBudget.open(path).spent_.epsilon == 0.25


def test_a_locked_file_charges_nothing(path, monkeypatch):
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
        from sklearn_dprank.privacy import PrivacyBudget
        sqlite3.connect = killing
        PrivacyBudget.open(path, 1.0)
    """
    assert killed_after(path, after, code) == ([], KILLED)
    assert not path.exists()
    assert PrivacyBudget.open(path, 1.0).remaining.epsilon == 1.0


@pytest.mark.slow
@needs_kill
def test_a_process_killed_while_it_reads_ballots_has_paid(path):
    killed = """
        from sklearn_dprank import DPBorda
        from sklearn_dprank.channels.base import RankAggregator
        from sklearn_dprank.privacy import PrivacyBudget
        RankAggregator.read_ballots = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
        PrivacyBudget.open(path, 1.0).fit(DPBorda(epsilon=0.75), [[0, 1, 2]] * 9)
    """
    assert finished(process(path, killed)) == ([], KILLED)
    budget = PrivacyBudget.open(path)
    assert [(release.what, release.guarantee.epsilon) for release in budget.releases_] == [("DPBorda", 0.75)]
    assert (datetime.now(UTC) - budget.releases_[0].when).total_seconds() < 100
    with pytest.raises(BudgetExhausted):
        budget.fit(DPBorda(epsilon=0.75), X)


@pytest.mark.slow
@needs_kill
@pytest.mark.parametrize("after", ["INSERT", "SELECT number"])
def test_a_process_killed_while_it_charges_leaves_the_account_whole(path, after):
    PrivacyBudget.open(path, 1.0).charge(pure(0.25), "before")
    code = """
        from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee
        budget = PrivacyBudget.open(path)
        sqlite3.connect = killing
        budget.charge(PrivacyGuarantee(0.5, 0.0, "central", "add_remove", "noise"), "killed")
    """
    assert killed_after(path, after, code) == ([], KILLED)
    budget = PrivacyBudget.open(path)
    assert [release.what for release in budget.releases_] == ["before"]
    budget.charge(pure(0.75), "after")


@pytest.mark.slow
@needs_kill
def test_every_charge_that_was_made_is_remembered(path):
    endless = """
        from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee
        budget = PrivacyBudget.open(path, 1e9)
        while True:
            budget.charge(PrivacyGuarantee(1.0, 0.0, "central", "add_remove", "noise"), "one more")
            print("charged", flush=True)
    """
    with process(path, endless) as started:
        seen = [started.stdout.readline() for _ in range(20)]
        started.kill()
        seen += started.stdout.readlines()  # not `communicate`, which would lose lines that `readline` has buffered
    count = len(PrivacyBudget.open(path).releases_)
    assert len(seen) <= count <= len(seen) + 1
