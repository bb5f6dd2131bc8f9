"""The quickstart prints the right values, and the user guide's examples run."""

import doctest
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "examples" / "plot_quickstart.py"


@pytest.fixture
def quickstart(tmp_path, monkeypatch, capsys):
    """The variables of the example, run in an empty folder, and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield runpy.run_path(str(QUICKSTART)), capsys.readouterr().out
    plt.close("all")


@pytest.mark.slow
def test_quickstart(quickstart):
    made, printed = quickstart
    best, private = made["best"], made["private"]
    assert best.consensus_.tolist() == ["ramen", "pho", "mole", "dal", "laksa", "paella", "shakshuka", "pierogi"]
    assert "not private: ramen pho mole dal laksa paella shakshuka pierogi\n" in printed
    assert f"private:     {' '.join(private.consensus_)}\n" in printed
    assert private.privacy_.statement() in printed and private.privacy_.certified
    assert len(re.findall(r" net wins, rank [1-8] to [1-8]$", printed, flags=re.MULTILINE)) == 8
    assert private.random_state is None
    code = [line for line in QUICKSTART.read_text().split('"""')[2].splitlines() if line and line[0] != "#"]
    assert len(code) <= 30


def test_each_example_is_run_by_a_test():
    """Each file in the folder, or its folder, is loaded by its name."""
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = re.compile(r"""["'](plot_\w+|run_\w+|perl_device|small_poll|web_poll)(?:\.p[ly])?["']""")
    there = {path.stem for path in (ROOT / "examples").iterdir() if path.name[0] not in "_."} - {"README"}
    assert there <= set(named.findall(tests))


PAGES = [page for room in ("user_guide", "extending") for page in sorted((ROOT / "docs" / room).glob("*.rst"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_user_guide(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert failed == 0
