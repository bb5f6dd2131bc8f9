"""Random files, whole or damaged: the reader agrees with a naive reader, or raises one clear error."""

import gzip
import random
import re

import numpy as np
import pytest

from sklearn_dprank.datasets import read_preflib

KINDS = ("soc", "soi", "toc", "toi")
SPARE = "0123456789,:{}# \t\n\r-+._éa\x00\u2028"


def drawn(rng):
    """Draw (kind, names, [(count, groups of items, best first)])."""
    kind, m = rng.choice(KINDS), rng.randint(2, 6)
    names = [rng.choice(["tea", "oat, milk", "a: b", "", "é"]) + f" {item}" for item in range(m)]
    ballots = []
    for _ in range(rng.randint(1, 5)):
        items = rng.sample(range(1, m + 1), m if kind.endswith("c") else rng.randint(1, m))
        groups = []
        while items:
            size = rng.randint(1, len(items)) if kind.startswith("t") else 1
            groups.append(items[:size])
            items = items[size:]
        ballots.append((rng.choice([0, 1, 1, 2, 3]), groups))
    return kind, names, ballots


def written(rng, kind, names, ballots, old):
    """Return a file in either layout, with spaces by chance."""
    n, k = sum(count for count, _ in ballots), len(ballots)
    space = rng.choice(["", " "])
    orders = [
        f",{space}".join(
            str(group[0]) if len(group) == 1 else "{" + f"{space},".join(map(str, group)) + "}" for group in groups
        )
        for _, groups in ballots
    ]
    if old:
        lines = [str(len(names)), *(f"{item},{name} " for item, name in enumerate(names, start=1)), f"{n},{n},{k}"]
    else:
        lines = [f"# NUMBER ALTERNATIVES: {len(names)}", f"# NUMBER VOTERS: {n}", f"# NUMBER UNIQUE ORDERS: {k}"]
        lines += [f"# ALTERNATIVE NAME {item}: {name}" for item, name in enumerate(names, start=1)]
        if rng.random() < 0.5:
            lines.append(f"# DATA TYPE: {kind}")
    lines += [f"{count}{',' if old else ': '}{order}" for (count, _), order in zip(ballots, orders, strict=True)]
    return "\n".join(lines) + rng.choice(["", "\n"])


def damaged(rng, text):
    """Return text with some characters or lines dropped, doubled, moved or made up."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        lines = text.split("\n")
        line = rng.randrange(len(lines))
        match rng.randrange(7):
            case 0:
                text = text[:at] + text[at + 1 :]
            case 1 | 2:
                text = text[:at] + rng.choice(SPARE) + text[at + rng.randint(0, 1) :]
            case 3:
                text = text[:at]
            case 4:
                text = "\n".join(lines[:line] + lines[line + 1 :])
            case 5:
                text = "\n".join(lines[:line] + [rng.choice(lines)] + lines[line:])
            case 6:
                text = re.sub(r"\d+", lambda found: str(rng.choice([found[0], 0, 7, 10**17, 10**30])), text, count=3)
    return text


def naive_positions(groups, m):
    """Return how many items are listed above each; None where it is not listed."""
    row, listed = [None] * m, 0
    for group in groups:
        for item in group:
            row[item - 1] = listed
        listed += len(group)
    return row


def naively_read(text):
    """Return (number of items, [(count, groups)]) of a file that is right, in five lines."""
    lines = [line.strip() for line in re.split("\r\n|\r|\n", text) if line.strip()]
    old = lines[0].isdigit()
    m = int(lines[0]) if old else int(re.search(r"^#\s*NUMBER ALTERNATIVES\s*:\s*(\d+)", text, re.M | re.I)[1])
    ballots = lines[m + 2 :] if old else [line for line in lines if not line.startswith("#")]
    pairs = [line.split("," if old else ":", 1) for line in ballots]
    groups = [[re.findall(r"\d+", group) for group in re.findall(r"\{[^}]*\}|\d+", order)] for _, order in pairs]
    return m, [
        (int(count), [[int(item) for item in group] for group in row])
        for (count, _), row in zip(pairs, groups, strict=True)
    ]


def check(read, m, ballots, unranked):
    rows = [naive_positions(groups, m) for count, groups in ballots for _ in range(count)]
    assert read.counts.tolist() == [count for count, _ in ballots]
    assert len(set(read.item_names)) == len(read.item_names) == m
    fill = [[sum(x is not None for x in row) if unranked == "last" else np.nan] * m for row in rows]
    expected = [[f if x is None else x for x, f in zip(*pair, strict=True)] for pair in zip(rows, fill, strict=True)]
    np.testing.assert_array_equal(read.data, np.array(expected, dtype=float).reshape(-1, m))
    assert read.profile.n_voters == len(rows)


def check_case(folder, seed):
    rng = random.Random(seed)
    kind, names, ballots = drawn(rng)
    text = written(rng, kind, names, ballots, old=rng.random() < 0.5)
    whole = rng.random() < 0.2 and any(count for count, _ in ballots)
    text = text if whole else damaged(rng, text)
    packed = rng.random() < 0.1
    unranked = rng.choice(["last", "no_opinion"])
    path = folder / f"ballots.{kind}{'.gz' * packed}"
    content = text.encode()
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    try:
        read = read_preflib(path, unranked=unranked)
    except ValueError as error:
        assert str(error).startswith(str(path))
        assert len(str(error)) < len(str(path)) + 400
        assert error.__cause__ is None and (error.__suppress_context__ or error.__context__ is None)
        assert not whole, str(error)
        return False
    if whole:
        assert read.item_names == [name.strip() for name in names]
        check(read, len(names), ballots, unranked)
    check(read, *naively_read(text), unranked)
    return True


def check_cases(folder, seeds):
    accepted = sum(check_case(folder, seed) for seed in seeds)
    assert 0.25 * len(seeds) < accepted < 0.75 * len(seeds)  # both ends are visited


@pytest.mark.slow
def test_random_files_agree_with_a_naive_reader(tmp_path):
    check_cases(tmp_path, range(20_000))


def test_bytes_by_chance(tmp_path):
    """Neither text nor gzip: an error that names the file."""
    path = tmp_path / "noise.toi"
    for seed in range(200):
        rng = random.Random(seed)
        path.write_bytes(rng.choice([b"", b"\x1f\x8b", b"\x1f\x8b\x08\x00"]) + rng.randbytes(rng.randint(0, 60)))
        with pytest.raises(ValueError, match=re.escape(str(path))):
            read_preflib(path, unranked="last")
