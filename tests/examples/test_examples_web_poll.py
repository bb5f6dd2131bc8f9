"""The web poll: device in JavaScript, collector, published page, and 200 voters in a browser."""

import asyncio
import importlib.util
import itertools
import json
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from base64 import b64encode
from contextlib import closing
from decimal import Decimal
from hashlib import sha384
from pathlib import Path

import pytest

from sklearn_dprank import LDPPairwise, ShufflePairwise
from sklearn_dprank.collection.client.pairs import PairsRandomizer
from sklearn_dprank.collection.client.protocol import digest
from sklearn_dprank.datasets import make_mallows

ROOT = Path(__file__).parents[2]
POLL = ROOT / "examples" / "web_poll"
NAMES = ["tea", "coffee", "water", "juice"]
BEST_FIRST = ["coffee", "juice", "tea", "water"]
CHECK_VECTORS = """
import { readFileSync } from "node:fs";
import { check, draw, readProtocol } from "./device.mjs";
const vectors = JSON.parse(readFileSync(process.argv[2]));
const known = (one) => ["rr", "rr-assigned", "rr-shuffled"].includes(one.protocol.randomizer);
class Listed {
  constructor(words) { this.left = words.map((word) => BigInt(`0x${word}`)); }
  take(n) { return this.left.splice(0, n); }
}
const reports = [];
for (const one of vectors.reports.filter(known)) {
  check(one.protocol, null);
  const streams = Object.fromEntries(Object.entries(one.words).map(([name, words]) => [name, new Listed(words)]));
  const report = await draw(one.protocol, one.ballot, streams, one.pairs ?? null, one.voter ?? null);
  const unused = Object.values(streams).reduce((sum, stream) => sum + stream.left.length, 0);
  reports.push({ name: one.name, report, unused });
}
const texts = [...vectors.refused_protocols.map((one) => JSON.stringify(one.protocol)), ...JSON.parse(process.argv[3])];
const followed = texts.filter((text) => { try { check(readProtocol(text), 5); return true; } catch { return false; } });
console.log(JSON.stringify({ reports, followed }));
"""


# A device in node: `store` is a browser's local storage, `step` an action on it, by name.
DEVICE_STEPS = """
import { Allowance, Device, SecureWords } from "./device.mjs";
class Store {
  constructor(texts) { this.texts = new Map(Object.entries(texts)); this.full = null; }
  get length() { return this.texts.size; }
  key(k) { return [...this.texts.keys()][k] ?? null; }
  getItem(key) { return this.texts.get(key) ?? null; }
  setItem(key, text) {
    if (this.full !== null && key.startsWith(this.full)) throw new Error("the store is full");
    this.texts.set(key, String(text));
  }
}
class Seeded { // the same words for every device
  constructor() { this.state = 1n; }
  take(n) {
    return Array.from({ length: n }, () => {
      this.state = (this.state * 6364136223846793005n + 1442695040888963407n) % (1n << 64n);
      return this.state ^ (this.state >> 32n);
    });
  }
}
let queue = Promise.resolve();
const locks = { request: (_, task) => (queue = queue.then(task, task)) };
async function taken(store, { protocol, poll = "0".repeat(32), ballot, voter, full = null, seeded, unlocked, twice }) {
  store.full = full;
  try {
    const words = seeded ? new Seeded() : new SecureWords();
    const allowance = new Allowance("8", store);
    const device = new Device(protocol, { poll, voter, allowance, store, words, locks: unlocked ? null : locks });
    const reports = await Promise.all(twice ? [device.report(ballot), device.report(ballot)] : [device.report(ballot)]);
    return { reports, spent: allowance.spent() };
  } catch (error) {
    return { error: error.message };
  }
}
const ended = [];
for (const { stored, steps } of JSON.parse(process.argv[2])) {
  const [store, told] = [new Store(stored), []];
  for (const step of steps) told.push(await taken(store, step));
  ended.push([told, Object.fromEntries(store.texts)]);
}
console.log(JSON.stringify(ended));
"""
SECOND_BALLOTS = """async () => {
  const { Allowance, Device, readProtocol } = await import("./device.js");
  const { poll, protocol } = await (await fetch("protocol")).json();
  const allowance = new Allowance("8", localStorage);
  const device = new Device(readProtocol(protocol), { poll, allowance, store: localStorage });
  const reports = new Set();
  for (const a of [0, 1, 2, 3]) for (const b of [0, 1, 2, 3]) for (const c of [0, 1, 2, 3]) {
    const ballot = [a, b, c, 6 - a - b - c];
    if (new Set(ballot).size === 4) reports.add(JSON.stringify(await device.report(ballot)));
  }
  return [...reports];
}"""


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


