"""Least-squares strengths of items from noisy net wins within groups and noisy margins of pairs."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS, _SOLVER_STEPS = 30, 50  # limits on outer steps and on conjugate gradient steps; about 5 of each are usual
_SOLVED = 1e-2  # relative tolerance of conjugate gradients
_SETTLED = 3e-4  # decrease of the loss, relative to 1 + loss, below which the search stops
_DAMPED, _LEAST_DAMPED = 1e-3, 1e-9  # initial and smallest damping, relative to the curvature
_FAR = 300.0  # from the mean; all voters prefer items that are so much stronger, in double precision
_UNDECIDED = 0.5  # weight of the squared logarithm of the share of voters who follow the model


class Round(NamedTuple):
    """Noisy net wins, int, shape (n_items,), within groups of items (None is one group of all), and their deviation."""

    groups: tuple[tuple[int, ...], ...] | None
    wins: NDArray[Any]
    deviation: float


class PairMargins(NamedTuple):
    """Noisy margins of pairs, antisymmetric, and 1 / deviation^2 of each, 0 if unknown; shape (n_items, n_items)."""

    margins: NDArray[np.float64]
    weights: NDArray[np.float64]


class Fit(NamedTuple):
    """Bradley-Terry model of a part of the voters.

    Attributes
    ----------
    strengths : ndarray of float, shape (n_items,)
        Centred strengths.
    voters : float
        Number of voters who follow the model.
    residuals : ndarray of float, shape (n_rounds, n_items)
        Net wins by the model minus the answers, in deviations.
    curvature : ndarray of float, shape (n_items,)
        Second derivatives of half the sum of squares by each strength: about 1 / variance of the strength.
    """

    strengths: NDArray[np.float64]
    voters: float
    residuals: NDArray[np.float64]
    curvature: NDArray[np.float64]

    def model(self):
        """Return (margins of the model, their derivatives by a difference of strengths), shape (n_items, n_items)."""
        return _model(self.strengths, self.voters)


def fitted(rounds, n_voters, ridge, pairs=None, start=None):
    """Return the `Fit` that explains noisy net wins, and noisy margins of pairs, best.

    In the Bradley-Terry model, the margin of i over j is nu tanh((s_i - s_j) / 2), where nu is the number of voters who
    follow it. All others balance each other. The fit minimises ``ridge`` |s|^2 + log(nu / n)^2 / 4, plus the sum of
    (answer - model)^2 / (2 deviation^2) over all answers. It has nu <= n. It starts from another `Fit`, or from the
    first round, which must have one group of all items.

    Examples
    --------
    >>> one = Round(None, np.array([20, 5, -25]), 2.0)
    >>> found = fitted([one], n_voters=30, ridge=0.15)
    >>> found.strengths.round(1).tolist(), round(found.voters)
    ([0.5, 0.1, -0.6], 30)
    """
    wins = np.array([each.wins / each.deviation for each in rounds])
    weights = np.array([_together(each) / each.deviation for each in rounds])
    if start is None:
        s, log_share = _linear(rounds[0], n_voters, ridge), 0.0
    else:
        s, log_share = start.strengths, min(0.0, math.log(start.voters / n_voters))
    point = partial(_point, wins=wins, weights=weights, n_voters=n_voters, ridge=ridge, pairs=pairs)
    now, damped = point(s, log_share), _DAMPED
    for _ in range(_STEPS):
        found = point(*_moved(now, _step(now, damped)))
        if not found.loss <= now.loss:
            damped = max(10 * damped, _DAMPED)
            continue
        settled = damped <= _DAMPED and now.loss - found.loss <= _SETTLED * (1 + now.loss)
        now = found
        if settled:
            break
        damped = max(damped / 10, _LEAST_DAMPED)
    return Fit(now.s - now.s.mean(), n_voters * math.exp(now.log_share), now.residuals, now.diagonal[:-1])


def _linear(first, n_voters, ridge):
    """Return the strengths that would explain a round of all items best if tanh(x) were x."""
    wins, slope = first.wins - first.wins.mean(), n_voters * len(first.wins) / 2
    return wins * slope / (slope**2 + 2 * ridge * first.deviation**2)


def _model(strengths, voters):
    """Return (margins of the model, their derivatives by a difference of strengths), shape (n_items, n_items)."""
    odds = np.exp(np.clip(strengths - strengths.mean(), -_FAR, _FAR))
    shares = (odds[:, np.newaxis] - odds) / (odds[:, np.newaxis] + odds)  # tanh((s_i - s_j) / 2)
    return voters * shares, voters / 2 * (1 - shares * shares)


class _Point(NamedTuple):
    """Strengths and log(nu / n), with the loss, its derivatives for a step of `_moved`, and residuals.

    The curvature is J'J + `matrix`. J has the derivatives of the residuals of net wins, shape (n_rounds, n_items,
    n_items + 1), and `matrix` is the part of the priors and single margins. `diagonal` is that of the curvature.
    """

    s: NDArray[np.float64]
    log_share: float
    loss: float
    gradient: NDArray[np.float64]
    jacobian: NDArray[np.float64]
    matrix: NDArray[np.float64]
    diagonal: NDArray[np.float64]
    residuals: NDArray[np.float64]


def _point(s, log_share, wins, weights, n_voters, ridge, pairs):
    """Return the `_Point` at these strengths, without sums by BLAS, whose digits vary by the number of threads."""
    m, items = len(s), np.arange(len(s))
    margins, slopes = _model(s, n_voters * math.exp(log_share))
    bends = margins - slopes * (s[:, np.newaxis] - s)  # derivatives by log(nu / n), as `_moved` scales strengths
    jacobian = np.empty((*wins.shape, m + 1))
    np.multiply(weights, -slopes, out=jacobian[..., :m])
    jacobian[:, items, items] -= jacobian[..., :m].sum(axis=2)
    jacobian[..., m] = np.einsum("kij,ij->ki", weights, bends)
    residuals = np.einsum("kij,ij->ki", weights, margins) - wins
    squares = (s * s).sum()
    loss = ridge * squares + log_share * log_share * _UNDECIDED / 2 + (residuals * residuals).sum() / 2
    gradient, matrix = np.empty(m + 1), np.zeros((m + 1, m + 1))
    gradient[:m], gradient[m] = 2 * ridge * s, _UNDECIDED * log_share - 2 * ridge * squares
    gradient += np.einsum("kij,ki->j", jacobian, residuals)
    matrix[items, items] = 2 * ridge
    matrix[m, :m] = matrix[:m, m] = -2 * ridge * s
    matrix[m, m] = _UNDECIDED + 2 * ridge * squares
    if pairs is not None:
        weighted = pairs.weights * (margins - pairs.margins)  # each pair is in the matrix twice
        loss += (weighted * (margins - pairs.margins)).sum() / 4
        gradient[:m] += (weighted * slopes).sum(axis=1)
        gradient[m] += (weighted * bends).sum() / 2
        laplacian, mixed = pairs.weights * slopes * slopes, (pairs.weights * slopes * bends).sum(axis=1)
        matrix[:m, :m] -= laplacian
        matrix[items, items] += laplacian.sum(axis=1)
        matrix[m, :m] += mixed
        matrix[:m, m] += mixed
        matrix[m, m] += (pairs.weights * bends * bends).sum() / 2
    if log_share == 0 and gradient[m] < 0:  # nu must not exceed n
        gradient[m] = jacobian[..., m] = matrix[m, :m] = matrix[:m, m] = 0
    diagonal = matrix.diagonal() + np.einsum("kij,kij->j", jacobian, jacobian)
    return _Point(s, log_share, loss, gradient, jacobian, matrix, diagonal, residuals)


def _moved(point, step):
    """Return (strengths, log(nu / n)) minus a step. As nu changes, strengths are scaled so that small margins stay."""
    share = min(0.0, point.log_share - max(-1.0, min(1.0, step[-1])))
    return (point.s - step[:-1]) * math.exp(point.log_share - share), share


def _step(point, damped):
    """Return the Levenberg-Marquardt step, by preconditioned conjugate gradients."""

    def product(v):
        ahead = np.einsum("kij,j->ki", point.jacobian, v)
        own = np.einsum("ij,j->i", point.matrix, v) + damped * point.diagonal * v
        return own + np.einsum("kij,ki->j", point.jacobian, ahead)

    return conjugate_gradients(product, (1 + damped) * point.diagonal, point.gradient, _SOLVED, _SOLVER_STEPS)


def _together(one):
    """Return a matrix with 1.0 for two items that are in one group, else 0.0."""
    label = np.zeros(len(one.wins)) if one.groups is None else np.arange(float(len(one.wins)))
    for group in one.groups or ():
        label[list(group)] = group[0]  # an item without a group keeps its own label
    return (label[:, np.newaxis] == label).astype(float)


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
