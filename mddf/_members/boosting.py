"""Gradient boosting by scikit-learn, whose trees are kept as arrays that the kernel reads."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from mddf import _core
from mddf._base.elementary import class_probabilities, log
from mddf._base.serialization import register_serializable
from mddf._ensemble.vote import FLOOR
from mddf._members.screening import screened

# What nodes of trees have.
_KINDS = {
    "column": np.int32,
    "left": np.int32,
    "split": float,
    "set": np.int32,
    "missing_left": bool,
}


class Boosted(BaseEstimator):
    """What the classifier and the regressor share; use one of them.

    scikit-learn's histogram gradient boosting, which after `fit` is a few arrays. They predict one
    row a hundred times as fast as the model that they come from, do not depend on scikit-learn's
    version, and are cut to fewer rounds by :meth:`cut`.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Which columns hold codes of categories, below 256.
    max_iter, learning_rate, max_leaf_nodes, min_samples_leaf, l2_regularization, max_features, \
            random_state :
        As scikit-learn's classes have them.

    Attributes
    ----------
    start_ : ndarray of shape (n_scores,)
        Scores before the first round: one for two classes, else one for each class or output.
    trees_ : dict of str to ndarray
        Arguments of ``_core.add_boosted``.
    """

    _fits_step_by_step = True  # which `fit_external` asks for

    def __init__(
        self,
        categorical,
        max_iter=100,
        learning_rate=0.1,
        max_leaf_nodes=31,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        random_state=None,
    ):
        self.categorical = categorical
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.random_state = random_state

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        if hasattr(self, "trees_"):
            check_trees(self.trees_, self.n_features_in_)

    def _learn(self, kind, X, targets, sample_weight, numbers) -> None:
        """Fit a model of scikit-learn's to each target, and take their trees over.

        Of wide tables it sees the columns that split `numbers`, shape (n_samples, n), best.
        """
        options = self.get_params()
        categorical = np.asarray(options.pop("categorical"), bool)
        columns = screened(X, numbers, sample_weight, self.min_samples_leaf)
        if len(columns) < X.shape[1]:
            X, categorical = X[:, columns], categorical[columns]
        given = categorical if categorical.any() else None
        # scikit-learn refuses columns in which it sees nothing.
        X = np.where(np.isnan(X).all(axis=0), 0.0, X)
        models = [
            kind(early_stopping=False, categorical_features=given, **options).fit(
                X, target, sample_weight
            )
            for target in targets
        ]
        self.start_ = np.concatenate([model._baseline_prediction.ravel() for model in models])
        trees = trees_of(*models)
        trees["column"] = np.where(trees["left"], columns[trees["column"]], 0).astype(np.int32)
        self.trees_ = trees

    @property
    def n_rounds(self) -> int:
        """Rounds that are kept."""
        return len(self.trees_["roots"]) // len(self.start_)

    def cut(self, n_rounds: int) -> Self:
        """The same model with the first rounds only."""
        trees = self.trees_
        roots = trees["roots"][: n_rounds * len(self.start_)].copy()
        after = trees["roots"][len(roots) :]
        n_nodes = int(after[0]) if len(after) else len(trees["left"])
        n_sets = trees["set"][:n_nodes].max(initial=-1) + 1
        shorter = copy(self)
        shorter.trees_ = {
            name: values[: n_sets if name == "sets" else n_nodes].copy()
            for name, values in trees.items()
        } | {"roots": roots}
        return shorter

    def _scores(self, X) -> np.ndarray:
        """What all rounds add up to, shape (n_rows, n_scores)."""
        X = np.ascontiguousarray(X, float)
        scores = np.tile(self.start_, (len(X), 1))
        _core.add_boosted(X, **self.trees_, out=scores)
        return scores


@register_serializable("boosted trees classifier")
class BoostedClassifier(ClassifierMixin, Boosted):
    """scikit-learn's `HistGradientBoostingClassifier` as arrays; ``classes_`` are in order."""

    def fit(self, X, y, sample_weight=None):
        """Fit, and take the trees over.

        Parameters
        ----------
        X : ndarray of float64 of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        sample_weight : ndarray of shape (n_samples,), default=None
        """
        self.n_features_in_ = X.shape[1]
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            self.start_, self.trees_ = np.zeros(1), _packed([], np.arange(0), [])
            return self
        indicators = (np.reshape(y, (-1, 1)) == self.classes_).astype(float)
        self._learn(HistGradientBoostingClassifier, X, [y], sample_weight, indicators)
        return self

    def staged_predict_proba(self, X):
        """Probabilities after each round."""
        X = np.ascontiguousarray(X, float)
        scores = np.tile(self.start_, (len(X), 1))
        for roots in self.trees_["roots"].reshape(-1, len(self.start_)):
            _core.add_boosted(X, **{**self.trees_, "roots": roots}, out=scores)
            yield self._probabilities(scores)

    def predict_proba(self, X):
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return self._probabilities(self._scores(X))

    def predict(self, X):
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _probabilities(self, scores):
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return class_probabilities(scores)


