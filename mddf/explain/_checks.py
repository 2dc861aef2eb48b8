"""Refusals in one line: which parameter, what was expected, what came."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from mddf._base.messages import short


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of a few words."""
    if not isinstance(value, str) or value not in allowed:
        *others, last = map(repr, allowed)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {short(value)}")


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        bound = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {bound}, got {short(value)}")
