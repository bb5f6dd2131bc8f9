"""Importing the package is cheap, and public names are listed before they are loaded."""

import pickle
import sys
from importlib import import_module

import pytest
from process_tools import ROOT, python

import sklearn_dprank


def words(code):
    """Return the words that a program prints in a process of its own."""
    return python(code).split()


def test_the_bare_package_loads_its_lazy_module_only():
    """And no other package."""
    loaded = set(words("import sys, sklearn_dprank; print(*sys.modules)")) - set(
        words("import sys; print(*sys.modules)")
    )
    assert {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "sklearn_dprank",
        *(f"sklearn_dprank._utils{name}" for name in ("", ".lazy")),
    }


@pytest.mark.slow
def test_a_pickled_estimator_opens_in_a_process_that_has_not_imported_it():
    fitted = pickle.dumps(sklearn_dprank.Borda().fit([[1, 0, 2]]))
    assert words(f"import pickle; print(*pickle.loads({fitted!r}).consensus_)") == ["1", "0", "2"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("DPBorada", "DPBorda"), ("dpborda", "DPBorda"), ("kemeny", "Kemeny"), ("dataset", "datasets"), ("_modul", None)],
)
def test_a_name_that_is_not_there_suggests_the_closest(wrong, right):
    with pytest.raises(AttributeError) as caught:
        getattr(sklearn_dprank, wrong)
    suggestion = f"; did you mean {right!r}?" if right else ""
    assert str(caught.value) == f"module 'sklearn_dprank' has no attribute {wrong!r}{suggestion}"
    assert not hasattr(sklearn_dprank, wrong)


MODULES = {path.stem for path in (ROOT / "sklearn_dprank").iterdir() if path.suffix == ".py" or path.is_dir()} - {
    *("__init__", "__main__", "__pycache__", "_utils", "cli")
}


def test_public_modules_are_listed_before_they_are_imported():
    listed = words("import sklearn_dprank; print(*dir(sklearn_dprank))")
    assert set(listed) == {*sklearn_dprank.__all__, *MODULES, "__all__"}


def test_public_modules_are_attributes():
    code = f"import sys, sklearn_dprank\nfor name in {sorted(MODULES)}: print(getattr(sklearn_dprank, name).__name__)"
    assert words(code) == [f"sklearn_dprank.{name}" for name in sorted(MODULES)]


@pytest.mark.parametrize("package", ["collection", "theory"])
def test_modules_of_a_public_package_are_attributes(package):
    folder = ROOT / "sklearn_dprank" / package
    modules = sorted({path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()})
    modules = [name for name in modules if not name.startswith("_")]
    code = f"import sklearn_dprank\nfor name in {modules}: print(getattr(sklearn_dprank.{package}, name).__name__)"
    assert words(code) == [f"sklearn_dprank.{package}.{name}" for name in modules]
    assert set(modules) <= set(words(f"import sklearn_dprank; print(*dir(sklearn_dprank.{package}))"))


@pytest.mark.parametrize("module", ["metrics", "preprocessing"])
def test_tab_completion_lists_public_names_only(module):
    module = import_module(f"sklearn_dprank.{module}")
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    assert set(dir(module)) == {"__all__", *(name for name in own if not name.startswith("_"))}


def test_an_attribute_imports_its_module_only():
    code = "import sys, sklearn_dprank; print(sklearn_dprank.collection.Device.__name__)\n"
    device, *loaded = words(code + "print(*(name for name in ('scipy', 'sklearn', 'pandas') if name in sys.modules))")
    assert device == "Device" and loaded == []


def test_unknown_modules_are_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'sklearn_dprank\.bordas'$"):
        import_module("sklearn_dprank.bordas")
