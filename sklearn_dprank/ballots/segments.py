"""Ballots in public segments, such as the regions of a survey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .names import is_frame, normal
from .profile import Profile
from .weights import WeightBound


class SegmentedProfile(Profile):
    """Profile whose ballots are also counted by segment.

    Attributes
    ----------
    parts : list of Profile
        Profile of each segment, with the weights that its ballots have in the whole profile. Weights of one person are
        clipped over all ballots, so they add up to at most the bound over all segments together.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.ballots.segments import SegmentedProfile
    >>> votes = Profile.from_rankings([[0, 1, 2], [2, 1, 0], [0, 1, 2]])
    >>> [part.n_voters for part in SegmentedProfile(votes, np.array([1, -1, 1]), 2).parts]
    [0, 2]
    """

    def __init__(self, profile: Profile, numbers: NDArray[np.intp], n_segments: int) -> None:
        vars(self).update(vars(profile))
        self._whole, self._numbers = profile, numbers
        self.parts = [profile.take(np.flatnonzero(numbers == segment)) for segment in range(n_segments)]

    def bounded(self, bound: WeightBound) -> SegmentedProfile:
        """Return this profile with the bound that a fit has chosen: persons are clipped first, and split later."""
        return SegmentedProfile(self._whole.bounded(bound), self._numbers, len(self.parts))


def segment_numbers(segments: Any, classes: list[Any], n_voters: int) -> NDArray[np.intp]:
    """Return the index in `classes` of each ballot's label, and -1 for a missing label or one that is not listed.

    Raise ValueError unless `segments` lists one label for each ballot. Its contents never raise an error.

    Examples
    --------
    >>> segment_numbers(["south", None, "north", "moon"], ["north", "south"], 4)
    array([ 1, -1,  0, -1])
    """
    unlisted = isinstance(segments, (str, bytes, Mapping, set, frozenset)) or is_frame(segments)
    if unlisted or not hasattr(type(segments), "__len__"):  # an iterator would be used up by a forecast
        raise ValueError(f"segments must list one label for each ballot, got a {type(segments).__name__}.")
    if getattr(segments, "ndim", 1) != 1:  # the rows of a table would be labels that nobody lists
        raise ValueError(f"segments must have one dimension, got {segments.ndim}; pass one column.")
    to_list = next((name for name in ("tolist", "to_list", "to_pylist") if hasattr(segments, name)), None)
    labels = list(segments if to_list is None else getattr(segments, to_list)())
    if len(labels) != n_voters:
        raise ValueError("segments must hold one label for each ballot, and has another length.")
    listed = {label: number for number, label in enumerate(classes)}
    return np.array([_number(label, listed) for label in labels], dtype=np.intp)


def _number(label, listed):
    """Return the number of a label, or -1."""
    try:
        return listed.get(normal(label) if isinstance(label, str) else label, -1)
    except TypeError:  # labels that cannot be hashed are not listed
        return -1
