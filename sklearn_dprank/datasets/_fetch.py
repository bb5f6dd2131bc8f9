"""Rankings of PrefLib from the network, checked and cached."""

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

from .._utils.checks import check_choice, check_flag, check_number, check_whole, shown
from .._utils.progress import progress_bar
from ._preflib import UNRANKED, Bunch, read_preflib

#: Where PrefLib keeps its files, one folder a series: "00024 - dots".
_PREFLIB = "https://raw.githubusercontent.com/PrefLib/PrefLib-Data/main/datasets/"
_NAME = re.compile(r"(\d{5})-\d{8}\.(?:soc|soi|toc|toi)", re.ASCII)
#: What PrefLib calls its series, from 00001 on, and their folders.
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
    r"""Read rankings of PrefLib by the file's name, downloading the file the first time.

    It is kept in the folder ``preflib`` of scikit-learn's data home. Nothing is kept of a download that is cut,
    interrupted or no PrefLib file.

    Parameters
    ----------
    name : str
        As PrefLib calls the file: ``"00024-00000001.soc"``; see https://preflib.org.
    unranked : {"no_opinion", "last"}, default="last"
        What it means that a ballot leaves an item out, as in `read_preflib`.
    url : str, default=None
        The folder of a mirror, http or https, that holds the file. None is PrefLib's own repository.
    checksum : str, default=None
        SHA-256 that the file must have, 64 hexadecimal digits. A file kept from before that has another is downloaded
        again, with a warning. None takes what comes, if it is a complete PrefLib file: no checksums come with this
        package.
    data_home : str or os.PathLike, default=None
        scikit-learn's data home; None is what `sklearn.datasets.get_data_home` returns.
    download_if_missing : bool, default=True
        False raises an error where the file is not there yet.
    n_retries : int, default=3
        How often a download that failed is tried again; not where the server says that there is no such file.
    delay : float, default=1.0
        Seconds between tries.
    timeout : float, default=30.0
        Seconds that a silent server is waited for.
    max_bytes : int, default=2**28
        The largest file that is accepted.
    progress : bool, default=True
        Whether to say on standard error that a file is downloaded, with a bar when it takes more than two seconds;
        the bar needs tqdm (the extra ``progress``).

    Returns
    -------
    sklearn.utils.Bunch
        What `read_preflib` returns: ``data``, ``item_names``, ``counts``, ``unranked`` and ``profile``.

    Warns
    -----
    UserWarning
        For the rankings of sushi (series 00014), whose licence and item names need care; where a download is tried
        again; and where a file kept from before does not have the checksum.

    Raises
    ------
    OSError
        If the file cannot be had, or is not what it should be. The message names the address, and the folder into
        which a file that was got in another way can be put by hand.
    ValueError
        If a parameter is none of the above, or as `read_preflib`.

    References
    ----------
    N. Mattei and T. Walsh (2013), "PrefLib: A library for preferences", Algorithmic Decision Theory. Many of its data
    sets ask for a citation of their own: see their pages.

    Examples
    --------
    >>> from sklearn_dprank.datasets import fetch_preflib
    >>> dots = fetch_preflib("00024-00000001.soc")  # doctest: +SKIP
    >>> dots.profile.n_voters  # doctest: +SKIP
    795

    A file that is there already, from a download or put there by hand, is only read:

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
    """Return the number of the series that a file belongs to."""
    found = _NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(
            "name must be that of a PrefLib file of orders (five digits, a hyphen, eight digits, and .soc, .soi, .toc "
            f"or .toi), like '00024-00000001.soc', got {shown(name)}. https://preflib.org lists them; a file of your "
            "own is read by read_preflib."
        )
    return int(found[1])


def _check_file(url, checksum):
    if url is not None and not (isinstance(url, str) and urlsplit(url).scheme in ("http", "https")):
        raise ValueError(
            f"url must be None or begin with http:// or https://, got {shown(url)}; a file on this machine is read by "
            "read_preflib."
        )
    if checksum is not None and not (isinstance(checksum, str) and re.fullmatch(r"[0-9a-fA-F]{64}", checksum)):
        raise ValueError(f"checksum must be None or a SHA-256, 64 hexadecimal digits, got {shown(checksum)}.")


def _check_patience(patience):
    check_whole(patience.n_retries, "n_retries", 0)
    check_number(patience.delay, "delay", least=0)
    check_number(patience.timeout, "timeout", above=0)
    check_whole(patience.max_bytes, "max_bytes")


def _folder(data_home):
    """Return the folder where files are kept, which is made where it is missing."""
    from sklearn.datasets import get_data_home  # slow, and nothing else here needs it

    folder = Path(get_data_home(data_home), "preflib")
    folder.mkdir(exist_ok=True)
    return folder


def _kept(path, checksum):
    """Tell whether the file is there, and is the one that is wanted."""
    if not path.is_file():
        return False
    if checksum is None or sha256(path) == checksum.lower():
        return True
    warnings.warn(f"{path} does not have the SHA-256 {checksum}.", stacklevel=3)
    return False


def _address(name, series, url):
    """Return where the file is downloaded from."""
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
    """Download a file to its place, or say what to do."""

    def check(part):
        if checksum is not None and (found := sha256(part)) != checksum.lower():
            raise OSError(f"its SHA-256 is {found}, not {checksum.lower()}")
        try:
            read_preflib(part, "last")
        except ValueError as flaw:
            words = str(flaw).replace(str(part), "what came")
            raise OSError(f"it is no PrefLib file that can be read ({words})") from None

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
