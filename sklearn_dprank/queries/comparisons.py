"""Queries about comparisons and ratings, which limit what each person contributes by its norm."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, check_choice, check_number, check_whole, safe_repr
from .._utils.types import Neighboring, Norm
from ..uncertainty import ShareNoise, StrengthNoise
from .base import Query, Sensitivity

#: Grid steps per comparison.
ONE = 720720
_POWERS = {"l1": 1, "l2": 2}
_LARGEST = 1000.0  # strength
_NEAR = 1e-6  # above the rounding error of a factor, which is at most ONE
_EXACT = 2.0**53  # below it, doubles hold sums of integers exactly


def clipped(
    values: Any, persons: NDArray[np.intp], limit: Fraction, norm: Norm = "l2", weights: tuple[int, ...] = (1, 1)
) -> list[NDArray[np.int64]]:
    """Return the values, scaled down towards 0 so that no person's norm exceeds a limit.

    With D = 720720, all values of a person of L2 norm n are multiplied by u = isqrt(floor(limit D^4 / n^2)), and of L1
    norm n by u = floor(limit D^2 / n), but at most by D, and then divided by D.

    Parameters
    ----------
    values : sequence of ndarray of int64, shape (n_cells,)
        Numbers of each person and item, in grid steps of 1 / D.
    persons : ndarray of int, shape (n_cells,)
        Person of each cell.
    limit : Fraction
        Largest L1 norm or squared L2 norm of a person.
    norm : {"l1", "l2"}
        Norm to limit.
    weights : tuple of int
        Factors of each of the `values` in the norm.

    Examples
    --------
    >>> wins, exposures = 720720 * np.array([3, -1, -1, -1]), 720720 * np.array([3, 1, 1, 1])
    >>> clipped([wins, exposures], np.zeros(4, int), Fraction(34), weights=(4, 1))[1].tolist()
    [882696, 294232, 294232, 294232]
    """
    power = _POWERS[norm]
    terms: Any = ((weight * np.abs(value.astype(float))) ** power for weight, value in zip(weights, values))  # noqa: B905
    sizes = np.bincount(persons, sum(terms))
    sizes = np.where(sizes < _EXACT, sizes, sizes * (1 + 2.0**-20))  # above all rounding errors of inexact sums
    top = int(limit * ONE ** (2 * power))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = (top / sizes) ** (1 / power)
        near = (np.abs(factor - np.rint(factor)) < _NEAR) & (factor < ONE + 1)  # its floor may be wrong
    factor = np.floor(np.minimum(factor, ONE)).astype(np.int64)
    found, places = np.unique(sizes[near], return_inverse=True)
    exact = [top // int(size) for size in found]
    factor[near] = np.array([min(ONE, isqrt(each) if power == 2 else each) for each in exact], dtype=np.int64)[places]
    each = factor[persons]
    return [np.sign(value) * (np.abs(value) * each // ONE) for value in values]


@dataclass(frozen=True)
class PairOutcomes(Query):
    """Pairs i, j that voters compared, and how often i won; a tie counts one half. Only for exact answers."""

    in_words = "the outcomes of each pair"
    needs = "outcomes"

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return np.concatenate(profile.pair_outcomes)

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        i, j, wins = vector.reshape(3, -1)
        return i.astype(np.intp), j.astype(np.intp), wins


class _PersonSums(Query):
    """Base class of sums over persons, each of whom counts as much as c comparisons of different items at most.

    In a profile of comparisons, c is the public bound of the profile. Otherwise, each ballot counts as much as one
    comparison, times its weight.
    """

    needs = "cells"
    takes_weights = True
    needs_noise_scale = True
    limits_persons = True
    norm: Norm = "l2"

    def limit(self, c: Fraction) -> Fraction:
        """Return the largest norm of the part of a person, squared if it is L2, in comparisons."""
        raise NotImplementedError

    def summed(self, profile: Any, values: Any, weights: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the sums by item of limited values of cells, one after another, each times its weight in the norm."""
        cells, c = profile.cells, _most(profile.bound) if profile.paired else Fraction(1)
        sums = np.zeros((len(weights), profile.n_items), dtype=np.int64)
        parts = clipped(values, cells.persons, self.limit(c), self.norm, weights)
        for total, part, weight in zip(sums, parts, weights, strict=True):
            if cells.weights is not None:
                votes, rest = np.divmod(cells.weights[cells.persons], ONE)  # products with whole weights exceed 64 bits
                part = np.sign(part) * (np.abs(part) * votes + np.abs(part) * rest // ONE)
            np.add.at(total, cells.items, weight * part)
        return sums.ravel()

    def largest(self, bound: Any) -> Fraction:
        """Return the largest norm of the part of a person in grid steps, squared if it is L2."""
        c, power = _most(bound), _POWERS[self.norm]
        paired = bound is not None and bound.form == "comparisons"
        return (self.limit(c) if paired else self.limit(Fraction(1)) * c**power) * ONE**power


def _most(bound):
    """Return the public bound on the weight of a person."""
    return Fraction(1 if bound is None else Fraction(bound.most, ONE))


@dataclass(frozen=True)
class NetWinsAndExposures(_PersonSums):
    """Net wins X of all items, and their exposures E: the numbers of comparisons with each item.

    The vector is (r X, E), so that with equal noise on all numbers, exposures have r times the noise of net wins.
    The part of a person is scaled down by one factor to the norm of c comparisons of different items. That is
    2 c (r + 1) in L1, or C^2 = 2 c (r^2 + 1) in squared L2.

    An added person changes the vector by at most that. A replaced one changes it by at most twice the L1 norm, or by
    4 C^2 r^2 / (r^2 + 1) in squared L2. To see this, let x and e be what the old person counts, x' and e' what the new
    one counts, and t the sum of |x x'| over the items. The squared change is at most
    2 C^2 + 2 r^2 t - 2 sum(e e') <= 2 C^2 + 2 (r^2 - 1) t, because |x| <= e. And t <= C^2 / (r^2 + 1).

    Parameters
    ----------
    ratio : int, default=1
        Noise of the exposures, relative to that of the net wins; at most 4, so that sums stay within 64 bits.
    norm : {"l1", "l2"}, default="l2"
        Norm that is limited: "l1" for Laplace noise, "l2" for Gaussian noise.
    """

    ratio: int = 1
    norm: Norm = "l2"
    in_words = "the net wins and number of comparisons of each item"

    def __post_init__(self):
        check_whole(self.ratio, "ratio", most=4)
        check_choice(self.norm, "norm", tuple(_POWERS))

    def limit(self, c: Fraction) -> Fraction:
        return 2 * c * (self.ratio ** _POWERS[self.norm] + 1)

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return self.summed(profile, (profile.cells.net_wins, profile.cells.exposures), (int(self.ratio), 1))

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        wins, exposures = np.split(vector, 2)
        return wins / (self.ratio * ONE), exposures / ONE

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        return self.person_sensitivity(n_items, neighboring, None)

    def person_sensitivity(self, n_items: int, neighboring: Neighboring, bound: Any) -> Sensitivity:
        replaced, largest = changed_ballots(neighboring) == 2, self.largest(bound)
        if self.norm == "l1":
            l1 = ceil(largest) * (2 if replaced else 1)
            return Sensitivity(l1, Fraction(l1**2))
        square = self.ratio**2
        l2_squared = largest * Fraction(4 * square, square + 1) if replaced else largest
        return Sensitivity(isqrt(int(2 * n_items * l2_squared)) + 1, l2_squared)  # L1 by Cauchy and Schwarz

    def law(self, bound: Any, exposures: Any, deviation: float, shares: Any, deviations: Any) -> ShareNoise:
        """Return the distribution of an answer with noisy `exposures`, whose noise has this standard deviation."""
        scale = deviation / (sqrt(2) if self.norm == "l1" else 1)  # of Laplace noise, the mean absolute noise
        most = self.most_varied(bound)
        return ShareNoise(exposures, scale / self.ratio, scale, self.norm, shares, deviations, most)

    def most_varied(self, bound: Any) -> float:
        """Return an upper bound M on the variance of a person's part of x - t e, relative to the mean part of e.

        Here x and e are what a random person counts for one item, and t is the share E x / E e of the population. The
        ratio is 4. With ballots, e is at most c, so (x - t e)^2 <= c (x - t e)^2 / e = c (x^2 / e - 2 t x + t^2 e). As
        x^2 <= e^2, the mean of this is at most c (1 - t^2) E e, and M = c.

        With comparisons, e may be larger. As E (x - t e) = 0, it is enough that for each t there is a number b with
        (x - t e)^2 - b (x - t e) <= M e, whatever a person counts. In L2, 16 x^2 + e^2 <= 34 c, and M = sqrt(2 c) is
        the smallest such number. In L1, the opponents double each term, so 4 |x| + e <= 5 c, and M = c. In both, t = 0
        needs M: the persons then count x = e = M or x = -e = -M. That no t needs more is verified on a grid.
        """
        c = float(_most(bound))
        paired = bound is not None and bound.form == "comparisons"
        return sqrt(2 * c) if paired and self.norm == "l2" else c


@dataclass(frozen=True)
class BradleyTerryResiduals(_PersonSums):
    """Sums of residuals of a Bradley-Terry model at public strengths: twice the gradient of its log likelihood.

    In a comparison of i and j, let y be 1 if i wins, -1 if j wins and 0 for a tie. The residual of i is
    y - tanh((s_i - s_j) / 2), with the second term rounded to 1 / 720720. In the ratings of a person, it is
    x_i - (s_i - mean of s) k / (k - 1). Here x_i are the net wins divided by k - 1, and the mean is over the k items of
    the person. The residuals of a person are scaled down to an L2 norm of sqrt(2 c). So an added person changes the
    sums by at most sqrt(2 c), and a replaced one by at most twice as much, whatever the strengths are.

    Parameters
    ----------
    strengths : tuple of float or None, default=None
        One for each item, between -1000 and 1000; None is 0 for each.
    """

    strengths: tuple[float, ...] | None = None
    in_words = "the wins of each item beyond those that the Bradley-Terry model expects"
    kind_by = ()

    def __post_init__(self):
        strengths = () if self.strengths is None else self.strengths
        if not isinstance(strengths, tuple):
            raise ValueError(f"strengths must be None or a tuple of numbers, one an item, got {safe_repr(strengths)}.")
        for strength in strengths:
            check_number(strength, "each of strengths", least=-_LARGEST, most=_LARGEST)

    def check(self, n_items: int) -> None:
        if self.strengths is not None and len(self.strengths) != n_items:
            raise ValueError(f"strengths must have one number for each of the {n_items} items.")

    def limit(self, c: Fraction) -> Fraction:
        return 2 * c

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        strengths = np.zeros(profile.n_items) if self.strengths is None else np.array(self.strengths, dtype=float)
        return self.summed(profile, [profile.cells.net_wins - profile.cells.expected(strengths)], (1,))

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return vector / ONE

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        return self.person_sensitivity(n_items, neighboring, None)

    def person_sensitivity(self, n_items: int, neighboring: Neighboring, bound: Any) -> Sensitivity:
        l2_squared = self.largest(bound) * changed_ballots(neighboring) ** 2
        return Sensitivity(isqrt(int(n_items * l2_squared)) + 1, l2_squared)

    @staticmethod
    def law(deviations: NDArray[np.float64]) -> StrengthNoise:
        """Return the approximate distribution of strengths that follow from answers."""
        return StrengthNoise(deviations)
