"""The folder layout of UCI's Human Activity Recognition Using Smartphones."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .._errors import DataFileError
from .parsed import Block, Parsed, encode_labels, rows_of
from .spec import Spec


def parse(spec: Spec, content: dict[str, bytes]) -> Parsed:
    """Read feature names, then windows, activities and persons of each part.

    The order of `Spec.files` is: feature names, activity names, then X, y and subject of the
    training and of the test part. Groups are the numbers of the persons.
    """
    features, activities, *rest = [file.name for file in spec.files]
    names = _pairs(content[features], features)
    known = {str(label): name for label, name in spec.label_names.items()}
    if dict(_pairs(content[activities], activities)) != known:
        raise DataFileError(f"{activities}: activities must be {known}")
    blocks = []
    for x_file, y_file, subject_file in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        X = _matrix(content[x_file], x_file, spec.format.n_features)
        labels = _column(content[y_file], y_file, len(X))
        subjects = _column(content[subject_file], subject_file, len(X))
        blocks.append(Block(X, encode_labels(labels.tolist(), spec, rows_of(y_file)), subjects))
    return Parsed(blocks, unique_names([name for _, name in names]))


def unique_names(names: list[str]) -> tuple[str, ...]:
    """Number the repetitions of a name: ``a, a`` becomes ``a, a#2``."""
    occurrences: Counter[str] = Counter()
    taken = set(names)
    unique = []
    for name in names:
        occurrences[name] += 1
        new = name
        while occurrences[name] > 1 and new in taken:
            new = f"{name}#{occurrences[name]}"
            occurrences[name] += new in taken
        taken.add(new)
        unique.append(new)
    return tuple(unique)


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("ascii")
    except UnicodeDecodeError as error:
        raise DataFileError(f"{name}: must be ASCII text, but: {error}") from error


def _pairs(content: bytes, name: str) -> list[tuple[str, str]]:
    """Parse lines of a number and a name, numbered from 1 without gaps."""
    pairs = []
    for number, line in enumerate(_text(content, name).splitlines(), start=1):
        fields = line.split(maxsplit=1)
        if len(fields) != 2 or fields[0] != str(number):
            raise DataFileError(f"{name}: line {number} must be '{number} <name>', got {line!r}")
        pairs.append((fields[0], fields[1].strip()))
    return pairs


def _matrix(content: bytes, name: str, n_columns: int) -> np.ndarray:
    """Parse lines of `n_columns` numbers between blanks."""
    lines = [line for line in _text(content, name).splitlines() if line.strip()]
    if not lines:
        raise DataFileError(f"{name}: must hold rows, got none")
    try:
        values = np.loadtxt(lines, dtype=np.float64, ndmin=2, comments=None)
    except ValueError as error:
        raise DataFileError(
            f"{name}: must be lines of {n_columns} numbers, but: {error}"
        ) from error
    if values.shape[1] != n_columns:
        raise DataFileError(
            f"{name}: must be lines of {n_columns} numbers, got {values.shape[1]} a line"
        )
    return values


def _column(content: bytes, name: str, n_rows: int) -> np.ndarray:
    """Parse lines of one integer, one line for each row."""
    values = _matrix(content, name, 1)[:, 0]
    if len(values) != n_rows or (values != np.round(values)).any():
        raise DataFileError(f"{name}: must be {n_rows} integers, got {len(values)} numbers")
    return values.astype(np.int64)
