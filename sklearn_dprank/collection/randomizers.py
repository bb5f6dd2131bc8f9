"""Registry of randomizers, validation of protocols, and the parameter ``randomizer`` of channels."""

import json
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from .._utils.checks import check_made, check_parameters, is_whole, safe_repr
from .base import ClientRandomizer
from .hypercube import HypercubeRandomizer
from .pairs import AssignedRandomizer, InteractiveRandomizer, PairsRandomizer, RandomizedResponse, ShuffledRandomizer
from .privunit import PrivUnitRandomizer
from .protocol import VERSION, are_items, is_amount, refuse_unless
from .shares import RoundsRandomizer, SharesRandomizer

#: Built-in client implementations, by their names in protocols. A protocol can select only these.
CLIENT_RANDOMIZERS: Mapping[str, ClientRandomizer] = MappingProxyType(
    {
        **dict.fromkeys(("rr", "laplace", "gaussian", "rr-shown"), PairsRandomizer()),
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
    # Another name than every built-in one, or the built-in name of this very class.
    refuse_unless(type(name) is str and type(builtin) in (type(None), type(own)), "randomizer", taken)
    return own


def checked(protocol, own=None):
    """Return a copy of a protocol from an untrusted curator.

    `RefusedProtocol` is raised if its form is wrong, or if its numbers spend more than it states.
    """
    refuse_unless(type(protocol) is dict, "it", "a JSON object (json.loads of its text)")
    client = client_randomizer(protocol, own)
    version, other = protocol.get("version", VERSION), ""  # first, because another version has other fields
    if is_whole(version, 0):  # another value may be too deep or too long to print
        other = f", got {version}: curator and device need releases of this package that speak the same"
    refuse_unless(is_whole(version, VERSION, VERSION), "version", f"{VERSION}{other}")
    expected = {
        "version",
        "randomizer",
        "items",
        "epsilon",
        *client.fields,
        *set(client.optional).intersection(protocol),
    }
    unlike = f"exact; {len(set(protocol) - expected)} too many, and missing {sorted(expected - set(protocol))}"
    refuse_unless(set(protocol) == expected, "its set of fields", unlike)
    refuse_unless(are_items(protocol["items"]), "items", "a list of 2 to 65,534 distinct names (text or integers)")
    refuse_unless(is_amount(protocol["epsilon"]), "epsilon", "a positive decimal number as text")
    client.check(protocol)
    stated, spent = client.epsilon_field, client.spent(protocol)
    refuse_unless(spent <= Decimal(protocol[stated]), stated, f"at least what its numbers spend, {float(spent):.10g}")
    return json.loads(json.dumps(protocol))


# Resolution of the ``randomizer`` parameter of channels and estimators.


def check_randomizer(randomizer, name):
    """Raise an error unless `randomizer` is None or an object with a ``protocol`` method."""
    if randomizer is None:
        return
    check_made(randomizer, name, "randomizer")
    if not callable(getattr(randomizer, "protocol", None)):
        raise ValueError(
            f"{name} must be None or a randomizer of sklearn_dprank.collection, got {safe_repr(randomizer)}."
        )
    client_randomizer({"randomizer": randomizer.name}, randomizer.client)  # a built-in name means what it always means


def resolve_flips(channel, counted_by):
    """Return the randomizer of a channel that asks about pairs and uses only the flip probability.

    ValueError is raised if the randomizer does not flip answers, or if its `n_queries` is not 1. The channel's
    parameter `counted_by` sets the number of answers.
    """
    randomizer = RandomizedResponse() if channel.randomizer is None else channel.randomizer
    asking, name = type(channel).__name__, type(randomizer).__name__
    if not hasattr(randomizer, "flip"):
        raise ValueError(
            f"{asking} cannot use {name}: it takes answers about single pairs, which {name} does not give; use "
            f"RandomizedResponse(), or the channel Local(randomizer={name}())."
        )
    check_parameters(randomizer)
    if randomizer.n_queries != 1:
        raise ValueError(
            f"{asking} cannot use {name}(n_queries={safe_repr(randomizer.n_queries)}): how many pairs a voter answers "
            f"is up to {counted_by}; leave n_queries of the randomizer at 1."
        )
    return randomizer


def check_flips(randomizer, name, names=("rr",)):
    """Raise ValueError unless `randomizer` is one of `names`, or an object that flips answers about pairs."""
    check_made(randomizer, name, "randomizer")
    if randomizer not in names if isinstance(randomizer, str) else not hasattr(randomizer, "flip"):
        wanted = "a randomizer that flips answers about pairs, such as sklearn_dprank.theory.yan.PrintedLaplace()"
        raise ValueError(f"{name} must be one of {list(names)} or {wanted}, got {safe_repr(randomizer)}.")


def flips_of(randomizer, n_queries):
    """Return the randomizer of a name or an object, with this number of queries."""
    if isinstance(randomizer, str):
        return RandomizedResponse(n_queries)
    from sklearn.base import clone

    return clone(randomizer).set_params(n_queries=n_queries)
