"""
Votes for the reproductions
===========================

Real rankings where the environment variable SKLEARN_DPRANK_DATA names a folder that holds the PrefLib files, Mallows
rankings of the same size elsewhere: none of the files may come with the package.
"""

import argparse
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sklearn_dprank.datasets import make_mallows, read_preflib

# The file, its numbers of voters and items, and the Mallows phi whose rankings are as far from their centre
# as the voters of the file are from their Kemeny optimum.
_FILES = {
    "TurkDots": ("00024-00000001.soc", 795, 4, 0.77),
    "TurkPuzzle": ("00025-00000001.soc", 793, 4, 0.73),
    "SUSHI": ("sushi.soc", 5000, 10, 0.79),
}


class Votes(NamedTuple):
    """Ballots and what to call them: `title` on pictures and in tables."""

    title: str
    ballots: np.ndarray


def real(name):
    """Return the rankings called TurkDots, TurkPuzzle or SUSHI, or Mallows rankings in their place."""
    file, n_voters, n_items, phi = _FILES[name]
    path = _folder() / file
    if path.is_file():
        return Votes(name, read_preflib(path).data)
    return Votes(f"Mallows in place of {name}", make_mallows(n_voters, n_items, phi, random_state=1))


def mallows(n_voters, n_items, theta, seed=0):
    """Return Mallows rankings by the papers' theta, which is 1 - phi; the centre is random."""
    return Votes(f"Mallows θ={theta:g}, m={n_items}", make_mallows(n_voters, n_items, 1 - theta, random_state=seed))


def some(votes, n_voters, seed=0):
    """Return randomly chosen voters."""
    chosen = np.random.default_rng(seed).permutation(len(votes.ballots))[:n_voters]
    return Votes(votes.title, votes.ballots[chosen])


def announcement():
    """Return which votes are used, in a sentence."""
    missing = [name for name, (file, *_) in _FILES.items() if not (_folder() / file).is_file()]
    if not missing:
        return f"Real rankings ({', '.join(_FILES)}) are read from SKLEARN_DPRANK_DATA."
    return (
        f"No files for {', '.join(missing)} (SKLEARN_DPRANK_DATA names no folder that holds them): "
        "Mallows rankings of the same size and spread stand in."
    )


def arguments():
    """Return what a shell asked for: ``full`` (the paper's settings) and ``pictures`` (a folder, or None)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="the paper's own settings; takes many minutes")
    parser.add_argument("--pictures", type=Path, help="folder to save the pictures in")
    return parser.parse_args()


def _folder():
    return Path(os.environ.get("SKLEARN_DPRANK_DATA") or os.devnull)
