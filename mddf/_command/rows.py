"""Tables from files: rows to fit to, rows to predict and held-out rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mddf._base.messages import nearest
from mddf._quality.target import task_of
from mddf._schema.format import Format, TableError
from mddf._schema.source import Source, read_blocks, read_source

from .extras import need_tables

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from mddf._schema.schema import Schema

# Longer lists hide the name that is wrong.
_MAX_LISTED_NAMES = 30


@dataclass(frozen=True)
class TrainingTable:
    """Features and labels of a table, the description of its columns, and the task.

    `rows` are the numbers of its rows in the file.
    """

    X: pd.DataFrame
    y: np.ndarray
    schema: Schema
    task: str
    rows: np.ndarray


class LabelledRows(NamedTuple):
    """Features and complete labels."""

    X: pd.DataFrame
    y: np.ndarray


def check_names(rule: str, names: Collection[str], allowed: Collection[str]) -> None:
    """End the command unless all names are allowed; `rule` begins the message."""
    if wrong := [name for name in names if name not in allowed]:
        listed = [visible(name) for name in allowed]
        more = [f"... ({len(listed)} in all)"] if len(listed) > _MAX_LISTED_NAMES else []
        text = ", ".join(listed[:_MAX_LISTED_NAMES] + more)
        raise SystemExit(f"{rule} {text}; got {wrong[0]!r}{nearest(wrong[0], allowed)}")


def visible(name: object) -> str:
    """Return a name, in quotes if it has blanks or other characters that cannot be seen."""
    text = str(name)
    return text if text and text == text.strip() and text.isprintable() else repr(name)


@contextmanager
def exit_on_table_errors() -> Iterator[None]:
    """End the command by the message of an error about a table."""
    try:
        yield
    except TableError as error:
        raise SystemExit(str(error)) from None


def read(path: Path, form: Format, columns: Collection[str] | None = None) -> Source:
    """Read a table that has rows, or end the command with one line."""
    need_tables()
    with exit_on_table_errors():
        source = read_source(Path(path), form, columns)
    if not source.n_rows:
        raise SystemExit(f"{path} must have rows, got none")
    return source


def read_training(
    path: Path,
    target: str,
    drop: Sequence[str],
    *,
    not_features: Sequence[str] = (),
    task: str,
    form: Format,
    drop_unlabelled: bool = False,
    warn: bool = False,
) -> TrainingTable:
    """Read a table to fit to, and describe its columns but the target and those without a feature.

    A table that cannot be used ends the command with one line. The labels decide the task "auto".
    With `drop_unlabelled`, rows without a label are left out, and a line says how many. With
    `warn`, columns whose kind may be misjudged cause warnings.
    """
    source = read(path, form)
    from mddf._schema.schema import describe

    from . import hints

    names = source.names
    check_names(f"--target must be a column of {path}:", [target], names)
    candidates = [name for name in names if name != target]
    check_names(f"--drop must be a column of features of {path}:", drop, candidates)
    declared = form.text + form.numbers + form.dates
    check_names(f"--text, --numbers and --dates must be columns of {path}:", declared, names)
    left_out = {*drop, *not_features, *source.index_names}
    features = [name for name in candidates if name not in left_out]
    if unnamed := [name for name in features if name.startswith("Unnamed: ")]:
        raise SystemExit(
            f"the columns of {path} must have names, got {', '.join(unnamed)}; a table of pandas "
            "is written without its row numbers by to_csv(..., index=False), or --drop them"
        )
    if source.n_rows < 2 or not features:
        raise SystemExit(
            f"{path} must have at least 2 rows, and a column of features next to the labels; got "
            f"{source.n_rows} rows and the columns {', '.join(names)}"
        )
    with exit_on_table_errors():
        if task == "regression":
            if target in form.text:
                raise TableError(f"--text {target!r} cannot be used with --task regression")
            form = replace(form, numbers=(*form.numbers, target))
        schema = describe(source, features, target, form)
        if drop_unlabelled:
            source = _labelled(source, schema)
            schema = describe(source, features, target, form)
        y = _complete_labels(source, schema)
        if task == "auto":
            task = task_of(y)
        if task == "classification":
            _check_classes(path, target, y)
        X = schema.features(source)
    if warn:
        hints.warn_of_target(path, target, y)
        hints.warn_of_text(source, schema)
        hints.warn_of_codes(source, schema)
        hints.warn_of_spellings(source, schema)
    kept = np.arange(len(y)) if source.kept_rows is None else source.kept_rows
    return TrainingTable(X, y, schema, task, kept)


def _labelled(source: Source, schema: Schema) -> Source:
    """Leave out the rows without a label."""
    has_label = np.asarray(schema.target_cells(source).is_valid())
    if has_label.sum() < 2:
        raise TableError(
            f"{source.path} must have at least 2 rows with a label in {schema.target.name!r}, got "
            f"{has_label.sum()}"
        )
    if not has_label.all():
        print(f"{(~has_label).sum()} of {len(has_label)} rows have no label and are left out")
    return source.keeping(np.flatnonzero(has_label))


def _complete_labels(source: Source, schema: Schema) -> np.ndarray:
    missing = np.asarray(schema.target_cells(source).is_null())
    if missing.any():
        raise TableError(
            f"the labels of {source.path} must be complete, got {missing.sum()} missing in "
            f"{schema.target.name!r}, {place_in_file(source, missing.argmax())} first: "
            "--drop-unlabelled leaves such rows out"
        )
    return schema.labels(source)


def place_in_file(source: Source, row: int | np.integer) -> str:
    """Line or number of a row, without the name of the file."""
    return source.place(row).rpartition(", ")[2]


def _check_classes(path: Path, target: str, y: np.ndarray) -> None:
    if len(classes := np.unique(y)) == 1:
        raise TableError(
            f"the labels of {path} must be of two classes or more, got "
            f"{classes.tolist()[0]!r} only"
        )
    if y.dtype.kind == "f" and (y % 1 != 0).any():
        raise TableError(
            f"column {target!r} of {path} must hold classes, got numbers that are not whole"
        )


def read_features(
    path: Path, schema: Schema, keep: Collection[str] = (), *, allow_infinite: bool = False
) -> tuple[pd.DataFrame, Source]:
    """Read the features of rows to predict, and the cells of these and the kept columns."""
    source = read(path, schema.format, {*schema.names, *keep})
    with exit_on_table_errors():
        return schema.features(source, allow_infinite=allow_infinite), source


def read_feature_blocks(
    path: Path, schema: Schema, keep: Collection[str]
) -> Iterator[tuple[pd.DataFrame, Source]]:
    """Read as `read_features` does, in blocks of rows, so that a table of any size fits."""
    need_tables()
    has_rows = False
    columns = {*schema.names, *keep}
    with exit_on_table_errors():
        for source in read_blocks(Path(path), schema.format, columns):
            if source.n_rows:
                has_rows = True
                yield schema.features(source), source
    if not has_rows:
        raise SystemExit(f"{path} must have rows, got none")


def insert_cells(table: pd.DataFrame, source: Source, names: Sequence[str]) -> None:
    """Put columns of a file in front of a table, with the cells as they are in the file."""
    for position, name in enumerate(names):
        insert_column(table, position, name, source.cells[name])


def insert_column(table: pd.DataFrame, position: int, name: str, cells: pa.Array) -> None:
    """Insert a column of Arrow, whose type it keeps."""
    import pandas

    column = pandas.Series(cells, dtype=pandas.ArrowDtype(cells.type))
    table.insert(position, name, column, allow_duplicates=True)


def key_texts(source: Source, name: str) -> list[str]:
    """Cells of a key column as text; days of Parquet are written without a time."""
    from mddf._schema import cells

    values = cells.unpacked(source.cells[name])
    if values is None:
        raise SystemExit(f"--key must be a column of texts, numbers or dates, got {name!r}")
    return [
        "" if text is None else cells.canonical(text)
        for text in cells.as_texts(values).to_pylist()
    ]


def read_test(
    path: Path, schema: Schema, classes: np.ndarray | None, *, drop_unlabelled: bool = False
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Read the features of held-out rows, and the labels if the table has some.

    Labels must be among the classes, unless these are None.
    """
    target = schema.target.name
    source = read(path, schema.format, {*schema.names, target})
    if drop_unlabelled and target in source.names:
        with exit_on_table_errors():
            source = _labelled(source, schema)
    with exit_on_table_errors():
        X = schema.features(source)
        if target not in source.names or schema.target_cells(source).null_count == source.n_rows:
            return X, None
        y = _complete_labels(source, schema)
    if classes is not None:
        is_unknown = ~np.isin(y, classes)
        if is_unknown.any():
            unknown = ", ".join(sorted({repr(label) for label in y[is_unknown].tolist()}))
            raise SystemExit(
                f"the labels of {path} must also be in training; got {unknown}, "
                f"{place_in_file(source, is_unknown.argmax())} first"
            )
        y = y.astype(classes.dtype)
    return X, y
