"""Base classes of randomizers: what a device draws from a ballot, and how the curator reads and counts it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from inspect import signature
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import is_whole
from .._utils.types import Amount, Items
from ..ballots.counting import odd_ballots
from ..ballots.reading import Positions, as_array, ballot_key, compact_positions
from ..ballots.rows import Compared
from ..ballots.weights import WEIGHT_GRID
from ..queries import statistics
from ..queries.base import Query
from ..sampling.bit_source import Bits, BitSource
from ..uncertainty.laws import AnswersLaw, NormalLaw
from .protocol import FLIP_GRID, VERSION, are_items, as_text, digest, log_ratio, refuse_unless


class ClientRandomizer:
    """Base class for the client's side of a randomizer: the protocols that it follows and their privacy cost.

    Attributes
    ----------
    fields : tuple of str
        Fields of its protocols, except "version", "randomizer", "items" and "epsilon".
    optional : tuple of str
        Fields that a protocol may leave out.
    epsilon_field : str
        Field that states the local epsilon.
    """

    fields: tuple[str, ...]
    optional: tuple[str, ...] = ()
    epsilon_field = "epsilon"

    def check(self, protocol: Any) -> None:
        """Raise `RefusedProtocol` unless these fields are valid; the curator is not trusted."""
        raise NotImplementedError

    def spent(self, protocol: Any) -> Decimal:
        """Return the local epsilon of everything that a device sends, from the protocol's numbers, rounded up."""
        raise NotImplementedError

    def delta(self, protocol: Any) -> Decimal:
        """Return the delta at which `spent` holds."""
        return Decimal(0)

    def read(self, ballot: Any, protocol: Any) -> tuple[Any, bytes]:
        """Return what `draw` takes, and a key that differs for different ballots; raise ValueError if it is invalid."""
        return read_ballot(ballot, len(protocol["items"]))


class ReportRandomizer(ClientRandomizer):
    """Base class for the client's side of a randomizer whose devices send one report."""

    def block(self, protocol: Any) -> int:
        """Return the number of voters to simulate at a time."""
        raise NotImplementedError

    def draw(self, protocol: Any, ballots: Any, bits: Any) -> Any:
        """Draw the reports of many voters at once. A device calls it with one ballot.

        Parameters
        ----------
        protocol : dict
            Protocol that `check` has accepted.
        ballots : Positions
            Ballots of the voters: ``ballots.table[i, v]`` is the position of item i on ballot v, and equals
            ``ballots.sentinel`` for a missing opinion.
        bits : Bits
            The only source of randomness: ``noise`` protects the voter, ``coins`` replace missing opinions, and
            ``assignment`` is for choices that do not depend on the ballot.

        Returns
        -------
        ndarray, or tuple of ndarray
            Reports, with the voters on the first axis.
        """
        raise NotImplementedError

    def message(self, drawn: Any) -> dict[str, Any]:
        """Return the first voter's report as JSON-able data; keys and length must not depend on the ballot."""
        raise NotImplementedError

    def assigned(self, pairs: Any, protocol: Any, voter: Any) -> Any:
        """Return the assignment of pairs, for `report`; raise ValueError if an argument does not fit the protocol."""
        if voter is not None:
            raise ValueError("voter must be given if and only if the protocol has n_voters.")
        if pairs is not None:
            raise ValueError("pairs must be given if and only if the protocol assigns them.")

    def report(self, protocol: Any, ballots: Any, bits: Any, assigned: Any) -> Any:
        """Draw everything that a device sends for the first of these ballots, as JSON-able data."""
        return {"protocol": digest(protocol), **self.message(self.draw(protocol, ballots, bits))}


class LevelsRandomizer(ReportRandomizer):
    """Base class for the client's side of a randomizer that draws with two weights: ``levels`` is [high, low]."""

    def check(self, protocol):
        """Raise `RefusedProtocol` unless high is 2^52 and low is an integer from 1 to 2^52."""
        levels = protocol["levels"]
        form = type(levels) is list and len(levels) == 2 and is_whole(levels[0], FLIP_GRID, FLIP_GRID)
        refuse_unless(form and is_whole(levels[1], 1, FLIP_GRID), "levels", "[2^52, an integer from 1 to 2^52]")

    def spent(self, protocol):
        """Return the epsilon of one report, as a Decimal: the log ratio of the two weights."""
        return log_ratio(*protocol["levels"])


