"""Swiss rule: rounds of games between neighbours, and least-squares strengths from their noisy results."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .._utils.checks import check_number, check_parameters
from .._utils.estimators import parametrized
from ..orders.kemeny import Work, insertion_search, total_cost
from ..privacy.errors import BudgetExhausted
from ..queries import Ask, GroupNetWins, NumberOfVoters, ScaledMargins
from ..queries.statistics import MOST_PAIRS
from .base import Consensus, Rule, descending

_STEPS, _SOLVER_STEPS = 30, 50  # limits on outer steps and on conjugate gradient steps; about 5 of each are usual
_SOLVED = 1e-2  # relative tolerance of conjugate gradients
_SETTLED = 3e-4  # decrease of the loss, relative to 1 + loss, below which the search stops
_DAMPED, _LEAST_DAMPED = 1e-3, 1e-9  # initial and smallest damping, relative to the curvature
_FAR = 300.0  # from the mean; all voters prefer items that are so much stronger, in double precision
_SHARE_RIDGE = 0.5  # weight of log(nu / n)^2 / 2 in the loss, a prior: nu of n voters follow the model


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
    weights = np.empty((*wins.shape, wins.shape[1]))
    for each, weight in zip(rounds, weights, strict=True):  # 1 / deviation for two items in one group, else 0
        label = np.zeros(len(weight)) if each.groups is None else np.arange(float(len(weight)))
        for group in each.groups or ():
            label[list(group)] = group[0]  # an item without a group keeps its own label
        weight[:] = (label[:, np.newaxis] == label) / each.deviation
    if start is None:  # the best explanation of the first round if tanh(x) were x
        first, slope = rounds[0], n_voters * len(rounds[0].wins) / 2
        s, log_share = (first.wins - first.wins.mean()) * slope / (slope**2 + 2 * ridge * first.deviation**2), 0.0
    else:
        s, log_share = start.strengths, min(0.0, math.log(start.voters / n_voters))
    point = partial(_point, wins=wins, weights=weights, n_voters=n_voters, ridge=ridge, pairs=pairs)
    now, damped = point(s, log_share), _DAMPED
    for _ in range(_STEPS):

        def product(v, at=now, damped=damped):
            ahead = np.einsum("kij,j->ki", at.jacobian, v)
            own = np.einsum("ij,j->i", at.matrix, v) + damped * at.diagonal * v
            return own + np.einsum("kij,ki->j", at.jacobian, ahead)

        # The priors make the curvature positive definite, so the step is never None.
        step = conjugate_gradients(product, (1 + damped) * now.diagonal, now.gradient, _SOLVED, _SOLVER_STEPS)
        share = min(0.0, now.log_share - max(-1.0, min(1.0, step[-1])))  # by a factor of at most e, and nu <= n
        # As nu changes, strengths are scaled so that small margins stay.
        found = point((now.s - step[:-1]) * math.exp(now.log_share - share), share)
        if not found.loss <= now.loss:
            damped = max(10 * damped, _DAMPED)
            continue
        settled = damped <= _DAMPED and now.loss - found.loss <= _SETTLED * (1 + now.loss)
        now = found
        if settled:
            break
        damped = max(damped / 10, _LEAST_DAMPED)
    return Fit(now.s - now.s.mean(), n_voters * math.exp(now.log_share), now.residuals, now.diagonal[:-1])


def model_margins(strengths, voters):
    """Return (margins of the model, their derivatives by a difference of strengths), shape (n_items, n_items)."""
    odds = np.exp(np.clip(strengths - strengths.mean(), -_FAR, _FAR))
    shares = (odds[:, np.newaxis] - odds) / (odds[:, np.newaxis] + odds)  # tanh((s_i - s_j) / 2)
    return voters * shares, voters / 2 * (1 - shares * shares)


class _Point(NamedTuple):
    """Strengths and log(nu / n), with the loss, its derivatives for a step of `fitted`, and residuals.

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
    margins, slopes = model_margins(s, n_voters * math.exp(log_share))
    # The last coordinate t is log(nu / n). A step that raises it by t scales s by e^-t (see `fitted`): ds / dt = -s.
    bends = margins - slopes * (s[:, np.newaxis] - s)  # d margins / dt
    jacobian = np.empty((*wins.shape, m + 1))
    np.multiply(weights, -slopes, out=jacobian[..., :m])
    jacobian[:, items, items] -= jacobian[..., :m].sum(axis=2)
    jacobian[..., m] = np.einsum("kij,ij->ki", weights, bends)
    residuals = np.einsum("kij,ij->ki", weights, margins) - wins
    # The priors are squares of residuals too, sqrt(2 ridge) s and sqrt(_SHARE_RIDGE) log(nu / n).
    squares = (s * s).sum()
    loss = ridge * squares + log_share * log_share * _SHARE_RIDGE / 2 + (residuals * residuals).sum() / 2
    gradient, matrix = np.empty(m + 1), np.zeros((m + 1, m + 1))
    gradient[:m], gradient[m] = 2 * ridge * s, _SHARE_RIDGE * log_share - 2 * ridge * squares
    gradient += np.einsum("kij,ki->j", jacobian, residuals)
    matrix[items, items] = 2 * ridge
    matrix[m, :m] = matrix[:m, m] = -2 * ridge * s
    matrix[m, m] = _SHARE_RIDGE + 2 * ridge * squares
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


