"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file, which replaces `path` if the block succeeds.

    It is in a temporary folder beside `path`. The contents are on the disk before the file is
    replaced, so that a crash leaves the old or the new file. The folder is removed in any case. A
    link stays a link to the same file, and the new file keeps the permissions of the old one.
    """
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise IsADirectoryError(f"expected the name of a file, got the folder {path}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist")
    # Other users cannot read the temporary file, whose folder is only for its owner.
    with tempfile.TemporaryDirectory(prefix=f".{path.stem}-", dir=path.parent) as folder:
        new = Path(folder) / path.name
        new.touch()
        yield new
        if path.exists():
            os.chmod(new, path.stat().st_mode & 0o777)
        _flush(new)
        os.replace(new, path)
    if os.name == "posix":  # Windows cannot open folders
        _flush(path.parent)


def _flush(path: str | Path) -> None:
    """Wait until a file, or the list of files of a folder, is on the disk."""
    handle = os.open(path, os.O_RDWR if os.path.isfile(path) else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
