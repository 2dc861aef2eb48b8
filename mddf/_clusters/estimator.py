"""What the estimators on Dask collections have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import distributed
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from mddf._clusters.fitting import DistributedFit

if TYPE_CHECKING:
    from typing import Self

# Parameters that the local estimator does not have.
_OWN_PARAMETERS = ("client", "timeout")


def predict(model: Any, X: Any) -> np.ndarray:
    """Predictions of a partition."""
    return np.asarray(model.predict(X))


def predict_proba(model: Any, X: Any) -> np.ndarray:
    """Probabilities for a partition."""
    return np.asarray(model.predict_proba(X))


class DaskEstimator(BaseEstimator):
    """Base class of the estimators. Subclasses name the estimator of one machine."""

    _estimator: ClassVar[type[Any]]
    client: distributed.Client | None
    timeout: float
    random_state: int | np.random.RandomState | None

    def _unfitted(self) -> Any:
        """Make the estimator of one machine, with the same parameters."""
        parameters = self.get_params(deep=False)
        return self._estimator(
            **{name: value for name, value in parameters.items() if name not in _OWN_PARAMETERS}
        )

    def _take(self, result: DistributedFit) -> None:
        """Store the results of a fit."""
        self._model = result.model
        self.n_bytes_sent_ = result.n_bytes_sent
        self.n_messages_sent_ = result.n_messages_sent
        self.n_features_in_ = self._model.n_features_in_
        if hasattr(self._model, "feature_names_in_"):
            self.feature_names_in_ = self._model.feature_names_in_

    def to_local(self) -> Any:
        """Return the fitted model as an estimator of one machine.

        Returns
        -------
        estimator
            A model with the same bits as a fit on one machine on the rows in the order of the
            partitions.
        """
        check_is_fitted(self, "_model")
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied; the clone uses the same cluster.
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        copies = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(client=client, **copies)

    def __getstate__(self) -> dict[str, Any]:
        # A client is a connection of this process.
        return super().__getstate__() | {"client": None}

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importances of the features, scaled to sum 1."""
        return np.asarray(self.to_local().feature_importances_)
