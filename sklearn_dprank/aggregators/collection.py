"""What every aggregator does with voters in the field: a protocol for their devices, and fits on what they send."""

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any, Self

from .._utils.checks import check_epsilon, check_whole, shown
from .._utils.fitted import draft_of, publish
from .._utils.scikit_learn import available_if
from .._utils.types import Items, Message, RandomState
from ..ballots.names import checked_names
from ..ballots.profile import Shape
from ..collection.client import Allowance, Device

#: What else to call, by what a channel can do.
_INSTEAD = {
    "collects_reports": "each device reports once: fit_reports(reports, items=...)",
    "asks_questions": "devices are asked in rounds: fit_interactive(ask, items=..., n_voters=...)",
    "collects_sums": "servers add up what devices send: fit_sums(sums, items=...)",
    "has_periods": "ballots come period by period: partial_fit(X)",
}


def channel_can(*abilities):
    """Return a check for `available_if`: that the estimator's channel has one of these abilities.

    Where it has none, an AttributeError says what there is instead; scikit-learn raises its own from it.
    """

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


class Field:
    """The part of an aggregator that works without ballots; each method is there if the channel has voters answer."""

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
        """Return one voter's device; it reads the public protocol only.

        Parameters
        ----------
        items : sequence of str or of int, or int
            Names of the items in the order of a ballot's columns, or how many there are.
        random_state : None, int, Generator or RandomState, default=None
            The voter's own randomness; anything but None is for simulation only.
        epsilon : float or None, default=None
            This voter's own epsilon, on the grid that the curator will accept; None is the estimator's.
        max_epsilon : float or None, default=None
            Largest epsilon that the voter accepts; see `~sklearn_dprank.collection.Device`.
        max_delta : float, default=1e-6
            Largest delta that the voter accepts.
        allowance : Allowance or None, default=None
            The voter's budget over all protocols, to which the device is charged.

        Returns
        -------
        Device
            ``device.report(ballot)`` for one report; ``device.answer(question, ballot)`` where the curator
            asks. Elsewhere, ``Device(protocol)`` is the same.
        """
        plan = self._plan_of_devices(items, epsilon)
        return Device(
            plan.protocol,
            max_epsilon=max_epsilon,
            max_delta=max_delta,
            allowance=allowance,
            random_state=random_state,
            half=plan.half,
        )

    @available_if(channel_can("collects_reports", "asks_questions", "collects_sums"))
    def protocol(self, items: Items, *, epsilon: float | None = None) -> dict[str, Any]:
        """Return what devices must know, as JSON-able data.

        Parameters
        ----------
        items : sequence of str or of int, or int
            Names of the items, or how many there are.
        epsilon : float or None, default=None
            Of voters with this epsilon of their own; None is the estimator's.

        Returns
        -------
        dict
            With the names of the items in order, and the local epsilon of everything that one device says.
        """
        return self._plan_of_devices(items, epsilon).protocol

    def _plan_of_devices(self, items, epsilon):
        self._validate_params()
        if epsilon is not None:
            check_epsilon(epsilon)
        names, n_items = _named(items)
        return _for_devices(self._planned(Shape(n_items, None, None if epsilon is None else [epsilon]), names))[1]

    @available_if(channel_can("collects_reports"))
    def fit_reports(self, reports: Iterable[Message], *, items: Items, epsilons: Sequence[float] | None = None) -> Self:
        """Aggregate reports from the field.

        Parameters
        ----------
        reports : iterable of dict, str or bytes
            JSON objects, parsed or not; an open file has one a line. Read once, as a stream. Those that do not follow
            this estimator's protocol for these items are left out and counted in ``reports_refused_``.

            In the local model, one report a voter: who collects them keeps one of each voter.

            In the shuffle model, the messages of one or several batches that a
            `~sklearn_dprank.collection.Shuffler` released. They hold no voter and no number, so that a message that is
            passed twice counts twice. A voter's whole submission, as its device wrote it, goes to the shuffler only.
            Whoever is shuffler and curator in one person may pass submissions here: each counts once. Voters then have
            the local epsilon only against that person.
        items : sequence of str or of int, or int
            Names of the items in the order that devices used, or how many there are.
        epsilons : sequence of float or None, default=None
            The public grid of epsilons, where voters have their own; None is the estimator's for all.

        Returns
        -------
        self : object
            The fitted aggregator.

        Raises
        ------
        ValueError
            If no report can be used, or fewer than were promised to hide each other.
        """
        self._validate_params()
        if epsilons is not None:
            epsilons = _grid(epsilons)
        names, n_items = _named(items)
        return self._fitted_on(reports, names, n_items, self._planned(Shape(n_items, None, epsilons), names))

    @available_if(channel_can("collects_sums"))
    def fit_sums(self, sums: Iterable[Message], *, items: Items) -> Self:
        """Aggregate the sums of servers that added up the shares of voters in the field.

        Parameters
        ----------
        sums : iterable of dict, str or bytes
            One message of each server (`~sklearn_dprank.collection.AggregationServer.release`): a JSON object, parsed
            or not. Those that do not follow this estimator's protocol for these items are left out and counted in
            ``reports_refused_``; ``reports_accepted_`` is the number of voters in the sum.
        items : sequence of str or of int, or int
            Names of the items in the order that devices used, or how many there are.

        Returns
        -------
        self : object
            The fitted aggregator.

        Raises
        ------
        ValueError
            If the sum of a server is missing, or they are of different voters, or of fewer than `min_reports`.
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
        """Aggregate answers from the field, asking as the rule goes.

        Parameters
        ----------
        ask : callable
            ``ask(question)`` delivers a JSON-able question to the voters in ``question["voters"]`` (0 to n_voters
            - 1) and returns an iterable of their reports, in any order. At most one report of each voter counts for
            each question. A report that comes again has the random number of its device again and counts once. Return
            pairs (voter, report) to hold each voter to one report also where a voter writes several. Where servers add
            up answers, the question is for all voters and for the servers, and one message of each server is returned,
            or none if there is no sum.
        items : sequence of str or of int, or int
            Names of the items in the order that devices use, or how many there are.
        n_voters : int
            How many voters take part; public.

        Returns
        -------
        self : object
            The fitted aggregator.

        Raises
        ------
        ValueError
            If n_voters is no positive integer, or no answer can be used.
        BudgetExhausted
            If servers said no sum that the rule cannot do without.

        Warns
        -----
        UserWarning
            If servers said no sum in answer to a question, and the rule goes on without it.
        """
        self._validate_params()
        check_whole(n_voters, "n_voters")
        if not callable(ask):
            raise ValueError(f"ask must be callable, ask(question), got {type(ask).__name__}.")
        names, n_items = _named(items)
        planned = _for_devices(self._planned(Shape(n_items, int(n_voters)), names))
        return self._fitted_on(ask, names, n_items, planned)

    def _fitted_on(self, voters, names, n_items, planned):
        """Return this aggregator, fitted on what voters of the field sent."""
        draft = draft_of(self)
        draft._set_items(names, n_items)
        publish(draft._release(voters, names, *planned), self)
        return self


def _for_devices(planned):
    """Return (rule, plan), or raise where devices have no protocol for it."""
    if planned[1].protocol is None:
        raise ValueError(
            f"voters' devices cannot send what this rule asks for, which fit simulates: {planned[1].unsent}."
        )
    return planned


def _grid(epsilons):
    """Return the epsilons that voters may have, as a list."""
    if isinstance(epsilons, (str, Real)) or not isinstance(epsilons, Iterable) or not (grid := list(epsilons)):
        raise ValueError(f"epsilons must list one epsilon or more, epsilons=[1.0, 2.0] say, got {shown(epsilons)}.")
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
