"""Forest regressors on Dask collections; `mddf.dask` publishes the classes."""

from __future__ import annotations

import distributed
import numpy as np
import numpy.typing as npt

from mddf._clusters.estimator import DaskRegressor
from mddf._clusters.forests import DaskForest
from mddf._forest.regressors import CompletelyRandomForestRegressor, RandomForestRegressor


class DaskRandomForestRegressor(DaskForest, DaskRegressor):
    """A random forest for regression on Dask collections.

    The rows are divided among the workers, and each worker grows some of the trees. The model has
    the same bits as a fit of `mddf.RandomForestRegressor` on all rows, in the order of the
    partitions.

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
        it, -1 if they must not increase, 0 otherwise. Categorical features cannot be constrained.
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
    several targets. Without a bootstrap, weights must be whole numbers. The rows that the trees
    drew are not stored.

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


class DaskCompletelyRandomForestRegressor(DaskForest, DaskRegressor):
    """A completely-random forest for regression on Dask collections.

    The rows are divided among the workers, and each worker grows some of the trees. The model has
    the same bits as a fit of `mddf.CompletelyRandomForestRegressor` on all rows, in the order of
    the partitions.

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
        it, -1 if they must not increase, 0 otherwise. Categorical features cannot be constrained.
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
    several targets. Without a bootstrap, weights must be whole numbers. The rows that the trees
    drew are not stored.

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
