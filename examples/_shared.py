"""
Shared parts of the reproductions
=================================

Votes, measurements, drawing, and summaries of claims. The results are not private.
"""

import argparse
import os
import textwrap
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import fetch_preflib, make_mallows, read_preflib
from sklearn_dprank.metrics import average_kendall_tau, excess_kendall_tau, margin_error_rate
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.plotting._style import look
from sklearn_dprank.preprocessing import RatingsToRankings

# Votes. Real votes are used if the environment variable SKLEARN_DPRANK_DATA names a folder with the files (PrefLib's,
# and JESTER's ratings as a table), or if `--download` on the command line allows a download. Otherwise, Mallows
# rankings of the same size are used. The package may not include the real votes.

# The file, its numbers of voters and items, and the Mallows phi whose rankings are as far from their centre
# as the voters of the file are from their Kemeny optimum.
_FILES = {
    "TurkDots": ("00024-00000001.soc", 795, 4, 0.77),
    "TurkPuzzle": ("00025-00000001.soc", 793, 4, 0.73),
    "SUSHI": ("sushi.soc", 5000, 10, 0.79),
    "JESTER": ("jester100.csv.gz", 2341, 100, 0.978),
}
_DOWNLOADED = {}  # ballots that `begin` downloaded


class Votes(NamedTuple):
    """Ballots and their `title` in pictures and tables."""

    title: str
    ballots: np.ndarray


def real(name):
    """Return the rankings named TurkDots, TurkPuzzle, SUSHI or JESTER, or Mallows rankings if the file is missing."""
    file, n_voters, n_items, phi = _FILES[name]
    path = _folder() / file
    if path.is_file():
        return Votes(name, read_preflib(path).data if path.suffix == ".soc" else _ranked_by_ratings(path))
    if name in _DOWNLOADED:
        return Votes(name, _DOWNLOADED[name])
    return Votes(f"Mallows in place of {name}", make_mallows(n_voters, n_items, phi, random_state=1))


def _ranked_by_ratings(path):
    """Return positions from a table of ratings, where higher is better and equal ratings tie."""
    return RatingsToRankings().fit_transform(np.loadtxt(path, delimiter=",", skiprows=1))


def mallows(n_voters, n_items, theta, seed=0):
    """Return Mallows rankings by the papers' theta, which is 1 - phi; the centre is random."""
    return Votes(f"Mallows θ={theta:g}, m={n_items}", make_mallows(n_voters, n_items, 1 - theta, random_state=seed))


def some(votes, n_voters, seed=0):
    """Return randomly chosen voters."""
    chosen = np.random.default_rng(seed).permutation(len(votes.ballots))[:n_voters]
    return Votes(votes.title, votes.ballots[chosen])


def begin(names=("TurkDots", "TurkPuzzle", "SUSHI")):
    """Print which votes are real; return command-line options such as ``full`` and the folder of ``pictures``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="the paper's own settings; takes many minutes")
    parser.add_argument("--pictures", type=Path, help="folder to save the pictures in")
    parser.add_argument("--download", action="store_true", help="get rankings that are not there from PrefLib, once")
    arguments = parser.parse_args()
    _DOWNLOADED.clear()  # a gallery runs many examples in one process
    _LOOKS.clear()
    missing = [name for name in names if not (_folder() / _FILES[name][0]).is_file()]
    if arguments.download:
        _DOWNLOADED.update(_fetched(missing))
        missing = [name for name in missing if name not in _DOWNLOADED]
    if missing:
        print(
            f"No files for {', '.join(missing)} (SKLEARN_DPRANK_DATA names no folder that holds them): "
            "Mallows rankings of the same size and spread stand in."
        )
    if there := [name for name in names if name not in missing]:
        print(f"Real rankings: {', '.join(there)}.")
    return arguments


def _fetched(names):
    """Return the ballots that PrefLib may pass on; the licence of SUSHI requires a download from its author's page."""
    files = {name: _FILES[name][0] for name in names}
    return {name: fetch_preflib(file).data for name, file in files.items() if file[:5].isdigit()}


