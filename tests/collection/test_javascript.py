"""The JavaScript client: its reports, what it refuses, what it stores, and the poll of its page in the user guide."""

import itertools
import json
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import wire_vectors

from sklearn_dprank import LDPPairwise, ShufflePairwise
from sklearn_dprank.collection.pairs import PairsRandomizer
from sklearn_dprank.collection.protocol import FLIP_GRID, RefusedProtocol, digest
from sklearn_dprank.collection.randomizers import checked

CLIENT = files("sklearn_dprank.collection") / "device.js"
POLL = Path(__file__).parents[2] / "examples" / "small_poll"
NAMES = ["tea", "coffee", "water", "juice"]
CHECK_VECTORS = """
import { readFileSync } from "node:fs";
import { checkProtocol, draw, readProtocol } from "./device.mjs";
const vectors = JSON.parse(readFileSync(process.argv[2]));
const KNOWN = ["rr", "laplace", "gaussian", "rr-assigned", "rr-shown", "rr-shuffled"];
const known = (one) => KNOWN.includes(one.protocol.randomizer);
class Listed {
  constructor(words) { this.left = words.map((word) => BigInt(`0x${word}`)); }
  take(n) { return this.left.splice(0, n); }
}
const reports = [];
for (const one of vectors.reports.filter(known)) {
  checkProtocol(one.protocol);
  const streams = Object.fromEntries(Object.entries(one.words).map(([name, words]) => [name, new Listed(words)]));
  const report = await draw(one.protocol, one.ballot, streams, one.pairs ?? null, one.voter ?? null);
  const unused = Object.values(streams).reduce((sum, stream) => sum + stream.left.length, 0);
  reports.push({ name: one.name, report, unused });
}
const texts = [...vectors.refused_protocols.map((one) => JSON.stringify(one.protocol))];
texts.push(...vectors.refused_texts.map((one) => one.text), ...JSON.parse(process.argv[3]));
const follows = (limit) => (text) => {
  try {
    checkProtocol(readProtocol(text), limit);
    return true;
  } catch (error) {
    if (error.name !== "Refused") throw error;
    return false;
  }
};
const atLimits = vectors.accepted_protocols.filter(known);
const refused = atLimits.filter((one) => !follows(null)(JSON.stringify(one.protocol)));
console.log(JSON.stringify({ reports, followed: texts.filter(follows(5)), atLimits: atLimits.length, refused }));
"""


# A device in node: `store` keeps one record, as a browser's database does; `step` is an action on it.
DEVICE_STEPS = """
import { Allowance, Device, SecureWords } from "./device.mjs";
class Store {
  constructor(record) { this.record = record ?? undefined; this.full = false; this.written = 0; }
  async update(name, change) {
    const made = change(this.record === undefined ? undefined : structuredClone(this.record));
    if (made === undefined) return made;
    if (this.full && JSON.stringify(made) !== JSON.stringify(this.record)) throw new Error("the store is full");
    this.record = made;
    return made;
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
async function taken(store, { protocol, poll = "0".repeat(32), ballot, voter, full = false, seeded, twice }) {
  store.full = full;
  try {
    const words = seeded ? new Seeded() : new SecureWords();
    const allowance = new Allowance("8", store);
    const device = new Device(protocol, { poll, voter, allowance, words });
    const reports = await Promise.all(twice ? [device.report(ballot), device.report(ballot)] : [device.report(ballot)]);
    return { reports, ticket: await device.ticket(), spent: await allowance.spent() };
  } catch (error) {
    return { error: error.message };
  }
}
const ended = [];
for (const { stored, steps } of JSON.parse(process.argv[2])) {
  const [store, told] = [new Store(stored), []];
  for (const step of steps) told.push(await taken(store, step));
  ended.push([told, store.record ?? null]);
}
console.log(JSON.stringify(ended));
"""


