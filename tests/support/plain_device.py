"""A client written only from the pages "The wire format", without NumPy and without this package.

Written to show that the pages and the test vectors are enough; it does not check protocols and keeps no budget.
"""

import hashlib
import math
from decimal import Decimal, localcontext
from fractions import Fraction
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


def sha256(value):
    return hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()


def digest(protocol):
    return sha256(protocol)[:16]


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
    order = []
    for bounds in runs(n):
        size = math.prod(bounds)
        times = 1
        while size ** (times + 1) <= 2**63:
            times += 1
        number = coins.integers(size**times)[0] % size
        for bound in bounds:
            number, pick = divmod(number, bound)
            order = [place + (place >= pick) for place in order] + [pick]
    return order


def runs(n):
    """1, ..., n in runs, each as long as its product is at most 2^63."""
    run = []
    for bound in range(1, n + 1):
        if math.prod(run) * bound > 2**63:
            yield run
            run = []
        run.append(bound)
    yield run


def completed(ballot, coins):
    (unseen_first,) = coins.coins(1)
    chance = permutation(len(ballot), coins)
    end = -math.inf if unseen_first else math.inf
    keys = [(end if place is None else place, chance[item]) for item, place in enumerate(ballot)]
    return [sorted(keys).index(key) for key in keys]


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


def rr_shown(protocol, comparisons, noise, coins, assignment):
    (number,) = assignment.integers(len(comparisons))
    first, second, outcome = comparisons[number]
    pair = sorted([first, second])
    ballot = {first: 0, second: 0} if outcome is None else {first: 1 - outcome, second: outcome}
    return {"pairs": [pair], "answers": answers(ballot, [pair], protocol["flip"][0], noise, coins)}


def rr_assigned(protocol, ballot, noise, coins, assignment, voter):
    every = pairs_of(len(ballot))
    width, numbers, step = (len(every) - 1).bit_length(), [], 0
    while len(numbers) < protocol["n_queries"]:
        text = f"{protocol['assignment_seed']}/{voter}/{step}"
        word = int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "big")
        number = word % 2**width
        if number < len(every) and number not in numbers:
            numbers.append(number)
        step += 1
    pairs = [every[number] for number in numbers]
    said = answers(ballot, pairs, protocol["flip"][0], noise, coins)
    return {"voter": voter, "pairs": [list(pair) for pair in pairs], "answers": said}


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


