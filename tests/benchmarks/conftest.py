"""Hold the ratios of the benchmarks to their history in `ratios.jsonl`.

A ratio is an `extra_info` of a benchmark by the name of `times_faster...` (larger is better) or another `times_...`
(smaller is better). With ``--record`` it is added to the history: one line a measurement, the newest last.
"""

import json
from datetime import date
from pathlib import Path

import pytest

import sklearn_dprank

HISTORY = Path(__file__).with_name("ratios.jsonl")
LAST = 3  # records, the worst of which counts: a busy machine may slow down the twin and so improve a ratio
WORSE = 3  # times that record: other machines make less of a difference, a lost shortcut makes more


def pytest_addoption(parser):
    parser.addoption("--record", action="store_true", help="add the ratios of the benchmarks to their history")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """After a benchmark that kept its own limits, hold its ratios to their history or add them to it."""
    returned = yield
    benchmark = item.funcargs.get("benchmark")
    for what, ratio in benchmark.extra_info.items() if benchmark else ():
        if what.startswith("times_"):
            name = f"{item.path.name}::{item.name} {what}"
            record(name, ratio) if item.config.getoption("--record") else hold(name, ratio)
    return returned


def record(name, ratio):
    """Add one measurement to the history."""
    line = {"date": str(date.today()), "version": sklearn_dprank.__version__, "ratio": ratio, "name": name}
    with HISTORY.open("a", encoding="utf-8") as history:
        history.write(json.dumps(line) + "\n")


def hold(name, ratio):
    """Fail where the ratio is much worse than its last records, or has none."""
    lines = map(json.loads, HISTORY.read_text(encoding="utf-8").splitlines())
    records = [line["ratio"] for line in lines if line["name"] == name][-LAST:]
    if not records:
        pytest.fail(f"{name}: no record in {HISTORY.name}, `nox -s bench -- --record` makes one", pytrace=False)
    worse = min(records) / ratio if " times_faster" in name else ratio / max(records)
    if worse > WORSE:
        pytest.fail(f"{name}: {ratio} is {worse:.1f} times worse than the last records {records}", pytrace=False)
