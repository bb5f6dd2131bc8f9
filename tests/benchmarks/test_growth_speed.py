"""Growth of processor time with the size of the input: the exponent between a size and its double."""

import json
import math
import warnings
from functools import partial
from time import process_time

import numpy as np
import pytest

import sklearn_dprank as dp
from sklearn_dprank.ballots import Profile
from sklearn_dprank.cli import files, parser
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy import PrivacyBudget

ONE = dp.DPBorda(1e-5).fit([[0, 1, 2]] * 9).privacy_


def columns(size, folder, listed=False):
    path, names = folder / f"{size}.csv", [f"c{k}" for k in range(size)]
    path.write_text(",".join(names) + "\n" + ",".join(["1"] * size) + "\n")
    options = ["rank", str(path), "--ratings", "--epsilon", "1", "--items", ",".join(names) if listed else "all"]
    return partial(files.read, parser().parse_args(options))


def charges(size, folder, in_a_file=False):
    def run():
        path = folder / f"{size}.budget"
        path.unlink(missing_ok=True)
        budget = PrivacyBudget.open(path, 1.0) if in_a_file else PrivacyBudget(1.0)
        for number in range(size):
            budget.charge(ONE, "x", release_id=str(number))

    return run


def segments(size, folder):
    votes, labels = make_mallows(4000, 5, 0.8, random_state=0), np.arange(4000) % size
    return lambda: dp.SegmentedAggregator(list(range(size)), random_state=0).fit(votes, segments=labels)


def persons(size, folder):
    votes, groups = make_mallows(size, 5, 0.8, random_state=0), [f"person {k // 2}" for k in range(size)]
    return lambda: dp.DPBorda(random_state=0).fit(Profile.from_rankings(votes, groups=groups))


def reports(size, folder):
    items = list(range(6))
    client = dp.LDPPairwise(random_state=0).client
    texts = [json.dumps(client(items).report(items)) for _ in range(100)] * (size // 100)
    return lambda: dp.LDPPairwise().fit_reports(texts, items=items)


def of_items(estimator):
    def made(size, folder):
        votes = Profile.from_rankings(make_mallows(300, size, 0.95, random_state=0))
        return lambda: estimator.fit(votes)

    return made


#: Name, what is timed, the smaller size, and the largest exponent. Rules on margins of all pairs need at least 2.
ROWS = {
    "columns of a file": (columns, 10_000, 1.4),
    "columns that are listed": (partial(columns, listed=True), 4_000, 1.4),
    "charges": (charges, 10_000, 1.2),
    "charges of a file": (partial(charges, in_a_file=True), 300, 1.2),
    "segments": (segments, 100, 1.6),
    "persons": (persons, 100_000, 1.4),
    "reports": (reports, 20_000, 1.2),
    "items, DPBorda": (of_items(dp.DPBorda(random_state=0)), 400, 2.2),
    "items, DPPairwise with Borda": (of_items(dp.DPPairwise(rule="borda", random_state=0)), 400, 2.4),
    "items, LDPPairwise": (of_items(dp.LDPPairwise(random_state=0)), 400, 2.7),
    "items, LDPGroupKwikSort": (of_items(dp.LDPGroupKwikSort(random_state=0)), 400, 2.2),
    # Each iteration of the strengths adds up m^2 numbers for each of log m rounds. Tables of 800 items leave the
    # processor's cache, and noisy answers about more items need up to twice as many iterations.
    "items, DPSwissBorda": (of_items(dp.DPSwissBorda(random_state=0)), 400, 3.0),
    "items, SecAggSwissBorda": (of_items(dp.SecAggSwissBorda(min_reports=300, random_state=0)), 400, 3.7),
}


@pytest.mark.parametrize("name", ROWS)
def test_time_does_not_grow_faster_than(benchmark, name, tmp_path):
    make, size, most = ROWS[name]
    runs = make(size, tmp_path), make(2 * size, tmp_path)
    fastest = [math.inf, math.inf]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of many items
        for _ in range(3):
            for which, run in enumerate(runs):
                began = process_time()
                run()
                fastest[which] = min(fastest[which], process_time() - began)
        benchmark.pedantic(runs[0], rounds=1)
    exponent = math.log2(fastest[1] / fastest[0])
    benchmark.extra_info["exponent"] = round(exponent, 2)
    assert exponent <= most
