"""MLDF: the multi-label deep forest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.elementary import log
from mddf._base.messages import short
from mddf._base.types import TableLike
from mddf._base.validation import Within, finite
from mddf._fitted.base_estimators import ProbabilityClassifier, tags_of_outputs
from mddf._fitted.vector_layout import columns_of
from mddf._layers.cascade_folds import LayerFolds
from mddf._layers.cascade_stopping import Stopper
from mddf._layers.checkpoints import open_checkpoint
from mddf._layers.layered_estimator import (
    CONSTRAINTS,
    LAYERED_PARAMETERS,
    FitInputs,
    Layered,
    column_names,
    staged_predict,
    staged_predict_proba,
)
from mddf._layers.seeds import Seeds
from mddf._layers.trainer import Trainer
from mddf._resampling.sampling import canonical_order
from mddf._targets.class_outputs import several_outputs
from mddf._targets.kernel_targets import Classes
from mddf._targets.weights import row_weights

from ._labels.growth import HISTORY, LabelForests, grow_label_forest
from ._labels.measures import MEASURES
from ._labels.reuse import stages_with_reuse
from ._labels.task import LabelsTask


@describes_parameters(LAYERED_PARAMETERS, COMMON)
class MLDFClassifier(Layered, ProbabilityClassifier):
    """The multi-label deep forest (MLDF), a cascade for samples with several labels.

    Each tree predicts all labels. The input of a layer is the features and the label vectors of
    the layer before. After each layer, rows (or labels) in which the predictions are not confident
    take the vectors of the layer before. Layers are added until a measure no longer improves [1]_.

    Parameters
    ----------
    n_layers : int, default=20
        Maximum number of layers.
    measure : str, default="hamming-loss"
        Measure that decides about the reuse of vectors and about the number of layers:
        "hamming-loss", "one-error", "coverage", "ranking-loss", "average-precision" or
        "macro-auc". The first and the last one choose labels whose vectors are reused, and the
        others rows.
    n_estimators : int, default=40
        Number of trees of each forest in the first layer, on each fold.
    n_more_estimators : int, default=20
        Number of trees that each later layer has in addition.
    max_estimators : int, default=100
        Number of trees that no layer exceeds.
    depth_step : int or None, default=3
        Depth limit of the trees of the first layer, and the depth that each later layer has in
        addition. None means no limit.
    forests : list of str, default=None
        Forests of a layer: "random", "extremely-random" (thresholds are drawn, and the best of
        them is chosen) and "completely-random" (features are also drawn). None means one random
        and one extremely random forest.
    cv : int, splitter or iterable of (train, test), default=5
        Folds. A number means folds that are drawn anew for each layer. `TimeOrder` holds out what
        follows its training samples.
    reuse : bool, default=True
        Whether vectors of the layer before are reused.
    early_stopping : bool, default=True
        Whether to keep the layers up to the best out-of-fold measure, and stop after
        `n_iter_no_change` layers without a better one. If False, `n_layers` layers are grown and
        kept.
    n_iter_no_change : int, default=3
        Number of layers without a better measure after which to stop.
    tol : float, default=0.0
        Minimum difference to the best measure so far that counts as an improvement.
    refit : bool, default=False
        Whether to keep forests that are fitted on all samples instead of the forests of all folds.
        The rules of reuse still come from the folds.
    verbose : int, default=0
        1 prints a line for each layer, 2 shows a progress bar as well.

    Attributes
    ----------
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        The values 0 and 1 for each label; the classes if y has the shape (n_samples,).
    n_labels_ : int
        Number of labels.
    history_ : dict of ndarray
        Figures of all layers that were trained: "layer", "measure", "score" (minus the loss),
        "reused" (share of the vectors taken from the layer before), "threshold" (confidence below
        which rows take them; NaN if labels do) and "time" in seconds.
    oof_probabilities_ : ndarray of shape (n_samples, n_labels)
        Out-of-fold probabilities of the labels, from the kept layers.

    Notes
    -----
    y has the shape (n_samples, n_labels) and holds 0 and 1. `predict` returns such a matrix, and
    `predict_proba` a list with an array of shape (n_samples, 2) for each label, as random forests
    of scikit-learn do. If y has the shape (n_samples,), each class is a label that excludes the
    others; probabilities are then scaled to sum 1.

    Labels that reuse vectors are chosen in training. Published code chooses them again among the
    rows that are predicted together, so that a prediction depends on the other rows.

    References
    ----------
    .. [1] L. Yang, X.-Z. Wu, Y. Jiang and Z.-H. Zhou, "Multi-label learning with deep forest",
       ECAI 2020, arXiv:1911.06557.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.metrics import hamming_loss
    >>> from mddf.baselines import MLDFClassifier
    >>> X, y = make_multilabel_classification(400, n_classes=4, random_state=0)
    >>> forest = MLDFClassifier(3, n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> forest.predict(X[1::2]).shape
    (200, 4)
    >>> print(f"{hamming_loss(y[1::2], forest.predict(X[1::2])):.2f}")
    0.26
    """

    _member_list = "forests"
    staged_predict = staged_predict
    staged_predict_proba = staged_predict_proba
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "measure": [StrOptions(set(MEASURES))],
        "n_more_estimators": [Within(Integral, 0, None, closed="left")],
        "max_estimators": [Within(Integral, 1, None, closed="left")],
        "depth_step": [Within(Integral, 1, None, closed="left"), None],
        "forests": ["array-like", None],
        "cv": ["cv_object"],
        "reuse": ["boolean"],
        "early_stopping": ["boolean"],
        "n_iter_no_change": [Within(Integral, 1, None, closed="left")],
        "tol": [finite()],
    }

    def __init__(
        self,
        n_layers: int = 20,
        *,
        measure: str = "hamming-loss",
        n_estimators: int = 40,
        n_more_estimators: int = 20,
        max_estimators: int = 100,
        depth_step: int | None = 3,
        forests: list[str] | None = None,
        cv: Any = 5,
        reuse: bool = True,
        early_stopping: bool = True,
        n_iter_no_change: int = 3,
        tol: float = 0.0,
        refit: bool = False,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.n_layers = n_layers
        self.measure = measure
        self.n_estimators = n_estimators
        self.n_more_estimators = n_more_estimators
        self.max_estimators = max_estimators
        self.depth_step = depth_step
        self.forests = forests
        self.cv = cv
        self.reuse = reuse
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.checkpoint = checkpoint

    def _fit(self, inputs: FitInputs, *, with_features: bool) -> list[np.ndarray]:
        # 1. Read the target, and plan the forests of the layers.
        target = _LabelTarget.from_y(inputs.y)
        weights = row_weights(inputs.sample_weight, None, np.empty(0))
        task = LabelsTask(target.labels, weights.row)
        forests = self._label_forests()

        # 2. Bin the table, with spare columns for the vectors of a layer.
        n_added = len(forests.names) * task.n_columns
        binner, table = self._bin(inputs, n_added)
        seeds = Seeds.from_random_state(self.random_state)
        folds = LayerFolds(
            self.cv,
            inputs.X_for_splitter(binner, self.cv),
            target.y,
            labels=task.strata,
            groups=inputs.groups,
            seeds=seeds,
        )
        trainer = Trainer(
            table=table,
            n_features=inputs.n_features,
            numbers=None,
            task=task,
            weights=weights,
            order=canonical_order(table.codes, task.order_key),
            seeds=seeds,
            folds=folds.fixed or [],
            groups=folds.group_of_row,
            n_jobs=self.n_jobs,
            show_progress=self.verbose > 1,
        ).in_time_order(folds.without_past)

        # 3. Build the layers.
        stopper = Stopper(
            self.n_layers,
            self.n_iter_no_change if self.early_stopping else None,
            tol=self.tol,
            compares_margins=False,
        )
        grown = grow_label_forest(
            trainer,
            forests,
            folds,
            stopper,
            measure=self.measure,
            reuse=self.reuse,
            refit=self.refit,
            checkpoint=open_checkpoint(self, trainer, [], stores_models=True),
            verbose=self.verbose > 0,
        )

        # 4. Store the model and how it was built.
        self.classes_ = target.classes
        self.n_labels_ = task.n_columns
        self._fitted = stages_with_reuse(binner, grown.stages, n_added)
        self.stop_reason_ = grown.stop_reason
        self._store_rows(trainer)
        self.n_layers_ = len(grown.stages)
        self.history_ = stopper.history(HISTORY)
        probabilities = np.minimum(grown.vectors[-1].mean(axis=0), 1.0)
        self.oof_probabilities_ = trainer.known_vectors(probabilities)
        return list(map(trainer.known_vectors, grown.vectors))

    def _label_forests(self) -> LabelForests:
        """Forests of the layers, from the parameters."""
        return LabelForests.from_names(
            ["random", "extremely-random"] if self.forests is None else self.forests,
            n_estimators=int(self.n_estimators),
            n_more=int(self.n_more_estimators),
            most=int(self.max_estimators),
            depth_step=None if self.depth_step is None else int(self.depth_step),
        )

    def _by_output(self, probabilities: np.ndarray) -> np.ndarray | list[np.ndarray]:
        if isinstance(self.classes_, list):
            return [np.column_stack([1 - p, p]) for p in probabilities.T]
        # Labels may come from different layers, so that the sum need not be 1.
        total = probabilities.sum(axis=1, keepdims=True)
        uniform = 1 / probabilities.shape[1]
        return np.where(total > 0, probabilities / np.where(total > 0, total, 1), uniform)

    def predict_log_proba(self, X: TableLike) -> np.ndarray | list[np.ndarray]:
        """Natural logarithm of `predict_proba`; minus infinity where that is 0.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        list of ndarray of shape (n_samples, 2), or ndarray of shape (n_samples, n_classes)
        """
        # Unlike the base class: the logarithm follows the scaling of `_by_output`.
        probabilities = self.predict_proba(X)
        if isinstance(probabilities, list):
            return [log(label_probabilities) for label_probabilities in probabilities]
        return log(probabilities)

    def transform(self, X: Any) -> np.ndarray:
        """Label vectors of the forests of the last layer.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            New samples. For the training samples, see `fit_transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Vectors of the forests side by side; named by `get_feature_names_out`.
        """
        return super().transform(X)

    def _join_layers(self, vectors: list[np.ndarray]) -> np.ndarray:
        return columns_of(vectors[-1], None)

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> np.ndarray:
        """Names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array of str, default=None
            Not used.

        Returns
        -------
        ndarray of str
            Such as "forest1_label3", or "forest1_setosa" for classes that exclude each other.
        """
        check_is_fitted(self)
        if isinstance(self.classes_, list):
            labels = [f"label{number}" for number in range(self.n_labels_)]
        else:
            labels = column_names(self.classes_)
        forests = range(len(self._fitted.stages[0].members))
        names = [f"forest{forest + 1}_{label}" for forest in forests for label in labels]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        return tags_of_outputs(super().__sklearn_tags__())

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        yield "classes_", len(self.classes_), self.n_labels_
        yield from super()._counts()

    @property
    def _n_columns(self) -> int:
        return self.n_labels_


@dataclass(frozen=True)
class _LabelTarget:
    """Labels of the samples, and the classes that they stand for."""

    classes: list[np.ndarray] | np.ndarray
    y: np.ndarray  # as splitters get it
    labels: np.ndarray  # (n_samples, n_labels): 0 or 1

    @classmethod
    def from_y(cls, y: npt.ArrayLike) -> _LabelTarget:
        """Read an indicator matrix, or classes of which each is a label."""
        outputs = several_outputs(y)
        if outputs is None:
            target = Classes.from_y(y)
            labels = np.equal.outer(target.key, np.arange(len(target.classes))).astype(float)
            return cls(target.classes, target.classes[target.key], labels)
        is_label = np.isin(outputs, [0, 1]) if outputs.dtype.kind in "biuf" else np.False_
        if not np.all(is_label):
            wrong = outputs[np.unravel_index(np.argmin(is_label), outputs.shape)]
            raise ValueError(
                "y must be an indicator matrix of 0 and 1, with a column for each label, got "
                f"{short(wrong.item())}"
            )
        values = np.array([0, 1]).astype(outputs.dtype)
        return cls([values] * outputs.shape[1], outputs, outputs.astype(float))
