"""Advice: error curves of mechanisms, and the estimator with the smallest expected error.

A **family** is a set of mechanisms with the same error curves. A curve gives the error for a **signal**: one number
without unit that grows with the number of voters n and with epsilon, and stands for all public inputs but the number of
items m.

==========  ==========================================  =======================================================
Family      Mechanism                                   Signal
==========  ==========================================  =======================================================
knorm       Borda, K-norm noise                         n epsilon / m
gaussian    Borda, normal noise; about also Laplace     m / (standard deviation of the noise on a mean rank)
            noise, noise of voters or of shares         = 2 n m / (standard deviation of the noise on net wins)
swiss       Swiss rounds, Gaussian noise                that of Borda with the same budget
pairs       one random pair a voter, Bradley-Terry      that of Borda from the same answers
margins     all margins with noise, Kemeny              2 n sqrt(m) / (standard deviation of the noise on margins)
prudent     prudent order of 3 to 16 items              n epsilon / ln m!
two_stage   prudent order in a window of 7              n epsilon / m^2
peeled      prudent order, item by item                 n e / ln m, where each pick has the range e
top         best k items                                n epsilon / ln(m! / (m - k)!)
==========  ==========================================  =======================================================

n epsilon is halved if neighbours replace a ballot. True margins are proportional to 1 - 2 disagreement, and so are
signals: the curves are stored at signals times 1 - 2 disagreement, where those of all disagreements look alike.

Voters in **camps** have curves of their own. Majorities of three or more camps can form a cycle, and then errors fall
more slowly, down to a **floor**: the error that remains without noise.

Errors of leaderboards from comparisons come from a formula (`Leaderboard.error`), without curves.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from itertools import product
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._utils.checks import (
    changed_ballots,
    check_choice,
    check_delta,
    check_epsilon,
    check_flag,
    check_number,
    check_whole,
    safe_repr,
)
from .._utils.lazy import cached_property
from .._utils.types import Neighboring
from ..ballots.profile import Shape
from ..ballots.weights import COMPARISONS, WEIGHT_GRID, WeightBound, weight_bound
from ..channels.base import publishes_intervals
from ..channels.central import DPBorda, DPBradleyTerry, DPPairwise, DPPrudentOrder, DPSwissBorda, DPTopK
from ..channels.local import LDPBorda, LDPPairwise
from ..channels.secure_aggregation import SecAggBorda, SecAggSwissBorda
from ..channels.shuffle import ShufflePairwise, message_epsilon_for
from ..collection import PrivUnitG
from ..privacy.composition import gaussian_sigma
from ..queries import AllMargins, NetWins, n_pairs
from ..queries.statistics import listed, wins_moved
from .parameters import in_words

#: Unit of the stored logarithms, which are whole numbers.
UNIT = 0.01
#: Smallest reported excess error, and smallest reported share of missed best items.
RESOLUTION, RESOLUTION_OF_BEST = 1e-4, 1e-3


class Errors(NamedTuple):
    """Errors over many electorates: mean, least and largest."""

    mean: float
    least: float
    largest: float


class Family(NamedTuple):
    """Curves of a family of mechanisms; the module lists the families and their signals.

    Attributes
    ----------
    grid : ndarray of float, shape (n_points,)
        Signals times 1 - 2 disagreement, from much noise to little.
    curves : dict of {(int, int or None): ndarray of float, shape (n_levels, n_rows, n_points)}
        Logarithms of errors relative to that of a random order, by number of items m and k. With k = None, it is the
        excess error of the whole order; with a number, the missed share of the best k items. The rows are the mean, the
        least and the largest error; for camps, the mean without noise, and the error that `MOST_CAMPS` of the
        electorates do not exceed.
    """

    grid: NDArray[np.float64]
    curves: dict[tuple[int, int | None], NDArray[np.float64]]


class Curves(NamedTuple):
    """All curves, and the levels of disagreement at which they were simulated; for voters in camps, the same."""

    levels: list[float]
    families: dict[str, Family]
    camp_levels: list[float]
    camps: dict[str, Family]


@cache
def curves() -> Curves:
    """Return the stored curves; the file is read once."""
    found = json.loads(Path(__file__).with_name("curves.json").read_text(encoding="utf-8"))
    families, camps = ({family: read(each) for family, each in found[of].items()} for of in ("families", "camps"))
    return Curves(found["levels"], families, found["camp_levels"], camps)


def read(stored: dict[str, Any]) -> Family:
    """Return stored curves at all points; the keys are "m" or "m:k", and rows are [place, value, place, value, ...].

    A value is minus the logarithm in units of `UNIT`. Points between two places are on a line.
    """
    places, found = np.arange(len(stored["grid"])), {}
    for key, levels in stored["curves"].items():
        size, _, best = key.partition(":")
        logs = np.array([[-UNIT * np.interp(places, row[::2], row[1::2]) for row in rows] for rows in levels])
        logs[:, 1:-1] = np.minimum(logs[:, 1:-1], logs[:, :1])  # lines around the mean, which is stored more exactly
        logs[:, -1] = np.maximum(logs[:, -1], logs[:, 0])
        found[int(size), int(best) if best else None] = logs
    return Family(np.array(stored["grid"]), found)


def of_random_order(n_items: int, disagreement: float, k: int | None = None) -> float:
    """Return the error of a uniformly random order: its excess error, or the share of the best k that it misses."""
    return 0.5 - disagreement if k is None else 1 - k / n_items


def expected(family: str, n_items: int, signal: float, disagreement: float, k: int | None = None) -> Errors:
    """Return the errors of a family of mechanisms, interpolated between simulated points.

    Parameters
    ----------
    family : {"knorm", "gaussian", "pairs", "margins", "prudent", "two_stage", "peeled", "swiss", "top"}
        A family of the module's table.
    n_items : int
        Number of items m.
    signal : float
        Signal of the family, as in the module's table; at least 0.
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
    levels, stored = curves().levels, curves().families[family]
    log_signal = math.log(max(signal * (1 - 2 * disagreement), 1e-300))
    resolution = RESOLUTION if k is None else RESOLUTION_OF_BEST
    log_grid = np.log(stored.grid)
    sizes = [size for size, best in stored.curves if (best is None) == (k is None)]
    logs = np.zeros(3)  # of the errors, relative to those of a random order
    for size, size_weight in _around(sizes, n_items, math.log):
        around: list[tuple[Any, float]] = [(None, 1.0)]
        if k is not None:
            bests = [best for of_items, best in stored.curves if of_items == size and best is not None]
            alike = size ** (math.log(k) / math.log(n_items))  # has the same ln k / ln m
            around = _around(bests, alike, math.log)
        for best, best_weight in around:
            for level, level_weight in _around(levels, disagreement, lambda d: math.log(0.5 - d)):
                rows = stored.curves[size, best][levels.index(level)]
                log_errors = [np.interp(log_signal, log_grid, row, left=0.0) for row in rows]
                logs += size_weight * best_weight * level_weight * np.array(log_errors)
    worst = of_random_order(n_items, disagreement, k)
    return Errors(*(round(min(max(worst * math.exp(x), resolution), worst), 6) for x in logs))


