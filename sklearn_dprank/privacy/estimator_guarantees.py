"""What a fitted estimator, pipeline or search owes the voters whose ballots it was given.

scikit-learn is imported only where an estimator is given, so nothing else here needs it.
"""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._utils.checks import shown
from .guarantee import PrivacyGuarantee

_ROW_WISE: set[type] = set()  # subclasses may do anything, and are not in it
_UNSTATED = PrivacyGuarantee.nothing("an estimator that states no guarantee")
_SEARCH = PrivacyGuarantee.nothing("a search by exact scores of the ballots")
_MAY_MIX = PrivacyGuarantee.nothing("a transformer may mix ballots with each other")
_UNKNOWN = PrivacyGuarantee.nothing("unknown: the steps of the pipeline are not those of its last fit")
_REFIT = "the pipeline was changed after it was fitted, or was never fitted as a whole: fit it again"
_FITTED_IN = "_fitted_in_"  # where `record_pipeline` writes; `clear_fitted` deletes it
#: What the `fit` of an aggregator calls to read ballots, draw and publish: others may reveal more than is foretold.
_CARRYING = (
    *("fit", "read_ballots", "_check_items", "_set_items"),
    *("_planned", "_release", "_fits", "_publish"),
)


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
        names the step. If its steps are not those of its last fit, nothing, with a caveat that says to fit it again. Of
        anything else nothing: scikit-learn's own searches select by exact scores, and what another class writes into a
        ``privacy_`` of its own is a claim that nothing checks.

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

    The last step of a pipeline records the classes of the steps before it when it is fitted. The guarantee is known as
    long as the pipeline has steps of these classes. A fitted pipeline that 0.2.0 pickled has no record: fit it again.

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
        changed = last is not fitted and getattr(last, _FITTED_IN, None) != _classes_of(_pipelines_of(fitted))
        return replace(_UNKNOWN, caveats=(_REFIT,)) if changed else stated(last, declared)
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
        If the fit is impossible, or it cannot be known what it will owe: a subclass, or this object, has a method of
        its own on the way from the ballots to the release, and no forecast of its own.
    """
    if not hasattr(type(estimator), "fit"):
        raise TypeError(f"estimator must be an estimator, pipeline or search, got {shown(estimator)}.")
    if (nothing := _mixed(estimator)) is not None:
        return nothing
    last = last_step(estimator)
    kind = type(last)
    foretold = getattr(kind, "_will_owe", None)
    if foretold is None:
        return _UNSTATED
    own = _replaced(last)
    own += [name for name in _CARRYING if _position(kind, name) < _position(kind, "_will_owe")]
    if own:
        raise ValueError(
            f"{kind.__name__} has a {own[0]} of its own, and nobody knows beforehand what it will owe; charge() what "
            "it owes at most, then fit it."
        )
    return foretold(last, X, voter_epsilon)


def _position(kind, name):
    """Return the position of the class that defines `name` in the method resolution order of `kind`, or its length."""
    return next((i for i, base in enumerate(kind.__mro__) if name in vars(base)), len(kind.__mro__))


def _replaced(estimator):
    """Return the names of methods of the class that this object replaces by attributes of its own."""
    return [name for name in vars(estimator) if callable(getattr(type(estimator), name, None))]


def last_step_params(estimator: Any, fit_params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters that the `fit` of the last step receives from the `fit` of the estimator.

    Raises
    ------
    ValueError
        If metadata routing is enabled and a parameter is not requested as it should be.
    TypeError
        If metadata routing is enabled and no step requests a parameter.
    """
    from sklearn import get_config
    from sklearn.utils.metadata_routing import process_routing

    for pipeline in _pipelines_of(estimator):
        name = pipeline.steps[-1][0]
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(pipeline, "fit", **fit_params)[name]["fit"]
        else:
            prefix = f"{name}__"
            fit_params = {
                key.removeprefix(prefix): value for key, value in fit_params.items() if key.startswith(prefix)
            }
    return fit_params


def record_pipeline(fitted: Any, draft: Any = None):
    """Record the pipelines whose `fit` called that of the estimator, for `guarantee_of`; return what was written on.

    The record is written on the draft of a fit, if there is one: it is published with what it is about. Otherwise
    another thread's fit could be published before the record, which would then be about the wrong fit.

    scikit-learn does not tell a step about its pipeline, so this reads the frames of ``sklearn.pipeline`` on the stack.
    A pipeline that is not found there is not recorded, and its guarantee is unknown.
    """
    outermost, frame = fitted, inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "sklearn.pipeline":
            caller: Any = frame.f_locals.get("self")
            if getattr(caller, "steps", None) and caller.steps[-1][1] is outermost:
                outermost = caller
        frame = frame.f_back
    written = fitted if draft is None else draft
    if outermost is not fitted:
        setattr(written, _FITTED_IN, _classes_of(_pipelines_of(outermost)))
    return written


def fitted_by(pipeline: Any):
    """Record on the last step of a pipeline that the pipeline fitted it; return the pipeline."""
    setattr(last_step(pipeline), _FITTED_IN, _classes_of(_pipelines_of(pipeline)))
    return pipeline


def _classes_of(pipelines):
    """Return the names of the classes of pipelines and of their transformers, but not of the last step."""
    parts = [part for pipeline in pipelines for part in (pipeline, *(step for _, step in pipeline.steps[:-1]))]
    kinds = [type(part) for part in parts if part not in (None, "passthrough")]
    return tuple(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)


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
    pipelines = _pipelines_of(estimator)
    return pipelines[-1].steps[-1][1] if pipelines else estimator


def _pipelines_of(estimator):
    """Return the pipeline that an estimator is, the one that it ends in, and so on; none for any other estimator."""
    from sklearn.pipeline import Pipeline

    pipelines = []
    while isinstance(estimator, Pipeline):
        pipelines.append(estimator)
        estimator = estimator.steps[-1][1]
    return pipelines


def mixing_step(estimator: Any):
    """Return the name and the first step of a pipeline that may mix ballots with each other, or None.

    The guarantee of an aggregator holds for the ballots that reach it. It holds for those that entered the pipeline if
    every transformer reads each ballot by itself, as those that `row_wise` has registered do. An object whose methods
    were replaced may do anything.
    """
    from sklearn.pipeline import Pipeline

    name = "pipeline"
    for pipeline in _pipelines_of(estimator):
        if type(pipeline) is not Pipeline or _replaced(pipeline):  # a subclass may resample, for example
            return name, pipeline
        for name, step in pipeline.steps[:-1]:
            if step in (None, "passthrough"):
                continue
            if type(step) not in _ROW_WISE or _replaced(step):
                return name, step
        name = pipeline.steps[-1][0]
    return None
