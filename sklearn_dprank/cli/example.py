"""Simulated votes for commands without a file."""

from __future__ import annotations

from ..ballots.profile import Profile

_DRINKS = ["tea", "coffee", "water", "juice", "milk", "cocoa", "mate", "lemonade", "cider", "kefir"]


def simulated(n_items: int, phi: float) -> Profile:
    """Return 1,000 simulated votes over the first drinks; a larger dispersion `phi` means more disagreement."""
    from ..datasets import make_mallows  # only commands without a file need it

    votes = make_mallows(n_voters=1000, n_items=n_items, phi=phi, random_state=1)
    return Profile.from_rankings(votes, items=_DRINKS[:n_items], keep="positions")
