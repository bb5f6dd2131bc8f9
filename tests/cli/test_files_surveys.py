"""Files as survey tools write them: answers in words, exports of Qualtrics and of Google Forms."""

import csv
import gzip
import io
import json
import re
import shlex

import numpy as np
import pytest

from sklearn_dprank.cli import files, parser

ITEMS = ["tea", "coffee, black", "juice - fresh", "water [still]"]
SCALE = ["Strongly disagree", "disagree", "Neither, nor", "agree", "Strongly agree"]
OPTION = 'strongly disagree,disagree,"neither, nor",agree,strongly agree'
LIKERT = ["--ratings", "--scale", OPTION]
ALL = ["--items", "all"]
PLACED = ["--positions", "--unranked", "no_opinion"]
NOT_PUBLIC = "This message depends on the ballots; do not publish it."


def answers(n_voters=40, seed=0):
    """Return places on the scale, NaN for no answer."""
    rng = np.random.default_rng(seed)
    places = rng.integers(len(SCALE), size=(n_voters, len(ITEMS))).astype(float)
    places[rng.random(places.shape) < 0.1] = np.nan
    return places


FORMS = [str, str.upper, str.title, " {} ".format, "\N{NO-BREAK SPACE}{}".format, lambda text: text.replace(" ", "  ")]


def words(places):
    """Return answers in words as people and tools write them: case, blanks and gaps differ."""
    rng = np.random.default_rng(1)

    def word(place):
        return rng.choice(["", "NA", " "]) if np.isnan(place) else FORMS[rng.integers(len(FORMS))](SCALE[int(place)])

    return [[word(place) for place in row] for row in places]


def text(rows, delimiter=",", quoting=csv.QUOTE_MINIMAL):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting).writerows(rows)
    return out.getvalue()


METADATA = {  # name of the column, its text, its ImportId, and what it holds
    "StartDate": ("Start Date", "startDate", "2024-05-01 10:00:00"),
    "EndDate": ("End Date", "endDate", "2024-05-01 10:05:00"),
    "Status": ("Response Type", "status", "IP Address"),
    "IPAddress": ("IP Address", "ipAddress", "192.0.2.1"),
    "Progress": ("Progress", "progress", "100"),
    "Duration (in seconds)": ("Duration (in seconds)", "duration", "300"),
    "Finished": ("Finished", "finished", "True"),
    "RecordedDate": ("Recorded Date", "recordedDate", "2024-05-01 10:05:01"),
    "ResponseId": ("Response ID", "_recordId", "R_{}"),
    "RecipientLastName": ("Recipient Last Name", "recipientLastName", ""),
    "LocationLatitude": ("Location Latitude", "locationLatitude", "48.1"),
    "DistributionChannel": ("Distribution Channel", "distributionChannel", "anonymous"),
    "UserLanguage": ("User Language", "userLanguage", "EN"),
}
QUESTION = "How far do you agree?\n\nI like it - a lot"
QUALTRICS = {f"Q3_{item}": (f"{QUESTION} - {name}", f"QID7_{item}") for item, name in enumerate(ITEMS, start=1)}
OTHERS = {
    "Q4": ("Any\ncomments?", "QID8_TEXT", "none"),
    "Q5_1": ("Which first? - tea", "QID9_1", "1"),
    "Q5_2": ("Which first? - coffee, black", "QID9_2", "2"),
    "SC0": ("Score", "SC0", "12"),
}


def qualtrics(cells, others=(), metadata=METADATA, **how):
    """Return an export of Qualtrics: three rows above the ballots, and line breaks in the texts of questions."""
    others = {name: OTHERS[name] for name in others}
    ids = [each[1] for part in (metadata, QUALTRICS, others) for each in part.values()]
    head = [
        [*metadata, *QUALTRICS, *others],
        [each[0] for part in (metadata, QUALTRICS, others) for each in part.values()],
        [
            json.dumps({"ImportId": each, "timeZone": "Z"} if each == "startDate" else {"ImportId": each})
            for each in ids
        ],
    ]
    before, after = ([each[2] for each in part.values()] for part in (metadata, others))
    return text(head + [[*(each.format(v) for each in before), *row, *after] for v, row in enumerate(cells)], **how)


