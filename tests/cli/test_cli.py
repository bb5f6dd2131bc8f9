"""The command: files of every layout give one consensus, what is ambiguous is refused, and what is printed is true."""

import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from process_tools import ROOT

from sklearn_dprank import Borda, DPBorda
from sklearn_dprank.cli import main
from sklearn_dprank.datasets import make_comparisons, make_mallows
from sklearn_dprank.model_selection import recommend
from sklearn_dprank.privacy import PrivacyBudget

RATED, PLACED = ["--ratings", "--items", "all"], ["--positions", "--unranked", "no_opinion", "--items", "all"]
NAMES = ["tea", "coffee", "water", "juice"]
VOTES = make_mallows(800, 4, 0.3, center=[2, 0, 3, 1], random_state=0)
BEST_FIRST = ["coffee", "juice", "tea", "water"]
LARGE = ["--epsilon", "50"]


def write(path, rows, header=NAMES):
    lines = [",".join(map(str, row)) for row in [*([header] if header else []), *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def orders(votes):
    return [[NAMES[item] for item in np.argsort(vote)] for vote in votes]


@pytest.fixture
def run(capsys):
    def run_it(*arguments):
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert (status == 2) == bool(err)
        return err if status else out

    return run_it


@pytest.fixture
def printed(run):
    return lambda *arguments: json.loads(run(*arguments, "--format", "json"))


def preflib(path):
    distinct, counts = np.unique(VOTES, axis=0, return_counts=True)
    lines = [f"# ALTERNATIVE NAME {i + 1}: {name}" for i, name in enumerate(NAMES)]
    lines = ["# NUMBER ALTERNATIVES: 4", "# DATA TYPE: soc", f"# NUMBER VOTERS: {len(VOTES)}", *lines]
    for vote, count in zip(distinct, counts, strict=True):
        lines.append(f"{count}: {','.join(str(item + 1) for item in np.argsort(vote))}")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("layout", ["ratings", "positions", "orders", "preflib"])
def test_every_layout_gives_the_same_consensus(layout, tmp_path, printed):
    path = tmp_path / "votes.csv"
    arguments = {
        "ratings": lambda: [write(path, 9 - VOTES), *RATED],
        "positions": lambda: [write(path, VOTES), *PLACED],
        "orders": lambda: [write(path, orders(VOTES), None), "--orders", "--items", ",".join(NAMES)],
        "preflib": lambda: [preflib(tmp_path / "votes.soc")],
    }[layout]()
    assert printed("rank", *arguments, *LARGE)["consensus"] == BEST_FIRST


def test_printed_release_matches_the_estimator(tmp_path, run, printed):
    path = write(tmp_path / "votes.csv", VOTES)
    made = printed("rank", path, *PLACED, "--epsilon", "0.5", "--neighboring", "replace", "--level", "0.9999999")
    assert made["privacy"]["epsilon"] == 0.5 and made["privacy"]["neighboring"] == "replace"
    assert made["privacy"]["certified"] and not made["privacy"]["caveats"]
    said = DPBorda(0.5, neighboring="replace").fit(VOTES).privacy_.statement(width=None)
    assert made["privacy"]["statement"] == said.splitlines()
    true = dict(zip(NAMES, (Borda().fit(VOTES).ranks_ + 1).tolist(), strict=True))
    assert all(best <= true[name] <= worst for name, (best, worst) in made["intervals"].items())
    text = run("rank", path, *PLACED, *LARGE)
    assert text.splitlines()[1].split()[:2] == ["1", "coffee"] and "1 to 1" in text and "Epsilon = 50" in text


def test_a_comparison_leaves_out_what_counts_one_report_a_voter(tmp_path, run):
    pytest.importorskip("matplotlib")
    rows = [[f"p{k // 2}", *vote] for k, vote in enumerate(VOTES[:60].tolist())]
    path = write(tmp_path / "votes.csv", rows, ["who", *NAMES])
    common = ["compare", path, "--public", *PLACED, "--person", "who", "--trials", "1", "--epsilons", "1"]
    common += ["--picture", tmp_path / "compare.png"]
    said = run(*common)
    assert "LDPPairwise and ShufflePairwise cannot be compared on ballots like" in said and "DPSwissBorda" in said
    assert "take neither persons nor weights; leave them out." in run(*common, "--estimators", "DPBorda", "LDPPairwise")


def test_weights_decide_up_to_their_bound(tmp_path, printed):
    """Ten people with weight 1 against one with weight 100, who decides alone unless the bound is small."""
    rows = [[f"p{i}", 1, 0, 1, 2, 3] for i in range(10)] + [["p10", 100, 3, 2, 1, 0]]
    path = write(tmp_path / "votes.csv", rows, ["who", "w", *NAMES])
    common = ["rank", path, *PLACED, "--weight", "w", "--epsilon", "500", "--max-weight"]
    made = printed(*common, "100", "--person", "who")
    assert made["consensus"] == NAMES[::-1] and made["privacy"]["unit"] == "all ballots of one person"
    made = printed(*common, "2", "--items", ",".join(NAMES))
    assert made["consensus"] == NAMES and made["privacy"]["unit"] == "one ballot"


def test_short_ballots_have_a_public_bound(tmp_path, printed, run):
    rows = [["", 1, 0, ""], [0, "", "", 1]] * 30
    path = write(tmp_path / "votes.csv", rows, NAMES)
    common = ["rank", path, *PLACED, "--epsilon", "1"]
    made, plain = printed(*common, "--max-listed", "2"), printed(*common)
    assert made["max_listed"] == 2 and "max_weight" not in made and "max_listed" not in plain
    assert made["privacy"]["how"].endswith("calibrated to ballots of at most 2 items (longer ones count less)")
    assert "Ballots that list more than 2 items count less." in run(*common, "--max-listed", "2")
    assert "--max-listed must be an integer of at least 2, got 1" in run(*common, "--max-listed", "1")
    last = run(*common, "--max-listed", "2", "--unranked", "last")
    assert "with --unranked last, every ballot lists all items." in last
    assert "PrefLib files do not take --max-listed" in run(
        "rank", preflib(tmp_path / "v.soc"), "--epsilon", "1", "--max-listed", "2"
    )


def test_a_recommendation_for_short_ballots_can_be_pasted(printed, run):
    common = ["recommend", "--items", "30", "--voters", "5000", "--epsilon", "1", "--max-listed", "2"]
    assert run(*common).endswith("Options for dprank rank: --epsilon 1.0 --max-listed 2\n")
    assert printed(*common)["rank_options"] == ["--epsilon", "1.0", "--max-listed", "2"]
    assert "--max-listed must be an integer of at least 2, got 0" in run(*common[:-1], "0")


def test_a_bound_on_weights_may_be_chosen_privately(tmp_path, printed, run):
    """200 persons with four rows each outvote 300 with one row, unless every person counts once."""
    rows = [[f"p{k % 200}", 3, 2, 1, 0] for k in range(800)] + [[f"q{k}", 0, 1, 2, 3] for k in range(300)]
    path = write(tmp_path / "votes.csv", rows, ["who", *NAMES])
    common = ["rank", path, *PLACED, "--person", "who", *LARGE]
    assert printed(*common)["consensus"] == NAMES and printed(*common)["max_weight"] == 1
    gaussian = ["--noise", "gaussian", "--delta", "1e-6"]
    for more in (gaussian, [*gaussian, "--estimator", "DPPairwise"], ["--estimator", "DPSwissBorda"]):
        made = printed(*common, "--max-weight", "auto", *more)
        assert made["consensus"] == NAMES[::-1] and made["max_weight"] >= 4  # noise alone chooses 8 in one percent
        assert made["privacy"]["unit"] == "all ballots of one person" and made["privacy"]["delta"] == 1e-6
    assert re.search(r"\nA person has at most the weight \d+\.\n", run(*common, "--max-weight", "auto", *gaussian))
    for more in ([], ["--noise", "gaussian"], ["--noise", "knorm"], ["--estimator", "DPPrudentOrder"], ["--top", "2"]):
        said = run(*common, "--max-weight", "auto", *more)
        assert "--max-weight auto needs Gaussian noise" in said or "--noise gaussian needs --delta > 0" in said
    by_segment = [*common, "--max-weight", "auto", "--segments", "kind", "--segment-values", "p,q"]
    write(tmp_path / "votes.csv", [[*row, row[0][0]] for row in rows], ["who", *NAMES, "kind"])
    made = printed(*by_segment)
    assert [each["consensus"] for each in made["segments"]] == [NAMES[::-1], NAMES] and made["max_weight"] >= 4
    assert abs(made["segments"][0]["size"] - 800) < 40 and abs(made["segments"][1]["size"] - 300) < 40
    assert "--max-weight auto needs Gaussian noise" in run(*by_segment, "--delta", "0")
    compared = run("compare", path, "--public", *PLACED, "--person", "who", "--max-weight", "auto")
    assert "--max-weight auto is for rank; give compare a number." in compared
    assert "invalid number_or_auto value: 'most'" in run(*common, "--max-weight", "most")


WHO, W = [*RATED, "--person", "who"], [*RATED, "--weight", "w", "--max-weight", "2"]
ORDERS = ["--orders", "--items", ",".join(NAMES)]


@pytest.mark.parametrize(
    ("rows", "header", "arguments", "message"),
    [
        ([[1, 2, 3, "x"]], NAMES, RATED, "votes.csv, line 2: column 'juice' must hold numbers"),
        ([[1, 2, 3, "x"]], [*NAMES[:3], "4"], ["--ratings", "--items", "tea,4"], "line 2: column 4 must hold numbers"),
        ([[1, 2, 3]], NAMES, RATED, "line 2: the row has more or fewer cells than the first row, 4; correct"),
        ([], ["tea"], RATED, "a row a voter"),
        (VOTES, NAMES, ["--ratings", "--items", "tea"], "a ranking needs at least two items, got 1"),
        ([[1, 2, 3, "1_0"]], NAMES, RATED, "column 'juice' must hold numbers"),
        ([[1, 2, "1e301", 4]], NAMES, RATED, "column 'water' must hold numbers (up to 1e+300)"),
        ([[1, 2, 3, "\u0661"]], NAMES, PLACED, "column 'juice' must hold numbers"),
        (VOTES[1:], VOTES[0].tolist(), PLACED, "the first row of votes.csv must name the items, but it holds"),
        ([[9, "NA", 8]], ["7", "NA", "n/a"], RATED, "or only numbers or gaps. If it is a ballot, put"),
        ([["p1", 3, 1]], ["p0", "2", "4"], WHO, "--person 'who' is none of the columns. Correct the spelling. If"),
        ([["a", 3, 1], [" ", 2, 1]], ["who", "x", "y"], WHO, "line 3: column 'who' has an empty cell; fill it"),
        ([["x" * 200_000, 3]], ["x", "y"], RATED, "line 2: this is not CSV (field larger than field limit"),
        (VOTES, NAMES, WHO, "--person 'who' is none of the columns; these are tea, coffee"),
        (VOTES, NAMES, [*RATED, "--weight", "tea"], "--weight needs --max-weight, a public bound"),
        (VOTES, NAMES, W, "--weight 'w' is none of the columns"),
        *(([[1, 2, weight]], ["x", "y", "w"], W, "line 2: column 'w' must hold weights") for weight in ("", "-1", "x")),
        (VOTES, NAMES, [*RATED, "--max-weight", "2"], "--max-weight is for --person or --weight"),
        ([["a", 1, 2]], ["who", "x", "y"], [*WHO, "--max-weight", "0"], "--max-weight must be a finite number above 0"),
        (orders(VOTES), None, [*ORDERS, "--max-weight", "2"], "use them with --ratings"),
        (VOTES, NAMES, ["--ratings", "--items", "tea,a"], "--items 'a' is none of the columns; these are tea, coffee"),
        (VOTES, ["tea", "rye", "tea ", "a"], ["--ratings", "--items", "rye, tea"], "--items 'tea' names 2 columns"),
        (VOTES, ["tea", "juice", "tea ", "a"], RATED, "columns 1 and 3 have the same name; rename one of them"),
        (VOTES, ["a b", "7", "8", "7"], RATED, "columns 2 and 4 have the same name; rename one of them"),
        (VOTES, NAMES, ["--ratings", "--items", "tea, juice,tea"], "--items must be distinct, and 'tea' stands twice"),
        (VOTES, ["", *NAMES[1:]], ["--ratings", "--items", "juice,"], "--items has an empty name; leave it out"),
        (VOTES, [" ", *NAMES[1:]], PLACED, "column 1 has no name. Copy this, and correct it: --items 'coffee"),
        (VOTES, [*NAMES[:3], "Unnamed: 12"], RATED, "column 4 has no name. Copy this, and correct it: --items 'tea"),
        (VOTES, ["User_ID", *NAMES[1:]], RATED, "column 'User_ID' does not look like an item"),
        (VOTES, NAMES, [*RATED, "--separator", ";"], "commas stand between its cells. Then run: dprank rank votes.csv"),
        ([[]], ["tea"], RATED, "--separator ';' or --separator tab"),
        (VOTES, NAMES, [*RATED, "--separator", ";;"], "--separator must be one character, or tab, got ';;'"),
        ([["tea", "mate"]], None, ORDERS, "votes.csv, line 1: cell 2 is not one of the 4 items in --items"),
        ([["tea", "tea"]], None, [*ORDERS, "--repeated", "error"], "votes.csv, line 1: the ballot lists an item twice"),
        (orders(VOTES), None, ["--orders"], "--orders needs --items"),
        (VOTES, NAMES, ["--orders", "--items", "a,b", "--person", "a"], "use them with --ratings or --positions"),
        ([["ann", "tea", 3]], ["who", "item", "stars"], WHO, "If each line is one rating, use --long."),
        (VOTES, NAMES, [*PLACED, "--top", "2", "--noise", "knorm"], "--top is a mechanism of its own"),
        (VOTES, NAMES, [*PLACED, "--estimator", "DPPrudentOrder", "--noise", "knorm"], "has no --noise"),
        (VOTES, NAMES, [*PLACED, "--budget", "no.sqlite"], "the budget file no.sqlite does not exist"),
        (VOTES, NAMES, [*PLACED, "--budget-epsilon", "1"], "say which file with --budget"),
    ],
)
def test_refusals(rows, header, arguments, message, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "votes.csv", rows, header)
    said = run("rank", "votes.csv", *arguments, "--epsilon", "1")
    assert said.startswith("dprank rank: ") and message in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfea\x00,\x00b", "votes.csv must have a first row with the names of at least two items"),
        (b"PK\x03\x04\xff" + bytes(9), "votes.csv cannot be read as Excel; it is cut, damaged or something else."),
        (b"tea,milk\n1,\xe9", "votes.csv, line 2: this is not UTF-8 text. Add --encoding cp1252 if the file is from"),
    ],
)
def test_binary_file_is_refused(content, message, tmp_path, run):
    (tmp_path / "votes.csv").write_bytes(content)
    assert message in run("rank", tmp_path / "votes.csv", *RATED, *LARGE)


