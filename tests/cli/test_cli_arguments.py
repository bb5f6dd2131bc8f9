"""Arguments of the command: position of the file, values and messages."""

import io
import os
from itertools import product
from pathlib import Path

import pytest

from sklearn_dprank.cli import main, parser, ranking
from sklearn_dprank.model_selection import recommend
from sklearn_dprank.privacy import PrivacyBudget

EPSILONS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]


@pytest.fixture
def refused(capsys):
    """Return the last line on standard error of a command that is refused."""

    def call(*arguments):
        try:
            assert main(arguments) == 2
        except SystemExit as refusal:
            assert refusal.code == 2
        out, err = capsys.readouterr()
        assert not out
        return err.splitlines()[-1]

    return call


@pytest.mark.parametrize(
    ("arguments", "file", "epsilons", "estimators"),
    [
        ("--epsilons 0.5 1 votes.csv", "votes.csv", [0.5, 1.0], None),
        ("--epsilons 0.5,1 votes.csv", "votes.csv", [0.5, 1.0], None),
        ("--epsilons 0.5, 1, votes.csv --ratings", "votes.csv", [0.5, 1.0], None),
        ("votes.csv --epsilons 0.5 1", "votes.csv", [0.5, 1.0], None),
        ("--epsilons 0.5 1 -- votes.csv", "votes.csv", [0.5, 1.0], None),
        ("--epsilons 0.5 1", None, [0.5, 1.0], None),
        ("--epsilons 1 -", "-", [1.0], None),
        ("--epsilons 1 missing/votes.soc.gz", "missing/votes.soc.gz", [1.0], None),
        ("--epsilons 1 there", "there", [1.0], None),
        ("--estimators DPBorda DPKwikSort votes.csv", "votes.csv", EPSILONS, ["DPBorda", "DPKwikSort"]),
        ("--estimators DPBorda,DPKwikSort there", "there", EPSILONS, ["DPBorda", "DPKwikSort"]),
        ("--estimators DPBorda votes.csv --epsilons 2", "votes.csv", [2.0], ["DPBorda"]),
    ],
)
def test_file_may_follow_any_option(arguments, file, epsilons, estimators, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("there").touch()
    found = parser().parse_args(["compare", *arguments.split()])
    assert (found.file, found.epsilons, found.estimators) == (file and Path(file), epsilons, estimators)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--epsilons 0.5 often", "argument --epsilons: could not convert string to float: 'often'"),
        ("--epsilons votes.csv", "argument --epsilons: could not convert string to float: 'votes.csv'"),
        ("--epsilons a.csv b.csv", "argument --epsilons: could not convert string to float: 'a.csv'"),
        ("--epsilons 1 0.5x", "argument --epsilons: could not convert string to float: '0.5x'"),
        ("--epsilons ,", "argument --epsilons: expected at least one value"),
        ("--estimators DPBorda DPBord", "LDPPairwise, ShufflePairwise, got 'DPBord'"),
        ("a.csv --epsilons 1 b.csv", "argument --epsilons: two files are given, 'a.csv' and 'b.csv'"),
        ("--epsilons 1 a.csv --seed 1 b.csv", "argument file: two files are given, 'a.csv' and 'b.csv'"),
    ],
)
def test_invalid_option_values_are_refused(arguments, message, refused):
    assert refused("compare", *arguments.split()).endswith(message)


def test_recommend_takes_commas_and_no_file(refused):
    common = ["recommend", "--items", "5", "--voters", "100", "--epsilon"]
    for several in (["0.1,1"], ["0.1", "1"], ["0.1,", "1"]):
        assert parser().parse_args([*common, *several]).epsilon == [0.1, 1.0]
    assert "could not convert string to float: 'votes.csv'" in refused(*common, "1", "votes.csv")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--ratings", "--ratings describes one."),
        ("--orders --items a,b --epsilons 1", "--orders, --items describe one."),
        ("--separator ;", "--separator describes one."),
        ("--person who --max-weight 0 --unreadable empty", "--person, --max-weight, --unreadable describe one."),
    ],
)
def test_options_of_a_file_need_a_file(arguments, named, refused):
    pytest.importorskip("matplotlib")
    assert refused("compare", *arguments.split()) == (
        f"dprank compare: no file is given, but {named} Name the file, or leave out these options for simulated "
        "ballots."
    )


ADVICE = ["recommend", "--items", "10", "--voters", "10000", "--epsilon", "1"]


