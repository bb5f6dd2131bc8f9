"""How soon a device is ready in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

IMPORT = """
import numpy
from time import process_time  # others may use the machine
began = process_time()
import sklearn_dprank.collection
print(process_time() - began)
"""


def test_importing_devices_beyond_numpy(benchmark, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONPYCACHEPREFIX": str(tmp_path)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # where a package is installed, its bytecode is at hand

    def seconds():
        run = [sys.executable, "-c", IMPORT]
        return float(subprocess.run(run, capture_output=True, text=True, env=env, check=True).stdout)

    found = []
    benchmark.pedantic(lambda: found.append(seconds()), rounds=7, warmup_rounds=1)
    benchmark.extra_info["seconds_beyond_numpy"] = round(min(found), 3)
    assert min(found) < 0.1
