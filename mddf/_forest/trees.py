"""Single trees of a forest, in the form of scikit-learn's trees."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.tree._tree import Tree
from sklearn.utils import Tags

from mddf._base.elementary import log
from mddf._base.types import TableLike
from mddf._base.validation import resolve_max_features
from mddf._input.date_columns import DATES
from mddf._input.reading import read_table
from mddf._targets.class_outputs import decode_labels, shares_by_output
from mddf._trees import predictor
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import decode_forest, thresholds
from mddf._trees.nodes import LEAF, Nodes

if TYPE_CHECKING:
    from mddf._binning.binner import Binner
    from mddf._binning.bins import Bins

# Fitted attributes that a tree has in common with its forest.
_SHARED_ATTRIBUTES = (
    "n_features_in_",
    "feature_names_in_",
    DATES,
    "n_outputs_",
    "classes_",
    "n_classes_",
    "_class_columns",
)
# Column and threshold of a leaf in scikit-learn's trees.
_UNDEFINED = -2


class ForestTree:
    """Base class of the trees for classification and for regression.

    Subclasses list this class before the corresponding class of scikit-learn. Predictions use the
    bins of the forest, so that categories, missing values and numbers in double precision end in
    the same leaves as in the forest. The arrays in `tree_`, which functions of scikit-learn read,
    are created at the first access.
    """

    _block: TreeBlock
    _binner: Binner
    _unit: float | np.ndarray  # leaves hold multiples of it
    _categorical_features: npt.ArrayLike | None
    n_outputs_: int
    criterion: str

    @classmethod
    def from_forest(cls, forest: BaseEstimator, block: TreeBlock) -> Self:
        """Make a tree from a forest and a block with a single tree."""
        tree: Any = cls()
        parameters = forest.get_params(deep=False)
        shared = {name: parameters[name] for name in tree.get_params() if name in parameters}
        tree.set_params(**shared | {"random_state": None})
        for name in _SHARED_ATTRIBUTES:
            if hasattr(forest, name):
                setattr(tree, name, getattr(forest, name))
        tree.max_features_ = resolve_max_features(forest.max_features, block.n_columns)
        tree._block = block
        tree._binner = forest._binner
        tree._unit = forest._fitted.members[0].unit
        tree._categorical_features = forest.categorical_features
        return tree

    def fit(
        self,
        X: TableLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Raise TypeError: the tree is a part of a forest."""
        raise TypeError(
            "a tree of a forest is not fitted by itself: fit the forest, or a clone of the tree"
        )

    def __sklearn_clone__(self) -> BaseEstimator:
        """Return a tree of scikit-learn with the same parameters, which can be fitted."""
        sklearn_class = type(self).__bases__[1]
        return sklearn_class(**self.get_params())  # type: ignore[attr-defined]

    @cached_property
    def _nodes(self) -> Nodes:
        return decode_forest(self._block)

    @cached_property
    def _weights(self) -> np.ndarray:
        """Total weight of the training samples in each node."""
        assert self._nodes.weight is not None
        return self._nodes.gather(self._nodes.weight)

    @cached_property
    def _values(self) -> np.ndarray:
        """Class distributions or means of each node, of shape (n_nodes, width)."""
        nodes = self._nodes
        assert nodes.weight is not None
        is_leaf = (nodes.left == LEAF)[:, None]
        value = self._leaf_values(np.where(is_leaf, nodes.value, 0) * self._unit)
        sums = nodes.gather(value * nodes.weight[:, None])
        return np.where(is_leaf, value, sums / self._weights[:, None])

    def _leaf_values(self, values: np.ndarray) -> np.ndarray:
        """Convert the values in leaves to predictions; inner nodes have zeros."""
        return values

    def _sklearn_values(self) -> np.ndarray:
        """Values of the nodes in scikit-learn's shape, (n_nodes, n_outputs, max n_classes)."""
        raise NotImplementedError

    def _impurities(self) -> np.ndarray:
        """Impurity of each node by the criterion."""
        raise NotImplementedError

    @cached_property
    def tree_(self) -> Tree:
        """The tree's nodes as scikit-learn's object with arrays.

        `n_node_samples` counts a sample as often as the bootstrap drew it. The impurities of a
        regression tree are the scatter of its leaves' values, because the scatter of targets
        within leaves is not stored. With absolute errors the impurities are NaN, and so are the
        tree's importances.

        Raises
        ------
        ValueError
            If a node splits categories into sets that no threshold on their codes divides. Trees
            of scikit-learn have no such nodes; `mddf.explain.tree_arrays` returns them.
        """
        values = np.ascontiguousarray(self._sklearn_values())
        n_classes = np.broadcast_to(getattr(self, "n_classes_", 1), self.n_outputs_)
        tree = Tree(
            self._block.n_columns,
            np.array(n_classes, np.intp),
            self.n_outputs_,
        )
        nodes = np.zeros(len(values), tree.__getstate__()["nodes"].dtype)
        for name, node_values in self._sklearn_fields().items():
            nodes[name] = node_values
        depth = len(self._nodes.levels)
        tree.__setstate__(
            {"max_depth": depth, "node_count": len(values), "nodes": nodes, "values": values}
        )
        return tree

    def _sklearn_fields(self) -> dict[str, np.ndarray]:
        """Nodes by the names of the fields in scikit-learn's array of nodes."""
        nodes = self._nodes
        bins = self._binner.bins_
        leaf = nodes.left == LEAF
        left = nodes.left.copy()
        right = nodes.left + 1
        threshold = thresholds(nodes, bins)
        missing_left = nodes.missing_left.copy()
        for node, codes in nodes.sets.items():
            split = _threshold_on_codes(codes, bins, nodes.column[node])
            if split is None:
                raise ValueError(
                    "trees of scikit-learn cannot split categories into any sets: expected sets "
                    "of the first or of the last codes, got the codes "
                    f"{codes.tolist()} of column {nodes.column[node]} (mddf.explain has "
                    "tree_arrays and shap_values for all trees)"
                )
            threshold[node], swaps_children = split
            if swaps_children:
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

    def apply(self, X: TableLike, check_input: bool = True) -> np.ndarray:
        """Return the leaf of each sample, as a node of `tree_`; `check_input` is ignored."""
        table = read_table(self, X, reset=False, categorical_features=self._categorical_features)
        codes = self._binner.encode(table).codes
        return self._nodes.leaves(predictor.forest_leaves([self._block], codes))[:, 0]

    def decision_path(self, X: TableLike, check_input: bool = True) -> sparse.csr_matrix:
        """Mark the nodes that each sample passes; `check_input` is ignored."""
        parent = self._nodes.parent
        # Paths are followed from the leaves upwards. After the root, they continue with LEAF.
        steps = [self.apply(X)]
        while (steps[-1] != LEAF).any():
            steps.append(np.where(steps[-1] == LEAF, LEAF, parent[steps[-1]]))
        paths = np.stack(steps[::-1], axis=1)
        is_node = paths != LEAF
        row_start = np.concatenate([[0], is_node.sum(axis=1).cumsum()])
        nodes = paths[is_node]
        shape = (len(paths), len(parent))
        ones = np.ones(len(nodes), np.int64)
        return sparse.csr_matrix((ones, nodes, row_start), shape=shape)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _threshold_on_codes(codes: np.ndarray, bins: Bins, column: int) -> tuple[float, bool] | None:
    """Find a threshold that splits a set of codes from the others; None if there is none.

    Also returns whether the children are swapped, since the set has the last codes.
    """
    n_codes = int(bins.start[column + 1] - bins.start[column])
    if np.array_equal(codes, np.arange(len(codes))):
        return len(codes) - 0.5, False
    if len(codes) and np.array_equal(codes, np.arange(codes[0], n_codes)):
        return codes[0] - 0.5, True
    return None


