"""Displays need matplotlib only to draw, and their lines and shortened names stay distinct."""

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from sklearn_dprank.plotting import (
    ConsensusDisplay,
    PairwiseMarginDisplay,
    PrivacyUtilityDisplay,
    QueryCountDisplay,
    RankIntervalDisplay,
    SegmentsDisplay,
)
from sklearn_dprank.plotting._style import shortened

DISPLAYS = [
    PrivacyUtilityDisplay([0.1], {"a": [[0.2]]}),
    QueryCountDisplay([1], {"a": [[0.2]]}),
    PairwiseMarginDisplay([[0, 1], [-1, 0]]),
    ConsensusDisplay([0, 1], [1, 0]),
    RankIntervalDisplay([[0, 0], [1, 1]], [0, 1]),
    SegmentsDisplay([[0, 1], [1, 0]]),
]


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_without_matplotlib(display, without):
    without("matplotlib")
    with pytest.raises(ImportError, match='plotting needs matplotlib: install the extra "plot"'):
        display.plot()


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_displays_draw_on_given_axes(plt, display):
    figure, (left, right) = plt.subplots(1, 2)
    assert display.plot(ax=right) is display
    assert (display.ax_, display.figure_) == (right, figure)
    assert not left.has_data() and plt.get_fignums() == [figure.number]


@pytest.mark.slow
def test_matplotlib_is_not_imported_before_it_is_needed():
    code = "import sys, sklearn_dprank.plotting; print('matplotlib' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "False"


@given(st.text(max_size=80), st.integers(8, 40))
def test_shortened(text, length):
    short = shortened(text, length)
    assert len(short) <= length
    assert ("…" in short) or short == " ".join(text.split())
