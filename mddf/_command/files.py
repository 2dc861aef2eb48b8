"""Files of commands: refused before any work if they cannot be written, never half-written."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib

from mddf._schema.source import PARQUET
from mddf.export._skops import skops_types

from .extras import need, need_tables
from .rows import visible

if TYPE_CHECKING:
    from mddf._schema.schema import Schema

MODELS = (".skops", ".joblib")
TABLES = (".csv", *PARQUET)
_LIBRARIES = {".skops": "skops"} | dict.fromkeys(PARQUET, "pyarrow")


def check_new(option: str, path: Path, ends: tuple[str, ...], overwrite: bool) -> None:
    """End the command if a file cannot be written in the form that its name gives."""
    suffix = path.suffix.lower()
    if suffix not in ends:
        raise SystemExit(f"{option} must end in {' or '.join(ends)}, got {visible(path)}")
    if not Path(os.path.realpath(path)).parent.is_dir():
        raise SystemExit(f"{option} must be in a folder that is there, got {visible(path)}")
    if path.is_dir() or (path.exists() and not overwrite):
        state = "a folder" if path.is_dir() else "there already: --overwrite replaces it"
        raise SystemExit(f"{option}: {visible(path)} is {state}")
    if suffix in _LIBRARIES:
        need(_LIBRARIES[suffix], "commands")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write to, which takes the place of `path` if the block ends well.

    It is removed if the block fails or the process is asked to end. A link stays a link to the
    same file, and a file that is replaced passes on its permissions.
    """
    path = Path(os.path.realpath(path))
    with _ending_on_signals():
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
        os.close(handle)
        try:
            yield Path(name)
            os.chmod(name, _permissions(path))
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _permissions(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _ending_on_signals() -> Iterator[None]:
    """Have signals that would kill the process raise SystemExit, so that files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)  # as shells report it

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    # Those that the caller ignores, as nohup does, stay ignored.
    before = {n: signal.getsignal(n) for n in numbers if signal.getsignal(n) == signal.SIG_DFL}
    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def write_text(path: Path, text: str) -> None:
    """Write a file of text."""
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def write_table(path: Path, table: Any) -> None:
    """Write a data frame as CSV or Parquet."""
    with replacing(path) as new:
        if path.suffix.lower() in PARQUET:
            table.to_parquet(new, index=False)
        else:
            table.to_csv(new, index=False)


def write_model(path: Path, model: Any, schema: Schema) -> None:
    """Write a fitted model and the description of its columns."""
    stored = {"model": model, "schema": schema.to_json()}
    is_skops = path.suffix.lower() == ".skops"
    dump = need("skops.io", "commands").dump if is_skops else joblib.dump
    with replacing(path) as new:
        dump(stored, new)


def read_model(path: Path) -> tuple[Any, Schema]:
    """Read what `write_model` wrote, or a former version; a file of skops runs nothing."""
    suffix = path.suffix.lower()
    if suffix not in MODELS:
        raise SystemExit(f"the model must end in {' or '.join(MODELS)}, got {visible(path)}")
    if not path.exists():
        raise SystemExit(f"the model must be a file that is there, got {visible(path)}")
    need_tables()
    from mddf._schema.schema import Schema

    try:
        if suffix == ".skops":
            stored = need("skops.io", "commands").load(path, trusted=skops_types())
        else:
            stored = joblib.load(path)
        if "schema" in stored:
            return stored["model"], Schema.from_json(stored["schema"])
        return stored["model"], Schema.from_former(stored["like"], stored["format"])
    except SystemExit:
        raise
    except Exception as error:  # whatever the file holds
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SystemExit(f"{path} cannot be read as a model of `mddf fit`: {why}") from None
