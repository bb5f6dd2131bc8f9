"""Reading of messages from files and iterables, in blocks of bounded size."""

import codecs
import io
import json
from collections.abc import Iterable, Mapping

_BLANK = " \t\n\r"  # what JSON takes for white space
_JSON = json.JSONDecoder()


def several(messages, name):
    """Return `messages`; raise ValueError if it is a single message or not iterable."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        kind = type(messages).__name__
        raise ValueError(f"{name} must be an iterable of {name}, got {kind}. Put a single one into a list.")
    return messages


def lines(messages, longest):
    """Yield messages; from a file, yield its lines, cut after `longest` + 2 characters.

    A UTF-8 text file is read as bytes if possible, because one invalid line must not stop the others.
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
    """Yield lists of at most `most` messages; the last list may be empty.

    A list ends with the message that brings its length to `characters`. A message that is not text has length
    `unparsed`.
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
    """Return (message as an object, None), or (None, reason) if its text is too long or not JSON."""
    if not isinstance(message, (str, bytes)):
        return message, None
    if len(message) > longest:
        return None, "too long"
    try:
        # Twice as fast as `json.loads`, which also detects the encoding and skips white space.
        text = (message.decode("utf-8") if isinstance(message, bytes) else message).strip(_BLANK)
        found, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return None, "not JSON"
    return (found, None) if end == len(text) else (None, "not JSON")


def _undecoded(file):
    """Return a UTF-8 text file as a file of bytes, at its current position; return other files unchanged."""
    if not isinstance(file, io.TextIOWrapper) or codecs.lookup(file.encoding).name not in ("utf-8", "ascii"):
        return file
    try:
        file.seek(file.tell())  # discards the read-ahead buffer
    except OSError:  # a pipe, or the caller is iterating over the file
        return file
    return file.buffer
