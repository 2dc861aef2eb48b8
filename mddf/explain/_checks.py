"""Checks of parameters, with errors of one line."""

from __future__ import annotations

from numbers import Integral

from mddf._base.messages import short


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise a ValueError unless the value is one of a few words."""
    if not isinstance(value, str) or value not in allowed:
        *first, last = map(repr, allowed)
        raise ValueError(f"{name} must be {', '.join(first)} or {last}, got {short(value)}")


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise a ValueError unless the value is a whole number from `least` to `most`."""
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if number is not None and number >= least and (most is None or number <= most):
        return
    bound = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ValueError(f"{name} must be a whole number {bound}, got {short(value)}")


def check_position(name: str, position: int | None, length: int) -> int:
    """Validate a position in a list, which may count from its end; return it from the start."""
    check_whole(name, position, -length, length - 1)
    assert position is not None
    return int(position) % length
