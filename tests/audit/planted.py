"""Plant the faults of `planted_faults.py` one at a time, and see that the tests catch each.

    python tests/audit/planted.py [part of a name ...]

Each fault goes into a copy of the package in a temporary folder, where one of the tests that it names must fail. A
test has to fail: a copy that cannot be imported, or that breaks by a wrong name, shows nothing. The copy without a
fault has to pass all of these tests. Exits with 1 where a fault survives.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
ALL = 1800  # and for a worker's share of all tests
_WITHOUT = shutil.ignore_patterns(".pytest_cache", ".hypothesis", ".benchmarks")


def plant(fault, root):
    """Put the fault into a copy of the package at `root`.

    Raises
    ------
    ValueError
        Unless the old text occurs exactly once.
    """
    path = root / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.name}: the old text occurs {text.count(fault.old)} times in {fault.file}, not once.")
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def copied(source, root):
    """Copy what the tests need to an empty folder, compiled files too: their times stay those of their sources."""
    for name in ("sklearn_dprank", "tests", "docs/user_guide", "examples/web_poll"):
        shutil.copytree(source / name, root / name, ignore=_WITHOUT)
    shutil.copy(source / "pyproject.toml", root)


def verdict(root, tests, *options, longest=LONGEST):
    """Run the tests on the copy at `root`: "" if all passed, else what happened to the first that did not."""
    report = root / f"report-{uuid.uuid4().hex}.xml"
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        "-o",
        "addopts=--import-mode=importlib",
        *options,
    )
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a copy compiles once what all others take over
    try:
        ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=longest)
    except subprocess.TimeoutExpired:
        return f"no verdict after {longest} s"
    if ran.returncode == 0:
        return ""
    failed = [case for case in ET.parse(report).iter("testcase") if case.find("failure") is not None]
    if ran.returncode != 1 or not failed:
        return "no test failed, but pytest: " + " ".join(ran.stdout.split())[-300:]
    texts = [case.find("failure").get("message") for case in failed]
    broken = next((text for text in texts if text.startswith(BROKEN)), None)
    if broken:
        return f"broken, not wrong: {broken}"
    return f"caught by {failed[0].get('name')}: {texts[0].splitlines()[0][:80]}"


def tried(fault, clean):
    """Return the verdict on one fault, planted into a copy of the copy at `clean`, and the seconds it took."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copied(clean, Path(folder))
        plant(fault, Path(folder))
        found = verdict(Path(folder), fault.tests, "-x")
    return found or "survived", time.monotonic() - began


def main(words):
    """Try all faults, or those whose names contain one of the words; return the number of survivors."""
    sys.path.insert(0, str(ROOT / "tests"))
    from planted_faults import FAULTS

    faults = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    tests = sorted({test for fault in faults for test in fault.tests})
    wrong, workers = 0, os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="planted-") as folder, ThreadPoolExecutor(workers) as pool:
        clean = Path(folder)
        copied(ROOT, clean)
        parts = [tests[k::workers] for k in range(min(workers, len(tests)))]
        for found in pool.map(partial(verdict, clean, longest=ALL), parts):
            if found:
                wrong += 1
                print(f"WITHOUT A FAULT: {found}", flush=True)
        for fault, (found, seconds) in zip(faults, pool.map(partial(tried, clean=clean), faults), strict=True):
            survives = not found.startswith("caught")
            wrong += survives
            print(f"{'SURVIVES: ' if survives else ''}{fault.name} ({seconds:.0f} s): {found}", flush=True)
    print(f"{len(faults)} faults planted, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
