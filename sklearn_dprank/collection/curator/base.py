"""Base class of randomizers for the curator: protocols, reports and estimates."""

from __future__ import annotations

from functools import reduce
from inspect import signature
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._utils.types import Amount, Items
from ...ballots.compact import Positions
from ...queries import Query
from ...sampling.streams import Bits
from ...uncertainty import AnswersLaw, NormalLaw
from ..client.base import ReportRandomizer
from ..client.protocol import VERSION, are_items
from ..client.randomizers import checked
from .epsilon_grid import as_text

#: Values drawn by devices, with the voters on the first axis.
Drawn: TypeAlias = NDArray[Any] | tuple[NDArray[Any], ...]


class ReceivedReports(NamedTuple):
    """Total counts of the reports of one protocol.

    Attributes
    ----------
    protocol : dict
        The protocol.
    counts : ndarray of int64
        Sum of `Randomizer.counts` over the reports.
    n_reports : int
        Number of reports, at least 1.
    """

    protocol: dict[str, Any]
    counts: NDArray[np.int64]
    n_reports: int


class Randomizer:
    """Base class for the curator's side of a local randomizer; subclass it to add your own.

    A subclass sets the attributes and defines `protocol`, `read` (or `read_all`, which can be faster), `counts` and
    `estimate`. It also defines `variance` if voters may have different epsilons. `read` returns what the ``draw``
    method of `client` returned for this voter. The curator therefore counts reports and simulated draws in the same
    way.

    Attributes
    ----------
    name : str
        Value of "randomizer" in its protocols.
    client : ReportRandomizer
        Client implementation, as an object. It runs in simulations and validates every new protocol. Remote devices
        receive it as ``Device(protocol, randomizer=...)``.
    releases : Query
        Query whose answer the reports determine.
    arithmetic : str
        "exact", or a note on the effect of rounding.
    names_voters : bool
        Whether a report has a field "voter", the number of a registered voter. Each number then counts once.
    """

    name: str
    client: ReportRandomizer
    releases: Query
    arithmetic: str = "exact"
    names_voters: bool = False

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters, as scikit-learn's estimators do; devices do without scikit-learn."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn's estimators do."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {list(self.get_params())}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        parameters = signature(type(self)).parameters
        changed = {name: value for name, value in self.get_params().items() if value != parameters[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        """Return the protocol for devices as JSON-able data. Make it with `make_protocol`.

        Parameters
        ----------
        epsilon : float
            Privacy loss of the whole report.
        items : int or list
            Number or names of the items.

        Returns
        -------
        dict
            The protocol.

        Raises
        ------
        ValueError
            If a parameter is out of range, or there are too many items.
        """
        raise NotImplementedError

    @classmethod
    def read(cls, report: dict[str, Any], protocol: dict[str, Any]) -> Drawn:
        """Return the values that a device drew, given its report. This is the inverse of ``message`` of `client`.

        A subclass defines this method or `read_all`. Each of them calls the other.

        Parameters
        ----------
        report : dict
            Report of an untrusted voter: any JSON object that names this protocol.
        protocol : dict
            The protocol.

        Returns
        -------
        ndarray, or tuple of ndarray
            The values, with an axis of length 1 for the voter.

        Raises
        ------
        RefusedReport
            If the report does not follow the protocol.
        """
        return cls.read_all([report], protocol)

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        """Return the values that several devices drew, given their reports.

        Parameters
        ----------
        reports : list of dict
            At least one report, as for `read`.
        protocol : dict
            The protocol.

        Returns
        -------
        ndarray, or tuple of ndarray
            The values, with the voters on the first axis.

        Raises
        ------
        RefusedReport
            If one of the reports does not follow the protocol. The reason is counted only if the list has one report.
        """
        return joined([cls.read(report, protocol) for report in reports])

    @staticmethod
    def counts(drawn: Drawn, protocol: dict[str, Any]) -> NDArray[np.int64]:
        """Return the statistics from which the estimate follows, summed over the voters.

        Parameters
        ----------
        drawn : ndarray, or tuple of ndarray
            Values that the devices of some voters drew.
        protocol : dict
            The protocol.

        Returns
        -------
        ndarray of int64
            Sums over the voters.
        """
        raise NotImplementedError

    @staticmethod
    def are_counts(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> bool:
        """Return whether reports can have these counts; a subclass may check them before a fit on `ReportCounts`.

        Parameters
        ----------
        counts : ndarray of int64
            Sum of `counts` over some reports, perhaps read from a file.
        n_reports : int
            Number of these reports, at least 1.
        protocol : dict
            The protocol.

        Returns
        -------
        bool
            False if no reports have these counts.
        """
        return True

    def simulated(self, protocol: dict[str, Any], ballots: Positions, bits: Bits) -> NDArray[np.int64]:
        """Return the counts of simulated devices.

        A subclass may use a faster method, if the distribution of the counts is the same.

        Parameters
        ----------
        protocol : dict
            The protocol.
        ballots : Positions
            Ballots of the voters.
        bits : Bits
            Randomness of the devices.

        Returns
        -------
        ndarray of int64
            Sums over the voters, as in `counts`.
        """
        blocks = simulated(self.client, protocol, ballots, bits)
        return reduce(np.add, (self.counts(drawn, protocol) for drawn, _ in blocks))

    def simulating(self, n_voters: int) -> Randomizer:
        """Return the randomizer that `fit` simulates for a public number of voters.

        Parameters
        ----------
        n_voters : int
            Number of ballots.

        Returns
        -------
        Randomizer
            This randomizer, or one whose counts have the same distribution.
        """
        return self

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        """Return an unbiased estimate of the answer to ``releases``.

        Parameters
        ----------
        counts : ndarray of int64
            Sum of `counts` over the reports.
        n_reports : int
            Number of reports.
        protocol : dict
            The protocol.

        Returns
        -------
        object
            The answer, in the form of ``releases``.
        """
        raise NotImplementedError

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        """Return the mean square of the estimate from one report, averaged over its coordinates.

        Subtract the mean square of the voter's own statistic to get the variance of this unbiased estimate. For a
        complete ranking of m items, that mean square is 1 for a margin and (m^2 - 1) / 3 for net wins.

        Parameters
        ----------
        protocol : dict
            The protocol.

        Returns
        -------
        float
            The mean square.
        """
        raise NotImplementedError

    @classmethod
    def law(cls, received: ReceivedReports) -> AnswersLaw | NormalLaw | None:
        """Return the distribution of the noise on the estimated margins, or else on the net wins.

        Parameters
        ----------
        received : ReceivedReports
            Counts of the reports of one protocol. The distribution must follow from public numbers, and from values
            that were drawn independently of the ballots.

        Returns
        -------
        AnswersLaw, NormalLaw or None
            The distribution. None if it is not known.
        """
        return None

    def combined(self, groups: list[ReceivedReports]) -> Any:
        """Return one answer from voters with different epsilons.

        It is the mean of their estimates, with weights n_reports / `variance`.

        Parameters
        ----------
        groups : list of ReceivedReports
            Counts of each protocol with reports.

        Returns
        -------
        object
            The answer, in the form of ``releases``.
        """
        estimates = [self.estimate(received.counts, received.n_reports, received.protocol) for received in groups]
        if len(groups) == 1:
            return estimates[0]
        weights = [received.n_reports / self.variance(received.protocol) for received in groups]
        total = sum(weights)
        return sum(weight / total * estimate for weight, estimate in zip(weights, estimates, strict=True))

    def spent(self, epsilon: Amount, items: Items) -> float:
        """Return the true epsilon of one report. Its delta is 0.

        Parameters
        ----------
        epsilon : float
            Requested epsilon.
        items : int or list
            Number or names of the items.

        Returns
        -------
        float
            `epsilon`, unless a scale as printed spends another amount.
        """
        return float(self.protocol(epsilon, items)["epsilon"])

    def make_protocol(self, items: Items, epsilon: Amount | str, **fields: Any) -> dict[str, Any]:
        """Return a protocol that `client` has validated.

        Parameters
        ----------
        items : int or list
            Number or names of the items.
        epsilon : float or str
            Epsilon that the protocol states.
        **fields
            Fields of this randomizer.

        Returns
        -------
        dict
            The protocol.

        Raises
        ------
        ValueError
            If an item name cannot be written in the same way in every language, or `client` refuses the protocol.
        """
        return make_protocol(self.name, items, epsilon, fields, self.client)


def make_protocol(name, items, epsilon, fields, client=None):
    """Return a validated protocol for the randomizer `name`, as `Randomizer.make_protocol` does."""
    stated = epsilon if isinstance(epsilon, str) else as_text(epsilon)
    common = {"version": VERSION, "randomizer": name, "items": listed(items), "epsilon": stated}
    return checked({**common, **fields}, client)


def listed(items):
    """Return item names as a list of str and int; a number of items gives 0, 1, ..."""
    if isinstance(items, Integral):
        return list(range(int(items)))
    names = [
        str(item) if isinstance(item, str) else int(item) if isinstance(item, Integral) else item for item in items
    ]
    if not are_items(names):
        raise ValueError(
            "items must be at least two distinct names that every language reads alike: text of at most 1,000 "
            f"characters, or integers below 2^53; got {len(names)} names, and some are not."
        )
    return names


def simulated(client, protocol, ballots, bits):
    """Yield (drawn, number of voters) of simulated devices, block by block."""
    step = client.block(protocol)
    for start in range(0, ballots.table.shape[1], step):
        block = ballots._replace(table=ballots.table[:, start : start + step])
        yield client.draw(protocol, block, bits), block.table.shape[1]


def joined(draws):
    """Join what several devices drew along the first axis."""
    if isinstance(draws[0], tuple):
        return tuple(np.concatenate(parts) for parts in zip(*draws, strict=True))
    return np.concatenate(draws)
