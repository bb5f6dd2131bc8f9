"""Progress bar for long computations, if tqdm is installed (the extra ``progress``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

_DELAY = 2.0  # seconds before the bar appears


@contextmanager
def progress_bar(total: int | None, shown: bool, **looks: Any) -> Iterator[Callable[[int], Any]]:
    """Yield a function that advances a progress bar by a number of finished units, if `shown`.

    `looks` are options of tqdm, such as the name of a unit (``unit``, by default "fit").
    """
    if not shown or find_spec("tqdm") is None:
        yield lambda count: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, delay=_DELAY, **{"unit": "fit", **looks}) as bar:
        yield bar.update
