"""Gradient boosting and forests on Dask collections, with the rows divided among the workers.

The fitted model has the same bits as the model that the estimator of `mddf` makes from all rows
on one machine, for every number of workers and partitions. ``pip install "mddf[dask]"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

try:
    import dask  # noqa: F401
    import distributed
except ImportError as error:
    raise ImportError(
        'mddf.dask needs Dask and distributed, which pip install "mddf[dask]" brings'
    ) from error

from mddf._base.validation import refuse_booleans
from mddf._clusters.estimator import DaskClassifier, DaskEstimator, DaskRegressor
from mddf._clusters.forest_classifiers import (
    DaskCompletelyRandomForestClassifier,
    DaskRandomForestClassifier,
)
from mddf._clusters.forest_regressors import (
    DaskCompletelyRandomForestRegressor,
    DaskRandomForestRegressor,
)
from mddf._clusters.shard_fits import BoostingFit
from mddf._gradient.base import GradientBoosting
from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.options import SYMMETRIC, warn_of_ignored
from mddf._gradient.regressor import GradientBoostingRegressor
from mddf._gradient.shards import refuse_undivided
from mddf._gradient.validation_set import ValidationSet

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "DaskCompletelyRandomForestClassifier",
    "DaskCompletelyRandomForestRegressor",
    "DaskGradientBoostingClassifier",
    "DaskGradientBoostingRegressor",
    "DaskRandomForestClassifier",
    "DaskRandomForestRegressor",
]


class _DaskGradientBoosting(DaskEstimator):
    """Base class of both estimators. Subclasses name the estimator of one machine."""

    _estimator: ClassVar[type[GradientBoosting]]
    interaction_cst: Any

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Grow the trees on the workers.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Numbers, with NaN for missing values, and categories as given by
            `categorical_features`. A column may have at most 31 categories.
        y : Dask array or series of shape (n_samples,)
            Classes (numbers, strings or booleans) for a classifier, numbers for a regressor, with
            the same partitions as `X`.
        sample_weight : Dask array or series of shape (n_samples,), default=None
            Weights as on one machine, with the same partitions as `X`. Every worker holds the
            weights of all samples for a moment.
        X_val, y_val, sample_weight_val : Dask collections, default=None
            Validation set. The trees after the best round are dropped. If `early_stopping` is not
            False, growth ends after `n_iter_no_change` rounds without a better score.

        Returns
        -------
        self
        """
        local_model = self._local_model()
        refuse_booleans("interaction_cst", self.interaction_cst)
        warn_of_ignored(local_model)
        validation = None
        validation_set = ValidationSet(X_val, y_val, sample_weight_val)
        if validation_set.is_passed:
            validation_set.refuse_incomplete()
            validation = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
        refuse_undivided(local_model, has_validation_set=validation is not None)
        training = {"X": X, "y": y, "sample_weight": sample_weight}
        self._fit_on_workers(local_model, training, validation, kind=BoostingFit())
        return self

    @property
    def n_iter_(self) -> int:
        """Number of trees."""
        return int(self.to_local().n_iter_)

    @property
    def train_score_(self) -> np.ndarray:
        """Minus the training loss, before the first tree and after each tree."""
        return np.asarray(self.to_local().train_score_)

    @property
    def validation_score_(self) -> np.ndarray:
        """Minus the loss of the validation set; empty without a validation set."""
        return np.asarray(self.to_local().validation_score_)


