"""eForest: a forest as an autoencoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from mddf._base.docstrings import describes_parameters
from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._base.validation import unchanged_on_failure
from mddf._forest.base import Forest
from mddf._gradient.decoding import decode
from mddf._inspection.stages import fitted_stages
from mddf._trees.decoding import thresholds
from mddf._trees.nodes import LEAF, Nodes
from mddf.representation._forest_transformer import SHARED, ForestTransformer
from mddf.representation._leaves import LeafColumns


@register_serializable("leaf boxes")
@dataclass
class LeafBoxes:
    """Bounds on the paths to the leaves of one tree, leaf after leaf."""

    starts: np.ndarray  # (n_leaves + 1,): first bound of each leaf
    feature: np.ndarray  # (n_bounds,), as the others
    bound: np.ndarray
    is_upper: np.ndarray  # whether values lie up to the bound, or above it

    @classmethod
    def from_nodes(cls, nodes: Nodes, threshold: np.ndarray, of_leaves: np.ndarray) -> LeafBoxes:
        """Bounds of leaves of a tree, in the order of their nodes here."""
        # All leaves climb to the root together, a split at a time.
        leaves = np.arange(len(of_leaves))
        at = of_leaves
        steps = []
        while True:
            below_root = nodes.parent[at] != LEAF
            leaves = leaves[below_root]
            at = at[below_root]
            if not len(leaves):
                break
            splits = nodes.parent[at]
            steps.append(np.array([leaves, splits, nodes.left[splits] == at]))
            at = splits
        leaf, split, goes_left = np.concatenate([np.empty((3, 0), int), *steps], axis=1)
        # Splits of missing values from all numbers bound nothing.
        is_bound = np.isfinite(threshold[split])
        order = np.flatnonzero(is_bound)[np.argsort(leaf[is_bound], kind="stable")]
        counts = np.bincount(leaf[is_bound], minlength=len(of_leaves))
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            nodes.column[split[order]].astype(np.int64),
            threshold[split[order]].astype(float),
            goes_left[order] > 0,
        )

    def intersect(self, leaves: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Narrow the boxes of rows, in place, to the boxes of their leaves."""
        lengths = np.diff(self.starts)[leaves]
        rows = np.repeat(np.arange(len(leaves)), lengths)
        firsts = np.repeat(self.starts[leaves] - np.cumsum(lengths) + lengths, lengths)
        places = firsts + np.arange(len(rows))
        feature, bound, is_upper = self.feature[places], self.bound[places], self.is_upper[places]
        np.minimum.at(upper, (rows[is_upper], feature[is_upper]), bound[is_upper])
        np.maximum.at(lower, (rows[~is_upper], feature[~is_upper]), bound[~is_upper])


