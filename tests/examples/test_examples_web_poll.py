"""The web poll: collector, published page, and 200 voters in a browser."""

import asyncio
import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from base64 import b64encode
from contextlib import closing
from hashlib import sha384
from pathlib import Path

import pytest

from sklearn_dprank import LDPPairwise, ShufflePairwise
from sklearn_dprank.datasets import make_mallows

ROOT = Path(__file__).parents[2]
POLL = ROOT / "examples" / "web_poll"
SCRIPTS = {"device.js": ROOT / "sklearn_dprank" / "collection" / "device.js", "page.js": POLL / "static" / "page.js"}
NAMES = ["tea", "coffee", "water", "juice"]
BEST_FIRST = ["coffee", "juice", "tea", "water"]
SECOND_BALLOTS = """async () => {
  const { Allowance, BrowserStore, Device, readProtocol } = await import("./device.js");
  const { poll, protocol } = await (await fetch("protocol")).json();
  const allowance = new Allowance("8", new BrowserStore());
  const device = new Device(readProtocol(protocol), { poll, allowance });
  const reports = new Set();
  for (const a of [0, 1, 2, 3]) for (const b of [0, 1, 2, 3]) for (const c of [0, 1, 2, 3]) {
    const ballot = [a, b, c, 6 - a - b - c];
    if (new Set(ballot).size === 4) reports.add(JSON.stringify(await device.report(ballot)));
  }
  return [...reports];
}"""


RECORD = """async () => {
  const { Allowance, BrowserStore } = await import("./device.js");
  return new Allowance("8", new BrowserStore()).read();
}"""
FORGET = """() => new Promise((resolve, reject) => {
  const asked = indexedDB.open("dprank", 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
  asked.onsuccess = () => {
    const transaction = asked.result.transaction("kept", "readwrite", { durability: "strict" });
    transaction.objectStore("kept").clear();
    transaction.oncomplete = () => { asked.result.close(); resolve(); };
    transaction.onabort = reject;
  };
})"""


def load(name):
    sys.path.insert(0, str(POLL))
    try:
        return loaded(name)
    finally:
        sys.path.remove(str(POLL))


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, POLL / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def collector():
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    return load("collector")


def test_the_page_pins_its_scripts():
    """index.html has the hashes of the current scripts."""
    page = (POLL / "static" / "index.html").read_text()
    for name, script in SCRIPTS.items():
        pin = b64encode(sha384(script.read_bytes()).digest()).decode()
        assert f'"{name}" integrity="sha384-{pin}"' in page, f"index.html must have sha384-{pin} for {name}"
    assert page.count("integrity") == 2 and page.count("<script") == 1


# --- the collector


def exchanged(app, method, path, body=b"", headers=None):
    """Return status, headers and body of one request, without a network."""
    return asyncio.run(exchange(app, method, path, body, headers))


async def exchange(app, method, path, body=b"", headers=None):
    sent, chunks = [], [body[k : k + 9999] for k in range(0, len(body), 9999)] or [b""]
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages[-1]["more_body"] = False

    async def receive():
        if not messages:
            await asyncio.Event().wait()  # nobody hangs up
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    known = {"host": "127.0.0.1:8000", "content-type": "application/json", **(headers or {})}
    pairs = [(name.encode(), value.encode()) for name, value in known.items()]
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": pairs}
    await app({**scope, "http_version": "1.1", "scheme": "http", "server": ("test", 80)}, receive, send)
    answered = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answered, b"".join(message.get("body", b"") for message in sent[1:])


def requested(app, method, path, body=b""):
    """Return status and body of one request."""
    status, _, answered = exchanged(app, method, path, body)
    return status, answered


@pytest.fixture
def poll(collector, tmp_path):
    path = tmp_path / "poll.sqlite"
    collector.begin(path, "What?", LDPPairwise(epsilon=4.0), NAMES)
    return path, collector.collector(path)


def reports(path):
    with closing(sqlite3.connect(path)) as kept:
        return kept.execute("SELECT * FROM reports").fetchall()


