"""Texts for users: short values in errors, hints, and warnings that point at their code."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections import deque
from collections.abc import Iterable
from reprlib import Repr
from types import FrameType
from typing import Any

# Modules whose frames a warning skips on the way to the user's line: this package, and packages
# through which it is called.
_SKIPPED_MODULES = {"mddf", "sklearn", "joblib", "contextlib", "functools", "importlib"}
# Longest text of a single value in an error; containers may have twice as much.
_MAX_LENGTH = 100
# Arrays with more cells are described by their shape.
_MAX_CELLS = 12
# Similarity from which a name counts as a misspelling of another. The default of difflib, 0.6,
# also finds names of another meaning. Not tuned.
_MIN_SIMILARITY = 0.75


class _ShortRepr(Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = 8
        self.maxtuple = 8
        self.maxdict = 6
        self.maxset = 6
        self.maxstring = _MAX_LENGTH
        self.maxother = _MAX_LENGTH

    def repr_instance(self, x: Any, level: int) -> str:
        shape = getattr(x, "shape", ())
        if isinstance(shape, tuple) and shape and (hasattr(x, "columns") or x.size > _MAX_CELLS):
            return f"{type(x).__name__} of shape {shape}"
        try:
            text = " ".join(repr(x).split())
        # A class of the user may raise anything.
        except Exception:
            return f"a {type(x).__name__}"
        return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 4]} ..."

    repr_array = repr_ndarray = repr_instance


_SHORT = _ShortRepr()


def short(value: object) -> str:
    """Return the repr of a value in one line, cut if it is long."""
    try:
        text = " ".join(_SHORT.repr(value).split())
    # Python refuses to print integers with thousands of digits.
    except ValueError:
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= 2 * _MAX_LENGTH else f"{text[: 2 * _MAX_LENGTH - 4]} ..."


def nearest(name: str, known_names: Iterable[object]) -> str:
    """Return a hint at the known name that is probably meant, or an empty text."""
    by_letters = {_letters(known): known for known in known_names}
    letters = _letters(name)
    similar = difflib.get_close_matches(letters, by_letters, n=1, cutoff=_MIN_SIMILARITY)
    # Shorter texts are part of too many names, unless they are a word of them, as "auc" is.
    containing = [
        known
        for known, original in by_letters.items()
        if letters in known and (len(letters) > 3 or letters in str(original).lower().split("_"))
    ]
    candidates = [*similar, *sorted(containing, key=len)]
    return f" (did you mean {by_letters[candidates[0]]!r}?)" if candidates else ""


def _letters(name: object) -> str:
    return "".join(letter for letter in str(name).lower() if letter.isalnum())


# Kind, file and line of each warning that went to the same place: a screen, or a test's list.
# Python has a registry of its own, but forgets it whenever filters change, which scikit-learn's
# cross-validation does for every fold. A test that records warnings has a list of its own, and
# also gets warnings that were shown before. The place is stored so that no other object gets its
# identity. Eight places are remembered: nested contexts that record warnings, and earlier ones.
_shown: deque[tuple[object, set[tuple[str, str, int]]]] = deque(maxlen=8)


def _keys_of_current_sink() -> set[tuple[str, str, int]]:
    """Keys of the warnings that were shown in the same place as the next one will be."""
    # `catch_warnings(record=True)` puts the method of a new list there.
    show = getattr(warnings, "_showwarnmsg_impl", None)
    sink = getattr(show, "__self__", show)
    # A copy, since other threads may add a place.
    for other_sink, keys in tuple(_shown):
        if other_sink is sink:
            return keys
    new_keys: set[tuple[str, str, int]] = set()
    _shown.append((sink, new_keys))
    return new_keys


def warn(message: str, category: type[Warning] = UserWarning, *, kind: str | None = None) -> None:
    """Warn about the user's line that called this package, directly or through other packages.

    Messages of the same `kind`, whose numbers may differ, are shown once for each line of the
    user's code, so that a cross-validation does not repeat them for each fold. None shows all.
    """
    frame = sys._getframe(1)
    while frame.f_back and _module(frame).partition(".")[0] in _SKIPPED_MODULES:
        frame = frame.f_back
    filename = frame.f_code.co_filename
    shown_keys = _keys_of_current_sink()
    key = (f"{category.__name__}: {kind}", filename, frame.f_lineno)
    if kind is not None and key in shown_keys:
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, filename, frame.f_lineno, _module(frame), registry)
    # Afterwards, since a warning that filters turn into an error is raised each time.
    shown_keys.add(key)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
