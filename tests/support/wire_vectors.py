"""Test vectors of the wire format: the report of a client for a protocol, a ballot and given random words.

``python tests/support/wire_vectors.py`` writes the file; a test compares it with the code.
"""

import hashlib
import json
import math
from decimal import Decimal
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
from share_tools import message_to

from sklearn_dprank import Aggregator, LDPQuickSort, SecAggBorda, SecAggSwissBorda
from sklearn_dprank.channels import Groups, Interactive, SecureAggregation
from sklearn_dprank.collection import (
    AggregationServer,
    Device,
    HypercubeSampling,
    PrivUnitG,
    RandomizedResponse,
    RefusedReport,
    Shuffler,
)
from sklearn_dprank.collection.pairs import AssignedPairs, ShownPairs
from sklearn_dprank.collection.protocol import FLIP_GRID, VERSION, digest
from sklearn_dprank.collection.randomizers import CLIENT_RANDOMIZERS
from sklearn_dprank.collection.reports import of_protocol, parsed
from sklearn_dprank.collection.shares import modulus_bits, summand
from sklearn_dprank.queries import (
    AllMargins,
    Ask,
    GroupNetWins,
    Histogram,
    NetWins,
    PairMargin,
    PairTallies,
    ScaledMargins,
)
from sklearn_dprank.rules import KwikSortRule
from sklearn_dprank.sampling.bit_source import Bits, BitSource
from sklearn_dprank.theory import song, yan

FILE = Path(__file__).parents[2] / "docs" / "user_guide" / "wire_vectors.json"
STREAMS = ("noise", "coins", "assignment")
RANDOMIZERS = {
    "rr": RandomizedResponse(n_queries=3),
    "laplace": yan.PrintedLaplace(2),
    "gaussian": song.PrintedGaussian(1e-4),
    "hypercube": HypercubeSampling(),
    "hypercube, half_tie": HypercubeSampling("half_tie"),
    "privunit": PrivUnitG(),
}
BALLOTS = {
    "a ranking": [2, 0, 3, 1, 4],
    "ties": [1, 0, 1, 0, 2],
    "no opinion": [0, None, 1, 2, None],
    "silent": [None] * 5,
}
NAMES = ["tea", "café", "水", "🙂", 5]  # two, three and four bytes in UTF-8; a number is not its text


class DealtBits(BitSource):
    """Words from a list, dealt strictly in order; `dealt` is what was taken."""

    def __init__(self, words):
        super().__init__()
        self._words = iter(words)
        self.dealt = []

    def words(self, size):
        taken = [next(self._words) for _ in range(size)]
        self.dealt += taken
        return np.array(taken, dtype=np.uint64)

    def integer(self, bound):
        while True:
            (word,) = self.words(1).tolist()
            draw = word & ((1 << (bound - 1).bit_length()) - 1)
            if draw < bound:
                return draw


def chance(name, stream, first=()):
    """Words that begin with `first` and go on at random, the same on every machine."""
    yield from first
    for number in count():
        yield int.from_bytes(hashlib.sha256(f"{name}/{stream}/{number}".encode()).digest()[:8], "big")


def device(protocol, words):
    """A device that draws from these words, {stream: iterable}."""
    made = Device(protocol)
    made._bits = Bits(*(DealtBits(words[stream]) for stream in STREAMS), certified=False)
    return made


def dealt(made):
    return {stream: [f"{word:016x}" for word in getattr(made._bits, stream).dealt] for stream in STREAMS}


def numbers(words):
    return {stream: [int(word, 16) for word in words[stream]] for stream in STREAMS}


# --- what the file holds


def reports():
    for kind, randomizer in RANDOMIZERS.items():
        for epsilon, (what, ballot) in zip((0.1, 1.0, 4.0, 2.5), BALLOTS.items(), strict=True):
            yield f"{kind}, {what}", randomizer.protocol(epsilon, NAMES), {"ballot": ballot}, {}
        yield f"{kind}, few items", randomizer.protocol(1.0, 3), {}, {}
    for what, ballot in BALLOTS.items():
        yield f"privunit, at most two items, {what}", PrivUnitG(2).protocol(2.0, NAMES), {"ballot": ballot}, {}
    yield from registered()
    yield from shown()
    yield from shuffles()
    yield from shares()
    yield from corners()


def assigned(items, n_queries=1):
    """A protocol that assigns pairs to 100 registered voters."""
    return AssignedPairs(RandomizedResponse(n_queries), 100, "0123456789abcdef" * 2).protocol(1.5, items)


def registered():
    for voter, (what, ballot) in enumerate(BALLOTS.items()):
        yield f"rr-assigned, {what}", assigned(NAMES), {"ballot": ballot, "voter": voter}, {}
    yield "rr-assigned, the last voter", assigned(3), {"voter": 99}, {}
    yield "rr-assigned, three pairs", assigned(NAMES, 3), {"voter": 7}, {}
    yield "rr-assigned, every pair", assigned(3, 3), {"voter": 8}, {}  # drawn again until all are there
    yield "rr-assigned, two items", assigned(2), {"voter": 0}, {}


COMPARISONS = {
    "one comparison": [[3, 1, 1]],
    "the second won": [[1, 3, 0]],
    "ties": [[0, 4, None], [4, 0, None], [2, 1, None]],
    "a circle, and one pair twice": [[0, 1, 1], [1, 2, 1], [2, 0, 1], [0, 1, 0], [4, 3, 0]],
    "many": [[k % 5, (k + 1 + k % 4) % 5, (1, 0, None)[k % 3]] for k in range(33)],
}


