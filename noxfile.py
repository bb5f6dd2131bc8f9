"""The commands of the project, each in one place: `.ci/run` calls them from here too.

    nox -s test        or lint, docs, bench, planted, mutants, peers, audit; what follows `--` goes to the command

They run in the environment that is active, which `python -m pip install -e ".[dev]"` fills; but for `peers`.
"""

import shutil
import tempfile
from pathlib import Path

import nox

TEST = ("python", "-m", "pytest", "-n", "auto")
FAST = ("-m", "not slow")
LINT = (
    "ruff check .",
    "ruff format --check .",
    "mypy",
    "mypy --strict --config-file= --follow-imports=silent tests/support/user_code.py",
    "lint-imports --no-cache",
)
#: What the pages "Measurements" and "From other packages" call; the package and its tests do not need them, as some are
#: under the GNU GPL. With scikit-learn 1.9, diffprivlib 0.6.6 cannot be imported.
PEERS = (
    "svvamp==0.15.2",
    "pref_voting==1.18.2",
    "corankco==7.2.0",
    "prefsampling==0.1.24",
    "choix==0.4.1",
    "opendp==0.16.0",
    "dp-accounting==0.6.0",
    "preflibtools==2.0.33",
    "votekit==3.5.0",
    "diffprivlib==0.6.6",
    "scikit-learn==1.8.0",
)

nox.options.sessions = ["lint", "test"]
nox.options.default_venv_backend = "none"


@nox.session
def test(session):
    """Run the fast tests; with `-- --full` all of them. Other words, a path say, go to pytest."""
    words = [word for word in session.posargs if word != "--full"]
    session.run(*TEST, *(FAST if words == session.posargs else ()), *words)


@nox.session
def lint(session):
    """Look at style, types and layers; changes nothing."""
    for command in LINT:
        session.run(*command.split())


@nox.session
def docs(session):
    """Build the documentation into docs/_build/html or the folder after `--`, and check it; a warning is an error."""
    (target,) = session.posargs or ["docs/_build/html"]
    with tempfile.TemporaryDirectory() as copy:  # where no build finds what another made of the examples
        made = shutil.ignore_patterns("_build", "auto_examples", "generated", "__pycache__")
        for folder in ("docs", "examples", "sklearn_dprank"):
            shutil.copytree(folder, Path(copy, folder), ignore=made)
        options = ("-q", "-W", "--keep-going", "-j", "auto", "-b", "html")
        session.run("python", "-m", "sphinx", *options, f"{copy}/docs", target)
    session.run("python", ".ci/site.py", target)


@nox.session
def bench(session):
    """Run the benchmarks, which hold their ratios to the last record; `-- --record` writes a new one."""
    options = ("-o", "addopts=--strict-markers --import-mode=importlib", "--benchmark-only", "-q")
    session.run("python", "-m", "pytest", *options, "tests/benchmarks", *session.posargs)


@nox.session
def audit(session):
    """Look for advisories against the lowest declared versions and the newest; needs an advisory service (OSV)."""
    session.run("python", "-m", "pip", "install", "-q", "pip-audit")
    with tempfile.TemporaryDirectory() as folder:
        lowest = Path(folder, "lowest.txt")
        lowest.write_text(session.run("python", ".ci/lowest.py", silent=True))
        session.run("python", "-m", "pip_audit", "-s", "osv", "-r", str(lowest), *session.posargs)
    session.run("python", "-m", "pip_audit", "-s", "osv", "--local", "--skip-editable", *session.posargs)


@nox.session
def planted(session):
    """Plant faults, each of which a test has to catch: all, or those whose names hold a word after `--`."""
    session.run("python", "tests/audit/planted.py", *session.posargs)


@nox.session
def mutants(session):
    """Change operators and constants of the privacy modules, which their tests must notice; takes an hour."""
    session.run("python", "tests/audit/mutants.py", *session.posargs)


@nox.session(venv_backend="venv")
def peers(session):
    """Run and measure other packages in their own environment, and write the tables of the page that compares them."""
    session.install("-e", ".[plot]", *PEERS)
    session.run("python", "tests/benchmarks/check_others.py")
    session.run("python", "tests/benchmarks/measure_peers.py", "--full")
