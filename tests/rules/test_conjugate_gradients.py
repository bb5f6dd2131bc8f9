"""Conjugate gradients against a direct solver, with stopping rules and detection of indefinite matrices."""

import numpy as np
import pytest

from sklearn_dprank.rules.swiss import conjugate_gradients


def positive(rng, n, spread):
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (basis * np.geomspace(1, spread, n)) @ basis.T


@pytest.mark.parametrize("spread", [1, 100, 1e6])
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_against_a_direct_solver(n, spread):
    rng = np.random.default_rng(n)
    matrix, right = positive(rng, n, spread), rng.normal(size=n)
    found = conjugate_gradients(matrix.dot, matrix.diagonal(), right, 1e-26, 40 * n)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-6)


def test_stops_at_the_rest_and_at_the_number_of_steps():
    rng = np.random.default_rng(0)
    matrix, right = positive(rng, 20, 100.0), rng.normal(size=20)
    diagonal, products = matrix.diagonal(), []

    def counted(x):
        products.append(x)
        return matrix @ x

    found = conjugate_gradients(counted, diagonal, right, 1e-4, 100)
    left = right - matrix @ found
    assert left @ (left / diagonal) <= 1e-4 * (right @ (right / diagonal))
    enough = len(products)
    assert 1 < enough < 20
    products.clear()
    short = conjugate_gradients(counted, diagonal, right, 1e-4, enough - 1)
    assert len(products) == enough - 1
    left = right - matrix @ short
    assert left @ (left / diagonal) > 1e-4 * (right @ (right / diagonal))
    assert short @ right > 0  # downhill already


def test_what_is_not_positive_is_seen():
    assert conjugate_gradients(np.diag([1.0, -1.0]).dot, np.ones(2), np.ones(2), 1e-12, 10) is None
    assert conjugate_gradients(np.zeros((2, 2)).dot, np.ones(2), np.ones(2), 1e-12, 10) is None


def test_nothing_to_solve():
    assert conjugate_gradients(np.eye(3).dot, np.ones(3), np.zeros(3), 1e-12, 10).tolist() == [0, 0, 0]
