"""Bradley-Terry and Markov chain rules for answers about pairs, in one round or in several."""

from __future__ import annotations

from functools import partial
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv, dpotrf, dpotri
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from threadpoolctl import threadpool_limits

from .._utils.checks import check_number, check_parameters, check_whole
from .._utils.estimators import parametrized
from ..orders.kemeny import majority_components
from ..queries import AllMargins, Ask, PairTallies, Tallies, estimated_margins
from ..queries.comparisons import PairOutcomes
from .base import Consensus, Rule, descending
from .swiss import conjugate_gradients

_STEPS = 500  # limit on Newton steps; 5 to 50 are usual
_SETTLED, _ROUNDING = 1e-8, 1e-6  # step sizes: below the first, or below the second and not shrinking, the search ends
_NOISE = 1e-13  # rounding error of a loss, relative to its value and to the number of answers
_DECIMALS = 9  # decimals of strengths, so that rounding errors do not order equal items
_FAR, _LEAST = 700.0, 1e-300  # bounds of differences of strengths and of probabilities, so that all logs are finite
_FULL = 0.45  # share of ordered pairs with answers from which on matrices are faster than lists of pairs
_MANY = 64  # items from which a dense solve by BLAS would start threads, which wait for each other on busy cores
_MOST_ERRORS = 2000  # items with standard errors, which need the inverse of a matrix
_SOLVED, _SOLVER_STEPS = 1e-12, 1000  # tolerance and step limit of conjugate gradients; about 30 steps are usual


@parametrized
class BradleyTerryRule(Rule):
    """Rule that sorts items by Bradley-Terry strengths, fitted to answers that devices may have flipped.

    Let f be the probability that the voter's device flips an answer. The answer states that i is before j with
    probability f + (1 - 2f) / (1 + exp(s_j - s_i)). The strengths s maximise the log-likelihood minus ``ridge`` / 2
    times their sum of squares.

    Parameters
    ----------
    ridge : float, default=0.01
        Weight of the penalty. It keeps strengths finite if some items never win or never lose.

    Notes
    -----
    The rule is post-processing, so it costs no privacy to decode the same reports better. With fewer than three answers
    per pair, sorting by net wins is as good.

    Examples
    --------
    >>> from sklearn_dprank.rules import BradleyTerryRule
    >>> str(BradleyTerryRule().asks(3)[0].query)
    'PairTallies'
    """

    ridge: float = 0.01

    parameter_checks = {"ridge": partial(check_number, above=0, most=1e100)}

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(PairTallies())]

    def aggregate(self, answers: Any) -> Consensus:
        strengths = bradley_terry_strengths(answers.answer(PairTallies()), self.ridge)
        return Consensus(descending(strengths, answers))


def bradley_terry_strengths(tallies, ridge):
    """Return the penalised maximum-likelihood strengths, centred and rounded to nine decimals, shape (n_items,)."""
    # Only for a loss with one optimum: of several, rounding errors could decide which one is found.
    unflipped = all(flip == 0 and wins.min() >= 0 for flip, wins in tallies)
    answered = np.count_nonzero(sum(wins for _, wins in tallies))
    loss = AllPairsLoss if unflipped and answered >= _FULL * tallies[0].wins.size else PairLoss.of
    return newton(loss(tallies, float(ridge)), estimated_margins(tallies).mean(axis=1) * 2).round(_DECIMALS)


