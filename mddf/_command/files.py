"""Files of commands: refused before any work if they cannot be written, never half-written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import joblib

from mddf.export._skops import skops_types

from .csvs import Format, need
from .rows import visible

MODELS = (".skops", ".joblib")
TABLES = (".csv", ".parquet")
_LIBRARIES = {".skops": "skops", ".parquet": "pyarrow"}


def check_new(option: str, path: Path, ends: tuple[str, ...], overwrite: bool) -> None:
    """End the command if a file cannot be written in the form that its name says."""
    if path.suffix not in ends:
        raise SystemExit(f"{option} must end in {' or '.join(ends)}, got {visible(path)}")
    if not path.parent.is_dir():
        raise SystemExit(f"{option} must be in a folder that is there, got {visible(path)}")
    if path.is_dir() or (path.exists() and not overwrite):
        what = "a folder" if path.is_dir() else "there already: --overwrite replaces it"
        raise SystemExit(f"{option}: {visible(path)} is {what}")
    if path.suffix in _LIBRARIES:
        need(_LIBRARIES[path.suffix], "commands")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path`, which takes its place at the end, or is removed if that fails."""
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """A file of text."""
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def write_table(path: Path, table: Any) -> None:
    """A data frame, as CSV or Parquet."""
    with replacing(path) as new:
        if path.suffix == ".parquet":
            table.to_parquet(new, index=False)
        else:
            table.to_csv(new, index=False)


def write_model(path: Path, model: Any, like: dict[str, Any], form: Format) -> None:
    """A fitted model, and what later tables must be like."""
    found = {"model": model, "like": like, "format": asdict(form)}
    dump = need("skops.io", "commands").dump if path.suffix == ".skops" else joblib.dump
    with replacing(path) as new:
        dump(found, new)


def read_model(path: Path) -> tuple[Any, dict[str, Any], Format]:
    """What `write_model` wrote; a file of skops runs nothing that it holds."""
    if path.suffix not in MODELS:
        raise SystemExit(f"the model must end in {' or '.join(MODELS)}, got {visible(path)}")
    if not path.exists():
        raise SystemExit(f"the model must be a file that is there, got {visible(path)}")
    try:
        if path.suffix == ".skops":
            found = need("skops.io", "commands").load(path, trusted=skops_types())
        else:
            found = joblib.load(path)
        form: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value
                for name, value in found["format"].items()}  # fmt: skip
        return found["model"], found["like"], Format(**form)
    except SystemExit:
        raise
    except Exception as error:  # whatever the file holds
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SystemExit(f"{path} cannot be read as a model of `mddf fit`: {why}") from None