MOST_ANSWERS = 1 << 14  # of one device, which stores them all


class QuestionRandomizer(ClientRandomizer):
    """Base class for the client's side of a randomizer whose devices answer questions; it defines two more methods.

    ``asked(question, protocol)`` returns (key, ...), or raises ValueError if the question does not follow the protocol.
    A device stores its answer under the key, and gives the stored answer to every question with this key.

    ``answer(protocol, ballots, bits, asked, answered)`` draws the first voter's answer as JSON-able data: one message,
    or one message per server. It raises `BudgetExhausted` if a device that stores answers under the keys `answered`
    gives no further one.
    """

    asked: Callable[..., Any]
    answer: Callable[..., Any]


# Compact positions, net wins and pair opinions of voters' ballots.


def read_ballot(ballot, n_items):
    """Return (positions, key) of one ballot, array-like of shape (n_items,).

    NaN, None and masked entries are missing opinions. Ballots with the same order, ties and missing opinions have the
    same `key` (bytes). ValueError is raised unless the ballot has one position for each item.
    """
    rows = _numbers([ballot])
    if rows.shape != (1, n_items) or rows.dtype.kind not in "biuf" or np.isinf(rows).any():
        raise ValueError(f"ballot must have one position (a finite number, or NaN) for each of the {n_items} items.")
    positions = compact_positions(rows)
    return positions, ballot_key(positions)


def _numbers(rows):
    """Return rows of numbers as an array. It is empty if they hold text, truth values or other objects."""
    try:
        kinds = set(map(type, np.asarray(rows, dtype=object).ravel().tolist()))
        return np.empty(0) if kinds & {bool, np.bool_} else as_array(rows)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0)


def read_comparisons(ballot, n_items):
    """Return (comparisons, key) of one person's comparisons, array-like of shape (n_comparisons, 3).

    A row is [first, second, outcome]: the numbers of two items, and 1 if the first won, 0 if the second won, or None or
    NaN for a tie. ValueError is raised unless there are such rows, at least one.
    """
    rows = _numbers(ballot)
    valid = rows.ndim == 2 and rows.shape[1] == 3 and len(rows) > 0 and rows.dtype.kind in "biuf"
    if valid:
        items, outcome = rows[:, :2], rows[:, 2]
        won, tied = outcome == 1, np.isnan(outcome)
        known = np.isin(items, np.arange(n_items)).all() and (items[:, 0] != items[:, 1]).all()
        valid = bool(known and (won | tied | (outcome == 0)).all())
    if not valid:
        raise ValueError(
            "ballot must list one or more comparisons [first, second, outcome] of different items, 0 to "
            f"{n_items - 1}. The outcome must be 1 if the first won, 0 if the second won, or None for a tie."
        )
    first, second = items.T.astype(np.int64)
    person = np.zeros(len(rows), dtype=np.int64)
    compared = Compared(person, np.where(won, first, second), np.where(won, second, first), tied, 1, WEIGHT_GRID)
    return compared, np.stack([first, second, won + 2 * tied]).tobytes()


def net_wins(table: NDArray[Any], sentinel: int) -> NDArray[np.int64]:
    """Return each voter's net wins: for each item, the items that it beats minus the items that beat it.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions.
    sentinel : int
        Position of items without an opinion.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Net wins. Ties and missing opinions count 0.
    """
    # Fast path for simulations of many voters. A device has one voter and must not use it: its running time would
    # reveal whether the ballot has ties or missing opinions.
    odd = odd_ballots(table) if table.shape[1] > 1 else None
    if odd is None:
        return statistics.net_wins(table, sentinel)
    wins = table.astype(np.int64).T
    wins *= -2
    wins += len(table) - 1
    if len(odd):
        wins[odd] = statistics.net_wins(table[:, odd], sentinel)
    return wins


def opinions(table: NDArray[Any], sentinel: int, coins: BitSource) -> NDArray[np.bool_]:
    """Return each voter's preference on every pair. A fair coin replaces a missing preference.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions.
    sentinel : int
        Position of items without an opinion.
    coins : BitSource
        The voters' own coins.

    Returns
    -------
    ndarray of bool, shape (n_pairs, n_voters)
        Whether the first item of the pair precedes the second. Pairs are in row-major order.
    """
    ahead = statistics.margins(table, sentinel, *np.triu_indices(len(table), 1))
    return np.where(ahead == 0, coins.coins(ahead.size).reshape(ahead.shape), ahead > 0)


