"""Least-squares strengths of items from noisy net wins within groups."""

from __future__ import annotations

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


def group_strengths(rounds, n_voters, ridge, start=None):
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
    wins = np.array([each.wins / each.deviation for each in rounds])
    weights = np.array([_together(each) / each.deviation for each in rounds])
    s = _linear(rounds[0], n_voters, ridge) if start is None else start
    damped = _DAMPED
    loss, slope, jacobian = _explained(s, wins, weights, n_voters, ridge)
    for _ in range(_STEPS):
        then = s - _step(slope, jacobian, ridge, damped)
        loss_then, *derivatives = _explained(then, wins, weights, n_voters, ridge)
        if not loss_then <= loss:
            damped = max(10 * damped, _DAMPED)
            continue
        settled = damped <= _DAMPED and loss - loss_then <= _SETTLED * loss
        s, loss, (slope, jacobian) = then, loss_then, derivatives
        if settled:
            break
        damped = max(damped / 10, _LEAST_DAMPED)
    return s - s.mean()


def _together(one):
    """Return a matrix with 1.0 for two items that are in one group, else 0.0."""
    label = np.zeros(len(one.wins)) if one.groups is None else np.arange(float(len(one.wins)))
    for group in one.groups or ():
        label[list(group)] = group[0]  # an item without a group keeps its own label
    return (label[:, np.newaxis] == label).astype(float)


def _linear(first, n_voters, ridge):
    """Return the strengths that would explain a round of all items best if tanh(x) were x."""
    wins, slope = first.wins - first.wins.mean(), n_voters * len(first.wins) / 2
    return wins * slope / (slope**2 + 2 * ridge * first.deviation**2)


def _explained(s, wins, weights, n_voters, ridge):
    """Return the loss, its gradient, and the derivatives of the residuals, shape (n_rounds, n_items, n_items)."""
    odds = np.exp(np.clip(s - s.mean(), -_FAR, _FAR))
    margins = (odds[:, np.newaxis] - odds) / (odds[:, np.newaxis] + odds)  # tanh((s_i - s_j) / 2)
    residuals = n_voters * np.einsum("kij,ij->ki", weights, margins) - wins  # not by BLAS, whose digits vary by threads
    jacobian = -n_voters / 2 * (1 - margins * margins) * weights
    items = np.arange(len(s))
    jacobian[:, items, items] -= jacobian.sum(axis=2)
    loss = ridge * (s * s).sum() + (residuals * residuals).sum() / 2
    return loss, 2 * ridge * s + np.einsum("kij,ki->j", jacobian, residuals), jacobian


def _step(slope, jacobian, ridge, damped):
    """Return the Levenberg-Marquardt step (to subtract), by preconditioned conjugate gradients."""
    diagonal = 2 * ridge + np.einsum("kij,kij->j", jacobian, jacobian)
    added = 2 * ridge + damped * diagonal

    def product(x):
        return added * x + np.einsum("kij,ki->j", jacobian, np.einsum("kij,j->ki", jacobian, x))

    return conjugate_gradients(product, (1 + damped) * diagonal, slope, _SOLVED, _SOLVER_STEPS)


def conjugate_gradients(product, diagonal, right, tolerance, max_steps):
    """Return the solution of a symmetric, positive definite system, shape (n,), or None if it is not definite.

    `product` multiplies a vector by the matrix, and `diagonal` is its diagonal, exact or approximate. The search stops
    after `max_steps` products, or when the squared residual, in the metric of 1 / diagonal, is at most `tolerance`
    times that of `right`.

    Examples
    --------
    >>> matrix = np.array([[2.0, -1.0], [-1.0, 2.0]])
    >>> conjugate_gradients(matrix.dot, matrix.diagonal(), np.array([3.0, 0.0]), 1e-12, 10).round(9).tolist()
    [2.0, 1.0]
    """
    found, residual = np.zeros(len(right)), right
    direction = right / diagonal
    length = first = (right * direction).sum()
    for _ in range(max_steps):
        if length <= tolerance * first:
            break
        ahead = product(direction)
        curvature = (direction * ahead).sum()
        if curvature <= 0:
            return None
        far = length / curvature
        found, residual = found + far * direction, residual - far * ahead
        scaled = residual / diagonal
        before, length = length, (residual * scaled).sum()
        direction = scaled + length / before * direction
    return found
