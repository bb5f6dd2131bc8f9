"""Sources of uniform bits: the only place where randomness enters the package."""

import math
import os
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # it would load numpy.random, which a device does without
    from .._types import RandomState

_BUFFER = 512  # words kept ready for small draws; one system call is far dearer than one word
_ENOUGH = 2**20  # so many zeros in a row mean a broken source, not chance
_EMPTY = np.empty(0, dtype=np.uint64)


class BitSource:
    """A stream of independent, uniform 64-bit words and what is drawn from them.

    Subclasses say only where the words come from. Integers, permutations and coins are exactly
    uniform (by rejection); `uniform` and what is built on it is double precision.
    """

    def __init__(self):
        self._buffer = _EMPTY
        self._used = 0  # so many words of the buffer have been dealt

    def _read(self, size: int) -> NDArray[np.uint64]:
        raise NotImplementedError

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return `size` independent uniform words, as an array of uint64."""
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
            Between 1 and 2**63; one for all draws, or one for each.
        size : int
            How many to draw.

        Raises
        ------
        ValueError
            If a bound is out of range (rejection would never end, or the draws would not be uniform).
        """
        if not size:
            return np.empty(0, dtype=np.int64)
        one = isinstance(bound, (int, np.integer))  # Python is faster than arrays on one number
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

    def integer(self, bound: int) -> int:
        """Return one integer exactly uniform on 0, ..., bound - 1, for a bound of at most 2**64."""
        if not 1 <= bound <= 2**64:
            raise ValueError(f"bound must lie between 1 and 2**64, got {bound}.")
        if bound == 1:
            return 0  # no choice, no word
        mask = (1 << (bound - 1).bit_length()) - 1
        while True:  # words of size 1 without their arrays, which take longer than all the rest
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
        return ((self.words(size) >> np.uint64(12)) + 0.5) * 2.0**-52

    def deep_uniform(self, size: int) -> NDArray[np.floating[Any]]:
        """Return `size` doubles uniform in (0, 1) with the relative precision of a double, however small.

        The grid of `uniform` ends at 2**-53, so that what has a smaller chance never comes. Here a small number
        takes further words, as many as it needs.
        """
        return self._deep(self.words(size) >> np.uint64(1))

    def _deep(self, leads):
        """Return the uniform numbers whose 63 leading bits are given."""
        out = np.minimum((leads.astype(np.float64) + 0.5) * 2.0**-63, 1 - 2.0**-53)
        for row in (leads < 2**53).nonzero()[0]:
            digits, length = self.longer(int(leads[row]))
            out[row] = max(digits / (1 << length), 2.0**-1000)
        return out

    def longer(self, digits: int, length: int = 63) -> tuple[int, int]:
        """Return (digits, length) of a uniform number in (0, 1): its bits go on until 54 of them are significant."""
        while digits < 2**53 and length < _ENOUGH:
            digits, length = digits << 64 | self.integer(2**64), length + 64
        return max(digits, 1), length

    def log_uniform(self, size: int) -> NDArray[np.floating[Any]]:
        """Return the logs of `size` numbers uniform in (0, 1): there is no least one."""
        leads = self.words(size) >> np.uint64(1)
        out = np.log(np.minimum((leads.astype(np.float64) + 0.5) * 2.0**-63, 1 - 2.0**-53))
        for row in (leads < 2**53).nonzero()[0]:
            out[row] = self._log(int(leads[row]))
        return out

    def one_log_uniform(self) -> float:
        """Return what ``log_uniform(1)`` holds, as a float."""
        lead = self.integer(2**64) >> 1
        return math.log(min((lead + 0.5) * 2.0**-63, 1 - 2.0**-53)) if lead >= 2**53 else self._log(lead)

    def _log(self, lead):
        digits, length = self.longer(lead)
        return math.log(digits) - length * math.log(2)

    def normal(self, size: int) -> NDArray[np.floating[Any]]:
        """Return `size` standard normal doubles, by inversion from either tail."""
        from scipy.special import ndtri  # here, so that a voter's device, which has no need of it, loads no SciPy

        words = self.words(size)
        lower = ndtri(self._deep(words >> np.uint64(1)) / 2)
        return np.where(words & np.uint64(1), -lower, lower)

    def exponential(self, size: int) -> NDArray[np.floating[Any]]:
        """Return `size` standard exponential doubles, by inversion."""
        return -np.log(self.deep_uniform(size))

    def bernoulli(self, probability: float, size: int) -> NDArray[np.bool_]:
        """Return `size` booleans, each true with `probability` (a double, exact to 2**-52)."""
        return self.uniform(size) < probability

    def permutation(self, n: int) -> NDArray[np.intp]:
        """Return an exactly uniform permutation of 0, ..., n - 1: the order of distinct random words."""
        while True:
            keys = self.words(n)
            order = np.argsort(keys)
            if np.all(keys[order[1:]] != keys[order[:-1]]):
                return order

    def permutations(self, rows: int, n: int) -> NDArray[Any]:
        """Return `rows` independent, exactly uniform permutations, shape (rows, n), in the smallest unsigned dtype.

        How many words that takes is a matter of chance, and of nothing else.
        """
        out = np.empty((n, rows), dtype=np.min_scalar_type(max(n - 1, 0)))
        for last, pick in enumerate(self._picks(rows, n)):  # each goes to a uniform place among the earlier ones
            out[last] = pick
            earlier = out[:last]
            earlier += earlier >= out[last]
        return out.T

    def _picks(self, rows, n):
        """Yield, for bound = 1, ..., n, `rows` integers uniform on 0, ..., bound - 1: many out of one word."""
        first = 1
        while first <= n:
            bounds, size = [], 1
            while first <= n and size * first <= 2**63:
                bounds.append(first)
                size, first = size * first, first + 1
            together = 1  # so many rows share a word
            while size > 1 and size ** (together + 1) <= 2**63:
                together += 1
            rest = self.integers(size**together, -(-rows // together))
            table = np.empty((together, len(rest)), dtype=np.min_scalar_type(size))
            for row in table:
                rest, row[:] = _split(rest, size)
            digits = table.ravel()[:rows]
            for bound in bounds:
                digits, pick = _split(digits, bound)
                yield pick


def _split(numbers, bound):
    """Return quotients and remainders, faster than ``divmod``."""
    whole = numbers // bound
    return whole, numbers - whole * bound


class SecureBits(BitSource):
    """Bits from the operating system's cryptographic generator: what a release must use."""

    _open: "weakref.WeakSet[SecureBits]" = weakref.WeakSet()

    def __init__(self):
        super().__init__()
        self._open.add(self)

    @classmethod
    def _forget_after_fork(cls):
        """Let no child deal the words that its parent will deal too."""
        for bits in cls._open:
            bits._buffer, bits._used = _EMPTY, 0

    def __reduce__(self):
        return SecureBits, ()  # a copy reads afresh: two copies must never repeat the same words

    def _read(self, size):
        return np.frombuffer(bytearray(os.urandom(8 * size)), dtype=np.uint64)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SecureBits._forget_after_fork)


class SeededBits(BitSource):
    """Reproducible bits, for simulation only: whoever knows the seed can subtract the noise.

    Parameters
    ----------
    seed : numpy.random.SeedSequence or int
        Children of one sequence give independent streams; an int stands for its sequence.
    child : int or None, default=None
        Which child of `seed` to read, as its ``spawn`` numbers them; None is `seed` itself.
    """

    def __init__(self, seed: "int | np.random.SeedSequence", child: int | None = None) -> None:
        super().__init__()
        self._seed = seed
        self._child = child
        self._bits: np.random.Philox | None = None

    def _read(self, size):
        if self._bits is None:  # opened when first read: most fits leave a stream unused, and opening is dear
            seed = self._seed
            if self._child is not None:
                entropy, key = (seed, ()) if isinstance(seed, int) else (seed.entropy, seed.spawn_key)
                seed = np.random.SeedSequence(entropy, spawn_key=(*key, self._child))
            self._bits = np.random.Philox(seed)
        return self._bits.random_raw(size)


class Bits(NamedTuple):
    """The independent streams of one fit.

    Attributes
    ----------
    noise : BitSource
        What protects the voters.
    coins : BitSource
        What breaks ties and picks pivots; where voters answer for themselves, it completes their ballots.
    assignment : BitSource
        What happens voter by voter on the curator's side: who is asked what, and how ballots are completed.
    certified : bool
        Whether the streams come from the operating system; False for any seed.
    """

    noise: BitSource
    coins: BitSource
    assignment: BitSource
    certified: bool

    @classmethod
    def from_random_state(cls, random_state: "RandomState") -> Self:
        """Open the streams of one fit.

        Parameters
        ----------
        random_state : None, int, numpy.random.Generator or numpy.random.RandomState
            None is the operating system's secure source. A generator gives 128 bits, once.

        Returns
        -------
        Bits
            Streams that never share a word.
        """
        if random_state is None:
            return cls(SecureBits(), SecureBits(), SecureBits(), certified=True)
        seed = random_state if type(random_state) is int and random_state >= 0 else seed_sequence(random_state)
        return cls(SeededBits(seed, 0), SeededBits(seed, 1), SeededBits(seed, 2), certified=False)


def seed_sequence(random_state: "RandomState") -> "np.random.SeedSequence":
    """Return the SeedSequence that `random_state` stands for; None takes fresh system entropy."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        if random_state is not None and random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state!r}; pass None for a secure source.")
        return np.random.SeedSequence(None if random_state is None else int(random_state))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist())
    raise ValueError(
        f"random_state must be None, an int, a numpy Generator or a RandomState, got {type(random_state).__name__}."
    )
