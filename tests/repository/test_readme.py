"""README is short, its example and its commands run, and its links and its numbers agree with the package."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

import sklearn_dprank
from sklearn_dprank.cli import main as dprank

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(marker, language):
    """Return the one code block that follows `<!-- marker -->`."""
    (found,) = re.findall(rf"<!-- {marker} -->\n```{language}\n(.*?)```", README, flags=re.DOTALL)
    return found


@pytest.mark.usefixtures("closed_pictures")
def test_example_prints_what_readme_prints_and_draws_a_picture(capsys, tmp_path, monkeypatch, is_picture):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    code = block("example", "python").replace("DPBorda(epsilon=1.0)", "DPBorda(epsilon=1.0, random_state=0)")
    exec(compile(code, "README.md", "exec"), {})
    (printed,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    assert capsys.readouterr().out.replace("; simulation only: a seed was given", "") == printed
    assert is_picture(tmp_path / "ranking.png")
    landing = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8").replace("\n   ", "\n")
    assert block("example", "python") in landing and printed in landing


def test_other_examples():
    (example,) = re.findall(r"```python\n(>>> .*?)```", README, flags=re.DOTALL)
    parsed = doctest.DocTestParser().get_doctest(example, {}, "README", "README.md", 0)
    assert doctest.DocTestRunner().run(parsed).failed == 0


def test_relative_links_show_their_path_because_a_package_index_does_not_follow_them():
    links = re.findall(r"(?<!!)\[([^]]+)\]\((?!https?:|#)([^)]+)\)", README)
    assert len(links) > 9 and [text for text, target in links if text not in target] == []


RATINGS, POSITIONS = "tea,coffee,milk\n5,3,1\n4,4,\n", "tea,coffee,milk\n1,2,3\n2,1,\n"
#: A file for each row of README's table of layouts.
FILES = {
    "ratings, larger is better": RATINGS,
    "ratings in words, worst first": "tea,coffee\nagree,neutral\ndisagree,agree\n",
    "positions, 1 is best": POSITIONS,
    "item names, best first, no first row": "tea,coffee,milk\ncoffee,milk,tea\n",
    "columns of choices, best first": "1st,2nd\ncoffee,milk\ntea,\n",
    "one row for several equal ballots": "rank1,rank2,Count\ncoffee,milk,60\ntea,,40\n",
    "one rating a row: user, item, stars": "user,item,stars\na,tea,3\na,milk,5\nb,coffee,1\n",
    "one comparison a row: winner, loser": "winner,loser,judge\ntea,milk,a\ncoffee,milk,b\n",
    "a [PrefLib](https://preflib.org) file": None,
    "answers that mean none": "tea,coffee,milk\n1,99,3\nDon't know,1,2\n",
    "empty cells: no opinion": POSITIONS,
    "empty cells: ranked last": POSITIONS,
    "columns that are not items": "age,tea,coffee,milk\n30,1,2,3\n40,2,1,3\n",
    "several rows of one person": "email,tea,coffee\na,1,2\nb,2,1\na,1,2\n",
}
LAYOUTS = dict(re.findall(r"^\| (.+?) \| (`--.+?`|none) \| .+ \|$", README, flags=re.MULTILINE))


@pytest.mark.parametrize("layout", FILES)
def test_layouts(layout, tmp_path, capsys, monkeypatch):
    """A file of each layout is ranked with the options in the table."""
    options = [] if LAYOUTS[layout] == "none" else shlex.split(LAYOUTS[layout].strip("`"))
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("tea\ncoffee\nmilk\n", encoding="utf-8")
    if not {"--ratings", "--positions", "--orders", "--choices", "--comparisons"} & {*options} and FILES[layout]:
        options += ["--ratings"] + ["--items", "all"] * ("--items" not in options)
    path = ROOT / "sklearn_dprank" / "datasets" / "data" / "hay2017_figure1.soc"
    if FILES[layout]:
        path = tmp_path / "survey.csv"
        path.write_text(FILES[layout], encoding="utf-8")
    assert dprank(["rank", str(path), "--epsilon", "1", *options]) == 0
    assert "epsilon = 1" in capsys.readouterr().out.lower()


def test_command_for_a_file(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^dprank (.*)$", README, flags=re.MULTILINE)
    Path("survey.csv").write_text(RATINGS, encoding="utf-8")
    (budget,) = re.findall(r"`(--budget .+?)`", README)
    assert dprank(shlex.split(f"{command} {budget}")) == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"ranking.png", "report.html"}
    (command,) = re.findall(r"`dprank (recommend .+?)`", README)
    assert dprank(shlex.split(command)) == 0


def test_versions_agree():
    version = sklearn_dprank.__version__
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
