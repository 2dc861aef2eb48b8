"""The command ``mddf``, or ``python -m mddf``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

import mddf
from mddf._base.messages import nearest
from mddf._command.command import Command

_COMMANDS = {
    "fit": "fit a model to a table and write a report",
    "predict": "predict the rows of a table",
    "explain": "explain the predictions of single rows",
    "check": "look for leakage and poor columns in a table",
    "drift": "compare the rows of a table with the training rows",
    "card": "write a model card",
    "bench": "compare models of mddf and scikit-learn on a table",
    "versions": "print versions and the build, for bug reports",
}

# Exit status that shells report for tools ended by a closed pipe.
_BROKEN_PIPE = 141


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Make the parser of a command line, and import only the command that its words name."""
    main_parser = argparse.ArgumentParser(
        "mddf", description="Deep forests for tables: fit, predict, explain, compare."
    )
    main_parser.add_argument("--version", action="version", version=f"mddf {mddf.__version__}")
    commands = main_parser.add_subparsers(metavar="COMMAND", required=True)
    for name, short in _COMMANDS.items():
        command_parser = commands.add_parser(
            name, help=short, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name in words:
            command: Command = import_module(f"mddf._command.{name}").command
            command_parser.description = command.description
            command.add_options(command_parser)
            command_parser.set_defaults(run=command.run, command=name, parser=command_parser)
    return main_parser


def _unknown_arguments(command_parser: argparse.ArgumentParser, unknown: Sequence[str]) -> str:
    """Message about words that a command does not know, with the option that may be meant."""
    known = [option for action in command_parser._actions for option in action.option_strings]
    word, sign, value = unknown[0].partition("=")
    hint = nearest(word, known)
    parameter = word.lstrip("-").replace("-", "_")
    if not hint and word.startswith("--") and "--set" in known:
        value = value if sign or len(unknown) == 1 else unknown[1]
        hint = f"; parameters of the model are set by --set {parameter}={value or 'VALUE'}"
    return f"unknown arguments: {' '.join(unknown)}{hint}"


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    sys.stderr.write(f"warning: {message}\n")


def main(argv: list[str] | None = None) -> None:
    """Run a command; an error that the user can correct ends it with one line."""
    try:
        _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has closed it. Without another output, Python would
        # fail at exit to write the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_BROKEN_PIPE) from None


def _run(words: Sequence[str]) -> None:
    options, unknown = parser(words).parse_known_args(words or ["--help"])
    if unknown:
        options.parser.error(_unknown_arguments(options.parser, unknown))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations are for developers
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _print_warning
        try:
            options.run(options)
        except BrokenPipeError:
            raise
        except (ValueError, TypeError, OSError, MemoryError) as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise SystemExit(f"mddf {options.command}: {text}") from error
        except KeyboardInterrupt:
            raise SystemExit(130) from None


if __name__ == "__main__":
    main()
