"""Data sets by name or from a CSV file, their splits, and encodings."""

import hashlib
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from mddf.datasets._io.fetch import find_home
from mddf.datasets._registry import resolve
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import _safe_indexing

from mddf import datasets
from mddf._command.rows import check_names, read_training
from mddf._command.table_options import format_from
from mddf._schema.format import PLAIN, Format

BUNDLED = ("digits", "wine", "breast_cancer", "iris")
PAPER = ("adult", "yeast", "letter", "protein", "har", "sensit", "satimage", "mnist")
# Test rows as in the mdDF paper; other sets use 30 % of each class.
TEST_ROWS = {"yeast": 446}
# Options that leave out columns that reveal the target or number the rows.
REALISTIC = {"bank": (("drop_duration", True),), "cylinder": (("drop_ids", True),)}
# Sets whose rows are also in other sets: they can be named, but a league of all sets leaves them
# out.
PARTS = {"letter-ab", "digits", "wine-uci"} | {
    f"{name}-{pair}" for name in ("digits", "optdigits", "mnist") for pair in ("17", "49")
}


@dataclass(frozen=True)
class Source:
    """A set of `mddf.datasets` with options, or a CSV file with its target column."""

    name: str
    data_home: str | None = None
    csv: Path | None = None
    target: str = ""
    drop: tuple[str, ...] = ()
    task: str = "classification"
    options: tuple[tuple[str, object], ...] = ()
    form: Format = PLAIN

    def settings(self):
        """Return the settings that all results of this set must share."""
        if self.csv is None:
            return {"options": dict(self.options), "drop": list(self.drop)}
        content = hashlib.sha256(self.csv.read_bytes()).hexdigest()
        table_settings = {"csv": content, "target": self.target, "drop": list(self.drop)}
        return (
            table_settings if self.form == PLAIN else {**table_settings, "form": asdict(self.form)}
        )


def sources(options, names, task="classification", realistic=False) -> dict[str, Source]:
    """Return sets by name, or the table of --csv.

    `realistic` leaves out columns that are not known at the time of a prediction.
    """
    drop = tuple(getattr(options, "drop", ()))
    if getattr(options, "csv", None) is not None:
        form = format_from(options)
        # A table that cannot be used fails now, and not in a cell.
        read_training(options.csv, options.target, drop, task=task, form=form, warn=True)
        # The table must not share its name with a set of `mddf.datasets`, which has published
        # scores and a split of its own.
        name = options.csv.name if options.csv.stem in datasets.names() else options.csv.stem
        return {name: Source(name, None, options.csv, options.target, drop, task, form=form)}
    for name in names:
        if (set_task := resolve(name, {})[0].task) != task:
            raise SystemExit(f"--datasets: {name} is for {set_task}, and not for {task}")
    extra = REALISTIC if realistic else {}
    by_name = {n: Source(n, options.data_home, options=extra.get(n, ())) for n in names}
    if not drop:
        return by_name
    column_names = []
    for source in by_name.values():
        with suppress(Exception):  # the cells of this set will report the error
            column_names.extend(getattr(load(replace(source, options=())).X, "columns", ()))
    check_names(f"--drop must be a column of {', '.join(names)}:", drop, column_names)
    return {name: replace(source, drop=drop) for name, source in by_name.items()}


