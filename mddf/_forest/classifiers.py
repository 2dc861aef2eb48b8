"""Random and completely-random forests for classification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from sklearn import ensemble
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.messages import short
from mddf._fitted.base_estimators import ProbabilityClassifier, tags_of_outputs
from mddf._fitted.fitted_model import FittedMember
from mddf._forest.base import Forest
from mddf._forest.growth import TrainingRows
from mddf._forest.out_of_bag import OutOfBagSums
from mddf._forest.parameters import (
    CLASS_CRITERIA,
    CLASSIFICATION_PARAMETERS,
    CONSTRAINTS,
    ENTROPIES,
    FOREST_PARAMETERS,
)
from mddf._forest.trees import CompletelyRandomTreeClassifier, RandomTreeClassifier
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


class BaseForestClassifier(Forest[ClassTargets], ProbabilityClassifier):
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
    return float(np.mean(np.all(y_true == y_pred, axis=1)))


@describes_parameters(CLASSIFICATION_PARAMETERS, FOREST_PARAMETERS, COMMON)
class RandomForestClassifier(BaseForestClassifier):
    """A random forest for classification.

    Every tree is grown on a bootstrap sample; every node is split at the best threshold of a few
    features drawn at random [1]_. This class can replace the class of scikit-learn with the same
    name.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity by which splits are chosen; "entropy" and "log_loss" are the same. Change it if a
        search finds the other one better.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.93)
    True
    """

    _random_thresholds = False
    _tree_type = RandomTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        max_features: str | int | float | None = "sqrt",
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        class_weight: dict[Any, float] | list[dict[Any, float]] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.categorical_features = categorical_features


@describes_parameters(CLASSIFICATION_PARAMETERS, FOREST_PARAMETERS, COMMON)
class CompletelyRandomForestClassifier(BaseForestClassifier):
    """A completely-random forest for classification.

    Every node is split at a random threshold of a feature drawn at random. Splits do not depend on
    the labels, except that a node with a single class is not split [1]_. This class can replace
    ``ExtraTreesClassifier(max_features=1)`` of scikit-learn. With a larger `max_features`, a
    random threshold is drawn for each of these features, and the best one is taken: extra trees.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity by which the best of several random thresholds is chosen, and importances are
        computed; "entropy" and "log_loss" are the same. Change it if a search finds the other one
        better.

    References
    ----------
    .. [1] F. T. Liu, K. M. Ting, Y. Yu and Z.-H. Zhou, "Spectrum of variable-random trees",
       Journal of Artificial Intelligence Research 32, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import CompletelyRandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = CompletelyRandomForestClassifier(random_state=0).fit(X, y)
    >>> forest.predict_proba(X[:2]).round(1)
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """

    _random_thresholds = True
    _tree_type = CompletelyRandomTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        max_features: str | int | float | None = 1,
        bootstrap: bool | str = False,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        class_weight: dict[Any, float] | list[dict[Any, float]] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.categorical_features = categorical_features


# Functions that check the type of an estimator accept these forests in place of scikit-learn's
# forests: partial dependence by recursion, and the tree explainer of shap.
ensemble.RandomForestClassifier.register(RandomForestClassifier)
ensemble.ExtraTreesClassifier.register(CompletelyRandomForestClassifier)
