"""Stored estimators: plain data with the number of its format.

A stored model does not contain names of private modules. Its objects are stored as dicts with a
registered name, and public classes and functions under the module that users import them from.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType, ModuleType
from typing import Any, TypeVar

# Keys of stored states.
_FORMAT = "mddf_format"
_RELEASE = "mddf_version"
_TYPE = "mddf_type"
# Increased whenever the names or contents of stored states change.
FORMAT = 5
_types: dict[str, type] = {}
_names: dict[type, str] = {}
Kind = TypeVar("Kind", bound=type)


def publish(namespace: dict[str, Any]) -> None:
    """Set ``__module__`` of the objects that a package exports to the package.

    pickle and skops store a class or a function by its name and ``__module__``. ``dir`` of the
    package leaves out names that the package itself imports, such as this function. `namespace` is
    the result of the package's ``globals()``.
    """
    package = namespace["__name__"]
    for name in namespace["__all__"]:
        value = namespace.get(name)  # None if it is imported at its first use
        private = (f"{package}.", "mddf._")
        if isinstance(value, type | FunctionType) and value.__module__.startswith(private):
            value.__module__ = package

    def public_names() -> list[str]:
        """Exported names, modules of the package, and private names; no imported helpers."""
        others = {
            name
            for name, value in namespace.items()
            if name.startswith("_")
            or (isinstance(value, ModuleType) and value.__name__.startswith(f"{package}."))
        }
        return sorted(others.union(namespace["__all__"]))

    namespace["__dir__"] = public_names


def share_modules(name: str, package: str) -> None:
    """Let the modules of an installed package also be imported under another name.

    The folders ``baselines`` and ``datasets`` of a clone are installed as packages of mddf. If
    Python is started in the clone, ``import baselines`` runs the folder's ``__init__.py`` again.
    It calls this function first, so that there is one class of each name. With two, isinstance
    and pickle would take objects of one class for objects of another.
    """
    installed = import_module(package)
    modules = {name: installed}
    for found in walk_packages(installed.__path__, f"{package}."):
        # __main__ is a command: importing it would run it.
        if not found.name.endswith(".__main__"):
            modules[name + found.name.removeprefix(package)] = import_module(found.name)
    sys.modules.update(modules)


def register_serializable(name: str) -> Callable[[Kind], Kind]:
    """Register a class whose instances are stored as a dict with this name.

    Files then do not depend on the module of the class, and contain no code to run. The same holds
    for pickles of such an object outside of an estimator.
    """

    def register(kind: Kind) -> Kind:
        if _types.setdefault(name, kind).__qualname__ != kind.__qualname__:
            raise ValueError(f"name {name!r} is already registered for {_types[name]}")
        _names[kind] = name
        copyreg.pickle(kind, _reduced)
        return kind

    return register


def _reduced(value: object) -> tuple[Callable[..., object], tuple[dict[str, object]]]:
    return from_state, (_stamped(to_plain(value)),)


def from_state(state: dict[str, object]) -> Any:
    """Restore a part of a model from its stored state.

    Pickles of parts, such as the trees of a forest, call this function by its name, so that they
    do not depend on the module of the part's class.

    Parameters
    ----------
    state : dict
        Arrays, dicts, lists, numbers and strings, with the number of the format.

    Returns
    -------
    object

    Examples
    --------
    A state of another format is refused:

    >>> from mddf import from_state
    >>> try:
    ...     from_state({"mddf_format": 99, "mddf_version": "9.0"})
    ... except ValueError as error:
    ...     print(str(error)[:42])
    this part of a model was saved by mddf 9.0
    """
    return from_plain(_unstamped(state, "part of a model"))


def is_serializable(value: object) -> bool:
    return type(value) in _names


def to_plain(value: Any) -> Any:
    """Replace instances of registered classes by dicts, also inside lists, tuples and dicts."""
    kind = type(value)
    if kind in _names:
        return {_TYPE: _names[kind], **to_plain(_attributes_of(value))}
    if kind in (list, tuple):
        return kind(map(to_plain, value))
    if kind is dict:
        return {key: to_plain(item) for key, item in value.items()}
    return value


def _attributes_of(value: Any) -> dict[str, object]:
    """Attributes of an object; fields of a dataclass, without the properties that it caches."""
    if is_dataclass(value) and type(value).__getstate__ is object.__getstate__:
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value.__getstate__() or {}


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
            # Registers further classes, and is not imported with mddf.
            import_module("mddf.baselines")
        restored: Any = object.__new__(_types[value[_TYPE]])
    except (KeyError, TypeError) as error:
        raise ValueError(f"no class of mddf is registered as {value[_TYPE]!r}") from error
    set_state(restored, state)
    return restored


def set_state(restored: Any, state: dict[str, Any]) -> None:
    """Set the state of an object that was made without a call of its constructor."""
    if hasattr(restored, "__setstate__"):
        restored.__setstate__(state)
    else:
        restored.__dict__.update(state)


def _version() -> str:
    return import_module("mddf").__version__


def _stamped(plain: dict[str, object]) -> dict[str, object]:
    return {_FORMAT: FORMAT, _RELEASE: _version(), **plain}


def _unstamped(state: dict[str, object], kind: str) -> dict[str, object]:
    """Remove the format and release from a state; ValueError if this release cannot read it."""
    state = dict(state)
    number = state.pop(_FORMAT, None)
    release = state.pop(_RELEASE, None)
    if type(number) is int and number == FORMAT:
        return state
    writer = f"mddf {release}" if release else "an unknown version of mddf"
    raise ValueError(
        f"this {kind} was saved by {writer} in format {number!r}; mddf {_version()} reads format "
        f"{FORMAT}: fit the model again and save it with this version"
    )


def stored_state(state: object) -> dict[str, object]:
    """State of an estimator as plain data, with the format."""
    return _stamped(to_plain(state))


def restored_state(state: dict[str, object], estimator: object) -> dict[str, object]:
    """Undo `stored_state`; a ValueError refuses a state of another format."""
    restored: dict[str, object] = from_plain(_unstamped(state, type(estimator).__name__))
    return restored


def check_counts(estimator: object, counts: Iterable[tuple[str, int, int]]) -> None:
    """Refuse a state with a count (name, value, right value) that does not fit its arrays."""
    for name, count, expected in counts:
        if count != expected:
            raise ValueError(
                f"{name} of the state of this {type(estimator).__name__} must be {expected}, "
                f"as in its other parts, got {count}"
            )


class Saved:
    """Mixin that stores estimators as plain data, and checks the format of stored states.

    Estimators name this class before scikit-learn's classes among their bases.
    """

    def __getstate__(self) -> dict[str, object]:
        return stored_state(super().__getstate__())

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(restored_state(state, self))  # type: ignore[misc]
        if self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            check_counts(self, self._counts())

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        """Yield counts that determine sizes of arrays: name, value in the state, right value."""
        yield from ()
