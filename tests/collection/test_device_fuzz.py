"""A device refuses a protocol, or spends at most the stated epsilon."""

import copy
import json
import math
import random
from collections import Counter
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product

import pytest
import wire_vectors
from fuzzing import places
from sklearn.base import clone

from sklearn_dprank.collection import Device, RandomizedResponse, RefusedProtocol
from sklearn_dprank.collection.pairs import AssignedPairs, ShownPairs
from sklearn_dprank.collection.protocol import is_amount

GRID = 2**52
DEEP = Context(prec=120)


# --- what a protocol's numbers spend, from the definition of each law


def pairs_of(m):
    return list(combinations(range(m), 2))


@lru_cache
def flip_counts(m, k):
    """All (i, j): k answers about distinct pairs that differ from one ranking in i and from another in j."""
    rankings = list(permutations(range(m)))
    found = set()
    for asked in combinations(pairs_of(m), k):
        truths = {tuple(r[i] < r[j] for i, j in asked) for r in rankings}
        for said, one, two in product(product([False, True], repeat=k), truths, truths):
            found.add((sum(a != b for a, b in zip(said, one, strict=True)), differing(said, two)))
    return found


def differing(said, truth):
    return sum(a != b for a, b in zip(said, truth, strict=True))


def answers_ratio(flip, counts):
    """The largest ratio of probabilities of answers, each flipped with probability flip / 2^52."""
    f = Fraction(flip, GRID)
    k = max(i for i, _ in counts)
    law = [f**i * (1 - f) ** (k - i) for i in range(k + 1)]
    return largest((law[i], law[j]) for i, j in counts)


def largest(ratios):
    """The largest p / q; infinity where something that one ballot may say is impossible for another."""
    worst = Fraction(0)
    for p, q in ratios:
        if p < 0 or q < 0:
            return math.inf  # no probability
        if q == 0 and p > 0:
            return math.inf
        if q > 0:
            worst = max(worst, p / q)
    return worst


@lru_cache
def corner_counts(m):
    """All (i, j): a corner that differs from one ranking's in i signs and from another's in j."""
    corners = {tuple(r[i] < r[j] for i, j in pairs_of(m)) for r in permutations(range(m))}
    every = product([False, True], repeat=len(pairs_of(m)))
    return {(differing(z, a), differing(z, b)) for z, a, b in product(every, corners, corners)}


def corner_ratio(protocol):
    d, (high, low), cap = math.comb(len(protocol["items"]), 2), protocol["levels"], protocol["cap"]
    if protocol["variant"] == "best_cap":
        level = [Fraction(high if k <= cap else low) for k in range(d + 1)]
    else:
        level = [Fraction(high if 2 * k < d else low if 2 * k > d else Fraction(high + low, 2)) for k in range(d + 1)]
    return largest((level[i], level[j]) for i, j in corner_counts(len(protocol["items"])))


def spent_by_law(protocol):
    """Return the true epsilon of all messages of a device, as a Decimal."""
    kind, m = protocol["randomizer"], len(protocol["items"])
    if kind == "rr-interactive":
        one = {(0, 0), (0, 1), (1, 0), (1, 1)}
        flips = protocol["flips"]
        last = Fraction(1) if flips["last"] is None else answers_ratio(flips["last"], one)
        with localcontext(DEEP):
            return protocol["answers"] * log(answers_ratio(flips["each"], one)) + log(last)
    if kind == "rr-shuffled":  # one message a shuffle, and the pairs may be equal
        with localcontext(DEEP):
            return protocol["n_queries"] * log(answers_ratio(protocol["flip"][0], flip_counts(m, 1)))
    if kind == "hypercube":
        return log(corner_ratio(protocol))
    if kind == "privunit":
        high, low = map(Fraction, protocol["levels"])
        return log(largest([(high, low), (low, high)]))
    return log(answers_ratio(protocol["flip"][0], flip_counts(m, protocol["n_queries"])))


def log(ratio):
    if ratio == math.inf:
        return Decimal("inf")
    with localcontext(DEEP):
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() if ratio != 1 else Decimal(0)


# --- what a curator may send