def asked(app):
    """Return the id of the poll that a collector hands out."""
    return json.loads(requested(app, "GET", "/protocol")[1])["poll"]


def sendable(app, ticket, report):
    return json.dumps({"poll": asked(app), "ticket": ticket, "report": report}).encode()


def a_report(epsilon=4.0, **changes):
    """Return a report that follows the protocol of `poll`, but for these changes."""
    return {**LDPPairwise(epsilon=epsilon).client(NAMES).report([0, 1, 2, 3]), **changes}


def posted(app, ticket, report):
    return requested(app, "POST", "/reports", sendable(app, ticket, report))[0]


def test_it_hands_out_the_page_and_the_protocol(poll):
    _, app = poll
    status, body = requested(app, "GET", "/protocol")
    said = json.loads(body)
    assert status == 200 and said["question"] == "What?"
    assert json.loads(said["protocol"]) == LDPPairwise(epsilon=4.0).protocol(NAMES)
    for path, word in [("/", b"What leaves this page"), ("/device.js", b"getRandomValues"), ("/style.css", b"main")]:
        status, body = requested(app, "GET", path)
        assert status == 200 and word in body
    assert requested(app, "GET", "/result")[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/", 200),
        ("GET", "/protocol", 200),
        ("GET", "/result", 404),
        ("GET", "/no", 404),
        ("POST", "/reports", 400),
    ],
)
def test_every_response_has_security_headers(poll, method, path, expected):
    status, headers, _ = exchanged(poll[1], method, path)
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert status == expected and headers["x-content-type-options"] == "nosniff"
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'" and len(policy) == 7


def test_only_json_is_taken(poll):
    """Another site can make a browser send a form or plain text here, but no JSON."""
    path, app = poll
    body = sendable(app, "0" * 32, a_report())
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"):
        assert exchanged(app, "POST", "/reports", body, {"content-type": kind})[0] == 415
    assert reports(path) == []
    assert exchanged(app, "POST", "/reports", body, {"content-type": "Application/JSON; charset=utf-8"})[0] == 204


def test_only_known_hosts_are_served(collector, poll):
    """Another site can let its own name point to this address."""
    path, app = poll
    for host in ("elsewhere.example", "127.0.0.1.elsewhere.example", ""):
        status, headers, _ = exchanged(app, "GET", "/protocol", headers={"host": host})
        assert status == 400 and "content-security-policy" in headers
    assert exchanged(app, "GET", "/protocol", headers={"host": "localhost:8000"})[0] == 200
    app = collector.collector(path, ["poll.example"])
    assert exchanged(app, "GET", "/protocol", headers={"host": "poll.example"})[0] == 200
    assert exchanged(app, "GET", "/protocol")[0] == 400


def started(monkeypatch, *arguments):
    """Return the application that a collector would serve with these arguments."""
    pytest.importorskip("uvicorn")
    applications = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets=None: applications.append(self.config.app))
    monkeypatch.setattr("sys.argv", ["collector.py", *map(str, arguments), "--port", "0"])
    load("collector").main()
    return applications[0]


