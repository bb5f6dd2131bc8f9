import os
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sklearn_dprank.datasets import read_preflib

FOLDER = os.environ.get("SKLEARN_DPRANK_DATA")
needs_files = pytest.mark.skipif(not FOLDER, reason="SKLEARN_DPRANK_DATA is not set")

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


def test_announced_orders_may_leave_out_those_with_count_zero(tmp_path):
    text = GOOD.replace("UNIQUE ORDERS: 3", "UNIQUE ORDERS: 2")
    assert read_preflib(write(tmp_path, text)).counts.tolist() == [3, 0, 2]


def test_ties(tmp_path):
    text = "# DATA TYPE: toc\n# NUMBER ALTERNATIVES: 4\n1: 2,{1, 4},3\n1: {1,2,3,4}\n1: {3},{1,2},4\n"
    assert read_preflib(write(tmp_path, text)).data.tolist() == [[1, 0, 3, 1], [0, 0, 0, 0], [1, 1, 0, 3]]


@pytest.mark.parametrize("kind", ["soi", "toi"])
def test_incomplete_orders_need_a_meaning(tmp_path, kind):
    text = f"# DATA TYPE: {kind}\n# NUMBER ALTERNATIVES: 3\n1: 2,1,3\n2: 3\n"
    path = write(tmp_path, text)
    assert message_of(path) == (
        " has ballots that leave items out (the first is line 4); `unranked` must say what that means: "
        "pass unranked='last' if an item left out ranks below every listed one, as on truncated election ballots, or "
        "unranked='no_opinion' if the voter was not asked about it or did not know it."
    )
    last = read_preflib(path, unranked="last").data
    assert last.dtype == np.int64
    assert last.tolist() == [[1, 0, 2], [1, 1, 0], [1, 1, 0]]
    opinions = read_preflib(path, unranked="no_opinion")
    np.testing.assert_array_equal(opinions.data, [[1, 0, 2], [np.nan, np.nan, 0], [np.nan, np.nan, 0]])
    assert opinions.profile.pairwise_counts.tolist() == [[0, 0, 1], [1, 0, 1], [0, 0, 0]]


def test_complete_ballots_in_an_incomplete_file_need_no_meaning(tmp_path):
    text = "# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 2\n1: 2,1\n"
    assert read_preflib(write(tmp_path, text)).data.tolist() == [[1, 0]]


