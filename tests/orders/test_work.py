"""Work and time limits: counting, limits of parts, and the estimated cost of solver iterations."""

import math

import pytest

from sklearn_dprank.orders import kemeny
from sklearn_dprank.orders.kemeny import COLD, WARM, Pace, Work


def test_counts_down():
    work = Work(limit=2)
    work.spend(1_500_000)
    assert not work.over and work.left == 500_000
    work.spend(600_000)
    assert work.over and work.left == -100_000


def test_no_limit_is_never_over():
    work = Work()
    work.spend(10**18)
    assert not work.over and work.left == math.inf and work.seconds == math.inf
    assert work.part(0.5).left == math.inf


def test_part_spends_from_the_whole():
    whole = Work(limit=10)
    part = whole.part(0.25)
    assert part.left == 2_500_000
    inner = part.part(0.5)
    inner.spend(1_250_000)
    assert inner.over and not part.over
    assert (part.left, whole.left) == (1_250_000, 8_750_000)
    whole.spend(10**8)
    assert whole.part(0.5).over


def test_time_ends_the_work_and_its_parts(monkeypatch):
    now = 100.0
    monkeypatch.setattr(kemeny.time, "monotonic", lambda: now)
    work = Work(seconds=3.0)
    part = work.part(0.1)
    assert not part.over and part.seconds == pytest.approx(0.3)
    assert work.part(1).seconds == 3.0 and part.part(0.5).seconds == pytest.approx(0.15)
    now = 100.5
    assert part.over and not work.over
    now = 103.5
    assert work.over and part.over and work.part(0.5).over


def test_without_a_time_limit_a_part_has_none():
    assert Work(10).part(0).seconds == Work(10).part(1).seconds == math.inf


@pytest.mark.parametrize("pace", [COLD, WARM], ids=["cold", "warm"])
def test_iterations_that_are_paid_for(pace):
    for size, columns in ((100, 40), (5000, 2000)):
        for iterations in (0, 1, 7, 1000, 50_000):
            for fullness in (0, 0.3, 1.0):

                def steps(count, size=size, columns=columns, fullness=fullness):
                    return pace.steps(size, count, fullness + count / columns)

                assert pace.iterations(size, columns, steps(iterations) + 1, fullness) == iterations
                assert pace.iterations(size, columns, steps(iterations + 1) - 1, fullness) == iterations
    assert pace.iterations(100, 40, 10) == 0


def test_iterations_take_longer_as_the_basis_fills():
    pace = Pace(start=0, line=0, iteration=2, filled=10, half=0.5)
    each = [pace.steps(size, 1, full) / size for size, full in ((100, 0), (100, 0.5), (1000, 0.5), (100, 100))]
    assert each == pytest.approx([2, 7, 7, 12], abs=0.01)
    assert pace.steps(100, 25, 0.5) == pytest.approx(100 * 25 * 7)


def test_share_of_the_limit_that_steps_take(monkeypatch):
    now = 100.0
    monkeypatch.setattr(kemeny.time, "monotonic", lambda: now)
    assert Work().share(10**9) == 0
    assert Work(limit=4).share(10**6) == 0.25
    assert Work(limit=4, seconds=0.002).share(10**6) == pytest.approx(0.5)
    assert Work(seconds=0.002).share(10**6) == pytest.approx(0.5)
    assert Work(limit=0).share(1) == Work(seconds=0).share(1) == math.inf
