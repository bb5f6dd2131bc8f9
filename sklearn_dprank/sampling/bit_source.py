"""Random integers, bits, permutations and doubles, and independent child streams."""

from __future__ import annotations

import math
import os
import weakref
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_random_state

if TYPE_CHECKING:
    from .._utils.types import RandomState

_BUFFER = 512  # words buffered for small draws, because a system call takes much longer than one word
_ENOUGH = 2**20  # bits; this many leading zeros indicate a broken source
_EMPTY = np.empty(0, dtype=np.uint64)


class BitSource:
    """Source of independent, uniform 64-bit words, with samplers that use them.

    Subclasses implement only `_read`. Integers, permutations and coins are exactly uniform (by rejection). `uniform`
    and the samplers based on it have double precision.
    """

    _buffer, _used = _EMPTY, 0  # the words that are buffered, and the number of them that were used

    def _read(self, size: int) -> NDArray[np.uint64]:
        raise NotImplementedError

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return `size` independent, uniform words as an array of uint64."""
        if size > _BUFFER // 8:
            return self._read(size)
        if self._used + size > len(self._buffer):
            self._buffer, self._used = self._read(_BUFFER), 0
        start = self._used
        self._used += size
        return self._buffer[start : self._used]

    def integers(self, bound: int | NDArray[Any], size: int) -> NDArray[np.int64]:
        """Return `size` integers exactly uniform on 0, ..., bound - 1, as int64.

        Parameters
        ----------
        bound : int or array of int, shape (size,)
            Between 1 and 2**63; one for all draws, or one per draw.
        size : int
            Number of draws.

        Raises
        ------
        ValueError
            If a bound is out of range. Rejection would not end, or the draws would not be uniform.
        """
        if not size:
            return np.empty(0, dtype=np.int64)
        one = isinstance(bound, (int, np.integer))  # for one number, Python is faster than arrays
        least, most = (bound, bound) if one else (np.min(bound), np.max(bound))
        if not (least >= 1 and most <= 2**63):
            raise ValueError("bound must lie between 1 and 2**63.")
        bounds = np.asarray(bound, dtype=np.uint64)
        if one:
            mask = np.asarray((1 << (int(bound) - 1).bit_length()) - 1, dtype=np.uint64)
        else:
            mask = bounds - np.uint64(1)
            for shift in (1, 2, 4, 8, 16, 32):
                mask = mask | (mask >> np.uint64(shift))
        out = self.words(size) & mask
        retry = (out >= bounds).nonzero()[0]
        while len(retry):
            limit, cover = (bounds, mask) if bounds.ndim == 0 else (bounds[retry], mask[retry])
            again = self.words(len(retry)) & cover
            out[retry] = again
            retry = retry[again >= limit]
        return out.view(np.int64)

    def many_integers(self, bound: int, size: int) -> NDArray[Any]:
        """Return `size` integers exactly uniform on 0, ..., bound - 1, several per word.

        Their dtype is the smallest unsigned dtype that holds `bound`. With a bound of 1, no word is used.
        """
        if bound == 1:
            return np.zeros(size, dtype=np.min_scalar_type(bound))
        together = max(1, int(63 / math.log2(bound)))
        while bound ** (together + 1) <= 2**63:  # the logarithm is rounded
            together += 1
        rest = self.integers(bound**together, -(-size // together))
        rows = -(-size // max(len(rest), 1))
        out = np.empty((rows, len(rest)), dtype=np.min_scalar_type(bound))
        for row in out[: together - 1]:  # digits in base `bound`, the lowest first; the highest is what is left over
            whole = rest // bound  # faster than `divmod`
            row[:], rest = rest - whole * bound, whole
        if rows == together:
            out[-1] = rest
        return out.ravel()[:size]

    def integer(self, bound: int) -> int:
        """Return one integer exactly uniform on 0, ..., bound - 1; `bound` is at most 2**64."""
        if not 1 <= bound <= 2**64:
            raise ValueError(f"bound must lie between 1 and 2**64, got {bound}.")
        if bound == 1:
            return 0  # uses no word
        mask = (1 << (bound - 1).bit_length()) - 1
        while True:  # faster than `words(1)`, whose array takes most of the time
            if self._used == len(self._buffer):
                self._buffer, self._used = self._read(_BUFFER), 0
            draw = self._buffer.item(self._used) & mask
            self._used += 1
            if draw < bound:
                return draw

    def coins(self, size: int) -> NDArray[np.bool_]:
        """Return `size` fair coins as booleans."""
        packed = self.words(-(-size // 64)).view(np.uint8)
        return np.unpackbits(packed, count=size).view(bool)

    def uniform(self, size: int) -> NDArray[np.floating[Any]]:
        """Return `size` doubles uniform on a grid of 2**52 points inside the open interval (0, 1)."""
        return _scaled(self.words(size) >> np.uint64(12), 2.0**-52)

    def deep_uniform(self, size: int) -> NDArray[np.floating[Any]]:
        """Return `size` doubles uniform in (0, 1), with the relative precision of a double even for tiny values.

        The smallest value of `uniform` is 2**-53, so events with a smaller probability would never occur. Here, a small
        number uses as many further words as it needs.
        """
        return self._deep(self.words(size) >> np.uint64(1))

    def _deep(self, leads):
        """Return the uniform numbers with the given 63 leading bits."""
        out = _scaled(leads, 2.0**-63)
        np.minimum(out, 1 - 2.0**-53, out=out)
        rows = (leads < 2**53).nonzero()[0]
        small, rest = leads[rows], self.words(len(rows))
        out[rows] = small * 2.0**-63 + rest * 2.0**-127
        for row in (small == 0).nonzero()[0]:
            digits, length = self.longer(int(rest[row]), 127)
            out[rows[row]] = max(digits / (1 << length), 2.0**-1000)
        return out

    def longer(self, digits: int, length: int = 63) -> tuple[int, int]:
        """Return (digits, length), extended until the uniform number digits / 2**length has 54 significant bits."""
        while digits < 2**53 and length < _ENOUGH:
            digits, length = digits << 64 | self.integer(2**64), length + 64
        return max(digits, 1), length

    def log_uniform(self, size: int) -> NDArray[np.floating[Any]]:
        """Return the logarithms of `size` numbers uniform in (0, 1), including arbitrarily small numbers."""
        leads = self.words(size) >> np.uint64(1)
        out = np.log(np.minimum((leads.astype(np.float64) + 0.5) * 2.0**-63, 1 - 2.0**-53))
        for row in (leads < 2**53).nonzero()[0]:
            digits, length = self.longer(int(leads[row]))
            out[row] = math.log(digits) - length * math.log(2)
        return out

    def one_log_uniform(self) -> float:
        """Return the value in ``log_uniform(1)`` as a float."""
        lead = self.integer(2**64) >> 1
        if lead >= 2**53:
            return math.log(min((lead + 0.5) * 2.0**-63, 1 - 2.0**-53))
        digits, length = self.longer(lead)
        return math.log(digits) - length * math.log(2)

    def normal(self, size: int) -> NDArray[np.floating[Any]]:
        """Return `size` standard normal doubles, by inversion of one tail and a random sign."""
        from scipy.special import ndtri  # here, so that clients load no SciPy

        words = self.words(size)
        lower = ndtri(self._deep(words >> np.uint64(1)) / 2)
        return np.where(words & np.uint64(1), -lower, lower)

    def trials(self, numerator: int, size: int) -> NDArray[np.bool_]:
        """Return `size` booleans, each True with probability numerator / 2**52 exactly; most use one random byte.

        Parameters
        ----------
        numerator : int
            From 0 to 2**52.
        size : int
            Number of draws.
        """
        lead, rest = divmod(numerator, 2**44)
        bytes_ = self.words(-(-size // 8)).view(np.uint8)[:size]
        out = bytes_ < lead
        undecided = (bytes_ == lead).nonzero()[0]
        out[undecided] = self.integers(2**44, len(undecided)) < rest
        return out

    def permutation(self, n: int) -> NDArray[np.intp]:
        """Return an exactly uniform permutation of 0, ..., n - 1: the order of distinct random words."""
        while True:
            keys = self.words(n)
            order = np.argsort(keys)
            ordered = keys[order]
            if (ordered[1:] != ordered[:-1]).all():
                return order

    def permutations(self, rows: int, n: int) -> NDArray[Any]:
        """Return `rows` independent, exactly uniform permutations, shape (rows, n), in the smallest unsigned dtype.

        The number of words used is random and depends only on `rows` and `n`.
        """
        out = np.empty((n, rows), dtype=np.min_scalar_type(max(n - 1, 0)))
        done = 0
        while done < n:
            end, size = done, 1
            while end < n and size * (end + 1) <= 2**63:  # several places per word
                end, size = end + 1, size * (end + 1)
            digits = self.many_integers(size, rows)
            for last in range(done, end):  # each item goes to a uniform place among the earlier ones
                whole = digits // (last + 1)
                out[last], digits = digits - whole * (last + 1), whole
                earlier = out[:last]
                earlier += earlier >= out[last]
            done = end
        return out.T


def _scaled(numbers, unit):
    """Return (numbers + 0.5) unit as doubles, for uint64 numbers below 2^63. Signed numbers are converted faster."""
    out = numbers.view(np.int64).astype(np.float64)
    out += 0.5
    out *= unit
    return out


# Random streams of a fit: the secure source of the operating system, or a seed for simulations.


class SecureBits(BitSource):
    """Bits from the cryptographic generator of the operating system, for releases.

    Threads may share the object: no word is used twice.
    """

    _open: weakref.WeakSet[SecureBits] = weakref.WeakSet()

    def __init__(self):
        self.forget()
        self._open.add(self)

    def forget(self) -> None:
        """Discard the buffered words."""
        self._buffer, self._used = _EMPTY, 0
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


def _forget_after_fork() -> None:
    for bits in list(SecureBits._open):
        bits.forget()


if hasattr(os, "register_at_fork"):  # a child process must not use the buffered words of its parent
    os.register_at_fork(after_in_child=_forget_after_fork)


@dataclass(eq=False, repr=False)
class SeededBits(BitSource):
    """Reproducible bits, for simulations only: a party that knows the seed can subtract the noise.

    Parameters
    ----------
    seed : numpy.random.SeedSequence or int
        Seed sequence, or its entropy as an int. Children of one sequence give independent streams.
    child : int or None, default=None
        Index of the child of `seed`, as in its ``spawn``; None uses `seed` itself.
    """

    seed: int | np.random.SeedSequence
    child: int | None = None
    _bits: np.random.Philox | None = field(default=None, init=False)

    def _read(self, size: int) -> NDArray[np.uint64]:
        if self._bits is None:  # opened on first use: opening is slow, and most fits leave a stream unused
            seed = self.seed
            if self.child is not None:
                entropy, key = (seed, ()) if isinstance(seed, int) else (seed.entropy, seed.spawn_key)
                seed = np.random.SeedSequence(entropy, spawn_key=(*key, self.child))
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
