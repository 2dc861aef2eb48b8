"""Random and completely-random forests that stand in for scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
from numpy.random import RandomState
from sklearn import ensemble

from mddf._forest.base_classifier import BaseForest
from mddf._forest.trees import CompletelyRandomTreeClassifier, RandomTreeClassifier


class RandomForestClassifier(BaseForest):
    """A random forest.

    Every tree is grown on a bootstrap sample; every node is split at the best threshold of a few
    features drawn at random [1]_. Takes the place of scikit-learn's class of the same name.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that splits are chosen by; the latter two are the same.
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
        not rise, 0 elsewhere. They are probabilities of the second class of
        two. Not for categories.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn for each node. Constant ones count, but at least one that is not is
        looked at. A float is a share, None means all.
    bootstrap : bool or "balanced", default=True
        Whether each tree draws its samples with replacement; "balanced": as many of each class, by
        default as many as the smallest class has.
    max_samples : int or float, default=None
        Samples that a bootstrap draws: a number, a share, or as many as have weight. If all
        sample weights are whole numbers, the share is one of their sum, so that with 1.0 weight k
        is the same as k equal rows.
    oob_score : bool or callable, default=False
        Whether to predict every sample by the trees that did not draw it, and score this by
        accuracy or by ``oob_score(y_true, y_pred)``. Needs a bootstrap.
    class_weight : dict, list of dict, "balanced", "balanced_subsample" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same weight,
        "balanced_subsample" does so in each tree's own sample. Of several outputs "balanced", or a
        dict for each: factors are multiplied.
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
    classes_ : ndarray of shape (n_classes,), or a list of these if there are several outputs
    n_classes_ : int or list of int
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, which sums to 1.
    oob_score_ : float
        With `oob_score`; over the samples that some tree left out.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        With `oob_score`; NaN for a sample that every tree drew. Of several outputs of shape
        (n_samples, most classes of an output, n_outputs).

    Notes
    -----
    Missing values go to the side that is better for training, or at random where thresholds are
    random; where training saw none, to the side of more weight.

    Probabilities are means over the trees of the class distribution in a sample's leaf. Trees of
    several outputs are split by the mean of their impurities.

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
    _tree_type = RandomTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        max_features: str | int | float | None = "sqrt",
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        class_weight: dict[Any, float] | list[dict[Any, float]] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
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
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.categorical_features = categorical_features


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
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that decides between random thresholds and weighs importances; the latter two are
        the same.
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
        not rise, 0 elsewhere. They are probabilities of the second class of
        two. Not for categories.
    max_features : {"sqrt", "log2"}, int, float or None, default=1
        Features drawn for each node. Constant ones count, but at least one that is not is
        looked at. A float is a share, None means all.
    bootstrap : bool or "balanced", default=False
        Whether each tree draws its samples with replacement; "balanced": as many of each class, by
        default as many as the smallest class has.
    max_samples : int or float, default=None
        Samples that a bootstrap draws: a number, a share, or as many as have weight. If all
        sample weights are whole numbers, the share is one of their sum, so that with 1.0 weight k
        is the same as k equal rows.
    oob_score : bool or callable, default=False
        Whether to predict every sample by the trees that did not draw it, and score this by
        accuracy or by ``oob_score(y_true, y_pred)``. Needs a bootstrap.
    class_weight : dict, list of dict, "balanced", "balanced_subsample" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same weight,
        "balanced_subsample" does so in each tree's own sample. Of several outputs "balanced", or a
        dict for each: factors are multiplied.
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
    classes_ : ndarray of shape (n_classes,), or a list of these if there are several outputs
    n_classes_ : int or list of int
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, which sums to 1.
    oob_score_ : float
        With `oob_score`; over the samples that some tree left out.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        With `oob_score`; NaN for a sample that every tree drew. Of several outputs of shape
        (n_samples, most classes of an output, n_outputs).

    Notes
    -----
    Missing values go to the side that is better for training, or at random where thresholds are
    random; where training saw none, to the side of more weight.

    Probabilities are means over the trees of the class distribution in a sample's leaf. Trees of
    several outputs are split by the mean of their impurities.

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
    _tree_type = CompletelyRandomTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        max_features: str | int | float | None = 1,
        bootstrap: bool | str = False,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        class_weight: dict[Any, float] | list[dict[Any, float]] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
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
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.categorical_features = categorical_features


# Functions that ask for the type of an estimator take these for what they stand for:
# partial dependence by recursion, shap's explainer of trees.
ensemble.RandomForestClassifier.register(RandomForestClassifier)
ensemble.ExtraTreesClassifier.register(CompletelyRandomForestClassifier)
