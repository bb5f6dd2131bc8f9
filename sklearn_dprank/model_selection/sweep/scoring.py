"""Scorers by name, and what publishing their scores promises."""

from collections.abc import Mapping
from typing import NamedTuple

from ..._utils.checks import shown
from ...privacy.guarantee import PrivacyGuarantee
from ..private.scorer import PrivateKendallTau, refuse_mixing


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