@describes_parameters(SHARED)
class EForest(ClassNamePrefixFeaturesOutMixin, ForestTransformer):
    """Forest autoencoder: rows become the leaves of the trees, and leaves become rows again.

    The code of a row is the leaf of each tree that it ends in. A code is decoded to the box of the
    feature space in which all paths to these leaves meet, the maximal-compatible rule [1]_.

    Parameters
    ----------
    estimator : forest of mddf, default=None
        Not fitted; a clone is fitted. None means completely-random trees that see no target.
    decode : {"middle", "draw"}, default="middle"
        Point of the box that `inverse_transform` returns: its middle, or a uniform draw.
    random_state : int, RandomState or None, default=None
        Seed of the trees without an estimator, and of draws.

    Attributes
    ----------
    lower_, upper_ : ndarray of shape (n_features,)
        Range of the training rows, which bounds all boxes.

    Notes
    -----
    Features must be numbers without missing values. Codes may be damaged: a negative number marks
    the leaf of a tree as unknown, and the other trees decode.

    References
    ----------
    .. [1] J. Feng and Z.-H. Zhou, "AutoEncoder by forest", AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from mddf.representation import EForest
    >>> X, _ = load_iris(return_X_y=True)
    >>> coder = EForest(n_estimators=100, random_state=0)
    >>> codes = coder.fit_transform(X)
    >>> codes.shape
    (150, 100)
    >>> bool(np.abs(coder.inverse_transform(codes) - X).mean() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestTransformer._parameter_constraints,
        "estimator": [Forest, None],
        "decode": [StrOptions({"middle", "draw"})],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        decode: str = "middle",
        n_estimators: int = 500,
        max_depth: int | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.decode = decode
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Fit the forest, and keep the boxes of its leaves.

        Parameters
        ----------
        X : array or data frame of numbers of shape (n_samples, n_features)
        y : array of shape (n_samples,), default=None
            Target of the estimator; not used without one.

        Returns
        -------
        EForest
        """
        self._validate_params()
        with unchanged_on_failure(self):
            numbers = validate_data(self, X, dtype=np.float64)
            self._fit_forest(numbers, y)
            self.lower_ = numbers.min(axis=0)
            self.upper_ = numbers.max(axis=0)
            leaves = self.estimator_.apply(numbers)
            self._columns = LeafColumns.from_leaves(leaves)
            self._boxes = list(_boxes(self.estimator_, self._columns))
            self._n_features_out = len(self._boxes)
        return self

    def transform(self, X: npt.ArrayLike) -> np.ndarray:
        """Encode rows.

        Parameters
        ----------
        X : array or data frame of numbers of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int64 of shape (n_samples, n_trees)
            Number of the leaf of each tree, from 0.
        """
        check_is_fitted(self)
        numbers = validate_data(self, X, dtype=np.float64, reset=False)
        return self._codes(self.estimator_.apply(numbers))

    def _codes(self, leaves: np.ndarray) -> np.ndarray:
        """Numbers of leaves within each tree, from 0."""
        columns, _ = self._columns.numbers(leaves)
        codes: np.ndarray = columns - self._columns.starts[:-1]
        return codes

    def inverse_transform(self, X: npt.ArrayLike) -> np.ndarray:
        """Decode codes to rows.

        Parameters
        ----------
        X : array of int of shape (n_samples, n_trees)
            Codes as `transform` returns them; negative numbers are unknown leaves.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        lower, upper = self.decoded_boxes(X)
        share: float | np.ndarray = 0.5
        if self.decode == "draw":
            share = check_random_state(self.random_state).uniform(size=lower.shape)
        decoded: np.ndarray = lower + share * (upper - lower)
        return decoded

    def decoded_boxes(self, X: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Boxes in which the paths to the leaves of codes meet.

        Parameters
        ----------
        X : array of int of shape (n_samples, n_trees)
            As for `inverse_transform`.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples, n_features)
            Where paths do not meet, which only damaged codes bring, the bounds are exchanged.
        """
        check_is_fitted(self)
        codes = _whole_codes(X)
        if codes.shape[1] != len(self._boxes):
            raise ValueError(
                f"X must have codes of {len(self._boxes)} trees, got {codes.shape[1]} columns"
            )
        lower = np.tile(self.lower_, (len(codes), 1))
        upper = np.tile(self.upper_, (len(codes), 1))
        for tree, boxes in enumerate(self._boxes):
            n_leaves = len(boxes.starts) - 1
            if codes[:, tree].max() >= n_leaves:
                raise ValueError(
                    f"X must have codes below {n_leaves} in column {tree}, "
                    f"got {short(int(codes[:, tree].max()))}"
                )
            rows = np.flatnonzero(codes[:, tree] >= 0)
            narrowed = lower[rows], upper[rows]
            boxes.intersect(codes[rows, tree], *narrowed)
            lower[rows], upper[rows] = narrowed
        return np.minimum(lower, upper), np.maximum(lower, upper)


def _whole_codes(X: npt.ArrayLike) -> np.ndarray:
    """Convert codes to integers, and refuse numbers that would be rounded to other leaves."""
    codes = check_array(X, dtype="numeric")
    wrong = codes[codes % 1 != 0]
    if len(wrong):
        raise ValueError(f"X must have whole numbers as codes, got {short(wrong[0].item())}")
    return codes.astype(np.int64)


def _boxes(forest: Forest[Any], columns: LeafColumns) -> Iterator[LeafBoxes]:
    """Bounds of the leaves that have columns, tree by tree."""
    fitted = fitted_stages(forest)
    (stage,) = fitted.stages
    (member,) = stage.members
    bins = member.tree_bins(fitted.bins_of(stage))
    leaves_of_trees = iter(columns.leaves)
    for block in member.models:
        nodes = decode(block)
        threshold = thresholds(nodes, bins)
        for word, leaves in zip(nodes.word_start[:-1], leaves_of_trees, strict=False):
            yield LeafBoxes.from_nodes(nodes, threshold, nodes.word_node[word + leaves])
