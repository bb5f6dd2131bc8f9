"""`read_preflib` reads both layouts of PrefLib files exactly, and names the flaw in a malformed file.

The bundled ballots are those of Figure 1 of Hay et al., with the distances that the paper states.
"""

import gzip
import tracemalloc
from itertools import combinations, permutations

import numpy as np
import pytest

from sklearn_dprank.datasets import load_hay_figure1, read_preflib

GOOD = """\
# FILE NAME: fruit.soc
# TITLE: fruit: a test
# DATA TYPE: soc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 5
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: apple
# ALTERNATIVE NAME 2: pear: green
# ALTERNATIVE NAME 3: fig
3: 2,1,3
0: 3,2,1
2: 1, 3, 2
"""


def write(folder, text, name="ballots.soc", **options):
    path = folder / name
    path.write_text(text, encoding="utf-8", **options)
    return path


def message_of(path, **options):
    with pytest.raises(ValueError) as error:
        read_preflib(path, **options)
    message = str(error.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def test_complete_strict_orders(tmp_path):
    fruit = read_preflib(write(tmp_path, GOOD))
    assert fruit.data.tolist() == 3 * [[1, 0, 2]] + 2 * [[0, 2, 1]]
    assert fruit.data.dtype == np.int64
    assert fruit.item_names == ["apple", "pear: green", "fig"]
    assert fruit.counts.tolist() == [3, 0, 2]
    assert fruit.profile.n_voters == 5
    assert fruit.profile.pairwise_counts.tolist() == [[0, 2, 5], [3, 0, 3], [0, 2, 0]]


def test_str_path_windows_line_ends_byte_order_mark_and_no_newline_at_the_end(tmp_path):
    path = write(tmp_path, "\ufeff" + GOOD.rstrip().replace("\n", "\r\n"), newline="")
    assert read_preflib(str(path)).counts.tolist() == [3, 0, 2]


@pytest.mark.parametrize("kind", ["soi", "toi"])
def test_incomplete_orders_have_a_meaning_by_default(tmp_path, kind):
    text = f"# DATA TYPE: {kind}\n# NUMBER ALTERNATIVES: 3\n1: 2,1,3\n2: 3\n"
    path = write(tmp_path, text)
    for last in (read_preflib(path), read_preflib(path, unranked="last")):
        assert last.data.dtype == np.int64 and last.unranked == "last"
        assert last.data.tolist() == [[1, 0, 2], [1, 1, 0], [1, 1, 0]]
    opinions = read_preflib(path, unranked="no_opinion")
    assert opinions.unranked == "no_opinion"
    np.testing.assert_array_equal(opinions.data, [[1, 0, 2], [np.nan, np.nan, 0], [np.nan, np.nan, 0]])
    assert opinions.profile.pairwise_counts.tolist() == [[0, 0, 1], [1, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3: 2,1,3", "3; 2,1,3", ", line 10: expected a count and item numbers, best first, ties in braces, like"),
        ("3: 2,1,3", "-3: 2,1,3", ", line 10: expected a count"),
        ("3: 2,1,3", "3: 2,,3", ", line 10: expected a count"),
        ("3: 2,1,3", "3: 2,{1,{3}}", ", line 10: expected a count"),
        ("0: 3,2,1", "9999999999999999999: 3,2,1", ", line 11: expected a count"),
        ("0: 3,2,1", f"0: {'9' * 5000},2,1", ", line 11: expected a count"),
        ("0: 3,2,1", "0: 3,4,1", ", line 11: an item is not one of 1..3."),
        ("0: 3,2,1", "0: 0,2,1", ", line 11: an item is not one of 1..3."),
        ("2: 1, 3, 2", "2: 1, 3, 1", ", line 12: an item is listed twice."),
        ("2: 1, 3, 2", "2: 1,{3,2}", ", line 12: items are tied, but the file's type is soc (strict orders)."),
        ("2: 1, 3, 2", "2: 1, 3", ", line 12: items are left out, but the file's type is soc (complete orders)."),
        ("ALTERNATIVES: 3", "ALTERNATIVES: few", ", line 4: NUMBER ALTERNATIVES must be a whole number, at least 1"),
        ("ALTERNATIVES: 3", "ALTERNATIVES: 99999999999", " must have 2 to 65534 items, got "),
        ("VOTERS: 5", "VOTERS: -5", ", line 5: NUMBER VOTERS must be a whole number, at least 0, got '-5'."),
        ("NAME 3", "NAME 4", ", line 9: a name for item '4', which is not one of 1..3."),
        ("NAME 3", "NAME 2", ", line 9: ALTERNATIVE NAME 2 was given before, in line 8."),
        ("3: fig", "3: apple", ": the names of items must be distinct, and 'apple' stands twice;"),
        ("DATA TYPE: soc", "DATA TYPE: wmd", " has the type 'wmd', not orders; read one of soc, soi, toc, toi."),
        ("VOTERS: 5", "VOTERS: 6", " announces NUMBER VOTERS: 6, but its ballots make 5; the file is cut"),
        ("ORDERS: 3", "ORDERS: 4", " announces NUMBER UNIQUE ORDERS: 4, but its ballots make 3; the file is cut"),
        ("ORDERS: 3", "ORDERS: 1", " announces NUMBER UNIQUE ORDERS: 1, but its ballots make 3; "),
        ("UNIQUE ORDERS: 3", "VOTERS: 5", ", line 6: NUMBER VOTERS was given before, in line 5."),
        ("# NUMBER ALTERNATIVES: 3\n", "", " has no line '# NUMBER ALTERNATIVES: ...' before its ballots, nor"),
    ],
)
def test_flaws_are_named(tmp_path, old, new, message):
    assert GOOD.count(old) == 1
    assert message_of(write(tmp_path, GOOD.replace(old, new))).startswith(message)


def test_ballots_that_are_converted_in_batches(tmp_path):
    """More than a million characters are converted in parts, and keep their order and line numbers."""
    kinds = [f"2: {{3,1}},{' ' * 3000}2", f"1: 2,{' ' * 3000}{{1,3}}", "0: 1,{3},2", "1: 2"]
    text = "# NUMBER ALTERNATIVES: 3\n" + 400 * ("\n".join(kinds) + "\n")
    read = read_preflib(write(tmp_path, text, "ballots.toi"))
    assert read.counts.tolist() == 400 * [2, 1, 0, 1]
    assert read.data.tolist() == 400 * [[0, 2, 0], [0, 2, 0], [1, 0, 1], [1, 0, 1]]
    flawed = write(tmp_path, text + "1: 2,{1,2}\n1: 4\n", "ballots.toi")
    assert message_of(flawed) == ", line 1603: an item is not one of 1..3."
    flawed = write(tmp_path, text + "1: 2,{1,2}\n", "ballots.toi")
    assert message_of(flawed) == ", line 1602: an item is listed twice."


OLD = """\
3
1,apple
2,pear, green
3,fig
5,5,3
3,2,1,3
0,3,2,1
2, 1, 3, 2
"""


def same(one, other):
    np.testing.assert_array_equal(one.data, other.data)
    assert one.data.dtype == other.data.dtype
    assert one.item_names == other.item_names
    assert one.counts.tolist() == other.counts.tolist()
    assert one.profile.pairwise_counts.tolist() == other.profile.pairwise_counts.tolist()
    assert one.profile.item_names.tolist() == other.profile.item_names.tolist()


@pytest.mark.parametrize(
    ("kind", "ballots"),
    [
        ("soc", ["2,1,3", "3,1,2"]),
        ("soi", ["2,1,3", "3", "1,2"]),
        ("toc", ["2,{1,3}", "{1,2,3}", "{2, 3},1"]),
        ("toi", ["{2,3}", "3", "1,{2,3}", "{1,2}"]),
    ],
)
@pytest.mark.parametrize("unranked", ["last", "no_opinion"])
def test_four_forms_in_either_layout(tmp_path, kind, ballots, unranked):
    n, k = sum(range(1, len(ballots) + 1)), len(ballots)
    new = f"# DATA TYPE: {kind}\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: {n}\n# NUMBER UNIQUE ORDERS: {k}\n"
    new += "".join(f"# ALTERNATIVE NAME {item}: {item}, no. {item}\n" for item in (1, 2, 3))
    old = "3\n" + "".join(f"{item},{item}, no. {item}\n" for item in (1, 2, 3)) + f"{n},{n},{k}\n"
    new += "".join(f"{count}: {ballot}\n" for count, ballot in enumerate(ballots, start=1))
    old += "".join(f"{count},{ballot}\n" for count, ballot in enumerate(ballots, start=1))
    expected = read_preflib(write(tmp_path, new, f"new.{kind}"), unranked=unranked)
    assert expected.counts.tolist() == list(range(1, k + 1))
    same(read_preflib(write(tmp_path, old, f"old.{kind}"), unranked=unranked), expected)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1,apple", "apple", ", line 2: a name for item 'apple', which is not one of 1..3."),
        ("1,apple", "2,apple", ", line 3: ALTERNATIVE NAME 2 was given before, in line 2."),
        ("5,5,3", "5;5;3", ", line 5: NUMBER VOTERS must be a whole number, at least 0, got ''."),
        ("5,5,3", "5,6,3", " announces NUMBER VOTERS: 6, but its ballots make 5; "),
        ("5,5,3", "5,5,4", " announces NUMBER UNIQUE ORDERS: 4, but its ballots make 3; "),
        ("3,2,1,3", "3: 2,1,3", ", line 6: expected a count and item numbers, best first, ties in braces, like '12:"),
        ("3,2,1,3", "3", ", line 6: expected a count and item numbers"),
        ("3,2,1,3", "3,2,{1,3}", ", line 6: items are tied, but the file's type is soc (strict orders)."),
        ("0,3,2,1", "0,3,2,2", ", line 7: an item is listed twice."),
        (OLD, "3\n1,apple\n", ", line 3: NUMBER VOTERS must be a whole number"),
        (OLD, "0\n", ", line 1: NUMBER ALTERNATIVES must be a whole number, at least 1, got '0'."),
        (OLD, "1\n1,apple\n", " must have 2 to 65534 items, got NUMBER ALTERNATIVES: 1."),
        (OLD, "65535\n", " must have 2 to 65534 items, got NUMBER ALTERNATIVES: 65535."),
        (OLD, "9" * 5000, ", line 1: NUMBER ALTERNATIVES must be a whole number, at least 1, got '9999"),
    ],
)
def test_flaws_of_the_old_layout_are_named(tmp_path, old, new, message):
    assert OLD.count(old) == 1
    assert message_of(write(tmp_path, OLD.replace(old, new))).startswith(message)


