"""A budget in a file: what was charged is never forgotten, and never charged by two at once."""

import copy
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_dprank import DPBorda, LDPPairwise
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee, budget_file
from sklearn_dprank.privacy.composition import Losses
from sklearn_dprank.privacy.releases import Release, Terms, guarantee_as_text, guarantee_from_text

X = [[0, 1, 2]] * 100
GAUSSIAN = DPBorda(epsilon=0.1, delta=1e-7, noise="gaussian")
KILLED = -signal.SIGKILL if hasattr(signal, "SIGKILL") else None
needs_kill = pytest.mark.skipif(KILLED is None, reason="no SIGKILL here")


def pure(epsilon):
    return PrivacyGuarantee(epsilon, 0.0, "central", "add_remove", "discrete Laplace noise")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "voters of %20 May #5.budget"


def process(path, code):
    """Start another process that runs code with the budget's path, as `path`."""
    start = "import os, signal, sqlite3, sys; from pathlib import Path; path = Path(sys.argv[1])\n"
    environment = os.environ | {"PYTHONPATH": str(Path(budget_file.__file__).parents[2])}
    return subprocess.Popen(
        [sys.executable, "-c", start + textwrap.dedent(code), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )


def finished(started):
    """Return what a process printed, line by line, and how it ended."""
    return started.communicate(timeout=100)[0].split(), started.returncode


# What is kept


def test_all_is_there_when_it_is_opened_again(path):
    budget = PrivacyBudget.open(path, 2.0, 1e-6, neighboring="replace", basic_delta=5e-7)
    budget.fit(GAUSSIAN, X)
    budget.fit(LDPPairwise(epsilon=0.1), X)
    budget.charge(PrivacyGuarantee(0.1, 1e-8, "shuffle", "replace", "reports", caveats=("a", "b")), "Umfrage – Mai")
    again = PrivacyBudget.open(path)
    assert again.releases_ == budget.releases_
    assert [release.guarantee.losses for release in again.releases_] == [
        Losses(4 * GAUSSIAN.privacy_.losses.mu_squared),
        Losses(pure=(0.1,)),
        Losses(approximate=((0.1, 1e-8),)),
    ]
    assert again.releases_[2].what == "Umfrage – Mai"
    assert again.spent_ == budget.spent_
    assert again.remaining == budget.remaining
    assert repr(again) == repr(budget)
    assert again.spent_.parties == ("the shuffler", "the curator")
    with pytest.raises(BudgetExhausted):
        again.charge(pure(1.0), "too much")
    assert len(PrivacyBudget.open(path).releases_) == 3


def test_a_file_is_the_same_account_as_memory(path):
    guarantee = DPBorda(epsilon=0.3, delta=1e-8, noise="gaussian").fit(X).privacy_
    ends = []
    for budget in (PrivacyBudget(0.92, 1e-6), PrivacyBudget.open(path, 0.92, 1e-6)):
        for _ in range(12):
            budget.charge(guarantee, "again")
        with pytest.raises(BudgetExhausted) as error:
            budget.charge(guarantee, "again")
        ends.append((str(error.value), budget.spent_, budget.remaining))
    assert ends[0] == ends[1]


amounts = st.floats(0, 1e3)
deltas = st.floats(0, 1)


@given(amounts, deltas, st.lists(amounts, max_size=3), st.lists(st.tuples(amounts, deltas), max_size=3), st.booleans())
def test_not_a_digit_is_lost(epsilon, delta, pures, pairs, certified):
    losses = Losses(epsilon / 3, tuple(pures), tuple(pairs))
    guarantee = PrivacyGuarantee(
        epsilon, delta, "local", "replace", "x", "double precision", certified, ("é",), "y", losses
    )
    assert guarantee_from_text(guarantee_as_text(guarantee)) == guarantee


def test_the_terms_are_kept_and_cannot_be_changed(path):
    PrivacyBudget.open(path, 0.1 + 0.2, 1e-6, simulation=True)
    assert repr(PrivacyBudget.open(path)) == repr(PrivacyBudget(0.1 + 0.2, 1e-6, simulation=True))
    PrivacyBudget.open(path, 0.1 + 0.2, simulation=True)
    for changed in (
        {"epsilon": 0.3},
        {"delta": 1e-5},
        {"neighboring": "replace"},
        {"epsilon": 0.1 + 0.2, "delta": 0.0},
    ):
        with pytest.raises(ValueError, match=f"was opened with {list(changed)[-1]}="):
            PrivacyBudget.open(path, **changed)


def test_only_a_stated_epsilon_makes_a_file(path):
    with pytest.raises(FileNotFoundError, match="state the epsilon"):
        PrivacyBudget.open(path)
    with pytest.raises(FileNotFoundError):
        PrivacyBudget.open(path, delta=1e-6)
    with pytest.raises(ValueError, match="epsilon must be"):
        PrivacyBudget.open(path, -1)
    assert not path.exists()
    with pytest.raises(OSError, match="cannot be opened"):
        PrivacyBudget.open(path / "deeper", 1.0)


@pytest.mark.skipif(os.name != "posix", reason="other systems have no umask")
def test_who_may_read_it_is_left_to_the_umask(path):
    before = os.umask(0o027)
    try:
        PrivacyBudget.open(path, 1.0).charge(pure(0.5), "x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(path.parent) == [path.name]


def test_it_can_be_sent_to_another_process(path):
    budget = PrivacyBudget.open(path, 1.0)
    for other in (pickle.loads(pickle.dumps(budget)), copy.deepcopy(budget), PrivacyBudget.open(str(path))):
        other.charge(pure(0.25), "by another")
    assert budget.spent_.epsilon == 0.75


# What is no budget


def test_files_that_are_no_budget_are_left_alone(path):
    for content in (b"epsilon,delta\n1,0\n" * 100, b"SQLite format 3\0" + b"\xff" * 4000):
        path.write_bytes(content)
        for terms in ({}, {"epsilon": 1.0}):
            with pytest.raises(ValueError, match="no budget, or damaged"):
                PrivacyBudget.open(path, **terms)
        assert path.read_bytes() == content


@pytest.mark.parametrize("terms", [{}, {"epsilon": 1.0}])
def test_databases_that_are_no_budget(path, terms):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE releases (number)")
    connection.close()
    with pytest.raises(ValueError, match="an SQLite file, but not a budget"):
        PrivacyBudget.open(path, **terms)


def edited(path, command):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(command)
    connection.close()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("PRAGMA user_version = 2", "version 2 of the format"),
        ("PRAGMA application_id = 7", "not a budget"),
        ("DELETE FROM terms", "its terms"),
        ("UPDATE terms SET epsilon = 'much'", "its terms"),
        ("UPDATE terms SET neighboring = 'none'", "its terms"),
        ("UPDATE terms SET epsilon = '0x1p+9999'", "its terms"),
        ("DROP TABLE terms", "damaged"),
    ],
)
def test_damaged_terms(path, command, says):
    PrivacyBudget.open(path, 1.0).charge(pure(0.5), "x")
    edited(path, command)
    for terms in ({}, {"epsilon": 1.0}):
        with pytest.raises(ValueError, match=says):
            PrivacyBudget.open(path, **terms)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '{"losses": 1}', "0x1p+0", guarantee_as_text(pure(0.5)).replace("central", "centaur")],
)
def test_damaged_releases(path, text):
    budget = PrivacyBudget.open(path, 1.0)
    budget.charge(pure(0.5), "x")
    edited(path, f"UPDATE releases SET guarantee = '{text}'")
    for use in (
        lambda: budget.spent_,
        lambda: budget.charge(pure(0.1), "y"),
        lambda: PrivacyBudget.open(path).remaining,
    ):
        with pytest.raises(ValueError, match="damaged"):
            use()


