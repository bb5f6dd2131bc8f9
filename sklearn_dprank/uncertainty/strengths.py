"""Confidence statements about strengths of items, from noisy comparisons and ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .laws import Of, Uncertainty

_WIDER = 1.3  # factor of deviations in intervals, chosen on generated votes and confirmed on real ones
_FLATTER = 1.5  # factor of deviations in probabilities
_ALIKE = 1.05  # largest ratio of deviations that are replaced by the largest of them
_LEAST = 1e-3  # smaller deviations, relative to the largest one, are alike


@dataclass(frozen=True, eq=False)
class StrengthNoise(Uncertainty):
    """Approximate distribution of published strengths around those of a population: independent and normal.

    Attributes
    ----------
    deviations : ndarray of float, shape (n_items,)
        Posterior standard deviation of each strength.
    on : str
        Name of the published numbers, without the underscore.
    orders : bool
        Whether they determine an order of the items.
    describes : tuple of {"voters", "population"}
        Whose ranks the intervals contain: here those of a population.
    assumes : str
        What must hold for the approximation. The release does not show it: if two groups of
        items never meet, its distribution is the same for all differences of their strengths.
    """

    deviations: NDArray[np.float64]
    on: ClassVar[str] = "strengths"
    orders: ClassVar[bool] = True
    describes: ClassVar[tuple[Of, ...]] = ("population",)
    assumes: ClassVar[str] = "each item meets items of many strengths, and no group of items meets only its own members"

    def rank_intervals(self, published: NDArray[Any], level: float) -> NDArray[np.int64]:
        """Return the best and worst ranks, approximately all jointly with probability `level`: shape (n_items, 2).

        Let z be the normal quantile at 1 - (1 - level) / (m (m - 1)). A pair is sure if its difference exceeds 1.3 z
        standard deviations. Among deviations that differ by less than 5 %, each counts as the largest.
        """
        from scipy.special import ndtri

        m, widest = len(published), self.deviations.max()
        factor = -_WIDER * ndtri((1 - level) / max(m * (m - 1), 2))
        smallest = widest * _LEAST + np.finfo(float).tiny
        groups = np.floor(np.log(np.maximum(self.deviations, smallest)) / np.log(_ALIKE))
        order = np.lexsort((published, groups))
        values, starts = published[order], np.flatnonzero(np.diff(groups[order], prepend=np.nan))
        largest = np.maximum.reduceat(self.deviations[order], starts)
        own = np.repeat(largest, np.diff(starts, append=m))
        above, below = np.zeros((2, m), dtype=np.int64)
        for part, deviation in zip(np.split(np.arange(m), starts[1:]), largest, strict=True):
            lower = np.searchsorted(values[part], values - factor * np.hypot(own, deviation))  # the weakest of a group
            below += lower
            above[part] = m - np.cumsum(np.bincount(lower, minlength=len(part)))[: len(part)]
        ranks = np.empty((m, 2), dtype=np.int64)
        ranks[order] = np.column_stack([above, m - 1 - below])
        return ranks

    def chance_before(self, published: NDArray[Any]) -> NDArray[np.float64]:
        """Return the approximate probability that each item is above each other, with 1.5 times the deviations."""
        from scipy.special import ndtr

        gaps = np.hypot(self.deviations[:, np.newaxis], self.deviations)
        return ndtr((published[:, np.newaxis] - published) / (_FLATTER * gaps))


@dataclass(frozen=True, eq=False)
class ShareNoise(Uncertainty):
    """Distribution of the noise in net wins and exposures, and the shares net wins / exposures that it allows.

    Attributes
    ----------
    exposures : ndarray of float, shape (n_items,)
        Noisy exposures.
    std, std_of_exposures : float
        Scales of the noise of net wins and of exposures: standard deviations, or means of the absolute Laplace noise.
    norm : {"l1", "l2"}
        "l1" for Laplace noise, "l2" for Gaussian noise.
    shares, deviations : ndarray of float, shape (n_items,)
        Posterior means of the shares, and their standard deviations.
    most : float, default=1.0
        Upper bound on the variance of a person's part of x - t e, relative to the mean part of e, where t is the share
        of a population.
    on : str
        Name of the published numbers, without the underscore.
    orders : bool
        Whether they determine an order of the items.
    describes : tuple of {"voters", "population"}
        Whose shares the intervals may contain, with the default first.
    assumes : str
        Empty: the intervals hold for any choice of opponents.
    """

    exposures: NDArray[np.float64]
    std: float
    std_of_exposures: float
    norm: Literal["l1", "l2"]
    shares: NDArray[np.float64]
    deviations: NDArray[np.float64]
    most: float = 1.0
    on: ClassVar[str] = "net_wins"
    orders: ClassVar[bool] = True
    describes: ClassVar[tuple[Of, ...]] = ("voters", "population")
    assumes: ClassVar[str] = ""

    def intervals(self, net_wins: NDArray[Any], level: float, of: Of = "voters") -> NDArray[np.float64]:
        """Return intervals of the true shares that hold jointly with probability `level`, shape (n_items, 2).

        In units of the noise, a point (x, e) has noise of norm above r with probability 1 - level^(1/m). The share of
        an item lies between the smallest and the largest slope x / e of the ball of this radius around the noisy point.
        If the ball holds 0 or e <= 0, the interval is [-1, 1].

        For a population, let t be its share. In a sample of persons, x - t e has mean 0 and a variance of at most
        `most` times e, and is treated as normal. Here e is the largest exposure of the ball. With Gaussian noise, this
        variance is added to that of x. With Laplace noise, half of the risk is for the noise and half for the sample,
        and the ball is moved by the quantile of the sample, in both directions.

        Examples
        --------
        >>> law = ShareNoise(np.array([40.0, 40.0]), 4.0, 8.0, "l2", np.zeros(2), np.ones(2))
        >>> law.intervals(np.array([30.0, 0.0]), 0.95).round(5).tolist()
        [[0.40206, 1.0], [-0.32273, 0.32273]]
        """
        from scipy.special import gammainccinv, ndtri

        normal, whole, std = self.norm == "l2", of == "population", self.std
        risk = -np.expm1(np.log(level) / len(net_wins))  # 1 - level^(1/m), also for levels near 1
        risk = risk if normal or not whole else risk / 2
        # Half of the squared L2 norm has a Gamma distribution of shape 1, the L1 norm one of shape 2.
        radius = np.sqrt(2 * gammainccinv(1, risk)) if normal else gammainccinv(2, risk)
        largest = np.maximum(self.exposures + radius * self.std_of_exposures, 0)
        sampled = np.sqrt(self.most * largest * whole)
        std, moved = (np.hypot(std, sampled), 0) if normal else (std, -ndtri(risk / 2) * sampled / std)
        x, e = net_wins / std, self.exposures / self.std_of_exposures
        if normal:
            angle, distance = np.arctan2(x, e), np.hypot(x, e)
            half = np.arcsin(np.minimum(radius / np.maximum(distance, radius), 1))
            low, high = angle - half, angle + half
        else:  # the ball has four corners, and those above and below e move
            distance = np.maximum(np.abs(x) - moved, 0) + np.abs(e)
            tips = [np.arctan2(x + sign * (radius + moved), e) for sign in (-1, 1)]
            tips += [np.arctan2(x + sign * moved, e + de) for sign in (-1, 1) for de in (-radius, radius)]
            low, high = np.min(tips, axis=0), np.max(tips, axis=0)
        known = (distance > radius) & (e > 0)
        steepest = np.arctan2(1 / std, 1 / self.std_of_exposures)  # angle of a share of 1
        low, high = (np.tan(each.clip(-steepest, steepest)) for each in (low, high))
        ends = np.column_stack([low, high]) * np.reshape(std / self.std_of_exposures, (-1, 1))
        return np.where(known[:, np.newaxis], ends, [-1.0, 1.0])

    def rank_intervals(self, published: NDArray[Any], level: float, of: Of = "voters") -> NDArray[np.int64]:
        """Return the best and worst ranks by true share, all jointly with probability `level`: shape (n_items, 2)."""
        low, high = self.intervals(published, level, of).T
        m = len(low)
        n_above = m - np.searchsorted(np.sort(low), high, side="right")
        return np.column_stack([n_above, m - 1 - np.searchsorted(np.sort(high), low)])

    def chance_before(self, published: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that each item has a larger share than each other; shares are normal."""
        from scipy.special import ndtr

        gaps = np.hypot(self.deviations[:, np.newaxis], self.deviations)
        return ndtr((self.shares[:, np.newaxis] - self.shares) / gaps)
