"""Timing of a routine and a reference implementation in turn."""

from time import perf_counter

import numpy as np


def compare(benchmark, ours, twin, *, at_most=None, at_least=None, share=1, rounds=5, clock=perf_counter):
    """Time both in turn, so that other work on the machine meets both, and compare the fastest rounds.

    Our time over the twin's is held to `at_most`, or the twin's over ours to `at_least`; the twin does
    `share` of the work. `clock` is `time.process_time` for work without other processes.
    """
    result = benchmark(ours)
    fastest = [np.inf, np.inf]
    for _ in range(rounds):
        for which, function in enumerate((ours, twin)):
            began = clock()
            function()
            fastest[which] = min(fastest[which], clock() - began)
    times_faster = fastest[1] / share / fastest[0]
    if at_least is not None:
        benchmark.extra_info["times_faster_than_the_twin"] = round(times_faster, 1)
        assert times_faster >= at_least
    else:
        benchmark.extra_info["times_the_twin"] = round(1 / times_faster, 2)
        assert 1 / times_faster <= at_most
    return result
