"""Tables with numbers, missing values and categories that tests explain and export models of."""

import numpy as np
import pandas as pd


def number_table(n_rows=120, seed=0):
    """Numbers, some of them rounded."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 5))
    X[:, 1] = X[:, 1].round(1)
    return X


def table_with_missing(n_rows=120):
    """Numbers with missing values, which are informative in one column."""
    X = number_table(n_rows)
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < [0.1, 0, 0.5, 0, 0.1]] = np.nan
    return X


def frame_table(n_rows=120, seed=0):
    """Numbers with missing values, and columns with three and with seventy categories."""
    rng = np.random.default_rng(seed)
    X = number_table(n_rows, seed)
    X[rng.random(X.shape) < 0.05] = np.nan
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["colour"] = rng.choice(np.array(["red", "green", "blue", None], object), n_rows)
    frame["place"] = [f"p{i:02}" for i in rng.integers(0, 70, n_rows)]
    return frame


def labels_of(X):
    """Three classes that depend on the first columns, and on text columns if there are any."""
    rng = np.random.default_rng(5)
    frame = isinstance(X, pd.DataFrame)
    cells = X.iloc[:, :2].to_numpy() if frame else X[:, :2]
    z = np.nan_to_num(cells).sum(axis=1) + 0.3 * rng.normal(size=len(X))
    if frame:
        z += (X["colour"] == "red") + (X["place"].str[-1] == "3")
    return np.searchsorted(np.quantile(z, [1 / 3, 2 / 3]), z)


TABLES = {"numbers": number_table, "missing": table_with_missing, "frame": frame_table}
