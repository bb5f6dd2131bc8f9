"""Decisions of a privacy budget: whether one more release fits, what is spent, and what remains."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context, Decimal
from threading import Lock
from typing import NamedTuple

from ..._utils.checks import safe_repr
from ..composition import Losses
from ..guarantee import PrivacyGuarantee
from ..ledger import BudgetExhausted
from .adaptive import Account, Totals
from .releases import Release, Terms

_ONLY_IF_FIXED = (
    "if later releases, or their prices, were chosen after a look at earlier ones, the guarantee is that of the "
    "whole budget"
)
_SHARE = "keep it in a file, PrivacyBudget.open(path, ...), to share it."
_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)


class Before(NamedTuple):
    """What a budget reads of the charged releases to decide on one more."""

    account: Account
    #: Return the release with this identifier, or None.
    find: Callable[[str], Release | None]
    #: Return all releases, for a message.
    releases: Callable[[], Sequence[Release]]


class InMemory:
    """Terms and releases of one budget in this process; threads may share it."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._releases: list[Release] = []
        self._by_id: dict[str, Release] = {}
        self._account = account_of(terms, [])
        self._lock, self._process = Lock(), os.getpid()

    def releases(self) -> list[Release]:
        """Return all charged releases."""
        self._refuse_fork()
        return list(self._releases)

    def account(self) -> Account:
        """Return the account of all charged releases."""
        self._refuse_fork()
        return self._account

    def add(self, decide: Callable[[Before], Release]) -> int:
        """Charge ``decide(what was charged before)``; return its number, for `amend`.

        If `decide` raises, no release is charged.
        """
        self._refuse_fork()
        with self._lock:
            release = decide(Before(self._account, self._by_id.get, self.releases))
            self._account = self._account.with_one_more(release.guarantee)
            self._releases.append(release)
            if release.release_id is not None:
                self._by_id[release.release_id] = release
            return len(self._releases) - 1

    def amend(self, number: int, guarantee: PrivacyGuarantee) -> None:
        """Replace the charged guarantee of a release."""
        self._refuse_fork()
        with self._lock:
            # Both guarantees count until the account is computed again: an interrupt leaves no charge too small.
            self._account = self._account.with_one_more(guarantee)
            self._releases[number] = self._releases[number]._replace(guarantee=guarantee)
            self._account = account_of(self.terms, self._releases)

    def _refuse_fork(self):
        if os.getpid() != self._process:
            raise RuntimeError(f"a budget in memory belongs to the process that made it; {_SHARE}")

    def __reduce__(self):
        raise TypeError(
            f"a budget in memory cannot be copied or pickled, for two copies would spend it twice; {_SHARE}"
        )


def charged(
    terms: Terms, before: Before, guarantee: PrivacyGuarantee, what: str, release_id: str | None = None
) -> Release:
    """Return the new entry of the account for one more release.

    Raises
    ------
    BudgetExhausted
        If the release does not fit, or `release_id` is already charged.
    ValueError
        If no budget with these terms can cover the guarantee.
    """
    _refuse_repeated(before.find, release_id)
    _refuse_not_private(terms, guarantee, what)
    guarantee = in_terms(terms, guarantee)
    if guarantee.neighboring != terms.neighboring:
        raise ValueError(
            f'{what} is private under neighboring="replace", which states no guarantee under the "add_remove" '
            'of this budget; use an estimator with neighboring="add_remove", or open the budget with '
            'neighboring="replace", which takes both. (In the local and shuffle models there is only the latter.)'
        )
    unit = before.account.totals.unit
    if unit not in (None, guarantee.unit):
        raise ValueError(
            f"{what} protects {guarantee.unit!r}, the releases before it {unit!r}; keep a budget for each."
        )
    if not before.account.with_one_more(guarantee).holds():
        raise BudgetExhausted(_refusal(terms, before, guarantee, what))
    return Release.now(what, guarantee, release_id)


def in_terms(terms: Terms, guarantee: PrivacyGuarantee) -> PrivacyGuarantee:
    """Return the guarantee under the neighbouring relation of a budget, if it is known."""
    return guarantee.under_replace() if terms.neighboring == "replace" else guarantee


def open_charge(guarantee: PrivacyGuarantee) -> PrivacyGuarantee:
    """Return the charge while a fit runs whose guarantee nothing proves: all that is left."""
    unknown = PrivacyGuarantee.nothing("an open charge, of a fit that did not end or could not be settled")
    return replace(unknown, neighboring=guarantee.neighboring, unit=guarantee.unit)


def in_excess(terms: Terms, charged: PrivacyGuarantee, spent: PrivacyGuarantee) -> PrivacyGuarantee | None:
    """Return the guarantee to charge if a fit spent more than was charged before it, or None if it did not.

    `charged` is the guarantee before the fit, and `spent` the one after it. All of `spent` is charged, under the
    neighbouring relation of the budget, and never less than `charged`. This includes a fit that trusts a party that
    `charged` does not name, so that the account names this party. Epsilon is infinite if `spent` gives no bound there
    or has another unit. The same holds for a new seed in a budget that is not a simulation.
    """
    if spent == charged or (_within_stated(charged, spent) and _alike(charged, spent)):
        return None
    bounds = spent.unit == charged.unit and (spent.certified or not charged.certified or terms.simulation)
    if not bounds or spent.trust == "none" or math.isinf(spent.epsilon):
        return replace(PrivacyGuarantee.nothing(spent.how), neighboring=terms.neighboring, unit=charged.unit)
    before, after = in_terms(terms, charged), in_terms(terms, spent)
    if after.neighboring != terms.neighboring:
        return PrivacyGuarantee.nothing(spent.how)
    if after.epsilon >= before.epsilon and after.delta >= before.delta:
        return after
    return replace(after, epsilon=max(before.epsilon, after.epsilon), delta=max(before.delta, after.delta), losses=None)


