"""What all displays share: matplotlib asked for late, looks that need no colour, names that fit."""

import numpy as np

_MARKERS = "os^Dvp*XP<>h"
# Up to seven lines are told by their dashes alone, and what lies below shows in the gaps of what lies above.
_DASHES = [
    "-",
    (0, (5, 2)),
    (0, (1, 1.3)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (10, 2.5)),
    (0, (3, 1.3, 1, 1.3, 1, 1.3)),
    (0, (2.5, 1.3)),
]
# Okabe and Ito's palette, which the colour-blind tell apart, in an order in which neighbours differ in grey as well.
COLOURS = ["#0072B2", "#E69F00", "#CC79A7", "#000000", "#D55E00", "#56B4E9", "#009E73"]
BLUE, ORANGE, PURPLE, BLACK, VERMILION, SKY, GREEN = COLOURS
TITLE, LABEL, SMALL = 10, 9, 8  # points, of all displays


def look(k):
    """Return colour, marker, dashes and width of the k-th line; every other marker is hollow."""
    colour = COLOURS[k % len(COLOURS)]
    return {
        "color": colour,
        "marker": _MARKERS[k % len(_MARKERS)],
        "markerfacecolor": "white" if k % 2 else colour,
        "linestyle": _DASHES[k % len(_DASHES)],
        "lw": max(2.3 - 0.15 * k, 1.4),  # those drawn first are the wider, and show on both sides of later ones
    }


def axes(ax, size):
    """Return the axes to draw on: `ax`, or those of a new figure of `size` (width, height) in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plotting needs matplotlib: install the extra "plot"') from None
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def dress(ax, numbers="both"):
    """Give axes the look of all displays: `numbers` ("x", "y", "both") have a pale grid and ticks, names have none."""
    numbered = {"x": ["bottom"], "y": ["left"], "both": ["left", "bottom"]}[numbers]
    ax.spines[[side for side in ax.spines if side not in numbered]].set_visible(False)
    ax.tick_params(labelsize=LABEL)
    ax.grid(axis=numbers, color="0.92", lw=0.8)
    ax.set_axisbelow(True)
    if numbers != "both":
        ax.tick_params(axis="y" if numbers == "x" else "x", length=0)


def shortened(text, length):
    """Return `text` with its middle left out where it is longer than `length`: names often differ at the end."""
    text = " ".join(str(text).split())
    if len(text) <= length:
        return text
    tail = (length - 1) // 3
    return f"{text[: length - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def fitting(names, length):
    """Return names none of which is longer than about `length`, and no two of which have become the same."""
    short = [shortened(name, length) for name in names]
    alike = [short.count(text) > 1 for text in short]
    return [
        f"{shortened(name, length - 5)} #{k}" if taken and len(name) > length else text
        for k, (name, text, taken) in enumerate(zip(names, short, alike, strict=True))
    ]


def names_of_items(item_names, n_items):
    """Return one name an item as strings; the column indices where there are none.

    Raises
    ------
    ValueError
        If there are more or fewer names than items.
    """
    if item_names is None:
        return [str(item) for item in range(n_items)]
    names = [str(name) for name in item_names]
    if len(names) != n_items:
        raise ValueError(f"item_names has {len(names)} names for {n_items} items; give one name an item.")
    return names


def read_positions(positions, name, n_items=None):
    """Return positions as an array of floats, shape (n_items,).

    Raises
    ------
    ValueError
        If they are not one finite number an item.
    """
    try:
        array = np.asarray(positions, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers (ranks_, not consensus_): where each item stands.") from None
    expected = array.size if n_items is None else n_items
    if array.shape != (expected,) or not np.isfinite(array).all():
        many = "each item" if n_items is None else f"each of the {n_items} items"
        raise ValueError(f"{name} must hold one finite position for {many}, got shape {array.shape}.")
    return array
