"""Distributions of published noise, and the confidence statements that they allow."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Whose true ranks intervals contain: those of the voters given, or of the population from which they are a sample.
Of: TypeAlias = Literal["voters", "population"]

_CELLS = 500  # cells per standard deviation, for noise on a finer grid
_REACH = 30  # standard deviations; the probability beyond them is negligible
_LEAST = 1e-20  # smaller standard deviations are raised to this, to avoid division by 0
_TAIL = 120 * (math.e / 5) ** 5  # 5.7, by Pinelis: a sum of bounded variables has at most so many normal tails
_DRAWS, _IN_TAIL, _MOST_DRAWN = 4000, 20, 100  # simulated ranges, how many exceed a quantile, and of how many items
_NEARLY_NORMAL = 10**7  # rate of Skellam noise above which the normal distribution replaces sums of probabilities


class _Additive:
    """Base class for distributions of independent noise on every number, symmetric around 0."""

    std: float
    grid: float
    most: float | None = None
    #: Power of the likelihood of the spreads of margins. With 1, heavy tails of the noise look like signal.
    power = 1.0
    #: Function of x that returns P(noise >= x).
    tail: Callable[[ArrayLike], NDArray[np.float64]]

    @lru_cache(maxsize=64)  # noqa: B019  # laws are small, and every segment and level of a plot asks again
    def range_quantile(self, n_items: int, level: float) -> float:
        """Return a bound on the range of the noise on `n_items` numbers that holds with probability `level`.

        Parameters
        ----------
        n_items : int
            Number of draws of the noise.
        level : float
            Between 0 and 1.

        Returns
        -------
        float
            Exact for noise on a coarse grid, of at least 1/500 of a standard deviation. Otherwise too large by about
            four thousandths of a standard deviation.

        Notes
        -----
        Let p_a(k) be the probability that a value is one of a, a + 1, ..., a + k. P(range <= k) is the sum over a of
        p_a(k)^m - p_(a+1)(k - 1)^m. This is the probability that all values are in a, ..., a + k, but not all above a.
        Noise on a finer grid is rounded to cells, which changes a range by less than two cells.

        Examples
        --------
        >>> from sklearn_dprank.uncertainty import NormalLaw
        >>> round(NormalLaw(1.0, grid=0.0).range_quantile(10, 0.95), 2)  # of the studentized range: 4.47
        4.48
        """
        law: _Additive = self if self.most is None else NormalLaw(self.most, self.grid)
        cell, reach, below = law._cells()

        def chance_within(k):
            last = np.minimum(np.arange(len(below) - 1) + k + 1, len(below) - 1)
            first_inside, first_above = below[last] - below[:-1], np.maximum(below[last] - below[1:], 0)
            return (first_inside**n_items - first_above**n_items).sum()

        found = bisect_left(range(2 * reach), level, key=chance_within)
        return cell * (found if cell == law.grid else found + 2)

    @lru_cache(maxsize=64)  # noqa: B019
    def sampled_quantile(self, n_items: int, level: float, deviation: float) -> float:
        """Return what no difference of two noisy sums exceeds with probability `level`, if it is at most 0 on average.

        Parameters
        ----------
        n_items : int
            Number of noisy sums.
        level : float
            Between 0 and 1; for all pairs of sums together.
        deviation : float
            Limit on a voter's part of a difference, times the square root of the number of voters.

        Returns
        -------
        float
            A safe value for voters drawn independently from any population, and for any number of them.

        Notes
        -----
        Let S be a sum of independent variables between -b and b whose means are at most 0. Then P(S >= x) is at most
        5.7 times the probability for a normal variable of standard deviation b sqrt(n). This holds for all x, and thus
        also with independent noise added to both. By Boole's inequality, all m (m - 1) ordered pairs share the risk.

        References
        ----------
        Pinelis (2006), "On normal domination of (super)martingales".

        Examples
        --------
        >>> from sklearn_dprank.uncertainty import NormalLaw
        >>> round(NormalLaw(30.0).sampled_quantile(2, 0.95, 40.0))  # 2.62 times sqrt(2 30^2 + 40^2)
        153
        """
        from scipy.signal import fftconvolve
        from scipy.special import ndtr

        cell, reach, below = self._cells()
        chances, deviation = np.diff(below), max(deviation, _LEAST)
        # Rounding of two numbers to cells changes their difference by at most one cell.
        noise = (np.arange(-2 * reach, 2 * reach + 1) + (cell != self.grid)) * cell
        of_noise = np.maximum(fftconvolve(chances, chances[::-1]), 0)
        step, risk = math.hypot(deviation, self.std, cell) / _CELLS, (1 - level) / max(n_items * (n_items - 1), 1)

        def is_safe(k):
            return _TAIL * (of_noise @ ndtr((noise - k * step) / deviation)) <= risk

        return step * bisect_left(range(4 * _REACH * _CELLS), True, key=is_safe)

    def _cells(self):
        """Return the width of cells, how many there are on each side, and P(noise < lower edge) of each cell."""
        cell = max(self.grid, self.std / _CELLS)
        reach = int(_REACH * self.std / cell) + 1
        return cell, reach, 1 - self.tail((np.arange(-reach, reach + 2) - 0.5) * cell)

    def p_values(self, margins: NDArray[Any]) -> NDArray[np.float64]:
        """Return upper bounds on the p-values of H0: margin <= 0.

        Parameters
        ----------
        margins : ndarray of shape (n_items, n_items)
            Published margins.
        """
        return self.tail(margins)

    def chance_above(self, margins: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that the item of each row is above the item of each column.

        Parameters
        ----------
        margins : ndarray of shape (n_items, n_items)
            Published margins.

        Returns
        -------
        ndarray of float, shape (n_items, n_items)
            The diagonal is 0.5.
        """
        from .posterior import chance_above

        return chance_above(margins, np.full(margins.shape, 1 / max(self.std, _LEAST) ** 2), self.power)

    def chance_before(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that each true score exceeds each other one, averaged over their spread.

        The noise counts as normal.
        """
        from scipy.special import ndtr

        from .posterior import LOG_PRIOR, SPREADS, likely

        y = np.asarray(scores, dtype=float) / max(self.std, _LEAST)
        evidence = -(len(y) * np.log1p(SPREADS**2) + np.square(y).sum() / (1 + SPREADS**2)) / 2
        d = (y[:, None] - y) / math.sqrt(2)
        shrink = SPREADS / np.sqrt(1 + SPREADS**2)
        return sum(chance * ndtr(d * shrink[k]) for (k,), chance in likely(LOG_PRIOR + evidence))


@dataclass(frozen=True)
class LaplaceLaw(_Additive):
    """Independent discrete Laplace noise on every number: P(z) proportional to exp(-rate |z|), z an integer.

    Attributes
    ----------
    rate : Fraction
        Rate of the exponential.
    std : float
        Standard deviation of the noise.

    Examples
    --------
    >>> round(LaplaceLaw(Fraction(1, 10)).std, 2)
    14.14
    """

    rate: Fraction
    grid = 1.0
    power = 0.5  # with 0.6 and five items, false claims exceed 1 % of the pairs

    @property
    def std(self) -> float:  # type: ignore[override]
        """Standard deviation of the noise."""
        return 1 / (math.sqrt(2) * math.sinh(min(float(self.rate), 1e3) / 2))

    def tail(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(noise >= x)."""
        k, rate = np.ceil(np.asarray(x, dtype=float)), float(self.rate)
        far = np.exp(-rate * np.maximum(k, 1 - k)) / (1 + math.exp(-rate))
        return np.where(k > 0, far, 1 - far)

    def chance_before(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that each true score exceeds each other one, averaged over their spread."""
        from .posterior import chance_before

        return chance_before(scores, 1 / float(self.rate))


@dataclass(frozen=True)
class NormalLaw(_Additive):
    """Independent normal or nearly normal noise on every number, possibly rounded to a grid.

    Attributes
    ----------
    std : float
        Standard deviation of the noise before rounding.
    grid : float
        Distance of the grid to which results are rounded; 0 without rounding.
    most : float or None
        Upper limit on the standard deviation of a difference of two numbers, divided by sqrt(2). Intervals use it if
        that deviation depends on ballots. None is `std`.

    Examples
    --------
    >>> round(NormalLaw(10.0, grid=0.0).range_quantile(2, 0.95) / (10 * 2**0.5), 2)
    1.96
    """

    std: float
    grid: float = 1.0
    most: float | None = None

    def tail(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(noise >= x)."""
        from scipy.special import ndtr

        least = np.asarray(x, dtype=float)
        if self.grid:
            least = (np.ceil(least / self.grid) - 0.5) * self.grid
        return ndtr(-least / self.std)


@dataclass(frozen=True)
class SkellamLaw(_Additive):
    """Independent Skellam noise on every number: the difference of two Poisson numbers.

    In secure aggregation, each voter adds a part of the noise. The distribution is that of all voters whose reports are
    in the sum, if all follow the protocol. If fewer do, there is less noise, and intervals are wider than necessary.

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
        """Standard deviation of the noise."""
        return math.sqrt(2 * self.rate)

    def tail(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(noise >= x)."""
        if self.rate > _NEARLY_NORMAL:  # relative error 1e-5 at 8 standard deviations; the wider normal covers it
            return NormalLaw(self.std * (1 + 1e-6)).tail(x)
        from_zero = _skellam_tails(self.rate)
        k = np.clip(np.ceil(np.asarray(x, dtype=float)), 1 - len(from_zero), len(from_zero) - 1).astype(np.int64)
        return np.where(k > 0, from_zero[np.abs(k)], 1 - from_zero[np.minimum(np.abs(1 - k), len(from_zero) - 1)])


@lru_cache(maxsize=16)
def _skellam_tails(rate):
    """Return P(noise >= k) for k = 0, 1, ... until it vanishes, as sums of scaled Bessel functions."""
    from scipy.special import ive

    far = math.ceil(40 * math.sqrt(2 * rate)) + 60
    return np.append(np.cumsum(ive(np.arange(far), 2 * float(rate))[::-1])[::-1], 0.0)


class Uncertainty:
    """Base class of what is known of the noise in a release; two are equal if all their numbers are."""

    describes: ClassVar[tuple[Of, ...]]
    assumes: ClassVar[str | None]
    #: Whether intervals of the voters are also valid for the population, and the other way round.
    covers_both: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(cast(Any, self))
        )

    def whose(self, of: Of | None = None) -> str:
        """Return in words whose ranks the intervals contain; None is the first of `describes`."""
        if self.covers_both:
            return "of these voters and of a population"
        if (of or self.describes[0]) == "voters":
            return "of these voters, not of a population"
        return "of a population" if self.assumes is None else "of a population, approximately"


@dataclass(frozen=True, eq=False)
class AnswersLaw(Uncertainty):
    """Distribution of margins estimated from randomised answers of a random part of the voters.

    Each of the `asked` answers about a pair is +1 or -1. Its mean is `gain` times the voter's opinion. The voters asked
    are a random sample, or all voters. The published margin is the mean answer divided by the gain.

    Attributes
    ----------
    gain : float
        1 - 2 f for answers flipped with probability f.
    asked : int, or ndarray of int, shape (n_items, n_items)
        Number of answers about each pair. The assignment of voters to pairs was drawn independently of the ballots.
    std : float or ndarray
        Upper limit on the standard deviation of each margin; inf for pairs without answers.

    Notes
    -----
    For any sample and any opinions, the number of +1 answers is distributed as a sum of independent Bernoulli
    variables. Their probabilities differ. Its generating function is an elementary symmetric polynomial of linear
    factors. Elementary symmetric polynomials are stable, so the function has only real zeros. Let k be at least the
    mean plus 1. By Hoeffding's theorem, the probability of k or more such answers is at most the binomial probability.

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
    asked: Any

    @property
    def std(self) -> Any:
        """Upper limit on the standard deviation of each margin."""
        with np.errstate(divide="ignore"):
            return 1 / (self.gain * np.sqrt(self.asked))

    def p_values(self, margins: NDArray[Any]) -> NDArray[np.float64]:
        """Return upper bounds on the p-values of H0: margin <= 0.

        Parameters
        ----------
        margins : ndarray of shape (n_items, n_items)
            Published margins.
        """
        from scipy.special import bdtrc

        plus = np.rint((1 + self.gain * margins) * self.asked / 2)
        enough = 2 * plus >= np.add(self.asked, 2)
        return np.where(enough, bdtrc(np.where(enough, plus - 1, 0), np.maximum(self.asked, 1), 0.5), 1.0)

    def chance_above(self, margins: NDArray[Any]) -> NDArray[np.float64]:
        """Return the posterior probability that the item of each row is above the item of each column.

        Parameters
        ----------
        margins : ndarray of shape (n_items, n_items)
            Published margins.

        Returns
        -------
        ndarray of float, shape (n_items, n_items)
            The diagonal is 0.5.
        """
        from .posterior import chance_above

        precision = np.broadcast_to(self.gain**2 * self.asked, margins.shape)
        return chance_above(margins, precision, most=1.0)  # a true margin lies between -1 and 1


# Noise of a published answer, and the confidence statements that it allows.


@dataclass(frozen=True, eq=False)
class PublishedNoise(Uncertainty):
    """Distribution of the noise in a published answer.

    It is public: its numbers are fixed in advance or drawn independently of the ballots.

    Attributes
    ----------
    on : str
        Name of the noisy answer: "scores" for ``scores_``, "net_wins", "margins", or "histogram".
    law : LaplaceLaw, NormalLaw, SkellamLaw or AnswersLaw
        Distribution of the noise, with its scale.
    grid : int, default=1
        The law is that of the noise on `grid` times the answer: 720720 for weighted ballots, whose counts are integers
        in units of 1 / 720720.
    n_voters : int or None, default=None
        Number of voters whose net wins are the scores, if it is public and each of them has one ballot of weight 1.
    covariance : ndarray of float, shape (n_items, n_items), or None, default=None
        Noisy estimate of the covariance of the scores through the choice of the voters, if it was released.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> borda = DPBorda(epsilon=0.5, random_state=0).fit([[0, 1, 2]] * 100)
    >>> borda.noise_
    PublishedNoise(on='scores', law=LaplaceLaw(rate=Fraction(1, 8)), grid=1, n_voters=None, covariance=None)
    >>> round(borda.noise_.law.std, 1)
    11.3
    """

    on: str
    law: LaplaceLaw | NormalLaw | SkellamLaw | AnswersLaw
    grid: int = 1
    n_voters: int | None = None
    covariance: NDArray[np.float64] | None = None

    @property
    def describes(self) -> tuple[Of, ...]:  # type: ignore[override]
        """Whose ranks the intervals may contain, with the default first."""
        is_sampled = self.covers_both or self.n_voters is not None or self.covariance is not None
        return ("voters", "population") if is_sampled else ("voters",)

    @property
    def assumes(self) -> str | None:  # type: ignore[override]
        """What intervals of a population assume, as for `StrengthNoise`; None if they are not approximate."""
        return None if self.covariance is None else ""

    @property
    def covers_both(self) -> bool:  # type: ignore[override]
        """Whether the law bounds randomised reports of voters with any opinions, also of voters drawn at random."""
        return isinstance(self.law, AnswersLaw) or getattr(self.law, "most", None) is not None

    @property
    def orders(self) -> bool:
        """Whether the noisy answer determines an order of the items."""
        return self.on in ("scores", "net_wins", "margins")

    def rank_intervals(self, published: NDArray[Any], level: float, of: Of = "voters") -> NDArray[np.int64]:
        """Return the best and worst ranks, all jointly with probability `level`: shape (n_items, 2).

        Parameters
        ----------
        published : ndarray
            The noisy answer.
        level : float
            Between 0 and 1.
        of : {"voters", "population"}, default="voters"
            Whose ranks they contain: one of `describes`.

        Notes
        -----
        Scores: with probability `level`, the noise changes all differences of two numbers by at most the quantile of
        its range. Every larger difference then has the sign of the difference of true scores.

        Margins: Holm's procedure tests the hypotheses "i is not above j", two per pair. Consider the first error. Only
        false hypotheses were rejected before it, so the hypotheses left include all true ones. The first error
        therefore needs a true hypothesis with a p-value of at most (1 - level) over the number of true ones. By Boole's
        inequality, this has a probability of at most 1 - level, for any dependence between pairs.

        Population: the laws of randomised reports hold for a random voter, too. So a binomial bound on answers is also
        one for answers of random voters, and ``most`` of a normal law bounds the mean square of a report. With a
        curator, a voter changes the difference of two net wins by at most 2 (m - 1), and ``sampled_quantile`` takes
        the place of the quantile of the range. With a covariance, the sums and their noise are treated as normal. The
        limit of a difference is its standard deviation, times the quantile of the largest difference in these units.

        References
        ----------
        Holm (1979), "A simple sequentially rejective multiple test procedure".
        """
        published = self._on_grid(published)
        m = len(published)
        if self.on == "margins":
            sure = self._sure_pairs(published, level)
            return np.column_stack([sure.sum(axis=0), m - 1 - sure.sum(axis=1)])
        law: Any = self.law
        if of == "population" and self.covariance is not None:
            sure = published[:, np.newaxis] - published > self._sampled_limits(level)
            return np.column_stack([sure.sum(axis=0), m - 1 - sure.sum(axis=1)])
        if of == "voters" or self.covers_both:
            least = law.range_quantile(m, level)
        else:
            least = law.sampled_quantile(m, level, 2 * (m - 1) * math.sqrt(self.n_voters or 0))
        rising = np.sort(published)
        first_above = _first_places(lambda places: rising[places] - published > least, m)
        n_below = _first_places(lambda places: published - rising[places] <= least, m)
        return np.column_stack([m - first_above, m - 1 - n_below])

    def _sampled_limits(self, level):
        """Return what differences of scores do not exceed by chance, by the covariance: shape (n_items, n_items)."""
        from scipy.special import ndtri

        covariance: Any = self.covariance
        m = len(covariance)
        total = covariance + self.law.std**2 * np.eye(m)
        variances = np.diag(total)
        deviations = np.sqrt(np.maximum(variances[:, np.newaxis] + variances - 2 * total, _LEAST))
        if m > _MOST_DRAWN or (1 - level) * _DRAWS < _IN_TAIL:  # the quantile is Boole's
            return -ndtri((1 - level) / max(m * (m - 1), 2)) * deviations
        values, vectors = np.linalg.eigh(total)
        drawn = np.random.default_rng(0).standard_normal((_DRAWS, m)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
        largest = np.zeros(_DRAWS)
        for item in range(m - 1):
            ratios = np.abs(drawn[:, item + 1 :] - drawn[:, [item]]) / deviations[item, item + 1 :]
            np.maximum(largest, ratios.max(axis=1), out=largest)
        return np.quantile(largest, level) * deviations

    def _sure_pairs(self, margins, level):
        """Return by Holm's procedure which items are above which, shape (n_items, n_items)."""
        p_values, m = self.law.p_values(margins), len(margins)
        pairs = np.flatnonzero(~np.eye(m, dtype=bool))
        order = pairs[p_values.ravel()[pairs].argsort(kind="stable")]
        kept = p_values.ravel()[order] * np.arange(len(order), 0, -1) > 1 - level
        out = np.zeros(m * m, dtype=bool)
        out[order[: kept.argmax() if kept.any() else len(order)]] = True
        return out.reshape(m, m)

    def chance_before(self, published: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability that each item is above each other: shape (n_items, n_items), 0.5 on the diagonal.

        Parameters
        ----------
        published : ndarray
            The noisy answer.
        """
        law: Any = self.law
        published = self._on_grid(published)
        return law.chance_above(published) if self.on == "margins" else law.chance_before(published)

    def _on_grid(self, published):
        """Return the answer in the units of the law, in which it is a whole number."""
        return published if self.grid == 1 else np.rint(published * self.grid)


def _first_places(holds, m):
    """Return for each of m items the first of m places that `holds`, or m; it holds in all later places too."""
    low, high = np.zeros(m, dtype=np.int64), np.full(m, m)
    for _ in range(m.bit_length()):
        middle = (low + high) // 2
        later = ~holds(np.minimum(middle, m - 1)) & (low < high)
        low, high = np.where(later, middle + 1, low), np.where(later, high, middle)
    return low
