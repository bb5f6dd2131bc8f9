"""The map of the five papers has a row for everything they number, and everything that it names exists."""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import sklearn_dprank.theory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "user_guide" / "papers.rst").read_text(encoding="utf-8")

#: What each paper numbers. Of the equations those that a statement, an algorithm or a measure rests on.
NUMBERED = {
    "Shang et al. (2014)": {
        "Definition": "1 2 3",
        "Theorem": "1 2 3",
        "Proposition": "1",
        "Lemma": "1 2 3",
        "Equation": "(5) (6) (13) (22) (24) (27) (30)",
        "Figure": "1 2 3",
    },
    "Hay et al. (2017)": {
        "Definition": "1 2 3 4 5 6 7 8 9 10",
        "Proposition": "3.1 3.2 4.1",
        "Theorem": "5.1 5.2 5.3",
        "Example": "1",
        "Figure": "1 2a 2b 3",
    },
    "Yan et al. (2020)": {
        "Definition": "1 2 3 4 5 6",
        "Theorem": "1 2 3",
        "Lemma": "1 2",
        "Algorithm": "1 2 3 4",
        "Equation": "(1) (2) (3) (4)",
        "Figure": "1 2 3 4 5 6",
        "Table": "1 2 3",
    },
    "Song et al. (2022)": {
        "Definition": "1 2",
        "Theorem": "1 2",
        "Algorithm": "1 2",
        "Equation": "(1) (2) (3)",
        "Figure": "1 2 3 4",
    },
    "Alabi et al. (2022)": {
        "Theorem": "1 5 8 11 13 14",
        "Fact": "2",
        "Corollary": "3 4 6 7 9 12",
        "Lemma": "10",
        "Observation": "15 16",
        "Algorithm": "1 2 3",
        "Equation": "(1) (2) (3)",
        "Table": "1 2",
    },
}


class Row(NamedTuple):
    paper: str
    number: str
    here: str
    tests: str
    example: str
    verdict: str

    @property
    def names(self):
        """Full names, of what stands in angle brackets or else in the backticks."""
        quoted = re.findall(r"(?<!`)`([^`]+)`(?!`)", self.here)
        return [re.sub(r".*<(.+)>$", r"\1", text).removeprefix("~") for text in quoted]


def rows_of(paper):
    """Return the rows of the paper's table, without its head."""
    section = PAGE.split(f"\n{paper}\n{'-' * len(paper)}\n")[1].split("\n---")[0]
    rows = []
    for text in section.split("\n   * - ")[1:]:
        # What follows the table begins at the margin, as the next section's heading does.
        cells = re.split(r"\n     - ", text.split("\n\n")[0])
        rows.append(Row(paper, *(" ".join(cell.split()) for cell in cells)))
    assert rows.pop(0)[1:] == ("In the paper", "Here", "Tests", "Example", "Verdict")
    return rows


ROWS = [row for paper in NUMBERED for row in rows_of(paper)]


def named(row):
    return f"{row.paper}, {row.number}"


def found(name):
    """Return what a full name means."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


@pytest.mark.parametrize("paper", NUMBERED)
def test_everything_that_a_paper_numbers_has_one_row(paper):
    numbered = [f"{kind} {number}" for kind, numbers in NUMBERED[paper].items() for number in numbers.split()]
    there = [row.number for row in ROWS if row.paper == paper]
    assert len(set(there)) == len(there)
    assert {number for number in there if not number.startswith(("Section", "Footnote"))} == set(numbered)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_what_a_row_names_exists(row):
    assert row.names and all(name.startswith("sklearn_dprank.") for name in row.names)
    for name in row.names:
        assert found(name) is not None


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_tests_of_a_row_exist(row):
    tests = re.findall(r"``([\w/.]+)::(\w+)``", row.tests)
    assert tests and re.sub(r"``[\w/.]+::\w+``|, ", "", row.tests) == ""
    for file, name in tests:
        assert re.search(rf"^def {name}\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE), name


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_example_of_a_row_exists(row):
    measured = row.number.startswith(("Figure", "Table")) and not row.verdict.startswith("Background")
    if row.example == "–":
        assert not measured, "a figure or a table that was measured says where"
        return
    name, label = re.fullmatch(r":ref:`(plot_\w+\.py) <sphx_glr_auto_examples_(.+)>`", row.example).groups()
    assert name == label and (ROOT / "examples" / name).is_file()


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_verdict_begins_with_one_of_the_words_that_the_page_explains(row):
    words = re.findall(r"^- \*\*(.+?)\*\*: ", PAGE, re.MULTILINE)
    assert len(words) == 6
    assert row.verdict.startswith(tuple(words)) and row.verdict.endswith(".")


def test_every_example_of_a_paper_and_every_theorem_here_is_on_the_map():
    for path in (ROOT / "examples").glob("plot_*_20??*.py"):
        assert f"`{path.name} <" in PAGE
    on_the_map = {name for row in ROWS for name in row.names}
    for room in pkgutil.iter_modules(sklearn_dprank.theory.__path__, "sklearn_dprank.theory."):
        for name, thing in inspect.getmembers(import_module(room.name), inspect.isfunction):
            if thing.__module__ == room.name and not name.startswith("_"):
                assert f"{room.name}.{name}" in on_the_map