class _ClassificationTree(ForestTree):
    classes_: np.ndarray | list[np.ndarray]
    n_classes_: int | list[int]
    _class_columns: list[int] | None

    def _leaf_values(self, values: np.ndarray) -> np.ndarray:
        if self._class_columns is not None:
            return values
        # Leaves hold shares in single precision, whose sums differ a little from 1.
        totals = values.sum(axis=1, keepdims=True)
        return np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)

    @cached_property
    def _shares(self) -> list[np.ndarray]:
        """Class shares of each node, by output."""
        if self._class_columns is None:
            return [self._values]
        assert isinstance(self.n_classes_, list)
        return shares_by_output(self._values, self.n_classes_, self._class_columns)

    def _sklearn_values(self) -> np.ndarray:
        most_classes = max(shares.shape[1] for shares in self._shares)
        values = np.zeros((len(self._values), len(self._shares), most_classes))
        for j, shares in enumerate(self._shares):
            values[:, j, : shares.shape[1]] = shares
        return values

    def _impurities(self) -> np.ndarray:
        return np.mean([self._impurity(shares) for shares in self._shares], axis=0)

    def _impurity(self, shares: np.ndarray) -> np.ndarray:
        if self.criterion == "gini":
            return np.maximum(0, 1 - np.square(shares).sum(axis=1))
        bits = log(np.where(shares > 0, shares, 1)) / log(2)
        return np.maximum(0, -(shares * bits).sum(axis=1))

    def predict_proba(
        self, X: TableLike, check_input: bool = True
    ) -> np.ndarray | list[np.ndarray]:
        """Return the class distribution of each sample's leaf; a list for several outputs."""
        leaves = self.apply(X)
        probabilities = [shares[leaves] for shares in self._shares]
        return probabilities[0] if self._class_columns is None else probabilities

    def predict(self, X: TableLike, check_input: bool = True) -> np.ndarray:
        """Return the class with the largest share in each sample's leaf."""
        probabilities = self.predict_proba(X)
        if isinstance(self.classes_, list):
            return decode_labels(self.classes_, [p.argmax(axis=1) for p in probabilities])
        return self.classes_[np.argmax(probabilities, axis=1)]


