"""Plant the faults of `faults.py` one at a time, and check that a test catches each.

    python tests/audit/planted.py [part of a name ...]

Each fault is planted in a fork of this process, which has imported the package. There, one of the fast tests that the
fault names must fail. A test that ends because the fault itself is broken is not a proof. Without a fault, all these
tests must pass. Exits with 1 if a fault survives.
"""

import ast
import gc
import importlib
import multiprocessing
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from contextlib import suppress
from functools import cache, partial
from multiprocessing.connection import wait
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "sklearn_dprank"
BROKEN = ("ImportError", "ModuleNotFoundError", "SyntaxError", "NameError", "UnboundLocalError", "RecursionError")
LONGEST = 300  # seconds for the tests of one fault
OPTIONS = ("-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib")


@cache
def nodes():
    """Return the node ids of all test functions."""

    def inner(node, before):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                yield from inner(child, f"{before}::{child.name}")
            elif isinstance(child, ast.FunctionDef) and child.name.startswith("test_"):
                yield f"{before}::{child.name}"

    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [name for file in files for name in inner(ast.parse(file.read_text("utf-8")), str(file.relative_to(ROOT)))]


def node(test):
    """Return the node id of a test function from its name, or from ``file.py::`` and its name; parameters stay.

    Raises
    ------
    ValueError
        Unless exactly one test function has that name.
    """
    name, bracket, parameters = test.partition("[")
    found = [each for each in nodes() if each.endswith((f"/{name}", f"::{name}"))]
    if len(found) != 1:
        raise ValueError(f"{len(found)} test functions are called {name}, not one: {', '.join(found) or 'none'}.")
    return found[0] + bracket + parameters


def owner_of(where):
    """Return the module or class that `where` names within the package, and the name of its attribute."""
    *path, name = where.split(".")
    owner = importlib.import_module(PACKAGE)
    for part in path:
        try:
            owner = importlib.import_module(f"{owner.__name__}.{part}")
        except ImportError:
            owner = getattr(owner, part)
    if not hasattr(owner, name):
        raise ValueError(f"{PACKAGE}.{where} does not exist.")
    return owner, name


def plant(fault):
    """Replace a function, method, property or constant of the package everywhere in this process."""
    owner, name = owner_of(fault.where)
    true = vars(owner).get(name, getattr(owner, name))
    if isinstance(owner, type):
        wrapper = type(true) if isinstance(true, classmethod | staticmethod) else None
        if wrapper:
            setattr(owner, name, wrapper(fault.wrong(true.__func__)))
        elif isinstance(true, property):
            setattr(owner, name, property(fault.wrong(true.fget)))
        elif hasattr(true, "func"):  # a cached property
            setattr(owner, name, property(fault.wrong(true.func)))
        else:
            setattr(owner, name, fault.wrong(true))
        return
    wrong = fault.wrong(true)
    for module in [module for key, module in sys.modules.items() if key.partition(".")[0] == PACKAGE]:
        for key, value in list(vars(module).items()):
            if value is true:
                setattr(module, key, wrong)


def verdict(code, report):
    """Return how the tests of a fault ended: "caught by ..." if one failed because of it, else what happened."""
    if code == 0:
        return "no test failed"
    failed = []
    if code == 1 and report.exists():
        failed = [case for case in ET.parse(report).iter("testcase") if case.find("failure") is not None]
    if not failed:
        return f"no test failed, but pytest ended with {code}"
    failure = failed[0].find("failure")
    text = failure.get("message")
    if text.startswith(BROKEN) or "/faults.py:" in (failure.text or "").rstrip().rpartition("\n")[2]:
        return f"the fault is broken: {text}"
    return f"caught by {failed[0].get('name')}: {text.splitlines()[0][:80]}"


def forked(change, options):
    """Make a change to this process, a fork, run tests with these options of pytest, and exit as pytest does."""
    import pytest

    os.setsid()
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the tests that catch faults need no plugin
    change()
    sys.exit(int(pytest.main([*OPTIONS, *options])))


def in_forks(tasks, longest):
    """Run each (task, change, options) in a fork, as many as there are processors; yield (task, exit code, seconds)."""
    context, tasks, running = multiprocessing.get_context("fork"), list(reversed(tasks)), {}
    while tasks or running:
        while tasks and len(running) < (os.cpu_count() or 1):
            task, change, options = tasks.pop()
            process = context.Process(target=forked, args=(change, options))
            process.start()
            running[process.sentinel] = task, process, time.monotonic()
        ready = wait(running, timeout=1)
        for sentinel, (task, process, began) in list(running.items()):
            seconds = time.monotonic() - began
            if sentinel not in ready and seconds < longest:
                continue
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what its tests have left behind
            process.kill()
            process.join()
            del running[sentinel]
            yield task, process.exitcode, seconds


def tried(faults):
    """Yield (fault, verdict, seconds) of each fault."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        reports = {fault: Path(folder, f"{number}.xml") for number, fault in enumerate(faults)}
        tasks = [
            (fault, partial(plant, fault), [f"--junitxml={report}", *map(node, fault.tests)])
            for fault, report in reports.items()
        ]
        for fault, code, seconds in in_forks(tasks, LONGEST):
            yield fault, verdict(code, reports[fault]), seconds


def main(words):
    """Try all faults, or those whose names contain one of the words; return the number of survivors."""
    # Before anything imports NumPy, because threads do not survive a fork.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    package = importlib.import_module(PACKAGE)
    modules = [each.name for each in pkgutil.walk_packages(package.__path__, f"{PACKAGE}.")]
    for name in (*modules, "hypothesis", "pandas", "pytest", "sklearn.utils.estimator_checks"):
        if not name.endswith("__main__"):
            importlib.import_module(name)
    chosen = [
        fault
        for fault in importlib.import_module("faults").FAULTS
        if not words or any(word in fault.name for word in words)
    ]
    tests = sorted({node(test) for fault in chosen for test in fault.tests})
    gc.freeze()  # forks need not look at all this again
    wrong = 0
    if subprocess.run([sys.executable, "-m", "pytest", "-n", "auto", *OPTIONS, *tests], cwd=ROOT).returncode:
        wrong += 1
        print("WITHOUT A FAULT a test fails", flush=True)
    for fault, found, seconds in tried(chosen):
        survives = "" if found.startswith("caught") else "SURVIVES: "
        wrong += bool(survives)
        print(f"{survives}{fault.name} ({seconds:.1f} s): {found}", flush=True)
    print(f"{len(chosen)} faults planted, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
