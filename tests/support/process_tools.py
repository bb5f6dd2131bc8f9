"""Running code in a forked process or in a new interpreter, which may be killed."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
forking = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # other threads live: those of BLAS
]

KILLED = -signal.SIGKILL if hasattr(signal, "SIGKILL") else None  # return code of a killed process
needs_kill = pytest.mark.skipif(KILLED is None, reason="no SIGKILL here")
START = """
import os, signal, sqlite3, sys
from functools import partial
from pathlib import Path
path, after = Path(sys.argv[1]), sys.argv[2]
def ready():
    print("ready", flush=True)
    sys.stdin.readline()
class Killing(sqlite3.Connection):
    def execute(self, command, *args):
        done = super().execute(command, *args)
        if command.startswith(after):
            os.kill(os.getpid(), signal.SIGKILL)
        return done
killing = partial(sqlite3.connect, factory=Killing)
"""


def process(path, code, after=""):
    """Start a new interpreter that runs code with this path, as `path`.

    After ``sqlite3.connect = killing``, it kills itself once an SQL command was run that begins with `after`.
    """
    command = [sys.executable, "-c", START + textwrap.dedent(code), str(path), after]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)


def finished(started):
    """Return the lines that a process printed and its return code."""
    lines = started.communicate(timeout=600)[0].splitlines()
    return [line for line in lines if line != "ready"], started.returncode


def both_at_once(path, code):
    """Return how two processes finished that ran the same code at once, from its call of ``ready()`` on."""
    both = [process(path, code), process(path, code)]
    assert [started.stdout.readline() for started in both] == ["ready\n"] * 2
    for started in both:
        started.stdin.write("go\n")
        started.stdin.flush()
    return [finished(started) for started in both]


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
