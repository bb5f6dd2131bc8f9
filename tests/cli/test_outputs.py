"""Example, pictures and reports of ``dprank``: they show the release, and are refused before a budget is charged."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sklearn_dprank import DPBorda, DPPairwise, DPPrudentOrder, DPSwissBorda, DPTopK
from sklearn_dprank.cli import main, pictures, ranking, report
from sklearn_dprank.cli.example import simulated
from sklearn_dprank.privacy import PrivacyBudget

NAMES = ["<b>tea</b>", "coffee $1", 'r"ye & co']
VOTES = [[0, 1, 2]] * 60 + [[0, 2, 1]] * 58
FILE = ["v.csv", "--positions"]
NEW = ["--budget", "new.sqlite", "--budget-epsilon", "2"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a file of votes, in two regions with opposite orders."""
    monkeypatch.chdir(tmp_path)
    rows = [",".join(map(str, vote)) for vote in VOTES]
    tmp_path.joinpath("v.csv").write_text('<b>tea</b>,coffee $1,"r""ye & co"\n' + "\n".join(rows))
    rows = [f"{region},{','.join(map(str, vote))}" for vote in VOTES for region in ("a<b", "b")]
    tmp_path.joinpath("s.csv").write_text("region,tea,milk,rye\n" + "\n".join(rows))


@pytest.fixture
def run(capsys):
    """Return what ``dprank rank`` prints, on standard error if it is refused."""

    def run_it(*arguments, command="rank"):
        status = main([command, *arguments])
        out, err = capsys.readouterr()
        assert bool(out) == (status == 0)
        return err if status else out

    return run_it


