"""Read plain, compressed and archived files into memory, trusting none of them."""

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

# The largest real file has some 150 MB; what unpacks to more than this is not one of them.
_LIMIT = 2**30
# What the standard library raises about damage; RuntimeError is an encrypted entry of a zip, and
# one that is packed in a way unknown here.
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
        If the file is damaged, truncated or grows beyond all measure.
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
    """Tell whether an archive entry would land outside the folder it is unpacked in.

    Parameters
    ----------
    name : str
        Name of the entry, as the archive has it.

    Returns
    -------
    leaves : bool
        True for absolute names, drives and names with ``..``, in Posix or Windows spelling.
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
        If the archive is damaged or lacks the entry, has it twice, or if any entry would leave
        the folder: such an archive is not upstream's, so nothing in it is trusted.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            for entry in entries:
                if leaves_folder(entry.filename):
                    raise DataFileError(
                        f"{path}: entries must stay in their folder, got {entry.filename!r}"
                    )
            found = [entry for entry in entries if entry.filename == member]
            if len(found) != 1:
                raise DataFileError(
                    f"{path}: must hold {member!r} once, got {len(found)} of them among"
                    f" {len(entries)} entries"
                )
            if found[0].file_size > _LIMIT:
                raise DataFileError(
                    f"{path}: {member!r} must unpack to at most {_LIMIT} bytes,"
                    f" got {found[0].file_size}"
                )
            return archive.read(found[0])
    except _DAMAGE as error:
        raise DataFileError(
            f"{path}: must be a whole zip archive, but it is damaged or truncated: {error}"
        ) from error