def google(cells, timestamp="Timestamp", more=(), question="How much do you like these?", **how):
    """Return an export of Google Forms, with a grid of items."""
    head = [timestamp, *(f"{question} [{name}]" for name in ITEMS), *more]
    rows = [[f"2024/05/0{v % 9 + 1} 10:00:00 AM GMT+2", *row, *[f"x{v}"] * len(more)] for v, row in enumerate(cells)]
    return text([head, *rows], **how)


@pytest.fixture
def read(tmp_path):
    """Return the profile of a file with this content."""

    def call(content, *options, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8-sig"))
        return files.read(parser().parse_args(["rank", str(path), *options, "--epsilon", "1"]))[0]

    return call


@pytest.fixture
def refused(read):
    """Return the message of a file that is refused."""

    def call(*given, **more):
        with pytest.raises(ValueError) as error:
            read(*given, **more)
        return str(error.value)

    return call


def same(found, expected, names=ITEMS):
    return list(found.item_names) == list(names) and np.array_equal(found.positions.table, expected.positions.table)


@pytest.fixture
def expected(read):
    """Return the profile of these places on the scale in a file of numbers."""
    return lambda places, *options: read(text(["abcd"[: len(places[0])], *places]), "--ratings", *ALL, *options)


def test_answers_in_words_are_their_places_on_the_scale(read, expected):
    places = answers()
    found = read(text([ITEMS, *words(places)]), *LIKERT, *ALL)
    assert same(found, expected(places)) and found.n_voters == len(places)
    last = ["--unranked", "last"]
    assert same(read(text([ITEMS, *words(places)]), *LIKERT, *ALL, *last), expected(places, *last))
    upside_down = 'strongly agree,agree,"neither, nor",disagree,strongly disagree'
    assert same(read(text([ITEMS, *words(places)]), "--ratings", *ALL, "--scale", upside_down), expected(4 - places))


@pytest.mark.parametrize("cell", ["secret", "4", "agree.", "strongly", "1e3", "-", "dis agree"])
def test_an_answer_that_is_not_on_the_scale_is_unreadable(cell, read, refused):
    content = f"tea,milk\nagree,disagree\n,{cell}\nAGREE,agree\n"
    message = refused(content, *LIKERT, *ALL)
    assert message.startswith("votes.csv, line 3: column 'milk' must hold answers of --scale, or empty cells")
    assert message.endswith(NOT_PUBLIC) and "secret" not in message
    found = read(content, *LIKERT, *ALL, "--unreadable", "empty")
    assert found.positions.table.T.tolist() == [[0, 1], [255, 255], [0, 0]]


@pytest.mark.parametrize("first", ["Strongly agree,disagree", "ann@x.org, AGREE", '7,"Neither,  nor"'])
@pytest.mark.parametrize("options", [[], ["--person", "who"], ["--items", "tea,milk"]])
def test_a_ballot_of_answers_is_not_read_as_names(first, options, refused):
    """Its cells would be published as the items, or printed as the names of the columns."""
    message = refused(f"{first}\nagree,disagree\n", *LIKERT, *options)
    assert message.startswith("the first row of votes.csv must name the items, but it holds answers of --scale or --no")
    assert not re.search("agree|nor|ann@", message, re.IGNORECASE)


def test_numbers_are_answers_only_if_they_are_listed(read, refused):
    assert read("a,b\n1,02\n,1\n", "--ratings", *ALL, "--scale", "02,1").positions.table.T.tolist() == [
        [0, 1],
        [255, 0],
    ]
    assert "line 2: column 'b'" in refused("a,b\n1,2\n", "--ratings", *ALL, "--scale", "02,1")


def test_an_answer_may_look_like_a_gap(read):
    found = read("a,b\nNone,some\nnull,some\nN/A,\n", "--ratings", *ALL, "--scale", "none,some,all")
    assert found.positions.table.T.tolist() == [[1, 0], [255, 0], [255, 255]]


NO_ANSWER = ["--no-answer", "don't know,99"]


@pytest.mark.parametrize("layout", ["--ratings", "--positions"])
@pytest.mark.parametrize("cell", ["99", " 99.0", "9.9e1", "Don't know", "DON\N{RIGHT SINGLE QUOTATION MARK}T  know "])
def test_cells_of_no_answer_count_as_empty(cell, layout, read):
    options = [layout, *ALL, "--unranked", "no_opinion"]
    found = read(f"a,b,c\n1,{cell},98\n{cell},{cell},2\n9,9,-99\n", *options, *NO_ANSWER)
    empty = read("a,b,c\n1,,98\n,,2\n9,9,-99\n", *options)
    assert np.array_equal(found.positions.table, empty.positions.table)


def test_no_answer_in_orders(read, refused):
    orders = ["--orders", "--items", "a,b,c"]
    found = read("a,none,b\nNone of these,,c\n", *orders, "--no-answer", "none of these,none")
    assert found.positions.table.T.tolist() == read("a,b\nc\n", *orders).positions.table.T.tolist()
    assert "line 1: cell 2" in refused("a,none,b\n", *orders)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ratings", "--scale", "good"], "--scale must list at least two answers, the worst first"),
        (["--ratings", "--scale", "bad,,good"], "--scale has an empty name; leave it out."),
        (["--ratings", "--scale", "bad,Good, good"], "the worst first, that differ not only in case"),
        (["--ratings", "--scale", "bad,go\nod"], "--scale must list names with commas between"),
        (["--positions", "--scale", "bad,good"], "--scale lists answers, the worst first; use it with --ratings"),
        (["--orders", "--items", "a,b", "--scale", "bad,good"], "use it with --ratings"),
        (["--ratings", *ALL], "For answers in words, add --scale bad,fair,good"),
        (["--positions", "--unranked", "last", *ALL], "For answers in words, add --ratings --scale bad,fair,good"),
        (["--ratings", "--no-answer", "99,,x"], "--no-answer has an empty name; leave it out."),
        (["--ratings", "--no-answer", ""], "--no-answer has an empty name; leave it out."),
        (["--orders", "--items", "Tea,b", "--no-answer", "tea"], "--no-answer lists 'Tea', which is also in --items"),
    ],
)
def test_refused_scales(options, message, refused):
    assert message in refused("a,b\nbad,good\n", *options)


