"""How soon a device is ready in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

IMPORT = """
import numpy
from time import perf_counter
began = perf_counter()
import sklearn_dprank.devices
print(perf_counter() - began)
"""


def test_importing_devices_beyond_numpy(benchmark):
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def seconds():
        run = [sys.executable, "-c", IMPORT]
        return float(subprocess.run(run, capture_output=True, text=True, env=env, check=True).stdout)

    found = []
    benchmark.pedantic(lambda: found.append(seconds()), rounds=7, warmup_rounds=1)
    benchmark.extra_info["seconds_beyond_numpy"] = round(min(found), 3)
    assert min(found) < 0.1
