"""Plant the faults of `planted_faults.toml` one at a time, and see that a test catches each.

    python tests/audit/planted.py [part of a name ...]

Each fault is planted in a fork of this process, which has imported everything but the package. There one of the fast
tests that the fault names must fail. A fork whose test starts a process ends, because that process would not have the
fault. Its fault, those that survive and those that are not Python are planted into a copy in a temporary folder. A test
has to fail: a package that cannot be imported, or that breaks by a wrong name, shows nothing. Without a fault all of
these tests have to pass. Exits with 1 where a fault survives.
"""

import ast
import gc
import importlib.util
import multiprocessing
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import uuid
import xml.etree.ElementTree as ET
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from multiprocessing.connection import wait
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "sklearn_dprank"
RECORDS = ROOT / "tests" / "planted_faults.toml"
BROKEN = (
    "ImportError",
    "ModuleNotFoundError",
    "SyntaxError",
    "IndentationError",
    "NameError",
    "UnboundLocalError",
    "RecursionError",
)
LONGEST = 300  # seconds for the tests of one fault
ELSEWHERE = 99  # of a fork whose test starts a process, which would not have the fault
OPTIONS = ("-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib")
_WITHOUT = shutil.ignore_patterns(".pytest_cache", ".hypothesis", ".benchmarks", "__pycache__")


class Fault(NamedTuple):
    """One replacement in one function of the package.

    Attributes
    ----------
    name : str
        What is wrong, in a few words.
    where : str
        The function, class or module, by its dotted name or the end of it that no other has, or a path from the root
        for JavaScript and for what is not in the package.
    old, new : str
        The piece of source that occurs exactly once there, and what takes its place. How it is wrapped does not matter.
    tests : list of str
        Names of fast test functions of which one must fail, with ``file.py::`` where several have that name.
    """

    name: str
    where: str
    old: str
    new: str
    tests: list[str]


@cache
def faults():
    """Return all faults, in the order of the file."""
    with RECORDS.open("rb") as file:
        return [Fault(**record) for record in tomllib.load(file)["fault"]]


class Place(NamedTuple):
    """Lines of a file, the first one counted as 1."""

    file: Path
    first: int
    last: int


def defined(node, name):
    """Yield (dotted name, first line, last line) of all functions and classes in a syntax tree."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}"
            yield inner, min([child.lineno, *(each.lineno for each in child.decorator_list)]), child.end_lineno
            yield from defined(child, inner)
        else:
            yield from defined(child, name)


@cache
def places():
    """Return {dotted name: its places} of all modules, classes and functions of the package."""
    found = defaultdict(list)
    package = importlib.util.find_spec(PACKAGE)
    modules = [each.name for each in pkgutil.walk_packages(package.submodule_search_locations, f"{PACKAGE}.")]
    for module in [PACKAGE, *modules]:
        file = Path(importlib.util.find_spec(module).origin)
        text = file.read_text(encoding="utf-8")
        found[module].append(Place(file, 1, text.count("\n") + 1))
        for name, first, last in defined(ast.parse(text), module):
            found[name].append(Place(file, first, last))
    return dict(found)


@cache
def nodes():
    """Return the node ids of all test functions."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [
        file.relative_to(ROOT).as_posix() + name.replace(".", "::")
        for file in files
        for name, *_ in defined(ast.parse(file.read_text(encoding="utf-8")), "")
        if name.rpartition(".")[2].startswith("test_")
    ]


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


def spots(where):
    """Return the one dotted name that is `where` or ends with it, and its places.

    Raises
    ------
    ValueError
        Unless there is exactly one.
    """
    if "/" in where:
        return where, [Place(ROOT / where, 1, sys.maxsize)]
    found = [name for name in places() if f".{name}".endswith(f".{where}")]
    if len(found) != 1:
        raise ValueError(f"{len(found)} functions are called {where}, not one: {', '.join(found) or 'none'}.")
    return found[0], places()[found[0]]


def pattern(source):
    """Return a pattern of a piece of source, however it is wrapped: white space and last commas do not count."""
    pieces, before = [], ""
    for word in re.findall(r"\w+|[^\w\s]", source):
        gap = r"\s+" if re.match(r"\w\w", before[-1:] + word) else r",?\s*" if word in ")]}" else r"\s*"
        pieces += [gap, re.escape(word)]
        before = word
    return re.compile("".join(pieces[1:]))


def planted(fault):
    """Return the file of a fault and its text with the fault.

    Raises
    ------
    ValueError
        Unless the old piece of source occurs exactly once where the fault says.
    """
    try:
        name, here = spots(fault.where)
    except ValueError as error:
        raise ValueError(f"{fault.name}: {error}") from None
    found = []
    for file, first, last in here:
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        before, inside, after = ("".join(part) for part in (lines[: first - 1], lines[first - 1 : last], lines[last:]))
        found += [
            (file, before + inside[: match.start()] + fault.new + inside[match.end() :] + after)
            for match in pattern(fault.old).finditer(inside)
        ]
    if len(found) != 1:
        at = ", ".join(f"{file.relative_to(ROOT)}:{first}" for file, first, _ in here)
        raise ValueError(f"{fault.name}: what it replaces occurs {len(found)} times, not once. Look at {name} ({at}).")
    return found[0]


