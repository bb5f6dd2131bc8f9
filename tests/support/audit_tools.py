"""Exact output distributions of private estimators on few items, and the privacy loss between neighbours.

Nothing here models a mechanism: the package's own plan, session and rule run, and every random choice they make is
a branch. Noise has infinitely many values, so it branches over cells of values that no rule tells apart.
"""

import math
from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from itertools import combinations, permutations

import numpy as np
from oracles import cost_of
from scipy.special import ndtr

from sklearn_dprank import DPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import Positions
from sklearn_dprank.mechanisms import ExponentialNoise, GaussianNoise, KNormNoise, LaplaceNoise, PermuteAndFlipNoise
from sklearn_dprank.sampling.bit_source import Bits, BitSource

DEPTH = 40  # noise is cut where exp(-DEPTH) of its mass is left, 4e-18


# --- every branch of a random program


def outcomes(run):
    """Yield (probability, result) for every branch of ``run(branch)``; ``branch(weights)`` returns an index."""
    waiting = [()]
    while waiting:
        decided = waiting.pop()
        path, probability = [], 1.0

        def branch(weights, decided=decided, path=path):
            nonlocal probability
            options = np.flatnonzero(weights)
            if len(path) < len(decided):
                pick = decided[len(path)]
            else:
                pick = options[0]
                waiting.extend((*path, other) for other in options[1:])
            path.append(pick)
            probability *= weights[pick]
            return pick

        result = run(branch)
        yield probability, result


class ScriptedCoins:
    """A bit source for fair choices among few: each is a branch."""

    def __init__(self, branch):
        self._branch = branch

    def integer(self, bound):
        return int(self._branch(np.full(bound, 1 / bound)))

    def integers(self, bound, size):
        return np.array([self.integer(int(b)) for b in np.broadcast_to(bound, (size,))], dtype=np.int64)

    def many_integers(self, bound, size):
        return self.integers(bound, size)

    def coins(self, size):
        return self.integers(2, size).astype(bool)

    def permutation(self, n):
        every = list(permutations(range(n)))
        return np.array(every[self.integer(len(every))])

    def permutations(self, rows, n):
        return np.array([self.permutation(n) for _ in range(rows)]).reshape(rows, n)


class Biased(BitSource):
    """Words that often begin with many zeros, so that what is rare comes in a test too."""

    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def _read(self, size):
        words = self.rng.integers(0, 2**64, size, dtype=np.uint64)
        words >>= self.rng.integers(0, 64, size, dtype=np.uint64) * self.rng.integers(0, 2, size, dtype=np.uint64)
        words[self.rng.random(size) < 0.3] = 0
        return words


class Dealt(BitSource):
    """Deals the words that it is given."""

    def __init__(self, *words):
        super().__init__()
        self.left = list(words)

    def words(self, size):
        dealt, self.left = self.left[:size], self.left[size:]
        return np.array(dealt, dtype=np.uint64)

    def integer(self, bound):
        assert bound == 2**64
        return self.left.pop(0)


# --- noise, cut into cells


def noise_pmf(mechanism, offsets):
    """Probability that one entry's noise is each of these integers."""
    if isinstance(mechanism, LaplaceNoise):
        rate = float(mechanism.rate)
        return math.tanh(rate / 2) * np.exp(-rate * np.abs(offsets))
    size = np.abs(offsets)  # a Gaussian rounded to integers
    return np.where(size == 0, 1 - ndtr(-0.5 / mechanism.sigma), ndtr((0.5 - size) / mechanism.sigma)) - ndtr(
        (-0.5 - size) / mechanism.sigma
    )


def reach(mechanism, depth=DEPTH):
    """How far the noise goes, but for a share of exp(-depth)."""
    if isinstance(mechanism, LaplaceNoise):
        return math.ceil(depth / mechanism.rate)
    return math.ceil(mechanism.sigma * math.sqrt(2 * depth))


