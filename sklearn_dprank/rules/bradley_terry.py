"""Bradley-Terry rules for randomised answers about pairs, in one round or in several."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.sparse import csr_array
from scipy.special import expit

from .._utils.checks import Check, check_number, check_parameters, check_whole, taken_by
from ..queries import Ask, PairTallies, Tallies, estimated_margins
from .base import Consensus, Rule, descending
from .strengths import solved

_STEPS = 500  # limit on Newton steps; 5 to 50 are usual
_SETTLED, _ROUNDING = 1e-8, 1e-6  # step sizes: below the first, or below the second and not shrinking, the search ends
_NOISE = 1e-13  # relative rounding error of a loss
_DECIMALS = 9  # decimals of strengths, so that rounding errors do not order equal items


class BradleyTerryRule(Rule):
    """Rule that sorts items by Bradley-Terry strengths, fitted to answers that devices may have flipped.

    Let f be the probability that the voter's device flips an answer. The answer states that i is before j with
    probability f + (1 - 2f) / (1 + exp(s_j - s_i)). The strengths s maximise the log-likelihood minus ``ridge`` / 2
    times their sum of squares.

    Parameters
    ----------
    ridge : float, default=0.01
        Weight of the penalty. It keeps strengths finite if some items never win or never lose.

    Notes
    -----
    The rule is post-processing, so it costs no privacy to decode the same reports better. With fewer than three answers
    per pair, sorting by net wins is as good.

    Examples
    --------
    >>> from sklearn_dprank.rules import BradleyTerryRule
    >>> str(BradleyTerryRule().asks(3)[0].query)
    'PairTallies'
    """

    parameter_checks: dict[str, Check] = {"ridge": partial(check_number, above=0, most=1e100)}

    def __init__(self, ridge: float = 0.01) -> None:
        self.ridge = ridge

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(PairTallies())]

    def aggregate(self, session: Any) -> Consensus:
        strengths = bradley_terry_strengths(session.answer(PairTallies()), self.ridge)
        return Consensus(descending(strengths, session))


def bradley_terry_strengths(tallies, ridge):
    """Return the penalised maximum-likelihood strengths, centred and rounded to nine decimals, shape (n_items,)."""
    return downhill(loss_of(tallies, float(ridge)), estimated_margins(tallies).mean(axis=1) * 2).round(_DECIMALS)


def downhill(loss, s):
    """Return the centred strengths, shape (n_items,), of the minimum of the loss that is downhill of `s`."""
    s = s - s.mean()
    (value, derive), lift, before = loss(s), 0.0, np.inf
    for _ in range(_STEPS):
        slope, curvature = derive()
        step, lift = _step(slope, curvature, lift)
        size, length, decrease = np.abs(step).max(), 1.0, slope @ step
        if size < _SETTLED:
            s = s - step
            break
        while (then := loss(there := s - length * step))[0] > value - 1e-4 * length * decrease + _NOISE * abs(value):
            length /= 2
        s, (value, derive) = there, then
        if before <= size < _ROUNDING:
            break
        before = size
    return s - s.mean()


def _step(slope, curvature, lift):
    """Return (Newton step to subtract, lift); the lift of the diagonal makes the curvature positive definite."""
    lift = lift / 4 if lift > 1e-3 * curvature.steepest else 0.0
    while (step := curvature.solved(slope, lift)) is None:
        lift = max(4 * lift, 1e-2 * curvature.steepest)
    return step, lift


_MANY = 64  # items; from here on, BLAS would divide a solve among threads, which wait for each other on busy cores
_SOLVED, _SOLVER_STEPS = 1e-12, 1000  # tolerance and step limit of conjugate gradients; about 30 steps are usual
_FULL = 0.45  # share of ordered pairs with answers from which on matrices are faster than lists
_LARGEST = 300.0  # largest strength whose exponentials and their ratios are finite doubles
_LEAST = 1e-300  # keeps logarithms of probabilities finite


def loss_of(tallies, ridge):
    """Return minus the log-likelihood of strengths plus ``ridge`` / 2 times their sum of squares, as a function.

    The function takes strengths, shape (n_items,), and returns (loss, derive). ``derive()`` returns the centred
    gradient, shape (n_items,), and the curvature. The largest entry of the curvature is ``steepest``. ``solved(right,
    lift)`` solves (curvature + lift) x = right, and returns None if the matrix is not positive definite. Noisy counts
    may be negative.

    Examples
    --------
    >>> from sklearn_dprank.queries import Tallies
    >>> value, derive = loss_of((Tallies(0.0, np.array([[0, 3], [1, 0]])),), ridge=0.5)(np.zeros(2))
    >>> slope, curvature = derive()
    >>> round(float(value / np.log(2)), 9), slope.tolist(), curvature.solved(slope, 0.0).round(9).tolist()
    (4.0, [-1.0, 1.0], [-0.4, 0.4])
    """
    m = len(tallies[0].wins)
    # Only for a loss with one optimum: of several, rounding errors could decide which one is found.
    if all(flip == 0 and wins.min() >= 0 for flip, wins in tallies):
        wins = sum(wins for _, wins in tallies)
        if m < _MANY or np.count_nonzero(wins) >= _FULL * wins.size:
            return _Unflipped(wins, ridge)
    return (_FewItems if m < _MANY else _ManyItems)(tallies, ridge)


def _report_probability(flip, chance):
    """Return the probability of an answer after a possible flip, given its probability `chance` before."""
    return np.maximum(flip + (1 - 2 * flip) * chance, _LEAST)


def _pulls(flip, times, chance, other, probability):
    """Return the first and minus the second derivative of ``times * log(probability)`` by the winner's strength."""
    rise = (1 - 2 * flip) * chance * other / probability
    pull = times * rise
    return pull, pull * (rise + chance - other)


