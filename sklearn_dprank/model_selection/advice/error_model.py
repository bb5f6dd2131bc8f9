"""What is known of the voters, and so which errors are to be expected, and which mechanism is preferred."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .curves import expected

#: What voters disagree on where nobody says: the error that is given, the range, and what mechanisms are chosen by.
REFERENCE = 0.35
PLAUSIBLE = (0.1, 0.2, 0.28, 0.35, 0.42, 0.45)
JUDGED = (0.2, 0.28, 0.35, 0.42)
#: Guesses that can be made, and how far they may be off.
LEAST_GUESS, LARGEST_GUESS, SLACK = 0.05, 0.48, 0.05
#: Of a mechanism's error: one that costs more besides must have no more. That is delta, a release in rounds, or to
#: draw an order nearly by chance.
WORTH_MORE = 0.95


@dataclass(frozen=True)
class Alternative:
    """An estimator that was considered, and its error.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with all parameters set.
    error : float
        As in `Recommendation`.
    error_range : tuple of float
        As in `Recommendation`.
    """

    estimator: Any
    error: float
    error_range: tuple[float, float]


class Considered(NamedTuple):
    """An alternative, its mean error over the electorates that are thought of, and how much it costs besides."""

    alternative: Alternative
    judged: float
    costs: int


@dataclass(frozen=True)
class Outlook:
    """Which errors to expect.

    Parameters
    ----------
    n_items : int
        Number of items.
    disagreement : float or None
        A guess of how often voters contradict their centre.
    k : int or None
        None: errors are excess errors. Else they are shares of the best k that are missed.
    """

    n_items: int
    disagreement: float | None = None
    k: int | None = None

    def consider(self, estimator: Any, family: str, signal: float, costs: int = 0) -> Considered:
        """Return an estimator with the errors of its family at a signal."""
        guess = self.disagreement
        judged: tuple[float, ...]
        plausible: tuple[float, ...]
        if guess is None:
            middle, judged, plausible = REFERENCE, JUDGED, PLAUSIBLE
        else:
            middle = guess
            judged = plausible = max(LEAST_GUESS, guess - SLACK), guess, min(LARGEST_GUESS, guess + SLACK)
        found = {level: expected(family, self.n_items, signal, level, self.k) for level in {*judged, *plausible}}
        least, largest = (
            min(found[level].least for level in plausible),
            max(found[level].largest for level in plausible),
        )
        mean = sum(found[level].mean for level in judged) / len(judged)
        return Considered(Alternative(estimator, found[middle].mean, (least, largest)), mean, costs)


def preferred(considered: list[Considered]) -> Considered:
    """Return that of the least judged error, the first of several; delta, or rounds, only where they pay."""
    return min(considered, key=lambda each: each.judged * WORTH_MORE**-each.costs)