@pytest.mark.parametrize("text", ["[" * 10_000, '{"losses": ' * 10_000])
def test_what_is_nested_too_deep(path, text):
    test_damaged_releases(path, text)


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59-12:00", "yesterday", "[" * 10_000])
def test_damaged_times(path, when):
    budget = PrivacyBudget.open(path, 1.0)
    budget.charge(pure(0.5), "x")
    edited(path, f"UPDATE releases SET charged = '{when}'")
    with pytest.raises(ValueError, match="damaged") as error:
        budget.spent_  # noqa: B018
    assert len(str(error.value)) < len(str(path)) + 400


def test_a_file_that_is_cut_short(path):
    budget = PrivacyBudget.open(path, 1.0)
    for _ in range(4):
        budget.charge(pure(0.01), "x" * 5000)
    path.write_bytes(path.read_bytes()[:-8192])
    with pytest.raises(ValueError, match="damaged"):
        PrivacyBudget.open(path)


def test_a_file_that_goes_away_is_not_made_anew(path):
    budget = PrivacyBudget.open(path, 1.0)
    path.unlink()
    for use in (lambda: budget.charge(pure(0.5), "x"), lambda: budget.releases_):
        with pytest.raises(OSError, match="nothing is released"):
            use()
    assert not path.exists()
    PrivacyBudget.open(path, 2.0)
    with pytest.raises(ValueError, match="another budget"):
        budget.charge(pure(0.5), "x")


# Other processes


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
    both = [process(path, spend), process(path, spend)]
    assert [started.stdout.readline() for started in both] == ["ready\n"] * 2
    for started in both:
        started.stdin.write("go\n")
        started.stdin.flush()
    said = [finished(started) for started in both]
    assert [code for _, code in said] == [0, 0]
    answers = [lines for lines, _ in said]
    assert [len(lines) for lines in answers] == [24, 24]
    assert answers[0].count("yes") + answers[1].count("yes") == 24
    budget = PrivacyBudget.open(path)
    assert budget.spent_.epsilon == 0.75
    assert len(budget.releases_) == 24


def test_one_decides_at_a_time(path):
    kept = budget_file.KeptInFile(path, Terms(1.0))

    def decide(before):
        time.sleep(0.02)  # long enough for another to see the same, if it could
        return Release.now(str(len(before)), pure(0.1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: kept.add(decide), range(4)))
    assert [release.what for release in kept.releases()] == ["0", "1", "2", "3"]


def test_who_waits_too_long_is_told(path, monkeypatch):
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


@needs_kill
def test_a_process_killed_while_it_reads_ballots_has_paid(path):
    killed = """
        from sklearn_dprank import DPBorda
        from sklearn_dprank.privacy import PrivacyBudget
        DPBorda.read_ballots = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
        PrivacyBudget.open(path, 1.0).fit(DPBorda(epsilon=0.75), [[0, 1, 2]] * 9)
    """
    assert finished(process(path, killed)) == ([], KILLED)
    budget = PrivacyBudget.open(path)
    assert [(release.what, release.guarantee.epsilon) for release in budget.releases_] == [("DPBorda", 0.75)]
    assert (datetime.now(UTC) - budget.releases_[0].when).total_seconds() < 100
    with pytest.raises(BudgetExhausted):
        budget.fit(DPBorda(epsilon=0.75), X)


@needs_kill
@pytest.mark.parametrize("after", ["INSERT", "SELECT charged"])
def test_a_process_killed_while_it_charges_leaves_the_account_whole(path, after):
    PrivacyBudget.open(path, 1.0).charge(pure(0.25), "before")
    killed = f"""
        from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee
        class Killing(sqlite3.Connection):
            def execute(self, command, *args):
                done = super().execute(command, *args)
                if command.startswith({after!r}):
                    os.kill(os.getpid(), signal.SIGKILL)
                return done
        budget, connect = PrivacyBudget.open(path), sqlite3.connect
        sqlite3.connect = lambda *args, **kwargs: connect(*args, factory=Killing, **kwargs)
        budget.charge(PrivacyGuarantee(0.5, 0.0, "central", "add_remove", "noise"), "killed")
    """
    assert finished(process(path, killed)) == ([], KILLED)
    budget = PrivacyBudget.open(path)
    assert [release.what for release in budget.releases_] == ["before"]
    budget.charge(pure(0.75), "after")


@needs_kill
def test_every_charge_that_was_made_is_remembered(path):
    endless = """
        from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee
        budget = PrivacyBudget.open(path, 1e9)
        while True:
            budget.charge(PrivacyGuarantee(1.0, 0.0, "central", "add_remove", "noise"), "one more")
            print("charged", flush=True)
    """
    started = process(path, endless)
    seen = [started.stdout.readline() for _ in range(20)]
    started.kill()
    seen += finished(started)[0]
    count = len(PrivacyBudget.open(path).releases_)
    assert len(seen) <= count <= len(seen) + 1


def test_numbers_are_hexadecimal(path):
    budget = PrivacyBudget.open(path, 0.3)
    budget.charge(replace(pure(0.1), losses=None), "x")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT epsilon FROM terms").fetchone() == ((0.3).hex(),)
    assert (0.1).hex() in connection.execute("SELECT guarantee FROM releases").fetchone()[0]
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()
    assert np.all([str(100) not in release.guarantee.how for release in budget.releases_])
