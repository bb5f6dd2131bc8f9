"""Strengths that explain randomised answers best."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ..queries import Ask, PairTallies, estimated_margins
from .base import Consensus, Rule, descending


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

    def __init__(self, ridge=0.01):
        self.ridge = ridge

    def asks(self, n_items):
        if not self.ridge > 0:
            raise ValueError(f"ridge must be positive, got {self.ridge!r}.")
        return [Ask(PairTallies())]

    def aggregate(self, session):
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
    """

    def loss(s):
        chance = expit(s[:, None] - s[None, :])
        value, slope = ridge / 2 * (s @ s), ridge * s
        for flip, wins in tallies:
            said = flip + (1 - 2 * flip) * chance
            # d/ds of log said; symmetric differences give the gradient of both ends of a pair.
            pull = wins * ((1 - 2 * flip) * chance * (1 - chance) / np.maximum(said, 1e-300))
            value -= np.sum(wins * np.log(np.maximum(said, 1e-300)))
            slope = slope - pull.sum(axis=1) + pull.sum(axis=0)
        return value, slope

    start = estimated_margins(tallies).mean(axis=1) * 2
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "maxcor": 20, "gtol": 1e-6})
    return fitted.x - fitted.x.mean()