class Page(HTMLParser):
    """Texts of a page by tag, styles of bars and dots, and tags that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.styles, self.attributes = [], {}, {"bar": [], "dot": []}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.attributes += [f"{tag} {name}" for name in given]
        if given.get("class") in self.styles:
            self.styles[given["class"]].append(given["style"])
        if tag not in ("meta",):
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]][-1] += data


def made_and_page(run, *arguments):
    """Return the JSON and the page of one release."""
    made = json.loads(run(*arguments, "--report", "r.html", "--format", "json"))
    return made, Page(Path("r.html").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_example_is_a_private_release_of_simulated_votes(run):
    pytest.importorskip("matplotlib")
    made = json.loads(run("--example", "--format", "json"))
    assert made["simulated"] is True and made["unranked"] is None and made["privacy"]["certified"]
    assert (made["privacy"]["epsilon"], made["privacy"]["delta"]) == (1.0, 0.0)
    true = DPBorda(epsilon=500.0).fit(simulated(5, 0.9)).consensus_.tolist()
    assert made["consensus"][:2] == true[:2] == ["coffee", "water"] and made["consensus"][4] == true[4] == "tea"
    assert made["intervals"]["coffee"] == [1, 1] and made["intervals"]["juice"][0] >= 3  # juice and milk are tied
    assert Path("ranking.png").stat().st_size > 5_000
    text = run("--example", "--epsilon", "2", "--plot", "own.svg")
    assert text.startswith("1,000 simulated votes on five drinks, epsilon = 2\n") and "\nPicture: own.svg\n" in text
    assert "left out" not in text and "leaves out" not in text


def test_an_example_without_intervals_has_no_picture(run):
    made = json.loads(run("--example", "--noise", "knorm", "--format", "json"))
    assert "intervals" not in made and not Path("ranking.png").exists()
    assert json.loads(run(*FILE, "--epsilon", "1", "--format", "json"))["simulated"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "no file is given: name the file of the ballots, or add --example for simulated votes."),
        ("--epsilon 1", "no file is given: name the file of the ballots, or add --example for simulated votes."),
        ("v.csv --positions", "--epsilon is missing: state the privacy loss of the release. See the table of epsilon"),
        ("v.csv --example", "--example ranks simulated votes: leave out the file, or leave out --example."),
        ("--example --ratings", "no file is given, but --ratings describes one. Name the file, or leave out"),
        ("--example --budget b --budget-epsilon 1", "no voters to count or protect: leave out --budget, --budget-eps"),
        ("--example --segments x --segment-values a,b", "leave out --segments, --segment-values."),
        ("--example --epsilon 0", "--epsilon must be a positive, finite number"),
    ],
)
def test_there_is_either_a_file_or_an_example(arguments, message, run):
    pytest.importorskip("matplotlib")
    said = run(*arguments.split())
    assert said.startswith("dprank rank: ") and message in said
    assert sorted(path.name for path in Path().iterdir()) == ["s.csv", "v.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--plot p.png --noise knorm", "--plot draws rank intervals, and this mechanism does not publish any. DPBorda"),
        ("--plot p.png --top 2", "--plot draws rank intervals"),
        ("--plot p.png --estimator DPPrudentOrder", "--plot draws rank intervals"),
        ("--plot p.png --estimator DPSwissBorda", "--plot draws rank intervals"),
        ("--plot p.abc", "--plot: its name must end in one of"),
        ("--plot none/p.png", "--plot: the folder none does not exist; make it first."),
        ("--report p.txt", "--report: its name must end in one of html, htm, got 'p.txt'."),
        ("--report v.csv", "--report: its name must end in one of html, htm, got 'v.csv'."),
        ("--report none/p.html", "--report: the folder none does not exist; make it first."),
        ("--report folder.html", "--report: folder.html cannot be written; name another file."),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_charge(options, message, run):
    pytest.importorskip("matplotlib")
    Path("folder.html").mkdir()
    said = run(*FILE, "--epsilon", "1", *NEW, *options.split())
    assert said.startswith("dprank rank: ") and message in said
    assert not Path("new.sqlite").exists() and not Path("p.html").exists()


def test_pictures_need_matplotlib_before_a_charge(run, without):
    without("matplotlib")
    assert 'install the extra "plot"' in run(*FILE, "--epsilon", "1", *NEW, "--plot", "p.png")
    assert 'install the extra "plot"' in run("--example")
    assert not Path("new.sqlite").exists()
    assert json.loads(run(*FILE, "--epsilon", "500", "--report", "r.html", "--format", "json"))["consensus"] == NAMES


@pytest.mark.parametrize(
    "estimator",
    [
        DPBorda(),
        DPBorda(noise="knorm"),
        DPBorda(noise="gaussian", delta=1e-6),
        DPPairwise(),
        DPPairwise(noise="gaussian", delta=1e-6),
        DPPrudentOrder(),
        DPPrudentOrder(window=2),
        DPSwissBorda(),
        DPTopK(2),
    ],
    ids=repr,
)
def test_it_is_known_before_a_fit_whether_there_are_intervals(estimator):
    assert ranking.publishes_intervals(estimator) == hasattr(estimator.fit(VOTES), "rank_intervals")


@pytest.mark.slow
def test_a_picture_shows_the_release(run, monkeypatch):
    pytest.importorskip("matplotlib")
    figures = []
    monkeypatch.setattr(pictures, "save", lambda figure, path: figures.append((figure, path)))
    made = json.loads(run(*FILE, "--epsilon", "0.05", "--plot", "p.png", "--level", "0.9", "--format", "json"))
    ((figure, path),) = figures
    (axes,) = figure.axes
    assert path == Path("p.png") and [label.get_text() for label in axes.get_yticklabels()] == made["consensus"]
    bars = [segment[:, 0].tolist() for segment in axes.collections[0].get_segments()]
    assert bars == [made["intervals"][item] for item in made["consensus"]]
    segmented = ["--segments", "region", "--segment-values", "a<b,b", "--plot", "p.png"]
    for delta in ([], ["--delta", "0"]):
        run("s.csv", "--positions", "--epsilon", "1", *segmented, *delta)
    assert [len(figure.axes) for figure, _ in figures[1:]] == [1, 1] and len(figures) == 3


@pytest.mark.parametrize("level", ["0.95", "0.5", "0.999"])
def test_a_report_shows_the_release(level, run):
    made, page = made_and_page(run, *FILE, "--epsilon", "0.05", "--level", level)
    assert page.open == [] and page.texts["h1"] == page.texts["title"] == ["Ranking of 3 items"]
    assert page.texts["th"] == ["Rank", "Item", "Rank without noise", *made["consensus"]]
    ends = [made["intervals"][item] for item in made["consensus"]]
    shown = [f"{best}" if best == worst else f"{best} to {worst}" for best, worst in ends]
    assert page.texts["td"] == [cell for rank, text in enumerate(shown, start=1) for cell in (str(rank), text)]
    wide = {1: "33.33%", 2: "66.67%", 3: "100%"}
    left = {1: "0%", 2: "33.33%", 3: "66.67%"}
    assert page.styles["bar"] == [f"left:{left[best]};width:{wide[worst - best + 1]}" for best, worst in ends]
    assert page.styles["dot"] == ["left:16.67%", "left:50%", "left:83.33%"]
    plainly, *topics = made["privacy"]["statement"]
    assert plainly.startswith("In plain words: suppose")
    assert page.texts["li"] == topics and plainly.replace(" %", "\N{NO-BREAK SPACE}%") in page.texts["p"]
    bars = f"The probability that all bars are right is at least {100 * float(level):g}\N{NO-BREAK SPACE}%."
    assert bars in page.texts["p"][2]
    assert "Items that a ballot leaves out count as no opinion." in page.texts["p"]


def test_a_report_is_self_contained(run):
    _, page = made_and_page(run, *FILE, "--epsilon", "1")
    text = Path("r.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//|url\(|@import|<script|<link|<img", text)
    assert not {"src", "href", "onclick"} & {attribute.split()[1] for attribute in page.attributes}
    assert "html lang" in page.attributes and "span aria-hidden" in page.attributes
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text
    assert not {"strong", "b", "script"} & set(page.texts)


def test_reports_without_intervals(run):
    made, page = made_and_page(run, *FILE, "--epsilon", "50", "--top", "2")
    assert page.texts["h1"] == ["The best 2 in order"] and page.texts["th"] == ["Rank", "Item", *made["consensus"]]
    assert "This method publishes the order only, and no bars that show the effect of the noise." in page.texts["p"]
    assert page.styles == {"bar": [], "dot": []}


@pytest.mark.parametrize("delta", [[], ["--delta", "0"]])
def test_reports_of_segments(delta, run):
    segmented = ["--segments", "region", "--segment-values", "a<b,b", *delta]
    made, page = made_and_page(run, "s.csv", "--positions", "--epsilon", "50", *segmented)
    assert [head.split(":")[0] for head in page.texts["h2"]] == ["a<b", "b", "What this means"]
    names = [name for name in page.texts["th"] if name in ("tea", "milk", "rye")]
    assert names == [item for each in made["segments"] for item in each["consensus"]]
    assert len(page.styles["bar"]) == (0 if delta else 6)
    assert any("come from the answers of the group alone" in text for text in page.texts["p"]) != bool(delta)


def test_a_report_of_an_example_says_so(run):
    _, page = made_and_page(run, "--example", "--noise", "knorm")
    assert page.texts["strong"] == ["Example:"] and " the votes are simulated. Nobody voted." in page.texts["p"]


def test_a_report_replaces_an_existing_one(run):
    Path("r.html").write_text("x" * 100_000)
    assert run(*FILE, "--epsilon", "1", "--report", "r.html").endswith("\nReport: r.html\n")
    text = Path("r.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n") and len(text) < 10_000


@pytest.mark.parametrize(
    ("error", "why"), [(OSError("no space left"), "no space left"), (KeyboardInterrupt(), "interrupted")], ids=repr
)
def test_a_result_is_printed_even_if_its_report_cannot_be_written(error, why, monkeypatch, capsys):
    def full(made, best):
        raise error

    monkeypatch.setattr(report, "page", full)
    assert main(["rank", *FILE, "--epsilon", "1", *NEW, "--report", "r.html"]) == 0
    out, err = capsys.readouterr()
    assert "<b>tea</b>" in out and "1 spent, 1 left" in out and "Report" not in out
    assert err == f"dprank rank: Report: r.html could not be written ({why}). The ranking is complete.\n"
    assert len(PrivacyBudget.open("new.sqlite").releases_) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--epsilon 3", "DPBorda asks for epsilon = 3 (central, add_remove), which does not fit"),
        ("--epsilon 0", "--epsilon must be a positive, finite number (in nats), got 0.0."),
        ("--epsilon 1 --top 9", "--top 9 is more than the 3 items there are to choose from"),
        ("--epsilon 1 --noise gaussian", "--noise gaussian needs delta > 0"),
    ],
)
def test_a_budget_that_a_release_does_not_fit_is_not_created(options, message, run):
    assert message in run(*FILE, *NEW, *options.split())
    assert not Path("new.sqlite").exists()


def test_a_new_budget_that_the_release_fits_exactly(run):
    assert "epsilon 2 spent, 0 left" in run(*FILE, *NEW, "--epsilon", "2")


@pytest.mark.parametrize(("columns", "most"), [("20", 40), ("60", 60), ("88", 88), ("300", 100)])
def test_text_fits_the_terminal(columns, most, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    lines = run(*FILE, "--epsilon", "1").splitlines()
    assert most - 12 < max(map(len, lines)) <= most


def test_only_public_files_are_compared(run):
    for name in ("v.csv", "missing.csv", "-"):
        said = run(name, "--positions", command="compare")
        what = "standard input" if name == "-" else name
        assert f"If {what} holds public votes, add --public. For secret votes, use dprank recommend --items" in said
    assert sorted(path.name for path in Path().iterdir()) == ["s.csv", "v.csv"]


def test_advice_with_intervals(run):
    common = ["--items", "10", "--voters", "1e4", "--format", "json"]
    made = json.loads(run(*common, "--epsilon", "0.005", command="recommend"))
    assert made["estimator"] == "DPBorda(epsilon=0.005, noise='knorm')" and made["intervals"] is False
    made = json.loads(run(*common, "--epsilon", "0.005", "--intervals", command="recommend"))
    assert made["estimator"] == "DPBorda(epsilon=0.005)" and made["intervals"] is True
    table = run(*common[:4], "--epsilon", "0.005,0.5", "--intervals", command="recommend").splitlines()
    assert table[0].split()[:3] == ["epsilon", "recommended", "intervals"]
    assert [row.split()[2] for row in table[1:3]] == ["yes", "yes"]


def test_advice_for_ballots_with_gaps(run):
    common = ["--items", "10", "--voters", "1e4", "--epsilon", "0.1", "--format", "json"]
    errors = [
        json.loads(run(*common, *shares, command="recommend"))["error"]
        for shares in ([], ["--opinion-share", "1"], ["--opinion-share", "0.16"], ["--opinion-share", "0.16,0.47"])
    ]
    assert errors[0] == errors[1] < errors[3] < errors[2]
    said = run(*common, "--opinion-share", "0.1", "0.2", "0.3", command="recommend")
    assert "--opinion-share must be a number, or the smallest and the largest share, got 3 numbers." in said
    assert "--opinion-share" in run(*common, "--opinion-share", "2", command="recommend")


def test_no_output_replaces_the_budget_or_the_ballots(run, tmp_path):
    budget = ["--budget", "new.html", "--budget-epsilon", "2"]
    assert "new.html holds the ballots or the budget" in run(*FILE, "--epsilon", "1", *budget, "--report", "./new.html")
    assert not Path("new.html").exists()
    Path("v.csv").rename("v.svg")
    refused = run("v.svg", "--positions", "--epsilon", "1", *NEW, "--plot", str(tmp_path / "v.svg"))
    assert "--plot: " in refused and "would be replaced; name another." in refused
    assert Path("v.svg").read_text().startswith("<b>tea</b>") and not Path("new.sqlite").exists()
