"""Output files, which are checked before any work and never half-written, and model files."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from mddf._base import atomic, model_file
from mddf._schema.source import PARQUET

from .extras import need, need_tables
from .rows import visible
from .scores import Decision

if TYPE_CHECKING:
    import pandas as pd

    from mddf._schema.schema import Schema

MODEL = ".mddf"
TABLES = (".csv", *PARQUET)
_LIBRARIES = dict.fromkeys(PARQUET, "pyarrow")


def check_output(
    option: str,
    path: Path,
    suffixes: tuple[str, ...],
    overwrite: bool,
    *,
    overwrite_option: str = "--overwrite",
) -> None:
    """End the command if a file cannot be written in the format of its suffix."""
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise SystemExit(f"{option} must end in {' or '.join(suffixes)}, got {visible(path)}")
    if not Path(os.path.realpath(path)).parent.is_dir():
        raise SystemExit(f"{option} must be in an existing folder, got {visible(path)}")
    if path.is_dir() or (path.exists() and not overwrite):
        state = "is a folder" if path.is_dir() else f"exists: {overwrite_option} replaces it"
        raise SystemExit(f"{option}: {visible(path)} {state}")
    if suffix in _LIBRARIES:
        need(_LIBRARIES[suffix], "commands")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path`, also removed if a signal ends the process."""
    with _exit_on_signals(), atomic.replaced_file(path) as new_path:
        yield new_path


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Raise SystemExit on signals that would kill the process, so that files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def exit_on(number: int, _: object) -> None:
        raise SystemExit(128 + number)  # as shells report it

    numbers = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}  # Windows has no SIGHUP
    # Signals that the caller ignores, as nohup does, stay ignored.
    numbers = {number for number in numbers if signal.getsignal(number) == signal.SIG_DFL}
    for number in numbers:
        signal.signal(number, exit_on)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    with replacing(path) as new_path:
        new_path.write_text(text, encoding="utf-8")


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a data frame as CSV or Parquet."""
    write_tables(path, [table])


def write_tables(path: Path, tables: Iterable[pd.DataFrame]) -> int:
    """Write data frames one below the other as CSV or Parquet; returns the number of rows."""
    write = _write_parquet if path.suffix.lower() in PARQUET else _write_csv
    with replacing(path) as new_path:
        return write(new_path, tables)


def _write_csv(path: Path, tables: Iterable[pd.DataFrame]) -> int:
    n_rows = 0
    for number, table in enumerate(tables):
        mode = "a" if number else "w"
        table.to_csv(path, index=False, mode=mode, header=number == 0)
        n_rows += len(table)
    return n_rows


def _write_parquet(path: Path, tables: Iterable[pd.DataFrame]) -> int:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    n_rows = 0
    writer = None
    with ExitStack() as stack:
        for table in tables:
            if not table.columns.is_unique:
                name = table.columns[table.columns.duplicated()][0]
                raise SystemExit(
                    f"columns of Parquet must have different names, got {name!r} twice: write "
                    "CSV, or rename the column of the table"
                )
            block = pa.Table.from_pandas(table, preserve_index=False)
            # pandas cannot read its own description of Arrow's types.
            block = block.replace_schema_metadata(None)
            if writer is None:
                writer = stack.enter_context(ParquetWriter(path, block.schema))
            writer.write_table(block.cast(writer.schema))
            n_rows += len(table)
    return n_rows


@dataclass(frozen=True)
class StoredModel:
    """Contents of a model file.

    Parameters
    ----------
    model : estimator
        Fitted.
    schema : Schema
        Description of the columns.
    decision : Decision or None
        Rare class of a model of two classes and its threshold, which `mddf predict` can use.
    reference : str
        Summary of the training rows for `mddf drift`, made by `DriftReference.to_json`.
    facts : dict
        Facts about the fit for `mddf card`, of the types of JSON.
    """

    model: BaseEstimator
    schema: Schema
    decision: Decision | None
    reference: str
    facts: dict[str, Any]


def write_model(path: Path, contents: StoredModel) -> None:
    """Write a fitted model, the description of its columns and further facts about the fit."""
    notes = {
        **contents.schema.notes(),
        "decision": contents.decision and asdict(contents.decision),
        "reference": contents.reference,
        "facts": contents.facts,
    }
    with _exit_on_signals():
        model_file.save_with_notes(path, contents.model, notes)


def read_model(path: Path) -> StoredModel:
    """Read the file of a model, which runs no code."""
    if path.suffix.lower() != MODEL:
        raise SystemExit(f"the model must end in {MODEL}, got {visible(path)}")
    if not path.exists():
        raise SystemExit(f"the model must be an existing file, got {visible(path)}")
    need_tables()
    from mddf._schema.schema import Schema

    try:
        model, notes = model_file.load_with_notes(path)
    except (OSError, ImportError, model_file.ModelFileError) as error:
        raise SystemExit(str(error)) from None
    if not notes:
        raise SystemExit(
            f"{path} must be a model of `mddf fit`, got a file of mddf.save: in Python, "
            "mddf.batch.predict_file predicts tables with it, and mddf.drift compares them"
        )
    try:
        decision = notes["decision"]
        return StoredModel(
            model,
            Schema.of_model(model.input_columns_, notes),
            None if decision is None else Decision(**decision),
            notes["reference"],
            notes["facts"],
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SystemExit(f"{path} cannot be read as a model of `mddf fit`: {reason}") from None
