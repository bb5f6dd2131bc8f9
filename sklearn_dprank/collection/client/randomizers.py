"""Registry of client implementations, and validation of protocols."""

import json
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from ..._utils.checks import safe_repr
from .assigned import AssignedRandomizer
from .base import ClientRandomizer
from .hypercube import HypercubeRandomizer
from .interactive import InteractiveRandomizer
from .pairs import PairsRandomizer
from .privunit import PrivUnitRandomizer
from .protocol import check_form, refuse_unless
from .rounds import RoundsRandomizer
from .shares import SharesRandomizer
from .shuffled import ShuffledRandomizer

#: Built-in client implementations, by their names in protocols. A protocol can select only these.
CLIENT_RANDOMIZERS: Mapping[str, ClientRandomizer] = MappingProxyType(
    {
        "rr": PairsRandomizer(),
        "laplace": PairsRandomizer(),
        "gaussian": PairsRandomizer(),
        "rr-assigned": AssignedRandomizer(),
        "hypercube": HypercubeRandomizer(),
        "privunit": PrivUnitRandomizer(),
        "rr-interactive": InteractiveRandomizer(),
        "rr-shuffled": ShuffledRandomizer(),
        "skellam-shares": SharesRandomizer(),
        "skellam-rounds": RoundsRandomizer(),
    }
)


def client_randomizer(protocol, own=None):
    """Return `own`, or the built-in client implementation of a protocol if `own` is None.

    `RefusedProtocol` is raised if the name in the protocol is unknown, or belongs to another implementation than `own`.
    """
    if own is not None and not isinstance(own, ClientRandomizer):
        raise ValueError(f"randomizer must be None or an object of a ReportRandomizer subclass, got {safe_repr(own)}.")
    name = protocol.get("randomizer")
    builtin = CLIENT_RANDOMIZERS.get(name) if type(name) is str else None
    if own is None:
        known = f"one of {sorted(CLIENT_RANDOMIZERS)}, or of your own with its code, Device(protocol, randomizer=...)"
        refuse_unless(builtin is not None, "randomizer", known)
        return builtin
    taken = f"a name of its own, as its code is; none of {sorted(CLIENT_RANDOMIZERS)}"
    refuse_unless(type(name) is str and type(builtin) in (type(None), type(own)), "randomizer", taken)
    return own


def checked(protocol, own=None):
    """Return a copy of a protocol from an untrusted curator.

    `RefusedProtocol` is raised if its form is wrong, or if its numbers spend more than it states.
    """
    refuse_unless(type(protocol) is dict, "it", "a JSON object (json.loads of its text)")
    randomizer = client_randomizer(protocol, own)
    check_form(protocol, randomizer.fields)
    randomizer.check(protocol)
    stated, spent = randomizer.epsilon_field, randomizer.spent(protocol)
    refuse_unless(spent <= Decimal(protocol[stated]), stated, f"at least what its numbers spend, {float(spent):.10g}")
    return json.loads(json.dumps(protocol))
