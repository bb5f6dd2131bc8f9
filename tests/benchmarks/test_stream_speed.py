"""A period of a stream against a single release of all ballots so far."""

from time import perf_counter

import numpy as np

from sklearn_dprank import DPBorda, DPStreamingBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows

DAYS = 365


def seconds(function):
    began = perf_counter()
    function()
    return perf_counter() - began


def test_the_last_day_of_a_year(benchmark):
    """What a stream has published before costs little: a whole year takes about as long as a fit a day."""
    day = Profile.from_rankings(make_mallows(100, 45, 0.75, random_state=0)).counted()
    fit = DPBorda(delta=1e-6, noise="gaussian", random_state=0)
    ratios = []

    def year():
        stream = DPStreamingBorda(horizon=DAYS, random_state=0)
        ours, theirs = [], []
        for _ in range(DAYS):  # in turn, so that other work on the machine meets both
            ours.append(seconds(lambda: stream.partial_fit(day)))
            theirs.append(seconds(lambda: fit.fit(day)))
        ratios.append(float(np.median(ours[-50:]) / np.median(theirs[-50:])))

    benchmark.pedantic(year, rounds=3, warmup_rounds=1)
    ratio = min(ratios)
    benchmark.extra_info["times_as_long_as_a_fit"] = round(ratio, 2)
    assert ratio < 4
