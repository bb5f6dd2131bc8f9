"""
Lower bounds for any mechanism
==============================

The sharp bounds of the user guide's page "Measurements", each with the results of the package's estimators. All
numbers are computed here, and none is quoted.
"""

import math

import numpy as np
from scipy.stats import binom

import sklearn_dprank as dp
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.privacy.composition import gaussian_sigma

#: Mallows' phi, by the number of items, for voters who contradict the centre on 35 % of the pairs on average.
PHI = {10: 0.79596, 45: 0.94081}

# %%
# A lower bound for local mechanisms that estimate net wins. A report y of an epsilon-private device has a likelihood
# q(y|x) that varies by at most a factor of e^epsilon over all ballots x. Let z be the ballot's net wins, centred and
# whitened, in d = m - 1 dimensions. The information of y about the mean of z is E[q z] E[q z]' / E[q]. Its trace is
# largest, per report, for q = 1 + (e^epsilon - 1) [u'z > t]. It is then the square of
#
#     kappa = max over u, t of (e^epsilon - 1) E[u'z; u'z > t] / (1 + (e^epsilon - 1) P(u'z > t)).
#
# The variances of any (asymptotically regular) estimate, in whitened coordinates, are therefore at least d/(n kappa^2)
# on average. For small epsilon, kappa is tanh(epsilon/2) max E|u'z|. Variances are therefore given times n
# tanh^2(epsilon/2). The maximum is found by ascent from every item's direction and from a few random ones.


def whitened(ballots):
    """Return net wins z of shape (n_voters, m - 1), mean 0, covariance I, and the matrix that maps z to net wins."""
    wins = ballots.shape[1] - 1 - 2.0 * ballots
    wins -= wins.mean(axis=0)
    values, vectors = np.linalg.eigh(wins.T @ wins / len(wins))
    values, vectors = values[1:], vectors[:, 1:]  # net wins sum to 0
    return wins @ vectors / np.sqrt(values), vectors * np.sqrt(values)


def local_variance(ballots, epsilon, n_random=4):
    """Return the least average variance of whitened net wins, times n tanh^2(epsilon/2)."""
    z, back = whitened(ballots)
    starts = np.vstack([back, -back, np.random.default_rng(0).standard_normal((n_random, z.shape[1]))])
    kappa = max(_ascent(z, start, math.expm1(epsilon)) for start in starts)
    return z.shape[1] * math.tanh(epsilon / 2) ** 2 / kappa**2


def _ascent(z, u, odds, most=30):
    """Return the largest information found by ascent from direction u; it grows in every step."""
    best, shares = 0.0, np.arange(1, len(z) + 1) / len(z)
    for _ in range(most):
        along = z @ (u / np.linalg.norm(u))
        order = np.argsort(-along)
        reached = odds * along[order].cumsum() / len(z) / (1 + odds * shares)
        place = int(reached.argmax())
        if reached[place] <= best * (1 + 1e-6):
            break
        best, u = float(reached[place]), z[order[: place + 1]].sum(axis=0)
    return best


def pair_variance(ballots):
    """Return the variance of the sum of all answers if each voter answers one random pair, for small epsilon.

    It has the same unit as `local_variance`. An answer is 1 or -1, times C(m, 2)/tanh(epsilon/2), for one item and
    against another. Its covariance is C(m, 2) m/tanh^2(epsilon/2) times the identity, in the space where net wins sum
    to 0.
    """
    n_items = ballots.shape[1]
    back = whitened(ballots)[1]
    return math.comb(n_items, 2) * n_items * float((1 / (back**2).sum(axis=0)).mean())


def vector_variance(ballots, epsilon, n_trials):
    """Return the measured variance of `LDPBorda`, in the unit of `local_variance`."""
    back = whitened(ballots)[1]
    scores = _simulated(dp.LDPBorda(epsilon), ballots, n_trials, lambda fitted, _: fitted.scores_)
    within = scores @ back / (back**2).sum(axis=0)
    return len(ballots) * math.tanh(epsilon / 2) ** 2 * float(within.var(axis=0, ddof=1).mean())


def _simulated(estimator, ballots, n_trials, scoring):
    options = {"n_trials": n_trials, "scoring": scoring, "random_state": 0, "progress": False}
    return cross_validate(estimator, ballots, **options)["test_score"]


def local_limits(n_voters=20_000, epsilon=0.1, n_trials=300):
    """Return rows on the least variance of net wins in the local model."""
    rows = []
    for n_items, votes in ((10, "uniform"), (45, "uniform"), (10, "reference"), (45, "reference")):
        phi = 1.0 if votes == "uniform" else PHI[n_items]
        ballots = make_mallows(n_voters, n_items, phi, random_state=0)
        least, pair = local_variance(ballots, epsilon), pair_variance(ballots)
        vector = vector_variance(ballots, epsilon, n_trials)
        rows.append(
            (
                f"Net wins, nobody trusted, {n_items} items, {votes} votes: variance, whitened, times n tanh²(ε/2)",
                f"{least:.1f}",
                f"a random pair each (LDPPairwise) {pair:.1f}; LDPBorda {vector:.1f}",
            )
        )
    return rows


