"""The command `mddf`, as `python -m mddf` runs it."""

from mddf.__main__ import main, parser  # noqa: F401
