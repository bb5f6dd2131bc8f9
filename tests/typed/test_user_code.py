"""``py.typed`` is a promise: what a type checker tells a user is there, and true."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_dprank

HERE = Path(__file__).parent
ROOT = str(Path(sklearn_dprank.__file__).parents[1])


@pytest.mark.slow
def test_strict_mypy_on_user_code(tmp_path):
    pytest.importorskip("mypy")
    # From elsewhere and without our settings: the package is found as an installed one.
    options = ["--strict", "--config-file=", f"--cache-dir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(HERE / "user_code.py")],
        cwd=tmp_path,
        env={"PYTHONPATH": ROOT, "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