class _RegressionTree(ForestTree):
    def _sklearn_values(self) -> np.ndarray:
        return self._values[:, :, None]

    def _impurities(self) -> np.ndarray:
        nodes = self._nodes
        means = self._values
        # Absolute errors of nodes do not follow from the errors of their leaves.
        if self.criterion == "absolute_error":
            return np.full(len(means), np.nan)
        assert nodes.weight is not None
        leaf_weight = nodes.weight[:, None]
        total_weight = self._weights[:, None]
        if self.criterion == "poisson":
            logs = log(np.where(means > 0, means, 1))
            terms = nodes.gather(leaf_weight * means * logs) / total_weight
            return np.maximum(0, terms - means * logs).mean(axis=1)
        # Deviations from the root's mean, so that squares do not cancel where means are large.
        deviations = means - means[0]
        squares = nodes.gather(leaf_weight * deviations**2)
        return np.maximum(0, squares / total_weight - deviations**2).mean(axis=1)

    def predict(self, X: TableLike, check_input: bool = True) -> np.ndarray:
        """Return the mean target in each sample's leaf."""
        predictions = self._values[self.apply(X)]
        return predictions[:, 0] if self.n_outputs_ == 1 else predictions


class RandomTreeClassifier(_ClassificationTree, DecisionTreeClassifier):
    """A tree of a `RandomForestClassifier`."""


class CompletelyRandomTreeClassifier(_ClassificationTree, ExtraTreeClassifier):
    """A tree of a `CompletelyRandomForestClassifier`."""


class RandomTreeRegressor(_RegressionTree, DecisionTreeRegressor):
    """A tree of a `RandomForestRegressor`."""


class CompletelyRandomTreeRegressor(_RegressionTree, ExtraTreeRegressor):
    """A tree of a `CompletelyRandomForestRegressor`."""
