"""Seeds: a different one for every fit, set on every part of an estimator."""

from typing import TypeVar

import numpy as np

from .._utils.scikit_learn import BaseEstimator
from ..sampling.streams import seed_sequence
from .parameters import is_called, parameters_of

#: Fits of one candidate, at most: each has a seed of its own, and those are 32 bits long.
MOST_TRIALS = 1_000_000
_Estimator = TypeVar("_Estimator", bound=BaseEstimator)


def child_seeds(random_state, shape):
    """Return distinct seeds below 2**32, which every scikit-learn ``random_state`` accepts.

    Parameters
    ----------
    random_state : None, int, Generator or RandomState
        Where they come from.
    shape : tuple of int
        One for each fit.

    Returns
    -------
    ndarray of int64, of that shape
        Different for different fits, so that no two share their noise.
    """
    sequence, size = seed_sequence(random_state), int(np.prod(shape))
    more = size
    while True:
        words = sequence.generate_state(more, np.uint32).astype(np.int64)
        _, first = np.unique(words, return_index=True)
        if len(first) >= size:
            return words[np.sort(first)[:size]].reshape(shape)
        more *= 2


def is_seed(name):
    """Tell whether a parameter of this name is a seed."""
    return is_called(name, "random_state")


def with_seed(estimator: _Estimator, seed: int | None) -> _Estimator:
    """Set `seed` on every ``random_state`` parameter, nested ones too, and return the estimator."""
    return estimator.set_params(**dict.fromkeys(filter(is_seed, estimator.get_params()), seed))


def has_seed(part):
    """Tell whether a part, or a part of it, has a seed, so that it may draw at random."""
    return any(map(is_seed, parameters_of(part)))
