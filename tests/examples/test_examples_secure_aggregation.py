"""The example of secure aggregation: messages between the parties and results with dropouts."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_dprank import SecAggSwissBorda
from sklearn_dprank.collection import Device
from sklearn_dprank.collection.protocol import digest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "run_secure_aggregation.py"


def test_devices_are_kept_before_their_messages_leave(example, tmp_path):
    """What is on disk after a round has the answers; a device that was away has none, and an answer comes again."""
    example = example("run_secure_aggregation")
    protocol = SecAggSwissBorda(epsilon=1.0, min_reports=3).protocol(3)
    home, outboxes = tmp_path / "devices", [tmp_path / "a", tmp_path / "b"]
    made = [{"device": Device(protocol).to_json(), "ballot": [0, 1, 2]} for _ in range(4)]
    home.write_text("".join(json.dumps(voter) + "\n" for voter in made))
    question = {"protocol": digest(protocol), "question": 1, "groups": [[0, 1, 2]]}
    example.run_round(question, home, [False, True, False, False], outboxes)
    sent = [outbox.read_text() for outbox in outboxes]
    assert [len(text.splitlines()) for text in sent] == [3, 3]
    kept = [json.loads(json.loads(line)["device"])["said"] for line in home.read_text().splitlines()]
    assert [len(said) for said in kept] == [1, 0, 1, 1]
    example.run_round(question, home, [False, True, False, False], outboxes)
    assert [outbox.read_text() for outbox in outboxes] == sent


@pytest.mark.slow
def test_other_processes(tmp_path, example):
    command = [sys.executable, str(SCRIPT), "--voters", "400", "--processes", "2", "--epsilon", "2"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True, env=env)
    printed = done.stdout
    assert done.stderr == "" and list(tmp_path.iterdir()) == []
    protocol = json.loads(re.search(r"^Protocol: (.*)$", printed, flags=re.MULTILINE)[1])
    assert protocol["min_reports"] == 360
    assert "400, of whom 384 and 372 reached the two servers" in printed and "372 voters" in printed
    assert "epsilon = 2, delta = 1e-06 (secure_aggregation, replace; read its caveats)" in printed
    assert "one of the 2 servers, 360 of the voters" in printed
    order = re.search(r"^Consensus: (.*)$", printed, flags=re.MULTILINE)[1].split(" > ")
    away = [abs(order.index(dish) - place) for place, dish in enumerate(example("run_secure_aggregation").ORDER)]
    assert sorted(order) == sorted(example("run_secure_aggregation").DISHES) and np.mean(away) < 1
