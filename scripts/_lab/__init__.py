"""Modules that the scripts share."""

from mddf._command.extras import need

__all__ = ["counted", "in_a_line", "need"]


def in_a_line(error):
    """Shorten an error to one line of at most 300 characters."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:300].rstrip(": ")


def counted(n, thing):
    """Name a count with its thing, such as "1 set" or "3 sets"."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
