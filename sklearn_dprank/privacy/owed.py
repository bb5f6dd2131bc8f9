"""What a fitted estimator, pipeline or search owes the voters whose ballots it was given.

scikit-learn is imported only where an estimator is given, so nothing else here needs it.
"""

from dataclasses import replace
from typing import Any

from ..checks import shown
from .guarantee import PrivacyGuarantee

_ROW_WISE: set[type] = set()  # subclasses may do anything, and are not in it
_UNSTATED = PrivacyGuarantee.nothing("an estimator that states no guarantee")
_SEARCH = PrivacyGuarantee.nothing("a search by exact scores of the ballots")
_MAY_MIX = PrivacyGuarantee.nothing("a transformer may mix ballots with each other")


def guarantee_of(estimator: Any, *, declared: bool = True) -> PrivacyGuarantee:
    """Return what a fitted estimator, pipeline or search promises the voters whose ballots its `fit` was given.

    Parameters
    ----------
    estimator : fitted estimator
        An aggregator, a Pipeline, a search, or anything else that was fitted.
    declared : bool, default=True
        Whether to take a search at its word that its ballots are public (``public_ballots=True``).

    Returns
    -------
    PrivacyGuarantee
        Of an aggregator and a search of this package, or a class derived from theirs, its ``privacy_``. Of a Pipeline
        that of its last step, if every transformer reads each ballot by itself, and else nothing, with a caveat that
        names the step. Of anything else nothing: scikit-learn's own searches select by exact scores, and what
        another class writes into a ``privacy_`` of its own is a claim that nothing checks.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    TypeError
        If it is no estimator.

    Notes
    -----
    ``privacy_`` of an aggregator is about the ballots that reach it. A transformer that learns from all ballots
    (`~sklearn.impute.SimpleImputer` learns means, `~sklearn.preprocessing.StandardScaler` scales) lets one voter
    change what every ballot says, and no noise is scaled for that.
    `~sklearn_dprank.preprocessing.RatingsToRankings` is known to read each ballot by itself; it takes missing ratings
    as they are. "passthrough" does nothing.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.preprocessing import RatingsToRankings
    >>> from sklearn_dprank.privacy import guarantee_of
    >>> ratings = [[5.0, float("nan"), 1.0], [4.0, 3.0, 5.0]] * 50
    >>> print(guarantee_of(make_pipeline(RatingsToRankings(), DPBorda(epsilon=0.5)).fit(ratings)))
    epsilon = 0.5 (central, add_remove)
    >>> imputed = guarantee_of(make_pipeline(SimpleImputer(), RatingsToRankings(), DPBorda(epsilon=0.5)).fit(ratings))
    >>> print(imputed, imputed.caveats[0][:53])
    not private the step 'simpleimputer' (SimpleImputer) may mix ball...
    """
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(type(estimator), "fit"):
        raise TypeError(f"estimator must be a fitted estimator, pipeline or search, got {shown(estimator)}.")
    if isinstance(estimator, BaseEstimator):  # others cannot be asked
        check_is_fitted(estimator)
    return owed_by(estimator, declared)


def owed_by(fitted, declared):
    """Return what `guarantee_of` returns, without asking whether it is fitted."""
    if (nothing := _mixed(fitted)) is not None:
        return nothing
    last = last_step(fitted)
    # Asked of the class, because some wrappers pass every attribute of what they wrap for their own.
    stated = getattr(type(last), "_owed", None)
    if stated is not None:
        return stated(last, declared)
    if hasattr(last, "privacy_"):
        caveat = f"{type(last).__name__} states a guarantee of its own, which nothing checks: it is not counted"
        return replace(_UNSTATED, caveats=(caveat,))
    return _SEARCH if hasattr(last, "cv_results_") else _UNSTATED


def owed_before(estimator: Any, X: Any, voter_epsilon: Any = None) -> PrivacyGuarantee:
    """Return what a fit on X will owe, at most; of X only what is public is read.

    Parameters
    ----------
    estimator : estimator
        As in `guarantee_of`, but unfitted; a search is taken at its word that its ballots are public.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.
    voter_epsilon : array-like of shape (n_voters,) or None, default=None
        Each voter's own, public epsilon.

    Returns
    -------
    PrivacyGuarantee
        Nothing, where no promise is known.

    Raises
    ------
    ValueError
        If the fit is impossible, or it cannot be known what it will owe.
    """
    if not hasattr(type(estimator), "fit"):
        raise TypeError(f"estimator must be an estimator, pipeline or search, got {shown(estimator)}.")
    if (nothing := _mixed(estimator)) is not None:
        return nothing
    kind = type(last_step(estimator))
    foretold = getattr(kind, "_will_owe", None)
    if foretold is None:
        return _UNSTATED
    if issubclass(_home(kind, "fit"), _home(kind, "_will_owe")) and _home(kind, "fit") is not _home(kind, "_will_owe"):
        raise ValueError(
            f"{kind.__name__} has a fit of its own, and nobody knows beforehand what it will owe; charge() what it "
            "owes at most, then fit it."
        )
    return foretold(last_step(estimator), X, voter_epsilon)


def _home(kind, name):
    """Return the class that defines what objects of this kind have by this name."""
    return next(base for base in kind.__mro__ if name in vars(base))


def _mixed(estimator):
    """Return what is owed where a step may mix ballots with each other, or None where none does."""
    if (mixing := mixing_step(estimator)) is None:
        return None
    name, step = mixing
    caveat = f"the step {name!r} ({type(step).__name__}) may mix ballots with each other: one voter may change all"
    return replace(_MAY_MIX, caveats=(caveat,))


def row_wise(transformer):
    """Register a class of transformers that read each ballot by itself, and return it."""
    _ROW_WISE.add(transformer)
    return transformer


def last_step(estimator: Any):
    """Return the estimator that a pipeline, or a pipeline in it, ends in; any other estimator itself."""
    from sklearn.pipeline import Pipeline

    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def mixing_step(estimator: Any):
    """Return the name and the first step of a pipeline that may mix ballots with each other, or None.

    The guarantee of an aggregator holds for the ballots that reach it. It holds for those that entered the pipeline if
    every transformer reads each ballot by itself, as those that `row_wise` has registered do.
    """
    from sklearn.pipeline import Pipeline

    name = "pipeline"
    while isinstance(estimator, Pipeline):
        if type(estimator) is not Pipeline:  # a subclass may resample, say
            return name, estimator
        for name, step in estimator.steps[:-1]:
            if step not in (None, "passthrough") and type(step) not in _ROW_WISE:
                return name, step
        name, estimator = estimator.steps[-1]
    return None
