"""What a fit leaves on an estimator: attributes with a trailing underscore."""


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