def _alike(charged, spent):
    """Return whether neighbours and unit are the same, and `spent` adds no seed and no trusted party."""
    same = (spent.neighboring, spent.unit) == (charged.neighboring, charged.unit)
    return same and spent.certified >= charged.certified and set(spent.parties) <= set(charged.parties)


def _within_stated(charged, spent):
    """Return whether epsilon and delta of `charged` cover `spent`, and `charged` uses no tighter losses than these."""
    only_stated = charged.losses == Losses.stated(charged.epsilon, charged.delta) or not charged.certified
    return only_stated and spent.epsilon <= charged.epsilon and spent.delta <= charged.delta


def account_of(terms: Terms, releases: Iterable[Release]) -> Account:
    """Return the account of the charged releases."""
    totals = Totals()
    for release in releases:
        totals = totals.plus(release.guarantee)
    return Account(terms.epsilon, terms.delta, terms.basic_delta, totals)


def spent_by(terms: Terms, releases: Sequence[Release]) -> PrivacyGuarantee:
    """Return the joint guarantee of the charged releases."""
    if not releases:
        return PrivacyGuarantee(0.0, 0.0, "central", terms.neighboring, "nothing is released")
    if len(releases) == 1:
        return releases[0].guarantee
    epsilon, delta = account_of(terms, releases).spent()
    total = PrivacyGuarantee.compose([replace(release.guarantee, losses=None) for release in releases])
    known = Losses.together(release.guarantee.losses or Losses() for release in releases)
    caveats = (*total.caveats, _ONLY_IF_FIXED) if delta else total.caveats  # sums of epsilons hold for adaptive choices
    return replace(
        total,
        epsilon=epsilon,
        delta=delta,
        how=f"{len(releases)} releases, charged to one budget",
        caveats=caveats,
        losses=None if known.pure or known.approximate else known,
    )


def _refuse_repeated(find, release_id):
    if release_id is None:
        return
    if not isinstance(release_id, str) or not release_id:
        raise ValueError(f"release_id must be None or a str that is not empty, got {safe_repr(release_id)}.")
    if release_id != release_id.encode("utf-8", "replace").decode("utf-8"):
        raise ValueError(f"release_id must be text that UTF-8 can store, got {ascii(release_id)[:200]}.")
    if (release := find(release_id)) is not None:
        raise BudgetExhausted(
            f"release_id={release_id!r} was charged at {release.when.isoformat()} for {release.what}, so it is not "
            "released again. Use the result of that call, or give another release another release_id."
        )


def _refuse_not_private(terms, guarantee, what):
    if math.isinf(guarantee.epsilon):
        why = "; ".join([guarantee.how, *guarantee.caveats])
        raise ValueError(
            f"{what} has no privacy guarantee ({why}), so no budget covers it. Use a private aggregator, "
            "after transformers that read each ballot by itself; to choose one on private ballots, PrivateSelection; "
            "and where the ballots are public, a search with public_ballots=True."
        )
    if not (guarantee.certified or terms.simulation):
        raise ValueError(
            f"{what} has a seed, or records those of its trials, so its releases are not private: it is a "
            "simulation. Set random_state=None, or rehearse with PrivacyBudget(..., simulation=True)."
        )


def _refusal(terms, before, guarantee, what):
    """Return an error message with the request, the remaining budget and the remedy."""
    left, known = before.account.left(), guarantee.losses or Losses()
    may = f"One more pure release may have epsilon = {_shown(left.epsilon)}"
    remedy = (
        "Ask for less; ballots" if max(left.epsilon, left.mu, left.basic_epsilon) > 0 else "Nothing is left; ballots"
    )
    remedy += " of these voters allow no more."
    if guarantee.delta and not terms.delta:
        may += ", and none may have a delta, because the budget has none"
    elif 0 < guarantee.delta < 1 and not known.approximate:
        most = left.gaussian_epsilon(guarantee.delta)
        may += f", a Gaussian one with delta = {guarantee.delta:g} epsilon = {_shown(most)}"
    elif guarantee.delta:
        may += f", one of this kind epsilon = {_shown(left.basic_epsilon)} and delta = {_shown(left.basic_delta)}"
        remedy += " For another group, basic_delta keeps more of delta for this kind."
    of = _of(terms, spent_by(terms, before.releases()))
    return f"{what} asks for {guarantee}, which does not fit: {of}. {may}. {remedy}"


def _of(terms, spent):
    if not terms.delta:
        return f"of epsilon = {terms.epsilon:g}, {spent.epsilon:.6g} is spent"
    return (
        f"of (epsilon, delta) = ({terms.epsilon:g}, {terms.delta:g}), ({spent.epsilon:.6g}, {spent.delta:g}) is spent"
    )


def _shown(left):
    """Return a number with six digits, rounded down, so that a request for it fits."""
    return f"{float(_SIX_DIGITS.create_decimal(Decimal(repr(left)))):g}"