def test_gzipped_files(tmp_path, run, printed):
    plain = Path(write(tmp_path / "votes.csv", VOTES)).read_bytes()
    path = tmp_path / "votes.csv.gz"
    path.write_bytes(gzip.compress(plain[:999]) + gzip.compress(plain[999:]))
    assert printed("rank", path, *PLACED, *LARGE)["consensus"] == BEST_FIRST
    damaged = gzip.compress(plain)
    for content in (damaged[:-9], damaged[:50], damaged[:50] + bytes(9) + damaged[59:], b"\x1f\x8b" + bytes(9)):
        path.write_bytes(content)
        assert "votes.csv.gz is not gzipped, or is cut or damaged; get it again." in run("rank", path, *PLACED, *LARGE)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(pack, tmp_path, run, printed, monkeypatch):
    def given(rows, header=NAMES):
        content = pack(Path(write(tmp_path / "votes.csv", rows, header)).read_bytes())
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    given(VOTES)
    assert printed("rank", "-", *PLACED, *LARGE)["consensus"] == BEST_FIRST
    if pack is bytes:  # the first bytes of lists may be those of a ballot
        given(orders(VOTES), None)
        assert printed("rank", "--orders", "-", "--items", ",".join(NAMES), *LARGE)["consensus"] == BEST_FIRST
    given([[1, 2, 3, "x"]])
    assert "standard input, line 2: column 'juice' must hold numbers" in run("rank", "-", *RATED, *LARGE)
    given(VOTES)
    assert "dprank rank - --epsilon 50 --items all\n    --ratings" in run("rank", "-", *LARGE)