@pytest.fixture(scope="module")
def run_node(tmp_path_factory):
    """What runs a module beside the device, and returns what it prints."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, and so nothing runs JavaScript without a browser")
    folder = tmp_path_factory.mktemp("device")
    shutil.copy(CLIENT, folder / "device.mjs")

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
    said = run_node(CHECK_VECTORS, wire_vectors.FILE, json.dumps([*texts, good]))
    return said, good, wire_vectors.load()


def test_javascript_reports_match_the_vectors(javascript):
    said, _, vectors = javascript
    expected = {one["name"]: one for one in vectors["reports"]}
    kinds = Counter(expected[one["name"]]["protocol"]["randomizer"] for one in said["reports"])
    assert kinds == {"rr": 5, "laplace": 5, "gaussian": 5, "rr-assigned": 8, "rr-shown": 5, "rr-shuffled": 13}
    for one in said["reports"]:
        assert one["report"] == expected[one["name"]]["report"] and one["unused"] == 0


def test_it_follows_a_good_protocol_and_no_other(javascript):
    said, good, _ = javascript
    assert said["followed"] == [good]
    assert said["atLimits"] == 9 and said["refused"] == []


def test_it_refuses_the_ballots_of_the_vectors(in_node):
    vectors = wire_vectors.load()["refused_ballots"]
    told, stored = in_node(*vectors)
    assert len(told) == 22 and all("a ballot must" in one["error"] for one in told) and stored is None


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
        (ended,) = run_node(DEVICE_STEPS, json.dumps([{"stored": stored, "steps": steps}]))
        return ended

    return run


def test_the_store_tells_no_more_of_a_ballot_than_the_report(run_node):
    """Under the same random words, ballots with the same report leave the same store; 24 orders give two reports."""
    (protocol,) = local_polls([2.0])
    steps = [{"protocol": protocol, "ballot": ballot, "seeded": True} for ballot in BALLOTS]
    ended = run_node(DEVICE_STEPS, json.dumps([{"stored": None, "steps": [step]} for step in steps]))
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
    assert stored["reports"] == {name_of(protocol): {"report": reports[0], "ticket": told[0]["ticket"]}}
    assert re.fullmatch("[0-9a-f]{32}", told[0]["ticket"]) and len({one["ticket"] for one in told}) == 1
    assert told[0]["spent"] == told[-1]["spent"]


def test_a_registered_voter_answers_about_public_pairs(in_node):
    """The curator accepts the report. Without a registered number, the device refuses before a charge."""
    estimator = LDPPairwise(1.0, pairs="assigned", n_voters=50, assignment_seed="5eed" * 8)
    protocol = estimator.protocol(NAMES)
    refused = [{"protocol": protocol, "ballot": [0, 1, 2, 3], "voter": voter} for voter in (50, -1, 0.5, "0", None)]
    told, _ = in_node(*refused, {**refused[0], "voter": 49})
    assert all("registered voters" in one["error"] for one in told[:-1])
    (report,) = told[-1]["reports"]
    fitted = estimator.fit_reports([report, report], items=NAMES)
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (1, {"voter answered before": 1})
    assert report["voter"] == 49 and told[-1]["spent"] == pytest.approx(1.0)


def test_a_person_answers_about_one_shown_pair(in_node):
    """Both curators accept the report. Malformed comparisons cost nothing, and further ones get no second report."""
    own, form = [[0, 1, 1], [3, 2, None]], "a ballot must list comparisons [first, second, outcome]"
    wrong = [
        [],
        [0, 1, 1],
        [[0, 1]],
        [[0, 0, 1]],
        [[0, 4, 1]],
        [[0, 1, 2]],
        [[0, 1, True]],
        [[0, 0.5, 1]],
        [None],
        None,
    ]
    for estimator in (LDPPairwise(epsilon=1.0, pairs="shown"), ShufflePairwise(1.0, pairs="shown", min_reports=1)):
        protocol = estimator.protocol(NAMES)
        ballots = [*wrong, own, [*own, [1, 2, 1]]]
        told, _ = in_node(*[{"protocol": protocol, "ballot": ballot} for ballot in ballots])
        assert all(one["error"].startswith(form) for one in told[: len(wrong)])
        (report,), (again,) = (one["reports"] for one in told[len(wrong) :])
        assert report == again and told[-1]["spent"] == pytest.approx(1.0)
        asked = estimator.fit_reports([report], items=NAMES).noise_.law.asked
        assert asked.sum() == 2 and asked[0, 1] + asked[2, 3] == 1


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
    assert set(stored["epsilon"]) == set(stored["reports"]) == names
    assert len({kept["ticket"] for kept in stored["reports"].values()}) == 1  # of the same random words


def test_a_report_may_need_more_words_than_a_browser_gives_at_once(in_node):
    """A browser gives 8,192 words in one call. Each of the last 808 answers is 1 with a probability near 1/2."""
    items = [f"item {k}" for k in range(150)]
    estimator = LDPPairwise(epsilon=8.0, n_queries=9000)
    told, _ = in_node({"protocol": estimator.protocol(items), "ballot": list(range(150))})
    (report,) = told[0]["reports"]
    assert estimator.fit_reports([report], items=items).reports_accepted_ == 1
    assert set(report["answers"][8192:]) == {0, 1}


def test_all_polls_of_a_site_spend_one_allowance(in_node):
    polls = local_polls([2.0, 3.0, 2.5, 0.7, 0.4])
    told, stored = in_node(*[{"protocol": protocol, "ballot": BALLOTS[0]} for protocol in polls])
    assert [one.get("spent") for one in told] == pytest.approx([2.0, 5.0, 7.5, None, 7.9], abs=1e-11)
    assert "spends epsilon = 0.700. This browser has 0.500 of 8 left" in told[3]["error"]
    prices = stored["epsilon"]
    assert set(prices) == set(stored["reports"])
    assert set(prices) == {name_of(protocol) for k, protocol in enumerate(polls) if k != 3}
    for protocol in polls:
        if name_of(protocol) in prices:  # rounded up, in the twelfth place
            over = Decimal(prices[name_of(protocol)]) - PairsRandomizer().spent(protocol)
            assert 0 <= over <= Decimal("1e-12")


def test_report_that_cannot_be_stored_is_neither_sent_nor_charged(in_node):
    (protocol,) = local_polls([5.0])
    step = {"protocol": protocol, "ballot": BALLOTS[0]}
    told, stored = in_node({**step, "full": True})
    assert told == [{"error": "the store is full"}] and stored is None
    told, stored = in_node({**step, "full": True}, step)
    assert told[1]["spent"] == pytest.approx(5.0) and len(stored["reports"]) == 1


KEPT = {"report": {}, "ticket": "0" * 32}


@pytest.mark.parametrize(
    "record",
    [
        *(7, "", [], {}, {"epsilon": {}}, {"reports": {}}, {"epsilon": [], "reports": {}}),
        *({"epsilon": {"0": "none"}, "reports": {}}, {"epsilon": {"0": -1}, "reports": {}}),
        *({"epsilon": {}, "reports": {"0": KEPT}}, {"epsilon": {"0": "1"}, "reports": {"0": 7}}),
        {"epsilon": {"0": "1"}, "reports": {"0": {**KEPT, "ticket": "7"}}},
    ],
    ids=json.dumps,
)
def test_a_damaged_record_is_not_an_empty_one(in_node, record):
    (protocol,) = local_polls([1.0])
    told, stored = in_node({"protocol": protocol, "ballot": BALLOTS[0]}, stored=record)
    assert "is damaged" in told[0]["error"] and stored == record


def test_a_ballot_or_an_id_of_another_form_is_refused(in_node):
    """Before anything is spent, and the message does not repeat it."""
    (protocol,) = local_polls([1.0])
    ballots = [[0, 1, 2], [0, 1, 2, 3, 4], "0123", [0, 1, 2, "3"], [0, 1, 2, True], {}, None]
    told, stored = in_node(*[{"protocol": protocol, "ballot": ballot} for ballot in ballots])
    assert told == [{"error": "a ballot must be a list with a number, or null, for each item."}] * 7 and stored is None
    ids = ["", "0" * 31, "0" * 31 + "G", "0" * 33, 7, ["0" * 32], None]
    told, stored = in_node(*[{"protocol": protocol, "poll": poll, "ballot": BALLOTS[0]} for poll in ids])
    assert all("the poll's id must be 32 hexadecimal digits" in one["error"] for one in told) and stored is None


MALFORMED = """
import { checkProtocol, readProtocol } from "./device.mjs";
const good = JSON.parse(process.argv[2]);
const numbers = [-1, 0, 1.5, 2 ** 60, 1e300];
const values = [null, true, ...numbers, "", "x", "rr", [], [[]], [1], {}, { toString: 1 }, ["rr"]];
const changed = Object.keys(good).flatMap((field) => values.map((value) => ({ ...good, [field]: value })));
const wrong = [];
let tried = 0;
const texts = [...values, "[".repeat(1e6), `{"items": ["${"x".repeat(2e7)}"]}`];
for (const [read, protocol] of [...values, ...changed].map((each) => [(value) => value, each])
  .concat(texts.map((each) => [readProtocol, each]))) {
  tried += 1;
  try {
    checkProtocol(read(protocol));
    if (JSON.stringify(protocol) !== JSON.stringify(good)) wrong.push(JSON.stringify(protocol));
  } catch (error) {
    if (error.name !== "Refused") wrong.push(`${error.name}: ${JSON.stringify(protocol).slice(0, 100)}`);
  }
}
console.log(JSON.stringify({ tried, wrong }));
"""


VERDICTS = """
import { readFileSync } from "node:fs";
import { checkProtocol, readProtocol } from "./device.mjs";
const verdict = (text) => {
  try {
    checkProtocol(readProtocol(text));
    return true;
  } catch (error) {
    return error.name === "Refused" ? false : error.name;
  }
};
console.log(JSON.stringify(JSON.parse(readFileSync(process.argv[2])).map(verdict)));
"""


def test_both_devices_bound_their_work_alike(run_node, tmp_path):
    """Just below and above each limit; in 0.3.0, public pairs of 1,000 items took 23 s, and 47 s in a browser."""
    protocols, expected = [], []

    def add(n_items, n_queries, accepted, **fields):
        items = [f"item {k}" for k in range(n_items)]
        flip = [FLIP_GRID // 2, FLIP_GRID]  # reveals nothing, so that any number of pairs costs nothing
        protocol = {"version": 3, "randomizer": "rr", "items": items, "epsilon": "1", "n_queries": n_queries}
        protocols.append({**protocol, "flip": flip, **fields})
        expected.append(accepted)

    assigned = {"randomizer": "rr-assigned", "n_voters": 50, "assignment_seed": "0" * 32}
    hidden = {"randomizer": "rr-shuffled", "pairs": "hidden", "min_reports": 9, "central_epsilon": "1"}
    hidden["central_delta"] = "1e-6"
    for fields in ({}, hidden):
        for n_queries in (65_536, 65_537, 2**27):
            add(400, n_queries, n_queries == 65_536, **fields)
        add(16_500, 1, True, **fields)
        add(16_500, 2, False, **fields)
        add(4, 6, True, **fields)
        add(4, 7, False, **fields)
    add(4, 6, True, **assigned)
    for n_items, most in ((200, 19_416), (400, 45_361)):
        add(n_items, most, True, **assigned)
        add(n_items, most + 1, False, **assigned)
        add(n_items, n_items * (n_items - 1) // 2, False, **assigned)
    (tmp_path / "protocols.json").write_text(json.dumps([json.dumps(protocol) for protocol in protocols]))
    assert run_node(VERDICTS, str(tmp_path / "protocols.json")) == expected
    for protocol, accepted in zip(protocols, expected, strict=True):
        if accepted:
            checked(protocol)
        else:
            with pytest.raises(RefusedProtocol, match="n_queries must be"):
                checked(protocol)


def test_both_devices_accept_the_same_small_numbers(run_node, tmp_path):
    """An item -0 is the item 0. A flip probability of one half has epsilon 0."""
    good = LDPPairwise(epsilon=2.0).protocol([0, 5])
    half = {**good, "flip": [FLIP_GRID // 2, FLIP_GRID]}
    lists = ["[-0, 5]", "[0, -0]", "[-0.0, 5]", "[-0e0, 5]", "[-1, 5]"]
    texts = [json.dumps(good).replace("[0, 5]", items) for items in lists]
    epsilons = ["4e-80", "1e-100", "1e-999", "0.00e-9", "0", "0e5"]
    texts += [json.dumps({**half, "epsilon": epsilon}) for epsilon in epsilons]
    near = {**half, "flip": [FLIP_GRID // 2 - 1, FLIP_GRID]}  # costs about 9e-16
    texts += [json.dumps({**near, "epsilon": epsilon}) for epsilon in ("8e-16", "9e-16", "1e-100")]

    def accepts(text):
        try:
            return checked(json.loads(text)) is not None
        except RefusedProtocol:
            return False

    (tmp_path / "protocols.json").write_text(json.dumps(texts))
    found = run_node(VERDICTS, str(tmp_path / "protocols.json"))
    assert found == [accepts(text) for text in texts]
    assert found == [digit == "1" for digit in "10001" + "111000" + "010"]
    assert run_node(LATER, texts[0].replace("5]", '5, "a", "b"]'))[0] == name_of({**good, "items": [0, 5, "a", "b"]})


def test_poll_of_zero_cost_is_stored(in_node):
    protocol = {**LDPPairwise(epsilon=2.0).protocol(NAMES), "flip": [FLIP_GRID // 2, FLIP_GRID], "epsilon": "1e-100"}
    told, stored = in_node(*[{"protocol": protocol, "ballot": ballot} for ballot in BALLOTS[:2]])
    assert told[0]["reports"] == told[1]["reports"] and stored["epsilon"] == {name_of(protocol): "0.000000000001"}


def test_every_malformed_protocol_is_refused(run_node):
    for estimator in (
        LDPPairwise(epsilon=2.0),
        LDPPairwise(1.0, pairs="assigned", n_voters=50, assignment_seed="5eed" * 8),
        ShufflePairwise(min_reports=50),
        ShufflePairwise(min_reports=50, pairs="shown"),
    ):
        found = run_node(MALFORMED, json.dumps(estimator.protocol(NAMES)))
        assert found["tried"] > 90
        assert [text for text in found["wrong"] if '"n_voters":1' not in text] == []


LATER = """
import { Allowance, Device, readProtocol } from "./device.mjs";
const store = { async update(name, change) { return (this.kept = change(this.kept)); } };
const protocol = readProtocol(process.argv[2]);
const device = new Device(protocol, { poll: "0".repeat(32), allowance: new Allowance("8", store) });
const name = await device.name();
protocol.flip[0] = 1;
protocol.items.push("milk");
protocol.epsilon = "99";
const report = await device.report([0, 1, 2, 3]);
console.log(JSON.stringify([name, await device.name(), report.protocol, device.protocol]));
"""


def test_a_later_change_of_a_protocol_does_not_change_the_device(run_node):
    protocol = LDPPairwise(epsilon=2.0).protocol(NAMES)
    name = name_of(protocol)
    assert run_node(LATER, json.dumps(protocol)) == [name, name, digest(protocol), protocol]


# --- the page of the user guide


@pytest.fixture
def poll(tmp_path):
    """Run the poll of the page at a free port; return its folder and address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    for name in ("poll.html", "poll.py", "voters.mjs"):
        (tmp_path / name).write_text((POLL / name).read_text().replace("8000", port))
    shutil.copy(CLIENT, tmp_path / "device.mjs")
    with (tmp_path / "log").open("w") as log:
        command = [sys.executable, "poll.py"]
        server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert server.stdout.readline().startswith("Serving")
        yield tmp_path, f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.communicate(timeout=600)


