"""Base class of the cascades, mdDF and gcForest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._base.validation import refuse_class
from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._fitted.base_estimators import ProbabilityClassifier
from mddf._fitted.fitted_model import FittedStages, Stage
from mddf._input.date_columns import sums_by_feature
from mddf._layers.cascade import Cascade, grow_cascade
from mddf._layers.cascade_folds import LayerFolds, resolve_grains
from mddf._layers.cascade_stopping import Stopper, needed_gain
from mddf._layers.checkpoints import open_checkpoint
from mddf._layers.layered_estimator import (
    CONSTRAINTS,
    FitInputs,
    Layered,
    column_names,
    staged_predict,
    staged_predict_proba,
)
from mddf._layers.member import Member
from mddf._layers.member_parsing import OUT_OF_BAG, resolve_forests
from mddf._layers.rules import LayerRules
from mddf._layers.scores import MARGIN_RATIO, layer_score, score_on_rows
from mddf._layers.seeds import Seeds
from mddf._layers.tasks import ClassificationTask
from mddf._layers.trainer import Trainer
from mddf._resampling.sampling import canonical_order
from mddf._resampling.time_order import TimeOrder
from mddf._targets.kernel_targets import Classes
from mddf._targets.target_validation import class_factors
from mddf._targets.weights import row_weights
from mddf._trees.regions import n_region_columns

# Descriptions that the cascades share; see `describes_parameters`.
CASCADE_PARAMETERS = """
n_layers : int
    Maximum number of layers. Change it if the cascade still improves at its last layer.
n_estimators : int
    Trees of each named forest, on each fold. Change it to save time or memory.
refit : bool
    Keep forests that are grown once on all samples instead of the forests of all folds.
    Coefficients, the next layer, scores and `oof_probabilities_` are still made from the
    folds. With 5 folds, the model has a fifth of the trees, is a quarter as large and predicts
    in about a fifth of the time; a layer takes a quarter longer to grow. With ``cv="oob"``,
    forests are always grown on all samples. Change it if the model must be small.
calibrate : bool
    Raise the probabilities to the power of `exponent_`, found by out-of-fold log-loss, scale
    them to sum 1, and spread the share `label_smoothing_` of them evenly over the classes, as
    in `DeepForestClassifier`. Predicted classes, coefficients and the choice of layers do not
    depend on it. Change it if you use the probabilities.
scoring : str, callable or None
    Score of the out-of-fold predictions: "margin-ratio", minus the standard deviation of the
    margins divided by their mean; a scorer of scikit-learn; None for accuracy. A
    callable is called as ``scoring(estimator, X, y)`` with an estimator that has ``predict``
    and ``predict_proba`` only. Change it if another score matters.
rules : LayerRules
    Rules that are called after each layer: which rows leave the cascade, weights of the
    samples, columns and numbers of trees of the next layer, and when to stop. See
    `mddf.rules`. Change it for screening or weights of your own.
class_weight : dict, "balanced" or None
    Factors of the sample weights by class. Change it hardly ever: choose a threshold.
verbose : int
    1 prints a line for each layer, 2 also shows a progress bar.

Attributes
----------
classes_ : ndarray of shape (n_classes,)
history_ : dict of str to ndarray of shape (n_grown,)
    Out-of-fold figures of the n_grown layers that were grown, kept or not: "accuracy", "score",
    "margin_mean", "margin_std" and "margin_ratio" (std / mean) of the layers so far together;
    "layer_score" of the layer alone; "alpha", its coefficient when it was grown;
    "effective_samples", ``1 / sum D^2`` for the sample weights D; "active_samples", the rows on
    which it was trained, all rows unless `rules` let some leave; "time" in seconds; and "layer",
    its number from 1.
margins_ : ndarray of shape (n_grown, n_samples)
    Out-of-fold margins of the layers so far together, in [-1, 1].
weights_ : ndarray of shape (n_grown, n_samples)
    Weights of the samples in each layer, of sum 1; sample and class weights included.
member_scores_ : ndarray of shape (n_grown, n_forests)
    Out-of-fold scores of each layer's forests alone.
oof_probabilities_ : ndarray of shape (n_samples, n_classes)
    Out-of-fold probabilities of the kept layers, calibrated if `calibrate` is true.
exponent_ : float
    Exponent of the calibration; above 1, it makes probabilities more extreme. 1 without.
label_smoothing_ : float
    Share of the probabilities that calibration spreads evenly over the classes. 0 without.
