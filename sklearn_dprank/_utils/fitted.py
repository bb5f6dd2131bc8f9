"""Fitted attributes: they are made on a draft, and replace those of an earlier fit all at once."""

import os
import threading
from functools import lru_cache
from inspect import signature

_replacing = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child process never starts with a lock that another thread held
    os.register_at_fork(
        before=_replacing.acquire, after_in_parent=_replacing.release, after_in_child=_replacing.release
    )


def clear_fitted(estimator, keep=()):
    """Delete what an earlier fit left, but for the names in `keep`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> estimator = SimpleNamespace(epsilon=1.0, consensus_=[1, 0])
    >>> clear_fitted(estimator)
    >>> estimator
    namespace(epsilon=1.0)
    """
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.endswith("__")]:
        if name not in keep:
            delattr(estimator, name)


def draft_of(estimator):
    """Return an object with the attributes that the estimator has now; a fit changes it and nobody else sees it."""
    draft = object.__new__(type(estimator))
    vars(draft).update(vars(estimator))
    return draft


@lru_cache(maxsize=256)
def _parameters_of(kind):
    """Return the names of the parameters of a class of estimators, which scikit-learn looks up anew for each object."""
    return frozenset(signature(kind).parameters)


def publish(draft, estimator, **expected):
    """Give the estimator the attributes of a draft in one step, but for its parameters; return whether it was done.

    It is a compare-and-swap: nothing is done unless the estimator's attributes named in `expected` are these objects
    (None: it has none). Other threads, copies, pickles and forks see the old attributes or the new ones, never a
    mixture.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> estimator = DPBorda()
    >>> draft = draft_of(estimator)
    >>> draft.ranks_ = [0, 1]
    >>> publish(draft, estimator, ranks_=[0, 1])
    False
    >>> publish(draft, estimator, ranks_=None), estimator.ranks_
    (True, [0, 1])
    """
    parameters = _parameters_of(estimator.__class__)
    before = after = None
    try:
        with _replacing:
            before = vars(estimator)
            if any(before.get(name) is not value for name, value in expected.items()):
                return False
            after = {**vars(draft), **{name: value for name, value in before.items() if name in parameters}}
            estimator.__dict__ = after
    except BaseException:  # an interrupt: the caller learns that nothing was published, and that must be true
        with _replacing:
            if vars(estimator) is after:
                estimator.__dict__ = before
        raise
    return True
