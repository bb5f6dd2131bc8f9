"""What sections of numpydoc docstrings say, name by name."""

import inspect
import re


def entries(docstring, section):
    """Return {name: what is said of it} of a section, in order: type and description, in words one space apart."""
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
