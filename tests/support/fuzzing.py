"""Random and mutated content for fuzz tests, and checks that errors do not quote it."""

import copy
import json
import math
import random
import re

from sklearn_dprank.privacy import BudgetExhausted

PIECES = [
    *(b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\r\n", b"\n", b"\t", b",", b";", b'"', b"'", b"{"),
    *(b"}", b"[", b"]", b":", b"#", b".", b"-", b"+", b"e", b"_", b"0x", b"1e999", b"-1e-999", b"1e308", b"9" * 25),
    *(b"9" * 400, b"NaN", b"nan", b"-Infinity", b"inf", b"null", b"true", b"1_0", "١".encode(), "１".encode()),
    *("\u2028".encode(), "\x85".encode(), "é".encode("latin-1"), "tea".encode("utf-16"), b"\xed\xa0\x80", b"[" * 2000),
]
DEEP = json.loads("[" * 300 + "]" * 300)
VALUES = [
    *(None, True, False, 0, 1, 2, 3, -1, 7, 10**9, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.0, 0.5),
    *(
        1.0,
        -0.0,
        1e308,
        math.nan,
        math.inf,
        -math.inf,
        "",
        "0",
        "1",
        "nan",
        "\x00",
        "é",
        "\u0661",
        "\ud800",
        "a" * 2000,
    ),
    *([], [0], [[]], [None], [True], [1, 0], [0, 1], {}, {"a": 1}, [[0, 1]], [10**400], [math.nan], DEEP),
]


def odd(rng, values=VALUES):
    """A value that no reader expects."""
    return copy.deepcopy(rng.choice(values))


def mangled(content, rng):
    """Bytes with one to three changes: pieces put in, dropped, doubled, moved or cut, by the byte or by the line."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        at, lines = rng.randrange(len(content) + 1), content.split(b"\n")
        line = rng.randrange(len(lines))
        match rng.randrange(9):
            case 0:
                content = content[:at] + rng.randbytes(1) + content[at + 1 :]
            case 1 | 2:
                content = content[:at] + rng.choice(PIECES) + content[at + rng.randint(0, 2) :]
            case 3:
                content = content[:at]
            case 4:
                content = b"\n".join(lines[:line] + lines[line + 1 :])
            case 5:
                content = b"\n".join([*lines[:line], rng.choice(lines), *lines[line:]])
            case 6:
                content = content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"", b"\n\n"]))
            case 7:
                number = str(rng.choice([0, -1, 7, 255, 65_535, 2**63, 10**18, 10**30])).encode()
                content = re.sub(rb"\d+", number, content, count=rng.randint(1, 3))
            case 8:
                content = rng.choice(
                    [content.decode("latin-1").encode("utf-16"), b"\xef\xbb\xbf" + content, content * 2]
                )
    return content


def places(value, path=()):
    """Every place inside JSON-able data, as a path."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inside:
        yield from places(each, (*path, name))


def changed(value, rng, values=VALUES):
    """A copy of JSON-able data with something else in one place or two."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.choice([1, 1, 2])):
        *path, last = rng.choice([path for path in places(value) if path] or [(None,)])
        if last is None:
            return odd(rng, values)
        holder = value
        for name in path:
            holder = holder[name]
        match rng.randrange(4):
            case 0 | 1:
                holder[last] = odd(rng, values)
            case 2:
                del holder[last]
            case 3 if isinstance(holder, dict):
                holder[rng.choice(["more", "", "protocol", "__class__"])] = odd(rng, values)
            case 3:
                holder.append(holder[last])
    return value


def as_text(value, rng):
    """JSON of a value, mostly as it is, at times with changed bytes."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return mangled(text, rng) if rng.random() < 0.4 else text


#: Words with digits, of five characters and more.
LONG = re.compile(r"(?=\w*\d)[\w.]{5,}")


def heard(error, content, path=None, public=b""):
    """Check that a refusal is documented and short, and quotes only public parts of the content.

    Parameters
    ----------
    error : Exception
        What was raised.
    content : bytes
        What must not be quoted, in words with digits, of five characters and more.
    path : path or None
        Of the file, which a message may name.
    public : bytes, default=b""
        What a message may quote, as names of items.
    """
    assert isinstance(error, (ValueError, BudgetExhausted)) and not isinstance(error, UnicodeError), repr(error)
    said = str(error) if path is None else str(error).replace(str(path), "").replace(path.name, "")
    assert 10 < len(said) < 600, said  # the longest lists all remedies for a cell, because it must not depend on it
    secrets, quotable, quoted = (
        set(LONG.findall(text))
        for text in (content.decode("utf-8", "replace"), public.decode("utf-8", "replace"), said)
    )
    assert not quoted & (secrets - quotable), said


def fuzz(reader, name, seeds, folder):
    """How many changed contents a reader accepts. Every eighth content stays unchanged, and is not counted."""
    accepted = 0
    for seed in seeds:
        rng = random.Random(f"{name} {seed}")
        content = reader.content(rng)
        if seed % 8:
            change = getattr(reader, "mutated", mangled)
            accepted += reader.read(change(content, rng), folder, rng)
        else:
            reader.read(content, folder, rng)
    return accepted
