"""The trees of a forest one by one, as trees of scikit-learn."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.tree._tree import Tree

from mddf._base.elementary import log
from mddf._base.validation import resolve_max_features
from mddf._input.reading import read_table
from mddf._targets.class_outputs import named_classes, shares_by_output
from mddf._trees import predictor
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import decode_forest, thresholds
from mddf._trees.nodes import LEAF, Nodes

_AS_FOREST = (
    "n_features_in_",
    "feature_names_in_",
    "n_outputs_",
    "classes_",
    "n_classes_",
    "_class_columns",
)
_UNDEFINED = -2  # scikit-learn's column and threshold of a leaf


class ForestTree:
    """What trees of forests that classify and of forests that regress share.

    It comes before the class of scikit-learn whose trees these look like. Rows go down the
    forest's own tree by the bins of its table, so that categories, missing values and numbers of
    double precision end where they do in the forest. What scikit-learn's functions ask `tree_`
    about is made when they do.
    """

    _block: TreeBlock  # of this tree alone
    _forest: Any  # binner, unit of leaves, and which features are categories
    n_outputs_: int
    criterion: Any

    @classmethod
    def of(cls, forest: Any, block: TreeBlock) -> Self:
        """The only tree of a block of a forest."""
        made: Any = cls()
        given = forest.get_params(deep=False)
        known = {name: given[name] for name in made.get_params() if name in given}
        made.set_params(**known | {"random_state": None})
        for name in _AS_FOREST:
            if hasattr(forest, name):
                setattr(made, name, getattr(forest, name))
        made.max_features_ = resolve_max_features(forest.max_features, forest.n_features_in_)
        made._block = block
        made._forest = (forest._binner, forest._unit, forest.categorical_features)
        return made

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Refuse: the tree is a part of a forest."""
        raise TypeError(
            "a tree of a forest is not fitted by itself: fit the forest, or a clone of the tree"
        )

    def __sklearn_clone__(self) -> Any:
        """A tree of scikit-learn with the same parameters."""
        plain: Any = type(self).__bases__[1]
        return plain(**self.get_params())  # type: ignore[attr-defined]

    @cached_property
    def _nodes(self) -> Nodes:
        return decode_forest(self._block)

    @cached_property
    def _weights(self) -> np.ndarray:
        """What training samples weigh in each node."""
        assert self._nodes.weight is not None
        return self._nodes.gather(self._nodes.weight)

    @cached_property
    def _values(self) -> np.ndarray:
        """Class distributions or means of each node, of shape (n_nodes, width)."""
        nodes, unit = self._nodes, self._forest[1]
        leaf = (nodes.left == LEAF)[:, None]
        value = self._leaf_values(np.where(leaf, nodes.value, 0) * unit)
        sums = nodes.gather(value * nodes.weight[:, None])  # type: ignore[index]
        return np.where(leaf, value, sums / self._weights[:, None])

    def _leaf_values(self, values: np.ndarray) -> np.ndarray:
        """What leaves predict, of what they hold; nodes with children have zeros."""
        return values

    def _of_nodes(self) -> np.ndarray:
        """The same as scikit-learn has it, of shape (n_nodes, n_outputs, most classes)."""
        raise NotImplementedError

    def _impurities(self) -> np.ndarray:
        """Of each node, by the criterion."""
        raise NotImplementedError

    @cached_property
    def tree_(self) -> Any:
        """The arrays by nodes, an object of scikit-learn's own.

        `n_node_samples` counts a sample as often as a bootstrap drew it. Impurities of regression
        are what leaves differ by: how targets differ within a leaf is not kept. Of absolute errors
        they are NaN, and so are importances of the tree.

        Raises
        ------
        ValueError
            If a node splits categories into sets that no threshold on their codes divides: trees
            of scikit-learn have no such nodes. `mddf.explain.tree_arrays` has them.
        """
        values = np.ascontiguousarray(self._of_nodes())
        n_classes = np.broadcast_to(getattr(self, "n_classes_", 1), self.n_outputs_)
        made = Tree(
            self.n_features_in_,  # type: ignore[attr-defined]
            np.array(n_classes, np.intp),
            self.n_outputs_,
        )
        nodes = np.zeros(len(values), made.__getstate__()["nodes"].dtype)
        for name, column in self._columns().items():
            nodes[name] = column
        depth = len(self._nodes.levels)
        made.__setstate__(
            {"max_depth": depth, "node_count": len(values), "nodes": nodes, "values": values}
        )
        return made

    def _columns(self) -> dict[str, np.ndarray]:
        """What nodes are, by the names that scikit-learn's have."""
        nodes, bins = self._nodes, self._forest[0].bins_
        leaf = nodes.left == LEAF
        left, right = nodes.left, nodes.left + 1
        threshold, missing_left = thresholds(nodes, bins), nodes.missing_left.copy()
        for node, codes in nodes.sets.items():
            highest, swapped = _as_threshold(codes, bins, nodes.column[node])
            if highest is None:
                raise ValueError(
                    "trees of scikit-learn cannot split categories into any sets: expected sets "
                    "of the first or of the last codes, got the codes "
                    f"{codes.tolist()} of column {nodes.column[node]} (mddf.explain has "
                    "tree_arrays and shap_values for all trees)"
                )
            threshold[node] = highest
            if swapped:
                left, right = left.copy(), right.copy()
                left[node], right[node] = right[node], left[node]
                missing_left[node] ^= True
        return {
            "left_child": np.where(leaf, LEAF, left),
            "right_child": np.where(leaf, LEAF, right),
            "feature": np.where(leaf, _UNDEFINED, nodes.column),
            "threshold": np.where(leaf, _UNDEFINED, threshold),
            "impurity": self._impurities(),
            "n_node_samples": np.maximum(1, np.rint(self._weights)),
            "weighted_n_node_samples": self._weights,
            "missing_go_to_left": missing_left & ~leaf,
        }

    def apply(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The leaf that each sample ends in, as a node of `tree_`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        ndarray of int64 of shape (n_samples,)
        """
        binner, _, categories = self._forest
        table = read_table(self, X, reset=False, categorical_features=categories)
        codes = binner.transform(table)
        return self._nodes.leaves(predictor.leaf_indices([self._block], codes))[:, 0]

    def decision_path(self, X: Any, check_input: bool = True) -> sparse.csr_matrix:
        """The nodes that each sample comes through.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where a sample comes through a node.
        """
        parent = self._nodes.parent
        steps = [self.apply(X)]
        while (steps[-1] != LEAF).any():
            steps.append(np.where(steps[-1] == LEAF, LEAF, parent[steps[-1]]))
        nodes = np.stack(steps[::-1], axis=1)
        there = nodes != LEAF
        start = np.concatenate([[0], there.sum(axis=1).cumsum()])
        found = nodes[there]
        shape = (len(nodes), len(parent))
        return sparse.csr_matrix((np.ones(len(found), np.int64), found, start), shape=shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def _as_threshold(codes: np.ndarray, bins: Any, column: int) -> tuple[float | None, bool]:
    """The highest code that goes left, and whether the children change places; None if none."""
    n_codes = int(bins.start[column + 1] - bins.start[column])
    if np.array_equal(codes, np.arange(len(codes))):
        return len(codes) - 0.5, False
    if len(codes) and np.array_equal(codes, np.arange(codes[0], n_codes)):
        return codes[0] - 0.5, True
    return None, False


class _ClassifyingTree(ForestTree):
    classes_: Any
    n_classes_: Any
    _class_columns: list[int] | None

    def _leaf_values(self, values: np.ndarray) -> np.ndarray:
        if self._class_columns is not None:
            return values
        # Shares are kept in single precision, and sum to 1 but for that.
        totals = values.sum(axis=1, keepdims=True)
        return np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)

    @cached_property
    def _shares(self) -> list[np.ndarray]:
        """Class shares of each node, by output."""
        if self._class_columns is None:
            return [self._values]
        return shares_by_output(self._values, self.n_classes_, self._class_columns)

    def _of_nodes(self) -> np.ndarray:
        each = self._shares
        found = np.zeros((len(self._values), len(each), max(part.shape[1] for part in each)))
        for j, part in enumerate(each):
            found[:, j, : part.shape[1]] = part
        return found

    def _impurities(self) -> np.ndarray:
        return np.mean([self._impurity(part) for part in self._shares], axis=0)

    def _impurity(self, shares: np.ndarray) -> np.ndarray:
        if self.criterion == "gini":
            return np.maximum(0, 1 - np.square(shares).sum(axis=1))
        bits = log(np.where(shares > 0, shares, 1)) / log(2)
        return np.maximum(0, -(shares * bits).sum(axis=1))

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Class distribution of the leaf that each sample ends in; a list of several outputs."""
        leaves = self.apply(X)
        found = [part[leaves] for part in self._shares]
        return found[0] if self._class_columns is None else found

    def predict(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The class of the largest share in the leaf that each sample ends in."""
        found = self.predict_proba(X)
        if self._class_columns is None:
            return self.classes_[found.argmax(axis=1)]
        return named_classes(self.classes_, [part.argmax(axis=1) for part in found])


class _RegressingTree(ForestTree):
    def _of_nodes(self) -> np.ndarray:
        return self._values[:, :, None]

    def _impurities(self) -> np.ndarray:
        nodes, means = self._nodes, self._values
        assert nodes.weight is not None  # 0 but in leaves
        weight, total = nodes.weight[:, None], self._weights[:, None]
        if self.criterion == "absolute_error":  # of leaves, it does not add up to that of nodes
            return np.full(len(means), np.nan)
        if self.criterion == "poisson":
            logs = log(np.where(means > 0, means, 1))
            terms = nodes.gather(weight * means * logs) / total
            return np.maximum(0, terms - means * logs).mean(axis=1)
        away = means - means[0]
        squares = nodes.gather(weight * away**2)
        return np.maximum(0, squares / total - away**2).mean(axis=1)

    def predict(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The mean target of the leaf that each sample ends in."""
        found = self._values[self.apply(X)]
        return found[:, 0] if self.n_outputs_ == 1 else found


class RandomTreeClassifier(_ClassifyingTree, DecisionTreeClassifier):
    """A tree of a `RandomForestClassifier`."""


class CompletelyRandomTreeClassifier(_ClassifyingTree, ExtraTreeClassifier):
    """A tree of a `CompletelyRandomForestClassifier`."""


class RandomTreeRegressor(_RegressingTree, DecisionTreeRegressor):
    """A tree of a `RandomForestRegressor`."""


class CompletelyRandomTreeRegressor(_RegressingTree, ExtraTreeRegressor):
    """A tree of a `CompletelyRandomForestRegressor`."""
