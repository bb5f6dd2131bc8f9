"""Hold the ratios of the benchmarks to their history in `ratios.jsonl`.

A ratio is an `extra_info` of a benchmark by the name of `times_faster...` (larger is better) or another `times_...`
(smaller is better). With ``--record`` it is added to the history: one line a measurement, the newest last.
"""

import json
from datetime import date
from pathlib import Path
from statistics import median

import pytest

import sklearn_dprank

HISTORY = Path(__file__).with_name("ratios.jsonl")
LAST = 3  # records, the median of which counts: one may be lucky
WORSE = 3  # times that median: other machines and a busy one make less of a difference, a lost shortcut makes more


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
    usual = median(records)
    worse = usual / ratio if " times_faster" in name else ratio / usual
    if worse > WORSE:
        pytest.fail(f"{name}: {ratio} is {worse:.1f} times worse than the {usual} on record", pytrace=False)
