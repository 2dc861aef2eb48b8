"""What estimators of tables share: predictions from probabilities, tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from mddf._base.elementary import log
from mddf._base.fingerprint import fingerprint
from mddf._base.messages import Renamed, nearest, warn
from mddf._base.serialization import Saved
from mddf._base.validation import check_lengths
from mddf._binning.binner import Binner
from mddf._fitted.batching import last
from mddf._input.reading import read_table
from mddf._targets.class_outputs import named_classes, several_outputs, subset_accuracy


class CountsUnknownCategories:
    """Mixin of estimators that code the columns of a table by a binner."""

    _binner: Binner
    categorical_features: Any

    def unknown_categories(self, X: Any) -> dict[Any, int]:
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
        check_is_fitted(self)
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        counts = self._binner.unknown_counts(table)
        return {c if table.names is None else table.names[c]: n for c, n in counts.items()}


class TableEstimator(CountsUnknownCategories, Saved, BaseEstimator):
    """An estimator of tables in which values may be missing."""

    _parameter_constraints: ClassVar[dict[str, Any]]

    def _validate_params(self) -> None:
        """As scikit-learn does it, with a hint at the word that may be meant."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(_with_hint(str(error), self)) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _with_hint(message: str, model: TableEstimator) -> str:
    found = re.match(r"The '(\w+)' parameter", message)
    value = getattr(model, found[1], None) if found else None
    if found is None or not isinstance(value, str):
        return message
    allowed = model._parameter_constraints.get(found[1], [])
    words = [word for one in allowed for word in getattr(one, "options", ())]
    hint = nearest(value, words)
    if not hint:
        return message
    return f"{re.sub(r'{[^}]{200,}}', 'the known names', message).rstrip('.')}{hint}."


class ProbabilityClassifier(ClassifierMixin, TableEstimator):
    """A classifier of tables that has `predict_proba` and `classes_`."""

    classes_: Any

    def _read_stages(self, X: Any, read: Callable[[Iterator[Any]], list[Any]]) -> list[np.ndarray]:
        """Arrays for all rows of X, of what `read` makes of the probabilities after each stage.

        It is called for one block of rows after the other.
        """
        raise NotImplementedError

    def _by_output(self, probabilities: np.ndarray) -> Any:
        """What users get of probabilities: a list where there are several outputs."""
        return probabilities

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of these if there are several outputs
            Columns in the order of `classes_`.
        """
        (found,) = self._read_stages(X, lambda stages: [last(stages)])
        return self._by_output(found)

    def predict_log_proba(self, X: Any) -> Any:
        """Natural logarithm of `predict_proba`; minus infinity where that is 0."""
        if isinstance(getattr(self, "classes_", None), list):
            return [log(part) for part in self.predict_proba(X)]
        (found,) = self._read_stages(X, lambda stages: [log(last(stages))])
        return found

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest probability.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) if there are several outputs
        """
        (found,) = self._read_stages(X, lambda stages: [self._best(last(stages))])
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
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

    def _best(self, probabilities: np.ndarray) -> np.ndarray:
        each = self._by_output(probabilities)
        if isinstance(each, list):
            return named_classes(self.classes_, [part.argmax(axis=1) for part in each])
        return self.classes_[each.argmax(axis=1)]


def takes_outputs(tags: Any) -> Any:
    """Tags of a classifier that takes several labels or outputs."""
    tags.classifier_tags.multi_label = True
    tags.target_tags.multi_output = True
    return tags


class TableRegressor(RegressorMixin, TableEstimator):
    """A regressor of tables, of one target or several."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def warn_of_seen(codes: np.ndarray, seen: str | None) -> None:
    """Warn of features for the very codes whose fingerprint fit has kept."""
    if fingerprint(codes) == seen:
        warn(
            "transform was given the table that the model was fitted on: these features are "
            "not out-of-fold, and another model trained on them would trust them too much; "
            "use fit_transform",
        )


class LayeredClassifier(ProbabilityClassifier):
    """A classifier whose layers predict one after the other."""

    doubt_ = Renamed("label_smoothing_")

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """What `predict_proba` would say after each layer.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_classes), or a list of these if there are several outputs
            Once for each layer that is kept and has a weight above 0, or one before it.
        """
        yield from map(self._by_output, self._read_stages(X, list))

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """What `predict` would say after each layer.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) if there are several outputs
            As often as `staged_predict_proba`.
        """
        yield from self._read_stages(X, lambda stages: [*map(self._best, stages)])
