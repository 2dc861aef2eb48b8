"""Reading of plain, compressed and archived files into memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._errors import DataFileError

# Errors of the standard library for damaged files. RuntimeError is for an entry of a zip archive
# that is encrypted or compressed by an unsupported method.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    UnicodeDecodeError,
)

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
COMPRESSED = tuple(_OPENERS)


def read_plain(path: Path) -> bytes:
    """Read a file, uncompressed if its name ends in one of `COMPRESSED`."""
    opener = _OPENERS.get(path.suffix)
    if opener is None:
        return path.read_bytes()
    # Files that cannot be opened are not damaged: these errors stay as they are.
    with path.open("rb") as packed:
        try:
            with opener(packed) as file:
                content: bytes = file.read()
                return content
        except _DAMAGE as error:
            raise DataFileError(
                f"{path}: must be a whole {path.suffix} file, but it is damaged or truncated: "
                f"{error}"
            ) from error


def read_zip(path: Path, member: str) -> bytes:
    """Read one entry of a zip archive into memory; nothing is unpacked to disk."""
    with path.open("rb") as packed:
        try:
            with zipfile.ZipFile(packed) as archive:
                names = archive.namelist()
                if member not in names:
                    raise DataFileError(f"{path}: must hold {member!r}, got {names[:9]}")
                return archive.read(member)
        except _DAMAGE as error:
            raise DataFileError(
                f"{path}: must be a whole zip archive, but it is damaged or truncated: {error}"
            ) from error
