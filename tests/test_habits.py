"""The commands of contributors are said once, and what CONTRIBUTING says of them is true."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOX, CI, CONTRIBUTING, SECURITY, README, HOOKS = (
    (ROOT / path).read_text(encoding="utf-8")
    for path in (
        "noxfile.py",
        ".ci/run",
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
    assert sorted(SESSIONS) == ["bench", "docs", "lint", "peers", "planted", "test"]
    assert set(re.findall(r"^\| `nox -s (\w+)` \|", CONTRIBUTING, flags=re.MULTILINE)) == SESSIONS


def test_ci_runs_every_session_and_has_no_such_command_of_its_own():
    """But for `peers`, which installs much, measures, and fails for nothing that a change here could break."""
    lines = [line for line in CI.splitlines() if not line.startswith("#")]
    assert set(re.findall(r"\bnox -s (\w+)", "\n".join(lines))) == SESSIONS - {"peers"}
    for command in ("ruff", "mypy", "lint-imports", "sphinx", "planted.py", "tests/benchmarks"):
        assert command in NOX
        assert not [line for line in lines if re.search(rf"(^|[ /]){command} ", line)]


def test_readme_and_nox_run_the_same_tests():
    *words, marker = constant("TEST")
    assert f'{" ".join(words)} "{marker}"\n```' in README


def test_the_quick_choice_leaves_out_rooms_that_exist(request):
    """README's two minutes: everything but these rooms and what is slow."""
    assert "`python -m pytest -n auto -m quick`" in README
    left_out = next(p for p in request.config.pluginmanager.get_plugins() if hasattr(p, "EXAMPLES")).LONG
    rooms = {path.name for path in (ROOT / "tests").iterdir()}
    assert all(any(room.startswith(name) for room in rooms) for name in left_out)
    assert "quick" in request.node.keywords and not {"rules", "devices", "channels", "test_common.py"} & set(left_out)


def test_a_commit_is_checked_by_the_commands_of_lint():
    assert tuple(re.findall(r"^ +entry: (.+)$", HOOKS, flags=re.MULTILINE)) == constant("LINT")
    assert "  - repo: local\n" in HOOKS
    assert HOOKS.count("repo:") == 1
    assert HOOKS.count("language: system") == HOOKS.count("pass_filenames: false") == len(constant("LINT"))


def test_coverage_is_stated_for_rooms_that_exist_by_the_tests_of_each():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]["run"]
    rooms = [folder.removeprefix("sklearn_dprank/") for folder in stated["source"]]
    floor, tests = re.search(r"--cov-fail-under=(\S+) tests/\{(\S+)\}", CI).groups()
    assert tests.split(",") == rooms
    assert 90 < float(floor) < 100
    for room in rooms:
        assert (ROOT / "sklearn_dprank" / room / "__init__.py").is_file()
        assert (ROOT / "tests" / room).is_dir()


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", CONTRIBUTING + SECURITY))
def test_links(path):
    assert (ROOT / ".github" / path).is_file()


@pytest.mark.parametrize("path", re.findall(r"`([\w.]+/[\w./]+)`", CONTRIBUTING))
def test_paths(path):
    assert path == "docs/_build/html" or (ROOT / path).is_file()


def test_the_changelog_has_a_place_for_what_users_notice():
    assert "`[Unreleased]`" in CONTRIBUTING
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").count("\n## [Unreleased]\n") == 1
