"""The function `load`, which reads a data set by its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mddf._base.messages import short

from ._dataset import Dataset, assemble
from ._io import har, idx, svmlight, tables
from ._io.fetch import Access, find_home, read_files
from ._io.parsed import Block, Parsed, check
from ._io.spec import Embedded, Har, Idx, Spec, SvmLight, Table
from ._registry import resolve


def load(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    as_frame: bool | str = "auto",
    progress: bool = True,
    check_hash: bool = True,
    **options: object,
) -> Dataset:
    """Load a data set by name.

    The files of a set are in ``<data home>/<set>/``, or ``<data home>/regression/<set>/`` if the
    set is for regression. They have their upstream names and are uncompressed, ``.gz`` or
    ``.bz2``. Missing files are downloaded from upstream into that folder. digits, wine,
    breast_cancer, iris and diabetes-progression come with scikit-learn and need no file.

    Parameters
    ----------
    name : str
        One of `mddf.datasets.names`; letter case does not matter.
    data_home : path, default=None
        Folder that holds a folder for each set. None means the environment variable
        ``MDDF_DATA_HOME``, else a folder in the user's cache.
    download : bool, default=True
        Whether missing files are downloaded (needs pooch).
    as_frame : bool or "auto", default="auto"
        Whether features are a DataFrame with category columns (needs pandas). "auto" returns a
        DataFrame if there are categories, else an array. In an array, categories are codes.
    progress : bool, default=True
        Whether a bar shows the progress of a download.
    check_hash : bool, default=True
        Whether the SHA-256 of files is compared with the known one. Rows, columns, class counts
        and missing cells are always checked.
    **options : object
        Options of some sets, with the default first: bank: variant ("full", "additional"),
        drop_duration (False, True), unknown_as_missing (False, True). cylinder: drop_ids (False,
        True). flags: target ("religion", "landmass"). horse: target ("lesion", "outcome").
        pima: zeros_as_missing (False, True). sensit: variant ("combined", "acoustic",
        "seismic"). vote: unknown_as_missing (False, True).

    Returns
    -------
    data : Dataset
        With `X` and `y`; if there is a standard split, also with `X_train`, `y_train`, `X_test`
        and `y_test`.

    Raises
    ------
    ValueError
        If no set has this name, or an argument has a value that is not allowed.
    TypeError
        If the set has no such option.
    DataFileNotFoundError
        If a file is missing and cannot be downloaded; a FileNotFoundError.
    DataFileError
        If a file is damaged or is not the expected file; a ValueError.
    ImportError
        If pandas or pooch is needed and not installed.

    Examples
    --------
    >>> from mddf.datasets import load
    >>> data = load("wine")
    >>> data.X.shape
    (178, 13)
    """
    if not (isinstance(as_frame, bool) or as_frame == "auto"):
        raise ValueError(f"as_frame must be True, False or 'auto', got {short(as_frame)}")
    spec, chosen = resolve(name, options)
    access = Access(find_home(data_home), download, progress, check_hash)
    return assemble(spec, _parsed(spec, access), chosen, as_frame)


def _parsed(spec: Spec, access: Access) -> Parsed:
    """Read and check a set; its parent, if it has one, is read and checked first."""
    if spec.parent is not None:
        parsed = _select_classes(_parsed(spec.parent, access), spec)
    else:
        content = {} if isinstance(spec.format, Embedded) else read_files(spec, access)
        parsed = _PARSERS[type(spec.format)](spec, content)
    check(spec, parsed)
    return parsed


def _select_classes(parsed: Parsed, spec: Spec) -> Parsed:
    """Select the rows of the classes `spec.keep` in each part."""
    blocks = []
    for block in parsed.blocks:
        mask = np.isin(block.y, spec.keep)
        blocks.append(Block(block.X[mask], block.y[mask]))
    return replace(parsed, blocks=blocks)


def _embedded(spec: Spec, content: dict[str, bytes]) -> Parsed:
    """Load a set that comes with scikit-learn."""
    from sklearn import datasets

    assert isinstance(spec.format, Embedded)
    bunch = getattr(datasets, spec.format.loader)()
    return Parsed([Block(bunch.data, bunch.target)], tuple(map(str, bunch.feature_names)))


_PARSERS: dict[type, Callable[[Spec, dict[str, bytes]], Parsed]] = {
    Table: tables.parse,
    Idx: idx.parse,
    SvmLight: svmlight.parse,
    Har: har.parse,
    Embedded: _embedded,
}
