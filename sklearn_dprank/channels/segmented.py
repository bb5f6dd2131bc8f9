"""Segments: one consensus for each public segment of the voters, such as the regions of a survey."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, ClassVar, NamedTuple, Never, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, softmax
from sklearn.utils.validation import check_is_fitted

from .._utils.checks import (
    changed_ballots,
    check_delta,
    check_flag,
    check_number,
    check_parameters,
    check_whole,
    refuse_unknown,
    safe_repr,
)
from .._utils.estimators import available_if, parametrized
from .._utils.types import Amount, Neighboring, NoiseName, RandomState
from ..ballots.profile import Ballots, Profile, as_profile
from ..ballots.reading import check_aligned, checked_name, is_frame, normal, plain_list, seen, shape_of
from ..ballots.weights import COMPARISON, COMPARISONS, ROWS, WeightBound
from ..metrics import average_kendall_tau
from ..privacy import PrivacyGuarantee
from ..queries import Ask
from ..queries.base import Query, Sensitivity
from ..queries.scores import NetWins
from ..queries.statistics import listed, wins_moved
from ..rules import SortByScore
from ..rules.base import Consensus, Rule, descending
from ..uncertainty.laws import Of
from .base import RankAggregator, checked_of, noise_is_known
from .central import Central


class SegmentedProfile(Profile):
    """Profile whose ballots are also counted by segment.

    Attributes
    ----------
    parts : list of Profile
        Profile of each segment, with the weights that its ballots have in the whole profile. Weights of one person are
        clipped over all ballots, so they add up to at most the bound over all segments together.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.channels.segmented import SegmentedProfile
    >>> votes = Profile.from_rankings([[0, 1, 2], [2, 1, 0], [0, 1, 2]])
    >>> [part.n_voters for part in SegmentedProfile(votes, np.array([1, -1, 1]), 2).parts]
    [0, 2]
    """

    def __init__(self, profile: Profile, numbers: NDArray[np.intp], n_segments: int) -> None:
        vars(self).update(profile.__getstate__())
        self._whole, self._numbers = profile, numbers
        self.parts = [profile.take(np.flatnonzero(numbers == segment)) for segment in range(n_segments)]

    def bounded(self, bound: WeightBound) -> SegmentedProfile:
        """Return this profile with the bound that a fit has chosen: persons are clipped first, and split later."""
        return SegmentedProfile(self._whole.bounded(bound), self._numbers, len(self.parts))


def segment_numbers(segments: Any, classes: list[Any], n_voters: int) -> NDArray[np.intp]:
    """Return the index in `classes` of each ballot's label, and -1 for a missing label or one that is not listed.

    Raise ValueError unless `segments` lists one label for each ballot. Its contents never raise an error.

    Examples
    --------
    >>> segment_numbers(["south", None, "north", "moon"], ["north", "south"], 4)
    array([ 1, -1,  0, -1])
    """
    not_a_list = isinstance(segments, (str, bytes, Mapping, set, frozenset)) or is_frame(segments)
    if not_a_list or not hasattr(type(segments), "__len__"):  # `guarantee_before` would use up an iterator
        raise ValueError(f"segments must list one label for each ballot, got a {type(segments).__name__}.")
    if getattr(segments, "ndim", 1) != 1:  # the rows of a table would be labels that nobody lists
        raise ValueError(f"segments must have one dimension, got {segments.ndim}; pass one column.")
    labels = plain_list(segments)
    if len(labels) != n_voters:
        raise ValueError("segments must hold one label for each ballot, and has another length.")
    listed = {label: number for number, label in enumerate(classes)}
    numbers = np.full(n_voters, -1, dtype=np.intp)
    for ballot, label in enumerate(labels):
        with suppress(TypeError):  # labels that cannot be hashed are not listed
            numbers[ballot] = listed.get(normal(label) if isinstance(label, str) else label, -1)
    return numbers


# Queries about public segments of the voters: net wins and sizes.


@dataclass(frozen=True)
class SegmentNetWins(Query):
    """Net wins of every segment, or of all segments together.

    A ballot is in at most one segment, so it changes the net wins of all segments as much as those of one. Let r be the
    largest L2 norm of its net wins. If a replaced ballot stays in its segment, the squared L2 norm of the change is at
    most (2 r)^2. If the ballot moves to another segment, it is at most 2 r^2. The L1 norm, and the sum of the segments'
    gauges, are at most twice those of one ballot in both cases.

    Parameters
    ----------
    n_segments : int, default=2
        Number of segments.
    together : bool, default=False
        Whether to add up the net wins of all segments.
    """

    n_segments: int = 2
    together: bool = False
    published_always = True

    def __post_init__(self):
        check_whole(self.n_segments, "n_segments")
        check_flag(self.together, "together")

    @property
    def in_words(self) -> str:  # type: ignore[override]
        """What is asked, in the plain words of privacy statements."""
        return f"the net wins of each item in {'all segments together' if self.together else 'each segment'}"

    @property
    def published_as(self) -> str | None:  # type: ignore[override]
        """Name of the noisy net wins of the segments; their total is not published."""
        return None if self.together else "net_wins"

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        wins = np.array([part.net_wins for part in profile.parts])
        return wins.sum(axis=0) if self.together else wins.ravel()

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return vector if self.together else vector.reshape(self.n_segments, n_items)

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        return NetWins().sensitivity(n_items, neighboring, max_listed)


@dataclass(frozen=True)
class SegmentSizes(Query):
    """Number of ballots in every segment, or the sum of their weights.

    Under "replace", a ballot may move from one segment to another. So the sizes are private under both relations,
    although the number of all voters is not.

    Parameters
    ----------
    n_segments : int, default=2
        Number of segments.
    """

    n_segments: int = 2
    in_words = "the number of voters in each segment"

    def __post_init__(self):
        check_whole(self.n_segments, "n_segments", 2)

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return np.array([part.total_weight for part in profile.parts], dtype=np.int64)

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        change = changed_ballots(neighboring)
        return Sensitivity(change, Fraction(change))


# Pooled estimates of segments: a normal model with a shared mean, averaged over unknown variances and sizes.

# Signal / largest variance, part of the signal that differs between segments, and completeness of the ballots.
_GRID = np.array(list(product(0.25 ** np.arange(8), [0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 1], 16.0 ** -np.arange(4)))).T
_SCALES, _POINTS = 32, 64  # grid points of the common scale of sizes, and of each size
_FIRST, _DRAWS = 16, 128  # draws of the sampler that are left out, and that count


class Pooled(NamedTuple):
    """Estimates of all segments.

    Attributes
    ----------
    means : ndarray of float, shape (n_segments, n_items)
        Estimated mean net wins of one voter.
    own_weights : ndarray of float, shape (n_segments,)
        Share of the deviation from the shared mean that an estimate keeps of the segment's own noisy mean, from 0 to 1.
    std : ndarray of float, shape (n_segments,)
        Posterior standard deviation of each of these means.
    """

    means: NDArray[np.float64]
    own_weights: NDArray[np.float64]
    std: NDArray[np.float64]


def _parts(sizes, variances, own, total, noise):
    """Return D, K, 1 - K, v, C, M and r for known sizes and variances t^2 and c; `pooled` explains the symbols."""
    between, within = variances
    spread = between[:, np.newaxis] + within[:, np.newaxis] / sizes  # a
    diagonal = sizes**2 * spread + noise[0] ** 2
    kept, lost = sizes**2 * spread / diagonal, noise[0] ** 2 / diagonal
    left = spread * lost
    corner, seen = noise[1] ** 2 + (sizes**2 * left).sum(axis=1), (sizes * lost).sum(axis=1)
    return diagonal, kept, lost, left, corner, seen, total - kept @ own


def _given_sizes(rng, sizes, own, total, noise, largest, degrees):
    """Return means, second moments and own weights for known sizes, and draws of theta, t^2 and c."""
    signal, part, complete = _GRID
    shared, variances = largest * signal * (1 - part), largest * np.array([signal * part, (1 - signal) * complete])
    diagonal, kept, lost, left, corner, seen, rest = _parts(sizes, variances, own, total, noise)
    pull = (sizes / diagonal) @ own + (seen / corner)[:, np.newaxis] * rest
    scale = 1 + shared * ((sizes**2 / diagonal).sum(axis=1) + seen**2 / corner)
    theta, of_theta = (shared / scale)[:, np.newaxis] * pull, shared / scale
    misfit = (1 / diagonal) @ (own**2).sum(axis=1) + (rest**2).sum(axis=1) / corner - (theta * pull).sum(axis=1)
    likelihood = -(degrees * (np.log(diagonal).sum(axis=1) + np.log(corner * scale)) + misfit) / 2
    chances = softmax(likelihood + np.log(complete) / 2)
    # Given the variances, a mean is by_own * own + by_shared * theta + by_total * rest.
    by_own, by_total = kept / sizes, sizes * left / corner[:, np.newaxis]
    by_shared = lost - by_total * seen[:, np.newaxis]
    variance = left - by_total**2 * corner[:, np.newaxis] + by_shared**2 * of_theta[:, np.newaxis]
    means = (chances @ by_own)[:, np.newaxis] * own
    means += (chances[:, np.newaxis] * by_shared).T @ theta + (chances[:, np.newaxis] * by_total).T @ rest
    norms = [(one * other).sum(axis=1)[:, np.newaxis] for one, other in ((theta, theta), (rest, rest), (theta, rest))]
    square = by_own**2 * (own**2).sum(axis=1) + by_shared**2 * norms[0] + by_total**2 * norms[1]
    square += 2 * (by_own * (by_shared * (theta @ own.T) + by_total * (rest @ own.T)) + by_shared * by_total * norms[2])
    drawn, error = rng.choice(len(chances), p=chances), rng.normal(size=own.shape[1])
    at = theta[drawn] + np.sqrt(of_theta[drawn]) * (error - error.mean())
    return (means, chances @ (degrees * variance + square), chances @ kept), at, variances[:, drawn, np.newaxis]


def _drawn_sizes(rng, level, grid, prior, fit):
    """Return sizes drawn from prior times fit, which have the shapes (scales, points, segments) and (points, segments).

    Their common scale is drawn first, as the quantile at this level.
    """
    scales = np.log(np.maximum(np.einsum("hps,ps->hs", prior, fit), 1e-300)).sum(axis=1)
    ends = (prior[np.searchsorted(softmax(scales).cumsum(), level)] * fit).cumsum(axis=0)
    return np.take_along_axis(grid, (ends < rng.random(ends.shape[1]) * ends[-1]).sum(axis=0)[np.newaxis], axis=0)[0]


def pooled(
    wins: Any,
    total: Any,
    sizes: Any,
    deviation: float,
    total_deviation: float,
    size_deviation: float,
    max_listed: int | None = None,
) -> Pooled:
    """Return the estimates that pool every segment with the others, as far as they are alike.

    Parameters
    ----------
    wins : ndarray of float, shape (n_segments, n_items)
        Noisy net wins of each segment, in votes.
    total : ndarray of float, shape (n_items,)
        Noisy net wins of all segments together, with independent noise.
    sizes : ndarray of float, shape (n_segments,)
        Noisy numbers of voters; they may be negative.
    deviation, total_deviation, size_deviation : float
        Standard deviations of the noise in `wins`, in `total` and in `sizes`.
    max_listed : int or None, default=None
        Public bound on the number of items that a ballot lists.

    Returns
    -------
    Pooled
        Posterior means and standard deviations, per voter.

    Notes
    -----
    **Model.** Segment s of n_s voters has the mean net wins y_s = theta + d_s. All vectors over the items sum to 0, so
    noise in this direction is removed first. In every other direction, theta ~ N(0, u) and d_s ~ N(0, a_s) with
    a_s = t^2 + c / n_s: t^2 between segments, and c between voters. A complete ballot has u + t^2 + c = L, where
    L = (m^2 - 1) / 3, or k (k^2 - 1) / (3 m) for ballots that list k items. Ballots that list less have a smaller c, by
    a factor f. The prior is uniform on a grid of (u + t^2) / L, from 4^-7 to 1 in factors of 4, and of
    t^2 / (u + t^2), from 0 to 1. It is proportional to sqrt(f) for f from 16^-3 to 1, because a small f claims more.

    **Sizes.** Their logarithms have a normal prior with the standard deviation .8, as that of sizes which spread evenly
    on a logarithmic scale over a factor of 16. Their common median, of at least 5 votes, has a prior that is uniform on
    its logarithm.

    **Given sizes and variances**, let s^2 and S^2 be the variances of the noise in `wins` (w_s) and `total` (w),
    D_s = n_s^2 a_s + s^2 and K_s = n_s^2 a_s / D_s. Then w_s ~ N(n_s theta, D_s), and y_s given theta and w_s has the
    mean (1 - K_s) theta + K_s w_s / n_s and the variance v_s = a_s (1 - K_s). What the total adds is
    r = w - sum K_s w_s ~ N(M theta, C), which is independent of all w_s given theta, with M = sum n_s (1 - K_s) and
    C = S^2 + sum n_s^2 v_s. So theta has the precision P = 1 / u + sum n_s^2 / D_s + M^2 / C and the mean
    (sum n_s w_s / D_s + M r / C) / P. With g_s = n_s v_s / C, r - M theta adds g_s times itself to the mean of y_s. The
    variance is v_s - g_s^2 C + (1 - K_s - g_s M)^2 / P.

    **Average.** A Gibbs sampler with a public seed draws the grid point and theta given the sizes, and then the sizes
    given these, with their median. The total couples the sizes: they are drawn without it, and accepted by the ratio of
    its likelihoods (Metropolis and Hastings). The result is the mean over all draws of sizes, of means and second
    moments that are averaged over the grid given these sizes.

    Examples
    --------
    >>> wins = np.array([[300.0, 0.0, -300.0], [0.0, 1.0, -1.0]])
    >>> alike = pooled(wins, wins.sum(axis=0), np.array([1000.0, 10.0]), 40.0, 40.0, 10.0)
    >>> alike.own_weights.round(1).tolist(), alike.means.round(1).tolist()
    ([0.8, 0.0], [[0.3, 0.0, -0.3], [0.2, 0.0, -0.2]])
    """
    n_items = wins.shape[1]
    largest = wins_moved([n_items], listed(n_items, max_listed))[1] / n_items or 1.0  # one item has no net wins
    own, total = wins - wins.mean(axis=1, keepdims=True), total - total.mean()  # without the noise in their sum
    degrees, noise, rng = max(n_items - 1, 1), (deviation, total_deviation), np.random.default_rng(0)
    most = np.maximum(sizes, 0) + 8 * size_deviation + 1
    grid = np.geomspace(np.maximum(sizes - 8 * size_deviation, min(1, size_deviation)), most, _POINTS)
    medians = np.geomspace(5, max(10, most.max()), _SCALES)[:, np.newaxis, np.newaxis]
    prior = -(((grid - sizes) / size_deviation) ** 2 + (np.log(grid / medians) / 0.8) ** 2) / 2
    prior = np.exp(prior - prior.max(axis=(0, 1)))
    drawn, found = _drawn_sizes(rng, 0.5, grid, prior, np.ones(grid.shape)), []
    for level in rng.permutation(np.arange(_FIRST + _DRAWS) + 0.5) / (_FIRST + _DRAWS):  # stratified
        moments, theta, variances = _given_sizes(rng, drawn, own, total, noise, largest, degrees)
        found.append(moments)
        diagonal = grid**2 * variances[0] + grid * variances[1] + deviation**2
        distance = (own**2).sum(axis=1) - 2 * grid * (own @ theta) + grid**2 * (theta @ theta)
        fit = -(degrees * np.log(diagonal) + distance / diagonal) / 2
        other, likelihoods = _drawn_sizes(rng, level, grid, prior, np.exp(fit - fit.max(axis=0))), []
        for each in (drawn, other):
            *_, corner, seen, rest = _parts(each, variances, own, total, noise)
            likelihoods.append(-(degrees * np.log(corner) + ((rest - seen * theta) ** 2).sum() / corner)[0] / 2)
        if np.log(rng.random()) < likelihoods[1] - likelihoods[0]:
            drawn = other
    means, moments, own_weights = (sum(part) / _DRAWS for part in zip(*found[_FIRST:], strict=True))
    variance = (moments - (means**2).sum(axis=1)) / n_items
    return Pooled(means, own_weights, np.sqrt(np.maximum(variance, 0)))


# Rule for one Borda order per public segment, with or without pooling.

_OF_SIZES, _OF_TOTAL = Fraction(5, 100), Fraction(15, 100)  # shares of the budget; the segments have the rest


@parametrized
class SegmentRule(Rule):
    """Rule that sorts the items of each segment by their net wins; its consensus has one order per segment.

    With pooling, a segment's estimates are drawn towards those of all segments. The less its own noisy answer says, and
    the more alike segments are, the more they are drawn.

    Parameters
    ----------
    n_segments : int, default=2
        Number of segments.
    pooling : bool, default=True
        Whether to pool segments.

    Notes
    -----
    Noise of S segments adds up to S times the variance of one. The net wins of all segments together are therefore
    asked again.

    Examples
    --------
    >>> from sklearn_dprank.channels.segmented import SegmentRule
    >>> [float(ask.share) for ask in SegmentRule(4).asks(10)]
    [0.8, 0.15, 0.05]
    """

    n_segments: int = 2
    pooling: bool = True

    parameter_checks = {"n_segments": partial(check_whole, least=2), "pooling": check_flag}

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        own = SegmentNetWins(self.n_segments)
        if not self.pooling:
            return [Ask(own)]
        total, sizes = SegmentNetWins(self.n_segments, together=True), SegmentSizes(self.n_segments)
        return [Ask(own, share=1 - _OF_TOTAL - _OF_SIZES), Ask(total, share=_OF_TOTAL), Ask(sizes, share=_OF_SIZES)]

    def aggregate(self, answers: Any) -> Consensus:
        asked = [ask.query for ask in self.asks(answers.n_items)]
        wins, *others = [answers.answer(query) / answers.grid for query in asked]
        scores, published = wins, {}
        if self.pooling:
            total, sizes = others
            noise, total_noise, size_noise = [answers.deviation(query) / answers.grid for query in asked]
            scores, own_weights, std = pooled(wins, total, sizes, noise, total_noise, size_noise, answers.max_listed)
            published = {"scores": scores, "score_std": std, "own_weights": own_weights, "sizes": sizes}
        return Consensus(np.array([descending(each, answers) for each in scores]), published)


# Estimator with one consensus per public segment of the voters.

_MOST = 1000  # segments


def _labels(classes):
    """Return the listed labels, or None if `classes` is None; raise ValueError if they are invalid."""
    if classes is None:
        return None
    labels = classes.tolist() if hasattr(classes, "tolist") else classes
    is_list = isinstance(labels, (list, tuple, range))
    labels = [checked_name(one, "classes") if isinstance(one, str) else one for one in labels] if is_list else []
    try:
        valid = len(set(map(seen, labels))) == len(labels) >= 2
    except TypeError:  # labels that cannot be hashed
        valid = False
    if not valid or any(label is None or label != label for label in labels):  # NaN differs from itself
        raise ValueError(
            f"classes must be None or a list of at least two different labels, got {safe_repr(classes)}. List all "
            "segments that are to be published, whether or not anybody is in them. None and NaN cannot be labels."
        )
    if len(labels) > _MOST:
        raise ValueError(f"classes must list at most {_MOST} segments, got {len(labels)}.")
    return labels


@parametrized
class SegmentedAggregator(RankAggregator):
    """Private Borda ranking of every segment of the voters, such as regions; each has the full budget.

    New in this package. A voter is in at most one segment, so the releases of all segments together cost as much as
    one. With pooling, segments with few voters learn from the others, as far as the segments are alike.

    Parameters
    ----------
    classes : list of labels or None, default=None
        Public list of the segments, at least two and at most 1,000. It must not be computed from the data. Every listed
        segment is published, whether or not anybody is in it. Voters with another label, or none, count nowhere. None
        aggregates all voters together, as `~sklearn_dprank.DPBorda` with the same noise does. All attributes are then
        those of `~sklearn_dprank.DPBorda`.
    epsilon : float, default=1.0
        Privacy loss of the whole release, in nats.
    delta : float, default=1e-6
        The delta of the guarantee. If it is positive, noise is Gaussian. With 0, it is K-norm noise, and only orders
        are published.
    pooling : bool, default=True
        Whether to draw the estimates of each segment towards those of all segments. It needs a positive `delta`.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted. "replace" hides how, and in which segment.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    segments_ : ndarray of object, shape (n_segments,)
        Labels of the segments, as in `classes`. The rows of all other attributes follow their order.
    consensus_ : ndarray of shape (n_segments, n_items)
        Items of each segment, best first: names if X had names, else column indices.
    ranks_ : ndarray or DataFrame of int, shape (n_segments, n_items)
        Position of each item in each segment, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit, for all segments together. For a pipeline, use `~sklearn_dprank.privacy.guarantee_of`.
    net_wins_ : ndarray, shape (n_segments, n_items)
        Noisy net wins of each segment by itself, in votes. Only with a positive `delta`.
    noise_ : PublishedNoise
        Distribution of the noise in ``net_wins_`` (public numbers). `rank_intervals` uses it. Only with a positive
        `delta`.
    scores_ : ndarray of float, shape (n_segments, n_items)
        Pooled estimates of the net wins per voter. Only with pooling.
    score_std_ : ndarray of float, shape (n_segments,)
        Posterior standard deviation of the scores of each segment. It also covers the noise in ``sizes_``, by a prior
        for sizes: the segments may differ by a factor of about 16. Only with pooling.
    own_weights_ : ndarray of float, shape (n_segments,)
        Weight of the segment's own answers, from 0 (it repeats the other segments) to 1 (it speaks for itself). Only
        with pooling.
    sizes_ : ndarray, shape (n_segments,)
        Noisy number of voters in each segment, or sum of their weights in votes; it may be negative. Only with pooling.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot, or all ballots of one person if X is a `~sklearn_dprank.ballots.Profile` with groups. Trust: the
    curator who runs `fit`. Let m be the number of items. The vector of the net wins of all segments changes by at most
    sqrt(m (m^2 - 1) / 3) in L2 under "add_remove". This holds because a ballot is in one segment at most. Under
    "replace", the limit is twice as large. A ballot that stays in its segment attains it. A ballot that moves to
    another segment changes two segments by once as much, which is less.

    With pooling, 80 % of the squared budget pay for the net wins of the segments, 15 % for the net wins of all segments
    together, and 5 % for the sizes. All noise is Gaussian, so delta is not split. The sizes are private under
    "replace" too, because a ballot may move. Pooling reads these answers only.

    Persons with several ballots are clipped over all their ballots, in whichever segments they are. Then ballots are
    assigned to segments. See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Pooling helps most if segments are small and alike. It costs accuracy if they are very different. If
    ``own_weights_`` is near 0, the order of that segment is mainly that of all others. `rank_intervals` does not use
    pooled scores.

    In searches of scikit-learn, request the labels by metadata routing: ``set_fit_request(segments=True)`` and
    ``set_score_request(segments=True)``.

    Fitting a separate estimator for each of S segments with epsilon / S is valid, but needs S times as much epsilon.
    Fitting each with epsilon under "replace" is not covered by one guarantee, because a voter can move.

    References
    ----------
    Efron and Morris (1975), "Data analysis using Stein's estimator and its generalizations"; Harville (1977), "Maximum
    likelihood approaches to variance component estimation"; McSherry (2009), "Privacy integrated queries", for parallel
    composition.

    Examples
    --------
    >>> from sklearn_dprank import SegmentedAggregator
    >>> ballots = [[0, 1, 2]] * 300 + [[2, 1, 0]] * 300
    >>> region = ["north"] * 300 + ["south"] * 300
    >>> by_region = SegmentedAggregator(["north", "south"], epsilon=1.0, random_state=0).fit(ballots, segments=region)
    >>> by_region.consensus_
    array([[0, 1, 2],
           [2, 1, 0]])
    >>> print(by_region.privacy_)
    epsilon = 1, delta = 1e-06 (central, add_remove; simulation only: a seed was given)
    """

    classes: Any = None
    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    pooling: bool = True
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    segments_: NDArray[Any] = field(init=False)
    net_wins_: NDArray[Any] = field(init=False)
    score_std_: NDArray[np.float64] = field(init=False)
    own_weights_: NDArray[np.float64] = field(init=False)
    sizes_: NDArray[Any] = field(init=False)
    set_score_request: ClassVar[Callable[..., Any]]  # created by scikit-learn

    parameter_checks = {"pooling": check_flag}

    def _compose(self):
        check_delta(self.delta)
        noise: NoiseName = "gaussian" if self.delta else "knorm"
        channel = Central(self.epsilon, self.delta, noise, neighboring=self.neighboring)
        labels = _labels(self.classes)
        if labels is None:
            return channel, SortByScore()
        if self.pooling and not self.delta:
            raise ValueError(
                "pooling must be False for delta=0, got True: K-norm noise publishes no scores to pool. Or set "
                "delta=1e-6, say."
            )
        return channel, SegmentRule(len(labels), self.pooling)

    def fit(  # type: ignore[override]
        self, X: Ballots, y: None = None, *, segments: ArrayLike | None = None, **unknown: Never
    ) -> Self:
        """Aggregate the ballots of each segment into a consensus ranking.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots, as for the other estimators. A `~sklearn_dprank.ballots.Profile` must keep the ballots, and may
            have persons and weights.
        y : None
            Ignored.
        segments : array-like of shape (n_voters,) or None, default=None
            Label of each ballot's segment. Needed if `classes` is given. A label that `classes` does not list, or a
            missing one, raises no error; the ballot counts nowhere. Labels that are text are compared in the Unicode
            form NFC, with a plain blank for each kind of blank.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        TypeError
            If another parameter is given, such as `groups`: persons and weights belong to a `Profile`.
        ValueError
            If a parameter is invalid, `segments` does not hold one label for each ballot, `segments` is given without
            `classes` or the other way round, or X does not contain ballots.

        Warns
        -----
        UserWarning
            If X has more items than fits were measured with, or if a fit without a seed runs in a dask worker.
        """
        if unknown:
            refuse_unknown(self, unknown)
        self._validate_params()
        classes = _labels(self.classes)
        numbers = self._segment_numbers(X, segments, classes)
        if classes is not None:
            X = SegmentedProfile(as_profile(X, least_voters=1), numbers, len(classes))
        return super().fit(X)

    def publish(self, consensus: Consensus, answers: Any, guarantee: PrivacyGuarantee, names: Any) -> Self:
        super().publish(consensus, answers, guarantee, names)
        if (labels := _labels(self.classes)) is not None:
            self.segments_ = np.array([*labels, None], dtype=object)[:-1]  # a tuple stays a label
            if hasattr(self.ranks_, "set_axis"):  # a DataFrame of pandas
                self.ranks_ = self.ranks_.set_axis(labels)
        return self

    def score(self, X: Ballots, y: None = None, *, segments: ArrayLike | None = None, **unknown: Never) -> float:
        """Return minus the average Kendall tau distance from each ballot to the consensus of its segment.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots over the items of `fit`.
        y : None
            Ignored.
        segments : array-like of shape (n_voters,) or None, default=None
            Label of each ballot's segment, as in `fit`. The listed labels are those of the fit, ``segments_``.

        Returns
        -------
        float
            Mean over all ballots in a listed segment: 0 is best, -1 is worst. It is computed exactly from the ballots,
            so it is **not** private.

        Raises
        ------
        ValueError
            If no ballot is in a listed segment, or `segments` is invalid.
        """
        if unknown:
            refuse_unknown(self, unknown, "score")
        check_is_fitted(self, "ranks_")
        profile, classes = self.read_ballots(X), getattr(self, "segments_", None)
        numbers = self._segment_numbers(profile, segments, classes)
        if classes is None:
            return super().score(profile)
        parts = SegmentedProfile(profile, numbers, len(self.ranks_)).parts
        weights = np.array([part.total_weight for part in parts])
        if not weights.any():
            raise ValueError("segments must hold a label of classes for at least one ballot of X.")
        distances = [
            average_kendall_tau(ranks, part) if weight else 0.0
            for ranks, part, weight in zip(np.asarray(self.ranks_), parts, weights, strict=True)
        ]
        return -float(np.average(distances, weights=weights))

    def guarantee_before(
        self, X: Ballots, voter_epsilon: ArrayLike | None = None, segments: ArrayLike | None = None
    ) -> PrivacyGuarantee:
        """Return an upper limit on the guarantee of a fit on X, which depends on no ballot and no label.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots. Only public properties are read, such as the number of items.
        voter_epsilon : None
            Not supported.
        segments : array-like of shape (n_voters,) or None, default=None
            Label of each ballot's segment, as in `fit`.

        Returns
        -------
        PrivacyGuarantee
            Guarantee that `PrivacyBudget` charges before the fit.

        Raises
        ------
        ValueError
            If the fit is impossible.
        """
        self._validate_params()
        self._segment_numbers(X, segments, _labels(self.classes))
        return super().guarantee_before(X, voter_epsilon)

    @available_if(noise_is_known)
    def rank_intervals(
        self, level: float = 0.95, simultaneous: bool = False, *, of: Of | None = None
    ) -> NDArray[np.int64]:
        """Return confidence intervals for the true ranks in each segment.

        Parameters
        ----------
        level : float, default=0.95
            Coverage probability, between 0 and 1: for all items of one segment together.
        simultaneous : bool, default=False
            Whether the level holds for all segments together.
        of : {"voters"} or None, default=None
            Intervals are those of the voters given.

        Returns
        -------
        ndarray of int, shape (n_segments, n_items, 2)
            The best and the worst rank of each item, 0 is best, in the order of the columns.

        Raises
        ------
        ValueError
            If `level` is not between 0 and 1, or `of` is "population".

        Notes
        -----
        Intervals are computed from ``net_wins_``, the segment's own answers, because pooled scores are biased towards
        the other segments. So the rank of an item in ``ranks_`` may lie outside of its interval. As in
        `DPBorda.rank_intervals`, intervals refer to these voters and account for the noise.

        Examples
        --------
        >>> from sklearn_dprank import SegmentedAggregator
        >>> ballots = [[0, 1, 2]] * 300 + [[2, 1, 0]] * 300
        >>> by_half = SegmentedAggregator([1, 2], random_state=0).fit(ballots, segments=[1] * 300 + [2] * 300)
        >>> by_half.rank_intervals()[1].tolist()
        [[2, 2], [1, 1], [0, 0]]
        """
        check_is_fitted(self, "ranks_")
        check_flag(simultaneous, "simultaneous")
        if not hasattr(self, "segments_"):
            return super().rank_intervals(level, of=of)
        checked_of(self.noise_, of)
        check_number(level, "level", above=0, below=1)
        each = 1 - (1 - level) / len(self.net_wins_) if simultaneous else level
        return np.array([self.noise_.rank_intervals(wins, float(each)) for wins in self.net_wins_])

    @available_if(noise_is_known)
    def pair_confidence(self) -> NDArray[np.float64]:
        """Return the posterior probability that each item is above each other in each segment.

        Returns
        -------
        ndarray of float, shape (n_segments, n_items, n_items)
            ``[s, i, j]`` is the probability that item i is above item j in segment s. With pooling, it follows from
            ``scores_`` and ``score_std_``, as if the true scores were normal. Without pooling, it is computed from
            ``net_wins_`` as in `DPBorda.pair_confidence`.

        Notes
        -----
        With pooling, probabilities are not too high for any number of voters n, on average over the stated prior.
        Simulations had n epsilon from 1 to 10,000, 2 to 20 segments, and sizes that differ by a factor of 16.
        Probabilities near .8, .9 and .95 were too high by at most 3 points where 5 % of the pairs or more had one. They
        may be too low for n epsilon = 100. At 10 or less, fewer than 3 % of the pairs are above .75, and
        these may be too high.

        Examples
        --------
        >>> from sklearn_dprank import SegmentedAggregator
        >>> ballots = [[0, 1, 2]] * 300 + [[2, 1, 0]] * 300
        >>> by_half = SegmentedAggregator([1, 2], random_state=0).fit(ballots, segments=[1] * 300 + [2] * 300)
        >>> by_half.pair_confidence()[1].round(2)[0].tolist()
        [0.5, 0.0, 0.0]
        """
        check_is_fitted(self, "ranks_")
        if not hasattr(self, "segments_"):
            return super().pair_confidence()
        if not hasattr(self, "scores_"):
            return np.array([self.noise_.chance_before(wins) for wins in self.net_wins_])
        differences = self.scores_[:, :, np.newaxis] - self.scores_[:, np.newaxis, :]
        n_items = self.scores_.shape[1]  # scores sum to 0, so errors of two of them are negatively correlated
        std = math.sqrt(2 * n_items / max(n_items - 1, 1)) * np.maximum(self.score_std_, 1e-300)
        return ndtr(differences / std[:, np.newaxis, np.newaxis])

    def _segment_numbers(self, X: Ballots, segments: Any, classes: Any) -> Any:
        """Return the number of each ballot's segment, or None without segments; raise ValueError if they do not fit."""
        if classes is None and segments is None:
            return None
        if classes is None or segments is None:
            given, missing = ("segments", "classes") if classes is None else ("classes", "segments")
            raise ValueError(f"{missing} must be given with {given}, got None; give both, or neither.")
        if isinstance(X, Profile) and X.bound is not None and X.bound.unit in (ROWS, COMPARISON, COMPARISONS):
            raise ValueError(
                "segments need one label for each ballot, and rows of long data are not in the order of ballots; read "
                "one list for each person with Profile.from_orders."
            )
        if isinstance(X, Profile) and X.positions is None and X.rows is None:
            raise ValueError("X must keep its ballots to be split into segments; build it with keep='positions'.")
        check_aligned(X, segments=segments)
        n_voters = X.n_voters if isinstance(X, Profile) else shape_of(X)[0]
        return segment_numbers(segments, classes, n_voters)

    def _checked_order(self, consensus):
        """Return one order per segment."""
        check = super()._checked_order
        if self.classes is None:
            return check(consensus)
        return np.array([check(consensus._replace(order=order)) for order in consensus.order])
