"""Guarantees of estimators, pipelines and searches; a warning for private fits in dask workers."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._utils.checks import safe_repr
from .guarantee import PrivacyGuarantee


def warn_in_worker(guarantee: PrivacyGuarantee) -> None:
    """Warn if a private release runs in a dask worker, because dask may repeat the task."""
    distributed = sys.modules.get("distributed")  # loaded in every worker
    if distributed is None or not guarantee.certified or math.isinf(guarantee.epsilon):
        return
    try:
        distributed.get_worker()
    except ValueError:  # not in a worker's task
        return
    warnings.warn(
        "A private fit runs inside a worker of dask. If the worker is lost, dask runs the task again. This is a second "
        "release, which no account holds. Count the ballots on the workers with "
        "Profile.from_chunks, and fit on the client.",
        UserWarning,
        stacklevel=3,
    )


_ROW_WISE: set[type] = set()  # exact types: a subclass may mix ballots, so it must be registered itself
_UNSTATED = PrivacyGuarantee.nothing("an estimator that states no guarantee")
_UNKNOWN = replace(
    PrivacyGuarantee.nothing("unknown: the steps of the pipeline are not those of its last fit"),
    caveats=("the pipeline was changed after it was fitted, or was never fitted as a whole: fit it again",),
)
_ON_DISK = "Pipeline(memory=...) writes the ballots to a disk, in clear, which this does not cover"
_FITTED_IN = "_fitted_in_"  # attribute that `record_pipeline` writes and `clear_fitted` deletes
#: Methods of an aggregator or a search that read ballots, draw noise, publish, or state what was spent. An override may
#: reveal more than the forecast.
_CARRYING = (
    *("fit", "partial_fit", "read_ballots", "_set_items"),
    *("_planned", "_release", "publish", "_checked_order", "_segment_numbers"),
    *("_total", "_account", "guarantee_after"),
)
_FORECAST = {"guarantee_before", "plan_for", "guarantee"}  # methods that state a guarantee before the fit


class GuaranteedEstimator:
    """Mixin for estimators whose guarantee `guarantee_of` and `PrivacyBudget` accept."""

    privacy_: PrivacyGuarantee

    def guarantee_before(self, X: Any, voter_epsilon: Any = None) -> PrivacyGuarantee:
        """Return an upper limit on the guarantee of a fit on X, without reading ballots.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots. Only public properties are read: the numbers of items and voters, and the voters' own epsilons.
        voter_epsilon : array-like of shape (n_voters,) or None, default=None
            Public epsilon of each voter, as for `fit`.

        Returns
        -------
        PrivacyGuarantee
            Guarantee that `PrivacyBudget` charges before the fit.

        Raises
        ------
        ValueError
            If the fit is impossible, or its guarantee is not known in advance.
        """
        raise NotImplementedError

    def guarantee_after(self, declared: bool = True) -> PrivacyGuarantee:
        """Return the guarantee of the last fit.

        Parameters
        ----------
        declared : bool, default=True
            Whether to accept the declaration of a search that its ballots are public.

        Returns
        -------
        PrivacyGuarantee
            Guarantee that `guarantee_of` returns.
        """
        return self.privacy_

    @property
    def _repr_html_(self):
        """Diagram of scikit-learn with the guarantee of the fit, for the documentation and notebooks."""
        parent: Any = super()
        diagram = parent._repr_html_  # AttributeError if scikit-learn is set to show text
        return lambda: diagram() + self._guarantee_html()

    def _repr_mimebundle_(self, **kwargs):
        parent: Any = super()
        bundle = parent._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._guarantee_html()
        return bundle

    def _guarantee_html(self):
        """Return the guarantee of the fit as HTML; empty before a fit."""
        return self.privacy_._repr_html_() if hasattr(self, "privacy_") else ""


def guarantee_of(estimator: Any, *, declared: bool = True) -> PrivacyGuarantee:
    """Return the privacy guarantee of a fitted estimator, pipeline or search, for the ballots passed to `fit`.

    Parameters
    ----------
    estimator : fitted estimator
        An aggregator, a Pipeline, a search, or any other fitted estimator.
    declared : bool, default=True
        Whether to accept the declaration of a search that its ballots are public (``public_ballots=True``).

    Returns
    -------
    PrivacyGuarantee
        - Aggregators and searches of this package, and their subclasses: their ``privacy_``. If `declared` is False,
          ``results_cost_`` of a search. If a subclass has its own ``fit``, a caveat states that nothing checks it.
        - Pipelines: the guarantee of the last step, if every transformer reads each ballot independently. Otherwise not
          private, with a caveat that names the step. Also not private if the steps differ from those of the last fit,
          with a caveat to fit it again.
        - All other estimators: not private. The searches of scikit-learn select by exact scores. A ``privacy_`` of
          another class is not verified, and a caveat states this.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is not an estimator.

    Notes
    -----
    ``privacy_`` of an aggregator covers the ballots that reach the aggregator. Some transformers learn from all
    ballots. `~sklearn.impute.SimpleImputer` learns means, for example, and `~sklearn.preprocessing.StandardScaler`
    learns scales. With such a step, one voter can change all ballots, and the noise does not cover that.
    `~sklearn_dprank.preprocessing.RatingsToRankings` reads each ballot independently and keeps missing ratings.
    "passthrough" changes no ballot.

    When a pipeline is fitted, its last step records the classes of the steps before it. The guarantee is known while
    the pipeline has steps of these classes.

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
        raise TypeError(f"estimator must be a fitted estimator, pipeline or search, got {safe_repr(estimator)}.")
    if isinstance(estimator, BaseEstimator):  # only scikit-learn estimators support this check
        check_is_fitted(estimator)
    return guarantee_after(estimator, declared)


