"""Linear programs against one dense program for both solvers, warm starts, work limits, and `highspy` as optional."""

import math

import numpy as np
import pytest
from process_tools import python
from scipy.optimize import linprog

from sklearn_dprank.orders import kemeny
from sklearn_dprank.orders.kemeny import WARM, Relaxation, WarmRelaxation, Work, relaxation


@pytest.fixture(params=[Relaxation, WarmRelaxation], ids=["scipy", "highspy"])
def solver(request):
    if request.param is WarmRelaxation:
        pytest.importorskip("highspy", reason="needs the extra solver")
    return request.param


def dense(program, low, high):
    """The same program in one call, every row and column written out."""
    rows = np.zeros((len(program.right), len(program.weights)))
    rows[np.arange(len(rows))[:, None], program.columns] = program.signs
    bounds = np.stack([low, high], axis=1)
    return linprog(program.weights, rows, program.right, bounds=bounds), rows


@pytest.mark.slow
def test_rows_and_bounds_come_and_go(solver):
    rng = np.random.default_rng(0)
    for _ in range(5):
        program, zero, one = solver(rng.integers(-50, 51, 15)), np.zeros(15, dtype=int), np.ones(15, dtype=int)
        for change in range(6):
            columns = np.array([rng.choice(15, 3, replace=False) for _ in range(12)])
            program.add(columns, rng.choice([-1, 1], columns.shape))
            low = zero if change < 3 else (rng.random(15) < 0.1).astype(int)
            solved, (expected, rows) = program.solve(low, one, Work()), dense(program, low, one)
            assert expected.status in (0, 2)
            if expected.status == 2:
                assert solved is None
                break
            assert solved.value * program.scale == pytest.approx(expected.fun)
            assert program.weights @ solved.x == pytest.approx(expected.fun)
            assert (rows @ solved.x <= program.right + 1e-6).all()
            # complementary: a price only where the row holds, and together they explain the value
            assert (solved.multipliers >= 0).all() and solved.tight[solved.multipliers > 0].all()
            reduced = program.weights + rows.T @ solved.multipliers
            least = np.minimum(reduced * low, reduced).sum() - program.right @ solved.multipliers
            assert least == pytest.approx(expected.fun)
            program.keep(solved.tight)
            assert program.solve(low, one, Work()).value == pytest.approx(solved.value)


def test_a_later_program_starts_from_the_last_basis():
    pytest.importorskip("highspy", reason="needs the extra solver")
    rng = np.random.default_rng(1)
    program, low, high = WarmRelaxation(rng.integers(-50, 51, 300)), np.zeros(300), np.ones(300)
    program.add(np.array([rng.choice(300, 3, replace=False) for _ in range(600)]), rng.choice([-1, 1], (600, 3)))
    first, cold = program.solve(low, high, Work()), program._model.getInfo().simplex_iteration_count
    assert 0 < np.count_nonzero(program._nonbasic) < 300
    program.add(np.array([[0, 1, 2]]), np.array([[1, 1, 1]]))
    again = program.solve(low, high, Work())
    assert again.value >= first.value - 1e-9
    assert program._model.getInfo().simplex_iteration_count < cold / 10
    held = program._nonbasic
    program.keep(program.right > 0)
    assert 0 < np.count_nonzero(program._nonbasic) < np.count_nonzero(held)
    program.keep(program.right > 5)  # no row fills the basis any more
    assert program._nonbasic.tolist() == []


def test_a_program_that_work_interrupts_goes_on(monkeypatch):
    """A run stops after a number of iterations, so a solution may take several runs."""
    pytest.importorskip("highspy", reason="needs the extra solver")
    rng = np.random.default_rng(1)
    columns, signs = np.array([rng.choice(300, 3, replace=False) for _ in range(600)]), rng.choice([-1, 1], (600, 3))
    values = []
    for most in (kemeny._AT_ONE_TIME, 0.01):
        monkeypatch.setattr(kemeny, "_AT_ONE_TIME", most)
        program, work = WarmRelaxation(np.arange(300) - 150), Work(limit=10_000)
        program.add(columns, signs)
        values.append(program.solve(np.zeros(300), np.ones(300), work).value)
        if most < 1:  # several runs
            assert work.left < 1e10 - 3 * WARM.start
    assert values[0] == pytest.approx(values[1])


def test_stops_with_the_work(solver):
    rng = np.random.default_rng(2)
    program = solver(rng.integers(-50, 51, 200))
    program.add(np.array([rng.choice(200, 3, replace=False) for _ in range(900)]), rng.choice([-1, 1], (900, 3)))
    for work in (Work(limit=1e-3), Work(seconds=0.0)):
        assert program.solve(np.zeros(200), np.ones(200), work) is None
    work = Work(limit=1000)
    assert program.solve(np.zeros(200), np.ones(200), work) is not None
    assert 0 < work.left < 1e9 - program.pace.start


def test_highspy_is_used_where_it_is_and_not_needed(monkeypatch):
    weights = np.array([1, -2, 3])
    monkeypatch.setattr(kemeny, "_highspy", lambda: None)
    assert type(relaxation(weights)) is Relaxation
    monkeypatch.undo()
    pytest.importorskip("highspy", reason="needs the extra solver")
    assert type(relaxation(weights)) is WarmRelaxation


def test_a_missing_library_is_not_an_error(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(kemeny, "import_module", missing)
    assert kemeny._highspy.__wrapped__() is None
    assert math.isfinite(Relaxation(np.zeros(3, dtype=int)).scale)


def test_the_solver_does_not_print():
    """In a new process, because the banner is printed once."""
    pytest.importorskip("highspy", reason="needs the extra solver")
    code = (
        "import numpy as np\n"
        "from sklearn_dprank.orders.kemeny import WarmRelaxation\n"
        "from sklearn_dprank.orders.kemeny import Work\n"
        "program = WarmRelaxation(np.array([-5, 4, -3]))\n"
        "program.add(np.array([[0, 2, 1]]), np.array([[1, 1, -1]]))\n"
        "program.solve(np.zeros(3), np.ones(3), Work())"
    )
    assert not python(code)
