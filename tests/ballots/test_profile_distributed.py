"""Profiles and sweeps on dask collections, and on a cluster of two processes."""

import importlib.util
import json
import os
import re
import textwrap
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles import assert_same_profile, profiles
from sklearn import model_selection
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

from sklearn_dprank import Borda, DPBorda, DPStreamingBorda, LDPPairwise
from sklearn_dprank.ballots.profile import Profile, partitions
from sklearn_dprank.collection import Device
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget

dask = pytest.importorskip("dask", reason="needs the extra distributed")
da = pytest.importorskip("dask.array", reason="needs the extra distributed")
dd = pytest.importorskip("dask.dataframe", reason="needs the extra distributed")
distributed = pytest.importorskip("distributed", reason="needs the extra distributed")
psutil = pytest.importorskip("psutil", reason="needs the extra distributed")
pd = pytest.importorskip("pandas")

ROOT = Path(__file__).parents[2]


def assert_same(one, other):
    assert_same_profile(one, other)
    assert (one.item_names is None) == (other.item_names is None)
    assert one.item_names is None or one.item_names.tolist() == other.item_names.tolist()


# Dask collections, on dask's schedulers in this process


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(draw, length):
    """Draw chunk sizes that add up to this length; some may be 0."""
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=4)))
    return tuple(np.diff([0, *cuts, length]).tolist())


@pytest.mark.slow
@settings(max_examples=80)
@given(profiles(max_voters=20), st.data(), st.sampled_from(["counts", "positions"]))
def test_array_is_the_same_in_memory(X, data, keep):
    lazy = da.from_array(X, chunks=(cut(data.draw, X.shape[0]), cut(data.draw, X.shape[1])))
    profile = Profile.from_chunks(lazy, keep=keep)
    assert_same(profile, Profile.from_rankings(X))
    assert (profile.positions is None) == (keep == "counts")
    if keep == "positions":
        np.testing.assert_array_equal(
            [Profile.from_rankings([row]).pairwise_counts for row in X],
            [Profile.from_rankings([row]).pairwise_counts for row in _rows(profile)],
        )


def _rows(profile):
    """Return kept ballots as floats, in order."""
    table, _ = profile.positions
    return np.where(table == profile.positions.sentinel, np.nan, table).T


@pytest.mark.parametrize("n_partitions", [1, 2, 8, 9, 30, 70])
def test_frame(n_partitions):
    X = np.random.default_rng(0).integers(0, 4, (70, 4)).astype(float)
    X[::7, 1] = np.nan
    frame = pd.DataFrame(X, columns=["tea", "milk", "water", "mate"])
    lazy = dd.from_pandas(frame, npartitions=n_partitions)
    assert_same(Profile.from_chunks(lazy), Profile.from_rankings(frame))
    few = lazy[lazy["tea"] > 2.5]  # most partitions of one row are empty now
    assert_same(Profile.from_chunks(few), Profile.from_rankings(frame[frame["tea"] > 2.5]))
    renamed = Profile.from_chunks(lazy, items=list("abcd"))
    assert renamed.item_names.tolist() == list("abcd")


def test_list_of_delayed_chunks():
    X = [make_mallows(50, 5, 0.8, random_state=seed) for seed in range(20)]
    lazy = [dask.delayed(make_mallows)(50, 5, 0.8, random_state=seed) for seed in range(20)]
    assert_same(Profile.from_chunks(lazy), Profile.from_rankings(np.concatenate(X)))
    assert_same(Profile.from_chunks(lazy[0]), Profile.from_rankings(X[0]))
    arrays = [da.from_array(x, chunks=(20, 5)) for x in X]
    assert len(partitions(arrays)) == 60
    assert_same(Profile.from_chunks(arrays), Profile.from_rankings(np.concatenate(X)))


