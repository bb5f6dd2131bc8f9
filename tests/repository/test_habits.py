"""The commands of contributors are said once, and what CONTRIBUTING says of them is true."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOX, CI, WORKFLOW, CONTRIBUTING, SECURITY, README, HOOKS = (
    (ROOT / path).read_text(encoding="utf-8")
    for path in (
        "noxfile.py",
        ".ci/run",
        ".github/workflows/ci.yml",
        ".github/CONTRIBUTING.md",
        ".github/SECURITY.md",
        "README.md",
        ".pre-commit-config.yaml",
    )
)
TREE = ast.parse(NOX).body
SESSIONS = {node.name for node in TREE if isinstance(node, ast.FunctionDef) and node.decorator_list}


def constant(name):
    """Return a literal of noxfile.py, which imports what the tests can do without."""
    (value,) = [node.value for node in TREE if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name]
    return ast.literal_eval(value)


def test_few_names():
    assert sorted(SESSIONS) == ["audit", "bench", "docs", "lint", "peers", "planted", "test"]
    assert set(re.findall(r"^\| `nox -s (\w+)` \|", CONTRIBUTING, flags=re.MULTILINE)) == SESSIONS


def test_ci_runs_every_session_and_has_no_such_command_of_its_own():
    """But for those that fail for nothing that a change here could break: `audit` asks a service, `peers` measures."""
    lines = [line for line in CI.splitlines() if not line.startswith("#")]
    assert set(re.findall(r"\bnox -s (\w+)", "\n".join(lines))) == SESSIONS - {"audit", "peers"}
    for command in ("ruff", "mypy", "lint-imports", "sphinx", "planted.py", "tests/benchmarks"):
        assert command in NOX
        assert not [line for line in lines if re.search(rf"(^|[ /]){command} ", line)]


def test_readme_and_nox_run_the_same_tests():
    (option, marker), words = constant("FAST"), " ".join(constant("TEST"))
    assert f'{words} {option} "{marker}"\n```' in README


def test_stages_of_ci():
    """Those of a change and of a release exist, and the workflow runs each."""
    stages = re.findall(r"^stage_(\w+)\(\)", CI, flags=re.MULTILINE)
    change, release = (words.split() for words in re.findall(r'^(?:change|release)="(.+)"$', CI, flags=re.MULTILINE))
    assert {*change, *release} == {*stages}
    parts = [re.split(", *", part) for part in re.findall(r"stage: \[(.+)\]", WORKFLOW)]
    assert parts == [change, [stage for stage in release if stage not in change]]


def test_no_path_of_a_benchmark_is_a_test(request):
    """They are run by name: a list of skipped ones would hide what is skipped by mistake."""
    assert "benchmarks" in request.config.getini("norecursedirs")
    assert not [item for item in request.session.items if "benchmarks" in item.path.parts]


def test_a_commit_is_checked_by_the_commands_of_lint():
    assert tuple(re.findall(r"^ +entry: (.+)$", HOOKS, flags=re.MULTILINE)) == constant("LINT")
    assert "  - repo: local\n" in HOOKS
    assert HOOKS.count("repo:") == 1
    assert HOOKS.count("language: system") == HOOKS.count("pass_filenames: false") == len(constant("LINT"))


def test_coverage_is_stated_for_folders_that_exist():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]["run"]
    assert 90 < float(re.search(r"--cov-fail-under=(\S+)", CI)[1]) < 100
    assert all((ROOT / folder / "__init__.py").is_file() for folder in stated["source"])


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", CONTRIBUTING + SECURITY))
def test_links(path):
    assert (ROOT / ".github" / path).is_file()


@pytest.mark.parametrize("path", re.findall(r"`([\w.]+/[\w./]+)`", CONTRIBUTING))
def test_paths(path):
    assert path == "docs/_build/html" or (ROOT / path).is_file()


def test_the_changelog_has_a_place_for_what_users_notice():
    assert "`[Unreleased]`" in CONTRIBUTING
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").count("\n## [Unreleased]\n") == 1