@dataclass(frozen=True)
class Split:
    """Training and test part of a set, and their row numbers in the set."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    rows: np.ndarray | None = None
    rows_test: np.ndarray | None = None


def load(source, download=True):
    """Return X, y, the task, and the number of training rows of the standard split (or None).

    The last two sets stay in memory. Raises the errors of `mddf.datasets.load`.
    """
    return _load(source, download, find_home(source.data_home))


@lru_cache(maxsize=2)
def _load(source, download, home):
    if source.csv is not None:
        table = read_training(
            source.csv, source.target, source.drop, task=source.task, form=source.form
        )
        return SimpleNamespace(
            X=table.X, y=table.y, n_train=None, task=source.task, schema=table.schema
        )
    try:
        options = {"data_home": home, "download": download, **dict(source.options)}
        dataset = datasets.load(source.name, **options)
    except ImportError as error:  # a package that reads or downloads the file is missing
        raise datasets.DataFileNotFoundError(str(error)) from error
    X = dataset.X
    if hasattr(X, "columns"):
        X = X.drop(columns=list(source.drop), errors="ignore")
    return SimpleNamespace(
        X=X, y=np.asarray(dataset.y), n_train=dataset.n_train, task=dataset.task
    )


def take(dataset, train, test) -> Split:
    """Return the split of a set by row numbers."""
    X, X_test = (_safe_indexing(dataset.X, rows) for rows in (train, test))
    return Split(X, dataset.y[train], X_test, dataset.y[test], train, test)


def split(source, seed, max_train=None, share=None) -> Split:
    """Return the standard split of a set, or a random one by the seed if there is none.

    `max_train` limits the training rows and keeps the shares of the classes. `share` keeps this
    share of each class; the rows of a smaller share are a subset of the rows of a larger one.
    """
    dataset = load(source)
    rows = np.arange(len(dataset.y))
    fixed = TEST_ROWS.get(source.name) if source.csv is None else None
    if dataset.n_train is not None:
        train, test = rows[: dataset.n_train], rows[dataset.n_train :]
    else:
        strata = None if fixed else strata_of(dataset.y, dataset.task)
        train, test = train_test_split(
            rows, test_size=fixed or 0.3, stratify=strata, random_state=seed
        )
    if share is not None:
        train = train[nested_subset(dataset.y[train], share, seed)]
    return take(dataset, subset(dataset.y, train, max_train, seed, dataset.task), test)


def subset(y, rows, n, seed, task="classification"):
    """Draw at most n of the rows, stratified by class."""
    if n is None or n >= len(rows):
        return rows
    strata = strata_of(y[rows], task)
    return np.sort(train_test_split(rows, train_size=n, stratify=strata, random_state=seed)[0])


def strata_of(y, task="classification", least=2):
    """Return the labels to stratify by; None for regression or a class below `least` rows."""
    few = task == "regression" or np.unique(y, return_counts=True)[1].min() < least
    return None if few else y


def nested_subset(y, share, seed):
    """Draw a share of every class, at least one row; larger shares contain smaller ones."""
    random = np.random.default_rng(seed)
    by_class = [random.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    return np.sort(np.concatenate([rows[: max(1, round(share * len(rows)))] for rows in by_class]))


def binary(y):
    """Return labels in {0, 1}; of more than two classes, the largest is 1 and the rest 0."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return codes if len(classes) == 2 else (codes == counts.argmax()).astype(int)


def two_classes(name, data_home=None, drop=()):
    """Return all rows of a set as numbers (categories one-hot), and labels in {0, 1}."""
    dataset = load(Source(name, data_home, drop=drop), download=False)
    return encoded(dataset.X), binary(dataset.y)


def codes(name, data_home=None):
    """Return the first split of a set with coded categories."""
    source = Source(name, data_home)
    load(source, download=False)
    part = split(source, 0)
    encoder = to_codes().fit(part.X)
    X, X_test = (np.asarray(encoder.transform(X), dtype=float) for X in (part.X, part.X_test))
    return replace(part, X=X, X_test=X_test)


def encoded(X):
    """Encode categories one-hot (one column for two categories); missing numbers become NaN."""
    words = OneHotEncoder(sparse_output=False, handle_unknown="ignore", drop="if_binary")
    return np.asarray(_by_kind(words, "passthrough").fit_transform(X), dtype=float, order="C")


def to_numbers(*last):
    """Return a transformer to numbers: categories one-hot, missing numbers to medians."""
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    medians = SimpleImputer(strategy="median", keep_empty_features=True)
    return _by_kind(words, make_pipeline(medians, *last))


def to_scaled():
    """Return the transformer of `to_numbers` that also scales numbers."""
    return to_numbers(StandardScaler())


def to_codes():
    """Return a transformer of categories to their positions; missing ones become NaN."""
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    return _by_kind(OrdinalEncoder(**unknown, encoded_missing_value=np.nan), "passthrough")


def _by_kind(words, numbers):
    """Transform categories by `words` and numbers by `numbers`; the categories come first."""
    return make_column_transformer(
        (words, partial(_columns, numbers=False)), (numbers, partial(_columns, numbers=True))
    )


def _columns(X, numbers):
    """Select the numeric or the other columns; an array has numeric columns only."""
    if not hasattr(X, "columns"):
        return slice(0, X.shape[1]) if numbers else []
    return list(X.select_dtypes(**{"include" if numbers else "exclude": "number"}))