# Swiss rule: net wins of all items, then of ever smaller groups of neighbouring items, then margins of pairs.

_COUNTED = Fraction(2, 100)  # share of the budget for the number of voters
_SHARES = [Fraction(share, 100) for share in (30, 20, 25)]  # shares of the rest, one per round of groups
_LAST = Fraction(25, 100)  # share of the rest for the last question
_SIZES = [Fraction(size, 10) for size in (10, 4, 2, 2)]  # group size in each round and last, as a share of the items
_LEAST, _MOST = 8, Fraction(6, 10)  # smallest group, and share of all items above which there is one group
_EXACT = 0.5  # smallest deviation for weights, because answers are integers
_DIGITS = 9  # of strengths, after the first digit of the largest, so that rounding errors do not order equal items
# Noise on a margin, as a share of the voters. Up to the first, the last question is always about pairs, and above the
# second never. Between them, it is if the model misses true margins by at least half of the noise.
_CLEAR, _DROWNED = 0.1, 0.3
_NEGLIGIBLE = 0.005  # noise on a margin, as a share of the voters, below which more pairs are asked instead
_TRIED = 6  # numbers of pairs among which the best is chosen
_KICKS = 16  # work of restarts of the search for an order of the margins, in units of `Work`
_TINY = 1e-100  # least variance of a margin, where all seem to agree
_FINE = 2**38  # steps of the largest margin in that search, whose sums are exact


