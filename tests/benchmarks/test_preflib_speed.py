"""Reading a PrefLib file takes less time than splitting its lines and filling a table with loops."""

import time

import numpy as np
from benchmark_tools import compare

from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import read_preflib

N_VOTERS, N_ITEMS, N_LISTED = 5000, 100, 10
LEAST = 1.5  # 2 on a quiet machine


def twin(path):
    """Read a right file of strict orders by int and loops, without a check; other items are last."""
    names, counts, rows = [], [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# ALTERNATIVE NAME"):
                names.append(line.partition(": ")[2].strip())
            elif not line.startswith("#"):
                count, order = line.split(":")
                items = [int(item) for item in order.split(",")]
                row = [len(items)] * N_ITEMS
                for place, item in enumerate(items):
                    row[item - 1] = place
                counts.append(int(count))
                rows.append(row)
    data = np.repeat(np.array(rows), counts, axis=0)
    return data, Profile.from_rankings(data, items=names)


def test_short_orders_of_many_items(benchmark, tmp_path):
    rng = np.random.default_rng(0)
    orders = [rng.permutation(N_ITEMS)[:N_LISTED] + 1 for _ in range(N_VOTERS)]
    lines = ["# DATA TYPE: soi", f"# NUMBER ALTERNATIVES: {N_ITEMS}", f"# NUMBER VOTERS: {N_VOTERS}"]
    lines += [f"# ALTERNATIVE NAME {item}: dish {item}" for item in range(1, N_ITEMS + 1)]
    path = tmp_path / "dishes.soi"
    path.write_text("\n".join([*lines, *(f"1: {','.join(map(str, order))}" for order in orders)]), encoding="utf-8")
    read = compare(
        benchmark, lambda: read_preflib(path), lambda: twin(path), at_least=LEAST, rounds=15, clock=time.process_time
    )
    data, profile = twin(path)
    np.testing.assert_array_equal(read.data, data)
    assert read.item_names == profile.item_names.tolist()
