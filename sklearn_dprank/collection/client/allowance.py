"""One owner's privacy budget over all protocols that the owner's devices follow."""

import json
import os
import threading
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from ..._utils.checks import check_number
from ...privacy.ledger import BudgetExhausted
from .protocol import decimal_of, float_above, is_amount, is_digits, total

_UP = Context(prec=40, rounding=ROUND_CEILING)  # as many digits as `is_amount` accepts


class Charge(NamedTuple):
    """The privacy loss of one device.

    Attributes
    ----------
    protocol : str
        Digest of its protocol.
    epsilon, delta : str
        Decimal numbers, rounded up.
    """

    protocol: str
    epsilon: str
    delta: str


class Allowance:
    """The privacy budget of one owner, from which every new device draws.

    A `Device` limits what one protocol spends. Several protocols spend the sum of their epsilons, and the sum of
    their deltas. An allowance keeps these sums and refuses a device that does not fit.

    Parameters
    ----------
    epsilon : float
        Largest total epsilon of all devices, in nats and without trust in anybody.
    delta : float, default=0.0
        Largest total delta. 0 refuses every protocol of secure aggregation, because its guarantee without trust
        in the servers has a positive delta.

    Attributes
    ----------
    epsilon, delta : float
        As given.
    spent : tuple of (float, float)
        Total epsilon and delta that were charged, rounded up.

    Raises
    ------
    ValueError
        If epsilon is not a finite number above 0, or delta is not in [0, 1).

    Notes
    -----
    .. rubric:: Privacy

    ``Device(protocol, allowance=allowance)`` charges the whole cost of the protocol when the device is made. It
    raises `BudgetExhausted` if the cost does not fit, or if the allowance has already paid for a device of this
    protocol. A second device would send a second, different report. Open the first one with `Device.from_json`.

    Store ``device.to_json()``, then ``allowance.to_json()``, then send the report. After a restart, open the allowance
    first and then every device: ``Device.from_json(text, allowance=allowance)`` charges a device only if the
    allowance does not have it. A device that has reported is charged even if it does not fit, because its budget is
    spent.

    All methods are thread-safe. `copy` returns the allowance itself. A copy in a forked process, or made by pickling,
    shows what was spent and cannot be charged. Of two allowances that are made from one text, only one may go on.
    The text tells in which polls the owner took part.

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
    sklearn_dprank.privacy.ledger.BudgetExhausted: the protocol spends epsilon=1.5 and delta=0, ...
    """

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        check_number(epsilon, "epsilon", above=0)
        check_number(delta, "delta", least=0, below=1)
        self.epsilon, self.delta = float(epsilon), float(delta)
        # By the number of each device; replaced as a whole, so that a fork never sees half of it.
        self._charges: Mapping[str, Charge] = MappingProxyType({})
        self._home: int | None = os.getpid()
        self._lock = threading.Lock()

    @property
    def spent(self) -> tuple[float, float]:
        epsilon, delta = _totals(self._charges.values())
        return float_above(epsilon), float_above(delta, decimal_of)

    def charge(self, device: str, protocol: str, epsilon: Decimal, delta: Decimal, *, reported: bool) -> None:
        """Charge a device, unless it is charged already; `Device` calls this.

        Parameters
        ----------
        device : str
            Random number of the device.
        protocol : str
            Digest of its protocol.
        epsilon, delta : Decimal
            What the device will reveal in total.
        reported : bool
            Whether it has sent a report. Then the budget is spent, and the device is charged in any case.

        Raises
        ------
        BudgetExhausted
            If the cost does not fit, another device of this protocol was charged, or this is a copy.
        """
        if self._home != os.getpid():
            raise BudgetExhausted(
                "this is a copy of an allowance, from a fork or a pickle, and cannot be charged; use the allowance "
                "in the process that made it, or move it with to_json and from_json."
            )
        cost = Charge(protocol, _as_text(epsilon), _as_text(delta))
        with self._lock:
            if device in self._charges:
                return
            if not reported:
                self._refuse(cost)
            self._charges = MappingProxyType({**self._charges, device: cost})

    def _refuse(self, cost):
        """Raise unless this charge is the first of its protocol and fits."""
        if any(cost.protocol == other.protocol for other in self._charges.values()):
            raise BudgetExhausted(
                "this allowance has already paid for a device of this protocol, and a second one would send a second "
                "report; open the first with Device.from_json(text, allowance=allowance)."
            )
        epsilon, delta = _totals([*self._charges.values(), cost])
        if epsilon > decimal_of(self.epsilon) or delta > decimal_of(self.delta):
            spent, lacking = self.spent, ""
            if self.delta == 0 < float(cost.delta):
                lacking = f"Secure aggregation needs an allowance with delta of at least {float(cost.delta):.6g}. "
            raise BudgetExhausted(
                f"the protocol spends epsilon={float(cost.epsilon):.6g} and delta={float(cost.delta):.6g}, which the "
                f"allowance (epsilon={self.epsilon:.6g}, delta={self.delta:.6g}) does not cover: "
                f"epsilon={spent[0]:.6g} and delta={spent[1]:.6g} are spent. {lacking}Do not report, "
                "or use a larger allowance."
            )

    def to_json(self) -> str:
        """Return the allowance as text, with everything that was charged.

        Returns
        -------
        str
            For `from_json`, after a restart. Store it after each new device, before the device reports.
        """
        charges = {device: charge._asdict() for device, charge in self._charges.items()}
        return json.dumps({"allowance": 1, "epsilon": self.epsilon, "delta": self.delta, "charges": charges})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the allowance that `to_json` was called on, to go on in its place.

        Parameters
        ----------
        text : str
            What `to_json` returned last. An older text does not contain the devices that were made later.

        Raises
        ------
        ValueError
            If the text is not what `to_json` returns.
        """
        try:
            state = json.loads(text)
            form = type(state) is dict and set(state) == {"allowance", "epsilon", "delta", "charges"}
            form = form and type(state["allowance"]) is int and state["allowance"] == 1
            form = form and type(state["charges"]) is dict
            form = form and all(_is_charge(device, charge) for device, charge in state["charges"].items())
            allowance = cls(state["epsilon"], state["delta"]) if form else None
        except (TypeError, ValueError, RecursionError):
            allowance = None
        if allowance is None:
            raise ValueError(
                "text must be what Allowance.to_json returned. Restore the last stored text; a new allowance would "
                "forget what was spent."
            )
        charges = {device: Charge(**charge) for device, charge in state["charges"].items()}
        allowance._charges = MappingProxyType(charges)
        return allowance

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _unpickled, (self.to_json(),)


def _unpickled(text):
    """Return a copy of an allowance, which cannot be charged."""
    allowance = Allowance.from_json(text)
    allowance._home = None
    return allowance


def _totals(charges):
    """Return the sums of epsilons and of deltas, as Decimals, rounded up."""
    charges = list(charges)
    return total(Decimal(one.epsilon) for one in charges), total(Decimal(one.delta) for one in charges)


def _as_text(cost):
    """Return a cost as decimal text, rounded up in the 40th digit."""
    return f"{_UP.create_decimal(cost):e}" if cost else "0"


def _is_charge(device: Any, charge: Any) -> bool:
    """Tell whether an entry of the text is a charge of a device."""
    if not is_digits(device, 32) or type(charge) is not dict or set(charge) != set(Charge._fields):
        return False
    costs = charge["epsilon"], charge["delta"]
    return is_digits(charge["protocol"], 16) and all(cost == "0" or is_amount(cost) for cost in costs)
