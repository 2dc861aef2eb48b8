"""Gradient boosting and forests on Dask collections, with the rows divided among the workers.

The fitted model has the bits, and so the `mddf.fingerprint`, of the model that the estimator makes
from all rows on one machine, for every number of workers and partitions.
``pip install "mddf[dask]"``.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

try:
    import dask  # noqa: F401
    import distributed
except ImportError as error:
    raise ImportError(
        'mddf.dask needs Dask and distributed, which pip install "mddf[dask]" brings'
    ) from error

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._base.validation import Within, unchanged_on_failure
from mddf._clusters.boosting import check_boosting
from mddf._clusters.collections import predicted
from mddf._clusters.fitting import client_for, fit_on_workers
from mddf._clusters.forests import check_forest
from mddf._forest.base import Forest
from mddf._gradient.base import GradientBoosting
from mddf._gradient.options import warn_of_ignored
from mddf._gradient.validation import refuse_incomplete

if TYPE_CHECKING:
    from typing import Self

__all__ = ["DaskEstimator"]


def _of_estimator(name: str) -> Callable[[DaskEstimator], bool]:
    """Check that the estimator has a method or an attribute."""

    def check(model: DaskEstimator) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), name)
        return True

    return check


def _refuse_other_models(estimator: object) -> None:
    if not isinstance(estimator, Forest | GradientBoosting):
        raise TypeError(
            f"estimator must be a forest or gradient boosting of mddf, got {short(estimator)}"
        )


class DaskEstimator(MetaEstimatorMixin, BaseEstimator):
    """Fit a forest or gradient boosting to Dask collections.

    The rows are divided among the workers of a cluster, and never come to the machine that calls
    `fit`. The fitted model has the same bits as a fit on all rows on one machine, in the order of
    the partitions.

    Parameters
    ----------
    estimator : forest or gradient boosting
        `mddf.RandomForestClassifier`, `mddf.CompletelyRandomForestClassifier`,
        `mddf.GradientBoostingClassifier`, or the regressor of the same kind, not fitted.
    client : distributed.Client or None, default=None
        Client of the cluster. None takes the default client.
    timeout : float, default=600.0
        Seconds that a worker waits for a message of another worker before fit fails.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model, an estimator of one machine that needs no cluster.
    classes_ : ndarray of shape (n_classes,)
        Only for a classifier.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    n_bytes_sent_ : list of int
        Bytes that each worker has sent to the other workers.

    Notes
    -----
    Each worker holds the partitions that follow each other in one range of rows. Partitions of a
    persisted collection move to the worker of their range. A worker without rows takes no part.
    Workers send each other sums over the connections of the cluster, with its encryption.

    Two fits do not run on one worker at the same time. If a worker ends, fit raises an error, and
    the estimator is unchanged. ``n_jobs=None`` means as many threads as a worker has.

    Parameters that need all rows in one place are refused. For boosted trees these are
    ``early_stopping=True`` without `X_val`, `scoring` other than "loss", `cv`, `warm_start`,
    `linear_leaves` other than False, `split_score` other than "newton", and losses of your own.
    The losses "absolute_error", "quantile" and "huber" take no `monotonic_cst`, and no weights
    that are not whole numbers unless all are equal. For forests, they are other criteria than
    "gini", "squared_error", "friedman_mse" and "poisson", `max_leaf_nodes`, `oob_score`,
    `warm_start`, `keep_targets`, balanced bootstraps, and a `class_weight` that is a list or
    "balanced_subsample". Several targets are refused for both.

    With ``early_stopping="auto"`` and without `X_val`, `max_iter` boosted trees are grown. No
    trials choose parameters: ``max_depth=None``, and "auto" of `learning_rate`, `max_iter`,
    `l2_regularization`, `max_features` and `subsample`, stand for fixed values. For columns with
    32 categories or more, every worker holds the targets of all samples for a moment.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from mddf import GradientBoostingClassifier
    >>> from mddf.dask import DaskEstimator
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.arange(200, chunks=50)[:, None] % 20
    >>> y = da.where(X[:, 0] < 5, "low", "high")
    >>> model = DaskEstimator(GradientBoostingClassifier(max_iter=20, random_state=0)).fit(X, y)
    >>> model.predict(X[:3]).compute()
    array(['low', 'low', 'low'], dtype='<U4')
    >>> client.close()
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        "client": "no_validation",
        "timeout": [Within(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        client: distributed.Client | None = None,
        timeout: float = 600.0,
    ) -> None:
        self.estimator = estimator
        self.client = client
        self.timeout = timeout

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
            `categorical_features` of the estimator.
        y : Dask array or series of shape (n_samples,)
            Classes (numbers, strings or booleans) for a classifier, numbers for a regressor, with
            the same partitions as `X`.
        sample_weight : Dask array or series of shape (n_samples,), default=None
            Weights as on one machine, with the same partitions as `X`; whole numbers up to 65535
            for a forest without a bootstrap. Every worker holds the weights of all samples for a
            moment.
        X_val, y_val, sample_weight_val : Dask collections, default=None
            Validation set for gradient boosting. The trees after the best round are dropped. If
            `early_stopping` is not False, growth ends after `n_iter_no_change` rounds without a
            better score.

        Returns
        -------
        self
        """
        self._validate_params()
        _refuse_other_models(self.estimator)
        self.estimator._validate_params()
        validation = None
        if any(part is not None for part in (X_val, y_val, sample_weight_val)):
            refuse_incomplete(X_val, y_val)
            validation = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
        self._check_divided(has_validation_set=validation is not None)
        if y is None:
            raise ValueError("y must be a Dask array or series, got None")
        with unchanged_on_failure(self):
            entropy = check_random_state(self.estimator.random_state).randint(
                0, 2**32, 4, np.uint64
            )
            self.estimator_, self.n_bytes_sent_ = fit_on_workers(
                client_for(self.client),
                clone(self.estimator),
                {"X": X, "y": y, "sample_weight": sample_weight},
                validation,
                entropy=entropy.tolist(),
                timeout=float(self.timeout),
            )
        return self

    def _check_divided(self, *, has_validation_set: bool) -> None:
        """Refuse parameters of the estimator that need all rows in one place."""
        if isinstance(self.estimator, GradientBoosting):
            warn_of_ignored(self.estimator)
            check_boosting(self.estimator, has_validation_set=has_validation_set)
            return
        if has_validation_set:
            raise ValueError(
                f"X_val must be None, because {type(self.estimator).__name__} uses no validation "
                "set"
            )
        check_forest(self.estimator)

    @available_if(_of_estimator("predict"))
    def predict(self, X: Any) -> Any:
        """Predict classes or targets lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        Dask array or series of shape (n_samples,)
        """
        check_is_fitted(self)
        example = getattr(self.estimator_, "classes_", np.zeros(0))
        return predicted(X, self.estimator_, "predict", example)

    @available_if(_of_estimator("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities of the classes lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        Dask array or data frame of shape (n_samples, n_classes)
            Columns of a data frame have the names of the classes, as text.
        """
        check_is_fitted(self)
        names = [str(label) for label in self.classes_.tolist()]
        example = np.zeros((0, len(names)))
        return predicted(X, self.estimator_, "predict_proba", example, names)

    @property
    def classes_(self) -> np.ndarray:
        """Classes in ascending order."""
        return np.asarray(self.estimator_.classes_)

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features."""
        return np.asarray(self.estimator_.feature_names_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator)
        tags.estimator_type = of_estimator.estimator_type
        tags.classifier_tags = of_estimator.classifier_tags
        tags.regressor_tags = of_estimator.regressor_tags
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied; the clone uses the same cluster.
        return type(self)(clone(self.estimator), client=self.client, timeout=self.timeout)

    def __getstate__(self) -> dict[str, Any]:
        # A client is a connection of this process.
        return super().__getstate__() | {"client": None}
