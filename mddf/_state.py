"""What fitted estimators are saved as: plain data, with the number of its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, TypeVar

# Raised whenever a state is written that the release before could not read, with a function in
# UPGRADES that makes of the older states what this release writes.
FORMAT = 1
# From format 0, which had no number and whose parts were objects, nothing has to be changed.
UPGRADES: list[Callable[[dict], dict]] = [lambda state: state]

_FORMAT, _RELEASE, _PART = "mddf_format", "mddf_version", "mddf_part"
_types: dict[str, type] = {}
_names: dict[type, str] = {}
Kind = TypeVar("Kind", bound=type)


def part(name: str) -> Callable[[Kind], Kind]:
    """Name a type whose objects estimators hold, so that they are saved as a dict.

    Files so do not depend on where the type is defined, and hold nothing that could be run.
    """

    def register(kind: Kind) -> Kind:
        _types[name], _names[kind] = kind, name
        return kind

    return register


def is_part(value: Any) -> bool:
    """Whether a value is of a named type."""
    return type(value) in _names


def to_plain(value: Any) -> Any:
    """The same with dicts for objects of the named types, within lists, tuples and dicts."""
    kind = type(value)
    if kind in _names:
        return {_PART: _names[kind], **to_plain(value.__getstate__() or {})}
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
    state = {key: from_plain(item) for key, item in value.items() if key != _PART}
    if _PART not in value:
        return state
    try:
        made: Any = object.__new__(_types[value[_PART]])
    except (KeyError, TypeError) as error:
        raise ValueError(f"no part of a model of mddf is called {value[_PART]!r}") from error
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made


class Saved:
    """What makes an estimator's state plain, and checks the number of a state that it is given.

    Parameters that the release did not have which wrote the state get their defaults, with which
    an estimator must do what it did before there were any, or be given others by `UPGRADES`.

    Comes before scikit-learn's classes among the bases of an estimator.
    """

    def __getstate__(self) -> dict:
        release = import_module("mddf").__version__
        plain = to_plain(super().__getstate__())
        return {_FORMAT: FORMAT, _RELEASE: release, **plain}

    def __setstate__(self, state: dict) -> None:
        state = dict(state)
        number, release = state.pop(_FORMAT, 0), state.pop(_RELEASE, "unknown")
        if not (isinstance(number, int) and 0 <= number <= FORMAT):
            here = import_module("mddf").__version__
            raise ValueError(
                f"this {type(self).__name__} was saved by mddf {release} in format {number!r}; "
                f"mddf {here} reads formats up to {FORMAT}: install mddf {release} or later"
            )
        for upgrade in UPGRADES[number:]:
            state = upgrade(state)
        parameters = signature(type(self)).parameters.values()
        absent = {p.name: p.default for p in parameters if p.default is not Parameter.empty}
        super().__setstate__(absent | from_plain(state))  # type: ignore[misc]
        if self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            for name, told, found in self._counts():
                if told != found:
                    raise ValueError(
                        f"{name} of the state of this {type(self).__name__} must be {found}, as "
                        f"its other parts have it, got {told}"
                    )

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        """Names of numbers that say how much memory is wanted, the numbers, and the right ones."""
        yield from ()
