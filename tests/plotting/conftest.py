"""Fixtures for displays: pyplot, and checks for cut or overlapping text."""

import numpy as np
import pytest


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


@pytest.fixture
def inside():
    """Return a check that no part of a figure is cut off."""

    def check(figure):
        figure.canvas.draw()
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        return min(box.x0, box.y0, width - box.x1, height - box.y1) >= 0

    return check


@pytest.fixture
def apart():
    """Return a check that no two of some drawn texts overlap."""

    def check(texts):
        boxes = [text.get_window_extent() for text in texts if text.get_text().strip()]
        return not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])

    return check


@pytest.fixture
def contrast():
    """Return the contrast of two colours by WCAG 2; 1 is invisible."""
    colors = pytest.importorskip("matplotlib.colors")

    def luminance(colour):
        rgb = np.array(colors.to_rgb(colour))
        return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126729, 0.7151522, 0.0721750]

    def between(one, other):
        low, high = sorted([luminance(one), luminance(other)])
        return (high + 0.05) / (low + 0.05)

    return between
