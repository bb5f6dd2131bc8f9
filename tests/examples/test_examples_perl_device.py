"""The device in Perl: its reports, what it refuses and what it keeps."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import wire_vectors

from sklearn_dprank import LDPPairwise

SCRIPT = Path(__file__).parents[2] / "examples" / "perl_device.pl"
KNOWN = {"rr", "laplace", "gaussian", "hypercube"}
NAMES = ["tea", "café", "水"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def perl():
    """What runs the device, and returns its status, output and errors."""
    command = shutil.which("perl")
    if command is None or subprocess.run([command, "-MJSON::PP", "-e1"], capture_output=True).returncode:
        pytest.skip("perl or its module JSON::PP is not installed")

    def run(*arguments, said=""):
        command_line = [command, SCRIPT, *arguments]
        done = subprocess.run(command_line, input=said, capture_output=True, text=True, encoding="utf-8", timeout=600)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def reported(perl, tmp_path):
    """What asks the device with a budget of 3 for a report."""

    def run(protocol, ballot):
        asked = json.dumps({"protocol": protocol, "ballot": ballot})
        return perl("report", tmp_path / "state", "3", said=asked)

    return run


def known(vectors):
    return [vector for vector in vectors if vector["protocol"]["randomizer"] in KNOWN]


def test_it_reports_and_refuses_as_the_vectors_do(perl):
    vectors = wire_vectors.load()
    counts = [len(known(vectors[name])) for name in ("reports", "refused_protocols")]
    said = "{} reports are as in the vectors, {} protocols are refused\n".format(*counts)
    assert counts == [29, 34]
    assert perl("vectors", wire_vectors.FILE) == (0, said, "")


@pytest.mark.parametrize("kind", ["rr", "hypercube"])
def test_it_notices_another_report(perl, tmp_path, kind):
    vectors = wire_vectors.load()
    vectors["reports"] = [vector for vector in vectors["reports"] if vector["protocol"]["randomizer"] == kind][:1]
    vectors["refused_protocols"] = []
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(vectors))
    assert perl("vectors", file)[0] == 0
    (name,) = {"answers", "signs"} & set(vectors["reports"][0]["report"])
    vectors["reports"][0]["report"][name] = vectors["reports"][0]["report"][name][::-1]
    file.write_text(json.dumps(vectors))
    assert perl("vectors", file) == (255, "", f"{kind}, a ranking: another report\n")


@pytest.mark.parametrize("randomizer", ["rr", "djw"])
def test_a_curator_accepts_its_report(reported, randomizer):
    estimator = LDPPairwise(epsilon=2.0, randomizer=randomizer)
    status, report, errors = reported(estimator.protocol(NAMES), [0, 1.5, None])
    assert (status, errors) == (0, "")
    assert estimator.fit_reports([report], items=NAMES).reports_accepted_ == 1


def test_it_draws_one_report_of_a_protocol(reported):
    """Also if several processes ask at once. Other draws give the same signs with a probability below 2^-40."""
    items = [f"item {k}" for k in range(12)]
    protocol = LDPPairwise(epsilon=0.1, randomizer="djw").protocol(items)
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda k: reported(protocol, [*range(k, 12), *range(k)]), range(4)))
    assert {status for status, _, _ in told} == {0} and len({report for _, report, _ in told}) == 1


def test_all_protocols_spend_one_budget(reported, tmp_path):
    first, second, third = (LDPPairwise(epsilon=epsilon).protocol(NAMES) for epsilon in (2.0, 1.01, 0.99))
    assert reported(first, [0, 1, 2])[0] == 0
    kept = (tmp_path / "state").read_bytes()
    refused = (255, "", "this device refuses the input: the budget is spent.\n")
    assert reported(second, [0, 1, 2]) == refused and (tmp_path / "state").read_bytes() == kept
    assert reported(third, [0, 1, 2])[0] == 0
    assert len((tmp_path / "state").read_text().splitlines()) == 2


def test_a_damaged_state_is_not_an_empty_one(reported, tmp_path):
    assert reported(LDPPairwise(epsilon=2.0).protocol(NAMES), [0, 1, 2])[0] == 0
    state = tmp_path / "state"
    state.write_bytes(state.read_bytes()[:-9])
    status, report, errors = reported(LDPPairwise(epsilon=1.0).protocol(NAMES), [0, 1, 2])
    assert (status, report) == (255, "") and errors == f"{state} is not JSON.\n"


def test_a_wrong_ballot_is_refused_and_not_printed(reported, tmp_path):
    refused = (255, "", "this device refuses the input: ballot.\n")
    for ballot in ([0, 1], [0, 1, 2, 3], [0, 1, "secret"], [0, 1, True], [0, 1, []], {}, None, "012"):
        assert reported(LDPPairwise(epsilon=2.0).protocol(NAMES), ballot) == refused
    assert not (tmp_path / "state").exists()


def test_input_that_is_not_json_is_not_printed(perl, tmp_path):
    assert perl("report", tmp_path / "state", "3", said='{"ballot": [secret') == (255, "", "INPUT is not JSON.\n")
