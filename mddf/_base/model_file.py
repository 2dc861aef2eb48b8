"""Files of models: whole or not there, checked, and without code to run.

A file has these parts; numbers are little-endian:

====== ============================================================
bytes  contents
====== ============================================================
0-7    mark of the format
8-15   number of bytes of the file
16-47  checksum of all bytes that follow, and of the 16 bytes before
48-51  version of the format
52-63  number of bytes of the header, and zeros
64-    header in JSON, then the arrays, each at a multiple of 64 bytes
====== ============================================================

The first three parts stay the same in all versions.
"""

from __future__ import annotations

import json
import mmap
import os
import platform
import struct
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from mddf._base.atomic import replaced_file
from mddf._base.plain_objects import Decoder, Encoder, bytes_of, describe_array, dtype_of

# Bytes above 127 and both kinds of line ends show transfers as text.
_MARK = b"\x93MDDF\r\n\x1a"
# Increased whenever the parts after the checksum change.
_VERSION = 1
_START = struct.Struct("<8sQ32s")
_SIZES = struct.Struct("<IQ4x")
# Arrays begin at multiples of this number of bytes: a line of the processor's cache.
_ALIGNMENT = 64
# Parts of states that change no prediction: versions, how work is shared, and records of the fit,
# which hold times.
_NOT_OF_THE_MODEL = (
    *("mddf_version", "_sklearn_version", "n_jobs", "verbose"),
    *("history_", "fit_report_", "leaderboard_"),
)


class ModelFileError(ValueError):
    """Error about a file that is damaged, or no model of this version; names the file."""