@parametrized
class SwissRule(Rule):
    """Rule with rounds as in a Swiss tournament: items are compared with their neighbours in the current order.

    The first round asks for the net wins of all items. Two more rounds sort the items by their strengths so far, cut
    the order into groups, and ask for the net wins within groups. The last question asks for the margins of the pairs
    whose order is in doubt. If noise would drown these margins, it asks for net wins within groups again.

    Strengths explain all answers best, each weighted by its noise. As in the Bradley-Terry model, the margin of i over
    j is nu tanh((s_i - s_j) / 2). The number nu of voters who follow the model is fitted too, and all others balance
    each other. If the margins of pairs deviate from the model by more than their noise, a local search improves the
    order. It uses the margins of the model, and mixes them with the noisy margins where these are known.

    Parameters
    ----------
    ridge : float, default=0.15
        Weight of the sum of squared strengths. It is added to half the sum of squared residuals over their variance.

    Notes
    -----
    If margins are far below the number of voters, all group sizes give equally much information for the same budget. If
    most voters agree on items that are far apart, small groups need less noise to distinguish neighbours. For groups of
    h among m items, the factor is about h / m.

    A later round without an answer is left out. This happens if too few voters of secure aggregation took part in it.

    Examples
    --------
    >>> from sklearn_dprank.rules import SwissRule
    >>> [str(ask.query) for ask in SwissRule().asks(40)]
    ['NumberOfVoters', 'GroupNetWins', 'GroupNetWins', 'GroupNetWins', 'ScaledMargins']
    >>> sum(ask.share for ask in SwissRule().asks(40))
    Fraction(1, 1)
    >>> [len(group) for group in SwissRule().asks(40)[-2].query.groups]
    [4, 8, 8, 8, 8, 4]
    """

    ridge: float = 0.15

    parameter_checks = {"ridge": partial(check_number, above=0, most=1e100)}

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        shares = [_COUNTED, *((1 - _COUNTED) * share for share in (*_SHARES, _LAST))]
        any_order = partial(np.arange, n_items)
        rounds = [GroupNetWins(_groups(number, n_items, any_order), number) for number in range(len(_SHARES))]
        asked = [NumberOfVoters(), *rounds, ScaledMargins()]
        return [Ask(query, share=share) for query, share in zip(asked, shares, strict=True)]

    def aggregate(self, answers: Any) -> Consensus:
        n_voters = max(1.0, float(answers.answer(NumberOfVoters())))
        rounds: list[Round] = []
        fit: Any = None

        def fit_all(pairs=None):
            nonlocal fit
            fit = fitted(rounds, n_voters, float(self.ridge), pairs, fit)
            # Strengths are rounded to ten digits of the largest, because all may be tiny.
            unit = 10.0 ** (np.floor(np.log10(np.abs(fit.strengths).max(initial=0) or 1.0)) - _DIGITS)
            return fit, np.round(fit.strengths / unit) * unit + 0.0  # no -0.0

        def order():  # a round of all items has the same order with and without a fit
            return descending(fit_all()[1] if rounds[1:] else rounds[0].wins, answers)

        for number in range(len(_SHARES)):
            query = GroupNetWins(_groups(number, answers.n_items, order), number)
            try:
                wins = answers.answer(query)
            except BudgetExhausted:  # the other rounds decide
                if not number:
                    raise
                continue
            rounds.append(Round(query.groups, wins, max(answers.deviation(query), _EXACT)))
        query, pairs = _last_question(rounds, fit_all, order, n_voters, answers), None
        scale = query.scale(answers.n_items, answers.max_listed)
        try:
            answer = np.asarray(answers.answer(query), dtype=float) / scale
        except BudgetExhausted:  # the rounds decide
            pass
        else:
            deviation = max(answers.deviation(query) / scale, _EXACT)
            if query.pairs is None:
                rounds.append(Round(query.groups, answer, deviation))
            else:
                first, second = np.array(query.pairs, dtype=np.intp).T
                margins, weights = np.zeros((2, answers.n_items, answers.n_items))
                margins[first, second], margins[second, first] = answer, -answer
                weights[first, second] = weights[second, first] = 1 / deviation**2
                pairs = PairMargins(margins, weights)
        fit, scores = fit_all(pairs)
        found = descending(scores, answers)
        return Consensus(found if pairs is None else _searched(found, fit, pairs, answers.coins), {"scores": scores})


def _groups(number, n_items, order):
    """Return the groups of a round, neighbours in `order()`, or None for one group of all.

    Every second round shifts the cuts by half a group.
    """
    size = max(_LEAST, int(_SIZES[number] * n_items))
    if size >= _MOST * n_items:
        return None
    first = size // 2 if number % 2 == 0 else size
    return tuple(tuple(group.tolist()) for group in np.split(order(), range(first, n_items, size)))


