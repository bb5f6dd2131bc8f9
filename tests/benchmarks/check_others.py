"""
Running both sides of the page "From other packages"
====================================================

The page ``others.rst`` has calls of other packages, each with the value that it returns in a comment, and calls of this
one as doctests. `nox -s peers` installs the packages and runs this script, which stops at the first difference::

    python tests/benchmarks/check_others.py
"""

import ast
import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "user_guide" / "others.rst"


def theirs(text):
    """Return the page with the calls of other packages as doctests; the comment of the last line is its output."""

    def examples(found):
        body, _, last = re.sub("^   ", "", found[1], flags=re.MULTILINE).strip().rpartition("\n")
        call, _, value = last.rpartition("  # ")
        lines = [*map(ast.unparse, ast.parse(body).body), call]
        return "".join(f">>> {line}\n" for line in lines) + f"{value}\n\n"

    return re.sub(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", examples, text, flags=re.MULTILINE)


def main():
    text = theirs(PAGE.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    failed, tried = doctest.DocTestRunner().run(test)
    packages = re.findall(r"^>>> (?:from|import) (choix|preflibtools|votekit|diffprivlib|opendp)", text, re.MULTILINE)
    if failed or len(set(packages)) != 5:
        raise SystemExit(f"{failed} of {tried} examples of {PAGE.name} differ")
    print(f"{tried} examples of {PAGE.name} hold, with {', '.join(dict.fromkeys(packages))}")


if __name__ == "__main__":
    main()
