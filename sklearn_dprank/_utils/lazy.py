"""Lazy public names and properties, and the optional packages matplotlib and tqdm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def lazily(
    package: str, public: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    `public` holds the public names of each module below the package, separated by blanks. `modules` are public modules
    that attribute access imports.
    """
    homes = {name: module for module, names in public.items() for name in names.split()}

    def __getattr__(name):
        if name in modules:
            return import_module(f"{package}.{name}")
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        from difflib import get_close_matches  # only errors need it

        missing = f"module {package!r} has no attribute {name!r}"
        shown = {each.lower(): each for each in (*modules, *homes)}
        for close in get_close_matches(name.lower(), shown, n=1):
            # `name` without `obj`: the traceback then does not repeat the suggestion, which notebooks do not print.
            raise AttributeError(f"{missing}; did you mean {shown[close]!r}?", name=name)
        raise AttributeError(missing)

    def __dir__():
        return sorted([*homes, *modules, "__all__"])  # without `__all__`, Sphinx would list only names defined here

    return __getattr__, __dir__, sorted(homes)


class cached_property(Generic[T]):
    """Property that is computed once for each object, without the lock of Python 3.11.

    That lock belongs to the class: a process that is forked while another thread computes would wait for ever. Two
    threads may compute the same value; all of them see the first.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.func, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        found: T = vars(instance).setdefault(self._name, self.func(instance))
        return found


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``; raise ImportError with the remedy if matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plotting needs matplotlib: install the extra "plot", or pip install matplotlib') from None
    return plt


_DELAY = 2.0  # seconds before the bar appears


@contextmanager
def progress_bar(total: int | None, shown: bool, **looks: Any) -> Iterator[Callable[[int], Any]]:
    """Yield a function that advances a progress bar by a number of finished units, if `shown`.

    `looks` are options of tqdm, such as the name of a unit (``unit``, by default "fit").
    """
    if not shown or find_spec("tqdm") is None:
        yield lambda count: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, delay=_DELAY, **{"unit": "fit", **looks}) as bar:
        yield bar.update