def _last_question(rounds, fit_all, order, n_voters, answers):
    """Return the last query: the margins of the pairs in doubt, or net wins within groups if noise drowns margins.

    A single margin has the deviation `noise`, and k margins asked together have sqrt(k) times that each.
    """
    m, one = answers.n_items, ScaledMargins(((0, 1),))
    noise = answers.deviation(one) / one.scale(m, answers.max_listed)
    noise_of_many = noise * np.sqrt(2 * m)  # on each of 2 m margins
    if m >= 2 and noise_of_many <= _DROWNED * n_voters:
        # The misfit is the variance of true margins around those of the model. A net win is a sum of margins over
        # opponents. Noise alone explains its squared residuals up to two deviations.
        fit, _ = fit_all()
        groups = [(each, len(group)) for each in rounds for group in each.groups or [range(m)]]
        opponents = sum(size * (size - 1) / each.deviation**2 for each, size in groups)
        free = fit.residuals.size - m  # degrees of freedom of a chi-square, whose deviation is sqrt(2 free)
        excess = (fit.residuals**2).sum() - free - 2 * np.sqrt(2 * free)
        misfit = max(0.0, excess / opponents) if opponents else 0.0
        if noise_of_many <= max(_CLEAR * n_voters, 2 * np.sqrt(misfit)):
            return _pairs_in_doubt(fit, misfit, noise, n_voters)
    return ScaledMargins(groups=_groups(len(_SHARES), m, order))


def _pairs_in_doubt(fit, misfit, noise, n_voters):
    """Return the query for the pairs whose margins are the fewest deviations from 0.

    More pairs have more noise each. Their number is the one that lowers the expected loss most.
    """
    m = len(fit.strengths)
    first, second = np.triu_indices(m, 1)
    margins, slopes = (each[first, second] for each in model_margins(fit.strengths, fit.voters))
    variance = slopes**2 * (1 / fit.curvature[first] + 1 / fit.curvature[second]) + misfit + _TINY
    doubt = np.argsort(np.abs(margins) / np.sqrt(variance), kind="stable")[:MOST_PAIRS]
    margins, variance = margins[doubt], variance[doubt]
    noiseless = (_NEGLIGIBLE * n_voters) ** 2 / noise**2 if noise else np.inf  # so many pairs have negligible noise
    sizes = np.rint(np.geomspace(min(len(doubt), max(2 * m, noiseless)), len(doubt), _TRIED)).astype(int)

    def gain(size):  # decrease of the expected loss by noisy answers about so many pairs
        deviation = variance[:size] / np.sqrt(variance[:size] + size * noise**2)  # of the posterior means
        x = np.abs(margins[:size]) / deviation
        return (deviation * (np.exp(-x * x / 2) / np.sqrt(2 * np.pi) - x * ndtr(-x))).sum()  # E max(0, z - x), z normal

    chosen = doubt[: max(sorted(set(sizes.tolist())), key=gain)]
    return ScaledMargins(tuple(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True)))


def _searched(order, fit, pairs, coins):
    """Return the order that a local search finds on margins of model and answers; `order` if the model explains all."""
    margins, _ = model_margins(fit.strengths, fit.voters)
    asked = pairs.weights > 0
    apart, variance = pairs.margins[asked] - margins[asked], 1 / pairs.weights.max()  # variance of the noise
    misfit = (apart**2).mean() - variance * (1 + 2 / np.sqrt(len(apart)))  # the matrix has each pair twice
    if misfit <= 0:
        return order
    margins[asked] += apart * (misfit / (misfit + variance))
    cost = np.rint(-margins * (_FINE / (np.abs(margins).max() or 1.0))).astype(np.int64)
    found, work = insertion_search(cost, order), Work(_KICKS)
    while not work.over and (np.triu(cost[np.ix_(found, found)]) > 0).any():  # some pair is in the wrong order
        kick = found.tolist()
        for _ in range(3):  # move a few random items to random places
            item = kick.pop(coins.integer(len(kick)))
            kick.insert(coins.integer(len(kick) + 1), item)
        kicked = insertion_search(cost, kick, work)
        if total_cost(cost, kicked) < total_cost(cost, found):
            found = kicked
    return found
