"""The package works without asserts, and without warnings about bytes or open files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def python(*arguments):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error", "-bb", "-X", "dev", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env, cwd=ROOT, timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-O"], ["-OO"]], ids=["plain", "O", "OO"])
def test_the_command_emits_no_warnings(options, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("tea,milk\n" + "1,2\n" * 50)
    arguments = ["-m", "sklearn_dprank", "rank", str(path), "--positions", "--format", "json", "--epsilon"]
    done = python(*options, *arguments, "50")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["consensus"] == ["tea", "milk"]
    refused = python(*options, *arguments, "-1")
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr.startswith("dprank rank: --epsilon must be a positive, finite number")
