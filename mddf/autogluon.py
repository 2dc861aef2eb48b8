"""The estimators as custom models of AutoGluon, for its stacks and for TabArena's harness.

``pip install "mddf[autogluon]"``, then

>>> from autogluon.tabular import TabularPredictor  # doctest: +SKIP
>>> from mddf.autogluon import DeepForestModel  # doctest: +SKIP
>>> predictor = TabularPredictor("class").fit(  # doctest: +SKIP
...     train, hyperparameters={DeepForestModel: {"n_estimators": 50}, "GBM": {}}
... )
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

try:
    from autogluon.core.models import AbstractModel
except ImportError as error:
    raise ImportError(
        'mddf.autogluon needs AutoGluon, which pip install "mddf[autogluon]" brings'
    ) from error

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DeepForestModel", "GradientBoostingModel"]

_REGRESSION = "regression"


class _AutoGluonModel(AbstractModel):
    """Base class of both models.

    Hyperparameters are the parameters of the estimator. Unless they are set, ``random_state`` is
    AutoGluon's seed and ``n_jobs`` the number of processors that it grants. Tables from AutoGluon
    hold numbers, booleans and categories, and missing values stay missing.
    """

    seed_name = "random_state"
    default_resources_physical_cores_only = True
    _supported_problem_types: ClassVar[list[str]] = ["binary", "multiclass", _REGRESSION]
    _default_auxiliary_params_extra: ClassVar[dict[str, Any]] = {
        "valid_raw_types": ["bool", "int", "float", "category"]
    }
    _classifier: ClassVar[type]
    _regressor: ClassVar[type]

    def _make_estimator(self, num_cpus: int | str | None, time_limit: float | None) -> Any:
        estimator_type = self._regressor if self.problem_type == _REGRESSION else self._classifier
        parameters = self._get_model_params()
        if isinstance(num_cpus, int):
            parameters.setdefault("n_jobs", max(1, num_cpus))
        if time_limit is not None and "time_limit" in estimator_type().get_params():
            # A deep forest may exceed its limit by a tenth.
            parameters.setdefault("time_limit", max(1.0, 0.9 * time_limit))
        return estimator_type(**parameters)

    def _predict_proba(self, X: pd.DataFrame, **kwargs: Any) -> np.ndarray:
        X = self.preprocess(X, **kwargs)
        if self.problem_type == _REGRESSION:
            return np.asarray(self.model.predict(X))
        return self._in_full(self.model.predict_proba(X))

    def _in_full(self, probabilities: np.ndarray) -> np.ndarray:
        """Probabilities of all classes, some of which may be missing from a fold."""
        full = probabilities
        if self.num_classes is not None and probabilities.shape[1] < self.num_classes:
            full = np.zeros((len(probabilities), self.num_classes))
            full[:, self.model.classes_.astype(int)] = probabilities
        return np.asarray(self._convert_proba_to_unified_form(full))

    def _get_maximum_resources(self) -> dict[str, int | float]:
        return {"num_gpus": 0}

    def _more_tags(self) -> dict[str, Any]:
        return {"can_refit_full": True}


class DeepForestModel(_AutoGluonModel):
    """`DeepForestClassifier` or `DeepForestRegressor` as a model of AutoGluon.

    A deep forest cross-validates itself. In a bag it is therefore fitted once, on all rows, and
    AutoGluon stacks and weights its out-of-fold predictions, as it does with random forests.
    ``ag_args_ensemble={"use_child_oof": False}`` fits it on each fold instead. It is not used as a
    stacker in later levels: its folds differ from AutoGluon's, so the out-of-fold features of
    training rows leak labels of its held-out rows, and its own scores would be too good.

    Examples
    --------
    >>> from autogluon.tabular import TabularPredictor
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.autogluon import DeepForestModel
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> table = X.assign(malignant=y == 0)
    >>> predictor = TabularPredictor("malignant", eval_metric="log_loss", verbosity=0).fit(
    ...     table[:400], hyperparameters={DeepForestModel: {"n_estimators": 20}}
    ... )
    >>> round(predictor.evaluate(table[400:])["log_loss"], 3)  # AutoGluon negates losses
    -0.065
    """

    ag_key = "MDDF"
    ag_name = "DeepForest"
    ag_priority = 95  # fitted first: it takes seconds, and is often the best single model
    _classifier = DeepForestClassifier
    _regressor = DeepForestRegressor
    _default_ag_args_ensemble_extra: ClassVar[dict[str, Any]] = {"use_child_oof": True}

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        *,
        time_limit: float | None = None,
        num_cpus: int | str | None = None,
        sample_weight: pd.Series | None = None,
        **kwargs: Any,
    ) -> None:
        X = self.preprocess(X, y=y)
        self.model = self._make_estimator(num_cpus, time_limit)
        self.model.fit(X, y, sample_weight=sample_weight)

    def predict_proba_oof(
        self, X: pd.DataFrame, normalize: bool | None = None, **kwargs: Any
    ) -> np.ndarray:
        """Out-of-fold predictions for the training rows.

        Parameters
        ----------
        X : DataFrame
            The rows of fit.
        normalize : bool or None, default=None
            Not used: probabilities sum to 1.
        **kwargs
            Not used.

        Returns
        -------
        ndarray of float32
            Probabilities of the second of two classes, or of all classes, shape (n_samples,
            n_classes); predictions of a regressor.
        """
        if self.problem_type == _REGRESSION:
            return self.model.oof_prediction_.astype(np.float32)
        return self._in_full(self.model.oof_probabilities_).astype(np.float32)

    def _more_tags(self) -> dict[str, Any]:
        return super()._more_tags() | {"valid_oof": True}

    @classmethod
    def _get_default_ag_args(cls) -> dict[str, Any]:
        return super()._get_default_ag_args() | {"valid_stacker": False}


class GradientBoostingModel(_AutoGluonModel):
    """`GradientBoostingClassifier` or `GradientBoostingRegressor` as a model of AutoGluon.

    Early stopping uses the rows that AutoGluon holds out, or rows of its own if there are none.
    AutoGluon's limit of time has no effect on the fit: `max_iter` bounds it.

    Examples
    --------
    >>> from autogluon.tabular import TabularPredictor
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.autogluon import GradientBoostingModel
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> table = X.assign(malignant=y == 0)
    >>> predictor = TabularPredictor("malignant", eval_metric="log_loss", verbosity=0).fit(
    ...     table[:400], hyperparameters={GradientBoostingModel: {}}
    ... )
    >>> round(predictor.evaluate(table[400:])["log_loss"], 3)  # AutoGluon negates losses
    -0.069
    """

    ag_key = "MDDF_GBM"
    ag_name = "MDDFGradientBoosting"
    ag_priority = 92
    _classifier = GradientBoostingClassifier
    _regressor = GradientBoostingRegressor

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        *,
        X_val: pd.DataFrame | None = None,
        y_val: pd.Series | None = None,
        time_limit: float | None = None,
        num_cpus: int | str | None = None,
        sample_weight: pd.Series | None = None,
        sample_weight_val: pd.Series | None = None,
        **kwargs: Any,
    ) -> None:
        X = self.preprocess(X, y=y)
        model = self._make_estimator(num_cpus, time_limit)
        held_out = {}
        if X_val is not None and model.early_stopping is not False:
            model.set_params(early_stopping=True)
            held_out = {"X_val": self.preprocess(X_val), "y_val": y_val}
            if sample_weight is not None:
                held_out["sample_weight_val"] = sample_weight_val
        self.model = model.fit(X, y, sample_weight=sample_weight, **held_out)
        self.params_trained |= {"max_iter": max(1, self.model.n_iter_), "early_stopping": False}