@parametrized
class OutcomesRule(Rule):
    """Rule of `BradleyTerry`: publishes the strengths of exact outcomes, and their standard errors for comparisons.

    Examples
    --------
    >>> OutcomesRule().asks(3)[0].query
    PairOutcomes()
    """

    ridge: float = 0.01

    parameter_checks = BradleyTerryRule.parameter_checks

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(PairOutcomes())]

    def aggregate(self, answers: Any) -> Consensus:
        m, (i, j, one_way) = answers.n_items, answers.answer(PairOutcomes())
        pairs, place = np.unique(np.minimum(i, j) * m + np.maximum(i, j), return_inverse=True)
        wins = np.array([np.bincount(place, one_way * each, len(pairs)) for each in (i < j, i > j)])
        i, j = np.divmod(pairs, m)  # each pair once, i < j, and how often i and how often j won
        if 2 * len(i) >= _FULL * m * m:
            table = np.zeros((m, m))
            table[i, j], table[j, i] = wins
            strengths = bradley_terry_strengths((Tallies(0.0, table),), self.ridge)
        else:
            margins = (wins[0] - wins[1]) / wins.sum(axis=0)
            start = (np.bincount(i, margins, m) - np.bincount(j, margins, m)) * 2 / m
            strengths = newton(PairLoss(m, i, j, [(0.0, wins)], float(self.ridge)), start).round(_DECIMALS)
        published = {"strengths": strengths}
        _warn_of_groups(i, j, m)
        if answers.paired and m <= _MOST_ERRORS:
            published["strength_std"] = standard_errors(i, j, wins.sum(axis=0), strengths, self.ridge)
        return Consensus(descending(strengths, answers), published)


def _warn_of_groups(i, j, m):
    """Warn if some items are not connected by answers, directly or through others."""
    n_groups, _ = connected_components(csr_array((np.ones(len(i)), (i, j)), shape=(m, m)), directed=False)
    if n_groups > 1 and len(i):
        n_alone = m - len(np.union1d(i, j))
        warn(
            f"the items fall into {n_groups} groups that no comparison connects (items without comparisons: "
            f"{n_alone}), so the order between groups means nothing. Add comparisons between the groups, or fit each "
            "group by itself.",
            stacklevel=6,  # the caller of `fit`
        )


def standard_errors(i, j, n, strengths, ridge):
    """Return the standard errors of centred strengths from n comparisons of each pair, shape (n_items,).

    The observed information about i and j is H[i, j] = -n p (1 - p), with p = 1 / (1 + exp(s_j - s_i)), and its rows
    sum to `ridge`. The variances are the diagonal of its inverse on the vectors with sum 0.
    """
    m = len(strengths)
    p = expit(strengths[i] - strengths[j])
    information = np.zeros((m, m))
    information[i, j] = information[j, i] = -n * p * (1 - p)
    information[np.diag_indices(m)] = ridge - information.sum(axis=1)
    constant = np.trace(information) / m  # of the direction of equal strengths, whose eigenvalue is `ridge`
    with threadpool_limits(1, "blas"):  # threads would wait for each other on busy cores
        inverse, _ = dpotri(dpotrf(information + constant / m)[0])
    return np.sqrt(np.diag(inverse) - 1 / (m * (ridge + constant))).round(_DECIMALS)


def newton(loss, s):
    """Return the centred strengths, shape (n_items,), of the minimum of the loss that Newton steps reach from `s`.

    Levenberg damping: if the curvature is not positive definite, `lift` is added to its diagonal until it is.
    """
    s = s - s.mean()
    (value, slope, bend), lift, before = loss(s), 0.0, np.inf
    for _ in range(_STEPS):
        diagonal = bend.sum(axis=1) + loss.ridge
        steepest = np.abs(diagonal).max()
        lift = lift / 4 if lift > 1e-3 * steepest else 0.0
        while (step := _solution(bend, diagonal + lift, slope)) is None:
            lift = max(4 * lift, 1e-2 * steepest)
        size, length, decrease = np.abs(step).max(), 1.0, slope @ step
        noise = _NOISE * (abs(value) + loss.n_answers)
        if size < _SETTLED:
            s = s - step
            break
        while (then := loss(there := s - length * step))[0] > value - 1e-4 * length * decrease + noise:
            length /= 2
        s, (value, slope, bend) = there, then
        if before <= size < _ROUNDING:
            break
        before = size
    return s - s.mean()


