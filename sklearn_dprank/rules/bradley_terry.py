"""The Bradley-Terry rule: sort by the strengths that explain randomised answers about pairs best."""

from functools import partial
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from ..checks import Check, check_number, check_parameters
from ..queries import Ask, PairTallies, estimated_margins
from .base import Consensus, Rule, descending

_STEPS = 500  # of Newton's method; it takes five to fifty
_SETTLED, _ROUNDING = 1e-8, 1e-6  # a step so short is the last; one so short that no longer shrinks is rounding
_NOISE = 1e-13  # of a loss, relatively
_LEAST = 1e-300  # below any probability whose logarithm matters
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
        slope, hessian = loss.derivatives(s)
        step, lift = _downhill(slope, hessian, lift)
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
        # Counts with noise on them may be negative.
        self._terms = [(flip, wins[np.nonzero(wins)], *np.nonzero(wins)) for flip, wins in tallies]

    def __call__(self, s):
        value = self._ridge / 2 * (s @ s)
        for flip, times, i, j in self._terms:
            value -= times @ np.log(np.maximum(flip + (1 - 2 * flip) * expit(s[i] - s[j]), _LEAST))
        return value

    def derivatives(self, s):
        """Return the gradient, shape (n_items,), and the Hessian, shape (n_items, n_items)."""
        m = self._n_items
        pull, bend = np.zeros(m), np.zeros(m * m)
        for flip, times, i, j in self._terms:
            chance, other = expit(s[i] - s[j]), expit(s[j] - s[i])
            # d log said / d(s_i - s_j)
            rise = (1 - 2 * flip) * chance * other / np.maximum(flip + (1 - 2 * flip) * chance, _LEAST)
            pull += np.bincount(i, times * rise, m) - np.bincount(j, times * rise, m)
            bend += np.bincount(i * m + j, times * rise * (rise + chance - other), m * m)
        slope = self._ridge * s - pull
        pairs = bend.reshape(m, m) + bend.reshape(m, m).T
        return slope - slope.mean(), np.diag(pairs.sum(axis=1) + self._ridge) - pairs


def _downhill(slope, hessian, lift):
    """Return Newton's step (to subtract), and what was added to the curvature; `lift` is what was added before."""
    steepest = np.abs(hessian).max()
    lift = lift / 4 if lift > 1e-3 * steepest else 0.0
    while True:
        try:
            return cho_solve(cho_factor(hessian + lift * np.eye(len(slope))), slope), lift
        except LinAlgError:
            lift = max(4 * lift, 1e-2 * steepest)
