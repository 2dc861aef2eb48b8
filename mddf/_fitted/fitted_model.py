"""A fitted model as stages: members that predict, and their combination.

A forest is one stage with one member. A cascade or a deep forest has a stage for each layer, and
is stored as these stages. Predictions, explanations, graphs and costs are made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._binning.binner import Binner
from mddf._binning.bins import Bins, apply_bins, join_bins
from mddf._binning.encoded_rows import EncodedRows
from mddf._binning.new_rows import NewRows
from mddf._fitted.batching import Conversion, in_blocks
from mddf._fitted.calibration import UNCALIBRATED, Calibration, sharpened
from mddf._fitted.vector_layout import bounded, columns_of, combine, rounded, select_columns
from mddf._input.table import Table
from mddf._targets.kernel_targets import TargetScaling, in_units_of_y
from mddf._trees import predictor
from mddf._trees.decoding import decode_forest
from mddf._trees.nodes import Nodes
from mddf._trees.regions import leaf_regions, region_columns


class Link(Protocol):
    """Turns raw predictions of gradient boosting into probabilities or numbers."""

    def predicted(self, raw: np.ndarray) -> np.ndarray: ...


@register_serializable("fitted forest")
@dataclass(frozen=True)
class FittedMember:
    """A forest of this package as a member of a stage; subclasses describe other members."""

    models: list[Any]  # blocks of trees, or fitted estimators
    n_columns: int  # length of a prediction: number of classes or outputs
    # Units of the values in the leaves, as powers of two, for each output; None: they are 1.
    exponents: np.ndarray | None = None
    is_rounded: bool = True  # whether vectors are rounded to multiples of `GRAIN`
    weight: float = 0.0  # in the average of all members
    exponent: float = 1.0  # of the probabilities in that average
    name: str = ""  # for error messages

    @property
    def unit(self) -> float | np.ndarray:
        """Unit of the values in the leaves, or one for each output."""
        return 1.0 if self.exponents is None else np.ldexp(1.0, self.exponents)

    @property
    def has_trees(self) -> bool:
        """Whether its models are blocks of trees, which can be read."""
        return True

    @property
    def parts(self) -> list[Any]:
        """Its models in parts that explanations handle one after the other."""
        return self.models

    @property
    def has_linear_leaves(self) -> bool:
        """Whether values of leaves are linear functions instead of constants."""
        return False

    @property
    def reads_codes(self) -> bool:
        """Whether it reads codes; other members read numbers."""
        return self.has_trees

    @property
    def blocks(self) -> list[Any]:
        """Blocks of trees that read codes; each knows which of its `n_columns` it reads."""
        return self.models

    @property
    def per_mean(self) -> float | np.ndarray:
        """Factor from the mean of the trees' leaves to a prediction."""
        return self.unit

    @property
    def offset(self) -> float | np.ndarray:
        """Constant that is added to every prediction."""
        return 0.0

    @property
    def has_leaf_weights(self) -> bool:
        """Whether the trees keep the weight of their training samples in each leaf."""
        return False

    @property
    def reads_levels(self) -> bool:
        """Whether it reads the levels of columns with many categories."""
        return False

    def tree_codes(self, rows: EncodedRows) -> np.ndarray:
        """Codes that its trees read."""
        return rows.codes

    def tree_bins(self, bins: Bins) -> Bins:
        """Bins of the columns of `tree_codes`, from the bins of a stage."""
        return bins

    def players(self, n_columns: int) -> np.ndarray | None:
        """Group of each column of `tree_codes` in Shapley values; None: each on its own."""
        return None

    def feature_amounts(self, amounts: np.ndarray, n_features: int) -> np.ndarray:
        """Amounts of features, from the amounts of the groups of `players`."""
        return amounts

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        """Class probabilities of rows, or numbers: shape (n_rows, n_columns)."""
        return self._means(predictor.leaf_sums(self.models, rows.codes, n_jobs=n_jobs))

    def prefers_numbers(self, numbers: np.ndarray, used: np.ndarray) -> bool:
        """Whether comparing numbers in the trees is faster than coding the `used` columns."""
        return self.has_trees and predictor.prefers_raw_numbers(self.models, numbers, used)

    def vectors_of_numbers(
        self, numbers: np.ndarray, bins: Bins, n_jobs: int | None
    ) -> np.ndarray:
        """Compute `vectors` of rows that are not coded, if the member `prefers_numbers`."""
        return self._means(
            predictor.leaf_sums_of_numbers(self.models, numbers, bins, n_jobs=n_jobs)
        )

    def _means(self, sums: np.ndarray) -> np.ndarray:
        means = predictor.means_over_trees(self.models, sums)
        if self.exponents is not None:
            means = in_units_of_y(means, self.exponents)
        return rounded(means) if self.is_rounded else means


