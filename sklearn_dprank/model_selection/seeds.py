"""Seeds: a different one for every fit, set on every part of an estimator."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from .._utils.scikit_learn import BaseEstimator
from ..sampling.streams import seed_sequence
from .parameters import is_called, parameters_of

#: Largest number of fits of one candidate, because each has its own 32-bit seed.
MOST_TRIALS = 1_000_000
_Estimator = TypeVar("_Estimator", bound=BaseEstimator)


def child_seeds(random_state, shape):
    """Return an int64 array of distinct seeds below 2**32, which every scikit-learn ``random_state`` accepts.

    `random_state` may also be a SeedSequence.
    """
    given = isinstance(random_state, np.random.SeedSequence)
    sequence, size = random_state if given else seed_sequence(random_state), int(np.prod(shape))
    more = size
    while True:
        words = sequence.generate_state(more, np.uint32).astype(np.int64)
        _, first = np.unique(words, return_index=True)
        if len(first) >= size:
            return words[np.sort(first)[:size]].reshape(shape)
        more *= 2


def is_seed(name):
    """Return whether a parameter of this name is a seed."""
    return is_called(name, "random_state")


def with_seed(estimator: _Estimator, seed: int | None) -> _Estimator:
    """Set `seed` on every ``random_state`` parameter, including nested ones, and return the estimator.

    Parameters
    ----------
    estimator : estimator
        Estimator to change in place.
    seed : int or None
        New value of every ``random_state``.

    Returns
    -------
    estimator : estimator
        The same object.
    """
    return estimator.set_params(**dict.fromkeys(filter(is_seed, estimator.get_params()), seed))


def has_seed(part):
    """Return whether a part, or a part inside it, has a ``random_state`` and so may draw at random."""
    return any(map(is_seed, parameters_of(part)))
