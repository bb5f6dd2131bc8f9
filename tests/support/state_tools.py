"""Running stateful tests against a plain model, and simulating a crash at an SQLite statement."""

import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest import mock

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test


def walk(machine, examples, steps, shrink=False):
    """Run a machine, the same walks every time; each step is checked against the machine's own model.

    A walk that fails is printed as it was: to make it shorter takes minutes, and is for the long form of a test.
    """
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)


def at_once(run, n):
    """Return what run(0), run(1), ... return, each in a thread; they change places as often as Python lets them."""
    barrier, interval = threading.Barrier(n), sys.getswitchinterval()

    def one(k):
        barrier.wait()
        return run(k)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(n) as pool:
            return list(pool.map(one, range(n)))
    finally:
        sys.setswitchinterval(interval)


class Crash(BaseException):
    """The program dies here."""


class Dying(sqlite3.Connection):
    """A connection that may raise before or after one of its statements, and after a `Crash` runs no other.

    It leaves the wait for the disk out: what is simulated is the death of a program, which no disk notices.
    """

    countdown, error, after, died_at = None, Crash, False, None

    def execute(self, command, *values):
        return self._watched(super().execute, command.replace("= EXTRA", "= OFF"), *values)

    def executemany(self, command, rows):
        return self._watched(super().executemany, command, rows)

    def _watched(self, run, command, *given):
        if Dying.countdown is None:
            return run(command, *given)
        if Dying.died_at and Dying.error is Crash:
            raise Crash("the dead do nothing")
        Dying.countdown -= 1
        if Dying.countdown:
            return run(command, *given)
        Dying.died_at = command
        if Dying.after:
            run(command, *given)
        raise Dying.error("here")


@contextmanager
def dying(statement, after, error=Crash):
    """Raise at the statement of this number, counted from 1, of all that are executed meanwhile.

    Yields what tells afterwards whether a transaction should be on the disk.
    """
    Dying.countdown, Dying.after, Dying.error, Dying.died_at = statement, after, error, None
    try:
        yield lambda: Dying.died_at is None or (Dying.died_at == "COMMIT" and bool(after))
    finally:
        Dying.countdown = None


def watched_connections():
    """Return what makes every connection one that may die, once it is started, until it is stopped."""
    connect = sqlite3.connect

    def watched(*given, **more):
        connection = connect(*given, factory=Dying, **more)
        sqlite3.Connection.execute(connection, "PRAGMA synchronous = OFF")
        return connection

    return mock.patch.object(sqlite3, "connect", watched)
