"""What a channel's ``randomizer`` stands for, and which of them serve where a channel itself asks about pairs."""

from ..._utils.checks import check_made, check_parameters, shown
from .response import RandomizedResponse
from .thresholded import ThresholdedGaussian, ThresholdedLaplace


def check_randomizer(randomizer, name):
    """Raise unless `randomizer` is None or an object with a protocol."""
    check_made(randomizer, name, "randomizer")
    if randomizer is not None and not callable(getattr(randomizer, "protocol", None)):
        raise ValueError(
            f"{name} must be None or an object of sklearn_dprank.collection.curator, got {shown(randomizer)}."
        )


def resolve_randomizer(randomizer):
    """Return the randomizer; None is randomised response on one random pair."""
    return RandomizedResponse() if randomizer is None else randomizer


def resolve_flips(channel, counted_by):
    """Return the randomizer of a channel that asks about pairs and needs no more than how answers are flipped.

    Parameters
    ----------
    channel : Interactive or Shuffle
        Its ``randomizer`` is read.
    counted_by : str
        Where the channel says how many answers a voter gives.

    Raises
    ------
    ValueError
        If the randomizer does not flip answers, or says itself how many there are.
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
    """Return the randomizer that a name stands for; both papers' thresholded noise can be calibrated their way."""
    if calibration == "published" and name not in ("laplace", "gaussian"):
        raise ValueError(f"calibration='published' is for randomizer='laplace' or 'gaussian', got {name!r}.")
    if name == "laplace":
        return ThresholdedLaplace(n_queries, calibration)
    if name == "gaussian":
        return ThresholdedGaussian(n_queries, delta, calibration)
    return RandomizedResponse(n_queries)
