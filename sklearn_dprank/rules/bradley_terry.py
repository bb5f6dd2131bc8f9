"""The Bradley-Terry rule: sort by the strengths that explain randomised answers about pairs best."""

from functools import partial
from typing import Any

import numpy as np

from .._utils.checks import Check, check_number, check_parameters
from ..queries import Ask, PairTallies, estimated_margins
from .base import Consensus, Rule, descending
from .bradley_terry_loss import loss_of

_STEPS = 500  # of Newton's method; it takes five to fifty
_SETTLED, _ROUNDING = 1e-8, 1e-6  # a step so short is the last; one so short that no longer shrinks is rounding
_NOISE = 1e-13  # of a loss, relatively
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
    """Return the penalised maximum-likelihood strengths, centred, shape (n_items,).

    Parameters
    ----------
    tallies : tuple of Tallies
        Answer counts, one entry for each flip probability.
    ridge : float
        Weight of the penalty.

    Notes
    -----
    To nine digits behind the point, so that rounding does not decide between equals. With few answers, much flipped,
    there may be several optima: this is the one downhill of the estimated net wins.
    """
    return downhill(loss_of(tallies, float(ridge)), estimated_margins(tallies).mean(axis=1) * 2).round(_DECIMALS)


def downhill(loss, s):
    """Return the strengths, centred, of least loss downhill of `s`, by Newton's method, to the last digits.

    Where flips make the likelihood bend the wrong way, the curvature is lifted until it bends upwards; steps are halved
    until they pay.

    Parameters
    ----------
    loss : callable
        As `sklearn_dprank.rules.bradley_terry_loss.loss_of` returns it.
    s : ndarray of float, shape (n_items,)
        Where to start.
    """
    s = s - s.mean()
    (value, derive), lift, before = loss(s), 0.0, np.inf
    for _ in range(_STEPS):
        slope, curvature = derive()
        step, lift = _step(slope, curvature, lift)
        size, length, promised = np.abs(step).max(), 1.0, slope @ step
        if size < _SETTLED:
            s = s - step
            break
        while (then := loss(there := s - length * step))[0] > value - 1e-4 * length * promised + _NOISE * abs(value):
            length /= 2
        s, (value, derive) = there, then
        if before <= size < _ROUNDING:
            break
        before = size
    return s - s.mean()


def _step(slope, curvature, lift):
    """Return Newton's step (to subtract), and what was added to the curvature; `lift` is what was added before."""
    lift = lift / 4 if lift > 1e-3 * curvature.steepest else 0.0
    while (step := curvature.solved(slope, lift)) is None:
        lift = max(4 * lift, 1e-2 * curvature.steepest)
    return step, lift