def test_without_a_data_type_the_name_s_ending_counts(tmp_path):
    text = "# NUMBER ALTERNATIVES: 2\n1: 2\n"
    assert "type is soc (complete orders)" in message_of(write(tmp_path, text, "a.soc"))
    assert read_preflib(write(tmp_path, text, "a.txt"), unranked="last").data.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3: 2,1,3", "3; 2,1,3", ", line 10: expected 'COUNT: ' and item numbers, best first, ties in braces, like"),
        ("3: 2,1,3", "three: 2,1,3", ", line 10: expected 'COUNT: '"),
        ("3: 2,1,3", "-3: 2,1,3", ", line 10: expected 'COUNT: '"),
        ("3: 2,1,3", "3: 2,,3", ", line 10: expected 'COUNT: '"),
        ("3: 2,1,3", "3: 2,1,pear", ", line 10: expected 'COUNT: '"),
        ("3: 2,1,3", "3: 2,{1,3", ", line 10: expected 'COUNT: '"),
        ("3: 2,1,3", "3: 2,{1,{3}}", ", line 10: expected 'COUNT: '"),
        ("3: 2,1,3", "3:", ", line 10: expected 'COUNT: '"),
        ("0: 3,2,1", "0: 3,4,1", ", line 11: item 4 is not one of 1..3."),
        ("0: 3,2,1", "0: 0,2,1", ", line 11: item 0 is not one of 1..3."),
        ("2: 1, 3, 2", "2: 1, 3, 1", ", line 12: item 1 is listed twice."),
        ("2: 1, 3, 2", "2: 1,{3,2}", ", line 12: items are tied, but the file's type is soc (strict orders)."),
        (
            "2: 1, 3, 2",
            "2: 1, 3",
            ", line 12: 2 of 3 items are listed, but the file's type is soc (complete orders).",
        ),
        (
            "ALTERNATIVES: 3",
            "ALTERNATIVES: few",
            ", line 4: NUMBER ALTERNATIVES must be a positive whole number, got 'few'.",
        ),
        ("VOTERS: 5", "VOTERS: -5", ", line 5: NUMBER VOTERS must be a positive whole number, got '-5'."),
        ("NAME 3", "NAME 4", ", line 9: a name for item '4', which is not one of 1..3."),
        ("DATA TYPE: soc", "DATA TYPE: wmd", ", line 3: DATA TYPE must be one of soc, soi, toc, toi, got 'wmd'."),
        (
            "VOTERS: 5",
            "VOTERS: 6",
            " holds the ballots of 5 voters where its header announces NUMBER VOTERS: 6; "
            "the file is cut or damaged, get it again.",
        ),
        (
            "ORDERS: 3",
            "ORDERS: 4",
            " holds 3 distinct ballots where its header announces NUMBER UNIQUE ORDERS: 4; "
            "the file is cut or damaged, get it again.",
        ),
        ("ORDERS: 3", "ORDERS: 1", " holds 3 distinct ballots where its header announces NUMBER UNIQUE ORDERS: 1; "),
        (
            "# NUMBER ALTERNATIVES: 3\n",
            "",
            " has no line '# NUMBER ALTERNATIVES: ...', so it is cut or not a PrefLib file; files in the format used "
            "before 2022 have to be downloaded again from preflib.org.",
        ),
    ],
)
def test_flaws_are_named(tmp_path, old, new, message):
    assert GOOD.count(old) == 1
    assert message_of(write(tmp_path, GOOD.replace(old, new))).startswith(message)


def test_one_item_no_ballots_and_bytes(tmp_path):
    one = "# NUMBER ALTERNATIVES: 1\n4: 1\n"
    assert message_of(write(tmp_path, one)) == " has one item (NUMBER ALTERNATIVES: 1); a ranking needs at least two."
    none = "# NUMBER ALTERNATIVES: 2\n0: 1,2\n"
    assert message_of(write(tmp_path, none)) == " holds no ballots; the file is cut, or every count is 0."
    path = tmp_path / "latin.soc"
    path.write_bytes(GOOD.replace("fig", "p\xeache").encode("latin-1"))
    assert message_of(path) == " is not UTF-8 text, as PrefLib files are; convert it first."


def test_unknown_meaning_of_unranked(tmp_path):
    with pytest.raises(ValueError, match=r"^unranked must be 'no_opinion', 'last' or None, got 'worst'\.$"):
        read_preflib(tmp_path / "never-opened.soi", unranked="worst")


def test_a_file_cut_anywhere_is_an_error(tmp_path):
    whole = GOOD.rstrip()
    for length in range(len(whole)):
        message_of(write(tmp_path, whole[:length]))


@st.composite
def files(draw):
    """Draw (count, levels) of each ballot line: smaller levels are better, -1 is not listed."""
    n_items = draw(st.integers(2, 7))
    levels = st.lists(st.integers(-1, 4), min_size=n_items, max_size=n_items).filter(lambda row: max(row) >= 0)
    return [(draw(st.integers(1, 4)), draw(levels))] + draw(st.lists(st.tuples(st.integers(0, 4), levels), max_size=4))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ballots=files())
