"""Candidates of private selection: configured estimators with pure guarantees that share one profile."""

import math
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..._utils.checks import safe_repr
from ...aggregators.base import RankAggregator
from ...aggregators.segmented import SegmentedAggregator
from ...ballots.profile import Profile, Shape
from ...ballots.rankings import shape_of
from ...privacy.estimator_guarantees import last_step, mixing_step, own_methods
from ...rules.segments import SegmentRule
from ..parameters import configured, grid_of, in_words, is_aggregator
from .scorer import public_bound

#: Methods that state the guarantee of a fit. `own_methods` accepts a class that overrides its forecast.
_FORECAST = ("plan_for", "guarantee_before")


class Candidate(NamedTuple):
    """An unfitted estimator, and the parameters that distinguish it from the other candidates."""

    estimator: Any
    params: dict


def aggregator_of(estimator):
    """Return the aggregator that a candidate is or ends in; raise ValueError if there is none."""
    last = last_step(estimator)
    if not is_aggregator(last):
        raise ValueError(
            f"estimator must be an aggregator, a Pipeline that ends in one, or a list of these, "
            f"got {safe_repr(estimator)}."
        )
    return last


def pure_guarantee(estimator, shape):
    """Return the guarantee of one fit of a candidate on this Shape; raise ValueError if it is not pure."""
    aggregator = aggregator_of(estimator)
    if (mixing := mixing_step(estimator)) is not None:
        raise ValueError(
            f"the candidate {in_words(estimator)} has a step {type(mixing[1]).__name__}, which may mix ballots with "
            "each other; only RatingsToRankings is known to read each by itself. Leave it out, or do it to each ballot "
            "by itself beforehand."
        )
    if own := own_methods(aggregator):
        raise ValueError(
            f"the candidate {in_words(estimator)} has a {own[0]} of its own, so its guarantee is not known before the "
            "fit; define _compose instead, or leave it out."
        )
    if shape.bound is not None and isinstance(estimator, Pipeline) and any(map(_transforms, estimator.steps[:-1])):
        raise ValueError(
            f"the candidate {in_words(estimator)} transforms tables, and a Profile with persons or weights is not one; "
            "transform the table before Profile.from_rankings, and leave the steps out."
        )
    try:
        rule, plan = aggregator.plan_for(shape)
    except ValueError as error:
        raise ValueError(f"the candidate {in_words(estimator)} is impossible: {error}") from error
    if isinstance(rule, SegmentRule):
        raise ValueError(
            f"the candidate {in_words(estimator)} has an order for each segment, and a score is of one order; leave "
            "out its classes."
        )
    if own := [name for name in _FORECAST if not _is_known(type(aggregator), name)]:
        raise ValueError(
            f"the candidate {in_words(estimator)} has a {own[0]} of its own, which may not match its fit; define "
            "_compose instead, or leave it out."
        )
    guarantee = plan.guarantee
    if math.isinf(guarantee.epsilon):
        raise ValueError(f"the candidate {in_words(estimator)} is not private; choose among private ones only.")
    if guarantee.delta > 0:
        raise ValueError(
            f"the candidate {in_words(estimator)} has delta={guarantee.delta:g}; selection is stated for pure "
            "candidates only: set delta=0 and a pure noise."
        )
    return guarantee


def _is_known(kind, name):
    """Return whether a class inherits a forecast from a class of this package."""
    return next(base for base in kind.__mro__ if name in vars(base)) in (RankAggregator, SegmentedAggregator)


def _transforms(step):
    return step[1] not in (None, "passthrough")


def public_shape(X):
    """Return the Shape of the input of `fit`, without reading a ballot."""
    if isinstance(X, Profile):
        if X.voter_epsilon is not None:
            raise ValueError("voters with an epsilon of their own are not supported; leave voter_epsilon out.")
        return Shape(X.n_items, X.n_voters, bound=public_bound(X))
    n_voters, n_items = shape_of(X)
    return Shape(n_items, n_voters)


def counted_once(candidates, X):
    """Return a profile with counted pairs for all draws; None if no candidate accepts a profile."""
    reader = next((clone(candidate.estimator) for candidate in candidates if is_aggregator(candidate.estimator)), None)
    if reader is None:
        return None
    profile = reader.read_ballots(X, reset=True)
    profile.pairwise_counts  # noqa: B018
    return profile


def candidates_of(estimator, param_grid):
    """Return every configured candidate with its row of the grid."""
    several = isinstance(estimator, (list, tuple))
    bases = list(estimator) if several else [estimator]
    if not bases:
        raise ValueError("estimator is empty; give at least one candidate to choose.")
    grid = grid_of({} if param_grid is None else param_grid)
    candidates = []
    for base in bases:
        aggregator_of(base)
        for row in grid:
            params = {"estimator": base, **row} if several else row
            candidates.append(Candidate(configured(base, row), params))
    return candidates
