"""What forests that classify share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._fitted.base_estimators import ProbabilityClassifier, takes_outputs
from mddf._fitted.fitted_model import Conversion
from mddf._forest.base import Forest
from mddf._forest.parameters import CLASS_CRITERIA, CONSTRAINTS, ENTROPIES
from mddf._resampling.sampling import RowWeights, row_weights
from mddf._targets.class_outputs import (
    ClassOutputs,
    named_classes,
    several_outputs,
    shares_by_output,
)
from mddf._targets.kernel_targets import Classes
from mddf._targets.target_validation import class_factors
from mddf._trees import predictor
from mddf._trees.arrays import shares


class BaseForest(Forest, ProbabilityClassifier):
    """What both forests that classify share; use one of them."""

    _oob_name = "oob_decision_function_"
    # With several outputs: how many numbers in leaves stand for each.
    _class_columns: list[int] | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "criterion": [StrOptions(set(CLASS_CRITERIA))],
        "bootstrap": ["boolean", StrOptions({"balanced"})],
        "class_weight": [StrOptions({"balanced", "balanced_subsample"}), dict, list, None],
    }

    @property
    def n_outputs_(self) -> int:
        """How many outputs there are."""
        check_is_fitted(self, "_trees")
        return 1 if self._class_columns is None else len(self._class_columns)

    @property
    def _balances_trees(self) -> bool:  # type: ignore[override]
        return self.class_weight == "balanced_subsample"

    def _read(self, y: Any, weights: Any) -> Classes | ClassOutputs:
        given = several_outputs(y)
        if given is None:
            return Classes.read(y)
        if self.bootstrap == "balanced":
            raise ValueError(
                "bootstrap='balanced' is for the classes of one output, got y of shape "
                f"{given.shape}"
            )
        return ClassOutputs.read(given, self.criterion in ENTROPIES)

    def _n_scores(self, target: Classes | ClassOutputs) -> int:
        if isinstance(target, ClassOutputs):
            return len(target.classes)
        n_classes = len(target.classes)
        return n_classes if n_classes > 2 else 1

    @property
    def _width(self) -> int:
        return len(self.classes_) if self._class_columns is None else sum(self._class_columns)

    def _learnt(self, target: Classes | ClassOutputs) -> dict[str, Any]:
        if isinstance(target, ClassOutputs):
            return {
                "classes_": target.classes,
                "n_classes_": target.n_classes,
                "_class_columns": target.n_columns,
            }
        return {
            "classes_": target.classes,
            "n_classes_": len(target.classes),
            "_class_columns": None,
        }

    def _check_again(self, target: Classes | ClassOutputs) -> None:
        before = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        now = target.classes if isinstance(target.classes, list) else [target.classes]
        if len(before) != len(now) or not all(map(np.array_equal, before, now)):
            raise ValueError(
                "with warm_start=True, y must have the classes of the fit before, "
                f"{[c.tolist() for c in before]}, got {[c.tolist() for c in now]}"
            )
        if isinstance(target, ClassOutputs) and target.n_columns != self._class_columns:
            raise ValueError(
                "with warm_start=True and several outputs, criterion must be of the kind of the "
                f"fit before, Gini or entropy, got {self.criterion!r}"
            )

    def _row_weights(self, target: Classes | ClassOutputs, weights: Any) -> RowWeights:
        if isinstance(target, ClassOutputs):
            factors = target.factors(self.class_weight, weights)
            return row_weights(weights, factors, np.arange(len(target.labels)))
        if isinstance(self.class_weight, list):
            raise ValueError("class_weight can be a list only for several outputs of y")
        factors = class_factors(self.class_weight, target.classes, target.key, weights)
        return row_weights(weights, factors, target.key)

    def _by_output(self, probabilities: np.ndarray) -> Any:
        if self._class_columns is None:
            return probabilities
        return shares_by_output(probabilities, self.n_classes_, self._class_columns)

    def _score_out_of_bag(
        self, target: Classes | ClassOutputs, sums: np.ndarray, n_trees: np.ndarray
    ) -> dict[str, Any]:
        seen = n_trees > 0
        if isinstance(target, ClassOutputs):
            means = np.full((len(sums), sums.shape[1] // 2), np.nan)
            means[seen] = (sums[seen, ::2] + sums[seen, 1::2]) / n_trees[seen, None]
            each = shares_by_output(means, [*map(len, target.classes)], target.n_columns)
            decision = np.zeros((len(sums), max(part.shape[1] for part in each), len(each)))
            for j, part in enumerate(each):
                decision[:, : part.shape[1], j] = part
            decision[~seen] = np.nan
            given = named_classes(target.classes, target.labels[seen].T)
            found = named_classes(target.classes, [part[seen].argmax(axis=1) for part in each])
            score = self._scored(_share_all_right, given, found)
        else:
            decision = shares(sums)
            labels, votes = target.key[seen], decision[seen].argmax(axis=1)
            score = self._scored(accuracy_score, target.classes[labels], target.classes[votes])
        return {"oob_decision_function_": decision, "oob_score_": score}

    def _predict_in_blocks(self, X: Any, convert: Conversion | None = None) -> np.ndarray:
        check_is_fitted(self, "_trees")

        def predict_rows(rows: Any) -> np.ndarray:
            means = predictor.mean_vectors(self._trees, rows, self._width, n_jobs=self.n_jobs)
            return means if convert is None else convert(means)

        return self._read_rows(X, predict_rows, 24 * self._width)

    def __sklearn_tags__(self) -> Any:
        return takes_outputs(super().__sklearn_tags__())


def _share_all_right(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Share of samples for which all outputs are right."""
    return float(np.mean(np.all(y_true == y_pred, axis=1)))
