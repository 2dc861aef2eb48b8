"""Data for the boosting scripts: the project's loaders where the data is present, else bundled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import OneHotEncoder


@dataclass(frozen=True)
class Table:
    """A data set as numbers; where it comes from is in `source`."""

    name: str
    X: np.ndarray
    y: np.ndarray
    source: str


def bundled(name):
    """One of scikit-learn's sets, some of them made binary; None when there is no such set."""
    loaders = {"breast_cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
    if name in loaders:
        return loaders[name](return_X_y=True)
    if name in ("digits", "digits-17", "digits-49"):
        X, y = load_digits(return_X_y=True)
        kept = np.isin(y, [int(c) for c in name[7:]]) if "-" in name else np.ones(len(y), bool)
        return X[kept], y[kept]
    return None


def load_table(name, drop=()):
    """Return a Table, with categories as indicator columns; None when its data is not present.

    Nothing is downloaded here; `mddf.datasets.load` does that. Columns named in `drop` are left
    out where the set has them.
    """
    own = bundled(name)
    if own is not None:
        return Table(name, *own, source="scikit-learn")
    try:
        from mddf.datasets import load

        data = load(name, download=False)
    except (ImportError, OSError, KeyError, ValueError, RuntimeError) as error:
        print(f"{name}: not available ({type(error).__name__}: {str(error).splitlines()[0]})")
        return None
    X = data.X
    if hasattr(X, "columns"):
        X = X.drop(columns=[column for column in drop if column in X.columns])
    return Table(name, to_numbers(X), np.asarray(data.y), source="mddf.datasets")


def load_tables(asked, default, known, bundled):
    """Tables by name; bundled ones stand in for the default ones, but not for those asked for.

    Parameters
    ----------
    asked : list of str or None
        Names given by the user; all must be present.
    default : iterable of str
        Names otherwise, of which those that are not present are left out.
    known : dict of str to tuple
        Arguments of `load_table` by name.
    bundled : iterable of str
        Names that stand in where none of the default ones is present.
    """
    tables = {name: load_table(*known[name]) for name in asked or default}
    absent = [name for name, table in tables.items() if table is None]
    if asked and absent:
        raise SystemExit(f"--sets: not available, for the reasons above: {', '.join(absent)}")
    tables = {name: table for name, table in tables.items() if table is not None}
    if not tables:
        print("none of the sets is available: scikit-learn's bundled sets stand in")
        tables = {name: load_table(*known[name]) for name in bundled}
    return tables


def to_numbers(X):
    """Make indicator columns of categories; missing numbers stay NaN."""
    if hasattr(X, "columns"):
        words = [
            c for c in X.columns if str(X[c].dtype) in ("category", "object", "str", "string")
        ]
        encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore", drop="if_binary")
        X = make_column_transformer((encoder, words), remainder="passthrough").fit_transform(X)
    return np.array(X, dtype=np.float64, order="C")


def fill_missing(train, *others):
    """Put the medians of the training rows for missing numbers, in all parts."""
    if not any(np.isnan(part).any() for part in (train, *others)):
        return [train, *others]
    median = np.nanmedian(train, axis=0)
    return [np.where(np.isnan(part), median, part) for part in (train, *others)]


def binary(table):
    """Labels in {0, 1}: as they are with two classes, else the largest class against the rest."""
    classes, codes, counts = np.unique(table.y, return_inverse=True, return_counts=True)
    return codes if len(classes) == 2 else (codes == counts.argmax()).astype(int)
