"""Resolution of the ``randomizer`` parameter of channels and estimators."""

from ..._utils.checks import check_made, check_parameters, safe_repr
from .response import RandomizedResponse


def check_randomizer(randomizer, name):
    """Raise an error unless `randomizer` is None or an object with a ``protocol`` method."""
    check_made(randomizer, name, "randomizer")
    if randomizer is not None and not callable(getattr(randomizer, "protocol", None)):
        raise ValueError(
            f"{name} must be None or an object of sklearn_dprank.collection.curator, got {safe_repr(randomizer)}."
        )


def resolve_randomizer(randomizer):
    """Return the randomizer; None stands for randomised response on one random pair."""
    return RandomizedResponse() if randomizer is None else randomizer


def resolve_flips(channel, counted_by):
    """Return the randomizer of a channel that asks about pairs and uses only the flip probability.

    ValueError is raised if the randomizer does not flip answers, or if its `n_queries` is not 1. The channel's
    parameter `counted_by` sets the number of answers.
    """
    randomizer = resolve_randomizer(channel.randomizer)
    asking, name = type(channel).__name__, type(randomizer).__name__
    if not hasattr(randomizer, "flip"):
        raise ValueError(
            f"{asking} cannot use {name}: it takes answers about single pairs, which {name} does not give; use "
            f"RandomizedResponse(), or the channel Local(randomizer={name}())."
        )
    check_parameters(randomizer)
    if randomizer.n_queries != 1:
        raise ValueError(
            f"{asking} cannot use {name}(n_queries={safe_repr(randomizer.n_queries)}): how many pairs a voter answers "
            f"is up to {counted_by}; leave n_queries of the randomizer at 1."
        )
    return randomizer


def check_flips(randomizer, name, names=("rr",)):
    """Raise ValueError unless `randomizer` is one of `names`, or an object that flips answers about pairs."""
    check_made(randomizer, name, "randomizer")
    if randomizer not in names if isinstance(randomizer, str) else not hasattr(randomizer, "flip"):
        wanted = "a randomizer that flips answers about pairs, such as sklearn_dprank.theory.yan.PrintedLaplace()"
        raise ValueError(f"{name} must be one of {list(names)} or {wanted}, got {safe_repr(randomizer)}.")


def flips_of(randomizer, n_queries):
    """Return the randomizer of a name or an object, with this number of queries."""
    if isinstance(randomizer, str):
        return RandomizedResponse(n_queries)
    from sklearn.base import clone

    return clone(randomizer).set_params(n_queries=n_queries)
