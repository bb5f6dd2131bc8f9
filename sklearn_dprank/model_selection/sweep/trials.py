"""Repeated fits with fresh noise, run by joblib."""

from __future__ import annotations

import math
import os
import signal
import time
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, wrap_non_picklable_objects
from sklearn.base import clone

from ..._utils.progress import progress_bar
from ...ballots.profile import Profile
from ...privacy.guarantee import PrivacyGuarantee
from ..parameters import parameters_of

_MOST = 30  # trials in one job: enough to share a sampler's table
_SHARE = 8  # jobs per worker, at least, so that workers finish at about the same time


class Job(NamedTuple):
    """Trials first, first + 1, ... of one candidate on one split, one per seed."""

    candidate: int
    split: int
    first: int
    seeds: list[int]


class Row(NamedTuple):
    """Result of one fit: a score for each metric, times in seconds, and the guarantee of the release."""

    scores: list[float]
    fit_time: float
    score_time: float
    guarantee: PrivacyGuarantee


def run(seeds, prepared, metrics, n_jobs, progress):
    """Fit and score with seeds of shape (n_candidates, n_splits, n_trials).

    Yield ((candidate, split, trial), Row) in the order in which trials finish. ``prepared(candidate, split)`` returns a
    `FromScratch` or a `Counted`. `metrics` holds scorers by name; None is the estimator's own score.
    """
    with progress_bar(seeds.size, progress) as advance:
        for job, rows in _finished(seeds, prepared, metrics, n_jobs):
            for trial, row in enumerate(rows, start=job.first):
                advance(1)
                yield (job.candidate, job.split, trial), row


def _jobs(seeds, workers):
    """Return all trials as jobs, with every candidate's first trials first."""
    n_candidates, n_splits, n_trials = seeds.shape
    size = _MOST if workers == 1 else min(_MOST, math.ceil(seeds.size / (_SHARE * workers)))
    return [
        Job(candidate, split, first, seeds[candidate, split, first : first + size].tolist())
        for first in range(0, n_trials, size)
        for candidate in range(n_candidates)
        for split in range(n_splits)
    ]


def _finished(seeds, prepared, metrics, n_jobs):
    """Yield (job, rows) for each job, in the order in which jobs finish."""
    workers = effective_n_jobs(n_jobs)
    jobs = _jobs(seeds, workers)
    if workers == 1:  # rows are yielded as soon as they are made
        for job in jobs:
            yield job, rows_of(prepared(job.candidate, job.split), job.seeds, metrics)
        return
    tasks = ((job, metrics, *_parts(prepared(job.candidate, job.split))) for job in jobs)
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # the backend ("multiprocessing") has no generators, and uses plain pickle
        portable = (delayed(_elsewhere)(os.getpid(), *map(_portable, task)) for task in tasks)
        with Parallel(n_jobs=n_jobs) as parallel:  # in rounds, so that finished rows are kept and shown
            while some := list(islice(portable, workers)):
                yield from parallel(some)
    else:
        yield from parallel(delayed(_task)(*task) for task in tasks)


def _parts(prepared):
    """Return the class of a candidate and its fields, because a backend sends a large argument once, but no part."""
    return type(prepared), *vars(prepared).values()


def _portable(part):
    """Return a part that plain pickle can send: large arrays unchanged, other objects wrapped by cloudpickle."""
    if isinstance(part, (np.ndarray, Profile, type)):
        return part
    return wrap_non_picklable_objects(part, keep_wrapper=False)


def _elsewhere(home, *task):
    """Run `_task`; a worker process ignores Ctrl-C, because an interrupt could leave a lock of the pool held."""
    if os.getpid() != home:
        with suppress(ValueError):  # not the main thread of the worker
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _task(*task)


def _task(job, metrics, kind, *fields):
    """Return a job and its rows."""
    return job, list(rows_of(kind(*fields), job.seeds, metrics))


def rows_of(prepared, seeds, metrics):
    """Yield one Row per seed."""
    fits, guarantee = prepared.refits(seeds), None
    for seed in seeds:
        start = time.perf_counter()
        fitted = next(fits)
        middle = time.perf_counter()
        scorers = [_seeded(scorer, seed, place) for place, scorer in enumerate(metrics.values())]
        scores = [prepared.score(fitted, scorer) for scorer in scorers]
        took = middle - start, time.perf_counter() - middle
        if guarantee is None or not prepared.is_planned:
            guarantee = prepared.guarantee(fitted)
        yield Row(scores, *took, guarantee)


def _seeded(scorer: Any, seed, place):
    """Return a scorer whose noise has its own stream: child (3, place) of the seed, since the fit uses 0, 1 and 2."""
    if "random_state" in parameters_of(scorer):
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, place)))
        return clone(scorer).set_params(random_state=stream)
    return scorer
