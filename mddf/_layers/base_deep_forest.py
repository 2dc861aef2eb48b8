"""Base class of the deep forests for classification and regression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.progress import tell_line
from mddf._base.validation import COUNT, Within
from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._fitted.fitted_model import FittedStages, Stage
from mddf._fitted.vector_layout import bounded
from mddf._gradient.target_statistics import FEWEST_LEVELS
from mddf._input.category_mask import category_mask
from mddf._input.date_columns import sums_by_feature
from mddf._layers.checkpoints import open_checkpoint
from mddf._layers.deep_forest import grow_deep_forest
from mddf._layers.deep_forest_folds import make_boosting_folds, number_of_folds
from mddf._layers.layered_estimator import CONSTRAINTS, FitInputs, Layered
from mddf._layers.member import Member
from mddf._layers.member_parsing import Makers, resolve_members
from mddf._layers.nested_folds import make_outer_folds
from mddf._layers.presets import Preset, preset_named, set_boosting_parameters
from mddf._layers.refit import has_time_to_refit, keep_layers
from mddf._layers.report import LINE_WIDTH, Candidate
from mddf._layers.seeds import Purpose, Seeds
from mddf._layers.stack import MOST_COLUMNS, Stack
from mddf._layers.tasks import Task
from mddf._layers.trainer import Trainer
from mddf._layers.weight_reasons import weight_reasons
from mddf._members.dataframes import FrameColumns
from mddf._members.screening import is_wide
from mddf._resampling.folds import (
    Folds,
    gives_folds,
    group_numbers,
    make_folds,
    rows_never_held_out,
)
from mddf._resampling.sampling import canonical_order
from mddf._targets.kernel_targets import TargetScaling
from mddf._targets.weights import RowWeights

# Members that are not forests get numbers up to this one; sums of their squares are finite.
LARGEST = 1e100

# Descriptions that both deep forests share; see `describes_parameters`.
DEEP_FOREST_PARAMETERS = """
n_layers : int or "auto"
    Maximum number of layers. "auto" takes the value of `preset`, 2 by default. Change it to 1 to
    save the trial of a second layer, about a tenth of the fit; a second layer is seldom kept.
preset : {"default", "fast"}
    Values of parameters that are left at "auto". "fast" has one layer, 50 trees, fewer rounds of
    boosting, and fewer kinds of members. Change it to "fast" if time matters more than a percent
    or two of the loss: it took a fifth of the time on eight tables of about 1000 rows.
time_limit : float or None
    Time in seconds that fit may take. If the limit is short, there are fewer trees, rounds,
    members and layers, and models of the folds instead of a refit; `fit_report_` lists these
    cuts. The fit may take a tenth longer. If the limit is too short to read the table and to
    grow a tree on each fold, there is a warning. Results are reproducible only without a
    limit. Change it if the fit has to end by a certain time.
verbose : int
    1 prints the decisions of the fit, 2 also shows progress bars.

Attributes
----------
fit_report_ : list of dict
    Decisions of the fit in order, with a dict for each candidate: "step"; "member", or "";
    "candidate"; its "loss", NaN if unknown; number of "rows" and "folds" of the evidence, 0
    folds for out-of-bag samples; "decision"; and "cpu_seconds" since the decision before, in
    equal shares. ``pandas.DataFrame(fit_report_)`` is a table.
min_samples_leaf_ : dict of str to int
    Leaf sizes that were chosen for the named forests.
"""


@dataclass(frozen=True)
class Target:
    """A user's target as a task."""

    task: Task
    weights: RowWeights
    attributes: dict[str, Any]  # fitted attributes that describe the target
    y: np.ndarray  # the target for splitters
    units: TargetScaling | None = None  # of targets that were standardised


