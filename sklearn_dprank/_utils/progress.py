"""A progress bar for what takes long, where tqdm is installed (the extra ``progress``)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_DELAY = 2.0  # seconds: what is short shows nothing


@contextmanager
def progress_bar(total: int | None, shown: bool, **looks: Any) -> Iterator[Callable[[int], Any]]:
    """Yield a function of (number finished) that moves a bar with the time left.

    Parameters
    ----------
    total : int or None
        How many in all, where it is known.
    shown : bool
        Whether to show anything.
    **looks
        Options of tqdm, such as what is counted (``unit``, by default a fit).
    """
    tqdm = _tqdm() if shown else None
    if tqdm is None:
        yield lambda count: None
        return
    with tqdm(total=total, delay=_DELAY, **{"unit": "fit", **looks}) as bar:
        yield bar.update


def _tqdm():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
