"""The one device: it holds a voter's ballot and budget, checks what a curator asks of it, and obeys nobody."""

import hashlib
import json
import math
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from ..privacy.bits import Bits
from ..privacy.ledger import BudgetExhausted
from . import shares, shuffled
from .ballots import read_ballot
from .halves import HALVES, Asking, ReportHalf, checked, voter_half
from .protocol import RefusedProtocol, digest, is_whole

if TYPE_CHECKING:  # it would load numpy.random, which a device does without
    from .._types import RandomState

_TRUSTED = " (of what is sent, were the shuffler or the servers not to be trusted)"


class Device:
    """One voter's device: knows a public protocol and holds what it has said, once.

    It needs nothing else: ``Device(json.loads(text))`` runs where only numpy and this package are installed, and
    loads no other library. It computes the epsilon that the protocol's numbers spend and refuses a protocol
    that states less, or that costs more than its owner allows.

    Parameters
    ----------
    protocol : dict
        As published by the curator (``estimator.protocol(items)``).
    max_epsilon : float or None, default=None
        The most that the owner of this device spends, in nats and without trust in anybody; None is what
        the protocol states.
    random_state : None, int, Generator or RandomState, default=None
        None is the operating system's secure source; anything else is for simulation only.
    half : object or None, default=None
        The voter's half of a randomizer of your own (see `~sklearn_dprank.randomizers.Randomizer`); its code is
        trusted. None is for the protocols of this package: a protocol never chooses code.

    Attributes
    ----------
    epsilon : float
        Local epsilon of all that this device will ever say, from the protocol's numbers, rounded up.

    Raises
    ------
    RefusedProtocol
        If the protocol is not exactly of its form, spends more than it states, or more than `max_epsilon`.

    Notes
    -----
    .. rubric:: Privacy

    A device says one thing once. Asked again, from any thread, it repeats the same bytes; another ballot is refused.
    `copy` returns the device itself. A copy in a forked process, or made by pickling, repeats what was said
    before and says nothing new. To outlive a restart, keep ``device.to_json()`` after each answer and before
    it is sent; the text is as secret as the ballot, and of two devices made from one text only one may go on.

    Examples
    --------
    >>> from sklearn_dprank import LDPPairwise
    >>> from sklearn_dprank.devices import Device
    >>> protocol = LDPPairwise(epsilon=2.0).protocol(["tea", "coffee", "water"])
    >>> device = Device(protocol, max_epsilon=2.0)
    >>> report = device.report([0, 1, 2])
    >>> report == device.report([0, 1, 2])
    True
    """

    def __init__(
        self,
        protocol: dict[str, Any],
        *,
        max_epsilon: float | None = None,
        random_state: "RandomState" = None,
        half: ReportHalf | None = None,
    ) -> None:
        limit = _limit(max_epsilon)
        self._protocol = checked(protocol, half)
        self._half = voter_half(self._protocol, half)
        spent = self._half.spent(self._protocol)
        self.epsilon = _as_float_above(spent)
        self._max_epsilon = None if max_epsilon is None else limit
        if spent > Decimal(limit):
            raise RefusedProtocol(
                f"the protocol spends a local epsilon of {self.epsilon:.6g}, above max_epsilon={max_epsilon!r} "
                f"of this device's owner{_TRUSTED if hasattr(self._half, 'STATED') else ''}; raise it, or send nothing."
            )
        self._random_state = random_state
        self._bits: Bits | None = None
        self._ballot: str | None = None  # SHA-256 of what the ballot says
        # Replaced as a whole, so that a fork never sees half of it.
        self._said: Mapping[str, str] = MappingProxyType({})
        self._home: int | None = os.getpid()
        self._lock = threading.Lock()

    @property
    def protocol(self) -> dict[str, Any]:
        """A copy of the protocol that this device follows."""
        return json.loads(json.dumps(self._protocol))

    def report(self, ballot: ArrayLike, pairs: Sequence[Sequence[int]] | None = None) -> Any:
        """Randomise the ballot, once.

        Parameters
        ----------
        ballot : array-like of shape (n_items,)
            Where this voter puts each item; smaller is better, equal is tied, NaN is no opinion.
        pairs : sequence of (int, int) or None, default=None
            The curator's assignment (a row of `balanced_design`), where the protocol assigns pairs.

        Returns
        -------
        dict, or list of dict
            JSON-able: one report, or for the shuffler K messages, which go to it apart, or one message a server, each
            to be sent to its own and to nobody else. Called again with the same ballot, the same: send it again, never
            draw again.

        Raises
        ------
        BudgetExhausted
            If another ballot was reported before, or this is a copy of the device.
        ValueError
            If the ballot does not have one number an item, or pairs do not fit the protocol.
        """
        if isinstance(self._half, Asking):
            raise ValueError("this protocol asks questions: use device.answer(question, ballot).")
        if self._half is shuffled:
            design = shuffled.assigned(pairs, self._protocol)
            return self._say("report", ballot, lambda positions, bits: self._shuffled(positions, bits, design))
        if pairs is not None:
            raise ValueError("pairs must be given if and only if the protocol assigns them.")
        return self._say("report", ballot, self._reported)

    def answer(self, question: Mapping[str, Any], ballot: ArrayLike) -> Any:
        """Answer one question about this voter's ballot.

        Parameters
        ----------
        question : dict
            As the curator asked it: "protocol", "question" (its number), and what it is about: "kind" and "pairs",
            or "groups", "pair", "pairs" or nothing, where servers add up the answers.
        ballot : array-like of shape (n_items,)
            Where this voter puts each item; the same for every question.

        Returns
        -------
        dict, or list of dict
            JSON-able: one answer, or one message a server, each to be sent to its own and to nobody else. The same
            question again gets the same answer.

        Raises
        ------
        BudgetExhausted
            If this voter has answered as often as was agreed, or another question of this number or a later one, or
            reports another ballot, or this is a copy.
        ValueError
            If the question does not follow the protocol.
        """
        if not isinstance(self._half, Asking):
            raise ValueError("this protocol asks no questions: use device.report(ballot).")
        half, asked = self._half, self._half.asked(question, self._protocol)

        def draw(positions, bits):
            if reason := half.refusal(self._said, asked, self._protocol):
                raise BudgetExhausted(f"this device {reason}.")
            said = half.answered(self._protocol, positions, bits, asked)
            return self._signed(said) if isinstance(said, list) else self._signed([said])[0]

        return self._say(half.named(asked), ballot, draw)

    def _reported(self, positions, bits):
        drawn = self._half.draw(self._protocol, positions, bits)
        if self._half is shares:
            return self._signed(shares.messages(self._protocol, drawn))
        return {"protocol": digest(self._protocol), **self._half.message(drawn)}

    def _shuffled(self, positions, bits, design):
        drawn = shuffled.draw(self._protocol, positions, bits, design)
        return self._signed(shuffled.messages(self._protocol, drawn))

    def _signed(self, messages):
        return [{"protocol": digest(self._protocol), **said} for said in messages]

    def _say(self, what, ballot, draw):
        """Return what was said under this name, or say it now, if the budget allows."""
        positions, key = read_ballot(ballot, len(self._protocol["items"]))
        key = hashlib.sha256(key).hexdigest()
        if self._home != os.getpid():
            return self._repeated(what, key)  # without the lock, which a thread of the parent may have held
        with self._lock:
            if what not in self._said and self._ballot in (None, key):
                if self._bits is None:
                    self._bits = Bits.from_random_state(self._random_state)
                said = json.dumps(draw(positions, self._bits))
                self._ballot = key
                self._said = MappingProxyType({**self._said, what: said})
            return self._repeated(what, key)

    def _repeated(self, what, key):
        if self._ballot not in (None, key):
            raise BudgetExhausted("this device has reported another ballot; one voter's budget pays for one.")
        if what not in self._said:
            raise BudgetExhausted(
                "this is a copy of a device, from a fork or a pickle, and says nothing new, or one voter would report "
                "twice; make the device in the process that uses it, or move it there with to_json and from_json."
            )
        return json.loads(self._said[what])

    def to_json(self) -> str:
        """Return the device as text, with what it has said: as secret as the ballot.

        Returns
        -------
        str
            For `from_json`, after a restart. A seed is not kept.
        """
        with self._lock if self._home == os.getpid() else threading.Lock():
            said = {what: json.loads(message) for what, message in self._said.items()}
            state = {"protocol": self._protocol, "ballot": self._ballot, "said": said}
        return json.dumps({"device": 1, **state, "max_epsilon": self._max_epsilon})

    @classmethod
    def from_json(cls, text: str, *, half: ReportHalf | None = None) -> Self:
        """Return the device that `to_json` was called on, to go on in its place.

        Parameters
        ----------
        text : str
            What `to_json` returned last; from an older one the device would say more than its budget pays for.
        half : object or None, default=None
            As for the device.

        Raises
        ------
        ValueError
            If it is not what `to_json` returns.
        """
        try:
            state = json.loads(text)
            form = type(state) is dict and set(state) == {"device", "protocol", "ballot", "said", "max_epsilon"}
            form = form and is_whole(state["device"], 1, 1) and (state["ballot"] is None) == (not state["said"])
            device = cls(state["protocol"], max_epsilon=state["max_epsilon"], half=half) if form else None
            said = {what: json.dumps(message) for what, message in state["said"].items()} if form else {}
        except (AttributeError, TypeError, ValueError, RecursionError):
            device = None
        if device is None:
            raise ValueError("text must be what to_json returned, with half= if the device has one.") from None
        device._ballot, device._said = state["ballot"], MappingProxyType(said)
        return device

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        own = None if self._protocol["randomizer"] in HALVES else self._half
        return _unpickled, (self.to_json(), own)


def _unpickled(text, half):
    """Return a copy of a device, which repeats and says nothing new."""
    device = Device.from_json(text, half=half)
    device._home = None
    return device


def _limit(max_epsilon):
    """Return the owner's limit as a float; infinite where there is none."""
    if max_epsilon is None:
        return math.inf
    try:
        limit = math.nan if isinstance(max_epsilon, bool) or not isinstance(max_epsilon, Real) else float(max_epsilon)
    except OverflowError:  # a large integer
        limit = sys.float_info.max
    if not limit > 0:
        raise ValueError(f"max_epsilon must be a positive number or None, got {max_epsilon!r}.")
    return limit


def _as_float_above(number):
    """Return the least float that is not below a Decimal."""
    near = float(number)
    return near if Decimal(near) >= number else math.nextafter(near, math.inf)
