"""What goes to a worker at a time: every trial once, as much as takes a while, and little at the end."""

import heapq

import numpy as np
import pytest

from sklearn_dprank.model_selection.sweep.trials import _LONG, _SHORT, Batches, jobs_of


def worked(n_candidates, n_splits, n_trials, begins, each, workers=2):
    """Let imaginary workers do a sweep: (seconds until all are done, batches as lists of (job, seconds)).

    The first trial of a job in a batch takes ``begins(candidate)`` seconds longer than each.
    """
    jobs = jobs_of(np.arange(n_candidates * n_splits * n_trials).reshape(n_candidates, n_splits, n_trials))
    batches, sent, busy, now = Batches(jobs, workers), [], [], 0.0
    while True:
        # As joblib does it: as many again wait as work, and a batch is chosen when one before it has come back.
        while len(busy) < 2 * workers and (batch := next(batches, None)):
            took = [begins(job.candidate) + each(job.candidate) * len(job.seeds) for job in batch]
            sent.append(list(zip(batch, took, strict=True)))
            free = sorted(end for end, _ in busy)[-workers:]
            start = max(now, free[0]) if len(free) == workers else now
            heapq.heappush(busy, (start + sum(took), len(sent) - 1))
        if not busy:
            return now, sent
        now, which = heapq.heappop(busy)
        for job, _ in sent[which]:
            mine = each(job.candidate)
            batches.record(job, [begins(job.candidate) + mine, *[mine] * (len(job.seeds) - 1)])


SWEEPS = {
    "tiny": (lambda _: 0.0, lambda _: 5e-5),
    "tables": (lambda _: 0.03, lambda _: 1e-4),
    "short": (lambda _: 0.0, lambda _: 0.005),
    "uneven": (lambda _: 0.001, lambda candidate: 0.001 * (1 + candidate) ** 2),
    "long": (lambda _: 0.0, lambda _: 3.0),
    "no time at all": (lambda _: 0.0, lambda _: 0.0),
}


@pytest.mark.parametrize("kind", SWEEPS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 64), (8, 1, 30), (5, 3, 45), (48, 1, 31)])
def test_every_trial_is_sent_once(kind, shape):
    _, sent = worked(*shape, *SWEEPS[kind])
    seeds = np.arange(np.prod(shape)).reshape(shape)
    found = [
        (job.candidate, job.split, job.first + k, seed)
        for batch in sent
        for job, _ in batch
        for k, seed in enumerate(job.seeds)
    ]
    assert sorted(found) == [(*index, seed) for index, seed in np.ndenumerate(seeds)]
    assert all(batch for batch in sent)


@pytest.mark.parametrize(("kind", "share"), [("short", 0.95), ("uneven", 0.95), ("long", 0.95), ("tables", 0.8)])
def test_two_workers_are_busy_to_the_end(kind, share):
    """Nearly half the time of one worker, who does 30 trials of a candidate at a time."""
    begins, each = SWEEPS[kind]
    took, _ = worked(8, 1, 60, begins, each)
    alone = sum(2 * begins(candidate) + 60 * each(candidate) for candidate in range(8))
    assert alone / 2 / took > share


def test_short_trials_go_together():
    """4,000 fits of 50 microseconds: a dispatch, of a millisecond or so, comes with a hundred milliseconds of work."""
    _, sent = worked(8, 1, 500, *SWEEPS["tiny"])
    assert len(sent) < 20
    _, sent = worked(48, 1, 30, *SWEEPS["tiny"])  # 72 milliseconds in all
    assert len(sent) < 12


def test_batches_of_known_work_are_neither_long_nor_short():
    _, sent = worked(8, 1, 600, *SWEEPS["short"])
    took = np.array([sum(seconds for _, seconds in batch) for batch in sent])
    assert took.max() <= _LONG + 0.005
    assert (took[4:-1] >= _SHORT).all()  # the first are there to find out
    assert took[-3:].max() < took.max() / 2  # and the last small


def test_a_table_is_made_for_many_trials():
    """What the first trial of a batch takes longer, all first trials together, is little beside the rest."""
    begins, each = (lambda _: 0.05), (lambda _: 0.02)
    _, sent = worked(8, 1, 300, begins, each)
    tables = sum(len(batch) for batch in sent) * 0.05
    assert tables < 0.25 * 8 * 300 * 0.02
