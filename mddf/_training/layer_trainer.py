"""Training the members of a layer on parts of the rows."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from mddf._base.memmap import put_aside
from mddf._binning.binned_table import BinnedTable
from mddf._core import ClassTarget, Sampling, ValueTarget
from mddf._fitted.vector_layout import GRAIN, rounded, shown_numbers
from mddf._members.dataframes import FrameMaker
from mddf._members.external_training import TrainingData, fit_external
from mddf._members.spec import MemberSpec
from mddf._resampling.sampling import plan_sampling
from mddf._targets.weights import RowWeights
from mddf._trees import grower


class Task(Protocol):
    """What is to be learnt of each sample: see :mod:`mddf._training.tasks`."""

    target: np.ndarray
    n_columns: int
    weight: np.ndarray | None

    @property
    def cells(self) -> ClassTarget | ValueTarget:
        """What the kernel grows on."""

    def means(self, sums: np.ndarray, n_trees: np.ndarray) -> np.ndarray:
        """Forecasts from sums over trees."""


class Split(NamedTuple):
    """Rows of a model: those to train on, those held out, and whether the model is kept."""

    train: np.ndarray
    held_out: Any  # rows, OUT_OF_BAG or None
    keep: bool = True


@dataclass(frozen=True)
class LayerInput:
    """What a layer sees, and how it samples.

    Attributes
    ----------
    columns : ndarray of int32
        Which columns of the table.
    reweighting : ndarray of shape (n_samples,) or None
        Factors of the samples' weights.
    redraw : bool
        Draw samples in proportion to these factors rather than weigh them.
    added : ndarray of shape (n_samples, n_added) or None
        The last columns of the table as numbers, for estimators that are no forests.
    """

    columns: np.ndarray
    reweighting: np.ndarray | None = None
    redraw: bool = True
    added: np.ndarray | None = None


class OutOfFoldAggregator(Protocol):
    """How predictions of the rows that parts hold out become out-of-fold vectors."""

    def read(self, grown: grower.GrowthResult) -> np.ndarray:
        """What a forest says of the rows that a part holds out."""

    def finish(self, total: np.ndarray) -> np.ndarray:
        """The vectors, from sums over parts, which may be written over."""


@dataclass(frozen=True)
class SumOfTrees:
    """Sums over all trees that did not see a row, scaled; shares of classes where there is none.

    In a file if they are large.
    """

    task: Task

    def read(self, grown: grower.GrowthResult) -> np.ndarray:
        """See OutOfFoldAggregator."""
        assert grown.sums is not None
        return grown.sums

    def finish(self, total: np.ndarray) -> np.ndarray:
        """See OutOfFoldAggregator."""
        with np.errstate(invalid="ignore"):
            total /= total.sum(axis=1, keepdims=True)
        total /= GRAIN
        np.rint(total, out=total)
        total *= GRAIN
        unseen = np.isnan(total[:, 0])
        if unseen.any():
            task = self.task
            prior = np.bincount(task.target, task.weight, minlength=task.n_columns)
            total[unseen] = prior / prior.sum()
        return put_aside(total)


@dataclass(frozen=True)
class MeanOfFolds:
    """The mean over the folds that hold a row out, each of which does."""

    task: Task
    times: np.ndarray

    @classmethod
    def of(cls, task: Task, folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> MeanOfFolds:
        """Of these folds."""
        times = np.zeros(len(task.target))
        for _, held_out in folds:
            times[held_out] += 1
        return cls(task, times)

    def read(self, grown: grower.GrowthResult) -> np.ndarray:
        """See OutOfFoldAggregator."""
        assert grown.sums is not None
        assert grown.n_trees is not None
        return rounded(self.task.means(grown.sums, grown.n_trees))

    def finish(self, total: np.ndarray) -> np.ndarray:
        """See OutOfFoldAggregator."""
        total /= self.times[:, None]
        return total


@dataclass
class Trained:
    """A member that was trained on parts.

    Attributes
    ----------
    models : list
        One of each part: what grew, without its sums, or a fitted estimator.
    vectors : ndarray of shape (n_samples, n_columns)
        Of the rows that were held out.
    """

    models: list[Any] = field(default_factory=list)
    vectors: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))


@dataclass(frozen=True)
class LayerTrainer:
    """What all layers are trained on, and how.

    Attributes
    ----------
    table : BinnedTable
        The features, and on the right columns for those that a layer adds.
    n_raw : int
        Columns of features.
    numbers : ndarray of shape (n_samples, n_raw) or None
        The features for members that are no forests.
    task : ClassificationTask or RegressionTask
        What is to be learnt of each sample.
    weights : RowWeights
    order : ndarray of int32 of shape (n_samples,)
        All rows, in an order that depends on what they hold: bootstraps draw from it.
    n_jobs : int or None
    show_bar : bool
        Whether a bar counts trees.
    """

    table: BinnedTable
    n_raw: int
    numbers: np.ndarray | None
    task: Any
    weights: RowWeights
    order: np.ndarray
    n_jobs: int | None = None
    show_bar: bool = False

    @property
    def limits(self) -> dict[str, Any]:
        """When growing ends in any case, and what then; see `grower.growing`."""
        return {}

    @property
    def everything(self) -> np.ndarray:
        """All rows."""
        return np.arange(len(self.order), dtype=np.int32)

    def append(self, features: Iterable[np.ndarray]) -> None:
        """Bin features that a layer adds, in parts side by side, into the columns for them."""
        first = self.n_raw
        for part in features:
            self.table.replace_columns(
                first, part, sample_weight=self.weights.row, n_jobs=self.n_jobs
            )
            first += part.shape[1]

    def seen_columns(self, member: MemberSpec, columns: np.ndarray, train: Any) -> np.ndarray:
        """Columns that a forest sees which trains on some rows; all that the layer does."""
        return columns

    def grow(
        self,
        members: Mapping[int, MemberSpec],
        view: LayerInput,
        parts: Sequence[Split],
        entropy: Sequence[int],
        description: str,
        *,
        importances: bool = False,
    ) -> Generator[tuple[grower.TreeJob, grower.GrowthResult]]:
        """Grow forests on parts of the rows: for each member, for each part.

        Parameters
        ----------
        members : dict of int to MemberSpec
            By the numbers that their seeds depend on.
        view : LayerInput
        parts : sequence of Split
        entropy : sequence of int
            Of the seeds.
        description : str
            What the bar says.
        importances : bool, default=False
            Whether the importances of forests that are not kept are wanted, too.
        """
        samplings: dict[tuple[Any, ...], Sampling] = {}
        blocks = []
        for number, member in members.items():
            forest = member.model
            most = forest.max_samples if forest.bootstrap else None
            for k, (train, held_out, keep) in enumerate(parts):
                key = (forest.bootstrap, most, k)  # forests that sample alike share how
                if key not in samplings:
                    samplings[key] = plan_sampling(
                        self.order,
                        self.weights,
                        train=train,
                        bootstrap=bool(forest.bootstrap),
                        max_samples=most,
                        labels=self.task.target if forest.bootstrap == "balanced" else None,
                        reweighting=view.reweighting,
                        redraw=view.redraw,
                    )
                columns = self.seen_columns(member, view.columns, train)
                block = grower.TreeJob(
                    seeds=grower.draw_seeds((*entropy, number, k), forest.n_estimators),
                    options=forest._tree_options(
                        len(samplings[key].rows), len(columns), self.task.values
                    ),
                    sampling=samplings[key],
                    columns=columns,
                    held_out=held_out,
                    importances=keep or importances,
                    keep=keep,
                )
                blocks.append(block)
        grown = grower.growing(
            self.table,
            self.task.cells,
            blocks,
            n_jobs=self.n_jobs,
            verbose=self.show_bar,
            description=description,
            **self.limits,
        )
        with closing(grown):
            yield from zip(blocks, grown, strict=True)

    def grow_all(
        self,
        members: Sequence[MemberSpec],
        view: LayerInput,
        parts: Sequence[Split],
        entropy: Sequence[int],
        description: str,
    ) -> list[list[grower.GrowthResult]]:
        """The same, all at once: for each member, for each part."""
        numbered = dict(enumerate(members))
        grown = [one for _, one in self.grow(numbered, view, parts, entropy, description)]
        return [grown[i * len(parts) : (i + 1) * len(parts)] for i in numbered]

    def train_forests(
        self,
        members: Mapping[int, MemberSpec],
        view: LayerInput,
        parts: Sequence[Split],
        entropy: Sequence[int],
        description: str,
        folding: OutOfFoldAggregator,
        **options: bool,
    ) -> dict[int, Trained]:
        """The same, with the vectors of all rows that are held out; by the members' numbers."""
        found = {number: Trained() for number in members}
        if not found:
            return found
        with closing(self.grow(members, view, parts, entropy, description, **options)) as growing:
            for trained in found.values():
                total = np.zeros((len(self.order), self.task.n_columns))
                for block, grown in islice(growing, len(parts)):
                    held_out: Any = block.held_out
                    if held_out is grower.OUT_OF_BAG:
                        held_out = block.sampling.rows
                    if held_out is not None:
                        total[held_out] += folding.read(grown)
                    grown.sums = grown.n_trees = None
                    trained.models.append(grown)
                    del grown
                trained.vectors = folding.finish(total)
                del total
        return found

    def fit(
        self,
        model: Any,
        parts: Sequence[Split],
        entropy: Sequence[int],
        name: str = "",
        view: LayerInput | None = None,
        frames: FrameMaker | None = None,
    ) -> list[tuple[Any, np.ndarray]]:
        """Clones of an estimator on parts of the rows, and what they predict of those held out.

        Without a `view`, they see all features, as data frames if there are `frames`.
        """
        assert self.numbers is not None
        X, weights = self.numbers, self.weights.row
        if view is not None:
            X = shown_numbers(X, view.added, view.columns)
            if view.reweighting is not None:
                weights = view.reweighting * (1 if weights is None else weights)
        data = TrainingData(
            X=X,
            target=self.task.y,
            n_columns=self.task.n_columns,
            sample_weight=weights,
            n_classes_per_output=self.task.widths,
            frames=frames,
        )
        rows = [(part[0], part[1]) for part in parts]
        return fit_external(model, data, rows, entropy=entropy, n_jobs=self.n_jobs, name=name)

    def train_estimator(
        self,
        member: MemberSpec,
        view: LayerInput,
        parts: Sequence[Split],
        entropy: Sequence[int],
        folding: OutOfFoldAggregator,
    ) -> Trained:
        """A member that is no forest, with the vectors of all rows that are held out."""
        fitted = self.fit(member.model, parts, entropy, member.name, view)
        return Trained([model for model, _ in fitted], self.join(fitted, parts, folding))

    def join(
        self,
        fitted: Sequence[tuple[Any, np.ndarray]],
        parts: Sequence[Any],
        folding: OutOfFoldAggregator,
    ) -> np.ndarray:
        """Vectors of all rows that are held out, of a member that is no forest."""
        total = np.zeros((len(self.order), self.task.n_columns))
        for part, (_, vectors) in zip(parts, fitted, strict=True):
            if part[1] is not None:
                total[part[1]] += vectors
        return folding.finish(total)
