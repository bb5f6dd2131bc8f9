"""Privacy cost of the fits and of the scores of a search."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ..._utils.checks import safe_repr
from ...privacy.estimator_guarantees import guarantee_before, last_step, mixing_step, replaced_methods
from ...privacy.guarantee import DECLARED_PUBLIC, PrivacyGuarantee
from ..private.scorer import PrivateKendallTau, refuse_mixing

_ON_EXACT_SCORES = "its parameters were selected on exact scores of ballots, which this does not cover"
_ON_PRIVATE_SCORES = "its parameters were selected by a search, whose privacy_ is the cost of all"
_MIXED = "a transformer before it may mix ballots with each other, which this does not cover"
_TIMES = "times are outside the guarantee"
_SPLITS = "splits must not depend on what the ballots say"


def total_of(guarantees, split_voters):
    """Return the composed guarantee of releases, under "replace" if their neighbouring relations differ.

    If the voters were split, it is also "replace": adding one voter would move others from split to split.
    """
    if not guarantees:
        return PrivacyGuarantee(0.0, 0.0, "central", "add_remove", "no fit finished")
    total = PrivacyGuarantee.compose(_comparable(guarantees, split_voters))
    return _with(total, _SPLITS) if split_voters else total


def _comparable(guarantees, split_voters=False):
    """Return guarantees under one neighbouring relation."""
    relations = {g.neighboring for g in guarantees if math.isfinite(g.epsilon)}
    return [g.under_replace() for g in guarantees] if split_voters or len(relations) > 1 else guarantees


def costs_of(scored, unscored, scoring, split_voters):
    """Return the guarantees of publishing the fits of a search, and of publishing its results.

    `scored` holds the guarantees of the trials, and `unscored` that of the refit. `public_ballots` has no effect here.
    """
    fits = total_of([*scored, *unscored], split_voters)
    if scoring.guarantees is None:
        return fits, _with(PrivacyGuarantee.nothing("a search by exact scores of the ballots"), *scoring.claims)
    results = total_of([*scored, *unscored, *(scoring.guarantees * len(scored))], split_voters)
    # With the recorded seeds, any reader can subtract the noise of fits and scores.
    return fits, _with(results, _TIMES).simulated(certified=False)


def declared_public():
    """Return the guarantee of a search on ballots that are declared public, before or after its fit."""
    how = "the ballots are declared public, so their voters have no guarantee"
    return PrivacyGuarantee(0.0, 0.0, "central", "add_remove", how, caveats=(DECLARED_PUBLIC,))


def forecast(search, X, metrics, estimators):
    """Return an upper bound on the results' guarantee before the fit; raise ValueError if it depends on the splits.

    `estimators` are the configured candidates.
    """
    if search.public_ballots:
        return declared_public()
    scoring = scoring_of(metrics, X)
    if scoring.guarantees is None:
        return costs_of([], [], scoring, split_voters=False)[1]
    if not (isinstance(search.cv, str) and search.cv == "all"):
        raise ValueError(f'the privacy cost of a search with cv={search.cv!r} depends on the splits; use cv="all".')
    fits = [guarantee_before(estimator, X) for estimator in estimators]
    refit = [] if search.refit is False else [_worst_of(fits)]
    return costs_of(fits * search.n_trials, refit, scoring, split_voters=False)[1]


def _worst_of(guarantees):
    """Return a guarantee that covers each of several guarantees."""
    if len(set(guarantees)) == 1:
        return guarantees[0]
    guarantees = _comparable(guarantees)
    epsilon, delta = max(g.epsilon for g in guarantees), max(g.delta for g in guarantees)
    return replace(PrivacyGuarantee.compose(guarantees), epsilon=epsilon, delta=delta, how="any candidate", losses=None)


def warn_reader(estimator, exact_scores):
    """Add caveats to the guarantees of a refitted estimator and of the estimators inside it."""
    mixed = mixing_step(estimator) is not None
    estimator = last_step(estimator)
    while estimator is not None:
        if isinstance(getattr(estimator, "privacy_", None), PrivacyGuarantee):
            selected = _ON_EXACT_SCORES if exact_scores else _ON_PRIVATE_SCORES
            estimator.privacy_ = _with(estimator.privacy_, selected, *([_MIXED] if mixed else []))
        inner = getattr(estimator, "best_estimator_", None)
        estimator = None if inner is None else last_step(inner)


def _with(guarantee, *caveats):
    return replace(guarantee, caveats=tuple(dict.fromkeys([*guarantee.caveats, *caveats])))


def metrics_of(scoring):
    """Return scorers by name, where None is the estimator's own score; raise ValueError if `scoring` is invalid."""
    if scoring is None or callable(scoring):
        return {"score": scoring}
    if isinstance(scoring, Mapping) and scoring and all(callable(scorer) for scorer in scoring.values()):
        return dict(scoring)
    raise ValueError(
        f"scoring must be None, a callable(estimator, X) or a dict of them by name, got {safe_repr(scoring)}; "
        "sklearn_dprank.metrics.kendall_tau_scorer is one."
    )


class Scoring(NamedTuple):
    """Guarantees of the scores of one fit (None if a score is exact), and caveats about unverified claims."""

    guarantees: list[PrivacyGuarantee] | None
    claims: tuple[str, ...]


def scoring_of(metrics, X):
    """Return the guarantees of scores of X by these metrics; only those of `PrivateKendallTau` itself are trusted."""
    known = {name: scorer for name, scorer in metrics.items() if _is_known(scorer)}
    claims = tuple(
        f"the scorer {name!r} ({type(scorer).__name__}) claims a guarantee, which nothing checks: it counts as exact"
        for name, scorer in metrics.items()
        if name not in known and hasattr(scorer, "guarantee")
    )
    guarantees = [scorer.guarantee_for(X) for scorer in known.values()]
    return Scoring(guarantees if len(known) == len(metrics) else None, claims)


def _is_known(scorer):
    """Return whether a scorer is a `PrivateKendallTau`, neither a subclass nor an object with replaced methods."""
    return type(scorer) is PrivateKendallTau and not replaced_methods(scorer)


def refuse_mixed(metrics, estimators):
    """Raise ValueError, before any fit, if a private scorer would score a pipeline that may mix ballots."""
    if any(isinstance(scorer, PrivateKendallTau) for scorer in metrics.values()):
        for estimator in estimators:
            refuse_mixing(estimator)
