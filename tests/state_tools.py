"""Machines that take random steps beside a plain model: how they are run, and how a program dies at a statement."""

import sqlite3
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
        deadline=None,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)


class Crash(BaseException):
    """The program dies here."""


class Dying(sqlite3.Connection):
    """A connection that may raise before or after one of its statements.

    It leaves the wait for the disk out: what is simulated is the death of a program, which no disk notices.
    """

    countdown, error, after, ran = None, Crash, False, []

    def execute(self, command, *values):
        return self._watched(super().execute, command.replace("= EXTRA", "= OFF"), *values)

    def executemany(self, command, rows):
        return self._watched(super().executemany, command, rows)

    def _watched(self, run, command, *given):
        if Dying.countdown is None:
            return run(command, *given)
        Dying.countdown -= 1
        if Dying.countdown == 0 and not Dying.after:
            raise Dying.error("before")
        done = run(command, *given)
        Dying.ran.append(command)
        if Dying.countdown == 0:
            raise Dying.error("after")
        return done


@contextmanager
def dying(statement, after, error=Crash):
    """Raise at the statement of this number, counted from 1, of all that run meanwhile; yields those that did."""
    Dying.countdown, Dying.after, Dying.error, Dying.ran = statement, after, error, []
    try:
        yield Dying.ran
    finally:
        Dying.countdown = None


def watched_connections():
    """Return what makes every connection one that may die, once it is started, until it is stopped."""
    connect = sqlite3.connect
    return mock.patch.object(sqlite3, "connect", lambda *given, **more: connect(*given, factory=Dying, **more))
