"""Persons and weights: how much each ballot counts, so that no person counts for more than a public bound."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_number, check_whole, safe_repr
from .reading import MAX_ITEMS, as_column, is_frame, plain_list, refuse_missing_as_text

MaxWeight: TypeAlias = float | Literal["auto"]
#: Weights are integers, in grid steps of 1 / WEIGHT_GRID. Persons with up to 16 equal ballots share the grid exactly.
WEIGHT_GRID = 720720
BALLOT = "one ballot"
COMPARISON = "one comparison"
PERSON = "all ballots of one person"
ROWS = "all rows of one person"
COMPARISONS = "all comparisons of one person"
#: Units if it is public who compared which items.
OUTCOME = "the outcome of one comparison"
OUTCOMES = "the outcomes of all comparisons of one person"
#: Units that cover everything a person gave.
OF_PERSONS = (PERSON, ROWS, COMPARISONS, OUTCOMES)
#: Classes of `persons_by_weight`: below 2, 2 to 4, and so on. With "auto", bounds are 1, 2, 4, ..., 2**(N_CLASSES - 1).
N_CLASSES = 12
_LARGEST = 2**61  # bound on sums of all counts of pairs, which are 64-bit integers


class WeightBound(NamedTuple):
    """Public facts about weighted ballots.

    Attributes
    ----------
    unit : str
        What the guarantee protects: "all ballots of one person", for example, or "one ballot" if each row is another
        person.
    most : int or None
        Largest total weight of one person, in grid steps of 1 / 720720: floor(720720 `max_weight`). None if each fit
        chooses it privately (``max_weight="auto"``).
    max_listed : int or None, default=None
        Largest number of items that a ballot lists with its full weight; None is any number.
    form : {"ballots", "lists", "private", "comparisons"}, default="ballots"
        Whether ballots are kept as a table, as rows of lists, or as comparisons (see
        `~sklearn_dprank.ballots.rows.Compared`). "private" is for lists whose items are private too.
    """

    unit: str
    most: int | None
    max_listed: int | None = None
    form: Literal["ballots", "lists", "private", "comparisons"] = "ballots"

    @property
    def kept(self) -> int:
        """Largest total weight of one person in a profile.

        With "auto", it is twice the start of the last class, so that a person who is scaled down to it stays there.
        """
        return 2**N_CLASSES * WEIGHT_GRID if self.most is None else self.most

    @property
    def max_weight(self) -> float | None:
        """Bound in votes, rounded down to the grid; None if each fit chooses it."""
        return None if self.most is None else self.most / WEIGHT_GRID

    def chosen(self, max_weight: int) -> WeightBound:
        """Return the bound after a choice of `max_weight`."""
        return self._replace(most=max_weight * WEIGHT_GRID)


class Weights(NamedTuple):
    """Weights of ballots, which are not public.

    Attributes
    ----------
    each : ndarray of int64, shape (n_voters,)
        Weight of each ballot, in grid steps of 1 / 720720. Those of one person add up to at most `WeightBound.kept`.
    persons : ndarray of int, shape (n_voters,), or None
        Number of the person who cast each ballot. None if each ballot has its own person.
    """

    each: NDArray[np.int64]
    persons: NDArray[np.intp] | None


def weight_bound(
    groups: Any, sample_weight: Any, max_weight: MaxWeight, max_listed: int | None = None
) -> WeightBound | None:
    """Return the bound of ballots with these arguments, or None if they have no weights.

    Raise ValueError if `max_weight` or `max_listed` is out of range, or `max_weight` has no effect.
    """
    check_whole(max_listed, "max_listed", 2, optional=True)
    max_listed = None if max_listed is None else int(max_listed)
    if groups is None and sample_weight is None:
        if max_weight != 1:
            raise ValueError(
                f"max_weight={safe_repr(max_weight)} is for ballots with groups or sample_weight; give one of them."
            )
        return None if max_listed is None else WeightBound(BALLOT, WEIGHT_GRID, max_listed)
    unit = BALLOT if groups is None else PERSON
    if isinstance(max_weight, str):
        if max_weight != "auto":
            raise ValueError(f"max_weight must be a number or 'auto', got {safe_repr(max_weight)}.")
        return WeightBound(unit, None, max_listed)
    check_number(max_weight, "max_weight", above=0)
    most = math.floor(Fraction(float(max_weight)) * WEIGHT_GRID)
    if not 1 <= most < 2**53:
        raise ValueError(f"max_weight must be above 1/{WEIGHT_GRID} and at most 1e10, got {max_weight!r}.")
    return WeightBound(unit, most, max_listed)


def refuse_large(n_voters: int, n_items: int, bound: WeightBound | None) -> None:
    """Raise ValueError if counts of so many ballots with weights may exceed 64-bit integers."""
    if bound is not None and n_voters * bound.kept * min(n_items, bound.max_listed or n_items) ** 2 >= _LARGEST:
        auto = "='auto', which may be 2048," if bound.most is None else ""
        auto += "" if bound.max_listed is None else " or max_listed"
        raise ValueError(
            f"max_weight{auto} is too large for so many ballots and items: sums would exceed 64-bit integers. Give a "
            "smaller max_weight, or a smaller max_listed if ballots list few of the items."
        )


def weights_of(n_voters: int, groups: Any, sample_weight: Any, most: int) -> Weights:
    """Return the weights of ballots, clipped so that those of one person add up to at most `most`.

    Raise ValueError if the groups or weights are not one valid value for each ballot. No message shows a value.
    """
    persons = None if groups is None else person_numbers(groups, n_voters)
    weight = np.ones(n_voters) if sample_weight is None else as_column(sample_weight, "sample_weight", n_voters)
    each = clipped(weight, np.arange(n_voters) if persons is None else persons, most)
    return Weights(each, persons)


def clipped(weight: NDArray[np.float64], persons: NDArray[np.intp], most: int) -> NDArray[np.int64]:
    """Return weights in grid steps of 1 / 720720, rounded down; those of each person add up to at most `most`.

    Let w be a person's weights and s their sum. A ballot gets floor(720720 w) if 720720 s <= most, and
    floor(most w / s) otherwise. Weights are taken relative to the person's largest one, so that s does not overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.weights import clipped
    >>> clipped(np.array([1.0, 1.0, 1.0, 0.5]), np.array([0, 0, 0, 1]), 720720)
    array([240240, 240240, 240240, 360360])
    """
    n_persons = int(persons.max(initial=-1)) + 1
    largest, total = np.zeros(n_persons), np.zeros(n_persons)
    np.maximum.at(largest, persons, weight)
    largest[largest == 0] = 1.0
    share = weight / largest[persons]
    np.add.at(total, persons, share)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = largest * WEIGHT_GRID * total > most
        steps = np.where(beyond[persons], most * share / total[persons], WEIGHT_GRID * weight)
    each = np.floor(steps).astype(np.int64)
    whole = np.zeros(n_persons, dtype=np.int64)
    np.add.at(whole, persons, each)
    for person in np.flatnonzero(whole > most):  # rounding errors of doubles; the heaviest ballot loses the excess
        rows = np.flatnonzero(persons == person)
        each[rows[np.argmax(each[rows])]] -= whole[person] - most
    return each


def shortened(each: NDArray[np.int64], n_listed: NDArray[Any], max_listed: int | None) -> NDArray[np.int64]:
    """Return the weights with which ballots count in pairs of items, where long ballots count less.

    `n_listed` is the number of items on each ballot. A ballot with weight w and K > k = `max_listed` items gets floor(w
    u / D), with D = 720720 and u = floor(D k (k - 1) / (K (K - 1))). A pair of its items is in this share of its
    subsets of k items. So it counts at most as much as the mean of w ballots that list k items each.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.weights import shortened
    >>> shortened(np.array([720720, 720720]), np.array([2, 3]), 2)
    array([720720, 240240])
    """
    if max_listed is None:
        return each
    most = min(max_listed, MAX_ITEMS)
    counted = np.maximum(n_listed.astype(np.int64), most)
    share = WEIGHT_GRID * most * (most - 1) // (counted * (counted - 1))
    votes, rest = np.divmod(each, WEIGHT_GRID)  # the product of both would exceed 64 bits
    return votes * share + rest * share // WEIGHT_GRID


def reduced(weights: Weights, most: int) -> Weights:
    """Return weights scaled down so that those of one person add up to at most `most`, and rounded down.

    `weights` are those of a profile with ``max_weight="auto"``, and `most` is at most 2048 x 720720, so that products
    fit in 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.weights import Weights, reduced
    >>> each = np.array([720720, 720720, 720720, 360360])
    >>> reduced(Weights(each, np.array([0, 0, 0, 1])), 2 * 720720).each
    array([480480, 480480, 480480, 360360])
    """
    each, persons = weights
    total = np.maximum(_totals(weights), most)
    return Weights(each * most // (total if persons is None else total[persons]), persons)


def persons_by_weight(weights: Weights) -> NDArray[np.int64]:
    """Return the number of persons by total weight: positive and below 2, 2 to 4, ..., and 2048 and more.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.weights import Weights, persons_by_weight
    >>> persons_by_weight(Weights(np.array([720720] * 4), np.array([0, 0, 0, 1]))).tolist()
    [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    total = _totals(weights)
    edges = WEIGHT_GRID * 2 ** np.arange(1, N_CLASSES)
    return np.bincount(np.searchsorted(edges, total[total > 0], side="right"), minlength=N_CLASSES)


def _totals(weights):
    """Return the total weight of each person; 0 for a number that no ballot has."""
    if weights.persons is None:
        return weights.each
    total = np.zeros(weights.persons.max(initial=-1) + 1, dtype=np.int64)
    np.add.at(total, weights.persons, weights.each)
    return total


def person_numbers(groups: Any, n_voters: int) -> NDArray[np.intp]:
    """Return a number for each person's id; equal numbers are equal ids, and no two ids are merged.

    Raise ValueError unless `groups` has one id for each ballot, all text (compared in the form NFC, without blanks
    around it) or all whole numbers.
    """
    if isinstance(groups, (str, bytes, Mapping, set, frozenset)) or is_frame(groups):
        raise ValueError(f"groups must list one person id for each ballot, got a {type(groups).__name__}.")
    refuse_missing_as_text(groups, "groups")
    ids = plain_list(groups)
    if len(ids) != n_voters:
        raise ValueError("groups must hold one person id for each ballot, and has another length.")
    whole = all(isinstance(one, Integral) and not isinstance(one, bool) for one in ids)
    if not whole and not all(isinstance(one, str) for one in ids):
        raise ValueError(
            "groups must hold person ids that are all text or all whole numbers, without missing values. Floats would "
            "merge large ids; read ids as text, for example by pandas.read_csv(path, dtype={'person': str})."
        )
    numbers: dict[Any, int] = {}
    ids = ids if whole else [unicodedata.normalize("NFC", one).strip() for one in ids]
    if "" in ids:
        raise ValueError("groups must have a person id for each ballot, and one is blank; leave out such ballots.")
    return np.array([numbers.setdefault(one, len(numbers)) for one in ids], dtype=np.intp)
