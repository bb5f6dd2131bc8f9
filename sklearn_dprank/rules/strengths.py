"""Least-squares strengths of items from noisy net wins within groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS, _SOLVER_STEPS = 30, 50  # limits on outer steps and on conjugate gradient steps; about 5 of each are usual
_SOLVED = 1e-3  # relative tolerance of conjugate gradients
_SETTLED = 1e-7  # relative decrease of the loss below which the search stops
_DAMPED, _LEAST_DAMPED = 1e-3, 1e-9  # initial and smallest damping, relative to the curvature
_FAR = 300.0  # from the mean; all voters prefer items that are so much stronger, in double precision


class Round(NamedTuple):
    """Noisy net wins, int, shape (n_items,), within groups of items (None is one group of all), and their deviation."""

    groups: tuple[tuple[int, ...], ...] | None
    wins: NDArray[Any]
    deviation: float


class _Group(NamedTuple):
    """Net wins of the items of one group against each other, and the weight of one number."""

    items: Any
    wins: NDArray[np.float64]
    weight: float


class _Bend(NamedTuple):
    """Derivatives of the expected wins of a group by its strengths: diag(total) - pairs."""

    group: _Group
    pairs: NDArray[np.float64]
    total: NDArray[np.float64]

    def derivative(self, direction):
        # Without BLAS, whose last digits depend on the number of threads.
        return self.total * direction - np.einsum("ij,j->i", self.pairs, direction)


def group_strengths(
    rounds: list[Round], n_voters: float, ridge: float, start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the centred strengths s, shape (n_items,), that explain rounds of noisy net wins best.

    They minimise ``ridge`` |s|^2 plus a sum over all rounds and items i. Its terms are (w_i - n sum_j tanh((s_i - s_j)
    / 2))^2 / (2 deviation^2), with j in the group of i. In the Bradley-Terry model, the number of voters who prefer i
    to j exceeds the opposite number by n tanh((s_i - s_j) / 2). Without `start`, the first round must have one group of
    all items.

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
    """Return the loss, its gradient, and the `_Bend` of each group."""
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
    """Return the Levenberg-Marquardt step (to subtract), by preconditioned conjugate gradients."""
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
    """Return the solution of a symmetric, positive definite system by conjugate gradients, shape (n,).

    `product` multiplies a vector by the matrix, and `diagonal` is its diagonal, exact or approximate. The search stops
    after `steps` products, or when the squared residual, in the metric of 1 / diagonal, is `rest` times that of
    `right`. The result is None if the matrix turns out not to be positive definite.

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
