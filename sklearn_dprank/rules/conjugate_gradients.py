"""Linear equations of many unknowns, by products with their matrix; no threads of BLAS, and every sum has one order."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def solved(
    product: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    diagonal: NDArray[np.float64],
    right: NDArray[np.float64],
    rest: float,
    steps: int,
) -> NDArray[np.float64] | None:
    """Solve a symmetric, positive definite system by conjugate gradients, preconditioned by its diagonal.

    Parameters
    ----------
    product : callable
        Multiplies a vector by the matrix.
    diagonal : ndarray of float, shape (n,)
        The matrix's diagonal, or about that; positive.
    right : ndarray of float, shape (n,)
        The right-hand side.
    rest : float
        Where to stop: share of the residual's squared length, in the metric of 1 / diagonal.
    steps : int
        At most so many products.

    Returns
    -------
    ndarray of float, shape (n,), or None
        The solution as far as it is found, along which any convex quadratic form falls; None if the matrix is seen
        not to be positive.

    Examples
    --------
    >>> matrix = np.array([[2.0, -1.0], [-1.0, 2.0]])
    >>> solved(matrix.dot, matrix.diagonal(), np.array([3.0, 0.0]), 1e-12, 10).round(9).tolist()
    [2.0, 1.0]
    """
    found, left = np.zeros(len(right)), right
    ahead = left / diagonal
    length = first = (left * ahead).sum()
    for _ in range(steps):
        if length <= rest * first:
            break
        bent = product(ahead)
        curvature = (ahead * bent).sum()
        if curvature <= 0:
            return None
        far = length / curvature
        found, left = found + far * ahead, left - far * bent
        easy = left / diagonal
        before, length = length, (left * easy).sum()
        ahead = easy + length / before * ahead
    return found
