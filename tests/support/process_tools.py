"""Running code in a forked process or in a new interpreter, which may be killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
forking = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # other threads live: those of BLAS
]


def in_child(run):
    """What ``run()`` returns in a forked process, through JSON; it must end within seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writer, json.dumps(run()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    alarm = threading.Timer(60, os.kill, (child, 9))  # one that waits for a lock waits for ever
    alarm.start()
    with open(reader, "rb") as pipe:
        said = pipe.read()
    alarm.cancel()
    os.waitpid(child, 0)
    assert said, "the child said nothing"
    return json.loads(said)


def python(code, text="", ends_with=0):
    """What code prints in a new interpreter that reads this text; it must end with this return code."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, env=env, timeout=600, cwd=ROOT
    )
    assert done.returncode == ends_with, done.stderr
    return done.stdout


def killed(kind, made_of, calls):
    """Make a server or shuffler in a process of its own, call its methods [name, arguments], and kill the process."""
    code = (
        "import json, os, signal, sys\n"
        "from sklearn_dprank import collection\n"
        "kind, made_of, calls = json.loads(sys.stdin.read())\n"
        "made = getattr(collection, kind)(**made_of)\n"
        "for name, arguments in calls: getattr(made, name)(*arguments)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    python(code, json.dumps([kind, made_of, calls]), ends_with=-signal.SIGKILL)
