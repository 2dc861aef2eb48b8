"""``python -m mddf.datasets`` lists all data sets, says where their files lie, and checks them."""

from __future__ import annotations

import argparse
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


def rows_of(spec: Spec) -> str:
    """Numbers of rows of the parts."""
    return " / ".join(str(part.rows) for part in spec.parts)


def target_of(spec: Spec) -> str:
    """How many classes, or from where to where a number goes."""
    if spec.task == "classification":
        return f"{len(spec.classes)}"
    low, high = spec.parts[0].target or (0, 0)
    return f"{low:.5g} to {high:.6g}"


def row(spec: Spec) -> str:
    """Make the Markdown line of one data set with its default options.

    Parameters
    ----------
    spec : Spec

    Returns
    -------
    line : str
    """
    table = spec.format
    missing = sum(part.missing for part in spec.parts)
    if isinstance(table, Embedded):
        files = "with scikit-learn"
    else:
        forms = [f"`{spec.folder}/{file.name}`" for file in spec.files]
        archive = spec.files[0].archive
        # An unpacked archive may be many files; its own name says it shorter.
        files = f"`{spec.folder}/{archive.name}`" if archive else ", ".join(forms)
    return (
        f"| `{spec.name}` | {rows_of(spec)} | {table.n_features} | {table.n_categorical}"
        f" | {target_of(spec)} | {missing} | {files} | [{spec.title}]({spec.source}) |"
    )


def markdown() -> Iterator[str]:
    """Tables of both tasks, in the order of `mddf.datasets.names`."""
    for task in TASKS:
        yield f"Sets for {task}:\n"
        yield from HEADER
        yield from (row(SPECS[name]) for name in names(task))
        yield ""


def state(spec: Spec, home: Path, check: bool) -> str:
    """Where the files of a set lie; with `check`, whether they are what they should be."""
    if not isinstance(spec.format, Embedded):
        folder = home / spec.folder
        if any(locate(folder, file) is None for file in spec.files):
            return "not here"
    if not check:
        return "scikit-learn" if isinstance(spec.format, Embedded) else f"{spec.folder}/"
    try:
        load(spec.name, data_home=home, download=False, as_frame=False)
    except DataFileError as error:
        return f"WRONG: {error}"
    return "whole"


def listing(chosen: list[str], home: Path, check: bool) -> Iterator[str]:
    """A line for each set, for a screen."""
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
    """Print what is asked for; returns 1 if a check has failed."""
    parser = argparse.ArgumentParser(prog="python -m mddf.datasets", description=__doc__)
    parser.add_argument("name", nargs="*", help="sets (default: all)")
    parser.add_argument("--task", choices=TASKS, help="sets of this task only")
    parser.add_argument("--check", action="store_true", help="read and check the files")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/datasets.md")
    parser.add_argument("--data-home", help="folder of the data (default: MDDF_DATA_HOME)")
    options = parser.parse_args(argv)
    if options.markdown:
        print("\n".join(markdown()).strip())
        return 0
    try:
        chosen = [resolve(name, {})[0].name for name in options.name] or names(options.task)
    except ValueError as error:
        parser.error(str(error))
    failed = False
    for line in listing(chosen, find_home(options.data_home), options.check):
        print(line, flush=True)
        failed |= "WRONG: " in line
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
