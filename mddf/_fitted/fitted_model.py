"""A fitted model as stages: members that predict, and what the next stage and users get of it.

A forest is one stage with one member, a cascade or a deep forest has a stage for each layer. Every
estimator describes itself so; predictions in layers, explanations, graphs and costs read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._binning.bins import Bins, apply_bins, join_bins
from mddf._binning.encoded_rows import EncodedRows
from mddf._ensemble.blending import UNCALIBRATED, Calibration, sharpened
from mddf._fitted.vector_layout import bounded, columns_of, combine, rounded, shown_numbers
from mddf._trees import predictor


@dataclass(frozen=True)
class StageMember:
    """A member that is a forest of mddf.

    Attributes
    ----------
    models : list
        Blocks of trees; of an `ExternalMember`, fitted estimators.
    n_columns : int
        Numbers of a prediction: classes or outputs.
    unit : float or ndarray of shape (n_outputs,)
        What the leaves hold multiples of.
    is_rounded : bool
        Whether vectors are rounded to multiples of `GRAIN`.
    weight, exponent : float
        In the weighted average of members; the exponent is that of its probabilities.
    name : str
        How errors call it.
    """

    models: list[Any]
    n_columns: int
    unit: Any = 1.0
    is_rounded: bool = True
    weight: float = 0.0
    exponent: float = 1.0
    name: str = ""

    @property
    def has_trees(self) -> bool:
        """Whether its models are blocks of trees, which can be read."""
        return True

    @property
    def sees_codes(self) -> bool:
        """Whether it asks for codes; others see numbers."""
        return self.has_trees

    @property
    def blocks(self) -> list[Any]:
        """What asks for codes: each knows its `n_columns`, and marks those that it asks for."""
        return self.models

    @property
    def per_mean(self) -> Any:
        """What a prediction is over the mean of the trees' leaves."""
        return self.unit

    @property
    def offset(self) -> Any:
        """What a prediction has beside that."""
        return 0.0

    @property
    def knows_weights(self) -> bool:
        """Whether the trees keep what their training samples weigh in each leaf."""
        return False

    @property
    def sees_levels(self) -> bool:
        """Whether it asks for the levels of columns of many categories."""
        return False

    def seen_codes(self, rows: EncodedRows) -> np.ndarray:
        """What its trees are asked about."""
        return rows.codes

    def seen_bins(self, bins: Bins) -> Bins:
        """Of the columns of `seen_codes`, from those of a stage."""
        return bins

    def players(self, n_columns: int) -> np.ndarray | None:
        """Which columns of `seen_codes` tell of a row together; None: each by itself."""
        return None

    def of_features(self, amounts: np.ndarray, n_features: int) -> np.ndarray:
        """What falls to players of a table of so many features, put down to these."""
        return amounts

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        """Class vectors of rows, or numbers: shape (n_rows, n_columns)."""
        means = predictor.mean_vectors(self.models, rows.codes, self.n_columns, n_jobs=n_jobs)
        means = means * self.unit
        return rounded(means) if self.is_rounded else means


@dataclass(frozen=True)
class Stage:
    """A forest, or a layer.

    Attributes
    ----------
    raw : Bins
        Of the features.
    added : Bins
        Of the columns that the stage before adds to them.
    members : list of StageMember
    alphas : ndarray of shape (n_stages,)
        Coefficients of the columns of the stages so far, whose weighted mean the next one sees.
    inputs : list of int
        Members whose vectors make this stage's columns.
    average_weights : ndarray or None
        Weights of their mean; None puts them side by side.
    columns : ndarray of int or None
        Which columns members see that are no forests of mddf; None is all features, as they are.
    """

    raw: Bins
    added: Bins
    members: list[Any]
    alphas: np.ndarray
    inputs: list[int]
    average_weights: np.ndarray | None
    columns: np.ndarray | None = None

    @cached_property
    def bins(self) -> Bins:
        """Of all columns that the trees may ask for."""
        return join_bins(self.raw, self.added)

    def blocks(self, number: int | None) -> list[Any]:
        """The blocks of trees of one member, or of all."""
        chosen = self.members if number is None else [self.members[number]]
        if external := [member for member in chosen if not member.has_trees]:
            readable = [i for i, member in enumerate(self.members) if member.has_trees]
            raise TypeError(
                "only forests of mddf have trees that can be read, which in this layer are "
                f"those of forest={readable}; got {short(external[0].models[0])}"
            )
        return [trees for member in chosen for trees in member.models]

    def vectors(
        self, rows: EncodedRows, before: np.ndarray | None, n_jobs: int | None
    ) -> np.ndarray:
        """Of all members, shape (n_members, n_rows, n_columns); `before` is what was added."""
        if rows.numbers is not None and self.columns is not None:
            rows = replace(rows, numbers=shown_numbers(rows.numbers, before, self.columns))
        return np.stack([member.vectors(rows, n_jobs) for member in self.members])

    def own_columns(self, vectors: np.ndarray) -> np.ndarray:
        """What the stage adds, of the vectors of all members (n_members, n_rows, n_columns)."""
        return columns_of(vectors[self.inputs], self.average_weights)

    def mean(self, columns: np.ndarray) -> np.ndarray:
        """The mean over members of such columns, shape (n_rows, n_columns)."""
        if self.average_weights is not None:
            return columns
        return columns.reshape(len(columns), len(self.inputs), -1).mean(axis=1)