def test_an_interrupt_is_one_line(monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklearn_dprank.cli.recommending.run", interrupted)
    assert main(ADVICE) == 130
    assert capsys.readouterr() == ("", "dprank recommend: interrupted. If a budget was charged, it stays charged.\n")


@pytest.mark.parametrize("arguments", [ADVICE, ["--help"], ["rank", "--help"]])
def test_closed_pipe_exits_quietly(arguments, monkeypatch, capsys):
    ours, theirs = os.pipe()
    os.close(ours)
    with io.TextIOWrapper(io.FileIO(theirs, "w"), write_through=False) as shown:
        monkeypatch.setattr("sys.stdout", shown)
        assert main(arguments) == 141
    assert capsys.readouterr().err == ""  # and closing it raised nothing


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rank b.csv --epsilon 0", "--epsilon must be a positive, finite number (in nats), got 0.0."),
        ("rank b.csv --epsilon 1 --delta 2", "--delta must be a number in [0, 1), got 2.0."),
        (
            "rank b.csv --epsilon 1 --delta 1e-6",
            "--noise laplace is pure and needs --delta 0, got --delta 1e-06; set --delta 0 or --noise gaussian.",
        ),
        (
            "rank b.csv --epsilon 1 --noise knorm --estimator DPPairwise",
            "--noise knorm is for DPBorda; use --noise laplace or gaussian for DPPairwise.",
        ),
        ("rank b.csv --epsilon 1 --window 7", "DPBorda has no --window; leave it out, or name another --estimator."),
        (
            "rank b.csv --epsilon 1 --weight w --max-weight 1e30",
            "--max-weight must be above 1/720720 and at most 1e10, got 1e+30.",
        ),
        (
            "rank b.csv --epsilon 1 --budget new --budget-epsilon 0",
            "--budget-epsilon must be a positive, finite number (in nats), got 0.0.",
        ),
        (
            "rank b.csv --epsilon 1 --budget old --budget-epsilon 1",
            "the budget in old was opened with --budget-epsilon 2.0, got 1.0; leave --budget-epsilon out. What voters "
            "were told cannot be changed.",
        ),
        ("compare b.csv --trials 0", "--trials must be an integer from 1 to 1000000, got 0."),
        ("recommend --items 1 --voters 9 --epsilon 1", "--items must be an integer from 2 to 65534, got 1."),
        (
            "recommend --items 5 --voters 9 --epsilon 1 --opinion-share 0.1 0.2 0.3",
            "--opinion-share must be a number, or the smallest and the largest share, got 3 numbers.",
        ),
        (
            "recommend --items 5 --voters 9 --epsilon 1 --comparisons 3 --top 2",
            "--top does not apply to comparisons, got 2; leave it out.",
        ),
        (
            "recommend --items 5 --voters 9 --epsilon 1 --comparisons 3 --max-listed 2",
            "--max-listed does not apply to comparisons, got 2; leave it out.",
        ),
        (
            "recommend --items 5 --voters 9 --epsilon 1 --comparisons 3 --trust local",
            "--trust must be 'central' with --comparisons, got 'local'. Without a curator, LDPPairwise and "
            "ShufflePairwise rank comparisons with pairs='shown'; no error was measured for them.",
        ),
        (
            "recommend --items 5 --voters 9 --epsilon 1 --exposure-ratio 3",
            "--exposure-ratio describes comparisons, got 3.0; leave it out, or give --comparisons.",
        ),
        (
            "recommend --items 5 --voters 9 --epsilon 1 --trust local --neighboring add_remove",
            "--neighboring must be 'replace' or left out for --trust local, where the number of voters is public, got "
            "'add_remove'.",
        ),
    ],
)
def test_messages_name_options(arguments, message, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    PrivacyBudget.open("old", 2)
    Path("b.csv").write_text("w,tea,milk,rye\n" + "1,1,2,3\n" * 9)
    command, *others = arguments.split()
    if command != "recommend":
        others += ["--ratings", "--items", "tea,milk,rye"]
    if command == "compare":
        pytest.importorskip("matplotlib")
        others += ["--public"]
    assert refused(command, *others) == f"dprank {command}: {message}"


def test_names_in_files_are_not_translated(tmp_path, refused):
    (tmp_path / "k.csv").write_text("k,delta,max_weight\n1,2,epsilon=1\n")
    said = refused("rank", str(tmp_path / "k.csv"), "--ratings", "--items", "all", "--epsilon", "1")
    assert said.startswith("dprank rank: k.csv, line 2: column 'max_weight' must hold numbers")


def test_preflib_files_have_no_separator(tmp_path, refused):
    (tmp_path / "v.soc").touch()
    said = refused("rank", str(tmp_path / "v.soc"), "--separator", ";", "--epsilon", "1")
    assert said == "dprank rank: PrefLib files do not take --separator; leave that out."


def test_every_advice_for_a_curator_can_be_pasted_into_rank():
    """Also the alternatives: their options give the same estimator."""
    kinds = set()
    for (n_items, neighboring), delta, top in product(((5, "add_remove"), (20, "replace")), (0, 1e-6), (None, 1)):
        advice = recommend(n_items, 1e4, 0.3, delta=delta, k=top, neighboring=neighboring)
        for each in (advice.estimator, *(other.estimator for other in advice.alternatives)):
            pasted = ranking.options_of(each)
            made = ranking._estimator(parser().parse_args(["rank", "v.csv", *pasted]))
            assert repr(made) == repr(each) and made.get_params() == each.get_params()
            kinds.add(" ".join(pasted[2:]))
    assert {"--noise knorm", "--top 1 --neighboring replace", "--estimator DPPrudentOrder --delta 1e-06"} <= kinds
    assert "--estimator DPPrudentOrder --neighboring replace --window 7" in kinds
