"""The quickstart prints the right values, and the user guide's examples run."""

import builtins
import doctest
import os
import re
import runpy
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
DATA = os.environ.get("SKLEARN_DPRANK_DATA")
QUICKSTART = ROOT / "examples" / "plot_quickstart.py"


@pytest.fixture
def quickstart(tmp_path, monkeypatch, capsys):
    """Return a function that runs the example in an empty folder and returns its variables, and its table as printed.

    The table is a list of (method, privacy, consensus, distance).
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    plt = pytest.importorskip("matplotlib.pyplot")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", [str(QUICKSTART), *map(str, arguments)])
        made = runpy.run_path(str(QUICKSTART))
        return made, table(capsys.readouterr().out)

    yield run
    plt.close("all")


def table(printed):
    """Return what was printed as a list of (method, privacy, consensus, distance)."""
    blocks = re.findall(
        r"^(\w+), (.*)\n  consensus: (.*)\n  distance:  (0\.\d{4}) \(NOT private\)$", printed, flags=re.MULTILINE
    )
    return [(method, privacy, order.split(" > "), float(distance)) for method, privacy, order, distance in blocks]


def test_bundled_example(quickstart):
    made, rows = quickstart()
    assert (made["profile"].n_voters, made["profile"].n_items) == (8, 5)
    (borda, kemeny, *private) = rows
    assert borda == ("Borda", "not private", list("ECDAB"), 0.4)
    assert kemeny in [("Kemeny", "not private", list(order), 0.375) for order in ("ECBDA", "ECBAD")]
    assert [(method, privacy) for method, privacy, *_ in private] == [
        ("DPBorda", f"epsilon = {epsilon} (central, add_remove)") for epsilon in ("0.01", "0.1", "1", "10")
    ]
    for estimator, (*_, order, distance) in zip(made["private"], private, strict=True):
        assert order == estimator.consensus_.tolist() and sorted(order) == list("ABCDE")
        assert 0.375 <= distance <= 0.625  # the reverse of an optimum is the worst
        assert estimator.random_state is None and estimator.privacy_.certified


def test_picture(quickstart, tmp_path):
    display = quickstart()[0]["display"]
    assert (tmp_path / "quickstart.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert display.floor == pytest.approx(0.375)
    (errors,) = display.errors.values()
    assert errors.shape == (13, 40) and errors.min() >= 0.375 - 1e-12
    assert errors[0].mean() == pytest.approx(0.5, abs=0.05)  # noise alone
    assert errors[-1].mean() < 0.41


def test_own_file_against_brute_force(quickstart, tmp_path):
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

    rows = quickstart(path)[1]
    assert rows[1][0] == "Kemeny"
    assert rows[1][3] == pytest.approx(min(map(distance, permutations((1, 2, 3, 4)))), abs=5e-5)
    for *_, order, found in rows:
        assert found == pytest.approx(distance([int(item) for item in order]), abs=5e-5)


def test_a_file_of_preflib_by_name(quickstart, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    (tmp_path / "preflib").mkdir()
    (tmp_path / "preflib" / "00024-00000001.soi").write_text("# NUMBER ALTERNATIVES: 3\n5: 2,3\n1: 1\n")
    rows = quickstart("--download", "00024-00000001.soi", "last")[1]
    assert rows[1] == ("Kemeny", "not private", ["2", "3", "1"], round(2 / 18, 4))


def test_incomplete_file_needs_a_word(quickstart, tmp_path):
    path = tmp_path / "top.soi"
    path.write_text("# NUMBER ALTERNATIVES: 3\n5: 2,3\n1: 1\n")
    with pytest.raises(ValueError, match="unranked='last'"):
        quickstart(path)
    assert quickstart(path, "last")[1][1] == ("Kemeny", "not private", ["2", "3", "1"], round(2 / 18, 4))


def test_without_matplotlib_only_the_picture_is_missing(quickstart, capsys, tmp_path, monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install \"sklearn-dprank\[plot\]\""):
        quickstart()
    assert len(table(capsys.readouterr().out)) == 6
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")
@pytest.mark.parametrize(
    ("name", "borda", "kemeny"),
    [
        ("sushi.soc", (0.3424, [8, 3, 1, 6, 2, 5, 9, 4, 7, 10]), (0.3420, [8, 3, 6, 1, 2, 5, 4, 9, 7, 10])),
        ("00024-00000001.soc", (0.4075, [1, 2, 3, 4]), (0.4075, [1, 2, 3, 4])),
        ("00025-00000001.soc", (0.3892, [1, 2, 3, 4]), (0.3892, [1, 2, 3, 4])),
    ],
)
def test_real_files(quickstart, name, borda, kemeny):
    made, rows = quickstart(Path(DATA, name))
    items = made["profile"].item_names
    for (*_, order, distance), (expected, numbers) in zip(rows[:2], (borda, kemeny), strict=True):
        assert distance == expected
        assert order == [items[number - 1] for number in numbers]
    assert np.mean([distance for *_, distance in rows[-2:]]) < borda[0] + 0.001  # epsilon 1 and 10


PAGES = [page for room in ("user_guide", "extending") for page in sorted((ROOT / "docs" / room).glob("*.rst"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_user_guide(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert failed == 0
