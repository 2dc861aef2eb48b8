"""What the commands in this folder share; every module says what it is for."""

from mddf._command.extras import need

__all__ = ["counted", "in_a_line", "need"]


def in_a_line(error):
    """An error in a line."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:300].rstrip(": ")


def counted(n, thing):
    """So many things, in words."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
