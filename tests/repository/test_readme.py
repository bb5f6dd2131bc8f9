"""What README says is true: its example, its table of estimators, its two commands, its version."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

import sklearn_dprank

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LANDING = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")


def block(marker, language):
    """Return the one code block that follows `<!-- marker -->`."""
    (found,) = re.findall(rf"<!-- {marker} -->\n```{language}\n(.*?)```", README, flags=re.DOTALL)
    return found


def test_example_prints_what_readme_prints(capsys):
    pytest.importorskip("pandas")
    code = block("example", "python")
    assert len(code.splitlines()) <= 12
    exec(compile(code, "README.md", "exec"), {})
    (printed,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    assert capsys.readouterr().out == printed


def test_landing_page_has_the_same_example():
    pages = (README, LANDING.replace("\n   ", "\n"))
    (printed,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    for text in (block("example", "python"), printed, block("command: run", "bash")):
        assert all(text in page for page in pages)


def test_the_guide_has_the_same_numbers_of_voters():
    """Of README's table, 10 items at an epsilon of one half."""
    guide = (ROOT / "docs" / "user_guide" / "choosing.rst").read_text(encoding="utf-8")
    rows = [row.split("|")[1:] for row in README.splitlines() if re.match(r"\| \w.* \| 10 \| ", row)]
    assert [row[4].strip() for row in rows] == re.findall(r"^     - ([\d,]+)$", guide, flags=re.MULTILINE)[:4]


@pytest.mark.slow
def test_devices_report(capsys):
    pytest.importorskip("pandas")
    (code,) = re.findall(r"```python\n(import json\n.*?)```", README, flags=re.DOTALL)
    exec(compile(block("example", "python") + code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()[-1]
    assert sorted(re.findall(r"'(\w+)'", printed)) == ["coffee", "juice", "milk", "tea", "water"]


def test_table_has_every_estimator_and_says_which_are_missing():
    rows = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", README, flags=re.MULTILINE)
    assert len(dict(rows)) == len(rows) == 27
    there = {name for name, status in rows if not status.strip()}
    assert there == set(sklearn_dprank.__all__)
    assert {status.strip() for name, status in rows if name not in there} <= {"not there yet"}


@pytest.mark.parametrize(
    ("marker", "install", "job"),
    [
        ("command: run", 'python -m pip install ".[plot]"', "python -m sklearn_dprank compare"),
        ("command: test", 'python -m pip install -e ".[test]"', 'python -m pytest -n auto -m "not slow"'),
    ],
)
def test_two_commands(marker, install, job):
    assert block(marker, "bash") == f"{install} && {job}\n"
    assert len(re.findall(r"<!-- command: ", README)) == 2


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_into_the_tree(path):
    assert (ROOT / path).is_file()


@pytest.mark.slow
def test_how_many_voters():
    """The table is what `recommend` says, printed by an example."""
    script = ROOT / "examples" / "how_many_voters.py"
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.readme_table().strip() in README
    (example,) = re.findall(r"```python\n(>>> .*?)```", README, flags=re.DOTALL)
    parsed = doctest.DocTestParser().get_doctest(example, {}, "README", "README.md", 0)
    assert doctest.DocTestRunner().run(parsed).failed == 0


def test_versions_agree():
    version = sklearn_dprank.__version__
    assert f"version = {{{version}}}" in README
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
