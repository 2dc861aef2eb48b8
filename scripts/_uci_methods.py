"""The methods of run_uci.py, all with the same budget."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _uci_mlp import perceptron
from mddf.baselines import GCForestClassifier
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from mddf import MDDFClassifier, RandomForestClassifier

FORESTS = ("random", "random", "completely-random", "completely-random")


@dataclass(frozen=True)
class Budget:
    """What every method may use.

    Attributes
    ----------
    n_estimators : int
        Trees of each of the four forests of a layer.
    n_layers : int or None
        Most layers of a cascade; None for the classes' own defaults.
    n_folds : int
    max_epochs : int
        Of the perceptron.
    n_jobs : int
        Threads at most.
    """

    n_estimators: int = 100
    n_layers: int | None = None
    n_folds: int = 5
    max_epochs: int = 100
    n_jobs: int = 1

    @property
    def n_trees(self) -> int:
        """Trees of a layer over all folds: the paper's 400 k."""
        return len(FORESTS) * self.n_estimators * self.n_folds

    def library_threads(self, n_rows: int) -> int:
        """Threads of XGBoost and of linear algebra, which small sets only slow down."""
        return self.n_jobs if n_rows >= 5000 else 1


class XGBoost(ClassifierMixin, BaseEstimator):
    """XGBoost's classifier for labels of any kind."""

    def __init__(self, n_estimators=100, *, n_jobs=None, random_state=None):
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Fit; columns of categories are split by sets, missing values are sent to one side."""
        from xgboost import XGBClassifier

        self.classes_, labels = np.unique(y, return_inverse=True)
        self._model = XGBClassifier(
            n_estimators=self.n_estimators,
            tree_method="hist",
            enable_categorical=True,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(X, labels)
        return self

    def predict(self, X):
        """Labels."""
        return self.classes_[self._model.predict(X)]


class ChosenDepth(ClassifierMixin, BaseEstimator):
    """The mdDF with that of the paper's depth steps c, or none, that is best out-of-fold."""

    def __init__(self, cascade, depth_steps=(2, 4, 8, 16, None)):
        self.cascade = cascade
        self.depth_steps = depth_steps

    def fit(self, X, y):
        """Grow a cascade for each depth step on the training rows, and keep the one to use."""
        cascades = (
            clone(self.cascade).set_params(depth_step=c).fit(X, y) for c in self.depth_steps
        )
        self.cascade_ = max(cascades, key=lambda c: c.history_["accuracy"][c.n_layers_ - 1])
        self.classes_, self.n_layers_ = self.cascade_.classes_, self.cascade_.n_layers_
        return self

    def predict(self, X):
        """Labels."""
        return self.cascade_.predict(X)


def _mlp(budget, X, seed):
    return perceptron(
        X,
        max_epochs=budget.max_epochs,
        patience=max(2, budget.max_epochs // 20),
        n_jobs=budget.n_jobs,
        random_state=seed,
    )


def _random_forest(budget, X, seed):
    return RandomForestClassifier(budget.n_trees, n_jobs=budget.n_jobs, random_state=seed)


def _xgboost(budget, X, seed):
    threads = budget.library_threads(len(X))
    return XGBoost(budget.n_trees, n_jobs=threads, random_state=seed)


def _cascade(make, **options):
    """A factory of cascades with the four forests of the paper, unless others are given."""

    def build(budget, X, seed):
        chosen = {"forests": list(FORESTS), **options}
        if budget.n_layers is not None:
            chosen["n_layers"] = budget.n_layers
        return make(
            n_estimators=budget.n_estimators,
            cv=budget.n_folds,
            n_jobs=budget.n_jobs,
            random_state=seed,
            **chosen,
        )

    return build


def _chosen_depth(budget, X, seed):
    return ChosenDepth(_cascade(MDDFClassifier)(budget, X, seed))


@dataclass(frozen=True)
class Method:
    """A method: its names on the screen and in the papers' tables, and how it is made."""

    title: str
    published: str
    make: Callable
    needs: str | None = None  # a module that may not be installed


METHODS = {
    "mlp": Method("MLP", "MLP", _mlp),
    "rf": Method("RandomForest", "RF", _random_forest),
    "xgboost": Method("XGBoost", "XGBoost", _xgboost, needs="xgboost"),
    "gcforest": Method("gcForest", "gcForest", _cascade(GCForestClassifier)),
    "mddf": Method("mdDF", "mdDF", _cascade(MDDFClassifier)),
}
ABLATIONS = {
    "mddf-sf": Method("mdDF SF", "mdDF_SF", _cascade(MDDFClassifier, forests=["random"] * 4)),
    "mddf-st": Method("mdDF ST", "mdDF_ST", _cascade(MDDFClassifier, structure="stacking")),
    "mddf-np": Method("mdDF NP", "mdDF_NP", _cascade(MDDFClassifier, structure="no-preconc")),
}
# Five times the budget of the others.
TUNED = {"mddf-c": Method("mdDF, c chosen", "mdDF", _chosen_depth)}
ALL_METHODS = {**METHODS, **ABLATIONS, **TUNED}


def missing(name: str) -> str | None:
    """The module that a method needs and that is not installed."""
    needs = ALL_METHODS[name].needs
    return needs if needs is not None and importlib.util.find_spec(needs) is None else None


def details(model) -> str:
    """What a fitted model chose, in a few words."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "architecture_"):
        widths = "-".join(map(str, last.architecture_))
        return f"{widths}, {last.n_epochs_} epochs"
    if isinstance(last, ChosenDepth):
        return f"c = {last.cascade_.depth_step}, {details(last.cascade_)}"
    if hasattr(last, "n_layers_"):
        return f"{last.n_layers_} of {len(last.history_['score'])} layers kept"
    return f"{last.n_estimators} {'rounds' if isinstance(last, XGBoost) else 'trees'}"
