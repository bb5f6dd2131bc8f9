"""The quickstart's table has the right values, and the user guide's examples run."""

import doctest
import importlib.util
import os
import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
DATA = os.environ.get("SKLEARN_DPRANK_DATA")


@pytest.fixture
def quickstart(tmp_path, monkeypatch):
    """Return the example as a module, to be run in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    spec = importlib.util.spec_from_file_location("plot_quickstart", ROOT / "examples" / "plot_quickstart.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    if importlib.util.find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        plt.close("all")


def rows(printed):
    """Return the table: {method: (distance, excess, privacy, consensus)}."""
    lines = re.findall(r"^(\w.*?)  +(\d\.\d{6})  +(\d\.\d{6})  +(.*?)  +(\S.*)$", printed, flags=re.MULTILINE)
    return {name: (float(distance), float(excess), privacy, order) for name, distance, excess, privacy, order in lines}


def test_bundled_example(quickstart, capsys):
    quickstart.main([])
    printed = capsys.readouterr().out
    table = rows(printed)
    assert "8 ballots, 5 items" in printed
    assert table["Borda"] == (0.4, 0.025, "not private", "E > C > D > A > B")
    assert table["Kemeny"][:3] == (0.375, 0.0, "not private")
    assert table["Kemeny"][3] in ("E > C > B > D > A", "E > C > B > A > D")
    private = [name for name in table if name.startswith("DPBorda")]
    assert len(private) == 4
    for name in private:
        epsilon = float(re.search(r"epsilon=(.*)\)", name)[1])
        distance, excess, privacy, order = table[name]
        assert privacy == f"epsilon = {epsilon:g} (central, add_remove)"
        assert excess == pytest.approx(distance - 0.375)
        assert 0 <= excess <= 0.25  # the reverse of an optimum is the worst, at .625
        assert sorted(order.split(" > ")) == ["A", "B", "C", "D", "E"]


def test_totals_and_warning(quickstart, capsys):
    quickstart.main([])
    printed = capsys.readouterr().out
    assert re.search(r"^total if all released +not private$", printed, flags=re.MULTILINE)
    assert re.search(r"^the same, DPBorda only +epsilon = 11.11 \(central, add_remove\)$", printed, flags=re.MULTILINE)
    assert "NOT private" in printed


def test_own_file_against_brute_force(quickstart, capsys, tmp_path):
    orders = [(3, (3, 1, 2, 4)), (2, (1, 2, 4, 3)), (4, (2, 4, 3, 1))]
    path = tmp_path / "own.soc"
    lines = ["# NUMBER ALTERNATIVES: 4", *(f"{n}: {','.join(map(str, order))}" for n, order in orders)]
    path.write_text("\n".join(lines))

    def distance(consensus):
        return sum(
            n * (consensus.index(a) > consensus.index(b))
            for n, order in orders
            for i, a in enumerate(order)
            for b in order[i + 1 :]
        ) / (9 * 6)

    quickstart.main([str(path)])
    table = rows(capsys.readouterr().out)
    best = min(map(distance, permutations((1, 2, 3, 4))))
    assert table["Kemeny"][:2] == (pytest.approx(best, abs=1e-6), 0.0)
    for found, excess, _, order in table.values():
        assert found == pytest.approx(distance([int(item) for item in order.split(" > ")]), abs=1e-6)
        assert excess == pytest.approx(found - best, abs=2e-6)


def test_long_names_become_numbers(quickstart, capsys, tmp_path):
    path = tmp_path / "long.soc"
    names = [f"# ALTERNATIVE NAME {i}: {'very ' * 5}long name {i}" for i in (1, 2, 3)]
    path.write_text("\n".join(["# NUMBER ALTERNATIVES: 3", *names, "5: 2,3,1"]))
    quickstart.main([str(path)])
    printed = capsys.readouterr().out
    assert rows(printed)["Borda"][3] == "2 > 3 > 1"
    assert "Items: 1 very very" in printed


def test_incomplete_file_needs_unranked(quickstart, capsys, tmp_path):
    path = tmp_path / "top.soi"
    path.write_text("# NUMBER ALTERNATIVES: 3\n5: 2,3\n1: 1\n")
    with pytest.raises(SystemExit):
        quickstart.main([str(path)])
    assert "--unranked last" in capsys.readouterr().err
    quickstart.main([str(path), "--unranked", "last"])
    assert rows(capsys.readouterr().out)["Kemeny"][3] == "2 > 3 > 1"


def test_picture_or_how_to_get_it(quickstart, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(quickstart, "find_spec", lambda name: None)
    quickstart.main([])
    printed = capsys.readouterr().out
    assert 'python -m pip install ".[plot]"' in printed and "Borda" in rows(printed)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    quickstart.main([])
    assert (tmp_path / "quickstart.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_arguments_of_the_caller_are_left_alone(quickstart, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["plot_quickstart.py"])  # as sphinx-gallery runs it
    quickstart.main()
    assert "Figure 1" in capsys.readouterr().out


@pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")
@pytest.mark.parametrize(
    ("name", "borda", "kemeny", "optimum"),
    [
        ("sushi.soc", (0.342382, [8, 3, 1, 6, 2, 5, 9, 4, 7, 10]), [8, 3, 6, 1, 2, 5, 4, 9, 7, 10], 0.341991),
        ("00024-00000001.soc", (0.407547, [1, 2, 3, 4]), [1, 2, 3, 4], 0.407547),
        ("00025-00000001.soc", (0.389239, [1, 2, 3, 4]), [1, 2, 3, 4], 0.389239),
    ],
)
def test_real_files(quickstart, capsys, name, borda, kemeny, optimum):
    path = Path(DATA, name)
    quickstart.main([str(path)])
    table = rows(capsys.readouterr().out)
    assert (table["Borda"][0], table["Kemeny"][0]) == (borda[0], optimum)
    fitted = quickstart.fit_all(quickstart.read_preflib(path).profile)
    assert (np.argsort(fitted["Borda"].ranks_) + 1).tolist() == borda[1]
    assert (np.argsort(fitted["Kemeny"].ranks_) + 1).tolist() == kemeny


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "user_guide").glob("*.rst")), ids=lambda page: page.stem)
def test_user_guide(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert failed == 0