@pytest.mark.slow
def test_a_kill_leaves_no_file_that_cannot_be_used(collector, tmp_path, monkeypatch):
    """Copies of the file as a kill before each statement would leave it."""
    path, copies = tmp_path / "poll.sqlite", []

    def copy(statement):
        folder = tmp_path / str(len(copies))
        folder.mkdir()
        for name in ("poll.sqlite", "poll.sqlite-journal"):
            if (tmp_path / name).exists():
                shutil.copy(tmp_path / name, folder)
        copies.append(folder / "poll.sqlite")

    connect = sqlite3.connect

    def traced(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(copy)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", traced)
        collector.begin(path, "What?", LDPPairwise(epsilon=4.0), NAMES)
    assert len(copies) >= 5
    publish = load("poll_file")
    for left in [*copies, path]:
        epsilon = 4.0 if publish.is_begun(left) else 2.0  # the default, if the poll was not written
        app = started(monkeypatch, left, "--items", ",".join(NAMES))
        assert requested(app, "GET", "/protocol")[0] == 200 and posted(app, "0" * 32, a_report(epsilon)) == 204
        assert len(reports(left)) == 1


def test_another_question_takes_no_answer_of_an_earlier_one(collector, poll):
    """Its page may be open when the collector starts again, and its collector may still run."""
    path, app = poll
    old = sendable(app, "0" * 32, a_report())
    path.unlink()
    collector.begin(path, "Another?", LDPPairwise(epsilon=4.0), NAMES)
    another = collector.collector(path)
    status, said = requested(another, "POST", "/reports", old)
    assert status == 409 and b"another question" in said
    assert requested(app, "POST", "/reports", old)[0] == 409
    assert requested(another, "POST", "/reports", old.replace(asked(app).encode(), b"7"))[0] == 409
    assert reports(path) == []
    assert posted(another, "0" * 32, a_report()) == 204


def test_a_shuffler_belongs_to_one_question(collector, tmp_path):
    """150 answers to one question, then another question with the same items in the same file, or in one beside it."""
    estimator, publish = ShufflePairwise(local_epsilon=8.0, min_reports=100), load("publish")
    path, beside = tmp_path / "poll.sqlite", tmp_path / "poll.db"
    collector.begin(path, "What?", estimator, NAMES)
    _, protocol, _ = publish.read_poll(path)
    shuffler = collector.open_shuffler(path, protocol)
    assert shuffler.receive(estimator.client(NAMES).report([0, 1, 2, 3]) for voter in range(150)) == 150
    shuffler.close()
    collector.begin(beside, "Another?", estimator, NAMES)
    with pytest.raises(ValueError, match="waiting voters, got 0"):
        list(publish.read_reports(beside, protocol))
    path.unlink()
    with pytest.raises(ValueError, match=r"poll\.sqlite\.shuffler belongs to an earlier poll"):
        collector.begin(path, "Another?", estimator, NAMES)
    assert not path.exists()
    (tmp_path / "poll.sqlite.shuffler").unlink()
    publish.result_page(path).write_text("the result of the earlier poll")
    with pytest.raises(ValueError, match=r"poll\.sqlite\.html belongs to an earlier poll"):
        collector.begin(path, "Another?", estimator, NAMES)
    publish.result_page(path).unlink()
    collector.begin(path, "Another?", estimator, NAMES)
    with pytest.raises(ValueError, match="waiting voters, got 0"):
        list(publish.read_reports(path, protocol))
    assert publish.result_page(path) != publish.result_page(beside)


def test_each_ticket_stores_one_report_without_metadata(poll):
    path, app = poll
    first, again, other = a_report(), a_report(), a_report()
    assert posted(app, "0" * 32, first) == posted(app, "0" * 32, again) == posted(app, "f" * 32, other) == 204
    assert reports(path) == [("0" * 32, json.dumps(first)), ("f" * 32, json.dumps(other))]
    with closing(sqlite3.connect(path)) as kept:
        assert [row[1] for row in kept.execute("PRAGMA table_info(reports)")] == ["ticket", "report"]


HOSTILE = {
    "nothing": {},
    "a foreign digest": a_report(protocol="0" * 16),
    "another protocol": a_report(3.0),
    "NaN": a_report(answers=[float("nan")]),
    "a flag": a_report(answers=[True]),
    "deep nesting": a_report(pairs=[[[[[[0]]]]]]),
}


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("report", HOSTILE.values(), ids=HOSTILE)
def test_a_report_is_checked_at_the_door(collector, tmp_path, report, shuffled):
    path = tmp_path / "poll.sqlite"
    estimator = ShufflePairwise(local_epsilon=4.0, min_reports=9) if shuffled else LDPPairwise(epsilon=4.0)
    collector.begin(path, "What?", estimator, NAMES)
    app = collector.collector(path)
    status, said = requested(app, "POST", "/reports", sendable(app, "0" * 32, report))
    assert status == 400 and b"does not follow the protocol" in said
    assert reports(path) == []
    assert posted(app, "0" * 32, estimator.client(NAMES).report([0, 1, 2, 3])) == 204


def test_one_address_stores_a_bounded_number_of_reports(collector, poll):
    path, _ = poll
    app = collector.collector(path, most_of_one=3)
    found = [posted(app, f"{k:032x}", report) for k, report in enumerate([{}, *(a_report() for _ in range(5))])]
    assert found == [400, 204, 204, 204, 429, 429]
    assert len(reports(path)) == 3


def test_reports_that_arrive_at_once_do_not_pass_the_limit_together(collector, poll):
    path, _ = poll
    app = collector.collector(path, most_of_one=2)
    bodies = [sendable(app, f"{k:032x}", a_report()) for k in range(5)]

    async def together():
        return await asyncio.gather(*(exchange(app, "POST", "/reports", body) for body in bodies))

    assert sorted(status for status, *_ in asyncio.run(together())) == [204, 204, 429, 429, 429]
    assert len(reports(path)) == 2


def test_a_report_is_on_the_disk_before_it_is_acknowledged(poll, monkeypatch):
    _, app = poll
    settings = []

    class Watched(sqlite3.Connection):
        def execute(self, command, *values):
            if command.startswith("INSERT"):
                settings.append(super().execute("PRAGMA synchronous").fetchone()[0])
            return super().execute(command, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, factory=Watched, **more))
    assert posted(app, "0" * 32, a_report()) == 204
    assert settings == [3]  # EXTRA


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"[" * 900, 400),
        (b'{"ticket": "0", "report": {}}', 400),
        (b'{"ticket": 7, "report": {}}', 400),
        (b'{"ticket": "' + b"0" * 32 + b'", "report": 7}', 400),
        (b'{"ticket": "' + b"0" * 32 + b'", "report": [{"a": 1}, {"a": 2}]}', 400),
        (b'{"ticket": "' + b"0" * 32 + b'", "report": "' + b"x" * 1_000 + b'"}', 413),
        (b"\xff\xfe", 400),
    ],
)
def test_it_takes_no_nonsense(poll, body, status):
    path, app = poll
    body = body.replace(b'{"ticket"', b'{"poll": "%s", "ticket"' % asked(app).encode())
    assert requested(app, "POST", "/reports", body)[0] == status
    assert reports(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [LDPPairwise(epsilon=8.0), ShufflePairwise(local_epsilon=8.0, min_reports=150)])
