"""Libraries that the extras of mddf install."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def need(module: str, extra: str) -> Any:
    """Import a module, or end the command with the line that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise SystemExit(_installation_hint(module.split(".")[0], extra)) from None


def need_tables() -> None:
    """End the command unless the libraries that read tables are installed."""
    for name in ("pandas", "pyarrow"):
        if find_spec(name) is None:
            raise SystemExit(_installation_hint(name, "commands"))


def _installation_hint(name: str, extra: str) -> str:
    return f'{name} is not installed: pip install "mddf[{extra}]"'
