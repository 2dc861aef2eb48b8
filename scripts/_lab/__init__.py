"""What the commands in this folder share; every module says what it is for."""

import importlib


def in_a_line(error):
    """An error in a line."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:300].rstrip(": ")


def need(module, extra):
    """A module that only an extra installs; an error of one line without it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise SystemExit(
            f'{module.split(".")[0]} is not installed: pip install "mddf[{extra}]"'
        ) from None