# %%
# Two items are one question, and the best mechanism for it is known. Consider "replace" with n even, and let k ballots
# have to change before the two items tie. For neighbouring profiles, the probabilities of a wrong order differ by a
# factor of at most e^epsilon. At a tie, they are 1/2 if both items are treated alike. The probability of a wrong order
# is therefore at least e^(-k epsilon)/2. (Ghosh, Roughgarden and Sundararajan 2012 prove the same for counts.) In the
# local model, every mechanism with one bit is randomised response, followed by a step that does not use the ballot
# (Kairouz, Oh and Viswanath 2016).

TWO = {"neighboring": "replace"}
_AGREE, _OPPOSE = [0, 1], [1, 0]


def two_items(n_voters, n_ahead):
    """Return ballots on two items, where `n_ahead` voters more than half prefer the first."""
    first = n_voters // 2 + n_ahead
    return np.array([_AGREE] * first + [_OPPOSE] * (n_voters - first))


def best_of_two(epsilon, n_ahead):
    """Return the least probability of a wrong order of two items for a pure central mechanism."""
    return math.exp(-n_ahead * epsilon) / 2


def best_response(n_voters, n_ahead, epsilon):
    """Return the probability that the majority of randomised responses is wrong, with ties broken by a coin."""
    first, true = n_voters // 2 + n_ahead, math.exp(epsilon) / (1 + math.exp(epsilon))
    heard = np.convolve(
        binom.pmf(np.arange(first + 1), first, true),
        binom.pmf(np.arange(n_voters - first + 1), n_voters - first, 1 - true),
    )
    half = n_voters / 2
    votes = np.arange(n_voters + 1)
    return float(heard[votes < half].sum() + heard[votes == half].sum() / 2)


def wrong(estimator, ballots, n_trials):
    """Return the share of fits that put the second of two items first."""
    return float(_simulated(estimator, ballots, n_trials, lambda fitted, _: fitted.ranks_[0]).mean())


def limits_of_two(n_voters=100, n_ahead=10, epsilon=0.1, n_trials=20_000):
    """Return rows on the order of two items."""
    central = {
        "DPPairwise": dp.DPPairwise(epsilon, **TWO),
        "DPPrudentOrder": dp.DPPrudentOrder(epsilon, **TWO),
        'DPBorda(noise="knorm")': dp.DPBorda(epsilon, noise="knorm", **TWO),
        "DPKwikSort": dp.DPKwikSort(epsilon, **TWO),
        "DPKemenySampler": dp.DPKemenySampler(epsilon, **TWO),
        "DPBorda": dp.DPBorda(epsilon, **TWO),
        "DPHistogram": dp.DPHistogram(epsilon, **TWO),
    }
    ballots = two_items(n_voters, n_ahead)
    found = {name: 100 * wrong(each, ballots, n_trials) for name, each in central.items()}
    many = two_items(10 * n_voters, 10 * n_ahead)
    local = 100 * wrong(dp.LDPPairwise(epsilon), many, n_trials)
    return [
        (
            f"Two items, curator, pure, ε = {epsilon:g}, {n_voters} voters, {n_ahead} ahead: wrong orders in a hundred",
            f"{100 * best_of_two(epsilon, n_ahead):.1f}",
            "; ".join(f"{name} {share:.1f}" for name, share in found.items()),
        ),
        (
            f"Two items, nobody, ε = {epsilon:g}, {len(many)} voters, {10 * n_ahead} ahead: wrong orders in a hundred",
            f"{100 * best_response(len(many), 10 * n_ahead, epsilon):.1f}",
            f"LDPPairwise {local:.1f}",
        ),
    ]


# %%
# The totals of a stream are the prefix-sum matrix M times the increments of the periods. A mechanism that adds
# correlated Gaussian noise, independent of the ballots, factors M = L R. Its mean squared noise over all periods is at
# least that of a single release times (nuclear norm of M / T)^2 (Henzinger, Upadhyay and Upadhyay 2023).


def stream_floor(horizon):
    """Return the least root mean square noise over all periods, in units of the noise of a single release."""
    angles = (2 * np.arange(1, horizon + 1) - 1) * math.pi / (4 * horizon + 2)
    return float((1 / (2 * np.sin(angles))).sum() / horizon)


def stream_noise(horizon):
    """Return (root mean square, last) noise over the periods of `DPStreamingBorda`, in units of one release's noise."""
    steps = np.arange(1, horizon)
    squares = np.cumsum(np.append(1.0, np.cumprod((2 * steps - 1) / (2 * steps)) ** 2))
    return float(math.sqrt(squares.mean() * squares[-1])), float(squares[-1])


def limits_of_streams(epsilon=1.0, delta=1e-6):
    """Return rows on the noise of continual releases, compared with a separate release in every period."""
    rows = []
    for horizon in (30, 365):
        afresh = gaussian_sigma(epsilon, delta, math.sqrt(horizon)) / gaussian_sigma(epsilon, delta)
        mean, last = stream_noise(horizon)
        rows.append(
            (
                f"A stream of {horizon} periods, Gaussian noise: its root mean square, in units of one release",
                f"{stream_floor(horizon):.2f}",
                f"DPStreamingBorda {mean:.2f} (last period {last:.2f}); a fresh release a period {afresh:.1f}",
            )
        )
    return rows


def limits():
    """Return all rows (quantity, lower bound for any mechanism, measured values)."""
    return [*limits_of_two(), *local_limits(), *limits_of_streams()]
