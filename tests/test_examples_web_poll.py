"""The poll: its device speaks the wire format, its collector keeps reports only, and 200 voters are heard."""

import asyncio
import importlib.util
import json
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sklearn_dprank import LDPPairwise, ShufflePairwise
from sklearn_dprank.datasets import make_mallows

ROOT = Path(__file__).parents[1]
POLL = ROOT / "examples" / "web_poll"
NAMES = ["tea", "coffee", "water", "juice"]
BEST_FIRST = ["coffee", "juice", "tea", "water"]
CHECK_VECTORS = """
import { readFileSync } from "node:fs";
import { check, draw, readProtocol } from "./device.mjs";
const vectors = JSON.parse(readFileSync(process.argv[2]));
const known = (one) => ["rr", "rr-shuffled"].includes(one.protocol.randomizer);
class Listed {
  constructor(words) { this.left = words.map((word) => BigInt(`0x${word}`)); }
  take(n) { return this.left.splice(0, n); }
}
const reports = [];
for (const one of vectors.reports.filter(known)) {
  check(one.protocol, null);
  const streams = Object.fromEntries(Object.entries(one.words).map(([name, words]) => [name, new Listed(words)]));
  const report = await draw(one.protocol, one.ballot, streams, one.pairs ?? null);
  const unused = Object.values(streams).reduce((sum, stream) => sum + stream.left.length, 0);
  reports.push({ name: one.name, report, unused });
}
const texts = [...vectors.refused_protocols.map((one) => JSON.stringify(one.protocol)), ...JSON.parse(process.argv[3])];
const followed = texts.filter((text) => { try { check(readProtocol(text), 5); return true; } catch { return false; } });
console.log(JSON.stringify({ reports, followed }));
"""


SECOND_VOTES = """async () => {
  const { Device, readProtocol } = await import("./device.js");
  const { protocol } = await (await fetch("protocol")).json();
  const device = new Device(readProtocol(protocol), { store: localStorage });
  const said = [];
  for (const a of [0, 1, 2, 3]) for (const b of [0, 1, 2, 3]) for (const c of [0, 1, 2, 3]) {
    const ballot = [a, b, c, 6 - a - b - c];
    if (new Set(ballot).size === 4) await device.report(ballot).catch((error) => said.push(error.message));
  }
  return said;
}"""


