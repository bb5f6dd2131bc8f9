"""The example of devices in other processes, small: what comes out, and what passes between the parties."""

import json
import re
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest
from local_tools import apart

from sklearn_dprank import ShufflePairwise

SCRIPT = Path(__file__).parents[2] / "examples" / "run_clients.py"


def check(printed, n_voters, epsilon):
    protocol = json.loads(re.search(r"^Protocol: (.*)$", printed, flags=re.MULTILINE)[1])
    assert protocol["min_reports"] == round(0.95 * n_voters)
    order = re.search(r"^Consensus: (.*)$", printed, flags=re.MULTILINE)[1].split(" > ")
    assert f"epsilon = {epsilon:g}, delta = 1e-06 (shuffle, replace; read its caveats)" in printed
    assert "without the shuffler, local epsilon = " in printed
    refused = re.search(r"^Left out:  (.*)$", printed, flags=re.MULTILINE)[1]
    assert literal_eval(refused) == {"another protocol": 1, "not JSON": 1, "received before": 1}
    return order


def test_lines_hold_messages_only(example, tmp_path):
    example = example("run_clients")
    curator = ShufflePairwise(epsilon=1.0, min_reports=20)
    protocol = json.dumps(curator.protocol(3))
    outboxes = [tmp_path / "a", tmp_path / "b"]
    for outbox in outboxes:
        example.run_devices(protocol, [[0, 1, 2]] * 30, outbox)
    assert example.shuffle(protocol, outboxes, tmp_path / "mixed") == {}
    sent = [json.loads(line) for outbox in outboxes for line in outbox.read_text().splitlines()]
    sent = [json.dumps(message) for submission in sent for message in apart(submission)]
    mixed = (tmp_path / "mixed").read_text().splitlines()
    assert sorted(mixed) == sorted(sent) and mixed != sent
    assert all(set(json.loads(line)) == {"protocol", "shuffle", "pair", "answer"} for line in mixed)
    with open(tmp_path / "mixed") as lines:
        assert curator.fit_reports(lines, items=3).privacy_.certified


@pytest.mark.slow
def test_other_processes(tmp_path):
    command = [sys.executable, str(SCRIPT), "--voters", "2000", "--processes", "2"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True)
    assert printed.stderr == "" and list(tmp_path.iterdir()) == []
    assert check(printed.stdout, 2000, 1)[0] in ("ramen", "pho", "mole")
