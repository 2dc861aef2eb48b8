"""The growth of a multi-label deep forest in plain Python: reuse of vectors, and stopping."""

from dataclasses import dataclass

import numpy as np
from mddf.baselines._labels.measures import MEASURES, RowMeasure


@dataclass
class NaiveGrowth:
    """Kept layers, and the vectors of each layer after the reuse."""

    n_kept: int
    vectors: list  # (n_forests, n_rows, n_labels) for each layer that was trained
    losses: list


def mask_of_reuse(name, labels, probabilities, before, weight=None):
    """Mask of rows (n_rows, 1) or labels (1, n_labels) whose confidence is below the threshold.

    The threshold is the mean confidence of rows or labels for which the measure got worse.
    """
    kind = MEASURES[name]
    if isinstance(kind, RowMeasure):
        worse = kind.losses(labels, probabilities) > kind.losses(labels, before)
        confidence = kind.confidence(probabilities)
        shares = np.ones(len(labels)) if weight is None else weight
    else:
        worse = kind.losses(labels, probabilities, weight) > kind.losses(labels, before, weight)
        confidence = np.exp(kind.log_confidence(probabilities, weight))
        shares = np.ones(labels.shape[1])
    shares = shares * worse
    threshold = np.average(confidence, weights=shares) if shares.any() else 0
    below = confidence < threshold
    return below[:, None] if isinstance(kind, RowMeasure) else below[None, :]


def grow(name, labels, layers, patience):
    """Grow a cascade whose layers predict `layers`, arrays (n_forests, n_rows, n_labels)."""
    vectors, losses = [], []
    best = 0
    for number, layer in enumerate(layers):
        if number:
            before = vectors[-1]
            mask = mask_of_reuse(name, labels, layer.mean(axis=0), before.mean(axis=0))
            layer = np.where(mask, before, layer)
        vectors.append(layer)
        losses.append(MEASURES[name].mean_loss(labels, layer.mean(axis=0), None))
        if losses[-1] < losses[best]:
            best = number
        if number - best >= patience:
            break
    return NaiveGrowth(best + 1, vectors, losses)
