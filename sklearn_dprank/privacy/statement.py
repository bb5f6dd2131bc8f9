"""A guarantee in plain words: NIST SP 800-226's questions, answered."""

import math
from typing import Any

from .trust import AND, TRUST

#: Which profiles count as neighbours.
NEIGHBORING = {
    "add_remove": "with and without one ballot",
    "replace": "one ballot replaced by any other; the number of voters is public",
}
_HIDDEN = {"add_remove": "whether somebody voted, and how", "replace": "how somebody voted"}
_GUESSED = {"add_remove": "a certain ballot was cast", "replace": "a voter cast the one or the other of two ballots"}
_LARGE = 1e6  # a ratio beyond which epsilon says next to nothing
_SIMULATION = "A simulation only: a seed was given, and who knows it undoes the noise. Nobody is promised what follows."


def statement(guarantee: Any) -> str:
    """Return what `PrivacyGuarantee.statement` says: plain words, a line a question."""
    caveats = [f"Read also: {caveat}." for caveat in guarantee.caveats]
    if math.isinf(guarantee.epsilon):
        return "\n".join([f"Not private: {guarantee.how}.", *caveats])
    lines = [
        f"Released: {guarantee.how}.",
        f"Unit: {guarantee.unit}. Whoever has k of them has k times epsilon, and a larger delta.",
        f"Hidden: {_HIDDEN[guarantee.neighboring]} ({NEIGHBORING[guarantee.neighboring]}).",
        f"Trust: {_trust(guarantee)}.",
        f"Epsilon = {guarantee.epsilon:.6g}: {_odds(guarantee)}.",
        f"Delta = {guarantee.delta:.6g}: {_failure(guarantee)}.",
        "Composition: what is released besides about the same voters adds up; PrivacyGuarantee.compose says to what.",
        f"Arithmetic: {guarantee.arithmetic}.",
        f"Not covered: {_not_covered(guarantee)}.",
    ]
    return "\n".join([*([] if guarantee.certified else [_SIMULATION]), *lines, *caveats])


def _trust(guarantee):
    meanings = "; ".join(TRUST[name].meaning for name in guarantee.trust.split(AND))
    return f"{meanings}. To be trusted: {', '.join(guarantee.parties) or 'nobody'}"


def _odds(guarantee):
    """Return epsilon as a ratio, and as what happens to a guess that was even."""
    if guarantee.epsilon > math.log(_LARGE):
        return f"one ballot may change a probability by a factor of more than {_LARGE:,.0f}, next to no promise"
    ratio = math.exp(guarantee.epsilon)
    guess = f"{_GUESSED[guarantee.neighboring]} is no surer than {_percent(ratio / (1 + ratio))} afterwards"
    return (
        f"no single ballot changes the probability of any outcome by more than a factor of {_up(ratio)}. "
        f"Who holds it for an even bet that {guess}"
    )


def _failure(guarantee):
    if not guarantee.delta:
        return "the promise has no exception"
    return f"no set of outcomes may become more probable than that by more than {guarantee.delta:.6g}"


def _not_covered(guarantee):
    exact = "scores and whatever else is computed from the ballots exactly; the seed; running times"
    n = "the number of voters; " if guarantee.neighboring == "add_remove" else ""
    return f"{n}{exact}; what the result tells of everybody, voter or not; who asks people how they voted"


def _up(ratio):
    """Return a ratio above 1 with three digits, rounded up."""
    digits = max(0, 2 - math.floor(math.log10(ratio)))
    return f"{math.ceil(ratio * 10**digits) / 10**digits:,.{digits}f}"


def _percent(share):
    """Return a share in percent, rounded up, and never certainty."""
    for digits in range(1, 12):
        rounded = math.ceil(100 * share * 10**digits) / 10**digits
        if rounded < 100:
            return f"{rounded:.{digits}f} %"
    return "certainty"
