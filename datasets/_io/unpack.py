"""Safe reading of plain, compressed and archived files into memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from .._errors import DataFileError

# Bytes; the largest real file has some 150 MB, so that a larger content is not a real file.
_LIMIT = 2**30
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
    """Read a file, uncompressed if its name ends in one of `COMPRESSED`.

    Parameters
    ----------
    path : Path

    Returns
    -------
    content : bytes

    Raises
    ------
    DataFileError
        If the file is damaged or truncated, or unpacks to more than 1 GiB.
    """
    opener = _OPENERS.get(path.suffix)
    if opener is None:
        return path.read_bytes()
    try:
        with opener(path) as file:
            content = file.read(_LIMIT + 1)
    except _DAMAGE as error:
        raise DataFileError(
            f"{path}: must be a whole {path.suffix} file, but it is damaged or truncated: {error}"
        ) from error
    if len(content) > _LIMIT:
        raise DataFileError(f"{path}: must unpack to at most {_LIMIT} bytes, got more")
    return content


def leaves_folder(name: str) -> bool:
    """Whether an archive entry would be unpacked outside its folder.

    Parameters
    ----------
    name : str
        Name of the entry in the archive.

    Returns
    -------
    leaves : bool
        True for absolute paths, drives and paths with ``..``, of Posix or Windows.
    """
    paths = (PurePosixPath(name), PureWindowsPath(name))
    return any(path.anchor or ".." in path.parts for path in paths)


def read_zip(path: Path, member: str) -> bytes:
    """Read one entry of a zip archive.

    Parameters
    ----------
    path : Path
        The archive.
    member : str
        Name of the entry.

    Returns
    -------
    content : bytes

    Raises
    ------
    DataFileError
        If the archive is damaged, does not have the entry exactly once, or has any entry that
        would leave the folder: no upstream archive has one, so nothing in it is trusted.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            for entry in entries:
                if leaves_folder(entry.filename):
                    raise DataFileError(
                        f"{path}: entries must stay in their folder, got {entry.filename!r}"
                    )
            matches = [entry for entry in entries if entry.filename == member]
            if len(matches) != 1:
                raise DataFileError(
                    f"{path}: must hold {member!r} once, got {len(matches)} of them among"
                    f" {len(entries)} entries"
                )
            if matches[0].file_size > _LIMIT:
                raise DataFileError(
                    f"{path}: {member!r} must unpack to at most {_LIMIT} bytes,"
                    f" got {matches[0].file_size}"
                )
            return archive.read(matches[0])
    except _DAMAGE as error:
        raise DataFileError(
            f"{path}: must be a whole zip archive, but it is damaged or truncated: {error}"
        ) from error
