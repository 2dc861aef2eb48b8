"""mddf's gradient boosting under the names, defaults and private parts of scikit-learn's.

This allows running scikit-learn's own tests of the behaviour of estimators.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from peers_tests import adapted, of_module
from table_cases import read_again

import mddf
from mddf._gradient.options import interaction_groups

_DEFAULTS = {
    "learning_rate": 0.1,
    "max_iter": 100,
    "grow_policy": "leaf-wise",
    "min_samples_leaf": 20,
    "l2_regularization": 0.0,
    "max_features": 1.0,
    "subsample": 1.0,
    "n_iter_no_change": 10,
    "tol": 1e-7,
}


class _Tree:
    """A tree with the attributes that scikit-learn's tests read."""

    def __init__(self, trees, number):
        arrays = trees.arrays
        splits = slice(*arrays["first_split"][number : number + 2])
        leaves = slice(*arrays["first_leaf"][number : number + 2])
        self.left, self.right = arrays["left"][splits], arrays["right"][splits]
        values = arrays["values"][leaves, 0]
        self.nodes = np.zeros(len(self.left) + len(values), [("column", int), ("value", float)])
        self.nodes["column"][: len(self.left)] = arrays["column"][splits]
        self.nodes["value"][len(self.left) :] = values

    def get_n_leaf_nodes(self):
        return len(self.left) + 1

    def get_max_depth(self, split=0):
        if not len(self.left):
            return 0
        below = [self.left[split], self.right[split]]
        return 1 + max(self.get_max_depth(child) if child >= 0 else 0 for child in below)


def _adapted(Model):
    def _raw_predict(self, X):
        return self._trees.raw(self._binner.encode(read_again(self, X)).codes)

    def _check_interaction_cst(self, n_features):
        groups = interaction_groups(self.interaction_cst, n_features)
        return None if groups is None else [set(np.flatnonzero(group)) for group in groups]

    parts = {
        "_raw_predict": _raw_predict,
        "_predictors": property(
            lambda self: [[_Tree(self._trees, t)] for t in range(self._trees.n_trees)]
        ),
        "_random_seed": property(lambda self: self._entropy),
        "_check_interaction_cst": _check_interaction_cst,
    }
    return adapted(f"Hist{Model.__name__}", Model, _DEFAULTS, __name__, **parts)


HistGradientBoostingClassifier = _adapted(mddf.GradientBoostingClassifier)
HistGradientBoostingRegressor = _adapted(mddf.GradientBoostingRegressor)


def peers_tests(name: str) -> ModuleType:
    """scikit-learn's tests of a module of its histogram gradient boosting, for mddf's."""
    models = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
    return of_module(f"_hist_gradient_boosting.tests.{name}", models)
