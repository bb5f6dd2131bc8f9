"""The Bradley-Terry rule: sort by the strengths that explain randomised answers about pairs best."""

from functools import partial
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import expit

from ..checks import Check, check_number, check_parameters
from ..queries import Ask, PairTallies, estimated_margins
from .base import Consensus, Rule, descending
from .conjugate_gradients import solved

_STEPS = 500  # of Newton's method; it takes five to fifty
_SETTLED, _ROUNDING = 1e-8, 1e-6  # a step so short is the last; one so short that no longer shrinks is rounding
_NOISE = 1e-13  # of a loss, relatively
_LEAST = 1e-300  # below any probability whose logarithm matters
_MANY = 64  # items: of so many and more, the threads of BLAS would share out a solve, and wait where cores are busy
_SOLVED, _SOLVER_STEPS = 1e-12, 1000  # of a step's equations; some thirty are usual
_DECIMALS = 9  # of strengths that are told apart: rounding must not decide between equals


class BradleyTerryRule(Rule):
    """Sort by Bradley-Terry strengths fitted through the noise of the answers.

    An answer says i before j with probability f + (1 - 2f) / (1 + exp(s_j - s_i)), where f is the
    probability that the voter's device flips it. Strengths maximise the likelihood minus
    ``ridge`` / 2 times their sum of squares.

    Parameters
    ----------
    ridge : float, default=0.01
        Keeps strengths finite when some items never win or lose.

    Notes
    -----
    Post-processing: the same reports decoded better cost no privacy. With few answers a pair (fewer
    than three) sorting by net wins is as good.

    Examples
    --------
    >>> from sklearn_dprank.rules import BradleyTerryRule
    >>> str(BradleyTerryRule().asks(3)[0].query)
    'PairTallies'
    """

    parameter_checks: dict[str, Check] = {"ridge": partial(check_number, above=0)}

    def __init__(self, ridge: float = 0.01) -> None:
        self.ridge = ridge

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(PairTallies())]

    def aggregate(self, session: Any) -> Consensus:
        strengths = bradley_terry_strengths(session.answer(PairTallies()), self.ridge)
        return Consensus(descending(strengths.round(_DECIMALS), session))


def bradley_terry_strengths(tallies, ridge):
    """Return the penalised maximum-likelihood strengths, centred, shape (n_items,).

    Parameters
    ----------
    tallies : tuple of Tallies
        Answer counts, one entry for each flip probability.
    ridge : float
        Weight of the penalty.

    Notes
    -----
    Newton's method, to the last digits. Where flips make the likelihood bend the wrong way, the curvature is lifted
    until it bends upwards; steps are halved until they pay. With few answers, much flipped, there may be several
    optima: this is the one downhill of the estimated net wins.
    """
    loss = _Loss(tallies, ridge)
    s = estimated_margins(tallies).mean(axis=1) * 2
    s -= s.mean()
    value, lift, before = loss(s), 0.0, np.inf
    for _ in range(_STEPS):
        slope, curvature = loss.derivatives(s)
        step, lift = _downhill(slope, curvature, lift)
        length, promised = 1.0, slope @ step
        while (then := loss(s - length * step)) > value - 1e-4 * length * promised + _NOISE * abs(value):
            length /= 2
        s, value = s - length * step, then
        size = np.abs(step).max()
        if size < _SETTLED or before <= size < _ROUNDING:
            break
        before = size
    return s - s.mean()


class _Loss:
    """Minus the penalised log-likelihood of strengths."""

    def __init__(self, tallies, ridge):
        self._n_items, self._ridge = len(tallies[0].wins), ridge
        self._curvature = _Matrix if self._n_items < _MANY else _Sparse
        # Counts with noise on them may be negative.
        self._terms = [(flip, wins[np.nonzero(wins)], *np.nonzero(wins)) for flip, wins in tallies]

    def __call__(self, s):
        value = self._ridge / 2 * (s @ s)
        for flip, times, i, j in self._terms:
            value -= (times * np.log(np.maximum(flip + (1 - 2 * flip) * expit(s[i] - s[j]), _LEAST))).sum()
        return value

    def derivatives(self, s):
        """Return the gradient, shape (n_items,), and the second derivatives."""
        m = self._n_items
        pull, bends = np.zeros(m), []
        for flip, times, i, j in self._terms:
            chance, other = expit(s[i] - s[j]), expit(s[j] - s[i])
            # d log said / d(s_i - s_j)
            rise = (1 - 2 * flip) * chance * other / np.maximum(flip + (1 - 2 * flip) * chance, _LEAST)
            pull += np.bincount(i, times * rise, m) - np.bincount(j, times * rise, m)
            bends.append((times * rise * (rise + chance - other), i, j))
        slope = self._ridge * s - pull
        return slope - slope.mean(), self._curvature(m, bends, self._ridge)


class _Matrix:
    """Second derivatives of few items."""

    def __init__(self, m, bends, ridge):
        one_way = sum((np.bincount(i * m + j, bend, m * m) for bend, i, j in bends), np.zeros(m * m)).reshape(m, m)
        pairs = one_way + one_way.T
        self._matrix = np.diag(pairs.sum(axis=1) + ridge) - pairs
        self.steepest = np.abs(self._matrix).max()

    def solved(self, right, lift):
        """Return the solution of (this + lift) x = right; None unless this + lift is positive definite."""
        try:
            return cho_solve(cho_factor(self._matrix + lift * np.eye(len(right))), right)
        except LinAlgError:
            return None


class _Sparse:
    """Second derivatives of many items, most pairs of which may have no answer."""

    def __init__(self, m, bends, ridge):
        self._there = sum((csr_array((bend, (i, j)), shape=(m, m)) for bend, i, j in bends), csr_array((m, m)))
        self._back = self._there.T
        self._diagonal = self._pairs(np.ones(m)) + ridge
        self.steepest = np.abs(self._diagonal).max()

    def _pairs(self, x):
        return self._there @ x + self._back @ x

    def solved(self, right, lift):
        """Return the same, by conjugate gradients; None where it is not positive as far as they see."""
        diagonal = self._diagonal + lift
        if diagonal.min() <= 0:
            return None
        return solved(lambda x: diagonal * x - self._pairs(x), diagonal, right, _SOLVED, _SOLVER_STEPS)


def _downhill(slope, curvature, lift):
    """Return Newton's step (to subtract), and what was added to the curvature; `lift` is what was added before."""
    lift = lift / 4 if lift > 1e-3 * curvature.steepest else 0.0
    while (step := curvature.solved(slope, lift)) is None:
        lift = max(4 * lift, 1e-2 * curvature.steepest)
    return step, lift
