"""Training data of the members of layers, and the fits of forests and estimators to it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from mddf._binning.binned_table import BinnedTable
from mddf._binning.bins import Bins, apply_bins, find_bins
from mddf._binning.categories import CategoryEncoder
from mddf._binning.encoded_rows import CategoryLevels
from mddf._core import HeldOut, Sampling
from mddf._fitted.vector_layout import GRAIN, rounded, select_columns
from mddf._forest.base import Forest
from mddf._layers.deadline import Clock
from mddf._layers.memmap import put_aside
from mddf._layers.seeds import Seeds
from mddf._layers.tasks import Task
from mddf._members.dataframes import FrameColumns
from mddf._members.external_training import TrainingData, fit_external
from mddf._members.fit import Fit
from mddf._members.screening import best_columns, is_wide, split_gains
from mddf._resampling.folds import Folds
from mddf._resampling.sampling import plan_sampling, row_hashes
from mddf._targets.weights import RowWeights
from mddf._trees import grower

if TYPE_CHECKING:
    from mddf._layers.member import ForestMember

# Least sizes of leaves that are tried. Screening for all of them takes one sort of each column.
_SCREENED_LEAF_SIZES = (1, 2, 5)


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


class Aggregator(Protocol):
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


@dataclass(frozen=True, kw_only=True)
class Job:
    """Splits, seeds and input on which members of a layer are fitted."""

    splits: Sequence[Split]
    # Entropy of a member by its number; of forests, which grow together, for None.
    entropy_of: Callable[[int | None], Sequence[int]]
    # Combines the predictions of the rows that the splits hold out; None: their mean.
    aggregator: Aggregator | None = None
    layer_input: LayerInput | None = None  # None: all features, without reweighting
    description: str = "layer"  # text of the progress bar
    # Whether seeds of forests depend on their numbers, or on their positions among the forests.
    numbers_forests: bool = False
    importances: bool = False  # also of the forests of splits that are not kept
    # Whether options are compared: boosting then ends after `max_iter` rounds, and raises TimeIsUp
    # if the time does not suffice to start.
    is_trial: bool = False


def one_stream(entropy: Sequence[int]) -> Callable[[int | None], Sequence[int]]:
    """`Job.entropy_of` of a job that has one stream for all members."""
    return lambda _: entropy


@dataclass(frozen=True)
class Features:
    """Binned vectors that a layer adds to the table for the next one."""

    codes: np.ndarray  # (n_samples, n_added)
    bins: Bins


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Rows, folds, seeds and time on which the members of layers are trained."""

    # The features, followed by spare columns for the features that a layer adds.
    table: BinnedTable
    n_features: int
    # (n_samples, n_features): the features as numbers, for members that are not forests.
    numbers: np.ndarray | None
    task: Task
    weights: RowWeights
    # (n_samples,): all rows in their canonical order, from which bootstraps draw.
    order: np.ndarray
    seeds: Seeds
    # Folds of the first layer of a deep forest; those of a cascade change from layer to layer.
    folds: Folds = field(default_factory=list)
    # Folds on which later layers of a deep forest are evaluated; see `nested_folds`.
    outer_folds: Folds = field(default_factory=list)
    # Folds of the named boosted trees, if they differ. A classifier keeps the models of all folds,
    # so that more folds give more data to each model, and more models.
    boosting_folds: Folds | None = None
    # Rows that no fold holds out, in time order; None if there are none. Their out-of-fold vectors
    # are unknown, and they take part in no loss. Set by `in_time_order`.
    without_past: np.ndarray | None = None
    # Whether rows that a tree did not draw may evaluate it. They may not if groups, a splitter
    # or splits say what is held out together, since other rows of the same group may have been
    # drawn, nor in wide tables, whose columns are chosen by all rows that a forest trains on.
    uses_out_of_bag: bool = True
    # (n_samples,): rows of the same group are not independent of each other; None: all rows are
    # independent.
    groups: np.ndarray | None = None
    # Levels of the columns with many categories, for boosted trees.
    levels: CategoryLevels | None = None
    # Columns of the data frames for users' estimators, and encoders of their categories.
    frame_columns: FrameColumns | None = None
    encoders: Mapping[int, CategoryEncoder] = field(default_factory=dict)
    n_jobs: int | None = None
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
    def feature_columns(self) -> np.ndarray:
        """Columns of the features."""
        return np.arange(self.n_features, dtype=np.int32)

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

    def in_time_order(self, without_past: np.ndarray) -> Trainer:
        """Copy for folds that never hold some rows out; the same without such rows."""
        if not len(without_past):
            return self
        trainer = replace(self, without_past=without_past)
        return replace(trainer, task=trainer.task.evaluated_on(trainer.evaluated_rows))

    def known_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """Out-of-fold vectors (..., n_samples, n_columns), with NaN where they are unknown."""
        if self.without_past is None:
            return vectors
        known = vectors.copy()
        known[..., self.without_past, :] = np.nan
        return known

    def fill_unknown(self, vectors: np.ndarray) -> np.ndarray:
        """Put the prior into the vectors (..., n_samples, n_columns) that are unknown.

        Losses need numbers, also where they have no weight.
        """
        if self.without_past is not None:
            vectors[..., self.without_past, :] = self.task.prior
        return vectors

    @cached_property
    def mean_of_folds(self) -> MeanOfFolds:
        """Combines predictions of the rows that the folds hold out."""
        return MeanOfFolds.from_folds(self.task, self.folds)

    @cached_property
    def feature_table(self) -> BinnedTable:
        """The table without its spare columns."""
        table = self.table
        n_features = self.n_features
        if table.bins.n_columns == n_features:
            return table
        by_column = None if table.by_column is None else table.by_column[:n_features]
        codes = np.ascontiguousarray(table.codes[:, :n_features])
        return BinnedTable(table.bins.columns(0, n_features), codes, by_column)

    @cached_property
    def row_keys(self) -> np.ndarray:
        """Hashes of the rows' contents, by which boosting draws them."""
        return row_hashes(self.feature_table.codes, self.task.order_key)

    # Input of the next layer

    def append_features(self, parts: Iterable[np.ndarray]) -> None:
        """Bin features that a layer adds, side by side, into the spare columns."""
        first = self.n_features
        for part in map(self.known_vectors, parts):
            self.table.replace_columns(
                first, part, sample_weight=self.weights.row, n_jobs=self.n_jobs
            )
            first += part.shape[1]

    def bin_features(self, vectors: np.ndarray) -> Features:
        """Bin the vectors that a layer adds, of shape (n_samples, n_added)."""
        vectors = self.known_vectors(vectors)
        bins = find_bins(vectors, sample_weight=self.weights.row, n_jobs=self.n_jobs)
        return Features(apply_bins(vectors, bins, n_jobs=self.n_jobs), bins)

    def put_into_table(self, features: Features) -> np.ndarray:
        """Put the features of the layer before into the table; returns all its columns."""
        self.table.replace_codes(self.n_features, features.codes, features.bins)
        return np.arange(self.n_features + features.codes.shape[1], dtype=np.int32)

    # Forests

    def grow_forests(self, members: Mapping[int, ForestMember], job: Job) -> Generator[Fit]:
        """Grow forests; yields a fit for each member, for each split."""
        tree_jobs = self._tree_jobs(members, job)
        aggregator = job.aggregator or self.mean_of_folds
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
            for tree_job, result in zip(tree_jobs, growing, strict=True):
                held_out: Any = tree_job.held_out
                if held_out is None:
                    yield Fit.without_rows(result, self.task.n_columns)
                    continue
                if held_out is grower.OUT_OF_BAG:
                    held_out = tree_job.sampling.rows
                vectors = aggregator.held_out_vectors(result)
                # Sums are freed before the next forest grows.
                result.sums = result.n_trees = None
                yield Fit(result, held_out, vectors)
                del result, vectors

    def _tree_jobs(self, members: Mapping[int, ForestMember], job: Job) -> list[grower.TreeJob]:
        layer_input = job.layer_input or LayerInput(self.feature_columns)
        entropy = job.entropy_of(None)
        tree_jobs = []
        # Forests that sample alike share a sampling.
        samplings: dict[tuple[Any, ...], Sampling] = {}
        for number, member in members.items():
            forest = member.model
            max_samples = forest.max_samples if forest.bootstrap else None
            for split_number, split in enumerate(job.splits):
                key = (forest.bootstrap, max_samples, split_number)
                if key not in samplings:
                    samplings[key] = self._sampling(forest, max_samples, split, layer_input)
                columns = self._columns_for(member, layer_input.columns, split.train)
                tree_job = grower.TreeJob(
                    seeds=grower.draw_seeds((*entropy, number, split_number), forest.n_estimators),
                    options=forest._tree_options(
                        len(samplings[key].rows), len(columns), self.task.leaf_values
                    ),
                    sampling=samplings[key],
                    columns=columns,
                    held_out=split.held_out,
                    importances=split.keep or job.importances,
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

    def _columns_for(
        self, member: ForestMember, columns: np.ndarray, train: np.ndarray
    ) -> np.ndarray:
        """Input columns of a forest: in wide tables, named regressors get the best ones.

        They look at all columns for each split, which takes long if these outnumber the rows.
        """
        if member.role is None or not self.task.named_forests_search_all_columns:
            return columns
        if not is_wide(len(train), len(columns)):
            return columns
        min_samples_leaf = int(member.model.min_samples_leaf)
        gains = self._feature_gains(train, min_samples_leaf)
        added = columns[self.n_features :]
        if len(added):
            gains = np.append(gains, *self._split_gains(train, added, [min_samples_leaf]))
        return columns[best_columns(gains, len(train))]

    def _feature_gains(self, train: np.ndarray, min_samples_leaf: int) -> np.ndarray:
        """Gain of the best split of each feature; one sort serves all forests of a fold."""
        known = self._known_gains.setdefault(train.tobytes(), {})
        if min_samples_leaf not in known:
            leaf_sizes = sorted({min_samples_leaf, *_SCREENED_LEAF_SIZES} - known.keys())
            gains = self._split_gains(train, self.feature_columns, leaf_sizes)
            known.update(zip(leaf_sizes, gains, strict=True))
        return known[min_samples_leaf]

    def _split_gains(
        self, train: np.ndarray, columns: np.ndarray, leaf_sizes: Sequence[int]
    ) -> list[np.ndarray]:
        weight = None if self.weights.row is None else self.weights.row[train]
        codes = self.table.codes[train][:, columns]
        return split_gains(codes, self.task.target[train], weight, leaf_sizes)

    @cached_property
    def _known_gains(self) -> dict[bytes, dict[int, np.ndarray]]:
        """Gains by the training rows of a fold, and by the least size of a leaf."""
        return {}

    # Estimators

    def fit_estimator(
        self,
        model: Any,
        splits: Sequence[Split],
        entropy: Sequence[int],  # entropy of the random states
        *,
        name: str = "",  # name of the estimator in error messages
        layer_input: LayerInput | None = None,
        # Columns of the data frames on which the estimator is fitted; None: it gets arrays.
        frame_columns: FrameColumns | None = None,
    ) -> list[Fit]:
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
            frame_columns=frame_columns,
            encoders={} if frame_columns is None else self.encoders,
        )
        parts = [(split.train, split.held_out_rows()) for split in splits]
        return fit_external(model, data, parts, entropy=entropy, n_jobs=self.n_jobs, name=name)
