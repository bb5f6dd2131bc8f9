"""How long a device splits, a server adds up, and a fit simulates."""

import json
import time

import numpy as np
from share_tools import message_to

from sklearn_dprank import SecAggBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.collection import AggregationServer, Device
from sklearn_dprank.datasets import make_mallows

PROTOCOL = SecAggBorda(epsilon=0.1, min_reports=90_000).protocol(45)


def test_one_device_of_45_items(benchmark):
    benchmark(lambda: Device(PROTOCOL).report(range(45)))
    assert benchmark.stats.stats.min < 0.1


def test_100_000_voters_of_45_items(benchmark, tmp_path):
    """The server keeps shares on disk, and the numbers of the reports in memory."""
    modulus = 2 ** PROTOCOL["modulus_bits"]
    shares = np.random.default_rng(0).integers(0, modulus, (1000, 45)).tolist()
    server = AggregationServer(PROTOCOL, 0, tmp_path / "server.db")
    messages = [json.dumps(message_to(0, PROTOCOL, [shares[k % 1000]] * 2, k)) for k in range(100_000)]

    def run():
        server.receive(messages)
        return server.release(server.reports())

    began = time.process_time()  # others may use the machine
    said = benchmark.pedantic(run, rounds=1)
    assert said["sum"] == [100 * sum(column) % modulus for column in zip(*shares, strict=True)]
    assert time.process_time() - began < 20
    server.close()


def test_a_fit(benchmark):
    profile = Profile.from_rankings(make_mallows(5000, 45, 0.75, random_state=0))
    benchmark(SecAggBorda(epsilon=0.1, random_state=0).fit, profile)
    assert benchmark.stats.stats.min < 0.1
