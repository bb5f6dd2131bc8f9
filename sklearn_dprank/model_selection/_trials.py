"""Fits with fresh noise, again and again: the jobs of a sweep, and running them anywhere."""

import time
from itertools import islice
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, wrap_non_picklable_objects
from sklearn.base import BaseEstimator, clone

from ..privacy.bits import seed_sequence
from ..privacy.guarantee import PrivacyGuarantee
from ..profile import Profile
from ._progress import progress_bar

_BLOCK = 30  # most trials in one task: enough to share a sampler's table
_TASKS = 4  # at least, for each of several workers: so that all have work to the end


class Job(NamedTuple):
    """Trials first, first + 1, ... of one candidate on one split, one for each seed."""

    candidate: int
    split: int
    first: int
    seeds: list[int]


class Row(NamedTuple):
    """What one fit gave: a score for each metric, seconds, and what the release promises."""

    scores: list[float]
    fit_time: float
    score_time: float
    guarantee: PrivacyGuarantee


class Trial(NamedTuple):
    """Where a row belongs."""

    candidate: int
    split: int
    trial: int


def child_seeds(random_state, shape):
    """Return distinct seeds below 2**32, which every scikit-learn ``random_state`` accepts.

    Parameters
    ----------
    random_state : None, int, Generator or RandomState
        Where they come from.
    shape : tuple of int
        One for each fit.

    Returns
    -------
    ndarray of int64, of that shape
        Different for different fits, so that no two share their noise.
    """
    sequence, size = seed_sequence(random_state), int(np.prod(shape))
    more = size
    while True:
        words = sequence.generate_state(more, np.uint32).astype(np.int64)
        _, first = np.unique(words, return_index=True)
        if len(first) >= size:
            return words[np.sort(first)[:size]].reshape(shape)
        more *= 2


def check_n_trials(n_trials):
    """Refuse what is no number of trials."""
    if not isinstance(n_trials, Integral) or isinstance(n_trials, bool) or n_trials < 1:
        raise ValueError(f"n_trials must be a positive integer, got {n_trials!r}.")


def jobs_of(seeds, n_jobs):
    """Return the jobs of seeds of shape (n_candidates, n_splits, n_trials): every candidate's first trials first."""
    n_candidates, n_splits, n_trials = seeds.shape
    workers = effective_n_jobs(n_jobs)
    block = _BLOCK if workers == 1 else min(max(seeds.size // (_TASKS * workers), 1), _BLOCK)
    return [
        Job(candidate, split, first, seeds[candidate, split, first : first + block].tolist())
        for first in range(0, n_trials, block)
        for candidate in range(n_candidates)
        for split in range(n_splits)
    ]


def run(jobs, subject_of, metrics, n_jobs, progress):
    """Fit and score, and yield (Trial, Row) as they finish, in any order.

    Parameters
    ----------
    jobs : list of Job
        What to run.
    subject_of : callable of (candidate, split) -> subject
        What is fitted and scored; see `._subjects`.
    metrics : dict of {str: callable or None}
        Scorers by name; None is the estimator's own score.
    n_jobs : int or None
        Joblib workers.
    progress : bool
        Whether to show a bar when it takes long.
    """
    with progress_bar(sum(len(job.seeds) for job in jobs), progress) as advance:
        for job, rows in _finished(jobs, subject_of, metrics, n_jobs):
            for trial, row in enumerate(rows, start=job.first):
                advance(1)
                yield Trial(job.candidate, job.split, trial), row


def _finished(jobs, subject_of, metrics, n_jobs):
    workers = effective_n_jobs(n_jobs)
    if workers == 1:
        for job in jobs:  # in this process a row is there as soon as it is made
            yield job, rows_of(subject_of(job.candidate, job.split), job.seeds, metrics)
        return
    subjects = ((job, subject_of(job.candidate, job.split)) for job in jobs)
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # the backend has no generators: "multiprocessing", whose pickle is the plain one besides
        tasks = (delayed(_task)(job, type(subject), *map(_portable, (metrics, *subject))) for job, subject in subjects)
        with Parallel(n_jobs=n_jobs) as parallel:  # round by round: what is finished is kept, and shown
            while some := list(islice(tasks, workers)):
                yield from parallel(some)
    else:
        # Profiles are arguments of their own, so that a backend which sends large ones only once can tell them.
        yield from parallel(delayed(_task)(job, type(subject), metrics, *subject) for job, subject in subjects)


def _portable(part):
    """Return what plain pickle can send: large arrays as they are, anything else by cloudpickle."""
    if isinstance(part, (np.ndarray, Profile)):
        return part
    return wrap_non_picklable_objects(part, keep_wrapper=False)


def _task(job, kind, metrics, *parts):
    return job, list(rows_of(kind(*parts), job.seeds, metrics))


def rows_of(subject, seeds, metrics):
    """Yield one row a seed."""
    fits = subject.fits(seeds)
    for seed in seeds:
        start = time.perf_counter()
        fitted = next(fits)
        middle = time.perf_counter()
        scorers = [_seeded(scorer, seed, place) for place, scorer in enumerate(metrics.values())]
        scores = [subject.score(fitted, scorer) for scorer in scorers]
        yield Row(scores, middle - start, time.perf_counter() - middle, subject.promise(fitted))


def _seeded(scorer: Any, seed, place):
    """Give a scorer that draws noise a stream of its own: those of the fit are children 0, 1 and 2 of the seed."""
    if isinstance(scorer, BaseEstimator) and "random_state" in scorer.get_params():
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, place)))
        return clone(scorer).set_params(random_state=stream)
    return scorer