def test_what_is_published(collector, tmp_path, estimator):
    """Devices of the package in place of browsers; a report of another protocol is left out."""
    path = tmp_path / "poll.sqlite"
    collector.begin(path, "What <b>?", estimator, NAMES)
    app = collector.collector(path)
    for voter, vote in enumerate(make_mallows(200, 4, 0.2, center=[2, 0, 3, 1], random_state=0)):
        posted(app, f"{voter:032x}", estimator.client(NAMES).report(vote))
    posted(app, "f" * 32, {"pairs": []})
    page = load("publish").page(path)
    order = [page.index(f"<td>{name}</td>") for name in BEST_FIRST]
    assert order == sorted(order) and "What &lt;b&gt;?" in page
    assert "200 voters" in page and "Epsilon = " in page
    assert "did not follow" not in page  # it was refused at once
    assert "settle no rank" not in page and "PrivacyGuarantee" not in page
    trusted = "" if isinstance(estimator, LDPPairwise) else ", the shuffler"
    assert page.count(f"Trusted parties: whoever sends the script of this page{trusted}") == 1
    path.with_name("poll.sqlite.html").write_text(page)
    assert requested(app, "GET", "/result")[1].decode() == page


@pytest.mark.parametrize("n_queries", [1, 3])
def test_one_request_is_one_voter(collector, tmp_path, n_queries):
    """A request with 1,020 messages is refused, as is one that repeats a shuffle; one that comes again counts once."""
    estimator = ShufflePairwise(local_epsilon=8.0, min_reports=3, n_queries=n_queries)
    path = tmp_path / "poll.sqlite"
    collector.begin(path, "What?", estimator, NAMES)
    app = collector.collector(path)
    sent = [estimator.client(NAMES).report([0, 1, 2, 3]) for voter in range(5)]
    messages = sent[0]["messages"]
    wrong = [
        {**sent[0], "messages": (messages * 1020)[:1020]},
        {**sent[0], "messages": []},
        {**sent[0], "messages": messages[:-1] + [{**messages[-1], "shuffle": 1 if n_queries == 3 else 7}]},
        [{"protocol": sent[0]["protocol"], **message} for message in messages * 340],
    ]
    assert {posted(app, f"{k:032x}", report) for k, report in enumerate(wrong)} <= {400, 413}
    publish = load("publish")
    for ticket in (0, 0, 7, 1):  # 7 is another ticket with a report that arrived before
        assert posted(app, f"{ticket:032x}", sent[ticket % 7]) == 204
    with pytest.raises(ValueError, match="at least min_reports=3 waiting voters, got 2"):
        publish.page(path)
    assert posted(app, f"{2:032x}", sent[2]) == 204 and posted(app, f"{0:032x}", sent[0]) == 204
    assert "computed from the answers of 3 voters." in publish.page(path)
    assert posted(app, f"{3:032x}", sent[3]) == 204 and posted(app, f"{0:032x}", sent[0]) == 204
    assert "computed from the answers of 3 voters." in publish.page(path)  # the others wait for a batch of their own
    again = collector.collector(path)  # after a restart
    assert posted(again, f"{1:032x}", sent[1]) == 204 and posted(again, f"{4:032x}", sent[4]) == 204
    assert "computed from the answers of 3 voters." in publish.page(path)


