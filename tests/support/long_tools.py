"""Profiles of generated comparisons and ratings."""

from __future__ import annotations

import numpy as np

from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_comparisons


def compared(persons, first, second, outcome, n_items, max_weight=1):
    """The profile of comparisons, whose outcome is 1 if the first item won, -1 if the second did, and 0 for a tie."""
    won = np.select([np.asarray(outcome) > 0, np.asarray(outcome) < 0], ["first", "second"], "tie")
    log = {"first": np.asarray(first), "second": np.asarray(second), "won": won, "person": np.asarray(persons)}
    return Profile.from_comparisons(
        log, "first", "second", outcome="won", person="person", items=list(range(n_items)), max_weight=max_weight
    )


def compared_by(persons, n_items=3):
    """The profile of persons, each a list of comparisons [first, second, outcome] in the form of devices."""
    rows = [(person, first, second, won) for person, own in enumerate(persons) for first, second, won in own]
    person, first, second, won = zip(*rows, strict=True)
    outcome = [0 if each is None else 1 if each else -1 for each in won]
    return compared(person, first, second, outcome, n_items)


def rated(persons, items, values, n_items):
    """The profile of ratings, larger is better."""
    return Profile.from_long(None, persons, items, rating=values, items=list(range(n_items)))


def make_votes(n_items, n_persons, mean, rng, *, matched=False, **laws):
    """Return (strengths, persons, first, second, outcome) of generated comparisons; three of five are `matched`."""
    laws = {"comparisons_per_person": mean, "matched": 0.6 * matched, **laws}
    votes, strengths = make_comparisons(n_persons, n_items, **laws, random_state=rng)
    outcome = (votes["winner"] == "first").astype(int) - (votes["winner"] == "second")
    return strengths, votes["person"], votes["first"], votes["second"], outcome


def of_catalogue(form, n_items):
    """A profile of comparisons, ratings or lists on the first 12 of so many items; some persons list more than 5."""
    rng = np.random.default_rng(0)
    persons, first = rng.integers(0, 30, 400), rng.integers(0, 12, 400)
    second = (first + rng.integers(1, 12, 400)) % 12
    if form == "comparisons":
        return compared(persons, first, second, rng.integers(-1, 2, 400), n_items, max_weight=2.5)
    if form == "lists":
        return Profile.from_orders(np.column_stack([first, second]), items=range(n_items), person=persons)
    ratings = rng.integers(0, 5, 400)
    return Profile.from_long(None, persons, first, rating=ratings, items=range(n_items), max_listed=5)