def expected_of_camps(family: str, n_items: int, signal: float, disagreement: float) -> tuple[float, float]:
    """Return errors of voters in camps: the mean floor, and that which `MOST_CAMPS` of electorates do not exceed.

    Errors are linear in ln m and in ln(1 - 2 disagreement), and proportional to `share_of_cycles`.
    """
    stored, levels = curves().camps[family], curves().camp_levels
    log_signal, log_grid = math.log(max(signal * (1 - 2 * disagreement), 1e-300)), np.log(stored.grid)
    errors = np.zeros(2)
    for size, size_weight in _around([size for size, _ in stored.curves], n_items, math.log):
        for level, level_weight in _around(levels, disagreement, lambda d: math.log(0.5 - d)):
            floors, most_camps = stored.curves[size, None][levels.index(level)]
            logs = floors[-1], np.interp(log_signal, log_grid, most_camps, left=0.0)
            errors += size_weight * level_weight * np.exp(logs)
    floor, most = of_random_order(n_items, disagreement) * share_of_cycles(disagreement) * (n_items > 2) * errors
    return float(floor), float(most)


def share_of_cycles(disagreement: float) -> float:
    """Return the share of the errors of camps: voters who disagree little with the consensus hardly form cycles.

    A voter contradicts at least one of the three majorities of a cycle.
    """
    none, all_of_them = CYCLING
    return min(1.0, max(0.0, (disagreement - none) / (all_of_them - none)))


def _around(values, x, scale):
    """Return [(value, weight)] of the nearest values around x, for linear interpolation in ``scale(x)``."""
    x = min(max(x, min(values)), max(values))
    low, high = max(each for each in values if each <= x), min(each for each in values if each >= x)
    if low == high:
        return [(low, 1.0)]
    share = (scale(x) - scale(low)) / (scale(high) - scale(low))
    return [(low, 1 - share), (high, share)]


#: Disagreements without an estimate: of the reported error, of its range, and those that decide between mechanisms.
REFERENCE = 0.35
PLAUSIBLE: tuple[float, ...] = (0.1, 0.2, 0.28, 0.35, 0.42, 0.45)
JUDGED: tuple[float, ...] = (0.2, 0.28, 0.35, 0.42)
#: Limits of the user's estimate of the disagreement, and its assumed error.
LEAST_GUESS, LARGEST_GUESS, SLACK = 0.05, 0.48, 0.05
#: Disagreements up to which camps form no cycles, and from which on they do. On simulated camps, floors at .2 to .25
#: are about half of those at .3 to .4. Hardly any electorate disagrees less, but a small share of camps makes the range
#: contain the errors of other votes that disagree little.
CYCLING = 0.05, 0.3
#: Weight of camps among the families of electorates.
OF_CAMPS = 0.25
#: Share of the electorates with camps whose errors are in the range.
MOST_CAMPS = 0.95
#: A mechanism with one more disadvantage must have at most this share of the error. Disadvantages are a delta, rounds,
#: and a signal at which the drawn order is nearly random. They are counted as `costs`.
WORTH_MORE = 0.95
#: Mean errors within this factor are equal: the curves are not more precise.
EQUAL = 1.01


class Bias(NamedTuple):
    """Error of a family without noise, where the simulated curves do not show it.

    Attributes
    ----------
    of_few : tuple of float
        Excess error times the number of voters and 1 - 2 disagreement, mean and largest, because few voters have no
        clear consensus.
    of_unequal : float
        Bias relative to that of Borda if the share of opinions differs between pairs.
    near_ties : float
        Number of voters at which errors of moderate noise are 1.5 times as large, because more pairs are nearly tied.
    """

    of_few: tuple[float, float] = (0.035, 0.1)
    of_unequal: float = 1.0
    near_ties: float = 0.0


