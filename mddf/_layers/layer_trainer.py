"""Training the members of a layer on splits of the rows."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from mddf._base.deadline import Clock
from mddf._base.memmap import put_aside
from mddf._binning.binned_table import BinnedTable
from mddf._core import HeldOut, Sampling
from mddf._fitted.vector_layout import GRAIN, rounded, select_columns
from mddf._forest.base import Forest
from mddf._layers.tasks import Task
from mddf._members.dataframes import FrameMaker
from mddf._members.external_training import TrainingData, fit_external
from mddf._resampling.folds import Folds
from mddf._resampling.sampling import plan_sampling
from mddf._targets.weights import RowWeights
from mddf._trees import grower

if TYPE_CHECKING:
    from mddf._layers.member import ForestMember

# A fitted estimator, and its vectors of the rows that its split holds out.
EstimatorFit = tuple[Any, np.ndarray]


class Split(NamedTuple):
    """Rows to train on, rows held out, and whether the model of this split is kept."""

    train: np.ndarray
    held_out: np.ndarray | HeldOut | None
    keep: bool = True

    def held_out_rows(self) -> np.ndarray | None:
        """Rows held out; out-of-bag rows exist for forests only."""
        assert not isinstance(self.held_out, HeldOut)
        return self.held_out


def splits_from_folds(folds: Folds, *, keep: bool = False) -> list[Split]:
    """One split for each fold."""
    return [Split(train, held_out, keep) for train, held_out in folds]


@dataclass(frozen=True)
class LayerInput:
    """Input columns of a layer, and factors of its samples' weights."""

    columns: np.ndarray
    reweighting: np.ndarray | None = None  # (n_samples,): factors of the samples' weights
    redraw: bool = True  # draw samples in proportion to these factors rather than weight them
    # (n_samples, n_added): last columns of the table as numbers, for members that are not
    # forests.
    added: np.ndarray | None = None


@dataclass(frozen=True)
class LayerJob:
    """Input, splits and seeds on which members of a layer are trained."""

    layer_input: LayerInput
    splits: Sequence[Split]
    entropy: Sequence[int]  # entropy of the random streams
    description: str = "layer"  # text of the progress bar


class OutOfFoldAggregator(Protocol):
    """Combines predictions of held-out rows into out-of-fold vectors of all rows."""

    def held_out_vectors(self, growth: grower.GrowthResult) -> np.ndarray:
        """A forest's contribution for the rows that its split holds out."""

    def combined(self, total: np.ndarray) -> np.ndarray:
        """Vectors from the sum of the contributions, which may be overwritten."""


