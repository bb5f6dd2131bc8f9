"""Strengths of items by least squares from noisy net wins within groups, solved by conjugate gradients."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS, _SOLVER_STEPS = 30, 50  # at most; some five, of some five, are usual
_SOLVED = 1e-3  # of a step, relatively
_SETTLED = 1e-7  # of the loss, relatively: a step that gains no more is the last
_DAMPED, _LEAST_DAMPED = 1e-3, 1e-9  # of the curvature, added to it
_FAR = 300.0  # from the mean: of stronger items all voters prefer one to another, in double precision


class Round(NamedTuple):
    """Noisy net wins within groups.

    Attributes
    ----------
    groups : tuple of tuple of int, or None
        The items of each group; None is one group of all.
    wins : ndarray of int, shape (n_items,)
        Each item's noisy net wins within its group.
    deviation : float
        Standard deviation of the noise.
    """

    groups: tuple[tuple[int, ...], ...] | None
    wins: NDArray[Any]
    deviation: float


class _Group(NamedTuple):
    """Net wins of some items against each other, and what one of them weighs."""

    items: Any
    wins: NDArray[np.float64]
    weight: float


class _Bend(NamedTuple):
    """How the wins of a group follow its strengths: their derivatives are diag(total) - pairs."""

    group: _Group
    pairs: NDArray[np.float64]
    total: NDArray[np.float64]

    def derivative(self, direction):
        # No matrix product of BLAS, whose last digits depend on how many threads share it.
        return self.total * direction - np.einsum("ij,j->i", self.pairs, direction)


def group_strengths(
    rounds: list[Round], n_voters: float, ridge: float, start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the strengths s that explain rounds of noisy net wins best, centred, shape (n_items,).

    They minimise ``ridge`` |s|^2 plus, over all rounds and items, (w_i - n sum_j tanh((s_i - s_j) / 2))^2 over
    2 deviation^2, j in i's group: that many more of n voters prefer i to j than the other way round in the
    Bradley-Terry model.

    Parameters
    ----------
    rounds : list of Round
        At least one; where there is no `start`, the first is of all items.
    n_voters : float
        Number of voters, at least 1.
    ridge : float
        Weight of the squares; positive.
    start : ndarray of float, shape (n_items,), or None, default=None
        Where to start; None is the minimum if tanh were linear.

    Notes
    -----
    Levenberg and Marquardt's method; each step by conjugate gradients, so that nothing larger than the groups' pairs is
    made, and every sum has one order. At most 30 steps of 50.

    Examples
    --------
    >>> one = Round(None, np.array([20, 5, -25]), 2.0)
    >>> group_strengths([one], n_voters=30, ridge=0.15).round(1).tolist()
    [0.5, 0.1, -0.6]
    """
    groups = [
        _Group(items, each.wins[items].astype(float), each.deviation**-2)
        for each in rounds
        for items in ([slice(None)] if each.groups is None else map(np.array, each.groups))
    ]
    s = _linear(rounds[0], n_voters, ridge) if start is None else start
    damped = _DAMPED
    loss, slope, bends = _explained(s, groups, n_voters, ridge)
    for _ in range(_STEPS):
        then = s - _step(slope, bends, ridge, damped)
        loss_then, *derivatives = _explained(then, groups, n_voters, ridge)
        if not loss_then <= loss:
            damped = max(10 * damped, _DAMPED)
            continue
        settled = damped <= _DAMPED and loss - loss_then <= _SETTLED * loss
        s, loss, (slope, bends) = then, loss_then, derivatives
        if settled:
            break
        damped = max(damped / 10, _LEAST_DAMPED)
    return s - s.mean()


def _linear(first, n_voters, ridge):
    """Return the strengths that would explain a round of all items best if tanh(x) were x."""
    wins, slope = first.wins - first.wins.mean(), n_voters * len(first.wins) / 2
    return wins * slope / (slope**2 + 2 * ridge * first.deviation**2)


def _explained(s, groups, n_voters, ridge):
    """Return the loss, its gradient, and how each group's wins bend."""
    odds = np.exp(np.clip(s - s.mean(), -_FAR, _FAR))
    loss, slope, bends = ridge * (s * s).sum(), 2 * ridge * s, []
    for group in groups:
        own = odds[group.items]
        margins = (own[:, None] - own) / (own[:, None] + own)  # tanh((s_i - s_j) / 2)
        missed = n_voters * margins.sum(axis=1) - group.wins
        pairs = n_voters / 2 * (1 - margins * margins)
        bend = _Bend(group, pairs, pairs.sum(axis=1))
        loss += group.weight / 2 * (missed * missed).sum()
        slope[group.items] += group.weight * bend.derivative(missed)
        bends.append(bend)
    return loss, slope, bends


def _step(slope, bends, ridge, damped):
    """Return Levenberg and Marquardt's step (to subtract), by preconditioned conjugate gradients."""
    diagonal = np.full(len(slope), 2 * ridge)
    for (items, _, weight), pairs, total in bends:
        diagonal[items] += weight * ((pairs * pairs).sum(axis=1) + total * (total - 2 * pairs.diagonal()))
    flat = 2 * ridge + damped * diagonal
    diagonal = diagonal + damped * diagonal

    def bent(ahead):
        out = flat * ahead
        for bend in bends:
            out[bend.group.items] += bend.group.weight * bend.derivative(bend.derivative(ahead[bend.group.items]))
        return out

    return solved(bent, diagonal, slope, _SOLVED, _SOLVER_STEPS)


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
