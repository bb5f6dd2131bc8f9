"""Reports of the field, as lines of JSON: counted at least at half the speed of parsing them only.

Run with ``pytest tests/benchmarks -o addopts="--import-mode=importlib"``.
"""

import io
import json
from itertools import cycle, islice
from time import process_time

import numpy as np
import pytest
from benchmark_tools import compare

from sklearn_dprank import LDPBorda, LDPPairwise, ShufflePairwise
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.collection import Device

COLLECTIONS = {
    "K = 1": (LDPPairwise(), 10),
    "K = 10": (LDPPairwise(n_queries=10), 10),
    "K = 1 of 885 items": (LDPPairwise(), 885),
    "hypercube": (LDPPairwise(randomizer="djw"), 10),
    "hypercube of 45 items": (LDPPairwise(randomizer="djw"), 45),
    "vector": (LDPBorda(), 10),
    "vector of 45 items": (LDPBorda(), 45),
    "shuffled": (ShufflePairwise(min_reports=100), 10),
}


def lines_of(estimator, n_items, size):
    """Return lines that devices wrote, again and again: a few hundred devices are slow enough."""
    protocol, rng, lines = estimator.protocol(n_items), np.random.default_rng(0), []
    for voter in range(300):
        said = Device(protocol, random_state=voter).report(rng.permutation(n_items).tolist())
        lines += [json.dumps(message).encode() + b"\n" for message in (said if isinstance(said, list) else [said])]
    return [with_number(line, rng) for line in islice(cycle(lines), size)]


def with_number(line, rng):
    """Return a line with a random number of its own, if it has one: a report that comes again is refused."""
    message = json.loads(line)
    return json.dumps({**message, "report": rng.bytes(16).hex()}).encode() + b"\n" if "report" in message else line


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_counting_against_parsing(benchmark, kind):
    estimator, n_items = COLLECTIONS[kind]
    lines = lines_of(estimator, n_items, 20_000)
    plan = estimator.plan_for(Shape(n_items))[1]

    def parsed():
        for line in lines:
            json.loads(line)

    # measured 0.9 to 2.0
    compare(benchmark, lambda: plan.open(io.BytesIO(b"".join(lines))), parsed, at_most=2.2, clock=process_time)
