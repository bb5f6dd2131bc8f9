"""The reproductions of the local papers measure what they say: small settings, known answers, pictures."""

import gzip
import math
import os

import numpy as np
import pytest

from sklearn_dprank import KwikSort, LDPQuickSort, PositionalRule
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import read_preflib

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")

DATA = os.environ.get("SKLEARN_DPRANK_DATA")
STAND_INS_AND_REAL = [
    pytest.param(None, id="stand-ins"),
    pytest.param(DATA, id="real", marks=pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")),
]
SMALL = {"crowds": 2, "repeats": 3}


def mean(scores):
    return np.asarray(scores).mean(axis=-1)


def test_votes_are_read_or_replaced_and_it_is_said(example, tmp_path, monkeypatch, capsys):
    data = example("_shared")
    monkeypatch.setattr("sys.argv", ["plot.py", "--pictures", str(tmp_path)])
    arguments = data.begin()
    printed = capsys.readouterr().out
    assert arguments.pictures == tmp_path and not arguments.full
    votes = data.real("TurkDots")
    assert votes.title == "Mallows in place of TurkDots" and votes.ballots.shape == (795, 4)
    assert "TurkDots, TurkPuzzle, SUSHI" in printed and "stand in" in printed
    (tmp_path / "00024-00000001.soc").write_text("# NUMBER ALTERNATIVES: 4\n3: 2,1,3,4\n1: 4,3,2,1\n")
    monkeypatch.setenv("SKLEARN_DPRANK_DATA", str(tmp_path))
    title, ballots = data.real("TurkDots")
    assert title == "TurkDots"
    assert sorted(ballots.tolist()) == [[1, 0, 2, 3]] * 3 + [[3, 2, 1, 0]]
    assert data.real("SUSHI").title == "Mallows in place of SUSHI"
    data.begin()
    printed = capsys.readouterr().out
    assert "for TurkPuzzle, SUSHI" in printed and "Real rankings: TurkDots." in printed
    data.begin(("TurkDots",))
    assert capsys.readouterr().out == "Real rankings: TurkDots.\n"
    with gzip.open(tmp_path / "jester100.csv.gz", "wt") as table:
        table.write("joke1,joke2,joke3\n-1.5,9.0,8.25\n7,7,-10\n")
    assert data.real("JESTER").ballots.tolist() == [[2, 0, 1], [0, 0, 2]]


def test_rankings_are_downloaded_where_that_is_allowed_only(example, tmp_path, monkeypatch, capsys):
    data, asked = example("_shared"), []

    def fetch(name):
        asked.append(name)
        return read_preflib(tmp_path / name)

    monkeypatch.setattr(data, "fetch_preflib", fetch)
    for name, order in (("00024-00000001.soc", "2,1,3,4"), ("00025-00000001.soc", "4,3,2,1")):
        (tmp_path / name).write_text(f"# NUMBER ALTERNATIVES: 4\n3: {order}\n")
    monkeypatch.setattr("sys.argv", ["plot.py", "--download"])
    data.begin(("TurkDots", "TurkPuzzle", "SUSHI", "JESTER"))
    assert asked == ["00024-00000001.soc", "00025-00000001.soc"]
    assert data.real("TurkPuzzle").title == "TurkPuzzle"
    assert data.real("TurkPuzzle").ballots.tolist() == [[3, 2, 1, 0]] * 3
    assert data.real("SUSHI").title == "Mallows in place of SUSHI"
    printed = capsys.readouterr().out
    assert "No files for SUSHI, JESTER (" in printed and "Real rankings: TurkDots, TurkPuzzle." in printed
    asked.clear()
    monkeypatch.setattr("sys.argv", ["plot.py"])
    data.begin()
    assert asked == [] and data.real("TurkDots").title == "Mallows in place of TurkDots"


@pytest.mark.parametrize(
    ("name", "distance"), [("TurkDots", 0.4075), ("TurkPuzzle", 0.3892), ("SUSHI", 0.3420), ("JESTER", 0.3806)]
)
def test_replacements_are_spread_like_the_real_votes(example, name, distance):
    shared = example("_shared")
    profile = Profile.from_rankings(shared.real(name).ballots)
    borda = np.argsort(np.argsort(-profile.net_wins))
    assert shared.average_kendall_tau(borda, profile) == pytest.approx(distance, abs=0.015)


def test_error_bars_of_what_is_never_negative_end_at_0(example):
    plt = pytest.importorskip("matplotlib.pyplot")
    shared = example("_shared")
    errors, differences = [[0.0, 0.0, 0.9], [0.4, 0.5, 0.6]], [[-0.1, 0.0, 0.9], [0.4, 0.5, 0.6]]
    for scores, first in ((errors, 0.0), (differences, 4 / 15 - 2 * np.std(differences[0], ddof=1) / np.sqrt(3))):
        figure, ax = plt.subplots()
        shared.line(ax, [1, 2], scores, 0, "a")
        lower, upper = np.array(ax.containers[0].lines[2][0].get_segments())[..., 1].T
        mean, noise = np.mean(scores, axis=1), 2 * np.std(scores, axis=1, ddof=1) / np.sqrt(3)
        np.testing.assert_allclose(upper, mean + noise)
        np.testing.assert_allclose(lower, [first, mean[1] - noise[1]], atol=1e-12)
        plt.close(figure)


@pytest.mark.slow
def test_legends_are_not_wider_than_the_picture(example):
    plt = pytest.importorskip("matplotlib.pyplot")
    shared = example("_shared")
    for words in ("short", "twice as much noise as the theorem asks for"):
        figure, axes = shared.panels(1, 1)
        shared.curves(axes[0, 0], [1, 2], {f"{words} {k}": np.ones((2, 3)) for k in range(5)})
        shared.finish(figure, "title", "name")
        figure.draw_without_rendering()
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width and len(legend.get_texts()) == 5
        assert len({round(text.get_window_extent().x0) for text in legend.get_texts()}) == (
            3 if words == "short" else 1
        )
        plt.close(figure)


@pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")
def test_real_votes(example, monkeypatch, capsys):
    monkeypatch.setenv("SKLEARN_DPRANK_DATA", DATA)
    monkeypatch.setattr("sys.argv", ["plot.py", "--full"])
    data = example("_shared")
    assert data.begin().full
    assert "Real rankings" in capsys.readouterr().out
    assert [data.real(name).ballots.shape for name in ("TurkDots", "TurkPuzzle", "SUSHI", "JESTER")] == [
        (795, 4),
        (793, 4),
        (5000, 10),
        (2341, 100),
    ]


def test_theta_is_one_minus_phi_and_some_are_voters(example):
    data = example("_shared")
    votes = data.mallows(4000, 2, 0.5)
    share = np.mean(votes.ballots[:, 0] == 0)
    assert max(share, 1 - share) == pytest.approx(1 / 1.5, abs=0.03)
    few = data.some(data.mallows(50, 3, 0.5), 10)
    assert few.ballots.shape == (10, 3)


def test_error_rate_against_pair_by_pair(example):
    measure = example("_shared")
    rng = np.random.default_rng(0)
    profile = Profile.from_rankings(rng.permuted(np.tile(np.arange(5), (7, 1)), axis=1))

    class Fitted:
        ranks_ = np.array([3, 1, 0, 2, 4])
        margins_ = np.sign(np.subtract.outer(*[rng.integers(0, 3, 5)] * 2))

    def wrong(estimated):
        return sum(
            (profile.margins[i, j] > 0 and estimated(i, j) < 0) or (profile.margins[i, j] < 0 and estimated(i, j) > 0)
            for i in range(5)
            for j in range(i + 1, 5)
        ) / 10  # fmt: skip

    _, rate = measure.distance_and_error_rate(Fitted, profile)
    assert rate == wrong(lambda i, j: Fitted.margins_[i, j])
    del Fitted.margins_
    _, rate = measure.distance_and_error_rate(Fitted, profile)
    assert rate == wrong(lambda i, j: Fitted.ranks_[j] - Fitted.ranks_[i])


def test_claims_are_counted_and_summed_up(example, capsys):
    measure = example("_shared")
    measure.claim("one", [True, True], "so")
    measure.claim("two: a long claim is wrapped", [True, False])
    measure.claim("three", False)
    assert capsys.readouterr().out == (
        "* one\n  held, 2 of 2: so\n* two: a long claim is wrapped\n  held in part, 1 of 2\n* three\n  did not hold\n"
    )
    measure.summary(width=16)
    assert capsys.readouterr().out.splitlines() == [
        "What is claimed   What was found",
        "-" * 16 + "  " + "-" * 24,
        "one               held, 2 of 2",
        "two: a long       held in part, 1 of 2",
        "claim is wrapped",
        "three             did not hold",
    ]
    measure.summary()
    assert len(capsys.readouterr().out.splitlines()) == 2  # the next example begins anew


def test_sweep_and_excess(example):
    shared = example("_shared")
    swept = shared.sweep(lambda x: {"sum": [x + 1, x + 2], "product": [x, 2 * x]}, (3, 5, 7))
    assert swept["sum"].tolist() == [[4, 5], [6, 7], [8, 9]]
    assert swept["product"].tolist() == [[3, 6], [5, 10], [7, 14]]
    profile = Profile.from_rankings([[0, 1, 2]] * 3 + [[1, 0, 2]])
    found = shared.excess(PositionalRule(scores=[0, 1, 2]), profile, [0, 1, 2], 2)
    assert found == pytest.approx([22 / 24 - 2 / 24] * 2)  # the reverse against the optimum: 11 of 12 pairs, 1 of 12


def test_error_rates_are_drawn_above_distances(example):
    shared = example("_shared")
    scores = np.array([[[0.3, 0.1], [0.5, 0.3]], [[0.2, 0.0], [0.2, 0.0]]])  # (distance, error rate), two trials
    votes = [shared.mallows(2, 2, 0.5)] * 2
    _, axes = shared.both_scores([{"a": scores}] * 2, [(1, 2)] * 2, votes, "below")
    drawn = [[ax.containers[0].lines[0].get_ydata().tolist() for ax in row] for row in axes]
    assert drawn[0] == [pytest.approx([0.2, 0.0])] * 2 and drawn[1] == [pytest.approx([0.4, 0.2])] * 2
    assert [ax.get_title() for ax in axes[:, 0]] == [votes[0].title, ""]
    assert [ax.get_xlabel() for ax in axes[:, 1]] == ["", "below"]
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["error rate", "average Kendall tau"]


def test_tables_are_aligned(example, capsys):
    example("_shared").table("numbers", ("what", "n"), ("a", 12345.6), ("long one", 0.12345))
    assert capsys.readouterr().out == "numbers\n      what      n\n         a  12346\n  long one  0.123\n"


def test_estimators_are_compared_and_timed(example):
    shared = example("_shared")
    votes = shared.mallows(50, 4, 0.5)
    rule = PositionalRule(scores=[0, 0, 0, 1])  # the last first
    scores = shared.compared({"veto": rule, "kwiksort": KwikSort()}, votes, 2)
    profile = Profile.from_rankings(votes.ballots)
    assert scores["veto"].tolist() == [list(shared.distance_and_error_rate(rule.fit(profile), profile))] * 2
    assert scores["kwiksort"][0, shared.DISTANCE] < scores["veto"][0, shared.DISTANCE]
    assert 0 < shared.seconds(rule, votes, 3) < 1


def test_curves_draw_means_and_label_what_was_measured(example):
    shared = example("_shared")
    _, ((ax,),) = shared.panels(1, 1)
    shared.curves(ax, (500, 20000), {"a": [[1, 3], [5, 7]], "b": [[0], [1]]}, "title", "x", ticks=True)
    assert ax.get_legend_handles_labels()[1] == ["a", "b"]
    assert [bars.lines[0].get_ydata().tolist() for bars in ax.containers] == [[2, 6], [0, 1]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["500", "20k"]
    assert (ax.get_title(), ax.get_xlabel()) == ("title", "x")


@pytest.mark.slow
def test_yan_queries(example, tmp_path, is_picture):
    yan, data = example("plot_yan_2020"), example("_shared")
    votes = data.mallows(1000, 6, 0.5)
    assert yan.query_counts(4) == [1, 2, 3, 4, 5, 6] and yan.query_counts(15) == [1, 2, 3, 4, 5, 16, 105]
    for name in yan.RANDOMIZERS:
        result = yan.sweep_queries(votes, name, (1.0,), 30)
        rates = mean(result[1.0][..., yan.ERROR_RATE])
        assert rates[0] == rates.min() and rates[-1] > rates[0] + 0.1
        assert yan.good_choices([votes], [result]) == {1.0: [True]}
    yan.draw_queries([result], [votes], name, 4, tmp_path)
    assert is_picture(tmp_path / "yan_figure_4.png")


def test_yan_epsilon(example):
    yan, data = example("plot_yan_2020"), example("_shared")
    votes = data.mallows(1000, 6, 0.5)
    result = yan.sweep_epsilon(votes, (0.1, 5.0), 6)
    kwiksort, central, rr, lap = (mean(np.moveaxis(result[name], 1, -1)) for name in yan.NAMES)
    for local in (rr, lap):
        assert (local[1] < local[0]).all()  # distance and error rate fall with epsilon
        assert local[0, 0] > central[0, 0] > kwiksort[0, 0] - 1e-12
    assert kwiksort[:, yan.ERROR_RATE].max() == 0


@pytest.mark.slow
def test_yan_voters(example, tmp_path, is_picture):
    yan, data = example("plot_yan_2020"), example("_shared")
    votes = data.mallows(1000, 6, 0.5)
    numbers = yan.voter_numbers(votes)
    assert numbers == [10, 30, 100, 300, 1000]
    by_voters = yan.sweep_voters(votes, numbers, 20)
    for lower, upper in (("KwikSort", yan.TRUTHFUL), (yan.TRUTHFUL, yan.RR), (yan.RR, yan.LAPLACE)):
        assert yan.gap(by_voters, upper, lower).mean() > 0.005
    assert yan.gap(by_voters, yan.TRUTHFUL, "KwikSort")[-1] < 0.005  # 67 voters a pair, without noise
    yan.draw_voters([by_voters], [votes], tmp_path)
    assert is_picture(tmp_path / "yan_figure_6.png")


@pytest.mark.slow
def test_yan_lead(example):
    """The lead is a ratio of means; its standard error is that of repetitions with other voters."""
    yan = example("plot_yan_2020")
    found, error = yan.lead(6, 0.5, 200, 100)
    votes = example("_shared").some(example("_shared").mallows(10000, 6, 0.5), 200)
    rr, lap = (yan.trials(yan.local(name, 2.0, 1), votes, 100)[:, yan.DISTANCE] for name in yan.RANDOMIZERS)
    assert found == pytest.approx(100 * (lap.mean() - rr.mean()) / lap.mean())
    rng = np.random.default_rng(0)
    drawn = [1 - rng.choice(rr, 100).mean() / rng.choice(lap, 100).mean() for _ in range(2000)]
    assert error == pytest.approx(100 * np.std(drawn), rel=0.1)


@pytest.mark.slow
def test_yan_percentages_of_45_items(example):
    """13.5, 33.4 and 46.5 percent in the paper, at theta .25, .5 and .75; its 30 trials leave them open by some 5."""
    yan = example("plot_yan_2020")
    found, error = np.array([yan.lead(45, theta, 5000, 300) for theta in (0.25, 0.5, 0.75)]).T
    printed = np.array([13.5, 33.4, 46.5])
    assert [yan.PRINTED[45, theta, 5000] for theta in (0.25, 0.5, 0.75)] == printed.tolist()
    assert (error < 2.5).all()
    assert (np.abs(found - printed) < 2 * error * math.sqrt(11)).all()  # 300 trials here, 30 there
    assert (np.diff(found) > 2 * np.hypot(error[1:], error[:-1])).all()
    assert found == pytest.approx(printed, abs=12)


def test_yan_time(example):
    times = example("plot_yan_2020_tables").time_table([(100, 4), (200, 5)], 1)
    assert times.shape == (2, 4) and (times > 0).all()


@pytest.mark.slow
def test_yan_space(example):
    yan = example("plot_yan_2020_tables")
    one, five = (yan.reports(k, 10, 5) for k in (1, 5))
    assert {len(report) for report in one} == {67}
    # [6, 9] of the pair and 1 of the answer, and what stands between them
    assert {len(report) for report in five} == {67 + 4 * (len("[6, 9], ") + len("1, "))}
    few, many = (yan.held(one, 1, 10, n) for n in (3000, 12_000))
    assert 10_000 < many < 1.2 * few


def test_yan_theorems(example):
    yan = example("plot_yan_2020_tables")
    rr, lap = (yan.wrong_pairs(5000, 10, 0.5, name, 4) for name in yan.RANDOMIZERS)
    assert rr[1] == pytest.approx(0.24, abs=0.005) and rr[2] == pytest.approx(19.23, abs=0.005)
    for found, corrected, printed in (rr, lap):
        assert found.mean() <= corrected + 1 and corrected < printed / 2
    assert yan.wrong_pairs(100, 10, 0.25, "rr", 3)[0].mean() > 5  # few voters: many pairs wrong


@pytest.mark.slow
def test_song_accounting(example, tmp_path, is_picture):
    song = example("plot_song_2022")
    local, message = song.claimed_local_epsilon(1.0, 4)
    assert local == pytest.approx(1 + math.log(16)) and "false" in message
    assert song.claimed_local_epsilon(1.0, 15)[0] == 1.0
    assert song.stated(1.0, 1, 4)[0] == pytest.approx(0.1838, abs=5e-5)
    assert song.stated(1.0, 4, 4)[0] == pytest.approx(0.1837, abs=5e-5)
    rows = song.accounting(4)
    assert rows[:, 3] == pytest.approx([0.414, 0.438, 0.492, 0.633, 0.864], abs=6e-4)
    assert (rows[:2, 3] > rows[:2, 0]).all() and (rows[2:, 3] < rows[2:, 0]).all()
    assert (rows[:, 3] < rows[:, 2]).all()
    assert (rows[:, 3] <= rows[:, 4] + 1e-9).all() and rows[:, 4] == pytest.approx(rows[:, 3], rel=0.03)
    assert song.accounting(15)[:, 2:] == pytest.approx(
        np.outer([0.018, 0.046, 0.092, 0.184, 0.368], [1, 1, 1]), abs=6e-4
    )
    song.draw_accounting(tmp_path)
    assert is_picture(tmp_path / "song_accounting.png")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
def test_song_figures(example, tmp_path, monkeypatch, is_picture):
    song, data = example("plot_song_2022"), example("_shared")
    votes = data.mallows(500, 4, 0.5)
    monkeypatch.setattr(song, "N_VOTERS", 200)
    same = song.same_noise(votes, SMALL)
    assert {name: rows.shape for name, rows in same["exact"].items()} == dict.fromkeys(same["published"], (3, 6))
    song.draw_same_noise(same, votes, tmp_path)
    swept = song.sweep_queries(votes, SMALL, (1.0,))
    assert mean(swept["true", 1.0]).shape == (5,)
    song.draw_queries([swept, swept], [votes, votes], tmp_path)
    # At the same claim the published noise is larger, and all get better with epsilon.
    mixed = song.with_and_without(votes, {"crowds": 3, "repeats": 8}, (0.1, 4.0))
    for scores in mixed.values():
        assert mean(scores)[1] < mean(scores)[0] + 0.01
    assert mean(mixed["true, without"])[1] < mean(mixed["published, without"])[1] - 0.01
    song.draw_with_and_without([mixed, mixed], [votes, votes], (0.1, 4.0), tmp_path)
    assert all(is_picture(tmp_path / f"song_figure_{k}.png") for k in (2, 3, 4))


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
def test_song_quicksort_flips_as_often_as_the_published_noise(example):
    song = example("plot_song_2022")
    spent, _ = song.stated(1.0, 6, 4)
    fitted = LDPQuickSort(spent, 6, random_state=0).fit([[0, 1, 2, 3]] * 60)
    assert fitted.privacy_.epsilon == pytest.approx(spent, rel=1e-9)


def test_song_measures_each_crowd_on_itself(example):
    song = example("plot_song_2022")
    votes = example("_shared").mallows(300, 4, 0.75)
    scores = song.measured(song.published(1.0), votes, crowds=2, repeats=3)
    assert scores.shape == (6,) and (scores > 0).all() and (scores < 1).all()
    assert song.one_is_best(np.array([[0.1, 0.1], [0.5, 0.5]])) and not song.one_is_best(
        np.array([[0.5, 0.5], [0.1, 0.1]])
    )


def test_song_judges_by_two_standard_errors(example):
    song, votes = example("plot_song_2022"), example("_shared").mallows(5, 3, 0.5)
    rows = np.array([[0.4, 0.42], [0.3, 0.31], [0.2, 0.3]])
    scores = {"DDP-Helnaksort": rows, "LDP-Quicksort": rows + [[0.1], [0.001], [-0.1]], "LDP-Kwiksort": rows}
    surely, at_all = song.nearer(scores)
    assert surely.tolist() == [[True, False, False], [False] * 3]
    assert at_all.tolist() == [[True, True, False], [False] * 3]
    results = [{"a": np.full((2, 4), 0.5), "b": np.array([[0.3, 0.5, 0.4, 0.2], [0.5, 0.5, 0.4, 0.4]])}] * 2
    assert song.gain(results, "a", "b") == pytest.approx(np.array([[0.1, np.std([0.1, 0, 0.1, 0.2], ddof=1) / 2]] * 2))
    holds, words = song.helps(results, [votes] * 2, "a", "b")
    assert holds.tolist() == [True, True] and words.startswith("gains +0.1000 ± 0.0816 (")


@pytest.mark.slow
def test_song_verdicts_where_pairs_are_few(example):
    """Figure 2 fails; in Figure 4 shuffling helps, but not where what is spent is counted as it is."""
    song, effort = example("plot_song_2022"), {"crowds": 10, "repeats": 6}
    votes = example("_shared").real("TurkDots")
    surely, _ = song.nearer(song.same_noise(votes, effort)["published"])
    assert not surely.any()
    by_epsilon = [song.with_and_without(votes, effort)]
    assert song.helps(by_epsilon, [votes], "published, without", "published, shuffled")[0].all()
    assert not song.helps(by_epsilon, [votes], "true, without", "true, shuffled")[0].any()


@pytest.mark.slow
@pytest.mark.parametrize("folder", STAND_INS_AND_REAL)
def test_song_verdicts(verdicts, folder, monkeypatch):
    """The example's own settings: Figure 2 failed, 3 held, 4 with the published accounting only and where m = 4."""
    if folder:
        monkeypatch.setenv("SKLEARN_DPRANK_DATA", folder)
    found = verdicts("plot_song_2022")
    expected = {
        "with n = 100, m = 4, K = 1, the claimed central epsilon is kept": "held in part",
        "DDP-Helnaksort is nearer to the votes than either other at K = 1, m, max (published noise)": "did not hold",
        "K = 1 is best, up to two standard errors (published noise)": "held",
        "K = 1 is best, up to two standard errors (true noise)": "held",
        "shuffling helps at equal epsilon (published accounting)": "held in part",
        "shuffling helps at equal epsilon (true accounting)": "did not hold",
    }
    assert {claim: found[claim] for claim in expected} == expected


@pytest.mark.slow
def test_alabi_answers(example, tmp_path, is_picture):
    alabi, data = example("plot_alabi_2022"), example("_shared")
    few, many = (alabi.share_errors(data.mallows(n, 10, 0.1), repeats=6) for n in (500, 8000))
    djw, everything, one = alabi.DEVICES
    for name in (djw, everything):
        assert few[name].mean() / many[name].mean() == pytest.approx(4, rel=0.15)  # 1 / sqrt(n)
    assert many[everything].mean() / many[one].mean() == pytest.approx(90 / 14.5, rel=0.15)
    assert many[djw].mean() / many[one].mean() == pytest.approx(16.9 / 14.5, rel=0.15)
    swept = {name: np.array([few[name], many[name]]) for name in few}
    assert alabi.slope((500, 8000), swept[djw])[0] == pytest.approx(-0.5, abs=0.06)
    alabi.finish(alabi.draw([swept], [(500, 8000)], ["voters"], [""], "error"), "", "shares", tmp_path)
    assert is_picture(tmp_path / "shares.png")


@pytest.mark.slow
def test_alabi_rankings(example, tmp_path, is_picture):
    alabi, data = example("plot_alabi_2022"), example("_shared")
    votes = data.mallows(2000, 8, 0.25)
    found = alabi.sweep(lambda epsilon: alabi.excesses(votes, epsilon, 5), (0.5, 4.0))
    nine, twelve, single = alabi.MECHANISMS
    averages = {name: mean(scores) for name, scores in found.items()}
    assert all(min(errors) >= 0 for errors in averages.values())
    for name in (nine, single, alabi.BOUND):
        assert averages[name][1] < averages[name][0]
    assert (averages[nine] <= averages[alabi.BOUND]).all()
    assert (averages[nine] < averages[twelve]).all()
    rows = alabi.table({name: scores[0] for name, scores in found.items()}, 2000, 8, 0.5)
    assert [row.split("  ")[0] for row in rows[1:]] == ["Corollary 9", "Corollary 12"]
    proved = [float(row.split()[-2]) for row in rows[1:]]
    assert averages[nine][0] < proved[0] == pytest.approx(17.11, abs=0.01) and averages[twelve][0] < proved[1]
    figure = alabi.draw_excesses([found], [(0.5, 4.0)], ["epsilon"], [""])
    assert {alabi.BOUND, alabi.COIN, *alabi.MECHANISMS} == set(figure.axes[0].get_legend_handles_labels()[1])
    alabi.finish(figure, "", "excess", tmp_path)
    assert is_picture(tmp_path / "excess.png")


@pytest.mark.slow
def test_alabi_hardest_votes(example):
    """Two camps: the optimum is the larger camp's order, and near the noise of an answer there is most to lose."""
    alabi = example("plot_alabi_2022_central")
    profile, order = alabi.two_camps(1000, 6, 0.02)
    assert np.unique(np.abs(profile.margins[~np.eye(6, dtype=bool)])).tolist() == [20]
    assert alabi.kemeny_positions(profile).tolist() == order.tolist()
    for row in alabi.ROWS:
        some, more = (alabi.hardest(row, n, 6, 6).mean() for n in (2000, 20000))
        assert some == pytest.approx(10 * more, rel=0.05)  # gaps go with the noise, so the errors do
    profile, order = alabi.two_camps(2000, 6, 0.2)  # 400 votes, the noise of a margin is 30
    assert alabi.excess(alabi.ROWS["Corollary 3"], profile, order, 6).max() == 0


@pytest.mark.slow
def test_alabi_table_1(example, tmp_path, is_picture, monkeypatch):
    """Corollary 6 grows slower than Corollary 3, and is behind it at these sizes; nothing beats what is proved."""
    alabi, repeats = example("plot_alabi_2022_central"), 12
    by_items = alabi.by_items((8, 16), (16, 64), repeats)
    monkeypatch.setattr(alabi, "VOTERS", (2000, alabi.CROWD))
    by_voters = alabi.sweep(
        lambda n: {row: alabi.hardest(row, n, alabi.SIZE, repeats) for row in alabi.ROWS}, alabi.VOTERS
    )
    growth = alabi.exponents(by_voters, by_items)
    printed = {"Corollary 3": 4, "Corollary 4": 3, "Hay et al. (2017)": 3.4, "Corollary 6": 3.3, "Corollary 7": 2.65}
    for row, most in printed.items():
        in_n, in_m, noise, as_printed = growth[row]
        assert in_n == pytest.approx(-1, abs=0.01) and as_printed == pytest.approx(most, abs=0.06)
        assert most - 0.5 < in_m < most + 0.35 and 0.05 < noise < 0.4
    assert growth["Corollary 6"][1] < growth["Corollary 3"][1]
    assert not alabi.nearer([by_voters], "Corollary 6", "Corollary 3").any()
    assert not alabi.nearer([by_voters], "Corollary 7", "Corollary 4").any()
    assert alabi.nearer([by_voters], "Corollary 4", "Corollary 3").all()
    shares = alabi.within_proof(by_voters, by_items)
    assert len(shares) == 4 * 4 and 0.02 < shares.min() < shares.max() < 0.25
    assert alabi.first_size_with_less_noise() == 44 and all(alabi.above_floor(by_items))
    rows = alabi.table(by_voters, by_items, growth)
    assert [row[:17].strip() for row in rows[1:]] == list(alabi.ROWS) and "m = 16 to 64" in rows[-1]
    votes = example("_shared").mallows(400, 10, 0.25)
    real = alabi.sweep(lambda n: alabi.sushi(alabi.some(votes, n), 2), (100, 400))
    alabi.draw(by_voters, by_items, votes, (100, 400), real, tmp_path)
    assert is_picture(tmp_path / "alabi_central.png")


def test_exponents_are_judged_by_two_standard_errors(example):
    alabi, rng = example("plot_alabi_2022_central"), np.random.default_rng(0)
    x = np.array([2, 4, 8, 16])
    found = np.array([example("_shared").slope(x, x[:, None] ** 1.5 * rng.gamma(4, size=(4, 9))) for _ in range(400)])
    assert found[:, 0].mean() == pytest.approx(1.5, abs=0.02)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.15)
    growth = {"a": (-1, 3.0, 0.1, 3), "b": (-1, 3.5, 0.1, 3), "c": (-1, 3.2, 0.1, 3)}
    assert [alabi.slower(growth, "a", slow)[0] for slow in "bc"] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("folder", STAND_INS_AND_REAL)
def test_alabi_verdicts(verdicts, folder, monkeypatch):
    """The examples' own settings, in both models."""
    if folder:
        monkeypatch.setenv("SKLEARN_DPRANK_DATA", folder)
    found = verdicts("plot_alabi_2022_central")
    title = "SUSHI" if folder else "Mallows in place of SUSHI"
    assert found == {
        f"on {title} the error falls faster than 1/n": "held",
        "the error of each corollary is below what is proved": "held",
        "the error on the hardest votes falls as 1/n": "held",
        "it grows no faster with m than printed, to .3 in the exponent": "held",
        "the error of Corollary 6 grows slower with m than that of Corollary 3": "held",
        "the error of Hay et al. (2017) grows slower with m than that of Corollary 3": "held",
        "the error of Corollary 7 grows slower with m than that of Corollary 4": "did not hold",
        "Corollary 6 is nearer to the votes than Corollary 3, m = 10 and 12": "did not hold",
        "Corollary 7 is nearer to the votes than Corollary 4, m = 10 and 12": "did not hold",
        "Gaussian noise is nearer to hard votes, m^3 against m^4 and m^2.5 against m^3": "held",
        "no pure mechanism needs fewer voters than Theorem 13 says": "held",
    }


def test_epsilon_saved(example):
    beyond = example("plot_beyond_local")
    epsilons = np.array([0.25, 0.5, 1.0, 2.0, 4.0])
    baseline, better = 1 / epsilons[:, None] ** 2, 1 / (3 * epsilons[:, None]) ** 2
    assert beyond.saved(epsilons, baseline, better) == pytest.approx(3)
    assert beyond.saved(epsilons, better, baseline) == pytest.approx(1 / 3)
    assert beyond.saved(epsilons, baseline, baseline / 1e4) == 16
    assert beyond.saved(epsilons, baseline / 1e4, baseline) == 1 / 16


@pytest.mark.slow
def test_beyond_local(example, tmp_path, capsys, is_picture):
    beyond, data = example("plot_beyond_local"), example("_shared")
    votes = data.mallows(1000, 8, 0.25)
    local = beyond.excesses(beyond.local, votes, (0.5, 2.0), 6)
    averages = {name: mean(scores) for name, scores in local.items()}
    assert all(errors[1] < errors[0] for errors in averages.values())
    for name in ("one pair, Bradley-Terry", "adaptive rounds", "PrivUnitG Borda"):
        assert (averages[name] < averages["LDP-KwikSort:RR (published)"]).all()
    factors = beyond.report([local], [votes], (0.5, 2.0))
    assert factors["one pair, Bradley-Terry"][0] > 1 and "Bradley-Terry" in capsys.readouterr().out
    beyond.draw([local], [votes], (0.5, 2.0), "", "local", tmp_path)
    assert is_picture(tmp_path / "local.png")


def test_beyond_shuffled(example):
    beyond, data = example("plot_beyond_local"), example("_shared")
    mixed = beyond.excesses(beyond.shuffled, data.mallows(1000, 8, 0.25), (0.4,), 5)
    averages = {name: mean(scores)[0] for name, scores in mixed.items()}
    assert min(averages, key=averages.get) == "hidden pair, Bradley-Terry"
    assert averages["hidden pair, Bradley-Terry"] < averages["assigned pair, Bradley-Terry"] / 2
