"""Random and completely-random forests for classification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
from numpy.random import RandomState
from sklearn import ensemble

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._forest.base_classifier import BaseForest
from mddf._forest.parameters import CLASSIFICATION_PARAMETERS, FOREST_PARAMETERS
from mddf._forest.trees import CompletelyRandomTreeClassifier, RandomTreeClassifier


@describes_parameters(CLASSIFICATION_PARAMETERS, FOREST_PARAMETERS, COMMON)
class RandomForestClassifier(BaseForest):
    """A random forest for classification.

    Every tree is grown on a bootstrap sample; every node is split at the best threshold of a few
    features drawn at random [1]_. This class can replace the class of scikit-learn with the same
    name.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity by which splits are chosen; "entropy" and "log_loss" are the same.

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


@describes_parameters(CLASSIFICATION_PARAMETERS, FOREST_PARAMETERS, COMMON)
class CompletelyRandomForestClassifier(BaseForest):
    """A completely-random forest for classification.

    Every node is split at a random threshold of a feature drawn at random. Splits do not depend on
    the labels, except that a node with a single class is not split [1]_. This class can replace
    ``ExtraTreesClassifier(max_features=1)`` of scikit-learn. With a larger `max_features`, a
    random threshold is drawn for each of these features, and the best one is taken: extra trees.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity by which the best of several random thresholds is chosen, and importances are
        computed; "entropy" and "log_loss" are the same.

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


# Functions that check the type of an estimator accept these forests in place of scikit-learn's
# forests: partial dependence by recursion, and the tree explainer of shap.
ensemble.RandomForestClassifier.register(RandomForestClassifier)
ensemble.ExtraTreesClassifier.register(CompletelyRandomForestClassifier)