class _FewItems:
    """Loss over all pairs, in matrices."""

    def __init__(self, tallies, ridge):
        self._tallies = [(flip, np.asarray(wins, dtype=float)) for flip, wins in tallies]
        self._ridge = ridge

    def __call__(self, s):
        chance = expit(s[:, np.newaxis] - s)
        probability = [_report_probability(flip, chance) for flip, _ in self._tallies]
        likely = sum((wins * np.log(each)).sum() for (_, wins), each in zip(self._tallies, probability, strict=True))
        return self._ridge / 2 * (s @ s) - likely, partial(self._derivatives, s, chance, probability)

    def _derivatives(self, s, chance, probability):
        pull = bend = np.zeros(chance.shape)
        for (flip, wins), each in zip(self._tallies, probability, strict=True):
            more_pull, more_bend = _pulls(flip, wins, chance, chance.T, each)
            pull, bend = pull + more_pull, bend + more_bend
        slope = self._ridge * s - (pull - pull.T).sum(axis=1)
        matrix = -bend - bend.T
        matrix.flat[:: len(s) + 1] -= matrix.sum(axis=1) - self._ridge
        return slope - slope.mean(), _Matrix(matrix)


class _Matrix:
    """Curvature as a matrix, solved by Cholesky factorisation."""

    def __init__(self, matrix):
        self._matrix = matrix
        self.steepest = np.abs(matrix).max()

    def solved(self, right, lift):
        matrix = self._matrix.copy()
        matrix.flat[:: len(right) + 1] += lift
        _, step, failed = dposv(matrix, right)
        return None if failed else step


class _Unflipped:
    """Loss over all pairs, in matrices, for answers without flips; it has only one optimum."""

    def __init__(self, wins, ridge):
        self._wins, self._ridge = wins.astype(float), ridge
        self._answers = self._wins + self._wins.T

    def __call__(self, s):
        if np.abs(s).max() > _LARGEST:
            chance, lost = expit(s[:, np.newaxis] - s), np.logaddexp(0.0, s - s[:, np.newaxis])
        else:
            odds = np.exp(s)  # one exponential per item, not per pair
            against = odds / odds[:, np.newaxis]
            chance, lost = 1 / (1 + against), np.log1p(against)
        value = self._ridge / 2 * (s @ s) + (self._wins * lost).sum()
        return value, partial(self._derivatives, s, chance)

    def _derivatives(self, s, chance):
        other = chance.T.copy()
        pull = self._wins * other
        slope = self._ridge * s - (pull - pull.T).sum(axis=1)
        matrix = self._answers * chance
        matrix *= other
        np.negative(matrix, out=matrix)
        matrix.flat[:: len(s) + 1] -= matrix.sum(axis=1) - self._ridge
        return slope - slope.mean(), (_Matrix if len(s) < _MANY else _LargeMatrix)(matrix)


class _LargeMatrix:
    """Curvature as a matrix, solved by conjugate gradients."""

    def __init__(self, matrix):
        self._matrix, self._diagonal = matrix, matrix.diagonal()
        self.steepest = np.abs(self._diagonal).max()

    def solved(self, right, lift):
        def product(x):
            return np.einsum("ij,j->i", self._matrix, x) + lift * x  # without BLAS, whose threads wait for each other

        diagonal = self._diagonal + lift
        return solved(product, diagonal, right, _SOLVED, _SOLVER_STEPS) if diagonal.min() > 0 else None


