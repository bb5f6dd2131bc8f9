"""Privacy budgets: releases, the account in memory or in a file, charges, and adaptive composition."""

from __future__ import annotations

import inspect
import json
import math
import os
import secrets
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from numbers import Real
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from scipy.special import expit, ndtri

from .._utils.checks import (
    changed_ballots,
    check_delta,
    check_epsilon,
    check_flag,
    check_number,
    refuse_unknown,
    safe_repr,
)
from .._utils.estimators import hand_over, own_copy
from .._utils.types import Amount, Neighboring
from .composition import Losses, gaussian_deltas, gaussian_epsilon
from .errors import BudgetExhausted
from .estimator_guarantees import guarantee_before, guarantee_of, is_forecast_proved, last_step, last_step_params
from .guarantee import PrivacyGuarantee
from .new_file import make_whole
from .rounding import rounded_down, rounded_up, smallest, sum_up

_Estimator = TypeVar("_Estimator")
#: Parameters of `fit` that `guarantee_before` accepts: it reads their public properties only.
_PUBLIC = ("voter_epsilon", "segments")
_STAYS = "This failed fit is still charged, because the failure may depend on the ballots."
_ONLY_IF_FIXED = (
    "if later releases, or their prices, were chosen after a look at earlier ones, the guarantee is that of the "
    "whole budget"
)
_SHARE = "keep it in a file, PrivacyBudget.open(path, ...), to share it."
_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)
_SLACK = 5e-11  # relative, of delta; half of the slack of `gaussian_sigma`, and far above rounding errors
_ALIKE = 1e-12  # relative; sums of floats may exceed a limit by this much
_LARGEST = 1e150  # limit on pure epsilons and on mu; above it, mu^2 overflows
_ROOM = 1e-9  # relative; error limit of a bisection, and of the inverse normal distribution
_RESERVE = 1e-8  # relative; what a stated limit leaves, so that a release of this size fits


class Terms(NamedTuple):
    """Terms of a budget; see `PrivacyBudget`."""

    epsilon: Any
    delta: Any = 0.0
    neighboring: str = "add_remove"
    basic_delta: Any = None
    simulation: bool = False

    def checked(self) -> Terms:
        """Return the same terms, as doubles rounded down; raise ValueError if one is invalid."""
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        changed_ballots(self.neighboring)
        check_number(self.basic_delta, "basic_delta", least=0, most=self.delta, optional=True)
        check_flag(self.simulation, "simulation")
        basic_delta = None if self.basic_delta is None else rounded_down(self.basic_delta)
        epsilon, delta = rounded_down(self.epsilon), rounded_down(self.delta)
        return Terms(epsilon, delta, self.neighboring, basic_delta, bool(self.simulation))


class Release(NamedTuple):
    """Entry of a budget; no field depends on a ballot.

    Attributes
    ----------
    when : datetime
        Time of the charge, before the ballots were read; UTC, whole seconds.
    what : str
        Short description of the release.
    guarantee : PrivacyGuarantee
        Guarantee that was charged.
    release_id : str or None
        The caller's identifier of the release, or None.
    """

    when: datetime
    what: str
    guarantee: PrivacyGuarantee
    release_id: str | None = None


class Remaining(NamedTuple):
    """Limits for one more release. Each limit is for one kind of release, which would use up the budget.

    Attributes
    ----------
    epsilon : float
        Limit for a pure release.
    mu : float
        Limit for a Gaussian release: sensitivity over standard deviation.
    basic_epsilon, basic_delta : float
        Limits for a release that is neither pure nor Gaussian.
    """

    epsilon: float
    mu: float
    basic_epsilon: float
    basic_delta: float

    def gaussian_epsilon(self, delta: float) -> float:
        """Return, up to rounding, the largest epsilon of one more Gaussian release with its own `delta`.

        Examples
        --------
        >>> from sklearn_dprank.privacy import PrivacyBudget
        >>> round(PrivacyBudget(1.0, 1e-6).remaining.gaussian_epsilon(1e-8), 3)
        1.22
        """
        by_sums = self.basic_epsilon if delta <= self.basic_delta else 0.0
        as_one_gaussian = gaussian_epsilon(delta, 1 / self.mu) * (1 - _RESERVE) if self.mu else 0.0
        return max(by_sums, as_one_gaussian)


