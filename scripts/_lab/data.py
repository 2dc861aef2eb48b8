"""Sets by name or from a CSV file, their splits, and encodings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from mddf.datasets._io.fetch import find_home
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils import _safe_indexing

from mddf import datasets

from . import need

BUNDLED = ("digits", "wine", "breast_cancer", "iris")
PAPER = ("adult", "yeast", "letter", "protein", "har", "sensit", "satimage", "mnist")
TEST_ROWS = {"yeast": 446}  # as in the mdDF paper; others: 30 % of each class
# Options that leave out what gives the target away, or numbers the rows.
REALISTIC = {"bank": (("drop_duration", True),), "cylinder": (("drop_ids", True),)}
# Rows that other sets have too: named, they can be had; a league of all sets leaves them out.
PARTS = {"letter-ab", "digits", "wine-uci"} | {
    f"{name}-{pair}" for name in ("digits", "optdigits", "mnist") for pair in ("17", "49")
}


@dataclass(frozen=True)
class Source:
    """A set of `mddf.datasets` with options, or the column `target` of a CSV file."""

    name: str
    data_home: str | None = None
    csv: Path | None = None
    target: str = ""
    drop: tuple[str, ...] = ()
    task: str = "classification"
    options: tuple[tuple[str, object], ...] = ()

    def settings(self):
        """What results of this set must have in common."""
        if self.csv is None:
            return {"options": dict(self.options), "drop": list(self.drop)}
        content = hashlib.sha256(self.csv.read_bytes()).hexdigest()
        return {"csv": content, "target": self.target, "drop": list(self.drop)}


def sources(options, names, task="classification", realistic=False) -> dict[str, Source]:
    """Sets by name, or the table of --csv; if realistic, without columns known too late."""
    drop = tuple(getattr(options, "drop", ()))
    if getattr(options, "csv", None) is not None:
        read_csv(options.csv, options.target, drop, task=task)  # wrong ones fail here
        name = options.csv.stem
        return {name: Source(name, None, options.csv, options.target, drop, task)}
    extra = REALISTIC if realistic else {}
    return {n: Source(n, options.data_home, drop=drop, options=extra.get(n, ())) for n in names}


@dataclass(frozen=True)
class Rows:
    """All rows of a set; the first `n_train` are for training where that is given."""

    X: object
    y: np.ndarray
    n_train: int | None = None
    task: str = "classification"


@dataclass(frozen=True)
class Split:
    """A training and a test part, and which rows of the set they are."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    rows: np.ndarray | None = None
    rows_test: np.ndarray | None = None

    @classmethod
    def of(cls, found, train, test):
        """The split of a set by row numbers."""
        parts = (_safe_indexing(found.X, train), found.y[train],
                 _safe_indexing(found.X, test), found.y[test])  # fmt: skip
        return cls(*parts, train, test)


def load(source, download=True) -> Rows:
    """Read a set, or take it from the last ones; raises whatever `mddf.datasets.load` does."""
    return _load(source, download, find_home(source.data_home))


@lru_cache(maxsize=2)
def _load(source, download, home) -> Rows:
    if source.csv is not None:
        X, y = read_csv(source.csv, source.target, source.drop, task=source.task)
        return Rows(X, y, None, source.task)
    found = datasets.load(source.name, data_home=home, download=download, **dict(source.options))
    X = found.X
    if hasattr(X, "columns"):
        X = X.drop(columns=[column for column in source.drop if column in X])
    return Rows(X, np.asarray(found.y), found.n_train, found.task)


def split(source, seed, max_train=None) -> Split:
    """The standard split where there is one, else a random one by the seed, with at most so many
    training rows, in shares of the classes."""  # noqa: D205, D209
    found = load(source)
    rows = np.arange(len(found.y))
    if found.n_train is not None:
        train, test = rows[: found.n_train], rows[found.n_train :]
    else:
        fixed = TEST_ROWS.get(source.name)
        strata = None if fixed else strata_of(found.y, found.task)
        train, test = train_test_split(
            rows, test_size=fixed or 0.3, stratify=strata, random_state=seed
        )
    return Split.of(found, subset(found.y, train, max_train, seed, found.task), test)


def subset(y, rows, n, seed, task="classification"):
    """At most n of some rows, in shares of the classes."""
    if n is None or n >= len(rows):
        return rows
    strata = strata_of(y[rows], task)
    return np.sort(train_test_split(rows, train_size=n, stratify=strata, random_state=seed)[0])


def strata_of(y, task="classification"):
    """Classes to split by; None where one has a single row, or of numbers."""
    few = task == "regression" or np.unique(y, return_counts=True)[1].min() < 2
    return None if few else y