def test_one_ticket_carries_one_report_to_the_shuffler(collector, tmp_path):
    """Also after a restart. The collector stores the ticket apart from the report."""
    estimator, path, publish = (
        ShufflePairwise(local_epsilon=8.0, min_reports=2),
        tmp_path / "poll.sqlite",
        load("publish"),
    )
    collector.begin(path, "What?", estimator, NAMES)
    for app in (collector.collector(path), collector.collector(path)):
        for _ in range(2):
            assert posted(app, "a" * 32, estimator.client(NAMES).report([0, 1, 2, 3])) == 204
    with pytest.raises(ValueError, match="at least min_reports=2 waiting voters, got 1"):
        publish.page(path)
    assert reports(path) == [("a" * 32, "")]


@pytest.mark.parametrize(
    ("script", "arguments", "said"),
    [
        ("collector", ["new.sqlite", "--items", "tea"], "items must name at least two items, got 1."),
        ("collector", ["new.sqlite", "--items", "tea, tea"], "items must be distinct"),
        ("collector", ["new.sqlite", "--epsilon", "0"], "epsilon must be a positive, finite number"),
        ("collector", ["nowhere/new.sqlite"], "unable to open database file"),
        ("collector", ["words.txt"], "file is not a database"),
        ("publish", ["words.txt"], "nothing is published: file is not a database"),
        ("collector", ["other.sqlite"], "no such table: poll"),
        (
            "publish",
            ["nowhere.sqlite"],
            "nothing is published: nowhere.sqlite holds no poll. Start one with collector.py",
        ),
        ("publish", ["empty.sqlite"], "nothing is published: no report was accepted (none arrived)"),
    ],
)
def test_errors_are_one_line(collector, tmp_path, monkeypatch, capsys, script, arguments, said):
    (tmp_path / "words.txt").write_text("not a poll" * 99)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other, other:
        other.execute("CREATE TABLE bookmarks (name TEXT)")
    collector.begin(tmp_path / "empty.sqlite", "What?", LDPPairwise(), NAMES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [script, *arguments])
    with pytest.raises(SystemExit):
        load(script).main()
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new.sqlite").exists()


# --- all of it, in a browser


