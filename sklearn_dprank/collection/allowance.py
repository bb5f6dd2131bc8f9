"""Privacy budget of one person over all protocols."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from .._utils.checks import check_number, is_whole
from ..privacy.errors import BudgetExhausted
from .protocol import decimal_of, float_above, is_amount, is_digits, total

_UP = Context(prec=40, rounding=ROUND_CEILING)  # `is_amount` accepts 40 digits


class Charge(NamedTuple):
    """Cost of one device: the digest of its protocol, and epsilon and delta as decimal text, rounded up."""

    protocol: str
    epsilon: str
    delta: str


class Uncopied:
    """Base class of objects that spend a budget: `copy` returns the object, and a pickle gives a copy that spends none.

    A subclass has `to_json`, `from_json` and `_home`, the number of the process that may use it. A copy has none.
    """

    _home: int | None

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    __copy__ = __deepcopy__


def unpickled(kind, text, **options):
    """Return a copy of an object of this class, which can be read and spends nothing."""
    copy = kind.from_json(text, **options)
    copy._home = None
    return copy


class Allowance(Uncopied):
    """Privacy budget of one person over several protocols.

    Use it if a person may answer more than one poll. A `Device` limits the cost of one protocol, but the epsilons and
    the deltas of several protocols add up. An allowance keeps both sums and refuses a device that does not fit.

    Parameters
    ----------
    epsilon : float
        Limit on the total epsilon of all devices, in nats, without trust in a shuffler or in servers.
    delta : float, default=0.0
        Limit on the total delta. 0 refuses every protocol of secure aggregation, because its guarantee without trust in
        the servers has a positive delta.

    Attributes
    ----------
    epsilon, delta : float
        The limits.
    spent : tuple of (float, float)
        Total epsilon and delta of all charges, rounded up.

    Raises
    ------
    ValueError
        If epsilon is not a finite number above 0, or delta is not in [0, 1).

    Notes
    -----
    .. rubric:: Privacy

    ``Device(protocol, allowance=allowance)`` charges the whole cost of the protocol when the device is made. It raises
    `BudgetExhausted` if the cost does not fit, or if the allowance was already charged for a device of this protocol. A
    second device would send a second, different report. Restore the first one with `Device.from_json`.

    Store ``device.to_json()`` and ``allowance.to_json()`` in one transaction, which excludes other processes and is on
    the disk before the report is sent; the user guide shows it for SQLite. After a restart, restore the allowance
    first and then every device: ``Device.from_json(text, allowance=allowance)`` charges a device only if the
    allowance does not contain it. A device that has reported is charged even if it does not fit, because its budget is
    spent.

    All methods are thread-safe. `copy` returns the allowance itself. A copy made by a fork or by pickling shows what
    was spent and cannot be charged. Of two allowances restored from one text, use only one. The text reveals in which
    polls the owner took part.

    Examples
    --------
    >>> from sklearn_dprank import LDPPairwise
    >>> from sklearn_dprank.collection import Allowance, Device
    >>> allowance = Allowance(epsilon=3.0)
    >>> device = Device(LDPPairwise(epsilon=2.0).protocol(["tea", "coffee"]), allowance=allowance)
    >>> round(allowance.spent[0], 6)
    2.0
    >>> Device(LDPPairwise(epsilon=1.5).protocol(["red", "blue"]), allowance=allowance)
    Traceback (most recent call last):
    ...
    sklearn_dprank.privacy.errors.BudgetExhausted: the protocol spends epsilon=1.5 and delta=0, ...
    """

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        check_number(epsilon, "epsilon", above=0)
        check_number(delta, "delta", least=0, below=1)
        self.epsilon, self.delta = float(epsilon), float(delta)
        # Charges by the number of each device. Replaced as a whole, so that a fork never sees half of it.
        self._charges: Mapping[str, Charge] = MappingProxyType({})
        self._home = os.getpid()
        self._lock = threading.Lock()

    @property
    def spent(self) -> tuple[float, float]:
        epsilon, delta = _totals(self._charges.values())
        return float_above(epsilon), float_above(delta, decimal_of)

    def charge(self, device: str, protocol: str, epsilon: Decimal, delta: Decimal, *, reported: bool) -> None:
        """Charge a device, unless it was charged before. `Device` calls this method.

        Parameters
        ----------
        device : str
            Random identifier of the device.
        protocol : str
            Digest of the device's protocol.
        epsilon, delta : Decimal
            Total cost of the device.
        reported : bool
            Whether the device has reported. If so, its budget is spent, and it is charged even if it does not fit.

        Raises
        ------
        BudgetExhausted
            If this is a copy. Also if a device that has not reported does not fit, or another device of its protocol
            was charged.
        """
        if self._home != os.getpid():
            raise BudgetExhausted(
                "this is a copy of an allowance, from a fork or a pickle, and cannot be charged. Use the allowance "
                "in the process that made it, or move it with to_json and from_json."
            )
        cost = Charge(protocol, *(f"{_UP.create_decimal(each):e}" if each else "0" for each in (epsilon, delta)))
        with self._lock:
            if device in self._charges:
                return
            if not reported and any(protocol == other.protocol for other in self._charges.values()):
                raise BudgetExhausted(
                    "this allowance has already paid for a device of this protocol, and a second one would send a "
                    "second report; open the first with Device.from_json(text, allowance=allowance)."
                )
            after = _totals([*self._charges.values(), cost])
            if not reported and (after[0] > decimal_of(self.epsilon) or after[1] > decimal_of(self.delta)):
                spent, lacking = self.spent, ""
                if self.delta == 0 < float(cost.delta):
                    lacking = f"Secure aggregation needs an allowance with delta of at least {float(cost.delta):.6g}. "
                raise BudgetExhausted(
                    f"the protocol spends epsilon={float(cost.epsilon):.6g} and delta={float(cost.delta):.6g}, which "
                    f"the allowance (epsilon={self.epsilon:.6g}, delta={self.delta:.6g}) does not cover: "
                    f"epsilon={spent[0]:.6g} and delta={spent[1]:.6g} are spent. {lacking}Do not report, "
                    "or use a larger allowance."
                )
            self._charges = MappingProxyType({**self._charges, device: cost})

    def to_json(self) -> str:
        """Return the allowance as text, with all charges.

        Returns
        -------
        str
            Text for `from_json` after a restart. Store it after each new device, before the device reports.
        """
        charges = {device: charge._asdict() for device, charge in self._charges.items()}
        return json.dumps({"allowance": 1, "epsilon": self.epsilon, "delta": self.delta, "charges": charges})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Restore an allowance from the text of `to_json`.

        Parameters
        ----------
        text : str
            Last text that `to_json` returned. An older text lacks the devices that were made later.

        Returns
        -------
        Allowance
            The restored allowance. Do not use another allowance of the same text.

        Raises
        ------
        ValueError
            If the text does not come from `to_json`.
        """
        try:
            state = json.loads(text)
            charges = {device: Charge(**charge) for device, charge in state.pop("charges").items()}
            valid = state.keys() == {"allowance", "epsilon", "delta"} and is_whole(state["allowance"], 1, 1)
            for device, (protocol, *costs) in charges.items():
                valid = valid and is_digits(device, 32) and is_digits(protocol, 16)
                valid = valid and all(cost == "0" or is_amount(cost) for cost in costs)
            allowance = cls(state["epsilon"], state["delta"])
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            valid = False
        if not valid:
            raise ValueError(
                "text must be what Allowance.to_json returned. Restore the last stored text; a new allowance would "
                "forget what was spent."
            )
        allowance._charges = MappingProxyType(charges)
        return allowance

    def __reduce__(self):
        return unpickled, (type(self), self.to_json())


def _totals(charges):
    """Return the sums of epsilons and of deltas as Decimals, rounded up."""
    charges = list(charges)
    return total(Decimal(one.epsilon) for one in charges), total(Decimal(one.delta) for one in charges)