def test_parquet_that_is_cut_or_empty_or_separated_or_holds_something_else(tmp_path, run):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "votes.parquet"
    arguments = ["rank", path, *RATED, "--unranked", "no_opinion", *LARGE]
    pd.DataFrame(VOTES, columns=NAMES).to_parquet(path)
    assert "--separator is for CSV files; leave it out." in run(*arguments, "--separator", ";")
    path.write_bytes(path.read_bytes()[:-9])
    assert "votes.parquet cannot be read as Parquet" in run(*arguments)
    path.write_bytes(b"")
    assert "votes.parquet cannot be read as Parquet" in run(*arguments)
    pd.DataFrame(index=range(3)).to_parquet(path)
    assert "must have a first row with the names of at least two items, and a row a voter.\n" in run(*arguments)
    for cell in (b"x", [1.0], "x", pd.Timestamp(0)):
        pd.DataFrame({"tea": [cell], "milk": [1]}).to_parquet(path)
        assert "column 'tea' must hold numbers" in run(*arguments)


def test_what_the_terminal_cannot_show_is_escaped(tmp_path, monkeypatch):
    """The account is charged by then, so the consensus must come out."""
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", shown)
    path = write(tmp_path / "votes.csv", [[0, 1]] * 99, ["café", "mate"])
    assert main(["rank", path, *PLACED, *LARGE]) == 0
    shown.flush()
    assert b"caf\\xe9" in shown.buffer.getvalue()


