"""The example of segments: equal budgets, regions with their own tastes, and errors of each way."""

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture(scope="module")
def made(example):
    return example("plot_segments")


def test_regions(made, example):
    """Uneven sizes, and each region ranks the item that it likes higher than the others do."""
    ballots = example("_shared").mallows(4000, 10, 0.1).ballots
    labels = made.regions_of(ballots)
    assert labels.tolist() == made.regions_of(ballots).tolist()
    sizes = np.array([(labels == region).sum() for region in made.REGIONS])
    assert sizes.sum() == 4000 and sizes.max() > 5 * sizes.min() > 0
    for item, region in enumerate(made.REGIONS):
        assert ballots[labels == region, item].mean() < ballots[labels != region, item].mean() - 0.5


@pytest.mark.slow
def test_errors(made, example, tmp_path, is_picture):
    """With much epsilon, all but one order for all find the optimum of each region; with little, pooling helps."""
    ballots = example("_shared").mallows(3000, 6, 0.4).ballots.astype(float)
    labels = np.array(made.REGIONS)[np.arange(3000) % 8]
    own = labels == "islands"
    ballots[own] = 5 - ballots[own]
    found = made.errors(made.Segments(ballots, labels), (0.05, 500.0), 3)
    assert all(errors.shape == (2, 3) and (errors >= 0).all() for errors in found.values())
    for way in ("epsilon / 8 each", "in parallel", "pooled"):
        assert found[way][1].max() == 0
    assert found["one order for all"][1].min() > 1
    assert found["pooled"][0].mean() < found["in parallel"][0].mean() < found["epsilon / 8 each"][0].mean()
    made.draw({"a": found, "b": found}, (0.05, 500.0), "both", tmp_path)
    assert is_picture(tmp_path / "segments_errors.png")


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
