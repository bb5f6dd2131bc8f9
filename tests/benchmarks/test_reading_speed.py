"""One ballot unlike the others: a fit takes as long with it as without."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from benchmark_tools import compare

from sklearn_dprank import DPBorda
from sklearn_dprank.ballots.profile import Profile

N_VOTERS, N_ITEMS = 100_000, 10
ODD = {"outlier": 1e6, "negative": -1, "fraction": 0.5, "gap": np.nan, "tie": 3}
LIMIT = 1.3  # 1.2 on a quiet machine

TABLES = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: X.astype(np.int64),
    "int32": lambda X: X.astype(np.int32),
    "list": lambda X: [[int(cell) if cell.is_integer() else cell for cell in row] for row in X.tolist()],
    "list of floats": lambda X: X.tolist(),
    "list with None": lambda X: [[None if cell != cell else int(cell) for cell in row] for row in X.tolist()],
    "pandas": lambda X: pd.DataFrame({f"i{k}": whole(column) for k, column in enumerate(X.T)}),
    "pandas of floats": lambda X: pd.DataFrame(X, columns=[f"i{k}" for k in range(N_ITEMS)]),
    "Int64": lambda X: pd.DataFrame({f"i{k}": pd.array(c, dtype="Int64") for k, c in enumerate(X.T)}),
}
WHOLE = {"int64", "int32"}


def whole(column):
    return column if np.isnan(column).any() or (column % 1).any() else column.astype(np.int64)


def ballots(odd=None):
    X = np.random.default_rng(0).permuted(np.tile(np.arange(float(N_ITEMS)), (N_VOTERS, 1)), axis=1)
    if odd is not None:
        X[N_VOTERS // 2, 7] = X[N_VOTERS // 2, 2] if odd == "tie" else ODD[odd]
    return X


CASES = [
    (what, name, odd)
    for what in ("fit", "pairs", "placements")
    for name in TABLES
    for odd in ODD
    if what == "fit" or name == "float64"
    if not (odd in ("gap", "fraction") and name in WHOLE)
    if not (odd == "fraction" and name in ("Int64", "list with None"))
]


@pytest.mark.parametrize(("what", "name", "odd"), CASES)
def test_one_odd_ballot(benchmark, what, name, odd):
    use = {
        "fit": DPBorda().fit,
        "pairs": lambda X: Profile.from_rankings(X).pairwise_counts,
        "placements": lambda X: Profile.from_rankings(X).placements,
    }[what]
    make = TABLES[name]
    rounds = 5 if name.startswith("list") else 25
    compare(benchmark, partial(use, make(ballots(odd))), partial(use, make(ballots())), at_most=LIMIT, rounds=rounds)