#: Families that have less of the bias of Borda. Measured at up to 400 voters, and on votes without noise in which each
#: item is ranked with a probability of its own, or only the first few items are.
BIASES = {
    "prudent": Bias((0.012, 0.12), 0.0, near_ties=40.0),
    "top": Bias((0.012, 0.12), 0.0),
    "peeled": Bias((0.012, 0.12), 0.0),
    "two_stage": Bias((0.012, 0.12), 0.3),
    "swiss": Bias(of_unequal=0.5),
    "margins": Bias((0.012, 0.12), 0.0),
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
    """An alternative and what decides.

    Attributes
    ----------
    alternative : Alternative
    judged : float
        Mean error over the assumed electorates.
    costs : int
        Number of disadvantages (delta, rounds).
    worst : str
        The electorates of the largest error.
    """

    alternative: Alternative
    judged: float
    costs: int
    worst: str


def preferred(considered: list[Considered]) -> Considered:
    """Return the mechanism of least mean error after the penalty for its disadvantages.

    Of those that are equal within the precision of the curves, return the one of the smallest largest error.
    """
    penalised = [each.judged * WORTH_MORE**-each.costs for each in considered]
    equal = np.flatnonzero(np.array(penalised) <= EQUAL * min(penalised))
    return min((considered[each] for each in equal), key=lambda each: each.alternative.error_range[1])


#: The chosen mechanism, all that were considered, and the reason.
Choice: TypeAlias = tuple[Considered, list[Considered], str]


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
    max_listed : int or None
        Bound on the number of items that a ballot lists, below the number of items.
    """

    n_items: int
    disagreement: float | None = None
    k: int | None = None
    n_voters: float = math.inf
    opinion_share: tuple[float, float] = (1.0, 1.0)
    max_listed: int | None = None

    @property
    def swiss_pays(self) -> bool:
        """Whether rounds of groups may need less noise than net wins of all items."""
        return self.n_items >= _LEAST_SWISS_ITEMS and listed(self.n_items, self.max_listed) > 0.4 * self.n_items

    def consider(self, estimator: Any, family: str, signal: float, costs: int = 0) -> Considered:
        """Return an estimator with the errors of its family at the signal of ballots without gaps."""
        guess = self.disagreement
        if guess is None:
            middle, judged, plausible = REFERENCE, [self.of_sample(level) for level in JUDGED], [*PLAUSIBLE]
        else:
            middle, judged = guess, [max(LEAST_GUESS, guess - SLACK), guess, min(LARGEST_GUESS, guess + SLACK)]
            plausible = judged
        found = {level: self.errors(family, signal, level) for level in {middle, *judged, *plausible}}
        most = 1.0
        if guess is not None and self.k is None:  # no worse than a random order at the estimate
            most = round(of_random_order(self.n_items, guess), 6)
        least = min(found[level].least for level in plausible)
        mean = sum(found[level].mean for level in judged) / len(judged)
        worst = max(plausible, key=lambda level: found[level].largest)
        largest, kinds = found[worst].largest, "Mallows, Plackett-Luce or mixed votes"
        camps = {level: self.errors_of_camps(family, signal, level) for level in {*judged, *plausible}}
        with_camps = [math.hypot(found[level].mean, camps[level][0]) for level in judged]
        mean += OF_CAMPS * (sum(with_camps) / len(judged) - mean)
        worst_of_camps = max(plausible, key=lambda level: camps[level][1])
        if camps[worst_of_camps][1] > largest:
            worst, largest = worst_of_camps, round(camps[worst_of_camps][1], 6)
            kinds = "three to five camps whose majorities may form a cycle"
        kinds += f", who contradict the consensus on {100 * worst:.3g} % of the pairs"
        return Considered(Alternative(estimator, found[middle].mean, (least, min(largest, most))), mean, costs, kinds)

    def errors(self, family: str, signal: float, disagreement: float) -> Errors:
        """Return the errors of a family at a level of disagreement, with the biases of few and of unequal opinions."""
        m, k, shares, bias = self.n_items, self.k, self.shares, BIASES.get(family, Bias())
        each = [expected(family, m, signal * share, disagreement, k) for share in shares]
        # An error counts opinions: pairs on which more ballots have one weigh more.
        mean, _, largest = shares @ np.array(each) / shares.sum()
        # If opinions on an item are all rare or all frequent, errors do not average: at least that of the middle share.
        largest = max(largest, each[len(each) // 2].largest)
        most = worst = of_random_order(m, disagreement, k)
        unequal = worst * bias.of_unequal * math.log(shares[-1] / shares[0]) * (m > 2)  # a single pair is not biased
        if k is None:
            n_opinions = self.n_voters * shares.mean()
            more = bias.near_ties / (bias.near_ties + n_opinions)
            mean, largest = (error + error * (1 - error / worst) * more for error in (mean, largest))
            few = (m > 2) / (n_opinions * (1 - 2 * disagreement))
            mean = math.hypot(mean, few * bias.of_few[0], unequal * UNEQUAL[0])
            largest = math.hypot(largest, few * bias.of_few[1], unequal * UNEQUAL[1])
        else:
            mean = math.hypot(mean, unequal * UNEQUAL_OF_BEST[0])
            if len(shares) > 1:  # opinions on the best items may be rare; then they are found less often than by chance
                share_of_worst = each[0].largest / worst
                largest, most = share_of_worst + unequal * UNEQUAL_OF_BEST[1], 1.0
            largest = max(largest, 0.5 / k)  # the items at places k and k + 1 may be nearly tied
        return Errors(*(round(float(error), 6) for error in (min(mean, worst), each[-1].least, min(largest, most))))

    def errors_of_camps(self, family: str, signal: float, disagreement: float) -> tuple[float, float]:
        """Return the mean floor of voters in camps, and the error that most of such electorates do not exceed."""
        if self.k is not None:  # only the range has camps, who miss one item
            return 0.0, min(share_of_cycles(disagreement) / self.k, of_random_order(self.n_items, disagreement, self.k))
        each = [expected_of_camps(family, self.n_items, signal * share, disagreement) for share in self.shares]
        floor, most = self.shares @ np.array(each) / self.shares.sum()
        return float(floor), max(float(most), each[len(each) // 2][1])

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Shares of opinions, from the smallest to the largest."""
        low, high = self.opinion_share
        return np.geomspace(low, high, _SHARES if low < high else 1)

    def of_sample(self, disagreement: float) -> float:
        """Return the disagreement with their own consensus of voters who contradict a centre on this share of pairs.

        If n voters toss coins about a pair, its margin is about sqrt(2 n / pi).
        """
        n_opinions = self.n_voters * self.shares.mean()
        own = math.hypot(1 - 2 * disagreement, math.sqrt(2 / math.pi / n_opinions))
        return max(0.5 - own / 2, LEAST_GUESS)


# Leaderboards from comparisons: a formula in place of curves.


class Fitted(NamedTuple):
    """Constants of `Leaderboard.error`, fitted by ``measure_leaderboards.py`` of ``tests/benchmarks``.

    Attributes
    ----------
    noise : float
        Factor on the standard deviation of the noise.
    sampling : float
        Variance of the result of a comparison, in units of the slope of its mean.
    repeats : float
        Share of the squared result of a comparison that is the same in the other comparisons of a person.
    floor : float
        Variance of the strengths of matched opponents, which one round cannot tell from the item's own strength.
    """

    noise: float
    sampling: float
    repeats: float
    floor: float


FITTED = {
    "rounds": Fitted(1.32, 1.79, 0.68, 0.0),
    "one round": Fitted(0.82, 2.4, 0.28, 0.1),
}
#: Zipf exponents of exposures, and shares of matched opponents, without an estimate: of the error, and of its range.
EXPONENT, MATCHED = 1.0, 0.3
EXPONENTS: tuple[float, ...] = (0.0, 1.0, 1.3)
ALL_MATCHED: tuple[float, ...] = (0.0, 0.3, 0.6)
MOST_MATCHED = 0.7  # with more, the formula was not confirmed
_MOST_COMPARED = 128  # items whose pairs are averaged


@cache
def _of_spreads():
    """Return standard deviations s of strengths, with the means of abs(tanh(d / 2)) and of 1 / cosh(d / 2)^2.

    d is the difference of two strengths, N(0, 2 s^2).
    """
    spreads, quantiles = np.geomspace(1e-3, 100, 500), ndtri(0.5 + (np.arange(200) + 0.5) / 400)
    halves = np.minimum(spreads[:, np.newaxis] * quantiles / math.sqrt(2), 300)
    return spreads, np.tanh(halves).mean(axis=1), (1 / np.cosh(halves) ** 2).mean(axis=1)


@dataclass(frozen=True)
class Leaderboard:
    """Error model of leaderboards from comparisons; None is for what is not known.

    Parameters
    ----------
    n_items : int
        Number of items m.
    disagreement : float or None
        Estimated share of random pairs of items on which a comparison contradicts the true order; a tie counts half.
    n_persons : float
        Number of persons.
    comparisons : float
        Mean number of comparisons of a person.
    exposure_ratio : float or None
        Ratio of the largest to the smallest number of comparisons of an item.
    matched : float or None
        Share of the comparisons of items of similar strength.
    """

    n_items: int
    disagreement: float | None
    n_persons: float
    comparisons: float
    exposure_ratio: float | None = None
    matched: float | None = None

    def consider(self, estimator: Any, family: str, noise: float, costs: int = 0) -> Considered:
        """Return an estimator with its errors; `noise` is the standard deviation of the noise on net wins."""
        # All assumed values, those that decide, and that of the error.
        levels, judged, level = PLAUSIBLE, JUDGED, REFERENCE
        exponents, exponent, shares, share = EXPONENTS, EXPONENT, ALL_MATCHED, MATCHED
        if self.disagreement is not None:
            level = self.disagreement
            levels = judged = max(LEAST_GUESS, level - SLACK), level, min(LARGEST_GUESS, level + SLACK)
        if self.exposure_ratio is not None:
            exponents = (exponent := math.log(self.exposure_ratio) / math.log(self.n_items),)
        if self.matched is not None:
            shares = (share := float(self.matched),)
        found = {each: self.error(family, noise, *each) for each in product(levels, exponents, shares)}
        mean = np.mean([found[guess, exponent, each] for guess in judged for each in shares])
        ends = min(found.values()), max(found.values())
        guess, steepness, of_matched = max(found, key=lambda each: found[each])
        worst = f"comparisons that contradict the true order on {100 * guess:.3g} % of the pairs, with exposures of"
        worst += f" the Zipf exponent {steepness:.2g} and {100 * of_matched:.3g} % of matched opponents"
        return Considered(Alternative(estimator, found[level, exponent, share], ends), float(mean), costs, worst)

    def error(self, family: str, noise: float, disagreement: float, exponent: float, matched: float) -> float:
        """Return the expected share of the pairs of items in the wrong order, (1 - Kendall's tau) / 2.

        Strengths are N(0, s^2). Item i has a share p_i of the comparisons, and its estimate has the variance v_i, from
        noise, sampling and opponents. Estimates are shrunk by w_i = s^2 / (s^2 + v_i). Then the differences of two
        items, true and estimated, are normal with the correlation r = sqrt((w_i + w_j) / 2). The order is wrong with
        probability arccos(r) / pi.
        """
        m, more, of, in_rounds = self.n_items, self.comparisons - 1, FITTED[family], family == "rounds"
        spread, slope = (np.interp(1 - 2 * disagreement, _of_spreads()[1], each) for each in _of_spreads()[::2])
        p = np.arange(1, m + 1.0) ** -exponent
        p /= p.sum()
        # Comparisons of a person that count: the sums are clipped in L2 in rounds, where results against all opponents
        # differ, else in L1, where results of one item add up.
        if in_rounds:
            counted = self.comparisons / math.sqrt(1 + of.repeats * more)
        else:
            counted = 5 / (1 + 4 / math.sqrt(1 + 2 * of.repeats * more * (p @ p)))
        # Results against near items hardly tell whether both are good. Rounds know the opponents, so only noise grows.
        near = min(1, 2 * max(1, m // 10) / (m - 1)) if in_rounds or m == 2 else 0  # share of the items
        clear = 1 - matched * (1 - near)
        p = p[np.linspace(0, m - 1, min(m, _MOST_COMPARED)).round().astype(int)]
        met = self.n_persons * p * slope
        v = np.minimum(of.noise * noise / (met * counted * clear), 1e100) ** 2
        v += of.sampling / (met * self.comparisons * (1 if in_rounds else clear**2))
        v += of.floor * (spread * (1 / clear - 1)) ** 2
        weights = 1 / (1 + v / spread**2)
        i, j = np.triu_indices(len(p), 1)
        wrong = np.arccos(np.sqrt((weights[i] + weights[j]) / 2)).mean() / math.pi
        return round(max(float(wrong), RESOLUTION), 6)


def leaderboard_choice(model: Leaderboard, epsilon: float, delta: float, neighboring: Neighboring) -> Choice:
    """Return the choice for comparisons: one round with Laplace noise, or rounds with Gaussian noise."""
    common: dict[str, Any] = {"epsilon": epsilon, "neighboring": neighboring}
    changed = changed_ballots(neighboring)
    # For one person, 4 x net wins and exposures are at most 10 in L1; residuals are at most sqrt(2) in L2.
    laplace = math.sqrt(2) * changed * 10 / 4 / epsilon
    considered = [model.consider(DPBradleyTerry(delta=0.0, **common), "one round", laplace)]
    if delta > 0:
        gaussian = gaussian_sigma(epsilon, delta, math.sqrt(2) * changed)
        considered.append(model.consider(DPBradleyTerry(delta=delta, **common), "rounds", gaussian, 1))
    where = "20 to 42" if model.disagreement is None else f"about {100 * model.disagreement:.3g}"
    why = f"with {model.n_persons:g} persons, {model.comparisons:g} comparisons of each and delta = {delta:g}"
    why += " its expected share of pairs in the wrong order is the least, on average over comparisons that contradict"
    return preferred(considered), considered, f"{why} the true order on {where} % of the pairs"


# `recommend`: an estimator for a number of items, a number of voters and a budget, from simulated error curves.

_LARGEST_EPSILON = 500.0  # limit in double precision, for all models except the central one
_MOST_ITEMS = 65_534  # limit of ballots
_MOST_VOTERS = 1e15  # doubles cannot distinguish larger numbers of voters


_MESSAGES = (1, 2, 3, 4, 6, 8, 12, 16)  # messages per voter in the shuffle model
_MOST_PRUDENT_ITEMS = 16
_MOST_MARGIN_ITEMS = 30  # up to which the errors of `DPPairwise` were simulated
_LEAST_SWISS_ITEMS = 14  # with fewer items, no round has groups
_MOST_REPORTS = 10**6  # limit for amplification; more voters would hide a voter better, so the result is a bound
_MOST_PEELED_ITEMS = 1000  # beyond, the exact range of a pick takes seconds to compute
_ENOUGH = 1e6  # truthful answers per item, at which the error is below the resolution


@dataclass(frozen=True)
class Recommendation(Alternative):
    """Result of `recommend`: the best alternative, and why.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with all parameters set; `clone` it, or fit it.
    error : float
        Expected excess of the normalised average Kendall tau distance over the Kemeny optimum. It is the mean over the
        noise and over simulated electorates with the assumed disagreement. It is at least 0.0001, because smaller
        errors are not distinguished, and at most 0.5 less the disagreement, the error of a random order. With `k` of
        `recommend`, it is the share of the best k items (of the Kemeny optimum) that is missed, from 0.001 to 1 - k /
        n_items. With `comparisons_per_person`, it is the share of the pairs of items that are not in their true order.
    error_range : tuple of float
        Least and largest error over the families of electorates, each a mean over the noise: Mallows, Plackett-Luce and
        mixed votes, and 95 % of the electorates with three to five camps. `reason` names the electorates of the largest
        error. With an estimate, the electorates disagree within 0.05 of it, and the largest error is at most that of a
        random order at the estimate. Without an estimate, they disagree on 10 to 45 % of the pairs. With `k`, the range
        includes one missed item, 1 / k, if camps may form cycles (from 30 % on), and always a near-tie between the
        items at places k and k + 1, where 0.5 / k is missed.
    reason : str
        The public inputs that decided, the runner-up, the electorates of the largest error, and whether rank intervals
        are published. Errors are in points (hundredths), or in percent with `k`.
    alternatives : tuple of Alternative
        Other estimators that were considered, by increasing error. One may have a smaller error than `error` if it is
        worse on average over the assumed disagreements.
    reference : str
        The electorates of `error`.
    intervals : bool
        Whether a fit of `estimator` publishes rank intervals (``rank_intervals``).
    """

    reason: str
    alternatives: tuple[Alternative, ...]
    reference: str
    intervals: bool


def recommend(
    n_items: int,
    n_voters: float,
    epsilon: float,
    delta: float = 0.0,
    trust: Literal["central", "local", "shuffle", "secure_aggregation"] = "central",
    neighboring: Neighboring | None = None,
    *,
    k: int | None = None,
    disagreement: float | None = None,
    opinion_share: float | tuple[float, float] = 1.0,
    max_listed: int | None = None,
    intervals: bool = False,
    comparisons_per_person: float | None = None,
    exposure_ratio: float | None = None,
    matched: float | None = None,
) -> Recommendation:
    """Recommend an estimator with its parameters, and state its expected error.

    Parameters
    ----------
    n_items : int
        Number of items m, at least 2.
    n_voters : float
        Number of voters n; an order of magnitude (1e4) is enough for "central" and "local". It must be a public
        estimate: under "add_remove", the true number is private and must not be computed from the ballots. If ballots
        have gaps or ties, also pass `opinion_share`. For "shuffle" and "secure_aggregation", it becomes `min_reports`,
        rounded down: pass the number of honest voters that you are sure of.
    epsilon : float
        Privacy loss, in nats.
    delta : float, default=0.0
        Failure probability. 0 requires pure privacy. Pure mechanisms are considered for any delta. "shuffle" and
        "secure_aggregation" need a positive delta.
    trust : {"central", "local", "shuffle", "secure_aggregation"}, default="central"
        Trust model. With "central", the curator sees the ballots. In the other models, only the voter does. With
        "shuffle", a shuffler mixes the reports. With "secure_aggregation", servers that do not all collude add them up.
    neighboring : {"add_remove", "replace"} or None, default=None
        Neighbouring relation. None is "add_remove" for "central". The other models always use "replace".
    k : int or None, default=None
        Number of best items that you need, smaller than `n_items`. None is the whole order. With a number, `DPTopK` is
        compared with mechanisms for whole orders, by the share of the best k that they miss.
    disagreement : float or None, default=None
        Public estimate, from 0.05 to 0.48, of the average share of pairs on which voters contradict the consensus. A
        pair that a voter ties counts one half. Do not compute it from the ballots that you want to protect. Earlier
        votes of the same kind may help: it is 0.34 for sushi, 0.4 for jokes, and 0.3 to 0.4 for dots that people
        counted. None uses 0.35 for the error, and 0.1 to 0.45 for its range.
    opinion_share : float or tuple of float, default=1.0
        Public estimate of the share of the ballots that prefer one item of a pair, above 0 and at most 1. It is 0.16
        on all pairs if each voter rates 40 % of the items at random. If it differs between pairs, pass the smallest and
        the largest share, such as (0.16, 0.47) for voters who rank only their favourites among well-known and unknown
        candidates. Errors then refer to the opinions, and `disagreement` to the ballots with an opinion on a pair.
    max_listed : int or None, default=None
        Public bound on the number of items that a ballot lists, as in `~sklearn_dprank.ballots.Profile.from_rankings`:
        the recommended estimator is for a `Profile` with this bound, or has it as a parameter. A single `opinion_share`
        is then at most k (k - 1) / (m (m - 1)), the share if each ballot lists k of m items at random. None is no
        bound.
    intervals : bool, default=False
        If True, consider only estimators that publish rank intervals. Their error may be larger.
    comparisons_per_person : float or None, default=None
        Public estimate of the mean number of comparisons of a person, at least 1. With a number, the recommendation is
        for a `Profile` of comparisons (`~sklearn_dprank.ballots.Profile.from_comparisons`). `n_voters` is the number of
        persons. `disagreement` is the mean over all pairs of items of the share of comparisons that contradict the
        true order, where a tie counts one half. `k`, `opinion_share` and `max_listed` do not apply, and `trust` is
        "central".
    exposure_ratio : float or None, default=None
        Only with `comparisons_per_person`: public estimate of the number of comparisons of the item that is compared
        most, divided by that of the item compared least. 1 is for equal numbers. None uses `n_items` for the error,
        which is Zipf's law, and 1 to `n_items` ** 1.3 for its range.
    matched : float or None, default=None
        Only with `comparisons_per_person`: public estimate, at most 0.7, of the share of comparisons whose opponents
        were matched by strength, as in `~sklearn_dprank.datasets.make_comparisons`. 0 is for opponents that do not
        depend on strength. None uses 0.3 for the error, and 0 to 0.6 for its range.

    Returns
    -------
    Recommendation
        The estimator, its error, the reason, and the alternatives.

    Raises
    ------
    ValueError
        If an argument is out of bounds, does not apply to these ballots, or the trust model does not support this
        `delta` or `neighboring`.

    Notes
    -----
    .. rubric:: Privacy

    No ballot is read, so the advice costs no privacy.

    .. rubric:: Candidates

    Under "replace", n epsilon is halved in all limits below.

    * central: `DPBorda` with K-norm and with Laplace noise; `DPPrudentOrder` (3 to 16 items), or with ``window=7``
      (more); `DPPairwise` with Laplace noise (whole orders of 3 to 30 items, without `max_listed`). If `delta` is
      positive, also `DPPrudentOrder` that is peeled (3 to 1,000 items), `DPBorda` and `DPPairwise` with Gaussian noise,
      and `DPSwissBorda` (14 items or more). With `k`, also `DPTopK`.
    * local: `LDPPairwise` with one pair per voter, and `LDPBorda`.
    * shuffle: `ShufflePairwise` with the number K of messages per voter that maximises K tanh^2(local epsilon / 2),
      where the local epsilon is that of one message; and `LDPBorda`, which needs no shuffler.
    * secure aggregation: `SecAggBorda`, and `SecAggSwissBorda` (14 items or more).

    .. rubric:: Choice

    Each candidate has error curves, as a function of the ratio of n to its noise. They were simulated on Mallows,
    Plackett-Luce and mixed votes, with twelve electorates for each of four disagreements and up to ten numbers of
    items. `recommend` chooses the smallest mean error over the estimate, 0.05 less and 0.05 more.
    Without an estimate, it uses disagreements of 0.2, 0.28, 0.35 and 0.42. A mechanism that needs delta must have a 5 %
    smaller error, and one that needs rounds another 5 %. The same penalty applies to an order drawn at n epsilon below
    ln m!, and to `DPTopK` below ln(m! / (m - k)!). Of mechanisms within 1 %, the one with the smaller largest error is
    chosen.

    .. rubric:: Camps

    If voters form three or more camps, majorities can form a cycle. Then `DPBorda`, `LDPBorda`, `SecAggBorda`, the
    Bradley-Terry rule and `DPPrudentOrder` have a floor: an error that no epsilon removes. `DPSwissBorda`,
    `SecAggSwissBorda` and `DPPairwise` have none, but need more voters. Camps have error curves of their own, from 48
    to 192 electorates for each of eight numbers of items: three to five camps, equal and unequal, around random and
    rotated centres. The harder the cycle, the more voters contradict the consensus: five rotated camps of five items
    disagree with it on 40 to 49 % of the pairs, and Borda's order is then as bad as a random one. The curves are
    therefore for 35 and 45 % of the pairs, with weights between them. The upper end of `error_range` includes 95 % of
    these electorates. The choice counts camps, by their floor, as a quarter of the electorates, so of nearly equal
    mechanisms, one without a floor is chosen. `error` does not include camps, which are rare.

    With `k`, there are floors too. On 36 to 72 such electorates for each of seven numbers of items (4 to 45), `DPTopK`
    misses 2 to 16 % of the best k at any epsilon, and `DPBorda` 5 to 33 %. Most electorates have no floor, but in the
    worst 5 to 10 %, mostly one item is missed: in one of twenty, .15 to 1 with k = 1, and .5 to 1.5 items with more.
    The range therefore includes one missed item. The choice does not count it, because `DPTopK` has the smaller floor.

    .. rubric:: Few voters and unequal opinions

    The curves have 5,000 voters with an opinion on every pair. Two corrections were measured on other simulated votes.
    Few voters agree more with their own consensus than with the centre of all, by 2 / (pi n) in the square of 1 - 2
    disagreement. Without noise, Borda's order of few voters has an error of 0.035 / (n (1 - 2 disagreement)), and up to
    three times as much; prudent orders have a third of it. With few voters, more pairs are nearly tied. The error of a
    whole prudent order with little noise is therefore 1 + 40 / (40 + n) times as large. If the share of opinions
    differs between pairs, errors are averaged over shares between the smallest and the largest. Net wins are then
    biased at any epsilon, because items that few ballots rank are placed in the middle. The bias is 2 % of the error of
    a random order, and up to 10 %, per unit of ln(largest share / smallest share). For the best k, it is 12 %, and up
    to 50 %. `DPPrudentOrder` and `DPTopK` do not have this bias; with a window, `DPPrudentOrder` has a third of it, and
    `DPSwissBorda` has half.

    .. rubric:: Limits between candidates

    Without an estimate and a delta, `DPPrudentOrder` is therefore chosen from n epsilon = about 5 ln m! on for 3 to 16
    items, and from .8 to 1 m^2 for more. `DPPairwise` is chosen from 50 to 60 ln m! on, and from about 8 m^2 for 20 and
    30 items: there, errors without camps are nearly equal, and it has no floor. `DPPrudentOrder` is chosen from a third
    to half of its limit on if voters disagree on 15 % of the pairs, from twice the limit on at 40 %, and from three to
    five times the limit on at 45 %. The limit of `DPPairwise` is up to twice as large at 40 %, and two to four times as
    large at 45 %. `DPTopK` is chosen from n epsilon = 1 to 3 ln(m! / (m - k)!) on, where the factor grows with k / m
    (it is 6 for half of 10 items at 40 %). Below, the scores of all items have a smaller error, and the reason states
    it. `DPSwissBorda` has the smallest error for many items, especially if voters agree. If `delta` is positive, it is
    preferred to a peeled order of nearly the same error.

    .. rubric:: Short ballots

    With `max_listed`, the noise is that of short ballots. The curves are those of complete ballots at the share of
    opinions, so they are less precise. On 20 sets of Plackett-Luce votes on 2 or 5 of 20 or 30 items, the expected
    error of `DPBorda` was 0.4 to 1.2 times the measured one, which was always in its range. That of `DPPrudentOrder`
    was up to 25 times the measured one. `DPSwissBorda` and `SecAggSwissBorda` are considered only if a ballot may list
    more than 40 % of the items.

    .. rubric:: Comparisons

    With `comparisons_per_person`, the candidates are `DPBradleyTerry` with ``delta=0`` (one round with Laplace noise)
    and, if `delta` is positive, with this delta (rounds with Gaussian noise). Each person has a `max_weight` of 1. The
    error is the expected share of the pairs of items that are not in their true order, so Kendall's tau to the true
    order is 1 - 2 error. It includes the error of few comparisons without noise. Other errors of `recommend` are an
    excess over a consensus. The reason states the error and tau.

    The error is a formula with seven constants, fitted on 97 sets of generated comparisons: 3 to 300 items, 200 to
    100,000 persons with 1 to 50 comparisons on average, exposures from equal to steeper than Zipf's law, and up to 60 %
    matched opponents. It was confirmed on 118 other sets, each at epsilon = 0.1, 0.3, 1, 3 and 10. With rounds, the
    error was within 25 % of the measured one, or tau within 0.03 of it, in 94 % of these cases. With one round, it was
    in 83 % without matched opponents (97 % up to the error of the measurement), and in 66 % with them: one round does
    not see opponents. On votes of Chatbot Arena (129 models, 2,000 to 80,000 persons), with ``disagreement=0.35``,
    ``exposure_ratio=135`` and ``matched=0.6``, it was in all 20 cases with rounds, and in 11 of 20 with one round.
    Without estimates, the choice averages over shares of matched opponents of 0, 0.3 and 0.6. With or without them, the
    chosen one of both was as good as the other, up to the same tolerance, in 98 % of the cases. If more than 70 % are
    matched, as in a ladder, errors are larger than by the formula.

    .. rubric:: Validation

    The recommendations were validated on real votes that the curves were not made from, by ``judge_recommendations.py``
    of ``tests/benchmarks``. These are 19 data sets with 4 to 100 items (dots and puzzles by Mao et al., two elections,
    one of them also with gaps, SUSHI, JESTER), with 640 recommendations without an estimate. As many had rough
    estimates: the true disagreement and the shares of opinions, rounded to the nearest 0.05. A recommendation is right
    if its error is at most a quarter or 0.001 more than that of the best candidate (for `k`, a quarter or 0.02 of the
    missed share), up to the noise of 8 fits. With an estimate, all were right. Without one, 639 were right. The
    exception is the best six of 12 of JESTER's jokes (0.29 missed, and 0.15 at best).

    Errors of whole orders were in their range in all cases, up to the same noise, and with `k` in 98 %. The largest
    error of a range is 115 times the least without an estimate, and 10 times with one (medians; 10 and 5 times for
    whole orders under "central"). The curves were also judged on simulated electorates of kinds that were left out, see
    the user guide. A range describes electorates like the simulated ones and is not a bound.

    .. rubric:: Not considered, and intervals

    `LDPAdaptivePairs` is not considered, because it must query voters in rounds. It is better than `LDPPairwise` for
    few items or close agreement (two thirds of its error on Mao et al.'s 4 items at epsilon = 2), and worse on JESTER.
    The other mechanisms of the papers were not better on these votes.

    Rank intervals need scores or margins with a known noise distribution. `DPBorda` with Laplace or Gaussian noise,
    `SecAggBorda`, `ShufflePairwise`, `LDPPairwise` and `LDPBorda` publish them. K-norm noise, `DPPrudentOrder`,
    `DPTopK`, `DPSwissBorda` and `SecAggSwissBorda` do not.

    References
    ----------
    Joseph and Yu (2023) for K-norm noise; Asi, Feldman and Talwar (2022) for `LDPBorda`; Balle et al. (2019) for the
    shuffle bound.

    Examples
    --------
    >>> from sklearn_dprank.model_selection import recommend
    >>> advice = recommend(n_items=10, n_voters=1e4, epsilon=0.005)
    >>> advice.estimator
    DPBorda(epsilon=0.005, noise='knorm')
    >>> round(advice.error, 3)
    0.012
    >>> recommend(n_items=10, n_voters=1e4, epsilon=0.05).estimator
    DPPrudentOrder(epsilon=0.05)

    Rank intervals, for a larger error:

    >>> with_intervals = recommend(n_items=10, n_voters=1e4, epsilon=0.005, intervals=True)
    >>> with_intervals.estimator, advice.intervals, with_intervals.intervals
    (DPBorda(epsilon=0.005), False, True)
    >>> round(with_intervals.error, 3)
    0.021

    A leaderboard of 30 items, from 2,000 persons with 10 comparisons each on average:

    >>> leaderboard = recommend(30, 2000, 1.0, 1e-6, comparisons_per_person=10, matched=0)
    >>> leaderboard.estimator.delta, round(1 - 2 * leaderboard.error, 2)  # Kendall's tau
    (1e-06, 0.88)
    """
    of_comparisons = {"exposure_ratio": exposure_ratio, "matched": matched}
    if comparisons_per_person is not None:
        _check_comparisons(comparisons_per_person, trust, **of_comparisons)
        of_ballots = {"k": k, "max_listed": max_listed, "opinion_share": None if opinion_share == 1 else opinion_share}
        _refuse(of_ballots, "does not apply to comparisons", "leave it out.")
    else:
        _refuse(of_comparisons, "describes comparisons", "leave it out, or give comparisons_per_person.")
    relation, shares = _checked(
        n_items, n_voters, epsilon, delta, trust, neighboring, k, disagreement, opinion_share, intervals
    )
    bound = weight_bound(None, None, 1, max_listed)  # checks it
    if bound is not None and shares[0] == shares[1]:
        most = n_pairs(listed(n_items, bound.max_listed)) / n_pairs(n_items)
        shares = min(shares[0], most), min(shares[1], most)
    n, epsilon, delta = float(n_voters), float(epsilon), float(delta)  # estimators would keep single precision
    level = None if disagreement is None else float(disagreement)
    short = None if bound is None or bound.max_listed >= n_items else bound.max_listed  # type: ignore[operator]
    model = ErrorModel(int(n_items), level, None if k is None else int(k), n, shares, short)
    on = f" on a Profile with max_listed={short}" if short is not None and trust == "central" else ""
    reference = "Mallows, Plackett-Luce and mixed votes that contradict their centre on"
    if comparisons_per_person is None:
        chosen, considered, why = _CHOICES[trust](model, epsilon, delta, relation, intervals)
    else:
        leaderboard = Leaderboard(model.n_items, level, n, float(comparisons_per_person), exposure_ratio, matched)
        chosen, considered, why = leaderboard_choice(leaderboard, epsilon, delta, relation)
        bound, on = WeightBound(COMPARISONS, WEIGHT_GRID, 2, "comparisons"), " on a Profile of comparisons"
        reference = "Bradley-Terry comparisons that contradict the true order on"
    ranked = sorted((each.alternative for each in considered if each is not chosen), key=lambda each: each.error)
    tried, refused = [chosen.alternative, *ranked], []
    for best in tried:  # the first that can be fitted
        try:
            shape = Shape(model.n_items, max(1, math.floor(n)), bound=bound if trust == "central" else None)
            best.estimator.plan_for(shape)
            break
        except (ValueError, ArithmeticError) as error:
            refused.append(f"{in_words(best.estimator)}: {error}")
    else:
        raise ValueError(f"no estimator accepts these parameters: {refused[0]}")
    others = tuple(tried[len(refused) + 1 :])
    if refused:
        why = f"what is better by the rules cannot be fitted: {refused[0]}"

    unit = "points" if k is None else "%"
    reason = f"{in_words(best.estimator)}{on}, because {why}."
    if others:
        reason += (
            f" Runner-up: {in_words(others[0].estimator)}, whose typical error is {100 * others[0].error:.2g} against "
            f"{100 * best.error:.2g} {unit}."
        )
    (worst,) = (each.worst for each in considered if each.alternative is best)
    reason += f" The largest error of its range is that of {worst}."
    publishes = publishes_intervals(best.estimator)
    reason += " It publishes rank intervals" if publishes else " It does not publish rank intervals"
    second = next((each for each in others if publishes_intervals(each.estimator)), None)
    if second is not None and not publishes:
        reason += f"; {in_words(second.estimator)} does, with an expected error of {100 * second.error:.2g} {unit}"
    if comparisons_per_person is not None:
        taus = [f"{1 - 2 * error:.2f}" for error in (best.error, *best.error_range[::-1])]
        reason += ". Kendall's tau to the true order is expected to be {}, from {} to {}".format(*taus)
    reference += f" {100 * (REFERENCE if level is None else level):.3g} % of the pairs"
    return Recommendation(best.estimator, best.error, best.error_range, f"{reason}.", others, reference, publishes)


def _check_comparisons(comparisons_per_person, trust, exposure_ratio, matched):
    """Raise ValueError unless these public numbers describe comparisons, and the trust model can use them."""
    check_number(comparisons_per_person, "comparisons_per_person", least=1, most=1e6)
    if exposure_ratio is not None:
        check_number(exposure_ratio, "exposure_ratio", least=1, most=1e6)
    if matched is not None:
        check_number(matched, "matched", least=0, most=MOST_MATCHED)
    check_choice(trust, "trust", _CHOICES)
    if trust != "central":
        raise ValueError(
            f"trust must be 'central' with comparisons_per_person, got {trust!r}. Without a curator, LDPPairwise and "
            "ShufflePairwise rank comparisons with pairs='shown'; no error was measured for them."
        )


def _refuse(arguments, why, remedy):
    """Raise ValueError if one of these arguments is not None."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name} {why}, got {safe_repr(value)}; {remedy}")


def _checked(n_items, n_voters, epsilon, delta, trust, neighboring, k, disagreement, opinion_share, intervals):
    """Return the neighbouring relation, and the smallest and largest share of opinions; check all public inputs."""
    check_whole(n_items, "n_items", 2, _MOST_ITEMS)
    number = isinstance(n_voters, Real) and not isinstance(n_voters, bool)
    if not number or not 0 < n_voters < math.inf:
        raise ValueError(
            f"n_voters must be a positive, finite number; a public estimate will do; got {safe_repr(n_voters)}."
        )
    if n_voters > _MOST_VOTERS:
        raise ValueError(f"n_voters must be at most {_MOST_VOTERS:g}, got more; a public estimate will do.")
    check_epsilon(epsilon)
    check_delta(delta)
    if k is not None:
        check_whole(k, "k", 1, n_items - 1)
    if disagreement is not None:
        check_number(disagreement, "disagreement", least=LEAST_GUESS, most=LARGEST_GUESS)
    ends = opinion_share if isinstance(opinion_share, tuple | list) else (opinion_share, opinion_share)
    if len(ends) != 2:
        raise ValueError(
            f"opinion_share must be a number, or the smallest and the largest share, got {len(ends)} numbers."
        )
    for each in ends:
        check_number(each, "opinion_share", above=0, most=1)
    low, high = map(float, ends)
    if low > high:
        raise ValueError(f"the first share of opinion_share must be at most the second, got {low:g} and {high:g}.")
    check_choice(trust, "trust", _CHOICES)
    if neighboring is not None:
        changed_ballots(neighboring)
    if trust != "central" and neighboring not in (None, "replace"):
        raise ValueError(
            f"neighboring must be 'replace' or None for trust={trust!r}, where the number of voters is public, "
            f"got {neighboring!r}."
        )
    check_flag(intervals, "intervals")
    if trust != "central" and epsilon > _LARGEST_EPSILON:
        raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON:g} for trust={trust!r}, got {epsilon!r}.")
    if trust in ("shuffle", "secure_aggregation") and delta == 0:
        because = "shuffling" if trust == "shuffle" else "the noise that voters add"
        raise ValueError(
            f"delta must be positive for trust={trust!r}, got 0: {because} hides no voter with certainty; set "
            "delta=1e-6, say, or trust='local'."
        )
    return neighboring or ("add_remove" if trust == "central" else "replace"), (low, high)


# One function for each trust model.


def range_of_pick(n_items: int, epsilon: float, delta: float) -> float:
    """Return the range of each pick of a peeled order, within 15 %: many picks lose as much as a Gaussian release."""
    picks = n_items - 1
    # A pick of range r is r^2 / 8-zCDP, and a Gaussian release is 1 / (2 sigma^2)-zCDP.
    return max(epsilon / picks, 2 / (gaussian_sigma(epsilon, delta) * math.sqrt(picks)))


def central_choice(
    model: ErrorModel, epsilon: float, delta: float, neighboring: Neighboring, intervals: bool
) -> Choice:
    """Return the choice for the central model: Borda with several noises, drawn orders, Swiss rounds or the best k."""
    m, n, k = model.n_items, model.n_voters, model.k
    summed = n * epsilon / (2 if neighboring == "replace" else 1)  # signal of drawn orders and of K-norm noise
    orders = math.lgamma(m + 1)  # logarithm of the number of orders; with a smaller signal, an order is nearly random
    sensitivity = NetWins().sensitivity(m, neighboring, model.max_listed)
    common: dict[str, Any] = {"epsilon": epsilon, "neighboring": neighboring}
    # Estimator, family of its curves, signal, and number of disadvantages (see `WORTH_MORE`).
    table: list[tuple[Any, str, float, int]] = []
    if k is not None:
        ways = orders - math.lgamma(m - k + 1)  # logarithm of the number of ordered choices of the best k
        table.append((DPTopK(k, **common), "top", summed / ways, summed < ways))
    if m > _MOST_PRUDENT_ITEMS:
        table.append((DPPrudentOrder(window=7, **common), "two_stage", summed / m**2, summed < orders))
    elif m > 2:  # of 2 items, the only margin equals the net wins, and K-norm noise has the same law
        table.append((DPPrudentOrder(**common), "prudent", summed / orders, summed < orders))
    if delta > 0 and 2 < m <= _MOST_PEELED_ITEMS:
        signal = summed / epsilon * range_of_pick(m, epsilon, delta) / math.log(m)
        table.append((DPPrudentOrder(delta=delta, **common), "peeled", signal, 1 + (signal < 1)))
    gauge = float(NetWins().sensitivity(m, "add_remove", model.max_listed).gauge)  # type: ignore[arg-type]
    table.append((DPBorda(noise="knorm", **common), "knorm", summed / m / gauge, 0))
    # Net wins range twice as wide as ranks, in which the curves count noise.
    table.append((DPBorda(**common), "gaussian", 2 * n * m / (math.sqrt(2) * sensitivity.l1 / epsilon), 0))
    moved = AllMargins().sensitivity(m, neighboring)
    # Short ballots have few opinions on a pair: their own consensus is nearer to margins, the true order to net wins.
    if pairwise := k is None and model.max_listed is None and 2 < m <= _MOST_MARGIN_ITEMS:
        signal = 2 * n * math.sqrt(m) / (math.sqrt(2) * float(moved.l1) / epsilon)
        table.append((DPPairwise(**common), "margins", signal, 0))
    if delta > 0:
        if pairwise:
            signal = 2 * n * math.sqrt(m) / gaussian_sigma(epsilon, delta, math.sqrt(moved.l2_squared))
            table.append((DPPairwise(delta=delta, noise="gaussian", **common), "margins", signal, 1))
        signal = 2 * n * m / gaussian_sigma(epsilon, delta, math.sqrt(sensitivity.l2_squared))
        table.append((DPBorda(delta=delta, noise="gaussian", **common), "gaussian", signal, 1))
        if model.swiss_pays:
            table.append((DPSwissBorda(delta=delta, **common), "swiss", signal, 2))
    considered = [model.consider(*row) for row in table if publishes_intervals(row[0]) or not intervals]
    chosen = preferred(considered)
    halved = " / 2 (neighboring='replace')" if neighboring == "replace" else ""
    scale, unit = (orders, "ln m!") if m <= _MOST_PRUDENT_ITEMS else (m**2, "m^2")
    shown = [f"{x:,.0f}" if x >= 100 else f"{x:.3g}" for x in (summed, summed / scale)]
    why = f"with n epsilon{halved} = {shown[0]} ({shown[1]} {unit} for m = {m} items)"
    why += f" and delta = {delta:g}" if delta else ""
    why += f" {_criterion(model, intervals)}"
    if k is not None and not intervals and chosen is not considered[0]:
        top, best = considered[0].alternative.error, chosen.alternative.error
        why += f"; DPTopK does not pay here: it is expected to miss {100 * top:.2g} %, not {100 * best:.2g} %"
    return chosen, considered, why


def _criterion(model, intervals=False):
    """Return the criterion of the choice in words."""
    what = "expected error" if model.k is None else f"expected share of the best {model.k} that it misses"
    where = (
        "voters who contradict their centre on 20 to 42 % of the pairs"
        if model.disagreement is None
        else f"voters who contradict their centre on about {100 * model.disagreement:.3g} % of the pairs"
    )
    among = " of those that publish rank intervals," if intervals else ""
    groups = ", a quarter of them in groups that disagree" if model.k is None else ""
    return f"its {what} is the least{among} on average over {where}{groups}"


def local_choice(model: ErrorModel, epsilon: float, *_: Any) -> Choice:
    """Return the choice for the local model: one pair per voter, or the whole vector of ranks."""
    one_pair = _pairs(model, LDPPairwise(epsilon=epsilon), model.n_voters * math.tanh(epsilon / 2) ** 2)
    considered = [one_pair, _rank_vector(model, model.n_voters, epsilon)]
    if model.n_items == 2:
        return one_pair, considered, "there is one pair, and randomized response is optimal for it"
    return preferred(considered), considered, f"with epsilon = {epsilon:g} {_criterion(model)}"


def shuffle_choice(model: ErrorModel, epsilon: float, delta: float, *_: Any) -> Choice:
    """Return the choice for the shuffle model: `ShufflePairwise`, or `LDPBorda` if shuffling helps too little."""
    n_reports = max(1, math.floor(model.n_voters))
    vector = _rank_vector(model, n_reports, epsilon)
    considered, chosen, answers = [vector], vector, 0.0  # answers of the chosen one
    for messages in _MESSAGES:
        if messages > n_pairs(model.n_items) or answers > _ENOUGH * model.n_items:
            break
        more = n_reports * worth(epsilon, min(n_reports, _MOST_REPORTS), delta, messages)
        estimator = ShufflePairwise(epsilon=epsilon, delta=delta, n_queries=messages, min_reports=n_reports)
        considered.append(_pairs(model, estimator, more))
        if more < 1.05 * answers:  # too little gain for more messages
            break
        chosen, answers = considered[-1], more
    if vector.judged < chosen.judged:
        return vector, considered, f"among {n_reports} reports the shuffler adds too little to epsilon = {epsilon:g}"
    messages = chosen.alternative.estimator.n_queries
    many = f"{messages} message{'s' * (messages > 1)}"
    why = f"with {n_reports} reports, epsilon = {epsilon:g} and delta = {delta:g}, {many} a voter carry most"
    return chosen, considered, why


def _pairs(model, estimator, answers):
    """Return an estimator from this many truthful answers about random pairs, and its error."""
    # A margin over n is estimated with variance v = C(m, 2) / answers, independently of the others. Two net wins then
    # differ with variance 2 m v, as with independent noise of variance m v, so the signal is 2 m / sqrt(m v).
    return model.consider(estimator, "pairs", math.sqrt(8 * answers / (model.n_items - 1)))


def _rank_vector(model, n_voters, epsilon):
    """Return `LDPBorda` and its error."""
    # The noise is the mean square of a report less that of its net wins. It stays in the sum-zero space, where the
    # same noise per item means m / (m - 1) times as much between two items.
    m, short = model.n_items, model.max_listed
    own = wins_moved([m], listed(m, short))[1] / m
    square = PrivUnitG.variance(PrivUnitG(short).protocol(epsilon, m)) - own
    noise = math.sqrt(square / n_voters * m / (m - 1)) / (2 * m)
    return model.consider(LDPBorda(epsilon=epsilon, max_listed=short), "gaussian", 1 / noise)


def worth(epsilon: float, n_reports: int, delta: float, n_queries: int) -> float:
    """Return the number of truthful answers that one voter's K shuffled messages equal, K tanh^2(local epsilon / 2)."""
    if n_reports < 2:
        return n_queries * math.tanh(epsilon / n_queries / 2) ** 2
    return n_queries * math.tanh(message_epsilon_for(epsilon, n_reports, delta, n_queries) / 2) ** 2


def secure_choice(model: ErrorModel, epsilon: float, delta: float, _: Neighboring, intervals: bool) -> Choice:
    """Return the choice for secure aggregation: net wins of all items, summed once or in Swiss rounds."""
    m, n_reports = model.n_items, max(1, math.floor(model.n_voters))
    common: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "min_reports": n_reports}
    common |= {} if model.max_listed is None else {"max_listed": model.max_listed}
    table: list[tuple[Any, str]] = [(SecAggBorda(**common), "gaussian")]
    if model.swiss_pays and not intervals:
        table.append((SecAggSwissBorda(**common), "swiss"))
    moved = NetWins().sensitivity(m, "replace", model.max_listed).l2_squared
    considered = []
    for costs, (estimator, family) in enumerate(table):
        try:
            _, plan = estimator.plan_for(Shape(m, n_reports))
        except (ValueError, ArithmeticError):  # `recommend` will say why
            signal = 0.0
        else:
            price = next(each for each in plan.prices.values() if each.epsilon)  # all with noise have the same unit
            # The noise of one sum of net wins for the whole budget: answers with a share of it have more.
            share = float(price.epsilon * price.times) / estimator.epsilon
            rate = float(price.mechanism.rate) * share * float(moved / price.sensitivity.l2_squared)
            signal = 2 * n_reports * m / math.sqrt(2 * rate * n_reports)
        considered.append(model.consider(estimator, family, signal, costs))
    chosen = preferred(considered)
    why = f"with {n_reports} honest voters, epsilon = {epsilon:g} and delta = {delta:g} {_criterion(model, intervals)}"
    if chosen is not considered[0]:
        why += "; it asks voters in rounds, SecAggBorda once"
    return chosen, considered, why


_CHOICES = {
    "central": central_choice,
    "local": local_choice,
    "shuffle": shuffle_choice,
    "secure_aggregation": secure_choice,
}
