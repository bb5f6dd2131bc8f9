"""Where a legend goes: on the axes where it covers nothing that is drawn, and below them otherwise."""

import numpy as np

from ._style import SMALL

_STEPS = 24  # heights at which room is looked for
_MARGIN = 5  # pixels around the legend that stay free
_LOOK = {"fontsize": SMALL, "title_fontsize": SMALL, "alignment": "left", "handlelength": 3.2}


def legend_below(ax, handles, notes="", *, ncols=2, pad=4.0):
    """Explain `handles` below the axes, `pad` sizes of a letter lower, so that it is below their labels."""
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": pad}
    ax.legend(handles=handles, title=notes or None, ncols=ncols, frameon=False, **below, **_LOOK)


def place_legend(ax, handles, notes="", *, ncols=2, pad=4.0):
    """Explain `handles`, and what `notes` say, where there is room.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes, with all that is drawn on them.
    handles : list of matplotlib Artist
        What is explained, each with its label.
    notes : str, default=""
        What stands above the entries.
    ncols : int, default=2
        Columns below the axes; on them there is one.
    pad : float, default=4.0
        How far below the axes, in sizes of its letters: below their labels.

    Returns
    -------
    bool
        Whether it is on the axes.
    """
    notes = notes or None
    inside = {"borderaxespad": 0, "framealpha": 0.85, "edgecolor": "0.8", "fancybox": False}
    legend = ax.legend(handles=handles, title=notes, loc="lower left", bbox_to_anchor=(0, 0), **inside, **_LOOK)
    legend.set_in_layout(False)  # it is not there yet
    ax.figure.canvas.figure.draw_without_rendering()  # of the whole figure, where the axes are in a part of one
    spot = _free(ax, legend.get_window_extent())
    if spot is not None:
        legend.set_bbox_to_anchor(spot, ax.transAxes)
    elif ax.figure.get_layout_engine() is None:  # below it would be cut
        ax.legend(handles=handles, title=notes, loc="best", framealpha=0.7, **_LOOK)
    else:
        legend_below(ax, handles, notes, ncols=ncols, pad=pad)
    return spot is not None


def _free(ax, size):
    """Return the lower left corner, in units of the axes, of a box that covers nothing; None if there is no such."""
    from matplotlib.transforms import Bbox

    frame = ax.get_window_extent()
    width, height = size.width + 2 * _MARGIN, size.height + 2 * _MARGIN
    if width > frame.width or height > frame.height:
        return None
    taken = [*_outlines(ax)]
    for left in (frame.x1 - width, frame.x0):
        for bottom in np.linspace(frame.y1 - height, frame.y0, _STEPS):
            box = Bbox.from_bounds(left, bottom, width, height)
            if not any(_meets(path, box, filled) for path, filled in taken):
                corner = (left + _MARGIN, bottom + _MARGIN)
                return tuple(ax.transAxes.inverted().transform(corner))
    return None


def _outlines(ax):
    """Yield all lines and bands as (path in pixels, whether it is filled)."""
    for line in ax.get_lines():
        yield line.get_transform().transform_path(line.get_path()), False
    for band in ax.collections:
        for path in band.get_paths():
            yield band.get_transform().transform_path(path), True


def _meets(path, box, filled):
    return path.intersects_bbox(box, filled=filled) or box.count_contains(path.vertices) > 0