@pytest.mark.parametrize("how", [{}, {"delimiter": ";"}, {"quoting": csv.QUOTE_ALL}])
@pytest.mark.parametrize("name", ["votes.csv", "votes.csv.gz"])
def test_an_export_of_qualtrics(how, name, read, expected):
    places = answers()
    content = qualtrics(words(places), **how).encode("utf-8-sig")
    options = [*LIKERT, *(["--separator", ";"] if "delimiter" in how else [])]
    found = read(gzip.compress(content) if name.endswith("gz") else content, *options, name=name)
    assert same(found, expected(places))


def test_columns_of_qualtrics_have_two_names(read, expected):
    places = answers()
    content = qualtrics(words(places), others=OTHERS)
    own = read(content, *LIKERT, "--items", "Q3_4,Q3_1,Q3_2")
    assert same(own, expected(places[:, [3, 0, 1]]), [ITEMS[3], ITEMS[0], ITEMS[1]])
    short = read(content, *LIKERT, "--items", "water [still],Q3_1,juice - fresh")
    assert same(short, expected(places[:, [3, 0, 2]]), ["water [still]", "Q3_1", "juice - fresh"])
    assert read(content, "--positions", "--unranked", "last", "--items", "Q5_1,Q5_2").positions.table.T.tolist() == [
        [0, 1]
    ] * len(places)
    assert list(read(content, "--positions", "--unranked", "last", "--items", "SC0,Q5_2").item_names) == ["SC0", "Q5_2"]