def nested_subsets(y, shares, seed) -> dict[float, np.ndarray]:
    """Rows of a share of every class, at least one; a larger share holds the smaller ones."""
    random = np.random.default_rng(seed)
    by_class = [random.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    parts = {s: [rows[: max(1, round(s * len(rows)))] for rows in by_class] for s in shares}
    return {s: np.sort(np.concatenate(rows)) for s, rows in parts.items()}


def binary(y):
    """Labels in {0, 1}: as they are with two classes, else the largest against the rest."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return codes if len(classes) == 2 else (codes == counts.argmax()).astype(int)


def two_classes(name, data_home=None, drop=()):
    """All rows of a set as numbers (categories as indicator columns), and labels in {0, 1}."""
    found = load(Source(name, data_home, drop=drop), download=False)
    return encoded(found.X), binary(found.y)


def codes(name, data_home=None, rows=None):
    """The first split of a set, or so many training rows of it, with codes for categories."""
    source = Source(name, data_home)
    load(source, download=False)
    part = split(source, 0, rows)
    encoder = to_codes().fit(part.X)
    X, X_test = (np.asarray(encoder.transform(X), dtype=float) for X in (part.X, part.X_test))
    return replace(part, X=X, X_test=X_test)


def encoded(X):
    """Categories as indicator columns (one for two categories), missing numbers as NaN."""
    if not hasattr(X, "columns"):
        return np.asarray(X, dtype=float)
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore", drop="if_binary")
    return np.asarray(_columns(encoder, "passthrough").fit_transform(X), dtype=float, order="C")


def fill_missing(train, *others):
    """Put the medians of the training rows for missing numbers, in all parts."""
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(train)
    return [imputer.transform(part) for part in (train, *others)]


def to_numbers(*last):
    """A transformer to numbers: categories one-hot, medians for missing numbers."""
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), *last)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ByKind(_columns(encoder, numbers), numbers)


def to_scaled():
    """The same with numbers scaled."""
    return to_numbers(StandardScaler())


def to_codes():
    """A transformer of categories to their positions, missing ones to NaN."""
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    encoder = OrdinalEncoder(**unknown, encoded_missing_value=np.nan)
    return ByKind(_columns(encoder, "passthrough"), FunctionTransformer())


def _columns(categories, numbers):
    words = make_column_selector(dtype_exclude="number")
    rest = make_column_selector(dtype_include="number")
    return make_column_transformer((categories, words), (numbers, rest))


class ByKind(TransformerMixin, BaseEstimator):
    """One transformer for DataFrames, another one for arrays, which hold numbers."""

    def __init__(self, frames, arrays):
        self.frames, self.arrays = frames, arrays

    def fit(self, X, y=None):
        """Fit the one for such a table."""
        self.transformer_ = clone(self.frames if hasattr(X, "columns") else self.arrays).fit(X)
        return self

    def transform(self, X):
        """Numbers."""
        return self.transformer_.transform(X)


def read_csv(path, target, drop=(), like=None, task="classification"):
    """Features and labels of a table with a header; columns of text are categories.

    `like` are training features and labels, whose types a table of test rows must have. A table
    that does not do ends the command with one line.
    """
    pd = need("pandas", "data")
    text = {}
    if like is not None:
        text = dict.fromkeys(like[0].select_dtypes("category"), str)
        if like[1].dtype.kind not in "iufb":
            text[target] = str
    try:
        table = pd.read_csv(path, dtype=text)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read as a table: {error}") from None
    for option, names in (("--target", [target]), ("--drop", drop)):
        if wrong := [name for name in names if name not in table]:
            known = ", ".join(table)
            raise SystemExit(f"{option} must be a column of {path}: {known}; got {wrong[0]!r}")
    X, y, least = table.drop(columns=[target, *drop]), table[target], 2 if like is None else 1
    words = X.select_dtypes(exclude=["number", "bool"]).columns
    unnamed = [name for name in table if name.startswith("Unnamed: ")]
    for wrong, why in (
        (unnamed, f"the columns of {path} must have names, got {', '.join(unnamed)}; a table of "
         "pandas is written without its row numbers by to_csv(..., index=False)"),
        (X.shape[1] < 1 or len(X) < least, f"{path} must have at least {least} rows, and a column "
         f"of features besides the labels; got {len(X)} rows and the columns {', '.join(table)}"),
        (y.isna().any(), f"the labels of {path} must be complete, got missing ones in {target!r}"),
        (task == "regression" and y.dtype.kind not in "iufb",
         f"column {target!r} of {path} must hold numbers for --task regression"),
    ):  # fmt: skip
        if wrong:
            raise SystemExit(why)
    return X.astype(dict.fromkeys(words, "category")), y.to_numpy()


def read_test_csv(path, target, X, y, drop=()):
    """The same of test rows; refused where they do not fit the training ones."""
    X_test, y_test = read_csv(path, target, drop, like=(X, y))
    if list(X_test) != list(X):
        there = ", ".join(X_test)
        raise SystemExit(f"--test-csv must have the columns {', '.join(X)}; got {there}")
    if unknown := sorted(map(repr, set(y_test.tolist()) - set(y.tolist()))):
        raise SystemExit(f"the labels of {path} must be in training too; got {', '.join(unknown)}")
    for name in X_test.select_dtypes("category"):
        if str(X[name].dtype) != "category":
            raise SystemExit(
                f"column {name!r} of {path} must hold numbers, as in training; got "
                f"{X_test[name].cat.categories[0]!r} and the like"
            )
    return X_test, y_test.astype(y.dtype)