class DaskGradientBoostingClassifier(_DaskGradientBoosting, DaskClassifier):
    """Gradient-boosted trees for classification on Dask collections.

    The rows are divided among the workers, and each worker grows the same trees on its rows. The
    model has the same bits as a fit of `mddf.GradientBoostingClassifier` on all rows, in the
    order of the partitions.

    Parameters
    ----------
    loss : {"log_loss", "exponential"}, default="log_loss"
        Loss to minimise. "exponential" is for two classes only.
    learning_rate : float or "auto", default="auto"
        Factor by which the leaf values are multiplied. "auto" stands for 0.05, and for 0.15 above
        100 000 samples, for which `max_iter` trees are too few at the lower rate.
    max_iter : int, default=1000
        Largest number of trees.
    grow_policy : {"symmetric", "leaf-wise"}, default="symmetric"
        "symmetric": all nodes of a level have the same split, the one with the largest total gain.
        "leaf-wise": the leaf whose split has the largest gain is split next.
    max_leaf_nodes : int or None, default=31
        Largest number of leaves of a leaf-wise tree. Symmetric trees ignore it; values other
        than 31 and None then cause a warning.
    max_depth : int or None, default=None
        Largest number of edges from the root to a leaf, at most 16 for symmetric trees. None means
        no limit for leaf-wise trees, and 6 for symmetric trees.
    min_samples_leaf : int, default=1
        Smallest number of samples in a leaf. A node of a symmetric tree stays undivided if the
        split of its level would leave fewer samples on one side.
    l2_regularization : float or "auto", default="auto"
        Number added to the sum of second derivatives in a leaf. "auto" stands for 3.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default="auto"
        Number of features drawn for each level of a symmetric tree or each node of a leaf-wise
        tree. A float is a share of the features, None means all. "auto" stands for 0.5, and for
        1.0 above 100 000 samples.
    subsample : float or "auto", default="auto"
        Share of the samples drawn for each tree. "auto" stands for 0.8.
    max_bins : int, default=255
        Largest number of bins of a numeric feature.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, which are split by sets of categories: a mask, column numbers or
        names. "from_dtype" takes the columns of a data frame that hold categories or strings. A
        feature may have at most 31 categories.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        For each feature 1 if the score of the second class must not decrease with it, -1 if the
        score must not increase, otherwise 0. A dict has names of features as keys. For two classes
        only.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists of int or None, default=None
        Groups of features that may interact: the splits on a path from the root to a leaf use
        features of one group. Features in no group form a further group.
    early_stopping : "auto" or bool, default=False
        True and "auto" need `X_val`: growth stops when its loss has not improved for
        `n_iter_no_change` trees. False grows `max_iter` trees.
    scoring : "loss", default="loss"
        Score of the validation set. Only the loss is a sum over rows.
    validation_fraction : float, int or None, default=0.1
        Has no effect: no rows are held out.
    cv : None, default=None
        Folds need all rows in one place.
    n_iter_no_change : int, default=50
        Number of trees without a better score after which fit stops.
    tol : float, default=0.0
        Smallest improvement of the score that counts as better.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same total weight.
    warm_start : bool, default=False
        Only False is allowed.
    n_jobs : int, default=None
        Number of threads of each worker. None means as many as the worker has.
    random_state : int, RandomState or None, default=None
        Seed of the random draws of samples and features.
    verbose : int, default=0
        Whether the workers show progress bars in their logs.
    client : distributed.Client or None, default=None
        Client of the cluster. None takes the default client.
    timeout : float, default=600.0
        Seconds that a worker waits for a message of another worker before fit fails.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Number of trees.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    train_score_, validation_score_ : ndarray of shape (n_grown + 1,)
        Minus the losses before the first tree and after each tree that was grown.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of the splits of each feature, scaled to sum 1.
    n_bytes_sent_, n_messages_sent_ : list of int
        Bytes and messages that each worker has sent to the other workers.

    Notes
    -----
    Each worker holds the partitions that follow each other in one range of rows. Partitions of a
    persisted collection move to the worker of their range. A worker without rows takes no part.

    Workers connect to each other by TCP on free ports. Two fits do not run on one worker at the
    same time. If a worker ends, fit raises an error, and the estimator is unchanged.

    These parameters of the estimator of one machine need all rows in one place, and are refused:
    `early_stopping` without `X_val`, `scoring` other than "loss", `cv`, `warm_start`, and
    columns with 32 categories or more. `max_depth=None` and "auto" stand for fixed values, because
    no trials choose them. Warnings about columns that look like times or repeated subjects are not
    given.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from mddf.dask import DaskGradientBoostingClassifier
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.arange(200, chunks=50)[:, None] % 20
    >>> y = da.where(X[:, 0] < 5, "low", "high")
    >>> model = DaskGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict(X[:3]).compute()
    array(['low', 'low', 'low'], dtype='<U4')
    >>> client.close()
    """

    _estimator = GradientBoostingClassifier

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        learning_rate: float | str = "auto",
        max_iter: int = 1000,
        grow_policy: str = SYMMETRIC,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        l2_regularization: float | str = "auto",
        max_features: float | str | None = "auto",
        subsample: float | str = "auto",
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        interaction_cst: str | Sequence[Iterable[int]] | None = None,
        early_stopping: bool | str = False,
        scoring: str | None = "loss",
        validation_fraction: float | None = 0.1,
        cv: Any = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        class_weight: str | dict[Any, float] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        client: distributed.Client | None = None,
        timeout: float = 600.0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.grow_policy = grow_policy
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight
        self.client = client
        self.timeout = timeout


