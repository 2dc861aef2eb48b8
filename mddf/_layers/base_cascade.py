"""Base class of the cascades, mdDF and gcForest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.metrics import get_scorer_names
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.array_hash import hash_of_arrays
from mddf._base.messages import short
from mddf._base.validation import Within, finite, naming, refuse_class
from mddf._fitted.vector_layout import columns_of
from mddf._input.date_columns import sums_by_feature
from mddf._layers.cascade import GrownCascade, grow_cascade
from mddf._layers.cascade_forests import OUT_OF_BAG, resolve_forests
from mddf._layers.cascade_plan import CascadeKind, CascadePlan, LayerFolds, resolve_grains
from mddf._layers.checkpoints import Checkpoint, fit_inputs
from mddf._layers.layer_trainer import LayerTrainer, in_time_order
from mddf._layers.layered_estimator import (
    CONSTRAINTS,
    BinnedInputs,
    FitInputs,
    LayeredClassifier,
    column_names,
)
from mddf._layers.member import Member
from mddf._layers.rules import LayerRules
from mddf._layers.scoring import (
    MARGIN_RATIO,
    OneSEStopper,
    layer_score,
    needed_gain,
    score_on_rows,
)
from mddf._layers.seeds import Purpose
from mddf._layers.stopping import Stopper
from mddf._layers.tasks import ClassificationTask
from mddf._members.composition import HoldsMembers
from mddf._resampling.folds import gives_folds, is_splitter, make_folds
from mddf._resampling.sampling import canonical_order
from mddf._targets.kernel_targets import Classes
from mddf._targets.target_validation import class_factors
from mddf._targets.weights import row_weights


@dataclass(frozen=True)
class LayerChoice:
    """Number of layers that scored best on held-out samples, and a sentence that says so."""

    n_layers: int
    reason: str


class BaseCascade(HoldsMembers, LayeredClassifier):
    """Base class of the cascades; use one of its subclasses."""

    _member_list = "forests"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "forests": ["array-like", None],
        "cv": ["cv_object", StrOptions({OUT_OF_BAG})],
        "early_stopping": ["boolean"],
        "n_iter_no_change": [Within(Integral, 1, None, closed="left")],
        "tol": [finite(), StrOptions({"auto"})],
        "keep_layers": [StrOptions({"best", "fewest", "held-out"})],
        "calibrate": ["boolean"],
        "scoring": [StrOptions({*get_scorer_names(), MARGIN_RATIO}), callable, None],
        "transform_layers": [StrOptions({"last", "all"}), Integral, "array-like"],
        "transform_forests": [StrOptions({"mean", "each", "boosted"})],
        "grains": ["array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "rules": [LayerRules, None],
    }

    def _kind(self) -> CascadeKind:
        """The kind of cascade, from the parameters."""
        raise NotImplementedError

    def _fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        groups: npt.ArrayLike | None,
        *,
        with_features: bool,
    ) -> list[np.ndarray]:
        # 1. Read the inputs, and make the members of a layer.
        inputs = self._read_inputs(X, y, sample_weight, groups)
        target = Classes.from_y(y)
        classes = target.classes
        refuse_class("scoring", self.scoring)
        kind = self._kind_with_rules()
        members = self._resolve_forests(kind, inputs.sample_weight)
        self._chosen_layers(self.n_layers)  # refuses layers that the cascade cannot have
        grains = resolve_grains(self.grains, inputs.n_features)
        n_classes = len(classes)
        passes_all = kind.passes_all(len(members), n_classes, min(map(len, grains)))

        # 2. Bin the table, with spare columns for the features that a layer adds.
        binned = self._bin(inputs, n_classes * (len(members) if passes_all else 1))
        trainer = self._make_trainer(inputs, target, members, binned)

        # 3. Make the folds, and decide how layers are scored and when to stop.
        folds = self._make_folds(inputs, target, binned)
        trainer = in_time_order(trainer, folds.without_past)
        score = self._score_of_layers(inputs, target, trainer)
        checkpoint = self._checkpoint_of(inputs, trainer, members, folds)
        stopper = self._make_stopper(score, folds, trainer, n_grains=len(grains))
        choice = self._layers_by_held_out(inputs, target, folds)
        if choice is not None:
            stopper.n_layers = choice.n_layers

        # 4. Build the layers, and calibrate their average.
        plan = CascadePlan(kind, members, folds, self.refit, grains, n_classes, passes_all)
        grown = grow_cascade(
            trainer,
            plan,
            score,
            stopper,
            checkpoint=checkpoint,
            calibrates=self.calibrate,
            verbose=self.verbose > 0,
            keep_vectors=with_features,
            rules=self.rules,
            X=inputs.X,
        )

        # 5. Store the model and how it was built.
        self.classes_ = classes
        self._fitted = grown.fitted(binned.binner, plan)
        self._store_growth(grown, trainer, choice)
        return [trainer.known_vectors(np.stack(vectors)) for vectors in grown.vectors]

    def _kind_with_rules(self) -> CascadeKind:
        """The kind of cascade, whose reweighting the user's rules replace if they have one."""
        kind = self._kind()
        if self.rules is None:
            return kind
        self.rules.check()
        if self.rules.reweighting is None:
            return kind
        return replace(kind, reweighting=None, redraw=self.rules.redraw)

    def _score_of_layers(
        self, inputs: FitInputs, target: Classes, trainer: LayerTrainer
    ) -> Callable[..., float]:
        """Out-of-fold score of a layer, on rows that have a prediction by models of the past."""
        score = layer_score(self.scoring, target.classes, target.key, inputs.sample_weight)
        if not trainer.is_in_time_order:
            return score
        return score_on_rows(score, trainer.evaluated_rows, trainer.n_samples)

    def _resolve_forests(
        self, kind: CascadeKind, sample_weight: np.ndarray | None
    ) -> list[Member]:
        """Members of a layer, from the parameters."""
        return resolve_forests(
            kind.forests if self.forests is None else self.forests,
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
        binned: BinnedInputs,
    ) -> LayerTrainer:
        """The trainer, with all that members are trained on."""
        labels = target.key
        sample_weight = inputs.sample_weight
        factors = class_factors(self.class_weight, target.classes, labels, sample_weight)
        weights = row_weights(sample_weight, factors, labels)
        reads_numbers = any(member.reads_numbers for member in members)
        n_classes = len(target.classes)
        return LayerTrainer(
            table=binned.table,
            n_features=inputs.n_features,
            numbers=binned.binner.numbers(inputs.table) if reads_numbers else None,
            task=ClassificationTask(labels, n_classes, weights.row, calibrate=False),
            weights=weights,
            order=canonical_order(binned.table.codes, labels),
            n_jobs=self.n_jobs,
            show_progress=self.verbose > 1,
        )

    def _make_folds(self, inputs: FitInputs, target: Classes, binned: BinnedInputs) -> LayerFolds:
        labels = target.key
        X = inputs.X_for_splitter(binned.binner, self.cv)
        y = target.classes[labels]
        return LayerFolds(self.cv, X, y, labels=labels, groups=inputs.groups, seeds=binned.seeds)

    def _make_stopper(
        self,
        score: Callable[..., float],
        folds: LayerFolds,
        trainer: LayerTrainer,
        *,
        n_grains: int,
    ) -> Stopper:
        """When to stop, from the parameters."""
        stops_early = self.early_stopping and self.keep_layers != "held-out"
        one_se = None
        if self.early_stopping and self.keep_layers == "fewest":
            # Without groups, samples are cut into blocks by their place in the canonical order.
            groups = folds.group_of_row
            one_se = OneSEStopper(score, np.argsort(trainer.order) if groups is None else groups)
        return Stopper(
            self.n_layers,
            self.n_iter_no_change if stops_early else None,
            needed_gain(self.tol, self.scoring),
            one_se,
            # Every grain is seen by a layer.
            min_layers=n_grains,
        )

    def _layers_by_held_out(
        self, inputs: FitInputs, target: Classes, folds: LayerFolds
    ) -> LayerChoice | None:
        """Number of layers that score best on a quarter of the samples, in a fit without them.

        In time order, the samples that the last fold holds out take the place of this quarter.
        None unless keep_layers="held-out".
        """
        if not (self.early_stopping and self.keep_layers == "held-out"):
            return None
        if gives_folds(self.cv) and not is_splitter(self.cv):
            raise ValueError(
                "keep_layers='held-out' needs cv to be a number or a splitter, since a quarter of "
                f"the samples is held out, got cv={short(self.cv)}"
            )
        classes = target.classes
        labels = target.key
        X = inputs.X
        sample_weight = inputs.sample_weight
        groups = inputs.groups
        seed = folds.seeds.integer(Purpose.HELD_OUT_LAYERS)
        if folds.fixed is not None and len(folds.without_past):
            # In time order, the fold with the longest past comes first.
            train, held_out = folds.fixed[0]
        else:
            train, held_out = make_folds(4, X, labels, labels, seed, groups=groups)[0]
        trial = clone(self).set_params(
            keep_layers="best", calibrate=False, checkpoint=None, random_state=seed
        )
        with naming("keep_layers='held-out'"):
            X_train, X_held_out = (_safe_indexing(X, rows) for rows in (train, held_out))
        trial.fit(
            X_train,
            classes[labels[train]],
            None if sample_weight is None else sample_weight[train],
            None if groups is None else np.asarray(groups)[train],
        )
        held_out_weight = None if sample_weight is None else sample_weight[held_out]
        score = layer_score(self.scoring, classes, labels[held_out], held_out_weight)
        scores = []
        for probabilities in trial.staged_predict_proba(X_held_out):
            # The trial may have seen only some classes.
            all_probabilities = np.zeros((len(held_out), len(classes)))
            all_probabilities[:, np.isin(classes, trial.classes_)] = probabilities
            scores.append(score(all_probabilities))
        best = int(np.argmax(scores)) + 1
        return LayerChoice(
            best, f"{best} of {len(scores)} layers scored best on {len(held_out)} held-out samples"
        )

    def _checkpoint_of(
        self,
        inputs: FitInputs,
        trainer: LayerTrainer,
        members: Sequence[Member],
        folds: LayerFolds,
    ) -> Checkpoint | None:
        """The checkpoint, if there is one; refuses members that it cannot hold."""
        if self.checkpoint is None:
            return None
        if not all(member.is_plain for member in members):
            raise ValueError(
                "checkpoint needs forests of this package, which are plain arrays, got "
                f"forests={short(self.forests)}"
            )
        return self._open_checkpoint(
            fit_inputs(
                trainer.table,
                trainer.task.target,
                inputs.sample_weight,
                folds.group_of_row,
                folds=folds.fixed,
            )
        )

    def _store_growth(
        self, grown: GrownCascade, trainer: LayerTrainer, choice: LayerChoice | None
    ) -> None:
        """Set the fitted attributes that describe the fit."""
        self._seen = hash_of_arrays(trainer.table.codes[:, : trainer.n_features])
        self.n_layers_ = len(grown.stages)
        self.alphas_ = grown.stages[-1].alphas
        self.history_ = grown.history
        self.stop_reason_ = grown.stop_reason if choice is None else choice.reason
        self.margins_ = np.stack(grown.margins)
        self.weights_ = np.stack(grown.weights)
        self.member_scores_ = np.stack(grown.member_scores)
        self.exponent_ = grown.calibration.exponent
        self.label_smoothing_ = grown.calibration.label_smoothing
        self.oof_probabilities_ = trainer.known_vectors(grown.calibration(grown.probabilities))
        self._n_without_oof = trainer.n_samples - len(trainer.evaluated_rows)

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

    def _chosen_layers(self, n_layers: int) -> list[int]:
        """Layers of `transform_layers`, numbered from 0, if there are `n_layers`."""
        if isinstance(self.transform_layers, str):
            return [n_layers - 1] if self.transform_layers == "last" else [*range(n_layers)]
        with naming("transform_layers"):
            chosen = np.atleast_1d(self.transform_layers)
        if (
            chosen.ndim != 1
            or chosen.dtype.kind not in "iu"
            or len(chosen) == 0
            or chosen.min() < -n_layers
            or chosen.max() >= n_layers
        ):
            few = "" if n_layers == self.n_layers else ", as many as early stopping kept"
            raise ValueError(
                "transform_layers must be 'last', 'all', or numbers of layers, which are below "
                f"{n_layers}{few}; got {short(self.transform_layers)}"
            )
        return (chosen % n_layers).tolist()

    def transform(self, X: Any) -> np.ndarray:
        """Layer features of new samples: the class vectors of the layers' forests.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            New samples. For the training samples, see `fit_transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Features of the layers in `transform_layers`, side by side; named by
            `get_feature_names_out`.
        """
        check_is_fitted(self)
        self._chosen_layers(self.n_layers_)
        return self._layer_features(X)

    def _join_layers(self, vectors: list[np.ndarray]) -> np.ndarray:
        chosen = self._chosen_layers(self.n_layers_)
        if self.transform_forests == "boosted":
            return np.hstack([self._boosted_features(vectors, number) for number in chosen])
        weights = None if self.transform_forests == "each" else np.ones(len(vectors[0]))
        return np.hstack([columns_of(vectors[number], weights) for number in chosen])

    def _boosted_features(self, vectors: list[np.ndarray], layer: int) -> np.ndarray:
        """Sum of the layers' mean vectors by the coefficients after a layer, numbered from 0."""
        alphas = self._fitted.stages[layer].alphas
        equal = np.ones(len(vectors[0]))
        means = (columns_of(vectors[number], equal) for number in range(layer + 1))
        return sum(alpha * mean for alpha, mean in zip(alphas, means, strict=True))

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> np.ndarray:
        """Names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array of str, default=None
            Not used.

        Returns
        -------
        ndarray of str
            Such as "layer1_setosa", "layer1_boosted_setosa" for boosted features, or
            "layer1_forest3_setosa" for the vectors of each forest; layers and forests are counted
            from 1. Characters that XGBoost and LightGBM refuse in names, such as "<" and "[",
            become "_".
        """
        check_is_fitted(self)
        parts = ["boosted_" if self.transform_forests == "boosted" else ""]
        if self.transform_forests == "each":
            parts = [f"forest{i + 1}_" for i in range(len(self._fitted.stages[0].members))]
        names = [
            f"layer{layer + 1}_{part}{name}"
            for layer in self._chosen_layers(self.n_layers_)
            for part in parts
            for name in column_names(self.classes_)
        ]
        return np.array(names, dtype=object)

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