class PrivacyBudget:
    """Privacy budget for more than one release about the same voters.

    Each release is charged before its ballots are read. A release that does not fit is refused. If a fit reveals more
    than was charged, the charge is raised, even beyond the budget.

    Parameters
    ----------
    epsilon : float
        Limit on the total privacy loss per ballot, in nats.
    delta : float, default=0.0
        Limit on the total delta.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. Under "replace", an "add_remove" release is charged as `PrivacyGuarantee.under_replace`
        states. Under "add_remove", a "replace" release is refused.
    basic_delta : float or None, default=None
        Part of delta for basic composition, where epsilons and deltas add up. Releases that are neither Gaussian nor
        pure, such as shuffle releases, need it. The rest is for Gaussian and pure releases, which compose more tightly.
        None decides at the first release: half of delta if it is pure, a tenth if it is Gaussian, and all of delta
        otherwise. It is 0 if the first release is Gaussian and needs all of delta.
    simulation : bool, default=False
        Whether to charge releases with a seed as if they had none. By default they are refused.

    Attributes
    ----------
    releases_ : tuple of Release
        One ``(when, what, guarantee, release_id)`` per charge: time (UTC, whole seconds), kind of estimator, guarantee,
        and the caller's identifier or None. It contains no ballots and no seed. The guarantee of a shuffle or secure
        aggregation release states `min_reports`, by default the number of voters; both are public in these models.
    spent_ : PrivacyGuarantee
        Joint guarantee of all charged releases.
    remaining : Remaining
        Limits for one more release: ``epsilon`` if it is pure, ``gaussian_epsilon(delta)`` if it is Gaussian, and
        ``basic_epsilon`` and ``basic_delta`` if it is neither.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    guarantee_of : Guarantee of a fitted estimator, pipeline or search.
    PrivacyGuarantee.compose : Joint guarantee of releases whose epsilons and deltas were fixed in advance.

    Notes
    -----
    .. rubric:: Privacy

    All releases charged to one budget are jointly (epsilon, delta)-private. You may choose a release and its epsilon
    after looking at earlier results. The releases fit if one of two conditions holds:

    - Their epsilons add up to at most epsilon, and their deltas to at most `basic_delta`.
    - All are Gaussian or pure, and together reveal no more than one Gaussian release of epsilon and the rest of delta.

    Sums may exceed a limit by one part in 10^12, because the double 0.1 is slightly above 0.1: ten of them exceed 1.

    `spent_` reports the smaller epsilon of the two conditions. If delta is not 0 and choices depended on earlier
    results, only the guarantee of the whole budget is proved. A caveat of `spent_` explains this. For pure releases
    with epsilons fixed in advance, `PrivacyGuarantee.compose` can state less, but only if it gets a `delta`.

    A failed or interrupted fit is still charged, because the failure may depend on the ballots. The budget counts only
    what is charged to it. It does not count another budget, a direct ``fit``, or an exact ``score`` of private ballots.
    For a voter with k ballots, epsilon is k times as large, and a positive delta more than k times as large.

    A budget in memory ends with its process. ``copy.copy`` returns another name of the same account. Such a budget
    cannot be deep-copied, pickled or used in a forked process, because two accounts would spend it twice. Processes can
    share a budget in a file (`open`).

    References
    ----------
    Rogers, Roth, Ullman and Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition"; Smith and
    Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy".

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.privacy import PrivacyBudget
    >>> votes = [[0, 1, 2]] * 100
    >>> budget = PrivacyBudget(epsilon=1.0)
    >>> budget.fit(DPBorda(epsilon=0.5), votes).consensus_
    array([0, 1, 2])
    >>> print(budget.spent_)
    epsilon = 0.5 (central, add_remove)
    >>> budget.fit(DPBorda(epsilon=0.75), votes)
    Traceback (most recent call last):
    ...
    sklearn_dprank.privacy.errors.BudgetExhausted: DPBorda asks for epsilon = 0.75 (central, add_remove), which does not
    fit: of epsilon = 1, 0.5 is spent. One more pure release may have epsilon = 0.5. Ask for less; ballots of these
    voters allow no more.
    >>> budget.remaining.epsilon
    0.5

    A hundred Gaussian releases:

    >>> budget = PrivacyBudget(epsilon=0.92, delta=1e-6)
    >>> daily = DPBorda(epsilon=0.1, delta=1e-8, noise="gaussian")
    >>> for _ in range(100):
    ...     _ = budget.fit(daily, votes)
    >>> round(budget.spent_.epsilon, 3), len(budget.releases_)
    (0.919, 100)
    """

    def __init__(
        self,
        epsilon: Amount,
        delta: Amount = 0.0,
        *,
        neighboring: Neighboring = "add_remove",
        basic_delta: Amount | None = None,
        simulation: bool = False,
    ) -> None:
        self._kept = Releases(None, Terms(epsilon, delta, neighboring, basic_delta, simulation).checked())

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        *,
        neighboring: Neighboring | None = None,
        basic_delta: Amount | None = None,
        simulation: bool | None = None,
    ) -> Self:
        """Return the budget in a file; create the file if it does not exist and `epsilon` is given.

        Every charge is on the disk before a ballot is read for it. Processes that share the file charge one after the
        other. Keep only one copy of the file, on a local disk. A second copy, or an old copy that is put back, spends
        the same budget twice.

        Parameters
        ----------
        path : str or path-like
            Path of the file, an SQLite database. It contains ``releases_``. The umask of the process determines who may
            read it.
        epsilon, delta, neighboring, basic_delta, simulation : optional
            Terms of a new budget, as for the class. For an existing file, terms that are given must equal those in the
            file.

        Returns
        -------
        PrivacyBudget
            The budget.

        Raises
        ------
        FileNotFoundError
            If the file does not exist and `epsilon` is not given.
        ValueError
            If a parameter is out of range or differs from the file. Also if the file is damaged, of another kind or of
            a later version.
        OSError
            If the file cannot be opened and written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from sklearn_dprank import DPBorda
        >>> from sklearn_dprank.privacy import PrivacyBudget
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "members.budget"
        ...     _ = PrivacyBudget.open(path, epsilon=1.0).fit(DPBorda(epsilon=0.25), [[0, 1, 2]] * 100)
        ...     PrivacyBudget.open(path).remaining.epsilon
        0.75
        """
        terms = Terms(epsilon, delta, neighboring, basic_delta, simulation)._asdict()  # type: ignore[arg-type]
        given: dict[str, Any] = {name: value for name, value in terms.items() if value is not None}
        new = None if epsilon is None else Terms(**given).checked()
        budget = cls.__new__(cls)
        budget._kept = Releases(path, new)
        for name, value in given.items():
            wanted = value if new is None else getattr(new, name)  # `new` is rounded down, as in the file
            if wanted != (there := getattr(budget._kept.terms, name)):
                raise ValueError(
                    f"the budget in {path} was opened with {name}={there!r}, got {wanted!r}; leave {name} out. What "
                    "voters were told cannot be changed."
                )
        return budget

    def fit(
        self, estimator: _Estimator, X: Any, y: None = None, *, release_id: str | None = None, **fit_params: Any
    ) -> _Estimator:
        """Charge the guarantee of a fit, then fit.

        The estimator is copied first. Another thread that changes or fits it changes neither the charge nor this fit.
        After the fit, its guarantee is compared with the charge: epsilon, delta, certificate, unit, neighbouring
        relation and trusted parties. If the fit revealed more, the charge is raised to that, even beyond the budget,
        and an error is raised. A subclass of an aggregator or a search must not override the methods that `fit` calls
        between ballots and release, such as ``read_ballots``, or ``guarantee_after``. If it states its guarantee by a
        ``guarantee_before`` of its own, that is not proved before the fit. Then all that is left is charged first, and
        the charge is settled after the fit. If the process ends before that, the whole budget is spent.

        Parameters
        ----------
        estimator : estimator
            An aggregator, or a Pipeline of transformers that read each ballot independently and an aggregator. Also
            `~sklearn_dprank.model_selection.PrivateSelection`, or a search whose ballots are declared public. Such a
            search costs no budget.
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots. The charge depends only on their public properties.
        y : None
            Ignored.
        release_id : str or None, default=None
            Identifier of this release. A later call with the same identifier is refused, even if the first fit failed.
            This also holds in other processes that share the file. A task that runs again therefore neither pays nor
            publishes twice.
        **fit_params : dict
            Parameters for the estimator's ``fit``. With metadata routing, use the names that the steps request.

        Returns
        -------
        estimator : estimator
            The same object, fitted.

        Raises
        ------
        BudgetExhausted
            If the release does not fit, or `release_id` is already charged. Then no budget is charged and no ballot is
            read.
        ValueError
            If the estimator has no privacy guarantee, or its guarantee cannot be known in advance. Also if it has a
            seed, unless the budget is a simulation. Errors of the estimator's own ``fit`` are raised unchanged, with a
            note that the release is still charged.
        RuntimeError
            If the fit revealed more than was charged before it. All that it revealed is charged. Also if the account
            could not be settled after the fit. In both cases, the estimator is not fitted.
        """
        own = own_copy(estimator)  # what is priced is what is fitted, whatever other threads do to the object
        last, given = last_step(own), last_step_params(own, fit_params)
        forecast = guarantee_before(own, X, **{name: given[name] for name in _PUBLIC if name in given})
        inspect.signature(own.fit).bind(X, y, **fit_params)  # raises before the charge, as `refuse_unknown` does
        known = inspect.signature(last.fit).parameters
        refuse_unknown(last, [name for name in given if name not in known])
        what, is_open = type(last).__name__, not is_forecast_proved(own)
        number = self._charge(forecast, what, release_id, is_open)
        try:
            own.fit(X, y, **fit_params)
            spent = guarantee_of(own)
        except BaseException as error:
            error.add_note(_STAYS)
            if forecast.epsilon == forecast.delta == 0 and not is_open:  # a search on public ballots
                hand_over(own, estimator)  # finished trials
            raise
        excess = in_excess(self._kept.terms, forecast, spent)
        if excess is not None or is_open:
            settled = in_terms(self._kept.terms, forecast) if excess is None else excess
            try:
                self._kept.amend(number, settled)
            except BaseException as error:
                stays = "an open charge, which leaves nothing" if is_open else "the smaller charge from before the fit"
                raise RuntimeError(
                    f"{what} revealed {spent}, and this could not be written ({error.__cause__ or error}). The account "
                    f"keeps {stays}. The estimator is not fitted. Restore the account before the next release."
                ) from error
        if excess is not None:
            raise RuntimeError(
                f"{what} was charged {forecast} before its fit, and its fit revealed more: {spent}. All of that is "
                "charged now, and the estimator is not fitted. Use an estimator that states its guarantee beforehand, "
                "in plan_for."
            )
        hand_over(own, estimator)
        return estimator

    def charge(self, guarantee: PrivacyGuarantee, what: str, *, release_id: str | None = None) -> None:
        """Charge a release that is made elsewhere. Call this before the release.

        Charge the reports of voters' clients once, before you request them. Aggregating them later (``fit_reports``)
        reveals no more. Charge a stream once, before its first period. The plan of an aggregator (``plan_for``)
        contains its guarantee.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            Guarantee of the release.
        what : str
            Short description of the release, for ``releases_``.
        release_id : str or None, default=None
            Identifier of the release, which can be charged only once; see `fit`.

        Raises
        ------
        BudgetExhausted
            If the release does not fit, or `release_id` is already charged. Then no budget is charged.
        ValueError
            If the guarantee is not private, or its neighbouring relation or unit does not fit the budget. Also if it
            has a seed, unless the budget is a simulation.

        Examples
        --------
        >>> from sklearn_dprank import LDPPairwise
        >>> from sklearn_dprank.privacy import PrivacyBudget
        >>> from sklearn_dprank.ballots.profile import Shape
        >>> budget = PrivacyBudget(epsilon=2.0, neighboring="replace")
        >>> _, plan = LDPPairwise(epsilon=1.0).plan_for(Shape(n_items=4))
        >>> budget.charge(plan.guarantee, "survey of May")
        >>> budget.releases_[0].what, budget.remaining.epsilon
        ('survey of May', 1.0)
        """
        if not isinstance(guarantee, PrivacyGuarantee):
            raise ValueError(f"guarantee must be a PrivacyGuarantee, got {type(guarantee).__name__}.")
        if not isinstance(what, str) or not what:
            raise ValueError(f"what must be a few words, got {type(what).__name__}.")
        self._charge(guarantee, what, release_id)

    def _charge(self, guarantee, what, release_id, is_open=False):
        """Charge a release, or all that is left for an open charge; return its number."""
        terms = self._kept.terms
        if release_id is not None:
            if not isinstance(release_id, str) or not release_id:
                raise ValueError(f"release_id must be None or a str that is not empty, got {safe_repr(release_id)}.")
            if release_id != release_id.encode("utf-8", "replace").decode("utf-8"):
                raise ValueError(f"release_id must be text that UTF-8 can store, got {ascii(release_id)[:200]}.")

        def decide(account, releases):
            earlier = [] if release_id is None else releases("WHERE release_id = ?", release_id)
            if earlier:
                raise BudgetExhausted(
                    f"release_id={release_id!r} was charged at {earlier[0].when.isoformat()} for {earlier[0].what}, so "
                    "it is not released again. Use the result of that call, or give another release another release_id."
                )
            if math.isinf(guarantee.epsilon):
                why = "; ".join([guarantee.how, *guarantee.caveats])
                raise ValueError(
                    f"{what} has no privacy guarantee ({why}), so no budget covers it. Use a private aggregator, "
                    "after transformers that read each ballot by itself. Choose one by PrivateSelection on private "
                    "ballots, and by a search with public_ballots=True on public ones."
                )
            if not (guarantee.certified or terms.simulation):
                raise ValueError(
                    f"{what} has a seed, or records those of its trials, so its releases are not private: it is a "
                    "simulation. Set random_state=None, or rehearse with PrivacyBudget(..., simulation=True)."
                )
            asked = in_terms(terms, guarantee)
            if asked.neighboring != terms.neighboring:
                raise ValueError(
                    f'{what} is private under neighboring="replace", and this budget needs "add_remove". Use an '
                    'estimator with neighboring="add_remove", or open the budget with neighboring="replace", which '
                    'takes both. The local and shuffle models have only "replace".'
                )
            if account.unit not in (None, asked.unit):
                raise ValueError(
                    f"{what} protects {asked.unit!r}, the releases before it {account.unit!r}; keep a budget for each."
                )
            if not account.with_one_more(asked).holds():
                raise BudgetExhausted(_refusal(terms, account, releases(), asked, what))
            if is_open:  # nothing proves the forecast, so all that is left is charged until the fit has ended
                unknown = PrivacyGuarantee.nothing("an open charge, of a fit that did not end or could not be settled")
                asked = replace(unknown, neighboring=asked.neighboring, unit=asked.unit)
            return Release(datetime.now(UTC).replace(microsecond=0), what, asked, release_id)

        return self._kept.add(decide)

    @property
    def releases_(self) -> tuple[Release, ...]:
        """All charged releases, oldest first."""
        return tuple(self._kept.releases())

    @property
    def spent_(self) -> PrivacyGuarantee:
        """Joint guarantee of all charged releases."""
        return spent_by(self._kept.terms, self._kept.releases())

    @property
    def remaining(self) -> Remaining:
        """Limits for one more release."""
        return self._kept.account().left()

    def __repr__(self) -> str:
        terms = ", ".join(f"{name}={value!r}" for name, value in self._kept.terms._asdict().items())
        return f"PrivacyBudget({terms})"


