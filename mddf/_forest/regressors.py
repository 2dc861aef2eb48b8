"""Random and completely-random forests for regression."""

from __future__ import annotations

from collections.abc import Callable

import numpy.typing as npt
from numpy.random import RandomState
from sklearn import ensemble

from mddf._forest.base_regressor import BaseForestRegressor
from mddf._forest.trees import CompletelyRandomTreeRegressor, RandomTreeRegressor


class RandomForestRegressor(BaseForestRegressor):
    """A random forest for regression.

    Every tree is grown on a bootstrap sample; every node is split at the best threshold of a few
    features drawn at random [1]_. This class can replace the class of scikit-learn with the same
    name.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "poisson", "friedman_mse"}, \
            default="squared_error"
        Loss by which splits are chosen; with several outputs, its mean. Leaves hold medians for
        "absolute_error", and means otherwise. "poisson" is the deviance of targets that are not
        negative; "friedman_mse" is the same as "squared_error".
    max_depth : int, default=None
        Maximum depth of a tree; None for no limit.
    min_samples_split : int or float, default=2
        Minimum number of samples in a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Minimum number of samples in a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a share of the total weight of the tree's samples.
    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree. Nodes with the best splits are split first. None for no
        limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's share of the samples.
    ccp_alpha : float, default=0.0
        Parameter of minimal cost-complexity pruning: the decrease of impurity that each leaf must
        contribute.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        Constraint of each feature, or of features by name: 1 if predictions must not decrease with
        it, -1 if they must not increase, 0 otherwise. Only for one output, and not for categorical
        features.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Number of features that are drawn for each node, constant features included; at least one
        feature that is not constant is searched. A float is a share, None means all.
    bootstrap : bool, default=True
        Whether each tree draws its samples with replacement.
    max_samples : int or float, default=None
        Number of samples that a bootstrap draws. A float is a share of the samples or, if all
        sample weights are whole numbers, of the sum of their weights: with 1.0, weight k is the
        same as k equal rows. None draws as many as there are samples with a weight.
    oob_score : bool or callable, default=False
        Whether to predict every sample by the trees that did not draw it, and to score these
        predictions by R2 or by ``oob_score(y_true, y_pred)``. Needs a bootstrap.
    n_jobs : int, default=None
        Number of threads. None means 1, or the setting of `joblib.parallel_config`; -1 means all
        cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether to show a progress bar.
    warm_start : bool, default=False
        Whether fit keeps the trees of the fit before and grows the missing ones. On the same
        rows, `oob_score` may be switched on later.
    keep_targets : int or None, default=None
        Maximum number of training targets that are stored for each leaf, for `predict_quantiles`;
        None stores none. They take 4 bytes each, and fit needs up to 512 bytes per row to find
        them.
    max_bins : int, default=255
        Maximum number of bins of a numeric feature, and of categories; the rarest further
        categories share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, which are split by sets and not by order: a mask, column numbers or
        names. "from_dtype" means a data frame's columns of categories or strings; columns of
        objects without any string are numeric. Categories that are unknown from fit count as
        missing.

    Attributes
    ----------
    n_features_in_ : int
    n_outputs_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, scaled to sum 1.
    oob_score_ : float
        Score over the samples that some tree left out; only with `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Out-of-bag predictions, NaN for a sample that every tree drew; only with `oob_score`.

    Notes
    -----
    Missing values go to the side that is better for training, or to a random side if thresholds
    are random. In a node without missing values in training, they go to the side of more weight.

    Targets are rounded to multiples of 2^-61 of a power of two above their absolute values, so
    that sums are exact and results do not depend on an order. Weights that are not whole numbers
    are rounded to 31 bits.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mddf import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.4)
    True
    """

    _random_thresholds = False
    _tree_type = RandomTreeRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        max_features: str | int | float | None = 1.0,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        keep_targets: int | None = None,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.keep_targets = keep_targets
        self.max_bins = max_bins
        self.categorical_features = categorical_features


