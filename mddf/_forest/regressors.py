"""Random and completely-random forests for regression."""

from __future__ import annotations

from collections.abc import Callable

import numpy.typing as npt
from numpy.random import RandomState
from sklearn import ensemble

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._forest.base_regressor import BaseForestRegressor
from mddf._forest.parameters import FOREST_PARAMETERS, REGRESSION_PARAMETERS
from mddf._forest.trees import CompletelyRandomTreeRegressor, RandomTreeRegressor


@describes_parameters(REGRESSION_PARAMETERS, FOREST_PARAMETERS, COMMON)
class RandomForestRegressor(BaseForestRegressor):
    """A random forest for regression.

    Every tree is grown on a bootstrap sample; every node is split at the best threshold of a few
    features drawn at random [1]_. This class can replace the class of scikit-learn with the same
    name.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson", "friedman_mse"}, \
            default="squared_error"
        Loss by which splits are chosen; with several outputs, its mean. Leaves hold medians for
        "absolute_error", and means otherwise. "poisson" is the deviance of targets that are not
        negative; "friedman_mse" is the same as "squared_error".

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


@describes_parameters(REGRESSION_PARAMETERS, FOREST_PARAMETERS, COMMON)
class CompletelyRandomForestRegressor(BaseForestRegressor):
    """A completely-random forest for regression.

    Every node is split at a random threshold of a feature drawn at random. Splits do not depend on
    the targets, except that a node whose targets are all equal is not split [1]_. This class can
    replace ``ExtraTreesRegressor(max_features=1)`` of scikit-learn. With a larger `max_features`,
    a random threshold is drawn for each of these features, and the best one is taken: extra trees.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson", "friedman_mse"}, \
            default="squared_error"
        Loss by which the best of several random thresholds is chosen, and importances are
        computed; with several outputs, its mean. Leaves hold medians for "absolute_error", and
        means otherwise. "poisson" is the deviance of targets that are not negative; "friedman_mse"
        is the same as "squared_error".

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
