"""Privacy cost of the fits and of the scores of a search."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ..._utils.checks import check_whole, shown
from ...privacy.estimator_guarantees import last_step, mixing_step, owed_before, owed_by
from ...privacy.guarantee import PrivacyGuarantee
from ..parameters import configured, grid_of
from ..private.scorer import PrivateKendallTau, refuse_mixing
from ..seeds import MOST_TRIALS

_ON_EXACT_SCORES = "its parameters were selected on exact scores of ballots, which this does not cover"
_ON_PRIVATE_SCORES = "its parameters were selected by a search, whose privacy_ is the cost of all"
_MIXED = "a transformer before it may mix ballots with each other, which this does not cover"
_DECLARED = "the ballots were declared public, which nothing checks"
_TIMES = "times are outside the guarantee"
_SPLITS = "splits must not depend on what the ballots say"


def promise_of(fitted):
    """Return what a fit promises the voters; what a search in it declares does not bind the one around it."""
    return owed_by(fitted, declared=False)


def total_of(guarantees, split_voters):
    """Compose releases, whatever their neighbouring relations are.

    Parameters
    ----------
    guarantees : list of PrivacyGuarantee
        Of all releases.
    split_voters : bool
        Whether the voters were split. One voter more moves others from split to split, so that only "replace",
        which keeps their number, bounds what changes.
    """
    if not guarantees:
        return PrivacyGuarantee(0.0, 0.0, "central", "add_remove", "no fit finished")
    relations = {g.neighboring for g in guarantees if math.isfinite(g.epsilon)}
    if split_voters or len(relations) > 1:
        guarantees = [g.under_replace() for g in guarantees]
    total = PrivacyGuarantee.compose(guarantees)
    return _with(total, _SPLITS) if split_voters else total


def costs_of(scored, unscored, scoring, split_voters):
    """Return what publishing the fits of a search promises, and what publishing its results does.

    Parameters
    ----------
    scored, unscored : list of PrivacyGuarantee
        Of the fits of the trials, and of the refit.
    scoring : Scoring
        What the scores of one fit promise.
    split_voters : bool
        Whether voters were split.

    Returns
    -------
    fits, results : PrivacyGuarantee
        Whatever is declared.
    """
    fits = total_of([*scored, *unscored], split_voters)
    if scoring.promises is None:
        return fits, _with(PrivacyGuarantee.nothing("a search by exact scores of the ballots"), *scoring.claims)
    results = total_of([*scored, *unscored, *(scoring.promises * len(scored))], split_voters)
    # Recorded seeds let anybody subtract the noise, of fits and scores alike.
    return fits, _with(results, _TIMES).simulated(certified=False)


def declared_public():
    """Return the guarantee where the ballots are declared public: the same before a fit and after it."""
    how = "the ballots are declared public: their voters are owed nothing"
    return PrivacyGuarantee(0.0, 0.0, "central", "add_remove", how, caveats=(_DECLARED,))


def forecast(search, X):
    """Return what the results of a search on X will promise, at most, before it is fitted; ballots are not read.

    Raises
    ------
    ValueError
        If a parameter is invalid, or it cannot be known.
    """
    if search.public_ballots:
        return declared_public()
    scoring = scoring_of(metrics_of(search.scoring))
    if scoring.promises is None:
        return costs_of([], [], scoring, split_voters=False)[1]
    if not (isinstance(search.cv, str) and search.cv == "all"):
        raise ValueError(f'what a search with cv={search.cv!r} will owe depends on how it splits; use cv="all".')
    check_whole(search.n_trials, "n_trials", most=MOST_TRIALS)
    fits = [owed_before(configured(search.estimator, row), X) for row in grid_of(search.param_grid)]
    refit = [] if search.refit is False else [_worst_of(fits)]
    return costs_of(fits * search.n_trials, refit, scoring, split_voters=False)[1]


def _worst_of(guarantees):
    """Return what covers each of several guarantees."""
    if len(set(guarantees)) == 1:
        return guarantees[0]
    if len({g.neighboring for g in guarantees if math.isfinite(g.epsilon)}) > 1:
        guarantees = [g.under_replace() for g in guarantees]
    epsilon, delta = max(g.epsilon for g in guarantees), max(g.delta for g in guarantees)
    return replace(PrivacyGuarantee.compose(guarantees), epsilon=epsilon, delta=delta, how="any candidate", losses=None)


def warn_reader(estimator, exact_scores):
    """Say in the guarantee of a refitted estimator, and of those inside it, what it does not cover."""
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
    """Return scorers by name; None in place of one is the estimator's own score.

    Parameters
    ----------
    scoring : None, callable or dict of {str: callable}
        As a user gave it.

    Raises
    ------
    ValueError
        If it is neither, or an empty dict.
    """
    if scoring is None or callable(scoring):
        return {"score": scoring}
    if isinstance(scoring, Mapping) and scoring and all(callable(scorer) for scorer in scoring.values()):
        return dict(scoring)
    raise ValueError(
        f"scoring must be None, a callable(estimator, X) or a dict of them by name, got {shown(scoring)}; "
        "sklearn_dprank.metrics.kendall_tau_scorer is one."
    )


class Scoring(NamedTuple):
    """What the scores of one fit promise: a guarantee for each, or None if one is exact; and who only claims one."""

    promises: list[PrivacyGuarantee] | None
    claims: tuple[str, ...]


def scoring_of(metrics):
    """Return what scores by these metrics promise.

    Only `PrivateKendallTau` itself is known to keep a promise: a guarantee that another scorer states is a claim.
    """
    known = {name: scorer for name, scorer in metrics.items() if type(scorer) is PrivateKendallTau}
    claims = tuple(
        f"the scorer {name!r} ({type(scorer).__name__}) claims a guarantee, which nothing checks: it counts as exact"
        for name, scorer in metrics.items()
        if name not in known and hasattr(scorer, "guarantee")
    )
    promises = [scorer.guarantee for scorer in known.values()]
    return Scoring(promises if len(known) == len(metrics) else None, claims)


def refuse_mixed(metrics, estimators):
    """Refuse, before any fit, a private score of what a transformer may have mixed."""
    if any(isinstance(scorer, PrivateKendallTau) for scorer in metrics.values()):
        for estimator in estimators:
            refuse_mixing(estimator)