@register_serializable("stage")
@dataclass(frozen=True)
class Stage:
    """A forest, or a layer of a cascade or deep forest."""

    members: list[FittedMember]
    added_bins: Bins  # bins of the columns that the stage before adds
    inputs: list[int]  # members whose vectors make this stage's columns
    # Weights of their mean; None puts them side by side.
    average_weights: np.ndarray | None = None
    # Coefficients of the stages so far: the next stage reads the weighted mean of their columns.
    alphas: np.ndarray = field(default_factory=lambda: np.ones(1))
    columns: np.ndarray | None = None  # Features that members other than forests read; None: all.
    # Rows whose mean vector has a probability of at least the gate leave: they keep the vectors of
    # this stage, and later stages do not predict them. None: no row leaves.
    gate: float | None = None
    # (n_columns,): importances of the columns that the stage reads, of sum 1 or all zero; None if
    # they are unknown or are not needed.
    importances: np.ndarray | None = None
    # Makes the columns that the next stage reads of the regions of leaves, for each member; None:
    # these are the class vectors.
    augmentation: Callable[..., Any] | None = None

    def blocks(self, number: int | None) -> list[Any]:
        """The blocks of trees of one member, or of all."""
        chosen = self.members if number is None else [self.members[number]]
        if external := [member for member in chosen if not member.has_trees]:
            readable = [i for i, member in enumerate(self.members) if member.has_trees]
            raise TypeError(
                "only forests of mddf have trees that can be read, which in this layer are "
                f"those of forest={readable}; got {short(external[0].models[0])}"
            )
        return [trees for member in chosen for trees in member.parts]

    def rows_for_members(self, rows: EncodedRows, added: np.ndarray) -> EncodedRows:
        """The rows with the numbers that members of this stage read."""
        if rows.numbers is None or self.columns is None:
            return rows
        return replace(rows, numbers=select_columns(rows.numbers, added, self.columns))

    def own_columns(self, vectors: np.ndarray) -> np.ndarray:
        """Columns that the stage adds, from all vectors (n_members, n_rows, n_columns)."""
        return columns_of(vectors[self.inputs], self.average_weights)

    def columns_of_regions(
        self, codes: np.ndarray, bins: Bins, n_features: int, n_added: int
    ) -> np.ndarray:
        """Columns that `augmentation` makes for the next stage, of shape (n_rows, n_added)."""
        assert self.augmentation is not None
        n_columns = n_added // len(self.members)
        parts = []
        for member, nodes in zip(self.members, self._nodes, strict=True):
            regions = leaf_regions(member.blocks, nodes, codes, bins, n_features)
            parts.append(region_columns(self.augmentation, regions, len(codes), n_columns))
        return np.hstack(parts)

    @cached_property
    def _nodes(self) -> list[list[Nodes]]:
        """Nodes of each block of trees of each member; all blocks of rows share them."""
        return [[decode_forest(trees) for trees in member.blocks] for member in self.members]

    def mean(self, columns: np.ndarray) -> np.ndarray:
        """Mean over members of the result of `own_columns`, shape (n_rows, n_columns)."""
        if self.average_weights is not None:
            return columns
        return columns.reshape(len(columns), len(self.inputs), -1).mean(axis=1)

    def leaving(self, columns: np.ndarray) -> np.ndarray:
        """Mask of the rows that leave after a stage with a gate, from the columns that it adds."""
        leaving: np.ndarray = self.mean(columns).max(axis=1) >= self.gate
        return leaving


@dataclass(frozen=True)
class StageOutput:
    """Predictions of one stage."""

    stage: Stage
    vectors: np.ndarray  # (n_members, n_rows, n_columns)
    # Columns of the stages so far that the next stage reads, (n_rows, n_added); may be empty.
    added: np.ndarray


