"""Layers of a fit on disk, as plain arrays, from which an interrupted fit goes on."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

import numpy as np
from sklearn.base import BaseEstimator

from mddf._base.array_hash import hash_of_arrays
from mddf._base.messages import short
from mddf._base.serialization import FORMAT, from_plain, to_plain
from mddf._binning.binned_table import BinnedTable
from mddf._binning.high_cardinality import CategoryLevels
from mddf._resampling.folds import Folds

# Parameters that do not change the layers.
_WITHOUT_EFFECT = {"n_jobs", "verbose", "checkpoint", "transform_layers", "transform_forests"}
# Inputs of which only a hash is kept, with the words of the error if one differs.
_INPUTS = {
    "X": "another X",
    "y": "another y",
    "sample_weight": "another sample_weight",
    "groups": "another groups",
    "folds": "other folds by cv",
}
# Longer lists are hashed rather than written out: they would make errors unreadable.
_MAX_CHARACTERS = 2000
# Length of the checksum at the end of a file.
_CHECKSUM_BYTES = 32
Layer = TypeVar("Layer")


class Checkpoint:
    """Folder with a file for each layer of a fit.

    A file appears under its name when it is complete. It holds the number of its layer, and what
    the fit depends on, and ends with a checksum, so that damaged or renamed files are refused.
    Errors of the file system (OSError) name the parameter.
    """

    def __init__(self, folder: str | os.PathLike[str], fit: dict[str, str]) -> None:
        self.folder = Path(folder)
        self.fit = fit  # what the fit depends on, from `description`
        with self._named():
            self.folder.mkdir(parents=True, exist_ok=True)
            # Whether files can be written is known before a layer has taken its time.
            if not self._path(0).exists():
                tempfile.TemporaryFile(dir=self.folder).close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Have errors of the file system name the parameter."""
        try:
            yield
        except OSError as error:
            message = f"checkpoint must be a folder that can be written to: {error.strerror}"
            raise OSError(error.errno, message, str(self.folder)) from error

    def _path(self, number: int) -> Path:
        return self.folder / f"layer-{number + 1:03}.npz"

    def load(self, number: int, read: Callable[..., Layer]) -> Layer | None:
        """Load a layer; None if there is no file of it."""
        path = self._path(number)
        if not path.exists():
            return None
        with _readable(path):
            layer, fit, plain, arrays = _contents(path)
        if layer != number + 1:
            raise ValueError(_unreadable(path, f"it is layer {layer!r} under another name"))
        self._compare(fit)
        with _readable(path):
            return read(*from_plain(_filled(plain, arrays)))

    def save(self, number: int, *parts: Any) -> None:
        """Save the parts of a layer; completely or not at all, if the process is killed."""
        arrays: dict[str, np.ndarray] = {}
        outline = json.dumps([number + 1, self.fit, _outline(to_plain(parts), arrays)])
        arrays["outline"] = np.frombuffer(outline.encode(), np.uint8)
        path = self._path(number)
        unfinished = path.with_suffix(f".{uuid4().hex}.part")  # no other process writes to it
        with self._named():
            try:
                with unfinished.open("w+b") as file:
                    np.savez(file, allow_pickle=False, **arrays)
                    file.write(_checksum(file, file.tell()))
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)

    def _compare(self, before: dict[str, str]) -> None:
        for name in [*self.fit, *sorted(before.keys() - self.fit.keys())]:
            now = self.fit.get(name)
            if before.get(name) == now:
                continue
            difference = _INPUTS.get(name, f"{name}={before.get(name)}, not {name}={now}")
            raise ValueError(
                f"checkpoint: {str(self.folder)!r} is of a fit with {difference}; give another "
                "folder, or delete this one"
            )


