"""What is sent to a worker at a time: as many trials as take a while, by how long trials have taken so far."""

import math
from collections import deque
from typing import Any

_LONG = 0.2  # seconds of work in a pack, where there is much of it: sending takes a hundredth of that
_SHORT = 0.02  # and at least: the last packs are small, so that all workers are done at about the same time
_SHARE = 3  # packs of a worker, at least, that what is left would make
_DILUTED = 9  # what only the first trial of a pack takes, a sampler's table say, is a tenth of the pack at most


class Packs:
    """The jobs of a sweep as an iterator of lists of jobs, of which some are parts of one.

    The first packs are of two trials each, because nothing is known. It may be read in one thread and told in another
    how long trials took.

    Parameters
    ----------
    jobs : list of Job
        What to run, in this order.
    workers : int
        How many will work on it.
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
        pack: list[Any] = []
        while self._left and (not pack or room > 0):
            job = self._left.popleft()
            size, took = self._fitting(job, room)
            if pack and took > 2 * room:  # it starts a pack of its own
                self._left.appendleft(job)
                break
            pack.append(job._replace(seeds=job.seeds[:size]))
            room -= took
            if size < len(job.seeds):
                self._left.appendleft(job._replace(first=job.first + size, seeds=job.seeds[size:]))
        return pack

    def heard(self, job, seconds):
        """Take note of how long each trial of a job took, in order.

        Parameters
        ----------
        job : Job
            Which.
        seconds : list of float
            One a trial.
        """
        first, *more = seconds
        each = sum(more) / len(more) if more else first
        self._paces[job.candidate, job.split] = (max(first - each, 0.0), each)
        known = list(self._paces.values())
        self._usual = tuple(sum(column) / len(known) for column in zip(*known, strict=True))

    def _room(self):
        """Return how many seconds the next pack may take."""
        if self._usual is None:
            return 0.0
        left = sum(begin + each * len(job.seeds) for job in self._left for begin, each in [self._pace(job)])
        return min(max(left / (_SHARE * self._workers), _SHORT), _LONG)

    def _pace(self, job):
        """Return the seconds that the first trial of a job takes longer than others, and those of each other."""
        return self._paces.get((job.candidate, job.split), self._usual)

    def _fitting(self, job, room):
        """Return how many trials of a job go into a pack with so much room, and how many seconds they take."""
        if self._usual is None:
            return min(2, len(job.seeds)), math.inf
        begin, each = self._pace(job)
        wanted = max(room - begin, _DILUTED * begin)
        size = len(job.seeds) if wanted >= each * len(job.seeds) else max(1, math.ceil(wanted / each))
        return size, begin + each * size
