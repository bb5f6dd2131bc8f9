"""Messages from files and iterables, a bounded amount at a time."""

import codecs
import io
import json
from collections.abc import Iterable, Mapping

_BLANK = " \t\n\r"  # what JSON takes for white space
_JSON = json.JSONDecoder()


def several(messages, name):
    """Return messages; raise ValueError if this is one message in place of several."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        kind = type(messages).__name__
        raise ValueError(f"{name} must be an iterable of {name}, got {kind}. Put a single one into a list.")
    return messages


def lines(messages, longest):
    """Yield messages; of a file, lines that are cut after `longest` + 2 characters.

    A text file in UTF-8 is read as bytes where that is possible: one line in wrong UTF-8 must not stop the others.
    """
    if not hasattr(messages, "readline"):
        yield from messages
        return
    file = _undecoded(messages)
    try:
        while line := file.readline(longest + 2):
            yield line
            ends = line[-1:] in ("\n", b"\n")
            while not ends and (rest := file.readline(longest)):
                ends = rest[-1:] in ("\n", b"\n")
    except UnicodeError:
        raise ValueError(
            "reports must be UTF-8, and this text file cannot be read as bytes; open it in binary, open(path, 'rb'), "
            "or hand over sys.stdin.buffer."
        ) from None


def blocks(messages, characters, unparsed, most=None):
    """Yield lists of messages, the last of which may be empty.

    Parameters
    ----------
    messages : iterable of dict, str or bytes
        Read once.
    characters : int
        A list ends with the message that brings its length to this.
    unparsed : int
        The length of a message that is an object.
    most : int or None, default=None
        The most messages in a list.
    """
    block, room = [], characters
    for message in messages:
        block.append(message)
        room -= len(message) if isinstance(message, (str, bytes)) else unparsed
        if room <= 0 or len(block) == most:
            yield block
            block, room = [], characters
    yield block


def parse(message, longest):
    """Return (message, None), the message as an object, or (None, reason) where its text is too long or not JSON."""
    if not isinstance(message, (str, bytes)):
        return message, None
    if len(message) > longest:
        return None, "too long"
    try:
        # As `json.loads`, which takes twice as long: it looks for another encoding and for white space.
        text = (message.decode("utf-8") if isinstance(message, bytes) else message).strip(_BLANK)
        found, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return None, "not JSON"
    return (found, None) if end == len(text) else (None, "not JSON")


def _undecoded(file):
    """Return the bytes of a text file, from its current position."""
    if not isinstance(file, io.TextIOWrapper) or codecs.lookup(file.encoding).name not in ("utf-8", "ascii"):
        return file
    try:
        file.seek(file.tell())  # puts back what was read ahead
    except OSError:  # a pipe, or somebody iterates over it
        return file
    return file.buffer