# Randomised answers about pairs, random pairs, and random identifiers of reports.


def flipped_answers(first, second, flip, ballots, bits, voters=None):
    """Return whether `first` precedes `second` in each ballot, flipped with probability flip / 2^52.

    `first`, `second` and the answers have shape (n_voters, k). `voters` are the columns of ``ballots.table``, or None
    for all of them. ``bits.coins`` answers where a voter has no opinion, and ``bits.noise`` flips.
    """
    voters = np.arange(first.shape[0]) if voters is None else voters
    truth = true_answers(first, second, voters[:, None], ballots, bits.coins)
    # A device uses one word for each flip, as the wire format states. Most flips of many voters use one byte.
    one, size = first.shape[0] == 1, first.size
    flips = bits.noise.integers(FLIP_GRID, size) < flip if one else bits.noise.trials(flip, size)
    return truth ^ flips.reshape(first.shape)


def true_answers(first, second, voter, ballots, coins):
    """Return whether `first` precedes `second` in ballot `voter`; a coin answers where the voter has no opinion.

    `voter` is a column of ``ballots.table``. The three index arrays broadcast to the shape of `first`.
    """
    table = ballots.table
    if table.flags.forc:  # contiguous by rows or columns: one index into its memory is several times as fast
        by_item, by_voter = (stride // table.itemsize for stride in table.strides)
        memory, of_voter = table.ravel(order="K"), voter * by_voter
        here, there = (memory.take(item * by_item + of_voter) for item in (first, second))
    else:
        here, there = table[first, voter], table[second, voter]
    silent = (here == there) | (here == ballots.sentinel) | (there == ballots.sentinel)
    return np.where(silent, coins.coins(first.size).reshape(first.shape), here < there)


def random_number(bits):
    """Return a random identifier of one report, 32 hexadecimal digits. The receiver uses it to drop duplicates."""
    return bits.assignment.words(2).astype(">u8").tobytes().hex()


def distinct(rows, k, n, bits):
    """Return `rows` independent uniform k-subsets of 0, ..., n - 1, shape (rows, k), by Floyd's algorithm."""
    out = np.empty((rows, k), dtype=np.int64)
    if k == 1:
        out[:, 0] = bits.integers(n, rows)
        return out
    taken = np.zeros((rows, n), dtype=bool)
    every = np.arange(rows)
    for column, top in enumerate(range(n - k, n)):
        pick = bits.integers(top + 1, rows)
        pick = np.where(taken[every, pick], top, pick)
        taken[every, pick] = True
        out[:, column] = pick
    return out


def items_of(pair, n_items):
    """Return the items (i, j), i < j, of pairs by their number in row-major order: (0, 1), (0, 2), ..., (1, 2), ...

    Examples
    --------
    >>> import numpy as np
    >>> items_of(np.arange(3), 3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    starts = np.concatenate([[0], np.cumsum(np.arange(n_items - 1, 0, -1))])  # number of the first pair of each row
    first = starts.searchsorted(pair, side="right") - 1
    return first, pair - starts[first] + first + 1


# Base class of randomizers for the curator: protocols, reports and estimates.

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
        """Return a protocol. Channels, devices and servers validate it by `client`.

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
            If an item name cannot be written in the same way in every language.
        """
        return make_protocol(self.name, items, epsilon, fields)


def make_protocol(name, items, epsilon, fields):
    """Return a protocol of the randomizer `name`, not validated yet."""
    stated = epsilon if isinstance(epsilon, str) else as_text(epsilon)
    return {"version": VERSION, "randomizer": name, "items": listed(items), "epsilon": stated, **fields}


def listed(items):
    """Return item names as a list of str and int; a number of items gives 0, 1, ..."""
    if isinstance(items, Integral):
        return list(range(int(items)))
    names = [
        str(item) if isinstance(item, str) else int(item) if isinstance(item, Integral) else item for item in items
    ]
    if not are_items(names):
        raise ValueError(
            f"items must be at least two distinct names, got {len(names)} names, and some are not valid. Use text of "
            "at most 1,000 characters, or integers below 2^53, which every language reads alike."
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
