"""Error curves of mechanisms, simulated by ``examples/simulate_recommendations.py``, and their interpolation."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._utils.lazy import cached_property

#: Unit of the stored errors, which are whole numbers.
UNIT = 1e-5
#: Smallest reported excess error, and smallest reported share of missed best items.
RESOLUTION, RESOLUTION_OF_BEST = 1e-4, 1e-3


class Errors(NamedTuple):
    """Errors over many electorates: mean, least and largest."""

    mean: float
    least: float
    largest: float


class Family(NamedTuple):
    """Curves of a family of mechanisms.

    Attributes
    ----------
    grid : ndarray of float, shape (n_points,)
        Signals times 1 - 2 disagreement, from much noise to little.
    curves : dict of {str: ndarray of float, shape (n_levels, 3, n_points)}
        Mean, least and largest error in units of `UNIT`, by `name`.
    """

    grid: NDArray[np.float64]
    curves: dict[str, NDArray[np.float64]]

    def sizes(self, of_best: bool) -> list[int]:
        """Return the numbers of items with curves of the excess error, or of the missed best items if `of_best`."""
        return sorted({int(name.split(":")[0]) for name in self.curves if (":" in name) == of_best})

    def bests(self, n_items: int) -> list[int]:
        """Return the values of k with curves of the best k of `n_items` items."""
        return sorted(int(name.split(":")[1]) for name in self.curves if name.startswith(f"{n_items}:"))


class Curves(NamedTuple):
    """All curves, and the levels of disagreement at which they were simulated."""

    levels: list[float]
    families: dict[str, Family]


def name(n_items: int, k: int | None = None) -> str:
    """Return the key of the curves of `n_items` items, or of the best `k` of them."""
    return f"{n_items}" if k is None else f"{n_items}:{k}"


@cache
def curves() -> Curves:
    """Return the stored curves; the file is read once."""
    text = Path(__file__).with_name("curves.json").read_text(encoding="utf-8")
    found = json.loads(text)
    families = {
        family: Family(np.array(each["grid"]), {key: np.array(rows, float) for key, rows in each["curves"].items()})
        for family, each in found["families"].items()
    }
    return Curves(found["levels"], families)


def of_random_order(n_items: int, disagreement: float, k: int | None = None) -> float:
    """Return the error of a uniformly random order: its excess error, or the share of the best k that it misses."""
    return 0.5 - disagreement if k is None else 1 - k / n_items


def expected(family: str, n_items: int, signal: float, disagreement: float, k: int | None = None) -> Errors:
    """Return the errors of a family of mechanisms, interpolated between simulated points.

    Parameters
    ----------
    family : {"knorm", "gaussian", "pairs", "prudent", "two_stage", "peeled", "swiss", "top"}
        As in ``examples/simulate_recommendations.py``.
    n_items : int
        Number of items m.
    signal : float
        Signal-to-noise ratio of the family, as the script defines it; at least 0.
    disagreement : float
        Share of the pairs on which voters contradict their centre.
    k : int or None, default=None
        None returns the excess error; a number returns the missed share of the best k items.

    Returns
    -------
    Errors
        Each is between the resolution and the error of a random order, and monotone in the signal.

    Notes
    -----
    The logarithm of the error is linear in the logarithms of the signal, of m and of 1 - 2 disagreement, and in ln k /
    ln m. Outside the simulated range of m, disagreement and k, the curves of the nearest simulated value are used. At a
    smaller signal than simulated, the error is that of a random order; at a larger one, it is the last simulated error.
    Both are upper bounds.
    """
    worst = of_random_order(n_items, disagreement, k)
    stored = curves().families[family]
    logs = np.zeros(3)
    for size, share in _around(stored.sizes(k is not None), n_items, math.log):
        for best, part in _bests(stored, size, n_items, k):
            logs += share * part * _log_ratios(stored, name(size, best), signal, disagreement)
    resolution = RESOLUTION if k is None else RESOLUTION_OF_BEST
    return Errors(*(round(min(max(worst * math.exp(x), resolution), worst), 6) for x in logs))


def _around(values, x, scale):
    """Return [(value, weight)] of the nearest values around x, for linear interpolation in ``scale(x)``."""
    x = min(max(x, values[0]), values[-1])
    low, high = max(each for each in values if each <= x), min(each for each in values if each >= x)
    if low == high:
        return [(low, 1.0)]
    share = (scale(x) - scale(low)) / (scale(high) - scale(low))
    return [(low, 1 - share), (high, share)]


def _bests(stored, size, n_items, k):
    """Return [(k, weight)] of the stored curves of `size` items around the same ln k / ln m."""
    if k is None:
        return [(None, 1.0)]
    place = math.log(k) / math.log(n_items)
    return _around(stored.bests(size), size**place, math.log)


def _log_ratios(stored, curve, signal, disagreement):
    """Return the logarithms of the mean, least and largest error, relative to the error of a random order."""
    size, _, best = curve.partition(":")
    k = int(best) if best else None
    place = math.log(max(signal * (1 - 2 * disagreement), 1e-300))
    logs, levels = np.zeros(3), curves().levels
    for level, share in _around(levels, disagreement, lambda d: math.log(0.5 - d)):
        ratios = UNIT * stored.curves[curve][levels.index(level)] / of_random_order(int(size), level, k)
        least = (RESOLUTION if k is None else RESOLUTION_OF_BEST) / of_random_order(int(size), level, k)
        logs += share * np.array(
            [np.interp(place, np.log(stored.grid), np.log(np.clip(row, least, 1)), left=0.0) for row in ratios]
        )
    return logs


#: Disagreements without an estimate: of the reported error, of its range, and those that decide between mechanisms.
REFERENCE = 0.35
PLAUSIBLE = (0.1, 0.2, 0.28, 0.35, 0.42, 0.45)
JUDGED = (0.2, 0.28, 0.35, 0.42)
#: Limits of the user's estimate of the disagreement, and its assumed error.
LEAST_GUESS, LARGEST_GUESS, SLACK = 0.05, 0.48, 0.05
#: A mechanism with one more disadvantage must have at most this share of the error. Disadvantages are a delta, rounds,
#: and a signal at which the drawn order is nearly random.
WORTH_MORE = 0.95
#: Mean errors within this factor are equal: the curves are not more precise.
EQUAL = 1.01


class Bias(NamedTuple):
    """Error of a family without noise, where the simulated curves do not show it.

    Attributes
    ----------
    of_few : tuple of float
        Excess error times the number of voters, mean and largest, because few voters have no clear consensus.
    of_unequal : float
        Bias relative to that of Borda if the share of opinions differs between pairs.
    """

    of_few: tuple[float, float] = (0.1, 0.3)
    of_unequal: float = 1.0


#: Families that do not have the bias of Borda. Measured at up to 300 voters, and on votes without noise in which each
#: item is ranked with a probability of its own, or only the first few items are.
BIASES = {
    "prudent": Bias((0.04, 0.4), 0.0),
    "top": Bias((0.04, 0.4), 0.0),
    "peeled": Bias((0.04, 0.4), 0.0),
    "two_stage": Bias((0.04, 0.4), 0.3),
    "swiss": Bias(of_unequal=0.5),
}
#: Bias of Borda, mean and largest, relative to a random order, per unit of ln(largest share / smallest share).
UNEQUAL, UNEQUAL_OF_BEST = (0.02, 0.1), (0.12, 0.5)
_SHARES = 7  # shares between the smallest and the largest, equally far apart in logarithms


@dataclass(frozen=True)
class Alternative:
    """Estimator that was considered, and its expected error.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with all parameters set.
    error : float
        As in `Recommendation`.
    error_range : tuple of float
        As in `Recommendation`.
    """

    estimator: Any
    error: float
    error_range: tuple[float, float]


class Considered(NamedTuple):
    """An alternative, its mean error over the assumed electorates, and its number of disadvantages (delta, rounds)."""

    alternative: Alternative
    judged: float
    costs: int


@dataclass(frozen=True)
class ErrorModel:
    """Error model: expected errors for a level of disagreement.

    Parameters
    ----------
    n_items : int
        Number of items.
    disagreement : float or None
        Estimated share of pairs on which voters contradict their centre.
    k : int or None
        None is for excess errors; a number is for missed shares of the best k items.
    n_voters : float
        Number of voters.
    opinion_share : tuple of float
        Smallest and largest share of the ballots with an opinion on a pair.
    """

    n_items: int
    disagreement: float | None = None
    k: int | None = None
    n_voters: float = math.inf
    opinion_share: tuple[float, float] = (1.0, 1.0)

    def consider(self, estimator: Any, family: str, signal: float, costs: int = 0) -> Considered:
        """Return an estimator with the errors of its family at the signal of ballots without gaps."""
        guess = self.disagreement
        judged: tuple[float, ...]
        plausible: tuple[float, ...]
        if guess is None:
            middle, judged, plausible = REFERENCE, tuple(map(self._of_sample, JUDGED)), PLAUSIBLE
        else:
            middle = guess
            judged = plausible = max(LEAST_GUESS, guess - SLACK), guess, min(LARGEST_GUESS, guess + SLACK)
        found = {level: self.errors(family, signal, level) for level in {middle, *judged, *plausible}}
        most = 1.0 if guess is None or self.k else round(of_random_order(self.n_items, guess), 6)
        least, largest = (
            min(found[level].least for level in plausible),
            max(min(found[level].largest, most) for level in plausible),
        )
        mean = sum(found[level].mean for level in judged) / len(judged)
        return Considered(Alternative(estimator, found[middle].mean, (least, largest)), mean, costs)

    def errors(self, family: str, signal: float, disagreement: float) -> Errors:
        """Return the errors of a family at a level of disagreement, with the biases of few and of unequal opinions."""
        m, k, shares, bias = self.n_items, self.k, self._shares, BIASES.get(family, Bias())
        each = [expected(family, m, signal * share, disagreement, k) for share in shares]
        # An error counts opinions: pairs on which more ballots have one weigh more.
        mean, _, largest = shares @ np.array(each) / shares.sum()
        largest = max(largest, each[len(each) // 2].largest)  # rare and frequent opinions may be about the same items
        most = worst = of_random_order(m, disagreement, k)
        unequal = worst * bias.of_unequal * math.log(shares[-1] / shares[0]) * (m > 2)
        if k is None:
            few = (m > 2) / self._n_opinions
            mean = math.hypot(mean, few * bias.of_few[0], unequal * UNEQUAL[0])
            largest = math.hypot(largest, few * bias.of_few[1], unequal * UNEQUAL[1])
        else:
            mean = math.hypot(mean, unequal * UNEQUAL_OF_BEST[0])
            if len(shares) > 1:  # opinions on the best items may be rare; then they are found less often than by chance
                largest, most = each[0].largest / worst + unequal * UNEQUAL_OF_BEST[1], 1.0
            largest = max(largest, 0.5 / k)  # the items at places k and k + 1 may be nearly tied
        return Errors(*(round(float(error), 6) for error in (min(mean, worst), each[-1].least, min(largest, most))))

    @cached_property
    def _shares(self):
        """Return shares of opinions, from the smallest to the largest."""
        low, high = self.opinion_share
        return np.geomspace(low, high, _SHARES if low < high else 1)

    @property
    def _n_opinions(self):
        """Return the mean number of voters with an opinion on a pair."""
        return self.n_voters * self._shares.mean()

    def _of_sample(self, disagreement):
        """Return the disagreement with their own consensus of voters who contradict a centre on this share of pairs.

        If n voters toss coins about a pair, its margin is about sqrt(2 n / pi).
        """
        own = math.hypot(1 - 2 * disagreement, math.sqrt(2 / math.pi / self._n_opinions))
        return max(0.5 - own / 2, LEAST_GUESS)


def preferred(considered: list[Considered]) -> Considered:
    """Return the mechanism of least mean error after the penalty for its disadvantages.

    Of those that are equal within the precision of the curves, return the one of the smallest largest error.
    """
    least = min(_penalised(each) for each in considered)
    equal = (each for each in considered if _penalised(each) <= EQUAL * least)
    return min(equal, key=lambda each: each.alternative.error_range[1])


def _penalised(considered):
    """Return the mean error of a mechanism, with the penalty for its disadvantages."""
    return considered.judged * WORTH_MORE**-considered.costs
