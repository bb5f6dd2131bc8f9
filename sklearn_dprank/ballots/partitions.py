"""Ballots that lie in many places: each part is read where it lies, and what was read is merged in a tree.

Dask is imported only where a dask collection is given, so nothing here needs it.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from .names import is_frame
from .tables import refuse_no_table

_FAN_IN = 8  # parts that one task merges


def is_lazy(chunks: Any) -> bool:
    """Tell a dask collection, or a list of them, from ballots in memory.

    Parameters
    ----------
    chunks : object
        Anything.

    Returns
    -------
    bool
        Whether dask has to compute it.

    Examples
    --------
    >>> from sklearn_dprank.ballots.partitions import is_lazy
    >>> is_lazy([[0, 1], [1, 0]])
    False
    """
    if isinstance(chunks, (list, tuple)):
        return bool(chunks) and all(_is_collection(chunk) for chunk in chunks)
    return _is_collection(chunks)


def _is_collection(thing):
    # Asked of the class, because some objects claim to have every attribute.
    return hasattr(type(thing), "__dask_graph__")


def partitions(chunks: Any) -> list[Any]:
    """Return the parts of a dask collection, in order.

    Parameters
    ----------
    chunks : dask array of shape (n_voters, n_items), dask DataFrame, Delayed, or list of them
        Arrays are split along voters only.

    Returns
    -------
    list of dask.delayed.Delayed
        One for each partition; a Delayed is one by itself.

    Raises
    ------
    ValueError
        If a collection is not two-dimensional, or an array does not know how many columns it has.
    """
    if isinstance(chunks, (list, tuple)):
        return [part for one in chunks for part in partitions(one)]
    if not hasattr(type(chunks), "to_delayed"):
        return [chunks]
    if getattr(chunks, "ndim", None) != 2:
        raise ValueError(
            f"chunks must be two-dimensional, (n_voters, n_items), got a dask {type(chunks).__name__} that is not; "
            "use a dask array, a dask DataFrame, or a list of Delayed chunks."
        )
    if hasattr(type(chunks), "rechunk"):
        if math.isnan(chunks.shape[1]):
            raise ValueError(
                "chunks is a dask array with an unknown number of columns; call its compute_chunk_sizes() first."
            )
        chunks = chunks.rechunk({1: -1})
    parts = chunks.to_delayed()
    return parts.ravel().tolist() if hasattr(parts, "ravel") else list(parts)


def reduce_partitions(chunks: Any, read: Callable[[Any], Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Read every partition of a dask collection in a task of its own, and merge the results.

    Parameters
    ----------
    chunks : dask collection, or list of them
        See `partitions`.
    read : callable
        ``read(partition)``: what is kept of one partition, in memory.
    merge : callable
        ``merge(list)``: what is kept of neighbouring partitions together, in order.

    Returns
    -------
    object
        What is kept of all partitions; nothing else leaves the place where they are read.

    Notes
    -----
    Dask's active scheduler does the work: that of a ``distributed.Client`` where there is one, else threads.
    """
    import dask

    level = [dask.delayed(read)(part) for part in partitions(chunks)]
    while len(level) > 1:
        level = [dask.delayed(merge)(level[k : k + _FAN_IN]) for k in range(0, len(level), _FAN_IN)]
    return dask.compute(level[0])[0]


def check_chunks(chunks):
    """Refuse what may be iterated over, but not chunk by chunk."""
    if is_frame(chunks) or getattr(chunks, "ndim", 0) == 2:
        raise ValueError("chunks is one table of ballots; read it with Profile.from_rankings, or pass [table].")
    if not isinstance(chunks, (Iterator, list, tuple)):
        refuse_no_table(chunks, "chunks")
