"""Small random problems for the forest engine, and the checks that every grown tree must pass."""

from dataclasses import dataclass, replace

import naive
import numpy as np
import pytest
from compiled import _core
from sklearn.datasets import make_classification
from sklearn_checks import WEIGHT_CHECKS

from mddf import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._binning.binned_table import BinnedTable, empty_codes, spare_bins
from mddf._binning.bins import apply_bins, find_bins, join_bins
from mddf._trees.arrays import Trees, trees_from_reader  # noqa: F401
from mddf._trees.decoding import decode_forest, leaf_weights  # noqa: F401

FORESTS = [RandomForestClassifier, CompletelyRandomForestClassifier]

# A sample may be drawn by each of some trees.
few_trees = pytest.mark.filterwarnings(
    r"ignore:\d+ of \d+ samples have no out-of-bag prediction:UserWarning"
)

NO_LIMIT = 2**31 - 1
OUT_OF_BAG = _core.HeldOut.OUT_OF_BAG
SAMPLING = {"n_draws", "cumulative", "weights", "balance", "parts", "whole_parts"}
ASKED = {"held_out", "importances"}


def codes_of(forest, X):
    """The codes of the rows of X that the trees of a forest use."""
    return forest._fitted.encode(forest._read_new_rows(X), None).all_rows().codes


@dataclass
class Case:
    codes: np.ndarray
    values: np.ndarray
    start: np.ndarray
    categorical: np.ndarray
    labels: np.ndarray
    n_classes: int
    weights: np.ndarray | None = None

    @property
    def n_rows(self):
        return len(self.codes)

    @property
    def n_columns(self):
        return self.codes.shape[1]

    @property
    def rows(self):
        return np.arange(self.n_rows, dtype=np.int32)

    def given_weights(self, rows=None):
        """Weights of all rows of the table in a tree, for the twin."""
        counts = np.bincount(self.rows if rows is None else rows, minlength=self.n_rows)
        return counts * (1.0 if self.weights is None else self.weights)

    def table(self, by_column=None):
        return _core.BinnedTable(self.codes, by_column, self.values, self.start, self.categorical)

    def target(self):
        return _core.ClassTarget(self.labels, self.n_classes)

    def grow(self, seeds=(1,), **options):
        """Grow trees without other results."""
        return self.grow_all(seeds, **options)[0]

    def grow_all(self, seeds=(1,), rows=None, columns=None, by_column=None, **options):
        """Trees, sums and numbers of trees of held-out rows, and importances."""
        options = {"max_features": self.n_columns, "weights": self.weights} | options
        python_options = {name: options.pop(name) for name in ASKED & options.keys()}
        sampling = {name: options.pop(name) for name in SAMPLING & options.keys()}
        reader, *grown = _core.grow(
            self.table(by_column),
            self.target(),
            _core.Sampling(self.rows if rows is None else rows, **sampling),
            _core.TreeOptions(**options),
            np.asarray(seeds, np.uint64),
            columns=columns,
            **python_options,
        )
        return trees_from_reader(reader), *grown

    def take(self, rows):
        """A copy of the case with these rows."""
        return replace(
            self,
            codes=np.ascontiguousarray(self.codes[rows]),
            labels=self.labels[rows],
            weights=None if self.weights is None else self.weights[rows],
        )


def dyadic_weights(rng, n):
    """Weights with exact sums, some of them zero."""
    weights = rng.integers(0, 17, n) / 8
    weights[rng.integers(n)] = 1
    return weights


def make_case(
    rng,
    n_rows=None,
    n_columns=None,
    n_classes=None,
    n_bins=None,
    missing=0.0,
    categories=0.0,
    weighted=False,
):
    """A random problem whose labels depend on the first columns."""
    n = int(rng.integers(2, 41)) if n_rows is None else n_rows
    p = int(rng.integers(1, 6)) if n_columns is None else n_columns
    k = int(rng.integers(2, 6)) if n_classes is None else n_classes
    most = int(rng.choice([2, 4, 9])) if n_bins is None else n_bins
    counts = rng.integers(1, most + 1, p)
    codes = (rng.random((n, p)) * counts).astype(np.uint8)
    signal = codes[:, 0] * 3 + codes[:, -1]
    labels = np.where(rng.random(n) < 0.6, signal % k, rng.integers(0, k, n))
    codes[rng.random((n, p)) < missing] = naive.MISSING
    values = np.concatenate([np.sort(rng.normal(size=c)) for c in counts])
    return Case(
        codes,
        values,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        (rng.random(p) < categories).astype(np.uint8),
        labels.astype(np.uint16),
        k,
        dyadic_weights(rng, n) if weighted else None,
    )


