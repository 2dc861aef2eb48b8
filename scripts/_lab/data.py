"""Sets by name or from a CSV file, their splits, and encodings."""

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
from mddf._command.rows import check_names, read, read_training
from mddf._command.table_options import format_from
from mddf._schema.format import PLAIN, Format

from . import cli

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
    form: Format = PLAIN

    def settings(self):
        """What results of this set must have in common."""
        if self.csv is None:
            return {"options": dict(self.options), "drop": list(self.drop)}
        content = hashlib.sha256(self.csv.read_bytes()).hexdigest()
        found = {"csv": content, "target": self.target, "drop": list(self.drop)}
        return found if self.form == PLAIN else {**found, "form": asdict(self.form)}


def sources(options, names, task="classification", realistic=False) -> dict[str, Source]:
    """Sets by name, or the table of --csv; if realistic, without columns known too late."""
    asked = getattr(options, "drop", ())
    if getattr(options, "csv", None) is not None:
        form = format_from(options)
        drop = dropped(asked, read(options.csv, form, ()).names if asked else ())
        # Tables that cannot be used fail here.
        read_training(options.csv, options.target, drop, task=task, form=form, warn=True)
        # Not the name of another set, which has other rows, published scores and a split.
        name = options.csv.name if options.csv.stem in datasets.names() else options.csv.stem
        return {name: Source(name, None, options.csv, options.target, drop, task, form=form)}
    for name in names:
        if (of := resolve(name, {})[0].task) != task:
            raise SystemExit(f"--datasets: {name} is for {of}, and not for {task}")
    extra = REALISTIC if realistic else {}
    found = {n: Source(n, options.data_home, options=extra.get(n, ())) for n in names}
    if not asked:
        return found
    there = []
    for source in found.values():
        with suppress(Exception):  # its cells will tell
            there.extend(getattr(load(replace(source, options=())).X, "columns", ()))
    drop = dropped(asked, there)
    check_names(f"--drop must be a column of {', '.join(names)}:", drop, there)
    return {name: replace(source, drop=drop) for name, source in found.items()}


def dropped(asked, there):
    """Columns of --drop: whole words that are columns, else words between commas."""
    found = ([text] if text in there else cli.words(text) for text in asked)
    return tuple(name for names in found for name in names)


@dataclass(frozen=True)
class Split:
    """A training and a test part, and which rows of the set they are."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    rows: np.ndarray | None = None
    rows_test: np.ndarray | None = None


def load(source, download=True):
    """X, y, the number of training rows if the set has a standard split, and the task.

    The last sets are kept; raises whatever `mddf.datasets.load` does.
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
        found = datasets.load(source.name, **options)
    except ImportError as error:  # of what reads or downloads the file
        raise datasets.DataFileNotFoundError(str(error)) from error
    X = found.X
    if hasattr(X, "columns"):
        X = X.drop(columns=list(source.drop), errors="ignore")
    return SimpleNamespace(X=X, y=np.asarray(found.y), n_train=found.n_train, task=found.task)


def take(found, train, test) -> Split:
    """The split of a set by row numbers."""
    X, X_test = (_safe_indexing(found.X, rows) for rows in (train, test))
    return Split(X, found.y[train], X_test, found.y[test], train, test)


def split(source, seed, max_train=None, share=None, validate=False) -> Split:
    """The standard split where there is one, else a random one by the seed.

    Of its training rows there are at most `max_train`, in shares of the classes, or a `share` of
    each class, of which a larger one holds the smaller ones. To validate, the test rows are a
    quarter of the training rows instead, and no test row is looked at.
    """
    found = load(source)
    rows = np.arange(len(found.y))
    fixed = TEST_ROWS.get(source.name) if source.csv is None else None
    if validate:
        rows = rows[: found.n_train]
        few = strata_of(found.y[rows], least=5) is None
        by = (lambda rows: None) if few else found.y.__getitem__
        train, test = train_test_split(rows, test_size=0.25, stratify=by(rows), random_state=seed)
        if max_train is not None and max_train < len(train):
            train, _ = train_test_split(
                train, train_size=max_train, stratify=by(train), random_state=seed
            )
    elif found.n_train is not None:
        train, test = rows[: found.n_train], rows[found.n_train :]
    else:
        strata = None if fixed else strata_of(found.y, found.task)
        train, test = train_test_split(
            rows, test_size=fixed or 0.3, stratify=strata, random_state=seed
        )
    if share is not None:
        train = train[nested_subset(found.y[train], share, seed)]
    return take(found, subset(found.y, train, max_train, seed, found.task), test)


def subset(y, rows, n, seed, task="classification"):
    """At most n of some rows, in shares of the classes."""
    if n is None or n >= len(rows):
        return rows
    strata = strata_of(y[rows], task)
    return np.sort(train_test_split(rows, train_size=n, stratify=strata, random_state=seed)[0])


def strata_of(y, task="classification", least=2):
    """Classes to split by; None where one has fewer than so many rows, or of numbers."""
    few = task == "regression" or np.unique(y, return_counts=True)[1].min() < least
    return None if few else y


def nested_subset(y, share, seed):
    """Rows of a share of every class, at least one; a larger share holds the smaller ones."""
    random = np.random.default_rng(seed)
    by_class = [random.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    return np.sort(np.concatenate([rows[: max(1, round(share * len(rows)))] for rows in by_class]))


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
    words = OneHotEncoder(sparse_output=False, handle_unknown="ignore", drop="if_binary")
    return np.asarray(_by_kind(words, "passthrough").fit_transform(X), dtype=float, order="C")


def to_numbers(*last):
    """A transformer to numbers: categories one-hot, medians for missing numbers."""
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    medians = SimpleImputer(strategy="median", keep_empty_features=True)
    return _by_kind(words, make_pipeline(medians, *last))


def to_scaled():
    """The same with numbers scaled."""
    return to_numbers(StandardScaler())


def to_codes():
    """A transformer of categories to their positions, missing ones to NaN."""
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    return _by_kind(OrdinalEncoder(**unknown, encoded_missing_value=np.nan), "passthrough")


def _by_kind(words, numbers):
    """Of tables and arrays; the columns of `words` come first."""
    return make_column_transformer(
        (words, partial(_columns, numbers=False)), (numbers, partial(_columns, numbers=True))
    )


def _columns(X, numbers):
    """Columns of numbers, or the others; an array has numbers only."""
    if not hasattr(X, "columns"):
        return slice(0, X.shape[1]) if numbers else []
    return list(X.select_dtypes(**{"include" if numbers else "exclude": "number"}))