@dataclass(frozen=True)
class SumOfTrees:
    """Sums over all trees that did not see a row, scaled to sum 1.

    Rows that every tree saw get the class shares. Large results are in a file.
    """

    task: Task

    def held_out_vectors(self, growth: grower.GrowthResult) -> np.ndarray:
        assert growth.sums is not None
        return growth.sums

    def combined(self, total: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            total /= total.sum(axis=1, keepdims=True)
        total /= GRAIN
        np.rint(total, out=total)
        total *= GRAIN
        has_no_tree = np.isnan(total[:, 0])
        if has_no_tree.any():
            task = self.task
            prior = np.bincount(task.target, task.weight, minlength=task.n_columns)
            total[has_no_tree] = prior / prior.sum()
        return put_aside(total)


@dataclass(frozen=True)
class MeanOfFolds:
    """Mean over the folds that hold a row out; zeros for rows that no fold holds out."""

    task: Task
    n_times_held_out: np.ndarray

    @classmethod
    def from_folds(cls, task: Task, folds: Folds) -> MeanOfFolds:
        """Count how often the folds hold each row out."""
        n_times_held_out = np.zeros(len(task.target))
        for _, held_out in folds:
            n_times_held_out[held_out] += 1
        return cls(task, n_times_held_out)

    def held_out_vectors(self, growth: grower.GrowthResult) -> np.ndarray:
        assert growth.sums is not None
        assert growth.n_trees is not None
        return rounded(self.task.forecast_from_sums(growth.sums, growth.n_trees))

    def combined(self, total: np.ndarray) -> np.ndarray:
        total /= np.maximum(self.n_times_held_out, 1)[:, None]
        return total


@dataclass
class TrainedMember:
    """Models of a member that was trained on splits, and its evidence."""

    # One for each split: a `GrowthResult` without its sums, or a fitted estimator.
    models: list[Any] = field(default_factory=list)
    # (n_samples, n_columns): predictions of the held-out rows.
    vectors: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    # The same of boosted trees whose numbers of rounds are chosen without the held-out rows.
    blind_vectors: np.ndarray | None = None
    seconds: float = 0.0
    cut: str = ""  # what a limit of time has left of its rounds
    # Parameters that the first fold has chosen for the other folds.
    chosen: Mapping[str, object] | None = None

    def joined(self, other: Self) -> Self:
        """The member after training on further splits."""
        return replace(
            self,
            models=self.models + other.models,
            vectors=self.vectors + other.vectors,
            seconds=self.seconds + other.seconds,
            chosen=other.chosen,
        )


@dataclass(frozen=True, kw_only=True)
class LayerTrainer:
    """Trains members of layers on a binned table."""

    # The features, followed by spare columns for the features that a layer adds.
    table: BinnedTable
    n_features: int
    # (n_samples, n_features): the features as numbers, for members that are not forests.
    numbers: np.ndarray | None
    task: Task
    weights: RowWeights
    # (n_samples,): all rows in their canonical order, from which bootstraps draw.
    order: np.ndarray
    # Rows that no fold holds out, in time order; None if there are none. Their out-of-fold vectors
    # are unknown, and they take part in no loss. Set by `in_time_order`.
    without_past: np.ndarray | None = None
    n_jobs: int | None = None
    frames: FrameMaker | None = None  # makes data frames for users' estimators
    clock: Clock = field(default_factory=Clock)  # without a limit by default
    show_progress: bool = False  # whether a progress bar counts trees

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def all_rows(self) -> np.ndarray:
        """Numbers of all rows."""
        return np.arange(self.n_samples, dtype=np.int32)

    @property
    def is_in_time_order(self) -> bool:
        """Whether each fold trains on the past of the rows that it holds out."""
        return self.without_past is not None

    @cached_property
    def evaluated_rows(self) -> np.ndarray:
        """Rows with an out-of-fold prediction."""
        if self.without_past is None:
            return self.all_rows
        return np.setdiff1d(self.all_rows, self.without_past)

    def append_features(self, parts: Iterable[np.ndarray]) -> None:
        """Bin features that a layer adds, side by side, into the spare columns."""
        first = self.n_features
        for part in map(self.known_vectors, parts):
            self.table.replace_columns(
                first, part, sample_weight=self.weights.row, n_jobs=self.n_jobs
            )
            first += part.shape[1]

    def known_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """Out-of-fold vectors (..., n_samples, n_columns), with NaN where they are unknown."""
        if self.without_past is None:
            return vectors
        known = vectors.copy()
        known[..., self.without_past, :] = np.nan
        return known

    def columns_for(
        self, member: ForestMember, columns: np.ndarray, train: np.ndarray
    ) -> np.ndarray:
        """Input columns of a forest, out of the columns of its layer: here all."""
        return columns

    def grow_forests(
        self, members: Mapping[int, ForestMember], job: LayerJob, *, importances: bool = False
    ) -> Generator[tuple[grower.TreeJob, grower.GrowthResult]]:
        """Grow forests; yields the results for each member, for each split.

        `importances` asks for the importances of forests that are not kept.
        """
        tree_jobs = self._tree_jobs(members, job, importances)
        growing = grower.growing(
            self.table,
            self.task.kernel_target,
            tree_jobs,
            n_jobs=self.n_jobs,
            verbose=self.show_progress,
            description=job.description,
            until=self.clock.end,
            whole=self.clock.whole,
        )
        with closing(growing):
            yield from zip(tree_jobs, growing, strict=True)

    def _tree_jobs(
        self, members: Mapping[int, ForestMember], job: LayerJob, importances: bool
    ) -> list[grower.TreeJob]:
        tree_jobs = []
        # Forests that sample alike share a sampling.
        samplings: dict[tuple[Any, ...], Sampling] = {}
        for number, member in members.items():
            forest = member.model
            max_samples = forest.max_samples if forest.bootstrap else None
            for split_number, split in enumerate(job.splits):
                key = (forest.bootstrap, max_samples, split_number)
                if key not in samplings:
                    samplings[key] = self._sampling(forest, max_samples, split, job.layer_input)
                columns = self.columns_for(member, job.layer_input.columns, split.train)
                tree_job = grower.TreeJob(
                    seeds=grower.draw_seeds(
                        (*job.entropy, number, split_number), forest.n_estimators
                    ),
                    options=forest._tree_options(
                        len(samplings[key].rows), len(columns), self.task.leaf_values
                    ),
                    sampling=samplings[key],
                    columns=columns,
                    held_out=split.held_out,
                    importances=split.keep or importances,
                    keep=split.keep,
                )
                tree_jobs.append(tree_job)
        return tree_jobs

    def _sampling(
        self, forest: Forest[Any], max_samples: float | None, split: Split, layer_input: LayerInput
    ) -> Sampling:
        return plan_sampling(
            self.order,
            self.weights,
            train=split.train,
            bootstrap=bool(forest.bootstrap),
            max_samples=max_samples,
            labels=self.task.target if forest.bootstrap == "balanced" else None,
            reweighting=layer_input.reweighting,
            redraw=layer_input.redraw,
        )

    def grow_all(
        self, members: Sequence[ForestMember], job: LayerJob
    ) -> list[list[grower.GrowthResult]]:
        """Grow forests; returns the results for each member, for each split."""
        numbered = dict(enumerate(members))
        results = [result for _, result in self.grow_forests(numbered, job)]
        n_splits = len(job.splits)
        return [results[i * n_splits : (i + 1) * n_splits] for i in numbered]

    def train_forests(
        self,
        members: Mapping[int, ForestMember],
        job: LayerJob,
        aggregator: OutOfFoldAggregator,
        *,
        importances: bool = False,
    ) -> dict[int, TrainedMember]:
        """Grow forests, with the out-of-fold vectors of all rows; by the members' numbers."""
        trained_members = {number: TrainedMember() for number in members}
        if not trained_members:
            return trained_members
        growing = self.grow_forests(members, job, importances=importances)
        with closing(growing):
            for trained in trained_members.values():
                total = np.zeros((self.n_samples, self.task.n_columns))
                for tree_job, result in islice(growing, len(job.splits)):
                    held_out: Any = tree_job.held_out
                    if held_out is grower.OUT_OF_BAG:
                        held_out = tree_job.sampling.rows
                    if held_out is not None:
                        total[held_out] += aggregator.held_out_vectors(result)
                    # Sums and totals are freed before the next forest grows.
                    result.sums = result.n_trees = None
                    trained.models.append(result)
                    del result
                trained.vectors = aggregator.combined(total)
                del total
        return trained_members

    def fit_estimator(
        self,
        model: Any,
        splits: Sequence[Split],
        entropy: Sequence[int],  # entropy of the random states
        *,
        name: str = "",  # name of the estimator in error messages
        # By default, all features are the input, without reweighting.
        layer_input: LayerInput | None = None,
        # Makes the data frames on which the estimator is fitted; None: it is fitted on arrays.
        frames: FrameMaker | None = None,
    ) -> list[EstimatorFit]:
        """Fit clones of an estimator on splits of the rows, and predict the held-out rows."""
        assert self.numbers is not None
        X = self.numbers
        weights = self.weights.row
        if layer_input is not None:
            X = select_columns(X, layer_input.added, layer_input.columns)
            if layer_input.reweighting is not None:
                weights = layer_input.reweighting * (1 if weights is None else weights)
        data = TrainingData(
            X=X,
            target=self.task.estimator_target,
            n_columns=self.task.n_columns,
            sample_weight=weights,
            n_classes_per_output=self.task.n_classes_per_output,
            frames=frames,
        )
        rows = [(split.train, split.held_out_rows()) for split in splits]
        return fit_external(model, data, rows, entropy=entropy, n_jobs=self.n_jobs, name=name)

    def out_of_fold_vectors(
        self,
        vectors_of_splits: Sequence[np.ndarray],  # vectors of the rows that each split holds out
        splits: Sequence[Split],
        aggregator: OutOfFoldAggregator,
    ) -> np.ndarray:
        """Vectors of all rows that the splits hold out, of a member that is not a forest."""
        total = np.zeros((self.n_samples, self.task.n_columns))
        for split, vectors in zip(splits, vectors_of_splits, strict=True):
            if split.held_out is not None:
                assert isinstance(split.held_out, np.ndarray)
                total[split.held_out] += vectors
        return aggregator.combined(total)


TrainerT = TypeVar("TrainerT", bound=LayerTrainer)


def in_time_order(trainer: TrainerT, without_past: np.ndarray) -> TrainerT:
    """Copy a trainer for folds that never hold some rows out; without such rows, return it."""
    if not len(without_past):
        return trainer
    trainer = replace(trainer, without_past=without_past)
    return replace(trainer, task=trainer.task.evaluated_on(trainer.evaluated_rows))
