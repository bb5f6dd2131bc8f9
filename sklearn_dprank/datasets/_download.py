"""One file over HTTP: it arrives whole and checked, or not at all."""

import hashlib
import os
import secrets
import time
import warnings
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    UnknownHandler,
)

from .._utils.progress import progress_bar

_CHUNK = 2**16  # bytes read at a time
_PASSING = (408, 425, 429)  # of the answers 4xx those that another try may change


class Patience(NamedTuple):
    """How long a server is waited for, and how much is taken from it."""

    n_retries: int
    delay: float  # seconds before another try
    timeout: float  # seconds without a word
    max_bytes: int


class Refused(OSError):
    """What another try would not change."""


class _Redirects(HTTPRedirectHandler):
    """Follows redirections, but not from an encrypted connection to an open one."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.type == "https" and not newurl.lower().startswith("https:"):
            raise Refused(f"the server leads from https to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(url: str, path: Path, check: Callable[[Path], None], patience: Patience, progress: bool) -> None:
    """Put what `url` answers where `path` says, if it is complete and passes the check.

    It is written beside its place and moved there in one step: whoever reads sees a whole file or none, whatever
    interrupts the download, and however many processes download at once.

    Parameters
    ----------
    url : str
        It begins with http:// or https://.
    path : Path
        Its place, in a folder that exists.
    check : callable
        Takes the path of what has arrived; raises where that must not be kept.
    patience : Patience
        Times and sizes.
    progress : bool
        Whether to show a bar when it takes more than two seconds.

    Raises
    ------
    OSError
        If it cannot be had; the message is the reason.
    """
    part = path.with_name(f".{path.stem}-{secrets.token_hex(8)}{path.suffix}")
    try:
        _insist(lambda: _receive(url, part, patience, progress), url, patience)
        check(part)
        os.replace(part, path)
    finally:  # Ctrl-C included
        part.unlink(missing_ok=True)


def _insist(receive, url, patience):
    """Call until it succeeds, as often as may be."""
    for left in range(patience.n_retries, -1, -1):
        try:
            return receive()
        except Refused:
            raise
        except (OSError, HTTPException) as failure:
            if left == 0:
                raise OSError(_reason(failure)) from failure
            warnings.warn(f"{url}: {_reason(failure)}; trying again, {left} times at most.", stacklevel=5)
        time.sleep(patience.delay)


def _reason(failure):
    """Return what went wrong, in words; some of the library's own exceptions have none."""
    return str(failure.reason if isinstance(failure, URLError) else failure) or type(failure).__name__


def _receive(url, part, patience, progress):
    """Write what a server answers into the file `part`."""
    try:
        answer = _opener().open(url, timeout=patience.timeout)
    except HTTPError as error:
        with error:
            final = 400 <= error.code < 500 and error.code not in _PASSING
            raise (Refused if final else OSError)(f"the server answers {error.code} {error.reason}") from None
    with answer, open(part, "wb") as file:
        announced, received = answer.length, 0
        _check_size(announced or 0, patience.max_bytes)
        looks = {"unit": "B", "unit_scale": True, "unit_divisor": 1024}
        with progress_bar(announced, progress, **looks) as advance:
            while chunk := answer.read(_CHUNK):
                received += len(chunk)
                _check_size(received, patience.max_bytes)
                file.write(chunk)
                advance(len(chunk))
    if announced is not None and received != announced:
        raise OSError(f"the connection ended after {received} of {announced} bytes")


def _check_size(size, most):
    if size > most:
        raise Refused(f"it is larger than max_bytes = {most}")


def _opener():
    """Return what opens http and https, through the proxies that the environment names, and nothing else."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler,
        UnknownHandler,
        HTTPHandler,
        HTTPSHandler,
        HTTPDefaultErrorHandler,
        HTTPErrorProcessor,
        _Redirects,
    ):
        opener.add_handler(handler())
    return opener