class DaskGradientBoostingRegressor(_DaskGradientBoosting, DaskRegressor):
    """Gradient-boosted trees for regression on Dask collections.

    The rows are divided among the workers, and each worker grows the same trees on its rows. The
    model has the same bits as a fit of `mddf.GradientBoostingRegressor` on all rows, in the
    order of the partitions.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", \
            "tweedie"}, default="squared_error"
        Loss to minimise. Losses of your own are refused. "absolute_error", "quantile" and "huber"
        need sample weights that are whole numbers, and no monotonic constraints.
    quantile : float or None, default=None
        For "quantile", the quantile to predict; None is an error. For "huber", the quantile of the
        absolute residuals above which the loss is linear; None stands for 0.9. Other losses ignore
        it.
    tweedie_power : float, default=1.5
        For "tweedie", the power of the mean to which the variance is proportional: above 1
        (Poisson) and below 2 (gamma). Other losses ignore it.
    learning_rate : float or "auto", default="auto"
        Factor by which the leaf values are multiplied. "auto" stands for 0.05, and for 0.15 above
        100 000 samples, for which `max_iter` trees are too few at the lower rate.
    max_iter : int, default=1000
        Largest number of trees.
    grow_policy : {"symmetric", "leaf-wise"}, default="symmetric"
        "symmetric": all nodes of a level have the same split, the one with the largest total gain.
        "leaf-wise": the leaf whose split has the largest gain is split next.
    max_leaf_nodes : int or None, default=31
        Largest number of leaves of a leaf-wise tree. Symmetric trees ignore it; values other
        than 31 and None then cause a warning.
    max_depth : int or None, default=None
        Largest number of edges from the root to a leaf, at most 16 for symmetric trees. None means
        no limit for leaf-wise trees, and 6 for symmetric trees.
    min_samples_leaf : int, default=1
        Smallest number of samples in a leaf. A node of a symmetric tree stays undivided if the
        split of its level would leave fewer samples on one side.
    l2_regularization : float or "auto", default=3.0
        Number added to the sum of second derivatives in a leaf, which is the number of samples for
        the squared error. "auto" stands for 3.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default=0.5
        Number of features drawn for each level of a symmetric tree or each node of a leaf-wise
        tree. A float is a share of the features, None means all. "auto" stands for 0.5, and for
        1.0 above 100 000 samples.
    subsample : float or "auto", default=0.8
        Share of the samples drawn for each tree. "auto" stands for 0.8.
    max_bins : int, default=255
        Largest number of bins of a numeric feature.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, which are split by sets of categories: a mask, column numbers or
        names. "from_dtype" takes the columns of a data frame that hold categories or strings. A
        feature may have at most 31 categories.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        For each feature 1 if predictions must not decrease with it, -1 if they must not increase,
        otherwise 0. A dict has names of features as keys.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists of int or None, default=None
        Groups of features that may interact: the splits on a path from the root to a leaf use
        features of one group. Features in no group form a further group.
    early_stopping : "auto" or bool, default=False
        True and "auto" need `X_val`: growth stops when its loss has not improved for
        `n_iter_no_change` trees. False grows `max_iter` trees.
    scoring : "loss", default="loss"
        Score of the validation set. Only the loss is a sum over rows.
    validation_fraction : float, int or None, default=0.1
        Has no effect: no rows are held out.
    cv : None, default=None
        Folds need all rows in one place.
    n_iter_no_change : int, default=50
        Number of trees without a better score after which fit stops.
    tol : float, default=0.0
        Smallest improvement of the score that counts as better.
    warm_start : bool, default=False
        Only False is allowed.
    n_jobs : int, default=None
        Number of threads of each worker. None means as many as the worker has.
    random_state : int, RandomState or None, default=None
        Seed of the random draws of samples and features.
    verbose : int, default=0
        Whether the workers show progress bars in their logs.
    client : distributed.Client or None, default=None
        Client of the cluster. None takes the default client.
    timeout : float, default=600.0
        Seconds that a worker waits for a message of another worker before fit fails.

    Attributes
    ----------
    n_iter_ : int
        Number of trees.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    train_score_, validation_score_ : ndarray of shape (n_grown + 1,)
        Minus the losses before the first tree and after each tree that was grown.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of the splits of each feature, scaled to sum 1.
    n_bytes_sent_, n_messages_sent_ : list of int
        Bytes and messages that each worker has sent to the other workers.

    Notes
    -----
    Each worker holds the partitions that follow each other in one range of rows. Partitions of a
    persisted collection move to the worker of their range. A worker without rows takes no part.

    Workers connect to each other by TCP on free ports. Two fits do not run on one worker at the
    same time. If a worker ends, fit raises an error, and the estimator is unchanged.

    These parameters of the estimator of one machine need all rows in one place, and are refused:
    `early_stopping` without `X_val`, `scoring` other than "loss", `cv`, `warm_start`, losses of
    your own, and columns with 32 categories or more. `max_depth=None` and "auto" stand for fixed
    values, because no trials choose them. Warnings about columns that look like times or repeated
    subjects are not given.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from mddf.dask import DaskGradientBoostingRegressor
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.arange(200, chunks=50)[:, None] % 20
    >>> y = X[:, 0] * 2.0
    >>> model = DaskGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict(X[:3]).compute().round(1)
    array([9.2, 9.2, 9.7])
    >>> client.close()
    """

    _estimator = GradientBoostingRegressor

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        quantile: float | None = None,
        tweedie_power: float = 1.5,
        learning_rate: float | str = "auto",
        max_iter: int = 1000,
        grow_policy: str = SYMMETRIC,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        l2_regularization: float | str = 3.0,
        max_features: float | str | None = 0.5,
        subsample: float | str = 0.8,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        interaction_cst: str | Sequence[Iterable[int]] | None = None,
        early_stopping: bool | str = False,
        scoring: str | None = "loss",
        validation_fraction: float | None = 0.1,
        cv: Any = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        client: distributed.Client | None = None,
        timeout: float = 600.0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.grow_policy = grow_policy
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.quantile = quantile
        self.tweedie_power = tweedie_power
        self.client = client
        self.timeout = timeout
