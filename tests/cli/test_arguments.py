"""Arguments of the command: the file is found wherever it stands, and what cannot be meant is refused."""

from pathlib import Path

import pytest

from sklearn_dprank.cli import main, parser

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
        ("--epsilons 0.5 1 --ratings votes.csv", "votes.csv", [0.5, 1.0], None),
        ("votes.csv --epsilons 0.5 1", "votes.csv", [0.5, 1.0], None),
        ("--epsilons 0.5 1 -- votes.csv", "votes.csv", [0.5, 1.0], None),
        ("--epsilons 0.5 1", None, [0.5, 1.0], None),
        ("--epsilons 1 -", "-", [1.0], None),
        ("--epsilons 1 missing/votes.soc.gz", "missing/votes.soc.gz", [1.0], None),
        ("--epsilons 1 there", "there", [1.0], None),
        ("--estimators DPBorda DPKwikSort votes.csv", "votes.csv", EPSILONS, ["DPBorda", "DPKwikSort"]),
        ("--estimators DPBorda,DPKwikSort there", "there", EPSILONS, ["DPBorda", "DPKwikSort"]),
        ("--estimators DPBorda votes.csv --epsilons 2", "votes.csv", [2.0], ["DPBorda"]),
        ("--epsilons 2 --estimators DPBorda --seed 1 votes.csv", "votes.csv", [2.0], ["DPBorda"]),
    ],
)
def test_the_file_is_found_wherever_it_stands(arguments, file, epsilons, estimators, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("there").touch()
    found = parser().parse_args(["compare", *arguments.split()])
    assert (found.file, found.epsilons, found.estimators) == (file and Path(file), epsilons, estimators)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--epsilons 0.5 often", "argument --epsilons: must be numbers, with blanks or commas between, got 'often'"),
        (
            "--epsilons votes.csv",
            "argument --epsilons: must be numbers, with blanks or commas between, got 'votes.csv'",
        ),
        ("--epsilons a.csv b.csv", "argument --epsilons: must be numbers, with blanks or commas between, got 'a.csv'"),
        ("--epsilons 0.5x 1", "argument --epsilons: must be numbers, with blanks or commas between, got '0.5x'"),
        ("--epsilons 1 0.5x", "argument --epsilons: must be numbers, with blanks or commas between, got '0.5x'"),
        ("--epsilons ,", "argument --epsilons: expected at least one value"),
        ("--estimators DPBord", "LDPPairwise, ShufflePairwise, got 'DPBord'"),
        ("--estimators DPBorda DPBord", "LDPPairwise, ShufflePairwise, got 'DPBord'"),
        ("a.csv --epsilons 1 b.csv", "argument --epsilons: two files are given, 'a.csv' and 'b.csv'"),
        ("--epsilons 1 a.csv --seed 1 b.csv", "argument file: two files are given, 'a.csv' and 'b.csv'"),
    ],
)
def test_what_is_neither_a_value_nor_a_file_is_refused(arguments, message, refused):
    assert refused("compare", *arguments.split()).endswith(message)


def test_recommend_takes_commas_and_no_file(refused):
    common = ["recommend", "--items", "5", "--voters", "100", "--epsilon"]
    for several in (["0.1,1"], ["0.1", "1"], ["0.1,", "1"]):
        assert parser().parse_args([*common, *several]).epsilon == [0.1, 1.0]
    assert "must be numbers" in refused(*common, "1", "votes.csv")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--ratings", "--ratings describes one."),
        ("--orders --items a,b --epsilons 1", "--orders, --items describe one."),
        ("--separator ;", "--separator describes one."),
        ("--unranked last", "--unranked describes one."),
        ("--person who --max-weight 0 --unreadable empty", "--person, --max-weight, --unreadable describe one."),
        ("--weight w", "--weight describes one."),
    ],
)
def test_options_of_a_file_need_a_file(arguments, named, refused):
    pytest.importorskip("matplotlib")
    assert refused("compare", *arguments.split()) == (
        f"dprank compare: no file is given, but {named} Name the file; without these options, simulated ballots are "
        "compared."
    )
