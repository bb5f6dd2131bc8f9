"""Client-side device: validates a protocol, enforces the voter's limits and creates one report."""

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

from ..._utils.checks import check_number, shown
from ...privacy.ledger import BudgetExhausted
from ...sampling.streams import Bits
from . import shares, shuffled
from .allowance import Allowance
from .ballot import read_ballot
from .protocol import RefusedProtocol, canonical, decimal_of, digest, float_above, is_digits, is_whole
from .randomizers import HALVES, Asking, ReportHalf, checked, voter_half

if TYPE_CHECKING:  # it would load numpy.random, which a device does without
    from ..._utils.types import RandomState

_TRUSTED = " (without trust in the servers)"
_KEPT = {"device", "protocol", "ballot", "said", "max_epsilon"}  # in the text of 0.2.0, which counts as 1
_COPY = (
    "this is a copy of a device, from a fork or a pickle, and creates no report, because one voter would report twice. "
    "Make the device in the process that uses it, or move it there with to_json and from_json."
)
_OLD = (
    "this device was stored by release 0.2.0, for version 2 of the wire format; it repeats what it reported then "
    "(epsilon={:.6g}, delta={:.6g}) and says nothing new."
)


class Device:
    """Client of one voter: follows a public protocol and creates one report.

    It needs nothing else: ``Device(json.loads(text))`` runs where only numpy and this package are installed, and
    loads no other library. It computes the epsilon that the protocol's numbers spend and refuses a protocol
    that states less, or that costs more than its owner allows.

    Parameters
    ----------
    protocol : dict
        As published by the curator (``estimator.protocol(items)``).
    max_epsilon : float or None, default=None
        Largest epsilon that the owner accepts, in nats and without trust in anybody. None accepts what the protocol
        states. It limits this protocol only: the epsilons of several protocols add up. `allowance` limits the sum.
    max_delta : float, default=1e-6
        Largest delta that the owner accepts, in [0, 1). Secure aggregation (``skellam-shares``, ``skellam-rounds``)
        protects a voter with the epsilon of the device except with probability delta, and the curator chooses
        delta. A large delta makes any epsilon meaningless. Other protocols have delta 0. It limits this protocol
        only: deltas of several protocols add up, as epsilons do.
    allowance : Allowance or None, default=None
        The owner's budget over all protocols. The new device charges its `epsilon` and `delta` to it.
    random_state : None, int, Generator or RandomState, default=None
        None is the operating system's secure source; anything else is for simulation only.
    half : object or None, default=None
        The voter's half of a randomizer of your own (see `~sklearn_dprank.collection.curator.Randomizer`); its code is
        trusted. None is for the protocols of this package: a protocol never chooses code.

    Attributes
    ----------
    epsilon : float
        Local epsilon of all that this device will ever say, from the protocol's numbers, rounded up.
    delta : float
        Probability with which `epsilon` may fail, rounded up; 0 except in secure aggregation.

    Raises
    ------
    RefusedProtocol
        If the protocol is not exactly of its form, spends more than it states, or more than `max_epsilon`, or has a
        delta above `max_delta`.
    BudgetExhausted
        If the allowance does not cover it, or has paid for another device of this protocol.

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
    >>> from sklearn_dprank.collection import Device
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
        max_delta: float = 1e-6,
        allowance: Allowance | None = None,
        random_state: "RandomState" = None,
        half: ReportHalf | None = None,
    ) -> None:
        limit = _limit(max_epsilon)
        check_number(max_delta, "max_delta", least=0, below=1)
        _check_allowance(allowance)
        followed = checked(protocol, half)
        self._begin(followed, voter_half(followed, half), random_state)
        self._max_epsilon = None if max_epsilon is None else limit
        self._max_delta = float(max_delta)
        if self._costs[0] > Decimal(limit):
            raise RefusedProtocol(
                f"the protocol spends a local epsilon of {self.epsilon:.6g}, above max_epsilon={max_epsilon!r}"
                f"{_TRUSTED if hasattr(self._half, 'STATED') else ''}. Send nothing, or raise max_epsilon."
            )
        if self._costs[1] > decimal_of(self._max_delta):
            raise RefusedProtocol(
                f"the protocol has delta={self.delta:.6g}{_TRUSTED}, above max_delta={max_delta!r}. Send nothing, or "
                "ask the curator for a protocol with a smaller delta."
            )
        if allowance is not None:  # last: a protocol that is refused costs nothing
            self._charge(allowance)

    def _begin(self, protocol, half, random_state=None):
        """Set what a device of this protocol has before it says anything."""
        self._protocol, self._half = protocol, half
        # As Decimals. A half without `delta` protects by epsilon alone.
        self._costs = half.spent(protocol), half.delta(protocol) if hasattr(half, "delta") else Decimal(0)
        self.epsilon, self.delta = float_above(self._costs[0]), float_above(self._costs[1], decimal_of)
        self._number = os.urandom(16).hex()  # for an allowance
        self._random_state = random_state
        self._bits: Bits | None = None
        self._ballot: str | None = None  # SHA-256 of what the ballot says
        # Replaced as a whole, so that a fork never sees half of it.
        self._said: Mapping[str, str] = MappingProxyType({})
        self._old = False  # whether 0.2.0 stored it
        self._home: int | None = os.getpid()
        self._lock = threading.Lock()

    def _charge(self, allowance):
        """Charge what this device spends in total, unless the allowance has it."""
        allowance.charge(self._number, digest(self._protocol), *self._costs, reported=bool(self._said))

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
            JSON-able: one report, or one submission for the shuffler that holds K messages, or one message a server,
            each to be sent to its own and to nobody else. Called again with the same ballot, the same: send it again,
            never draw again.

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
        return {"protocol": digest(self._protocol), **shuffled.submission(self._protocol, drawn, bits)}

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
            raise BudgetExhausted(
                "this device has already reported another ballot. Pass the same ballot to get the same report."
            )
        if what not in self._said:
            raise BudgetExhausted(_OLD.format(self.epsilon, self.delta) if self._old else _COPY)
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
        if self._old:
            return json.dumps({"device": 1, **state, "max_epsilon": self._max_epsilon})
        limits = {"max_epsilon": self._max_epsilon, "max_delta": self._max_delta}
        return json.dumps({"device": 2, "number": self._number, **state, **limits})

    @classmethod
    def from_json(cls, text: str, *, half: ReportHalf | None = None, allowance: Allowance | None = None) -> Self:
        """Return the device that `to_json` was called on, to go on in its place.

        A device that release 0.2.0 stored repeats what it has sent, and says nothing new.

        Parameters
        ----------
        text : str
            What `to_json` returned last; from an older one the device would say more than its budget pays for.
        half : object or None, default=None
            As for the device.
        allowance : Allowance or None, default=None
            The owner's budget. The device is charged unless the allowance has it already. A device that has reported
            is charged even if it does not fit.

        Raises
        ------
        ValueError
            If it is not what `to_json` returns.
        BudgetExhausted
            If the device has not reported, and the allowance does not have it and does not cover it.
        """
        _check_allowance(allowance)
        try:
            device = cls._restored(json.loads(text), half)
        # A protocol that 0.2.0 did not write may lack what its cost is computed from.
        except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
            device = None
        if device is None:
            raise ValueError("text must be what to_json returned, with half= if the device has one.") from None
        if allowance is not None and not (device._old and not device._said):
            device._charge(allowance)
        return device

    @classmethod
    def _restored(cls, state, half):
        """Return the device of a parsed text, or None if its form is wrong."""
        old = type(state) is dict and set(state) == _KEPT and is_whole(state["device"], 1, 1)
        new = type(state) is dict and set(state) == {*_KEPT, "max_delta", "number"} and is_whole(state["device"], 2, 2)
        if not (old or new) or (state["ballot"] is None) != (not state["said"]):
            return None
        if old:
            device = cls._stored_by_0_2_0(state, half)
        elif is_digits(state["number"], 32):
            limits = {"max_epsilon": state["max_epsilon"], "max_delta": state["max_delta"]}
            device = cls(state["protocol"], **limits, half=half)
            device._number = state["number"]
        else:
            return None
        said = {what: json.dumps(message) for what, message in state["said"].items()}
        device._ballot, device._said = state["ballot"], MappingProxyType(said)
        return device

    @classmethod
    def _stored_by_0_2_0(cls, state, half):
        """Return a device that repeats what release 0.2.0 stored: its protocols have another form than today's."""
        protocol, device = state["protocol"], cls.__new__(cls)
        if not is_whole(protocol["version"], 2, 2):
            return None
        device._begin(protocol, voter_half(protocol, half))
        device._number = hashlib.sha256(canonical(state)).hexdigest()[:32]  # the same each time it is opened
        device._max_epsilon = state["max_epsilon"]
        device._old, device._home = True, None
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
        raise ValueError(f"max_epsilon must be a positive number or None, got {shown(max_epsilon)}.")
    return limit


def _check_allowance(allowance):
    """Raise unless it is an allowance or None."""
    if allowance is not None and not isinstance(allowance, Allowance):
        raise ValueError(f"allowance must be an Allowance or None, got {shown(allowance)}.")
