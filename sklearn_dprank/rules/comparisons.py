"""Bradley-Terry rule for comparisons and ratings of persons, from noisy sums that each person changes little."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .._utils.checks import check_parameters, check_whole, one_of
from .._utils.estimators import parametrized
from .._utils.types import Norm
from ..queries import Ask, BradleyTerryResiduals, NetWinsAndExposures
from ..queries.comparisons import ONE
from .base import Consensus, Rule, descending

_N_ROUNDS = 12
_FIRST = Fraction(12, 100)  # share of the budget of the first round
_SHAPES = (np.inf, 30.0, 10.0, 4.0, 2.0, 1.0, 0.5, 0.25)  # of the prior of exposures, from equal to very unequal
_CELLS, _PER_DEVIATION = 112, 8  # grid of exposures: number of cells, and cells per standard deviation of the noise
_EVIDENCE = 2.0  # log likelihood by which less equal exposures must be better
_MISFIT = 0.3  # variance of a net win per comparison, besides the noise
_SHARES, _STRENGTHS = np.geomspace(1e-4, 1, 30), np.geomspace(1e-4, 6, 36)  # possible variances of both
_LEAST_CURVATURE = 0.02
_CAUTION = 3.0  # weight of the noise against the residuals, when rounds are mixed
_FARTHEST_STEP, _FARTHEST_MOVE = 3.0, 1.5
_EXACT = 0.1  # smallest deviation of the noise, in comparisons
_MANY = 512  # items above which the curvature is interpolated


class Shares(NamedTuple):
    """Posterior means of shares of net wins, with the exposures; arrays of shape (n_items,).

    `exposures` and `variances` are posterior means and variances of the exposures, and `spread` is the variance of the
    true shares. `errors` are the variances of the shares, given everything else.
    """

    shares: NDArray[np.float64]
    exposures: NDArray[np.float64]
    variances: NDArray[np.float64]
    spread: float
    errors: NDArray[np.float64]


def posterior_exposures(e: NDArray[np.float64], noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return posterior means and variances of exposures, given noisy ones, both of shape (n_items,).

    The prior is a Gamma distribution with the mean of all items. Of its shapes, the one with the most equal exposures
    is taken whose likelihood is not clearly below that of another shape.

    Examples
    --------
    >>> mean, variance = posterior_exposures(np.array([0.0, 10.0, 100.0]), 10.0)
    >>> mean.round(3), variance.round(3)
    (array([ 10.43 ,  14.669, 100.   ]), array([ 34.081,  51.439, 100.   ]))
    """
    mean, few = max(e.mean(), noise / np.sqrt(len(e))), e <= _PER_DEVIATION * noise
    grid = (np.arange(_CELLS) + 0.5) * noise / _PER_DEVIATION
    near = np.exp(-(((e[few, np.newaxis] - grid) / noise) ** 2) / 2) / (_PER_DEVIATION * np.sqrt(2 * np.pi))
    found = []
    for shape in _SHAPES:
        if np.isinf(shape):
            density = -(((e - mean) / noise) ** 2) / 2 - np.log(noise * np.sqrt(2 * np.pi))
            found.append((density.sum(), np.full(len(e), mean), np.zeros(len(e))))
            continue
        rate = shape / mean

        def log_prior(t, shape=shape, rate=rate):
            return (shape - 1) * np.log(t) - rate * t + shape * np.log(rate) - gammaln(shape)

        chance = near * np.exp(log_prior(grid))
        total = chance.sum(axis=1)
        means, variances = e.copy(), np.full(len(e), noise**2)
        with np.errstate(divide="ignore", invalid="ignore"):  # the density underflows where another shape is likelier
            means[few] = (chance * grid).sum(axis=1) / total
            variances[few] = (chance * grid**2).sum(axis=1) / total - means[few] ** 2
            found.append((np.log(total).sum() + log_prior(e[~few]).sum(), means, variances))
    least = max(likelihood for likelihood, _, _ in found) - _EVIDENCE
    return next((means, variances) for likelihood, means, variances in found if likelihood >= least)


