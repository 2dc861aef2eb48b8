"""Errors of the loaders, and the import of optional packages."""

from __future__ import annotations

import importlib
from types import ModuleType


class DataFileError(ValueError):
    """A data file exists but its content is wrong.

    Raised for damaged, truncated, mislabelled and hostile files: a wrong SHA-256, an archive
    whose entries leave their folder, a wrong number of columns, rows or members of a class.
    """


class DataFileNotFoundError(FileNotFoundError):
    """A data file was not found and could not be downloaded."""


def optional_import(module: str, purpose: str) -> ModuleType:
    """Import a module that only the ``data`` extra installs.

    Parameters
    ----------
    module : str
        Name of the module.
    purpose : str
        Purpose that needs the module; the error message begins with it.

    Returns
    -------
    module : ModuleType

    Raises
    ------
    ImportError
        If the module is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f'{purpose} needs {module}, which is not installed: pip install "mddf[data]"'
        ) from error
