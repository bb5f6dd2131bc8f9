"""Interface and registry of client implementations, and validation of protocols."""

import json
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from . import hypercube, interactive, mallows, pairs, privunit, rounds, shares, shuffled
from .protocol import check_form, refuse_unless


class Half(Protocol):
    """Interface of the client implementation of a randomizer; each built-in one is a module.

    If `spent` holds only at a positive delta, define ``delta(protocol)``, which returns it as a Decimal. If the local
    epsilon is in another field than "epsilon", ``STATED`` names this field.
    """

    @property
    def FIELDS(self) -> tuple[str, ...]:
        """Fields of its protocols, except "version", "randomizer", "items" and "epsilon"."""

    def check(self, protocol: Any) -> None:
        """Raise `RefusedProtocol` unless these fields are valid; the curator is not trusted."""

    def spent(self, protocol: Any) -> Decimal:
        """Return the local epsilon of everything that a device sends, from the protocol's numbers, rounded up."""


class ReportHalf(Half, Protocol):
    """Interface of the client implementation of a randomizer whose devices send one report."""

    def block(self, protocol: Any) -> int:
        """Return the number of voters to simulate at a time."""

    def draw(self, protocol: Any, ballots: Any, bits: Any) -> Any:
        """Draw the reports of many voters at once. A device calls it with one ballot.

        Parameters
        ----------
        protocol : dict
            Protocol that `check` has accepted.
        ballots : Positions
            Ballots of the voters: ``table[i, v]`` is the position of item i in ballot v. ``sentinel`` is a missing
            opinion.
        bits : Bits
            The only source of randomness: ``noise`` protects the voter, ``coins`` replace missing opinions, and
            ``assignment`` is for choices that do not depend on the ballot.

        Returns
        -------
        ndarray, or tuple of ndarray
            Reports, with the voters on the first axis.
        """

    def message(self, drawn: Any) -> dict[str, Any]:
        """Return the first voter's report as JSON-able data; keys and length must not depend on the ballot."""


@runtime_checkable
class Asking(Half, Protocol):
    """Interface of the client implementation of a randomizer whose devices answer questions."""

    def asked(self, question: Any, protocol: Any) -> Any:
        """Return the subject of a question; raise ValueError if the question does not follow the protocol."""

    def named(self, asked: Any) -> str:
        """Return the key under which a device stores its answer; a stored key gets the stored answer."""

    def refusal(self, said: Any, asked: Any, protocol: Any) -> str | None:
        """Return why a device with these stored answers gives no new one, or None if it may."""

    def answered(self, protocol: Any, ballots: Any, bits: Any, asked: Any) -> dict[str, Any] | list[dict[str, Any]]:
        """Draw the first voter's answer as JSON-able data: one message, or one message per server."""


#: Built-in client implementations, by their names in protocols. A protocol can select only these.
HALVES: Mapping[str, Half] = MappingProxyType(
    {
        "rr": pairs,
        "laplace": pairs,
        "gaussian": pairs,
        "hypercube": hypercube,
        "mallows": mallows,
        "privunit": privunit,
        "rr-interactive": interactive,
        "rr-shuffled": shuffled,
        "skellam-shares": shares,
        "skellam-rounds": rounds,
    }
)


def voter_half(protocol, half=None):
    """Return `half`, or the built-in client implementation of a protocol if `half` is None.

    `RefusedProtocol` is raised if the name in the protocol is unknown, or belongs to another implementation than
    `half`.
    """
    name = protocol.get("randomizer")
    if half is None:
        known = f"one of {sorted(HALVES)}, or of your own with its half, Device(protocol, half=...)"
        refuse_unless(type(name) is str and name in HALVES, "randomizer", known)
        return HALVES[name]
    own = type(name) is str and HALVES.get(name, half) is half
    refuse_unless(own, "randomizer", f"a name of its own, as its half is; none of {sorted(HALVES)}")
    return half


def checked(protocol, half=None):
    """Return a copy of a protocol from an untrusted curator.

    `RefusedProtocol` is raised if its form is wrong, or if its numbers spend more than it states.
    """
    refuse_unless(type(protocol) is dict, "it", "a JSON object (json.loads of its text)")
    half = voter_half(protocol, half)
    check_form(protocol, half.FIELDS)
    half.check(protocol)
    stated = getattr(half, "STATED", "epsilon")
    spent = half.spent(protocol)
    refuse_unless(spent <= Decimal(protocol[stated]), stated, f"at least what its numbers spend, {float(spent):.10g}")
    return json.loads(json.dumps(protocol))
