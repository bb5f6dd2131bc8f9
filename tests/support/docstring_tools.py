"""Entries of the sections of numpydoc docstrings, and the choices that annotations allow."""

import inspect
import re
from typing import Literal, get_args, get_origin


def entries(docstring, section):
    """Return {name: type and description} of a section, in order, with single spaces."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    rulers = [i for i, line in enumerate(lines) if i and line and set(line) == {"-"}]
    start = next((i + 1 for i in rulers if lines[i - 1] == section), len(lines))
    end = min([i - 1 for i in rulers if i > start], default=len(lines))
    said, names = {}, []
    for line in lines[start:end]:
        if head := re.fullmatch(r"(\w+(?:, \w+)*)(?: : (.+))?", line):
            names = head[1].split(", ")
            said.update({name: [head[2] or ""] for name in names})
        for name in names if line.startswith(" ") else ():
            said[name].append(line.strip())
    return {name: " ".join(words) for name, words in said.items()}


def choices(hint):
    """The texts that an annotation allows."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {text for one in get_args(hint) for text in choices(one)}
