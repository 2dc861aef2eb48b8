"""The command `mddf`, as `python -m mddf` runs it."""

from mddf.__main__ import main, parser  # noqa: F401


def run(*arguments):
    """Run `mddf` with arguments of any type."""
    main([str(word) for word in arguments])