def guarantee_after(fitted, declared):
    """Return the result of `guarantee_of`, without a check that the estimator is fitted."""
    if (mixing := mixing_step(fitted)) is not None:
        return _mixed(*mixing)
    *pipelines, last = _chain(fitted)
    if issubclass(type(last), GuaranteedEstimator):  # wrappers that forward attributes do not qualify
        changed = pipelines and getattr(last, _FITTED_IN, None) != _classes_of(fitted)
        stated = _UNKNOWN if changed else last.guarantee_after(declared)
        if any(pipeline.memory is not None for pipeline in pipelines):
            stated = with_caveats(stated, _ON_DISK)
        return with_own_methods(last, stated)
    if hasattr(last, "privacy_"):
        caveat = f"{type(last).__name__} states a guarantee of its own, which nothing checks: it is not counted"
        return with_caveats(_UNSTATED, caveat)
    exact = "a search by exact scores of the ballots"
    return PrivacyGuarantee.nothing(exact) if hasattr(last, "cv_results_") else _UNSTATED


def guarantee_before(estimator: Any, X: Any, voter_epsilon: Any = None, **segments: Any) -> PrivacyGuarantee:
    """Return an upper limit on the guarantee of a fit on X, from public properties of X only.

    Parameters
    ----------
    estimator : estimator
        As in `guarantee_of`, but unfitted. The declaration of a search that its ballots are public is accepted.
    X : array-like of shape (n_voters, n_items) or Profile
        Ballots. Their contents are not read.
    voter_epsilon : array-like of shape (n_voters,) or None, default=None
        Public epsilon of each voter.
    **segments : dict
        ``segments``, if the ballots are fitted with it; only its length is read.

    Returns
    -------
    PrivacyGuarantee
        Not private if no guarantee is known.

    Raises
    ------
    TypeError
        If `estimator` is not an estimator.
    ValueError
        If the fit is impossible, or its guarantee cannot be known in advance. The latter happens if the class or the
        object overrides a method between reading ballots and release. A class with its own forecast is accepted.
    """
    if not hasattr(type(estimator), "fit"):
        raise TypeError(f"estimator must be an estimator, pipeline or search, got {safe_repr(estimator)}.")
    if (mixing := mixing_step(estimator)) is not None:
        return _mixed(*mixing)
    last = last_step(estimator)
    if not issubclass(type(last), GuaranteedEstimator):
        return _UNSTATED
    if own := own_methods(last):
        raise ValueError(
            f"{type(last).__name__} has a {own[0]} of its own, so its guarantee is not known before the fit; charge() "
            "an upper bound, then fit it."
        )
    return last.guarantee_before(X, voter_epsilon, **segments)


def is_forecast_proved(estimator: Any) -> bool:
    """Return whether this package states the forecast of an estimator, and not a class that vouches for itself."""
    package = __package__.partition(".")[0]
    for kind in type(last_step(estimator)).__mro__:
        if _FORECAST.isdisjoint(vars(kind)):  # it states no guarantee
            continue
        # A foreign class can copy `__module__` from a class of this package, as decorators do. It is then not the class
        # that the module holds under this name.
        module = sys.modules.get(kind.__module__)
        if kind.__module__.partition(".")[0] != package or getattr(module, kind.__name__, None) is not kind:
            return False
    return True


def with_own_methods(estimator: Any, guarantee: PrivacyGuarantee) -> PrivacyGuarantee:
    """Return a guarantee with a caveat if the class or the object overrides a method between ballots and release."""
    if not (own := own_methods(estimator)):
        return guarantee
    kind = type(estimator).__name__
    return with_caveats(guarantee, f"{kind} has a {own[0]} of its own: nothing checks that its guarantee covers it")


def with_caveats(guarantee: PrivacyGuarantee, *caveats: str) -> PrivacyGuarantee:
    """Return a guarantee with further caveats."""
    return replace(guarantee, caveats=tuple(dict.fromkeys([*guarantee.caveats, *caveats])))