def shown():
    protocol = ShownPairs().protocol(1.5, NAMES)
    for what, comparisons in COMPARISONS.items():
        yield f"rr-shown, {what}", protocol, {"ballot": comparisons}, {}


def shuffles():
    two = {
        "version": 3,
        "randomizer": "rr-shuffled",
        "items": NAMES,
        "epsilon": "2.00000000000",
        "n_queries": 2,
        "pairs": "hidden",
        "min_reports": 1000,
        "flip": [1211204485066402, 2**52],
        "central_epsilon": "0.32",
        "central_delta": "1e-06",
    }
    for what, ballot in BALLOTS.items():
        yield f"rr-shuffled, hidden, {what}", two, {"ballot": ballot}, {}
    assigned = {**two, "central_epsilon": "0.74", "pairs": "assigned"}
    for what, ballot in BALLOTS.items():
        yield f"rr-shuffled, assigned, {what}", assigned, {"ballot": ballot, "pairs": [[0, 1], [1, 4]]}, {}
    one = {**two, "n_queries": 1, "epsilon": "1.00000000001", "pairs": "shown"}
    for what, comparisons in COMPARISONS.items():
        yield f"rr-shuffled, shown, {what}", one, {"ballot": comparisons}, {}


def shares():
    borda = {**SecAggBorda(epsilon=1.0, min_reports=1000).protocol(5), "items": NAMES}
    for what, ballot in BALLOTS.items():
        yield f"skellam-shares, {what}", borda, {"ballot": ballot}, {}
    margins = SecureAggregation(epsilon=0.5, n_servers=3, min_reports=40, max_reports=60, release=AllMargins())
    protocol = Aggregator(margins, "kemeny").protocol(3)
    yield "skellam-shares, three servers", protocol, {"ballot": [1, None, 0]}, {}
    many = SecAggBorda(epsilon=1.0, min_reports=100_000).protocol(3)
    yield "skellam-shares, little noise", many, {}, {}
    for what, ballot in BALLOTS.items():
        scores = {"name": "positional_scores", "scores": [4, 2, 0, -1, -2]}  # they move less than net wins
        yield f"skellam-shares, scores of places, {what}", {**borda, "statistic": scores}, {"ballot": ballot}, {}
        histogram = Histogram(unseen_last="opinion" in what)
        counts = SecureAggregation(epsilon=1.0, min_reports=4000).plan([Ask(histogram)], 3).protocol
        yield f"skellam-shares, a histogram, {what}", counts, {"ballot": ballot[2:]}, {}
        short = {**SecAggBorda(epsilon=1.0, min_reports=1000, max_listed=2).protocol(5), "items": NAMES}
        yield f"skellam-shares, at most two items, {what}", short, {"ballot": ballot}, {}
        scores = {"name": "positional_scores", "scores": [2, 1, 0, -1, -2]}
        first = {**borda, "statistic": scores, "max_listed": 2}
        yield f"skellam-shares, the first two places, {what}", first, {"ballot": ballot}, {}
    four = {**SecAggBorda(epsilon=1.0, min_reports=100_000).protocol(4), "max_listed": 3}
    four["statistic"] = {"name": "positional_scores", "scores": [2, 0, 1, -1]}  # 1 becomes 0, and not 0
    yield "skellam-shares, the first three of four places", four, {}, {}
    whole = {**SecAggBorda(epsilon=1.0, min_reports=1000).protocol(2), "rate": [4096, 1], "modulus_bits": 21}
    yield "skellam-shares, a whole rate", whole, {}, {}
    # s = 0 is accepted, then a run of 12 goes on to 13: it is odd, so that V is 0.
    yield "skellam-shares, a run of more than 12", whole, {}, {"noise": [0, 0, 0, 0, 1]}
    last = SecureAggregation(epsilon=1.0, min_reports=4000).plan([Ask(Histogram(unseen_last=True))], 3).protocol
    yield "skellam-shares, no coin for the side", last, {"ballot": [None, 0, None]}, {"coins": [0x83]}