def privunit(protocol, ballot, noise, coins, assignment):
    m, wins = len(ballot), net_wins(ballot)
    square = sum(w * w for w in wins)
    k = protocol.get("max_listed", m)
    share = math.sqrt(square / (k * (k * k - 1) // 3))
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


def random_number(assignment):
    return "".join(f"{word:016x}" for word in assignment.take(2))


def shuffled(protocol, ballot, noise, coins, assignment, pairs=None):
    every = pairs_of(len(ballot))
    hidden = protocol["pairs"] == "hidden"
    if hidden:
        pairs = [every[number] for number in assignment.integers(len(every), protocol["n_queries"])]
    if protocol["pairs"] == "shown":
        pairs, said = rr_shown(protocol, ballot, noise, coins, assignment).values()
    else:
        said = answers(ballot, pairs, protocol["flip"][0], noise, coins)
    messages = [
        {"shuffle": k if hidden else 0, "pair": list(pair), "answer": answer}
        for k, (pair, answer) in enumerate(zip(pairs, said, strict=True))
    ]
    return {"report": random_number(assignment), "messages": messages}


# --- shares of a sum


def exp_minus(p, q, words):
    """True with probability exp(-p / q), p at most q."""
    k = 1
    while words.integers(q)[0] < p and (k == 1 or words.integers(k)[0] == 0):
        k += 1
    return k % 2 == 1


def run_length(words):
    """How many of Bernoulli(1/1), Bernoulli(1/2), ... come true in a row."""
    draw = words.integers(math.factorial(12))[0]
    run = sum(draw < math.factorial(12) // math.factorial(k) for k in range(1, 13))
    while run >= 12 and words.integers(run + 1)[0] == 0:
        run += 1
    return run


def two_sided_geometric(width, words):
    while True:
        start = words.integers(width)[0]
        if not exp_minus(start, width, words):
            continue
        turns = 0
        while turns < 2**15 - 1 and run_length(words) % 2 == 0:
            turns += 1
        size = start + width * turns
        negative = words.integers(2)[0]
        if size or not negative:
            return -size if negative else size


def poisson(rate, words):
    """By rejection; the decision is made with as many digits as anybody could ask for."""
    mode, width = math.floor(rate), max(2, math.isqrt(math.floor(rate)))
    with localcontext(prec=80):
        mean, known, reached = Decimal(rate.numerator) / rate.denominator, {0: Decimal(1)}, {1: 0, -1: 0}

        def likelihood(j):
            """P(mode + j) / P(mode), by one factor for each step from the mode."""
            side = 1 if j > 0 else -1
            while (here := reached[side]) != j and abs(here) < abs(j):
                k = mode + here + (side > 0)
                known[here + side] = known[here] * (mean / k if side > 0 else k / mean)
                reached[side] += side
            return known[j]

        heights = [likelihood(j).ln() + Decimal(abs(j)) / width for j in range(-min(mode, 4 * width), 4 * width)]
        bound = Decimal(math.ceil(2**20 * (float(max(heights)) + 1e-6))) / 2**20
        while True:
            j = two_sided_geometric(width, words)
            if mode + j < 0:
                continue
            (digits,) = words.take()
            if Decimal(digits) / 2**64 < likelihood(j) * (Decimal(abs(j)) / width - bound).exp():
                return mode + j


def margin(ballot, i, j):
    mine = opinion(ballot, i, j)
    return 0 if mine is None else 2 * mine - 1


def scores_of_places(ballot, scores):
    """Tied items share the scores of their places, rounded with halves up; items without a place are tied last."""
    keys = [math.inf if place is None else place for place in ballot]
    said = []
    for key in keys:
        first, size = sum(other < key for other in keys), keys.count(key)
        said.append(math.floor(Fraction(sum(scores[first : first + size]), size) + Fraction(1, 2)))
    return said


def histogram(ballot, coins, unseen_last):
    if unseen_last:
        chance = permutation(len(ballot), coins)
        keys = [(math.inf if place is None else place, chance[item]) for item, place in enumerate(ballot)]
        places = [sorted(keys).index(key) for key in keys]
    else:
        places = completed(ballot, coins)
    cell, m = 0, len(places)
    for i, place in enumerate(places):
        cell += math.factorial(m - 1 - i) * sum(later < place for later in places[i + 1 :])
    return [int(k == cell) for k in range(math.factorial(m))]


def group_net_wins(ballot, groups):
    group_of = {item: group for group in groups for item in group}
    return [sum(margin(ballot, i, j) for j in group_of[i] if j != i) for i in range(len(ballot))]


def shared_out(sizes, k):
    """How many of k items are in each group, the largest groups first."""
    inside = []
    for size in sorted(sizes, reverse=True):
        inside.append(min(size, k - sum(inside)))
    return inside


def scaled_margins(ballot, about, k):
    m = len(ballot)
    if "pairs" in about:
        values, squared = [margin(ballot, i, j) for i, j in about["pairs"]], min(len(about["pairs"]), k * (k - 1) // 2)
    else:
        values = group_net_wins(ballot, about["groups"])
        squared = sum((t - 1) * t * (t + 1) // 3 for t in shared_out(map(len, about["groups"]), k))
    scale, limit = 1, 4096 * (k - 1) * k * (k + 1) // 3
    while squared and (scale + 1) ** 2 * squared <= limit:
        scale += 1
    scale = scale if squared else math.isqrt(limit)
    return [scale * value for value in values] + [0] * (max(m, min(m * (m - 1) // 2, 16384)) - len(values))


def cut_scores(scores, k):
    """Places after the first k share their mean; the median becomes 0."""
    rest = scores[k:]
    cut = scores[:k] + [math.floor(Fraction(sum(rest), len(rest)) + Fraction(1, 2))] * len(rest)
    return [score - sorted(cut)[len(cut) // 2] for score in cut]


def counted(statistic, ballot, about, coins, k):
    """What the ballot adds to a sum; k is the protocol's max_listed."""
    m, name = len(ballot), statistic if isinstance(statistic, str) else statistic["name"]
    if k is not None and name not in ("positional_scores", "histogram", "histogram_unseen_last"):
        chance = permutation(m, coins)
        kept = sorted((item for item in range(m) if ballot[item] is not None), key=chance.__getitem__)[:k]
        ballot = [place if item in kept else None for item, place in enumerate(ballot)]
    if name == "net_wins":
        return net_wins(ballot)
    if name == "margins":
        return [margin(ballot, i, j) for i, j in pairs_of(m)]
    if name == "pair_margin":
        return [margin(ballot, *about)]
    if name == "pair_counts":
        named = [*about, *(pair[::-1] for pair in about)]
        return [int([i, j] in named and opinion(ballot, i, j) == 1) for i in range(m) for j in range(m)]
    if name == "group_net_wins":
        return group_net_wins(ballot, about)
    if name == "scaled_margins":
        return scaled_margins(ballot, about, k or m)
    if name == "positional_scores":
        scores = statistic["scores"]
        return scores_of_places(ballot, scores if k is None else cut_scores(scores, k))
    return histogram(ballot, coins, name == "histogram_unseen_last")


def skellam_shares(protocol, ballot, noise, coins, assignment, stated=None, about=None, asked=None):
    """`stated` has the statistic, its rate and modulus: the protocol, or one of its rounds."""
    stated = stated or protocol
    said = counted(stated["statistic"], ballot, about, coins, protocol.get("max_listed"))
    rate, modulus = Fraction(*stated["rate"]), 2 ** stated["modulus_bits"]
    noisy = []
    for number in said:
        more = poisson(rate, noise)
        noisy.append(number + more - poisson(rate, noise))
    others = protocol["servers"] - 1
    drawn = noise.integers(modulus, others * len(noisy))
    shares = [drawn[k * len(noisy) : (k + 1) * len(noisy)] for k in range(others)]
    shares.append([(z - sum(column)) % modulus for z, column in zip(noisy, zip(*shares, strict=True), strict=True)])
    head = {"protocol": digest(protocol), **(asked or {})}
    parts = [
        {"server": k, "salt": "".join(f"{word:016x}" for word in noise.take(2)), "share": share}
        for k, share in enumerate(shares)
    ]
    commitments = [sha256({**head, **part}) for part in parts]
    return [{**head, "report": sha256(commitments), "commitments": commitments, **part} for part in parts]


RANDOMIZERS = {
    "rr": rr,
    "rr-shown": rr_shown,
    "laplace": rr,
    "gaussian": rr,
    "hypercube": hypercube,
    "privunit": privunit,
}


def report(protocol, ballot, words, pairs=None, voter=None):
    """Return the report of a device; `words` has a `Words` for each stream."""
    name = {"protocol": digest(protocol)}
    if protocol["randomizer"] == "rr-assigned":
        return {**name, **rr_assigned(protocol, ballot, **words, voter=voter)}
    if protocol["randomizer"] == "rr-shuffled":
        return {**name, **shuffled(protocol, ballot, **words, pairs=pairs)}
    if protocol["randomizer"] == "skellam-shares":
        return skellam_shares(protocol, ballot, **words)
    return {**name, **RANDOMIZERS[protocol["randomizer"]](protocol, ballot, **words)}


def answer_by_shares(protocol, ballot, question, words):
    """What a device sends to each server in answer to one question."""
    kinds = [kind for kind in protocol["rounds"] for _ in range(kind["times"])]
    about = [value for name, value in question.items() if name not in ("protocol", "question")]
    stated, asked = kinds[question["question"] - 1], {"question": digest(question)}
    return skellam_shares(protocol, ballot, **words, stated=stated, about=(about or [None])[0], asked=asked)


def answer(protocol, ballot, question, words):
    """What a device answers to one question."""
    if protocol["randomizer"] == "skellam-rounds":
        return answer_by_shares(protocol, ballot, question, words)
    (number,) = words["assignment"].integers(len(question["pairs"]))
    pair = question["pairs"][number]
    flip = protocol["flips"][question["kind"]]
    (said,) = answers(ballot, [pair], flip, words["noise"], words["coins"])
    number = random_number(words["assignment"])
    head = {"protocol": digest(protocol), "question": question["question"], "report": number}
    return {**head, "pair": pair, "answer": said}
