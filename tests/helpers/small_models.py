"""Small tables with text labels, and the output of any model for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import is_regressor
from sklearn.datasets import load_iris


def table(kind):
    """The training and test rows of a kind of model: numbers, images or a frame."""
    X, _ = load_iris(return_X_y=True)
    if kind == "images":
        return X.reshape(150, 2, 2)
    if kind == "numbers":
        return X
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.loc[::7, "b"] = np.nan
    frame["kind"] = np.array(["red", "green", None], object)[np.arange(150) * 5 % 3]
    return frame


def labels():
    """Text labels."""
    return load_iris().target_names[load_iris().target]


def says(model, X):
    """Return probabilities or features of rows; several outputs are stacked side by side."""
    if is_regressor(model):
        return model.predict(X)
    if hasattr(model, "decision_function") and not hasattr(model, "predict_proba"):
        return model.decision_function(X)
    output = model.predict_proba(X) if hasattr(model, "predict_proba") else model.transform(X)
    return np.hstack(output) if isinstance(output, list) else output