def _refusal(terms, account, releases, guarantee, what):
    """Return an error message with the request, the remaining budget and the remedy."""
    spent, left = spent_by(terms, releases), account.left()
    state = f"of epsilon = {terms.epsilon:g}, {spent.epsilon:.6g} is spent"
    if terms.delta:
        limits = f"of (epsilon, delta) = ({terms.epsilon:g}, {terms.delta:g})"
        state = f"{limits}, ({spent.epsilon:.6g}, {spent.delta:g}) is spent"
    may = f"One more pure release may have epsilon = {_shown(left.epsilon)}"
    may_ask = max(left.epsilon, left.mu, left.basic_epsilon) > 0
    remedy = f"{'Ask for less' if may_ask else 'Nothing is left'}; ballots of these voters allow no more."
    if guarantee.delta and not terms.delta:
        may += ", and none may have a delta, because the budget has none"
    elif 0 < guarantee.delta < 1 and not guarantee.losses.approximate:
        most = left.gaussian_epsilon(guarantee.delta)
        may += f", a Gaussian one with delta = {guarantee.delta:g} epsilon = {_shown(most)}"
    elif guarantee.delta:
        may += f", one of this kind epsilon = {_shown(left.basic_epsilon)} and delta = {_shown(left.basic_delta)}"
        remedy += " For another group, basic_delta keeps more of delta for this kind."
    return f"{what} asks for {guarantee}, which does not fit: {state}. {may}. {remedy}"


