"""`SegmentsDisplay`: dots and bars are those of the release, and segments that mostly repeat the others are faint."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sklearn_dprank import DPBorda, SegmentedAggregator
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.plotting import SegmentsDisplay
from sklearn_dprank.plotting._rankings import SKY
from sklearn_dprank.preprocessing import RatingsToRankings

pd = pytest.importorskip("pandas")
same_color = pytest.importorskip("matplotlib.colors").same_color
NAMES = ["tea", "coffee", "water", "juice", "milk"]
REGIONS = ["north", "south", "islands"]
SIZES = [900, 600, 30]
X = pd.DataFrame(
    np.concatenate([make_mallows(n, 5, 0.7, center=np.roll(range(5), k), random_state=k) for k, n in enumerate(SIZES)]),
    columns=NAMES,
)
LABELS = np.repeat(REGIONS, SIZES)
RANKS = [[2, 0, 1], [0, 1, 2]]


def fitted(**settings):
    return SegmentedAggregator(REGIONS, random_state=0, **settings).fit(X, segments=LABELS)


def drawn(display):
    """Return ranks (n_segments, n_items), intervals (n_segments, n_items, 2) or None, and which segments are faint."""
    n_segments, n_items = display.ranks.shape
    starts = np.arange(n_segments) * (n_items + 1 + n_items // 10)
    ranks, faint = np.full((n_segments, n_items), -1), np.full(n_segments, -1)
    intervals = np.full((n_segments, n_items, 2), -1)

    def place(x, y):
        """Return the segment, the item and the rank of a point."""
        segment = np.searchsorted(starts, x) - 1
        return segment, display.order[int(y)], round(x - starts[segment] - 1)

    for line in display.ax_.get_lines():
        if line.get_marker() == "o":
            for segment, item, rank in map(place, *line.get_data()):
                assert ranks[segment, item] == -1  # drawn once
                ranks[segment, item], faint[segment] = rank, same_color(line.get_markerfacecolor(), "white")
    boxes = [bar for bars in display.ax_.containers for bar in bars]
    for bar in boxes:
        box = bar.get_bbox()
        segment, item, best = place(box.x0 + 0.5, box.y0 + 0.5)
        assert place(box.x1 - 0.5, box.y0 + 0.5)[0] == segment
        intervals[segment, item] = best, place(box.x1 - 0.5, box.y0 + 0.5)[2]
        assert same_color(bar.get_facecolor(), "#d1d1d1" if faint[segment] else SKY)
    return ranks, intervals if boxes else None, faint.astype(bool)


def rows(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def columns(display):
    return display.ax_.child_axes[0].get_xticklabels()


def words(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_drawn_values(plt, inside):
    intervals = [[[1, 2], [0, 0], [1, 2]], [[0, 1], [0, 2], [2, 2]]]
    display = SegmentsDisplay(
        RANKS, intervals, ["old", "new"], ["tea", "milk", "beer"], own_weights=[0.5, 0.49], name="ours"
    ).plot()
    ranks, bars, faint = drawn(display)
    np.testing.assert_array_equal(ranks, RANKS)
    np.testing.assert_array_equal(bars, intervals)
    assert faint.tolist() == display.faint.tolist() == [False, True]
    assert rows(display) == ["milk", "tea", "beer"]  # mean ranks 0.5, 1 and 1.5
    assert [text.get_text() for text in columns(display)] == ["old", "new"]
    assert [text.get_color() for text in columns(display)] == ["#000000", "#808080"]
    assert sorted(words(display)) == [
        "95 %: all segments at once, from own answers only",
        "faint: rank mostly from the other segments' answers",
        "order of the rows: mean rank over the segments",
        "rank, pooled with the other segments",
    ]
    assert display.ax_.get_title() == "ours"
    low, high = display.ax_.get_ylim()
    assert low > high  # the best on top
    assert "of these voters, not of a population" in display.ax_.get_xlabel()
    assert inside(display.figure_)


def test_orders_only(plt):
    """Neither bars nor faint columns; mean ranks that are equal keep the order of the columns."""
    display = SegmentsDisplay([[0, 1, 2], [1, 0, 2]]).plot()
    ranks, bars, faint = drawn(display)
    np.testing.assert_array_equal(ranks, [[0, 1, 2], [1, 0, 2]])
    assert bars is None and not faint.any()
    assert display.order.tolist() == [0, 1, 2]
    assert rows(display) == ["0", "1", "2"] and [text.get_text() for text in columns(display)] == ["0", "1"]
    assert words(display) == ["rank", "order of the rows: mean rank over the segments"]


@pytest.mark.slow
@pytest.mark.parametrize("simultaneous", [True, False])
@pytest.mark.parametrize("settings", [{}, {"epsilon": 0.01}, {"pooling": False}, {"pooling": False, "delta": 0.0}])
def test_of_an_estimator(plt, inside, apart, settings, simultaneous):
    by_region = fitted(**settings)
    display = SegmentsDisplay.from_estimator(by_region, level=0.8, simultaneous=simultaneous).plot()
    ranks, bars, faint = drawn(display)
    np.testing.assert_array_equal(ranks, by_region.ranks_)
    if "delta" in settings:
        assert bars is None and not any("%" in text for text in words(display))
    else:
        np.testing.assert_array_equal(bars, by_region.rank_intervals(0.8, simultaneous))
        assert any("80 %: " + ("all" if simultaneous else "each") in text for text in words(display))
    own = getattr(by_region, "own_weights_", np.ones(3))
    assert faint.tolist() == (own < 0.5).tolist()
    assert faint.any() == ("epsilon" in settings) == any("faint" in text for text in words(display))
    assert sorted(rows(display)) == sorted(NAMES)
    assert display.order.tolist() == np.argsort(by_region.ranks_.mean(axis=0), kind="stable").tolist()
    assert "simulation only" in display.ax_.get_title() and "classes" not in display.ax_.get_title()
    assert inside(display.figure_)
    legend = display.ax_.get_legend().get_texts()
    assert apart(
        [display.ax_.title, *columns(display), display.ax_.xaxis.label, *legend, *display.ax_.get_xticklabels()]
    )


def test_of_a_pipeline_on_given_axes(plt):
    pipeline = make_pipeline(RatingsToRankings(), SegmentedAggregator(REGIONS, random_state=0))
    pipeline.fit(-X.to_numpy(), segmentedaggregator__segments=LABELS)
    _, ax = plt.subplots()
    display = SegmentsDisplay.from_estimator(pipeline, name="ours").plot(ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    np.testing.assert_array_equal(display.ranks, pipeline[-1].ranks_)
    np.testing.assert_array_equal(display.intervals, pipeline[-1].rank_intervals(simultaneous=True))
    assert ax.get_title() == "ours\n(simulation only)"


def test_refusals():
    with pytest.raises(NotFittedError):
        SegmentsDisplay.from_estimator(SegmentedAggregator(REGIONS))
    with pytest.raises(TypeError, match="estimator must be a fitted estimator"):
        SegmentsDisplay.from_estimator(X)
    with pytest.raises(ValueError, match=r"estimator must hold a position .* got shape \(5,\); fit a SegmentedA"):
        SegmentsDisplay.from_estimator(DPBorda().fit(X))
    with pytest.raises(ValueError, match="level must be a number"):
        SegmentsDisplay.from_estimator(fitted(), level=95)
    for ranks in ([0, 1], [[]], [[0, np.nan]], [["tea", "milk"]]):
        with pytest.raises(ValueError, match="ranks must hold"):
            SegmentsDisplay(ranks)
    good = np.zeros((2, 3, 2), dtype=int)
    for intervals in (good[0], good[:, :2], good.astype(float), good + [1, 0]):
        with pytest.raises(ValueError, match="rank of each of the 3 items in each of the 2 segments"):
            SegmentsDisplay(RANKS, intervals)
    with pytest.raises(ValueError, match="segments has 3 labels for 2 segments"):
        SegmentsDisplay(RANKS, segments=REGIONS)
    for weights in ([0.5], [0.5, 1.1], [0.5, np.nan]):
        with pytest.raises(ValueError, match="own_weights must hold a weight between 0 and 1"):
            SegmentsDisplay(RANKS, own_weights=weights)
