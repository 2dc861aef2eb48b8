"""``python -m mddf.datasets`` lists all data sets, the places of their files, and checks these."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ._errors import DataFileError
from ._io.fetch import find_home, locate
from ._io.spec import Embedded, Spec
from ._load import load
from ._registry import SPECS, TASKS, names, resolve

HEADER = (
    "| name | rows (train / test) | columns | of these categories | classes or target"
    " | missing cells | file | source |",
    "|---|---|---|---|---|---|---|---|",
)
NOT_HERE = "not here"


def rows_of(spec: Spec) -> str:
    """Number of rows of each part."""
    return " / ".join(str(part.rows) for part in spec.parts)


def target_of(spec: Spec) -> str:
    """Number of classes, or the range of a numeric target."""
    if spec.task == "classification":
        return f"{len(spec.classes)}"
    low, high = spec.parts[0].target or (0, 0)
    return f"{low:.5g} to {high:.6g}"


def row(spec: Spec) -> str:
    """Describe one data set, with its default options, in a line of Markdown."""
    table = spec.format
    missing = sum(part.missing for part in spec.parts)
    if isinstance(table, Embedded):
        files = "with scikit-learn"
    else:
        forms = [f"`{spec.folder}/{file.name}`" for file in spec.files]
        archive = spec.files[0].archive
        # An archive may hold many files, so that its own name is shorter.
        files = f"`{spec.folder}/{archive.name}`" if archive else ", ".join(forms)
    return (
        f"| `{spec.name}` | {rows_of(spec)} | {table.n_features} | {table.n_categorical}"
        f" | {target_of(spec)} | {missing} | {files} | [{spec.title}]({spec.source}) |"
    )


def markdown(chosen: list[str]) -> Iterator[str]:
    """Yield the lines of a table of the chosen sets, for each task."""
    for task in TASKS:
        rows = [row(SPECS[name]) for name in chosen if SPECS[name].task == task]
        if rows:
            yield f"Sets for {task}:\n"
            yield from HEADER
            yield from rows
            yield ""


def state(spec: Spec, home: Path, check: bool) -> str:
    """Folder of the files of a set; with `check`, whether their content is right."""
    if not isinstance(spec.format, Embedded):
        folder = home / spec.folder
        if any(locate(folder, file) is None for file in spec.files):
            return NOT_HERE
    if not check:
        return "scikit-learn" if isinstance(spec.format, Embedded) else f"{spec.folder}/"
    try:
        load(spec.name, data_home=home, download=False, as_frame=False)
    except DataFileError as error:
        return f"WRONG: {error}"
    return "whole"


def listing(chosen: list[str], home: Path, check: bool) -> Iterator[str]:
    """Yield a line for each set, for a terminal."""
    yield f"data home: {home}"
    yield "rows: training/test; columns: of these categories in brackets"
    for name in chosen:
        spec = resolve(name, {})[0]
        target = target_of(spec) + (" classes" if spec.task == "classification" else "")
        kinds = f" ({spec.format.n_categorical})" if spec.format.n_categorical else ""
        columns = f"{spec.format.n_features}{kinds}"
        yield (
            f"{spec.name:20s} {rows_of(spec).replace(' / ', '/'):>11s} {columns:>7s} {target:14s} "
            + state(spec, home, check)
        )


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 1 if a check has failed or a set to check is not here."""
    parser = argparse.ArgumentParser(prog="python -m mddf.datasets", description=__doc__)
    parser.add_argument("name", nargs="*", help="sets (default: all)")
    parser.add_argument("--task", choices=TASKS, help="sets of this task only")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--check", action="store_true", help="read and check the files")
    form.add_argument(
        "--markdown", action="store_true", help="tables of docs/results/data-sets.md"
    )
    parser.add_argument("--data-home", help="folder of the data (default: MDDF_DATA_HOME)")
    options = parser.parse_args(argv)
    try:
        chosen = [resolve(name, {})[0].name for name in options.name] or names(options.task)
    except ValueError as error:
        parser.error(str(error))
    for name in chosen:
        if options.task not in (None, SPECS[name].task):
            parser.error(f"--task must fit the names, {name} is for {SPECS[name].task}")
    if options.markdown:
        print("\n".join(markdown(chosen)).strip())
        return 0
    must_be_here = options.check and bool(options.name)
    failed = False
    for line in listing(chosen, find_home(options.data_home), options.check):
        print(line, flush=True)
        failed |= "WRONG: " in line or (must_be_here and line.endswith(NOT_HERE))
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    raise SystemExit(status)
