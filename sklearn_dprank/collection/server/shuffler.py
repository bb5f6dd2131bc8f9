"""Shuffler: accepts submissions under one protocol, mixes their messages and releases them in batches."""

from __future__ import annotations

import hashlib
import math
import secrets
import struct
import threading
from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike

from ..._utils.checks import safe_repr
from ..._utils.lines import blocks, lines, several
from ...sampling.streams import SecureBits
from ..client.protocol import digest, is_whole, refuse_unless
from ..client.randomizers import checked
from .checked_file import CheckedFile
from .submissions import checked_design, longest, pairs_of, read

_TOGETHER, _CHARACTERS = 1024, 1 << 20  # submissions and characters in one transaction
_MESSAGE = struct.Struct("<4q")  # shuffle, first item, second item, answer
# First byte of a row's key, by the content of the row. Numbers, voters and messages are never in one row.
_NUMBER, _VOTER, _WAITING, _RELEASED = b"n", b"v", b"w", b"x"


class Shuffler:
    """Trusted shuffler of the shuffle model: mixes the messages of voters and removes their origin.

    It accepts submissions under one public protocol. Each submission carries a random number of its device. The
    shuffler refuses a number that it received before, even after a restart. It checks the number of messages and their
    shuffles, and releases the messages of at least ``min_reports`` voters together.

    Parameters
    ----------
    protocol : dict
        Protocol from the curator (``estimator.protocol(items)``). The shuffler validates it as devices do. Give all
        voters this protocol and no other. A voter with a different protocol can be traced by its digest.
    path : str or path-like, default=":memory:"
        File that survives a restart. ":memory:" ends with the process.
    design : array-like of int, shape (n_voters, n_queries, 2), or None, default=None
        Public `~sklearn_dprank.channels.balanced_design`, if the protocol has ``"pairs": "assigned"``. Row v holds the
        pairs of voter v.

    Attributes
    ----------
    refused : dict of {str: int}
        Number of submissions that this process has refused, by reason.
    waiting : int
        Number of voters who have submitted since the last release.
    batches : int
        Number of released batches.

    Raises
    ------
    RefusedProtocol
        If the protocol is not of the shuffle model, or spends more than it states.
    ValueError
        If the design does not fit the protocol, or the file belongs to another shuffler, protocol or design.
    ServerFileError
        If the file cannot be opened or written, or is damaged.

    Notes
    -----
    .. rubric:: Privacy

    The shuffler sees which messages come from one voter, and its operator sees where they come from. Voters must trust
    that both are forgotten. This class does not store names, addresses or times. To refuse duplicates, it stores random
    numbers (and rows of the design), apart from the messages. Until a release, its file is as secret as the
    submissions, because the layout of the file may reveal what arrived together. A release overwrites the waiting
    messages and keeps only the mixed batch.

    A batch has at least ``min_reports`` voters, and no voter is in two batches. So the central guarantee of the
    protocol holds for each batch, and several batches cost a voter no more than one. ``min_reports`` of the voters in
    *each* batch must be honest. An attacker who sends all submissions of a batch but one learns as much about that one
    as its local epsilon allows. Accept submissions from registered voters, one from each. Decide when to release by
    numbers and dates only.

    The shuffler does not verify ``central_epsilon``, which needs SciPy. Its operator can compare it with
    `~sklearn_dprank.privacy.shuffle_amplification`.

    Examples
    --------
    >>> from sklearn_dprank import ShufflePairwise
    >>> from sklearn_dprank.collection import Device, Shuffler
    >>> curator = ShufflePairwise(min_reports=300)
    >>> protocol = curator.protocol(["tea", "coffee", "water"])
    >>> shuffler = Shuffler(protocol)
    >>> shuffler.receive(Device(protocol).report([1, 0, 2]) for voter in range(300))
    300
    >>> messages = shuffler.release()
    >>> curator.fit_reports(messages, items=["tea", "coffee", "water"]).reports_accepted_
    300
    """

    def __init__(self, protocol: dict[str, Any], path: Any = ":memory:", *, design: ArrayLike | None = None) -> None:
        self._protocol = checked(protocol)
        refuse_unless(self._protocol["randomizer"] == "rr-shuffled", "randomizer", "rr-shuffled")
        self._design = checked_design(design, self._protocol)
        self._name = digest(self._protocol)
        self._refused: Counter[str] = Counter()
        self._counting = threading.Lock()
        drawn = None if self._design is None else hashlib.sha256(self._design.astype("<i8").tobytes()).hexdigest()
        owner = {"protocol": self._name, "design": drawn}
        self._file = CheckedFile(path, "Shuffler", owner, {"waiting": 0, "batches": 0})

    @property
    def refused(self) -> dict[str, int]:
        with self._counting:
            return dict(self._refused)

    @property
    def waiting(self) -> int:
        with self._file.transaction(write=False) as state:
            return state["waiting"]

    @property
    def batches(self) -> int:
        with self._file.transaction(write=False) as state:
            return state["batches"]

    def receive(self, submissions: Iterable[Any]) -> int:
        """Store the messages of new submissions, and count the others in `refused`.

        Parameters
        ----------
        submissions : iterable of dict, str or bytes, or of (int, submission)
            One submission per voter, as the voter's device made it: a JSON object, parsed or not. An open file has one
            submission per line. If the protocol assigns pairs, pass tuples (voter, submission), where `voter` is the
            row of the design. The iterable is read once, as a stream.

        Returns
        -------
        int
            Number of new submissions.

        Raises
        ------
        ValueError
            If `submissions` is a single submission.
        ServerFileError
            If the file cannot be written, or is damaged. Blocks of submissions before the error are kept.
        """
        new, stream = 0, lines(several(submissions, "submissions"), longest(self._protocol))
        for block in blocks(stream, _CHARACTERS, _CHARACTERS // _TOGETHER):
            parsed, refused = [], Counter[str]()
            for submission in block:  # outside the transaction, so that other processes can write meanwhile
                keys, messages, reason = self._read(submission)
                if reason is None:
                    parsed.append((keys, messages))
                else:
                    refused[reason] += 1
            accepted, rows = 0, dict[bytes, bytes]()
            with self._file.transaction() as state:
                taken = self._file.known(key for keys, _ in parsed for key in keys)
                for keys, messages in parsed:
                    new_keys = _before(taken, keys)
                    taken.update(new_keys)
                    rows |= dict.fromkeys(new_keys, b"")
                    if len(new_keys) == len(keys):
                        rows |= {_WAITING + secrets.token_bytes(16): message for message in messages}
                        accepted += 1
                self._file.add(rows)
                state["waiting"] += accepted
            refused["received before"] += len(parsed) - accepted
            with self._counting:
                self._refused += refused
            new += accepted
        return new

    def release(self) -> list[dict[str, Any]]:
        """Release the messages of all waiting voters, mixed, as the next batch.

        Returns
        -------
        list of dict
            JSON-able messages in a random order, without voters or numbers, for ``estimator.fit_reports``. `batch`
            returns them again.

        Raises
        ------
        ValueError
            If fewer than ``min_reports`` voters are waiting, or too few messages are about an assigned pair. The
            release fails, and the voters remain waiting.
        ServerFileError
            If the file cannot be written, or is damaged. The release fails.
        """
        with self._file.transaction() as state:
            number, least = state["batches"], self._protocol["min_reports"]
            if state["waiting"] < least:
                raise ValueError(
                    f"release needs at least min_reports={least} waiting voters, got {state['waiting']}. No "
                    "message is released; wait for more submissions."
                )
            kept, waiting = {}, []
            for key, value in self._file.rows():
                if key.startswith(_WAITING):
                    waiting.append(value)
                else:
                    kept[key] = value
            self._check_mixed(waiting)
            # This permutation removes the order of arrival, and so does clearing the rows.
            mixed = [waiting[place] for place in SecureBits().permutation(len(waiting)).tolist()]
            kept |= {_place(number, place): message for place, message in enumerate(mixed)}
            self._file.clear()
            self._file.add(kept)
            state.update(waiting=0, batches=number + 1)
        return [self._message(message) for message in mixed]

    def batch(self, number: int) -> list[dict[str, Any]]:
        """Return a released batch again, in the same order.

        Parameters
        ----------
        number : int
            Number of the batch, from 0 to `batches` - 1, in the order of release.

        Returns
        -------
        list of dict
            The messages that `release` returned.

        Raises
        ------
        ValueError
            If there is no such batch.
        ServerFileError
            If the file is damaged.
        """
        with self._file.transaction(write=False) as state:
            if not state["batches"]:
                raise ValueError("number must be that of a released batch, and no batch has been released yet.")
            if not is_whole(number, 0, state["batches"] - 1):
                raise ValueError(
                    f"number must be an integer from 0 to {state['batches'] - 1}, got {safe_repr(number)}."
                )
            head = _RELEASED + number.to_bytes(8, "big")
            mixed = [value for key, value in self._file.rows() if key.startswith(head)]
        return [self._message(message) for message in mixed]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, submission):
        """Return (keys, messages, None) of a submission that follows the protocol, or (None, None, reason)."""
        voter = None
        if self._design is not None:
            if type(submission) is not tuple or len(submission) != 2:
                return None, None, "no voter"
            voter, submission = submission
            if isinstance(voter, bool) or not isinstance(voter, Integral) or not 0 <= int(voter) < len(self._design):
                return None, None, "no voter"
            voter = int(voter)
        parsed, reason = read(submission, self._protocol, self._name)
        if reason is None and voter is not None:
            if pairs_of(parsed) != set(map(tuple, self._design[voter].tolist())):
                reason = "not the voter's pairs"
        if reason is not None:
            return None, None, reason
        # The voter comes first: a voter who sends another voter's submission uses up only their own row.
        keys = [] if voter is None else [_VOTER + voter.to_bytes(8, "big")]
        keys.append(_NUMBER + bytes.fromhex(parsed["report"]))
        return keys, [_MESSAGE.pack(one["shuffle"], *one["pair"], one["answer"]) for one in parsed["messages"]], None

    def _check_mixed(self, waiting):
        """Raise ValueError unless each assigned pair has enough messages, among which a voter hides."""
        if self._design is None:
            return
        n_pairs = math.comb(len(self._protocol["items"]), 2)
        counts = Counter(_MESSAGE.unpack(message)[1:3] for message in waiting)
        required = self._protocol["min_reports"] * self._protocol["n_queries"] // n_pairs
        least = min(counts.values()) if len(counts) == n_pairs else 0
        if least < required:
            raise ValueError(
                f"release needs at least {required} waiting messages about each pair, got {least}. No message "
                "is released; wait for more submissions."
            )

    def _message(self, packed):
        shuffle, first, second, answer = _MESSAGE.unpack(packed)
        return {"protocol": self._name, "shuffle": shuffle, "pair": [first, second], "answer": answer}


def _before(taken, keys):
    """Return the keys before the first one that is taken."""
    return list(takewhile(lambda key: key not in taken, keys))


def _place(batch, place):
    """Return the key of a released message."""
    return _RELEASED + batch.to_bytes(8, "big") + place.to_bytes(8, "big")
