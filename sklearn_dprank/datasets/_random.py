"""Where simulated data take their randomness from."""

import numpy as np

from ..sampling.streams import seed_sequence


def as_generator(random_state):
    """Return the numpy Generator that `random_state` stands for.

    Parameters
    ----------
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        None takes fresh entropy; an int seeds; a Generator is used itself, and so advanced; a
        RandomState gives 128 bits to seed from.

    Returns
    -------
    numpy.random.Generator
        Where the draws come from.

    Raises
    ------
    ValueError
        If `random_state` is none of these, or negative.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))