def _folder():
    return Path(os.environ.get("SKLEARN_DPRANK_DATA") or os.devnull)


# Measurements: `cross_validate` on all voters, with repeated fits. Seeds are fixed, so that pictures are reproducible.


DISTANCE, ERROR_RATE = 0, 1  # columns of a score


def distance_and_error_rate(estimator, profile):
    """Score by the average Kendall tau distance and by the share of pairs estimated against the majority.

    An estimator without estimated margins is scored by its order.
    """
    ranks = estimator.ranks_
    margins = getattr(estimator, "margins_", ranks - ranks[:, None])
    return average_kendall_tau(ranks, profile), margin_error_rate(margins, profile)


def trials(estimator, votes, n_trials, scoring=distance_and_error_rate):
    """Return the scores, one row per fit."""
    profile = votes if isinstance(votes, Profile) else Profile.from_rankings(votes.ballots)
    options = {"scoring": scoring, "random_state": 0, "progress": False}
    return cross_validate(estimator, profile, n_trials=n_trials, **options)["test_score"]


def compared(estimators, votes, n_trials, scoring=distance_and_error_rate):
    """Return {name: scores} of {name: estimator}."""
    return {name: trials(estimator, votes, n_trials, scoring) for name, estimator in estimators.items()}


def seconds(estimator, votes, n_trials):
    """Return the median time of a fit."""
    return np.median(
        cross_validate(estimator, votes.ballots, n_trials=n_trials, random_state=0, progress=False)["fit_time"]
    )


def excess(estimator, profile, optimum, n_trials):
    """Return the excess of each fit's average Kendall tau distance over that of the optimum's positions."""
    return trials(estimator, profile, n_trials, lambda fit, X: excess_kendall_tau(fit.ranks_, X, optimum=optimum))


def sweep(measure, settings):
    """Return {name: array of shape (n_settings, n_trials)} from a measure that returns {name: (n_trials,)}."""
    rows = [measure(setting) for setting in settings]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def standard_error(scores):
    """Return the standard error of the mean over trials, the first axis."""
    return np.std(scores, axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.zeros(scores.shape[1:])


def slope(x, errors):
    """Return the exponent a of error ~ x^a by least squares, and its standard error; trials are the last axis."""
    errors = np.reshape(errors, (len(x), -1))
    centred = np.log(x) - np.log(x).mean()
    weights = centred / (centred @ centred)
    relative = standard_error(errors.T) / errors.mean(axis=1)
    return weights @ np.log(errors.mean(axis=1)), np.hypot.reduce(weights * relative)


def not_above(lower, upper):
    """Return where one mean is above the other by at most two standard errors; trials are the last axis."""
    noise = np.hypot(standard_error(lower.T), standard_error(upper.T))
    return lower.mean(axis=-1) <= upper.mean(axis=-1) + 2 * noise


def sure(gains):
    """Return 1 where the mean of paired gains is above two standard errors, 0 where it is below minus two, else NaN.

    Trials are the last axis. Gains that are all 0 give 0.
    """
    mean, error = gains.mean(axis=-1), 2 * standard_error(np.moveaxis(gains, -1, 0))
    return np.where(mean > error, 1.0, np.where(mean <= -error, 0.0, np.nan))


# Drawing: lines look as in the displays of the package, and a name looks the same in all pictures of a script.
_LOOKS = {}


def looks(names):
    """Return {name: number of its look}; pass each number to `look`."""
    return {name: _LOOKS.setdefault(name, len(_LOOKS)) for name in names}


def panels(n_rows, n_columns, height=2.6):
    """Return a figure and its axes, shape (n_rows, n_columns), with logarithmic x and room for a legend below."""
    size = (max(3.1 * n_columns, 6.4), height * n_rows + 0.6)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)
    for ax in axes.flat:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.grid(lw=0.3, color="0.8")
    return figure, axes