@dataclass(frozen=True)
class FittedStages:
    """What a fitted model consists of, and how it is asked.

    Attributes
    ----------
    binner : Binner
    stages : list of Stage
    n_added : int
        Columns beside the features for what a stage adds.
    weighs_members : bool
        Whether predictions are the average of all members by their weights and exponents; else
        they are that of the last stage's columns.
    calibration : Calibration
        Of the average, and how many classes each of several outputs has.
    units : Units or None
        Those of the targets, if predictions are numbers that were standardised.
    link : Labels, Numbers or None
        Of gradient boosting: what makes predictions of raw ones.
    largest : float or None
        Members that are no forests see numbers up to this one.
    """

    binner: Any
    stages: list[Stage]
    n_added: int = 0
    weighs_members: bool = False
    calibration: Calibration = UNCALIBRATED
    units: Any = None
    link: Any = None
    largest: float | None = None

    @property
    def members(self) -> list[Any]:
        """Those of all stages."""
        return [member for stage in self.stages for member in stage.members]

    @property
    def n_raw(self) -> int:
        """Number of features."""
        return self.binner.bins_.n_columns

    @property
    def has_layers(self) -> bool:
        """Whether a stage adds columns for the next one; a forest does not."""
        return self.n_added > 0

    @property
    def blocks(self) -> list[Any]:
        """All that asks for codes."""
        return [block for member in self.members if member.sees_codes for block in member.blocks]

    @property
    def sees_codes_only(self) -> bool:
        """Whether all that the model predicts comes from trees, which ask for bins of cells."""
        return all(member.sees_codes for member in self.members)

    @property
    def columns_of_levels(self) -> list[int]:
        """The columns of many categories, if a member asks for their levels."""
        sees_levels = any(member.sees_levels for member in self.members)
        return self.binner.columns_of_many_levels() if sees_levels else []

    def trees(self) -> list[Any]:
        """All blocks of trees."""
        return [block for member in self.members if member.has_trees for block in member.models]

    @property
    def row_bytes(self) -> int:
        """What asking all stages about a row takes, about."""
        n_vectors = sum(member.n_columns for member in self.members)
        n_kept = len(self.stages) * self.n_added + 4 * n_vectors
        return (1 if self.sees_codes_only else 24) * self.n_raw + 8 * n_kept

    def ask(
        self, rows: EncodedRows, n_jobs: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Ask the stages in turn about rows.

        Parameters
        ----------
        rows : EncodedRows
            The `n_added` columns of codes on the right are written over: after each stage, they
            are those that the next one sees. Numbers are only needed if not `sees_codes_only`,
            and levels of `columns_of_levels`.
        n_jobs : int, default=None

        Yields
        ------
        vectors : ndarray of shape (n_members, n_rows, n_columns)
        added : ndarray of shape (n_rows, n_added)
            What the next stage sees of the stages so far; empty if there is none.
        """
        if rows.numbers is not None and self.largest is not None:
            rows = replace(rows, numbers=bounded(rows.numbers, self.largest))
        columns: list[np.ndarray] = []
        added = np.empty((len(rows.codes), 0))
        for stage, following in zip_longest(self.stages, self.stages[1:]):
            vectors = stage.vectors(rows, added, n_jobs)
            if stage.inputs:
                columns.append(stage.own_columns(vectors))
                added = combine(columns, stage.alphas)
            if columns and following is not None:
                bins, first = following.added, self.n_raw
                apply_bins(added, bins, out=rows.codes, first_column=first, n_jobs=n_jobs)
            yield vectors, added

    def averages(self, asked: Iterable[tuple[np.ndarray, np.ndarray]]) -> Iterator[np.ndarray]:
        """The averages of the stages so far, once a weight is above 0; see `outcomes`."""
        total, weight = np.zeros(1), 0.0
        for stage, (vectors, added) in zip(self.stages, asked, strict=True):
            if not self.weighs_members:
                yield stage.mean(added)
                continue
            for member, of_member in zip(stage.members, vectors, strict=True):
                if member.weight > 0:
                    total = total + member.weight * sharpened(
                        of_member, member.exponent, self.calibration.widths
                    )
                    weight += member.weight
            if weight > 0:
                yield total / weight

    def outcomes(self, asked: Iterable[tuple[np.ndarray, np.ndarray]]) -> Iterator[np.ndarray]:
        """The same, calibrated, in the units of the targets, or no raw predictions any more."""
        finish = self.calibration if self.units is None else self.units.restore
        for average in self.averages(asked):
            if self.link is None:
                yield finish(average)
            else:
                yield self.link.predicted(average).reshape(len(average), -1)


def one_stage(binner: Any, member: StageMember, link: Any = None) -> FittedStages:
    """A forest, or boosted trees, as stages."""
    raw = binner.bins_
    stage = Stage(raw, raw.columns(0, 0), [member], np.ones(1), [0], np.ones(1))
    return FittedStages(binner, [stage], link=link)
