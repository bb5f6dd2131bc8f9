"""The page "Map of the papers" is complete, and the functions, tests and examples that it names exist."""

import inspect
import pkgutil
import re
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import sklearn_dprank.theory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "user_guide" / "papers.rst").read_text(encoding="utf-8")
BOUNDS = (ROOT / "docs" / "user_guide" / "bounds.rst").read_text(encoding="utf-8")

# The numbered items of each paper. Only equations on which a statement, an algorithm or a measure depends are listed.
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
    """One row of a table of the page."""

    paper: str
    number: str
    here: str
    tests: str
    example: str
    verdict: str

    @property
    def title(self):
        """The paper and the number, for messages of failures."""
        return f"{self.paper}, {self.number}"

    @property
    def names(self):
        """Dotted names of the functions and classes: the text in angle brackets, or else in the backticks."""
        quoted = re.findall(r"(?<!`)`([^`]+)`(?!`)", self.here)
        return [re.sub(r".*<(.+)>$", r"\1", text).removeprefix("~") for text in quoted]


def rows_of(paper):
    """Return the rows of the table of one paper, without its header."""
    section = PAGE.split(f"\n{paper}\n{'-' * len(paper)}\n")[1].split("\n---")[0]
    rows = []
    for text in section.split("\n   * - ")[1:]:
        cells = re.split(r"\n     - ", text.split("\n\n")[0])  # a blank line ends the table
        rows.append(Row(paper, *(" ".join(cell.split()) for cell in cells)))
    assert rows.pop(0)[1:] == ("In the paper", "Here", "Tests", "Example", "Verdict")
    return rows


ROWS = [row for paper in NUMBERED for row in rows_of(paper)]


def resolved(name):
    """Return the module, class, function or attribute with a dotted name."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[cut:], thing)
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("paper", NUMBERED)
def test_everything_that_a_paper_numbers_has_one_row(paper):
    numbered = {f"{kind} {number}" for kind, numbers in NUMBERED[paper].items() for number in numbers.split()}
    there = [row.number for row in ROWS if row.paper == paper]
    assert len(set(there)) == len(there)
    assert {number for number in there if not number.startswith(("Section", "Footnote"))} == numbered


def test_functions_and_classes_exist():
    for row in ROWS:
        assert row.names, row.title
        for name in row.names:
            assert name.startswith("sklearn_dprank."), f"{row.title}: {name}"
            try:
                resolved(name)
            except (AttributeError, ModuleNotFoundError):
                pytest.fail(f"{row.title} names {name}, which does not exist.")


def test_tests_exist():
    for row in ROWS:
        tests = re.findall(r"``([\w/.]+)::(\w+)``", row.tests)
        assert tests, row.title
        assert re.sub(r"``[\w/.]+::\w+``|, ", "", row.tests) == "", f"{row.title}: only tests belong in this cell"
        for file, name in tests:
            text = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert re.search(rf"^def {name}\(", text, re.MULTILINE), f"{row.title}: {file} does not contain {name}"


def test_examples_exist_and_measured_figures_and_tables_have_one():
    for row in ROWS:
        if row.example == "–":
            measured = row.number.startswith(("Figure", "Table")) and not row.verdict.startswith("–")
            assert not measured, f"{row.title}: name the example that measures this"
            continue
        link = re.fullmatch(r":ref:`(plot_\w+\.py) <sphx_glr_auto_examples_(.+)>`", row.example)
        assert link, f"{row.title}: {row.example}"
        name, label = link.groups()
        assert name == label, row.title
        assert (ROOT / "examples" / name).is_file(), f"{row.title}: {name}"


def test_verdicts_begin_with_a_word_that_the_page_explains():
    words = re.findall(r"^- \*\*(.+?)\*\*: ", PAGE, re.MULTILINE)
    assert words == ["Held", "Failed", "In part", "Not enough power"]
    for row in ROWS:
        assert re.match(rf"({'|'.join(words)})(: |\.$)|– ", row.verdict), f"{row.title}: {row.verdict}"
        assert row.verdict.endswith("."), f"{row.title}: {row.verdict}"


def test_every_example_of_a_paper_is_on_the_page():
    for path in (ROOT / "examples").glob("plot_*_20??*.py"):
        assert f"`{path.name} <" in PAGE, path.name


def test_every_public_function_of_theory_is_on_the_page():
    on_the_page = {name for row in ROWS for name in row.names}
    for module in pkgutil.iter_modules(sklearn_dprank.theory.__path__, "sklearn_dprank.theory."):
        if module.name.endswith(".cheu"):
            continue  # cited by the page about trust models, and not reproduced
        for name, thing in inspect.getmembers(import_module(module.name), inspect.isfunction):
            if thing.__module__ == module.name and not name.startswith("_"):
                if module.name.endswith(".peeling"):  # a mechanism of this package, without a paper
                    assert f"`~{module.name}.{name}`" in BOUNDS
                else:
                    assert f"{module.name}.{name}" in on_the_page
