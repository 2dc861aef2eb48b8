"""Base class of the forests on Dask collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mddf._clusters.estimator import DaskEstimator
from mddf._clusters.shard_fits import ForestFit
from mddf._forest.base import Forest
from mddf._forest.shards import refuse_undivided

if TYPE_CHECKING:
    from typing import Self


class DaskForest(DaskEstimator):
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
        local_model = self._local_model()
        refuse_undivided(local_model)
        local_model._check_bootstrap()
        training = {"X": X, "y": y, "sample_weight": sample_weight}
        self._fit_on_workers(local_model, training, kind=ForestFit())
        return self
