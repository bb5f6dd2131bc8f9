"""What a search costs: counted in the process that called it, because clones and workers forget."""

import math
from dataclasses import replace

from ..privacy.guarantee import PrivacyGuarantee
from ._steps import last_step, mixing_step

_ON_EXACT_SCORES = "its parameters were selected on exact scores of ballots, which this does not cover"
_ON_PRIVATE_SCORES = "its parameters were selected by a search, whose privacy_ is the cost of all"
_MIXED = "a transformer before it may mix ballots with each other, which this does not cover"
_DECLARED = "the ballots were declared public, which nothing checks"
_TIMES = "times are outside the guarantee"
_SPLITS = "splits must not depend on what the ballots say"
_UNSTATED = PrivacyGuarantee.nothing("an estimator that states no guarantee")
_MAY_MIX = PrivacyGuarantee.nothing("a transformer may mix ballots with each other")


def promise_of(fitted):
    """Return what a fitted estimator promises the voters whose ballots it was given."""
    if mixing_step(fitted) is not None:
        return _MAY_MIX
    return getattr(last_step(fitted), "privacy_", _UNSTATED)


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


def promise_of_results(scored, unscored, scorings, split_voters, public_ballots):
    """Return what publishing all results of a search promises.

    Parameters
    ----------
    scored, unscored : list of PrivacyGuarantee
        Of the fits of the trials, and of the refit.
    scorings : list of PrivacyGuarantee or None
        Of the scores of one fit; None if one of them is exact.
    split_voters, public_ballots : bool
        Whether voters were split, and whether the ballots were declared public.
    """
    if public_ballots:
        relation = total_of([*scored, *unscored], split_voters).neighboring
        how = "the ballots are declared public: their voters are owed nothing"
        return PrivacyGuarantee(0.0, 0.0, "central", relation, how, caveats=(_DECLARED,))
    if scorings is None:
        return PrivacyGuarantee.nothing("a search by exact scores of the ballots")
    total = total_of([*scored, *unscored, *(scorings * len(scored))], split_voters)
    # Recorded seeds let anybody subtract the noise, of fits and scores alike.
    return _with(total, _TIMES).simulated(certified=False)


def warn_reader(estimator, exact_scores):
    """Say in the guarantee of a refitted estimator, and of those inside it, what it does not cover."""
    mixed = mixing_step(estimator) is not None
    estimator = last_step(estimator)
    while estimator is not None:
        if hasattr(estimator, "privacy_"):
            selected = _ON_EXACT_SCORES if exact_scores else _ON_PRIVATE_SCORES
            estimator.privacy_ = _with(estimator.privacy_, selected, *([_MIXED] if mixed else []))
        inner = getattr(estimator, "best_estimator_", None)
        estimator = None if inner is None else last_step(inner)


def _with(guarantee, *caveats):
    return replace(guarantee, caveats=tuple(dict.fromkeys([*guarantee.caveats, *caveats])))