# --- the device in JavaScript


@pytest.fixture(scope="module")
def run_node(tmp_path_factory):
    """What runs a module beside the device, and returns what it prints."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, and so nothing runs JavaScript without a browser")
    folder = tmp_path_factory.mktemp("device")
    shutil.copy(POLL / "static" / "device.js", folder / "device.mjs")

    def run(script, *arguments):
        (folder / "script.mjs").write_text(script)
        command = [node, "script.mjs", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def javascript(run_node):
    """Results of the device on the test vectors, and on protocols that differ from a good one in their text."""
    good = json.dumps(LDPPairwise(epsilon=2.0).protocol(NAMES))
    texts = [
        good.replace('"n_queries": 1', '"n_queries": 1.0'),
        good.replace('"epsilon": "2.0"', '"epsilon": "1.9999999999"'),
        good.replace('"version": 3', '"version": 3e0'),
        json.dumps(LDPPairwise(epsilon=5.01).protocol(NAMES)),  # the owner allows 5
        good.replace('"tea"', '"coffee"'),
        good[:-1],
    ]
    assert good not in texts
    vectors = ROOT / "tests" / "collection" / "client" / "vectors.json"
    said = run_node(CHECK_VECTORS, vectors, json.dumps([*texts, good]))
    return said, good, json.loads(vectors.read_text())


@pytest.mark.slow
def test_its_reports_are_those_of_the_vectors(javascript):
    said, _, vectors = javascript
    expected = {one["name"]: one["report"] for one in vectors["reports"]}
    assert len(said["reports"]) == 21
    for one in said["reports"]:
        assert one["report"] == expected[one["name"]] and one["unused"] == 0


def test_it_follows_a_good_protocol_and_no_other(javascript):
    said, good, _ = javascript
    assert said["followed"] == [good]


BALLOTS = [list(order) for order in itertools.permutations(range(4))]


def local_polls(epsilons):
    """Return different protocols of these epsilons."""
    return [LDPPairwise(epsilon=epsilon).protocol([*NAMES[:3], f"juice {k}"]) for k, epsilon in enumerate(epsilons)]


def name_of(protocol, poll="0" * 32):
    """Return the name of what a browser stores for a poll."""
    return f"{digest(protocol)} {poll}"


@pytest.fixture
def in_node(run_node):
    """What runs steps of devices on one store, and returns what they told and what is stored."""

    def run(*steps, stored=None):
        (ended,) = run_node(DEVICE_STEPS, json.dumps([{"stored": stored or {}, "steps": steps}]))
        return ended

    return run


def test_the_store_tells_no_more_of_a_ballot_than_the_report(run_node):
    """Under the same random words, ballots with the same report leave the same store; 24 orders give two reports."""
    (protocol,) = local_polls([2.0])
    steps = [{"protocol": protocol, "ballot": ballot, "seeded": True} for ballot in BALLOTS]
    ended = run_node(DEVICE_STEPS, json.dumps([{"stored": {}, "steps": [step]} for step in steps]))
    left = {json.dumps(told[0]["reports"]): set() for told, _ in ended}
    for told, stored in ended:
        left[json.dumps(told[0]["reports"])].add(json.dumps(stored, sort_keys=True))
    assert len(left) == 2 and all(len(stores) == 1 for stores in left.values())


def test_every_later_ballot_gets_the_first_report(in_node):
    """A device that drew again would give the same report to all 24 orders with a chance below 2^-23."""
    (protocol,) = local_polls([0.01])
    told, stored = in_node(*[{"protocol": protocol, "ballot": ballot, "twice": True} for ballot in BALLOTS])
    reports = [report for one in told for report in one["reports"]]
    assert len(reports) == 48 and all(report == reports[0] for report in reports)
    assert json.loads(stored[f"dprank {name_of(protocol)}"]) == {"report": reports[0]}
    assert told[0]["spent"] == told[-1]["spent"]


def test_a_registered_voter_answers_about_public_pairs(in_node):
    """The curator accepts the report; without a registered number, there is none, and nothing is spent."""
    estimator = LDPPairwise(1.0, pairs="assigned", n_voters=50, assignment_seed="5eed" * 8)
    protocol = estimator.protocol(NAMES)
    refused = [{"protocol": protocol, "ballot": [0, 1, 2, 3], "voter": voter} for voter in (50, -1, 0.5, "0", None)]
    told, _ = in_node(*refused, {**refused[0], "voter": 49})
    assert all("registered voters" in one["error"] for one in told[:-1])
    (report,) = told[-1]["reports"]
    fitted = estimator.fit_reports([report, report], items=NAMES)
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (1, {"voter answered before": 1})
    assert report["voter"] == 49 and told[-1]["spent"] == pytest.approx(1.0)


def test_a_report_of_one_question_is_none_of_another(in_node):
    """The questions share a protocol. Under the same random words, opposite ballots get different answers."""
    protocol = LDPPairwise(epsilon=3.0).protocol(NAMES)
    polls, ballots = ["0" * 32, "1" * 32, "2" * 32, "0" * 32], [[0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3], [3, 2, 1, 0]]
    steps = [
        {"protocol": protocol, "poll": poll, "ballot": ballot, "seeded": True}
        for poll, ballot in zip(polls, ballots, strict=True)
    ]
    told, stored = in_node(*steps)
    (first,), (second,), (again,) = (told[k]["reports"] for k in (0, 1, 3))
    assert first["pairs"] == second["pairs"] and first["answers"] != second["answers"] and again == first
    assert [told[k]["spent"] for k in (0, 1, 3)] == pytest.approx([3.0, 6.0, 6.0])
    assert "spends epsilon = 3.00. This browser has 2.00 of 8 left" in told[2]["error"]
    names = {name_of(protocol, poll) for poll in polls[:2]}
    assert set(stored) == {"dprank allowance", *(f"dprank {name}" for name in names)}
    assert set(json.loads(stored["dprank allowance"])["epsilon"]) == names


@pytest.mark.parametrize("poll", ["", "0" * 31, "0" * 31 + "G", "0" * 33, 7, ["0" * 32], None])
def test_a_poll_without_an_id_is_refused(in_node, poll):
    (protocol,) = local_polls([1.0])
    told, stored = in_node({"protocol": protocol, "poll": poll, "ballot": BALLOTS[0]})
    assert "the poll's id must be 32 hexadecimal digits" in told[0]["error"] and stored == {}


def test_a_hash_of_a_ballot_from_before_is_dropped(in_node):
    """Version 0.2.0 stored a salt and the hash of the ballot, and no poll. Its report counts as its highest price."""
    before, now = local_polls([2.0, 0.5])
    report = {"protocol": digest(before), "pairs": [[0, 1]], "answers": [1]}
    old = {f"dprank {digest(before)}": json.dumps({"salt": "s", "ballot": "f" * 64, "report": report})}
    again, stored = in_node({"protocol": before, "ballot": BALLOTS[5]}, stored=old)
    assert "This browser has 0.00 of 8 left" in again[0]["error"]
    assert stored == {f"dprank {digest(before)}": json.dumps({"report": report}, separators=(",", ":"))}
    refused, stored = in_node({"protocol": now, "ballot": BALLOTS[5]}, stored=old)
    assert "This browser has 0.00 of 8 left" in refused[0]["error"]
    assert "salt" not in str(stored) and "f" * 64 not in str(stored)


def test_all_polls_of_a_site_spend_one_allowance(in_node):
    polls = local_polls([2.0, 3.0, 2.5, 0.7, 0.4])
    told, stored = in_node(*[{"protocol": protocol, "ballot": BALLOTS[0]} for protocol in polls])
    assert [one.get("spent") for one in told] == pytest.approx([2.0, 5.0, 7.5, None, 7.9], abs=1e-11)
    assert "spends epsilon = 0.700. This browser has 0.500 of 8 left" in told[3]["error"]
    assert f"dprank {name_of(polls[3])}" not in stored
    prices = json.loads(stored["dprank allowance"])["epsilon"]
    assert set(prices) == {name_of(protocol) for k, protocol in enumerate(polls) if k != 3}
    for protocol in polls:
        if name_of(protocol) in prices:  # rounded up, in the twelfth place
            over = Decimal(prices[name_of(protocol)]) - PairsRandomizer().spent(protocol)
            assert 0 <= over <= Decimal("1e-12")


def test_a_report_is_paid_for_before_it_exists(in_node):
    """A store that is full when the report comes holds the price; the next try does not pay again."""
    (protocol,) = local_polls([5.0])
    step = {"protocol": protocol, "ballot": BALLOTS[0]}
    told, stored = in_node({**step, "full": f"dprank {name_of(protocol)}"})
    assert told == [{"error": "the store is full"}] and list(stored) == ["dprank allowance"]
    told, _ = in_node(step, stored=stored)
    assert told[0]["spent"] == pytest.approx(5.0)
    told, stored = in_node({**step, "full": "dprank allowance"})
    assert told == [{"error": "the store is full"}] and stored == {}


def test_a_protocol_that_shares_a_digest_pays_the_difference(in_node):
    """Digests have 64 bits: somebody can make a cheap protocol and a dear one that share a digest."""
    (protocol,) = local_polls([5.0])
    cheap = {"dprank allowance": json.dumps({"epsilon": {name_of(protocol): "0.1", "0" * 16: "3.0"}})}
    told, stored = in_node({"protocol": protocol, "ballot": BALLOTS[0]}, stored=cheap)
    assert told[0]["spent"] == pytest.approx(8.0)
    dear = {"dprank allowance": json.dumps({"epsilon": {name_of(protocol): "0.1", "0" * 16: "3.01"}})}
    told, stored = in_node({"protocol": protocol, "ballot": BALLOTS[0]}, stored=dear)
    assert "error" in told[0] and list(stored) == ["dprank allowance"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        "[]",
        "null",
        '{"epsilon": 7, "report": 7}',
        '{"epsilon": {"0": "none"}}',
        '{"epsilon": {"0": -1}}',
    ],
)
def test_a_damaged_record_is_not_an_empty_one(in_node, text):
    (protocol,) = local_polls([1.0])
    step = {"protocol": protocol, "ballot": BALLOTS[0]}
    assert "is damaged" in in_node(step, stored={"dprank allowance": text})[0][0]["error"]
    if ": {" not in text:
        assert "is damaged" in in_node(step, stored={f"dprank {name_of(protocol)}": text})[0][0]["error"]


def test_a_browser_that_cannot_lock_is_refused(in_node):
    (protocol,) = local_polls([1.0])
    told, stored = in_node({"protocol": protocol, "ballot": BALLOTS[0], "unlocked": True})
    assert "two tabs" in told[0]["error"] and stored == {}


def test_the_page_pins_its_scripts():
    """With the hashes of the scripts as they are: whoever knows index.html knows what runs."""
    page = (POLL / "static" / "index.html").read_text()
    for name in ("device.js", "page.js"):
        pin = b64encode(sha384((POLL / "static" / name).read_bytes()).digest()).decode()
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
def test_every_response_says_what_a_browser_may_do_with_it(poll, method, path, expected):
    status, headers, _ = exchanged(poll[1], method, path)
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert status == expected and headers["x-content-type-options"] == "nosniff"
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'" and len(policy) == 7


def test_only_json_is_taken(poll):
    """Another site can make a browser send a form or plain text here, but no JSON."""
    path, app = poll
    body = sendable(app, "0" * 32, {})
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


def test_a_locked_file_does_not_stop_other_requests(poll):
    path, app = poll
    body = sendable(app, "0" * 32, {})

    async def together():
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            post = asyncio.create_task(exchange(app, "POST", "/reports", body))
            await asyncio.sleep(0)  # it is on its way to the file
            status, *_ = await exchange(app, "GET", "/protocol")
            waited = not post.done()
            other.execute("ROLLBACK")
        return status, waited, (await post)[0]

    assert asyncio.run(together()) == (200, True, 204)


def test_a_file_that_breaks_is_an_answer(poll):
    path, app = poll
    path.write_bytes(b"not a poll" * 99)
    assert posted(app, "0" * 32, {}) == 503


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
    for left in [*copies, path]:
        app = started(monkeypatch, left, "--items", ",".join(NAMES))
        assert requested(app, "GET", "/protocol")[0] == 200 and posted(app, "0" * 32, {}) == 204
        assert len(reports(left)) == 1


def test_tables_without_a_poll_become_one(monkeypatch, tmp_path):
    """Version 0.2.0 could be killed between its tables and its poll."""
    path = tmp_path / "poll.sqlite"
    with closing(sqlite3.connect(path)) as kept, kept:
        kept.execute("CREATE TABLE poll (question TEXT, protocol TEXT, trust TEXT, epsilon REAL)")
        kept.execute("CREATE TABLE reports (ticket TEXT PRIMARY KEY, report TEXT NOT NULL) WITHOUT ROWID")
    app = started(monkeypatch, path, "--question", "Which?")
    assert json.loads(requested(app, "GET", "/protocol")[1])["question"] == "Which?"


def test_a_poll_that_is_there_stays(collector, poll, monkeypatch):
    path, _ = poll
    collector.begin(path, "Another?", LDPPairwise(epsilon=1.0), ["a", "b"])
    app = started(monkeypatch, path, "--question", "A third?")
    assert json.loads(requested(app, "GET", "/protocol")[1])["question"] == "What?"


def test_a_poll_of_an_earlier_version_gets_an_id(collector, tmp_path):
    """Once, and it keeps its reports."""
    path = tmp_path / "poll.sqlite"
    collector.begin(path, "What?", LDPPairwise(epsilon=4.0), NAMES)
    with closing(sqlite3.connect(path)) as kept, kept:
        kept.execute("ALTER TABLE poll DROP COLUMN id")
        kept.execute("INSERT INTO reports VALUES (?, ?)", ("0" * 32, "{}"))
    app = collector.collector(path)
    assert re.fullmatch("[0-9a-f]{32}", asked(app)) and asked(collector.collector(path)) == asked(app)
    assert posted(app, "1" * 32, {"a": 1}) == 204
    assert reports(path) == [("0" * 32, "{}"), ("1" * 32, '{"a": 1}')]


def test_another_question_takes_no_answer_of_an_earlier_one(collector, poll):
    """Its page may be open when the collector starts again, and its collector may still run."""
    path, app = poll
    old = sendable(app, "0" * 32, {})
    path.unlink()
    collector.begin(path, "Another?", LDPPairwise(epsilon=4.0), NAMES)
    another = collector.collector(path)
    status, said = requested(another, "POST", "/reports", old)
    assert status == 409 and b"another question" in said
    assert requested(app, "POST", "/reports", old)[0] == 400
    assert requested(another, "POST", "/reports", old.replace(asked(app).encode(), b"7"))[0] == 409
    assert reports(path) == []
    assert posted(another, "0" * 32, {}) == 204


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
        publish.read_reports(beside, protocol)
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
        publish.read_reports(path, protocol)
    assert publish.result_page(path) != publish.result_page(beside)


def test_a_result_replaces_the_one_before_as_a_whole(collector, poll, monkeypatch, capsys):
    path, _ = poll
    publish, page = load("publish"), path.with_name("poll.sqlite.html")
    page.write_text("the result before")
    monkeypatch.setattr("sys.argv", ["publish.py", str(path)])
    monkeypatch.setattr(publish, "page", lambda path: "no text \udc80")
    with pytest.raises(SystemExit):
        publish.main()
    assert page.read_text() == "the result before" and "nothing is published" in capsys.readouterr().err
    monkeypatch.setattr(publish, "page", lambda path: "the result")
    publish.main()
    assert page.read_text() == "the result"
    assert {file.name for file in path.parent.iterdir()} == {"poll.sqlite", "poll.sqlite.html"}


@pytest.mark.parametrize("script", ["collector", "publish"])
@pytest.mark.parametrize("suffix", [".html", ".HTML"])
def test_the_result_never_replaces_the_poll(collector, tmp_path, monkeypatch, capsys, script, suffix):
    path = tmp_path / f"poll{suffix}"
    monkeypatch.setattr("sys.argv", [script, str(path)])
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets=None: None)
    if script == "publish":
        collector.begin(tmp_path / "poll.sqlite", "What?", LDPPairwise(epsilon=4.0), NAMES)
        (tmp_path / "poll.sqlite").rename(path)
    before = path.exists() and path.read_bytes()
    with pytest.raises(SystemExit):
        load(script).main()
    assert "could be overwritten by a result. Use another suffix" in capsys.readouterr().err
    assert (path.exists() and path.read_bytes()) == before


def test_a_poll_of_another_version_is_not_read_as_empty(collector, poll, monkeypatch, capsys):
    path, _ = poll
    with closing(sqlite3.connect(path)) as kept, kept:
        kept.execute("UPDATE poll SET protocol = json_set(protocol, '$.version', 1)")
    for script in ("collector", "publish"):
        monkeypatch.setattr("sys.argv", [script, str(path)])
        with pytest.raises(SystemExit):
            load(script).main()
        assert "follows version 1 of the wire format" in capsys.readouterr().err


def test_a_report_is_kept_once_and_nothing_with_it(poll):
    path, app = poll
    assert posted(app, "0" * 32, {"a": 1}) == posted(app, "0" * 32, {"a": 2}) == posted(app, "f" * 32, {"b": 3}) == 204
    assert reports(path) == [("0" * 32, '{"a": 1}'), ("f" * 32, '{"b": 3}')]
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
        (b'{"ticket": "' + b"0" * 32 + b'", "report": [{"a": 1}, {"a": 2}]}', 400),
        (b'{"ticket": "' + b"0" * 32 + b'", "report": "' + b"x" * 100_000 + b'"}', 413),
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
    assert "200 answers" in page and "Epsilon = " in page
    assert ("1 report did not follow" in page) == isinstance(estimator, LDPPairwise)  # a shuffler refuses it at once
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
    assert [posted(app, f"{k:032x}", report) for k, report in enumerate(wrong)] == [400] * 4
    publish = load("publish")
    for report in [sent[0], sent[0], sent[1]]:
        assert posted(app, "a" * 32, report) == 204
    with pytest.raises(ValueError, match="at least min_reports=3 waiting voters, got 2"):
        publish.page(path)
    assert posted(app, "a" * 32, sent[2]) == 204 and posted(app, "a" * 32, sent[0]) == 204
    assert f"computed from {3 * n_queries} answers." in publish.page(path)
    assert posted(app, "a" * 32, sent[3]) == 204 and posted(app, "a" * 32, sent[0]) == 204
    assert f"computed from {3 * n_queries} answers." in publish.page(path)  # the others wait for a batch of their own
    again = collector.collector(path)  # after a restart
    assert posted(again, "a" * 32, sent[1]) == 204 and posted(again, "a" * 32, sent[4]) == 204
    assert f"computed from {3 * n_queries} answers." in publish.page(path)


def test_three_answers_settle_nothing(collector, tmp_path):
    path = tmp_path / "poll.sqlite"
    estimator = LDPPairwise(epsilon=2.0)
    collector.begin(path, "What?", estimator, NAMES)
    app = collector.collector(path)
    for voter in range(3):
        posted(app, f"{voter:032x}", estimator.client(NAMES).report([0, 1, 2, 3]))
    page = load("publish").page(path)
    assert "computed from 3 answers." in page and "They settle no rank" in page and page.count("1 to 4") == 4
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
        ("collector", ["other.sqlite"], "no such table: poll"),
        (
            "publish",
            ["nowhere.sqlite"],
            "nothing is published: nowhere.sqlite holds no poll. Start one with collector.py",
        ),
        ("publish", ["empty.sqlite"], "nothing is published: no report could be used (there were none)"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(collector, tmp_path, monkeypatch, capsys, script, arguments, said):
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


def test_a_port_that_is_used_is_said_in_a_line(poll, monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as used:
        monkeypatch.setattr("sys.argv", ["collector", str(poll[0]), "--port", str(used.getsockname()[1])])
        with pytest.raises(SystemExit):
            load("collector").main()
    assert "in use" in capsys.readouterr().err


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


@pytest.fixture
def browser():
    browsers = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed, and so no browser votes")
    with browsers.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["device.js", "page.js"])
def test_a_script_that_was_changed_does_not_run(served, browser, name):
    page = browser.new_page()
    changed = (POLL / "static" / name).read_text() + "\n// changed\n"
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
    assert "computed from 1 answer." in load("publish").page(path)


@pytest.mark.slow
def test_two_hundred_voters_in_a_browser(served, browser):
    """By keyboard, on a desk and on a phone; one drags; one comes back, and cannot change its answer."""
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
        page.evaluate("localStorage.clear()")
        page.reload()
        page.wait_for_selector("#send:not([disabled])")
        vote_by_keyboard(page, [NAMES[item] for item in vote.argsort()])
        page.click("#send")
        page.wait_for_selector("#ballot.sent")
    comes_back(pages[1], address)
    drags(pages[0], address)
    is_tight(pages[0], address)
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
    """The same browser: the page says so and sends the same report. Another ballot gets it too."""
    page.goto(address)
    page.wait_for_selector("#send:not([disabled])")
    assert "has answered this poll" in page.inner_text("#status") and "Your report: " in page.inner_text("#said")
    assert not page.is_visible("#ballot")
    page.click("#send")
    page.wait_for_selector("#status:has-text('has arrived')")
    assert len(page.evaluate(SECOND_BALLOTS)) == 1
    kept = page.evaluate("Object.entries(localStorage)")
    assert sorted(key.split()[1][:6] for key, _ in kept if "ticket" not in key) == sorted(["allowa", first_of(kept)])


def first_of(kept):
    (name,) = [key.split()[1] for key, _ in kept if re.fullmatch("dprank [0-9a-f]{16} [0-9a-f]{32}", key)]
    return name[:6]


def is_tight(page, address):
    """A browser that has answered other polls of this site for epsilon = 3 has not enough left for epsilon = 6."""
    page.goto(address)
    page.evaluate("localStorage.clear()")
    page.evaluate("""localStorage.setItem("dprank allowance", '{"epsilon": {"0123456789abcdef": "3"}}')""")
    page.reload()
    page.wait_for_selector("#status:has-text('has 5.00 of 8 left')")
    assert page.is_disabled("#send") and "So far it has spent 3.00." in page.inner_text("#spent")


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