DEEPLY = json.loads("[" * 400 + "]" * 400)
NASTY = [
    *(None, True, False, 0, 1, 2, 3, 7, -1, -5, 99, 10**9, 10**400, -(10**400), 0.5, 1.0, -0.0, 1e300),
    *(2**51 - 1, 2**51, 2**51 + 1, GRID - 1, GRID, GRID + 1, 2**53 - 1, 2**53, 2**63, 2**64, 2**64 + 1),
    *(math.nan, math.inf, -math.inf, "", "0", "1", "1.0", "0.1", "12.8", "400", "1e999", "1e-999", "-1", "nan", "inf"),
    *(" 1", "1 ", "1\n", "+1", "01", "0x1", "1_0", "1e", ".5", "5.", "\u0661", "1" * 70, "a" * 2000, "\ud800", "\x00"),
    *("hidden", "assigned", "best_cap", "half_tie", "rr", "laplace", "gaussian", "hypercube", "privunit"),
    *("rr-interactive", "rr-shuffled", "rr-assigned", "rr-shown", "shown", "5eed" * 8, "each", "last"),
    *([], {}, [[]], [None], [1, GRID], [GRID, 1], [GRID, GRID]),
    *([0, GRID], [-5, GRID], [2**51, GRID], [GRID - 1, GRID], [400, 1], ["a", "a"], ["a", "b"], [1, "1"], [True, 1]),
    *([0, 1, 2], [[0], [1]], {"each": 1, "last": None}, {"each": 0, "last": None}, {"each": 2**50, "last": 0}, DEEPLY),
]


def honest(kind, rng):
    """A protocol of few items that a device follows."""
    m, epsilon = rng.choice([2, 3, 3, 4]), rng.choice([1e-6, 0.1, 0.7, 1.0, 3.0, 12.8, 36.0, 400.0])
    k = rng.randint(1, min(3, math.comb(m, 2)))
    if kind in ("rr-interactive", "rr-shuffled"):
        flip, other = (rng.choice([1, 5, 2**40, 2**50, 2**51 - 1, 2**51, rng.randint(1, 2**51)]) for _ in range(2))
        common = {"version": 3, "randomizer": kind, "items": list("abcd"[:m]), "epsilon": "1.0"}
        if kind == "rr-interactive":
            flips = {"each": flip, "last": rng.choice([None, other])}
            made = {**common, "answers": rng.choice([1, 2, 99]), "flips": flips, "flip_grid": GRID}
            return {**made, "epsilon": above(spent_by_law(made), rng)}
        claimed = {"central_epsilon": "0.1", "central_delta": "1e-06"}
        pairs = rng.choice(["hidden", "assigned", "shown"])
        stated = {**claimed, "n_queries": 1 if pairs == "shown" else k, "pairs": pairs}
        made = {**common, **stated, "min_reports": rng.choice([1, 10**9]), "flip": [flip, GRID]}
        return {**made, "epsilon": above(spent_by_law(made), rng)}
    if kind == "rr-assigned":
        made = AssignedPairs(RandomizedResponse(k), rng.choice([1, 2, 10**9]), "5eed" * 8).protocol(epsilon, m)
        return {**made, "epsilon": above(spent_by_law(made), rng)}
    if kind == "rr-shown":
        made = ShownPairs().protocol(epsilon, m)
        return {**made, "epsilon": above(spent_by_law(made), rng)}
    randomizer = clone(wire_vectors.RANDOMIZERS[kind]).set_params(**({"n_queries": k} if kind in FEW else {}))
    made = randomizer.protocol(epsilon, m)
    return {**made, "epsilon": above(spent_by_law(made), rng)} if rng.random() < 0.5 else made


FEW = ("rr", "laplace", "gaussian")


def above(cost, rng):
    """A decimal number as near above a cost as the wire's form allows, or less near."""
    return as_amount(cost, rng.choice([3, 17, 30, 41]), ROUND_CEILING)


def as_amount(cost, digits, rounding):
    """Return a number in the form of the wire format, at least 1e-30."""
    return f"{Context(prec=digits, rounding=rounding).create_decimal(max(cost, Decimal('1e-30'))):e}"