def _shown(left):
    """Return a number with six digits, rounded down, so that a request for it fits."""
    return f"{float(_SIX_DIGITS.create_decimal(Decimal(repr(left)))):g}"


def in_terms(terms: Terms, guarantee: PrivacyGuarantee) -> PrivacyGuarantee:
    """Return the guarantee under the neighbouring relation of a budget, if it is known."""
    return guarantee.under_replace() if terms.neighboring == "replace" else guarantee


def in_excess(terms: Terms, charged: PrivacyGuarantee, spent: PrivacyGuarantee) -> PrivacyGuarantee | None:
    """Return the guarantee to charge if a fit spent more than was charged before it, or None if it did not.

    `charged` is the guarantee before the fit, and `spent` the one after it. All of `spent` is charged, under the
    neighbouring relation of the budget, and never less than `charged`. This includes a fit that trusts a party that
    `charged` does not name, so that the account names this party. Epsilon is infinite if `spent` gives no bound there
    or has another unit. The same holds for a new seed in a budget that is not a simulation.
    """
    if spent == charged:
        return None
    # The account counts tighter losses of `charged`, if there are any. Then epsilon and delta alone prove nothing.
    # `replace` fills in the losses that amount to the stated epsilon and delta. With a seed, there is no account.
    only_stated = charged.losses == replace(charged, losses=None).losses or not charged.certified
    if (
        only_stated
        and spent.epsilon <= charged.epsilon
        and spent.delta <= charged.delta
        and (spent.neighboring, spent.unit) == (charged.neighboring, charged.unit)
        and spent.certified >= charged.certified
        and set(spent.parties) <= set(charged.parties)
    ):
        return None
    is_bounded = spent.unit == charged.unit and (spent.certified or not charged.certified or terms.simulation)
    if not is_bounded or spent.trust == "none" or math.isinf(spent.epsilon):
        return replace(PrivacyGuarantee.nothing(spent.how), neighboring=terms.neighboring, unit=charged.unit)
    before, after = in_terms(terms, charged), in_terms(terms, spent)
    if after.neighboring != terms.neighboring:
        return PrivacyGuarantee.nothing(spent.how)
    if after.epsilon >= before.epsilon and after.delta >= before.delta:
        return after
    return replace(after, epsilon=max(before.epsilon, after.epsilon), delta=max(before.delta, after.delta), losses=None)


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


