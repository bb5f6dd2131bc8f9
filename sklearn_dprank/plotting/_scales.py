"""Logarithmic axes with plain numbers, and an honest place for 0 on them."""

import math

_DECADES = 3  # of the positive part of an axis that reaches 0


def number_ticks(axis, low, high, unit=1.0, sign=""):
    """Label a logarithmic axis with plain numbers, and with enough of them where it spans less than a decade or two."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    if high < 10 * low:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axis.set_major_formatter(_plain(unit, sign))
    axis.set_minor_formatter(NullFormatter())


def scale_errors(ax, shown, excess, percent):
    """Make the axis of errors logarithmic; where something is at 0, it is linear below a decade, which is shaded.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes.
    shown : ndarray of shape (n_shown,)
        All that must have a place on the axis.
    excess : bool
        Whether it is an excess, which may be negative, rather than an error.
    percent : bool
        Whether ticks are in percent.

    Returns
    -------
    matplotlib Artist or None
        The shade of what is linear.
    """
    unit = (100, " %") if percent else (1, "")
    if (shown > 0).all():
        ax.set_yscale("log")
        number_ticks(ax.yaxis, shown.min(), shown.max(), *unit)
    elif shown.max() > 0 and (excess or shown.min() == 0):
        return _reach_0(ax, shown, unit)
    return None


def _reach_0(ax, shown, unit):
    from matplotlib.ticker import NullLocator

    least = max(shown[shown > 0].min(), shown.max() / 10**_DECADES)
    linear = 10 ** math.floor(math.log10(least))
    ax.set_yscale("symlog", linthresh=linear, linscale=0.5)
    if shown.min() >= 0:
        ax.set_ylim(bottom=-linear / 3, top=max(1.3 * shown.max(), 2 * linear))
    ax.yaxis.set_major_formatter(_plain(*unit))
    ax.yaxis.set_minor_locator(NullLocator())
    low = -linear if shown.min() < 0 else -linear / 3
    return ax.axhspan(low, linear, color="0.94", lw=0, zorder=0, label="linear down to 0")


def _plain(unit, sign):
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda x, _: f"{unit * x:.12g}{sign if x else ''}")