def line(ax, x, scores, style, label):
    """Draw the mean over trials of scores of shape (len(x), n_trials), and two standard errors, in a style of `looks`.

    If no score is negative, bars end at 0.
    """
    scores = np.asarray(scores, dtype=float).reshape(len(x), -1)
    mean, error = scores.mean(axis=1), 2 * standard_error(scores.T)
    bars = [np.minimum(error, mean) if (scores >= 0).all() else error, error]
    ax.errorbar(x, mean, bars, label=label, lw=1.4, ms=4.5, capsize=2, elinewidth=0.8, **look(style))


def curves(ax, x, result, title="", xlabel="", *, ticks=False):
    """Draw a line for each of {name: scores of shape (len(x), n_trials)}.

    With `ticks`, x is labelled at the measured values.
    """
    styles = looks(result)
    for name, scores in result.items():
        line(ax, x, scores, styles[name], name)
    if ticks:
        ax.set_xticks(x, [f"{tick / 1000:g}k" if tick >= 10000 else f"{tick:g}" for tick in x])
        ax.minorticks_off()
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(xlabel)


def both_scores(results, xs, votes, xlabel, **options):
    """Draw error rates above distances, one column per {name: scores of shape (len(x), n_trials, 2)} and its x."""
    figure, axes = panels(2, len(results))
    for row, metric in zip(axes, (ERROR_RATE, DISTANCE), strict=True):
        for ax, result, x, each in zip(row, results, xs, votes, strict=True):
            one = {name: scores[..., metric] for name, scores in result.items()}
            words = (each.title, "") if metric == ERROR_RATE else ("", xlabel)
            curves(ax, x, one, *words, **options)
    axes[0, 0].set_ylabel("error rate")
    axes[1, 0].set_ylabel("average Kendall tau")
    return figure, axes


def finish(figure, title, name, folder=None):
    """Add title and legend; save the picture if a folder is given."""
    entries = {}
    for ax in figure.axes:
        entries.update(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    columns = 2 if len(entries) == 4 and figure.get_figwidth() < 8 else 3 if len(entries) % 4 else 4
    look = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
    for ncols in range(columns, 0, -1):
        legend = figure.legend(entries.values(), entries, ncols=ncols, **look)
        if legend.get_window_extent().width <= figure.bbox.width or ncols == 1:
            break
        legend.remove()
    figure.suptitle(title, fontsize=11)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", dpi=200)


def _short(number):
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"


def table(title, *rows):
    """Print rows of words and numbers in columns aligned right; the first row is a header."""
    words = [[cell if isinstance(cell, str) else _short(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*words, strict=True)]
    print(title, *("  ".join(map(str.rjust, row, widths)) for row in words), sep="\n  ")


# Claims are checked on the measured numbers, so the printed results hold for the votes that were used. The verdicts
# are those of the page "Reproduction of five papers".

_FOUND = []


def claim(text, holds, evidence=""):
    """Print a claim and the number of measured settings where it held, and store it for `summary`.

    NaN in `holds` is a setting that the noise leaves undecided.
    """
    holds = np.atleast_1d(holds).astype(float)
    held, failed = np.count_nonzero(holds == 1), np.count_nonzero(holds == 0)
    words = "held" if held == holds.size else "in part" if held else "failed" if failed else "not enough power"
    settings = f", {held} of {holds.size}" if holds.size > 1 else ""
    if held + failed and (undecided := holds.size - held - failed):
        settings += f", {undecided} undecided"
    _FOUND.append((text, words + settings))
    print(f"* {text}\n  {words}{settings}{': ' + evidence if evidence else ''}")


def summary(width=76):
    """Print one table of all claims and results, and clear it, because a gallery runs many examples in one process."""
    for text, found in [("What is claimed", "What was found"), ("-" * width, "-" * 24), *_FOUND]:
        first, *more = textwrap.wrap(text, width)
        print(f"{first:{width}}  {found}", *more, sep="\n")
    _FOUND.clear()
