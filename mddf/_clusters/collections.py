"""Parts of Dask collections, in the order of their rows, and lazy predictions for them."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import dask
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from scipy import sparse

from mddf._base.messages import short
from mddf._clusters.shard_inputs import RowsOfUser

_COLLECTION = "a Dask array or a Dask data frame"
# Dask's options belong to the process. If two fits changed and restored one at the same time, the
# changed value could stay.
_changing_options = Lock()


def is_dask_frame(collection: Any) -> bool:
    """Whether a Dask collection is a data frame or a series."""
    return (
        hasattr(collection, "to_delayed")
        and hasattr(collection, "npartitions")
        and hasattr(collection, "map_partitions")
    )


def refuse_other_than_collections(name: str, value: Any) -> None:
    """Refuse a value that is not a Dask array, data frame or series."""
    if isinstance(value, Delayed):  # which seems to have every attribute
        raise TypeError(
            f"{name} must be {_COLLECTION}, got a Delayed object: make one by "
            "dask.array.from_delayed or dask.dataframe.from_delayed"
        )
    if not is_dask_collection(value) or not hasattr(value, "to_delayed"):
        raise TypeError(f"{name} must be {_COLLECTION}, got {short(value)}")


def row_chunks(X: Any) -> tuple[float, ...]:
    """Number of rows of each part of X; 1 for each part if the numbers are not known."""
    if is_dask_frame(X):
        return (1.0,) * X.npartitions
    sizes = X.chunks[0]
    return (1.0,) * len(sizes) if np.isnan(sizes).any() else tuple(map(float, sizes))


def parts_of(named: dict[str, Any]) -> list[Any]:
    """Delayed `RowsOfUser` of each partition.

    `named` maps the names of the three parameters of fit (features, targets and weights or None)
    to Dask collections with the same partitions.
    """
    names = list(named)
    X = with_whole_rows(names[0], named[names[0]])
    columns = [_frame_parts(X) if is_dask_frame(X) else X.to_delayed().ravel()]
    for name in names[1:]:
        collection = named[name]
        if collection is None:
            columns.append([None] * len(columns[0]))
            continue
        refuse_other_than_collections(name, collection)
        columns.append(_aligned_parts(name, collection, X))
    return [
        dask.delayed(_checked_rows)(*part, names=names, number=number)
        for number, part in enumerate(zip(*columns, strict=True))
    ]


def with_whole_rows(name: str, X: Any) -> Any:
    """Features in chunks that have all columns."""
    refuse_other_than_collections(name, X)
    if is_dask_frame(X):
        if not hasattr(X, "columns"):
            raise ValueError(f"{name} must have two dimensions, got a series")
        return X
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, got {X.ndim}")
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def example_rows(X: Any) -> Any:
    """A few made rows with the columns of a collection; None if their number is not known."""
    if is_dask_frame(X):
        return X._meta_nonempty
    n_columns = X.shape[1]
    return None if np.isnan(n_columns) else np.zeros((1, int(n_columns)))


def _frame_parts(frame: Any) -> Sequence[Any]:
    """Delayed partitions of a data frame or a series, each by itself.

    If only few columns of Parquet files are read, Dask joins partitions. The targets would then
    have other partitions than the features.
    """
    with _changing_options, dask.config.set({"optimization.tune.active": False}):
        parts: Sequence[Any] = frame.to_delayed()
    if len(parts) == frame.npartitions:
        return parts
    # Before version 2025.12, Dask does not have this option. Without any optimization, a worker
    # reads all columns of the files.
    parts = frame.to_delayed(optimize_graph=False)
    return parts


def _aligned_parts(name: str, collection: Any, X: Any) -> Sequence[Any]:
    if is_dask_frame(collection):
        parts = _frame_parts(collection)
    else:
        rows = () if is_dask_frame(X) else X.chunks[0]
        are_known = bool(rows) and not np.isnan([*rows, *collection.chunks[0]]).any()
        if are_known and sum(rows) == sum(collection.chunks[0]) and rows != collection.chunks[0]:
            collection = collection.rechunk({0: rows})
        if collection.ndim == 2 and len(collection.chunks[1]) > 1:
            collection = collection.rechunk({1: -1})
        parts = collection.to_delayed().ravel()
    n_parts = len(row_chunks(X))
    if len(parts) != n_parts:
        raise ValueError(
            f"{name} must have the same partitions as the features, {n_parts}, got {len(parts)}"
        )
    return parts


def _checked_rows(
    X: Any, y: Any, sample_weight: Any, *, names: list[str], number: int
) -> RowsOfUser:
    for name, values in zip(names[1:], (y, sample_weight), strict=True):
        if values is not None and _length(values) != _length(X):
            raise ValueError(
                f"{name} must have as many rows as the features in every partition, got "
                f"{_length(values)} and {_length(X)} in partition {number}"
            )
    return RowsOfUser(X, y, sample_weight)


def n_rows_of(part: RowsOfUser) -> int:
    """Number of rows of a part."""
    return _length(part.X)


def _length(values: Any) -> int:
    """Number of rows, also of a sparse matrix, which has no length."""
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def joined(parts: Sequence[RowsOfUser]) -> RowsOfUser:
    """Join the parts of a worker; a single part is not copied."""
    parts = [part for part in parts if n_rows_of(part)]
    has_weights = parts[0].sample_weight is not None
    return RowsOfUser(
        _concatenated([part.X for part in parts]),
        _concatenated([part.y for part in parts]),
        _concatenated([part.sample_weight for part in parts]) if has_weights else None,
    )


def _concatenated(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.concatenate(parts)  # type: ignore[no-untyped-call]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, "csr")
    from dask.dataframe.dispatch import concat  # unlike pandas, it joins categorical types

    return concat(parts)


def assigned(sizes: Sequence[float], n_workers: int) -> list[int]:
    """Number of the worker of each part: parts that follow each other, of about equal size."""
    ends = np.cumsum(sizes)
    middles = ends - np.asarray(sizes) / 2
    total = ends[-1] if ends[-1] > 0 else 1.0
    return np.minimum(n_workers - 1, middles * n_workers // total).astype(int).tolist()


def predicted(X: Any, model: Any, method: str, example: Any, columns: Sequence[str] = ()) -> Any:
    """Lazy predictions for the partitions of X.

    Parameters
    ----------
    X : Dask array or data frame
    model : estimator
    method : str
        Name of a method that predicts an array.
    example : ndarray
        Some predictions, of the type and the number of dimensions of all.
    columns : sequence of str
        Names of the columns of predictions with two dimensions.
    """
    X = with_whole_rows("X", X)
    delayed_model = dask.delayed(model)
    none = example[:0]
    if is_dask_frame(X):
        meta = _like_frame(none, X._meta.iloc[:0], example, columns)
        return X.map_partitions(_predict_frame, delayed_model, method, example, columns, meta=meta)
    options: dict[str, Any] = {"drop_axis": 1}
    if example.ndim == 2:
        options = {"chunks": (X.chunks[0], (example.shape[1],))}
    return X.map_blocks(
        _predict, delayed_model, method, none, dtype=example.dtype, meta=none, **options
    )


def _predict(X: Any, model: Any, method: str, none: Any) -> Any:
    return np.asarray(getattr(model, method)(X)) if _length(X) else none


def _predict_frame(X: Any, model: Any, method: str, example: Any, columns: Sequence[str]) -> Any:
    return _like_frame(_predict(X, model, method, example[:0]), X, example, columns)


def _like_frame(
    predictions: np.ndarray, X: Any, example: np.ndarray, columns: Sequence[str]
) -> Any:
    """Series or data frame with the index of X."""
    import pandas as pd

    if predictions.ndim == 1:
        # Objects may be text, which pandas does not see if there are none.
        return pd.Series(predictions, index=X.index, dtype=pd.Series(example).dtype)
    return pd.DataFrame(predictions, index=X.index, columns=list(columns))
