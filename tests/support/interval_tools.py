"""Rank intervals by their definition: a matrix of all pairs of items."""

import numpy as np
from scipy.special import ndtri

from sklearn_dprank.uncertainty import ShareNoise, StrengthNoise


def ranks(above):
    """Best and worst ranks, where ``above[i, j]`` says that i is surely above j."""
    return np.column_stack([above.sum(axis=0), len(above) - 1 - above.sum(axis=1)])


def surely_above(noise, published, level):
    """Which items are surely above which, for all noise but that of margins."""
    if isinstance(noise, ShareNoise):
        low, high = noise.intervals(published, level).T
        return low[:, None] > high
    m, gaps = len(published), published[:, None] - published
    if isinstance(noise, StrengthNoise):
        z = -ndtri((1 - level) / max(m * (m - 1), 2))
        return gaps > 1.3 * z * np.hypot(noise.deviations[:, None], noise.deviations)
    return gaps > noise.law.range_quantile(m, level)
