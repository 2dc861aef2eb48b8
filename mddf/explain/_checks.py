"""Refusals in one line: which parameter, what was expected, what came."""

from __future__ import annotations

from numbers import Integral
from typing import Any

_MOST_CHARACTERS = 100


def brief(value: Any) -> str:
    """A value as one line of at most about 100 characters; estimators by their class alone."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__name__}(...)"
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} ..."


def check_word(name: str, value, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of a few words."""
    if not isinstance(value, str) or value not in allowed:
        *others, last = map(repr, allowed)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {brief(value)}")


def check_whole(name: str, value, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        bound = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {bound}, got {brief(value)}")
