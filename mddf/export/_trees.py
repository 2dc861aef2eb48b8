"""Trees as the operator TreeEnsemble."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mddf._binning.bins import Bins
from mddf._gradient.decoding import decode
from mddf._gradient.trees import BoostedTrees
from mddf._trees.arrays import TreeBlock, Trees
from mddf._trees.decoding import thresholds
from mddf._trees.nodes import LEAF, Nodes

from ._graph import IR_VERSION_OF_SETS, ML, Attribute, Graph

# Values of the operator's attribute nodes_modes.
_LESS_OR_EQUAL = 0
_MEMBER_OF_SET = 6
# A code that no cell has, appended to all sets of categories. onnxruntime looks cells up in sets
# that have a member above 30. It expands other sets into chains of comparisons: version 1.23
# copies the subtree below a set for each member, and 1.31 joins two consecutive chains into one
# if the subtrees below them look alike.
_UNUSED_CODE = 1000.0


def add_trees(graph: Graph, X: str, blocks: Sequence[TreeBlock | BoostedTrees], bins: Bins) -> str:
    """Append an operator that sums the class distributions, or the means, of trees.

    `X` has numbers, codes of categories, and NaN where missing. A leaf of the operator has the
    probability of one class. A tree whose leaves have several classes is therefore written several
    times: first with the first class of each leaf, then with the second, and so on, without the
    branches in which no leaf has that many.
    """
    table = TreeTable()
    for block in blocks:
        nodes = decode(block)
        if isinstance(block, Trees):
            table.add_distributions(nodes, bins)
        else:
            table.add_means(nodes, bins)
    return table.operator(graph, X, nodes.value.shape[1])


class TreeTable:
    """The operator's attributes: columns of inner nodes and of leaves, for all trees."""

    def __init__(self) -> None:
        # Consecutive parts of the columns, by the attributes' names.
        self.parts: list[dict[str, np.ndarray]] = []
        # The operator's column of set members: for each set its codes and a final NaN.
        self.members: list[np.ndarray] = []
        self.n_inner = 0
        self.n_leaves = 0

    def add_distributions(self, nodes: Nodes, bins: Bins) -> None:
        """Append the trees of a block once for each rank that the classes of a leaf can have."""
        leaf = nodes.left == LEAF
        threshold = thresholds(nodes, bins)
        by_rank = np.argsort(nodes.value == 0, axis=1, kind="stable")
        for rank in range(int((nodes.value > 0).sum(axis=1).max())):
            target = by_rank[:, rank]
            weight = np.where(leaf, nodes.value[np.arange(len(leaf)), target], 0)
            self.add_once(nodes, threshold, target, weight)

    def add_means(self, nodes: Nodes, bins: Bins) -> None:
        """Append the trees of a block once for each output."""
        leaf = nodes.left == LEAF
        threshold = thresholds(nodes, bins)
        for output, value in enumerate(nodes.value.T):
            target = np.full(len(leaf), output)
            self.add_once(nodes, threshold, target, np.where(leaf, value, 0))

    def add_once(
        self, nodes: Nodes, threshold: np.ndarray, target: np.ndarray, weight: np.ndarray
    ) -> None:
        """Append the trees of a block, without the branches whose leaves all add 0.

        Values up to `threshold` go left; it is NaN at splits of categories and where nothing goes
        left. Each leaf adds its `weight` to the column `target` of the result.
        """
        leaf = nodes.left == LEAF
        needed = nodes.gather((leaf & (weight != 0)).astype(int)) > 0
        is_inner = needed & ~leaf  # an inner node without needed leaves becomes a leaf of weight 0
        roots = nodes.start[:-1][needed[nodes.start[:-1]]]
        kept = _reachable(nodes, is_inner, roots)
        leaves = np.flatnonzero(kept & ~is_inner)
        first_leaf = self.n_leaves
        first_inner = self.n_inner
        leaf_target = target[leaves]
        leaf_weight = np.where(leaf, weight, 0)[leaves]
        place = np.full(len(leaf), -1)
        place[leaves] = self._add_leaves(leaf_target, leaf_weight)
        part = self._add_inner(nodes, threshold, np.flatnonzero(kept & is_inner), place)
        # onnxruntime up to 1.23 takes a root for a leaf if its two children have the same number,
        # even if one is a leaf and the other an inner node. A copy of the leaf gets a new number.
        true_child = part["nodes_truenodeids"]
        false_child = part["nodes_falsenodeids"]
        branching_roots = place[roots[~leaf[roots]]]
        at = branching_roots - first_inner
        at = at[true_child[at] == false_child[at]]
        copied = true_child[at] - first_leaf
        copies = self._add_leaves(leaf_target[copied], leaf_weight[copied])
        is_true = part["nodes_trueleafs"][at]
        true_child[at[is_true]] = copies[is_true]
        false_child[at[~is_true]] = copies[~is_true]
        stump_roots = self._add_stumps(place[roots[leaf[roots]]])
        self.parts += [{"tree_roots": stump_roots}, {"tree_roots": branching_roots}]

    def _add_leaves(self, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Append leaves and return their places."""
        self.parts.append({"leaf_targetids": target, "leaf_weights": weight})
        self.n_leaves += len(target)
        return self.n_leaves - len(target) + np.arange(len(target))

    def _add_inner(
        self, nodes: Nodes, threshold: np.ndarray, inner: np.ndarray, place: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Append inner nodes; `place` has the places of leaves and receives the nodes' places."""
        is_leaf = place != -1
        place[inner] = self.n_inner + np.arange(len(inner))
        self.n_inner += len(inner)
        by_set = np.zeros(len(place), bool)
        by_set[[node for node in inner if len(nodes.sets.get(node, ()))]] = True
        values = np.where(by_set, 0, threshold)
        values[np.isnan(values)] = -np.inf  # an empty set sends nothing left
        sets = [nodes.sets[node] for node in inner[by_set[inner]]]
        self.members += [np.append(codes.astype(float), [_UNUSED_CODE, np.nan]) for codes in sets]
        left = nodes.left[inner]
        right = left + 1
        part = {
            "nodes_featureids": nodes.column[inner],
            "nodes_modes": np.where(by_set, _MEMBER_OF_SET, _LESS_OR_EQUAL)[inner],
            "nodes_splits": values[inner],
            "nodes_missing_value_tracks_true": nodes.missing_left[inner],
            "nodes_truenodeids": place[left],
            "nodes_trueleafs": is_leaf[left],
            "nodes_falsenodeids": place[right],
            "nodes_falseleafs": is_leaf[right],
        }
        self.parts.append(part)
        return part

    def _add_stumps(self, leaves: np.ndarray) -> np.ndarray:
        """Append a root above each single leaf, since the operator has no trees of one leaf.

        All rows go to the leaf. The other child is a leaf that no row reaches: onnxruntime up to
        1.29 misreads a root whose children are the same leaf.
        """
        n_stumps = len(leaves)
        zeros = np.zeros(n_stumps, int)
        unreached = self._add_leaves(zeros, zeros.astype(float))
        self.parts.append(
            {
                "nodes_featureids": zeros,
                "nodes_modes": zeros + _LESS_OR_EQUAL,
                "nodes_splits": zeros + np.inf,
                "nodes_missing_value_tracks_true": zeros + 1,
                "nodes_truenodeids": leaves,
                "nodes_trueleafs": zeros + 1,
                "nodes_falsenodeids": unreached,
                "nodes_falseleafs": zeros + 1,
            }
        )
        self.n_inner += n_stumps
        return self.n_inner - n_stumps + np.arange(n_stumps)

    def operator(self, graph: Graph, X: str, n_targets: int) -> str:
        """Append the operator that sums the leaves' weights, shape (n_rows, n_targets)."""
        if not self.n_inner:  # all leaves have weight 0
            return graph.repeat(np.zeros(n_targets), X)
        if self.members:
            graph.ir_version = IR_VERSION_OF_SETS
        return graph.add(
            "TreeEnsemble",
            X,
            domain=ML,
            n_targets=n_targets,
            aggregate_function=1,  # the sum
            post_transform=0,
            **self._attributes(graph),
        )

    def _attributes(self, graph: Graph) -> dict[str, Attribute]:
        """Join the parts of all columns, in the types of the operator."""
        columns: dict[str, list[np.ndarray]] = {}
        for part in self.parts:
            for name, values in part.items():
                columns.setdefault(name, []).append(values)
        joined = {name: np.concatenate(values) for name, values in columns.items()}
        tensors = {
            "nodes_modes": joined.pop("nodes_modes").astype(np.uint8),
            "nodes_splits": joined.pop("nodes_splits").astype(float),
            "leaf_weights": joined.pop("leaf_weights").astype(float),
        }
        if self.members:
            tensors["membership_values"] = np.concatenate(self.members)
        return {
            **{name: column.astype(int).tolist() for name, column in joined.items()},
            **{name: graph.tensor(column) for name, column in tensors.items()},
        }


def _reachable(nodes: Nodes, is_inner: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Mark the nodes that remain if everything below nodes outside `is_inner` is cut off."""
    reachable = np.zeros(len(is_inner), bool)
    level = roots
    while len(level):
        reachable[level] = True
        level = level[is_inner[level]]
        level = np.concatenate([nodes.left[level], nodes.left[level] + 1])
    return reachable
