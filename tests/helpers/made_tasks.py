"""Tasks of deep forests, of labels and numbers."""

import numpy as np

from mddf._members.tasks import ClassificationTask, RegressionTask


def classification_task(labels, weight=None, *, calibrate=True):
    """Of labels from 0 on."""
    n_classes = int(labels.max()) + 1
    return ClassificationTask(labels.astype(np.uint16), n_classes, weight, calibrate=calibrate)


def regression_task(y, weight=None):
    """Of numbers of shape (n_samples, n_outputs)."""
    return RegressionTask(y, weight)