def own_methods(estimator: Any) -> list[str]:
    """Return the methods between ballots and release that the class or the object overrides; its forecast may fail.

    The class that defines ``guarantee_before`` knows its own methods and those of its bases. A class before them in the
    MRO overrides a method of theirs, or calls it by ``super()``. For ``class Mine(DPBorda)``, the MRO is Mine, DPBorda,
    RankAggregator, ..., object, and RankAggregator defines ``guarantee_before``. A ``fit`` of Mine is an override. If
    Mine defines ``guarantee_before`` itself, it knows its own ``fit``. A class after the last known definition of a
    method does not count, because this definition does not call it.
    """
    kinds = type(estimator).__mro__
    known = next(kind for kind in kinds if "guarantee_before" in vars(kind)).__mro__
    own = replaced_methods(estimator)
    for name in _CARRYING:
        is_known = [kind in known for kind in kinds if name in vars(kind)]
        if True in is_known and False in is_known[: len(is_known) - is_known[::-1].index(True)]:
            own.append(name)
    return own


def replaced_methods(estimator: Any) -> list[str]:
    """Return the names of methods that instance attributes of this object replace."""
    return [name for name in vars(estimator) if callable(getattr(type(estimator), name, None))]


def last_step_params(estimator: Any, fit_params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `fit` parameters that the last step receives, given those of the whole estimator.

    Raises
    ------
    ValueError
        If metadata routing is enabled and the steps do not request a parameter correctly.
    TypeError
        If metadata routing is enabled and no step requests a parameter.
    """
    from sklearn import get_config
    from sklearn.utils.metadata_routing import process_routing

    for pipeline in _chain(estimator)[:-1]:
        name = pipeline.steps[-1][0]
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(pipeline, "fit", **fit_params)[name]["fit"]
        else:
            prefix = f"{name}__"
            fit_params = {k.removeprefix(prefix): value for k, value in fit_params.items() if k.startswith(prefix)}
    return fit_params


def record_pipeline(fitted: Any, draft: Any = None):
    """Record the pipelines that call this fit, for `guarantee_of`; return the object with the record.

    The record is written to `draft`, if it is given, so that it is published together with the fit. Otherwise, another
    thread could publish its fit first, and the record would describe the wrong fit.

    scikit-learn does not tell a step which pipeline it is in. This function therefore reads the stack frames of
    ``sklearn.pipeline``. If it does not find the pipeline there, it writes no record, and the guarantee is unknown.
    """
    outermost, frame = fitted, inspect.currentframe()
    while frame is not None:
        is_pipeline = frame.f_globals.get("__name__") == "sklearn.pipeline"
        caller: Any = frame.f_locals.get("self") if is_pipeline else None
        if getattr(caller, "steps", None) and caller.steps[-1][1] is outermost:
            outermost = caller
        frame = frame.f_back
    written = fitted if draft is None else draft
    if outermost is not fitted:
        setattr(written, _FITTED_IN, _classes_of(outermost))
    return written


def fitted_by(pipeline: Any):
    """Record on the last step of a pipeline that this pipeline fitted it; return the pipeline."""
    setattr(last_step(pipeline), _FITTED_IN, _classes_of(pipeline))
    return pipeline


def _classes_of(pipeline):
    """Return the class names of nested pipelines and of their transformers, without the last step."""
    parts = [part for each in _chain(pipeline)[:-1] for part in (each, *(step for _, step in each.steps[:-1]))]
    kinds = [type(part) for part in parts if part not in (None, "passthrough")]
    return tuple(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)


def _mixed(name, step):
    """Return the guarantee of a pipeline in which this step may mix ballots."""
    caveat = f"the step {name!r} ({type(step).__name__}) may mix ballots with each other: one voter may change all"
    return with_caveats(PrivacyGuarantee.nothing("a transformer may mix ballots with each other"), caveat)


def row_wise(transformer):
    """Register a class of transformers that read each ballot independently; return the class."""
    _ROW_WISE.add(transformer)
    return transformer


def last_step(estimator: Any):
    """Return the final estimator of a pipeline, through nested pipelines; return any other estimator itself."""
    return _chain(estimator)[-1]


def _chain(estimator):
    """Return the nested pipelines, outermost first, and the final estimator; any other estimator alone."""
    from sklearn.pipeline import Pipeline

    chain = [estimator]
    while isinstance(chain[-1], Pipeline):
        chain.append(chain[-1].steps[-1][1])
    return chain


def mixing_step(estimator: Any):
    """Return (name, step) for the first step of a pipeline that may mix ballots, or None.

    The guarantee of an aggregator covers the ballots that reach the aggregator. It covers the input of the pipeline if
    every transformer reads each ballot independently. Only classes registered with `row_wise` are known to do so. A
    pipeline or step with replaced methods counts as mixing.
    """
    from sklearn.pipeline import Pipeline

    name = "pipeline"
    for pipeline in _chain(estimator)[:-1]:
        if type(pipeline) is not Pipeline or replaced_methods(pipeline):  # a subclass may resample ballots, for example
            return name, pipeline
        for name, step in pipeline.steps[:-1]:
            if step in (None, "passthrough"):
                continue
            if type(step) not in _ROW_WISE or replaced_methods(step):
                return name, step
        name = pipeline.steps[-1][0]
    return None