def mutated(protocol, rng):
    """A protocol changed somewhere, or in a few places."""
    out = copy.deepcopy(protocol)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        path = rng.choice([path for path in places(out) if 0 < len(path) < 5] or [()])
        if not path:
            return copy.deepcopy(rng.choice(NASTY))
        holder = out
        for step in path[:-1]:
            holder = holder[step]
        name, value = path[-1], holder[path[-1]]
        how = rng.random()
        if how < 0.45:
            holder[name] = copy.deepcopy(rng.choice(NASTY))
        elif how < 0.75 and type(value) is int:
            holder[name] = rng.choice(
                [value + 1, value - 1, -value, 2 * value, value // 2, value + 10**6, float(value % 999)]
            )
        elif how < 0.75 and type(value) is list and value:
            holder[name] = rng.choice([value[::-1], value[:-1], [*value, value[0]], tuple(value), [value]])
        elif how < 0.75 and type(value) is str:
            holder[name] = nearby(value, rng)
        elif how < 0.85:
            del holder[name]
        elif how < 0.95 and isinstance(holder, dict):
            holder[rng.choice(["more", "", "flip", "levels", "answers", "cap", "\ud800", "__class__"])] = rng.choice(
                NASTY
            )
        else:
            if isinstance(out.get("epsilon"), str):
                out["epsilon"] = nearby(protocol["epsilon"], rng)
    return out


def nearby(text, rng):
    """An amount that is a little less or more, where this is one."""
    if not is_amount(text):
        return text + rng.choice(["", "x", "\ud800"])
    with localcontext(DEEP):
        change = Decimal(rng.choice(["-1e-40", "-1e-28", "-1e-16", "-0.1", "1e-16", "0.1", "1e9"]))
        return as_amount(Decimal(text) * (1 + change), 41, ROUND_FLOOR)


# --- the test


def verdict(protocol):
    """Return "refused" or "followed"; fail if the device would spend more than is stated."""
    try:
        device = Device(protocol)
    except RefusedProtocol:
        return "refused"
    cost = spent_by_law(protocol)
    assert cost <= Decimal(protocol["epsilon"]), protocol
    assert cost <= Decimal(device.epsilon), protocol
    return "followed"


def fuzz(kind, times, seed):
    rng, verdicts = random.Random(f"{kind} {seed}"), Counter()
    while verdicts.total() < times:
        protocol = honest(kind, rng)
        assert verdict(protocol) == "followed"
        for _ in range(10):
            verdicts[verdict(mutated(protocol, rng))] += 1
    return verdicts


KINDS = [*wire_vectors.RANDOMIZERS, "rr-assigned", "rr-interactive", "rr-shown", "rr-shuffled"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_random_protocols_spend_at_most_the_stated_epsilon(kind):
    verdicts = fuzz(kind, 100_000, seed=1)
    assert verdicts["followed"] > 5000 and verdicts["refused"] > 25_000


@pytest.mark.parametrize("kind", KINDS)
def test_missing_and_extra_fields_are_refused(kind):
    protocol = honest(kind, random.Random(kind))
    for name in protocol:
        assert verdict({key: value for key, value in protocol.items() if key != name}) == "refused"
        assert verdict({**protocol, name.upper(): protocol[name]}) == "refused"
    assert verdict({**protocol, 5: 5}) == "refused"
    assert verdict(list(protocol.items())) == "refused"


@pytest.mark.parametrize("kind", KINDS)
def test_stated_epsilon_below_the_true_one_is_refused(kind):
    """Sums of logarithms are rounded up to forty digits in every decimal context."""
    rng = random.Random(kind)
    for _ in range(50):
        protocol = honest(kind, rng)
        cost = spent_by_law(protocol)
        if not cost:
            continue
        with localcontext() as context:
            context.prec = rng.choice([3, 28])
            assert verdict({**protocol, "epsilon": as_amount(cost, 41, ROUND_CEILING)}) == "followed"
            assert verdict({**protocol, "epsilon": as_amount(cost, 41, ROUND_FLOOR)}) == "refused"
