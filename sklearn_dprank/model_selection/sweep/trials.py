"""Fits with fresh noise, again and again: the jobs of a sweep, and running them anywhere."""

import time
from dataclasses import fields
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, wrap_non_picklable_objects
from sklearn.base import clone

from ...privacy.guarantee import PrivacyGuarantee
from ...profile import Profile
from ...progress import progress_bar
from ..parameters import parameters_of
from ..seeds import is_seed

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


def refuse_seeds(rows):
    """Refuse a grid that ranges over seeds."""
    for name in {name for row in rows for name in row if is_seed(name)}:
        raise ValueError(
            f"param_grid must not range over {name!r}: every trial has a seed of its own; set n_trials, and the "
            "search's random_state."
        )


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
    tasks = ((job, metrics, *_taken_apart(prepared(job.candidate, job.split))) for job in jobs)
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # the backend has no generators: "multiprocessing", whose pickle is the plain one besides
        portable = (delayed(_task)(job, *map(_portable, parts)) for job, *parts in tasks)
        with Parallel(n_jobs=n_jobs) as parallel:  # round by round: what is finished is kept, and shown
            while some := list(islice(portable, workers)):
                yield from parallel(some)
    else:
        yield from parallel(delayed(_task)(*task) for task in tasks)


def _taken_apart(whole):
    """Return a class and its fields, so that a backend which sends a large profile once only can see it."""
    return type(whole), *(getattr(whole, field.name) for field in fields(whole))


def _portable(part):
    """Return what plain pickle can send: large arrays as they are, anything else by cloudpickle."""
    if isinstance(part, (np.ndarray, Profile, type)):
        return part
    return wrap_non_picklable_objects(part, keep_wrapper=False)


def _task(job, metrics, kind, *parts):
    return job, list(rows_of(kind(*parts), job.seeds, metrics))


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
