"""What all displays share: matplotlib asked for late, looks that need no colour, names that fit."""

import numpy as np

_MARKERS = "os^Dvp*XP<>h"
_LINES = ["-", "--", "-.", ":"]
# Okabe and Ito's palette: told apart by the colour-blind, and in grey together with the markers.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def look(k):
    """Return colour, marker and line style of the k-th line."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "marker": _MARKERS[k % len(_MARKERS)],
        "linestyle": _LINES[k % len(_LINES)],
    }


def axes(ax, size):
    """Return the axes to draw on: `ax`, or those of a new figure of `size` (width, height) in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plotting needs matplotlib: install the extra "plot"') from None
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


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