def ratings_of(n_rows, n_persons, n_items):
    """A log whose persons have rows all over it, some of them repeated."""
    rng = np.random.default_rng(0)
    persons = np.array([f"p{k}" for k in range(n_persons)])[rng.integers(0, n_persons, n_rows)]
    items = rng.integers(0, n_items, n_rows)
    log = pd.DataFrame({"who": persons, "item": items, "stars": rng.integers(1, 6, n_rows)})
    log["other"] = (items + rng.integers(1, n_items, n_rows)) % n_items
    return log


def both_of(log, n_items):
    """Profiles of the ratings and of the comparisons in a log."""
    yield Profile.from_long(log, "who", "item", rating="stars", items=range(n_items), max_listed=3)
    yield Profile.from_comparisons(log, "item", "other", person="who", items=range(n_items), max_weight=2)


def assert_same_rows(log, lazy, n_items):
    for one, other in zip(both_of(log, n_items), both_of(lazy, n_items), strict=True):
        assert (one.n_voters, one.bound, one.total_weight) == (other.n_voters, other.bound, other.total_weight)
        for column, same in zip(one.rows[:4], other.rows[:4], strict=True):
            np.testing.assert_array_equal(column, same)
        np.testing.assert_array_equal(one.clipped("l2").net_wins, other.clipped("l2").net_wins)


@pytest.mark.parametrize("n_partitions", [1, 2, 9, 30])
def test_rows_of_a_person_lie_in_several_partitions(n_partitions):
    log = ratings_of(300, 20, 6)
    lazy = dd.from_pandas(log, npartitions=n_partitions, sort=False)
    assert_same_rows(log, lazy, 6)
    few = log["stars"] > 4
    assert_same_rows(log[few], lazy[lazy["stars"] > 4], 6)
    assert_same_rows(log, list(lazy.to_delayed()), 6)


def test_each_partition_of_long_data_is_read_once():
    log, read = ratings_of(300, 20, 6), []

    def part(start):
        read.append(start)
        return log[start : start + 50]

    Profile.from_long(
        [dask.delayed(part)(start) for start in range(0, 300, 50)], "who", "item", rating="stars", items=range(6)
    )
    assert sorted(read) == list(range(0, 300, 50))


def test_wrong_partitions_of_long_data_are_refused_without_a_cell():
    log = ratings_of(300, 20, 6).assign(who="4711")
    with pytest.raises(ValueError, match="item must hold items of the public list") as caught:
        list(both_of(dd.from_pandas(log, npartitions=3), 3))
    assert "4711" not in str(caught.value)
    mixed = [dask.delayed(log), dask.delayed(log.assign(who=4711))]
    with pytest.raises(ValueError, match="person must hold ids that are all text or all whole numbers") as caught:
        list(both_of(mixed, 6))
    assert "4711" not in str(caught.value)


def test_only_counts_leave_a_task():
    from dask.callbacks import Callback

    made = []
    X = da.from_array(make_mallows(1000, 5, 0.8, random_state=0), chunks=(10, 5))
    with Callback(posttask=lambda key, value, *_: made.append(value)):
        Profile.from_chunks(X)
    read = [value for value in made if isinstance(value, Profile)]
    assert len(read) == 100 + 13 + 2 + 1  # the partitions, and a tree with eight branches at every node
    assert all(profile.positions is None for profile in read)
    assert [profile.n_voters for profile in read].count(10) == 100


def test_wrong_collections_are_refused():
    X = da.from_array(np.full((20, 3), 4711.0), chunks=(5, 3))
    assert Profile.from_chunks(X[X[:, 0] > 5000]).n_voters == 0
    with pytest.raises(ValueError, match=r"must be two-dimensional, .* got a dask Array that is not"):
        Profile.from_chunks(X[:, 0])
    with pytest.raises(ValueError, match=r"must be two-dimensional, .* got a dask Series that is not"):
        Profile.from_chunks(dd.from_dask_array(X, columns=list("abc"))["a"])
    with pytest.raises(ValueError, match=r"unknown number of columns; call its compute_chunk_sizes\(\) first"):
        Profile.from_chunks(X[:, X[0] > 0])
    with pytest.raises(ValueError, match="profiles over 2 and 3 items do not add up"):
        Profile.from_chunks([dask.delayed(np.eye(2)), dask.delayed(np.eye(3))])
    with pytest.raises(ValueError) as caught:
        Profile.from_chunks(da.from_array(np.array([["4711", "x"]]), chunks=1))
    assert "X must hold numbers" in str(caught.value) and "4711" not in str(caught.value)