@register_serializable("fitted model")
@dataclass(frozen=True)
class FittedStages:
    """A fitted model."""

    binner: Binner
    stages: list[Stage]
    n_added: int = 0  # columns after the features, which hold what the stage before adds
    # Whether predictions are the average of all members by their weights and exponents. If not,
    # they are the mean of the last stage's columns.
    weighs_members: bool = False
    calibration: Calibration = UNCALIBRATED
    units: TargetScaling | None = None  # of standardised targets
    # In gradient boosting, turns raw predictions into probabilities or numbers.
    link: Link | None = None
    # Largest absolute value in the input of members other than forests.
    largest: float | None = None
    # Whether averages are cut at 1, as in `Cascade.add`.
    is_at_most_one: bool = False

    def bins_of(self, stage: Stage) -> Bins:
        """Bins of all columns that the trees of a stage may split."""
        return join_bins(self.binner.bins_, stage.added_bins)

    @property
    def members(self) -> list[FittedMember]:
        return [member for stage in self.stages for member in stage.members]

    @property
    def n_raw(self) -> int:
        return self.binner.bins_.n_columns

    @property
    def has_layers(self) -> bool:
        """Whether a stage adds columns for the next one; a forest does not."""
        return self.n_added > 0

    @property
    def blocks(self) -> list[Any]:
        """All blocks of trees that read codes."""
        return [block for member in self.members if member.reads_codes for block in member.blocks]

    @cached_property
    def reads_codes_only(self) -> bool:
        """Whether all members are trees, which read codes and no numbers."""
        return all(member.reads_codes for member in self.members)

    @cached_property
    def columns_of_levels(self) -> list[int]:
        """Columns with many categories, if a member reads their levels."""
        reads_levels = any(member.reads_levels for member in self.members)
        return self.binner.columns_of_many_levels() if reads_levels else []

    @cached_property
    def columns_read(self) -> np.ndarray | None:
        """Mask of the features that a tree reads; None if the table is not wide."""
        return predictor.columns_used(self.blocks, self.n_raw)

    @cached_property
    def only_member(self) -> FittedMember | None:
        """Member whose vectors are the average, as of a forest; None if there is more to do."""
        is_single = len(self.stages) == 1 and len(self.members) == 1
        has_more = self.has_layers or self.weighs_members or self.largest is not None
        return self.members[0] if is_single and not has_more else None

    def trees(self) -> list[Any]:
        """All blocks of trees that can be read."""
        return [block for member in self.members if member.has_trees for block in member.models]

    @cached_property
    def row_bytes(self) -> int:
        """Memory that the prediction of a row takes, approximately."""
        # A code has one byte. Where members read numbers, a cell counts as three doubles, since
        # they may copy their input. Not tuned.
        cell_bytes = 1 if self.reads_codes_only else 24
        # Columns of all stages are kept, and some intermediate results for each vector.
        n_vector_values = sum(member.n_columns for member in self.members)
        n_doubles = len(self.stages) * self.n_added + 4 * n_vector_values
        return cell_bytes * self.n_raw + 8 * n_doubles

    def encode(
        self,
        table: Table,
        n_jobs: int | None,
        *,
        all_columns: bool = False,
        offset: np.ndarray | None = None,
    ) -> NewRows:
        """Rows of a table as members read them, made block by block.

        Features that no tree reads are left out, unless `all_columns` is true. An `offset` of the
        raw predictions of boosted trees is passed on.
        """
        return NewRows(
            self.binner,
            table,
            n_spare=self.n_added,
            wanted=None if all_columns else self.columns_read,
            with_numbers=not self.reads_codes_only,
            levels=self.columns_of_levels,
            offset=offset,
            n_jobs=n_jobs,
        )

    def predict(
        self,
        table: Table,
        n_jobs: int | None,
        convert: Conversion | None = None,
        *,
        finish: bool = True,
        offset: np.ndarray | None = None,
    ) -> np.ndarray:
        """Predictions for all rows of a table, each block of which is converted.

        With `finish` false, they are averages before `finish`.
        """
        member = self.only_member
        numbers = None if member is None else self._numbers_to_compare(member, table)
        rows = self.encode(table, n_jobs, offset=offset)

        def predict(first: int, end: int) -> list[np.ndarray]:
            if member is None:
                average = self.average(rows.block(first, end), n_jobs)
            elif numbers is None:
                average = member.vectors(rows.block(first, end), n_jobs)
            else:
                bins = self.binner.bins_
                average = member.vectors_of_numbers(numbers[first:end], bins, n_jobs)
            return [self.finish(average) if finish else average]

        (predictions,) = in_blocks(rows.n_rows, self.row_bytes, predict, convert)
        return predictions

    def _numbers_to_compare(self, member: FittedMember, table: Table) -> np.ndarray | None:
        """Numbers of the table if comparing them is faster than coding them; otherwise None."""
        if self.columns_read is None:
            return None
        numbers = self.binner.plain_numbers(table)
        if numbers is None or not member.prefers_numbers(numbers, self.columns_read):
            return None
        return numbers

    def average(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        average = RunningAverage(self)
        for output in self.run(rows, n_jobs):
            average.add(output)
        return average.value()

    def run(self, rows: EncodedRows, n_jobs: int | None = None) -> Iterator[StageOutput]:
        """Run the stages one after the other.

        The `n_added` columns of codes on the right are overwritten: after each stage, they hold
        the columns that the next one reads. The rows need numbers unless `reads_codes_only` is
        true, and levels of `columns_of_levels`.
        """
        if rows.numbers is not None and self.largest is not None:
            rows = replace(rows, numbers=bounded(rows.numbers, self.largest))
        columns: list[np.ndarray] = []
        added = np.empty((len(rows.codes), 0))
        vectors = np.empty((0, 0, 0))
        left = np.zeros(len(rows.codes), bool)  # rows that have left
        for number, stage in enumerate(self.stages):
            if not left.all():
                stage_rows = stage.rows_for_members(rows, added)
                if left.any():
                    stage_rows = stage_rows.take(~left)
                member_vectors = []
                for member in stage.members:
                    member_vectors.append(member.vectors(stage_rows, n_jobs))
                vectors = _with_rows_that_left(np.stack(member_vectors), vectors, left)
            if stage.inputs:
                columns.append(stage.own_columns(vectors))
                added = combine(columns, stage.alphas)
            if stage.gate is not None:
                left |= stage.leaving(columns[-1])
            if columns and number + 1 < len(self.stages):
                passed_on = added
                if stage.augmentation is not None:
                    passed_on = stage.columns_of_regions(
                        rows.codes, self.bins_of(stage), self.n_raw, self.n_added
                    )
                bins = self.stages[number + 1].added_bins
                apply_bins(passed_on, bins, out=rows.codes, first_column=self.n_raw, n_jobs=n_jobs)
            yield StageOutput(stage, vectors, added)

    def counts(self) -> Iterator[tuple[str, int, int]]:
        """Yield counts of the trees that must agree: name, value, right value."""
        for member in self.members:
            if member.has_trees:
                n_columns = member.tree_bins(self.binner.bins_).n_columns
                for trees in member.models:
                    yield "width of trees", trees.width, member.n_columns
                    yield "n_added", self.n_added, trees.n_columns - n_columns

    def finish(self, average: np.ndarray) -> np.ndarray:
        """Calibrate an average, restore the units of the targets, or apply the link."""
        if self.link is not None:
            return self.link.predicted(average).reshape(len(average), -1)
        if self.units is not None:
            return self.units.restore(average)
        return self.calibration(np.minimum(average, 1.0) if self.is_at_most_one else average)


def _with_rows_that_left(
    vectors: np.ndarray, vectors_before: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Vectors of all rows: rows that left keep the vectors of the stage before."""
    if not left.any():
        return vectors
    vectors_of_all = vectors_before.copy()
    vectors_of_all[:, ~left] = vectors
    return vectors_of_all


class RunningAverage:
    """Average of the stages so far, before calibration."""

    def __init__(self, fitted: FittedStages) -> None:
        self._fitted = fitted
        self._total = np.zeros(1)
        self._weight = 0.0

    def add(self, output: StageOutput) -> None:
        if not self._fitted.weighs_members:
            self._total = output.stage.mean(output.added)
            self._weight = 1.0
            return
        n_classes_per_output = self._fitted.calibration.widths
        for member, vectors in zip(output.stage.members, output.vectors, strict=True):
            if member.weight > 0:
                probabilities = sharpened(vectors, member.exponent, n_classes_per_output)
                self._total = self._total + member.weight * probabilities
                self._weight += member.weight

    @property
    def is_defined(self) -> bool:
        """Whether a member so far has a weight."""
        return self._weight > 0

    def value(self) -> np.ndarray:
        return self._total / self._weight


def one_stage(binner: Binner, member: FittedMember, link: Link | None = None) -> FittedStages:
    """A forest or boosted trees as a fitted model."""
    no_bins = binner.bins_.columns(0, 0)
    stage = Stage([member], no_bins, inputs=[0], average_weights=np.ones(1))
    return FittedStages(binner, [stage], link=link)
