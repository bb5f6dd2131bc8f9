"""Item names become plain strings or integers, and names that differ between tables are detected."""

import numpy as np
import pandas as pd
import pytest

from sklearn_dprank import DPBorda, LDPPairwise, SegmentedAggregator
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.reading import checked_names
from sklearn_dprank.channels.segmented import segment_numbers
from sklearn_dprank.plotting import ConsensusDisplay
from sklearn_dprank.preprocessing import orders_to_positions


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Index, pd.Series, iter, dict.fromkeys])
def test_names_are_plain_strings(make):
    plain = checked_names(make(["b", "a"]), "items")
    assert plain == ["b", "a"]
    assert {type(name) for name in plain} == {str}


@pytest.mark.parametrize("names", [[30, 10], range(30, 0, -20), np.array([30, 10], dtype=np.uint8), pd.Index([30, 10])])
def test_names_are_plain_integers(names):
    plain = checked_names(names, "items")
    assert plain == [30, 10]
    assert {type(name) for name in plain} == {int}


# --- names of other keyboards, and characters that do not show

COMPOSED, DECOMPOSED = "S\u00e8te", "Se\u0300te"


def flag(region, end="\U000e007f"):
    """Return the emoji of a region's flag: a black flag and tags."""
    return "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + end


@pytest.mark.parametrize("name", [flag("gbeng"), f"a {flag('gbsct')} b", flag("gbwls") + flag("gbeng")], ids=ascii)
def test_flags_of_regions_are_accepted_and_differ(name):
    assert checked_names([name, flag("gbnir")], "items") == [name, flag("gbnir")]


@pytest.mark.parametrize(
    "name",
    [flag("gbeng", ""), *map(flag, ["gb", "gbsecret", "GBENG", ""]), flag("gbeng")[1:], flag("gbeng") + "\U000e007f"],
    ids=ascii,
)
def test_tags_outside_the_flag_of_a_region_are_refused(name):
    with pytest.raises(ValueError, match=r"U\+E00"):
        checked_names([name, "x"], "items")


@pytest.mark.parametrize("name", [COMPOSED, "کتاب\u200cها", "👩\u200d🔬", "a b", "中文 名", "\u2764\ufe0f"])
def test_names_of_any_language_are_accepted(name):
    assert checked_names([name, "x"], "items") == [name, "x"]


@pytest.mark.parametrize(
    ("name", "plain"), [(DECOMPOSED, COMPOSED), ("a\u00a0b", "a b"), ("a\u3000b", "a b"), ("\u212b", "\u00c5")]
)
def test_names_are_composed_and_their_blanks_are_plain(name, plain):
    assert checked_names([name, "x"], "items") == [plain, "x"]
    frame = pd.DataFrame([[0, 1]] * 9, columns=[name, "x"])
    fitted = DPBorda(epsilon=500).fit(frame)
    assert fitted.consensus_.tolist() == [plain, "x"]
    assert fitted.score(frame) == fitted.score(frame.rename(columns={name: plain})) == 0
    assert np.asarray(orders_to_positions([[name, "x"]], items=[plain, "x"])).tolist() == [[0, 1]]
    assert np.asarray(orders_to_positions([[plain, "x"]], items=[name, "x"])).tolist() == [[0, 1]]
    assert DPBorda().fit(Profile.from_rankings(frame) + Profile.from_rankings(frame, items=[plain, "x"])).n_features_in_


@pytest.mark.parametrize(
    "names",
    [
        *([COMPOSED, DECOMPOSED], ["a b", "a\u00a0b"], ["کتاب\u200cها", "کتابها"], ["\u2764", "\u2764\ufe0f"]),
        ["\u00e9x", "e\u200d\u0301x"],  # a joiner keeps an accent from its letter
    ],
    ids=ascii,
)
def test_names_that_look_alike_are_refused(names):
    with pytest.raises(ValueError, match="items must be distinct"):
        checked_names(names, "items")
    with pytest.raises(ValueError, match="at least two different labels"):
        SegmentedAggregator(names).fit([[0, 1]], segments=["x"])


CODES = [0, 7, 9, 10, 0x1B, 0x7F, 0x85, 0x9B, 0xAD, 0x61C, 0x200B, 0x200E, 0x202E, 0x2028, 0x2060, 0x2066, 0x2800]


@pytest.mark.parametrize("code", [*CODES, 0x3164, 0xFEFF, 0xFFFE, 0x1FFFF, 0xD800, 0xE0041])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_characters_that_do_not_show_are_refused_with_their_code(code, place):
    name = "ab"[:place] + chr(code) + "ab"[place:]
    for use in (
        lambda: checked_names([name, "x"], "items"),
        lambda: Profile.from_rankings([[0, 1]], items=[name, "x"]),
        lambda: SegmentedAggregator([name, "x"]).fit([[0, 1]], segments=["x"]),
        lambda: LDPPairwise().protocol([name, "x"]),
        lambda: ConsensusDisplay([0, 1], [1, 0], items=[name, "x"]),
    ):
        with pytest.raises(ValueError, match=rf"must not hold control characters .* U\+{code:04X}; remove") as error:
            use()
        assert str(error.value).isprintable()


@pytest.mark.parametrize("name", [" a", "a ", "a\u00a0", "\u3000a", "\u200cab", "ab\u200d"], ids=ascii)
def test_blanks_and_joiners_around_a_name_are_refused(name):
    with pytest.raises(ValueError, match=r"must not begin or end with a blank|U\+200[CD]"):
        checked_names([name, "x"], "items")


@pytest.mark.parametrize("label", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("listed", [COMPOSED, DECOMPOSED])
def test_segments_are_compared_in_composed_form(label, listed):
    assert segment_numbers([label, "x"], [COMPOSED, "x"], 2).tolist() == [0, 1]
    fitted = SegmentedAggregator([listed, "x"], epsilon=500).fit(
        [[0, 1]] * 90 + [[1, 0]] * 9, segments=[label] * 90 + ["x"] * 9
    )
    assert fitted.segments_.tolist() == [COMPOSED, "x"]
    assert fitted.net_wins_[0, 0] > 50


def test_labels_of_voters_never_raise_an_error():
    """Whether a voter's label has a control character may not decide whether there is a release."""
    assert segment_numbers(["x\x1b", "\ud800", " x", None, 3], ["x", "y"], 5).tolist() == [-1] * 5
