"""
A consensus every day: one guarantee for all of them
====================================================

Ballots arrive every day, and the consensus of all ballots so far is published every evening. With a fresh release every
day, T Gaussian releases share one budget, and each has sqrt(T) times the noise of a single release. `DPStreamingBorda`
keeps a small part of each day's noise in the totals of all later days. It needs about 1 + ln(T) / pi times the noise
for T days.

With more days and trials, from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_streaming.py --full --pictures folder

The results are not private: every consensus has a seed, and is scored against the ballots.
"""

import math
import pickle

import numpy as np
from _shared import begin, claim, curves, finish, mallows, not_above, panels, real, summary

from sklearn_dprank import DPBorda, DPStreamingBorda
from sklearn_dprank.ballots import Profile
from sklearn_dprank.metrics import excess_kendall_tau, kemeny_positions
from sklearn_dprank.privacy import PrivacyGuarantee, gaussian_sigma
from sklearn_dprank.privacy.composition import gaussian_epsilon

EPSILON, DELTA = 0.3, 1e-6
HORIZON, TRIALS = 64, 5

if __name__ == "__main__":
    ARGUMENTS = begin()
    DAYS, REPEATS = (365, 20) if ARGUMENTS.full else (HORIZON, TRIALS)
    VOTES = [real("SUSHI"), mallows(5000, 45, 0.25)]
    print(f"{DAYS} days, epsilon = {EPSILON}, delta = {DELTA:g} for all of them together; {REPEATS} trials.")

# %%
# Noise without votes
# -------------------
# The noise of the last day, in units of a single release under the same guarantee. The binary tree (Dwork, Naor,
# Pitassi and Rothblum 2010; Chan, Shi and Song 2011) publishes sums of blocks of 1, 2, 4, 8, ... days. A ballot is in
# one block of each length. A total adds up one block for each binary digit 1 of the day.


def a_fresh_release_a_day(days):
    """Return the noise of each of `days` releases that share the budget."""
    return math.sqrt(days)


def binary_tree(days):
    """Return the noise of totals of blocks, root mean square over the days."""
    blocks = [day.bit_count() for day in range(1, days + 1)]
    return math.sqrt(days.bit_length() * np.mean(blocks))


def correlated(days):
    """Return the noise of the last total of a stream."""
    k = np.arange(1, days)
    weights = np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))
    return float(weights @ weights)


WAYS = {"a fresh release a day": a_fresh_release_a_day, "binary tree": binary_tree, "DPStreamingBorda": correlated}

if __name__ == "__main__":
    LENGTHS = [1, 3, 10, 30, 100, 365, 1000, 3650]
    noise = {name: [way(days) for days in LENGTHS] for name, way in WAYS.items()}
    figure, axes = panels(1, 1, height=3.2)
    axes[0, 0].set_yscale("log")
    curves(axes[0, 0], LENGTHS, noise, xlabel="days", ticks=True)
    axes[0, 0].set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    axes[0, 0].minorticks_off()
    axes[0, 0].set_ylabel("times the noise of one release")
    finish(figure, "Noise under one guarantee for all days", "streaming_noise", ARGUMENTS.pictures)
    year = ", ".join(f"{name} {way(365):.1f}" for name, way in WAYS.items())
    claim(
        "the stream has the least noise from 3 days on",
        [correlated(days) < min(binary_tree(days), a_fresh_release_a_day(days)) for days in LENGTHS if days >= 3],
        f"a year: {year}",
    )

# %%
# Error of each day
# -----------------
# Every day has the same number of voters, in random order. Each day's consensus is measured on all ballots so far,
# against their Kemeny optimum.


def fresh_releases(horizon):
    """Return the daily release that keeps epsilon and delta for all days together."""
    each = gaussian_epsilon(DELTA, gaussian_sigma(EPSILON, DELTA) * math.sqrt(horizon))
    return DPBorda(each, DELTA, noise="gaussian")


def arriving(votes, horizon, seed):
    """Yield the profile of each day."""
    order = np.random.default_rng(seed).permutation(len(votes.ballots))
    for day in np.array_split(order, horizon):
        yield Profile.from_rankings(votes.ballots[day], keep="counts")


def watched(horizon):
    """Return the days on which errors are measured."""
    return np.unique(np.geomspace(1, horizon, 9).round().astype(int))


def one_trial(votes, horizon, seed):
    """Return {way: excess distance on each measured day}."""
    stream = DPStreamingBorda(EPSILON, DELTA, horizon, random_state=seed)
    so_far, errors = None, {"a fresh release a day": [], "DPStreamingBorda": []}
    for day, profile in enumerate(arriving(votes, horizon, seed), start=1):
        so_far = profile if so_far is None else so_far + profile
        stream.partial_fit(profile)
        if day in watched(horizon):
            fresh = fresh_releases(horizon).set_params(random_state=1000 * seed + day).fit(so_far)
            optimum = kemeny_positions(so_far)
            for way, fitted in zip(errors, (fresh, stream), strict=True):
                errors[way].append(excess_kendall_tau(fitted.ranks_, so_far, optimum=optimum))
    return errors


def excesses(votes, horizon, n_trials):
    """Return {way: excess distances of shape (n_days, n_trials)}."""
    found = [one_trial(votes, horizon, seed) for seed in range(n_trials)]
    return {way: np.array([trial[way] for trial in found]).T for way in found[0]}


if __name__ == "__main__":
    results = [excesses(votes, DAYS, REPEATS) for votes in VOTES]
    figure, axes = panels(1, len(VOTES), height=3.2)
    for ax, votes, result in zip(axes[0], VOTES, results, strict=True):
        ax.set_yscale("symlog", linthresh=0.1)
        percent = {way: 100 * errors for way, errors in result.items()}
        curves(
            ax, watched(DAYS), percent, f"{votes.title}, {len(votes.ballots) // DAYS} voters a day", "day", ticks=True
        )
        ax.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("excess distance, % of pairs")
    finish(figure, f"{DAYS} days, epsilon = {EPSILON} in all", "streaming_error", ARGUMENTS.pictures)
    promise = PrivacyGuarantee.compose([fresh_releases(DAYS).fit([[0, 1]] * 2).privacy_] * DAYS, delta=DELTA)
    print(f"All fresh releases together: {promise}")
    for votes, result in zip(VOTES, results, strict=True):
        fresh, stream = result.values()
        last = f"on the last day {100 * stream[-1].mean():.2f} points, {100 * fresh[-1].mean():.2f} with fresh releases"
        claim(f"{votes.title}: the stream is no farther from the optimum on any day", not_above(stream, fresh), last)

# %%
# Streams across processes
# ------------------------
# After each day, the stream is saved, and another process continues with it the next day. The saved stream is secret:
# it contains exact sums of every day, but no ballot. It does not contain future noise, which is drawn fresh, so two
# copies of a stream never repeat each other's noise. Save first, and publish afterwards.

if __name__ == "__main__":
    stream = DPStreamingBorda(epsilon=1.0, delta=DELTA, horizon=3)  # no seed: a release
    for day in arriving(VOTES[0], 3, seed=0):
        saved = pickle.dumps(stream.partial_fit(day))
        print(f"day {stream.periods_}: {stream.consensus_}, {stream.privacy_}")
        stream = pickle.loads(saved)
    try:
        stream.partial_fit(day)
    except RuntimeError as error:
        print(error)

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
