"""A voter's device from nothing but the page "The wire format": no numpy, and nothing of this package.

Written to show that the page and the test vectors are enough; it checks no protocol and keeps no budget.
"""

import hashlib
import math
from itertools import combinations

GRID = 2**52


# --- the canonical form


def canonical(value):
    if isinstance(value, str):
        short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
        return '"' + "".join(short.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return "null" if value is None else str(value)


def digest(protocol):
    return hashlib.sha256(canonical(protocol).encode("utf-8")).hexdigest()[:16]


# --- words, and what is drawn from them


class Words:
    def __init__(self, words):
        self.left = list(words)

    def take(self, n=1):
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n, "the stream has no more words"
        return taken

    def integers(self, bound, n=1):
        mask = (1 << (bound - 1).bit_length()) - 1
        drawn = [word & mask for word in self.take(n)]
        waiting = [k for k in range(n) if drawn[k] >= bound]
        while waiting:
            for k, word in zip(waiting, self.take(len(waiting)), strict=True):
                drawn[k] = word & mask
            waiting = [k for k in waiting if drawn[k] >= bound]
        return drawn

    def coins(self, n):
        raw = b"".join(word.to_bytes(8, "little") for word in self.take(-(-n // 64)))
        return [raw[k // 8] >> (7 - k % 8) & 1 for k in range(n)]

    def uniform(self, n=1):
        return [((word >> 12) + 0.5) * 2.0**-52 for word in self.take(n)]

    def deep_uniform(self, n=1):
        drawn = []
        leads = [word >> 1 for word in self.take(n)]
        for lead in leads:
            number, length = lead, 63
            if lead >= 2**53:
                drawn.append(min((float(lead) + 0.5) * 2.0**-63, 1 - 2.0**-53))
                continue
            while number < 2**53 and length < 1000:
                number, length = number << 64 | self.take()[0], length + 64
            drawn.append(max(number, 1) / 2**length)
        return drawn

    def normals(self, n):
        half = -(-n // 2)
        length = [math.sqrt(-2 * math.log(u)) for u in self.deep_uniform(half)]
        angle = [2 * math.pi * u for u in self.uniform(half)]
        cosines = [r * math.cos(a) for r, a in zip(length, angle, strict=True)]
        sines = [r * math.sin(a) for r, a in zip(length, angle, strict=True)]
        return (cosines + sines)[:n]

    def weighted(self, weights, lead):
        """The index that a lead of 63 bits stands for, by weight."""
        total, width = sum(weights), 2**63
        while True:
            low, high = [], []
            step = 0
            for weight in weights[:-1]:
                step += weight
                low.append(step * width <= lead * total)
                high.append(step * width < (lead + 1) * total)
            if low == high:
                return sum(low)
            lead, width = lead << 64 | self.take()[0], width << 64


# --- ballots


def pairs_of(m):
    return list(combinations(range(m), 2))


def opinion(ballot, i, j):
    """1 where i goes before j, 0 where j does, None where the ballot does not say."""
    if ballot[i] is None or ballot[j] is None or ballot[i] == ballot[j]:
        return None
    return int(ballot[i] < ballot[j])


def net_wins(ballot):
    m = len(ballot)
    said = [[opinion(ballot, i, j) for j in range(m)] for i in range(m)]
    return [sum(2 * s - 1 for s in row if s is not None) for row in said]


def permutation(n, coins):
    order = list(range(n))
    for last in range(1, n):
        (pick,) = coins.integers(last + 1)
        order[last], order[pick] = order[pick], order[last]
    return order


def completed(ballot, coins):
    chance = permutation(len(ballot), coins)
    absent = [place for place, where in zip(chance, ballot, strict=True) if where is None]
    free = [place for place in range(len(ballot)) if place not in absent]
    ranked = [item for item, where in enumerate(ballot) if where is not None]
    ranked.sort(key=lambda item: (ballot[item], chance[item]))
    places = dict(zip(ranked, free, strict=True))
    return [places.get(item, chance[item]) for item in range(len(ballot))]


# --- one report


def answers(ballot, pairs, flip, noise, coins):
    tossed = coins.coins(len(pairs))
    flips = [draw < flip for draw in noise.integers(GRID, len(pairs))]
    said = []
    for (i, j), coin, flipped in zip(pairs, tossed, flips, strict=True):
        mine = opinion(ballot, i, j)
        said.append((coin if mine is None else mine) ^ flipped)
    return said


def rr(protocol, ballot, noise, coins, assignment):
    every = pairs_of(len(ballot))
    drawn = []
    for top in range(len(every) - protocol["n_queries"], len(every)):
        (pick,) = assignment.integers(top + 1)
        drawn.append(top if pick in drawn else pick)
    pairs = [every[number] for number in drawn]
    said = answers(ballot, pairs, protocol["flip"][0], noise, coins)
    return {"pairs": [list(pair) for pair in pairs], "answers": said}


def hypercube(protocol, ballot, noise, coins, assignment):
    every = pairs_of(len(ballot))
    d, (high, low) = len(every), protocol["levels"]
    tossed = coins.coins(d)
    signs = [opinion(ballot, i, j) for i, j in every]
    signs = [coin if sign is None else sign for sign, coin in zip(signs, tossed, strict=True)]
    if protocol["variant"] == "best_cap":
        level = [high if k <= protocol["cap"] else low for k in range(d + 1)]
    else:
        level = [2 * high if 2 * k < d else 2 * low if 2 * k > d else high + low for k in range(d + 1)]
    weights = [math.comb(d, k) * level[k] for k in range(d + 1)]
    differing = noise.weighted(weights, noise.integers(2**63)[0])
    while True:
        keys = [half for word in noise.take(-(-d // 2)) for half in (word & 0xFFFFFFFF, word >> 32)][:d]
        turned = [key <= sorted(keys)[differing - 1] for key in keys] if differing else [False] * d
        if sum(turned) == differing:
            break
    signs = [sign ^ turn for sign, turn in zip(signs, turned, strict=True)]
    padded = signs + [0] * (-d % 8)
    digits = [int("".join(map(str, map(int, padded[k : k + 4]))), 2) for k in range(0, len(padded), 4)]
    return {"signs": "".join(f"{digit:x}" for digit in digits)}


def mallows(protocol, ballot, noise, coins, assignment):
    weights, m = protocol["weights"], len(ballot)
    places = completed(ballot, coins)
    leads = noise.integers(2**63, m)
    ranked = []  # the places of the ballot, in the order of the report
    for place in range(m):
        overtaken = noise.weighted(weights[: place + 1], leads[place])
        ranked.insert(place - overtaken, place)
    return {"positions": [ranked.index(place) for place in places]}


def privunit(protocol, ballot, noise, coins, assignment):
    m, wins = len(ballot), net_wins(ballot)
    square = sum(w * w for w in wins)
    share = math.sqrt(square / (m * (m * m - 1) // 3))
    flips = 2 * coins.uniform()[0] > 1 + share
    anywhere = centred(coins.normals(m))
    direction = anywhere if square == 0 else wins
    length = math.sqrt(sum(x * x for x in direction))
    direction = [(-x if flips else x) / length for x in direction]

    gamma, (high, low) = protocol["gamma"] / 1024, protocol["levels"]
    above, below = (math.erfc(x / math.sqrt(2)) / 2 for x in (gamma, -gamma))
    rarely = noise.deep_uniform()[0] * (high * above + low * below) < low * below
    lean = -truncated(-gamma, noise) if rarely else truncated(gamma, noise)

    normal = centred(noise.normals(m))
    along = sum(x * d for x, d in zip(normal, direction, strict=True))
    vector = [x + (lean - along) * d for x, d in zip(normal, direction, strict=True)]
    length = math.sqrt(sum(x * x for x in vector))
    scale = 1024 * min(1.0, protocol["norm"] / max(length, protocol["norm"]))
    return {"vector": [round(x * scale) for x in vector[:-1]]}


def centred(numbers):
    mean = sum(numbers) / len(numbers)
    return [x - mean for x in numbers]


def truncated(gamma, noise):
    rate = (gamma + math.sqrt(gamma**2 + 4)) / 2
    while True:
        if gamma > 0:
            tries = [gamma - math.log(u) / rate for u in noise.deep_uniform(10)]
            kept = [u < math.exp(-((x - rate) ** 2) / 2) for u, x in zip(noise.deep_uniform(10), tries, strict=True)]
        else:
            tries = noise.normals(10)
            kept = [x > gamma for x in tries]
        for x, keep in zip(tries, kept, strict=True):
            if keep:
                return x


def shuffled(protocol, ballot, noise, coins, assignment, pairs=None):
    every = pairs_of(len(ballot))
    hidden = protocol["pairs"] == "hidden"
    if hidden:
        pairs = [every[number] for number in assignment.integers(len(every), protocol["n_queries"])]
    said = answers(ballot, pairs, protocol["flip"][0], noise, coins)
    return [
        {"shuffle": k if hidden else 0, "pair": list(pair), "answer": answer}
        for k, (pair, answer) in enumerate(zip(pairs, said, strict=True))
    ]


HALVES = {"rr": rr, "laplace": rr, "gaussian": rr, "hypercube": hypercube, "mallows": mallows, "privunit": privunit}


def report(protocol, ballot, words, pairs=None):
    """What a device says; `words` has a `Words` for each stream."""
    name = {"protocol": digest(protocol)}
    if protocol["randomizer"] == "rr-shuffled":
        return [{**name, **message} for message in shuffled(protocol, ballot, **words, pairs=pairs)]
    return {**name, **HALVES[protocol["randomizer"]](protocol, ballot, **words)}


def answer(protocol, ballot, question, words):
    """What a device answers to one question."""
    (number,) = words["assignment"].integers(len(question["pairs"]))
    pair = question["pairs"][number]
    flip = protocol["flips"][question["kind"]]
    (said,) = answers(ballot, [pair], flip, words["noise"], words["coins"])
    return {"protocol": digest(protocol), "question": question["question"], "pair": pair, "answer": said}
