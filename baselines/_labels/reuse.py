"""Reuse of the vectors of the layer before, as in the multi-label deep forest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mddf._base.elementary import exp
from mddf._base.serialization import register_serializable
from mddf._binning.binner import Binner
from mddf._binning.bins import apply_bins
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import FittedStages, Stage, StageOutput

from .measures import MEASURES, RowMeasure


@dataclass(frozen=True)
class LabelledPredictions:
    """Labels of rows with the predictions of two layers for them."""

    labels: np.ndarray  # (n_rows, n_labels): 0 or 1
    probabilities: np.ndarray  # (n_rows, n_labels): mean over the forests of a layer
    before: np.ndarray  # (n_rows, n_labels): the same of the layer before, after its own reuse
    weight: np.ndarray | None  # (n_rows,)


@register_serializable("feature reuse")
@dataclass(frozen=True)
class FeatureReuse:
    """Rule by which rows or labels take the vectors of the layer before.

    A row does if the confidence of its mean vector is below the threshold. Labels are chosen in
    training, since the confidence in a label is a mean over rows: a prediction would otherwise
    depend on the other rows that are predicted with it.
    """

    measure: str
    threshold: float  # for rows; 0 if no row takes the vectors before
    labels: np.ndarray | None  # (n_labels,): mask of labels; None if rows are chosen

    @classmethod
    def from_training(cls, measure: str, predictions: LabelledPredictions) -> FeatureReuse:
        """Find the rule on out-of-fold predictions.

        The threshold is the mean confidence of the rows or labels for which the measure is worse
        than after the layer before.
        """
        kind = MEASURES[measure]
        labels = predictions.labels
        weight = predictions.weight
        if isinstance(kind, RowMeasure):
            is_worse = kind.losses(labels, predictions.probabilities) > kind.losses(
                labels, predictions.before
            )
            row_weight = is_worse if weight is None else is_worse * weight
            if not row_weight.any():
                return cls(measure, 0.0, None)
            confidence = kind.confidence(predictions.probabilities)
            return cls(measure, float(np.average(confidence, weights=row_weight)), None)
        is_worse = kind.losses(labels, predictions.probabilities, weight) > kind.losses(
            labels, predictions.before, weight
        )
        if not is_worse.any():
            return cls(measure, 0.0, np.zeros(labels.shape[1], bool))
        log_confidence = kind.log_confidence(predictions.probabilities, weight)
        # Relative to the largest one of the labels that got worse, since the confidences
        # themselves can vanish. Labels above it are above the mean in any case.
        relative = exp(np.minimum(log_confidence - log_confidence[is_worse].max(), 0.0))
        return cls(measure, 0.0, relative < relative[is_worse].mean())

    def reused(self, probabilities: np.ndarray) -> np.ndarray:
        """Mask of rows (n_rows, 1) or labels (1, n_labels) that take the vectors before."""
        if self.labels is not None:
            return self.labels[None, :]
        kind = MEASURES[self.measure]
        assert isinstance(kind, RowMeasure)
        if self.threshold == 0:
            return np.zeros((len(probabilities), 1), bool)
        return (kind.confidence(probabilities) < self.threshold)[:, None]

    def apply(self, vectors: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Vectors of a layer, (n_forests, n_rows, n_labels), after the reuse."""
        return np.where(self.reused(vectors.mean(axis=0)), before, vectors)


@register_serializable("stage with feature reuse")
@dataclass(frozen=True)
class ReusingStage(Stage):
    """A stage, and the rule by which it takes vectors of the stage before."""

    reuse: FeatureReuse | None = None  # None: it takes none


@register_serializable("fitted model with feature reuse")
@dataclass(frozen=True)
class ReusingStages(FittedStages):
    """A fitted model whose stages take some of their vectors from the stage before."""

    def run(self, rows: EncodedRows, n_jobs: int | None = None) -> Iterator[StageOutput]:
        vectors = np.empty((0, 0, 0))
        for number, stage in enumerate(self.stages):
            vectors_before = vectors
            vectors = np.stack([member.vectors(rows, n_jobs) for member in stage.members])
            assert isinstance(stage, ReusingStage)
            if stage.reuse is not None:
                vectors = stage.reuse.apply(vectors, vectors_before)
            added = stage.own_columns(vectors)
            if number + 1 < len(self.stages):
                bins = self.stages[number + 1].added_bins
                apply_bins(added, bins, out=rows.codes, first_column=self.n_raw, n_jobs=n_jobs)
            yield StageOutput(stage, vectors, added)


def stages_with_reuse(binner: Binner, stages: list[ReusingStage], n_added: int) -> FittedStages:
    """The fitted model of a multi-label deep forest, which predicts."""
    reuses = any(stage.reuse is not None for stage in stages)
    kind = ReusingStages if reuses else FittedStages
    return kind(binner, list(stages), n_added, is_at_most_one=True)
