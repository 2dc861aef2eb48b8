"""Base class of the forests for classification."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._fitted.base_estimators import ProbabilityClassifier, tags_of_outputs
from mddf._fitted.fitted_model import FittedMember
from mddf._forest.base import Forest
from mddf._forest.growth import TrainingRows
from mddf._forest.out_of_bag import OutOfBagSums
from mddf._forest.parameters import CLASS_CRITERIA, CONSTRAINTS, ENTROPIES
from mddf._targets.class_outputs import (
    ClassOutputs,
    decode_labels,
    several_outputs,
    shares_by_output,
)
from mddf._targets.kernel_targets import Classes
from mddf._targets.target_validation import class_factors
from mddf._targets.weights import RowWeights, row_weights
from mddf._trees.arrays import TreeBlock, shares

ClassTargets = Classes | ClassOutputs


class BaseForest(Forest[ClassTargets], ProbabilityClassifier):
    """Base class of `RandomForestClassifier` and `CompletelyRandomForestClassifier`."""

    _oob_name = "oob_decision_function_"
    # With several outputs: number of values in a leaf that belong to each of them.
    _class_columns: list[int] | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "criterion": [StrOptions(set(CLASS_CRITERIA))],
        "bootstrap": ["boolean", StrOptions({"balanced"})],
        "class_weight": [StrOptions({"balanced", "balanced_subsample"}), dict, list, None],
    }

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        check_is_fitted(self)
        return 1 if self._class_columns is None else len(self._class_columns)

    @property
    def _balances_trees(self) -> bool:  # type: ignore[override]
        return self.class_weight == "balanced_subsample"

    def _read_target(self, y: npt.ArrayLike, sample_weight: np.ndarray | None) -> ClassTargets:
        outputs = several_outputs(y)
        if outputs is None:
            return Classes.from_y(y)
        if self.bootstrap == "balanced":
            raise ValueError(
                "bootstrap='balanced' is for the classes of one output, got y of shape "
                f"{outputs.shape}"
            )
        return ClassOutputs.from_y(outputs, self.criterion in ENTROPIES)

    def _n_scores(self, target: ClassTargets) -> int:
        if isinstance(target, ClassOutputs):
            return len(target.classes)
        n_classes = len(target.classes)
        return n_classes if n_classes > 2 else 1

    def _member(self, trees: list[TreeBlock], target: ClassTargets) -> FittedMember:
        width = sum(target.n_columns) if isinstance(target, ClassOutputs) else len(target.classes)
        return FittedMember(trees, width, is_rounded=False)

    def _target_attributes(self, target: ClassTargets) -> dict[str, object]:
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

    def _check_target_continues(self, target: ClassTargets) -> None:
        before = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        now = target.classes if isinstance(target.classes, list) else [target.classes]
        if len(before) != len(now) or not all(map(np.array_equal, before, now)):
            raise ValueError(
                "with warm_start=True, y must have the classes of the fit before, "
                f"{', '.join(short(c.tolist()) for c in before)}, got "
                f"{', '.join(short(c.tolist()) for c in now)}"
            )
        if isinstance(target, ClassOutputs) and target.n_columns != self._class_columns:
            raise ValueError(
                "with warm_start=True and several outputs, criterion must be of the kind of the "
                f"fit before, Gini or entropy, got {self.criterion!r}"
            )

    def _row_weights(self, rows: TrainingRows[ClassTargets]) -> RowWeights:
        target = rows.target
        weights = rows.sample_weight
        if isinstance(target, ClassOutputs):
            # Each row has a factor of its own, the product over the outputs.
            factors = target.factors(self.class_weight, weights)
            return row_weights(weights, factors, np.arange(len(target.labels)))
        if isinstance(self.class_weight, list):
            raise ValueError(
                "class_weight can be a list only for several outputs of y, got "
                f"{short(self.class_weight)}"
            )
        factors = class_factors(self.class_weight, target.classes, target.key, weights)
        return row_weights(weights, factors, target.key)

    def _score_out_of_bag(self, target: ClassTargets, sums: OutOfBagSums) -> dict[str, object]:
        if isinstance(target, ClassOutputs):
            return self._score_several_outputs(target, sums)
        known = sums.n_trees > 0
        probabilities = shares(sums.sums)
        predicted = target.classes[probabilities[known].argmax(axis=1)]
        score = self._score_predictions(
            accuracy_score, target.classes[target.key[known]], predicted
        )
        return {"oob_decision_function_": probabilities, "oob_score_": score}

    def _score_several_outputs(
        self, target: ClassOutputs, sums: OutOfBagSums
    ) -> dict[str, object]:
        known = sums.n_trees > 0
        probabilities = shares_by_output(sums.means_of_parts(), target.n_classes, target.n_columns)
        # Outputs with fewer classes than the others have zeros in the remaining columns.
        most_classes = max(target.n_classes)
        decision = np.zeros((len(known), most_classes, len(probabilities)))
        for j, output_probabilities in enumerate(probabilities):
            decision[:, : output_probabilities.shape[1], j] = output_probabilities
        decision[~known] = np.nan
        y_true = decode_labels(target.classes, target.labels[known].T)
        y_pred = decode_labels(target.classes, [p[known].argmax(axis=1) for p in probabilities])
        score = self._score_predictions(_share_of_exact_matches, y_true, y_pred)
        return {"oob_decision_function_": decision, "oob_score_": score}

    def _by_output(self, probabilities: np.ndarray) -> np.ndarray | list[np.ndarray]:
        if self._class_columns is None:
            return probabilities
        return shares_by_output(probabilities, self.n_classes_, self._class_columns)

    def __sklearn_tags__(self) -> Tags:
        return tags_of_outputs(super().__sklearn_tags__())


def _share_of_exact_matches(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Share of samples with the right class in all outputs."""
    return float(np.mean(np.all(y_true == y_pred, axis=1)))