# Limits for releases whose epsilon and delta depend on earlier results.
#
# `PrivacyGuarantee.compose` is for epsilons and deltas that are fixed in advance. If the next epsilon depends on
# earlier results, a bound on every path need not hold for all paths together. In an example with two kinds of coins,
# each path satisfies the optimal bound of Kairouz, Oh and Viswanath. All paths together have up to 2.2 times its delta.
# Tran, Koskela, Raisa and Honkela (2026) show that optimal bounds in general fail in this way. Two rules remain valid
# for adaptive choices:
#
# - *Sums.* The epsilons add up to at most epsilon. The deltas add up to at most the part of delta for this rule.
# - *One Gaussian.* The mu^2 of Gaussian releases add up to at most that of one Gaussian release of epsilon and of the
#   rest of delta. A pure release of epsilon counts as mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)). A Gaussian release of
#   this mu dominates randomised response of epsilon. If any release is neither Gaussian nor pure, this rule does not
#   hold.
#
# The releases fit if one of the two rules holds. The total delta is then the sum of the two parts:
#
# - If the first rule holds at the end, it held throughout, because sums only grow. These outcomes are also outcomes of
#   an analyst who stops before this rule is broken. Those with a loss above epsilon therefore have a probability of at
#   most the first part of delta.
# - In the same way, the second part of delta covers all outcomes at whose end only the second rule holds.
#
# Delta must therefore be divided before the first release. If each rule had all of delta, it would be spent twice.


def account_of(terms: Terms, releases: Iterable[Release]) -> Account:
    """Return the account of the charged releases."""
    account = Account(terms.epsilon, terms.delta, terms.basic_delta)
    for release in releases:
        account = account.with_one_more(release.guarantee)
    return account


class _State(NamedTuple):
    """Sums of epsilon and delta and the mu of one Gaussian, rounded up, and the part of delta for each rule."""

    epsilon: float
    delta: float
    mu: float
    basic_delta: float
    gaussian_delta: float