def _checksum(file: BinaryIO, n_bytes: int) -> bytes:
    """Checksum of the first bytes of a file, which is then positioned after them."""
    file.seek(0)
    digest = blake2b(digest_size=_CHECKSUM_BYTES // 2)
    for first in range(0, n_bytes, 2**20):
        digest.update(file.read(min(2**20, n_bytes - first)))
    return digest.hexdigest().encode()


def _contents(path: Path) -> tuple[Any, dict[str, Any], Any, dict[str, np.ndarray]]:
    """Number, fit and outline of a layer, and its arrays."""
    with path.open("rb") as file:
        n_bytes = file.seek(0, os.SEEK_END) - _CHECKSUM_BYTES
        if n_bytes < 0 or _checksum(file, n_bytes) != file.read():
            raise ValueError("its checksum is wrong: it is damaged, or not a whole layer's")
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            arrays = dict(stored)
    layer, fit, plain = json.loads(arrays["outline"].tobytes())
    return layer, dict(fit), plain, arrays


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Have all errors about the contents of a file name the file and a remedy."""
    try:
        yield
    except OSError as error:
        message = f"checkpoint cannot be read: {error.strerror or error}"
        raise OSError(error.errno, message, str(path)) from error
    except Exception as error:  # a file with a valid checksum can hold anything
        raise ValueError(_unreadable(path, str(error) or type(error).__name__)) from error


def _unreadable(path: Path, why: str) -> str:
    return (
        f"checkpoint: {str(path)!r} cannot be read ({why}); delete it to grow the layer again, or "
        "give another folder"
    )


def description(estimator: BaseEstimator, **inputs: list[np.ndarray]) -> dict[str, str]:
    """Everything on which a fit depends: parameters, release, format, and hashes of the inputs."""
    seed = estimator.random_state
    if not isinstance(seed, int | np.integer):
        raise ValueError(
            "checkpoint needs a number as random_state, so that a fit goes on with the same "
            f"seeds, got random_state={short(seed)}"
        )
    parameters = {
        name: "given folds" if name == "cv" and "folds" in inputs else _text(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in _WITHOUT_EFFECT
    }
    hashes = {name: hash_of_arrays(*arrays) for name, arrays in inputs.items()}
    release = import_module("mddf").__version__
    versions = {"mddf": release, "format": str(FORMAT), "estimator": type(estimator).__name__}
    return {**versions, **parameters, **hashes}


def fit_inputs(
    table: BinnedTable,  # its bins depend on the weights
    y: np.ndarray,  # (n_samples,)
    sample_weight: np.ndarray | None,  # (n_samples,)
    groups: np.ndarray | None,
    *,
    # Folds that `cv` gives. The name of a splitter does not determine its folds.
    folds: Folds | None = None,
    # (n_samples, n_features): features as numbers, for members that are not forests.
    numbers: np.ndarray | None = None,
    # Levels of columns with many categories, for boosted trees.
    levels: CategoryLevels | None = None,
) -> dict[str, list[np.ndarray]]:
    """Arrays of a fit's inputs by name. X comes last, since its bins depend on the others."""
    more = [*([] if numbers is None else [numbers]), *([] if levels is None else [levels.numbers])]
    inputs = {
        "y": [y],
        "sample_weight": [] if sample_weight is None else [sample_weight],
        "groups": [] if groups is None else [np.unique(groups, return_inverse=True)[1]],
        "X": [table.codes, table.bins.values, *more],
    }
    if folds is not None:
        inputs["folds"] = [rows for fold in folds for rows in fold]
    return inputs


def _text(value: Any) -> str:
    """Text of a parameter's value, the same in every process and for equivalent values."""
    if hasattr(value, "tolist") and not isinstance(value, type):  # of numpy or pandas
        value = value.tolist()
    if isinstance(value, BaseEstimator):
        parameters = value.get_params(deep=False).items()
        arguments = ", ".join(f"{name}={_text(item)}" for name, item in parameters)
        return f"{type(value).__name__}({arguments})"
    if is_dataclass(value) and not isinstance(value, type):
        arguments = ", ".join(
            f"{field.name}={_text(getattr(value, field.name))}" for field in fields(value)
        )
        return f"{type(value).__name__}({arguments})"
    if isinstance(value, list | tuple):
        text = f"[{', '.join(map(_text, value))}]"
        if len(text) <= _MAX_CHARACTERS:
            return text
        return f"{len(value)} values {_hash(text.encode())}"
    if isinstance(value, dict):
        items = sorted((_text(key), _text(item)) for key, item in value.items())
        return f"{{{', '.join(f'{key}: {item}' for key, item in items)}}}"
    if not callable(value):
        return repr(value)
    try:
        pickled = pickle.dumps(value)
    except Exception as error:
        raise ValueError(
            "checkpoint needs functions that another process finds by their names, no lambdas or "
            f"functions inside others, got {short(value)}"
        ) from error
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{type(value).__name__} {_hash(pickled)}"


def _hash(data: bytes) -> str:
    return hash_of_arrays(np.frombuffer(data, np.uint8))


def _outline(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value for JSON, with numbers in place of its arrays, which are collected."""
    if isinstance(value, np.ndarray):
        arrays[str(len(arrays))] = value
        return {"array": len(arrays) - 1}
    if isinstance(value, dict):
        return {"dict": {key: _outline(item, arrays) for key, item in value.items()}}
    if isinstance(value, list | tuple):
        return [_outline(item, arrays) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a checkpoint holds arrays, numbers and text, got {short(value)}")


def _filled(outline: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Undo `_outline`; tuples have become lists."""
    if isinstance(outline, list):
        return [_filled(item, arrays) for item in outline]
    if not isinstance(outline, dict):
        return outline
    if "array" in outline:
        return arrays[str(outline["array"])]
    return {key: _filled(item, arrays) for key, item in outline["dict"].items()}
