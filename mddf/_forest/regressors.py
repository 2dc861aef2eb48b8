"""Random and completely-random forests that regress, to stand in for scikit-learn's."""

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
    features drawn at random [1]_. Takes the place of scikit-learn's class of the same name.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "poisson", "friedman_mse"}, \
            default="squared_error"
        What splits are chosen by; of several outputs, their mean. Leaves hold medians for
        "absolute_error", else means; "poisson" is the deviance of targets that are not negative;
        "friedman_mse" is the same as "squared_error".
    max_depth : int, default=None
        Most edges from the root to a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest samples of a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of a leaf, as a share of that of the tree's samples.
    max_leaf_nodes : int, default=None
        Most leaves of a tree: the nodes come first whose splits are worth most. None for no limit.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, as a share of the weight of the tree's samples.
    ccp_alpha : float, default=0.0
        Of minimal cost-complexity pruning: by how much each leaf has to lessen the impurity.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        By feature, or by its name: 1 where predictions must not fall with it, -1 where they must
        not rise, 0 elsewhere. For one output, and not for categories.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
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
        R2 or by ``oob_score(y_true, y_pred)``. Needs a bootstrap.
    n_jobs : int, default=None
        Number of threads: None is one (or what `joblib.parallel_config` says), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether to show a progress bar.
    warm_start : bool, default=False
        Whether fit keeps the trees that there are and grows those that are missing. On the
        same rows, `oob_score` may be switched on later.
    keep_targets : int or None, default=None
        Most training targets that are kept of each leaf, for `predict_quantiles`. None keeps none.
        They take 4 bytes each, and fit needs up to 64 times 8 bytes a row to find them.
    max_bins : int, default=255
        Most bins of a numeric feature, and most categories; the rarest ones beyond share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, which are split by sets and not by order: a mask, column
        numbers or names. "from_dtype" takes a DataFrame's columns of categories or strings;
        columns of objects without a string are numbers.
        Categories that fit did not see count as missing.

    Attributes
    ----------
    n_features_in_ : int
    n_outputs_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, which sums to 1.
    oob_score_ : float
        With `oob_score`; over the samples that some tree left out.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        With `oob_score`; NaN for a sample that every tree drew.

    Notes
    -----
    Missing values go to the side that is better for training, or at random where thresholds are
    random; where training saw none, to the side of more weight.

    Targets are taken as multiples of 2^-61 of a power of two above their absolute values, so that
    sums are exact and no result depends on an order. Weights that are not whole numbers are
    rounded to 31 bits.

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

    Every node is split at a random threshold of one feature drawn at random; nothing is chosen by
    the targets, but a node whose targets are all the same is not split any further [1]_. Takes
    the place of scikit-learn's ``ExtraTreesRegressor(max_features=1)``. With a larger
    `max_features`, one random threshold is drawn for each of so many features and the best one
    taken: extra trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "poisson", "friedman_mse"}, \
            default="squared_error"
        What decides between random thresholds and weighs importances; of several outputs, their
        mean. Leaves hold medians for "absolute_error", else means; "poisson" is the deviance of
        targets that are not negative; "friedman_mse" is the same as "squared_error".
    max_depth : int, default=None
        Most edges from the root to a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest samples of a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of a leaf, as a share of that of the tree's samples.
    max_leaf_nodes : int, default=None
        Most leaves of a tree: the nodes come first whose splits are worth most. None for no limit.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, as a share of the weight of the tree's samples.
    ccp_alpha : float, default=0.0
        Of minimal cost-complexity pruning: by how much each leaf has to lessen the impurity.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        By feature, or by its name: 1 where predictions must not fall with it, -1 where they must
        not rise, 0 elsewhere. For one output, and not for categories.
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
        R2 or by ``oob_score(y_true, y_pred)``. Needs a bootstrap.
    n_jobs : int, default=None
        Number of threads: None is one (or what `joblib.parallel_config` says), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether to show a progress bar.
    warm_start : bool, default=False
        Whether fit keeps the trees that there are and grows those that are missing. On the
        same rows, `oob_score` may be switched on later.
    keep_targets : int or None, default=None
        Most training targets that are kept of each leaf, for `predict_quantiles`. None keeps none.
        They take 4 bytes each, and fit needs up to 64 times 8 bytes a row to find them.
    max_bins : int, default=255
        Most bins of a numeric feature, and most categories; the rarest ones beyond share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, which are split by sets and not by order: a mask, column
        numbers or names. "from_dtype" takes a DataFrame's columns of categories or strings;
        columns of objects without a string are numbers.
        Categories that fit did not see count as missing.

    Attributes
    ----------
    n_features_in_ : int
    n_outputs_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, which sums to 1.
    oob_score_ : float
        With `oob_score`; over the samples that some tree left out.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        With `oob_score`; NaN for a sample that every tree drew.

    Notes
    -----
    Missing values go to the side that is better for training, or at random where thresholds are
    random; where training saw none, to the side of more weight.

    Targets are taken as multiples of 2^-61 of a power of two above their absolute values, so that
    sums are exact and no result depends on an order. Weights that are not whole numbers are
    rounded to 31 bits.

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


# Functions that ask for the type of an estimator take these for what they stand for:
# partial dependence by recursion, shap's explainer of trees.
ensemble.RandomForestRegressor.register(RandomForestRegressor)
ensemble.ExtraTreesRegressor.register(CompletelyRandomForestRegressor)
