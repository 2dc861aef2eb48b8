"""Forests on Dask collections; `mddf.dask` publishes the classes."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import distributed
import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import validate_parameter_constraints

from mddf._base.validation import Within, unchanged_on_failure
from mddf._clusters.collections import predicted
from mddf._clusters.estimator import DaskEstimator, predict, predict_proba
from mddf._clusters.fitting import client_for, fit_on_workers
from mddf._clusters.shard_fits import ForestFit
from mddf._forest.base import Forest
from mddf._forest.classifiers import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._forest.regressors import CompletelyRandomForestRegressor, RandomForestRegressor
from mddf._forest.shards import refuse_undivided

if TYPE_CHECKING:
    from typing import Self


class _DaskForest(DaskEstimator):
    """Base class of the forests. Subclasses name the estimator of one machine."""

    _estimator: ClassVar[type[Forest[Any]]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees on the workers.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Numbers, with NaN for missing values, and categories as given by
            `categorical_features`.
        y : Dask array or series of shape (n_samples,)
            Classes (numbers, strings or booleans) for a classifier, numbers for a regressor, with
            the same partitions as `X`.
        sample_weight : Dask array or series of shape (n_samples,), default=None
            Weights as on one machine, with the same partitions as `X`; without a bootstrap, whole
            numbers up to 65535. Every worker holds the weights of all samples for a moment.

        Returns
        -------
        self
        """
        local_model = self._unfitted()
        validate_parameter_constraints(
            self._estimator._parameter_constraints
            | {"timeout": [Within(Real, 0, None, closed="neither")]},
            local_model.get_params(deep=False) | {"timeout": self.timeout},
            type(self).__name__,
        )
        refuse_undivided(local_model)
        local_model._check_bootstrap()
        if y is None:
            raise ValueError("y must be a Dask array or series, got None")
        with unchanged_on_failure(self):
            entropy = check_random_state(self.random_state).randint(0, 2**32, 4, np.uint64)
            result = fit_on_workers(
                client_for(self.client),
                local_model,
                {"X": X, "y": y, "sample_weight": sample_weight},
                None,
                kind=ForestFit(),
                entropy=entropy.tolist(),
                timeout=float(self.timeout),
            )
            self._take(result)
        return self