def ordered_partitions(items):
    """All weak orders of the items: tuples of blocks, highest first."""
    items = tuple(items)
    if not items:
        yield ()
    for size in range(1, len(items) + 1):
        for block in combinations(items, size):
            for rest in ordered_partitions([i for i in items if i not in block]):
                yield (block, *rest)


def weak_order_cells(mechanism, vector, depth=DEPTH):
    """(probabilities, representatives) of the weak orders of a noisy vector."""
    far = reach(mechanism, depth)
    values = np.arange(min(vector) - far, max(vector) + far + 1)
    pmf = [noise_pmf(mechanism, values - v) for v in vector]
    weights, answers = [], []
    for blocks in ordered_partitions(range(len(vector))):
        chance = np.ones(len(values))  # that the blocks so far end above each value
        for block in blocks:
            here = np.prod([pmf[i] for i in block], axis=0) * chance
            chance = np.append(np.cumsum(here[::-1])[::-1][1:], 0.0)
        answer = np.empty(len(vector), dtype=np.int64)
        for height, block in enumerate(blocks):
            answer[list(block)] = len(blocks) - 2 * height
        weights.append(here.sum())
        answers.append(answer)
    return np.array(weights), answers


def sign_cells(mechanism, vector):
    """(probabilities, representatives) of the sign of one noisy number."""
    far = reach(mechanism) + abs(int(vector[0]))
    chance = noise_pmf(mechanism, np.arange(-far, far + 1) - int(vector[0]))
    weights = np.array([chance[:far].sum(), chance[far], chance[far + 1 :].sum()])
    return weights, [np.array([sign]) for sign in (-1, 0, 1)]


@lru_cache(maxsize=8)
def margin_cells(far):
    """Cells of the three margins of three items: on each, every rule does the same thing.

    Rules compare margins, net wins and costs of orders; all are linear forms in (W01, W02, W12).
    """
    x, y, z = np.meshgrid(*[np.arange(-far, far + 1, dtype=np.int16)] * 3, indexing="ij", sparse=True)
    forms = [x, y, z, x - y, x + y, x - z, x + z, y - z, y + z]  # margins and their sizes
    forms += [2 * x + y - z, x + 2 * y + z, -x + y + 2 * z]  # net wins against each other
    forms += [x + y + z, x + y - z, -x + y + z]  # an order against its reverse
    key = np.zeros((2 * far + 1,) * 3, dtype=np.int32)
    for form in forms:
        key *= 3
        key += np.sign(form) + 1
    _, first, cell = np.unique(key, return_index=True, return_inverse=True)
    points = np.stack(np.unravel_index(first, key.shape), axis=1) - far
    return cell.ravel(), points


def three_margin_cells(mechanism, vector):
    """(probabilities, representatives) of the cells of three noisy margins."""
    far = reach(mechanism) + 8
    cell, points = margin_cells(far)
    values = np.arange(-far, far + 1)
    a, b, c = (noise_pmf(mechanism, values - v) for v in vector)
    mass = a[:, None, None] * b[:, None] * c
    return np.bincount(cell, weights=mass.ravel(), minlength=len(points)), list(points)


def order_cells(mechanism, query, vector):
    """(probabilities, orders) of the exponential mechanism, by the definition of the cost."""
    m = math.isqrt(len(vector))
    margins = np.asarray(vector).reshape(m, m)
    orders = answers_of(query, m)
    costs = np.array([cost_of(query, margins, order) for order in orders], dtype=float)
    base = np.array([base_measure(query, order) for order in orders])
    weights = base * np.exp(-mechanism.rate * (costs - costs.min()))
    return weights / weights.sum(), orders


def flipped_cells(mechanism, query, vector):
    """(probabilities, orders) of permute-and-flip, by the definition of the cost."""
    m = math.isqrt(len(vector))
    margins = np.asarray(vector).reshape(m, m)
    orders = [order for order in answers_of(query, m) if cost_of(query, margins, order) < math.inf]
    costs = np.array([cost_of(query, margins, order) for order in orders])
    return np.exp(log_flipped_law(mechanism.rate * costs)), orders


