"""Downloads from a server in a thread of this process."""

import hashlib
import http.server
import re
import threading
import warnings
from urllib.request import Request

import pytest

from sklearn_dprank.datasets import _preflib as _fetch, fetch_preflib

NAME = "00024-00000001.soc"
GOOD = b"# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 5\n# ALTERNATIVE NAME 2: pear\n3: 2,1,3\n2: 1,3,2\n"
SHA = hashlib.sha256(GOOD).hexdigest()
ENDS = ["1.soc", "2.soi", "1.toi"]
TOP = b"# NUMBER ALTERNATIVES: 3\n4: 2\n"


class Server(http.server.ThreadingHTTPServer):
    """Gives each path's answers in turn, the last of them for ever, and remembers what it was asked.

    An answer is (status, headers, body).
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked, self.gate = {}, [], threading.Barrier(1)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def says(self, *answers, name=NAME):
        self.answers[f"/{name}"] = list(answers)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.server.gate.wait(10)
        answers = self.server.answers.get(self.path, [(404, {}, b"no such file")])
        status, headers, body = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        for key, value in {"Content-Length": len(body), **headers}.items():
            if value is not None:
                self.send_header(key, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@pytest.fixture
def server(monkeypatch):
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    with Server() as server:
        server.says((200, {}, GOOD))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def fetch(server, tmp_path):
    """Return `fetch_preflib` with this server and an empty data home, without patience."""

    def call(name=NAME, unranked="last", **options):
        return fetch_preflib(
            name, unranked, **{"url": server.url, "data_home": tmp_path, "n_retries": 0, "delay": 0.0, **options}
        )

    return call


def kept(home):
    return sorted(path.name for path in (home / "preflib").iterdir())


def test_first_from_the_server_then_from_the_folder(fetch, server, tmp_path, capsys):
    found = fetch()
    assert found.data.tolist() == 3 * [[1, 0, 2]] + 2 * [[0, 2, 1]]
    assert found.item_names == ["1", "pear", "3"]
    assert server.asked == [f"/{NAME}"]
    assert kept(tmp_path) == [NAME] and (tmp_path / "preflib" / NAME).read_bytes() == GOOD
    assert capsys.readouterr().err == f"Downloading {server.url}/{NAME} to {tmp_path / 'preflib'}\n"
    again = fetch(checksum=SHA.upper(), download_if_missing=False)
    assert again.data.tolist() == found.data.tolist()
    assert server.asked == [f"/{NAME}"]
    assert capsys.readouterr().err == ""


def test_file_with_another_checksum_is_not_kept(fetch, server, tmp_path):
    with pytest.raises(OSError, match=f"SHA-256 is {SHA}, not {64 * '0'}"):
        fetch(checksum=64 * "0", n_retries=2)
    assert kept(tmp_path) == [] and len(server.asked) == 1


def test_a_kept_file_with_another_checksum_is_replaced(fetch, server, tmp_path):
    server.says((200, {}, TOP.replace(b"2\n", b"2,1,3\n")), (200, {}, GOOD))
    assert fetch().profile.n_voters == 4
    with pytest.warns(UserWarning, match="does not have the SHA-256"):
        assert fetch(checksum=SHA).profile.n_voters == 5
    assert kept(tmp_path) == [NAME]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>Log in to this network</html>", "not a readable PrefLib file"),
        (GOOD[:-6], r"not a readable PrefLib file \(what came"),  # complete by HTTP, cut by its own totals
        (b"", "not a readable PrefLib file"),
    ],
)
def test_only_preflib_files_are_kept(fetch, server, tmp_path, body, words):
    server.says((200, {}, body))
    with pytest.raises(OSError, match=words) as error:
        fetch()
    assert kept(tmp_path) == [] and str(tmp_path / "preflib") in str(error.value)


@pytest.mark.parametrize("status", [404, 403, 410])
def test_no_such_file_is_asked_for_once(fetch, server, tmp_path, status):
    server.says((status, {}, b"no"))
    with pytest.raises(OSError, match=f"the server answers {status}"):
        fetch(n_retries=5)
    assert len(server.asked) == 1 and kept(tmp_path) == []


@pytest.mark.parametrize(
    "answer",
    [(503, {}, b"later"), (429, {}, b"slower"), (200, {"Content-Length": len(GOOD) + 1}, GOOD)],
    ids=["busy", "too many", "cut"],
)
def test_another_try(fetch, server, tmp_path, answer):
    server.says(answer, answer, (200, {}, GOOD))
    with pytest.warns(UserWarning, match="trying again") as told:
        assert fetch(n_retries=2).profile.n_voters == 5
    assert [re.search(r"(\d) times", str(line.message))[1] for line in told] == ["2", "1"]
    assert len(server.asked) == 3 and kept(tmp_path) == [NAME]


@pytest.mark.parametrize("length", [len(GOOD), None], ids=["announced", "found out"])
def test_size_limit(fetch, server, tmp_path, length):
    server.says((200, {"Content-Length": length}, GOOD))
    with pytest.raises(OSError, match=f"larger than max_bytes = {len(GOOD) - 1}"):
        fetch(max_bytes=len(GOOD) - 1, n_retries=3)
    assert kept(tmp_path) == [] and len(server.asked) == 1
    assert fetch(max_bytes=len(GOOD)).profile.n_voters == 5


def test_offline(fetch, server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(OSError, match="was not downloaded") as error:
        fetch()
    message = str(error.value)
    for word in (NAME, server.url, str(tmp_path / "preflib"), "by hand", "refused"):
        assert word in message
    (tmp_path / "preflib" / NAME).write_bytes(GOOD)
    assert fetch().profile.n_voters == 5


@pytest.mark.slow
def test_a_silent_server(fetch, server, tmp_path):
    hold = threading.Event()
    server.says((200, {}, GOOD))
    server.finish_request = lambda *ignored: hold.wait(10)
    with pytest.raises(OSError, match="timed out"):
        fetch(timeout=0.2)
    hold.set()
    assert kept(tmp_path) == []


@pytest.mark.parametrize("place", ["progress_bar", "read_preflib"], ids=["while receiving", "while checking"])
def test_interrupted_download_leaves_no_file(fetch, tmp_path, monkeypatch, place):
    seen = []

    def stop(*arguments, **options):
        seen.append(kept(tmp_path))
        raise KeyboardInterrupt

    monkeypatch.setattr(_fetch, place, stop)
    with pytest.raises(KeyboardInterrupt):
        fetch()
    assert len(seen[-1]) == 1 and seen[-1] != [NAME]
    assert kept(tmp_path) == []


def test_only_http(fetch, server, tmp_path):
    path = tmp_path / NAME
    path.write_bytes(GOOD)
    for url in (tmp_path.as_uri(), str(tmp_path), "ftp://127.0.0.1", "data:,", 3):
        with pytest.raises(ValueError, match="http:// or https://"):
            fetch(url=url)
    for target in (path.as_uri(), "ftp://127.0.0.1/x"):
        server.says((302, {"Location": target}, b""))
        with pytest.raises(OSError, match=r"not allowed|unknown url type"):
            fetch()
    assert not (tmp_path / "preflib" / NAME).exists()


def test_redirections(fetch, server):
    server.says((302, {"Location": f"{server.url}/elsewhere"}, b""))
    server.says((200, {}, GOOD), name="elsewhere")
    assert fetch(url=server.url + "/").profile.n_voters == 5
    redirects = _fetch._Redirects()
    with pytest.raises(OSError, match="from https to http://there"):
        redirects.redirect_request(Request("https://here"), None, 302, "", {}, "http://there")
    onward = redirects.redirect_request(Request("https://here"), None, 302, "", {}, "https://there")
    assert onward.full_url == "https://there"


@pytest.mark.parametrize(
    "name",
    ["dots", "24-1.soc", "00024-00000001.wmg", "00024-00000001.soc.gz", f"../{NAME}", f"{NAME}\n", b"x", None, ""],
)
def test_invalid_names_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="name must be that of a PrefLib file"):
        fetch_preflib(name, data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("n_retries", -1), ("delay", -0.1), ("timeout", 0), ("max_bytes", 0), ("unranked", "first")),
        *(("checksum", "abc"), ("checksum", 64 * "g"), ("progress", "yes"), ("download_if_missing", 1)),
    ],
)
def test_invalid_parameters_are_refused(fetch, server, option, value):
    with pytest.raises(ValueError, match=f"^{option} must be "):
        fetch(**{option: value})
    assert server.asked == []


def test_where_preflib_keeps_its_files(monkeypatch, tmp_path):
    asked = []

    def note(url, path, *ignored):
        asked.append(url)
        path.write_bytes(GOOD)

    monkeypatch.setattr(_fetch, "download", note)
    for name in (NAME, "00001-00000002.soi", "00063-00000001.toi"):
        fetch_preflib(name, data_home=tmp_path, progress=False)
    root = "https://raw.githubusercontent.com/PrefLib/PrefLib-Data/main/datasets"
    folders = ["00024%20-%20dots", "00001%20-%20irish", "00063%20-%20ctu"]
    assert asked == [f"{root}/{folder}/{folder[:5]}-0000000{end}" for folder, end in zip(folders, ENDS, strict=True)]
    for name in ("00064-00000001.soc", "00000-00000001.soc"):
        with pytest.raises(ValueError, match=f"series {name[:5]} is not known here; pass it as url"):
            fetch_preflib(name, data_home=tmp_path)


def test_sushi_is_for_research_and_misnamed(fetch, server):
    server.says((200, {}, GOOD), name="00014-00000001.soc")
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"may not be passed on .* one off"):
            fetch("00014-00000001.soc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fetch()
