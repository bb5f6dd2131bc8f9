"""What the voter's half of a randomizer is, which ones a device follows, and the check that a protocol must pass."""

import json
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from . import hypercube, interactive, mallows, pairs, privunit, rounds, shares, shuffled
from .protocol import check_form, refuse_unless


class Half(Protocol):
    """What a device must know of a randomizer before it follows a protocol; each of ours is a module.

    A half whose `spent` fails with some probability has ``delta(protocol)``, which returns it as a Decimal. One that
    has its epsilon in another field than "epsilon" names the field in ``STATED``.
    """

    @property
    def FIELDS(self) -> tuple[str, ...]:
        """The fields of its protocols, besides "version", "randomizer", "items" and "epsilon"."""

    def check(self, protocol: Any) -> None:
        """Raise `RefusedProtocol` unless these fields are of their form; the curator is not trusted."""

    def spent(self, protocol: Any) -> Decimal:
        """Return the local epsilon of all that a device says, from the protocol's numbers, rounded up."""


class ReportHalf(Half, Protocol):
    """The voter's half of a randomizer whose devices send one report."""

    def block(self, protocol: Any) -> int:
        """Return how many voters are simulated at a time."""

    def draw(self, protocol: Any, ballots: Any, bits: Any) -> Any:
        """Draw what the devices of many voters say, side by side; one device is the case of one ballot.

        Parameters
        ----------
        protocol : dict
            As published by the curator, and checked.
        ballots : Positions
            Of the voters: ``table[i, v]`` is where voter v puts item i, ``sentinel`` where there is no opinion.
        bits : Bits
            Their randomness, all of it: ``noise``, ``coins`` (of a voter without an opinion) and ``assignment``
            (of what does not depend on the ballot).

        Returns
        -------
        ndarray, or tuple of ndarray
            With the voters on the first axis.
        """

    def message(self, drawn: Any) -> dict[str, Any]:
        """Return what the first voter sends, as JSON-able data; its keys and length do not depend on the ballot."""


@runtime_checkable
class Asking(Half, Protocol):
    """The voter's half of a randomizer whose devices answer questions."""

    def asked(self, question: Any, protocol: Any) -> Any:
        """Return what a question asks, or raise a `ValueError` if it does not follow the protocol."""

    def named(self, asked: Any) -> str:
        """Return the name under which a device keeps its answer: what is kept is said again, and nothing else."""

    def refusal(self, said: Any, asked: Any, protocol: Any) -> str | None:
        """Return why a device that has said all this, by name, gives no new answer, or None."""

    def answered(self, protocol: Any, ballots: Any, bits: Any, asked: Any) -> dict[str, Any] | list[dict[str, Any]]:
        """Draw the first voter's answer, as JSON-able data: one message, or one a server."""


#: The voter's half of each randomizer, by the name that protocols give it. A protocol chooses from these and no others.
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
    """Return the voter's half of a protocol's randomizer.

    Parameters
    ----------
    protocol : dict
        Its "randomizer" is read.
    half : Half or None, default=None
        What this process brings along for a randomizer of its own; None is the one of `HALVES`.

    Raises
    ------
    RefusedProtocol
        If the name is none of `HALVES`, or is one that stands for another half than the one brought along.
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
    """Return a copy of a protocol, if it is one.

    Parameters
    ----------
    protocol : dict
        From a curator, who is not trusted.
    half : Half or None, default=None
        As for `voter_half`.

    Raises
    ------
    RefusedProtocol
        If it is not exactly of the form of its randomizer, or its numbers spend more than it states.
    """
    refuse_unless(type(protocol) is dict, "it", "a JSON object (json.loads of its text)")
    half = voter_half(protocol, half)
    check_form(protocol, half.FIELDS)
    half.check(protocol)
    stated = getattr(half, "STATED", "epsilon")
    spent = half.spent(protocol)
    refuse_unless(spent <= Decimal(protocol[stated]), stated, f"at least what its numbers spend, {float(spent):.10g}")
    return json.loads(json.dumps(protocol))