def test_a_survey_with_several_questions_needs_items(read, refused):
    """The message depends on the header only, and its option works."""
    message = refused(qualtrics([["secret"] * 4], others=["Q4"]), *LIKERT)
    assert message.startswith("the columns are of several questions.") and "secret" not in message
    option = shlex.split(re.search(r"(--items .*)\.$", message)[1])
    assert option == ["--items", 'tea, "coffee, black", juice - fresh, water [still]']
    assert list(read(qualtrics(words(answers()), others=["Q4"]), *LIKERT, *option).item_names) == ITEMS
    message = refused(qualtrics(words(answers()), others=["Q5_1", "Q5_2"]), *LIKERT)  # tea is in both
    assert message.endswith("correct it: --items 'Q3_1, Q3_2, Q3_3, Q3_4'.")
    message = refused(qualtrics(words(answers()), others=["Q5_1", "Q5_2"]), *LIKERT, "--items", "tea,Q3_2")
    assert message == "--items 'tea' names 2 columns: Q3_1, Q5_1. List or rename one of these columns."
    message = refused(qualtrics(words(answers()), others=["Q4"]), *LIKERT, "--items", "tee,Q3_2")
    assert message.endswith("UserLanguage, Q3_1, Q3_2, Q3_3, Q3_4, Q4.")


def test_lines_of_qualtrics_are_those_of_the_file(refused):
    cells = words(answers(3))
    cells[1][2] = "secret"
    content = qualtrics(cells)
    line = 1 + [each.count("secret") for each in content.split("\n")].index(1)
    assert line > 5
    message = refused(content, *LIKERT)
    assert message.startswith(f"votes.csv, line {line}: column 'Q3_3' must") and "secret" not in message


def test_rows_below_the_names_of_qualtrics_must_be_there(refused, read):
    first, *rest = qualtrics([["1", "2", "3", "4"]] * 9).splitlines()
    ballots = [line for line in rest if ",1,2,3,4" in line]
    message = refused("\n".join([first, *ballots]), "--ratings")
    assert message.startswith("votes.csv has columns of Qualtrics (StartDate, EndDate, Duration")
    assert "its third row does not hold an ImportId for each column" in message
    assert "third row" in refused(first + "\n", "--ratings")
    assert "third row" in refused("\n".join([first, '"' + ballots[0], *ballots]), "--ratings")
    assert "third row" in refused("\n".join([first, first, ",".join(["[]"] * len(first.split(",")))]), "--ratings")
    assert "third row" in refused("\n".join([first, first, *ballots]), "--ratings")
    assert "third row" in refused("\n".join([first, first, '"{""ImportId"":""QID1""}"']), "--ratings")
    assert read(qualtrics([]), "--ratings").n_voters == 0


def test_a_ballot_is_never_a_row_of_names(read):
    """The names alone decide that rows are skipped, so that no ballot can hide others."""
    fake = text([[json.dumps({"ImportId": f"QID1_{item}"}) for item in (1, 2)]])
    rows = ["1,2\n", fake, "2,1\n"]
    for place in range(3):
        content = "tea,milk\n" + "".join(rows[place:] + rows[:place])
        found = read(content, "--ratings", *ALL, "--unreadable", "empty")
        assert found.n_voters == 3 and sorted(found.positions.table.T.tolist()) == [[0, 1], [1, 0], [255, 255]]


LINES = ['"', "'", '"{""ImportId"":""QID7_1""}', "StartDate,ResponseId", "R_1,agree", "\x1f\x8b", ",", "\u2028"]