@pytest.mark.parametrize("kind", ["array", "frame", "delayed"])
def test_ballots_that_are_not_in_memory_are_not_fetched_by_accident(kind):
    X = np.full((6, 3), 4711.0)
    lazy = {
        "array": da.from_array(X, chunks=(2, 3)),
        "frame": dd.from_pandas(pd.DataFrame(X), npartitions=2),
        "delayed": dask.delayed(X),
    }[kind]
    fitted = DPBorda().fit(X)
    for read in (
        Profile.from_rankings,
        DPBorda().fit,
        LDPPairwise().fit,
        fitted.score,
        partial(cross_validate, Borda()),
    ):
        with pytest.raises(ValueError, match=r"Profile\.from_chunks\(X\), or load them with X\.compute\(\)") as caught:
            read(lazy)
        assert "4711" not in str(caught.value)


# Private fits on workers


@contextmanager
def cluster_of(folder, n_workers=1, processes=True, dashboard_address=None):
    """Yield the client of a cluster; restore the variables that starting its workers sets."""
    environment = dict(os.environ)
    try:
        with (
            distributed.LocalCluster(
                n_workers=n_workers,
                processes=processes,
                threads_per_worker=1,
                dashboard_address=dashboard_address,
                local_directory=str(folder),
            ) as cluster,
            distributed.Client(cluster, timeout="600s") as client,
        ):
            yield client
    finally:
        os.environ.clear()
        os.environ.update(environment)


@pytest.fixture
def threads(tmp_path):
    """A client of a worker in this process."""
    with cluster_of(tmp_path, processes=False) as client:
        yield client


