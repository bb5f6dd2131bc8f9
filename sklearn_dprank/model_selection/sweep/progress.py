"""A progress bar for long sweeps, where tqdm is installed (the extra ``progress``)."""

from contextlib import contextmanager

_DELAY = 2.0  # seconds: short sweeps show nothing


@contextmanager
def progress_bar(total, shown):
    """Yield a function of (number of fits finished) that moves a bar with the time left.

    Parameters
    ----------
    total : int
        Fits in all.
    shown : bool
        Whether to show anything.
    """
    tqdm = _tqdm() if shown else None
    if tqdm is None:
        yield lambda count: None
        return
    with tqdm(total=total, unit="fit", delay=_DELAY) as bar:
        yield bar.update


def _tqdm():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