class _Classifier(_DaskForest):
    @property
    def classes_(self) -> np.ndarray:
        """Classes in ascending order."""
        return np.asarray(self.to_local().classes_)

    def predict(self, X: Any) -> Any:
        """Predict classes lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        Dask array or series of shape (n_samples,)
        """
        return predicted(X, self.to_local(), predict, self.classes_[:0])

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities of the classes lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        Dask array or data frame of shape (n_samples, n_classes)
        """
        example = np.zeros((0, len(self.classes_)))
        return predicted(X, self.to_local(), predict_proba, example)


class _Regressor(_DaskForest):
    def predict(self, X: Any) -> Any:
        """Predict the targets lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        Dask array or series of shape (n_samples,)
        """
        return predicted(X, self.to_local(), predict, np.zeros(0))


class DaskRandomForestClassifier(_Classifier):
    """A random forest for classification on Dask collections.

    The rows are divided among the workers, and each worker grows some of the trees. The model has
    the same bits as that of `mddf.RandomForestClassifier` on all rows,
    in the order of the partitions.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : "gini", default="gini"
        Impurity by which splits are chosen. Entropy is refused.
    max_depth : int, default=None
        Maximum depth of a tree; None for no limit.
    min_samples_split : int or float, default=2
        Minimum number of samples in a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Minimum number of samples in a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a share of the total weight of the tree's samples.
    max_leaf_nodes : None, default=None
        Only None is allowed: there is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's share of the samples.
    ccp_alpha : float, default=0.0
        Parameter of minimal cost-complexity pruning: the decrease of impurity that each leaf must
        contribute.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        Constraint of each feature, or of features by name: 1 if predictions must not decrease with
        it, -1 if they must not increase, 0 otherwise. Predictions are the
        probabilities of the second class of two. Categorical features cannot be
        constrained.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features that are drawn for each node, constant features included; at least one
        feature that is not constant is searched. A float is a share, None means all.
    bootstrap : bool, default=True
        Whether each tree draws its samples with replacement.
    max_samples : int or float, default=None
        Number of samples that a bootstrap draws. A float is a share of the samples or, if all
        sample weights are whole numbers, of the sum of their weights. None draws as many as there
        are samples with a weight.
    oob_score : False, default=False
        Only False is allowed: there are no out-of-bag predictions.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same weight.
    n_jobs : int, default=None
        Number of threads of each worker, and of trees that it grows at the same time. None means
        as many as the worker has.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether the workers show progress bars in their logs.
    warm_start : bool, default=False
        Only False is allowed.
    max_bins : int, default=255
        Maximum number of bins of a numeric feature, and of categories; the rarest further
        categories share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, which are split by sets and not by order: a mask, column numbers or
        names. "from_dtype" means a data frame's columns of categories or strings.
    client : distributed.Client or None, default=None
        Client of the cluster. None takes the default client.
    timeout : float, default=600.0
        Seconds that a worker waits for a message of another worker before fit fails.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, scaled to sum 1.
    n_bytes_sent_, n_messages_sent_ : list of int
        Bytes and messages that each worker has sent to the other workers.

    Notes
    -----
    Each worker holds the partitions that follow each other in one range of rows. A tree is grown
    by one worker, which gets sums over the rows of all workers at large nodes, and copies of the
    rows at nodes of at most an eighth of its own rows. The first worker collects all trees.

    Workers connect to each other by TCP on free ports. Two fits do not run on one worker at the
    same time. If a worker ends, fit raises an error, and the estimator is unchanged.

    These parameters of the estimator of one machine need all rows in one place, and are refused:
    `criterion="entropy"`, `max_leaf_nodes`, `oob_score`, `warm_start`, `bootstrap="balanced"`,
    `class_weight="balanced_subsample"`, `groups`, and several outputs. Without a
    bootstrap, weights must be whole numbers. Rows that trees drew are not stored.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from mddf.dask import DaskRandomForestClassifier
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.arange(200, chunks=50)[:, None] % 20
    >>> y = da.where(X[:, 0] < 5, "low", "high")
    >>> model = DaskRandomForestClassifier(10, random_state=0).fit(X, y)
    >>> model.predict(X[:3]).compute()
    array(['low', 'low', 'low'], dtype='<U4')
    >>> client.close()
    """

    __module__ = "mddf.dask"
    _estimator = RandomForestClassifier

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
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        client: distributed.Client | None = None,
        timeout: float = 600.0,
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
        self.client = client
        self.timeout = timeout


class DaskCompletelyRandomForestClassifier(_Classifier):
    """A completely-random forest for classification on Dask collections.

    The rows are divided among the workers, and each worker grows some of the trees. The model has
    the same bits as that of `mddf.CompletelyRandomForestClassifier` on all rows,
    in the order of the partitions.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : "gini", default="gini"
        Impurity by which splits are chosen. Entropy is refused.
    max_depth : int, default=None
        Maximum depth of a tree; None for no limit.
    min_samples_split : int or float, default=2
        Minimum number of samples in a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Minimum number of samples in a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a share of the total weight of the tree's samples.
    max_leaf_nodes : None, default=None
        Only None is allowed: there is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's share of the samples.
    ccp_alpha : float, default=0.0
        Parameter of minimal cost-complexity pruning: the decrease of impurity that each leaf must
        contribute.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        Constraint of each feature, or of features by name: 1 if predictions must not decrease with
        it, -1 if they must not increase, 0 otherwise. Predictions are the
        probabilities of the second class of two. Categorical features cannot be
        constrained.
    max_features : {"sqrt", "log2"}, int, float or None, default=1
        Number of features that are drawn for each node, constant features included; at least one
        feature that is not constant is searched. A float is a share, None means all.
    bootstrap : bool, default=False
        Whether each tree draws its samples with replacement.
    max_samples : int or float, default=None
        Number of samples that a bootstrap draws. A float is a share of the samples or, if all
        sample weights are whole numbers, of the sum of their weights. None draws as many as there
        are samples with a weight.
    oob_score : False, default=False
        Only False is allowed: there are no out-of-bag predictions.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same weight.
    n_jobs : int, default=None
        Number of threads of each worker, and of trees that it grows at the same time. None means
        as many as the worker has.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether the workers show progress bars in their logs.
    warm_start : bool, default=False
        Only False is allowed.
    max_bins : int, default=255
        Maximum number of bins of a numeric feature, and of categories; the rarest further
        categories share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, which are split by sets and not by order: a mask, column numbers or
        names. "from_dtype" means a data frame's columns of categories or strings.
    client : distributed.Client or None, default=None
        Client of the cluster. None takes the default client.
    timeout : float, default=600.0
        Seconds that a worker waits for a message of another worker before fit fails.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, scaled to sum 1.
    n_bytes_sent_, n_messages_sent_ : list of int
        Bytes and messages that each worker has sent to the other workers.

    Notes
    -----
    Each worker holds the partitions that follow each other in one range of rows. A tree is grown
    by one worker, which gets sums over the rows of all workers at large nodes, and copies of the
    rows at nodes of at most an eighth of its own rows. The first worker collects all trees.

    Workers connect to each other by TCP on free ports. Two fits do not run on one worker at the
    same time. If a worker ends, fit raises an error, and the estimator is unchanged.

    These parameters of the estimator of one machine need all rows in one place, and are refused:
    `criterion="entropy"`, `max_leaf_nodes`, `oob_score`, `warm_start`, `bootstrap="balanced"`,
    `class_weight="balanced_subsample"`, `groups`, and several outputs. Without a
    bootstrap, weights must be whole numbers. Rows that trees drew are not stored.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from mddf.dask import DaskCompletelyRandomForestClassifier
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.arange(200, chunks=50)[:, None] % 20
    >>> y = da.where(X[:, 0] < 5, "low", "high")
    >>> model = DaskCompletelyRandomForestClassifier(10, random_state=0).fit(X, y)
    >>> model.predict(X[:3]).compute()
    array(['low', 'low', 'low'], dtype='<U4')
    >>> client.close()
    """

    __module__ = "mddf.dask"
    _estimator = CompletelyRandomForestClassifier

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
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        client: distributed.Client | None = None,
        timeout: float = 600.0,
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
        self.client = client
        self.timeout = timeout


class DaskRandomForestRegressor(_Regressor):
    """A random forest for regression on Dask collections.

    The rows are divided among the workers, and each worker grows some of the trees. The model has
    the same bits as that of `mddf.RandomForestRegressor` on all rows,
    in the order of the partitions.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "friedman_mse", "poisson"}, default="squared_error"
        Loss by which splits are chosen. "poisson" is the deviance of targets that are not
        negative; "friedman_mse" is the same as "squared_error".
    max_depth : int, default=None
        Maximum depth of a tree; None for no limit.
    min_samples_split : int or float, default=2
        Minimum number of samples in a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Minimum number of samples in a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a share of the total weight of the tree's samples.
    max_leaf_nodes : None, default=None
        Only None is allowed: there is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's share of the samples.
    ccp_alpha : float, default=0.0
        Parameter of minimal cost-complexity pruning: the decrease of impurity that each leaf must
        contribute.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        Constraint of each feature, or of features by name: 1 if predictions must not decrease with
        it, -1 if they must not increase, 0 otherwise. Categorical features cannot be
        constrained.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Number of features that are drawn for each node, constant features included; at least one
        feature that is not constant is searched. A float is a share, None means all.
    bootstrap : bool, default=True
        Whether each tree draws its samples with replacement.
    max_samples : int or float, default=None
        Number of samples that a bootstrap draws. A float is a share of the samples or, if all
        sample weights are whole numbers, of the sum of their weights. None draws as many as there
        are samples with a weight.
    oob_score : False, default=False
        Only False is allowed: there are no out-of-bag predictions.
    n_jobs : int, default=None
        Number of threads of each worker, and of trees that it grows at the same time. None means
        as many as the worker has.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether the workers show progress bars in their logs.
    warm_start : bool, default=False
        Only False is allowed.
    keep_targets : None, default=None
        Only None is allowed: leaves keep no targets.
    max_bins : int, default=255
        Maximum number of bins of a numeric feature, and of categories; the rarest further
        categories share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, which are split by sets and not by order: a mask, column numbers or
        names. "from_dtype" means a data frame's columns of categories or strings.
    client : distributed.Client or None, default=None
        Client of the cluster. None takes the default client.
    timeout : float, default=600.0
        Seconds that a worker waits for a message of another worker before fit fails.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, scaled to sum 1.
    n_bytes_sent_, n_messages_sent_ : list of int
        Bytes and messages that each worker has sent to the other workers.

    Notes
    -----
    Each worker holds the partitions that follow each other in one range of rows. A tree is grown
    by one worker, which gets sums over the rows of all workers at large nodes, and copies of the
    rows at nodes of at most an eighth of its own rows. The first worker collects all trees.

    Workers connect to each other by TCP on free ports. Two fits do not run on one worker at the
    same time. If a worker ends, fit raises an error, and the estimator is unchanged.

    These parameters of the estimator of one machine need all rows in one place, and are refused:
    `criterion="absolute_error"`, `max_leaf_nodes`, `oob_score`, `warm_start`, `keep_targets`, and
    several targets. Without a bootstrap, weights must be whole numbers. Rows that trees drew are
    not stored.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from mddf.dask import DaskRandomForestRegressor
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.arange(200, chunks=50)[:, None] % 20
    >>> y = X[:, 0] * 2.0
    >>> model = DaskRandomForestRegressor(10, random_state=0).fit(X, y)
    >>> model.predict(X[:3]).compute().round()
    array([0., 2., 4.])
    >>> client.close()
    """

    __module__ = "mddf.dask"
    _estimator = RandomForestRegressor

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
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        keep_targets: int | None = None,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        client: distributed.Client | None = None,
        timeout: float = 600.0,
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
        self.client = client
        self.timeout = timeout


class DaskCompletelyRandomForestRegressor(_Regressor):
    """A completely-random forest for regression on Dask collections.

    The rows are divided among the workers, and each worker grows some of the trees. The model has
    the same bits as that of `mddf.CompletelyRandomForestRegressor` on all rows,
    in the order of the partitions.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "friedman_mse", "poisson"}, default="squared_error"
        Loss by which splits are chosen. "poisson" is the deviance of targets that are not
        negative; "friedman_mse" is the same as "squared_error".
    max_depth : int, default=None
        Maximum depth of a tree; None for no limit.
    min_samples_split : int or float, default=2
        Minimum number of samples in a node that is split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Minimum number of samples in a leaf; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a share of the total weight of the tree's samples.
    max_leaf_nodes : None, default=None
        Only None is allowed: there is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's share of the samples.
    ccp_alpha : float, default=0.0
        Parameter of minimal cost-complexity pruning: the decrease of impurity that each leaf must
        contribute.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        Constraint of each feature, or of features by name: 1 if predictions must not decrease with
        it, -1 if they must not increase, 0 otherwise. Categorical features cannot be
        constrained.
    max_features : {"sqrt", "log2"}, int, float or None, default=1
        Number of features that are drawn for each node, constant features included; at least one
        feature that is not constant is searched. A float is a share, None means all.
    bootstrap : bool, default=False
        Whether each tree draws its samples with replacement.
    max_samples : int or float, default=None
        Number of samples that a bootstrap draws. A float is a share of the samples or, if all
        sample weights are whole numbers, of the sum of their weights. None draws as many as there
        are samples with a weight.
    oob_score : False, default=False
        Only False is allowed: there are no out-of-bag predictions.
    n_jobs : int, default=None
        Number of threads of each worker, and of trees that it grows at the same time. None means
        as many as the worker has.
    random_state : int, RandomState or None, default=None
        Seed of the trees' random streams.
    verbose : int, default=0
        Whether the workers show progress bars in their logs.
    warm_start : bool, default=False
        Only False is allowed.
    keep_targets : None, default=None
        Only None is allowed: leaves keep no targets.
    max_bins : int, default=255
        Maximum number of bins of a numeric feature, and of categories; the rarest further
        categories share a bin.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, which are split by sets and not by order: a mask, column numbers or
        names. "from_dtype" means a data frame's columns of categories or strings.
    client : distributed.Client or None, default=None
        Client of the cluster. None takes the default client.
    timeout : float, default=600.0
        Seconds that a worker waits for a message of another worker before fit fails.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity, scaled to sum 1.
    n_bytes_sent_, n_messages_sent_ : list of int
        Bytes and messages that each worker has sent to the other workers.

    Notes
    -----
    Each worker holds the partitions that follow each other in one range of rows. A tree is grown
    by one worker, which gets sums over the rows of all workers at large nodes, and copies of the
    rows at nodes of at most an eighth of its own rows. The first worker collects all trees.

    Workers connect to each other by TCP on free ports. Two fits do not run on one worker at the
    same time. If a worker ends, fit raises an error, and the estimator is unchanged.

    These parameters of the estimator of one machine need all rows in one place, and are refused:
    `criterion="absolute_error"`, `max_leaf_nodes`, `oob_score`, `warm_start`, `keep_targets`, and
    several targets. Without a bootstrap, weights must be whole numbers. Rows that trees drew are
    not stored.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from mddf.dask import DaskCompletelyRandomForestRegressor
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.arange(200, chunks=50)[:, None] % 20
    >>> y = X[:, 0] * 2.0
    >>> model = DaskCompletelyRandomForestRegressor(10, random_state=0).fit(X, y)
    >>> model.predict(X[:3]).compute().round()
    array([0., 2., 4.])
    >>> client.close()
    """

    __module__ = "mddf.dask"
    _estimator = CompletelyRandomForestRegressor

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
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        keep_targets: int | None = None,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        client: distributed.Client | None = None,
        timeout: float = 600.0,
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
        self.client = client
        self.timeout = timeout