class CompletelyRandomForestRegressor(BaseForestRegressor):
    """A completely-random forest for regression.

    Every node is split at a random threshold of a feature drawn at random. Splits do not depend on
    the targets, except that a node whose targets are all equal is not split [1]_. This class can
    replace ``ExtraTreesRegressor(max_features=1)`` of scikit-learn. With a larger `max_features`,
    a random threshold is drawn for each of these features, and the best one is taken: extra trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "poisson", "friedman_mse"}, \
            default="squared_error"
        Loss by which the best of several random thresholds is chosen, and importances are
        computed; with several outputs, its mean. Leaves hold medians for "absolute_error", and
        means otherwise. "poisson" is the deviance of targets that are not negative; "friedman_mse"
        is the same as "squared_error".
    max_depth : int, default=None
        Maximum depth of a tree; None for no limit.
    min_samples_split : int or float, default=2
        Minimum number of samples in a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Minimum number of samples in a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a share of the total weight of the tree's samples.
    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree. Nodes with the best splits are split first. None for no
        limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's share of the samples.
    ccp_alpha : float, default=0.0
        Parameter of minimal cost-complexity pruning: the decrease of impurity that each leaf must
        contribute.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        Constraint of each feature, or of features by name: 1 if predictions must not decrease with
        it, -1 if they must not increase, 0 otherwise. Only for one output, and not for categorical
        features.
    max_features : {"sqrt", "log2"}, int, float or None, default=1
        Number of features that are drawn for each node, constant features included; at least one
        feature that is not constant is searched. A float is a share, None means all.
    bootstrap : bool, default=False
        Whether each tree draws its samples with replacement.
    max_samples : int or float, default=None
        Number of samples that a bootstrap draws. A float is a share of the samples or, if all
        sample weights are whole numbers, of the sum of their weights: with 1.0, weight k is the
        same as k equal rows. None draws as many as there are samples with a weight.
    oob_score : bool or callable, default=False
        Whether to predict every sample by the trees that did not draw it, and to score these
        predictions by R2 or by ``oob_score(y_true, y_pred)``. Needs a bootstrap.
    n_jobs : int, default=None
        Number of threads. None means 1, or the setting of `joblib.parallel_config`; -1 means all
        cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether to show a progress bar.
    warm_start : bool, default=False
        Whether fit keeps the trees of the fit before and grows the missing ones. On the same
        rows, `oob_score` may be switched on later.
    keep_targets : int or None, default=None
        Maximum number of training targets that are stored for each leaf, for `predict_quantiles`;
        None stores none. They take 4 bytes each, and fit needs up to 512 bytes per row to find
        them.
    max_bins : int, default=255
        Maximum number of bins of a numeric feature, and of categories; the rarest further
        categories share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, which are split by sets and not by order: a mask, column numbers or
        names. "from_dtype" means a data frame's columns of categories or strings; columns of
        objects without any string are numeric. Categories that are unknown from fit count as
        missing.

    Attributes
    ----------
    n_features_in_ : int
    n_outputs_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, scaled to sum 1.
    oob_score_ : float
        Score over the samples that some tree left out; only with `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Out-of-bag predictions, NaN for a sample that every tree drew; only with `oob_score`.

    Notes
    -----
    Missing values go to the side that is better for training, or to a random side if thresholds
    are random. In a node without missing values in training, they go to the side of more weight.

    Targets are rounded to multiples of 2^-61 of a power of two above their absolute values, so
    that sums are exact and results do not depend on an order. Weights that are not whole numbers
    are rounded to 31 bits.

    References
    ----------
    .. [1] F. T. Liu, K. M. Ting, Y. Yu and Z.-H. Zhou, "Spectrum of variable-random trees",
       Journal of Artificial Intelligence Research 32, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mddf import CompletelyRandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = CompletelyRandomForestRegressor(random_state=0).fit(X, y)
    >>> forest.predict(X[:2])
    array([151.,  75.])
    """

    _random_thresholds = True
    _tree_type = CompletelyRandomTreeRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        max_features: str | int | float | None = 1,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        keep_targets: int | None = None,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.keep_targets = keep_targets
        self.max_bins = max_bins
        self.categorical_features = categorical_features


# Functions that check the type of an estimator accept these forests in place of scikit-learn's
# forests: partial dependence by recursion, and the tree explainer of shap.
ensemble.RandomForestRegressor.register(RandomForestRegressor)
ensemble.ExtraTreesRegressor.register(CompletelyRandomForestRegressor)