def _solution(bend, diagonal, right):
    """Return the x of (diagonal matrix - bend) x = right, or None if that matrix is not positive definite."""
    if len(right) < _MANY:
        matrix = -bend
        matrix.flat[:: len(right) + 1] = diagonal
        _, x, failed = dposv(matrix, right)
        return None if failed else x
    if diagonal.min() <= 0:
        return None

    def product(x):  # without BLAS, whose threads wait for each other on busy cores
        return diagonal * x - (np.einsum("ij,j->i", bend, x) if isinstance(bend, np.ndarray) else bend @ x)

    return conjugate_gradients(product, diagonal, right, _SOLVED, _SOLVER_STEPS)


class PairLoss:
    """Minus the log-likelihood of strengths s, shape (n_items,), plus ``ridge`` / 2 times their sum of squares.

    A call returns the loss, its centred gradient, and the curvature: a symmetric matrix ``bend`` with zero diagonal.
    The second derivatives are ``-bend`` beside the diagonal, and their rows sum to ``ridge``. The sums are over the
    pairs i, j that have answers. ``counts`` has, for each flip probability, the numbers of answers that put i first and
    that put j first, shape (2, n_pairs). Noisy counts may be negative.

    Examples
    --------
    >>> from sklearn_dprank.queries import Tallies
    >>> loss = PairLoss.of((Tallies(0.0, np.array([[0, 3], [1, 0]])),), ridge=0.5)
    >>> value, slope, bend = loss(np.zeros(2))
    >>> round(float(value / np.log(2)), 9), slope.tolist(), bend.tolist()
    (4.0, [-1.0, 1.0], [[0.0, 1.0], [1.0, 0.0]])
    """

    def __init__(self, n_items, i, j, counts, ridge):
        self._m, self._i, self._j, self._counts, self.ridge = n_items, i, j, counts, ridge
        self.n_answers = sum(np.abs(count).sum() for _, count in counts)

    @classmethod
    def of(cls, tallies, ridge):
        """Return the loss of tallies."""
        answered = np.logical_or.reduce([wins != 0 for _, wins in tallies])
        i, j = np.nonzero(np.triu(answered | answered.T, 1))
        counts = [(flip, np.array([wins[i, j], wins[j, i]], dtype=float)) for flip, wins in tallies]
        return cls(len(answered), i, j, counts, ridge)

    def __call__(self, s):
        odds = np.exp(np.minimum(s[self._j] - s[self._i], _FAR))
        ahead = 1 / (1 + odds)
        chance = np.array([ahead, odds * ahead])  # of i before j, and of j before i; small ones keep all digits
        spread, value, pull, bend = chance[0] * chance[1], self.ridge / 2 * (s @ s), 0.0, 0.0
        for flip, count in self._counts:
            probability = np.maximum(flip + (1 - 2 * flip) * chance, _LEAST)
            value -= (count * np.log(probability)).sum()
            rise = (1 - 2 * flip) * spread / probability  # derivative of log(probability) by the winner's strength
            pulls = count * rise
            pull, bend = pull + pulls[0] - pulls[1], bend + (pulls * rise).sum(axis=0)
        bend += (chance[0] - chance[1]) * pull
        slope = self.ridge * s - np.bincount(self._i, pull, self._m) + np.bincount(self._j, pull, self._m)
        if self._m >= _MANY:  # sparse for many items
            upper = csr_array((bend, (self._i, self._j)), shape=(self._m, self._m))
            table: Any = upper + upper.T
        else:
            table = np.zeros((self._m, self._m))
            table[self._i, self._j] = table[self._j, self._i] = bend
        return value, slope - slope.sum() / self._m, table


class AllPairsLoss:
    """`PairLoss` of answers that are not flipped, in matrices; it needs only one exponential for each item."""

    def __init__(self, tallies, ridge):
        self._wins, self.ridge = sum(wins for _, wins in tallies).astype(float), ridge
        self._answers, self.n_answers = self._wins + self._wins.T, self._wins.sum()

    def __call__(self, s):
        if np.ptp(s) < _FAR:
            odds = np.exp(s - s.max())
            chance = odds[:, np.newaxis] / (odds[:, np.newaxis] + odds)  # of the row's item before the column's
        else:
            chance = np.maximum(expit(s[:, np.newaxis] - s), _LEAST)
        value = self.ridge / 2 * (s @ s) - (self._wins * np.log(chance)).sum()
        pull = self._wins * chance.T
        slope = self.ridge * s - (pull - pull.T).sum(axis=1)
        return value, slope - slope.mean(), self._answers * chance * chance.T


