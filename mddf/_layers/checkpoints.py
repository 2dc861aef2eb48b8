"""Layers of a fit in files, from which an interrupted fit goes on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np

from mddf._base.messages import short
from mddf._base.model_file import ModelFileError, load_with_notes, save_with_notes
from mddf._base.serialization import from_plain, to_plain
from mddf._base.validation import naming
from mddf._resampling.folds import gives_folds

if TYPE_CHECKING:
    from mddf._layers.member import Member
    from mddf._layers.trainer import Trainer

# Parameters that do not change the layers.
_WITHOUT_EFFECT = {"n_jobs", "verbose", "checkpoint"}


class Checkpoint:
    """Folder with a file for each layer of a fit, in the format of `mddf.save`.

    A file holds hashes of everything that the fit depends on, so that another fit is refused.
    Nothing is saved if there is no folder.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, fit: dict[str, str]) -> None:
        self.folder = None if folder is None else Path(folder)
        self.fit = fit
        if self.folder is None:
            return
        with self._named():
            self.folder.mkdir(parents=True, exist_ok=True)
            # Whether files can be written is known before a layer has taken its time.
            if not self._path(0).exists():
                tempfile.TemporaryFile(dir=self.folder).close()

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"layer-{number + 1:03}.mddf"

    def load(self, number: int) -> Any:
        """State of a layer; None if there is no file of it."""
        if self.folder is None or not self._path(number).exists():
            return None
        path = self._path(number)
        try:
            state, notes = load_with_notes(path)
        except ModelFileError as error:
            raise ValueError(f"checkpoint: {error}; delete it, and fit again") from error
        if "fit" not in notes:
            raise ValueError(
                f"checkpoint: {str(path)!r} must be a layer of a fit, got another file of mddf; "
                "give another folder"
            )
        before = notes["fit"] | {"layer": notes["layer"]}
        now = self.fit | {"layer": number}
        for name in [*now, *before]:
            if before.get(name) != now.get(name):
                raise ValueError(
                    f"checkpoint: {str(self.folder)!r} is of a fit with another {name}; give "
                    "another folder, or delete this one"
                )
        return from_plain(state)

    def save(self, number: int, state: Any) -> None:
        """Save the state of a layer; completely or not at all, if the process is killed."""
        if self.folder is None:
            return
        with self._named():
            notes = {"layer": number, "fit": self.fit}
            save_with_notes(self._path(number), to_plain(state), notes)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Have errors of the file system name the parameter."""
        try:
            yield
        except OSError as error:
            message = f"checkpoint must be a folder that can be written to: {error.strerror}"
            raise OSError(error.errno, message, str(self.folder)) from error


def open_checkpoint(
    estimator: Any, trainer: Trainer, members: Sequence[Member], *, stores_models: bool
) -> Checkpoint:
    """The checkpoint of a fit; refuses fits that cannot be stored."""
    if estimator.checkpoint is None:
        return Checkpoint(None, {})
    seed = estimator.random_state
    if not isinstance(seed, int | np.integer):
        raise ValueError(
            "checkpoint needs a number as random_state, so that a fit goes on with the same "
            f"seeds, got random_state={short(seed)}"
        )
    for member in members if stores_models else ():
        if "frames" in member.reads:
            raise ValueError(
                "checkpoint cannot hold models of other packages, which this fit keeps for all "
                f"folds, got the member {member.name!r}"
            )
    with naming("checkpoint"):
        return Checkpoint(estimator.checkpoint, _hashes(estimator, trainer))


def _hashes(estimator: Any, trainer: Trainer) -> dict[str, str]:
    """Hashes of everything that a fit depends on; the input comes last, which has the bins."""
    values = {
        "version of mddf": import_module("mddf").__version__,
        "estimator": type(estimator).__name__,
        **estimator.get_params(deep=False),
    }
    if gives_folds(estimator.cv):
        values["cv"] = trainer.folds  # the name of a splitter does not determine its folds
    levels = None if trainer.levels is None else trainer.levels.numbers
    table = trainer.table
    values |= {
        "y": trainer.task.order_key,
        "sample_weight": trainer.weights.sample,
        "groups": trainer.groups,
        "X": [
            table.codes[:, : trainer.n_features],
            table.bins.columns(0, trainer.n_features).values,
            trainer.numbers,
            levels,
        ],
    }
    return {name: _hash(value) for name, value in values.items() if name not in _WITHOUT_EFFECT}


def _hash(value: Any) -> str:
    try:
        return str(joblib.hash(value))
    except (PicklingError, AttributeError) as error:
        raise ValueError(
            "checkpoint needs functions that another process finds by their names, no lambdas or "
            f"functions inside others, got {short(value)}"
        ) from error
