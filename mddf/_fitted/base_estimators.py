"""Base classes of estimators of tables: predictions, stored states and tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from mddf._base.array_hash import hash_of_arrays
from mddf._base.elementary import log
from mddf._base.messages import nearest, warn
from mddf._base.serialization import Saved
from mddf._base.types import TableLike
from mddf._base.validation import check_lengths
from mddf._binning.binner import Binner
from mddf._fitted.batching import Conversion
from mddf._fitted.fitted_model import FittedStages
from mddf._input.date_columns import dates_of_fit
from mddf._input.described_columns import ColumnDescription
from mddf._input.reading import read_table
from mddf._input.table import Table
from mddf._targets.class_outputs import decode_labels, several_outputs, subset_accuracy


class TableEstimator(Saved, BaseEstimator):
    """An estimator of tables in which values may be missing; it stores the stages of its fit."""

    _parameter_constraints: ClassVar[dict[str, Any]]
    categorical_features: npt.ArrayLike | None
    n_jobs: int | None
    n_features_in_: int
    feature_names_in_: np.ndarray
    input_columns_: tuple[ColumnDescription, ...]
    _fitted: FittedStages

    def _fitted_stages(self) -> FittedStages:
        check_is_fitted(self)
        return self._fitted

    @property
    def _binner(self) -> Binner:
        return self._fitted.binner

    def _read_new_rows(self, X: TableLike) -> Table:
        check_is_fitted(self)
        return read_table(self, X, reset=False, categorical_features=self.categorical_features)

    def _predict_in_blocks(
        self, X: TableLike, convert: Conversion | None = None, *, finish: bool = True
    ) -> np.ndarray:
        """Predictions for all rows of X, each block of which is converted.

        With `finish` false, they are averages before calibration, units and link.
        """
        table = self._read_new_rows(X)
        return self._fitted.predict(table, self.n_jobs, convert, finish=finish)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        # The first part of a date takes the place of its column; the others are appended.
        n_appended = sum(len(parts) - 1 for parts in dates_of_fit(self).values())
        yield "n_features_in_", self.n_features_in_, self._fitted.n_raw - n_appended
        yield from self._fitted.counts()

    def unknown_categories(self, X: TableLike) -> dict[int | str, int]:
        """Count the rows whose category was not in the training data, by column.

        Predictions treat such a category as missing. The counts tell whether new data have
        drifted away from the training data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        dict
            From each column of categories to its number of rows with an unknown category, 0
            included. Columns are named as in a data frame, and numbered otherwise.

        Examples
        --------
        >>> import pandas as pd
        >>> from mddf import RandomForestClassifier
        >>> X = pd.DataFrame({"color": ["red", "blue"] * 20, "size": range(40)})
        >>> model = RandomForestClassifier(random_state=0).fit(X, [0, 1] * 20)
        >>> model.unknown_categories(X[:3].assign(color=["red", "green", "pink"]))
        {'color': 2}
        """
        return count_unknown_categories(self, X)

    def _validate_params(self) -> None:
        """Validate as scikit-learn does, with a hint at the word that may be meant."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(_with_hint(str(error), self)) from None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def count_unknown_categories(estimator: Any, X: TableLike) -> dict[int | str, int]:
    """Do what `TableEstimator.unknown_categories` does, for an estimator that has a `_binner`."""
    check_is_fitted(estimator)
    table = read_table(
        estimator, X, reset=False, categorical_features=estimator.categorical_features
    )
    counts = estimator._binner.unknown_counts(table)
    return {c if table.names is None else table.names[c]: n for c, n in counts.items()}


def _with_hint(message: str, model: TableEstimator) -> str:
    # scikit-learn prints sets of words, whose order changes from process to process.
    message = re.sub(r"{([^}]*)}", lambda m: f"{{{', '.join(sorted(m[1].split(', ')))}}}", message)
    match = re.match(r"The '(\w+)' parameter", message)
    value = getattr(model, match[1], None) if match else None
    if match is None or not isinstance(value, str):
        return message
    constraints = model._parameter_constraints.get(match[1], [])
    words = [word for constraint in constraints for word in getattr(constraint, "options", ())]
    hint = nearest(value, words)
    if not hint:
        return message
    return f"{re.sub(r'{[^}]{200,}}', 'the known names', message).rstrip('.')}{hint}."


class ProbabilityClassifier(ClassifierMixin, TableEstimator):
    """A classifier of tables that has `predict_proba` and `classes_`."""

    # An array, or a list of arrays if there are several outputs. With `list` in place of Any, type
    # checkers would refuse the usual array.
    classes_: np.ndarray | Any

    def _by_output(self, probabilities: np.ndarray) -> np.ndarray | list[np.ndarray]:
        """Probabilities as users get them: a list if there are several outputs."""
        return probabilities

    def predict_proba(self, X: TableLike) -> np.ndarray | Any:
        """Class probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of these if there are several outputs
            Columns in the order of `classes_`.
        """
        return self._by_output(self._predict_in_blocks(X))

    def predict_log_proba(self, X: TableLike) -> np.ndarray | Any:
        """Natural logarithm of `predict_proba`; minus infinity where that is 0.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of these if there are several outputs
        """
        if isinstance(getattr(self, "classes_", None), list):
            return [log(probabilities) for probabilities in self.predict_proba(X)]
        return self._predict_in_blocks(X, log)

    def predict(self, X: TableLike) -> np.ndarray:
        """Class of the largest probability.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) if there are several outputs
        """
        return self._predict_in_blocks(X, self._most_probable)

    def score(
        self, X: TableLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """Accuracy: the share of samples whose class is predicted.

        If there are several outputs, the classes of all of them must be right (subset accuracy),
        as scikit-learn has it for several labels.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,), or (n_samples, n_outputs) if there are several outputs
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        if not isinstance(getattr(self, "classes_", None), list):
            return float(super().score(X, y, sample_weight))
        predicted = self.predict(X)
        outputs = several_outputs(y)
        if outputs is None or outputs.shape != predicted.shape:
            raise ValueError(
                f"y must have the shape {predicted.shape}, a column for each output, got "
                f"{np.shape(y)}"
            )
        check_lengths(predicted, sample_weight=sample_weight)
        return subset_accuracy(outputs, predicted, sample_weight)

    def _most_probable(self, probabilities: np.ndarray) -> np.ndarray:
        by_output = self._by_output(probabilities)
        if isinstance(by_output, list):
            numbers = [output.argmax(axis=1) for output in by_output]
            return decode_labels(list(self.classes_), numbers)
        return self.classes_[by_output.argmax(axis=1)]


def tags_of_outputs(tags: Tags) -> Tags:
    """Tags of a classifier that takes several labels or outputs."""
    tags.classifier_tags.multi_label = True
    tags.target_tags.multi_output = True
    return tags


class TableRegressor(RegressorMixin, TableEstimator):
    """A regressor of tables, of one target or several."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def warn_of_seen(codes: np.ndarray, fingerprint_of_fit: str | None) -> None:
    """Warn that features are not out-of-fold, if the rows have the codes of the fit."""
    if hash_of_arrays(codes) == fingerprint_of_fit:
        warn(
            "transform was given the table that the model was fitted on: these features are "
            "not out-of-fold, and another model trained on them would trust them too much; "
            "use fit_transform",
        )