_MOST_ROUNDS = 1000  # each round solves for all strengths


@parametrized
class AdaptiveBradleyTerryRule(Rule):
    """Bradley-Terry rule in rounds; after the first, it asks only about pairs that are close in the current order.

    Parameters
    ----------
    n_rounds : int, default=4
        Number of rounds, at most 1,000; each asks its share of the voters. After the first, questions are about pairs
        at most max(2, floor(m / 6)) ranks apart.
    ridge : float, default=0.01
        Weight of the penalty, as in `BradleyTerryRule`.

    Examples
    --------
    >>> from sklearn_dprank.rules import AdaptiveBradleyTerryRule
    >>> AdaptiveBradleyTerryRule().asks(10)[0].times
    4
    """

    n_rounds: int = 4
    ridge: float = 0.01

    parameter_checks = {
        "n_rounds": partial(check_whole, most=_MOST_ROUNDS),
        "ridge": BradleyTerryRule.parameter_checks["ridge"],
    }

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(PairTallies(), times=int(self.n_rounds))]

    def aggregate(self, answers: Any) -> Consensus:
        reach = max(2, answers.n_items // 6)
        pairs: tuple[tuple[int, int], ...] | None = None
        total: dict[float, NDArray[Any]] = {}  # by flip probability
        for number in range(self.n_rounds):
            for flip, wins in answers.answer(PairTallies(pairs, number)):
                total[flip] = total.get(flip, 0) + wins
            tallies = tuple(Tallies(flip, wins) for flip, wins in total.items())
            order = descending(bradley_terry_strengths(tallies, self.ridge), answers)
            # The pairs (i, j), i < j, of items at most `reach` ranks apart.
            gaps = range(1, min(reach, len(order) - 1) + 1)
            ahead, behind = (np.concatenate(ends) for ends in ([order[:-g] for g in gaps], [order[g:] for g in gaps]))
            pairs = tuple(zip(np.minimum(ahead, behind).tolist(), np.maximum(ahead, behind).tolist(), strict=True))
        return Consensus(order)


# Markov chain rule MC4.

_EQUAL = 1e-9  # log probabilities that differ by less are equal, so that rounding errors do not order items


class MarkovChainRule(Rule):
    """Rule MC4 of Dwork et al. (2001): sorts items by the probabilities of a random walk to preferred items.

    Each step picks one of the m items at random. The walk moves to it if more voters prefer it to the present item than
    the other way round, and stays otherwise.

    Notes
    -----
    The walk ends in a set of items that are not beaten from outside. It gives no order of the other items. As Dwork et
    al. propose, these items come first and are removed, and a new walk starts among the rest. Ties can leave several
    sets in which the walk may end. They are sorted by the probability of ending there from a random item. Within each
    set, items are sorted by the stationary distribution. Equal probabilities are a tie.

    So each item is above all items that it beats, directly or through others, and that do not beat it in the same way.
    A Condorcet winner is first, and a transitive majority order is the consensus. The sizes of majorities do not
    matter. Probabilities are computed by elimination without subtractions, to the last digits. No walk is simulated.

    References
    ----------
    Dwork, Kumar, Naor and Sivakumar (2001), MC4; Hay, Elagina and Miklau (2017), Section 7, compare with it. Grassmann,
    Taksar and Heyman (1985) for the elimination.

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.channels import Central
    >>> votes = [[0, 1, 2], [0, 1, 2], [2, 0, 1]] * 60
    >>> Aggregator(rule="markov_chain").fit(votes).consensus_
    array([0, 1, 2])
    >>> Aggregator(Central(epsilon=1.0), "markov_chain", random_state=0).fit(votes).consensus_
    array([0, 1, 2])
    """

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(AllMargins())]

    def aggregate(self, answers: Any) -> Consensus:
        priority = answers.tie_break()
        margins = answers.answer(AllMargins())
        beats = margins > 0
        parts = majority_components(margins)
        rounds = np.zeros(len(beats), dtype=int)  # walks before each item is removed: the longest path above it
        for part in parts:  # components that beat this one come before it
            above = beats[:, part].any(axis=1)
            above[part] = False
            rounds[part] = 1 + rounds[above].max(initial=-1)
        order: list[int] = []
        for number in range(rounds.max() + 1):
            ends = [part for part in parts if rounds[part[0]] == number]
            chances = _places(_chances_of_ends(beats, ends, np.flatnonzero(rounds > number)))
            for k in np.lexsort(([priority[end].min() for end in ends], chances)):
                end = ends[k][np.argsort(beats[np.ix_(ends[k], ends[k])].sum(axis=0), kind="stable")]
                within = log_stationary(beats[np.ix_(end, end)].T)
                order += end[np.lexsort((priority[end], _places(within)))].tolist()
        return Consensus(np.array(order))


