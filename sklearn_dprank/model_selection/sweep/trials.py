"""Repeated fits with fresh noise, run in batches by joblib."""

from __future__ import annotations

import math
import os
import signal
import time
from collections import deque
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

_BLOCK = 30  # largest number of trials in one job: enough to share a sampler's table


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


class Trial(NamedTuple):
    """Indices of a row."""

    candidate: int
    split: int
    trial: int


def refuse_seeds(rows):
    """Raise ValueError if the grid ranges over seeds."""
    for name in {name for row in rows for name in row if is_seed(name)}:
        raise ValueError(
            f"param_grid must not range over {name!r}: every trial has a seed of its own; set n_trials, and the "
            "search's random_state."
        )


def jobs_of(seeds):
    """Return jobs from seeds of shape (n_candidates, n_splits, n_trials), with every candidate's first trials first."""
    n_candidates, n_splits, n_trials = seeds.shape
    return [
        Job(candidate, split, first, seeds[candidate, split, first : first + _BLOCK].tolist())
        for first in range(0, n_trials, _BLOCK)
        for candidate in range(n_candidates)
        for split in range(n_splits)
    ]


def run(jobs, prepared, metrics, n_jobs, progress):
    """Fit and score; yield (Trial, Row) in the order in which trials finish.

    ``prepared(candidate, split)`` returns a `Prepared`. `metrics` holds scorers by name; None is the estimator's own
    score.
    """
    with progress_bar(sum(len(job.seeds) for job in jobs), progress) as advance:
        for job, rows in _finished(jobs, prepared, metrics, n_jobs):
            for trial, row in enumerate(rows, start=job.first):
                advance(1)
                yield Trial(job.candidate, job.split, trial), row


def _finished(jobs, prepared, metrics, n_jobs):
    workers = effective_n_jobs(n_jobs)
    if workers == 1:
        for job in jobs:  # rows are yielded as soon as they are made
            yield job, rows_of(prepared(job.candidate, job.split), job.seeds, metrics)
        return
    batches = Batches(jobs, workers)
    for done in _returned((_parcel(batch, metrics, prepared) for batch in batches), n_jobs, workers):
        for job, rows in done:
            batches.record(job, [row.fit_time + row.score_time for row in rows])
            yield job, rows


def _returned(parcels, n_jobs, workers):
    """Yield the result of `_task` for each parcel, in any order."""
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # the backend ("multiprocessing") has no generators, and uses plain pickle
        portable = (delayed(_elsewhere)(os.getpid(), jobs, *map(_portable, parts)) for jobs, *parts in parcels)
        with Parallel(n_jobs=n_jobs, batch_size=1) as parallel:  # in rounds, so that finished rows are kept and shown
            while some := list(islice(portable, workers)):
                yield from parallel(some)
    else:
        yield from parallel(delayed(_task)(*parcel) for parcel in parcels)


def _parcel(batch, metrics, prepared):
    """Return the arguments of `_task` for a batch of jobs.

    Each job passes the class of its candidate and its fields one by one. Only then can a backend see a large profile
    and send it once.
    """
    jobs, parts = [], []
    for job in batch:
        whole = prepared(job.candidate, job.split)
        taken_apart = [getattr(whole, field.name) for field in fields(whole)]
        jobs.append((job, len(taken_apart)))
        parts += [type(whole), *taken_apart]
    return jobs, metrics, *parts


def _portable(part):
    """Return a part that plain pickle can send: large arrays unchanged, other objects wrapped by cloudpickle."""
    if isinstance(part, (np.ndarray, Profile, type)):
        return part
    return wrap_non_picklable_objects(part, keep_wrapper=False)


def _elsewhere(home, *parcel):
    """Run `_task`; a worker process ignores Ctrl-C, because an interrupt could leave a lock of the pool held."""
    if os.getpid() != home:
        with suppress(ValueError):  # not the main thread of the worker
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _task(*parcel)


def _task(jobs, metrics, *parts):
    left = iter(parts)
    return [(job, list(rows_of(next(left)(*islice(left, size)), job.seeds, metrics))) for job, size in jobs]


def rows_of(prepared, seeds, metrics):
    """Yield one Row per seed."""
    fits = prepared.refits(seeds)
    for seed in seeds:
        start = time.perf_counter()
        fitted = next(fits)
        middle = time.perf_counter()
        scorers = [_seeded(scorer, seed, place) for place, scorer in enumerate(metrics.values())]
        scores = [prepared.score(fitted, scorer) for scorer in scorers]
        yield Row(scores, middle - start, time.perf_counter() - middle, prepared.guarantee(fitted))


def _seeded(scorer: Any, seed, place):
    """Return a scorer whose noise has its own stream: child (3, place) of the seed, since the fit uses 0, 1 and 2."""
    if "random_state" in parameters_of(scorer):
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, place)))
        return clone(scorer).set_params(random_state=stream)
    return scorer


_LONG = 0.2  # upper limit of a batch in seconds; sending a batch takes a hundredth of that
_SHORT = 0.02  # lower limit in seconds; the last batches are small, so that workers finish at about the same time
_SHARE = 3  # the remaining work makes at least this many batches per worker
_DILUTED = 9  # the extra time of a batch's first trial, such as a sampler's table, is at most a tenth of the batch


class Batches:
    """Iterator of batches of jobs, sized by measured run times; a job may be split between batches.

    The first batches have two trials each, because no times are known. One thread may iterate while another calls
    `record`.
    """

    def __init__(self, jobs, workers):
        self._left, self._workers = deque(jobs), workers
        self._paces: dict[tuple[int, int], tuple[float, float]] = {}
        self._usual: Any = None

    def __iter__(self):
        return self

    def __next__(self):
        if not self._left:
            raise StopIteration
        room = self._room()
        batch: list[Any] = []
        while self._left and (not batch or room > 0):
            job = self._left.popleft()
            size, took = self._fitting(job, room)
            if batch and took > 2 * room:  # the job starts a new batch
                self._left.appendleft(job)
                break
            batch.append(job._replace(seeds=job.seeds[:size]))
            room -= took
            if size < len(job.seeds):
                self._left.appendleft(job._replace(first=job.first + size, seeds=job.seeds[size:]))
        return batch

    def record(self, job, seconds):
        """Record the seconds that each trial of a job took, in order."""
        first, *more = seconds
        each = sum(more) / len(more) if more else first
        self._paces[job.candidate, job.split] = (max(first - each, 0.0), each)
        known = list(self._paces.values())
        self._usual = tuple(sum(column) / len(known) for column in zip(*known, strict=True))

    def _room(self):
        """Return the target length of the next batch, in seconds."""
        if self._usual is None:
            return 0.0
        left = sum(begin + each * len(job.seeds) for job in self._left for begin, each in [self._pace(job)])
        return min(max(left / (_SHARE * self._workers), _SHORT), _LONG)

    def _pace(self, job):
        """Return the extra seconds of a job's first trial, and the seconds of each trial."""
        return self._paces.get((job.candidate, job.split), self._usual)

    def _fitting(self, job, room):
        """Return the number of trials of a job that fit into `room` seconds, and their duration in seconds."""
        if self._usual is None:
            return min(2, len(job.seeds)), math.inf
        begin, each = self._pace(job)
        wanted = max(room - begin, _DILUTED * begin)
        size = len(job.seeds) if wanted >= each * len(job.seeds) else max(1, math.ceil(wanted / each))
        return size, begin + each * size
