"""What fitted estimators are stored as: plain data, with the number of its format.

A stored model names no module: its objects are dicts under registered words, and public classes
and functions say that they are defined where users import them from.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import Parameter, signature
from types import FunctionType, ModuleType
from typing import Any, TypeVar

_FORMAT, _RELEASE, _TYPE = "mddf_format", "mddf_version", "mddf_type"
# Raised whenever states are written that could not be read before, or would be read wrongly.
FORMAT = 3
_types: dict[str, type] = {}
_names: dict[type, str] = {}
Kind = TypeVar("Kind", bound=type)


def publish(namespace: dict[str, Any]) -> None:
    """Have all that a package exports say that the package defines it.

    What pickle and skops write of a class or a function is its name and ``__module__``.
    ``dir`` of the package leaves out what the package itself imports, such as this function.

    Parameters
    ----------
    namespace : dict
        The package's ``globals()``.
    """
    package = namespace["__name__"]
    for name in namespace["__all__"]:
        value = namespace[name]
        if isinstance(value, type | FunctionType) and value.__module__.startswith(f"{package}."):
            value.__module__ = package

    def public_names() -> list[str]:
        """Exported names, modules of the package, and private names; no imported helpers."""
        return sorted(
            name
            for name, value in namespace.items()
            if name in namespace["__all__"]
            or name.startswith("_")
            or (isinstance(value, ModuleType) and value.__name__.startswith(f"{package}."))
        )

    namespace["__dir__"] = public_names


def register_serializable(name: str) -> Callable[[Kind], Kind]:
    """Name a type whose objects estimators hold, so that they are saved as a dict.

    Files so do not depend on where the type is defined, and hold nothing that could be run. That
    is true of pickles, too, in which such an object is not within an estimator's state.
    """

    def register(kind: Kind) -> Kind:
        if _types.setdefault(name, kind).__qualname__ != kind.__qualname__:
            raise ValueError(f"{_types[name]} is called {name!r}, too")
        _names[kind] = name
        copyreg.pickle(kind, _reduced)
        return kind

    return register


def _reduced(value: Any) -> tuple[Callable[[dict[str, Any]], Any], tuple[dict[str, Any]]]:
    return from_state, (_stamped(to_plain(value)),)


def from_state(state: dict[str, Any]) -> Any:
    """Make a part of a model of the plain data that it is stored as.

    Pickles of parts, such as the trees of a forest, call this function by its name, so that they
    do not depend on where in mddf the part's class is defined.

    Parameters
    ----------
    state : dict
        Arrays, dicts, lists, numbers and strings, and the number of their format.

    Returns
    -------
    object
    """
    return from_plain(_unstamped(state, "part of a model"))


def is_serializable(value: Any) -> bool:
    """Whether a value is of a named type."""
    return type(value) in _names


def to_plain(value: Any) -> Any:
    """The same with dicts for objects of the named types, within lists, tuples and dicts."""
    kind = type(value)
    if kind in _names:
        return {_TYPE: _names[kind], **to_plain(value.__getstate__() or {})}
    if kind in (list, tuple):
        return kind(map(to_plain, value))
    if kind is dict:
        return {key: to_plain(item) for key, item in value.items()}
    return value


def from_plain(value: Any) -> Any:
    """Undo `to_plain`."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(map(from_plain, value))
    if kind is not dict:
        return value
    state = {key: from_plain(item) for key, item in value.items() if key != _TYPE}
    if _TYPE not in value:
        return state
    try:
        if value[_TYPE] not in _types:
            import_module("mddf.baselines")  # where other types are named
        made: Any = object.__new__(_types[value[_TYPE]])
    except (KeyError, TypeError) as error:
        raise ValueError(f"no part of a model of mddf is called {value[_TYPE]!r}") from error
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made


def _version() -> str:
    return import_module("mddf").__version__


def _stamped(plain: dict[str, Any]) -> dict[str, Any]:
    """With the number of the format and the release that writes it."""
    return {_FORMAT: FORMAT, _RELEASE: _version(), **plain}


def _unstamped(state: dict[str, Any], what: str) -> dict[str, Any]:
    """The state as this release writes it, without the stamp; ValueError if it cannot be read."""
    state = dict(state)
    number, release = state.pop(_FORMAT, None), state.pop(_RELEASE, None)
    is_number = type(number) is int
    if is_number and number == FORMAT:
        return state
    writer = f"mddf {release}" if release else "an unknown version of mddf"
    remedy = "fit the model again and save it with this version"
    if is_number and number > FORMAT:
        remedy = f"install {writer} or later"
    raise ValueError(
        f"this {what} was saved by {writer} in format {number!r}; mddf {_version()} reads format "
        f"{FORMAT}: {remedy}"
    )


class Saved:
    """What makes an estimator's state plain, and checks the number of a state that it is given.

    Parameters that the release did not have which wrote the state get their defaults, with which
    an estimator must do what it did before there were any.

    Comes before scikit-learn's classes among the bases of an estimator.
    """

    def __getstate__(self) -> dict[str, Any]:
        return _stamped(to_plain(super().__getstate__()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = _unstamped(state, type(self).__name__)
        parameters = signature(type(self)).parameters.values()
        absent = {p.name: p.default for p in parameters if p.default is not Parameter.empty}
        super().__setstate__(absent | from_plain(state))  # type: ignore[misc]
        if self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            for name, given, found in self._counts():
                if given != found:
                    raise ValueError(
                        f"{name} of the state of this {type(self).__name__} must be {found}, as "
                        f"its other parts have it, got {given}"
                    )

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        """Names of numbers that say how much memory is wanted, the numbers, and the right ones."""
        yield from ()
