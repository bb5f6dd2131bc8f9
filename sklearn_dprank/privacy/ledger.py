"""The budget of one release, in exact fractions."""

from collections.abc import Hashable, Mapping
from fractions import Fraction


class BudgetExhausted(RuntimeError):
    """No answer is left to pay for: an adaptive rule catches it and falls back."""


class Ledger:
    """Counts the answers given against the answers planned.

    Parameters
    ----------
    allowance : dict of {object: (int, Fraction)}
        For each kind of question, how many answers were planned and what one costs.

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
        """What the answers given so far cost, as a Fraction."""
        return sum((self._given[kind] * Fraction(price) for kind, (_, price) in self._allowance.items()), Fraction(0))

    def charge(self, kind: Hashable) -> None:
        """Pay for one answer of `kind`, before it is computed.

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
