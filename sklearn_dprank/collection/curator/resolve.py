"""Resolution of the ``randomizer`` parameter of channels, and of randomizer names."""

from ..._utils.checks import check_made, check_parameters, shown
from .response import RandomizedResponse
from .thresholded import ThresholdedGaussian, ThresholdedLaplace


def check_randomizer(randomizer, name):
    """Raise an error unless `randomizer` is None or an object with a ``protocol`` method."""
    check_made(randomizer, name, "randomizer")
    if randomizer is not None and not callable(getattr(randomizer, "protocol", None)):
        raise ValueError(
            f"{name} must be None or an object of sklearn_dprank.collection.curator, got {shown(randomizer)}."
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
            f"RandomizedResponse() or thresholded noise, or the channel Local(randomizer={name}())."
        )
    check_parameters(randomizer)
    if randomizer.n_queries != 1:
        raise ValueError(
            f"{asking} cannot use {name}(n_queries={shown(randomizer.n_queries)}): how many pairs a voter answers is "
            f"up to {counted_by}; leave n_queries of the randomizer at 1."
        )
    return randomizer


def flips_by_name(name, n_queries, calibration, delta=None):
    """Return the randomizer with this name; only "laplace" and "gaussian" can be calibrated as printed."""
    if calibration == "published" and name not in ("laplace", "gaussian"):
        raise ValueError(f"calibration='published' is for randomizer='laplace' or 'gaussian', got {name!r}.")
    if name == "laplace":
        return ThresholdedLaplace(n_queries, calibration)
    if name == "gaussian":
        return ThresholdedGaussian(n_queries, delta, calibration)
    return RandomizedResponse(n_queries)