class _ManyItems:
    """Loss over the pairs that have answers, in lists; most pairs may have none."""

    def __init__(self, tallies, ridge):
        self._n_items, self._ridge = len(tallies[0].wins), ridge
        self._terms = [(flip, wins[np.nonzero(wins)], *np.nonzero(wins)) for flip, wins in tallies]

    def __call__(self, s):
        value, told = self._ridge / 2 * (s @ s), []
        for flip, times, i, j in self._terms:
            chance = expit(s[i] - s[j])
            probability = _report_probability(flip, chance)
            value -= (times * np.log(probability)).sum()
            told.append((flip, times, chance, expit(s[j] - s[i]), probability))
        return value, partial(self._derivatives, s, told)

    def _derivatives(self, s, told):
        m = self._n_items
        slope, bends = self._ridge * s, csr_array((m, m))
        for (*_, i, j), each in zip(self._terms, told, strict=True):
            pull, bend = _pulls(*each)
            slope = slope - np.bincount(i, pull, m) + np.bincount(j, pull, m)
            bends = bends + csr_array((bend, (i, j)), shape=(m, m))
        return slope - slope.mean(), _Pairs(bends, self._ridge)


class _Pairs:
    """Curvature as a sparse matrix over pairs, solved by conjugate gradients."""

    def __init__(self, bends, ridge):
        self._there, self._back = bends, bends.T
        self._diagonal = self._across(np.ones(bends.shape[0])) + ridge
        self.steepest = np.abs(self._diagonal).max()

    def _across(self, x):
        return self._there @ x + self._back @ x

    def solved(self, right, lift):
        diagonal = self._diagonal + lift
        if diagonal.min() <= 0:
            return None
        return solved(lambda x: diagonal * x - self._across(x), diagonal, right, _SOLVED, _SOLVER_STEPS)


_MOST_ROUNDS = 1000  # each round solves for all strengths


class AdaptiveBradleyTerryRule(Rule):
    """Bradley-Terry rule in rounds; after the first, it asks only about pairs that are close in the current order.

    Parameters
    ----------
    n_rounds : int, default=4
        Number of rounds, at most 1,000; each asks its share of the voters. After the first, questions are about pairs
        at most max(2, floor(m / 6)) ranks apart.
    ridge : float, default=0.01
        Weight of the penalty, as in `BradleyTerryRule`.

    Examples
    --------
    >>> from sklearn_dprank.rules import AdaptiveBradleyTerryRule
    >>> AdaptiveBradleyTerryRule().asks(10)[0].times
    4
    """

    parameter_checks: dict[str, Check] = {
        "n_rounds": partial(check_whole, most=_MOST_ROUNDS),
        **taken_by(BradleyTerryRule, "ridge"),
    }

    def __init__(self, n_rounds: int = 4, ridge: float = 0.01) -> None:
        self.n_rounds = n_rounds
        self.ridge = ridge

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(PairTallies(), times=int(self.n_rounds))]

    def aggregate(self, session: Any) -> Consensus:
        reach = max(2, session.n_items // 6)
        pairs: tuple[tuple[int, int], ...] | None = None
        tallies: tuple[Tallies, ...] = ()
        for number in range(self.n_rounds):
            tallies = _added(tallies, session.answer(PairTallies(pairs, number)))
            order = descending(bradley_terry_strengths(tallies, self.ridge), session)
            pairs = _near(order, reach)
        return Consensus(order)


def _near(order, reach):
    """Return the pairs (i, j), i < j, of items at most `reach` ranks apart."""
    gaps = range(1, min(reach, len(order) - 1) + 1)
    ahead, behind = (np.concatenate(ends) for ends in ([order[:-g] for g in gaps], [order[g:] for g in gaps]))
    return tuple(zip(np.minimum(ahead, behind).tolist(), np.maximum(ahead, behind).tolist(), strict=True))


def _added(tallies, more):
    """Return the tallies, with those of equal flip probability added up."""
    wins: dict[float, np.ndarray] = {}
    for tally in (*tallies, *more):
        wins[tally.flip] = wins[tally.flip] + tally.wins if tally.flip in wins else tally.wins
    return tuple(Tallies(flip, total) for flip, total in wins.items())
