"""Least-squares strengths of items from noisy net wins within groups and noisy margins of pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS, _SOLVER_STEPS = 30, 50  # limits on outer steps and on conjugate gradient steps; about 5 of each are usual
_SOLVED = 1e-3  # relative tolerance of conjugate gradients
_SETTLED = 1e-4  # relative decrease of the loss below which the search stops
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
    problem = _Problem(rounds, n_voters, ridge, pairs)
    x = _linear(rounds[0], n_voters, ridge) if start is None else start.strengths
    x = np.append(x, 0.0 if start is None else min(0.0, np.log(start.voters / n_voters)))
    now, damped = problem.at(x), _DAMPED
    for _ in range(_STEPS):
        then = _moved(x, problem.step(x, now, damped))
        found = problem.at(then)
        if not found.loss <= now.loss:
            damped = max(10 * damped, _DAMPED)
            continue
        settled = damped <= _DAMPED and now.loss - found.loss <= _SETTLED * now.loss
        x, now = then, found
        if settled:
            break
        damped = max(damped / 10, _LEAST_DAMPED)
    return Fit(x[:-1] - x[:-1].mean(), n_voters * np.exp(x[-1]), now.residuals, problem.diagonal(now)[:-1])


def _moved(x, step):
    """Return x minus a step; as log(nu / n) changes, by at most 1 and to at most 0, small margins stay the same."""
    share = min(0.0, max(-1.0, min(1.0, -step[-1])) + x[-1])
    return np.append((x[:-1] - step[:-1]) * np.exp(x[-1] - share), share)


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
    """Loss, residuals (n_rounds, n_items), gradient (n_items + 1,), and parts of the Gauss-Newton matrix.

    The matrix is diag(prior) + J'J + `pairs`. J has the derivatives of the residuals, shape (n_rounds, n_items, n_items
    + 1), and `pairs` is the part of single margins, or None.
    """

    loss: float
    residuals: NDArray[np.float64]
    gradient: NDArray[np.float64]
    jacobian: NDArray[np.float64]
    pairs: NDArray[np.float64] | None


class _Problem:
    """Least-squares problem of `fitted`, at points x: the strengths, then log(nu / n).

    Sums are not computed by BLAS, whose digits vary by the number of threads.
    """

    def __init__(self, rounds, n_voters, ridge, pairs):
        self._n_voters, self._pairs = n_voters, pairs
        self._wins = np.array([each.wins / each.deviation for each in rounds])
        self._weights = np.array([_together(each) / each.deviation for each in rounds])
        self._prior = np.append(np.full(self._wins.shape[1], 2 * ridge), _UNDECIDED)

    def at(self, x):
        """Return the `_Point` at x."""
        margins, slopes = _model(x[:-1], self._n_voters * np.exp(x[-1]))
        items = np.arange(len(margins))
        jacobian = np.empty((*self._wins.shape, len(x)))
        jacobian[..., :-1] = -slopes * self._weights
        jacobian[:, items, items] -= jacobian[..., :-1].sum(axis=2)
        jacobian[..., -1] = np.einsum("kij,ij->ki", self._weights, margins)
        residuals = jacobian[..., -1] - self._wins
        loss = ((self._prior * x * x).sum() + (residuals * residuals).sum()) / 2
        gradient = self._prior * x + np.einsum("kij,ki->j", jacobian, residuals)
        if self._pairs is None:
            return _Point(loss, residuals, gradient, jacobian, None)
        weights, apart = self._pairs.weights, margins - self._pairs.margins
        by_voters = (weights * slopes * margins).sum(axis=1)
        pairs = np.zeros((len(x), len(x)))
        pairs[:-1, :-1] = -weights * slopes * slopes
        pairs[items, items] -= pairs[:-1, :-1].sum(axis=1)
        pairs[-1, :-1] = pairs[:-1, -1] = by_voters
        pairs[-1, -1] = (weights * margins * margins).sum() / 2  # each pair is in the matrix twice
        weighted = weights * apart
        gradient += np.append((weighted * slopes).sum(axis=1), (weighted * margins).sum() / 2)
        return _Point(loss + (weighted * apart).sum() / 4, residuals, gradient, jacobian, pairs)

    def diagonal(self, point):
        """Return the diagonal of the Gauss-Newton matrix."""
        own = self._prior + np.einsum("kij,kij->j", point.jacobian, point.jacobian)
        return own if point.pairs is None else own + point.pairs.diagonal()

    def step(self, x, point, damped):
        """Return the Levenberg-Marquardt step for `_moved`, by preconditioned conjugate gradients.

        A step in log(nu / n) also scales the strengths. It then changes only large margins, so that the coordinates are
        almost independent.
        """
        along = np.append(-x[:-1], 1.0)
        stuck = x[-1] == 0 and (along * point.gradient).sum() < 0

        def turned(w):
            return np.append(w[:-1], 0.0 if stuck else (along * w).sum())  # nu must not exceed n

        diagonal = self.diagonal(point)
        diagonal[-1] = (along * self._curved(point, along)).sum()

        def product(v):
            return turned(self._curved(point, along * v[-1] + np.append(v[:-1], 0.0))) + damped * diagonal * v

        right = turned(point.gradient)
        return conjugate_gradients(product, (1 + damped) * diagonal, right, _SOLVED, _SOLVER_STEPS)

    def _curved(self, point, w):
        """Return the Gauss-Newton matrix times a vector."""
        ahead = np.einsum("kij,j->ki", point.jacobian, w)
        out = self._prior * w + np.einsum("kij,ki->j", point.jacobian, ahead)
        return out if point.pairs is None else out + np.einsum("ij,j->i", point.pairs, w)


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
