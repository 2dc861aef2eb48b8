"""What the cascades share as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer_names
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.fingerprint import fingerprint
from mddf._base.messages import short
from mddf._base.validation import Within, check_lengths, finite, naming, refuse_class
from mddf._binning.binned_table import BinnedTable
from mddf._cascade.fit import Trace, grow_cascade
from mddf._cascade.forests import OUT_OF_BAG, resolve_forests
from mddf._cascade.model import CascadeModel
from mddf._cascade.plan import CascadeKind, CascadePlan, resolve_grains
from mddf._cascade.stopping import Stopper
from mddf._ensemble.blending import calibration
from mddf._ensemble.scoring import MARGIN_RATIO, OneSEStopper, needed_gain, out_of_fold_score
from mddf._fitted.base_estimators import LayeredClassifier
from mddf._fitted.fitted_model import FittedStages
from mddf._fitted.vector_layout import columns_of
from mddf._input.reading import read_table
from mddf._members.composition import HoldsMembers
from mddf._members.spec import MemberSpec
from mddf._resampling.folds import gives_folds, group_numbers, is_splitter, make_folds
from mddf._resampling.sampling import canonical_order
from mddf._targets.target_validation import check_weights, class_factors, encode_labels
from mddf._targets.weights import row_weights
from mddf._training.checkpoints import fit_inputs
from mddf._training.layer_trainer import LayerTrainer
from mddf._training.layered_estimator import CONSTRAINTS, Layered, column_names
from mddf._training.tasks import ClassificationTask


class BaseCascade(HoldsMembers, Layered, LayeredClassifier):
    """What the cascades share; use one of them."""

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
        "transform_forests": [StrOptions({"mean", "each"})],
        "grains": ["array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _kind(self) -> CascadeKind:
        raise NotImplementedError

    # Fitting.

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, *, with_features: bool
    ) -> list[np.ndarray]:
        table = read_table(self, X, reset=True, categorical_features=self.categorical_features)
        check_lengths(X, y=y, groups=groups)
        classes, labels = encode_labels(y)
        given = check_weights(sample_weight, table.shape[0])
        refuse_class("scoring", self.scoring)
        kind = self._kind()
        forests = self._resolved(kind, given)
        self._chosen_layers(self.n_layers)
        grains = resolve_grains(self.grains, table.shape[1])
        layout = kind.layout(len(forests), len(classes), min(map(len, grains)))
        binner, binned, entropy = self._coded(
            table, given, layout.n_columns, has_groups=groups is not None or gives_folds(self.cv)
        )
        own = all(member.is_forest for member in forests)
        numbers = None if own else binner.numbers(table)
        trainer = self._trainer(binned, numbers, classes, labels, given)
        units = None if groups is None else group_numbers(groups, labels, self.cv)
        shown = binner.numbers(X) if X is table and is_splitter(self.cv) else X
        folds = self._folds(shown, classes[labels], labels, (*entropy, 1), groups)
        checkpoint = None
        if self.checkpoint is not None:
            self._check_plain(own)
            of_cv = folds(0) if gives_folds(self.cv) else None
            checkpoint = self._checkpoint(fit_inputs(binned, labels, given, units, of_cv))
        score = out_of_fold_score(self.scoring, classes, labels, given)
        stopper, held_out = self._stopper(score, trainer, units, len(grains)), None
        if self.early_stopping and self.keep_layers == "held-out":
            stopper.n_layers, held_out = self._held_out_layers(
                X, labels, classes, given, groups, entropy
            )
        plan = CascadePlan(kind, forests, folds, self.refit, grains, layout)
        seen = fingerprint(binned.codes[:, : table.shape[1]])
        model, trace = grow_cascade(
            trainer,
            plan,
            score,
            stopper,
            entropy,
            verbose=self.verbose,
            keep_vectors=with_features,
            checkpoint=checkpoint,
        )
        if self.calibrate:
            model.calibration = calibration(trace.probabilities, labels, trainer.weights.row)
        self.classes_ = classes
        self._binner, self._cascade, self._seen = binner, model, seen
        self._set_fitted(model, trace)
        if held_out is not None:
            self.stop_reason_ = held_out
        return [np.stack(vectors) for vectors in trace.vectors] if with_features else []

    def _resolved(self, kind: CascadeKind, given: np.ndarray | None) -> list[MemberSpec]:
        """The forests of a layer, from the parameters."""
        return resolve_forests(
            kind.forests if self.forests is None else self.forests,
            self.n_estimators,
            out_of_bag=isinstance(self.cv, str),
            weighted=given is not None or self.class_weight is not None,
            n_features=self.n_features_in_,
            own_parameters=self._own_parameters(),
        )

    def _trainer(
        self,
        table: BinnedTable,
        numbers: np.ndarray | None,
        classes: np.ndarray,
        labels: np.ndarray,
        given: np.ndarray | None,
    ) -> LayerTrainer:
        """What the layers are trained on."""
        factors = class_factors(self.class_weight, classes, labels, given)
        weights = row_weights(given, factors, labels)
        return LayerTrainer(
            table,
            self.n_features_in_,
            numbers,
            ClassificationTask(labels, len(classes), weights.row, calibrate=False),
            weights,
            canonical_order(table.codes, labels),
            self.n_jobs,
            self.verbose > 1,
        )

    def _stopper(self, score: Any, trainer: LayerTrainer, units: Any, n_grains: int) -> Stopper:
        """When to stop, from the parameters."""
        stops = self.early_stopping and self.keep_layers != "held-out"
        one_se = None
        if self.early_stopping and self.keep_layers == "fewest":
            one_se = OneSEStopper(score, np.argsort(trainer.order) if units is None else units)
        return Stopper(
            self.n_layers,
            self.n_iter_no_change if stops else None,
            needed_gain(self.tol, self.scoring),
            one_se,
            n_grains,
        )

    def _held_out_layers(
        self,
        X: Any,
        labels: np.ndarray,
        classes: np.ndarray,
        given: Any,
        groups: Any,
        entropy: Sequence[int],
    ) -> tuple[int, str]:
        """How many layers score best on a quarter of the samples that none has seen, and why."""
        if gives_folds(self.cv) and not is_splitter(self.cv):
            raise ValueError(
                "keep_layers='held-out' needs cv to be a number or a splitter, since a quarter of "
                f"the samples is held out, got cv={short(self.cv)}"
            )
        (seed,) = np.random.SeedSequence((*entropy, 2)).generate_state(1)
        train, rows = make_folds(4, X, labels, labels, int(seed), groups=groups)[0]
        parts = [None if part is None else np.asarray(part)[train] for part in (given, groups)]
        trial = clone(self).set_params(
            keep_layers="best", calibrate=False, checkpoint=None, random_state=int(seed)
        )
        with naming("keep_layers='held-out'"):
            X_train, X_held_out = (_safe_indexing(X, part) for part in (train, rows))
        trial.fit(X_train, classes[labels[train]], *parts)
        weight = None if given is None else given[rows]
        score = out_of_fold_score(self.scoring, classes, labels[rows], weight)
        scores = []
        for probabilities in trial.staged_predict_proba(X_held_out):
            of_all = np.zeros((len(rows), len(classes)))
            of_all[:, np.isin(classes, trial.classes_)] = probabilities
            scores.append(score(of_all))
        best = int(np.argmax(scores)) + 1
        return best, f"{best} of {len(scores)} layers scored best on {len(rows)} held-out samples"

    def _check_plain(self, own: bool) -> None:
        if not own:
            raise ValueError(
                "checkpoint needs forests of this package, which are plain arrays, got "
                f"forests={short(self.forests)}"
            )

    def _set_fitted(self, model: CascadeModel, trace: Trace) -> None:
        """Set the fitted attributes that describe the fit."""
        self.n_layers_ = len(model.layers)
        self.alphas_ = model.alphas[-1]
        self.history_, self.stop_reason_ = trace.history, trace.stop_reason
        self.margins_, self.weights_ = np.stack(trace.margins), np.stack(trace.weights)
        self.member_scores_ = np.stack(trace.member_scores)
        self.exponent_ = model.calibration.exponent
        self.label_smoothing_ = model.calibration.label_smoothing
        self.oof_probabilities_ = model.calibration(trace.probabilities)

    def _folds(
        self, X: Any, y: Any, labels: np.ndarray, seeds: Sequence[int], groups: Any
    ) -> Callable[[int], Any]:
        """Folds by the number of a layer: drawn anew for each if `cv` is a number."""
        if isinstance(self.cv, str):
            return lambda number: None
        if self.cv is None or isinstance(self.cv, Integral):

            def drawn(number: int) -> Any:
                seed = np.random.SeedSequence((*seeds, number)).generate_state(1)
                return make_folds(self.cv, X, y, labels, int(seed[0]), groups=groups)

            return drawn
        given = make_folds(self.cv, X, y, labels, 0, groups=groups)
        return lambda number: given

    # Asking.

    def _fitted_stages(self) -> FittedStages:
        """The layers as they are asked."""
        check_is_fitted(self, "_cascade")
        return self._cascade.stages(self._binner)

    def _layer_figures(self) -> dict[str, Any]:
        """What is drawn of the growth."""
        return {
            "history": self.history_,
            "margins": self.margins_,
            "member_scores": self.member_scores_,
            "alphas": self.alphas_,
        }

    def decision_function(self, X: Any) -> np.ndarray:
        """``F(x)``, the sum of the layers' class vectors times their coefficients.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) if there are two classes
            With two classes, what the second has above the first.
        """
        scores = self._averages(X) * self.alphas_.sum()
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    # Layer features.

    def _chosen_layers(self, n_layers: int) -> list[int]:
        """Numbers from 0 of the layers that `transform_layers` means of so many."""
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
            New samples. For those that the cascade was grown on, see `fit_transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Of the layers that `transform_layers` says, side by side; named by
            `get_feature_names_out`.
        """
        check_is_fitted(self, "_cascade")
        self._chosen_layers(self.n_layers_)

        return self._layer_features(X, self._features)

    def _features(self, vectors: list[Any]) -> np.ndarray:
        weights = None if self.transform_forests == "each" else np.ones(len(vectors[0]))
        chosen = self._chosen_layers(self.n_layers_)
        return np.hstack([columns_of(vectors[i], weights) for i in chosen])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : array of str, default=None
            Not used.

        Returns
        -------
        ndarray of str
            Such as "layer1_setosa", or "layer1_forest3_setosa" for the vectors of each forest;
            layers and forests are counted from 1. What XGBoost and LightGBM refuse in names,
            such as "<" and "[", becomes "_".
        """
        check_is_fitted(self, "_cascade")
        parts = [""]
        if self.transform_forests == "each":
            parts = [f"forest{i + 1}_" for i in range(self._cascade.layout.n_forests)]
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

        A forest's importances are the mean decrease of impurity. What falls to the features of
        the layers before is passed on to the raw features by those layers' own importances.
        """
        check_is_fitted(self, "_cascade")
        n_raw = self._cascade.n_raw
        result = np.zeros((self.n_layers_, n_raw))
        for number, layer in enumerate(self._cascade.layers):
            if layer.importances is None:
                raise AttributeError(
                    "importances are only there if all forests are of this package, got "
                    f"forests={short(self.forests)}"
                )
            result[number] = layer.importances[:n_raw]
            if number:
                alphas = self._cascade.alphas[number - 1]
                before = np.average(result[:number], axis=0, weights=alphas)
                result[number] += layer.importances[n_raw:].sum() * before
        return result

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of the raw features over the kept layers, shape (n_features,), of sum 1.

        The mean of `layer_importances_`, weighted by `alphas_`.
        """
        check_is_fitted(self, "_cascade")
        return np.average(self.layer_importances_, axis=0, weights=self.alphas_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_cascade")

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        model, n_classes = self._cascade, len(self.classes_)
        yield "n_features_in_", self.n_features_in_, self._binner.bins_.n_columns
        yield "n_raw", model.n_raw, self.n_features_in_
        yield "n_layers_", self.n_layers_, len(model.layers)
        yield "n_classes", model.layout.n_classes, n_classes
        for layer in model.layers:
            yield "n_forests", model.layout.n_forests, len(layer.members)
        for block in self._fitted_stages().trees():
            yield "width of trees", block.width, n_classes
