"""gcForest's multi-grained scanning."""

from __future__ import annotations

from math import prod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.fingerprint import fingerprint
from mddf._base.parallel import progress_bar
from mddf._base.serialization import Saved
from mddf._base.validation import COUNT, JOBS, Within, check_lengths, unchanged_on_failure
from mddf._binning.binner import Binner
from mddf._fitted.base_estimators import warn_of_seen
from mddf._input.reading import read_numbers, whole_frame
from mddf._input.table import ArrayTable
from mddf._resampling.folds import make_folds
from mddf._resampling.sampling import row_weights
from mddf._targets.target_validation import check_weights, class_factors, encode_labels
from mddf._training.layered_estimator import column_names
from mddf._trees.predictor import mean_vectors

from ._window_forests import FORESTS, ForestOptions, Samples, column_bounds, grow_forests
from ._windows import resolve_grid, window_specs

# Windows and their class vectors that are held at once at prediction.
_BATCH_BYTES = 2**26


class MultiGrainedScanner(Saved, TransformerMixin, BaseEstimator):
    r"""Class vectors of windows that slide over images or sequences (gcForest, section 2.2).

    Every window of a sample is an instance with the sample's label. For each window size a random
    and a completely-random forest learn to tell the class from a window, wherever it stands; the
    class vectors of all windows of a sample, one after the other, are its new features. With k
    folds there are k pairs of forests, each trained on the windows of the samples of the other
    k - 1 folds:

    - :meth:`fit_transform` gives every training sample the vectors of forests that have seen none
      of its windows (out-of-fold), so that what is learned from them is not misled;
    - :meth:`transform` gives new samples the mean over all folds. On the training samples it is
      another result than :meth:`fit_transform`, and flatters.

    Parameters
    ----------
    windows : "auto" or list of int or tuple, default="auto"
        Sizes; a number is the side of a square. "auto" is gcForest's rule: 1/16, 1/8 and 1/4 of a
        sequence's length, or of an image's pixels: 7, 10 and 14 pixels a side for 28 x 28 (the
        authors' own settings for MNIST have 13 for 14). At least 1; equal sizes are taken once.
    strides : int or list of int or tuple, default=1
        Steps from one window to the next: one number for all, or one entry per window.
    shape : None, (length,) or (height, width), default=None
        The axes that windows slide along; what a sample has beyond them are its channels, which
        each window takes whole. None: X of shape (n, length) holds sequences of numbers, (n,
        height, width) images, (n, height, width, channels) images with channels. Sequences with
        channels, (n, length, channels), need ``shape=(length,)``. A table X is cut into rows of
        the image, row by row, each pixel with its channels.
    n_estimators : int, default=100
        Trees of each forest.
    min_samples_leaf : int, default=10
        Least number of windows in a leaf. A window that is drawn twice, or has weight 2, counts
        twice.
    max_depth : int, default=None
        Largest depth of the trees.
    max_windows : int, float or None, default=None
        Windows that a tree is grown on, drawn anew for each tree with replacement: a number per
        training sample (on average) or a share of all, or of the sum of the sample weights if
        these are whole numbers. With None a random forest's tree draws as many as have weight,
        and a completely-random one takes each once. Fewer make training faster and the model
        smaller, both about in proportion.
    cv : int, splitter or iterable of (train, test), default=5
        Folds, made of samples. A number means shuffled folds, stratified as far as the sizes of
        classes allow.
    pooling : {"mean", "max"} or None, default=None
        Pool the class vectors of 2 x 2 neighbouring windows (sequences: of 2), without overlap.
        At the far edges fewer may be left to a pool.
    class_weight : dict, "balanced" or None, default=None
        What a sample's class makes of its weight; "balanced" gives all classes the same weight.
    max_bins : int, default=255
        Bins of a channel, 2 to 255. All cells of a channel share their bins.
    n_jobs : int or None, default=None
        Number of threads: None is one (or what `joblib.parallel_config` says), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the folds and the trees.
    verbose : bool or int, default=False
        Show progress bars.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of every class vector.
    grid_ : tuple of int
        Shape that the windows slide over.
    n_channels_ : int
        Values of each of its cells.
    windows_ : list of tuple of int
        Window sizes, from the first grain to the last.
    positions_ : list of tuple of int
        For each of them, the windows along each axis, after pooling.
    grains_ : list of ndarray of int
        For each of them, the columns of the output. The cascades' parameter `grains` takes this
        list and then feeds one grain to each layer in turn.
    n_features_in_ : int
        Numbers of a sample.
    feature_names_in_ : ndarray of str
        Only if X is a table with string column names.

    Notes
    -----
    The columns are ordered by window size, forest (random first), place (row by row) and class.

    X is coded once, a byte per number; windows are views of the codes (numpy's
    ``sliding_window_view``). Training copies those of one size at a time to a byte table, by rows
    and by columns, prediction those of a batch of samples. Training on n samples so takes
    2 n * positions * cells bytes for the largest size, besides the model.

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
        windows: Any = "auto",
        *,
        strides: Any = 1,
        shape: Any = None,
        n_estimators: int = 100,
        min_samples_leaf: Any = 10,
        max_depth: int | None = None,
        max_windows: Any = None,
        cv: Any = 5,
        pooling: Any = None,
        class_weight: Any = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: Any = None,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the forests.

        Parameters
        ----------
        X : array of shape (n_samples, ...)
            Images, sequences or a table, as `shape` says. NaN is a missing value.
        y : array of shape (n_samples,)
            Classes: numbers, strings or booleans.
        sample_weight : array of shape (n_samples,), default=None
            Not negative; a sample's windows have its weight.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, out_of_fold=False)
        return self

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Learn the forests and give the training samples their out-of-fold vectors.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of float32 of shape (n_samples, n_features_out)
            The mean over those folds that hold a sample out, in general one.
        """
        return self._fit(X, y, sample_weight, out_of_fold=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X: Any, y: Any, sample_weight: Any, out_of_fold: bool) -> np.ndarray | None:
        with unchanged_on_failure(self):
            return self._learn(X, y, sample_weight, out_of_fold)

    def _learn(self, X: Any, y: Any, sample_weight: Any, out_of_fold: bool) -> np.ndarray | None:
        sample_shape, X = self._read(X, reset=True)
        check_lengths(X, y=y)
        n_samples, n_features = X.shape
        grid = resolve_grid(self.shape, sample_shape or (n_features,))
        pool = 1 if self.pooling is None else 2
        specs = window_specs(self.windows, self.strides, grid, pool)
        classes, labels = encode_labels(y)
        *entropy, fold_seed = (
            check_random_state(self.random_state).randint(0, 2**32, 5, dtype=np.uint64).tolist()
        )
        folds = make_folds(self.cv, X, classes[labels], labels, fold_seed)
        given = check_weights(sample_weight, n_samples)
        binner = Binner(max_bins=self.max_bins, n_jobs=self.n_jobs)
        of_cells = None if given is None else np.repeat(given, prod(grid))
        cells = binner.fit_transform(_cells(X, grid), of_cells)
        seen = fingerprint(cells.codes)
        codes = cells.codes.reshape(n_samples, *grid, -1)
        factors = class_factors(self.class_weight, classes, labels, given)
        weights = row_weights(given, factors, labels)
        samples = Samples(codes, cells.bins, labels, len(classes), weights, folds)
        bounds = column_bounds(specs, len(classes))
        features = np.zeros((n_samples, bounds[-1, -1, -1]), np.float32) if out_of_fold else None
        trees = []
        for number, spec in enumerate(specs):
            forests = self._grow(samples, spec, [*entropy, number], out_of_fold)
            trees.append([[t for grown in forest for t in grown.trees] for forest in forests])
            if features is not None:
                for forest, (first, last) in zip(forests, bounds[number], strict=True):
                    self._add_held_out(features[:, first:last], spec, forest, folds)
            del forests
        self.classes_, self.grid_, self.n_channels_ = classes, grid, n_features // prod(grid)
        self.windows_ = [spec.size for spec in specs]
        self.positions_ = [spec.pooled for spec in specs]
        self.grains_ = [np.arange(part[0, 0], part[-1, -1]) for part in bounds]
        self._specs, self._binner, self._trees, self._seen = specs, binner, trees, seen
        return features

    def _read(self, X: Any, *, reset: bool) -> tuple[tuple[int, ...] | None, np.ndarray]:
        """The shape of a sample, None for tables, and X as a table of numbers."""
        sample_shape, X = _flat(whole_frame(X))
        return sample_shape, read_numbers(self, X, reset=reset)

    def _grow(self, samples: Any, spec: Any, entropy: Any, out_of_fold: Any) -> Any:
        return grow_forests(
            samples,
            spec,
            ForestOptions(
                self.n_estimators, self.min_samples_leaf, self.max_depth, self.max_windows
            ),
            entropy,
            held_out=out_of_fold,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _add_held_out(self, features: Any, spec: Any, forest: Any, folds: Any) -> None:
        """Add what a forest's folds say of the samples that they held out."""
        times = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(features))
        for (_, test), grown in zip(folds, forest, strict=True):
            vectors = spec.pool_positions(grown.held_out_probabilities(), self.pooling)
            features[test] += vectors / times[test, None]
            grown.sums = None

    def transform(self, X: Any) -> np.ndarray:
        """Class vectors of the windows of new samples.

        Parameters
        ----------
        X : array of shape (n_samples, ...)
            Of the shape that fit saw.

        Returns
        -------
        ndarray of float32 of shape (n_samples, n_features_out)
            The mean over all folds' forests.
        """
        check_is_fitted(self, "_trees")
        sample_shape, X = self._read(X, reset=False)
        if sample_shape is not None and sample_shape[: len(self.grid_)] != self.grid_:
            raise ValueError(
                f"X must have samples whose shape begins with {self.grid_}, as in fit, or be a "
                f"table of {self.n_features_in_} columns; got samples of shape {sample_shape}"
            )
        codes = self._binner.transform(_cells(X, self.grid_))
        warn_of_seen(codes, self._seen)
        codes = codes.reshape(len(X), *self.grid_, -1)
        features = np.empty((len(X), self._n_features_out), np.float32)
        batch = self._batch_size()
        with progress_bar(len(X), "scanning", "sample", shown=self.verbose) as bar:
            for first in range(0, len(X), batch):
                self._scan(codes[first : first + batch], features[first : first + batch])
                bar.update(min(batch, len(X) - first))
        return features

    def _batch_size(self) -> int:
        n_classes = len(self.classes_)
        largest = max(
            spec.n_windows * (prod(spec.size) * self.n_channels_ + 16 * n_classes)
            for spec in self._specs
        )
        return max(1, _BATCH_BYTES // largest)

    def _scan(self, codes: np.ndarray, features: Any) -> None:
        n_classes = len(self.classes_)
        bounds = column_bounds(self._specs, n_classes)
        for spec, forests, parts in zip(self._specs, self._trees, bounds, strict=True):
            windows = spec.rows(codes)
            for trees, (first, last) in zip(forests, parts, strict=True):
                vectors = mean_vectors(trees, windows, n_classes, n_jobs=self.n_jobs)
                features[:, first:last] = spec.pool_positions(vectors, self.pooling)

    @property
    def _n_features_out(self) -> int:
        return int(self.grains_[-1][-1]) + 1

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, such as "window7x7_random_y0_x3_cat".

        Parameters
        ----------
        input_features : ignored
            Part of scikit-learn's interface.

        Returns
        -------
        ndarray of str
            Size of the window, forest, its place (of sequences only t), class. What XGBoost and
            LightGBM refuse in names, such as "<" and "[", becomes "_".
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _flat(X: Any) -> Any:
    """The shape of a sample, None for tables, and X as a table."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if getattr(X, "ndim", 2) <= 2:
        return None, X
    return X.shape[1:], np.reshape(X, (len(X), prod(X.shape[1:])))


def _cells(X: np.ndarray, grid: Any) -> ArrayTable:
    """The cells of images as rows, one column per channel."""
    return ArrayTable(X.reshape(len(X) * prod(grid), -1))