@pytest.mark.parametrize("line", [*LINES, qualtrics([]).splitlines()[0], qualtrics([]).splitlines()[-1]])
@pytest.mark.parametrize("export", [qualtrics, google])
def test_any_line_of_an_export_is_one_ballot_and_leaves_the_others_alone(line, export, read):
    cells = words(answers(6))
    content = export(cells)
    ballots = content.splitlines()[-6:]
    changed = "\n".join([content[: content.index(ballots[3])] + line, *ballots[3:]])
    found = read(changed, *LIKERT, "--unreadable", "empty")
    table = read(content, *LIKERT).positions.table.T.tolist()
    assert found.positions.table.T.tolist() == [*table[:3], [255] * 4, *table[3:]]


@pytest.mark.parametrize("timestamp", ["Timestamp", "Zeitstempel", "Horodateur", "タイムスタンプ"])
def test_an_export_of_google_forms(timestamp, read, expected):
    places = answers()
    for quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL):
        assert same(read(google(words(places), timestamp, quoting=quoting), *LIKERT), expected(places))
    content = google(words(places), timestamp)
    for given in ("water [still],tea", "How much do you like these? [water [still]],How much do you like these? [tea]"):
        assert same(read(content, *LIKERT, "--items", given), expected(places[:, [3, 0]]), ["water [still]", "tea"])


def test_other_questions_of_google_forms(read, refused, expected):
    places = answers()
    content = google(words(places), more=["How old are you?"])
    message = refused(content, *LIKERT)
    option = shlex.split(re.search(r"(--items .*)\.$", message)[1])
    assert same(read(content, *LIKERT, *option), expected(places))
    assert "several questions" in refused(content.replace("Timestamp", "age"), *LIKERT)
    content = google(words(places), more=["Email Address"])
    assert "column 'Email Address' does not look like an item" in refused(content, *LIKERT)
    found = read(content, *LIKERT, "--person", "Email Address")
    assert same(found, expected(places)) and len(set(found.weights.persons.tolist())) == len(places)
    single = "Timestamp,tea,milk\n2024/05/01 10:00:00,5,4\n"  # a question for each item
    assert list(read(single, "--ratings", *ALL).item_names) == ["tea", "milk"]


@pytest.mark.parametrize(
    ("names", "items"),
    [
        (["Rate [1-5] [tea]", "Rate [1-5] [milk]"], ["tea", "milk"]),
        (["[tea]", "[milk]"], ["[tea]", "[milk]"]),
        (["taste [tea]", "price [tea]"], ["taste [tea]", "price [tea]"]),
        (["taste [tea]", "taste [ tea ]"], ["taste [tea]", "taste [ tea ]"]),
    ],
)
def test_short_names_are_those_of_one_question(names, items, read):
    assert list(read(text([names, [1, 2]]), "--ratings", *ALL).item_names) == items


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("#,tea,milk\n1,2,3\n", "column '#' does not look like an item"),
        ("ResponseId,tea,milk\nR_1,2,3\n", "column 'ResponseId' does not look like an item"),
        (
            "tea,milk\nnice,fine\n1,2\n",
            "If line 2 is a second row of names, and no ballot, add --skip-rows 2.",
        ),
        ("tea,milk\n1,2\nnice,fine\n", r"line 3: (?!.*this row holds names)"),
        ("tea;milk\n1,5;2\n", "Then run: dprank rank .* --separator ';' --decimal ,$"),
        ('tea,milk\n"1,5",2\n', "For decimal commas, add --decimal ','[.] "),
        ("Drinks,,\ntea,milk,wine\n1,2,3\n", "another row stands above the names. Then run: .* --skip-rows 1$"),
        ("tea,milk\n1,do not know\n", 'List answers such as "do not know" in --no-answer.'),
        ('tea,milk,why\n1,2,"good\n1,2,day"\n', "export the file again, without line breaks"),
    ],
)
def test_messages_name_the_remedy(content, message, refused):
    assert re.search(message, refused(content, "--ratings", *ALL))


