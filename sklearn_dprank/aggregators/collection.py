"""Mixin for data collection from voters' devices: protocols, and fits on reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any, Self

from .._utils.checks import check_epsilon, check_whole, safe_repr
from .._utils.fitted import draft_of, swap_fitted
from .._utils.scikit_learn import available_if
from .._utils.types import Items, Message, RandomState
from ..ballots.names import checked_names
from ..ballots.profile import Shape
from ..collection.client import Allowance, Device
from ..collection.curator import ReportCounts

#: Method to call instead, by the ability of the channel.
_INSTEAD = {
    "collects_reports": "each device reports once: fit_reports(reports, items=...)",
    "asks_questions": "devices are asked in rounds: fit_interactive(ask, items=..., n_voters=...)",
    "collects_sums": "servers add up what devices send: fit_sums(sums, items=...)",
    "has_periods": "ballots come period by period: partial_fit(X)",
}


def channel_can(*abilities):
    """Return a check for `available_if` that the estimator's channel has one of these abilities."""

    def check(estimator):
        try:
            channel, _ = estimator._compose()
        except (TypeError, ValueError):
            return False
        if any(getattr(channel, ability, False) for ability in abilities):
            return True
        there = [text for ability, text in _INSTEAD.items() if getattr(channel, ability, False)]
        instead = "; ".join(there) or "a curator holds all ballots: fit(X)"
        raise AttributeError(f"with {type(channel).__name__}, {instead}.")

    return check