@pytest.fixture
def served(request, collector, tmp_path):
    """The address of a collector in a process of its own, and its file."""
    path = tmp_path / "poll.sqlite"
    command = [sys.executable, POLL / "collector.py", path, "--items", ",".join(NAMES), "--epsilon", "6", "--port", "0"]
    command += getattr(request, "param", [])
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        said = server.stdout.readline()  # it listens when it says so
        yield re.search(r"http://127\.0\.0\.1:\d+/", said)[0], path
    finally:
        server.terminate()
        server.communicate(timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_was_changed_does_not_run(served, browser, name):
    page = browser.new_page()
    changed = SCRIPTS[name].read_text() + "\n// changed\n"
    page.route(f"**/{name}", lambda route: route.fulfill(body=changed, content_type="text/javascript"))
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(served[0])
    page.wait_for_load_state("networkidle")
    assert any("integrity" in text for text in refused)
    assert page.locator("#ballot li").count() == 0 and page.is_disabled("#send")


@pytest.mark.slow
@pytest.mark.parametrize("served", [["--shuffle", "1"]], indirect=True)
def test_a_shuffled_poll_in_a_browser(served, browser):
    """The same submission twice is one voter."""
    address, path = served
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector("#send:not([disabled])")
    page.click("#send")
    page.wait_for_selector("#ballot.sent")
    comes_back(page, address)
    assert "mixes the answers of at least 1 voters" in page.inner_text("#shuffler")
    assert "computed from the answers of 1 voter." in load("publish").page(path)


@pytest.mark.slow
def test_two_hundred_voters_in_a_browser(served, browser):
    """By keyboard, on a desk and on a phone; one comes back, and cannot change its answer."""
    address, path = served
    votes = make_mallows(200, 4, 0.2, center=[2, 0, 3, 1], random_state=0)
    pages = [browser.new_page(viewport={"width": width, "height": 900}) for width in (1280, 390)]
    complaints = []
    for page in pages:
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
    for voter, vote in enumerate(votes):
        page = pages[voter % 2]
        page.goto(address)
        page.evaluate(FORGET)
        page.reload()
        page.wait_for_selector("#send:not([disabled])")
        vote_by_keyboard(page, [NAMES[item] for item in vote.argsort()])
        page.click("#send")
        page.wait_for_selector("#ballot.sent")
    comes_back(pages[1], address)
    assert complaints == []
    assert len(reports(path)) == 200
    publish = load("publish")
    _, protocol, estimator = publish.read_poll(path)
    fitted = estimator.fit_reports(publish.read_reports(path, protocol), items=protocol["items"])
    assert fitted.reports_accepted_ == 200 and not fitted.reports_refused_
    assert fitted.consensus_.tolist() == BEST_FIRST
    result = publish.result_page(path)
    publish.write_whole(result, publish.page(path))
    for page in pages:
        page.goto(f"{address}result")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.locator("tbody tr td:nth-child(2)").all_inner_texts() == BEST_FIRST


def order_of(page):
    return page.locator("#ballot li").all_inner_texts()


def vote_by_keyboard(page, order):
    for place, name in enumerate(order):
        row = page.locator(f"#ballot li:text-is('{name}')")
        row.focus()
        for _ in range(order_of(page).index(name) - place):
            row.press("ArrowUp")
    assert order_of(page) == order


def comes_back(page, address):
    """The page of the same browser sends the same report, also for another ballot."""
    page.goto(address)
    page.wait_for_selector("#send:not([disabled])")
    assert "has answered this poll" in page.inner_text("#status") and "Your report: " in page.inner_text("#said")
    assert not page.is_visible("#ballot")
    page.click("#send")
    page.wait_for_selector("#status:has-text('has arrived')")
    assert len(page.evaluate(SECOND_BALLOTS)) == 1
    record = page.evaluate(RECORD)
    (name,) = record["reports"]
    assert re.fullmatch("[0-9a-f]{16} [0-9a-f]{32}", name) and list(record["epsilon"]) == [name]
    assert page.evaluate("localStorage.length") == 0


# --- several pages of one browser, and a browser that is killed

RACE = """async ({ poll, epsilon, at }) => {
  const { Allowance, BrowserStore, Device, readProtocol } = await import("./device.js");
  const protocol = readProtocol(JSON.parse(await (await fetch("protocol")).text()).protocol);
  const allowance = new Allowance(epsilon, new BrowserStore());
  const device = new Device(protocol, { poll, allowance });
  await device.name();
  await new Promise((resolve) => setTimeout(resolve, at - Date.now()));
  try {
    return JSON.stringify(await device.report([0, 1, 2, 3]));
  } catch (error) {
    return error.name;
  }
}"""
STATE = """async () => {
  const { Allowance, BrowserStore } = await import("./device.js");
  return JSON.stringify(await new Allowance("8", new BrowserStore()).read());
}"""


class OfOneProfile:
    """Chromium on a profile of its own, which can be killed and started again."""

    def __init__(self, folder):
        from playwright.sync_api import sync_playwright

        self.folder, self.playwright = folder, sync_playwright().start()
        self.start()

    def start(self):
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        options = {"executable_path": found, "args": ["--no-sandbox", "--disable-gpu", "--no-first-run"]}
        self.browser = self.playwright.chromium.launch_persistent_context(str(self.folder), **options)

    def kill(self):
        """Kill all processes of the browser at once."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"--user-data-dir={self.folder}".encode() in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
        with contextlib.suppress(Exception):
            self.browser.close()


@pytest.fixture
def profile(tmp_path):
    pytest.importorskip("playwright.sync_api")
    if not (shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")):
        pytest.skip("no Chromium is installed, and so no browser votes")
    made = OfOneProfile(tmp_path / "profile")
    yield made
    with contextlib.suppress(Exception):
        made.browser.close()
    made.playwright.stop()


def two_pages(profile, address):
    """Open two pages of one browser."""
    pages = [profile.browser.new_page() for _ in range(2)]
    for page in pages:
        page.goto(address)
    return pages


def both(pages, lag, polls, epsilon):
    """Return what two pages report, each for its poll, that begin `lag` ms apart."""
    at = time.time() * 1000 + 60
    for page, start, poll in zip(pages, (at, at + lag), polls, strict=True):
        given = {"poll": f"{poll:032x}", "epsilon": epsilon, "at": start}
        page.evaluate(f"(given) => {{ window.told = ({RACE})(given); }}", given)
    return [page.evaluate("() => window.told") for page in pages]


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 5, 50])
def test_two_pages_of_a_browser_are_one_device(served, profile, lag):
    """100 polls: in 0.3.0, one of ten had two different reports."""
    pages = two_pages(profile, served[0])
    different = 0
    for number in range(100):
        one, other = both(pages, lag, [number, number], "10000")
        different += one != other
        assert one.startswith("{")
    assert different == 0


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 5, 50])
def test_two_pages_of_a_browser_spend_one_allowance(served, profile, lag):
    """Two different polls at once, each for epsilon 6: an allowance of 8 pays for one of them only."""
    pages = two_pages(profile, served[0])
    for number in range(30):
        pages[0].evaluate(FORGET)
        told = both(pages, lag, [2 * number, 2 * number + 1], "8")
        assert sorted(text[:1] for text in told) == ["B", "{"]
        record = json.loads(pages[0].evaluate(STATE))
        assert len(record["epsilon"]) == len(record["reports"]) == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")
@pytest.mark.parametrize("wait", [0, 50, 500, 2000, 5000])
def test_a_browser_that_is_killed_keeps_the_report_that_it_sent(served, profile, wait):
    """In 0.3.0, it forgot the last seconds: the voter sent a second, different report."""
    address, path = served
    page = profile.browser.new_page()
    page.goto(address)
    page.wait_for_selector("#send:not([disabled])")
    page.click("#send")
    page.wait_for_selector("#ballot.sent")
    before = page.evaluate(STATE)
    page.wait_for_timeout(wait)
    profile.kill()
    profile.start()
    page = profile.browser.new_page()
    page.goto(address)
    page.wait_for_selector("#send:not([disabled])")
    assert page.evaluate(STATE) == before
    assert "has answered this poll" in page.inner_text("#status") and "spent 6.00" in page.inner_text("#spent")
    page.click("#send")
    page.wait_for_selector("#status:has-text('has arrived')")
    assert page.evaluate(STATE) == before and len(reports(path)) == 1