@pytest.mark.parametrize(
    "names",
    [
        ["id", "submitdate", "lastpage", "startlanguage", "seed", "Q1[tea]", "Q1[milk]"],
        ["id. Response ID", "lastpage. Last page", "seed. Seed", "Q1[a]. Rate [tea]", "Q1[b]. Rate [milk]"],
        [
            "Response ID",
            "Date submitted",
            "Last page",
            "Start language",
            "Seed",
            "Rate these [tea]",
            "Rate these [milk]",
        ],
    ],
)
def test_an_export_of_limesurvey(names, read, refused):
    """With codes of questions, with codes and texts, and with texts."""
    row = [7] * (len(names) - 2)
    found = read(text([names, [*row, 1, 2], [*row, "", 2]], quoting=csv.QUOTE_ALL), "--ratings")
    assert list(found.item_names) == ["tea", "milk"] and found.positions.table.T.tolist() == [[1, 0], [255, 0]]
    assert "several questions. Copy this, and correct it: --items 'tea, milk'." in (
        refused(text([[*names, "Why?"], [*row, 1, 2, "so"]]), "--ratings")
    )


OWN = ["Respondent ID", "Collector ID", "Start Date", "IP Address"]
BEHIND = ["11", "7", "05/01/2026", "192.0.2.1"]


def test_an_export_of_surveymonkey(read, refused):
    """A question stands in the first row, above its first item only."""
    head = [
        [*OWN, "Rank these", "", "Which first?", "", "Why?"],
        [*[""] * 4, "tea", "milk", "tea", "Response", "Response"],
    ]
    ballots = [[*BEHIND, 1, 2, 3, "", "so"], [*BEHIND, 2, "", 1, "", ""]]
    message = refused(text([*head, *ballots]), *PLACED)
    assert "several questions. Copy this, and correct it: --items 'Rank these [tea], Rank these [milk]'." in message
    found = read(text([*head, *ballots]), *PLACED, "--items", "Rank these [tea],milk")
    assert found.positions.table.T.tolist() == [[0, 1], [0, 255]]
    one = text([[*row[:6]] for row in [*head, *ballots]])
    assert list(read(one, *PLACED).item_names) == ["tea", "milk"]
    assert list(read(one, *PLACED, "--person", "Respondent ID").item_names) == ["tea", "milk"]


def test_the_second_row_of_surveymonkey_is_not_a_ballot(refused):
    names = [*OWN, "tea", "milk"]
    for rows in ([[*BEHIND, "secret", 2]], [], [[""]], [[*[""] * 4, "tea", "secret\nsecret\n1,2,3,4,5,6"]]):
        message = refused(text([names, *rows, [*BEHIND, 1, 2]][: 1 + len(rows)]), *PLACED)
        assert message.startswith("votes.csv has columns of SurveyMonkey (Respondent ID, Collector ID), but its second")
        assert "secret" not in message


@pytest.mark.parametrize(
    "name", ["Alter", "TOTAL", "Count", "Comments", "Zeitstempel", "E-Mail", "Age:", "timestamp 2", "Nr", "Lfd. Nr."]
)
def test_all_takes_no_columns_that_look_like_something_else(name, read, refused):
    """The name decides, not the cells; --items may list the column."""
    content = f"tea,milk,{name}\n1,2,\n"
    message = refused(content, "--ratings", *ALL)
    assert message.startswith(
        f"column {name!r} does not look like an item. Copy this, and correct it: --items 'tea, milk'."
    )
    assert refused(content.replace("1,2,", "1,2,3"), "--ratings", *ALL) == message == refused(content, "--ratings")
    assert list(read(content, "--ratings", "--items", f"tea,{name}").item_names) == ["tea", name]
