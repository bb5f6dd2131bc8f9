"""Draw what stands in the gallery for examples that make no picture: python docs/images/draw_thumbnails.py

Each is a sketch of what the example does, without a number in it; an example names its own as
``sphinx_gallery_thumbnail_path``.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

mpl.use("agg")
FOLDER = Path(__file__).parent / "thumbnails"
BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK = (  # Okabe and Ito's palette
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#333333",
)
ITEMS = (BLUE, ORANGE, GREEN, PINK)


def box(axes, left, bottom, width, height, face="white", edge=BLACK):
    """A box with round corners."""
    shape = f"round,pad=0,rounding_size={min(width, height) / 6}"
    axes.add_patch(FancyBboxPatch((left, bottom), width, height, shape, fc=face, ec=edge, lw=2.2, zorder=2))


def order(axes, left, bottom, width, height, colours):
    """A ranking: a bar an item, the best on top and longest."""
    steps = np.linspace(1, 0.45, len(colours)) * width
    places = bottom + height * (np.arange(len(colours))[::-1] + 0.5) / len(colours)
    axes.barh(places, steps, height / len(colours) * 0.66, left=left, color=colours, zorder=3)


def phone(axes, left, bottom, colours):
    """A voter's device with a ballot on it."""
    box(axes, left, bottom, 1.3, 1.9)
    order(axes, left + 0.25, bottom + 0.3, 0.85, 1.35, colours)


def arrow(axes, start, end, colour=BLACK):
    """From one place to another."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "lw": 2, "color": colour, "mutation_scale": 15})


def result(axes, left, bottom):
    """The consensus that is published."""
    box(axes, left, bottom, 2.1, 2.6, "#F3F7FA", BLUE)
    order(axes, left + 0.35, bottom + 0.35, 1.4, 1.9, ITEMS)


def run_clients(axes):
    """Devices, a shuffler that mixes, a consensus."""
    box(axes, 2.7, 0.9, 2.9, 5.2, "#FFF6E5", ORANGE)
    ballots = ((ORANGE, BLUE, GREEN, PINK), (BLUE, GREEN, ORANGE, PINK), (BLUE, ORANGE, PINK, GREEN))
    heights = (5.65, 3.5, 1.35)
    for ballot, start, end in zip(ballots, heights, (3.5, 1.35, 5.65), strict=True):
        phone(axes, 0.2, start - 0.95, ballot)
        start, end = 3.5 + (start - 3.5) * 0.75, 3.5 + (end - 3.5) * 0.75
        axes.plot([1.65, 3.1, 5.2, 5.75], [start, start, end, end], color=BLACK, lw=2, zorder=3)
        arrow(axes, (5.7, end), (7.4, 3.5 + (end - 3.5) * 0.45))
    result(axes, 7.6, 2.2)


def run_secure_aggregation(axes):
    """Devices that split what they say between two servers, whose sums make the consensus."""
    for bottom, ballot in ((4.6, ITEMS), (0.5, (ORANGE, BLUE, GREEN, PINK))):
        phone(axes, 0.2, bottom, ballot)
        for server in (5.4, 1.6):
            arrow(axes, (1.6, bottom + 0.95), (3.9, server))
    for bottom in (4.4, 0.6):
        for shelf in range(3):
            box(axes, 4.1, bottom + 0.68 * shelf, 1.9, 0.6, "#EAF4EF", GREEN)
            axes.add_patch(Circle((5.6, bottom + 0.68 * shelf + 0.3), 0.1, fc=GREEN, ec="none", zorder=3))
        arrow(axes, (6.2, bottom + 1.0), (7.4, 3.5 + (bottom - 2.5) * 0.35))
    result(axes, 7.6, 2.2)


def run_on_dask(axes):
    """Ballots that are counted where they lie, and counts that add up."""
    shades = np.array([[0, 3, 4, 5], [1, 0, 3, 4], [0.6, 1, 0, 3], [0.3, 0.6, 1, 0]])
    for bottom in (4.7, 2.55, 0.4):
        for sheet in range(3):
            box(axes, 0.3 + 0.22 * sheet, bottom + 0.16 * sheet, 1.25, 1.5)
        order(axes, 0.97, bottom + 0.52, 0.8, 1.1, ITEMS)
        grid(axes, shades, 3.1, bottom + 0.2, 1.5)
        arrow(axes, (2.1, bottom + 0.95), (3.0, bottom + 0.95))
        arrow(axes, (4.75, bottom + 0.95), (6.2, 3.5 + (bottom - 2.55) * 0.45))
    grid(axes, shades, 6.4, 1.9, 3.2)


def grid(axes, values, left, bottom, side):
    """A table of counts, the darker the more."""
    axes.imshow(values, "Blues", extent=(left, left + side, bottom, bottom + side), vmin=0, vmax=6, zorder=2)
    axes.add_patch(Rectangle((left, bottom), side, side, fc="none", ec=BLACK, lw=2.2, zorder=3))


def yan_tables(axes):
    """A table of what was measured."""
    lengths = (0.35, 0.6, 0.95, 0.5, 0.85, 1.2, 0.75, 1.1, 1.5)
    for row in range(4):
        for column in range(4):
            head = row == 3 or column == 0
            left, middle = 0.5 + 2.3 * column, 1.1 + 1.6 * row
            box(axes, left, middle - 0.7, 2.1, 1.4, "#E8F1F8" if head else "white", "#999999")
            if head:
                axes.plot([left + 0.45, left + 1.65], [middle, middle], color=BLUE, lw=6, zorder=3)
            else:
                axes.barh(middle, lengths[3 * row + column - 1], 0.6, left=left + 0.3, color=ORANGE, zorder=3)


def top_k(axes):
    """Only the best few of an order are said."""
    order(axes, 1.2, 4.1, 7.8, 2.6, (BLUE, ORANGE, GREEN))
    order(axes, 1.2, 0.3, 3.0, 3.5, ("#DDDDDD",) * 4)


DRAWN = {
    "run_clients": run_clients,
    "run_secure_aggregation": run_secure_aggregation,
    "run_on_dask": run_on_dask,
    "plot_top_k": top_k,
    "plot_yan_2020_tables": yan_tables,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        figure = plt.figure(figsize=(4, 2.8))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 10), ylim=(0, 7), aspect="equal")
        axes.axis("off")
        draw(axes)
        axes.set(xlim=(0, 10), ylim=(0, 7))
        figure.savefig(FOLDER / f"{name}.png", dpi=100, metadata={"Software": None})
        plt.close(figure)
