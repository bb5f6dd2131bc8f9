"""The arguments that all simulated data share."""

from numbers import Integral

import numpy as np


def check_size(name, value):
    """Raise ValueError unless `value` is a whole number of at least 1."""
    if not isinstance(value, Integral) or int(value) < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")


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
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    seed = random_state is None or (isinstance(random_state, Integral) and int(random_state) >= 0)
    if seed or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise ValueError(
        f"random_state must be None, an int of at least 0, a numpy Generator or a RandomState, got {random_state!r}."
    )