layer_importances_ : ndarray of shape (n_layers_, n_features)
feature_importances_ : ndarray of shape (n_features,)
"""


class BaseCascade(Layered, ProbabilityClassifier):
    """Base class of the cascades; use one of its subclasses."""

    _member_list = "forests"
    staged_predict = staged_predict
    staged_predict_proba = staged_predict_proba
    _default_forests: ClassVar[tuple[str, ...]]  # names of a layer's forests
    _rules_class: ClassVar[type[LayerRules]]
    # Layers without a better score before the cascade stops.
    _patience: ClassVar[int]
    grains: list[Any] | None = None  # parameter of gcForest only

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "forests": ["array-like", None],
        "cv": ["cv_object", StrOptions({OUT_OF_BAG})],
        "early_stopping": ["boolean"],
        "calibrate": ["boolean"],
        "scoring": [StrOptions({*get_scorer_names(), MARGIN_RATIO}), callable, None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "rules": [LayerRules, None],
    }

    def _fit(self, inputs: FitInputs, *, with_features: bool) -> list[np.ndarray]:
        # 1. Read the target, and make the rules and the members of a layer.
        target = Classes.from_y(inputs.y)
        refuse_class("scoring", self.scoring)
        rules = self._own_rules(self.rules)
        rules.check()
        members = self._resolve_forests(inputs.sample_weight)
        grains = resolve_grains(self.grains, inputs.n_features)
        n_vectors = len(members) * len(target.classes)
        passes_all = rules.passes_all(n_vectors, min(map(len, grains)))
        n_added = n_vectors if passes_all else len(target.classes)
        if rules.columns_of_regions is not None:
            n_added = self._n_columns_of_regions(rules.columns_of_regions, members, inputs)

        # 2. Bin the table, with spare columns for the features that a layer adds.
        binner, table = self._bin(inputs, n_added)
        folds = self._make_folds(inputs, target, binner)
        trainer = self._make_trainer(
            inputs, target, members, binner=binner, table=table, folds=folds
        )

        # 3. Decide how layers are scored and when to stop.
        score = self._score_of_layers(inputs, target, trainer)
        checkpoint = open_checkpoint(self, trainer, members, stores_models=True)
        stopper = Stopper(
            self.n_layers,
            self._patience if self.early_stopping else None,
            tol=needed_gain(self.scoring),
            # Every grain is seen by a layer.
            min_layers=len(grains),
        )

        # 4. Build the layers, and calibrate their average.
        cascade = Cascade(
            trainer,
            rules,
            members,
            folds,
            refit=self.refit,
            grains=grains,
            n_added=n_added,
            passes_all=passes_all,
        )
        grow_cascade(
            cascade,
            score,
            stopper,
            checkpoint=checkpoint,
            calibrates=self.calibrate,
            verbose=self.verbose > 0,
            keep_vectors=with_features,
            X=inputs.X,
        )

        # 5. Store the model and how it was built.
        self.classes_ = target.classes
        self._fitted = FittedStages(
            binner,
            cascade.stages,
            n_added,
            calibration=cascade.calibration,
            is_at_most_one=True,
        )
        self._store_growth(cascade)
        return [trainer.known_vectors(np.stack(vectors)) for vectors in cascade.vectors]

    def _n_columns_of_regions(
        self, function: Callable[..., Any], members: Sequence[Member], inputs: FitInputs
    ) -> int:
        """Number of columns that a function makes; refuses it where regions are unknown."""
        others = [member.name for member in members if not member.n_trees]
        if others:
            raise ValueError(
                f"a function as augmentation needs forests of mddf, got the member {others[0]!r}"
            )
        if self.refit or isinstance(self.cv, str | TimeOrder) or self.checkpoint is not None:
            raise ValueError(
                "a function as augmentation reads the forests of all folds: expected refit=False, "
                f"checkpoint=None and folds as cv, got refit={self.refit}, "
                f"checkpoint={short(self.checkpoint)} and cv={short(self.cv)}"
            )
        return len(members) * n_region_columns(function, inputs.n_features)

    def _own_rules(self, rules: LayerRules | None) -> LayerRules:
        """The rules, with other choices as by default if they are `LayerRules` of an mdDF."""
        if rules is None:
            return self._rules_class()
        if isinstance(rules, self._rules_class):
            return rules
        if type(rules) is not LayerRules:
            raise ValueError(
                f"a class of rules for {type(self).__name__} must be derived from "
                f"{self._rules_class.__name__}, got {short(rules)}"
            )
        return self._rules_class(**vars(rules))

    def _score_of_layers(
        self, inputs: FitInputs, target: Classes, trainer: Trainer
    ) -> Callable[..., float]:
        """Out-of-fold score of a layer, on rows that have a prediction by models of the past."""
        score = layer_score(self.scoring, target.classes, target.key, inputs.sample_weight)
        if not trainer.is_in_time_order:
            return score
        return score_on_rows(score, trainer.evaluated_rows, trainer.n_samples)

    def _resolve_forests(self, sample_weight: np.ndarray | None) -> list[Member]:
        """Members of a layer, from the parameters."""
        return resolve_forests(
            self._default_forests if self.forests is None else self.forests,
            n_estimators=self.n_estimators,
            out_of_bag=isinstance(self.cv, str),
            weighted=sample_weight is not None or self.class_weight is not None,
            own_parameters=self._get_param_names(),
        )

    def _make_trainer(
        self,
        inputs: FitInputs,
        target: Classes,
        members: Sequence[Member],
        *,
        binner: Binner,
        table: BinnedTable,
        folds: LayerFolds,
    ) -> Trainer:
        """The trainer, with all that members are trained on."""
        labels = target.key
        sample_weight = inputs.sample_weight
        factors = class_factors(self.class_weight, target.classes, labels, sample_weight)
        weights = row_weights(sample_weight, factors, labels)
        reads_numbers = any("numbers" in member.reads for member in members)
        n_classes = len(target.classes)
        trainer = Trainer(
            table=table,
            n_features=inputs.n_features,
            numbers=binner.numbers(inputs.table) if reads_numbers else None,
            task=ClassificationTask(labels, n_classes, weights.row, calibrate=False),
            weights=weights,
            order=canonical_order(table.codes, labels),
            seeds=folds.seeds,
            folds=folds.fixed or [],
            groups=folds.group_of_row,
            n_jobs=self.n_jobs,
            show_progress=self.verbose > 1,
        )
        return trainer.in_time_order(folds.without_past)

    def _make_folds(self, inputs: FitInputs, target: Classes, binner: Binner) -> LayerFolds:
        return LayerFolds(
            self.cv,
            inputs.X_for_splitter(binner, self.cv),
            target.classes[target.key],
            labels=target.key,
            groups=inputs.groups,
            seeds=Seeds.from_random_state(self.random_state),
        )

    def _store_growth(self, cascade: Cascade) -> None:
        """Set the fitted attributes that describe the fit."""
        trainer = cascade.trainer
        self._store_rows(trainer)
        self.n_layers_ = len(cascade.stages)
        self.alphas_ = cascade.stages[-1].alphas
        self.history_ = cascade.history
        self.stop_reason_ = cascade.stop_reason
        self.margins_ = np.stack(cascade.margins)
        self.weights_ = np.stack(cascade.weights)
        self.member_scores_ = np.stack(cascade.member_scores)
        self.exponent_ = cascade.calibration.exponent
        self.label_smoothing_ = cascade.calibration.label_smoothing
        self.oof_probabilities_ = trainer.known_vectors(cascade.calibration(cascade.probabilities))

    def _layer_figures(self) -> dict[str, Any]:
        """Figures for displays of the growth."""
        return {
            "history": self.history_,
            "margins": self.margins_,
            "member_scores": self.member_scores_,
            "alphas": self.alphas_,
        }

    def decision_function(self, X: Any) -> np.ndarray:
        """Sum ``F(x)`` of the layers' class vectors, multiplied by their coefficients.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) if there are two classes
            With two classes, the difference of the second and the first.
        """
        scores = self._predict_in_blocks(X, finish=False) * self.alphas_.sum()
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _member_names(self, stage: Stage) -> list[str]:
        return [f"forest{i + 1}" for i in range(len(stage.members))]

    @property
    def _column_labels(self) -> list[str]:
        return column_names(self.classes_)

    @property
    def layer_importances_(self) -> np.ndarray:
        """Importance of the raw features in each layer, shape (n_layers_, n_features).

        A forest's importances are the mean decrease of impurity. The importance of features that
        earlier layers added is passed on to the raw features by the importances of these layers.
        """
        check_is_fitted(self)
        n_raw = self._fitted.n_raw
        result = np.zeros((self.n_layers_, n_raw))
        for number, stage in enumerate(self._fitted.stages):
            if stage.importances is None:
                raise AttributeError(
                    "importances are only there if all forests are of this package, got "
                    f"forests={short(self.forests)}"
                )
            result[number] = stage.importances[:n_raw]
            if number:
                alphas = self._fitted.stages[number - 1].alphas
                before = np.average(result[:number], axis=0, weights=alphas)
                result[number] += stage.importances[n_raw:].sum() * before
        return result

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of the raw features over the kept layers, shape (n_features,), of sum 1.

        The mean of `layer_importances_`, weighted by `alphas_`.
        """
        check_is_fitted(self)
        importances = np.average(self.layer_importances_, axis=0, weights=self.alphas_)
        return sums_by_feature(self, importances)

    @property
    def _n_columns(self) -> int:
        return len(self.classes_)