def same_trees(a, b):
    return all(
        np.array_equal(x, y) and np.asarray(x).dtype == np.asarray(y).dtype
        for x, y in zip(a.parts(), b.parts(), strict=True)
    )


def class_weights(case, node_rows, weights):
    return np.bincount(case.labels[node_rows], weights[node_rows], case.n_classes)


def check_leaf(node, node_rows, case, weights, exact):
    if exact:
        assert node.distribution == naive.leaf_distribution(
            class_weights(case, node_rows, weights)
        )
    shares = class_weights(case, node_rows, weights) / weights[node_rows].sum()
    for label, share in enumerate(shares):
        assert abs(node.distribution.get(label, 0) - share) < 2.0**-24


def check_directions(node, node_rows, left, case, weights):
    """Check that unseen values go to the heavier side; at ties to the right."""
    codes = case.codes[node_rows, node.column]
    larger_left = weights[node_rows[left]].sum() > weights[node_rows[~left]].sum()
    if not (codes == naive.MISSING).any():
        assert node.missing_left == larger_left
    if node.categorical:
        n_categories = case.start[node.column + 1] - case.start[node.column]
        for code in set(range(n_categories)) - set(codes.tolist()):
            assert node.goes_left(code) == larger_left


def check_tree(
    nodes,
    case,
    *,
    rows=None,
    weights=None,
    entropy=False,
    columns=None,
    best_split=True,
    exact=True,
    **limits,
):
    """Check splits, sides, leaves and limits of a tree.

    `best_split`: every split must be the best there is; otherwise there must be one wherever a
    split is possible. `exact`: the weights' sums have no rounding.
    """
    weights = case.given_weights(rows) if weights is None else weights
    rows = np.flatnonzero(weights > 0)
    columns = range(case.n_columns) if columns is None else columns
    max_depth = limits.get("max_depth", NO_LIMIT)
    min_split = limits.get("min_samples_split", 2)
    min_leaf = limits.get("min_samples_leaf", 1)
    min_weight = limits.get("min_weight_leaf", 0) * weights[rows].sum()
    limited = min_leaf > 1 or min_weight > 0

    def allow(n_left, n_right, weight_left, weight_right):
        return min(n_left, n_right) >= min_leaf and min(weight_left, weight_right) >= min_weight

    for node, node_rows, depth in naive.visit(nodes, case.codes, rows):
        assert len(node_rows) > 0
        assert depth <= max_depth
        labels = case.labels[node_rows]
        may_split = (
            depth < max_depth and len(node_rows) >= min_split and len(np.unique(labels)) > 1
        )
        best = -np.inf
        if may_split:
            best = max(
                naive.best_decrease(
                    case.codes[node_rows, c],
                    labels,
                    weights[node_rows],
                    case.n_classes,
                    bool(case.categorical[c]),
                    entropy,
                    allow if limited else None,
                )
                for c in columns
            )
        if node.is_leaf:
            assert best == -np.inf
            check_leaf(node, node_rows, case, weights, exact)
            continue
        assert node.column in columns
        left = np.array([node.goes_left(int(c)) for c in case.codes[node_rows, node.column]])
        sides = [class_weights(case, node_rows[side], weights) for side in (left, ~left)]
        assert allow(left.sum(), (~left).sum(), sides[0].sum(), sides[1].sum())
        if best_split:
            reached = naive.decrease(*sides, entropy)
            assert reached >= best - 1e-9 * max(1, weights[node_rows].sum()), (reached, best)
        if exact:
            check_directions(node, node_rows, left, case, weights)


def three_classes():
    """A table with few missing values, and its labels."""
    X, y = make_classification(
        300, 8, n_informative=5, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    X[np.random.default_rng(0).random(X.shape) < 0.03] = np.nan
    return X, y


def same_predictions(a, b, X):
    return np.array_equal(a.predict_proba(X), b.predict_proba(X))


def kernel_case():
    """A small case with valid arguments of the kernel."""
    return make_case(np.random.default_rng(0), 20, 3, 3, 9, missing=0.1)


def bin_table(X, bins=None, *, n_spare=0, n_jobs=None):
    """A coded array for growing trees, with the passed bins or its own."""
    bins = find_bins(X) if bins is None else bins
    codes, by_column = empty_codes(len(X), bins.n_columns + n_spare)
    apply_bins(X, bins, out=codes, by_column=by_column, n_jobs=n_jobs)
    return BinnedTable(join_bins(bins, spare_bins(n_spare)), codes, by_column)


def draws_rows(forest):
    """Checks that forests fail if they draw as many rows as the table has."""
    if not forest.bootstrap or isinstance(forest.max_samples, float):
        return {}
    return dict.fromkeys(WEIGHT_CHECKS, "a bootstrap of as many rows as have weight")
