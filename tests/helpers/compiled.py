"""The compiled kernel: the only place from which tests take it."""

from mddf import _core  # noqa: F401