def test_round_trip(tmp_path, ballots):
    lines, rows = [f"# NUMBER ALTERNATIVES: {len(ballots[0][1])}"], []
    for count, levels in ballots:
        groups = [[i + 1 for i, lev in enumerate(levels) if lev == level] for level in sorted(set(levels) - {-1})]
        texts = [str(g[0]) if len(g) == 1 else "{" + ",".join(map(str, g)) + "}" for g in groups]
        lines.append(f"{count}: {','.join(texts)}")
        rows += count * [[np.nan if lev < 0 else sum(0 <= other < lev for other in levels) for lev in levels]]
    path = write(tmp_path, "\n".join(lines), "random.toi")
    np.testing.assert_array_equal(read_preflib(path, unranked="no_opinion").data, rows)
    last = read_preflib(path, unranked="last").data
    filled = np.where(np.isnan(rows), np.sum(~np.isnan(rows), axis=1)[:, None], rows)
    np.testing.assert_array_equal(last, filled)


def disagreements(X, order):
    """Strict disagreements of all voters with an order of the file's own item numbers, best first."""
    columns = X[:, np.asarray(order) - 1]
    return sum(int(np.sum(columns[:, i] > columns[:, j])) for i, j in combinations(range(len(order)), 2))


@needs_files
def test_sushi():
    sushi = read_preflib(Path(FOLDER, "sushi.soc"))
    assert sushi.data.shape == (5000, 10)
    assert len(sushi.counts) == 4926
    assert sushi.item_names[7] == "toro (fatty tuna)"
    assert disagreements(sushi.data, [8, 3, 1, 6, 2, 5, 9, 4, 7, 10]) == 77_036
    assert disagreements(sushi.data, [8, 3, 6, 1, 2, 5, 4, 9, 7, 10]) == 76_948
    assert (np.argsort(sushi.data.sum(axis=0)) + 1).tolist() == [8, 3, 1, 6, 2, 5, 9, 4, 7, 10]


@needs_files
@pytest.mark.parametrize(
    ("name", "n_voters", "optimum"),
    [
        ("00024-00000001.soc", 795, 0.407547),
        ("00024-00000002.soc", 794, 0.375315),
        ("00024-00000003.soc", 800, 0.317708),
        ("00024-00000004.soc", 794, 0.291982),
        ("00025-00000001.soc", 793, 0.389239),
        ("00025-00000002.soc", 795, 0.291195),
        ("00025-00000003.soc", 795, 0.307547),
        ("00025-00000004.soc", 797, 0.360937),
    ],
)
def test_dots_and_puzzle(name, n_voters, optimum):
    X = read_preflib(Path(FOLDER, name)).data
    assert X.shape == (n_voters, 4)
    assert X.sum(axis=0).argsort().tolist() == [0, 1, 2, 3]
    distance = {order: disagreements(X, order) / (6 * n_voters) for order in permutations((1, 2, 3, 4))}
    assert min(distance, key=distance.get) == (1, 2, 3, 4)
    assert distance[1, 2, 3, 4] == pytest.approx(optimum, abs=1e-6)


@needs_files
def test_election_top_ten_and_ties():
    dublin = Path(FOLDER, "00001-00000002.soi")
    assert "(the first is line 22)" in message_of(dublin)
    X = read_preflib(dublin, unranked="last").data
    assert X.shape == (29988, 9)
    assert X[0].tolist() == [3, 3, 1, 3, 0, 3, 2, 3, 3]  # 621: 5,3,7

    top = read_preflib(Path(FOLDER, "sushi-top10of100.soi"), unranked="no_opinion")
    assert top.data.shape == (5000, 100)
    np.testing.assert_array_equal(np.sum(~np.isnan(top.data), axis=1), 10)
    assert (top.data[0, 46], top.data[0, 51]) == (0, 9)  # 1: 47,18,21,100,17,53,12,5,30,52

    vermont = read_preflib(Path(FOLDER, "00031-00000002.toc"))
    assert vermont.data.shape == (1094, 6)
    assert vermont.data[0].tolist() == [0, 3, 0, 3, 3, 0]  # 236: {1,3,6},{2,4,5}
    assert vermont.item_names[5] == "Pollina"
