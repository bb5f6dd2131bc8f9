"""Lines are told apart by the colour-blind and in grey: computed, as such eyes and printers see them."""

import itertools

import numpy as np
import pytest

from sklearn_dprank.plotting._style import COLOURS, look

# Linear RGB as seen without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1), and by all.
EYES = {
    "all cones": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def seen(colour, eyes):
    """Return a colour of sRGB as these eyes see it: lightness L*, a*, b* of CIE 1976."""
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = XYZ @ np.clip(np.asarray(eyes) @ linear, 0, 1) / [0.95047, 1.0, 1.08883]
    x, y, z = (np.cbrt(t) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_measure_itself():
    """White is the lightest, and red and green of one lightness are the same to deuteranopes, not to others."""
    np.testing.assert_allclose(seen("#FFFFFF", EYES["all cones"]), [100, 0, 0], atol=0.1)
    red, green = ({name: seen(colour, eyes) for name, eyes in EYES.items()} for colour in ("#C46A3C", "#8A8A33"))
    assert np.linalg.norm(red["all cones"] - green["all cones"]) > 40
    assert np.linalg.norm(red["deuteranopia"] - green["deuteranopia"]) < 20


@pytest.mark.parametrize("eyes", EYES)
def test_neighbours_have_other_colours(eyes):
    """About 2 is what the eye just tells; neighbours are twenty times as far, any two at least six times."""
    found = [seen(colour, EYES[eyes]) for colour in COLOURS]
    apart = [np.linalg.norm(one - other) for one, other in zip(found, np.roll(found, -1, axis=0), strict=True)]
    assert min(apart) > 40
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(found, 2)) > 12


def test_neighbours_have_other_greys():
    grey = [seen(colour, EYES["all cones"])[0] for colour in COLOURS]
    assert min(abs(one - other) for one, other in zip(grey, [*grey[1:], grey[0]], strict=True)) > 9
    assert max(grey) < 75  # and stand out from white


def test_any_two_lines_differ_in_marker_and_the_first_seven_in_dashes():
    for one, other in itertools.combinations(range(11), 2):
        assert look(one)["marker"] != look(other)["marker"]
    for one, other in itertools.combinations(range(7), 2):
        assert look(one)["linestyle"] != look(other)["linestyle"]
