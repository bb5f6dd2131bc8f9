"""Profiles of generated comparisons and ratings."""

from __future__ import annotations

import numpy as np

from sklearn_dprank.ballots import Profile


def compared(persons, first, second, outcome, n_items, max_weight=1):
    """The profile of comparisons, whose outcome is 1 if the first item won, -1 if the second did, and 0 for a tie."""
    won = np.select([np.asarray(outcome) > 0, np.asarray(outcome) < 0], ["first", "second"], "tie")
    log = {"first": np.asarray(first), "second": np.asarray(second), "won": won, "person": np.asarray(persons)}
    return Profile.from_comparisons(
        log, "first", "second", outcome="won", person="person", items=list(range(n_items)), max_weight=max_weight
    )


def rated(persons, items, values, n_items):
    """The profile of ratings, larger is better."""
    return Profile.from_long(None, persons, items, rating=values, items=list(range(n_items)))


def make_votes(n_items, n_persons, mean, rng, *, matched=False, even=False, ties=0.2):
    """Return (strengths, persons, first, second, outcome) of generated comparisons.

    Activity has a heavy tail, and items are shown as by Zipf's law, in an order that is unrelated to their strengths.
    With `matched`, three of five second items are among the six nearest in strength.
    """
    strengths = rng.normal(size=n_items)
    activity = np.maximum(1, np.rint(mean * np.exp(1.2 * rng.normal(size=n_persons) - 0.72))).astype(int)
    persons = np.repeat(np.arange(n_persons), activity)
    shown = np.ones(n_items) if even else 1 / (1 + rng.permutation(n_items))
    first, second = rng.choice(n_items, size=(2, len(persons)), p=shown / shown.sum())
    if matched:
        order = np.argsort(strengths)
        place = np.argsort(order)
        near = rng.random(len(persons)) < 0.6
        steps = rng.integers(1, 4, size=len(persons)) * rng.choice([-1, 1], size=len(persons))
        second = np.where(near, order[np.clip(place[first] + steps, 0, n_items - 1)], second)
    kept = first != second
    persons, first, second = persons[kept], first[kept], second[kept]
    wins = rng.random(len(persons)) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcome = np.where(rng.random(len(persons)) < ties, 0, np.where(wins, 1, -1))
    return strengths, persons, first, second, outcome