def test_relations_of_pairs_are_refused(tmp_path):
    for ending in ("tog", "mjg", "wmg", "pwg"):
        text = message_of(write(tmp_path, OLD, f"a.{ending}"))
        assert text == f" has the type '{ending}', not orders; read one of soc, soi, toc, toi."


@pytest.mark.parametrize("text", [GOOD, OLD], ids=["new", "old"])
def test_gzipped(tmp_path, text):
    expected = read_preflib(write(tmp_path, text))
    packed = tmp_path / "ballots.soc.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    same(read_preflib(packed), expected)
    whole = packed.read_bytes()
    for length in range(2, len(whole), 7):
        packed.write_bytes(whole[:length])
        assert message_of(packed) == " is gzipped, and cut or damaged; get it again."
    packed.write_bytes(gzip.compress(text.replace("2,1,3", "2,1").encode()))
    assert "but the file's type is soc (complete orders)" in message_of(packed)  # known from ".soc.gz"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("1: apple", "1: 2"), ("2: pear: green", "2: 3"), ("# ALTERNATIVE NAME 3: fig\n", "")),
        ("ORDERS: 3", "ORDERS: 2"),
    ],
)
def test_names_may_be_numbers_or_missing_and_totals_may_omit_unused_orders(tmp_path, old, new):
    read = read_preflib(write(tmp_path, GOOD.replace(old, new)))
    assert len(set(read.item_names)) == 3 and read.counts.tolist() == [3, 0, 2]


