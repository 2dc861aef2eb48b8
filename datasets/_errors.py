"""Errors of the loaders, and the import of optional packages."""

from __future__ import annotations

import importlib
from types import ModuleType


class DataFileError(ValueError):
    """A data file exists but its content is wrong.

    Raised for damaged, truncated and mislabelled files: a wrong SHA-256, a wrong number of
    columns, rows or members of a class.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mddf.datasets import DataFileError, load
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "yeast").mkdir()
    >>> (folder / "yeast" / "yeast.data").write_text("not the file from UCI")
    21
    >>> try:
    ...     load("yeast", data_home=folder, download=False)
    ... except DataFileError as error:
    ...     print(str(error).rpartition(": ")[2])
    the file is damaged or another one. check_hash=False reads it all the same
    """


class DataFileNotFoundError(FileNotFoundError):
    """A data file was not found and could not be downloaded.

    Examples
    --------
    >>> from mddf.datasets import DataFileNotFoundError, load
    >>> try:
    ...     load("yeast", data_home="no-such-folder", download=False)
    ... except DataFileNotFoundError as error:
    ...     print(str(error).splitlines()[0])
    data set 'yeast': file 'yeast.data' is missing
    """


def optional_import(module: str, purpose: str) -> ModuleType:
    """Import a module that only the ``data`` extra installs.

    The error begins with `purpose`, and says how to install the module.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f'{purpose} needs {module}, which is not installed: pip install "mddf[data]"'
        ) from error
