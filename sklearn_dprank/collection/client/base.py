"""Base classes of client implementations of randomizers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from .protocol import digest


class ClientRandomizer:
    """Base class for the client's side of a randomizer: the protocols that it follows and their privacy cost.

    Attributes
    ----------
    fields : tuple of str
        Fields of its protocols, except "version", "randomizer", "items" and "epsilon".
    epsilon_field : str
        Field that states the local epsilon.
    """

    fields: tuple[str, ...]
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
        refuse_voter(voter)
        if pairs is not None:
            raise ValueError("pairs must be given if and only if the protocol assigns them.")

    def report(self, protocol: Any, ballots: Any, bits: Any, assigned: Any) -> Any:
        """Draw everything that a device sends for the first of these ballots, as JSON-able data."""
        return with_digest(protocol, self.message(self.draw(protocol, ballots, bits)))


MOST_ANSWERS = 1 << 14  # of one device, which stores them all


class QuestionRandomizer(ClientRandomizer):
    """Base class for the client's side of a randomizer whose devices answer questions."""

    def asked(self, question: Any, protocol: Any) -> Any:
        """Return the subject of a question; raise ValueError if the question does not follow the protocol."""
        raise NotImplementedError

    def key(self, asked: Any) -> str:
        """Return the key under which a device stores its answer; a stored key gets the stored answer."""
        raise NotImplementedError

    def refusal(self, answered: Any, asked: Any, protocol: Any) -> str | None:
        """Return why a device that stores answers under the keys `answered` gives no new one, or None if it may."""
        raise NotImplementedError

    def answer(self, protocol: Any, ballots: Any, bits: Any, asked: Any) -> Any:
        """Draw the first voter's answer as JSON-able data: one message, or one message per server."""
        raise NotImplementedError


def refuse_voter(voter):
    """Raise ValueError unless `voter` is None: the protocol does not name voters."""
    if voter is not None:
        raise ValueError("voter must be given if and only if the protocol has n_voters.")


def with_digest(protocol, message):
    """Return a message with the digest of its protocol."""
    return {"protocol": digest(protocol), **message}
