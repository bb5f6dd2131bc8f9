"""Fits with fresh noise, again and again: the jobs of a sweep, and running them anywhere."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import fields
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, wrap_non_picklable_objects
from sklearn.base import clone

from ..._utils.progress import progress_bar
from ...ballots.profile import Profile
from ...privacy.guarantee import PrivacyGuarantee
from ..parameters import parameters_of
from ..seeds import is_seed
from .packs import Packs

_BLOCK = 30  # most trials in one job: enough to share a sampler's table


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


def refuse_seeds(rows):
    """Refuse a grid that ranges over seeds."""
    for name in {name for row in rows for name in row if is_seed(name)}:
        raise ValueError(
            f"param_grid must not range over {name!r}: every trial has a seed of its own; set n_trials, and the "
            "search's random_state."
        )


def jobs_of(seeds):
    """Return the jobs of seeds of shape (n_candidates, n_splits, n_trials): every candidate's first trials first."""
    n_candidates, n_splits, n_trials = seeds.shape
    return [
        Job(candidate, split, first, seeds[candidate, split, first : first + _BLOCK].tolist())
        for first in range(0, n_trials, _BLOCK)
        for candidate in range(n_candidates)
        for split in range(n_splits)
    ]


def run(jobs, prepared, metrics, n_jobs, progress):
    """Fit and score, and yield (Trial, Row) as they finish, in any order.

    Parameters
    ----------
    jobs : list of Job
        What to run.
    prepared : callable of (candidate, split) -> Prepared
        What is fitted and scored.
    metrics : dict of {str: callable or None}
        Scorers by name; None is the estimator's own score.
    n_jobs : int or None
        Joblib workers.
    progress : bool
        Whether to show a bar when it takes long.
    """
    with progress_bar(sum(len(job.seeds) for job in jobs), progress) as advance:
        for job, rows in _finished(jobs, prepared, metrics, n_jobs):
            for trial, row in enumerate(rows, start=job.first):
                advance(1)
                yield Trial(job.candidate, job.split, trial), row


def _finished(jobs, prepared, metrics, n_jobs):
    workers = effective_n_jobs(n_jobs)
    if workers == 1:
        for job in jobs:  # in this process a row is there as soon as it is made
            yield job, rows_of(prepared(job.candidate, job.split), job.seeds, metrics)
        return
    packs = Packs(jobs, workers)
    for done in _returned((_parcel(pack, metrics, prepared) for pack in packs), n_jobs, workers):
        for job, rows in done:
            packs.heard(job, [row.fit_time + row.score_time for row in rows])
            yield job, rows


def _returned(parcels, n_jobs, workers):
    """Yield what `_task` returns of each parcel, in any order."""
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # the backend has no generators: "multiprocessing", whose pickle is the plain one besides
        portable = (delayed(_elsewhere)(os.getpid(), jobs, *map(_portable, parts)) for jobs, *parts in parcels)
        with Parallel(n_jobs=n_jobs, batch_size=1) as parallel:  # round by round: what is finished is kept, and shown
            while some := list(islice(portable, workers)):
                yield from parallel(some)
    else:
        yield from parallel(delayed(_task)(*parcel) for parcel in parcels)


def _parcel(pack, metrics, prepared):
    """Return the arguments of `_task` for a pack of jobs.

    Each job brings the class of what is fitted and its fields, one by one: a backend that sends a large profile once
    only can see it then.
    """
    jobs, parts = [], []
    for job in pack:
        whole = prepared(job.candidate, job.split)
        taken_apart = [getattr(whole, field.name) for field in fields(whole)]
        jobs.append((job, len(taken_apart)))
        parts += [type(whole), *taken_apart]
    return jobs, metrics, *parts


def _portable(part):
    """Return what plain pickle can send: large arrays as they are, anything else by cloudpickle."""
    if isinstance(part, (np.ndarray, Profile, type)):
        return part
    return wrap_non_picklable_objects(part, keep_wrapper=False)


def _elsewhere(home, *parcel):
    """Do `_task` in another process, which leaves Ctrl-C to `home`: interrupted, it may die with a lock of its pool."""
    if os.getpid() != home:
        with suppress(ValueError):  # a worker's thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _task(*parcel)


def _task(jobs, metrics, *parts):
    left = iter(parts)
    return [(job, list(rows_of(next(left)(*islice(left, size)), job.seeds, metrics))) for job, size in jobs]


def rows_of(prepared, seeds, metrics):
    """Yield one row a seed."""
    fits = prepared.refits(seeds)
    for seed in seeds:
        start = time.perf_counter()
        fitted = next(fits)
        middle = time.perf_counter()
        scorers = [_seeded(scorer, seed, place) for place, scorer in enumerate(metrics.values())]
        scores = [prepared.score(fitted, scorer) for scorer in scorers]
        yield Row(scores, middle - start, time.perf_counter() - middle, prepared.promise(fitted))


def _seeded(scorer: Any, seed, place):
    """Give a scorer that draws noise a stream of its own: those of the fit are children 0, 1 and 2 of the seed."""
    if "random_state" in parameters_of(scorer):
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, place)))
        return clone(scorer).set_params(random_state=stream)
    return scorer