def result_of(folder):
    command = [sys.executable, "poll.py", "result"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=600).stdout


def send(address, voter):
    report = LDPPairwise(epsilon=2.0).client(["tea", "coffee", "water"]).report([0, 1, 2])
    body = json.dumps({"voter": voter, "report": report}).encode()
    with urlopen(Request(f"{address}reports", body), timeout=60) as reply:
        assert reply.status == 200


def test_the_poll_of_the_page_reads_past_lines_that_a_power_loss_cut_off(poll):
    folder, address = poll
    for voter, cut in enumerate([b'{"voter": "x", "rep', b"\0" * 9, b'{"voter": "y"']):
        send(address, voter)
        with (folder / "reports.jsonl").open("ab") as file:
            file.write(b"\n" + cut)
    assert "Accepted: 3 Refused: {}" in result_of(folder)
    send(address, 3)
    assert "Accepted: 4 Refused: {}" in result_of(folder)


@pytest.mark.slow
def test_the_poll_of_the_page_with_voters_in_node(poll):
    """The ranking is wrong with a probability below 1e-6: about 67 answers to each pair, and each is true with .88."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed, and so nothing runs JavaScript without a browser")
    folder, _ = poll
    for _ in range(2):  # the second report of a voter is another one, and does not count
        subprocess.run(["node", "voters.mjs"], cwd=folder, check=True, timeout=600)
    assert len((folder / "reports.jsonl").read_text().split("\n")) == 401  # the first one is empty
    assert result_of(folder) == "Ranking: coffee > tea > water\nAccepted: 200 Refused: {}\n"
