"""Fits of Swiss Borda to many items."""

import pytest

from sklearn_dprank import DPSwissBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows


@pytest.mark.parametrize(("m", "seconds"), [(100, 0.1), (216, 0.5)])
def test_fit(benchmark, m, seconds):
    """Bounds are five and more times what a quiet machine takes."""
    profile = Profile.from_rankings(make_mallows(5000, m, 0.9, random_state=0)).counted()
    profile.margins  # noqa: B018 computed once, not timed
    benchmark(DPSwissBorda(0.1, random_state=0).fit, profile)
    assert benchmark.stats.stats.median < seconds