def test_other_columns_and_separators(tmp_path, printed):
    """An unlisted third column would win. A listed column may have any name."""
    rows = [[2, 1, 9]] * 60
    path = write(tmp_path / "votes.csv", [[";".join(map(str, row))] for row in rows], ["index;the, best;age"])
    arguments = ["rank", path, "--ratings", "--separator", ";", "--items", 'index, "the, best"', *LARGE]
    assert printed(*arguments)["consensus"] == ["index", "the, best"]
    path = write(tmp_path / "votes.tsv", [["\t".join(map(str, row))] for row in rows], ["milk\ttea\tmate"])
    assert printed("rank", path, *RATED, "--separator", "tab", *LARGE)["consensus"] == ["mate", "milk", "tea"]


def test_names_are_stripped(tmp_path, printed):
    path = write(tmp_path / "votes.csv", [["ann", 1, 0, "north"]] * 60, [" who", "tea ", "\tthe best ", " region "])
    common = ["rank", path, "--positions", "--unranked", "no_opinion", "--person", " who ", *LARGE, "--items"]
    assert printed(*common, " tea , the best")["consensus"] == ["the best", "tea"]
    segments = ["--segments", "region ", "--segment-values", "north,south"]
    assert printed(*common, "tea,the best", *segments)["segments"][0]["consensus"] == ["the best", "tea"]
    path = write(tmp_path / "votes.csv", [[" juice ", "tea"], ["juice\t", " coffee"]] * 60, None)
    arguments = ["rank", path, "--orders", "--items", "tea, juice ,coffee", *LARGE]
    assert printed(*arguments)["consensus"][0] == "juice"