@dataclass(frozen=True)
class Account:
    """Limits of a budget, and exact sums over the releases charged to it, which take the same time for any number.

    `epsilon`, `delta` and `basic_delta` have the meaning of the parameters of `PrivacyBudget`; the first release with a
    positive epsilon or delta decides `basic_delta` if it is None. `sum_epsilon` is inf if a release has no bound.
    `sum_mu_squared` counts pure releases as Gaussian ones, and is inf if a release is neither. `unit` is that of all.

    References
    ----------
    Smith and Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy"; Rogers, Roth, Ullman and
    Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition"; Tran, Koskela, Raisa and Honkela (2026),
    "f-differential privacy filters: validity and approximate solutions".
    """

    epsilon: float
    delta: float
    basic_delta: float | None = None
    sum_epsilon: Fraction | float = Fraction(0)
    sum_delta: Fraction = Fraction(0)
    sum_mu_squared: Fraction | float = Fraction(0)
    unit: str | None = None

    def with_one_more(self, guarantee: PrivacyGuarantee) -> Account:
        """Return the account after one more release."""
        losses, basic_delta = guarantee.losses or Losses(), self.basic_delta
        pure = [*losses.pure, *(epsilon for epsilon, _ in losses.approximate)]
        mu_squared: Fraction | float = math.inf  # of a release that is neither Gaussian nor pure
        if not any(delta for _, delta in losses.approximate) and max([losses.mu_squared, *pure]) <= _LARGEST:
            mu_squared = sum((Fraction(mu_of_pure(epsilon) ** 2) for epsilon in pure), Fraction(losses.mu_squared))
        if basic_delta is None and (guarantee.delta or guarantee.epsilon):
            basic_delta = self.delta * (0.1 if guarantee.delta else 0.5)  # of a Gaussian, or of a pure release
        after = replace(
            self,
            basic_delta=basic_delta,
            sum_epsilon=self.sum_epsilon + (math.inf if math.isinf(guarantee.epsilon) else Fraction(guarantee.epsilon)),
            sum_delta=self.sum_delta + Fraction(guarantee.delta),
            sum_mu_squared=self.sum_mu_squared + mu_squared,
            unit=self.unit or guarantee.unit,
        )
        if self.basic_delta is None and guarantee.delta:  # the first release; is it Gaussian, and does it fit?
            state = after._state
            if not _is_one_gaussian(state.mu, self.epsilon, state.gaussian_delta):
                return replace(after, basic_delta=self.delta if math.isinf(state.mu) else 0.0)
        return after

    def holds(self) -> bool:
        """Return whether the releases fit, even if they were chosen adaptively."""
        state = self._state
        by_sums = _within(state.epsilon, self.epsilon) and _within(state.delta, state.basic_delta)
        return by_sums or _is_one_gaussian(state.mu, self.epsilon, state.gaussian_delta)

    def spent(self) -> tuple[float, float]:
        """Return the smaller epsilon of the two rules, with its delta."""
        epsilon, delta, mu, basic_delta, gaussian_delta = self._state
        least = math.inf
        if mu < math.inf and gaussian_delta:
            least = smallest(lambda epsilon: _is_one_gaussian(mu, epsilon, gaussian_delta), from_zero=True)
            if _is_one_gaussian(mu, self.epsilon, gaussian_delta):  # the search rounds up
                least = min(least, self.epsilon)
        by_sums = (epsilon, delta) if _within(delta, basic_delta) else (math.inf, 0.0)
        return min(by_sums, (least, gaussian_delta))

    def left(self) -> Remaining:
        """Return the limits for one more release."""
        fresh = self.basic_delta is None
        epsilon, delta, mu, basic_delta, gaussian_delta = self._state
        if fresh:  # the first release decides how delta is divided
            basic_delta = gaussian_delta = self.delta
        basic = 0.0, 0.0
        if _within(epsilon, self.epsilon) and _within(delta, basic_delta):
            basic = _unspent(self.epsilon, epsilon), _unspent(basic_delta, delta)
        if math.isinf(mu) or not gaussian_delta:
            return Remaining(basic[0], 0.0, *basic)
        most = _largest(lambda mu: _is_one_gaussian(mu, self.epsilon, gaussian_delta))
        mu_left = math.sqrt(max(0.0, (most - mu) * (most + mu))) * (1 - _ROOM)  # the squares of mu add up
        # A first pure release leaves less than `gaussian_delta` to the Gaussian rule, so only its epsilon counts.
        pure = _largest(lambda epsilon: mu_of_pure(epsilon) <= mu_left) if mu_left and not fresh else 0.0
        return Remaining(max(basic[0], pure), mu_left, *basic)

    @property
    def _state(self) -> _State:
        basic_delta = self.delta * 0.5 if self.basic_delta is None else self.basic_delta
        gaussian_delta = rounded_down(Fraction(self.delta) - Fraction(basic_delta))
        mu = math.sqrt(rounded_up(self.sum_mu_squared)) * (1 + 2.0**-50)
        return _State(rounded_up(self.sum_epsilon), rounded_up(self.sum_delta), mu, basic_delta, gaussian_delta)


def _within(total, most):
    """Return whether a rounded-up sum is within a limit, with tolerance: ten doubles 0.1 add up to more than 1."""
    return total <= most * (1 + _ALIKE)


def _unspent(most, spent):
    """Return the difference of limit and spent, to 12 digits if that much can still be spent."""
    if math.isinf(spent):
        return 0.0
    left = max(Fraction(0), Fraction(most) - Fraction(spent))
    short = float(f"{float(left):.12g}")
    return short if _within(sum_up([spent, short]), most) else rounded_down(left)


def _is_one_gaussian(mu, epsilon, delta):
    """Return whether one Gaussian release of mu is (epsilon, delta)-private."""
    return delta > 0 and mu < math.inf and bool(gaussian_deltas(np.array([epsilon]), mu)[0] <= delta * (1 - _SLACK))


@lru_cache(maxsize=4096)
def mu_of_pure(epsilon: float) -> float:
    """Return the mu of a Gaussian release that dominates every pure release of epsilon, rounded up.

    Returns
    -------
    float
        2 Phi^-1(e^epsilon / (1 + e^epsilon)), at most epsilon sqrt(pi / 2). The Gaussian trade-off curve is convex and
        passes through the corner of the curve of randomised response.

    Examples
    --------
    >>> round(mu_of_pure(1.0), 4)
    1.232
    """
    linear = epsilon * math.sqrt(math.pi / 2) * (1 + 2.0**-50)
    return linear if epsilon < 1e-3 else min(linear, float(-2 * ndtri(expit(-epsilon))) * (1 + _ROOM))


def _largest(fits: Callable[[float], bool]) -> float:
    """Return, up to rounding, the largest positive number for which the monotone `fits` holds; it holds there."""
    return _LARGEST if fits(_LARGEST) else 1 / smallest(lambda inverse: fits(1 / inverse))


# Terms and charged releases in SQLite, so that charges survive restarts and processes can share them.
#
# A charge is one transaction. It takes the only write lock before it reads the account, and holds it until the charge
# is on the disk (``BEGIN IMMEDIATE``, ``synchronous = EXTRA``). Two processes therefore charge one after the other, and
# a killed process has charged completely or not at all. A new file is created under another name and then linked, so a
# file is never incomplete.
#
# Every write, a charge or an amendment, adds a row with a random token to the table ``writes``. An open budget
# remembers the last write that it read, and the running sums after it. If the file no longer has this write, it is an
# old copy. If the file has later writes, of other processes, the sums are computed again.