class BaseDeepForest(Layered):
    """Base class of the deep forests; use one of its subclasses."""

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
    _auto_members: ClassVar[Sequence[str]]  # names of the members of "auto"
    history_: dict[str, np.ndarray]
    leaderboard_: list[dict[str, Any]]
    fit_report_: list[dict[str, Any]]

    def __init__(
        self,
        n_layers: int | str = "auto",
        *,
        preset: str = "default",
        time_limit: float | None = None,
        n_estimators: int | str = "auto",
        members: str | Sequence[Any] = "auto",
        cv: Any = "auto",
        refit: bool = True,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
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

    def _read_target(self, y: npt.ArrayLike, sample_weight: np.ndarray | None) -> Target:
        """Check a user's target and weights, and make the task."""
        raise NotImplementedError

    def _member_makers(self, categorical: np.ndarray, task: Task, n_estimators: int) -> Makers:
        """Functions that make the named members; categorical columns are True."""
        raise NotImplementedError

    def _store_outcome(self, stack: Stack) -> None:
        """Set the fitted attributes of classification or regression."""
        raise NotImplementedError

    def _resolved_preset(self) -> Preset:
        """The preset, with other parameters in place of its own."""
        preset = preset_named(self.preset)
        parameters = {"n_layers": self.n_layers, "n_estimators": self.n_estimators}
        explicit: dict[str, Any] = {
            name: value for name, value in parameters.items() if value != "auto"
        }
        return replace(preset, **explicit)

    def _fit(self, inputs: FitInputs, *, with_features: bool) -> list[np.ndarray]:
        # 1. Read the target, and make the task and the members of the first layer.
        preset = self._resolved_preset()
        target = self._read_target(inputs.y, inputs.sample_weight)
        members = self._make_members(inputs, target, preset)

        # 2. Bin the table, with spare columns for the vectors of all members, or for their mean.
        n_columns = target.task.n_columns
        n_spare = min(len(members) * n_columns, max(MOST_COLUMNS, n_columns))
        reads_levels = any("levels" in member.reads for member in members)
        binner, table = self._bin(inputs, n_spare, FEWEST_LEVELS if reads_levels else None)

        # 3. Make the folds, and check that all members can be trained on them.
        trainer = self._make_trainer(inputs, target, members, preset, binner=binner, table=table)
        set_boosting_parameters(members, preset, trainer)
        for member in members:
            member.check(trainer)
        # A limit of time may leave no time for a refit.
        keeps_fold_models = not self.refit or inputs.clock.runs
        checkpoint = open_checkpoint(self, trainer, members, stores_models=keeps_fold_models)

        # 4. Choose the members' options, and build layers as long as they help.
        stack = grow_deep_forest(
            trainer,
            members,
            n_layers=preset.n_layers,
            depths=preset.depths if target.task.has_margins else preset.number_depths,
            keep_fold_models=keeps_fold_models,
            checkpoint=checkpoint,
            verbose=self.verbose > 0,
        )
        average = stack.average
        stack.leaderboard.finish(weight_reasons(trainer.task, stack.votes(), average))

        # 5. Refit the members that are kept on all samples.
        refit = self.refit and has_time_to_refit(stack)
        stages, vectors = keep_layers(stack, refit=refit)

        # 6. Store the model and how it was found.
        self.__dict__.update(target.attributes)
        self._fitted = FittedStages(
            binner,
            stages,
            n_spare,
            weighs_members=True,
            calibration=average.calibration,
            units=target.units,
            largest=LARGEST,
        )
        self._store_fit(stack)
        self._store_outcome(stack)
        return list(map(trainer.known_vectors, vectors)) if with_features else []

    def _make_members(self, inputs: FitInputs, target: Target, preset: Preset) -> list[Member]:
        """Members of the first layer."""
        task = target.task
        categorical = category_mask(inputs.table, self.categorical_features)
        auto_names = [name for name in self._auto_members if name not in preset.without]
        return resolve_members(
            self.members,
            self._member_makers(categorical, task, preset.n_estimators),
            auto_names,
            "classifier" if is_classifier(self) else "regressor",
            max_bins=self.max_bins,
            own_parameters=self._get_param_names(),
        )

    def _make_trainer(
        self,
        inputs: FitInputs,
        target: Target,
        members: Sequence[Member],
        preset: Preset,
        *,
        binner: Binner,
        table: BinnedTable,
    ) -> Trainer:
        """Make the folds, and the trainer with all that members are trained on."""
        seeds = Seeds.from_random_state(self.random_state)
        task = target.task
        strata = task.strata
        groups = inputs.groups
        cv = number_of_folds(task) if isinstance(self.cv, str) else self.cv
        folds, outer_folds = self._make_folds(inputs, target, binner, seeds, cv)
        holds_groups_out = groups is not None or gives_folds(self.cv)
        reads_numbers = any("numbers" in member.reads for member in members)
        reads_frames = any("frames" in member.reads for member in members)
        levels = binner.all_levels(inputs.table)
        boosting_folds = None
        if isinstance(self.cv, str) and groups is None:
            boosting_folds = make_boosting_folds(
                task,
                preset,
                seeds,
                n_features=inputs.n_features,
                levels=levels,
                n_layer_folds=len(folds),
            )
        trainer = Trainer(
            table=table,
            n_features=inputs.n_features,
            numbers=bounded(binner.numbers(inputs.table), LARGEST) if reads_numbers else None,
            task=task,
            weights=target.weights,
            order=canonical_order(table.codes, task.order_key),
            seeds=seeds,
            n_jobs=self.n_jobs,
            show_progress=self.verbose > 1,
            folds=folds,
            outer_folds=outer_folds,
            clock=inputs.clock,
            uses_out_of_bag=not (holds_groups_out or is_wide(len(task.target), inputs.n_features)),
            groups=None if groups is None else group_numbers(groups, strata, cv),
            levels=levels,
            boosting_folds=boosting_folds,
            frame_columns=FrameColumns.from_table(inputs.table) if reads_frames else None,
            encoders=binner.encoders_,
        )
        return trainer.in_time_order(rows_never_held_out(folds, len(strata)))

    def _make_folds(
        self, inputs: FitInputs, target: Target, binner: Binner, seeds: Seeds, cv: Any
    ) -> tuple[Folds, Folds]:
        """Folds of the first layer, and folds on which later layers are evaluated."""
        X = inputs.X_for_splitter(binner, self.cv)
        strata = target.task.strata
        folds = make_folds(
            cv,
            X,
            target.y,
            strata,
            seeds.integer(Purpose.FOLDS),
            groups=inputs.groups,
            allow_time_order=True,
        )
        outer_folds = make_outer_folds(
            cv,
            folds,
            X=X,
            y=target.y,
            strata=strata,
            seed=seeds.integer(Purpose.OUTER_FOLDS),
            groups=inputs.groups,
        )
        return folds, outer_folds

    def _store_fit(self, stack: Stack) -> None:
        """Set the fitted attributes that both kinds of deep forests have."""
        trainer = stack.trainer
        report = stack.report
        report.add(
            "kept",
            [
                Candidate(member.name, decision=f"weight {member.weight:.2f}")
                for member in self._fitted.members
            ],
            n_rows=trainer.n_samples,
        )
        self.fit_report_ = report.rows
        self.min_samples_leaf_ = {
            kind: options["min_samples_leaf"] for kind, options in stack.forest_options.items()
        }
        self.history_ = stack.leaderboard.history()
        self.leaderboard_ = stack.leaderboard.rows
        self.n_layers_ = len(self._fitted.stages)
        self.stop_reason_ = stack.stop_reason
        self._store_rows(trainer)
        line = f"stopped: {self.stop_reason_}"
        tell_line(line, verbose=self.verbose > 0, width=LINE_WIDTH)

    def _layer_figures(self) -> dict[str, Any]:
        """Figures for displays of the growth, from the leaderboard."""
        rows = self.leaderboard_
        members = list(dict.fromkeys(row["member"] for row in rows))
        scores = np.full((len(self.history_["layer"]), len(members)), np.nan)
        weights = np.zeros(scores.shape)
        for row in rows:
            position = row["layer"] - 1, members.index(row["member"])
            weights[position] = row["weight"]
            scores[position] = self._member_score(row)
        return {
            "history": self.history_,
            "margins": None,
            "member_scores": scores,
            "alphas": weights[: self.n_layers_],
            "members": members,
        }

    def _member_score(self, row: dict[str, Any]) -> float:
        """Score of a row of the leaderboard; NaN if it holds none."""
        raise NotImplementedError

    def _member_names(self, stage: Stage) -> list[str]:
        return [member.name for member in stage.members]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean decrease of impurity in the first layer's forests, weighted as in the average.

        If no forest is kept, it is the mean over all forests that were trained on the folds. Zeros
        if there are no forests among the members, or none of them has a split.
        """
        check_is_fitted(self)
        importances = self._fitted.stages[0].importances
        assert importances is not None
        return sums_by_feature(self, importances.copy())

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        yield from super()._counts()
        n_added = self._fitted.n_added
        yield "n_added", n_added, min(n_added, max(MOST_COLUMNS, self._n_columns))
