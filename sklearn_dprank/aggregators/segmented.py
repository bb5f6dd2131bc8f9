"""Estimator with one consensus per public segment of the voters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Never, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from .._utils.checks import Check, check_delta, check_flag, check_number, refuse_unknown, safe_repr
from .._utils.scikit_learn import available_if
from .._utils.types import Amount, Neighboring, NoiseName, RandomState
from ..ballots.names import checked_name, seen
from ..ballots.profile import Ballots, Profile, as_profile
from ..ballots.rankings import check_aligned, shape_of
from ..ballots.segments import SegmentedProfile, segment_numbers
from ..channels import Central
from ..metrics import average_kendall_tau
from ..privacy import PrivacyGuarantee
from ..rules import SortByScore
from ..rules.base import Consensus, checked_order
from ..rules.segments import SegmentRule
from ..uncertainty import PublishedNoise
from .base import RankAggregator
from .rank_intervals import best_and_worst, noise_is_known

_MOST = 1000  # segments


def _labels(classes):
    """Return the listed labels; raise ValueError if they are invalid."""
    labels = classes.tolist() if hasattr(classes, "tolist") else classes
    if isinstance(labels, (list, tuple)):
        labels = [checked_name(label, "classes") if isinstance(label, str) else label for label in labels]
    try:
        valid = isinstance(labels, (list, tuple, range)) and len(set(map(seen, labels))) == len(labels) >= 2
    except TypeError:  # labels that cannot be hashed
        valid = False
    if not valid or any(label is None or label != label for label in labels):  # NaN differs from itself
        raise ValueError(
            f"classes must be None or a list of at least two different labels, got {safe_repr(classes)}; list all "
            "segments that are to be published, whether or not anybody is in them. None and NaN cannot be labels."
        )
    if len(labels) > _MOST:
        raise ValueError(f"classes must list at most {_MOST} segments, got {len(labels)}.")
    return list(labels)


def _check_classes(classes, name):
    if classes is not None:
        _labels(classes)


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
    ranks_ : ndarray of int, shape (n_segments, n_items)
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
        Standard deviation of the scores of each segment, given the release. Only with pooling.
    own_weights_ : ndarray of float, shape (n_segments,)
        Weight of the segment's own answers, from 0 (it repeats the other segments) to 1 (it speaks for itself). Only
        with pooling.
    sizes_ : ndarray, shape (n_segments,)
        Noisy number of voters in each segment, or sum of their weights in votes; it may be negative. Only with pooling.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
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

    segments_: NDArray[Any]
    net_wins_: NDArray[Any]
    noise_: PublishedNoise
    scores_: NDArray[Any]
    score_std_: NDArray[np.float64]
    own_weights_: NDArray[np.float64]
    sizes_: NDArray[Any]
    set_score_request: Callable[..., Self]  # created by scikit-learn

    parameter_checks: dict[str, Check] = {"classes": _check_classes, "pooling": check_flag}

    def __init__(
        self,
        classes: Any = None,
        epsilon: Amount = 1.0,
        delta: Amount = 1e-6,
        pooling: bool = True,
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.classes = classes
        self.epsilon = epsilon
        self.delta = delta
        self.pooling = pooling
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        check_delta(self.delta)
        noise: NoiseName = "gaussian" if self.delta else "knorm"
        channel = Central(self.epsilon, self.delta, noise, neighboring=self.neighboring)
        if self.classes is None:
            return channel, SortByScore()
        if self.pooling and not self.delta:
            raise ValueError(
                "pooling must be False for delta=0, got True: K-norm noise publishes no scores to pool. Or set "
                "delta=1e-6, say."
            )
        return channel, SegmentRule(len(_labels(self.classes)), self.pooling)

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
        refuse_unknown(self, unknown)
        classes = self._listed()
        numbers = self._segment_numbers(X, segments, classes)
        if classes is not None:
            X = SegmentedProfile(as_profile(X, estimator=self, least_voters=1), numbers, len(classes))
        return super().fit(X)

    def publish(self, consensus: Consensus, session: Any, guarantee: PrivacyGuarantee, names: Any) -> Self:
        super().publish(consensus, session, guarantee, names)
        if self.classes is not None:
            self.segments_ = np.array([*_labels(self.classes), None], dtype=object)[:-1]  # a tuple stays a label
        return self

    def score(self, X: Ballots, y: None = None, *, segments: ArrayLike | None = None) -> float:
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
            for ranks, part, weight in zip(self.ranks_, parts, weights, strict=True)
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
        self._segment_numbers(X, segments, self._listed())
        return super().guarantee_before(X, voter_epsilon)

    @available_if(noise_is_known)
    def rank_intervals(self, level: float = 0.95, simultaneous: bool = False) -> NDArray[np.int64]:
        """Return confidence intervals for the true ranks in each segment.

        Parameters
        ----------
        level : float, default=0.95
            Coverage probability, between 0 and 1: for all items of one segment together.
        simultaneous : bool, default=False
            Whether the level holds for all segments together.

        Returns
        -------
        ndarray of int, shape (n_segments, n_items, 2)
            The best and the worst rank of each item, 0 is best, in the order of the columns.

        Raises
        ------
        ValueError
            If `level` is not between 0 and 1.

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
            return super().rank_intervals(level)
        check_number(level, "level", above=0, below=1)
        each = 1 - (1 - level) / len(self.net_wins_) if simultaneous else level
        above = np.array([self.noise_.surely_before(wins, float(each)) for wins in self.net_wins_])
        return best_and_worst(above)

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
        With pooling, probabilities above .9 are too high by at most 3 points, if there are at least six segments and
        epsilon is at least .1. With three segments or a smaller epsilon, they may be too high by 23 points.

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
        return ndtr(differences / (math.sqrt(2) * np.maximum(self.score_std_, 1e-300))[:, np.newaxis, np.newaxis])

    def _listed(self):
        """Return the labels in `classes`, or None; raise ValueError if a parameter is invalid."""
        self._validate_params()
        return None if self.classes is None else _labels(self.classes)

    def _segment_numbers(self, X: Ballots, segments: Any, classes: Any) -> Any:
        """Return the number of each ballot's segment, or None without segments; raise ValueError if they do not fit."""
        if classes is None and segments is None:
            return None
        if classes is None or segments is None:
            given, missing = ("segments", "classes") if classes is None else ("classes", "segments")
            raise ValueError(f"{missing} must be given with {given}, got None; give both, or neither.")
        if isinstance(X, Profile) and X.positions is None:
            raise ValueError("X must keep its ballots to be split into segments; build it with keep='positions'.")
        check_aligned(X, segments=segments)
        n_voters = X.n_voters if isinstance(X, Profile) else shape_of(X)[0]
        return segment_numbers(segments, classes, n_voters)

    def _checked_order(self, consensus):
        """Return one order per segment."""
        if self.classes is None:
            return super()._checked_order(consensus)
        return np.array(
            [checked_order(consensus._replace(order=order), self.n_features_in_) for order in consensus.order]
        )
