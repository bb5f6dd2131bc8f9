"""Whom the voters trust, by trust model, and what a sum of models needs."""

from collections.abc import Iterable
from typing import NamedTuple


class Trust(NamedTuple):
    """A trust model: who must be trusted, and what happens to a ballot."""

    parties: tuple[str, ...]
    meaning: str


#: The shuffler and its duty: a voter with a protocol of its own can be traced by the digests of its messages.
SHUFFLER = "the shuffler (one public protocol for all voters)"
#: From the least to the most trusting.
TRUST = {
    "local": Trust((), "each ballot is randomised before it leaves the voter"),
    "shuffle": Trust(
        (SHUFFLER, "the voters whose messages are mixed"),
        "each ballot is randomised by its voter, then a trusted shuffler mixes the reports",
    ),
    "secure_aggregation": Trust(
        ("one of the servers", "the voters who add noise"),
        "each voter splits a noisy ballot among servers that do not all collude; nobody sees more than the sum",
    ),
    "central": Trust(("the curator",), "a trusted curator sees the ballots"),
    "none": Trust(("everybody",), "no privacy: the release is a function of the ballots"),
}
AND = " + "


def all_of(trusts: Iterable[str]) -> str:
    """Return the trust that needs everybody whom one of these needs; an unknown one is left out."""
    named = {name for trust in trusts for name in trust.split(AND)}
    if "none" in named:
        return "none"
    needed = [name for name in TRUST if name in named and TRUST[name].parties]
    return AND.join(needed) if needed else "local"


def trusted(trust: str, whom: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs (trust model, party) of a guarantee: those that it names itself, or those of the model."""
    named = trust.split(AND)
    own = {model for model, _ in whom}
    return [
        (name, party)
        for name in named
        for party in ([p for model, p in whom if model == name] if name in own else TRUST[name].parties)
    ]
