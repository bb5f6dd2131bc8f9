"""Gaussian noise on running totals: a little of every period's noise stays in the totals of all later ones.

Totals are the matrix of prefix sums times what the periods add. Its square root is a matrix of the same shape, whose
diagonals hold c_0 = 1, c_k = c_{k-1} (2k - 1) / (2k). Each period draws one vector of *mixtures*: what all periods so
far add, in the weights of the square root, with fresh noise. Totals are computed from the mixtures alone.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..privacy.composition import Losses
from ..queries import Query, Sensitivity
from ..sampling.bit_source import BitSource
from ..uncertainty import NormalLaw
from .additive import Gaussian, GaussianNoise

_UNIT = 2**16  # weights are whole numbers of 1 / _UNIT: mixtures of integers are integers, and their noise is exact


@lru_cache(maxsize=16)
def root_weights(horizon: int) -> NDArray[np.int64]:
    """Return the diagonals of the square root of the prefix sums, rounded to multiples of 2**-16, in that unit.

    Parameters
    ----------
    horizon : int
        How many.

    Returns
    -------
    ndarray of int64, shape (horizon,)
        What is rounded off costs no privacy, since these are the weights that noise is calibrated to, and no accuracy,
        since it is their square, whatever that is, that is undone.

    Examples
    --------
    >>> root_weights(4) / 2**16
    array([1.    , 0.5   , 0.375 , 0.3125])
    """
    k = np.arange(1, horizon)
    weights = np.rint(_UNIT * np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))).astype(np.int64)
    weights.setflags(write=False)
    return weights


@dataclass(frozen=True)
class CorrelatedNoise:
    """Noise for the running totals of an integer vector after each of so many periods.

    Parameters
    ----------
    noise : GaussianNoise
        Of each mixture.
    sensitivity : Sensitivity
        Of all mixtures of a stream together.
    horizon : int
        Number of periods.

    References
    ----------
    Fichtenberger, Henzinger and Upadhyay (2023), "Constant matters: fine-grained error bound on differentially private
    continual observation", for the weights; Denisov, McMahan, Rush, Smith and Thakurta (2022), "Improved differential
    privacy for SGD via optimal private linear operators on adaptive streams", for ballots that are cast in view of what
    was published before.
    """

    noise: GaussianNoise
    sensitivity: Sensitivity
    horizon: int
    arithmetic = "exact"

    @classmethod
    def calibrated(
        cls,
        query: Query,
        sensitivity: Sensitivity,
        n_items: int,
        epsilon: Fraction,
        delta: float,
        horizon: int,
        whole: Fraction,
    ) -> Self:
        """Return the noise that makes all periods (epsilon, delta)-differentially private together.

        Parameters
        ----------
        query : Query
            What is added up.
        sensitivity : Sensitivity
            Of one period's vector: one ballot is in one period.
        n_items : int
            Number of items.
        epsilon : Fraction
            Budget of the stream.
        delta : float
            Likewise.
        horizon : int
            Number of periods.
        whole : Fraction
            How many such streams would use up the budget.
        """
        # A ballot of the first period is in all mixtures; of a later one in fewer.
        squares = sum(weight**2 for weight in root_weights(horizon).tolist())
        sums = sum(root_weights(horizon).tolist())
        all_mixtures = Sensitivity(sensitivity.l1 * sums, sensitivity.l2_squared * squares)
        return cls(Gaussian().calibrated(query, all_mixtures, n_items, epsilon, delta, whole), all_mixtures, horizon)

    @property
    def how(self) -> str:
        """In a few words, for the guarantee."""
        return f"{self.noise.how}, correlated over {self.horizon} periods,"

    def losses(self) -> Losses:
        """Return the squared mu of the stream."""
        return self.noise.losses(self.sensitivity, 1)

    def law(self, period: int) -> NormalLaw:
        """Return the law of the noise on the rounded total of so many periods.

        Its weights are those of the square root of the prefix sums again, but for the digits that were rounded off.
        """
        weights = root_weights(self.horizon)[:period] / _UNIT
        return NormalLaw(self.noise.sigma / _UNIT * float(np.sqrt(np.square(weights).sum())))

    def added(self, sums: NDArray[Any], published: NDArray[Any], bits: BitSource) -> NDArray[np.float64]:
        """Return what the last period adds, privately: the published total minus the one before.

        Parameters
        ----------
        sums : ndarray of int, shape (n_periods, k)
            The exact vectors of all periods so far.
        published : ndarray of float, shape (n_periods - 1, k)
            What this method returned for the earlier ones.
        bits : BitSource
            Where fresh noise comes from.

        Returns
        -------
        ndarray of float, shape (k,)
            The mixture, the only draw, solved for the last period; that, in doubles, is post-processing.
        """
        weights = root_weights(self.horizon)[: len(sums)][::-1]
        mixture = self.noise.added(_mixed(weights, sums), bits)
        return (mixture.astype(float) - weights[:-1] @ published) / _UNIT


def _mixed(weights, sums):
    """Return ``weights @ sums`` exactly: in 64 bits where they hold it, which changes no value."""
    if _UNIT * np.abs(sums.astype(float)).sum(axis=0).max() < 2.0**62:
        return weights @ sums.astype(np.int64)
    return weights.astype(object) @ sums.astype(object)
