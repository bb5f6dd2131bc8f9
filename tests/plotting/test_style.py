"""Displays need matplotlib only to draw, and their lines and shortened names stay distinct."""

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from sklearn_dprank import plotting
from sklearn_dprank.plotting import (
    ConsensusDisplay,
    PairwiseMarginDisplay,
    PrivacyUtilityDisplay,
    QueryCountDisplay,
    SegmentsDisplay,
)
from sklearn_dprank.plotting._style import fitting, shortened

DISPLAYS = [
    PrivacyUtilityDisplay([0.1], {"a": [[0.2]]}),
    QueryCountDisplay([1], {"a": [[0.2]]}),
    PairwiseMarginDisplay([[0, 1], [-1, 0]]),
    ConsensusDisplay([0, 1], [1, 0]),
    SegmentsDisplay([[0, 1], [1, 0]]),
]


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_without_matplotlib(display, without):
    without("matplotlib")
    with pytest.raises(ImportError, match='plotting needs matplotlib: install the extra "plot"'):
        display.plot()


@pytest.mark.slow
def test_matplotlib_is_not_imported_before_it_is_needed():
    code = "import sys, sklearn_dprank.plotting; print('matplotlib' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "False"


def test_what_is_exported():
    assert sorted(plotting.__all__) == plotting.__all__
    for name in plotting.__all__:
        assert getattr(plotting, name).__module__.startswith("sklearn_dprank.plotting._")


def test_earlier_lines_are_wider(plt):
    """Lines below show on both sides of lines above them."""
    lines = PrivacyUtilityDisplay([0.1, 1.0], {str(k): [[0.2], [0.1]] for k in range(7)}).plot().ax_.get_lines()[:7]
    widths = [line.get_linewidth() for line in lines]
    assert widths == sorted(set(widths), reverse=True)


@pytest.mark.slow
@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1, max_size=60), unique=True))
def test_names_stay_apart_and_fit(names):
    names = list(dict.fromkeys(" ".join(name.split()) for name in names))
    fitted = fitting(names, 24)
    assert len(set(fitted)) == len(names)
    assert all(len(text) <= 24 for text in fitted)
    assert [text for text, name in zip(fitted, names, strict=True) if len(name) <= 24] == [
        name for name in names if len(name) <= 24
    ]


@given(st.text(max_size=80), st.integers(8, 40))
def test_shortened(text, length):
    short = shortened(text, length)
    assert len(short) <= length
    assert ("…" in short) or short == " ".join(text.split())
