"""What a channel's ``randomizer`` stands for, and which of them serve where a channel itself asks about pairs."""

from .response import RandomizedResponse


def resolve_randomizer(randomizer):
    """Return the randomizer; None is randomised response on one random pair.

    Raises
    ------
    ValueError
        If it is a class, or no randomizer.
    """
    if randomizer is None:
        return RandomizedResponse()
    if isinstance(randomizer, type):
        name = randomizer.__name__
        raise ValueError(f"randomizer must be a randomizer object, got the class {name}; use randomizer={name}().")
    if not hasattr(randomizer, "protocol"):
        raise ValueError(f"randomizer must be None or a randomizer object, got {randomizer!r}.")
    return randomizer


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
    if randomizer.n_queries != 1:
        raise ValueError(
            f"{asking} cannot use {name}(n_queries={randomizer.n_queries!r}): how many pairs a voter answers is up to "
            f"{counted_by}; leave n_queries of the randomizer at 1."
        )
    return randomizer