def said(code, report):
    """Return what happened to the first test that failed, as pytest's exit code and its report say; "" if none did."""
    if code == 0:
        return ""
    failed = []
    if code == 1 and report.exists():
        failed = [case for case in ET.parse(report).iter("testcase") if case.find("failure") is not None]
    if not failed:
        return f"no test failed, but pytest ended with {code}"
    text = failed[0].find("failure").get("message")
    if text.startswith(BROKEN):
        return f"broken, not wrong: {text}"
    return f"caught by {failed[0].get('name')}: {text.splitlines()[0][:80]}"


def warm():
    """Import what the package and its tests import, and then forget the package: forks import it anew, with a fault."""
    for name in places():
        with suppress(ImportError):
            if importlib.util.find_spec(name) and not name.endswith("__main__"):
                importlib.import_module(name)
    for name in ("hypothesis", "pandas", "pytest", "sklearn.utils.estimator_checks"):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    gc.freeze()  # forks need not look at all this again


def forked(file, text, tests, report):
    """Run tests in this process, a fork, with a text in place of that of a file, and exit as pytest does."""
    import pytest

    read = SourceFileLoader.get_code

    def get_code(self, name):
        return compile(text, self.path, "exec", dont_inherit=True) if self.path == str(file) else read(self, name)

    os.setsid()
    sys.addaudithook(lambda event, _: event == "subprocess.Popen" and os._exit(ELSEWHERE))
    SourceFileLoader.get_code = get_code
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # no test that catches a fault needs one
    sys.exit(int(pytest.main([*OPTIONS, f"--junitxml={report}", *tests])))


def in_forks(faults, folder):
    """Plant each fault in a fork, as many at a time as there are processors; yield (fault, verdict, seconds)."""
    context, waiting, running = multiprocessing.get_context("fork"), list(reversed(faults)), {}
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            fault, report = waiting.pop(), folder / f"{uuid.uuid4().hex}.xml"
            process = context.Process(target=forked, args=(*planted(fault), [*map(node, fault.tests)], report))
            process.start()
            running[process.sentinel] = fault, process, report, time.monotonic()
        ready = wait(running, timeout=1)
        for sentinel, (fault, process, report, began) in list(running.items()):
            seconds = time.monotonic() - began
            if sentinel not in ready and seconds < LONGEST:
                continue
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what its tests have left behind
            process.kill()
            process.join()
            del running[sentinel]
            yield fault, said(process.exitcode, report), seconds


def copied(root):
    """Copy what the tests need to an empty folder."""
    for name in (PACKAGE, "tests", "docs/user_guide", "examples/web_poll"):
        shutil.copytree(ROOT / name, root / name, ignore=_WITHOUT)
    shutil.copy(ROOT / "pyproject.toml", root)


def verdict(root, tests):
    """Run tests on the copy at `root`, in a process of their own, and return what `said` says."""
    report = root / "report.xml"
    command = [sys.executable, "-m", "pytest", *OPTIONS, f"--junitxml={report}", *tests]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    try:
        ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return f"no verdict after {LONGEST} s"
    return said(ran.returncode, report)


def in_copy(fault):
    """Plant a fault into a copy; return (fault, verdict, seconds)."""
    began = time.monotonic()
    file, text = planted(fault)
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        root = Path(folder)
        copied(root)
        (root / file.relative_to(ROOT)).write_text(text, encoding="utf-8")
        found = verdict(root, [node(test) for test in fault.tests])
    return fault, found, time.monotonic() - began


def tried(faults):
    """Yield (fault, verdict, seconds) of each fault, from a fork or else from a copy."""
    python = [fault for fault in faults if "/" not in fault.where]
    copies = [fault for fault in faults if "/" in fault.where]
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        for fault, found, seconds in in_forks(python, Path(folder)):
            if found.startswith("caught"):
                yield fault, found, seconds
            else:
                copies.append(fault)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(in_copy, copies)


def main(words):
    """Try all faults, or those whose names contain one of the words; return the number of survivors."""
    # Before anything imports NumPy, because threads do not survive a fork.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    chosen = [fault for fault in faults() if not words or any(word in fault.name for word in words)]
    tests = sorted({node(test) for fault in chosen for test in fault.tests})
    warm()
    wrong = 0
    clean = subprocess.run([sys.executable, "-m", "pytest", "-n", "auto", *OPTIONS, *tests], cwd=ROOT)
    if clean.returncode:
        wrong += 1
        print("WITHOUT A FAULT a test fails", flush=True)
    for fault, found, seconds in tried(chosen):
        survives = "" if found.startswith("caught") else "SURVIVES: "
        wrong += bool(survives)
        print(f"{survives}{fault.name} ({seconds:.1f} s): {found or 'no test failed'}", flush=True)
    print(f"{len(chosen)} faults planted, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
