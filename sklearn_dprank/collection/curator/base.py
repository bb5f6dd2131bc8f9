"""The template of a randomizer, the curator's half: a protocol, how reports are read, what they say together."""

from functools import reduce
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._utils.scikit_learn import BaseEstimator
from ..._utils.types import Amount, Items
from ...ballots.compact import Positions
from ...queries import Query
from ...sampling.streams import Bits
from ...uncertainty import AnswersLaw, NormalLaw
from ..client.protocol import VERSION, are_items
from ..client.randomizers import ReportHalf, checked
from .epsilon_grid import as_text

#: What devices draw, voters on the first axis.
Drawn: TypeAlias = NDArray[Any] | tuple[NDArray[Any], ...]


class Heard(NamedTuple):
    """What the devices of one protocol said together.

    Attributes
    ----------
    protocol : dict
        As published by the curator.
    counts : ndarray of int64
        The sum of `Randomizer.counts`.
    n_reports : int
        Of how many reports; at least one.
    """

    protocol: dict[str, Any]
    counts: NDArray[np.int64]
    n_reports: int


class Randomizer(BaseEstimator):
    """The curator's half of a randomizer; ``half`` is the voter's.

    A subclass sets the attributes and defines `protocol`, `read` (or `read_all`, which can be faster), `counts` and
    `estimate`, and `variance` where voters may have an epsilon of their own. What `read` returns of a report is what
    the half's ``draw`` returned for that voter: the curator counts both in the same way, and a fit on ballots is a
    simulation of the field.

    Attributes
    ----------
    name : str
        On the wire: "randomizer" of its protocols.
    half : ReportHalf
        The voter's half: a class or object with ``FIELDS``, ``check``, ``spent``, ``block``, ``draw`` and ``message``,
        as the modules of `sklearn_dprank.collection.client` have (a device with a module of one's own cannot be
        pickled). It runs in simulations and checks every protocol that is made; devices elsewhere are given their
        own, ``Device(protocol, half=...)``.
    releases : Query
        What the reports determine.
    arithmetic : str
        What rounding costs.
    """

    name: str
    half: ReportHalf
    releases: Query
    arithmetic: str = "exact"

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        """Return what a device must know, as JSON-able data, made by `drafted`.

        Parameters
        ----------
        epsilon : float
            Privacy loss of the whole report.
        items : int or list
            Number or names of the items.

        Raises
        ------
        ValueError
            If a parameter is out of bounds, or there are too many items.
        """
        raise NotImplementedError

    @classmethod
    def read(cls, report: dict[str, Any], protocol: dict[str, Any]) -> Drawn:
        """Return what the device drew, from the report that it sent: the inverse of the half's ``message``.

        A subclass defines this or `read_all`; each calls the other.

        Parameters
        ----------
        report : dict
            From a voter, who is not trusted: any JSON object that carries the name of this protocol.
        protocol : dict
            As published by the curator.

        Raises
        ------
        RefusedReport
            If it does not follow the protocol.
        """
        return cls.read_all([report], protocol)

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        """Return what several devices drew, as if they had drawn together.

        Parameters
        ----------
        reports : list of dict
            As of `read`; at least one.
        protocol : dict
            As published by the curator.

        Raises
        ------
        RefusedReport
            If one of them does not follow the protocol; of one report alone, for its reason.
        """
        return joined([cls.read(report, protocol) for report in reports])

    @staticmethod
    def counts(drawn: Drawn, protocol: dict[str, Any]) -> NDArray[np.int64]:
        """Return the sum, over the voters, of what the estimate follows from: integers, int64.

        Parameters
        ----------
        drawn : ndarray, or tuple of ndarray
            What the devices of some voters drew.
        protocol : dict
            As published by the curator.
        """
        raise NotImplementedError

    def simulated(self, protocol: dict[str, Any], ballots: Positions, bits: Bits) -> NDArray[np.int64]:
        """Return the counts of what the devices of some voters draw: of the same law, in whatever way.

        Parameters
        ----------
        protocol : dict
            As published by the curator.
        ballots : Positions
            Of the voters.
        bits : Bits
            The randomness of their devices.
        """
        said = simulated(self.half, protocol, ballots, bits)
        return reduce(np.add, (self.counts(drawn, protocol) for drawn, _ in said))

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        """Return the answer to ``releases`` that the counts of some reports amount to, unbiased.

        Parameters
        ----------
        counts : ndarray of int64
            Sum of `counts`.
        n_reports : int
            Of how many reports.
        protocol : dict
            As published by the curator.
        """
        raise NotImplementedError

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        """Return the mean square of what one report estimates the voter's own statistic to be, over its coordinates.

        Less the mean square of the statistic itself (for a complete ranking, 1 of a margin and (m^2 - 1) / 3 of net
        wins), it is the variance of the unbiased estimate from one report.

        Parameters
        ----------
        protocol : dict
            As published by the curator.

        Returns
        -------
        float
        """
        raise NotImplementedError

    @classmethod
    def law(cls, heard: Heard) -> AnswersLaw | NormalLaw | None:
        """Return the law of the noise on the margins, or else the net wins, that the reports of one protocol determine.

        Parameters
        ----------
        heard : Heard
            What was heard; its law must follow from public numbers and from what was drawn apart from ballots.

        Returns
        -------
        AnswersLaw, NormalLaw or None
            None where it is not known.
        """
        return None

    def combined(self, groups: list[Heard]) -> Any:
        """Return one answer from voters with epsilons of their own: estimates by the inverse of their variance.

        Parameters
        ----------
        groups : list of Heard
            One for each protocol that was heard.
        """
        estimates = [self.estimate(said.counts, said.n_reports, said.protocol) for said in groups]
        if len(groups) == 1:
            return estimates[0]
        weights = [said.n_reports / self.variance(said.protocol) for said in groups]
        total = sum(weights)
        return sum(weight / total * estimate for weight, estimate in zip(weights, estimates, strict=True))

    def spent(self, epsilon: Amount, items: Items) -> float:
        """Return the true, pure epsilon of one whole report.

        Parameters
        ----------
        epsilon : float
            What was asked for.
        items : int or list
            Number or names of the items.

        Returns
        -------
        float
            `epsilon`, unless a published calibration spends another.
        """
        return float(self.protocol(epsilon, items)["epsilon"])

    def drafted(self, items: Items, epsilon: Amount | str, **fields: Any) -> dict[str, Any]:
        """Return a protocol that devices follow: the voter's half has checked it.

        Parameters
        ----------
        items : int or list
            Number or names of the items.
        epsilon : float or str
            What is stated.
        **fields
            What else the voter's half needs.

        Raises
        ------
        ValueError
            If the names of the items cannot be written the same way in every language, or the half refuses.
        """
        return drafted(self.name, items, epsilon, fields, self.half)