@register_serializable("boosted trees regressor")
class BoostedRegressor(RegressorMixin, Boosted):
    """scikit-learn's `HistGradientBoostingRegressor` as arrays, a set of trees for each output."""

    def fit(self, X, y, sample_weight=None):
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        self.n_features_in_ = X.shape[1]
        numbers = np.reshape(y, (len(X), -1))
        self._learn(HistGradientBoostingRegressor, X, numbers.T, sample_weight, numbers)
        return self

    def predict(self, X):
        """Numbers of shape (n_rows, n_outputs)."""
        return self._scores(X)


def best_round(models, X, labels, folds, n_rounds: int, weight=None) -> int:
    """After how many rounds the log-loss of held-out rows is least, over all folds.

    Parameters
    ----------
    models : list of BoostedClassifier
        One for each fold, fitted on codes of classes.
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of int of shape (n_samples,)
    folds : list of (train, held out)
    n_rounds : int
        Most rounds.
    weight : ndarray of shape (n_samples,) or None, default=None
    """
    totals = np.zeros(n_rounds)
    for model, (_, held_out) in zip(models, folds, strict=True):
        weights = np.ones(len(held_out)) if weight is None else weight[held_out]
        place = np.searchsorted(model.classes_, labels[held_out])
        known = np.take(model.classes_, place, mode="clip") == labels[held_out]
        rows = np.flatnonzero(known)
        stages = model.staged_predict_proba(X[held_out][rows])
        for number, probabilities in zip(range(n_rounds), stages, strict=False):
            own = probabilities[np.arange(len(rows)), place[rows]]
            totals[number] -= np.sum(weights[rows] * log(np.maximum(own, FLOOR)))
    return int(totals.argmin()) + 1


def check_trees(trees: dict[str, np.ndarray], n_columns: int) -> None:
    """Refuse trees that are not as `trees_of` makes them, in which a walk may not end.

    What does not fit together otherwise, ``_core.add_boosted`` refuses.
    """
    if not isinstance(trees, dict) or trees.keys() != {"roots", *_KINDS, "sets"}:
        raise ValueError(f"boosted trees: expected roots, {', '.join(_KINDS)}, sets")
    for name, kind in {"roots": np.int32, **_KINDS}.items():
        array = trees[name]
        if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
            raise ValueError(
                f"boosted trees: {name} must be an array of {np.dtype(kind)} of one dimension"
            )
    roots, left, column = trees["roots"], trees["left"], trees["column"]
    if any(len(trees[name]) != len(left) for name in _KINDS):
        raise ValueError("boosted trees: expected as many of each part as there are nodes")
    ends = np.append(roots, len(left))
    if ends[0] != 0 or not np.all(ends[:-1] < ends[1:]):
        raise ValueError("boosted trees: roots must rise from 0, below the number of nodes")
    inner = np.flatnonzero(left)
    first = np.searchsorted(inner, ends)  # of each tree
    rank = np.arange(len(inner)) - np.repeat(first[:-1], np.diff(first))
    expected = np.repeat(roots, np.diff(first)) + 1 + 2 * rank
    if not (
        np.array_equal(left[inner], expected)
        and np.all(expected > inner)
        and np.array_equal(np.diff(ends), 1 + 2 * np.diff(first))
    ):
        raise ValueError("boosted trees: left must have the nodes in order, behind their parents")
    if np.any((column < 0) | (column >= n_columns)):
        raise ValueError(f"boosted trees: column must be from 0 to {n_columns - 1}")


