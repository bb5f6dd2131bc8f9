"""Download of PrefLib files, with checks and a cache."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
import time
import warnings
from collections.abc import Callable
from http.client import HTTPException
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
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

from .._utils.checks import check_choice, check_flag, check_number, check_whole, safe_repr
from .._utils.progress import progress_bar
from ._preflib import UNRANKED, Bunch, read_preflib

#: Location of PrefLib's files, one folder per series: "00024 - dots".
_PREFLIB = "https://raw.githubusercontent.com/PrefLib/PrefLib-Data/main/datasets/"
_NAME = re.compile(r"(\d{5})-\d{8}\.(?:soc|soi|toc|toi)", re.ASCII)
#: Names of PrefLib's series from 00001 on, as in the names of the folders.
_SERIES = (
    "irish debian nasa netflix burlington skate ers glasgow agh ski web shirt social sushi cleanweb aspen berkley "
    "minneapolis oakland pierce sf sl takomapark dots puzzle frenchapproval frenchrate apa frenchratecombi uklabor "
    "vermont education poster cities breakfast kidney aamas project csconf trip boardgames boxing cycling tabletennis "
    "tennis university spotifyday spotifycountry mylaps movehub countries f1seasons f1races weeksport combinedsport "
    "seasonsport parliaments nswla campsongs polkadot kusama orderaltexpe ctu"
)
_SUSHI = (
    "the rankings of sushi are for research and may not be passed on (https://www.kamishima.net/sushi), and PrefLib's "
    "00014-00000001.soc names every item one off: its item x is what it calls item x mod 10 + 1."
)


def fetch_preflib(
    name: str,
    unranked: Literal["no_opinion", "last"] = "last",
    *,
    url: str | None = None,
    checksum: str | None = None,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    n_retries: int = 3,
    delay: float = 1.0,
    timeout: float = 30.0,
    max_bytes: int = 2**28,
    progress: bool = True,
) -> Bunch:
    r"""Read rankings of PrefLib by the name of the file, and download the file the first time.

    Files are stored in the folder ``preflib`` of scikit-learn's data home. A download that is incomplete, interrupted
    or not a PrefLib file is not stored.

    Parameters
    ----------
    name : str
        PrefLib's name of the file, such as ``"00024-00000001.soc"``; see https://preflib.org.
    unranked : {"no_opinion", "last"}, default="last"
        Meaning of items that a ballot leaves out, as in `read_preflib`.
    url : str, default=None
        Folder of a mirror, http or https, that holds the file. None is PrefLib's own repository.
    checksum : str, default=None
        Required SHA-256 of the file, 64 hexadecimal digits. A stored file with another SHA-256 is downloaded again,
        with a warning. None accepts any complete PrefLib file. This package contains no checksums.
    data_home : str or os.PathLike, default=None
        scikit-learn's data home; None is the folder that `sklearn.datasets.get_data_home` returns.
    download_if_missing : bool, default=True
        Whether to download the file if it is not stored yet. False raises an error instead.
    n_retries : int, default=3
        Number of retries after a failed download. A permanent refusal, such as status 404, is not retried.
    delay : float, default=1.0
        Seconds between retries.
    timeout : float, default=30.0
        Seconds to wait for a server that does not answer.
    max_bytes : int, default=2**28
        Size of the largest file that is accepted.
    progress : bool, default=True
        Whether to report a download on standard error, with a progress bar after two seconds. The bar needs tqdm (the
        extra ``progress``).

    Returns
    -------
    sklearn.utils.Bunch
        As `read_preflib` returns it: ``data``, ``item_names``, ``counts``, ``unranked`` and ``profile``.

    Warns
    -----
    UserWarning
        For the rankings of sushi (series 00014), whose licence and item names need care. Also before a retry, and if a
        stored file does not have the checksum.

    Raises
    ------
    OSError
        If the download fails, or the file is not as required. The message names the address. It also names the folder
        where you can put a file that you got in another way.
    ValueError
        If a parameter is invalid, or as `read_preflib`.

    References
    ----------
    N. Mattei and T. Walsh (2013), "PrefLib: A library for preferences", Algorithmic Decision Theory. Many of its data
    sets ask for their own citation: see their pages.

    Examples
    --------
    >>> from sklearn_dprank.datasets import fetch_preflib
    >>> dots = fetch_preflib("00024-00000001.soc")  # doctest: +SKIP
    >>> dots.profile.n_voters  # doctest: +SKIP
    795

    A file that is stored already, by a download or by hand, is only read:

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     pathlib.Path(home, "preflib").mkdir()
    ...     path = pathlib.Path(home, "preflib", "00099-00000001.soc")
    ...     _ = path.write_text("# NUMBER ALTERNATIVES: 2\n3: 2,1\n")
    ...     fetch_preflib("00099-00000001.soc", data_home=home, download_if_missing=False).counts
    array([3])
    """
    series = _series_of(name)
    check_choice(unranked, "unranked", UNRANKED)
    _check_file(url, checksum)
    check_flag(download_if_missing, "download_if_missing")
    check_flag(progress, "progress")
    patience = Patience(n_retries, delay, timeout, max_bytes)
    _check_patience(patience)
    path = _folder(data_home) / name
    if not _kept(path, checksum):
        if not download_if_missing:
            raise OSError(f"{path} is not there, and download_if_missing is False.")
        _download(path, _address(name, series, url), checksum, patience, progress)
    if series == 14:
        warnings.warn(_SUSHI, stacklevel=2)
    return read_preflib(path, unranked)


def _series_of(name):
    """Return the number of the series of a file."""
    found = _NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(
            "name must be that of a PrefLib file of orders (five digits, a hyphen, eight digits, and .soc, .soi, .toc "
            f"or .toi), like '00024-00000001.soc', got {safe_repr(name)}. https://preflib.org lists them; a file of "
            "your own is read by read_preflib."
        )
    return int(found[1])


def _check_file(url, checksum):
    if url is not None and not (isinstance(url, str) and urlsplit(url).scheme in ("http", "https")):
        raise ValueError(
            f"url must be None or begin with http:// or https://, got {safe_repr(url)}; a file on this machine is read "
            "by read_preflib."
        )
    if checksum is not None and not (isinstance(checksum, str) and re.fullmatch(r"[0-9a-fA-F]{64}", checksum)):
        raise ValueError(f"checksum must be None or a SHA-256, 64 hexadecimal digits, got {safe_repr(checksum)}.")


def _check_patience(patience):
    check_whole(patience.n_retries, "n_retries", 0)
    check_number(patience.delay, "delay", least=0)
    check_number(patience.timeout, "timeout", above=0)
    check_whole(patience.max_bytes, "max_bytes")


def _folder(data_home):
    """Return the folder of stored files, after making it if it is missing."""
    from sklearn.datasets import get_data_home  # a slow import that only this function needs

    folder = Path(get_data_home(data_home), "preflib")
    folder.mkdir(exist_ok=True)
    return folder


def _kept(path, checksum):
    """Return whether the file is stored and has the required checksum, if any."""
    if not path.is_file():
        return False
    if checksum is None or sha256(path) == checksum.lower():
        return True
    warnings.warn(f"{path} does not have the SHA-256 {checksum}.", stacklevel=3)
    return False


def _address(name, series, url):
    """Return the address of the file."""
    if url is not None:
        return f"{url.rstrip('/')}/{name}"
    known = _SERIES.split()
    if not 1 <= series <= len(known):
        raise ValueError(
            f"the folder of PrefLib's series {series:05d} is not known here; pass it as url, like "
            f"url='{_PREFLIB}{series:05d}%20-%20ABBREVIATION'."
        )
    return f"{_PREFLIB}{quote(f'{series:05d} - {known[series - 1]}')}/{name}"


def _download(path, address, checksum, patience, progress):
    """Download a file to its place; an error names the folder for a file that was got in another way."""

    def check(part):
        if checksum is not None and (found := sha256(part)) != checksum.lower():
            raise OSError(f"its SHA-256 is {found}, not {checksum.lower()}")
        try:
            read_preflib(part, "last")
        except ValueError as flaw:
            words = str(flaw).replace(str(part), "what came")
            raise OSError(f"it is not a readable PrefLib file ({words})") from None

    if progress:
        print(f"Downloading {address} to {path.parent}", file=sys.stderr)
    try:
        download(address, path, check, patience, progress)
    except OSError as failure:
        raise OSError(
            f"{path.name} was not downloaded from {address}: {failure}. Without a connection, put the file into "
            f"{path.parent} by hand; what is there is not downloaded."
        ) from failure


_CHUNK = 2**16  # bytes read at a time
_PASSING = (408, 425, 429)  # the status codes 4xx for which a retry may help


class Patience(NamedTuple):
    """Limits on the time to wait for a server, and on the size of a file."""

    n_retries: int
    delay: float  # seconds before a retry
    timeout: float  # seconds without an answer
    max_bytes: int


class Refused(OSError):
    """Error that a retry would not change."""


class _Redirects(HTTPRedirectHandler):
    """Redirect handler that refuses to go from an encrypted connection to an unencrypted one."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.type == "https" and not newurl.lower().startswith("https:"):
            raise Refused(f"the server leads from https to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(url: str, path: Path, check: Callable[[Path], None], patience: Patience, progress: bool) -> None:
    """Write the file at `url` to `path` if it is complete and passes `check`; raise OSError with the reason otherwise.

    The file is written beside its place and moved there in one step. Readers see the whole file or none, even if the
    download is interrupted or several processes download at once. ``check(part)`` raises if the file must not be
    stored.
    """
    part = path.with_name(f".{path.stem}-{secrets.token_hex(8)}{path.suffix}")
    try:
        _insist(lambda: _receive(url, part, patience, progress), url, patience)
        check(part)
        os.replace(part, path)
    finally:  # also after Ctrl-C
        part.unlink(missing_ok=True)


def _insist(receive, url, patience):
    """Call `receive` until it succeeds, with at most `n_retries` retries."""
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
    """Return the reason of a failure as text; some exceptions of the standard library have an empty message."""
    return str(failure.reason if isinstance(failure, URLError) else failure) or type(failure).__name__


def _receive(url, part, patience, progress):
    """Write the answer of a server to the file `part`."""
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
    """Return an opener for http and https only, which uses the proxies of the environment."""
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
