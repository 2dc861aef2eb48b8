"""Random and completely-random forests that stand in for scikit-learn's."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import assert_all_finite, check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from mddf import growth
from mddf.binning import apply_bins, bin_table, find_bins
from mddf.sampling import plan_sampling, scale_weights
from mddf.table import TableReader, category_mask, check_table

MOST_CLASSES = 65535


def encode_labels(y) -> tuple[np.ndarray, np.ndarray]:
    """Classes in order, and the class of every sample as uint16.

    Raises
    ------
    ValueError
        If `y` is no classification target or has more than 65535 classes.
    """
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"y must have at most {MOST_CLASSES} classes, got {len(classes)}")
    return classes, labels.astype(np.uint16)


def check_weights(sample_weight, X) -> np.ndarray | None:
    """Sample weights as float64, not negative and not all zero; None stays None."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight must have at least one entry above zero, got only zeros")
    return scale_weights(weights)


def resolve_max_features(max_features, n_features: int) -> int:
    """Number of candidate columns from the parameter of that name."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))


def _as_count(value, n_samples: int, least: int) -> int:
    """A number of samples given as such or as a share; more than there are is one more."""
    if isinstance(value, Integral):
        return min(int(value), n_samples + 1)
    return max(least, int(np.ceil(value * n_samples)))


class BaseForest(ClassifierMixin, BaseEstimator):
    """What both forests share; use one of them."""

    _random_thresholds: ClassVar[bool]

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions({"gini", "entropy"})],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0, 0.5, closed="both")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "bootstrap": ["boolean"],
        "max_samples": [
            None,
            Interval(RealNotInt, 0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "oob_score": ["boolean", callable],
        "class_weight": [StrOptions({"balanced", "balanced_subsample"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    def __init__(
        self,
        n_estimators,
        *,
        criterion,
        max_depth,
        min_samples_split,
        min_samples_leaf,
        min_weight_fraction_leaf,
        max_features,
        bootstrap,
        max_samples,
        oob_score,
        class_weight,
        n_jobs,
        random_state,
        verbose,
        warm_start,
        max_bins,
        categorical_features,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.categorical_features = categorical_features

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Grow the forest.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            Numbers, NaN where missing, and categories as `categorical_features` says. Infinities
            are refused.
        y : array of shape (n_samples,)
            Classes: numbers, strings or booleans.
        sample_weight : array of shape (n_samples,), default=None
            Not negative. With a bootstrap, rows are drawn in proportion to it.

        Returns
        -------
        self
        """
        self._check_bootstrap()
        again = self.warm_start and hasattr(self, "_trees")
        X = check_table(self, X, reset=not again)
        check_consistent_length(X, y)
        classes, labels = encode_labels(y)
        weights = check_weights(sample_weight, X)
        # Everything is worked out before anything is stored: a fit that fails leaves no trace.
        if again:
            fitted = self._continue(X, classes, labels, weights)
        else:
            fitted = self._begin(X, classes, labels, weights)
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def _check_bootstrap(self):
        if self.bootstrap:
            return
        if self.oob_score:
            raise ValueError(
                "oob_score needs bootstrap=True: without it no tree leaves a row out; "
                f"got oob_score={self.oob_score!r}, bootstrap={self.bootstrap!r}"
            )
        if self.max_samples is not None:
            raise ValueError(
                "max_samples needs bootstrap=True, "
                f"got max_samples={self.max_samples!r}, bootstrap={self.bootstrap!r}"
            )

    def _begin(self, X, classes, labels, weights) -> dict:
        reader = TableReader(category_mask(X, self.categorical_features), self.max_bins)
        numbers = reader.fit_read(X, self)
        bins = find_bins(
            numbers,
            categorical=reader.categorical,
            n_categories=reader.n_categories(),
            sample_weight=weights,
            max_bins=self.max_bins,
            n_jobs=self.n_jobs,
        )
        entropy = check_random_state(self.random_state).randint(0, 2**32, 4, dtype=np.uint64)
        fitted = {
            "classes_": classes,
            "_reader": reader,
            "_bins": bins,
            "_entropy": entropy.tolist(),
            "_trees": [],
            "_importances": np.zeros(bins.n_columns),
            "_oob": None,
        }
        return self._grow(fitted, numbers, labels, weights, n_before=0)

    def _continue(self, X, classes, labels, weights) -> dict:
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                "with warm_start=True, y must have the classes of the fit before, "
                f"{self.classes_.tolist()}, got {classes.tolist()}"
            )
        n_before = sum(block.n_trees for block in self._trees)
        if self.n_estimators < n_before:
            raise ValueError(
                f"with warm_start=True, n_estimators must be at least {n_before}, the number of "
                f"trees grown so far, got {self.n_estimators}"
            )
        names = ("classes_", "_reader", "_bins", "_entropy", "_trees", "_importances", "_oob")
        fitted = {name: getattr(self, name) for name in names}
        if self.n_estimators == n_before:
            return fitted
        return self._grow(fitted, self._reader.read(X, self), labels, weights, n_before)

    def _grow(self, fitted, numbers, labels, weights, n_before) -> dict:
        classes, bins = fitted["classes_"], fitted["_bins"]
        table = bin_table(numbers, bins, n_jobs=self.n_jobs)
        sampling = plan_sampling(
            table.codes,
            labels,
            sample_weight=weights,
            class_weight=self._class_weights(classes, labels, weights),
            bootstrap=self.bootstrap,
            max_samples=self.max_samples,
            balance_trees=self.class_weight == "balanced_subsample",
        )
        block = growth.Block(
            seeds=growth.draw_seeds(fitted["_entropy"], self.n_estimators)[n_before:],
            options=self._tree_options(len(labels), bins.n_columns),
            sampling=sampling,
            held_out="out-of-bag" if self.oob_score else None,
            importances=True,
        )
        (grown,) = growth.grow(
            table,
            labels,
            len(classes),
            [block],
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            description=type(self).__name__,
        )
        fitted = {
            **fitted,
            "_trees": fitted["_trees"] + grown.trees,
            "_importances": fitted["_importances"] + grown.importances,
        }
        if self.oob_score:
            fitted |= self._out_of_bag(fitted, grown, sampling.rows, labels)
        return fitted

    def _class_weights(self, classes, labels, weights) -> np.ndarray | None:
        """Factor of each class. Sample weights do not change what "balanced" means."""
        if self.class_weight is None or self.class_weight == "balanced_subsample":
            return None
        present = labels if weights is None else labels[weights > 0]
        if isinstance(self.class_weight, dict):
            factors = compute_class_weight(self.class_weight, classes=classes, y=classes[present])
            if not np.all(np.isfinite(factors) & (factors >= 0)):
                raise ValueError(
                    "class_weight must have finite weights that are not negative, "
                    f"got {self.class_weight!r}"
                )
            return factors
        counts = np.bincount(labels, weights, minlength=len(classes))
        n_present = np.count_nonzero(counts)
        factors = np.zeros(len(classes))
        np.divide(counts.sum(), n_present * counts, out=factors, where=counts > 0)
        return factors

    def _tree_options(self, n_samples: int, n_features: int) -> growth.TreeOptions:
        return growth.TreeOptions(
            entropy=self.criterion == "entropy",
            random_thresholds=self._random_thresholds,
            max_features=resolve_max_features(self.max_features, n_features),
            max_depth=min(int(self.max_depth or growth.NO_DEPTH_LIMIT), growth.NO_DEPTH_LIMIT),
            min_samples_split=_as_count(self.min_samples_split, n_samples, 2),
            min_samples_leaf=_as_count(self.min_samples_leaf, n_samples, 1),
            min_weight_leaf=float(self.min_weight_fraction_leaf),
        )

    def _out_of_bag(self, fitted, grown, rows, labels) -> dict:
        sums = np.zeros((len(labels), len(fitted["classes_"])))
        n_trees = np.zeros(len(labels), np.int64)
        sums[rows], n_trees[rows] = grown.sums, grown.n_trees
        if fitted["_oob"] is not None and len(fitted["_oob"][1]) == len(labels):
            sums += fitted["_oob"][0]
            n_trees += fitted["_oob"][1]
        decision = growth.shares(sums)
        seen = n_trees > 0
        classes = fitted["classes_"]
        score = float("nan")
        if seen.any():
            metric = self.oob_score if callable(self.oob_score) else accuracy_score
            score = metric(classes[labels[seen]], classes[decision[seen].argmax(axis=1)])
        return {
            "oob_decision_function_": decision,
            "oob_score_": score,
            "_oob": (sums, n_trees) if self.warm_start else None,
        }

    def _codes(self, X) -> np.ndarray:
        check_is_fitted(self, "_trees")
        X = check_table(self, X, reset=False)
        numbers = self._reader.read(X, self) if self._reader.encoders else X
        return apply_bins(numbers, self._bins, n_jobs=self.n_jobs)

    def predict_proba(self, X):
        """Mean over the trees of the class distribution in a sample's leaf.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        codes = self._codes(X)
        probabilities = np.zeros((len(codes), len(self.classes_)))
        growth.add_probabilities(self._trees, codes, probabilities, n_jobs=self.n_jobs)
        return growth.shares(probabilities)

    def predict_log_proba(self, X):
        """Natural logarithm of `predict_proba`; minus infinity where that is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X):
        """The class of the largest probability.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def apply(self, X):
        """The leaf that each sample ends in.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int64 of shape (n_samples, n_estimators)
            Numbers of leaves, which are distinct within a tree.
        """
        codes = self._codes(X)
        return growth.leaf_indices(self._trees, codes, n_jobs=self.n_jobs)

    @property
    def feature_importances_(self):
        """Mean decrease of impurity by feature, scaled to sum 1; zeros if no tree has a split."""
        check_is_fitted(self, "_trees")
        total = self._importances.sum()
        return self._importances / total if total > 0 else self._importances.copy()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_trees")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class RandomForestClassifier(BaseForest):
    """A random forest.

    Every tree is grown on a bootstrap sample; every node is split at the best threshold of a few
    features drawn at random [1]_. Takes the place of scikit-learn's class of the same name.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy"}, default="gini"
        Impurity that splits are chosen by.
    max_depth : int, default=None
        Most edges from the root to a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest samples of a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of a leaf, as a share of that of the tree's samples.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn for each node. Constant ones count, but at least one that is not is
        looked at. A float is a share, None means all.
    bootstrap : bool, default=True
        Whether each tree draws its samples with replacement.
    max_samples : int or float, default=None
        Samples that a bootstrap draws: a number, a share, or as many as there are. If all sample
        weights are whole numbers, the share is one of their sum, so that weight k is the same as
        k equal rows.
    oob_score : bool or callable, default=False
        Whether to predict every sample by the trees that did not draw it, and score this by
        accuracy or by ``oob_score(y_true, y_pred)``. Needs a bootstrap.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same weight,
        "balanced_subsample" does so in each tree's own sample.
    n_jobs : int, default=None
        Number of threads, as joblib understands it; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether to show a progress bar.
    warm_start : bool, default=False
        Whether fit keeps the trees that there are and grows those that are missing.
    max_bins : int, default=255
        Most bins of a numeric feature, and most categories; the rarest ones beyond share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, which are split by sets and not by order: a mask, column
        numbers or names. "from_dtype" takes a DataFrame's columns of categories or strings.
        Categories that fit did not see count as missing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, which sums to 1.
    oob_score_ : float
        With `oob_score`; over the samples that some tree left out.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        With `oob_score`; NaN for a sample that every tree drew.

    Notes
    -----
    Missing values go to the side that is better for training, or at random where thresholds are
    random; where training saw none, to the side of more weight.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.93)
    True
    """

    _random_thresholds = False

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        bootstrap=True,
        max_samples=None,
        oob_score=False,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        max_bins=255,
        categorical_features="from_dtype",
    ):
        super().__init__(
            n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            class_weight=class_weight,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            max_bins=max_bins,
            categorical_features=categorical_features,
        )


class CompletelyRandomForestClassifier(BaseForest):
    """A completely-random forest.

    Every node is split at a random threshold of one feature drawn at random; nothing is chosen by
    the labels, but a node with one class is not split any further [1]_. Takes the place of
    scikit-learn's ``ExtraTreesClassifier(max_features=1)``. With a larger `max_features`, one
    random threshold is drawn for each of so many features and the best one taken: extra trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy"}, default="gini"
        Impurity that decides between random thresholds and weighs importances.
    max_depth : int, default=None
        Most edges from the root to a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest samples of a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of a leaf, as a share of that of the tree's samples.
    max_features : {"sqrt", "log2"}, int, float or None, default=1
        Features drawn for each node. Constant ones count, but at least one that is not is
        looked at. A float is a share, None means all.
    bootstrap : bool, default=False
        Whether each tree draws its samples with replacement.
    max_samples : int or float, default=None
        Samples that a bootstrap draws: a number, a share, or as many as there are. If all sample
        weights are whole numbers, the share is one of their sum, so that weight k is the same as
        k equal rows.
    oob_score : bool or callable, default=False
        Whether to predict every sample by the trees that did not draw it, and score this by
        accuracy or by ``oob_score(y_true, y_pred)``. Needs a bootstrap.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same weight,
        "balanced_subsample" does so in each tree's own sample.
    n_jobs : int, default=None
        Number of threads, as joblib understands it; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether to show a progress bar.
    warm_start : bool, default=False
        Whether fit keeps the trees that there are and grows those that are missing.
    max_bins : int, default=255
        Most bins of a numeric feature, and most categories; the rarest ones beyond share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, which are split by sets and not by order: a mask, column
        numbers or names. "from_dtype" takes a DataFrame's columns of categories or strings.
        Categories that fit did not see count as missing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, which sums to 1.
    oob_score_ : float
        With `oob_score`; over the samples that some tree left out.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        With `oob_score`; NaN for a sample that every tree drew.

    Notes
    -----
    Missing values go to the side that is better for training, or at random where thresholds are
    random; where training saw none, to the side of more weight.

    References
    ----------
    .. [1] F. T. Liu, K. M. Ting, Y. Yu and Z.-H. Zhou, "Spectrum of variable-random trees",
       Journal of Artificial Intelligence Research 32, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import CompletelyRandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = CompletelyRandomForestClassifier(random_state=0).fit(X, y)
    >>> forest.predict_proba(X[:2]).round(1)
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """

    _random_thresholds = True

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1,
        bootstrap=False,
        max_samples=None,
        oob_score=False,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        max_bins=255,
        categorical_features="from_dtype",
    ):
        super().__init__(
            n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            class_weight=class_weight,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            max_bins=max_bins,
            categorical_features=categorical_features,
        )
