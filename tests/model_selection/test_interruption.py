"""Progress, and what Ctrl-C leaves."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from sklearn_dprank import DPBorda
from sklearn_dprank._utils import lazy
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import GridSearchCV, cross_validate

X = make_mallows(50, 4, 0.7, random_state=0)
GRID = {"epsilon": [0.1, 1.0, 10.0]}


def sweep(**settings):
    return GridSearchCV(DPBorda(), GRID, **{"n_trials": 25, "random_state": 0, **settings})


def failing(error, after):
    """A metric that works so many times, and then raises the error."""
    calls = []

    def scoring(fitted, profile):
        calls.append(1)
        if len(calls) > after:
            raise error
        return fitted.score(profile)

    return scoring


class Killed(Exception):
    """As joblib's error of a worker that was killed."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, Killed])
def test_an_error_keeps_what_finished_and_its_cost(error):
    search = sweep(scoring=failing(error, after=35))
    with pytest.raises(error):
        search.fit(X)
    assert [np.isfinite(cell).sum() for cell in search.cv_results_["trial_test_score"]] == [25, 10, 0]
    assert search.fits_cost_.epsilon == pytest.approx(25 * 0.1 + 10 * 1.0)
    assert np.isnan(search.cv_results_["mean_test_score"][2]) and search.cv_results_["rank_test_score"][2] == 3
    assert not hasattr(search, "best_estimator_")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_worker_that_is_killed_loses_no_finished_trial(tmp_path):
    def kills(fitted, profile):
        with open(tmp_path / "calls", "a+") as file:
            file.write("x")
            if file.tell() == 40:
                os.kill(os.getpid(), signal.SIGKILL)
        return fitted.score(profile)

    search = sweep(scoring=kills, n_jobs=2, n_trials=100)
    with pytest.raises(Exception, match="terminated"):
        search.fit(X)
    finished = sum(np.isfinite(cell).sum() for cell in search.cv_results_["trial_test_score"])
    assert finished > 0 and search.fits_cost_.epsilon > 0


SCRIPT = """
    import sys, time
    import numpy as np
    from joblib import parallel_config
    from sklearn_dprank import DPBorda
    from sklearn_dprank.model_selection import GridSearchCV

    def slow(fitted, profile):
        time.sleep(0.02)
        with open(sys.argv[2], "a") as scored:
            scored.write("x")
        return fitted.score(profile)

    if __name__ == "__main__":
        search = GridSearchCV(DPBorda(), {"epsilon": [0.1, 1.0]}, n_trials=2000, scoring=slow, n_jobs=2)
        try:
            with parallel_config(backend=sys.argv[1]):
                search.fit([[0, 1, 2]] * 20)
        except KeyboardInterrupt:
            done = sum(int(np.isfinite(cell).sum()) for cell in search.cv_results_["trial_test_score"])
            print("kept", done, flush=True)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_ctrl_c_at_the_keyboard(backend, tmp_path):
    """The signal reaches the whole process group, workers too, as it does from a terminal."""
    script = tmp_path / "sweep.py"
    script.write_text(textwrap.dedent(SCRIPT))
    scored = tmp_path / "scored"
    process = subprocess.Popen(
        [sys.executable, str(script), backend, str(scored)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # Two workers have few tasks at hand, so one must have been handed in long before this many trials are scored.
    while process.poll() is None and not (scored.exists() and scored.stat().st_size > 500):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    printed, errors = process.communicate()
    assert printed.startswith("kept "), errors
    assert 0 < int(printed.split()[1]) < 4000


@pytest.fixture
def at_once(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(lazy, "_DELAY", 0.0)


def test_progress_of_one_process(at_once, capsys):
    sweep().fit(X)
    cross_validate(DPBorda(), X, n_trials=7)
    shown = capsys.readouterr().err
    assert "75/75" in shown
    assert "7/7" in shown


def test_no_progress_where_none_is_wanted(at_once, capsys):
    sweep(progress=False).fit(X)
    cross_validate(DPBorda(), X, n_trials=7, progress=False)
    assert capsys.readouterr().err == ""


def test_without_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(lazy, "_DELAY", 0.0)
    assert np.isfinite(sweep().fit(X).best_score_)
    assert capsys.readouterr().err == ""
