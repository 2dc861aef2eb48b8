"""Multi-grained scanning of gcForest."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.array_hash import hash_of_arrays
from mddf._base.parallel import progress_bar
from mddf._base.serialization import Saved
from mddf._base.types import TableLike
from mddf._base.validation import (
    COUNT,
    JOBS,
    Within,
    check_lengths,
    fit_context,
    unchanged_on_failure,
)
from mddf._binning.binner import Binner
from mddf._fitted.base_estimators import warn_of_seen
from mddf._input.reading import read_numbers, whole_frame
from mddf._input.table import ArrayTable
from mddf._layers.layered_estimator import column_names
from mddf._resampling.folds import Folds, make_folds
from mddf._targets.target_validation import check_weights, class_factors, encode_labels
from mddf._targets.weights import row_weights
from mddf._trees.arrays import TreeBlock
from mddf._trees.grower import GrowthResult
from mddf._trees.predictor import leaf_sums, means_over_trees

from ._window_forests import FORESTS, ForestOptions, Samples, column_bounds, grow_forests
from ._windows import WindowSpec, resolve_grid, window_specs

# Predictions take samples in batches whose windows and class vectors fill about so many bytes.
_BATCH_BYTES = 2**26


class MultiGrainedScanner(Saved, TransformerMixin, BaseEstimator):
    r"""Class vectors of windows that slide over images or sequences (gcForest, section 2.2).

    Every window of a sample is an instance with the sample's label. For each window size, a random
    and a completely-random forest are trained to predict the class from a window at any position.
    The class vectors of all windows of a sample are its new features. With k folds there are k
    pairs of forests, each trained on the windows of the samples of the other k - 1 folds:

    - :meth:`fit_transform` returns, for every training sample, the vectors of forests that were
      not trained on its windows (out-of-fold), so that a later model is not misled by them;
    - :meth:`transform` returns the mean over all folds for new samples. For training samples, this
      result is too optimistic, and differs from the result of :meth:`fit_transform`.

    Parameters
    ----------
    windows : "auto" or list of int or tuple, default="auto"
        Sizes of windows; a number is the side of a square. "auto" is the rule of gcForest: 1/16,
        1/8 and 1/4 of a sequence's length, or of an image's pixels. For images of 28 x 28 pixels,
        these windows have sides of 7, 10 and 14 pixels (the settings for MNIST in
        github.com/kingfengji/gcForest have 13 in place of 14). Sides are at least 1, and equal
        sizes are used once.
    strides : int or list of int or tuple, default=1
        Steps from a window to the next: a number for all sizes, or an entry for each size.
    shape : None, (length,) or (height, width), default=None
        Axes that windows slide along. Further axes of a sample are its channels, all of which
        belong to each window. With None, X of shape (n, length) has sequences, (n, height, width)
        images, and (n, height, width, channels) images with channels. Sequences with channels, (n,
        length, channels), need ``shape=(length,)``. The columns of a table X are the pixels of the
        image row by row, each with its channels.
    n_estimators : int, default=100
        Number of trees of each forest.
    min_samples_leaf : int, default=10
        Minimum number of windows in a leaf. A window that is drawn twice, or has weight 2, counts
        twice.
    max_depth : int, default=None
        Maximum depth of the trees.
    max_windows : int, float or None, default=None
        Number of windows that are drawn with replacement for each tree. An int is the average
        number for each training sample. A float is a share of all windows or, if all sample
        weights are whole numbers, of the sum of their weights. With None, a tree of a random
        forest draws as many windows as have a weight, and a completely-random tree is grown on all
        windows. Training time and model size are about proportional to the number.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of the samples. A number means shuffled folds, stratified as far as the sizes of the
        classes allow.
    pooling : {"mean", "max"} or None, default=None
        How to pool the class vectors of 2 x 2 neighbouring windows (2 in sequences), without
        overlap. The last pool along an axis may have fewer windows.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class; "balanced" gives all classes the same weight.
    max_bins : int, default=255
        Maximum number of bins of a channel, 2 to 255. All pixels of a channel have the same bins.
    n_jobs : int or None, default=None
        Number of threads: None is one (or the value of `joblib.parallel_config`), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of folds and trees.
    verbose : bool or int, default=False
        Whether to show progress bars.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of every class vector.
    grid_ : tuple of int
        Shape that the windows slide over.
    n_channels_ : int
        Number of channels.
    windows_ : list of tuple of int
        Window sizes.
    positions_ : list of tuple of int
        For each size, the number of windows along each axis, after pooling.
    grains_ : list of ndarray of int
        For each size, the columns of the output. With this list as the parameter `grains`, the
        layers of a cascade use the sizes in turn.
    n_features_in_ : int
        Number of values of a sample.
    feature_names_in_ : ndarray of str
        Only if X is a table with string column names.

    Notes
    -----
    The columns are ordered by window size, forest (random first), position (row by row) and class.

    X is coded once, with a byte per value; windows are views of the codes
    (``numpy.lib.stride_tricks.sliding_window_view``). Training copies the windows of a single size
    at a time to a table, by rows and by columns; predictions copy the windows of a batch of
    samples. In addition to the model, training on n samples takes 2 * n * positions * cells bytes
    for the largest size.

    References
    ----------
    Z.-H. Zhou and J. Feng. Deep forest. National Science Review 6(1), 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mddf.baselines import MultiGrainedScanner
    >>> digits = load_digits()
    >>> scanner = MultiGrainedScanner([4, (2, 8)], strides=2, n_estimators=10, random_state=0)
    >>> vectors = scanner.fit_transform(digits.images, digits.target)
    >>> scanner.positions_
    [(3, 3), (4, 1)]
    >>> vectors.shape
    (1797, 260)
    >>> [len(columns) for columns in scanner.grains_]
    [180, 80]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "windows": [StrOptions({"auto"}), list, tuple],
        "strides": [Within(Integral, 1, None, closed="left"), list, tuple],
        "shape": [list, tuple, None],
        "n_estimators": [COUNT],
        "min_samples_leaf": [Within(Integral, 1, None, closed="left")],
        "max_depth": [Within(Integral, 1, None, closed="left"), None],
        "max_windows": [
            Within(Integral, 1, None, closed="left"),
            Within(RealNotInt, 0, 1, closed="right"),
            None,
        ],
        "cv": ["cv_object"],
        "pooling": [StrOptions({"mean", "max"}), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "max_bins": [Within(Integral, 2, 255, closed="both")],
        "n_jobs": JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        windows: str | Sequence[int | Sequence[int]] = "auto",
        *,
        strides: int | Sequence[int | Sequence[int]] = 1,
        shape: Sequence[int] | None = None,
        n_estimators: int = 100,
        min_samples_leaf: int = 10,
        max_depth: int | None = None,
        max_windows: int | float | None = None,
        cv: Any = 5,
        pooling: str | None = None,
        class_weight: dict[Any, float] | str | None = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = False,
    ) -> None:
        self.windows = windows
        self.strides = strides
        self.shape = shape
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.max_windows = max_windows
        self.cv = cv
        self.pooling = pooling
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: TableLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Fit the forests.

        Parameters
        ----------
        X : array of shape (n_samples, ...)
            Images, sequences or a table, depending on `shape`. NaN is a missing value.
        y : array of shape (n_samples,)
            Classes: numbers, strings or booleans.
        sample_weight : array of shape (n_samples,), default=None
            Not negative. All windows of a sample have its weight.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, out_of_fold=False)
        return self

    def fit_transform(
        self, X: TableLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> np.ndarray:
        """Fit the forests, and return out-of-fold vectors of the training samples.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of float32 of shape (n_samples, n_features_out)
            Mean over the folds that hold a sample out; usually this is a single fold.
        """
        features = self._fit(X, y, sample_weight, out_of_fold=True)
        assert features is not None
        return features

    @fit_context(prefer_skip_nested_validation=True)
    def _fit(
        self,
        X: TableLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        out_of_fold: bool,
    ) -> np.ndarray | None:
        """Fit the forests; return the out-of-fold vectors if they are wanted."""
        with unchanged_on_failure(self):
            # 1. Read X, y and the weights, and resolve the windows.
            sample_shape, X = self._read_samples(X, reset=True)
            check_lengths(X, y=y)
            n_samples, n_features = X.shape
            grid = resolve_grid(self.shape, sample_shape or (n_features,))
            n_pooled = 1 if self.pooling is None else 2
            specs = window_specs(self.windows, self.strides, grid, n_pooled)
            classes, labels = encode_labels(y)
            weights = check_weights(sample_weight, n_samples)
            # 2. Draw the folds.
            *entropy, fold_seed = self._draw_entropy()
            folds = make_folds(self.cv, X, classes[labels], labels, fold_seed)
            # 3. Code the cells; all cells of a channel have the same bins.
            binner = Binner(max_bins=self.max_bins, n_jobs=self.n_jobs)
            cell_weights = None if weights is None else np.repeat(weights, prod(grid))
            # Cells of a sample are held out together.
            cells = binner.fit_transform(_cells(X, grid), cell_weights)
            factors = class_factors(self.class_weight, classes, labels, weights)
            samples = Samples(
                codes=cells.codes.reshape(n_samples, *grid, -1),
                bins=cells.bins,
                labels=labels,
                n_classes=len(classes),
                weights=row_weights(weights, factors, labels),
                folds=folds,
            )
            # 4. Grow the forests of one window size after the other.
            bounds = column_bounds(specs, len(classes))
            features = None
            if out_of_fold:
                features = np.zeros((n_samples, bounds[-1, -1, -1]), np.float32)
            trees = []
            for number, spec in enumerate(specs):
                forests = self._grow(samples, spec, [*entropy, number], held_out=out_of_fold)
                trees.append([_all_trees(forest) for forest in forests])
                if features is not None:
                    for forest, (first, last) in zip(forests, bounds[number], strict=True):
                        self._add_held_out(features[:, first:last], spec, forest, folds)
                # Their sums take more memory than their trees.
                del forests
            # 5. Store the attributes.
            self.classes_ = classes
            self.grid_ = grid
            self.n_channels_ = n_features // prod(grid)
            self.windows_ = [spec.size for spec in specs]
            self.positions_ = [spec.pooled for spec in specs]
            self.grains_ = [np.arange(part[0, 0], part[-1, -1]) for part in bounds]
            self._specs = specs
            self._binner = binner
            self._trees = trees
            self._seen = hash_of_arrays(cells.codes)
            return features

    def _draw_entropy(self) -> list[int]:
        """Draw four numbers for the seeds of the trees, and the seed of the folds."""
        random_state = check_random_state(self.random_state)
        return random_state.randint(0, 2**32, 5, dtype=np.uint64).tolist()

    def _read_samples(
        self, X: TableLike, *, reset: bool
    ) -> tuple[tuple[int, ...] | None, np.ndarray]:
        """Return the shape of a sample, None for tables, and X as a numeric table."""
        sample_shape, X = _flatten(whole_frame(X))
        return sample_shape, read_numbers(self, X, reset=reset)

    def _grow(
        self, samples: Samples, spec: WindowSpec, entropy: list[int], *, held_out: bool
    ) -> tuple[list[GrowthResult], list[GrowthResult]]:
        options = ForestOptions(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            max_windows=self.max_windows,
        )
        return grow_forests(
            samples,
            spec,
            options,
            entropy,
            held_out=held_out,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _add_held_out(
        self, features: np.ndarray, spec: WindowSpec, forest: list[GrowthResult], folds: Folds
    ) -> None:
        """Add the forest's predictions of held-out samples, averaged over the folds."""
        held_out = np.concatenate([test for _, test in folds])
        times = np.bincount(held_out, minlength=len(features))
        for (_, test), result in zip(folds, forest, strict=True):
            vectors = spec.pool_positions(result.held_out_probabilities(), self.pooling)
            features[test] += vectors / times[test, None]
            result.sums = None

    def transform(self, X: TableLike) -> np.ndarray:
        """Compute the class vectors of the windows of new samples.

        Parameters
        ----------
        X : array of shape (n_samples, ...)
            Samples of the same shape as in fit.

        Returns
        -------
        ndarray of float32 of shape (n_samples, n_features_out)
            Mean over the forests of all folds.
        """
        check_is_fitted(self, "_trees")
        sample_shape, X = self._read_samples(X, reset=False)
        if sample_shape is not None and sample_shape[: len(self.grid_)] != self.grid_:
            raise ValueError(
                f"X must have samples whose shape begins with {self.grid_}, as in fit, or be a "
                f"table of {self.n_features_in_} columns; got samples of shape {sample_shape}"
            )
        codes = self._binner.encode(_cells(X, self.grid_), n_jobs=self.n_jobs).codes
        warn_of_seen(codes, self._seen)
        codes = codes.reshape(len(X), *self.grid_, -1)
        features = np.empty((len(X), self._n_features_out), np.float32)
        batch_size = self._batch_size()
        with progress_bar(len(X), "scanning", "sample", shown=self.verbose) as bar:
            for first in range(0, len(X), batch_size):
                batch = slice(first, first + batch_size)
                self._scan(codes[batch], features[batch])
                bar.update(len(codes[batch]))
        return features

    def _batch_size(self) -> int:
        """Number of samples whose windows fill a batch."""
        n_classes = len(self.classes_)
        largest = max(
            # A byte for each code, and two vectors of doubles.
            spec.n_windows * (prod(spec.size) * self.n_channels_ + 16 * n_classes)
            for spec in self._specs
        )
        return max(1, _BATCH_BYTES // largest)

    def _scan(self, codes: np.ndarray, features: np.ndarray) -> None:
        """Write the class vectors of the windows of a batch to `features`."""
        n_classes = len(self.classes_)
        bounds = column_bounds(self._specs, n_classes)
        for spec, forests, spec_bounds in zip(self._specs, self._trees, bounds, strict=True):
            windows = spec.rows(codes)
            for trees, (first, last) in zip(forests, spec_bounds, strict=True):
                sums = leaf_sums(trees, windows, n_jobs=self.n_jobs)
                vectors = means_over_trees(trees, sums)
                features[:, first:last] = spec.pool_positions(vectors, self.pooling)

    @property
    def _n_features_out(self) -> int:
        return int(self.grains_[-1][-1]) + 1

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, such as "window7x7_random_y0_x3_cat".

        Parameters
        ----------
        input_features : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
            Size of the window, forest, position of the window (only t in sequences), and class.
            Characters that XGBoost and LightGBM refuse in names, such as "<" and "[", become "_".
        """
        check_is_fitted(self, "_trees")
        names = [
            name
            for spec in self._specs
            for forest in FORESTS
            for name in spec.names(forest, column_names(self.classes_))
        ]
        return np.asarray(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _all_trees(forest: list[GrowthResult]) -> list[TreeBlock]:
    """Blocks of the trees of all folds."""
    return [block for result in forest for block in result.trees]


def _flatten(X: Any) -> tuple[tuple[int, ...] | None, Any]:
    """Return the shape of a sample, None for tables, and X as a table."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if getattr(X, "ndim", 2) <= 2:
        return None, X
    return X.shape[1:], np.reshape(X, (len(X), prod(X.shape[1:])))


def _cells(X: np.ndarray, grid: tuple[int, ...]) -> ArrayTable:
    """Make a table with a row for each cell of the grid, and a column for each channel."""
    return ArrayTable(X.reshape(len(X) * prod(grid), -1))
