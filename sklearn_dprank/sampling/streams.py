"""Random streams of a fit: the secure source of the operating system, or a seed for simulations."""

from __future__ import annotations

import os
import weakref
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # it would load numpy.random, which a client must not
    from .._utils.types import RandomState


from .._utils.checks import check_random_state
from .bit_source import BitSource


class SecureBits(BitSource):
    """Bits from the cryptographic generator of the operating system, for releases.

    Threads may share the object: no word is used twice.
    """

    _open: weakref.WeakSet[SecureBits] = weakref.WeakSet()

    def __init__(self):
        super().__init__()
        self._open.add(self)

    @classmethod
    def _forget_after_fork(cls):
        """Discard the buffered words of a child process, because its parent uses them too."""
        for bits in cls._open:
            bits.forget()

    def forget(self) -> None:
        super().forget()
        self._dealing = RLock()  # a new lock after a fork: a thread of the parent may have held the old one

    def words(self, size: int) -> NDArray[np.uint64]:
        with self._dealing:
            return super().words(size)

    def integer(self, bound: int) -> int:
        with self._dealing:
            return super().integer(bound)

    def __reduce__(self):
        return SecureBits, ()  # a copy starts with an empty buffer: two copies must never repeat words

    def _read(self, size: int) -> NDArray[np.uint64]:
        return np.frombuffer(bytearray(os.urandom(8 * size)), dtype=np.uint64)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SecureBits._forget_after_fork)


class SeededBits(BitSource):
    """Reproducible bits, for simulations only: a party that knows the seed can subtract the noise.

    Parameters
    ----------
    seed : numpy.random.SeedSequence or int
        Seed sequence, or its entropy as an int. Children of one sequence give independent streams.
    child : int or None, default=None
        Index of the child of `seed`, as in its ``spawn``; None uses `seed` itself.
    """

    def __init__(self, seed: int | np.random.SeedSequence, child: int | None = None) -> None:
        super().__init__()
        self._seed = seed
        self._child = child
        self._bits: np.random.Philox | None = None

    def _read(self, size: int) -> NDArray[np.uint64]:
        if self._bits is None:  # opened on first use: opening is slow, and most fits leave a stream unused
            seed = self._seed
            if self._child is not None:
                entropy, key = (seed, ()) if isinstance(seed, int) else (seed.entropy, seed.spawn_key)
                seed = np.random.SeedSequence(entropy, spawn_key=(*key, self._child))
            self._bits = np.random.Philox(seed)
        return self._bits.random_raw(size)


class Bits(NamedTuple):
    """Independent random streams of one fit.

    Attributes
    ----------
    noise : BitSource
        Noise that protects the voters.
    coins : BitSource
        Tie breaks and pivots. In client implementations, also the completion of a voter's ballot.
    assignment : BitSource
        Assignment of pairs to voters, and completion of ballots by a trusted curator. In simulations of many voters,
        also the directions of "privunit" for ballots without opinions.
    certified : bool
        Whether the streams come from the operating system; False for any seed.
    """

    noise: BitSource
    coins: BitSource
    assignment: BitSource
    certified: bool

    @classmethod
    def from_random_state(cls, random_state: RandomState) -> Self:
        """Return the streams of one fit.

        Parameters
        ----------
        random_state : None, int, numpy.random.Generator or numpy.random.RandomState
            None is the secure source of the operating system. A generator provides 128 bits once.

        Returns
        -------
        Bits
            Streams that share no words.
        """
        if random_state is None:
            return cls(SecureBits(), SecureBits(), SecureBits(), certified=True)
        seed = random_state if type(random_state) is int and random_state >= 0 else seed_sequence(random_state)
        return cls(SeededBits(seed, 0), SeededBits(seed, 1), SeededBits(seed, 2), certified=False)


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Return the SeedSequence for `random_state`; None uses fresh system entropy."""
    check_random_state(random_state)
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist())
    return np.random.SeedSequence(None if random_state is None else int(random_state))
