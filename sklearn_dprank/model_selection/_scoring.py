"""What a sweep is judged by."""

from collections.abc import Mapping


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
        f"scoring must be None, a callable(estimator, X) or a dict of them by name, got {scoring!r}; "
        "sklearn_dprank.metrics.kendall_tau_scorer is one."
    )


def scoring_guarantees(metrics):
    """Return what each scorer promises, or None if one of them is exact."""
    promises = [getattr(scorer, "guarantee", None) for scorer in metrics.values()]
    return None if None in promises else promises