def answers_of(query, m):
    """Every order of the items, or of as many as the query chooses."""
    return [np.array(order) for order in permutations(range(m), getattr(query, "k", m))]


def log_flipped_law(costs):
    """Log probabilities of permute-and-flip among options of these costs (times the rate).

    Option r is taken with p_r times the mean over t in (0, 1) of the product of 1 - t p_s over all others s, p =
    exp(least cost - cost): t is the time of r's turn, at which no other option was taken (McKenna and Sheldon 2020).
    Gauss's rule is exact for these polynomials, which have no negative terms.
    """
    levels, level, counts = np.unique(costs, return_inverse=True, return_counts=True)
    nodes, weights = gauss(len(costs) // 2 + 1)
    left = np.log1p(-nodes[:, None] * np.exp(levels[0] - levels))  # a row an instant, a column a level
    others = (left @ counts)[:, None] - left
    return (levels[0] - levels + np.log(weights @ np.exp(others)))[level]


@lru_cache
def gauss(n):
    """Nodes and weights on (0, 1), exact for polynomials of degree 2 n - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (1 + nodes) / 2, weights / 2


def base_measure(query, order):
    """exp(-inversions) within the window, 0 outside; 1 without a window."""
    if getattr(query, "window", None) is None:
        return 1.0
    place = {item: k for k, item in enumerate(query.anchor)}
    inverted = [place[a] - place[b] for a, b in combinations(order, 2) if place[a] > place[b]]
    return 0.0 if any(gap >= query.window for gap in inverted) else math.exp(-len(inverted))


def knorm_cells(mechanism, vector):
    """(probabilities, answers) of the orders of three net wins with K-norm noise.

    The density is proportional to exp(-s max|z_i|), s = 1 / (2 scale), on the plane of sum zero: an order's
    probability is the integral over t of s exp(-s t) times the area of its wedge inside the hexagon of radius t,
    and that area is quadratic in t between the radii at which a corner enters or leaves the wedge.
    """
    s = 1 / (2 * mechanism.scale)
    vector = np.asarray(vector, dtype=float)
    corners = np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1], [-1, 1, 0], [-1, 0, 1], [0, -1, 1]], dtype=float)
    radii = {0.0, abs(vector).max()}
    for i, j in combinations(range(3), 2):
        slope = corners[:, i] - corners[:, j]
        crossing = np.divide(vector[j] - vector[i], slope, out=np.zeros(6), where=slope != 0)
        radii |= set(crossing[crossing > 0].tolist())
    radii = sorted(radii)
    weights, answers = [], []
    for order in permutations(range(3)):

        def area(t, order=order):
            points = (vector + t * corners)[:, order]
            return _area_of_quadrant(np.column_stack([points[:, 0] - points[:, 1], points[:, 1] - points[:, 2]]))

        total = 0.0
        for low, high in zip(radii, [*radii[1:], None], strict=True):
            if high == low:
                continue
            at = np.linspace(low, low + 2 / s if high is None else high, 3)
            quadratic = np.poly1d(np.polyfit(at, [area(t) for t in at], 2))
            rest = quadratic + quadratic.deriv() / s + quadratic.deriv(2) / s**2  # what partial integration leaves
            total += math.exp(-s * low) * rest(low) - (0 if high is None else math.exp(-s * high) * rest(high))
        answer = np.empty(3, dtype=np.int64)
        answer[list(order)] = [2, 0, -2]
        weights.append(total)
        answers.append(answer)
    return np.array(weights) / sum(weights), answers


def _area_of_quadrant(polygon):
    """The area of a convex polygon where both coordinates are positive."""
    for axis in (0, 1):
        kept = []
        for here, there in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
            if here[axis] >= 0:
                kept.append(here)
            if (here[axis] >= 0) != (there[axis] >= 0):
                kept.append(here + here[axis] / (here[axis] - there[axis]) * (there - here))
        if len(kept) < 3:
            return 0.0
        polygon = np.array(kept)
    x, y = polygon.T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


RANKINGS = [np.sign([p[1] - p[0], p[2] - p[0], p[2] - p[1]]) for p in permutations(range(3))]


@lru_cache(maxsize=4)
def histogram_noise(mechanism):
    """The law of the three margins' noise when each of the six counts of rankings has its own."""
    steps = np.arange(-reach(mechanism), reach(mechanism) + 1)
    far = math.ceil(reach(mechanism) * (math.sqrt(6) if isinstance(mechanism, GaussianNoise) else 1.2))
    mass = np.zeros((2 * far + 1,) * 3)
    mass[far, far, far] = 1
    for ranking in RANKINGS:  # one count's noise moves the margins along its ranking
        spread = np.zeros_like(mass)
        for step, chance in zip(steps, noise_pmf(mechanism, steps), strict=True):
            to, come = zip(*(_shifted(step * sign, len(mass)) for sign in ranking), strict=True)
            spread[to] += chance * mass[come]
        mass = spread
    return mass


def histogram_cells(mechanism, vector):
    """(probabilities, representatives) of the histogram of three items: cells of the margins it implies."""
    noise = histogram_noise(mechanism)
    far = len(noise) // 2 + 8
    cell, points = margin_cells(far)
    middle = tuple(slice(8 + shift, 8 + shift + len(noise)) for shift in vector @ np.array(RANKINGS))
    inside = cell.reshape((2 * far + 1,) * 3)[middle].ravel()
    weights = np.bincount(inside, weights=noise.ravel(), minlength=len(points))
    return weights, [_histogram_with(*point) for point in even_points(far)]


@lru_cache(maxsize=8)
def even_points(far):
    """A point of each cell of margins whose margins are all even, as those of a histogram are all even or odd."""
    _, points = margin_cells(far)
    return 2 * points  # cells are cones


def _histogram_with(x, y, z):
    """Counts of the rankings (0, 1, 2), (0, 2, 1), (1, 0, 2) that have these margins."""
    b, c = (y - z) // 2, (y - x) // 2
    return np.array([y - b - c, b, c, 0, 0, 0])


def _shifted(step, size):
    """(to, from): slices that move an axis by `step`."""
    return slice(max(step, 0), size + min(step, 0)), slice(max(-step, 0), size + min(-step, 0))


def cells(mechanism, query, vector, depth=DEPTH):
    """(probabilities, answers) of one noisy answer."""
    if type(mechanism) is ExponentialNoise:
        return order_cells(mechanism, query, vector)
    if isinstance(mechanism, PermuteAndFlipNoise):
        return flipped_cells(mechanism, query, vector)
    if isinstance(mechanism, KNormNoise):
        return knorm_cells(mechanism, vector)
    kind = type(query).__name__
    if kind == "NetWins":
        return weak_order_cells(mechanism, vector, depth)
    if kind == "PairMargin":
        return sign_cells(mechanism, vector)
    if len(vector) == 3 and kind == "AllMargins":
        return three_margin_cells(mechanism, vector)
    if len(vector) == 6 and kind == "Histogram":
        return histogram_cells(mechanism, vector)
    raise NotImplementedError(f"no cells for {query}")


# --- laws


class _ScriptedNoise:
    """Stands for the noise stream: every answer is a branch over the mechanism's cells."""

    def __init__(self, choose):
        self.choose = choose


def _scripted(mechanism, query, vector):
    return lambda bits: bits.choose(mechanism, query, vector)


@contextmanager
def scripted_noise():
    """Within, every mechanism asks its bit source to choose the answer."""
    kinds = (LaplaceNoise, GaussianNoise, KNormNoise, ExponentialNoise, PermuteAndFlipNoise)
    saved = [(kind, kind.sampler) for kind in kinds]
    for kind in kinds:
        kind.sampler = _scripted
    try:
        yield
    finally:
        for kind, sampler in saved:
            kind.sampler = sampler


def runner(estimator, profile):
    """Return what runs the estimator's rule in a session on given noise and coins, and returns the order."""
    channel, rule = estimator._compose()
    more = {} if profile.bound is None else {"bound": profile.bound}
    plan = channel.plan(rule.asks(profile.n_items), profile.n_items, **more)

    def run(noise, coins):
        voters = copy(profile)  # without the sampler that later releases share: every branch completes the ballots
        session = plan.open(voters)(Bits(noise, coins, coins, certified=False))
        return tuple(rule.aggregate(session).order.tolist())

    return run


_memory: dict = {}


def decoded(estimator, kind, m, answer):
    """Return the law of orders given one noisy answer."""
    key = repr(estimator._compose()[1]), kind, m, tuple(answer)
    if key not in _memory:
        run = runner(estimator, empty_profile(m))
        noise = _ScriptedNoise(lambda mechanism, query, vector: np.array(answer))
        with scripted_noise():
            _memory[key] = _gathered(outcomes(lambda branch: run(noise, ScriptedCoins(branch))), m)
    return _memory[key]


def _gathered(weighted_orders, m):
    weighted_orders = list(weighted_orders)
    out = dict.fromkeys(permutations(range(m), len(weighted_orders[0][1])), 0.0)
    for probability, order in weighted_orders:
        out[order] += probability
    return np.array(list(out.values()))


def law(estimator, profile, depth=DEPTH):
    """The probability of every order (of every best k, in order), in lexicographic order, shape (m!,).

    Sums to 1 but for what `depth` cuts off.
    """
    m = profile.n_items
    channel, rule = estimator._compose()
    asks = rule.asks(m)
    with scripted_noise():
        # A rule that asks about a pair has thrown coins to choose it: its paths are followed one by one.
        if channel.release is not None or (asks[0][1:] == (1, 1) and type(asks[0].query).__name__ != "PairMargin"):
            return _law_of_one_answer(estimator, profile, m, depth)
        drawn: dict = {}
        run_once = runner(estimator, profile)

        def run(branch):
            def choose(mechanism, query, vector):
                key = query, tuple(vector.tolist())
                if key not in drawn:
                    drawn[key] = cells(mechanism, query, vector)
                    if type(query).__name__ == "AllMargins":
                        drawn[key] = _decided(*drawn[key], m), list(permutations(range(m)))
                weights, answers = drawn[key]
                answer = answers[branch(weights)]
                if type(query).__name__ == "AllMargins":
                    raise _Decided(*answer)
                return answer

            try:
                return run_once(_ScriptedNoise(choose), ScriptedCoins(branch))
            except _Decided as fallback:
                return fallback.args

        return _gathered(outcomes(run), m)


def _decided(weights, answers, m):
    """The law of KwikSort's fallback, the Kemeny order of all noisy margins, at the end of every path that runs out."""
    laws = (w * decoded(DPPairwise(), "AllMargins", m, answer) for w, answer in zip(weights, answers, strict=True) if w)
    return sum(laws)


class _Decided(Exception):
    """Carries the order that a fallback decides."""


class _Seen(Exception):
    """Carries what a mechanism was given."""


def _law_of_one_answer(estimator, profile, m, depth):
    total = 0.0
    for (mechanism, query, vector), share in _exact_answers(estimator, profile).items():
        weights, answers = cells(mechanism, query, np.array(vector), depth)
        kind = type(query).__name__
        total = total + share * sum(
            w * decoded(estimator, kind, m, answer) for w, answer in zip(weights, answers, strict=True) if w
        )
    return total


def _exact_answers(estimator, profile):
    """{(mechanism, query, exact vector): probability}: voters complete their ballots each by itself, and add up."""
    if profile.bound is not None:  # weights are not those of single ballots
        return _completions(estimator, profile)
    whole = _completions(estimator, empty_profile(profile.n_items))
    for column in profile.positions.table.T:
        mine = _completions(estimator, _one_voter(column.tobytes(), profile.n_items))
        added: dict = {}
        for (mechanism, query, vector), chance in whole.items():
            for (*_, own), share in mine.items():
                key = mechanism, query, tuple(a + b for a, b in zip(vector, own, strict=True))
                added[key] = added.get(key, 0.0) + chance * share
        whole = added
    return whole


@lru_cache(maxsize=256)
def _one_voter(column, m):
    table = np.frombuffer(column, dtype=np.uint8).reshape(m, 1)
    return Profile(1, m, positions=Positions(table, table[:, 0] == 255))


def _completions(estimator, profile):
    """{(mechanism, query, exact vector): probability}; up to the answer, only coins that complete ballots are drawn."""

    def stop(*seen):
        raise _Seen(*seen)

    run_once = runner(estimator, profile)

    def completed(branch):
        try:
            run_once(_ScriptedNoise(stop), ScriptedCoins(branch))
        except _Seen as seen:
            return seen.args

    shares: dict = {}
    for share, (mechanism, query, vector) in outcomes(completed):
        key = mechanism, query, tuple(vector.tolist())
        shares[key] = shares.get(key, 0.0) + share
    return shares


# --- neighbours


def empty_profile(m):
    """A profile without voters."""
    nobody = Positions(np.zeros((m, 0), dtype=np.uint8), np.zeros(m, dtype=bool))
    counts, placements = np.zeros((m, m), dtype=np.int64), np.zeros((0, 4), dtype=np.int64)
    return Profile(0, m, positions=nobody, counts=counts, placements=placements)


def profile_of(ballots, m):
    """A profile of some ballots, or of none."""
    return Profile.from_rankings(np.array(ballots, dtype=float)) if len(ballots) else empty_profile(m)


def profile_with(person, others, max_weight):
    """A profile of (ballot, weight) of one person, and of others who are a person each."""
    rows = [*others, *person]
    return Profile.from_rankings(
        np.array([ballot for ballot, _ in rows], dtype=float).reshape(-1, 3),
        groups=[*range(len(others)), *[99] * len(person)],
        sample_weight=[weight for _, weight in rows],
        max_weight=max_weight,
    )


def worst_loss(laws, pairs):
    """The largest log ratio of two laws over all outcomes and neighbours, in both directions."""
    return max(abs(np.log(laws[a]) - np.log(laws[b])).max() for a, b in pairs)


def worst_delta(laws, pairs, epsilon):
    """The largest hockey-stick divergence over neighbours, in both directions."""
    sticks = (np.maximum(laws[p] - math.exp(epsilon) * laws[q], 0).sum() for a, b in pairs for p, q in ((a, b), (b, a)))
    return max(sticks)


def neighbours(base, extra, neighboring, m):
    """(profiles, pairs of their indices): the base with and without each extra ballot, or with one for another."""
    profiles = [profile_of([*base, ballot], m) for ballot in extra]
    if neighboring == "replace":
        return profiles, list(combinations(range(len(extra)), 2))
    profiles.append(profile_of(base, m))
    return profiles, [(k, len(extra)) for k in range(len(extra))]


# --- samples


def sampled_orders(estimator, profile, size, seed):
    """Numbers of the orders of `size` fits with fresh noise."""
    m = profile.n_items
    bits = Bits.from_random_state(seed)
    channel, rule = estimator._compose()
    plan = channel.plan(rule.asks(m), m)
    drawn = [tuple(rule.aggregate(plan.open(profile)(bits)).order.tolist()) for _ in range(size)]
    number = {order: k for k, order in enumerate(permutations(range(m), len(drawn[0])))}
    return np.array([number[order] for order in drawn])
