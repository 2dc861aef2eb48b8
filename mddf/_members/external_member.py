"""Fitted members that are users' estimators, or models of this package that read numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier

from mddf._base.serialization import register_serializable
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import FittedMember
from mddf._fitted.vector_layout import rounded
from mddf._members.dataframes import FrameColumns
from mddf._members.external import blaming
from mddf._trees.arrays import shares


@register_serializable("classifiers by output")
@dataclass(frozen=True)
class OnePerOutput:
    """Fitted classifiers or regressors, one for each output."""

    models: list[Any]
    widths: list[int]  # number of columns of each output's predictions: of its classes, or 1


@register_serializable("classifier of some classes")
@dataclass(frozen=True)
class SomeClassesClassifier:
    """A fitted classifier that was trained on rows without some of the classes.

    XGBoost requires that the labels of n classes are 0 to n - 1.
    """

    model: BaseEstimator  # its labels are positions in `classes`
    classes: np.ndarray  # codes of the classes of the training rows, in order


FittedModel: TypeAlias = BaseEstimator | OnePerOutput | SomeClassesClassifier


@register_serializable("fitted estimators")
@dataclass(frozen=True)
class ExternalMember(FittedMember):
    """Fitted estimators, which predict from numbers or data frames.

    Vectors that are rounded are scaled to sum 1 first.
    """

    frame_columns: FrameColumns | None = None  # None if the models take arrays

    @property
    def has_trees(self) -> bool:
        return False

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        assert rows.numbers is not None
        X = rows.numbers
        if self.frame_columns is not None:
            X = self.frame_columns.frame(rows.numbers, rows.encoders)
        predictions = [
            external_vectors(model, X, self.n_columns, self.name) for model in self.models
        ]
        if not self.is_rounded:
            return np.mean(predictions, axis=0)
        return rounded(shares(np.sum(predictions, axis=0)))


def external_vectors(model: FittedModel, X: Any, n_columns: int, name: str) -> np.ndarray:
    """Predictions of a fitted estimator for an array or a frame, of shape (n_rows, n_columns).

    A classifier may have been trained on some of the classes; the others get probability 0. `name`
    is the member's name in errors, by default the name of its class.
    """
    if isinstance(model, OnePerOutput):
        outputs = zip(model.models, model.widths, strict=True)
        return np.hstack([external_vectors(inner, X, n, name) for inner, n in outputs])
    if isinstance(model, SomeClassesClassifier):
        vectors = np.zeros((len(X), n_columns))
        vectors[:, model.classes] = external_vectors(model.model, X, len(model.classes), name)
        return vectors
    name = name or type(model).__name__
    if not is_classifier(model):
        with blaming(name, "predict", X):
            predictions = model.predict(X)
        return _checked_predictions(name, predictions, (len(X), n_columns), least=-np.inf)
    with blaming(name, "predict", X):
        probabilities = model.predict_proba(X)
    vectors = np.zeros((len(X), n_columns))
    shape = len(X), len(model.classes_)
    vectors[:, model.classes_] = _checked_predictions(name, probabilities, shape, least=0.0)
    return vectors


def _checked_predictions(
    name: str, predictions: npt.ArrayLike, shape: tuple[int, int], *, least: float
) -> np.ndarray:
    """Reshape the predictions of a member; raise ValueError if they are not valid."""
    predictions = np.asarray(predictions, float)
    if predictions.size != shape[0] * shape[1]:
        fault = f"an array of shape {predictions.shape}"
    elif not np.isfinite(predictions).all():
        fault = "NaN or infinity"
    elif predictions.min(initial=least) < least:
        fault = f"{predictions.min():g}"
    else:
        return predictions.reshape(shape)
    expected = "numbers" if least < 0 else "probabilities"
    raise ValueError(f"the member {name!r} must give {expected} of shape {shape}, got {fault}")
