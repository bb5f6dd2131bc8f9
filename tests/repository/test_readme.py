"""README is short, its example and its commands run, and its links and its numbers agree with the package."""

import doctest
import re
from pathlib import Path

import pytest

import sklearn_dprank
from sklearn_dprank.cli import main as dprank

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LANDING = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
CHOOSING = (ROOT / "docs" / "user_guide" / "choosing.rst").read_text(encoding="utf-8")
COMMANDS = [
    ("command: run", 'python -m pip install ".[plot]"', "python -m sklearn_dprank rank --example"),
    ("command: test", 'python -m pip install -e ".[test]"', 'python -m pytest -n auto -m "not slow"'),
]


def block(marker, language):
    """Return the one code block that follows `<!-- marker -->`."""
    (found,) = re.findall(rf"<!-- {marker} -->\n```{language}\n(.*?)```", README, flags=re.DOTALL)
    return found


def printed():
    """Return the output of the example."""
    (found,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    return found


def test_three_minutes_to_read():
    """At 300 words a minute, without code, tables and comments."""
    prose = re.sub(r"```.*?```|<!--.*?-->|^\|.*?$", "", README, flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) <= 900


def run_example(capsys, parameters):
    """Return what the example prints with these parameters of `DPBorda`."""
    pytest.importorskip("pandas")
    code = block("example", "python").replace("DPBorda(epsilon=1.0)", f"DPBorda({parameters})")
    exec(compile(code, "README.md", "exec"), {})
    return capsys.readouterr().out


def test_example_prints_what_readme_prints(capsys):
    assert len(block("example", "python").splitlines()) <= 12
    assert "DPBorda(epsilon=1.0)" in block("example", "python")
    found = run_example(capsys, "epsilon=1.0, random_state=0")
    assert found.replace("; simulation only: a seed was given", "") == printed()


def test_example_without_a_seed_prints_the_same_form(capsys):
    found = run_example(capsys, "epsilon=1.0")
    assert re.sub(r"\d to \d", "1 to 1", found) == re.sub(r"\d to \d", "1 to 1", printed())


def test_other_examples():
    (example,) = re.findall(r"```python\n(>>> .*?)```", README, flags=re.DOTALL)
    parsed = doctest.DocTestParser().get_doctest(example, {}, "README", "README.md", 0)
    assert doctest.DocTestRunner().run(parsed).failed == 0


def test_landing_page_has_the_same_example():
    pages = (README, LANDING.replace("\n   ", "\n"))
    for text in (block("example", "python"), printed(), block("command: run", "bash")):
        assert all(text in page for page in pages)


@pytest.mark.parametrize(("marker", "install", "job"), COMMANDS)
def test_two_commands(marker, install, job):
    assert block(marker, "bash") == f"{install} && {job}\n"
    assert len(re.findall(r"<!-- command: ", README)) == len(COMMANDS)


@pytest.mark.parametrize("command", ["rank", "recommend"])
def test_options_exist(command, capsys):
    """Every option in README is one of the command that it is given to."""
    with pytest.raises(SystemExit):
        dprank([command, "--help"])
    known = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
    code = [each for each in re.findall(r"`([^`]+)`", README) if not each.startswith(("python", "pip"))]
    named = {option for each in code if "--" in each for option in re.findall(r"--[\w-]+", each)}
    of_recommend = set(re.findall(r"--[\w-]+", " ".join(each for each in code if each.startswith("dprank recommend"))))
    assert named
    assert (of_recommend if command == "recommend" else named - of_recommend) <= known


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_into_the_tree(path):
    assert (ROOT / path).is_file()


def test_voters_needed_are_those_of_the_guide():
    """For 10 items and epsilon = 1: the first row of the guide's table that has the estimator."""
    rows = re.findall(r"^\| .* \| `(\w+)\((?:k=3, )?epsilon=1.0\)` \| ([\d,]+) \|$", README, flags=re.MULTILINE)
    assert len(rows) == 5
    guide = re.findall(r"^   [\w, ]+ \| 10 \| \S+ \| \S+ \| (\S+) \| \S+ \| (.+)$", CHOOSING, flags=re.MULTILINE)
    for name, voters in rows:
        if name != "DPTopK":
            assert next(needed for needed, names in guide if f".{name}`" in names) == voters


@pytest.mark.slow
def test_voters_needed_for_the_winners(example):
    (voters,) = re.findall(r"`DPTopK\(k=3, epsilon=1.0\)` \| ([\d,]+) \|", README)
    (percent,) = re.findall(r"`DPTopK` then misses (\d+) % of the best three", README)
    missed, noise = example("how_many_voters").simulated_error(
        sklearn_dprank.DPTopK(3, epsilon=1.0), 10, int(voters), n_electorates=60, k=3
    )
    assert missed.mean() == pytest.approx(float(percent), abs=3 * noise.mean() / 3**0.5)


def test_versions_agree():
    version = sklearn_dprank.__version__
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
