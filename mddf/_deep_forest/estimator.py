"""What deep forests that classify and deep forests that regress share as estimators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.deadline import Clock
from mddf._base.fingerprint import fingerprint
from mddf._base.validation import COUNT, Within, check_lengths
from mddf._binning.binner import Binner
from mddf._binning.high_cardinality import CategoryLevels
from mddf._deep_forest.builder import Growth
from mddf._deep_forest.fit_report import print_line
from mddf._deep_forest.fold_trainer import Training, boosting_folds, is_small
from mddf._deep_forest.nested_cv import outer_folds
from mddf._deep_forest.presets import Preset, preset_named
from mddf._deep_forest.refit import fitted_layers
from mddf._deep_forest.stack import MOST_COLUMNS
from mddf._fitted.fitted_model import FittedStages, Stage
from mddf._fitted.vector_layout import bounded, columns_of
from mddf._gradient.target_encoding import FEWEST_LEVELS
from mddf._input.category_mask import category_mask
from mddf._input.reading import read_table
from mddf._members.composition import HoldsMembers
from mddf._members.dataframes import FrameColumns, FrameMaker
from mddf._members.external import check_takes_weights
from mddf._members.screening import is_wide
from mddf._members.spec import MemberSpec
from mddf._resampling.folds import gives_folds, group_numbers, is_splitter, make_folds
from mddf._resampling.sampling import canonical_order
from mddf._targets.target_validation import check_weights
from mddf._training.checkpoints import Checkpoint, fit_inputs
from mddf._training.layer_trainer import LayerTrainer
from mddf._training.layered_estimator import CONSTRAINTS, Layered

# External estimators see numbers up to this one, whose squares add up without overflow.
LARGEST = 1e100
# Boosting by rounds of many numbers has fewer rounds, but so many.
_FEWEST_ROUNDS = 100


class BaseDeepForest(HoldsMembers, Layered):
    """What both deep forests share; use one of them.

    It comes before scikit-learn's other classes among the bases of those, which say what a target
    is.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_layers": [COUNT, StrOptions({"auto"})],
        "n_estimators": [COUNT, StrOptions({"auto"})],
        "preset": "no_validation",
        "time_limit": [Within(Real, 0, 1e9, closed="right"), None],
        "members": [StrOptions({"auto"}), "array-like"],
        "cv": ["cv_object", StrOptions({"auto"})],
    }

    _member_list = "members"
    _layers: list[Any]
    history_: dict[str, np.ndarray]
    leaderboard_: list[dict[str, Any]]
    fit_report_: list[dict[str, Any]]
    _binner: Binner
    _columns: FrameColumns | None = None

    def __init__(
        self,
        n_layers: int | str = "auto",
        *,
        preset: str = "default",
        time_limit: float | None = None,
        n_estimators: int | str = "auto",
        members: Any = "auto",
        cv: Any = "auto",
        refit: bool = True,
        categorical_features: Any = "from_dtype",
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: Any = None,
    ) -> None:
        self.n_layers = n_layers
        self.preset = preset
        self.time_limit = time_limit
        self.n_estimators = n_estimators
        self.members = members
        self.cv = cv
        self.refit = refit
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _read(self, y: Any, given: Any) -> tuple[Any, ...]:
        """From a user's target and weights: a task, weights of rows, and fitted attributes."""
        raise NotImplementedError

    def _members(self, task: Any, categorical: np.ndarray) -> list[Any]:
        """The members of a layer."""
        raise NotImplementedError

    @property
    def _width(self) -> int:
        """Numbers of a forecast."""
        raise NotImplementedError

    @property
    def _outputs(self) -> list[str]:
        """What a forecast's numbers are called in names of columns."""
        raise NotImplementedError

    def _set_fitted(self, growth: Growth) -> None:
        """Set the fitted attributes that a kind of target has."""
        raise NotImplementedError

    @property
    def _preset(self) -> Preset:
        """That of the parameter, with what other parameters say in its place."""
        preset = preset_named(self.preset)
        given = {"n_layers": self.n_layers, "n_estimators": self.n_estimators}
        explicit: dict[str, Any] = {name: n for name, n in given.items() if n != "auto"}
        return replace(preset, **explicit)

    def _members_of(self, auto: Sequence[str]) -> Any:
        """The parameter `members`, where "auto" is what the preset makes of these names."""
        if not (isinstance(self.members, str) and self.members == "auto"):
            return self.members
        return [name for name in auto if name not in self._preset.without]

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, *, with_features: bool
    ) -> list[np.ndarray]:
        preset, clock = self._preset, Clock(self.time_limit)
        table = read_table(self, X, reset=True, categorical_features=self.categorical_features)
        check_lengths(X, y=y, groups=groups)
        given = check_weights(sample_weight, table.shape[0])
        task, weights, attributes, y = self._read(y, given)
        categorical = category_mask(table, self.categorical_features)
        members = self._members(task, categorical)
        for member in members:
            if member.is_boosted and member.kind is not None:
                model = member.model
                if member.kind == "boosted":
                    model.set_params(**preset.boosting)
                fewer = max(_FEWEST_ROUNDS, int(model.max_iter / task.numbers_of_a_round))
                model.set_params(max_iter=min(model.max_iter, fewer))
        external = [member for member in members if member.needs_numbers]
        if weights.row is not None:
            for member in external:
                check_takes_weights("members", member.name, member.model)
        n_spare = min(len(members) * task.n_columns, max(MOST_COLUMNS, task.n_columns))
        boosts = any(member.is_boosted for member in members)
        many_levels = FEWEST_LEVELS if boosts else None
        binner, binned, entropy = self._coded(
            table,
            given,
            n_spare,
            many_levels=many_levels,
            has_groups=groups is not None or gives_folds(self.cv),
        )
        trainer = LayerTrainer(
            binned,
            table.shape[1],
            bounded(binner.numbers(table), LARGEST) if external else None,
            task,
            weights,
            canonical_order(binned.codes, task.key),
            self.n_jobs,
            self.verbose > 1,
        )
        shown = binner.numbers(X) if X is table and is_splitter(self.cv) else X
        levels = binner.all_levels(table)
        training = self._on_folds(trainer, shown, y, groups, entropy, levels)
        repeats = preset.repeats if task.has_margins else preset.number_repeats
        is_free = isinstance(self.cv, str) and groups is None
        folds = boosting_folds(training, entropy, repeats) if is_free else None
        training = replace(training, clock=clock, boosting_folds=folds)
        for member in members:
            if member.kind == "boosted-leaf-wise" and not is_small(training):
                member.model.learning_rate *= 2
        columns = None
        if any(member.is_external for member in members):
            columns = FrameColumns.from_table(table)
        if columns is not None:
            training = replace(training, frames=FrameMaker(columns, binner.encoders_))
        training.check(members, entropy)
        growth = Growth(
            training,
            members,
            entropy,
            self._checked_checkpoint(training, members, given),
            n_layers=preset.n_layers,
            depths=preset.depths if task.has_margins else preset.number_depths,
            keep=not self.refit or clock.runs,
            verbose=self.verbose > 0,
        )
        seen = fingerprint(binned.codes[:, : table.shape[1]])
        growth.grow()
        self.__dict__.update(attributes)
        self.history_, self.leaderboard_ = growth.report.history(), growth.report.leaderboard
        self._layers, features = fitted_layers(
            growth.stack,
            entropy,
            growth.log,
            refit=self.refit and growth.has_time_to_refit(),
            leaderboard=self.leaderboard_,
        )
        kept = [member for layer in self._layers for member in layer.members]
        last_step = [(member.name, np.nan, f"weight {member.weight:.2f}") for member in kept]
        growth.log.note("kept", "", last_step, table.shape[0], 0)
        self.fit_report_ = growth.log.rows
        self._binner, self._columns = binner, columns
        self._n_raw, self._n_spare, self._seen = table.shape[1], n_spare, seen
        self.n_layers_ = len(self._layers)
        self.stop_reason_ = growth.stop_reason
        if self.verbose:
            print_line(f"stopped: {self.stop_reason_}")
        self._set_fitted(growth)
        return features if with_features else []

    def _features(self, layers: list[np.ndarray]) -> np.ndarray:
        return np.hstack(layers)

    def _on_folds(
        self,
        trainer: LayerTrainer,
        X: Any,
        y: Any,
        groups: Any,
        entropy: tuple[int, ...],
        levels: CategoryLevels | None,
    ) -> Training:
        """The same with folds, of X as a splitter is shown it."""
        cv, task, strata = self.cv, trainer.task, trainer.task.strata
        if isinstance(cv, str):
            cv = 5 if len(task.target) >= task.enough else 10
        (seed,) = np.random.SeedSequence((*entropy, 1)).generate_state(1)
        (outer_seed,) = np.random.SeedSequence((*entropy, 10)).generate_state(1)
        folds = make_folds(cv, X, y, strata, int(seed), groups=groups)
        together = groups is not None or gives_folds(self.cv)
        return Training(
            **vars(trainer),
            folds=folds,
            outer_folds=outer_folds(cv, folds, X, y, strata, int(outer_seed), groups),
            out_of_bag=not (together or is_wide(len(task.target), trainer.n_raw)),
            units=None if groups is None else group_numbers(groups, strata, cv),
            levels=levels,
        )

    def _checked_checkpoint(
        self, training: Training, members: list[MemberSpec], given: Any
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        for member in members:
            if not (self.refit or member.is_plain):
                raise ValueError(
                    "checkpoint with refit=False keeps the models of all folds, of which only "
                    "forests of this package and named members that it keeps as arrays are plain, "
                    f"got the member {member.name!r}"
                )
        inputs = fit_inputs(
            training.table,
            training.task.key,
            given,
            training.units,
            folds=training.folds if gives_folds(self.cv) else None,
            numbers=training.numbers,
            levels=training.levels,
        )
        return self._checkpoint(inputs)

    # Asking.

    def _fitted_stages(self) -> FittedStages:
        check_is_fitted(self, "_layers")
        raw, stages = self._binner.bins_, []
        frames = None
        if self._columns is not None:
            frames = FrameMaker(self._columns, self._binner.encoders_)
        for number, layer in enumerate(self._layers):
            members = [member.as_stage_member(self._width, frames) for member in layer.members]
            alphas = np.append(np.zeros(number), 1.0)  # the next layer sees this one alone
            passed_on = layer.inputs, layer.average_weights
            stages.append(Stage(raw, layer.bins, members, alphas, *passed_on))
        return FittedStages(
            self._binner,
            stages,
            self._n_spare,
            weighs_members=True,
            largest=LARGEST,
            **self._finish(),
        )

    def _finish(self) -> dict[str, Any]:
        """What predictions are made of averages by, as fields of `FittedStages`."""
        raise NotImplementedError

    def _layer_figures(self) -> dict[str, Any]:
        """What is drawn of the growth, from the leaderboard."""
        rows = self.leaderboard_
        members = list(dict.fromkeys(row["member"] for row in rows))
        scores = np.full((len(self.history_["layer"]), len(members)), np.nan)
        weights = np.zeros(scores.shape)
        for row in rows:
            place = row["layer"] - 1, members.index(row["member"])
            weights[place] = row["weight"]
            scores[place] = self._member_score(row)
        return {
            "history": self.history_,
            "margins": None,
            "member_scores": scores,
            "alphas": weights[: self.n_layers_],
            "members": members,
        }

    def _member_score(self, row: dict[str, Any]) -> float:
        """The score of a row of the leaderboard; NaN if it holds none."""
        raise NotImplementedError

    def _layers_fitted(self) -> list[Any]:
        check_is_fitted(self, "_layers")
        return self._layers

    def transform(self, X: Any) -> np.ndarray:
        """What all members of the kept layers predict: class vectors, or standardised numbers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            New samples. For those that it was grown on, see `fit_transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Named by `get_feature_names_out`.
        """
        return self._layer_features(
            X, lambda layers: np.hstack([columns_of(vectors, None) for vectors in layers])
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that `transform` gives, such as "layer1_random_setosa".

        Parameters
        ----------
        input_features : array of str, default=None
            Not used.

        Returns
        -------
        ndarray of str
        """
        names = [
            f"layer{number + 1}_{member.name}_{output}"
            for number, layer in enumerate(self._layers_fitted())
            for member in layer.members
            for output in self._outputs
        ]
        return np.array(names, dtype=object)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean decrease of impurity in the first layer's forests, weighted as in the average.

        Where none of them is kept, of all that were tried, as they grew on the folds. Zeros if
        there are no forests among the members, or none of them has a split.
        """
        first = self._layers_fitted()[0]
        weighted = [(v.weight, v.importances) for v in first.members if v.importances is not None]
        total = np.zeros(self._n_raw)
        for weight, found in weighted or [(1.0, found) for found in first.tried or ()]:
            shares = found[: self._n_raw]
            if shares.any():
                total += max(weight, 1e-9) * shares / shares.sum()
        return total / total.sum() if total.sum() > 0 else total

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_layers")

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        n_raw, width = self._binner.bins_.n_columns, self._width
        trees = self._fitted_stages().trees()
        most = max(MOST_COLUMNS, width)
        n_spare = trees[0].n_columns - n_raw if trees else min(self._n_spare, most)
        yield "n_features_in_", self.n_features_in_, n_raw
        yield "n_raw", self._n_raw, n_raw
        yield "n_spare", self._n_spare, n_spare
        yield "n_layers_", self.n_layers_, len(self._layers)
        for block in trees:
            yield "width of trees", block.width, width
