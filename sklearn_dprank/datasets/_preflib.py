"""PrefLib: reader, bundled data set and downloads."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import secrets
import sys
import time
import warnings
import zlib
from array import array
from http.client import HTTPException
from io import TextIOWrapper
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Literal
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import numpy as np
from sklearn.utils import Bunch

from .._utils.checks import check_choice, check_flag, check_number, check_whole, safe_repr
from .._utils.lazy import progress_bar
from ..ballots.profile import Profile
from ..ballots.reading import MAX_ITEMS, cells_in_memory, checked_names

#: Valid values of `unranked`.
UNRANKED: tuple[str, ...] = ("no_opinion", "last")


def read_preflib(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], unranked: Literal["no_opinion", "last"] = "last"
) -> Bunch:
    r"""Read rankings from a PrefLib file (soc, soi, toc or toi).

    Parameters
    ----------
    path : str, bytes or os.PathLike
        The file, gzipped or not. The current layout has header lines that begin with ``#``, then one line
        ``COUNT: 3,{1,2}`` per distinct ballot. Items are numbered from 1, best first, with ties in braces. The layout
        from before 2022 has the number of items, a line ``3,NAME`` per item, a line
        ``VOTERS,SUM OF COUNTS,DISTINCT BALLOTS``, and one line ``COUNT,3,{1,2}`` per distinct ballot. In that layout,
        the name of the file determines the kind of orders.
    unranked : {"no_opinion", "last"}, default="last"
        Meaning of items that a ballot leaves out. "last": the voter ranks them below every listed item, tied with each
        other (truncated election ballots). "no_opinion": the voter has no opinion about them (items not shown or not
        known).

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        data : ndarray of int64 or float64, shape (n_voters, n_items)
            Positions, one row per voter; each distinct ballot is repeated by its count. 0 is best, and tied items share
            the best of their positions. NaN (then float64) is no opinion.
        item_names : list of str
            Names of the columns: item 1 of the file is column 0.
        counts : ndarray of int64, shape (n_distinct,)
            Number of voters of each ballot, in the order of the file; zeros are kept.
        unranked : str
            Meaning of left-out items in `data`, as passed or by default.
        profile : Profile
            The same ballots as a profile.

    Raises
    ------
    ValueError
        If the file is not as above, is incomplete, or gives two items the same name. The message names the file, the
        line and the problem. It depends on the ballots: do not publish it.

    References
    ----------
    N. Mattei and T. Walsh (2013), "PrefLib: A library for preferences", Algorithmic Decision Theory; the format is
    specified at https://preflib.org/format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_dprank.datasets import read_preflib
    >>> lines = ["# NUMBER ALTERNATIVES: 3", "# ALTERNATIVE NAME 1: tea", "2: 1,{2,3}", "1: 3"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "drinks.toi")
    ...     _ = path.write_text("\n".join(lines))
    ...     drinks = read_preflib(path, unranked="last")
    >>> drinks.data
    array([[0, 1, 1],
           [0, 1, 1],
           [1, 1, 0]])
    >>> drinks.item_names
    ['tea', '2', '3']
    """
    check_choice(unranked, "unranked", UNRANKED)
    path = os.fsdecode(path)
    try:
        with open(path, "rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            text = TextIOWrapper(gzip.GzipFile(fileobj=file) if packed else file, encoding="utf-8-sig")
            header, distinct, counts = _read(path, text)
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text, as PrefLib files are; convert it first.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(f"{path} is gzipped, and cut or damaged; get it again.") from None
    n_voters, n_items = sum(counts.tolist()), distinct.shape[1]
    names = _checked_names(path, header, n_items, n_voters, counts)
    if n_voters * n_items > cells_in_memory():
        raise ValueError(f"{path} holds the ballots of {n_voters} voters, more than fit into memory.")
    missing = distinct < 0
    if missing[counts > 0].any():  # positions of complete ballots stay integers
        last = np.count_nonzero(~missing, axis=1, keepdims=True)
        distinct = np.where(missing, last if unranked == "last" else np.nan, distinct)
    else:
        distinct = distinct.astype(np.int64)
    data = distinct if (counts == 1).all() else np.repeat(distinct, counts, axis=0)
    profile = Profile.from_rankings(distinct, items=names, counts=counts)
    return Bunch(data=data, item_names=names, counts=counts, unranked=unranked, profile=profile)


def _read(path, file):
    """Return the header, the positions of shape (n_distinct, n_items) and the counts of distinct ballots.

    The header is {key: (line number, value)}. Position 0 is best, tied items share the best of their positions, and -1
    is not listed.
    """
    header: dict[str, tuple[int, str]] = {}
    tables, counts, lines, orders, size = [], array("q"), [], [], 0
    for number, key, text in _entries(path, file):
        if key is None:
            if not counts:
                n_items, kind = _items_and_kind(path, header)
                most = cells_in_memory() // 4 // n_items  # the table is copied, completed and repeated
            if len(counts) >= most:
                raise ValueError(f"{path}, line {number}: more ballots of {n_items} items than fit into memory.")
            ballot = _BALLOT.fullmatch(text)
            if ballot is None:
                raise ValueError(
                    f"{path}, line {number}: expected a count and item numbers, best first, ties in braces, like "
                    "'12: 3,{1,4},2', or before 2022 '12,3,{1,4},2'."
                )
            counts.append(int(ballot[1]))
            lines.append(number)
            orders.append(ballot[2])
            size += len(text)
            if size > _BATCH:
                tables.append(_positions(path, lines, orders, n_items, kind))
                lines, orders, size = [], [], 0
        elif key.startswith(_USED):
            if key in header:
                raise ValueError(f"{path}, line {number}: {key[:_QUOTED]} was given before, in line {header[key][0]}.")
            if len(header) > MAX_ITEMS + 10:
                raise ValueError(f"{path}, line {number}: more names than the {MAX_ITEMS} items that are supported.")
            header[key] = number, text
    n_items, kind = _items_and_kind(path, header)
    tables.append(_positions(path, lines, orders, n_items, kind))
    distinct = np.concatenate(tables) if len(tables) > 1 else tables[0]
    return header, distinct, np.array(counts, dtype=np.int64)


def _positions(path, lines, orders, n_items, kind):
    """Return the positions of ballots from the texts of their orders; `lines` are their numbers in the file."""

    def refuse(flaws, what):
        if len(flaws):
            raise ValueError(f"{path}, line {lines[flaws[0]]}: {what}")

    table = np.full((len(orders), n_items), -1, dtype=np.int32)
    if not orders:
        return table
    text = ",".join(orders)
    items = np.fromstring(text.translate({ord("{"): " ", ord("}"): " "}), dtype=np.int64, sep=",") - 1
    letters = np.frombuffer(text.encode(), dtype=np.uint8)
    depth = np.cumsum((letters == ord("{")).astype(np.int8) - (letters == ord("}")), dtype=np.int8)
    is_tied = np.append(False, depth[letters == ord(",")] > 0)  # with the item before
    lengths = np.array([order.count(",") + 1 for order in orders])
    ballot = np.repeat(np.arange(len(orders)), lengths)
    refuse(ballot[(items < 0) | (items >= n_items)], f"an item is not one of 1..{n_items}.")
    if kind in ("soc", "soi"):
        refuse(ballot[is_tied], f"items are tied, but the file's type is {kind} (strict orders).")
    places = np.arange(len(items))
    best_tied = np.maximum.accumulate(np.where(is_tied, 0, places))
    table[ballot, items] = best_tied - np.repeat(np.cumsum(lengths) - lengths, lengths)
    n_listed = np.count_nonzero(table >= 0, axis=1)
    refuse(np.flatnonzero(n_listed < lengths), "an item is listed twice.")
    if kind in ("soc", "toc"):
        refuse(
            np.flatnonzero(n_listed < n_items), f"items are left out, but the file's type is {kind} (complete orders)."
        )
    return table


def load_hay_figure1() -> Bunch:
    """Load the example of Hay et al. (2017), Figure 1: 8 complete rankings of the items A to E.

    Returns
    -------
    sklearn.utils.Bunch
        As `read_preflib` returns it. Voters 4 and 8 of the figure agree and come first.

    Notes
    -----
    The Borda order is E C D, then A and B tied, with an average Kendall tau distance of 0.40 (divided by the number of
    pairs). The figure prints 0.37 for the optimum E C B D A and 0.38 for the quicksort order E C B A D. Both are 0.375,
    and both orders are optimal.

    References
    ----------
    M. Hay, L. Elagina and G. Miklau (2017), "Differentially Private Rank Aggregation", SIAM International Conference on
    Data Mining, Figure 1 and Example 1.

    Examples
    --------
    >>> from sklearn_dprank.datasets import load_hay_figure1
    >>> ballots = load_hay_figure1()
    >>> ballots.item_names
    ['A', 'B', 'C', 'D', 'E']
    >>> ballots.data.sum(axis=0)  # the Borda scores of the paper's Example 1
    array([19, 19, 13, 18, 11])
    """
    return read_preflib(Path(__file__).parent / "data" / "hay2017_figure1.soc")


_KINDS = ("soc", "soi", "toc", "toi")  # strict or tied orders, complete or incomplete
_RELATIONS = ("tog", "mjg", "wmg", "pwg")  # relations of pairs, in the old layout
_NUMBER = r"\d{1,18}+"  # more digits do not fit into 64 bits
_TIED = rf"\{{\s*+{_NUMBER}(?:\s*+,\s*+{_NUMBER})*+\s*+\}}"  # possessive: no flaw takes long to find
_ORDER = rf"((?:{_NUMBER}|{_TIED})(?:\s*+,\s*+(?:{_NUMBER}|{_TIED}))*+)"
_BALLOT = re.compile(rf"({_NUMBER})\s*+:\s*+{_ORDER}", re.ASCII)
_BATCH = 1 << 20  # characters of ballots that are converted at once
_USED = ("NUMBER ", "DATA TYPE", "ALTERNATIVE NAME ")  # header keys that are read; each may appear once only
_LONGEST = 1 << 22  # characters of a line; a ballot of all items is much shorter
_QUOTED = 40  # characters of a header that a message quotes


def _lines(path, file):
    """Yield the number and the text of every line that is not blank."""
    # The limit is on the call, so that no more of a long line is decompressed.
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST + 1), ""), start=1):
        if len(line) > _LONGEST:
            raise ValueError(f"{path}, line {number}: more than {_LONGEST:,} characters; not a PrefLib file.")
        if text := line.strip():
            yield number, text


def _entries(path, file):
    """Yield the line number, the key and the value of header lines; for a ballot, the key is None.

    The layout from before 2022 has the same entries, and ballots with a comma after the count.
    """
    lines = _lines(path, file)
    number, first = next(lines, (1, "#"))
    is_old = first.isascii() and first.isdigit()
    if is_old:
        yield number, "NUMBER ALTERNATIVES", first
        for number, text in islice(lines, int(first[:6])):
            item, _, name = text.partition(",")
            yield number, f"ALTERNATIVE NAME {item.strip()}", name.strip()
        number, text = next(lines, (number + 1, ""))
        _, total, distinct = ["", "", *text.split(",")][-3:]
        yield number, "NUMBER VOTERS", total.strip()
        yield number, "NUMBER UNIQUE ORDERS", distinct.strip()
    else:
        lines = chain([(number, first)], lines)
    for number, text in lines:
        if text.startswith("#") and not is_old:
            key, _, value = text[1:].partition(":")
            yield number, key.strip().upper(), value.strip()
        else:
            yield number, None, ":".join(text.partition(",")[::2]) if is_old else text


def _items_and_kind(path, header):
    """Return the number of items, and the kind of orders from the header, else from the name of the file."""
    n_items = _announced(path, header, "NUMBER ALTERNATIVES", least=1)
    if n_items is None:
        raise ValueError(
            f"{path} has no line '# NUMBER ALTERNATIVES: ...' before its ballots, nor the number of items at its "
            "beginning, as older files have. It is cut, or not a PrefLib file."
        )
    if not 2 <= n_items <= MAX_ITEMS:
        raise ValueError(f"{path} must have 2 to {MAX_ITEMS} items, got NUMBER ALTERNATIVES: {n_items}.")
    if "DATA TYPE" in header:
        kind = header["DATA TYPE"][1].lower()
    else:
        ending = path.lower().removesuffix(".gz")[-3:]
        kind = ending if ending in _KINDS + _RELATIONS else "toi"  # the most general kind
    if kind not in _KINDS:
        raise ValueError(f"{path} has the type {kind[:_QUOTED]!r}, not orders; read one of {', '.join(_KINDS)}.")
    return n_items, kind


def _announced(path, header, key, least=0):
    """Return the whole number that the header states for `key`; None if it is not there."""
    if key not in header:
        return None
    number, value = header[key]
    if not (re.fullmatch(_NUMBER, value, re.ASCII) and int(value) >= least):
        raise ValueError(
            f"{path}, line {number}: {key} must be a whole number, at least {least}, got {value[:_QUOTED]!r}."
        )
    return int(value)


def _checked_names(path, header, n_items, n_voters, counts):
    """Return the names of the items; raise ValueError if the header has others, or totals that the ballots do not have.

    Ballots with count 0 may be left out of the totals.
    """
    orders = range(np.count_nonzero(counts), len(counts) + 1)
    for key, totals in {"NUMBER VOTERS": [n_voters], "NUMBER UNIQUE ORDERS": orders}.items():
        announced = _announced(path, header, key)
        if announced is not None and announced not in totals:
            raise ValueError(
                f"{path} announces {key}: {announced}, but its ballots make {totals[-1]}; the file is cut or damaged, "
                "get it again."
            )
    if n_voters == 0 and "NUMBER VOTERS" not in header:
        raise ValueError(
            f"{path} holds no ballots; the file is cut, or every count is 0. If there were no voters, write the line "
            "'# NUMBER VOTERS: 0' into its header."
        )
    names = [str(item) for item in range(1, n_items + 1)]
    for key, (number, value) in header.items():
        if key.startswith("ALTERNATIVE NAME"):
            item = key.removeprefix("ALTERNATIVE NAME").strip()
            if not (re.fullmatch(_NUMBER, item, re.ASCII) and 1 <= int(item) <= n_items):
                raise ValueError(
                    f"{path}, line {number}: a name for item {item[:_QUOTED]!r}, which is not one of 1..{n_items}."
                )
            names[int(item) - 1] = value or item
    return checked_names(names, f"{path}: the names of items")


# Download of PrefLib files, with checks and a cache.

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
    found = _NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(
            "name must be that of a PrefLib file of orders (soc, soi, toc or toi), like '00024-00000001.soc', got "
            f"{safe_repr(name)}. https://preflib.org lists them. Read a file of your own by read_preflib."
        )
    check_choice(unranked, "unranked", UNRANKED)
    if url is not None and not (isinstance(url, str) and urlsplit(url).scheme in ("http", "https")):
        raise ValueError(
            f"url must be None or begin with http:// or https://, got {safe_repr(url)}; a file on this machine is read "
            "by read_preflib."
        )
    if checksum is not None and not (isinstance(checksum, str) and re.fullmatch(r"[0-9a-fA-F]{64}", checksum)):
        raise ValueError(f"checksum must be None or a SHA-256, 64 hexadecimal digits, got {safe_repr(checksum)}.")
    check_flag(download_if_missing, "download_if_missing")
    check_flag(progress, "progress")
    check_whole(n_retries, "n_retries", 0)
    check_number(delay, "delay", least=0)
    check_number(timeout, "timeout", above=0)
    check_whole(max_bytes, "max_bytes")
    from sklearn.datasets import get_data_home  # a slow import that only this function needs

    series, known = int(found[1]), _SERIES.split()
    path = Path(get_data_home(data_home), "preflib", name)
    path.parent.mkdir(exist_ok=True)
    missing = not path.is_file()
    if not missing and checksum is not None and hashlib.sha256(path.read_bytes()).hexdigest() != checksum.lower():
        warnings.warn(f"{path} does not have the SHA-256 {checksum}.", stacklevel=2)
        missing = True
    if missing:
        if not download_if_missing:
            raise OSError(f"{path} is not there, and download_if_missing is False.")
        if url is None and not 1 <= series <= len(known):
            raise ValueError(
                f"the folder of PrefLib's series {series:05d} is not known here; pass it as url, like "
                f"url='{_PREFLIB}{series:05d}%20-%20ABBREVIATION'."
            )
        folder = _PREFLIB + quote(f"{series:05d} - {known[series - 1]}") if url is None else url.rstrip("/")
        address = f"{folder}/{name}"
        if progress:
            print(f"Downloading {address} to {path.parent}", file=sys.stderr)
        try:
            download(address, path, checksum, n_retries, delay, timeout, max_bytes, progress)
        except OSError as failure:
            raise OSError(
                f"{path.name} was not downloaded from {address}: {failure}. Without a connection, put the file into "
                f"{path.parent} by hand; what is there is not downloaded."
            ) from failure
    if series == 14:
        warnings.warn(_SUSHI, stacklevel=2)
    return read_preflib(path, unranked)


class Refused(OSError):
    """Error that a retry would not change."""


class _Redirects(HTTPRedirectHandler):
    """Redirect handler that stays with http and https, and does not leave an encrypted connection."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if not newurl.lower().startswith("https:" if req.type == "https" else ("https:", "http:")):
            raise Refused(f"the server leads from {req.type} to {newurl}, which is not allowed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(url, path, checksum, n_retries, delay, timeout, max_bytes, progress):
    """Write the file at `url` to `path` if it is complete and a PrefLib file; raise OSError with the reason otherwise.

    The file is written beside its place and moved there in one step. Readers see the whole file or none, even if the
    download is interrupted or several processes download at once.
    """
    part = path.with_name(f".{path.stem}-{secrets.token_hex(8)}{path.suffix}")
    try:
        for left in range(n_retries, -1, -1):
            try:
                _receive(url, part, timeout, max_bytes, progress)
                break
            except (OSError, HTTPException) as failure:
                # Some exceptions of the standard library have an empty message.
                reason = str(failure) or type(failure).__name__
                if left == 0 or isinstance(failure, Refused):
                    raise OSError(reason) from failure
                warnings.warn(f"{url}: {reason}; trying again, {left} times at most.", stacklevel=3)
            time.sleep(delay)
        found = hashlib.sha256(part.read_bytes()).hexdigest()
        if checksum is not None and found != checksum.lower():
            raise OSError(f"its SHA-256 is {found}, not {checksum.lower()}")
        try:
            read_preflib(part, "last")
        except ValueError as flaw:
            words = str(flaw).replace(str(part), "what came")
            raise OSError(f"it is not a readable PrefLib file ({words})") from None
        os.replace(part, path)
    finally:  # also after Ctrl-C
        part.unlink(missing_ok=True)


def _receive(url, part, timeout, max_bytes, progress):
    """Write the answer of a server to the file `part`."""
    try:
        answer = build_opener(_Redirects).open(url, timeout=timeout)
    except HTTPError as error:
        with error:
            is_final = 400 <= error.code < 500 and error.code not in (408, 425, 429)  # a retry may help after these
            raise (Refused if is_final else OSError)(f"the server answers {error.code} {error.reason}") from None
    with answer, open(part, "wb") as file:
        announced, received = answer.length, 0
        with progress_bar(announced, progress, unit="B", unit_scale=True, unit_divisor=1024) as advance:
            while chunk := answer.read(2**16):
                received += len(chunk)
                if received > max_bytes:
                    raise Refused(f"it is larger than max_bytes = {max_bytes}")
                file.write(chunk)
                advance(len(chunk))
    if announced is not None and received != announced:
        raise OSError(f"the connection ended after {received} of {announced} bytes")