def test_counts_that_add_up_to_more_than_there_is_memory(tmp_path):
    for count, times in ((10**18 - 1, 10), (10**18 - 1, 30), (10**14, 1)):
        text = "# NUMBER ALTERNATIVES: 2\n" + times * f"{count}: 1,2\n"
        found = message_of(write(tmp_path, text))
        assert found == f" holds the ballots of {times * count} voters, more than fit into memory."


@pytest.mark.slow
@pytest.mark.parametrize("start", ["# NUMBER ALTERNATIVES: 3\n1: 1,2,3\n1: ", "# TITLE: ", "3\n1,"])
def test_a_line_without_end_is_not_unpacked(tmp_path, start):
    """Sixty-four megabytes, which gzip packs into as many kilobytes."""
    path = tmp_path / "long.soc"
    path.write_bytes(gzip.compress((start + "1" * 2**26).encode(), 1))
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"line {1 + start.count(chr(10))}: more than 4,194,304 characters"):
        read_preflib(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**25


def test_one_item_no_ballots_and_bytes(tmp_path):
    one = "# NUMBER ALTERNATIVES: 1\n4: 1\n"
    assert message_of(write(tmp_path, one)) == " must have 2 to 65534 items, got NUMBER ALTERNATIVES: 1."
    none = "# NUMBER ALTERNATIVES: 2\n0: 1,2\n"
    assert message_of(write(tmp_path, none)) == (
        " holds no ballots; the file is cut, or every count is 0. If there were no voters, write the line "
        "'# NUMBER VOTERS: 0' into its header."
    )
    nobody = read_preflib(write(tmp_path, "# NUMBER VOTERS: 0\n" + none))
    assert nobody.data.shape == (0, 2) and nobody.counts.tolist() == [0] and nobody.profile.n_voters == 0
    path = tmp_path / "latin.soc"
    path.write_bytes(GOOD.replace("fig", "p\xeache").encode("latin-1"))
    assert message_of(path) == " is not UTF-8 text, as PrefLib files are; convert it first."


def test_unknown_meaning_of_unranked(tmp_path):
    with pytest.raises(ValueError, match=r"^unranked must be one of \['no_opinion', 'last'\], got 'worst'\.$"):
        read_preflib(tmp_path / "never-opened.soi", unranked="worst")


@pytest.mark.parametrize("text", [GOOD, OLD], ids=["new", "old"])
def test_a_file_cut_anywhere_is_an_error(tmp_path, text):
    whole = text.rstrip()
    for length in range(len(whole)):
        message_of(write(tmp_path, whole[:length]))


# --- bundled ballots

# Figure 1, voter by voter, best first.
FIGURE = ["EACBD", "AEDCB", "CBADE", "EDCBA", "BADEC", "CEDAB", "CBEDA", "EDCBA"]


def average_distance(order, X):
    """Average Kendall tau distance over voters and pairs; `order` is a string, best first."""
    place = {"ABCDE".index(item): p for p, item in enumerate(order)}
    wrong = sum(int(np.sum((X[:, i] < X[:, j]) != (place[i] < place[j]))) for i, j in combinations(range(5), 2))
    return wrong / (len(X) * 10)


def test_ballots_are_the_figure_s():
    ballots = load_hay_figure1()
    read = ["".join("ABCDE"[i] for i in np.argsort(row)) for row in ballots.data]
    assert sorted(read) == sorted(FIGURE)
    assert ballots.item_names == list("ABCDE")
    assert ballots.counts.tolist() == [2, 1, 1, 1, 1, 1, 1]
    assert (ballots.profile.n_voters, ballots.profile.n_items) == (8, 5)
    assert ballots.profile.item_names.tolist() == list("ABCDE")


def test_figures_the_paper_states():
    X = load_hay_figure1().data
    assert X.sum(axis=0).tolist() == [19, 19, 13, 18, 11]
    assert average_distance("ECDAB", X) == 0.4
    best = {order: average_distance(order, X) for order in map("".join, permutations("ABCDE"))}
    assert min(best.values()) == 0.375
    optimal = {order for order, distance in best.items() if distance == 0.375}
    assert {"ECBDA", "ECBAD"} <= optimal