_OURS = 0x44505242  # "DPRB", SQLite's application id for the kind of file
_VERSION = 3
_WAIT = 60.0  # seconds to wait for other processes' charges, which take milliseconds
_TABLES = (
    "CREATE TABLE terms (epsilon TEXT NOT NULL, delta TEXT NOT NULL, neighboring TEXT NOT NULL, basic_delta TEXT, "
    "simulation INTEGER NOT NULL, identity TEXT NOT NULL)",
    "CREATE TABLE releases (number INTEGER PRIMARY KEY, charged TEXT NOT NULL, what TEXT NOT NULL, "
    "guarantee TEXT NOT NULL, release_id TEXT)",
    "CREATE INDEX identifiers ON releases (release_id)",
    "CREATE TABLE writes (number INTEGER PRIMARY KEY, release INTEGER NOT NULL, token TEXT NOT NULL)",
    f"PRAGMA application_id = {_OURS}",
    f"PRAGMA user_version = {_VERSION}",
)
_WRITE = "INSERT INTO writes (release, token) VALUES (?, ?)"
_RESTORE = "restore the newest copy and charge again what was released since. A new budget would forget what was spent."


class Releases:
    """Terms and charged releases of one budget, in an SQLite file, or in memory if `path` is None.

    `terms` are for a new file, if there is none; None never creates one. `seen` holds the identity, the terms and what
    a pickled object had read: the number and the token of the last write, and the account after it. None accepts any
    budget. Threads may share an object, and processes a file.

    Raises
    ------
    FileNotFoundError
        If the file does not exist and `terms` is None.
    ValueError
        If the file is not a budget, is damaged, has a later version, or is not the budget that was `seen`.
    TimeoutError
        If other processes hold the lock too long.
    """

    def __init__(self, path: str | os.PathLike[str] | None, terms: Terms | None, seen: Any = None) -> None:
        self.path = None if path is None else Path(path).absolute()
        known: Any = seen or ("", terms, None)
        self._identity, self.terms, self._seen = known
        if self.path is None:
            self._lock, self._process = Lock(), os.getpid()
            self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._memory.close)
            _fill(terms, self._memory)
        elif not self.path.exists():
            if terms is None:
                missing = "does not exist; check the path of the budget, or state the epsilon of a new one."
                raise self._unusable(missing, FileNotFoundError)
            try:
                make_whole(self.path, partial(_fill, terms))
            except (sqlite3.Error, OSError) as error:
                raise self._explained(error) from error
        self._locked(self._check)

    def __reduce__(self):
        if self.path is None:
            raise TypeError(
                f"a budget in memory cannot be copied or pickled, for two copies would spend it twice; {_SHARE}"
            )
        return type(self), (self.path, None, (self._identity, self.terms, self._seen))

    def releases(self) -> list[Release]:
        """Return all charged releases."""
        return self._locked(lambda connection, account: self._found(connection))

    def account(self) -> Account:
        """Return the account of all charged releases."""
        return self._locked(lambda connection, account: account)

    def add(self, decide: Callable[[Account, Callable[..., list[Release]]], Release]) -> int:
        """Charge ``decide(account, releases)``; return its number, for `amend`.

        ``releases(condition, *values)`` returns the releases that meet an SQL condition, or all. If `decide` raises, no
        release is charged.
        """

        def insert(connection, account):
            release = decide(account, partial(self._found, connection))
            values = release.when.isoformat(), release.what, guarantee_as_text(release.guarantee), release.release_id
            command = "INSERT INTO releases (charged, what, guarantee, release_id) VALUES (?, ?, ?, ?)"
            number = connection.execute(command, values).lastrowid
            token = secrets.token_hex()
            write = (connection.execute(_WRITE, (number, token)).lastrowid, token)
            return number, (write, account.with_one_more(release.guarantee))

        number, self._seen = self._locked(insert)  # after the commit
        return number

    def amend(self, number: int, guarantee: PrivacyGuarantee) -> None:
        """Replace the charged guarantee of a release."""

        def update(connection, account):
            command = "UPDATE releases SET guarantee = ? WHERE number = ?"
            connection.execute(command, (guarantee_as_text(guarantee), number))
            connection.execute(_WRITE, (number, secrets.token_hex()))

        self._locked(update)
        self.account()  # remember this write, to know an old copy

    def _check(self, connection, account):
        """Raise ValueError if pages or rows of the file are damaged or lost."""
        if (found := connection.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise self._unusable(f"is damaged ({found}); {_RESTORE}")
        counts = "SELECT (SELECT count(*) FROM releases), max(release), count(DISTINCT release) FROM writes"
        n_releases, last, written = connection.execute(counts).fetchone()
        if (n_releases, last or 0) != (written, written):  # numbers have no gaps, and each has a write
            raise self._unusable(f"is damaged (releases are missing); {_RESTORE}")

    def _read(self, connection) -> Account:
        """Return the account in the file; raise ValueError if it is another file, or an old copy of this one."""
        rows = connection.execute("SELECT epsilon, delta, neighboring, basic_delta, simulation, identity FROM terms")
        try:
            ((epsilon, delta, neighboring, basic_delta, simulation, identity),) = rows.fetchall()
            kept = None if basic_delta is None else float.fromhex(basic_delta)
            terms = Terms(float.fromhex(epsilon), float.fromhex(delta), neighboring, kept, bool(simulation)).checked()
            if not identity:
                raise ValueError("no identity")
        except (TypeError, ValueError, OverflowError) as error:
            raise self._unusable(f"is damaged (its terms: {str(error)[:200]}); {_RESTORE}") from error
        if not self._identity:
            self.terms, self._identity = terms, identity
        if (terms, identity) != (self.terms, self._identity):
            raise self._unusable(
                "is not the budget that was opened: that one was deleted, moved or replaced. Put it back; open a new "
                "one for other voters only."
            )
        write, account = self._seen or ((0, ""), account_of(terms, []))
        # The last write that this object has read, if it is still there, and the last one of the file.
        same = connection.execute("SELECT number, token FROM writes WHERE number = ?", (write[0],)).fetchone()
        last = connection.execute("SELECT number, token FROM writes ORDER BY number DESC LIMIT 1").fetchone()
        if write[0] and write != same:
            raise self._unusable(
                "is an old copy of the budget that was opened: charges are missing. Put the latest back."
            )
        if last is not None and write != last:
            write, account = last, account_of(terms, self._found(connection))
        self._seen = write, account
        return account

    def _found(self, connection, condition="", *values):
        """Return the releases in a file that meet an SQL condition, oldest first."""
        command = f"SELECT charged, what, guarantee, release_id FROM releases {condition} ORDER BY number"
        try:
            return [
                Release(datetime.fromisoformat(charged).astimezone(UTC), what, guarantee_from_text(text), release_id)
                for charged, what, text, release_id in connection.execute(command, values).fetchall()  # no open cursor
            ]
        except (TypeError, ValueError, OverflowError) as error:
            raise self._unusable(f"is damaged (a release: {str(error)[:200]}); {_RESTORE}") from error

    def _locked(self, work: Callable[[sqlite3.Connection, Account], Any]) -> Any:
        """Return ``work(connection, account)`` of one transaction that holds the write lock; commit if it returns.

        It is not a generator, because the traceback of an interrupt would keep a generator's locks.
        """
        if self.path is None and os.getpid() != self._process:
            raise RuntimeError(f"a budget in memory belongs to the process that made it; {_SHARE}")
        try:
            if self.path is None:
                held: Any = self._lock
                connection = self._memory
            else:
                address = f"{self.path.as_uri()}?mode=rw"
                connection = sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)
                held = closing(connection)
            with held:
                connection.rollback()  # of a charge that was interrupted
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("BEGIN IMMEDIATE")
                questions = "SELECT count(*) FROM sqlite_master", "PRAGMA application_id", "PRAGMA user_version"
                tables, kind, version = (connection.execute(each).fetchone()[0] for each in questions)
                if not tables:
                    raise self._unusable(f"is empty; {_RESTORE} If no release was ever charged to it, delete it.")
                if kind != _OURS:
                    raise self._unusable(
                        "is an SQLite file, but not a budget; give the path of one that PrivacyBudget.open made."
                    )
                if version != _VERSION:
                    known = f"has version {version} of the format, and this package knows {_VERSION}"
                    raise self._unusable(f"{known}; install its version.")
                result = work(connection, self._read(connection))
                connection.execute("COMMIT")  # if an exception skips this line, the next transaction rolls back
                return result
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter if a message quotes damaged text
            raise self._explained(error) from error

    def _unusable(self, defect, kind=ValueError):
        """Return an error that states a defect, and the budget spent at the last read, if there was one."""
        last = ""
        if self._seen is not None and self._seen[0][0]:
            epsilon, delta = self._seen[1].spent()
            last = f" Spent when it was last read: epsilon = {epsilon:g} and delta = {delta:g}."
        return kind(f"{self.path} {defect}{last}")

    def _explained(self, error):
        """Return an exception that explains an error of SQLite or of the system, and the remedy."""
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return TimeoutError(f"other processes held {self.path} for {_WAIT:g} s; nothing was charged, try again.")
        outside = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR", "SQLITE_FULL")
        if isinstance(error, OSError) or name.startswith(outside):
            step = "made" if isinstance(error, OSError) else "opened and written"
            return self._unusable(f"cannot be {step} ({error}); no result is released.", OSError)
        return self._unusable(f"is no budget, or damaged ({error}); {_RESTORE}")


