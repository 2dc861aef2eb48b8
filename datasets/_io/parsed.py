"""Results of the parsers, and the checks of all sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFileError

if TYPE_CHECKING:
    from .spec import Label, Spec


@dataclass
class Block:
    """Rows of one file.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Numbers; codes of categories in categorical columns, NaN where a value is missing.
    y : ndarray of shape (n_rows,)
        Labels.
    groups : ndarray of shape (n_rows,) or None
        Rows with equal values belong together, such as the rows of one person.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None = None


@dataclass
class Parsed:
    """A data set as read from its files, not yet checked.

    Attributes
    ----------
    blocks : list of Block
        One for each file or pair of files, training rows first.
    feature_names : tuple of str
    categories : dict of str to tuple
        Categories of each categorical column; the codes in `Block.X` are positions in it.
    ordered : tuple of str
        Categorical columns whose categories have an order.
    """

    blocks: list[Block]
    feature_names: tuple[str, ...]
    categories: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    ordered: tuple[str, ...] = ()


def encode_labels(values: Sequence[object], spec: Spec, where: Callable[[int], str]) -> np.ndarray:
    """Convert labels from a file to the classes of the specification, integers or text.

    `where` describes the place of a row's label in the error about a label that is no class.
    """
    classes: dict[str, Label] = {str(label): label for label in spec.classes}
    for row, value in enumerate(values):
        if str(value) not in classes:
            raise DataFileError(
                f"{where(row)}: label must be one of {', '.join(classes)}, got {str(value)[:40]!r}"
            )
    return np.array([classes[str(value)] for value in values])


def rows_of(name: str) -> Callable[[int], str]:
    """Make the `where` of `encode_labels` for a file with one label in each row."""
    return lambda row: f"{name}, row {row}"


def check(spec: Spec, parsed: Parsed) -> None:
    """Compare the rows, columns, missing cells and targets of a data set with its specification.

    A DataFileError tells the first difference.
    """
    _expect(spec, "features", spec.format.n_features, len(parsed.feature_names))
    blocks = parsed.blocks
    for block in blocks:
        _expect(spec, "columns", spec.format.n_features, block.X.shape[1])
    if len(blocks) == 1 and len(spec.parts) > 1:
        _expect(spec, "rows", spec.rows, len(blocks[0].y))
        blocks = _split(blocks[0], [part.rows for part in spec.parts])
    _expect(spec, "parts", len(spec.parts), len(blocks))
    titles = ("training ", "test ") if len(blocks) > 1 else ("",)
    for title, part, block in zip(titles, spec.parts, blocks, strict=True):
        _expect(spec, f"{title}rows", part.rows, len(block.y))
        counts = dict(sorted(Counter(block.y.tolist()).items()))
        if spec.task == "regression":
            span = (float(block.y.min()), float(block.y.max()))
            _expect(spec, f"{title}target from, to", part.target, span)
        elif part.counts is not None:
            _expect(spec, f"{title}class counts", dict(sorted(part.counts.items())), counts)
        else:
            _expect(spec, f"{title}classes", sorted(spec.classes), sorted(counts))
        _expect(spec, f"{title}missing cells", part.missing, int(np.isnan(block.X).sum()))
        _expect(spec, f"{title}infinite cells", 0, int(np.isinf(block.X).sum()))


def _split(block: Block, rows: Sequence[int]) -> list[Block]:
    """Cut the rows of one file into parts."""
    cuts = np.cumsum(rows)[:-1]
    pairs = zip(np.split(block.X, cuts), np.split(block.y, cuts), strict=True)
    return [Block(X, y) for X, y in pairs]


def _expect(spec: Spec, quantity: str, expected: object, got: object) -> None:
    if got != expected:
        raise DataFileError(f"data set {spec.name!r} must have {quantity} {expected}, got {got}")