def fingerprint(model: Any) -> str:
    """Hash of everything in a model that can change its predictions.

    Models that were fitted to the same rows with the same parameters and seed have the same
    fingerprint, whatever `n_jobs` was. The versions of the libraries and the records of the fit,
    such as times, are left out.

    Parameters
    ----------
    model : estimator
        An estimator or pipeline that `save` can write.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier, fingerprint
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> before = fingerprint(forest)
    >>> fingerprint(forest.set_params(n_jobs=2)) == before
    True
    """
    encoder = Encoder(leave_out=_NOT_OF_THE_MODEL)
    text = json.dumps([encoder.encode(model), encoder.digests])
    return blake2b(text.encode(), digest_size=16).hexdigest()


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model to a file.

    The file is replaced as a whole: a crash, a full disk or a second process that saves at the
    same time leave the old or a new file. The same model gives the same bytes, so the file holds
    no date.

    Parameters
    ----------
    model : estimator
        An estimator of mddf or scikit-learn, or a pipeline of them, fitted or not. Parts that
        are neither, and compiled parts of scikit-learn, need skops.
    path : str or path
        Name of the file, usually with the ending ``.mddf``.

    See Also
    --------
    load : Load the model.

    Examples
    --------
    >>> import os, tempfile
    >>> import mddf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = mddf.RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "forest.mddf")
    >>> mddf.save(forest, path)
    >>> bool((mddf.load(path).predict(X) == forest.predict(X)).all())
    True
    """
    save_with_notes(path, model, {})


def load(
    path: str | os.PathLike[str], *, mapped: bool = False, trusted: Sequence[str] = ()
) -> Any:
    """Load a model from a file of `save` or of ``mddf fit``.

    No code of the file is run. Damaged files, files of other programs and files of another version
    of the format raise a ValueError that says which it is. The versions of the libraries are not
    compared.

    Parameters
    ----------
    path : str or path
        Name of the file.
    mapped : bool, default=False
        Whether arrays stay in the file, so that processes share one copy in memory. The arrays
        are then read-only. A file that `save` replaces may be mapped; a file that another program
        changes in place may not.
    trusted : sequence of str, default=()
        Names of types outside of mddf and scikit-learn, or private in scikit-learn, which may be
        created. An error lists the names that are needed.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import os, tempfile
    >>> import mddf
    >>> path = os.path.join(tempfile.mkdtemp(), "forest.mddf")
    >>> mddf.save(mddf.RandomForestClassifier(2).fit([[0], [1]], [0, 1]), path)
    >>> mddf.load(path).n_estimators
    2
    """
    return load_with_notes(path, mapped=mapped, trusted=trusted)[0]


def save_with_notes(path: str | os.PathLike[str], model: Any, notes: dict[str, Any]) -> None:
    """Save a model with notes, of the types of JSON."""
    encoder = Encoder()
    encoded = encoder.encode(model)
    header = {
        "versions": _library_versions(),
        "fingerprint": fingerprint(model),
        "notes": notes,
        "model": encoded,
        "arrays": [describe_array(array) for array in encoder.arrays],
    }
    text = json.dumps(header, allow_nan=False).encode()
    parts = list(_aligned([_SIZES.pack(_VERSION, len(text)) + text], offset=_START.size))
    parts += _aligned(map(bytes_of, encoder.arrays), offset=0)
    n_bytes = _START.size + sum(map(len, parts))
    with replaced_file(Path(path)) as new_path, open(new_path, "wb") as file:
        file.write(_START.pack(_MARK, n_bytes, _file_checksum(n_bytes, parts)))
        for part in parts:
            file.write(part)


def _library_versions() -> dict[str, str]:
    return {
        "mddf": import_module("mddf").__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _aligned(parts: Any, offset: int) -> Iterator[bytes | memoryview]:
    """Yield parts with zeros between them, so that the next one is aligned."""
    for part in parts:
        yield part
        offset += len(part)
        yield bytes(-offset % _ALIGNMENT)
        offset += -offset % _ALIGNMENT


def _file_checksum(n_bytes: int, parts: Sequence[bytes | memoryview]) -> bytes:
    digest = blake2b(struct.pack("<8sQ", _MARK, n_bytes), digest_size=32)
    for part in parts:
        digest.update(part)
    return digest.digest()


def load_with_notes(
    path: str | os.PathLike[str], *, mapped: bool = False, trusted: Sequence[str] = ()
) -> tuple[Any, dict[str, Any]]:
    with open(path, "rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        start = file.read(_START.size)
        _check_start(path, start, n_bytes)
        file.seek(0)
        data: Any
        if mapped:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        else:
            data = np.fromfile(file, np.uint8)
    view = memoryview(data)
    _, _, checksum = _START.unpack(start)
    if len(view) != n_bytes or _file_checksum(n_bytes, [view[_START.size :]]) != checksum:
        raise ModelFileError(f"{path} is damaged: its checksum is wrong; restore it from a copy")
    version, n_header = _SIZES.unpack_from(view, _START.size)
    first = _START.size + _SIZES.size
    if version != _VERSION:
        raise ModelFileError(
            f"{path} has version {version} of the format of model files, and mddf "
            f"{import_module('mddf').__version__} reads version {_VERSION}: load it by the "
            "version of mddf that saved it, or by a newer one"
        )
    try:
        header = json.loads(bytes(view[first : first + n_header]))
        arrays = list(_arrays(data, header["arrays"], first + n_header))
        return Decoder(arrays, trusted).decode(header["model"]), header["notes"]
    except ImportError:
        raise
    except Exception as error:  # whatever a forged file holds
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        raise ModelFileError(f"{path} cannot be loaded: {kind}{error}") from error


def _check_start(path: str | os.PathLike[str], start: bytes, n_bytes: int) -> None:
    """Refuse files of other programs, and files of another length than they had."""
    if len(start) < _START.size or not start.startswith(_MARK):
        if start and _MARK.startswith(start[: len(_MARK)]):
            raise ModelFileError(f"{path} is truncated: it has {n_bytes} bytes")
        raise ModelFileError(f"{path} must be a file of mddf.save, got another kind of file")
    _, expected, _ = _START.unpack(start)
    if n_bytes != expected:
        state = "truncated" if n_bytes < expected else "damaged"
        raise ModelFileError(f"{path} is {state}: it has {n_bytes} bytes instead of {expected}")


def _arrays(
    data: Any, descriptions: Sequence[dict[str, Any]], offset: int
) -> Iterator[np.ndarray]:
    """Yield the arrays of a file, which share its memory."""
    for description in descriptions:
        offset += -offset % _ALIGNMENT
        dtype = dtype_of(description["dtype"])
        shape = tuple(description["shape"])
        if any(type(size) is not int or size < 0 for size in shape):
            raise ValueError(f"an array has the shape {shape}")
        n_items = int(np.prod(shape, dtype=object))
        if n_items and dtype.itemsize:
            flat = np.frombuffer(data, dtype, n_items, offset)
        else:
            flat = np.empty(n_items, dtype)
        yield flat.reshape(shape, order=description["order"])
        offset += n_items * dtype.itemsize