def warned(estimator, fit="fit"):
    """Fit, and return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(estimator, fit)([[0, 1, 2]] * 20)
    return [str(each.message) for each in caught]


def test_a_private_fit_inside_a_worker_warns(threads):
    for estimator, fit in [
        (DPBorda(), "fit"),
        (LDPPairwise(), "fit"),
        (make_pipeline(DPBorda()), "fit"),
        (DPStreamingBorda(horizon=3), "partial_fit"),
    ]:
        assert warned(clone(estimator), fit) == []  # here, beside a client
        (message,) = threads.submit(warned, estimator, fit, pure=False).result()
        assert message.startswith("A private fit runs inside a worker of dask. If the worker is lost")
        assert "fit on the client" in message
    for simulated in (Borda(), DPBorda(random_state=0)):
        assert threads.submit(warned, simulated, pure=False).result() == []
    assert threads.submit(Profile.from_rankings, [[0, 1, 2]] * 20).result().n_voters == 20


def release_in_a_task(path, died):
    """Fit once; the worker dies after its first fit, before the result is sent."""
    budget = PrivacyBudget.open(path)
    fitted = budget.fit(DPBorda(epsilon=0.25), [[0, 1, 2]] * 20, release_id="results of May")
    if not died.exists():
        died.touch()
        os._exit(1)
    return fitted.consensus_.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_task_whose_worker_died_does_not_release_again(tmp_path):
    path, died = tmp_path / "voters.budget", tmp_path / "died"
    PrivacyBudget.open(path, 1.0)
    with cluster_of(tmp_path / "dask") as client:
        future = client.submit(release_in_a_task, path, died)
        with pytest.raises(BudgetExhausted, match="'results of May' was charged"):
            future.result(timeout=600)
    assert died.exists()
    (release,) = PrivacyBudget.open(path).releases_
    assert (release.release_id, release.guarantee.epsilon) == ("results of May", 0.25)


# A cluster of processes


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    patience = {"distributed.comm.timeouts.connect": "120s", "distributed.comm.timeouts.tcp": "120s"}
    with (
        dask.config.set(patience),
        cluster_of(tmp_path_factory.mktemp("dask"), n_workers=2, dashboard_address=":0") as client,
    ):
        client.wait_for_workers(2, timeout=600)
        workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        yield client
    gone, alive = psutil.wait_procs(workers, timeout=600)
    assert len(gone) == 2 and not alive


@pytest.fixture
def on_cluster(client):
    with dask.config.set(scheduler=None):  # the active client's
        yield client


def without_times(trials):
    return {name: values.tolist() for name, values in trials.items() if not name.endswith("_time")}


@pytest.mark.slow
def test_profile_on_a_cluster(on_cluster):
    X = make_mallows(20_000, 6, 0.8, random_state=0)
    assert_same(Profile.from_chunks(da.from_array(X, chunks=(1000, 3))), Profile.from_rankings(X))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    few = dd.from_pandas(frame, npartitions=7)
    few = few[few["a"] > 4]
    assert_same(Profile.from_chunks(few, keep="positions"), Profile.from_rankings(frame[frame["a"] > 4]))
    assert Profile.from_chunks(few[few["a"] < 0]).n_voters == 0


@pytest.mark.slow
def test_long_data_on_a_cluster(on_cluster):
    log = ratings_of(20_000, 1000, 40)
    assert_same_rows(log, dd.from_pandas(log, npartitions=7, sort=False), 40)


@pytest.mark.slow
def test_partitions_are_read_by_the_workers(on_cluster):
    """Each chunk is one ballot, whose order is the process that makes and reads it."""
    workers = sorted(on_cluster.run(os.getpid).values())

    def whereabouts(chunk):
        return np.array([[pid == os.getpid() for pid in [*workers, 0]]]) * -1

    chunks = [dask.delayed(whereabouts)(chunk) for chunk in range(20)]
    profile = Profile.from_chunks(chunks)
    first, second = profile.pairwise_counts[:2, 2]  # preferred to no process: made there
    assert first + second == profile.n_voters == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "keep"), [(DPBorda(0.1), "positions"), (DPBorda(0.1), "counts"), (LDPPairwise(1.0), "positions")]
)
def test_cross_validate_on_a_cluster(on_cluster, estimator, keep):
    profile = Profile.from_rankings(make_mallows(2000, 8, 0.9, random_state=0), keep=keep)
    expected = cross_validate(estimator, profile, n_trials=40, random_state=0, n_jobs=1)
    with joblib.parallel_config(backend="dask"):
        found = cross_validate(estimator, profile, n_trials=40, random_state=0)
        where = cross_validate(DPBorda(), profile, n_trials=40, scoring=lambda fitted, test: float(os.getpid()))
    assert without_times(found) == without_times(expected)
    assert len(set(expected["test_score"])) > 5
    assert set(where["test_score"]) <= set(on_cluster.run(os.getpid).values())


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True])
def test_a_search_of_scikit_learn_on_a_cluster(on_cluster, named):
    X, groups = make_mallows(300, 5, 0.9, random_state=0), np.repeat(np.arange(100), 3)
    X = pd.DataFrame(X, columns=list("abcde")) if named else X
    grid, cv = {"epsilon": [0.1, 1.0]}, GroupKFold(3)
    expected = model_selection.GridSearchCV(DPBorda(random_state=0), grid, cv=cv).fit(X, groups=groups)
    with joblib.parallel_config(backend="dask"):
        found = clone(expected).fit(X, groups=groups)
        seeded, scorer = DPBorda(random_state=0), lambda fitted, test: float(os.getpid())
        where = model_selection.cross_validate(seeded, X, cv=3, scoring=scorer)
    for name in ("mean_test_score", "split2_test_score"):
        assert found.cv_results_[name].tolist() == expected.cv_results_[name].tolist()
    assert found.best_estimator_.consensus_.tolist() == expected.best_estimator_.consensus_.tolist()
    assert set(where["test_score"]) <= set(on_cluster.run(os.getpid).values())


# The user guide and the example


@pytest.mark.slow
def test_user_guide(on_cluster, capsys, tmp_path):
    """The blocks of the page run one after another as printed, except for the address and the folder."""
    X = make_mallows(900, 3, 0.3, center=[1, 0, 2], random_state=0)
    (tmp_path / "ballots").mkdir()
    for day, part in enumerate(np.split(X, 3)):
        frame = pd.DataFrame(part, columns=["tea", "coffee", "milk"])
        frame.to_csv(tmp_path / "ballots" / f"{day}.csv", index=False)
        np.save(tmp_path / "ballots" / f"{day}.npy", part)
    page = (ROOT / "docs" / "user_guide" / "distributed.rst").read_text()
    movies, log = ["Alien", "Brazil", "Casablanca"], ratings_of(300, 30, 3)
    ratings = pd.DataFrame({"user": log["who"], "movie": np.array(movies)[log["item"]], "stars": log["stars"]})
    (tmp_path / "ratings").mkdir()
    for day in range(3):
        ratings[day::3].to_csv(tmp_path / "ratings" / f"{day}.csv", index=False)
    (tmp_path / "reports").mkdir()
    protocol = LDPPairwise(epsilon=2.0).protocol(["tea", "coffee", "milk"])
    reports = [Device(protocol, random_state=voter).report([2, 0, 1]) for voter in range(60)]
    for day in range(3):
        lines = [*map(json.dumps, reports[20 * day : 20 * day + 20]), "damaged"]
        (tmp_path / "reports" / f"{day}.jsonl").write_text("\n".join(lines))
    counting, files, long, collected, sweep = map(
        textwrap.dedent, re.findall(r"code-block:: python\n\n((?: {3}.*\n|\n)+)", page)
    )
    names = {"DPBorda": DPBorda, "Profile": Profile}

    def run(block):
        block = block.replace("tcp://scheduler:8786", on_cluster.scheduler.address)
        for folder in ("ballots", "ratings", "reports"):
            block = block.replace(f'"{folder}/', f'"{tmp_path.as_posix()}/{folder}/')
        exec(compile(block, "distributed.rst", "exec"), names)

    expected = Profile.from_rankings(X, items=["tea", "coffee", "milk"])
    run(counting)
    with names["client"]:
        assert capsys.readouterr().out == "['coffee' 'tea' 'milk']\n"
        assert_same(names["profile"], expected)
        run(files)
        assert_same(names["profile"], expected)
        run(long)
        here = Profile.from_long(ratings, "user", "movie", rating="stars", items=movies)
        assert (names["films"].n_voters, names["films"].net_wins.tolist()) == (30, here.net_wins.tolist())
        run(collected)
        assert capsys.readouterr().out == "['coffee' 'milk' 'tea'] 60 {'not JSON': 3}\n"
        run(sweep)
        assert_same(names["profile"], expected)
        assert names["search"].best_estimator_.consensus_.tolist() == ["coffee", "tea", "milk"]


@pytest.mark.slow
def test_example(on_cluster, capsys):
    spec = importlib.util.spec_from_file_location("run_on_dask", ROOT / "examples" / "run_on_dask.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.CHUNK = 700
    few = ["--voters", "1000", "3000", "--reports", "1200", "--central-trials", "30"]
    few += ["--local-voters", "500", "--local-trials", "12"]
    example.main([on_cluster.scheduler.address, *few])
    printed = capsys.readouterr().out
    rows = dict(re.findall(r"^(\S.*?)  +(\d+\.\d\d +\d+\.\d\d)$", printed, flags=re.MULTILINE))
    assert list(rows) == [
        "draw and count 1,000 ballots",
        "draw and count 3,000 ballots",
        "draw and count 1,200 reports",
        "30 trials of DPBorda, 500 voters",
        "12 trials of LDPBorda, 500 voters",
    ]
    assert "2 workers, 2 threads" in printed
    assert_same(Profile.from_chunks(example.as_dask_array(1500)), Profile.from_chunks(example.as_stream(1500)))
