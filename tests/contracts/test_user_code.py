"""``py.typed`` is a promise: what a type checker tells a user is there, and it is true."""

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
import user_code

import sklearn_dprank
from sklearn_dprank._utils import types as _types
from sklearn_dprank.mechanisms import MECHANISMS
from sklearn_dprank.rules import Rule, SortByScore, resolve_rule

USER_CODE = Path(user_code.__file__)
API_PAGES = sorted(Path(__file__).parents[2].joinpath("docs", "api").glob("*.rst"))
# Of the modules with a page, those that are internal.
INSIDES = re.compile(r"sklearn_dprank\.(orders\.|privacy\.|sampling\.|collection\.|ballots\.counting)")
LISTED = "\n".join(page.read_text(encoding="utf-8") for page in API_PAGES)
ROOM_NAMES = ["sklearn_dprank", *re.findall(r"^   (sklearn_dprank[\w.]*)$", LISTED, flags=re.M)]
ROOMS = [import_module(name) for name in ROOM_NAMES if not INSIDES.match(name)]


def test_strict_mypy_on_user_code(tmp_path):
    """As a user runs it: from elsewhere and without our settings, on the package as it is found on the path."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(USER_CODE)]
    path = os.pathsep.join([str(Path(sklearn_dprank.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name in vars(user_code) if name.startswith("accepted_")])
def test_what_is_accepted_runs(name):
    getattr(user_code, name)()


def public(room):
    """The public functions and classes of a room, by name."""
    names = getattr(room, "__all__", [name for name in vars(room) if not name.startswith("_")])
    found = {name: getattr(room, name) for name in names}
    here = {n: v for n, v in found.items() if getattr(v, "__module__", "").startswith(room.__name__)}
    return {n: v for n, v in here.items() if inspect.isfunction(v) or inspect.isclass(v)}


def signed(thing):
    """Yield the functions of a public name whose signatures users see."""
    if inspect.isfunction(thing):
        yield thing
        return
    for name in dir(thing):
        if name == "__init__" or not name.startswith("_"):
            member = inspect.getattr_static(thing, name)
            member = getattr(member, "fn", None) or getattr(member, "__func__", None) or member
            member = getattr(member, "fget", None) or getattr(member, "func", None) or member
            if inspect.isfunction(member) and member.__module__.startswith("sklearn_dprank"):
                yield member


EVERYTHING = {f"{room.__name__}.{name}": thing for room in ROOMS for name, thing in public(room).items()}


@pytest.mark.parametrize("name", EVERYTHING)
def test_public_signatures_have_types(name):
    for function in signed(EVERYTHING[name]):
        parameters = list(inspect.signature(function).parameters.values())
        untyped = {p.name for p in parameters if p.annotation is p.empty} - {"self", "cls"}
        assert not untyped, f"{function.__qualname__}: {untyped}"
        returned = inspect.signature(function).return_annotation
        assert returned is not inspect.Signature.empty, f"{function.__qualname__} says not what it returns"


def test_public_signatures_are_looked_at():
    assert {"sklearn_dprank", "sklearn_dprank.plotting", "sklearn_dprank.theory.yan"} <= {r.__name__ for r in ROOMS}
    looked_at = {function.__qualname__ for thing in EVERYTHING.values() for function in signed(thing)}
    assert looked_at >= {"RankAggregator.fit", "RankAggregator.client", "DPBorda.__init__", "Profile.from_chunks"}
    assert looked_at >= {"Profile.net_wins", "PrivacyGuarantee.parties", "make_mallows", "Rule.asks", "Device.report"}


# Facts with two statements


def test_names_of_rules_and_noises_are_those_that_are_known():
    for name in get_args(_types.RuleName):
        assert isinstance(resolve_rule(name, SortByScore()), Rule)
    with pytest.raises(ValueError) as refused:
        resolve_rule("typo", SortByScore())
    assert str(sorted(get_args(_types.RuleName))) in str(refused.value)
    assert set(get_args(_types.NoiseName)) == set(MECHANISMS)