class CollectionMixin:
    """Mixin for data collection from voters' devices; each method exists only if the channel supports it."""

    _compose: Callable[[], tuple[Any, Any]]
    _validate_params: Callable[[], None]
    _planned: Callable[..., Any]
    _set_items: Callable[..., None]
    _release: Callable[..., Self]

    @available_if(channel_can("collects_reports", "asks_questions", "collects_sums"))
    def client(
        self,
        items: Items,
        random_state: RandomState = None,
        *,
        epsilon: float | None = None,
        max_epsilon: float | None = None,
        max_delta: float = 1e-6,
        allowance: Allowance | None = None,
    ) -> Device:
        """Return the device of one voter, which reads only the public protocol.

        Parameters
        ----------
        items : sequence of str or of int, or int
            Item names in the order of a ballot's columns, or the number of items.
        random_state : None, int, Generator or RandomState, default=None
            Source of the voter's randomness. None uses the operating system's secure source. Any other value is for
            simulations only.
        epsilon : float or None, default=None
            This voter's own epsilon, one of those that the curator passes to `fit_reports`. None is the estimator's
            epsilon.
        max_epsilon : float or None, default=None
            Limit on the local epsilon that the voter accepts; see `~sklearn_dprank.collection.Device`.
        max_delta : float, default=1e-6
            Limit on the delta that the voter accepts.
        allowance : Allowance or None, default=None
            The voter's budget over all protocols, to which the device is charged.

        Returns
        -------
        Device
            Client of the voter. ``device.report(ballot)`` returns its only report. If the curator asks questions,
            ``device.answer(question, ballot)`` returns an answer. On other computers, use ``Device(protocol)``.

        Raises
        ------
        ValueError
            If a parameter is invalid, or devices cannot send what the rule asks for.
        RefusedProtocol
            If the protocol exceeds `max_epsilon` or `max_delta`.
        BudgetExhausted
            If the allowance does not cover the protocol.
        """
        plan = self._plan_of_devices(items, epsilon)
        return Device(
            plan.protocol,
            max_epsilon=max_epsilon,
            max_delta=max_delta,
            allowance=allowance,
            random_state=random_state,
            randomizer=plan.client,
        )

    @available_if(channel_can("collects_reports", "asks_questions", "collects_sums"))
    def protocol(self, items: Items, *, epsilon: float | None = None) -> dict[str, Any]:
        """Return the public protocol that devices follow, as JSON-serialisable data.

        Parameters
        ----------
        items : sequence of str or of int, or int
            Item names, or the number of items.
        epsilon : float or None, default=None
            Epsilon of the voters who follow this protocol, if voters have their own. None is the estimator's epsilon.

        Returns
        -------
        dict
            Protocol with the item names in order, and the local epsilon of everything that one device sends.

        Raises
        ------
        ValueError
            If a parameter is invalid, or devices cannot send what the rule asks for.
        """
        return self._plan_of_devices(items, epsilon).protocol

    def _plan_of_devices(self, items, epsilon):
        self._validate_params()
        if epsilon is not None:
            check_epsilon(epsilon)
        names, n_items = _named(items)
        return _for_devices(self._planned(Shape(n_items, None, None if epsilon is None else [epsilon]), names))[1]

    @available_if(channel_can("collects_reports"))
    def fit_reports(
        self,
        reports: Iterable[Message] | ReportCounts,
        *,
        items: Items,
        epsilons: Sequence[float] | None = None,
    ) -> Self:
        """Aggregate reports from voters' devices.

        Parameters
        ----------
        reports : iterable of dict, str or bytes, ReportCounts, or dask collection
            Reports as JSON objects, parsed or not. An open file has one report per line. Reports are read once, as a
            stream. Reports that do not follow this estimator's protocol for these items are left out and counted in
            ``reports_refused_``.

            Or the counts of all reports, which `count_reports` returns. Or a dask collection: a bag of reports, or a
            list of ``dask.delayed`` parts. Each part is an iterable of reports or a `ReportCounts`. Dask's active
            scheduler counts each part in a worker, and only counts leave it. The fit is the same, to the last bit, as
            on all reports in order.

            In the local model, pass one report per voter. The collector of the reports must drop further reports of a
            voter.

            In the shuffle model, pass the messages of one or more batches that a `~sklearn_dprank.collection.Shuffler`
            released. Messages contain neither a voter nor a number, so a message that is passed twice counts twice. A
            voter's whole submission, as the device wrote it, must go to the shuffler only. If one party is both
            shuffler and curator, it may pass submissions here, and each counts once. Voters then have only the local
            epsilon against this party.
        items : sequence of str or of int, or int
            Item names in the order that devices used, or the number of items.
        epsilons : sequence of float or None, default=None
            Public grid of epsilons, if voters have their own. None is the estimator's epsilon for all voters.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is invalid, no report is accepted, or too few are accepted to hide each voter. Also if counts
            belong to another protocol.
        """
        names, n_items, planned = self._plan_of_reports(items, epsilons)
        return self._fitted_on(reports, names, n_items, planned)

    @available_if(channel_can("collects_reports"))
    def count_reports(
        self,
        reports: Iterable[Message] | ReportCounts,
        *,
        items: Items,
        epsilons: Sequence[float] | None = None,
    ) -> ReportCounts:
        """Count some of the reports, for `fit_reports` on the sum of all counts.

        Parameters
        ----------
        reports : iterable of dict, str or bytes, ReportCounts, or dask collection
            Reports, as for `fit_reports`. None of them has to be valid.
        items : sequence of str or of int, or int
            As for `fit_reports`.
        epsilons : sequence of float or None, default=None
            As for `fit_reports`.

        Returns
        -------
        ReportCounts
            Counts, which add up with ``+``. They are not a release: `fit_reports` checks ``min_reports`` on the sum.

        Raises
        ------
        ValueError
            If a parameter is invalid, or counts belong to another protocol.
        """
        _, plan = self._plan_of_reports(items, epsilons)[2]
        if plan.reader is None:
            raise ValueError(f"{type(self).__name__} cannot count reports in parts; call fit_reports on all of them.")
        return plan.reader(reports)

    def _plan_of_reports(self, items, epsilons):
        """Return (names or None, number of items, (rule, plan))."""
        self._validate_params()
        if epsilons is not None:
            epsilons = _grid(epsilons)
        names, n_items = _named(items)
        return names, n_items, self._planned(Shape(n_items, None, epsilons), names)

    @available_if(channel_can("collects_sums"))
    def fit_sums(self, sums: Iterable[Message], *, items: Items) -> Self:
        """Aggregate the sums of servers that added up the shares of voters' devices.

        Parameters
        ----------
        sums : iterable of dict, str or bytes
            One message per server (`~sklearn_dprank.collection.AggregationServer.release`), as JSON objects, parsed or
            not. Messages that do not follow this estimator's protocol for these items are left out and counted in
            ``reports_refused_``. ``reports_accepted_`` is the number of voters in the sum.
        items : sequence of str or of int, or int
            Item names in the order that devices used, or the number of items.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is invalid, the sum of a server is missing, or the sums cover different voters or fewer than
            `min_reports`.
        """
        self._validate_params()
        names, n_items = _named(items)
        return self._fitted_on(sums, names, n_items, _for_devices(self._planned(Shape(n_items), names)))

    @available_if(channel_can("asks_questions"))
    def fit_interactive(
        self,
        ask: Callable[[dict[str, Any]], Iterable[Message | tuple[int, Message]]],
        *,
        items: Items,
        n_voters: int,
    ) -> Self:
        """Aggregate answers from voters' devices to questions that may depend on earlier answers.

        Parameters
        ----------
        ask : callable
            ``ask(question)`` delivers a JSON-serialisable question to the voters in ``question["voters"]`` (0 to
            n_voters - 1). It returns an iterable of their reports, in any order. At most as many reports as voters were
            asked are accepted. Each report contains a random identifier, so a repeated report counts once. To
            limit each voter to one report, even if a voter writes several, return pairs (voter, report).

            In secure aggregation, the question is for all voters and for the servers. Return one message per server, or
            an empty list if the servers released none.
        items : sequence of str or of int, or int
            Item names in the order that devices use, or the number of items.
        n_voters : int
            Number of voters, which is public.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is invalid, n_voters is not a positive integer, or no answer is accepted.
        BudgetExhausted
            If the servers released no sum for a question that the rule cannot do without.

        Warns
        -----
        UserWarning
            If the servers released no sum for a question. The rule continues without it if it can.
        """
        self._validate_params()
        check_whole(n_voters, "n_voters")
        if not callable(ask):
            raise ValueError(f"ask must be callable, ask(question), got {type(ask).__name__}.")
        names, n_items = _named(items)
        planned = _for_devices(self._planned(Shape(n_items, int(n_voters)), names))
        return self._fitted_on(ask, names, n_items, planned)

    def _fitted_on(self, voters, names, n_items, planned):
        """Return this estimator, fitted on messages from voters' devices."""
        draft = draft_of(self)
        draft._set_items(names, n_items)
        swap_fitted(draft._release(voters, names, *planned), self)
        return self


def _for_devices(planned):
    """Return (rule, plan); raise ValueError if devices cannot send what the rule asks for."""
    if planned[1].protocol is None:
        raise ValueError(
            f"voters' devices cannot send what this rule asks for: {planned[1].unsent}. Only fit can simulate it."
        )
    return planned


def _grid(epsilons):
    """Return the epsilons that voters may have, as a list; raise ValueError if one is invalid or the list is empty."""
    if isinstance(epsilons, (str, Real)) or not isinstance(epsilons, Iterable) or not (grid := list(epsilons)):
        raise ValueError(
            f"epsilons must list at least one epsilon, such as epsilons=[1.0, 2.0], got {safe_repr(epsilons)}."
        )
    for epsilon in grid:
        check_epsilon(epsilon, "epsilons")
    return grid


def _named(items):
    """Return (names or None, number of items)."""
    names = None if isinstance(items, Integral) else checked_names(items, "items")
    n_items = int(items) if names is None else len(names)
    if n_items < 2:
        raise ValueError(f"items must name at least two items, got {n_items}.")
    return names, n_items
