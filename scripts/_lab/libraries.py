"""Boosted trees and forests of other libraries, with one thread.

Forests have settings as equal as the libraries allow. Their common settings come from a `Plan`,
which takes the place of a budget.
"""

import os
from dataclasses import dataclass
from importlib import import_module
from math import isqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from .models import Method

# Module, beginning of the names of the classes, and parameters for one thread without output.
BOOSTING = {
    "catboost": (
        "catboost", "CatBoost",
        {"thread_count": 1, "verbose": False, "allow_writing_files": False},
    ),
    "lightgbm": ("lightgbm", "LGBM", {"n_jobs": 1, "verbose": -1}),
    "xgboost": ("xgboost", "XGB", {"n_jobs": 1}),
    "sklearn": ("sklearn.ensemble", "HistGradientBoosting", {}),
}  # fmt: skip


def boosting(library, task, **parameters):
    """Return unfitted boosted trees of another library."""
    module, name, common = BOOSTING[library]
    kind = "Regressor" if task == "regression" else "Classifier"
    return getattr(import_module(module), f"{name}{kind}")(**common | parameters)


@dataclass(frozen=True)
class Plan:
    """Common settings of the forests for a table of this size."""

    n_trees: int
    n_rows: int
    n_columns: int
    task: str = "classification"

    @property
    def n_tried(self) -> int:
        """Number of columns tried for a split, as in the defaults of scikit-learn."""
        return isqrt(self.n_columns) if self.task == "classification" else self.n_columns

    @property
    def share(self) -> float:
        """Share of columns tried for a split.

        0.01 columns are added because some libraries round the number of columns down.
        """
        return min(1.0, (self.n_tried + 0.01) / self.n_columns)

    @property
    def n_leaves(self) -> int:
        """Largest number of leaves: LightGBM's time depends on this limit, not on the tree."""
        return max(2, self.n_rows // 4)


class YDFRegressor:
    """Regression forest of YDF, which takes columns and the target by name."""

    task = "REGRESSION"

    def __init__(self, n_trees, n_tried, random_state=0):
        self.n_trees, self.n_tried, self.random_state = n_trees, n_tried, random_state

    def fit(self, X, y):
        """Grow the trees."""
        import ydf

        learner = ydf.RandomForestLearner(
            "y", ydf.Task[self.task], num_trees=self.n_trees, max_depth=-1, min_examples=1,
            num_candidate_attributes=self.n_tried, winner_take_all=False,
            compute_oob_performances=False, pure_serving_model=True,
            num_threads=1, random_seed=self.random_state,
        )  # fmt: skip
        self.model_ = learner.train({**self._columns(X), "y": y}, verbose=0)
        return self

    def predict(self, X):
        """Return numbers; the probability of the second of two classes, or of all classes."""
        return self.model_.predict(self._columns(X), num_threads=1)

    def _columns(self, X):
        return {f"c{i}": column for i, column in enumerate(X.T)}

    def __getstate__(self):
        return {"model": self.model_.serialize()}


class YDFClassifier(YDFRegressor):
    """Classification forest of YDF."""

    task = "CLASSIFICATION"

    def fit(self, X, y):
        """Grow the trees."""
        self.classes_ = np.unique(y)
        return super().fit(X, y)

    def predict_proba(self, X):
        """Return the probabilities of all classes."""
        probabilities = self.predict(X)
        if probabilities.ndim == 1:
            return np.column_stack([1 - probabilities, probabilities])
        return probabilities


class FastForestRegressor:
    """Regression forest of fastforest, which saves itself to a file."""

    name = "FastForest"
    settings = {"max_features": 1.0, "split_prior_rows": 0.0}

    def __init__(self, n_trees, random_state=0):
        self.n_trees, self.random_state = n_trees, random_state

    def fit(self, X, y):
        """Grow the trees."""
        os.environ["RAYON_NUM_THREADS"] = "1"  # fastforest reads it at the first fit
        import fastforest

        make = getattr(fastforest, self.name)
        self.model_ = make(
            self.n_trees, min_node_size=2, bootstrap_max=None, replacement=True,
            date_columns={}, target_statistics=False, seed=self.random_state, **self.settings,
        )  # fmt: skip
        self.model_.fit(X, y)
        return self

    def predict(self, X):
        """Return labels or numbers."""
        return self.model_.predict(X)

    def __getstate__(self):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.ffm"
            self.model_.save(path)
            return {"model": path.read_bytes()}


class FastForestClassifier(FastForestRegressor):
    """Classification forest of fastforest."""

    name = "FastForestClassifier"
    settings = {"max_features": "sqrt", "class_weight_power": 0.0}

    @property
    def classes_(self):
        """Class labels."""
        return self.model_.classes_

    def predict_proba(self, X):
        """Return the probabilities of all classes."""
        return self.model_.predict_proba(X)


def _method(title, path, budget, needs="", **fixed):
    classifier, regressor = f"{path}Classifier", f"{path}Regressor"
    return Method(title, classifier, regressor, fixed, budget, extra="peers", needs=needs)


_TREES = {"n_estimators": "n_trees"}
_TRIED = {**_TREES, "max_features": "n_tried"}
FORESTS = {
    "random": {
        "mddf": _method("mddf", "mddf:RandomForest", _TRIED),
        "scikit-learn": _method("scikit-learn", "sklearn.ensemble:RandomForest", _TRIED),
        "oneDAL": _method("oneDAL", "sklearnex.ensemble:RandomForest", _TRIED),
        "YDF": _method(
            "YDF", "_lab.libraries:YDF", {"n_trees": "n_trees", "n_tried": "n_tried"}, needs="ydf"
        ),
        "fastforest": _method(
            "fastforest", "_lab.libraries:FastForest", {"n_trees": "n_trees"}, needs="fastforest"
        ),
        "LightGBM": _method(
            "LightGBM", "lightgbm:LGBM",
            {**_TREES, "num_leaves": "n_leaves", "feature_fraction_bynode": "share"},
            boosting_type="rf", subsample=0.632, subsample_freq=1, min_child_samples=1,
            min_child_weight=0, histogram_pool_size=256, verbose=-1,
        ),
        "XGBoost": _method(
            "XGBoost", "xgboost:XGBRF", {**_TREES, "colsample_bynode": "share"},
            subsample=0.632, max_depth=0, min_child_weight=0,
        ),
    },
    "completely random": {
        "mddf": _method("mddf", "mddf:CompletelyRandomForest", _TREES),
        "scikit-learn": _method(
            "scikit-learn", "sklearn.ensemble:ExtraTrees", _TREES, max_features=1
        ),
        "oneDAL": _method("oneDAL", "sklearnex.ensemble:ExtraTrees", _TREES, max_features=1),
    },
}  # fmt: skip
NAMES = tuple(FORESTS["random"])[1:]