def _chances_of_ends(beats, ends, others):
    """Return the log probabilities, up to a constant, that a walk from a random item ends in each component of `ends`.

    A walk that starts again at a random item after each end is at the ends in proportion to these probabilities.
    """
    if len(ends) == 1:
        return np.zeros(1)
    others = others[np.argsort(beats[:, others].sum(axis=0), kind="stable")]
    n_ends = len(ends)
    moves = np.zeros((1 + n_ends + len(others),) * 2)  # states: the start, the ends, the other items
    moves[0, 1 : 1 + n_ends], moves[0, 1 + n_ends :] = [len(end) for end in ends], 1
    moves[1 : 1 + n_ends, 0] = 1
    moves[1 + n_ends :, 1 : 1 + n_ends] = np.transpose([beats[end][:, others].sum(axis=0) for end in ends])
    moves[1 + n_ends :, 1 + n_ends :] = beats[np.ix_(others, others)].T
    return log_stationary(moves)[1 : 1 + n_ends]


def _places(chances):
    """Return the places of items by descending probability, 0 first; nearly equal items share a place."""
    falling = np.argsort(-chances)
    places = np.empty(len(chances), dtype=int)
    places[falling] = np.append(0, np.cumsum(-np.diff(chances[falling]) > _EQUAL))
    return places


def log_stationary(moves: Any) -> NDArray[np.float64]:
    """Return the log stationary distribution of an irreducible chain, shape (k,), up to a constant.

    It is 0 for the first state. ``moves[i, j]`` is the rate of moving from state i to state j. The diagonal is ignored.
    The elimination is fastest if the first states are likely. Each probability has a small relative error, even below
    the range of doubles. Only products of rates below 1e-300 are lost.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.rules.bradley_terry import log_stationary
    >>> np.exp(log_stationary([[0, 1], [4, 0]]))
    array([1.  , 0.25])
    """
    # Elimination by Grassmann, Taksar and Heyman, without subtractions. Each eliminated state moves directly to a
    # remaining one, so that no divisor is small.
    flow = np.asarray(moves, dtype=float)
    order, waiting = [0], np.arange(len(flow)) > 0
    for state in order:  # `order` grows meanwhile
        near = np.flatnonzero(waiting & (flow[:, state] > 0))
        order += near.tolist()
        waiting[near] = False
    flow = flow[np.ix_(order, order)]
    for state in range(len(flow) - 1, 0, -1):
        leaves = flow[state, :state].sum()
        into = np.flatnonzero(flow[:state, state])
        flow[into, state] /= leaves
        flow[into, :state] += np.outer(flow[into, state], flow[state, :state])
    found = np.zeros(len(flow))
    for state in range(1, len(flow)):
        into = np.flatnonzero(flow[:state, state])
        found[state] = np.logaddexp.reduce(found[into] + np.log(flow[into, state]), initial=-1e300)
    out = np.empty(len(flow))
    out[order] = found
    return out