def drafted(name, items, epsilon, fields, half=None):
    """Return a protocol of the randomizer with this name on the wire; see `Randomizer.drafted`."""
    stated = epsilon if isinstance(epsilon, str) else as_text(epsilon)
    common = {"version": VERSION, "randomizer": name, "items": listed(items), "epsilon": stated}
    return checked({**common, **fields}, half)


def listed(items):
    """Return names as a list of str and int; 0, 1, ... where only their number is given."""
    if isinstance(items, Integral):
        return list(range(int(items)))
    names = [
        str(item) if isinstance(item, str) else int(item) if isinstance(item, Integral) else item for item in items
    ]
    if not are_items(names):
        raise ValueError(
            "items must be at least two distinct names that every language reads alike: text of at most 1,000 "
            f"characters, or integers below 2^53; got {len(names)} of which some are not."
        )
    return names


def simulated(half, protocol, ballots, bits):
    """Yield what the devices of these ballots draw, and how many they are, block by block."""
    step = half.block(protocol)
    for start in range(0, ballots.table.shape[1], step):
        block = ballots._replace(table=ballots.table[:, start : start + step])
        yield half.draw(protocol, block, bits), block.table.shape[1]


def joined(draws):
    """Return what several devices drew apart, as if they had drawn together."""
    if isinstance(draws[0], tuple):
        return tuple(np.concatenate(parts) for parts in zip(*draws, strict=True))
    return np.concatenate(draws)