def trees_of(*models) -> dict[str, np.ndarray]:
    """The trees of fitted models as arguments of ``_core.add_boosted``, round by round.

    Several models, on the same features and of as many rounds, add to scores of their own.
    """
    model = models[0]
    order, known = np.arange(model.n_features_in_), []
    if model._preprocessor is not None:  # it puts categories first, and counts those it sees
        order = np.argsort(~model.is_categorical_, kind="stable")
        encoder = model._preprocessor.named_transformers_["encoder"]
        known = [codes[~np.isnan(codes)].astype(int) for codes in encoder.categories_]
    rounds = zip(*(model._predictors for model in models), strict=True)
    predictors = [tree for of_round in rounds for of_model in of_round for tree in of_model]
    return _packed(predictors, order, known)


def _packed(predictors, order, known) -> dict[str, np.ndarray]:
    """scikit-learn's trees as arrays, children side by side behind their parents.

    Parameters
    ----------
    predictors : list of TreePredictor
    order : ndarray of int of shape (n_features,)
        Columns of X that the trees count.
    known : list of ndarray of int
        Codes of the columns of categories, which come first, in the order of the trees' numbers.
    """
    roots, parts, sets = [], [], [np.zeros((0, 4), np.uint64)]
    n_nodes = n_sets = 0
    for predictor in predictors:
        nodes = predictor.nodes
        places, left = [0], []
        for place in places:  # grows on the way
            if nodes[place]["is_leaf"]:
                left.append(0)
            else:
                left.append(n_nodes + len(places))
                places += [int(nodes[place]["left"]), int(nodes[place]["right"])]
        nodes = nodes[places]
        leaf = nodes["is_leaf"] > 0
        by_set = (nodes["is_categorical"] > 0) & ~leaf
        set_of = np.full(len(nodes), -1, np.int32)
        set_of[by_set] = n_sets + np.arange(by_set.sum())
        sets += [
            _codes_going_left(predictor.raw_left_cat_bitsets[node["bitset_idx"]], node, known)
            for node in nodes[by_set]
        ]
        parts.append(
            {
                "column": np.where(leaf, 0, order[nodes["feature_idx"]]).astype(np.int32),
                "left": np.array(left, np.int32),
                "split": np.where(leaf, nodes["value"], nodes["num_threshold"]).astype(float),
                "set": set_of,
                "missing_left": nodes["missing_go_to_left"] > 0,
            }
        )
        roots.append(n_nodes)
        n_nodes, n_sets = n_nodes + len(nodes), n_sets + int(by_set.sum())
    packed = {
        name: np.concatenate([np.zeros(0, kind), *(part[name] for part in parts)])
        for name, kind in _KINDS.items()
    }
    return {"roots": np.array(roots, np.int32), **packed, "sets": np.concatenate(sets)}


def _codes_going_left(bits, node, known) -> np.ndarray:
    """Four words: which codes go left at a node; those that training did not see go as NaN."""
    codes = known[node["feature_idx"]]
    goes_left = np.full(256, node["missing_go_to_left"] > 0)
    of_known = np.unpackbits(bits.astype("<u4").view(np.uint8), bitorder="little")
    goes_left[codes] = of_known[: len(codes)]
    return np.packbits(goes_left, bitorder="little").view("<u8").astype(np.uint64)[None]