def test_no_such_file(run, tmp_path):
    for command in (["rank"], ["compare", "--public"]):
        for name in ("none.csv", "none.parquet", "none.soc", "none/none.csv"):
            layout = [] if name.endswith("soc") else RATED
            refusal = run(*command, tmp_path / name, *layout, "--epsilon", "1")
            assert f"there is no file {tmp_path / name}. Check its name" in refusal
    assert "Is a directory" in run("rank", tmp_path, *RATED, "--epsilon", "1")


def test_an_account_is_charged_and_refuses(tmp_path, run, printed):
    arguments = ["rank", write(tmp_path / "votes.csv", VOTES), *PLACED, "--budget", tmp_path / "account.sqlite"]
    made = printed(*arguments, "--budget-epsilon", "1", "--epsilon", "0.75")
    assert made["budget"] == {"spent": 0.75, "remaining": 0.25}
    assert "does not fit" in run(*arguments, "--epsilon", "0.5")
    assert "epsilon 1 spent, 0 left" in run(*arguments, "--epsilon", "0.25")
    assert [each.what for each in PrivacyBudget.open(tmp_path / "account.sqlite").releases_] == ["DPBorda", "DPBorda"]


@pytest.mark.slow
def test_comparison_on_the_example(tmp_path, run, printed):
    pytest.importorskip("matplotlib")
    common = ["compare", "--trials", "3", "--epsilons", "0.02", "2", "--picture", tmp_path / "c.png"]
    made = printed(*common)
    assert set(made["excess_points"]) == {
        "DPBorda, K-norm noise", "DPBorda, Laplace noise", "DPPrudentOrder", "ShufflePairwise", "LDPPairwise"
    }  # fmt: skip
    assert made["not_private"] and made["simulated"] and (tmp_path / "c.png").stat().st_size > 10_000
    worst = {name: points[0] for name, points in made["excess_points"].items()}
    assert worst["DPBorda, K-norm noise"] < worst["LDPPairwise"]
    assert all(points[1] <= points[0] for points in made["excess_points"].values())
    assert "NOT PRIVATE" in run(*common) and "1000 ballots, 10 items, simulated" in run(*common)


def test_compare_needs_matplotlib(tmp_path, run, without):
    without("matplotlib")
    assert 'install the extra "plot"' in run("compare", "--trials", "1", "--picture", tmp_path / "c.png")
    assert list(tmp_path.iterdir()) == []


