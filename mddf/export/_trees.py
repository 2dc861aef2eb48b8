"""Trees as the operator TreeEnsemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mddf._binning.bins import Bins
from mddf._trees.arrays import TreeBlock, Trees
from mddf._trees.decoding import thresholds
from mddf._trees.nodes import LEAF, Nodes
from mddf.explain._decoding import decode

from ._graph import IR_VERSION_OF_SETS, ML, Graph

_LEQ, _MEMBER = 0, 6
# A member of all sets that no cell is. onnxruntime looks cells up in sets with a member above 30.
# Of others it makes chains of questions: 1.23 copies what is below a set for each of its members,
# and 1.31 makes one of two chains that follow each other if what they lead to looks alike.
_NO_CODE = 1000.0


def add_trees(graph: Graph, X: str, blocks: Sequence[TreeBlock], bins: Bins) -> str:
    """Append an operator that sums the class distributions, or the means, of trees.

    A leaf of the operator has the probability of one class. So a tree whose leaves have more is
    there several times: first with the first class of each leaf, then with the second, and so on,
    without the branches in which no leaf has that many.

    Parameters
    ----------
    graph : Graph
    X : str
        Value of shape (n_rows, n_columns), in double precision: numbers, codes of categories, NaN
        where missing.
    blocks : sequence of Trees or of ValueTrees
    bins : Bins
        Of the columns.

    Returns
    -------
    str
        Value of shape (n_rows, n_classes) or (n_rows, n_outputs).
    """
    table = TreeTable()
    for block in blocks:
        nodes = decode(block)
        if isinstance(block, Trees):
            table.add(nodes, bins)
        else:
            table.add_means(nodes, bins)
    return table.operator(graph, X, nodes.value.shape[1])


class TreeTable:
    """The operator's attributes: columns of inner nodes and of leaves, for all trees."""

    def __init__(self) -> None:
        self.parts: list[dict[str, np.ndarray]] = []
        self.members: list[np.ndarray] = []
        self.n_inner = self.n_leaves = 0

    def add(self, nodes: Nodes, bins: Bins) -> None:
        """Append all trees of a block, once for each rank that a leaf's classes have."""
        leaf = nodes.left == LEAF
        split = thresholds(nodes, bins)
        by_rank = np.argsort(nodes.value == 0, axis=1, kind="stable")
        for rank in range(int((nodes.value > 0).sum(axis=1).max())):
            target = by_rank[:, rank]
            weight = np.where(leaf, nodes.value[np.arange(len(leaf)), target], 0)
            self.add_once(nodes, split, target, weight)

    def add_means(self, nodes: Nodes, bins: Bins) -> None:
        """Append all trees of a block, once for each output."""
        leaf, split = nodes.left == LEAF, thresholds(nodes, bins)
        for output, value in enumerate(nodes.value.T):
            self.add_once(nodes, split, np.full(len(leaf), output), np.where(leaf, value, 0))

    def add_once(self, nodes: Nodes, split: np.ndarray, target: np.ndarray, weight: Any) -> None:
        """Append the trees of a block, without the branches whose leaves all weigh nothing.

        Parameters
        ----------
        nodes : Nodes
        split : ndarray of float of shape (n_nodes,)
            Values up to it go left; NaN where there is a set, or nothing goes left.
        target : ndarray of int of shape (n_nodes,)
            Of the leaves: what they add to.
        weight : ndarray of float of shape (n_nodes,)
            What they add.
        """
        leaf = nodes.left == LEAF
        needed = nodes.gather((leaf & (weight != 0)).astype(int)) > 0
        is_inner = needed & ~leaf
        roots = nodes.start[:-1][needed[nodes.start[:-1]]]
        reached = _reached(nodes, is_inner, roots)
        leaves = np.flatnonzero(reached & ~is_inner)
        first_leaf, first = self.n_leaves, self.n_inner
        target, weight = target[leaves], np.where(leaf, weight, 0)[leaves]
        place = np.full(len(leaf), -1)
        place[leaves] = self._add_leaves(target, weight)
        part = self._add_inner(nodes, split, np.flatnonzero(reached & is_inner), place)
        branching = place[roots[~leaf[roots]]]
        # Up to 1.23, onnxruntime takes a root for a leaf if its children have one number, be it
        # that of a leaf and that of an inner node. A copy of the leaf has a number of its own.
        true, false = part["nodes_truenodeids"], part["nodes_falsenodeids"]
        at = branching - first
        at = at[true[at] == false[at]]
        copied = true[at] - first_leaf
        copies = self._add_leaves(target[copied], weight[copied])
        is_true = part["nodes_trueleafs"][at]
        true[at[is_true]], false[at[~is_true]] = copies[is_true], copies[~is_true]
        alone = self._add_questions(place[roots[leaf[roots]]])
        self.parts += [{"tree_roots": alone}, {"tree_roots": branching}]

    def _add_leaves(self, target: np.ndarray, weight: Any) -> np.ndarray:
        self.parts.append({"leaf_targetids": target, "leaf_weights": weight})
        self.n_leaves += len(target)
        return self.n_leaves - len(target) + np.arange(len(target))

    def _add_inner(
        self, nodes: Nodes, split: np.ndarray, inner: np.ndarray, place: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Append inner nodes; `place` has their leaves' places, and gets those of the nodes."""
        is_leaf = place != -1
        place[inner] = self.n_inner + np.arange(len(inner))
        self.n_inner += len(inner)
        by_set = np.zeros(len(place), bool)
        by_set[[node for node in inner if len(nodes.sets.get(node, ()))]] = True
        values = np.where(by_set, 0, split)
        values[np.isnan(values)] = -np.inf  # an empty set sends nothing left
        sets = [nodes.sets[node] for node in inner[by_set[inner]]]
        self.members += [np.append(codes.astype(float), [_NO_CODE, np.nan]) for codes in sets]
        left, right = nodes.left[inner], nodes.left[inner] + 1
        part = {
            "nodes_featureids": nodes.column[inner],
            "nodes_modes": np.where(by_set, _MEMBER, _LEQ)[inner],
            "nodes_splits": values[inner],
            "nodes_missing_value_tracks_true": nodes.missing_left[inner],
            "nodes_truenodeids": place[left],
            "nodes_trueleafs": is_leaf[left],
            "nodes_falsenodeids": place[right],
            "nodes_falseleafs": is_leaf[right],
        }
        self.parts.append(part)
        return part

    def _add_questions(self, leaves: np.ndarray) -> np.ndarray:
        """Append nodes that send all rows to leaves, as a tree has to ask something; their places.

        The other way is a leaf of its own: onnxruntime up to 1.29 misreads a root whose children
        are the same leaf.
        """
        n, none = len(leaves), np.zeros(len(leaves), int)
        never = self._add_leaves(none, none.astype(float))
        self.parts.append(
            {
                "nodes_featureids": none,
                "nodes_modes": none + _LEQ,
                "nodes_splits": none + np.inf,
                "nodes_missing_value_tracks_true": none + 1,
                "nodes_truenodeids": leaves,
                "nodes_trueleafs": none + 1,
                "nodes_falsenodeids": never,
                "nodes_falseleafs": none + 1,
            }
        )
        self.n_inner += n
        return self.n_inner - n + np.arange(n)

    def operator(self, graph: Graph, X: str, n_targets: int) -> str:
        """Append the operator that sums what the leaves add, shape (n_rows, n_targets)."""
        if not self.n_inner:  # all leaves weigh nothing
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

    def _attributes(self, graph: Graph) -> dict[str, Any]:
        """All columns, as the operator wants them."""
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


def _reached(nodes: Nodes, is_inner: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Which nodes are left when those below nodes that are not inner any more are cut off."""
    reached = np.zeros(len(is_inner), bool)
    level = roots
    while len(level):
        reached[level] = True
        level = level[is_inner[level]]
        level = np.concatenate([nodes.left[level], nodes.left[level] + 1])
    return reached
