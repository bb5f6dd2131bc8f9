"""Client-side device: validates a protocol, enforces the voter's limits and creates reports."""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from .._utils.checks import as_double, check_number, is_whole, safe_repr
from ..privacy.errors import BudgetExhausted
from ..sampling.bit_source import Bits
from .allowance import Allowance, Uncopied, unpickled
from .base import QuestionRandomizer, ReportRandomizer
from .protocol import RefusedProtocol, decimal_of, digest, float_above, is_digits
from .randomizers import checked, client_randomizer

if TYPE_CHECKING:  # the import loads numpy.random, which a device does not need
    from .._utils.types import RandomState

_TRUSTED = " (without trust in the servers)"
_KEPT = {"device", "number", "protocol", "ballot", "said", "max_epsilon", "max_delta"}  # fields of a stored device


class Device(Uncopied):
    """Client for one voter in the local, shuffle and secure aggregation models.

    Run it where the ballot is: ``Device(json.loads(text))`` needs only NumPy and this package. The device computes the
    local epsilon that the protocol's numbers spend. It refuses a protocol that spends more than it states, or more than
    the owner allows.

    Parameters
    ----------
    protocol : dict
        Protocol from the curator (``estimator.protocol(items)``).
    max_epsilon : float or None, default=None
        Limit on the local epsilon, in nats, without trust in a shuffler or in servers. None accepts what the protocol
        states. It limits this protocol only. The epsilons of several protocols add up, and `allowance` limits their
        sum.
    max_delta : float, default=1e-6
        Limit on delta, in [0, 1). In secure aggregation (``skellam-shares``, ``skellam-rounds``), `epsilon` holds at a
        delta that the curator chooses. A large delta makes any epsilon meaningless. Other built-in protocols have delta
        0. It limits this protocol only. The deltas of several protocols add up, as epsilons do.
    allowance : Allowance or None, default=None
        The owner's budget over all protocols. The new device charges its `epsilon` and `delta` to it.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.
    randomizer : ReportRandomizer or None, default=None
        Client implementation of a custom randomizer (see `~sklearn_dprank.collection.Randomizer`). Its code is
        trusted. None is for built-in protocols. A protocol can only select built-in code.

    Attributes
    ----------
    epsilon : float
        Local epsilon of everything that the device sends, computed from the protocol's numbers and rounded up. In
        secure aggregation, it holds at `delta`.
    delta : float
        Delta of this local guarantee, rounded up. It is 0 for built-in protocols other than secure aggregation.

    Raises
    ------
    RefusedProtocol
        If the protocol is malformed, spends more than it states or more than `max_epsilon`, or has a delta above
        `max_delta`.
    BudgetExhausted
        If the allowance does not cover the protocol, or was charged for another device of this protocol.

    Notes
    -----
    .. rubric:: Privacy

    A device randomises each report once. Asked again, from any thread, it returns the same report. It refuses a
    different ballot.

    `copy` returns the device itself. A copy made by a fork or by pickling repeats earlier reports and makes no new
    ones. To survive a restart, save ``device.to_json()`` after each report and before sending it. The text is as secret
    as the ballot. Of two devices restored from one text, use only one.

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
        random_state: RandomState = None,
        randomizer: ReportRandomizer | None = None,
    ) -> None:
        limit = math.inf if max_epsilon is None else as_double(max_epsilon)
        if not limit > 0:
            raise ValueError(f"max_epsilon must be a positive number or None, got {safe_repr(max_epsilon)}.")
        check_number(max_delta, "max_delta", least=0, below=1)
        followed = checked(protocol, randomizer)
        self._protocol, self._randomizer = followed, client_randomizer(followed, randomizer)
        self._costs = self._randomizer.spent(followed), self._randomizer.delta(followed)  # Decimals
        self.epsilon, self.delta = float_above(self._costs[0]), float_above(self._costs[1], decimal_of)
        self._number = os.urandom(16).hex()  # identifies the device in an allowance
        self._random_state = random_state
        self._bits: Bits | None = None
        self._ballot: str | None = None  # SHA-256 of the ballot's key
        # Replaced as a whole, so that a fork never sees half of it.
        self._sent: Mapping[str, str] = MappingProxyType({})
        self._home = os.getpid()
        self._lock = threading.Lock()
        self._max_epsilon = None if max_epsilon is None else limit
        self._max_delta = float(max_delta)
        if self._costs[0] > Decimal(limit):
            trusted = _TRUSTED if self._randomizer.epsilon_field != "epsilon" else ""
            raise RefusedProtocol(
                f"the protocol spends a local epsilon of {self.epsilon:.6g}, above "
                f"max_epsilon={max_epsilon!r}{trusted}. Send no report, or raise max_epsilon."
            )
        if self._costs[1] > decimal_of(self._max_delta):
            raise RefusedProtocol(
                f"the protocol has delta={self.delta:.6g}{_TRUSTED}, above max_delta={max_delta!r}. Send no report, or "
                "ask the curator for a protocol with a smaller delta."
            )
        self._charge(allowance)  # last, so that a refused protocol is not charged

    def _charge(self, allowance):
        """Charge the total cost of this device to the allowance, if any, unless it was charged before."""
        if allowance is not None and not isinstance(allowance, Allowance):
            raise ValueError(f"allowance must be an Allowance or None, got {safe_repr(allowance)}.")
        if allowance is not None:
            allowance.charge(self._number, digest(self._protocol), *self._costs, reported=bool(self._sent))

    @property
    def protocol(self) -> dict[str, Any]:
        """Copy of the protocol that this device follows."""
        return json.loads(json.dumps(self._protocol))

    def report(
        self, ballot: ArrayLike, pairs: Sequence[Sequence[int]] | None = None, *, voter: int | None = None
    ) -> Any:
        """Return the randomised report of a ballot.

        Parameters
        ----------
        ballot : array-like of shape (n_items,)
            Position of each item. Smaller is better, equal is tied, NaN is a missing opinion. If the protocol is for
            shown pairs, all comparisons of the person, of shape (n_comparisons, 3): rows [first, second, outcome] with
            the numbers of two items, and 1 if the first won, 0 if the second won, or None for a tie.
        pairs : sequence of (int, int) or None, default=None
            Pairs assigned by the curator (a row of `~sklearn_dprank.channels.balanced_design`), if a protocol for the
            shuffler assigns pairs. If the protocol has ``n_voters``, the device computes the pairs, and verifies those
            that are given.
        voter : int or None, default=None
            Number of this voter in the register, from 0 to ``n_voters`` - 1, if the protocol has ``n_voters``.

        Returns
        -------
        dict, or list of dict
            JSON-able: one report, one submission of K messages for the shuffler, or one message per server. Send each
            message only to its own receiver. A second call with the same ballot returns the same data, so you can send
            it again without a new random draw.

        Raises
        ------
        BudgetExhausted
            If the device has reported another ballot, or is a copy without a report.
        ValueError
            If the ballot does not have one position per item, or is not a list of comparisons, `pairs` or `voter` does
            not fit the protocol, or the protocol asks questions.
        """
        randomizer = self._randomizer
        if isinstance(randomizer, QuestionRandomizer):
            raise ValueError("this protocol asks questions: use device.answer(question, ballot).")
        design = randomizer.assigned(pairs, self._protocol, voter)
        return self._send(
            "report", ballot, lambda positions, bits: randomizer.report(self._protocol, positions, bits, design)
        )

    def answer(self, question: Mapping[str, Any], ballot: ArrayLike) -> Any:
        """Return the randomised answer to one question about this voter's ballot.

        Parameters
        ----------
        question : dict
            Question from the curator. It contains "protocol", "question" (a number) and the subject. In secure
            aggregation, the subject is "groups", "pair" or "pairs", or is absent. In other protocols, it is "kind" and
            "pairs".
        ballot : array-like of shape (n_items,)
            Position of each item, the same for every question.

        Returns
        -------
        dict, or list of dict
            JSON-able: one answer, or one message per server. Send each message only to its own receiver. The same
            question gets the same answer.

        Raises
        ------
        BudgetExhausted
            If the device has given all answers of this kind or has answered for another ballot. Also if it is a copy
            without an answer to this question. In secure aggregation, also if it has
            answered a later question, or another question of this number.
        ValueError
            If the question does not follow the protocol, or the protocol does not ask questions. Also if the ballot
            does not have one position per item.
        """
        randomizer = self._randomizer
        if not isinstance(randomizer, QuestionRandomizer):
            raise ValueError("this protocol asks no questions: use device.report(ballot).")
        asked = randomizer.asked(question, self._protocol)
        return self._send(
            asked[0],
            ballot,
            lambda positions, bits: randomizer.answer(self._protocol, positions, bits, asked, self._sent),
        )

    def _send(self, name, ballot, draw):
        """Return the stored message of this name, or draw and store it if the budget allows."""
        positions, key = self._randomizer.read(ballot, self._protocol)
        key, at_home = hashlib.sha256(key).hexdigest(), self._home == os.getpid()
        with self._lock if at_home else nullcontext():  # a thread of the parent may have held the lock at the fork
            if self._ballot not in (None, key):
                raise BudgetExhausted(
                    "this device has already reported another ballot. Pass the same ballot to get the same report."
                )
            if name not in self._sent and not at_home:
                raise BudgetExhausted(
                    "this is a copy of a device, from a fork or a pickle, and creates no report, because one voter "
                    "would report twice. Make the device in the process that uses it, or move it there with to_json "
                    "and from_json."
                )
            if name not in self._sent:
                if self._bits is None:
                    self._bits = Bits.from_random_state(self._random_state)
                message = json.dumps(draw(positions, self._bits))
                self._ballot = key
                self._sent = MappingProxyType({**self._sent, name: message})
            return json.loads(self._sent[name])

    def to_json(self) -> str:
        """Return the device as text, with its reports. The text is as secret as the ballot.

        Returns
        -------
        str
            Text for `from_json` after a restart. It does not contain the seed.
        """
        with self._lock if self._home == os.getpid() else nullcontext():
            sent = {name: json.loads(message) for name, message in self._sent.items()}
            state = {"protocol": self._protocol, "ballot": self._ballot, "said": sent}
        limits = {"max_epsilon": self._max_epsilon, "max_delta": self._max_delta}
        return json.dumps({"device": 2, "number": self._number, **state, **limits})

    @classmethod
    def from_json(
        cls, text: str, *, randomizer: ReportRandomizer | None = None, allowance: Allowance | None = None
    ) -> Self:
        """Restore a device from the text of `to_json`.

        Parameters
        ----------
        text : str
            Last text that `to_json` returned. A device restored from an older text can exceed its budget.
        randomizer : ReportRandomizer or None, default=None
            Client implementation of a custom randomizer, as for `Device`.
        allowance : Allowance or None, default=None
            The owner's budget. The device is charged unless the allowance already contains it. A device that has
            reported is charged even if it exceeds the budget.

        Returns
        -------
        Device
            The restored device. Do not use another device of the same text.

        Raises
        ------
        ValueError
            If the text does not come from `to_json`.
        BudgetExhausted
            If the device has not reported and is not in the allowance, and the allowance does not cover it or was
            charged for another device of this protocol. Also if the allowance is a copy.
        """
        try:
            state = json.loads(text)
            valid = state.keys() == _KEPT and is_whole(state["device"], 2, 2) and is_digits(state["number"], 32)
            valid = valid and (state["ballot"] is None) == (not state["said"])
            sent = {name: json.dumps(message) for name, message in state["said"].items()}
            limits = {"max_epsilon": state["max_epsilon"], "max_delta": state["max_delta"]}
            device = cls(state["protocol"], **limits, randomizer=randomizer)
        except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
            valid = False
        if not valid:
            raise ValueError("text must be what to_json returned, with randomizer= if the device has one.")
        device._number, device._ballot, device._sent = state["number"], state["ballot"], MappingProxyType(sent)
        device._charge(allowance)
        return device

    def __reduce__(self):
        return partial(unpickled, randomizer=self._randomizer), (type(self), self.to_json())