def corners():
    """Words that chance hardly ever deals."""
    hypercube = HypercubeSampling().protocol(1.0, 3)
    high, low = hypercube["levels"]
    edge = high * 2**63 // (4 * high + 4 * low)  # of no differing sign: more bits must tell
    yield "hypercube, a lead on the edge", hypercube, {}, {"noise": [edge]}
    yield "hypercube, equal keys", hypercube, {}, {"noise": [edge + 1, 0x0000000700000007, 0x9]}
    steep = {**PrivUnitG().protocol(30.0, 3), "norm": 1000}
    tiny, others, further = 1, range(2**62, 2**62 + 9), [2**20, 2**11]  # the first of ten is about 2^-107
    ten = [tiny, *others, *further]
    yield "privunit, far in the tail", steep, {}, {"noise": [2**63, *ten, *ten]}  # a side, ten tries, ten tests
    yield "privunit, below gamma", steep, {}, {"noise": [1, 2**15]}
    usual, two = PrivUnitG().protocol(1.0, NAMES), PrivUnitG(2).protocol(1.0, NAMES)
    ties, listed = {"ballot": BALLOTS["ties"]}, {"ballot": [0, None, 1, None, None]}
    yield "privunit, a reversed direction", usual, ties, {"coins": [2**64 - 1]}
    yield "privunit, gamma 0", {**usual, "gamma": 0}, {}, {}
    yield "privunit, below gamma 0", {**usual, "gamma": 0}, {}, {"noise": [1, 2**15]}
    long = 13 * 2**60  # c = 13 / 16 reverses two of five items: 1 + |w| / R is 1.22
    yield "privunit, two items of five, reversed", usual, listed, {"coins": [long]}
    yield "privunit, two items of at most two, not reversed", two, listed, {"coins": [long]}  # 1 + |w| / R is 2
    halves = HypercubeSampling("half_tie").protocol(1.0, 4)
    high, low = halves["levels"]
    edge = 22 * 2 * high * 2**63 // (22 * 2 * (high + low) + 20 * (high + low))  # of fewer than three signs of six
    yield "hypercube, half_tie, fewer than half", halves, {}, {"noise": [edge - 1]}
    yield "hypercube, half_tie, half", halves, {}, {"noise": [edge + 1]}


def conversations():
    two_kinds = {
        "version": 3,
        "randomizer": "rr-interactive",
        "items": NAMES,
        "epsilon": "2.5",
        "answers": 2,
        "flips": {"each": 2**51 - 2**48, "last": 2**50},
        "flip_grid": 2**52,
    }
    every = [[i, j] for i in range(5) for j in range(i + 1, 5)]
    for what, ballot in BALLOTS.items():
        asked = [("each", 1, [[0, 1]]), ("each", 4, [[0, 1], [0, 4], [2, 3]]), ("last", 5, every)]
        yield f"rr-interactive, {what}", two_kinds, ballot, asked, {}
    between = {"noise": [3 * 2**49] * 3}  # turns an answer of the one kind round, and not one of the other
    yield "rr-interactive, two flips", two_kinds, BALLOTS["a ranking"], asked, between
    yield from rounds()
    asks = KwikSortRule(on_exhausted="coin").asks(3)
    groups = Interactive(1.0, Groups()).plan(asks, 3, n_voters=90).protocol
    yield "rr-interactive, as KwikSort asks", groups, [1, None, 0], [("each", 1, [[0, 1], [0, 2]])], {}


def rounds():
    """(name, protocol, ballot, what each question is about, words) of sums in rounds."""
    asks = [
        Ask(GroupNetWins(((0, 1, 2), (3, 4)), 1), share=Fraction(1, 2)),
        Ask(PairMargin(), times=3, share=Fraction(1, 4)),
        Ask(NetWins(), share=Fraction(1, 4)),
    ]
    several = {**in_rounds(asks, 5), "items": NAMES}
    about = [(1, {"groups": [[4, 0, 1], [2, 3]]}), (2, {"pair": [0, 3]}), (4, {"pair": [4, 1]}), (5, {})]
    for what, ballot in BALLOTS.items():
        yield f"skellam-rounds, {what}", several, ballot, about, {}
    asks = [Ask(PairTallies(), times=2, share=Fraction(1, 2)), Ask(AllMargins(), share=Fraction(1, 2))]
    about = [(1, {"pairs": [[0, 2], [1, 2]]}), (3, {})]  # one of them has no opinion
    yield "skellam-rounds, counts of pairs", in_rounds(asks, 3), [1, None, 0], about, {}
    scaled = in_rounds([Ask(ScaledMargins(), times=3)], 5, min_reports=200_000)  # little noise a voter
    about = [(1, {"pairs": [[4, 1], [0, 2], [1, 3]]}), (2, {"groups": [[3, 1], [0, 4, 2]]}), (3, {"pairs": [[0, 1]]})]
    asked = [(number, {"margins": margins}) for number, margins in about]
    for what in ("ties", "no opinion"):
        yield f"skellam-rounds, scaled margins, {what}", scaled, BALLOTS[what], asked, {}
    asks = [
        Ask(ScaledMargins(), times=2, share=Fraction(1, 2)),
        Ask(GroupNetWins(((0, 1, 2), (3, 4))), share=Fraction(1, 2)),
    ]
    short = in_rounds(asks, 5, min_reports=200_000, max_listed=3)
    asked = [(number, {"margins": margins}) for number, margins in about[:2]]
    last = (3, {"groups": [[4, 0, 1], [2, 3]]})
    for what in ("a ranking", "no opinion"):
        yield f"skellam-rounds, at most three items, {what}", short, BALLOTS[what], [*asked, last], {}
    few = in_rounds([Ask(ScaledMargins(), times=2)], 4, min_reports=200_000, max_listed=2)  # one pair counts
    about = [
        (1, {"margins": {"pairs": [[0, 1], [3, 2], [0, 3], [1, 2], [3, 1], [2, 0]]}}),
        (2, {"margins": {"groups": [[0, 1, 2], [3]]}}),
    ]
    yield "skellam-rounds, more pairs than a ballot has", few, [3, 1, 2, 0], about, {}
    margins = in_rounds([Ask(PairMargin(), times=4)], 22, max_listed=12)
    about = [(number, {"pair": pair}) for number, pair in enumerate([[0, 21], [5, 4], [21, 20], [12, 13]], 1)]
    ballot = [(7 * item) % 22 for item in range(22)]
    yield "skellam-rounds, a permutation of 22 items", margins, ballot, about, {}
    swiss = SecAggSwissBorda(epsilon=1.0, n_servers=3, min_reports=2000).protocol(14)
    groups = [[[*range(14)]], [[*range(13, -1, -2), 0], [*range(2, 14, 2)]]]
    asked = [(number, {"groups": made}) for number, made in enumerate(groups, 1)]
    yield "skellam-rounds, as Swiss rounds ask", swiss, [item % 5 for item in range(14)], asked, {}