def _fill(terms, connection):
    """Create the tables of a new budget."""
    for command in _TABLES:
        connection.execute(command)
    epsilon, delta, basic_delta = map(_plain, (terms.epsilon, terms.delta, terms.basic_delta))
    row = epsilon, delta, terms.neighboring, basic_delta, int(terms.simulation), secrets.token_hex()
    connection.execute("INSERT INTO terms VALUES (?, ?, ?, ?, ?, ?)", row)


def guarantee_as_text(guarantee: PrivacyGuarantee) -> str:
    """Return a guarantee as JSON, with lossless hexadecimal floats.

    Examples
    --------
    >>> one = PrivacyGuarantee(0.1, 0.0, "central", "add_remove", "discrete Laplace noise")
    >>> guarantee_from_text(guarantee_as_text(one)) == one
    True
    """
    return json.dumps({field.name: _plain(getattr(guarantee, field.name)) for field in fields(guarantee)})


@lru_cache(maxsize=4096)
def guarantee_from_text(text: str) -> PrivacyGuarantee:
    """Return the guarantee in a text of `guarantee_as_text`; raise ValueError if it is not one."""
    try:
        stored = json.loads(text)
        mu_squared, pure, approximate = stored.pop("losses")
        losses = Losses(
            float.fromhex(mu_squared),
            tuple(float.fromhex(epsilon) for epsilon in pure),
            tuple((float.fromhex(epsilon), float.fromhex(delta)) for epsilon, delta in approximate),
        )
        numbers: dict[str, Any] = {name: float.fromhex(stored.pop(name)) for name in ("epsilon", "delta")}
        texts = {"caveats": tuple(stored["caveats"]), "whom": tuple(map(tuple, stored["whom"]))}
        return PrivacyGuarantee(**stored | texts, **numbers, losses=losses)
    except (AttributeError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"no guarantee: {error}") from error


def _plain(value):
    """Return a value for JSON: numbers as hexadecimal floats, which lose no digit; fractions are rounded up before."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Real):
        return rounded_up(value).hex()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
