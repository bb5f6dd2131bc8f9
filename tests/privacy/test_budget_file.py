"""A budget in a file keeps each charge; a damaged, lost, replaced or old file is refused before a charge."""

import copy
import os
import pickle
import sqlite3
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from budget_tools import pure
from hypothesis import given, strategies as st

from sklearn_dprank import DPBorda, LDPPairwise
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee, budget as budget_file
from sklearn_dprank.privacy.budget import Release, Terms, guarantee_as_text, guarantee_from_text
from sklearn_dprank.privacy.composition import Losses
from sklearn_dprank.privacy.guarantee import TRUST

X = [[0, 1, 2]] * 100
PRAGMAS = ("synchronous", "journal_mode")
GAUSSIAN = DPBorda(epsilon=0.1, delta=1e-7, noise="gaussian")


def edited(path, command):
    """Run an SQL command on a file."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(command)
    connection.close()


def uses(budget):
    """Return all ways to use a budget."""
    return (
        lambda: budget.charge(pure(0.125), "more"),
        lambda: budget.fit(DPBorda(epsilon=0.125), X),
        lambda: budget.releases_,
        lambda: budget.spent_,
        lambda: budget.remaining,
        lambda: copy.deepcopy(budget),
    )


# --- contents of a file


def test_a_reopened_file_has_every_charge(path):
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
    assert again.spent_.parties == (*TRUST["shuffle"].parties, "the curator")
    with pytest.raises(BudgetExhausted):
        again.charge(pure(1.0), "too much")
    assert len(PrivacyBudget.open(path).releases_) == 3


amounts = st.floats(0, 1e3)
deltas = st.floats(0, 1)


@given(amounts, deltas, st.lists(amounts, max_size=3), st.lists(st.tuples(amounts, deltas), max_size=3), st.booleans())
def test_a_guarantee_survives_its_text(epsilon, delta, pures, pairs, certified):
    losses = Losses(epsilon / 3, tuple(pures), tuple(pairs))
    guarantee = PrivacyGuarantee(
        *(epsilon, delta, "shuffle", "replace", "x", "double precision", certified, ("é",), "y", losses),
        whom=(("shuffle", "a"), ("shuffle", "b")),
    )
    assert guarantee_from_text(guarantee_as_text(guarantee)) == guarantee


def test_the_terms_are_kept_and_cannot_be_changed(path):
    PrivacyBudget.open(path, 0.1 + 0.2, 1e-6, simulation=True)
    assert repr(PrivacyBudget.open(path)) == repr(PrivacyBudget(0.1 + 0.2, 1e-6, simulation=True))
    PrivacyBudget.open(path, 0.1 + 0.2, simulation=True)
    for changed in ({"epsilon": 0.3}, {"delta": 0.0}, {"neighboring": "replace"}, {"basic_delta": 1e-7}):
        with pytest.raises(ValueError, match=f"was opened with {list(changed)[-1]}="):
            PrivacyBudget.open(path, **changed)


def test_a_new_file_needs_an_epsilon(path):
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
def test_the_umask_decides_who_may_read_the_file(path):
    before = os.umask(0o027)
    try:
        PrivacyBudget.open(path, 1.0).charge(pure(0.5), "x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(path.parent) == [path.name]


# --- files that are damaged, lost or replaced


@pytest.mark.parametrize("terms", [{}, {"epsilon": 1.0}])
def test_other_files_are_refused_and_stay_unchanged(path, terms):
    for content in (b"epsilon,delta\n1,0\n" * 100, b"SQLite format 3\0" + b"\xff" * 4000):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="no budget, or damaged"):
            PrivacyBudget.open(path, **terms)
        assert path.read_bytes() == content
    path.unlink()
    edited(path, "CREATE TABLE releases (number)")
    with pytest.raises(ValueError, match="an SQLite file, but not a budget"):
        PrivacyBudget.open(path, **terms)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("PRAGMA user_version = 4", "version 4 of the format"),
        ("PRAGMA application_id = 7", "not a budget"),
        ("DELETE FROM terms", "its terms"),
        ("UPDATE terms SET epsilon = 'much'", "its terms"),
        ("UPDATE terms SET neighboring = 'none'", "its terms"),
        ("UPDATE terms SET epsilon = '0x1p+9999'", "its terms"),
        ("UPDATE terms SET identity = ''", "its terms"),
        *((command, "damaged") for command in ("DROP TABLE terms", "DELETE FROM releases", "DELETE FROM writes")),
        ("UPDATE writes SET release = 7", "damaged"),
    ],
)
def test_damaged_terms_and_missing_releases_are_refused(path, command, message):
    PrivacyBudget.open(path, 1.0).charge(pure(0.5), "x")
    edited(path, command)
    for terms in ({}, {"epsilon": 1.0}):
        with pytest.raises(ValueError, match=message):
            PrivacyBudget.open(path, **terms)


CENTAUR = guarantee_as_text(pure(0.5)).replace("central", "centaur")


@pytest.mark.parametrize(
    ("column", "text"),
    [
        *(("guarantee", text) for text in ("", "{}", "[]", "null", '{"losses": 1}', "0x1p+0", CENTAUR)),
        *(("guarantee", text) for text in ("[" * 10_000, '{"losses": ' * 10_000)),
        *(("charged", text) for text in ("9999-12-31T23:59:59-12:00", "yesterday", "[" * 10_000)),
    ],
    ids=lambda text: text[:40],
)
def test_damaged_releases_are_refused(path, column, text):
    budget = PrivacyBudget.open(path, 1.0)
    budget.charge(pure(0.5), "x")
    edited(path, f"UPDATE releases SET {column} = '{text}'")
    for use in (
        lambda: budget.spent_,
        lambda: PrivacyBudget.open(path).charge(pure(0.1), "y"),
        lambda: PrivacyBudget.open(path).remaining,
    ):
        with pytest.raises(ValueError, match="damaged") as error:
            use()
        assert len(str(error.value)) < len(str(path)) + 500


def test_two_open_budgets_learn_each_other_s_charges_and_amendments(path):
    one, other = PrivacyBudget.open(path, 10.0), PrivacyBudget.open(path)
    for k, budget in enumerate([one, other, other, one, other]):
        budget.charge(pure(1.0), str(k))
    assert one.remaining.epsilon == other.remaining.epsilon == 5.0
    one._kept.amend(2, pure(3.0))
    other.charge(pure(0.5), "x")
    assert one.remaining.epsilon == other.remaining.epsilon == 2.5
    assert [release.guarantee.epsilon for release in one.releases_] == [1.0, 3.0, 1.0, 1.0, 1.0, 0.5]
    assert other.releases_ == one.releases_ == PrivacyBudget.open(path).releases_


def test_a_charge_is_on_the_disk_when_it_is_committed(path, monkeypatch):
    """Read the settings of SQLite back when the charge is committed."""
    settings = []

    class Watched(sqlite3.Connection):
        def execute(self, command, *values):
            if command == "COMMIT":
                settings.append([super(Watched, self).execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS])
            return super().execute(command, *values)

    budget = PrivacyBudget.open(path, 1.0)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, factory=Watched, **more))
    budget.charge(pure(0.5), "x")
    assert settings == [[3, "delete"]]  # EXTRA


def test_a_file_that_is_cut_short_is_refused(path):
    budget = PrivacyBudget.open(path, 1.0)
    for _ in range(4):
        budget.charge(pure(0.01), "x" * 5000)
    path.write_bytes(path.read_bytes()[:-8192])
    with pytest.raises(ValueError, match="damaged"):
        PrivacyBudget.open(path)


@pytest.mark.parametrize("terms", [{}, {"epsilon": 1.0}])
def test_an_emptied_file_is_refused(path, terms):
    budget = PrivacyBudget.open(path, 1.0)
    budget.charge(pure(1.0), "all")
    os.truncate(path, 0)
    with pytest.raises(ValueError, match=r"is empty; restore the newest copy.* delete it\.$"):
        PrivacyBudget.open(path, **terms)
    for use in uses(budget):
        with pytest.raises(ValueError, match=r"is empty.*Spent when it was last read: epsilon = 1 "):
            use()
    assert path.read_bytes() == b""


def test_a_new_file_that_cannot_be_linked_is_removed(path, monkeypatch):
    def refuse(source, target):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match=r"cannot be made .no links here.; no result is released"):
        PrivacyBudget.open(path, 1.0)
    assert os.listdir(path.parent) == []


def test_a_file_that_another_made_first_is_shared(path, monkeypatch):
    link = os.link

    def after_another(source, target):
        monkeypatch.setattr(os, "link", link)
        PrivacyBudget.open(path, 1.0).charge(pure(0.75), "by another")
        link(source, target)

    monkeypatch.setattr(os, "link", after_another)
    assert PrivacyBudget.open(path, 1.0).remaining.epsilon == 0.25
    assert os.listdir(path.parent) == [path.name]


def test_a_lost_file_is_not_made_again(path):
    budget = PrivacyBudget.open(path, 1.0)
    path.unlink()
    for use in (lambda: budget.charge(pure(0.5), "x"), lambda: budget.releases_):
        with pytest.raises(OSError, match="no result is released"):
            use()
    assert not path.exists()
    PrivacyBudget.open(path, 2.0)
    with pytest.raises(ValueError, match="not the budget that was opened"):
        budget.charge(pure(0.5), "x")


@pytest.mark.parametrize("by", ["deleting", "renaming", "copying"])
def test_another_file_with_the_same_terms_is_refused(path, by):
    """The new file differs by its identity only."""
    budget, last = PrivacyBudget.open(path, 1.0), r"Spent when it was last read: epsilon = 0\.75"
    budget.charge(pure(0.75), "x")
    pickled = pickle.dumps(budget)
    if by == "copying":
        other = path.with_suffix(".other")
        PrivacyBudget.open(other, 1.0)
        path.write_bytes(other.read_bytes())
    else:
        path.rename(path.with_suffix(".old")) if by == "renaming" else path.unlink()
        with pytest.raises(OSError, match=last):
            budget.charge(pure(0.125), "more")
        with pytest.raises(FileNotFoundError, match=last):
            pickle.loads(pickled)
    new = PrivacyBudget.open(path, 1.0)
    for use in (*uses(budget), lambda: pickle.loads(pickled)):
        with pytest.raises(ValueError, match=f"not the budget that was opened.*{last}"):
            use()
    assert new.releases_ == () and repr(budget) == repr(new)


@pytest.fixture
def same_second(monkeypatch):
    """All charges are made in one second."""
    when = datetime(2026, 11, 23, tzinfo=UTC)
    clock = SimpleNamespace(now=lambda zone: when, fromisoformat=datetime.fromisoformat)
    monkeypatch.setattr(budget_file, "datetime", clock)


@pytest.mark.usefixtures("same_second")
@pytest.mark.parametrize("amount", [None, 0.01, 0.9], ids=["no later charge", "a smaller charge", "an equal charge"])
def test_an_old_copy_is_refused(path, amount):
    budget = PrivacyBudget.open(path, 1.0)
    old = path.read_bytes()
    budget.fit(DPBorda(epsilon=0.9), X)
    pickled, latest = pickle.dumps(budget), path.read_bytes()
    path.write_bytes(old)
    if amount:
        PrivacyBudget.open(path).fit(DPBorda(epsilon=amount), X)
    for use in (*uses(budget), lambda: pickle.loads(pickled)):
        with pytest.raises(ValueError, match=r"an old copy.*Spent when it was last read: epsilon = 0\.9"):
            use()
    path.write_bytes(latest)
    assert budget.spent_.epsilon == 0.9


def test_an_old_copy_from_before_an_amendment_is_refused(path):
    """Another object accepts the amendment, and neither accepts the charge that it replaced."""
    kept = budget_file.Releases(path, Terms(1.0))
    other = pickle.loads(pickle.dumps(kept))
    number = kept.add(lambda account, releases: Release(datetime.now(UTC), "x", pure(0.1)))
    assert [release.guarantee.epsilon for release in other.releases()] == [0.1]
    old = path.read_bytes()
    kept.amend(number, pure(8.0))
    assert [release.guarantee.epsilon for release in other.releases()] == [8.0]
    path.write_bytes(old)
    for each in (kept, other):
        with pytest.raises(ValueError, match=r"an old copy.*Spent when it was last read: epsilon = 8 "):
            each.releases()
