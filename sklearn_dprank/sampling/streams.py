"""Where randomness enters the package, and nowhere else: the system's generator, or a seed for simulations."""

import os
import weakref
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # it would load numpy.random, which a device does without
    from .._utils.types import RandomState


from .._utils.checks import check_random_state
from .bit_source import BitSource


class SecureBits(BitSource):
    """Bits from the operating system's cryptographic generator: what a release must use.

    Threads may share them: no word is dealt twice.
    """

    _open: "weakref.WeakSet[SecureBits]" = weakref.WeakSet()

    def __init__(self):
        super().__init__()
        self._open.add(self)

    @classmethod
    def _forget_after_fork(cls):
        """Let no child deal the words that its parent will deal too."""
        for bits in cls._open:
            bits.forget()

    def forget(self) -> None:
        super().forget()
        self._dealing = RLock()  # anew after a fork: a thread of the parent may have held it

    def words(self, size: int) -> NDArray[np.uint64]:
        with self._dealing:
            return super().words(size)

    def integer(self, bound: int) -> int:
        with self._dealing:
            return super().integer(bound)

    def __reduce__(self):
        return SecureBits, ()  # a copy reads afresh: two copies must never repeat the same words

    def _read(self, size: int) -> NDArray[np.uint64]:
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

    def _read(self, size: int) -> NDArray[np.uint64]:
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
    check_random_state(random_state)
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist())
    return np.random.SeedSequence(None if random_state is None else int(random_state))
