"""Example, pictures and reports of ``dprank``: they show the release, and are refused before a budget is charged."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from process_tools import python

from sklearn_dprank import DPBorda
from sklearn_dprank.cli import files, main, parser, ranking, ranking as report
from sklearn_dprank.cli.printing import simulated
from sklearn_dprank.privacy import PrivacyBudget

RATED, PLACED = ["--ratings", "--items", "all"], ["--positions", "--unranked", "no_opinion", "--items", "all"]
NAMES = ["<b>tea</b>", "coffee $1", 'r"ye & co']
VOTES = [[0, 1, 2]] * 60 + [[0, 2, 1]] * 58
FILE = ["v.csv", *PLACED]
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
    made = json.loads(run(*arguments, "--report", str(Path("r.html").absolute()), "--format", "json"))
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--epsilon 1", "no file is given: name the file of the ballots, or add --example for simulated votes."),
        ("v.csv --positions", "--epsilon is missing: state the privacy loss. See the table of epsilon"),
        ("v.csv --example", "--example ranks simulated votes: leave out the file."),
        ("--example --ratings", "--example ranks simulated votes: leave out --ratings."),
        ("--example --budget b --budget-epsilon 1", "leave out --budget, --budget-epsilon."),
        ("--example --segments x --segment-values a,b", "leave out --segments, --segment-values."),
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
        (
            "--plot p.png --noise knorm",
            "--plot draws rank intervals, which private items and some estimators do not",
        ),
        ("--plot p.png --top 2", "--plot draws rank intervals"),
        ("--plot p.abc", "--plot: its name must end in one of"),
        ("--plot none/p.png", "--plot: the folder of none/p.png does not exist; make it first."),
        ("--report p.txt", "--report: its name must end in one of html, htm, got 'p.txt'."),
        ("--report dangling.html", "--report: the folder of dangling.html does not exist; make it first."),
        ("--report device.html", "--report: device.html cannot be written"),
        ("--plot device.png", "--plot: device.png cannot be written"),
        ("--report folder.html", "--report: folder.html cannot be written; name another file."),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_charge(options, message, run):
    pytest.importorskip("matplotlib")
    Path("folder.html").mkdir()
    os.symlink("none/p.html", "dangling.html")
    for name in ("device.html", "device.png"):
        os.symlink(os.devnull, name)
    said = run(*FILE, "--epsilon", "1", *NEW, *options.split())
    assert said.startswith("dprank rank: ") and message in said
    assert not Path("new.sqlite").exists() and not Path("p.html").exists()


def test_pictures_need_matplotlib_before_a_charge(run, without):
    without("matplotlib")
    assert 'install the extra "plot"' in run(*FILE, "--epsilon", "1", *NEW, "--plot", "p.png")
    assert 'install the extra "plot"' in run("--example")
    assert not Path("new.sqlite").exists()
    assert json.loads(run(*FILE, "--epsilon", "500", "--report", "r.html", "--format", "json"))["consensus"] == NAMES


def test_intervals_of_a_population_are_named_so_everywhere(run):
    options = [*FILE, "--epsilon", "500", "--neighboring", "replace"]
    wide, page = made_and_page(run, *options, "--of", "population")
    narrow = json.loads(run(*options, "--of", "voters", "--format", "json"))
    assert (wide["of"], narrow["of"]) == ("population", "voters") and "approximate" not in wide
    assert (wide["whose"], narrow["whose"]) == ("of a population", "of these voters, not of a population")
    for item, (best, worst) in narrow["intervals"].items():
        assert wide["intervals"][item][0] <= best and worst <= wide["intervals"][item][1]
    assert page.texts["th"][2] == "Likely ranks among all people" and "random sample" in page.texts["p"][2]
    bought = [*FILE, "--epsilon", "500", "--noise", "gaussian", "--delta", "1e-6", "--of", "population"]
    made = json.loads(run(*bought, "--format", "json"))
    assert (made["of"], made["approximate"], made["assumes"]) == ("population", True, "")
    assert made["whose"] == "of a population, approximately"
    assert (
        "the products of the net wins of every two items" in made["privacy"]["how"]
        and made["privacy"]["neighboring"] == "add_remove"
    )
    said = " ".join(run(*options, "--of", "population").split())
    assert "rank item in population" in said and "with probability at least 0.95. They may" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--of population", "--of population needs DPBorda with --noise gaussian --delta 1e-6, or with --neighboring"),
        ("--of population --neighboring replace --estimator DPPairwise", "--of population needs DPBorda"),
        ("--of population --neighboring replace --max-listed 2", "--of population needs DPBorda"),
        ("--of population --top 1", "--of is for rank intervals"),
        ("--of voters --noise knorm", "--of is for rank intervals"),
        ("--of voters --estimator DPBradleyTerry", "--of voters needs one round, if the estimator is DPBradleyTerry"),
    ],
)
def test_intervals_that_the_release_will_not_have_are_refused_before_the_budget_is_charged(options, message, run):
    said = run(*FILE, "--epsilon", "1", *options.split(), "--budget", "b", "--budget-epsilon", "9")
    assert said.startswith(f"dprank rank: {message}") and not Path("b").exists()


@pytest.mark.parametrize("level", ["0.95", "0.5", "0.999", "0.99999999", "0.9999999999999"])
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
    percent = "99.9999" if float(level) > 0.999 else f"{100 * float(level):g}"  # not 100: the bars may be wrong
    bars = f"The probability that all bars are right is at least {percent}\N{NO-BREAK SPACE}%."
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


def test_a_report_has_the_title_the_question_and_the_date(run):
    texts = ["--title", "Best <drink> & $why", "--question", "Which do <you> like?"]
    today = date.today()
    _, page = made_and_page(run, *FILE, "--epsilon", "1", *texts)
    assert page.open == [] and page.texts["h1"] == page.texts["title"] == ["Best <drink> & $why"]
    asked, published = page.texts["p"][:2]
    assert asked == "Which do <you> like?"
    (found,) = re.findall(r"^Published on (\S+) with differential privacy: epsilon", published)
    assert today <= date.fromisoformat(found) <= date.today()


@pytest.mark.parametrize("text", ["--title", "--question"])
def test_texts_of_the_report_need_a_report(text, run):
    said = run(*FILE, "--epsilon", "1", *NEW, text, "What?")
    assert said.startswith(f"dprank rank: {text}: printed on the page of --report only; name its file with --report.")
    assert not Path("new.sqlite").exists()


def command_of(page):
    return page.texts["pre"][0]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("{}/v.csv --positions --unranked last --items all --eps=1",
         "v.csv --positions --items all --unranked last --epsilon 1.0 --report r.html"),
        ("v.csv --pos --unranked last --items @{}/i.txt --epsilon 1",
         "v.csv --positions --items @i.txt --unranked last --epsilon 1.0 --report r.html"),
        ("v.csv --positions --unranked last --item=@{}/i.txt --epsilon 1",
         "v.csv --positions --items @i.txt --unranked last --epsilon 1.0 --report r.html"),
        ("--long @voter drink place --positions --delta 0 --items a,b --epsilon 2 {}/l.csv",
         "l.csv --positions --long @voter drink place --items a,b --epsilon 2.0 --delta 0.0 --report r.html"),
        ("s.csv --pos --unranked last --items tea,milk,rye --epsilon 1 --segments region --segment-values 'a<b,b'",
         "s.csv --positions --items tea,milk,rye --unranked last --epsilon 1.0 --report r.html --segments region "
         "--segment-values 'a<b,b'"),
    ],
)  # fmt: skip
def test_a_report_shows_its_command_without_folders_and_budgets(given, shown, tmp_path, run):
    Path("i.txt").write_text("\n".join(NAMES))
    Path("l.csv").write_text(
        "@voter,drink,place\n" + "".join(f"{v},{d},{p}\n" for v in range(60) for d, p in ("a1", "b2"))
    )
    hidden = ["--budget", f"{tmp_path}/secret.sqlite", "--budget-epsilon", "9", "--budget-delta", "1e-3"]
    given = shlex.split(given.format(tmp_path))
    _, page = made_and_page(run, *given, *hidden)
    assert command_of(page) == f"dprank rank {shown}"
    text = Path("r.html").read_text(encoding="utf-8")
    assert not re.search(f"{tmp_path}|secret|budget", text)


@pytest.mark.parametrize("title", ["Drinks", '-- What\'s "best"? --'])
def test_the_command_of_a_report_makes_the_same_page(title, run):
    """But for the noise, which changes nothing at this epsilon."""
    options = ["--top", "2", "--neighboring", "replace", "--unranked", "last", f"--title={title}", "--question", "Why?"]
    _, page = made_and_page(run, *FILE, "--epsilon", "500", *options, "--no-answer", "don't know, 99")
    written = Path("r.html").read_text(encoding="utf-8")
    Path("r.html").unlink()
    run(*shlex.split(command_of(page))[2:])
    pages = {re.sub(r"Published on [\d-]+", "", text) for text in (written, Path("r.html").read_text(encoding="utf-8"))}
    assert page.texts["h1"] == [title] and len(pages) == 1


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_report_fits_its_window_and_asks_no_server(width, run):
    """Long names, titles and questions wrap; no two texts overlap."""
    browsers = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed, and so no browser shows the page")
    names = ["Donaudampfschifffahrtsgesellschaftskapitaen" * 2, "a canteen with cheap food", *map(str, range(3, 40))]
    rows = [",".join(map(str, range(39)))] * 60
    Path("long.csv").write_text("\n".join([",".join(names), *rows]))
    title = ["--title", "W" * 70, "--question", "What should we do first? " * 9]
    run("long.csv", *PLACED, "--epsilon", "9", *title, "--report", "r.html")
    with browsers.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 844})
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(Path("r.html").absolute().as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        boxes = page.evaluate(
            """() => {
              const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
              while (walker.nextNode()) {
                const range = document.createRange();
                range.selectNodeContents(walker.currentNode);
                if (walker.currentNode.data.trim())
                  for (const box of range.getClientRects()) found.push([box.left, box.top, box.right, box.bottom]);
              }
              return found;
            }"""
        )
        browser.close()
    assert len(asked) == 1 and len(boxes) > 100
    left, top, right, bottom = np.array(boxes).T
    assert left.min() >= 0 and right.max() <= width
    wide = np.minimum.outer(right, right) - np.maximum.outer(left, left)
    high = np.minimum.outer(bottom, bottom) - np.maximum.outer(top, top)
    assert ((wide < 1) | (high < 1)).sum() == len(boxes) * (len(boxes) - 1)


@pytest.mark.parametrize("delta", [[], ["--delta", "0"]])
def test_reports_of_segments(delta, run):
    segmented = ["--segments", "region", "--segment-values", "a<b,b", *delta]
    made, page = made_and_page(run, "s.csv", *PLACED, "--epsilon", "50", *segmented)
    assert [head.split(":")[0] for head in page.texts["h2"]] == ["a<b", "b", "What this means"]
    names = [name for name in page.texts["th"] if name in ("tea", "milk", "rye")]
    assert names == [item for each in made["segments"] for item in each["consensus"]]
    assert len(page.styles["bar"]) == (0 if delta else 6)
    assert any("come from the answers of the group alone" in text for text in page.texts["p"]) != bool(delta)


@pytest.mark.parametrize("options", ["v.csv", "s.csv --segments region --segment-values a<b,b"])
def test_a_release_that_says_little_about_the_order_says_so(options, run):
    said = "cover nearly all ranks: this release says little about the order of these items."
    file = [*options.split(), *PLACED, "--level", "0.999999999"]
    made, page = made_and_page(run, *file, "--epsilon", "0.0001")
    n_items = 3 * len(made.get("segments", [made]))
    assert sum(f"{n_items} of {n_items} bars {said}" in text for text in page.texts["p"]) == 1
    assert f"{n_items} of {n_items} intervals {said}" in " ".join(run(*file, "--epsilon", "0.0001").split())
    assert said not in " ".join(run(*file, "--epsilon", "500").split())
    assert said not in " ".join(run(*FILE, "--epsilon", "0.0001", "--top", "2").split())


@pytest.mark.parametrize(
    ("error", "why"), [(OSError("no space left"), "no space left"), (KeyboardInterrupt(), "interrupted")], ids=repr
)
def test_a_result_is_printed_even_if_its_report_cannot_be_written(error, why, monkeypatch, capsys):
    def full(made, **texts):
        raise error

    monkeypatch.setattr(report, "page", full)
    assert main(["rank", *FILE, "--epsilon", "1", *NEW, "--report", "r.html"]) == 1
    out, err = capsys.readouterr()
    assert "<b>tea</b>" in out and "1 spent, 1 left" in out and "Report" not in out
    assert err == f"dprank rank: Report: r.html could not be written ({why}). The ranking is complete.\n"
    assert len(PrivacyBudget.open("new.sqlite").releases_) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--epsilon 3", "DPBorda asks for epsilon = 3 (central, add_remove), which does not fit"),
        ("--epsilon 0", "--epsilon must be a positive, finite number (in nats), got 0.0."),
        ("--epsilon 1 --top 9", "--top 9 must be below 3, the number of items to choose from"),
        ("--epsilon 1 --noise gaussian", "--noise gaussian needs --delta > 0"),
    ],
)
def test_a_budget_that_a_release_does_not_fit_is_not_created(options, message, run):
    assert message in run(*FILE, *NEW, *options.split())
    assert not Path("new.sqlite").exists()


def test_only_public_files_are_compared(run):
    for name in ("v.csv", "missing.csv", "-"):
        said = run(name, *PLACED, command="compare")
        what = "standard input" if name == "-" else name
        assert f"If {what} holds public votes, add --public. For secret votes, use dprank recommend --items" in said
    assert sorted(path.name for path in Path().iterdir()) == ["s.csv", "v.csv"]


# --- outputs that cannot be written


class Broken:
    """A standard output on which every write fails."""

    encoding = "utf-8"

    def __init__(self, number):
        self.number, self.descriptor = number, os.open(os.devnull, os.O_WRONLY)

    def write(self, text):
        return len(text)

    def flush(self):
        raise OSError(self.number, os.strerror(self.number))

    def fileno(self):
        return self.descriptor


@pytest.fixture
def unwritten(monkeypatch, capsys):
    """Run a command whose standard output fails; return its exit status and standard error."""

    def call(*arguments, number=errno.ENOSPC):
        broken = Broken(number)
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", broken)
            try:
                status = main(arguments)
            except SystemExit as stop:
                status = stop.code
        os.close(broken.descriptor)
        return status, capsys.readouterr().err

    return call


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 1), (errno.EIO, 1), (errno.EPIPE, 141)])
def test_a_result_that_was_charged_and_not_printed_can_be_printed_again(number, status, form, unwritten, capsys):
    options = [*FILE, "--epsilon", "1", *NEW, "--format", form]
    found, says = unwritten("rank", *options, number=number)
    assert found == status
    assert "it stays charged. Print it again, without a new charge: dprank budget new.sqlite --last" in says
    assert main(["budget", "new.sqlite", "--last", "--format", form]) == 0
    again = capsys.readouterr().out
    assert len(PrivacyBudget.open("new.sqlite").releases_) == 1
    assert "<b>tea</b>" in again and ("1 spent, 1 left" in again or json.loads(again)["budget"]["spent"] == 1)
    assert main(["budget", "new.sqlite", "--last", "--format", form]) == 0
    assert capsys.readouterr().out == again


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("segments", [[], ["--segments", "region", "--segment-values", "a<b,b"]])
def test_the_last_result_is_the_one_that_was_printed(form, segments, run):
    file = ["s.csv" if segments else "v.csv", *PLACED, *segments]
    budget = ["--budget", "new.sqlite", "--budget-epsilon", "2", "--budget-delta", "1e-5"]
    first = run(*file, "--epsilon", "0.5", *budget, "--format", form)
    assert run("new.sqlite", "--last", "--format", form, command="budget") == first
    second = run(*file, "--epsilon", "1", *budget, "--format", form)
    assert run("new.sqlite", "--last", "--format", form, command="budget") == second != first


@pytest.mark.parametrize("text", ["", "{", "[]", '{"made": {}, "guarantee": "{}"}'])
def test_a_last_result_that_is_missing_or_damaged_is_explained(text, run):
    assert "there is no result beside new.sqlite" in run("new.sqlite", "--last", command="budget")
    Path("new.sqlite.last").write_text(text)
    assert "new.sqlite.last is damaged" in run("new.sqlite", "--last", command="budget")


def test_last_result_warns_after_a_later_charge(run, capsys):
    first = run(*FILE, "--epsilon", "0.5", *NEW)
    PrivacyBudget.open("new.sqlite").fit(DPBorda(epsilon=0.25), VOTES)
    assert main(["budget", "new.sqlite", "--last"]) == 0
    out, err = capsys.readouterr()
    assert out == first and "this is not the result of the last charge to new.sqlite" in err
    run(*FILE, "--epsilon", "0.5", "--budget", "new.sqlite")
    assert main(["budget", "new.sqlite", "--last"]) == 0
    assert capsys.readouterr().err == ""
    Path("new.sqlite").unlink()
    assert main(["budget", "new.sqlite", "--last"]) == 0
    assert "this is not the result of the last charge" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt, 130), (MemoryError, 1), (KeyError, 1)])
def test_failure_after_the_charge_offers_a_reprint(error, status, monkeypatch, capsys):
    def fail(*args):
        raise error

    monkeypatch.setattr(ranking, "show", fail)
    assert main(["rank", *FILE, "--epsilon", "1", "--budget", "my budget", "--budget-epsilon", "2"]) == status
    assert "dprank budget 'my budget' --last" in capsys.readouterr().err


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("owner", "name"), [(ranking, "asdict"), (ranking.accounts, "keep")])
def test_ctrl_c_after_the_charge_waits_until_the_result_is_kept(owner, name, monkeypatch, capsys):
    original = getattr(owner, name)

    def pressed(*args):
        signal.raise_signal(signal.SIGINT)
        return original(*args)

    monkeypatch.setattr(owner, name, pressed)
    assert main(["rank", *FILE, "--epsilon", "1", *NEW]) == 130
    out, err = capsys.readouterr()
    assert not out and "dprank budget new.sqlite --last" in err and "Press Ctrl-C again" in err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert main(["budget", "new.sqlite", "--last"]) == 0
    assert "1 spent, 1 left" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["rank", "--help"], ["rank", *FILE, "--epsilon", "1"]]
)
def test_an_output_that_cannot_be_written_is_an_error(arguments, unwritten):
    status, says = unwritten(*arguments)
    assert status == 1
    assert "the output could not be written (No space left on device" in says.replace("[Errno 28] ", "")


@pytest.mark.parametrize(
    ("command", "arguments", "name"),
    [
        ("rank", ["folder.csv", *RATED, "--epsilon", "1"], "folder.csv"),
        ("rank", ["folder.soc", "--epsilon", "1"], "folder.soc"),
        ("budget", ["new.sqlite", "--last"], "new.sqlite.last"),
    ],
)
def test_system_errors_name_the_file_and_the_remedy(command, arguments, name, run):
    Path(name).mkdir()
    says = run(*arguments, command=command)
    assert says == (
        f"dprank {command}: {name} cannot be used (Is a directory); name another file, or change its permissions.\n"
    )


def test_a_closed_output_is_refused_before_a_charge(monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", None)
        assert main(["rank", *FILE, "--epsilon", "1", *NEW]) == 2
    assert "standard output is closed" in capsys.readouterr().err
    assert not Path("new.sqlite").exists()


def test_output_holds_no_ballots_when_stderr_is_closed(monkeypatch, capsys):
    Path("v.csv").write_text("tea,milk\n1,secret\n")
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", None)
        assert main(["rank", *FILE, "--epsilon", "1"]) == 2
        assert main(["rank", *FILE, "--epsilon", "1", "--unreadable", "empty", "--format", "json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["consensus"]


@pytest.mark.parametrize("error", [MemoryError("a ballot"), KeyError("a ballot"), RecursionError("a ballot")])
@pytest.mark.parametrize("where", ["cli.files.read", "rules.SortByScore.aggregate"])
def test_no_traceback_and_no_ballot_reaches_a_user(error, where, monkeypatch, run, capsys):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(f"sklearn_dprank.{where}", fail)
    assert main(["rank", *FILE, "--epsilon", "1", *NEW]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "If a budget was charged, it stays charged." in err
    assert "a ballot" not in err and "Traceback" not in err


def test_control_characters_in_messages_are_escaped(run):
    Path("v.csv").write_text("\x1b]0;t\x07tea,milk\n1,2\n")
    for options in ([], ["--items", "tea,wine"], ["--person", "\x1bx"], ["--weight", "\u202ex", "--max-weight", "1"]):
        says = run("v.csv", *RATED, "--epsilon", "1", *options)
        assert says.replace("\n", "").isprintable()


# --- outputs over inputs


@pytest.mark.parametrize("option", ["--report", "--plot"])
@pytest.mark.parametrize("link", ["hard", "symbolic", "through a folder", "the last result"])
def test_no_output_replaces_an_input_by_another_name(option, link, run, tmp_path):
    name = "x.html" if option == "--report" else "x.png"
    if link == "hard":
        os.link("v.csv", name)
    elif link == "symbolic":
        os.symlink("v.csv", name)
    else:
        os.symlink(".", "here")
        Path("v.csv").rename(name)
    file = name if link == "through a folder" else "v.csv"
    output = f"here/{name}" if link == "through a folder" else name
    budget = NEW
    if link == "the last result":
        Path(name).rename("v.csv")
        Path("w").mkdir()
        budget, output = ["--budget", "w/b", "--budget-epsilon", "2"], name
        os.symlink("w/b.last", name)
    says = run(file, *PLACED, "--epsilon", "1", *budget, option, output)
    why = "is the file of --budget" if link == "the last result" else "holds the ballots or the budget"
    assert f"{option}: {Path(output).name} {why}" in says
    assert not Path("new.sqlite").exists() and not Path("w/b").exists()


@pytest.mark.parametrize("name", ["v.csv", "new.sqlite", "r.html"])
def test_standard_output_is_not_a_file_that_is_read_or_written(name, run, monkeypatch, capsys):
    run(*FILE, "--epsilon", "0.5", *NEW, "--report", "r.html")
    before = Path(name).read_bytes()
    with open(name, "a") as file, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", file)
        assert main(["rank", *FILE, "--epsilon", "0.5", *NEW, "--report", "r.html"]) == 2
    assert "standard output" in capsys.readouterr().err and Path(name).read_bytes() == before
    assert len(PrivacyBudget.open("new.sqlite").releases_) == 1


def test_a_last_result_does_not_replace_the_ballots(run):
    Path("v.csv").rename("new.sqlite.last")
    says = run("new.sqlite.last", *PLACED, "--epsilon", "1", *NEW)
    assert "--budget: new.sqlite.last holds the ballots" in says and not Path("new.sqlite").exists()


def test_a_report_does_not_replace_the_ballots_on_standard_input(run, monkeypatch):
    Path("v.csv").rename("v.html")
    with open("v.html") as file:
        monkeypatch.setattr("sys.stdin", file)
        says = run("-", *PLACED, "--epsilon", "1", *NEW, "--report", "v.html")
    assert "--report: v.html holds the ballots" in says and not Path("new.sqlite").exists()


# --- what an output may hold

PUBLIC = {
    *(
        "simulated",
        "consensus",
        "level",
        "of",
        "whose",
        "intervals",
        "unranked",
        "direction",
        "privacy",
        "budget",
        "spent",
        "remaining",
    ),
    *("segments", "segment", "size", "own_weight", "max_weight"),
    *("epsilon", "delta", "trust", "neighboring", "how", "arithmetic", "certified", "caveats", "unit", "whom"),
    "statement",
}


def keys(made):
    """Return all names of values in JSON."""
    if isinstance(made, dict):
        return {key for key in made if key not in NAMES} | {inner for each in made.values() for inner in keys(each)}
    return {inner for each in made for inner in keys(each)} if isinstance(made, list) else set()


@pytest.mark.parametrize(
    "options", [[], ["--top", "2"], ["--segments", "region", "--segment-values", "a<b,b"]], ids=" ".join
)
def test_outputs_hold_public_values_only(options, run):
    """The file has 1,187 ballots, an unreadable row and a region that is not listed: none of it is published."""
    rows = [f"a<b,{','.join(map(str, vote))}" for vote in VOTES] * 10
    Path("s.csv").write_text("region,tea,milk,rye\n" + "\n".join([*rows, *["Xanadu,1,2,3"] * 6, "a<b,odd,1,2"]))
    file = ["s.csv", *PLACED, "--unreadable", "empty", *(options or ["--items", "tea,milk,rye"])]
    file += [] if "--segments" in file else ["--items", "tea,milk,rye"]
    budget = ["--budget", "b", "--budget-epsilon", "9", "--budget-delta", "1e-5"]
    made = json.loads(run(*file, "--epsilon", "1", *budget, "--report", "r.html", "--format", "json"))
    assert keys(made) - {"tea", "milk", "rye"} <= PUBLIC
    shown = [run(*file, "--epsilon", "1", *budget), Path("r.html").read_text(), Path("b.last").read_text()]
    for text in [*shown, json.dumps(made), *map(str, PrivacyBudget.open("b").releases_)]:
        text = re.sub(r"about [\d,]+ votes|.?size.{,3}: \d+", "", text)  # noisy sizes may equal the exact ones
        assert not re.search(r"1,?187|1,?180|Xanadu|odd", text)


@pytest.mark.parametrize("cell", ["x", "", "-1", "1_0", "\u0661", "1,5", "inf", "nan"])
def test_unreadable_weight_counts_as_zero(cell, run):
    Path("w.csv").write_text(f'w,tea,milk\n1,1,2\n"{cell}",2,1\n', encoding="utf-8")
    file = ["w.csv", *PLACED, "--epsilon", "1", "--weight", "w", "--max-weight", "1"]
    assert "line 3" in run(*file)
    options = parser().parse_args(["rank", *file, "--unreadable", "empty"])
    assert files.read(options)[0].weights.each.tolist() == [720720, 0]


# --- what a command loads


@pytest.mark.parametrize("words", ["--help", "--version", "no-such-command"])
def test_help_loads_neither_numpy_nor_scikit_learn(words):
    code = f"""
import sys
from sklearn_dprank.cli import main
try:
    main([{words!r}])
except SystemExit:
    pass
print(*sorted({{"numpy", "scipy", "sklearn", "pandas", "matplotlib"}} & set(sys.modules)), "end")
"""
    assert python(code).splitlines()[-1].strip() == "end"