def test_advice(run, printed):
    common = ["recommend", "--items", "10", "--voters", "1e4", "--epsilon", "0.005"]
    advice = recommend(10, 1e4, 0.005)
    assert printed(*common)["estimator"] == repr(advice.estimator)
    assert run(*common).splitlines()[0] == repr(advice.estimator)
    assert printed(*common)["error_range"] == list(advice.error_range)
    assert "--delta must be positive for --trust shuffle" in run(*common, "--trust", "shuffle")
    top = recommend(45, 1e4, 0.005, k=3, disagreement=0.2)
    said = run("recommend", "--items", "45", *common[3:], "--top", "3", "--disagreement", "0.2")
    assert said.splitlines()[0] == repr(top.estimator) and "% of the best missed" in said


def test_advice_for_comparisons_shows_the_call_and_the_options(run, printed, tmp_path):
    common = ["recommend", "--items", "8", "--voters", "800", "--epsilon", "3", "--comparisons", "5"]
    facts = ["--exposure-ratio", "8", "--matched", "0.2", "--delta", "1e-6"]
    advice = recommend(8, 800, 3.0, 1e-6, comparisons_per_person=5, exposure_ratio=8, matched=0.2)
    assert printed(*common, *facts)["error"] == advice.error
    said = run(*common, *facts).splitlines()
    assert said[0] == repr(advice.estimator) and "points of error to expect" in said[1]
    assert said[2] == "A point is one pair of items in a hundred in the wrong order. Kendall's tau is 1 - points / 50."
    assert said[4] == (
        f'Fit: {advice.estimator!r}.fit(Profile.from_comparisons(votes, "first", "second", outcome="winner", '
        'person="person", items=items))'
    )
    votes, _ = make_comparisons(800, 8, comparisons_per_person=5, random_state=0)
    log = [",".join(votes), *(f"{p},m{a},m{b},{won}" for p, a, b, won in zip(*votes.values(), strict=True))]
    (tmp_path / "votes.csv").write_text("\n".join(log) + "\n")
    (tmp_path / "models.txt").write_text("\n".join(f"m{k}" for k in range(8)) + "\n")
    for delta in ("1e-6", "0"):
        options = printed(*common, "--delta", delta)["rank_options"]
        assert options[:8] == ["--comparisons", "FIRST", "SECOND", "OUTCOME", "--person", "PERSON", "--items", "@FILE"]
        named = {"FIRST": "first", "SECOND": "second", "OUTCOME": "winner", "PERSON": "person"}
        named["@FILE"] = f"@{tmp_path / 'models.txt'}"
        made = printed("rank", tmp_path / "votes.csv", *(named.get(each, each) for each in options))
        assert (made["privacy"]["delta"], made["privacy"]["epsilon"]) == (float(delta), 3.0)
    several = run(*common, *facts, "--epsilon", "1", "3").splitlines()
    assert several[0].split()[-5:-2] == ["points", "of", "error"] and several[-1] == said[2]


def test_advice_for_several_epsilons(run, printed):
    common = ["recommend", "--items", "10", "--voters", "1e4", "--epsilon", "0.005", "0.05"]
    assert [each["estimator"] for each in printed(*common)] == [
        repr(recommend(10, 1e4, e).estimator) for e in (0.005, 0.05)
    ]
    head, first, second, about = run(*common).splitlines()
    advice = recommend(10, 1e4, 0.005)
    assert head.split()[:2] == ["epsilon", "recommended"] and about.startswith("A point is one pair")
    assert first.split()[-3:] == [f"{100 * error:.2g}" for error in (advice.error, *advice.error_range)]
    assert second.startswith("   0.05  DPPrud")


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-OO"]], ids=["plain", "OO"])
def test_the_command_emits_no_warnings(options, tmp_path):
    """Neither about bytes nor about open files."""
    python = [sys.executable, "-W", "error", "-bb", "-X", "dev", *options, "-m", "sklearn_dprank"]
    command = [*python, "rank", write(tmp_path / "votes.csv", VOTES), *PLACED, "--format", "json", "--epsilon"]
    done = subprocess.run([*command, "50"], capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert (done.returncode, done.stderr) == (0, "") and json.loads(done.stdout)["consensus"] == BEST_FIRST
    refused = subprocess.run([*command, "-1"], capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert refused.returncode == 2 and refused.stdout == ""
