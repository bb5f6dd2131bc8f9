"""Simulated error curves of mechanisms, stored by ``examples/simulate_recommendations.py``, and their interpolation."""

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Of the stored errors, which are whole numbers.
UNIT = 1e-5
#: What is simulated as less is given as this: an excess error, a share of the best k.
RESOLUTION, RESOLUTION_OF_BEST = 1e-4, 1e-3


class Errors(NamedTuple):
    """Errors on many electorates: their mean, the least and the largest."""

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
        By `name`: mean, least and largest error, in units of `UNIT`.
    """

    grid: NDArray[np.float64]
    curves: dict[str, NDArray[np.float64]]

    def sizes(self, of_best: bool) -> list[int]:
        """Return the numbers of items that have curves of the excess error, or of the best few."""
        return sorted({int(name.split(":")[0]) for name in self.curves if (":" in name) == of_best})

    def bests(self, n_items: int) -> list[int]:
        """Return the k of which so many items have curves of the best k."""
        return sorted(int(name.split(":")[1]) for name in self.curves if name.startswith(f"{n_items}:"))


class Curves(NamedTuple):
    """All curves, and at which disagreements they were simulated."""

    levels: list[float]
    families: dict[str, Family]


def name(n_items: int, k: int | None = None) -> str:
    """Return what the curves of so many items, or of the best k of them, are called."""
    return f"{n_items}" if k is None else f"{n_items}:{k}"


@cache
def curves() -> Curves:
    """Return what is stored; it is read once."""
    text = Path(__file__).with_name("curves.json").read_text(encoding="utf-8")
    found = json.loads(text)
    families = {
        family: Family(np.array(each["grid"]), {key: np.array(rows, float) for key, rows in each["curves"].items()})
        for family, each in found["families"].items()
    }
    return Curves(found["levels"], families)


def of_random_order(n_items: int, disagreement: float, k: int | None = None) -> float:
    """Return the error of an order drawn at random: its excess, or the share of the best k that it misses."""
    return 0.5 - disagreement if k is None else 1 - k / n_items


def expected(family: str, n_items: int, signal: float, disagreement: float, k: int | None = None) -> Errors:
    """Return the errors of a family of mechanisms, as simulated or between what was.

    Parameters
    ----------
    family : {"knorm", "gaussian", "pairs", "swiss", "prudent", "two_stage", "top"}
        As in ``examples/simulate_recommendations.py``.
    n_items : int
        Number of items m.
    signal : float
        As the script says, by family; at least 0.
    disagreement : float
        Share of the pairs on which voters contradict their centre.
    k : int or None, default=None
        None is the excess error; else the share of the best k items that is missed.

    Returns
    -------
    Errors
        Each between the resolution and what an order drawn at random has, and monotone in the signal.

    Notes
    -----
    The logarithm of the error is linear in that of the signal, of m, of 1 - 2 disagreement, and in ln k / ln m. Curves
    of the smallest and largest simulated m, disagreement and k stand in for those beyond. Where there is more noise
    than was simulated the error is that of a random order, where there is less it is the last one simulated: bounds.
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
    """Return [(value, weight)] of the nearest values below and above x: what is linear in `scale` between them."""
    x = min(max(x, values[0]), values[-1])
    low, high = max(each for each in values if each <= x), min(each for each in values if each >= x)
    if low == high:
        return [(low, 1.0)]
    share = (scale(x) - scale(low)) / (scale(high) - scale(low))
    return [(low, 1 - share), (high, share)]


def _bests(stored, size, n_items, k):
    """Return [(k, weight)] of the curves of the best few of `size` items that lie around ln k / ln m."""
    if k is None:
        return [(None, 1.0)]
    place = math.log(k) / math.log(n_items)
    return _around(stored.bests(size), size**place, math.log)


def _log_ratios(stored, curve, signal, disagreement):
    """Return the logarithms of the mean, the least and the largest error over a random order's."""
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


#: What voters disagree on where nobody says: the error that is given, the range, and what mechanisms are chosen by.
REFERENCE = 0.35
PLAUSIBLE = (0.1, 0.2, 0.28, 0.35, 0.42, 0.45)
JUDGED = (0.2, 0.28, 0.35, 0.42)
#: Guesses that can be made, and how far they may be off.
LEAST_GUESS, LARGEST_GUESS, SLACK = 0.05, 0.48, 0.05
#: Of a mechanism's error: one that costs more besides must have no more. That is delta, a release in rounds, or to
#: draw an order nearly by chance.
WORTH_MORE = 0.95


@dataclass(frozen=True)
class Alternative:
    """An estimator that was considered, and its error.

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
    """An alternative, its mean error over the electorates that are thought of, and how much it costs besides."""

    alternative: Alternative
    judged: float
    costs: int


@dataclass(frozen=True)
class Outlook:
    """Which errors to expect.

    Parameters
    ----------
    n_items : int
        Number of items.
    disagreement : float or None
        A guess of how often voters contradict their centre.
    k : int or None
        None: errors are excess errors. Else they are shares of the best k that are missed.
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
    """Return that of the least judged error, the first of several; delta, or rounds, only where they pay."""
    return min(considered, key=lambda each: each.judged * WORTH_MORE**-each.costs)
