"""What users read: values in errors, in one short line, and warnings that point at their code."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any

# What is between a user's line and a warning: this package and what it is called through.
_BETWEEN = {"mddf", "sklearn", "joblib", "contextlib", "functools", "importlib"}
_LONGEST = 100
_FEW_CELLS = 12


class _Short(Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxtuple, self.maxdict, self.maxset = 3, 8, 8, 6, 6
        self.maxstring = self.maxother = _LONGEST

    def repr_instance(self, x: Any, level: Any) -> Any:
        shape = getattr(x, "shape", ())
        if isinstance(shape, tuple) and shape and (hasattr(x, "columns") or x.size > _FEW_CELLS):
            return f"{type(x).__name__} of shape {shape}"
        try:
            text = " ".join(repr(x).split())
        except Exception:  # of another's class
            return f"a {type(x).__name__}"
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."

    repr_array = repr_ndarray = repr_instance


_SHORT = _Short()


def short(value: Any) -> str:
    """The repr of a value in one line, cut if it is long."""
    try:
        text = " ".join(_SHORT.repr(value).split())
    except ValueError:  # of an integer of thousands of digits
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= 2 * _LONGEST else f"{text[: 2 * _LONGEST - 4]} ..."


def nearest(name: str, there: Any) -> str:
    """A hint at the one of some names that may be meant, or nothing."""
    plain = {_letters(other): other for other in there}
    asked = _letters(name)
    close = difflib.get_close_matches(asked, plain, n=1, cutoff=0.75)
    within = [other for other in plain if len(asked) > 3 and asked in other]
    found = [*close, *sorted(within, key=len)]
    return f" (did you mean {plain[found[0]]!r}?)" if found else ""


def _letters(name: Any) -> str:
    return "".join(letter for letter in str(name).lower() if letter.isalnum())


@dataclass(frozen=True)
class ShownWarnings:
    """Warnings that went to the same place: a screen, or the list of a test.

    Python has a registry of its own, but forgets it whenever filters change, which scikit-learn's
    cross-validation does for every fold. A test that records warnings has a list of its own, and
    gets those that were shown before.

    Attributes
    ----------
    sink : object
        Held, so that no other one gets its identity.
    keys : set of tuple
        Kind, file and line of each warning.
    """

    sink: Any
    keys: set[tuple[str, str, int]] = field(default_factory=set)


# So many places are remembered: nested contexts that record, and those before them.
_shown: deque[ShownWarnings] = deque(maxlen=8)


def _shown_there() -> set[tuple[str, str, int]]:
    """Warnings that were shown where the next one will be."""
    # `catch_warnings(record=True)` puts the method of a new list there.
    show = getattr(warnings, "_showwarnmsg_impl", None)
    sink = getattr(show, "__self__", show)
    for shown in _shown:
        if shown.sink is sink:
            return shown.keys
    _shown.append(ShownWarnings(sink))
    return _shown[-1].keys


def warn(message: str, category: type[Warning] = UserWarning, *, kind: str | None = None) -> None:
    """Warn of what the user's code did: the line that called this package, through others or not.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning
    kind : str, default=None
        Of messages of a kind, whose numbers may differ, one is shown for each line of the user's
        code, so that a cross-validation does not repeat it for each fold. None shows all.
    """
    frame = sys._getframe(1)
    while frame.f_back and _module(frame).partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    filename = frame.f_code.co_filename
    shown = _shown_there()
    key = (f"{category.__name__}: {kind}", filename, frame.f_lineno)
    if kind is not None and key in shown:
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, filename, frame.f_lineno, _module(frame), registry)
    shown.add(key)  # after it: a warning that is an error is raised each time


class Renamed:
    """A fitted attribute under its name of before, with a FutureWarning.

    Parameters
    ----------
    name : str
        What it is called now.
    former : callable, optional
        From its value now to that of before.
    """

    def __init__(self, name: str, former: Callable[[Any], Any] = lambda value: value) -> None:
        self.name, self.former = name, former

    def __set_name__(self, owner: type, name: str) -> None:
        self.before = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The attribute of an estimator, if it is fitted."""
        if instance is None:
            return self
        try:
            value = getattr(instance, self.name)
        except AttributeError as error:
            raise AttributeError(f"{type(instance).__name__} has no {self.before}") from error
        message = f"{self.before} is deprecated and goes with version 0.4: use {self.name}"
        warn(message, FutureWarning)
        return self.former(value)


def _module(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", ""))
