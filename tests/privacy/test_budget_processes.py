"""Processes that share the file of a budget never decide at once, and one that is killed leaves what it charged.

A failure: two processes spend the same budget, or a release is published whose charge was lost.
"""

import sqlite3
from datetime import UTC, datetime

import pytest
from budget_tools import pure
from process_tools import KILLED, both_at_once, finished, needs_kill, process

from sklearn_dprank import DPBorda
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, budget as budget_file

X = [[0, 1, 2]] * 100


# --- one decides at a time


@pytest.mark.slow
def test_two_processes_cannot_spend_the_same_budget_or_repeat_a_task(path):
    """Both work on the same thirty tasks, of which the budget pays for 24."""
    PrivacyBudget.open(path, 0.75)
    spend = """
        from sklearn_dprank import DPBorda
        from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget
        budget = PrivacyBudget.open(path, 0.75)
        ready()
        for task in range(30):
            try:
                budget.fit(DPBorda(epsilon=1 / 32), [[0, 1, 2]] * 9, release_id=f"task {task}")
            except BudgetExhausted:
                print("no")
            else:
                print("yes")
    """
    said = both_at_once(path, spend)
    assert [code for _, code in said] == [0, 0]
    answers = [lines for lines, _ in said]
    assert [len(lines) for lines in answers] == [30, 30]
    assert answers[0].count("yes") + answers[1].count("yes") == 24
    budget = PrivacyBudget.open(path)
    assert budget.spent_.epsilon == 0.75
    assert [release.release_id for release in budget.releases_] == [f"task {task}" for task in range(24)]


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
    assert finished(process(path, code, after)) == ([], KILLED)
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
@pytest.mark.parametrize("after", ["INSERT", "SELECT number", "COMMIT"])
def test_a_process_killed_while_it_charges_leaves_the_account_whole(path, after):
    PrivacyBudget.open(path, 1.0).charge(pure(0.25), "before")
    code = """
        from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee
        budget = PrivacyBudget.open(path)
        sqlite3.connect = killing
        budget.charge(PrivacyGuarantee(0.5, 0.0, "central", "add_remove", "noise"), "killed")
    """
    assert finished(process(path, code, after)) == ([], KILLED)
    budget = PrivacyBudget.open(path)
    charged = ["before", "killed"] if after == "COMMIT" else ["before"]
    assert [release.what for release in budget.releases_] == charged
    budget.charge(pure(0.25 if after == "COMMIT" else 0.75), "after")