def in_rounds(asks, n_items, min_reports=60, max_listed=None):
    return SecureAggregation(epsilon=2.0, min_reports=min_reports, max_listed=max_listed).plan(asks, n_items).protocol


def refused_protocols():
    rr = RandomizedResponse().protocol(1.0, ["a", "b", "c"])
    cube = HypercubeSampling().protocol(1.0, ["a", "b", "c"])
    vector = PrivUnitG().protocol(1.0, ["a", "b", "c"])
    grid = 2**52
    yield "no flip", {**rr, "flip": [0, grid]}
    yield "a negative flip", {**rr, "flip": [-5, grid]}
    yield "another grid", {**rr, "flip": [rr["flip"][0], 2**53]}
    yield "dearer than stated", {**rr, "epsilon": "0.999999999999999"}
    yield "dearer by one point", {**rr, "flip": [rr["flip"][0] - 1, grid]}
    yield "a number, not text", {**rr, "epsilon": 1.0}
    yield "an old version", {**rr, "version": 1}
    yield "another field", {**rr, "note": ""}
    yield "a field less", {name: value for name, value in rr.items() if name != "n_queries"}
    yield "a truth value", {**rr, "n_queries": True}
    yield "a name twice", {**rr, "items": ["a", "b", "a"]}
    yield "an unknown randomizer", {**rr, "randomizer": "exact"}
    pairs = assigned(["a", "b", "c"])
    yield "no voters", {**pairs, "n_voters": 0}
    yield "no seed", {**pairs, "assignment_seed": None}
    yield "a short seed", {**pairs, "assignment_seed": "0123456789abcdef"}
    yield "a seed in capitals", {**pairs, "assignment_seed": "0123456789ABCDEF" * 2}
    yield "assigned, dearer than stated", {**pairs, "epsilon": "1.499999"}
    shown = ShownPairs().protocol(1.0, ["a", "b", "c"])
    yield "shown, two answers", {**shown, "n_queries": 2, "epsilon": "2.0"}
    yield "shown, dearer than stated", {**shown, "epsilon": "0.999999"}
    yield "shown, with registered voters", {**shown, "n_voters": 100}
    yield "levels exchanged", {**cube, "levels": cube["levels"][::-1]}
    yield "a huge level", {**cube, "levels": [10**400, 1]}
    yield "levels of 36 for 1", {**vector, "levels": [grid, 1]}
    yield "PrivUnit in version 1", {**vector, "epsilon": "400", "levels": [400, 1]}

    sums = SecAggBorda(epsilon=1.0, min_reports=1000).protocol(["a", "b", "c"])
    yield "too few voters for the noise", {**sums, "min_reports": 999}
    yield "too little noise", {**sums, "rate": [sums["rate"][0] * 999 // 1000, sums["rate"][1]]}
    yield "one server", {**sums, "servers": 1}
    yield "a modulus that is too small", {**sums, "modulus_bits": sums["modulus_bits"] - 1}
    yield "an unknown statistic", {**sums, "statistic": "ballot"}
    yield "dearer alone than stated", {**sums, "local_epsilon": "1.0"}
    yield "a statistic that needs a question", {**sums, "statistic": "pair_margin"}
    yield "a name in an object", {**sums, "statistic": {"name": "net_wins"}}
    short = SecAggBorda(epsilon=1.0, min_reports=1000, max_listed=2).protocol(4)
    yield "a bound of one item", {**short, "max_listed": 1}
    yield "a bound of all items", {**short, "max_listed": 4}
    yield "a longer bound than is paid for", {**short, "max_listed": 3}
    yield "without the bound that is paid for", {name: value for name, value in short.items() if name != "max_listed"}
    yield "a bound as text", {**vector, "max_listed": "2"}
    yield "a bound on answers about pairs", {**rr, "max_listed": 2}
    yield from large_deltas(sums)
    for name, value in (("cap", -1), ("cap", 2), ("cap", None), ("cap", "1")):
        yield f"{name} {value!r}", {**cube, name: value}
    yield "a cap of half_tie", {**cube, "variant": "half_tie"}
    yield "gamma below -10", {**vector, "gamma": -10241}
    yield "gamma above 20", {**vector, "gamma": 20481}
    yield "max_reports below min_reports", {**sums, "max_reports": 999}
    for text in ("0", "0.0", ".5", "1.", "01", "+1", "-1", " 1", "1\n", "1E0", "1e1000", "1_0", "Infinity", "\uff11"):
        yield f"epsilon {text!r}", {**rr, "epsilon": text}
    shuffled, asked = next(shuffles())[1], next(conversations())[1]
    yield "shuffled, dearer than stated", {**shuffled, "epsilon": "1.9999"}
    yield "interactive, dearer than stated", {**asked, "epsilon": "1.6"}  # without the last answer: .503
    yield "hypercube, dearer than stated", {**cube, "epsilon": "0.999999"}
    yield "privunit, dearer than stated", {**vector, "epsilon": "0.999999"}
    for name, protocol, least in at_limits():
        yield f"{name}, dearer than stated", {**protocol, "local_epsilon": str(least * Decimal("0.999999"))}
        yield f"{name}, a small modulus", {**protocol, "max_reports": protocol["max_reports"] + 1}

    swiss = SecAggSwissBorda(epsilon=1.0, min_reports=1000).protocol(20)
    first, *others = swiss["rounds"]
    last = others[-1]
    yield "rounds for too few voters", {**swiss, "min_reports": 999}
    yield "a round more than is paid for", {**swiss, "rounds": [first, first, *others]}
    yield "a round asked twice", {**swiss, "rounds": [{**first, "times": 2}, *others]}
    yield "a round with less noise", {**swiss, "rounds": [{**first, "rate": [1, 2**20]}, *others]}
    yield "larger groups than are paid for", {**swiss, "rounds": [first, *([{**others[0], **of_all(20)}] * 2), last]}
    yield "scaled margins with less noise", {**swiss, "rounds": [*others, {**last, "rate": [1, 2**20]}]}
    yield "scaled margins with sizes", {**swiss, "rounds": [*others, {**last, "statistic": {"name": "scaled_margins"}}]}
    yield "groups that leave an item out", {**swiss, "rounds": [{**first, **of_all(19)}, *others]}
    yield "no rounds", {**swiss, "rounds": []}
    yield "a round with a field more", {**swiss, "rounds": [{**first, "note": ""}, *others]}
    yield "rounds dearer alone than stated", {**swiss, "local_epsilon": "1.0"}
    yield "rounds of a large delta", {**swiss, "delta": "0.00001"}


def at_limits():
    """Yield (name, protocol, the local epsilon that it spends); its modulus is too small for one voter more."""

    def most_voters(made, rate, bits):
        voters = 0
        for step in reversed(range(40)):
            voters += 2**step * (modulus_bits(made, voters + 2**step, rate) <= bits)
        return voters

    scores = {"name": "positional_scores", "scores": [3, 2, 1, -4, -2]}
    stated = ["net_wins", "margins", "pair_margin", "pair_counts", {"name": "group_net_wins", "sizes": [1, 4]}]
    stated += ["scaled_margins", scores, "histogram", "histogram_unseen_last"]
    for what, max_listed in ((what, bound) for what in stated for bound in (None, 3)):
        name = what if type(what) is str else what["name"]
        alike = name in ("pair_margin", "histogram", "histogram_unseen_last")  # the bound does not change them
        if alike and max_listed:
            continue
        n_items = 3 if "histogram" in name else 5
        bound, made = {} if max_listed is None else {"max_listed": max_listed}, summand(what, n_items, max_listed)
        rate, bits = 1 + math.isqrt(int(made.sensitivity("replace").l2_squared)) // 8, 30  # D1 counts at small rates
        noise = {"statistic": what, "modulus_bits": bits, "rate": [rate, 1]}
        parties = {"servers": 2, "delta": "1e-6", "min_reports": 1, **bound}
        parties["max_reports"] = most_voters(made, rate, bits)
        head = {"version": VERSION, "items": list(range(n_items)), "epsilon": "1e9", "local_epsilon": "1e9"}
        if made.asked_about is None:
            protocol = {**head, "randomizer": "skellam-shares", **noise, **parties}
        else:
            protocol = {**head, "randomizer": "skellam-rounds", "rounds": [{**noise, "times": 2}], **parties}
        least = CLIENT_RANDOMIZERS[protocol["randomizer"]].spent(protocol)
        yield name if max_listed is None else f"{name} of 3 items", protocol, least
    one = {"statistic": "net_wins", "modulus_bits": 30, "times": 3}
    kinds = [
        {**one, "rate": [1, 1]},
        {**one, "rate": [400, 1]},
    ]  # the smaller of two terms is another one for each kind
    parties["max_reports"] = most_voters(summand("net_wins", 3), 400, 30)
    protocol = {**head, **parties, "randomizer": "skellam-rounds", "rounds": kinds}
    least = CLIENT_RANDOMIZERS["skellam-rounds"].spent(protocol)
    yield "two kinds", protocol, least


def accepted_protocols():
    """Yield (name, protocol) of protocols at a limit, which a device follows."""
    rr = RandomizedResponse().protocol(1.0, ["a", "b", "c"])
    for text in ("10e-1", "1.000", "1e0", "0.1e+1", "0.01e2", "99999999999999999999", "1e999"):
        yield f"epsilon {text!r}", {**rr, "epsilon": text}
    yield "a name of 501 characters in four bytes", {**rr, "items": ["\U0001f642" * 501, "b", "c"]}
    yield "a fair coin", {**rr, "flip": [FLIP_GRID // 2, FLIP_GRID], "epsilon": "1e-999"}
    for name, protocol, least in at_limits():
        yield name, {**protocol, "local_epsilon": str(least * Decimal("1.000001"))}


def refused_texts():
    """(name, text) of protocols that JSON libraries read alike only as text."""
    rr = RandomizedResponse().protocol(1.0, ["a", "b", "c"])
    text = json.dumps(rr)
    yield "half of a surrogate pair", json.dumps({**rr, "items": ["\ud83d", "b", "c"]})
    yield "1.0 pairs", text.replace('"n_queries": 1', '"n_queries": 1.0')
    yield "version 3e0", text.replace('"version": 3', '"version": 3e0')
    yield "NaN", text.replace('"n_queries": 1', '"n_queries": NaN')
    yield "text after the object", text + "1"
    yield "a list", f"[{text}]"


def refused_ballots():
    """(protocol, ballot) that a device refuses."""
    rr, shown = RandomizedResponse().protocol(1.0, 3), ShownPairs().protocol(1.0, 3)
    for ballot in ([], [0, 1], [0, 1, 2, 3], [0, 1, "2"], [0, 1, True], [0, 1, [2]], [[0, 1, 2]], "012", {}, None):
        yield rr, ballot
    rows = ([[0, 0, 1]], [[0, 3, 1]], [[-1, 0, 1]], [[0, 0.5, 1]], [[0, 1, 2]], [[0, 1, True]], [[0, 1, "1"]], [[0, 1]])
    for ballot in ([], [0, 1, 1], *rows, [[0, 1, 1], [0]], None):
        yield shown, ballot


def refused_questions():
    """(name, protocol, answered questions, question): after the answers, a device refuses the question."""
    queries = (GroupNetWins(((0, 1, 2), (3, 4)), 1), PairMargin(), ScaledMargins(), PairTallies())
    sums = in_rounds([Ask(query, times=1 + (query == PairMargin()), share=Fraction(1, 4)) for query in queries], 5)
    name = {"protocol": digest(sums)}
    groups, pair = [[4, 0, 1], [2, 3]], {**name, "question": 3, "pair": [0, 1]}
    yield "a lower number", sums, [pair], {**pair, "question": 2}
    yield "another question with the same number", sums, [pair], {**pair, "pair": [1, 0]}
    yield "another protocol", sums, [], {**pair, "protocol": "0" * 16}
    yield "number 0", sums, [], {**name, "question": 0, "groups": groups}
    yield "a number beyond all kinds", sums, [], {**name, "question": 6, "pair": [0, 1]}
    yield "the field of another kind", sums, [], {**name, "question": 1, "pair": [0, 1]}
    yield "a field more", sums, [], {**pair, "note": ""}
    yield "an item against itself", sums, [], {**pair, "pair": [1, 1]}
    for wrong in ([[4, 0], [1, 2, 3]], [[4, 0, 1, 2, 3]], [[4, 0, 1], [2, 2]], [[4, 0, 1], [2]], [[4, 0, 1], [2], [3]]):
        yield f"groups {wrong}", sums, [], {**name, "question": 1, "groups": wrong}
    for wrong in (
        {"pairs": [[0, 1], [1, 0]]},
        {"pairs": [[0, 1], [0, 1]]},
        {"pairs": []},
        {"pairs": [[0, 5]]},
        {"groups": [[0, 1, 2, 3, 4], []]},
        {"groups": [[0, 1, 2, 3]]},
        {"pairs": [[0, 1]], "groups": [[0, 1, 2, 3, 4]]},
    ):
        yield f"margins {json.dumps(wrong)}", sums, [], {**name, "question": 4, "margins": wrong}
    for wrong in ([[1, 0]], [[0, 1], [0, 1]]):
        yield f"counts of {wrong}", sums, [], {**name, "question": 5, "pairs": wrong}
    asked = next(conversations())[1]
    each = [{"protocol": digest(asked), "question": k, "kind": "each", "pairs": [[0, 1]]} for k in range(1, 4)]
    last = [{**question, "kind": "last"} for question in each]
    yield "every answer is given", asked, each[:2], each[2]
    yield "the last answer is given", asked, last[:1], last[1]
    yield "interactive, another protocol", asked, [], {**each[0], "protocol": "0" * 16}
    yield "an unknown kind", asked, [], {**each[0], "kind": "more"}
    for wrong in ([], [[1, 0]], [[0, 5]], [[0, 1]] * 11):
        yield f"interactive, pairs {wrong}", asked, [], {**each[0], "pairs": wrong}
    none = {**asked, "flips": {**asked["flips"], "last": None}}
    yield "no last answer", none, [], {**last[0], "protocol": digest(none)}


def sums_of_servers():
    """(protocol, messages to server 0, agreed numbers) of sums over two of three reports."""
    protocol = SecAggBorda(epsilon=1.0, min_reports=2).protocol(["a", "b", "c"])
    largest = 2 ** protocol["modulus_bits"] - 1  # the sum of two is above the modulus
    messages = [message_to(0, protocol, [[k, largest, 3], [4, 5, 6]], k) for k in (1, 7, 8)]
    yield protocol, messages, sorted((message["report"] for message in messages[1:]), reverse=True)


def large_deltas(sums):
    """Protocols that differ from good ones in a delta above 1e-6 only, which devices refuse by default."""
    bare = {"items": ["A", "B"], "statistic": "margins", "modulus_bits": 14, "rate": [2**21, 2**20]}
    bare |= {"epsilon": "0.01", "local_epsilon": "0.01", "min_reports": 1, "max_reports": 10}
    yield "a delta of almost one", {**sums, **bare, "delta": "0.99"}
    yield "a delta that is too large", {**sums, "delta": "0.00001"}
    yield "a delta just above the limit", {**sums, "delta": "1.0000000000000000000000001e-6"}


def of_all(n_items):
    return {"statistic": {"name": "group_net_wins", "sizes": [n_items]}}


INTERACTIVE = LDPQuickSort(epsilon=1.0)


def refused_reports():
    """(protocol, question or None, text) of reports that a curator refuses; of "rr-shuffled", the shuffler."""
    rr = RandomizedResponse().protocol(1.0, ["a", "b", "c"])
    honest = {"protocol": digest(rr), "pairs": [[0, 1]], "answers": [1]}
    for text in (
        '{"protocol":',
        "[" * 10000,
        "[1, 2]",
        json.dumps({**honest, "protocol": "0000000000000000"}),
        json.dumps({"pairs": [[0, 1]], "answers": [1]}),
        json.dumps({**honest, "name": "voter 17"}),
        json.dumps({**honest, "answers": [True]}),
        json.dumps({**honest, "answers": [2]}),
        json.dumps({**honest, "answers": [1.0]}),
        json.dumps({**honest, "pairs": [[1, 0]]}),
        json.dumps({**honest, "pairs": [[0, 3]]}),
        json.dumps({**honest, "pairs": [[0, 1], [0, 2]], "answers": [1, 1]}),
        json.dumps({**honest, "answers": [10**400]}),
        json.dumps({**honest, "answers": [float("nan")]}),
        json.dumps(honest)[:-1] + ', "answers": [2]}',
        json.dumps(honest)[:-1] + ', "protocol": "0000000000000000"}',
        json.dumps({**honest, "pairs": [[0, 3]], "answers": [2]}),
    ):
        yield rr, None, text
    both = RandomizedResponse(2).protocol(1.0, ["a", "b", "c"])
    twice = {"protocol": digest(both), "pairs": [[0, 1], [0, 1]], "answers": [1, 0]}
    yield both, None, json.dumps(twice)
    protocol = assigned(["a", "b", "c"])
    own = device(protocol, {stream: chance("rr-assigned, refused", stream) for stream in STREAMS})
    honest = own.report([0, 1, 2], voter=5)
    other = next(pair for pair in ([0, 1], [0, 2]) if [pair] != honest["pairs"])
    for field, value in (("voter", 100), ("voter", -1), ("voter", True), ("voter", "5"), ("pairs", [other])):
        yield protocol, None, json.dumps({**honest, field: value})
    yield protocol, None, json.dumps({**honest, "voter": 100, "answers": [2]})
    yield protocol, None, json.dumps({name: value for name, value in honest.items() if name != "voter"})
    shown = ShownPairs().protocol(1.0, ["a", "b", "c"])
    honest = {"protocol": digest(shown), "pairs": [[0, 1]], "answers": [1]}
    for field, value in (("pairs", [[1, 0]]), ("pairs", [[0, 1], [0, 2]]), ("answers", [None]), ("outcome", 1)):
        yield shown, None, json.dumps({**honest, field: value})
    shuffled = next(shuffles())[1]
    messages = [{"shuffle": k, "pair": [0, k + 1], "answer": 1} for k in range(2)]
    honest = {"protocol": digest(shuffled), "report": "0" * 32, "messages": messages}
    yield shuffled, None, json.dumps(honest) + " " * 512
    for field, value in (("report", "0"), ("messages", messages[:1]), ("messages", messages[:1] * 2)):
        yield shuffled, None, json.dumps({**honest, field: value})
    for field, value in (("shuffle", 2), ("pair", [1, 0]), ("pair", [0, 5]), ("answer", True), ("note", "")):
        yield shuffled, None, json.dumps({**honest, "messages": [messages[0], {**messages[1], field: value}]})
    cube = HypercubeSampling().protocol(1.0, ["a", "b", "c"])
    for signs in ("e", "e000", "E0", "e1", "0x", 224):  # three signs and five zeros
        yield cube, None, json.dumps({"protocol": digest(cube), "signs": signs})
    vector = PrivUnitG().protocol(1.0, ["a", "b", "c"])
    for numbers in ([0], [0, 0, 0], [1026, 0], [-1026, 0], [0.0, 0], [True, 0], "00"):
        yield vector, None, json.dumps({"protocol": digest(vector), "vector": numbers})
    asked = INTERACTIVE.protocol(["tea", "milk"])
    question = {"protocol": digest(asked), "question": 1, "kind": "each", "pairs": [[0, 1]]}
    honest = {"protocol": digest(asked), "question": 1, "report": "0" * 32, "pair": [0, 1], "answer": 1}
    for field, value in (("question", 2), ("pair", [1, 0]), ("answer", 2), ("report", "0" * 31), ("kind", "each")):
        yield asked, question, json.dumps({**honest, field: value})


def refused_messages():
    """(protocol, question or None, text) of messages that the first server refuses."""
    once = SecAggBorda(epsilon=1.0, min_reports=1000).protocol(["a", "b", "c"])
    honest, other = (message_to(0, once, [[k, 2, 3], [4, 5, 6]], k) for k in (1, 7))
    yield once, None, json.dumps(honest) + " " * AggregationServer(once, 0)._longest
    yield once, None, json.dumps({**honest, "server": 1})
    yield once, None, json.dumps({**honest, "report": honest["report"][:32]})
    yield once, None, json.dumps({**honest, "salt": "1"})
    yield once, None, json.dumps({**honest, "commitments": honest["commitments"][:1]})
    yield once, None, json.dumps({**honest, "share": [2**53, 2, 3]})
    yield once, None, json.dumps({**honest, "report": other["report"]})
    yield once, None, json.dumps({**honest, "commitments": other["commitments"]})
    yield once, None, json.dumps({**honest, "report": other["report"], "commitments": other["commitments"]})
    yield once, None, json.dumps({**honest, "share": other["share"]})
    yield once, None, json.dumps({**honest, "salt": other["salt"]})
    swiss = SecAggSwissBorda(epsilon=1.0, min_reports=1000).protocol(4)
    first = {"protocol": digest(swiss), "question": 1, "groups": [[0, 1, 2, 3]]}
    turned = {**first, "groups": [[3, 2, 1, 0]]}
    yield swiss, first, json.dumps(message_to(0, swiss, [[1, 2, 3, 4]] * 2, 1, turned))
    moved = {**message_to(0, swiss, [[1, 2, 3, 4]] * 2, 1, turned), "question": digest(first)}
    yield swiss, first, json.dumps(moved)


def reason_of_server(protocol, question, text):
    """Why the first server refuses this text."""
    server = AggregationServer(protocol, 0)
    if question is not None:
        server.ask(question)
    server.receive([text])
    (reason,) = server.refused or [None]
    return reason


def vectors():
    """All of the file, as JSON-able data."""
    out = {"reports": [], "answers": []}
    for name, protocol, given, first in reports():
        given = {"ballot": list(range(len(protocol["items"])))[::-1], **given}
        made = device(protocol, {stream: chance(name, stream, first.get(stream, ())) for stream in STREAMS})
        said = made.report(**given)
        entry = {"name": name, "protocol": protocol, "digest": digest(protocol), **given, "words": dealt(made)}
        if protocol["randomizer"] == "privunit":
            entry["tolerance"] = 1
        out["reports"].append({**entry, "report": said})
    for name, protocol, ballot, asked, first in conversations():
        made = device(protocol, {stream: chance(name, stream, first.get(stream, ())) for stream in STREAMS})
        questions = [{"protocol": digest(protocol), **question} for question in map(in_full, asked)]
        said = [made.answer(question, ballot) for question in questions]
        entry = {"name": name, "protocol": protocol, "digest": digest(protocol), "ballot": ballot}
        out["answers"].append({**entry, "words": dealt(made), "questions": questions, "answers": said})
    out["refused_protocols"] = [{"name": name, "protocol": protocol} for name, protocol in refused_protocols()]
    out["accepted_protocols"] = [{"name": name, "protocol": protocol} for name, protocol in accepted_protocols()]
    out["refused_texts"] = [{"name": name, "text": text} for name, text in refused_texts()]
    out["refused_ballots"] = [{"protocol": protocol, "ballot": ballot} for protocol, ballot in refused_ballots()]
    out["refused_questions"] = [
        {"name": name, "protocol": protocol, "answered": answered, "question": question}
        for name, protocol, answered, question in refused_questions()
    ]
    for kind, given, reason in (
        ("refused_reports", refused_reports(), reason_for),
        ("refused_messages", refused_messages(), reason_of_server),
    ):
        out[kind] = []
        for protocol, question, text in given:
            about = {} if question is None else {"question": question}
            entry = {"protocol": protocol, **about, "text": text, "reason": reason(protocol, question, text)}
            out[kind].append(entry)
    out["sums"] = []
    for protocol, messages, voters in sums_of_servers():
        entry = {"protocol": protocol, "messages": messages, "agreed": voters}
        out["sums"].append({**entry, "sum": sum_over(protocol, messages, voters)})
    return out


def in_full(asked):
    """A question without its protocol: (kind, number, pairs) of one voter, or (number, about) of a sum."""
    if len(asked) == 3:
        kind, number, pairs = asked
        return {"question": number, "kind": kind, "pairs": pairs}
    number, about = asked
    return {"question": number, **about}


def sum_over(protocol, messages, voters):
    """The message of server 0 over these voters."""
    server = AggregationServer(protocol, 0)
    server.receive(messages)
    return server.release(voters)


def reason_for(protocol, question, text):
    """Why a curator refuses this text of a report; the shuffler, if the protocol has one."""
    if question is not None:

        def ask(asked):
            assert asked.items() >= question.items()
            return [text, Device(protocol).answer(question, [0, 1])]

        fitted = INTERACTIVE.fit_interactive(ask, items=protocol["items"], n_voters=500)
        return next(iter(fitted.reports_refused_), None)
    if protocol["randomizer"] == "rr-shuffled":
        shuffler = Shuffler(protocol)
        shuffler.receive([text])
        return next(iter(shuffler.refused), None)
    others = {"rr-assigned": AssignedPairs, "hypercube": HypercubeSampling, "privunit": PrivUnitG}
    randomizer = others.get(protocol["randomizer"], RandomizedResponse)
    try:
        report = parsed(text)
        randomizer.read(of_protocol({digest(protocol)}, report), protocol)
    except RefusedReport as error:
        return error.reason
    return None


def as_text(data):
    """The file: one entry a line, so that differences can be read."""
    parts = []
    for name, entries in data.items():
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load():
    return json.loads(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    FILE.write_text(as_text(vectors()), encoding="utf-8")