def load(name):
    spec = importlib.util.spec_from_file_location(name, POLL / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def collector():
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    return load("collector")


# --- the device in JavaScript


@pytest.fixture(scope="module")
def javascript(tmp_path_factory):
    """What the device says of the test vectors, and of protocols that differ from a good one in their text."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, and so nothing runs JavaScript without a browser")
    folder = tmp_path_factory.mktemp("device")
    shutil.copy(POLL / "static" / "device.js", folder / "device.mjs")
    (folder / "check.mjs").write_text(CHECK_VECTORS)
    good = json.dumps(LDPPairwise(epsilon=2.0).protocol(NAMES))
    texts = [
        good.replace('"n_queries": 1', '"n_queries": 1.0'),
        good.replace('"epsilon": "2.0"', '"epsilon": "1.9999999999"'),
        good.replace('"version": 2', '"version": 2e0'),
        json.dumps(LDPPairwise(epsilon=5.01).protocol(NAMES)),  # the owner allows 5
        good.replace('"tea"', '"coffee"'),
        good[:-1],
    ]
    assert good not in texts
    vectors = ROOT / "tests" / "devices" / "vectors.json"
    done = subprocess.run(
        [node, "check.mjs", vectors, json.dumps([*texts, good])],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), good, json.loads(vectors.read_text())


def test_its_reports_are_those_of_the_vectors(javascript):
    said, _, vectors = javascript
    expected = {one["name"]: one["report"] for one in vectors["reports"]}
    assert len(said["reports"]) == 13
    for one in said["reports"]:
        assert one["report"] == expected[one["name"]] and one["unused"] == 0


def test_it_follows_a_good_protocol_and_no_other(javascript):
    said, good, _ = javascript
    assert said["followed"] == [good]


# --- the collector


def requested(app, method, path, body=b""):
    """Return status and body of one request, without a network."""
    sent, chunks = [], [body[k : k + 9999] for k in range(0, len(body), 9999)] or [b""]
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages[-1]["more_body"] = False

    async def receive():
        if not messages:
            await asyncio.Event().wait()  # nobody hangs up
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": []}
    asyncio.run(app({**scope, "http_version": "1.1", "scheme": "http", "server": ("test", 80)}, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.fixture
def poll(collector, tmp_path):
    path = tmp_path / "poll.sqlite"
    collector.begin(path, "What?", LDPPairwise(epsilon=4.0), NAMES)
    return path, collector.collector(path)


def reports(path):
    with closing(sqlite3.connect(path)) as kept:
        return kept.execute("SELECT * FROM reports").fetchall()


def posted(app, ticket, report):
    return requested(app, "POST", "/reports", json.dumps({"ticket": ticket, "report": report}).encode())[0]


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


def test_a_report_is_kept_once_and_nothing_with_it(poll):
    path, app = poll
    assert (
        posted(app, "0" * 32, {"a": 1}) == posted(app, "0" * 32, {"a": 2}) == posted(app, "f" * 32, [{"b": 3}]) == 204
    )
    assert reports(path) == [("0" * 32, '{"a": 1}'), ("f" * 32, '[{"b": 3}]')]
    with closing(sqlite3.connect(path)) as kept:
        assert [row[1] for row in kept.execute("PRAGMA table_info(reports)")] == ["ticket", "report"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"[" * 90_000, 400),
        (b'{"ticket": "0", "report": {}}', 400),
        (b'{"ticket": 7, "report": {}}', 400),
        (b'{"ticket": "' + b"0" * 32 + b'", "report": 7}', 400),
        (b'{"ticket": "' + b"0" * 32 + b'", "report": "' + b"x" * 100_000 + b'"}', 413),
        (b"\xff\xfe", 400),
    ],
)
def test_it_takes_no_nonsense(poll, body, status):
    path, app = poll
    assert requested(app, "POST", "/reports", body)[0] == status
    assert reports(path) == []


@pytest.mark.parametrize("estimator", [LDPPairwise(epsilon=8.0), ShufflePairwise(local_epsilon=8.0, min_reports=400)])
def test_what_is_published(collector, tmp_path, estimator):
    """Devices of the package in place of browsers; a report of another protocol is left out."""
    path = tmp_path / "poll.sqlite"
    collector.begin(path, "What <b>?", estimator, NAMES)
    app = collector.collector(path)
    for voter, vote in enumerate(make_mallows(500, 4, 0.2, center=[2, 0, 3, 1], random_state=0)):
        posted(app, f"{voter:032x}", estimator.client(NAMES).report(vote))
    posted(app, "f" * 32, {"pairs": []})
    page = load("publish").page(path)
    order = [page.index(f"<td>{name}</td>") for name in BEST_FIRST]
    assert order == sorted(order) and "What &lt;b&gt;?" in page
    assert "500 answers" in page and "1 report did not follow" in page and "Epsilon = " in page
    assert "No rank is settled" not in page and "PrivacyGuarantee" not in page
    path.with_suffix(".html").write_text(page)
    assert requested(app, "GET", "/result")[1].decode() == page


def test_three_answers_settle_nothing(collector, tmp_path):
    path = tmp_path / "poll.sqlite"
    estimator = LDPPairwise(epsilon=2.0)
    collector.begin(path, "What?", estimator, NAMES)
    app = collector.collector(path)
    for voter in range(3):
        posted(app, f"{voter:032x}", estimator.client(NAMES).report([0, 1, 2, 3]))
    page = load("publish").page(path)
    assert "From 3 answers." in page and "No rank is settled by them" in page and page.count("1 and 4") == 4
    assert "did not follow" not in page


@pytest.mark.parametrize(
    ("script", "arguments", "said"),
    [
        ("collector", ["new.sqlite", "--items", "tea"], "items must name at least two items, got 1."),
        ("collector", ["new.sqlite", "--items", "tea, tea"], "items must be distinct"),
        ("collector", ["new.sqlite", "--epsilon", "0"], "epsilon must be a positive, finite number"),
        ("collector", ["nowhere/new.sqlite"], "unable to open database file"),
        ("collector", ["words.txt"], "file is not a database"),
        ("publish", ["words.txt"], "nothing is published: file is not a database"),
        ("publish", ["empty.sqlite"], "nothing is published: no report could be used (there were none)"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(collector, tmp_path, monkeypatch, capsys, script, arguments, said):
    (tmp_path / "words.txt").write_text("not a poll" * 99)
    collector.begin(tmp_path / "empty.sqlite", "What?", LDPPairwise(), NAMES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [script, *arguments])
    with pytest.raises(SystemExit):
        load(script).main()
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new.sqlite").exists()


# --- all of it, in a browser


@pytest.fixture
def served(collector, tmp_path):
    """The address of a collector in a process of its own, and its file."""
    path, port = tmp_path / "poll.sqlite", 18_765
    command = [sys.executable, POLL / "collector.py", path, "--items", ",".join(NAMES), "--epsilon", "6"]
    server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/protocol", timeout=5):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/", path
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.slow
def test_two_hundred_voters_in_a_browser(served):
    """By keyboard, on a desk and on a phone; one drags; one comes back, and cannot change its answer."""
    browsers = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed, and so no browser votes")
    address, path = served
    votes = make_mallows(200, 4, 0.2, center=[2, 0, 3, 1], random_state=0)
    with browsers.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pages = [browser.new_page(viewport={"width": width, "height": 900}) for width in (1280, 390)]
        for voter, vote in enumerate(votes):
            page = pages[voter % 2]
            page.goto(address)
            page.evaluate("localStorage.clear()")
            page.reload()
            page.wait_for_selector("#send:not([disabled])")
            vote_by_keyboard(page, [NAMES[item] for item in vote.argsort()])
            page.click("#send")
            page.wait_for_selector("#ballot.sent")
        comes_back(pages[1], address)
        drags(pages[0], address)
        browser.close()
    assert len(reports(path)) == 200
    publish = load("publish")
    _, estimator, items, kept = publish.read(path)
    fitted = estimator.fit_reports(kept, items=items)
    assert fitted.reports_accepted_ == 200 and not fitted.reports_refused_
    assert fitted.consensus_.tolist() == BEST_FIRST


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
    """The same browser: it is told so, and sends the same report. Another ballot is refused."""
    page.goto(address)
    page.wait_for_selector("#send:not([disabled])")
    assert "has answered this poll" in page.inner_text("#status") and "What was sent" in page.inner_text("#said")
    assert not page.is_visible("#ballot")
    page.click("#send")
    page.wait_for_function("document.querySelector('#status').textContent.includes('has arrived')")
    assert page.evaluate(SECOND_VOTES).count("this device has answered; another ballot would be a second vote.") >= 23


def drags(page, address):
    page.goto(address)
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_selector("#send:not([disabled])")
    first, *_, last = order_of(page)
    boxes = [page.locator(f"#ballot li:text-is('{name}')").bounding_box() for name in (last, first)]
    page.mouse.move(boxes[0]["x"] + 30, boxes[0]["y"] + 20)
    page.mouse.down()
    page.mouse.move(boxes[1]["x"] + 30, boxes[1]["y"] + 2, steps=8)
    page.mouse.up()
    assert order_of(page)[0] == last
