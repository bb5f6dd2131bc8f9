"""Warning for private fits that run inside dask workers."""

import math
import sys
import warnings

from .guarantee import PrivacyGuarantee


def warn_in_worker(guarantee: PrivacyGuarantee) -> None:
    """Warn if a private release is about to be made inside a worker of dask, which may run its task again."""
    distributed = sys.modules.get("distributed")  # a worker has loaded it
    if distributed is None or not guarantee.certified or math.isinf(guarantee.epsilon):
        return
    try:
        distributed.get_worker()
    except ValueError:  # this is not a task of a worker
        return
    warnings.warn(
        "A private fit runs inside a worker of dask. dask runs a task again when its worker is lost, and the second "
        "run is a second release, which no account holds. Count the ballots on the workers with "
        "Profile.from_chunks, and fit on the client.",
        UserWarning,
        stacklevel=3,
    )
