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
    family : {"knorm", "gaussian", "pairs", "swiss", "prudent", "two_stage", "top"}
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
    """

    n_items: int
    disagreement: float | None = None
    k: int | None = None

    def consider(self, estimator: Any, family: str, signal: float, costs: int = 0) -> Considered:
        """Return an estimator with the errors of its family at a signal."""
        guess = self.disagreement
        judged: tuple[float, ...]
        plausible: tuple[float, ...]
        if guess is None:
            middle, judged, plausible = REFERENCE, JUDGED, PLAUSIBLE
        else:
            middle = guess
            judged = plausible = max(LEAST_GUESS, guess - SLACK), guess, min(LARGEST_GUESS, guess + SLACK)
        found = {level: expected(family, self.n_items, signal, level, self.k) for level in {*judged, *plausible}}
        least, largest = (
            min(found[level].least for level in plausible),
            max(found[level].largest for level in plausible),
        )
        mean = sum(found[level].mean for level in judged) / len(judged)
        return Considered(Alternative(estimator, found[middle].mean, (least, largest)), mean, costs)


def preferred(considered: list[Considered]) -> Considered:
    """Return the mechanism of least mean error after the penalty for its disadvantages; the first one among ties."""
    return min(considered, key=lambda each: each.judged * WORTH_MORE**-each.costs)
