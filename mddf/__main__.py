"""The command ``mddf``, or ``python -m mddf``."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import mddf

_COMMANDS = {
    "fit": "a model and a report of a table",
    "predict": "predictions of a table's rows by a model",
    "explain": "why a model says so, of single rows",
    "bench": "mddf's models beside scikit-learn's on a table",
    "versions": "versions and the build, for reports of bugs",
}


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """What understands a command line of these words; other commands are not imported."""
    found = argparse.ArgumentParser(
        "mddf", description="Deep forests for tables: fit, predict, explain, compare."
    )
    found.add_argument("--version", action="version", version=f"mddf {mddf.__version__}")
    commands = found.add_subparsers(metavar="COMMAND", required=True)
    for name, short in _COMMANDS.items():
        raw = argparse.RawDescriptionHelpFormatter
        own = commands.add_parser(name, help=short, formatter_class=raw)
        if name in words:
            of_name = import_module(f"mddf._command.{name}")
            own.description = of_name.DESCRIPTION
            of_name.add_options(own)
            own.set_defaults(run=of_name.run, command=name)
    return found


def _warn(message: Any, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {message}\n")


def main(argv: list[str] | None = None) -> None:
    """Run a command; what the user can mend ends it with one line."""
    words = sys.argv[1:] if argv is None else argv
    options = parser(words).parse_args(words or ["--help"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations are for developers
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _warn
        try:
            options.run(options)
        except (ValueError, TypeError, OSError, MemoryError) as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise SystemExit(f"mddf {options.command}: {text}") from error
        except KeyboardInterrupt:
            raise SystemExit(130) from None


if __name__ == "__main__":
    main()
