"""Laws of published noise, their simultaneous quantiles and p-values."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc, ive, ndtr

from .posterior import LOG_PRIOR, SPREADS, chance_above, chance_before, likely

_LEAST = 1e-20  # less noise than this is none
_NEARLY_NORMAL = 10**7  # rates of Skellam noise above which no sum of probabilities is needed


class _Additive:
    """Base of the laws of independent noise on every number, symmetric around 0."""

    std: float
    grid: float
    #: Power of the likelihood of the spreads of margins: a normal likelihood takes heavy tails for signal.
    power = 1.0

    def tail(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(noise >= x)."""
        raise NotImplementedError

    def range_quantile(self, n_items: int, level: float) -> float:
        """Return what the largest difference of the noise on `n_items` numbers exceeds at most once in 1 / (1 - level).

        Parameters
        ----------
        n_items : int
            How many numbers.
        level : float
            Between 0 and 1.
        """
        return range_quantile(self, n_items, level)

    def p_values(self, margins: NDArray[Any]) -> NDArray[np.float64]:
        """Return upper bounds on the p-values of H0: margin <= 0.

        Parameters
        ----------
        margins : ndarray of shape (n_items, n_items)
            As published.
        """
        return self.tail(margins)

    def chance_above(self, margins: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that the item of each row is above that of each column.

        Parameters
        ----------
        margins : ndarray of shape (n_items, n_items)
            As published.

        Returns
        -------
        ndarray of float, shape (n_items, n_items)
            A half on the diagonal.
        """
        return chance_above(margins, np.full(margins.shape, 1 / max(self.std, _LEAST) ** 2), self.power)


@dataclass(frozen=True)
class LaplaceLaw(_Additive):
    """Independent discrete Laplace noise on every number: P(z) proportional to exp(-rate |z|), z an integer.

    Attributes
    ----------
    rate : Fraction
        Of the exponential.
    std : float
        Standard deviation of the noise.

    Examples
    --------
    >>> round(LaplaceLaw(Fraction(1, 10)).std, 2)
    14.14
    """

    rate: Fraction
    grid = 1.0
    power = 0.5  # with .6, false claims of five items exceed 1 % of the pairs

    @property
    def std(self) -> float:  # type: ignore[override]
        """Standard deviation."""
        return 1 / (math.sqrt(2) * math.sinh(min(float(self.rate), 1e3) / 2))

    def tail(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(noise >= x)."""
        k, rate = np.ceil(np.asarray(x, dtype=float)), float(self.rate)
        far = np.exp(-rate * np.maximum(k, 1 - k)) / (1 + math.exp(-rate))
        return np.where(k > 0, far, 1 - far)

    def chance_before(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that each true score exceeds each other, averaged over their spread."""
        return chance_before(scores, 1 / float(self.rate))


@dataclass(frozen=True)
class NormalLaw(_Additive):
    """Independent normal noise on every number, rounded to a grid, or of a law that is close to it.

    Attributes
    ----------
    std : float
        Standard deviation of the noise, before it was rounded.
    grid : float
        The results are multiples of it; 0 where they are not rounded.
    most : float or None
        The largest standard deviation that a difference of two numbers, over sqrt(2), can have, where that depends on
        ballots; None is `std`. Intervals take this one.

    Examples
    --------
    >>> round(NormalLaw(10.0, grid=0.0).range_quantile(2, 0.95) / (10 * 2**0.5), 2)
    1.96
    """

    std: float
    grid: float = 1.0
    most: float | None = None

    def range_quantile(self, n_items: int, level: float) -> float:
        return range_quantile(self if self.most is None else NormalLaw(self.most, self.grid), n_items, level)

    def tail(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(noise >= x)."""
        least = np.asarray(x, dtype=float)
        if self.grid:
            least = (np.ceil(least / self.grid) - 0.5) * self.grid
        return ndtr(-least / self.std)

    def chance_before(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that each true score exceeds each other, averaged over their spread."""
        y = np.asarray(scores, dtype=float) / max(self.std, _LEAST)
        evidence = -(len(y) * np.log1p(SPREADS**2) + np.square(y).sum() / (1 + SPREADS**2)) / 2
        d = (y[:, None] - y) / math.sqrt(2)
        shrink = SPREADS / np.sqrt(1 + SPREADS**2)
        return sum(chance * ndtr(d * shrink[k]) for (k,), chance in likely(LOG_PRIOR + evidence))


@dataclass(frozen=True)
class SkellamLaw(_Additive):
    """Independent Skellam noise on every number: the difference of two Poisson numbers.

    Where voters add it, each a part, it is that of all whose reports are in the sum, if all of them follow the
    protocol. Of fewer it has less: intervals are then wider than need be.

    Attributes
    ----------
    rate : Fraction
        Mean of each of the two Poisson numbers.
    std : float
        Standard deviation of the noise.

    Examples
    --------
    >>> SkellamLaw(Fraction(200)).std
    20.0
    """

    rate: Fraction
    grid = 1.0

    @property
    def std(self) -> float:  # type: ignore[override]
        """Standard deviation."""
        return math.sqrt(2 * self.rate)

    def tail(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(noise >= x)."""
        if self.rate > _NEARLY_NORMAL:  # off by 1e-5 of itself at 8 standard deviations: a bit wider covers that
            return NormalLaw(self.std * (1 + 1e-6)).tail(x)
        from_zero = _skellam_tails(self.rate)
        k = np.clip(np.ceil(np.asarray(x, dtype=float)), 1 - len(from_zero), len(from_zero) - 1).astype(np.int64)
        return np.where(k > 0, from_zero[np.abs(k)], 1 - from_zero[np.minimum(np.abs(1 - k), len(from_zero) - 1)])

    def chance_before(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that each true score exceeds each other, as for normal noise."""
        return NormalLaw(self.std).chance_before(scores)


@lru_cache(maxsize=16)
def _skellam_tails(rate):
    """Return P(noise >= k) for k = 0, 1, ... up to where nothing is left: sums of scaled Bessel functions."""
    far = math.ceil(40 * math.sqrt(2 * rate)) + 60
    return np.append(np.cumsum(ive(np.arange(far), 2 * float(rate))[::-1])[::-1], 0.0)


@dataclass(frozen=True)
class AnswersLaw:
    """Estimated margins of voters of whom a random part answered, each answer randomised.

    Of the `asked` answers about a pair each is +1 or -1, with mean `gain` times what the voter thinks, and voters are
    a random sample, or all there are. Published is the mean answer over the gain.

    Attributes
    ----------
    gain : float
        Of an answer flipped with probability f, 1 - 2 f.
    asked : int, or ndarray of int, shape (n_items, n_items)
        Answers about each pair; who answered about what was drawn before anyone looked at a ballot.
    std : float or ndarray
        The largest standard deviation that each margin can have, infinite where nobody was asked.

    Notes
    -----
    Whoever is sampled, and whatever they think, the number of answers +1 is a sum of independent, not identical,
    Bernoulli variables: its generating function is an elementary symmetric polynomial, which is stable, of linear
    factors, and so has real zeros only. By Hoeffding's theorem, it is at least k with no more than the binomial
    probability if k is at least its mean plus 1.

    References
    ----------
    Hoeffding (1956), "On the distribution of the number of successes in independent trials", Theorem 4; Borcea,
    Branden and Liggett (2009), "Negative dependence and the geometry of polynomials".

    Examples
    --------
    >>> AnswersLaw(gain=0.5, asked=400).std
    np.float64(0.1)
    """

    gain: float
    asked: Any = field(compare=False)

    @property
    def std(self) -> Any:
        """The largest standard deviation of each margin."""
        with np.errstate(divide="ignore"):
            return 1 / (self.gain * np.sqrt(self.asked))

    def p_values(self, margins: NDArray[Any]) -> NDArray[np.float64]:
        """Return upper bounds on the p-values of H0: margin <= 0.

        Parameters
        ----------
        margins : ndarray of shape (n_items, n_items)
            As published.
        """
        plus = np.rint((1 + self.gain * margins) * self.asked / 2)
        enough = 2 * plus >= np.add(self.asked, 2)
        return np.where(enough, bdtrc(np.where(enough, plus - 1, 0), np.maximum(self.asked, 1), 0.5), 1.0)

    def chance_above(self, margins: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that the item of each row is above that of each column.

        Parameters
        ----------
        margins : ndarray of shape (n_items, n_items)
            As published.

        Returns
        -------
        ndarray of float, shape (n_items, n_items)
            A half on the diagonal.
        """
        precision = np.broadcast_to(self.gain**2 * self.asked, margins.shape)
        return chance_above(margins, precision, most=1.0)  # a true margin lies between -1 and 1


_CELLS = 500  # of a standard deviation, where the noise has a finer grid than that
_REACH = 30  # standard deviations, beyond which there is no noise to speak of


@lru_cache(maxsize=64)
def range_quantile(law: Any, n_items: int, level: float) -> float:
    """Return a bound that the range of independent noise keeps with probability `level`, and hardly more.

    Parameters
    ----------
    law : LaplaceLaw or NormalLaw
        With ``tail``, ``std`` and ``grid``.
    n_items : int
        How many draws.
    level : float
        Between 0 and 1.

    Returns
    -------
    float
        Exact for noise on a grid that is coarse; otherwise too large by some four thousandths of a standard deviation.

    Notes
    -----
    With p_a(k) the probability that a value is one of a, a + 1, ..., a + k, P(range <= k) is the sum over a of
    p_a(k)^m - p_(a+1)(k - 1)^m: all of them in a, ..., a + k, but not all above a. Noise on a fine grid is rounded to
    a public one, which changes a range by less than two of its steps.

    Examples
    --------
    >>> from sklearn_dprank.uncertainty import NormalLaw
    >>> round(range_quantile(NormalLaw(1.0, grid=0.0), 10, 0.95), 2)  # of the studentized range: 4.47
    4.48
    """
    cell = max(law.grid, law.std / _CELLS)
    reach = int(_REACH * law.std / cell) + 1
    # How likely a value is below the lower edge of each cell.
    below = 1 - law.tail((np.arange(-reach, reach + 2) - 0.5) * cell)
    low, high = -1, 2 * reach
    while high - low > 1:
        middle = (low + high) // 2
        if _within(below, middle, n_items) >= level:
            high = middle
        else:
            low = middle
    return cell * (high if cell == law.grid else high + 2)


def _within(below: NDArray[np.float64], width: int, n_items: int) -> float:
    """Return the probability that `n_items` values lie within `width` cells of each other."""
    last = np.minimum(np.arange(len(below) - 1) + width + 1, len(below) - 1)
    upper, first, second = below[last], below[:-1], below[1:]
    return float(((upper - first) ** n_items - np.maximum(upper - second, 0) ** n_items).sum())
