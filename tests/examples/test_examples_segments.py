"""The example of segments: equal budgets, regions with their own tastes, and errors of each way."""

import math

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture(scope="module")
def made(example):
    return example("plot_segments")


def test_shares_have_the_guarantee_of_one_release(made):
    parts = [fit.fit([[0, 1]] * 2).privacy_ for fit in made.shares(0.3, 0)]
    assert len(parts) == len(made.REGIONS) == len({fit.random_state for fit in made.shares(0.3, 1)})
    assert math.fsum(part.epsilon for part in parts) == pytest.approx(0.3)
    assert math.fsum(part.delta for part in parts) == pytest.approx(made.DELTA)


@pytest.mark.slow
def test_whole_example(verdicts, tmp_path, is_picture):
    found = verdicts("plot_segments", "--pictures", str(tmp_path))
    assert len(found) == 5 and set(found.values()) == {"held"}
    for name in ("segments_pooled", "segments_alone", "segments_pure", "segments_errors"):
        assert is_picture(tmp_path / f"{name}.png")
