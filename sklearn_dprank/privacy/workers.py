"""Warning for private fits that run inside dask workers."""

from __future__ import annotations

import math
import sys
import warnings

from .guarantee import PrivacyGuarantee


def warn_in_worker(guarantee: PrivacyGuarantee) -> None:
    """Warn if a private release runs in a dask worker, because dask may repeat the task."""
    distributed = sys.modules.get("distributed")  # loaded in every worker
    if distributed is None or not guarantee.certified or math.isinf(guarantee.epsilon):
        return
    try:
        distributed.get_worker()
    except ValueError:  # not in a worker's task
        return
    warnings.warn(
        "A private fit runs inside a worker of dask. dask runs a task again when its worker is lost, and the second "
        "run is a second release, which no account holds. Count the ballots on the workers with "
        "Profile.from_chunks, and fit on the client.",
        UserWarning,
        stacklevel=3,
    )