def likeliest_spread(values, factor, variances, spreads):
    """Return the spread t among `spreads` under which independent values ~ N(0, t factor + variances) are likeliest."""
    total = spreads[:, np.newaxis] * factor + variances
    return spreads[(np.log(total) + values**2 / total).sum(axis=1).argmin()]


def blend(x: NDArray[np.float64], e: NDArray[np.float64], noise: float, noise_of_e: float) -> Shares:
    """Return the posterior shares x / e of noisy net wins and exposures.

    Without evidence of unequal exposures, the order is that of the net wins. If exposures are known well, it is that of
    the shares.

    Examples
    --------
    >>> x, e = np.array([30.0, -10.0, -20.0]), np.array([40.0, 40.0, 80.0])
    >>> blend(x, e, 4.0, 8.0).shares.round(5).tolist()
    [0.59294, -0.19765, -0.23764]
    """
    x = x - x.mean()
    exposures, variances = posterior_exposures(e, noise_of_e)
    squares, rest = exposures**2 + variances, noise**2 + _MISFIT * exposures
    spread = likeliest_spread(x, squares, rest, _SHARES)
    total = spread * squares + rest
    return Shares(
        spread * exposures * x / total, exposures, variances, spread, spread - (spread * exposures) ** 2 / total
    )


def curvature(strengths: NDArray[np.float64], exposures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected derivative of each item's residual by its strength, if opponents come by exposure."""
    f = exposures / np.sqrt(exposures.sum())
    at = strengths
    if len(at) > _MANY:
        at = np.linspace(strengths.min(), strengths.max(), _MANY)
    met = (f / np.cosh((at[:, np.newaxis] - strengths) / 2) ** 2).sum(axis=1)
    met = met if len(strengths) <= _MANY else np.interp(strengths, at, met)
    return np.maximum(_LEAST_CURVATURE * exposures, f * (met - f) / 2)


def mixed_weights(residuals, noise, curvatures, default):
    """Return weights of the rounds, which add up to 1, for which the mixed residuals are small in spite of the noise.

    This is Anderson acceleration with a penalty: a minimises a'Ka + (a - a0)'N(a - a0), where K has the products of the
    residuals, and N is diagonal with three times their expected noise. `residuals` has shape (n_rounds, n_items).
    """
    products = np.einsum("ri,si->rs", residuals / curvatures, residuals)  # the digits of BLAS vary by threads
    products[np.diag_indices(len(noise))] += 1e-9 * np.trace(products)
    penalty = _CAUTION * noise**2 * (1 / curvatures).sum()
    free, one = np.linalg.solve(
        products + np.diag(penalty), np.column_stack([penalty * default, np.ones(len(noise))])
    ).T
    return free + one * (1 - free.sum()) / one.sum()


@parametrized
class NewtonBradleyTerryRule(Rule):
    """Bradley-Terry rule that solves for strengths by noisy residuals, in rounds.

    Round 1 asks for net wins x and exposures e, with 12 % of the budget. Each later round asks for the residuals of the
    model at the strengths so far. A quasi-Newton step divides residuals by the expected curvature. Rounds are mixed by
    Anderson acceleration, with weights that know the noise of each round. Strengths are shrunk by their estimated
    spread. With one round, strengths are the posterior shares x / e of net wins among comparisons.

    For ratings, the model is linear: net wins among the items of a person, divided by their number minus 1, are
    differences of strengths.

    Parameters
    ----------
    n_rounds : int or None, default=None
        Number of rounds, at most 100. Later ones need Gaussian noise. None is 12, or 1 with ``norm="l1"``.
    norm : {"l1", "l2"}, default="l2"
        Norm by which the contribution of a person is clipped: "l1" for Laplace and "l2" for Gaussian noise.

    Examples
    --------
    >>> from sklearn_dprank.rules import NewtonBradleyTerryRule
    >>> [(str(ask.query), ask.times) for ask in NewtonBradleyTerryRule().asks(30)]
    [('NetWinsAndExposures', 1), ('BradleyTerryResiduals', 11)]
    """

    n_rounds: int | None = None
    norm: Norm = "l2"

    parameter_checks = {"n_rounds": partial(check_whole, most=100, optional=True), "norm": one_of("l1", "l2")}

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        n_rounds = self._n_rounds
        if n_rounds == 1:  # exposures then need less precision than net wins
            return [Ask(NetWinsAndExposures(4, self.norm))]
        if self.norm == "l1":
            raise ValueError(
                f"n_rounds={n_rounds} needs Gaussian noise; set delta=1e-6, say, or n_rounds=1, which takes delta=0."
            )
        later = Ask(BradleyTerryResiduals(), n_rounds - 1, 1 - _FIRST)
        return [Ask(NetWinsAndExposures(), share=_FIRST), later]

    @property
    def _n_rounds(self):
        default = _N_ROUNDS if self.norm == "l2" else 1
        return default if self.n_rounds is None else int(self.n_rounds)

    def aggregate(self, answers: Any) -> Consensus:
        first: Any = self.asks(answers.n_items)[0].query
        x, e = answers.answer(first)
        noise_of_e = max(answers.deviation(first) / ONE, _EXACT)
        noise = noise_of_e / first.ratio
        start = blend(x, e, noise, noise_of_e)
        published = {"exposures": e}
        if self._n_rounds == 1:
            law = first.law(answers.bound, e, noise_of_e, start.shares, np.sqrt(start.errors))
            published |= {"strengths": start.shares, "net_wins": x, "noise": law}
            return Consensus(descending(start.shares, answers), published)
        strengths, deviations = self._solved(answers, x - x.mean(), noise, start)
        published |= {"strengths": strengths, "noise": BradleyTerryResiduals.law(deviations)}
        return Consensus(descending(strengths, answers), published)

    def _solved(self, answers, x, noise, start):
        """Return the strengths after all rounds, and their standard deviations."""
        steep = 2 if answers.paired else 1  # a share grows by 1 / steep per unit of strength
        is_weighted = answers.bound is not None and answers.bound.form == "ballots"
        misfit = _MISFIT * (answers.bound.max_weight if is_weighted else 1)  # one ballot may count so many times
        e, h = start.exposures, start.exposures / steep
        spread = steep**2 * start.spread
        target, error = x / h, (noise / h) ** 2 + spread * start.variances / e**2
        strengths = spread * target / (spread + error + misfit / h)
        asked, residuals, deviations, default = [np.zeros(len(x))], [x], [noise], np.ones(1)
        steps = [noise / h]  # deviations of the noise in steps of the strengths
        for number in range(2, self._n_rounds + 1):
            query = BradleyTerryResiduals(tuple(strengths.tolist()))
            residual = answers.answer(query)
            noise = max(answers.deviation(query) / ONE, _EXACT)
            h = curvature(strengths, e) if answers.paired else e
            asked.append(strengths)
            residuals.append(residual - residual.mean())
            deviations.append(noise)
            steps.append(noise / h)
            # The newest round counts more where its noise, with the whole budget, is below the signal.
            clear = spread / (spread + (float(1 - _FIRST) / (self._n_rounds - 1)) * steps[-1] ** 2)
            newest = min(1.0, (1 + clear.mean() / 2) / number)
            default = np.append((1 - newest) * default, newest)
            weights = mixed_weights(np.array(residuals), np.array(deviations), h, default)
            farthest = _FARTHEST_STEP * (np.sqrt(spread) + np.array(steps))
            target = (weights[:, np.newaxis] * (asked + np.clip(residuals / h, -farthest, farthest))).sum(axis=0)
            target -= target.mean()
            error = (weights[:, np.newaxis] * steps) ** 2
            error = error.sum(axis=0) + misfit / h
            spread = likeliest_spread(target, 1.0, error, _STRENGTHS)
            move = spread * target / (spread + error) - strengths
            strengths = strengths + move.clip(-_FARTHEST_MOVE, _FARTHEST_MOVE)
            strengths -= strengths.mean()
        return strengths, np.sqrt(spread * error / (spread + error))
