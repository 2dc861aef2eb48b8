"""Base classes of the estimators on Dask collections."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import distributed
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from mddf._base.validation import Within, unchanged_on_failure
from mddf._clusters.collections import predicted
from mddf._clusters.fitting import client_for, fit_on_workers
from mddf._clusters.shard_fits import ShardFit

if TYPE_CHECKING:
    from typing import Self

# Parameters that the local estimator does not have.
_OWN_PARAMETERS = ("client", "timeout")


def _predict(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.predict(X))


def _predict_proba(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(X))


class DaskEstimator(BaseEstimator):
    """Base class of the estimators. Subclasses name the estimator of one machine."""

    _estimator: ClassVar[type[Any]]
    client: distributed.Client | None
    timeout: float
    random_state: int | np.random.RandomState | None

    def _local_model(self) -> Any:
        """Make the estimator of one machine, not fitted, with the same parameters; check them."""
        parameters = self.get_params(deep=False)
        model = self._estimator(
            **{name: value for name, value in parameters.items() if name not in _OWN_PARAMETERS}
        )
        validate_parameter_constraints(
            self._estimator._parameter_constraints
            | {"timeout": [Within(Real, 0, None, closed="neither")]},
            model.get_params(deep=False) | {"timeout": self.timeout},
            type(self).__name__,
        )
        return model

    def _fit_on_workers(
        self,
        local_model: Any,
        training: dict[str, Any],
        validation: dict[str, Any] | None = None,
        *,
        kind: ShardFit,
    ) -> None:
        """Fit the model on the workers and store it; see `fit_on_workers`."""
        if training["y"] is None:
            raise ValueError("y must be a Dask array or series, got None")
        with unchanged_on_failure(self):
            entropy = check_random_state(self.random_state).randint(0, 2**32, 4, np.uint64)
            result = fit_on_workers(
                client_for(self.client),
                local_model,
                training,
                validation,
                kind=kind,
                entropy=entropy.tolist(),
                timeout=float(self.timeout),
            )
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


class DaskClassifier(DaskEstimator):
    """Predictions of the classifiers."""

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
        return predicted(X, self.to_local(), _predict, self.classes_[:0])

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
        return predicted(X, self.to_local(), _predict_proba, example)


class DaskRegressor(DaskEstimator):
    """Predictions of the regressors."""

    def predict(self, X: Any) -> Any:
        """Predict the targets lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        Dask array or series of shape (n_samples,)
        """
        return predicted(X, self.to_local(), _predict, np.zeros(0))
