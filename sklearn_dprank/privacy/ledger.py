"""Ledger of the answers of one release, in exact fractions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction


class BudgetExhausted(RuntimeError):
    """Error of a request that the remaining budget does not cover.

    An adaptive rule catches it and uses its fallback.
    """


class Ledger:
    """Count of the answers given, against the answers planned.

    Parameters
    ----------
    allowance : dict of {object: (int, Fraction)}
        Number of planned answers and cost of one answer, for each kind of query.

    Examples
    --------
    >>> ledger = Ledger({"margin": (2, Fraction(1, 4))})
    >>> ledger.charge("margin"); ledger.charge("margin"); ledger.spent
    Fraction(1, 2)
    >>> ledger.charge("margin")
    Traceback (most recent call last):
    ...
    sklearn_dprank.privacy.ledger.BudgetExhausted: all 2 answers planned for 'margin' are given.
    """

    def __init__(self, allowance: Mapping[Hashable, tuple[int, Fraction]]) -> None:
        self._allowance = dict(allowance)
        self._given = dict.fromkeys(self._allowance, 0)

    @property
    def spent(self) -> Fraction:
        """Total cost of the answers given so far, as a Fraction."""
        return sum((self._given[kind] * Fraction(price) for kind, (_, price) in self._allowance.items()), Fraction(0))

    def charge(self, kind: Hashable) -> None:
        """Charge one answer of `kind`. Call this before the answer is computed.

        Raises
        ------
        BudgetExhausted
            If every answer planned for `kind` has been given.
        """
        given, planned = self._given.get(kind, 0), self._allowance.get(kind, (0, 0))[0]
        if not planned:
            raise BudgetExhausted(f"no answer was planned for {kind!r}; a rule declares in asks(n_items) what it asks.")
        if given >= planned:
            raise BudgetExhausted(f"all {planned} answers planned for {kind!r} are given.")
        self._given[kind] = given + 1
